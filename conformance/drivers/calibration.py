"""Whether this process on this machine can count what a backend uses: found out by trying, once for each plan.

A session is stored while everything is counted. Where neither the recorder nor the operating system sees a byte of
that, or something was done that neither can follow, no count of that backend means anything, and the table has to say
so with the reason. Nothing is judged here, and what the try left is removed.
"""

from __future__ import annotations

from conformance.contract import Backend, SessionHeader
from conformance.drivers.counting import PROCESS_COUNTS
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.model.cost_rules import CostBook
from conformance.model.history import Returned
from conformance.model.operations import (
    FILLED_AT,
    Close,
    Create,
    Fill,
    Flush,
    OpenInstance,
    Operation,
    ReadCounters,
    StartCounting,
)
from conformance.model.usage import Usage

_STORED: tuple[Operation, ...] = (
    StartCounting(),
    OpenInstance(1),
    Create(1, 1, SessionHeader(id="calibration", created_at=FILLED_AT)),
    *Fill(1, 0, 4, size=8, width=200).expand(),
    Flush(1),
    Close(1),
)


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


__all__ = ["counting_gap", "gap_in", "usage_of_a_store"]
