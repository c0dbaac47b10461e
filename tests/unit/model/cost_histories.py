"""Histories in which something was counted, written by hand: steps beside those of ``histories``, and whole beginnings.

In each beginning the same calls are made in a small world and then in one at least eight times larger; the last step
that is missing is the reading of the counters, which a test adds with what was used.
"""

from __future__ import annotations

from conformance.model.history import Returned
from conformance.model.operations import ReadCounters, StartCounting
from conformance.model.usage import InputOutput, Usage
from tests.unit.model.histories import Step, append, create, events, opened, read, snap, stat, up


def counting() -> Step:
    """Counting begins."""
    return Step(StartCounting())


def used(
    moved: int = 0,
    accesses: int = 0,
    *,
    process: int | None = None,
    peak: int | None = None,
    allocated: int | None = None,
    doubt: str = "",
) -> Step:
    """The counters are read: bytes of the recorder, bytes of the operating system, memory."""
    recorded = InputOutput(moved // 2, moved - moved // 2, accesses)
    counted = None if process is None else InputOutput(process, 0, accesses)
    return Step(ReadCounters(), Returned(Usage(recorded, counted, peak, allocated, doubt)))


def appended(first: int, count: int) -> tuple[Step, ...]:
    """So many appends of one event each."""
    return tuple(append(1, events(seq)) for seq in range(first, first + count))


BEGUN = (counting(), up(), create(1))
FILLED = (*BEGUN, append(1, events(0, 2)), used(500))


def appends(before: Step) -> tuple[Step, ...]:
    """Two appends from length 2 to 4, for which ``before`` was used, and sixteen from 16 to 32."""
    return (*FILLED, *appended(2, 2), before, append(1, events(4, 12)), used(900), *appended(16, 16))


def stats(before: Step) -> tuple[Step, ...]:
    """A ``stat`` at length 2 and one at length 16."""
    return (*FILLED, stat(snap(2, 0)), before, append(1, events(2, 14)), used(900), stat(snap(16, 1)))


def reads(before: Step) -> tuple[Step, ...]:
    """A bounded read at length 2 and one at length 16."""
    return (
        *FILLED,
        read(1, events(0), 0, 1),
        before,
        append(1, events(2, 14)),
        used(900),
        read(1, events(9), 9, 1),
    )


def opens(before: Step) -> tuple[Step, ...]:
    """An empty session opened for reading while it is alone, and again among eight."""
    crowd = tuple(create(number, f"t{number}") for number in range(10, 17))
    return (*BEGUN, used(500), opened(3), before, *crowd, used(900), opened(4))
