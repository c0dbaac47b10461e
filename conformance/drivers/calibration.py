"""Whether this process on this machine can see what a backend does: found out by trying, once for each plan.

A session is stored while everything is counted. Where neither the recorder nor the operating system sees a byte of
that, or something was done that neither can follow, no count of that backend means anything, and the table has to say
so with the reason. For crashes a session is stored, opened again and continued while everything is recorded: where the
recording is not all there was, no crash of that backend can be made. Nothing is judged here, and what the try left is
removed. Whether the system tells which descriptors are open is looked up, for what a service leaves behind.
"""

from __future__ import annotations

from conformance.contract import Backend, SessionHeader
from conformance.drivers.counting import PROCESS_COUNTS
from conformance.drivers.crashes import WAY_OUT
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.leftovers import DESCRIPTORS, Baseline
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.model.cost_rules import CostBook
from conformance.model.history import Returned
from conformance.model.operations import (
    FILLED_AT,
    Close,
    CloseInstance,
    Create,
    Fill,
    Flush,
    OpenInstance,
    OpenSession,
    Operation,
    ReadCounters,
    StartCounting,
)
from conformance.model.usage import Usage
from conformance.sim.disk.ops import Marker

_STORED: tuple[Operation, ...] = (
    StartCounting(),
    OpenInstance(1),
    Create(1, 1, SessionHeader(id="calibration", created_at=FILLED_AT)),
    *Fill(1, 0, 4, size=8, width=200).expand(),
    Flush(1),
    Close(1),
)

_CONTINUED: tuple[Operation, ...] = (
    OpenInstance(1),
    Create(1, 1, SessionHeader(id="calibration", created_at=FILLED_AT)),
    *Fill(1, 0, 2, size=2, width=40).expand(),
    Flush(1),
    Close(1),
    CloseInstance(1),
    OpenInstance(2),
    OpenSession(2, 2, "calibration", "write"),
    *Fill(2, 4, 1, size=2, width=40).expand(),
    Close(2),
    CloseInstance(2),
)


def recording_gap(backend: Backend) -> str:
    """Why crashes of a backend cannot be made in this process, as a phrase with the way out; "" where they can.

    Enter a ``Patching`` before the backend's module is imported, and keep it while crashes are made: what a module
    captured of ``os`` before may not be seen, and is then the reason that is given here.

    A backend in memory has no crash; the table knows that without a try.

    Raises:
        SetupError: the backend could not be opened.
        RecorderError: something else is being recorded in this process.
    """
    if backend.capabilities.storage == "memory":
        return ""
    if backend.capabilities.storage == "service":
        return f"what a service stores is not under a root that could be recorded here; {WAY_OUT}"
    with Workspace() as workspace, Watchdog() as watchdog:
        driver = InProcessDriver(backend, workspace.fresh_root(), watchdog=watchdog, crashes=True)
        try:
            store_and_continue(driver)
            recorder = driver.recorder
            doubts = () if recorder is None else recorder.doubts()
            if not doubts and (recorder is None or all(isinstance(op, Marker) for op in recorder.ops)):
                doubts = ("storing a session did nothing that the in-process recorder sees",)
        finally:
            driver.finish()
    return f"{'; '.join(doubts)}; {WAY_OUT}" if doubts else ""


def store_and_continue(driver: InProcessDriver) -> None:
    """Store a session, open it again and continue it: what a recording is tried on. It ends where something fails."""
    for call, operation in enumerate(_CONTINUED):
        if not isinstance(driver.perform(operation, call), Returned):
            break


def counting_gap(backend: Backend) -> str:
    """Why what the backend uses cannot be counted in this process, as a phrase; "" where it can.

    A backend in memory has no input and output to be counted: its memory is traced, which always works.

    Raises:
        SetupError: the backend could not be opened.
        RecorderError: something else is being recorded in this process.
    """
    if backend.capabilities.storage == "memory":
        return ""
    return gap_in(usage_of_a_store(backend))


def leftovers_gap() -> str:
    """Why what a backend leaves open cannot be counted in this process, as a phrase; "" where it can."""
    return "" if Baseline().is_told else f"open descriptors are counted in {DESCRIPTORS}, and this system has none"


def usage_of_a_store(backend: Backend) -> Usage:
    """What the backend uses to store one session of 32 events."""
    with Workspace() as workspace, Watchdog() as watchdog:
        driver = InProcessDriver(backend, workspace.fresh_root(), watchdog=watchdog)
        try:
            for operation in _STORED:
                if not isinstance(driver.perform(operation), Returned):
                    # What is wrong with it is for the checks to find; nobody waits for a second call that hangs.
                    break
            outcome = driver.perform(ReadCounters())
        finally:
            driver.finish()
    return outcome.value if isinstance(outcome, Returned) and isinstance(outcome.value, Usage) else Usage()


def gap_in(usage: Usage) -> str:
    """What is missing from a count of calls that stored something; "" for nothing."""
    book = CostBook()
    book.total(usage)
    if not book.is_in_doubt:
        return ""
    if usage.doubt:
        return f"input and output cannot be counted: {usage.doubt}"
    system = "this system has no" if usage.process is None else "the operating system counts none in"
    return (
        "input and output cannot be counted: storing a session did none that the in-process recorder sees, and"
        f" {system} {PROCESS_COUNTS}"
    )


__all__ = ["counting_gap", "gap_in", "leftovers_gap", "recording_gap", "store_and_continue", "usage_of_a_store"]
