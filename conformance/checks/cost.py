"""Named scenarios for SEQ-10, SVC-10 and READ-05: the same calls in a small world and in a much larger one.

Nothing is timed. What the backend uses is counted between two ``read_counters``, and the model compares the windows in
which the same was done (``conformance.model.cost_rules``). The small and the large world differ in one way only: in the
length of one log, or in the number of sessions.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.checks.registry import scenario
from conformance.checks.script import Script
from conformance.clauses import Need

SHORT, LONG = 32, 512
"""Events in a log before and after it grew."""

MANY = 64
"""Sessions that come to join a single one."""

WIDTH = 200
"""Characters of text in an event of a log that grows."""

PROBE = 8
"""Events in the log of each session that is looked at while others multiply."""


@scenario("SEQ-10", needs=(Need.IO_COUNT,))
def append_costs_the_same_on_a_long_log(s: Script) -> None:
    """The bytes read and written for each append, and for the flush behind them, stay flat while a log doubles.

    A window is as long as the log before it at least, so that what a backend does once in a while is averaged out.
    """
    s.start_counting()
    w = s.create(s.instance())
    s.read_counters()
    s.fill(w, 0, 2 * SHORT, width=WIDTH)
    s.flush(w)
    s.read_counters()
    s.fill(w, 2 * SHORT, (LONG // 2 - 2 * SHORT) // SHORT, size=SHORT, width=WIDTH)
    s.read_counters()
    s.fill(w, LONG // 2, LONG // 2, width=WIDTH)
    s.flush(w)
    s.read_counters()


def _on_a_growing_log(s: Script, *measured: Callable[[int], object], fresh: bool = False) -> None:
    """Make calls while a log is short, and when it has grown; in a fresh instance each time where it is to be one."""
    s.start_counting()
    a = s.instance()
    w = s.create(a)
    for first, length in ((0, SHORT), (SHORT, LONG)):
        s.fill(w, first, (length - first) // 32, size=32, width=WIDTH)
        s.flush(w)
        b = s.instance() if fresh else a
        if fresh:
            # What an instance does once, at its first call, is not that call's own cost.
            s.stat(b, "nobody")
        s.read_counters()
        for call in measured:
            call(b)
            s.read_counters()


@scenario("SVC-10", needs=(Need.IO_COUNT,))
def stat_costs_the_same_on_a_long_log(s: Script) -> None:
    """``stat`` of a log that has just grown costs what it did when the log was short."""
    _on_a_growing_log(s, s.stat)


@scenario("SVC-10", needs=(Need.IO_COUNT,))
def open_costs_the_same_on_a_long_log(s: Script) -> None:
    """Opening a log for reading costs the same when it has grown."""
    _on_a_growing_log(s, s.open)


@scenario("SVC-10", needs=(Need.IO_COUNT,))
def list_costs_the_same_on_a_long_log(s: Script) -> None:
    """``list`` costs the same when a log in it has grown."""
    _on_a_growing_log(s, s.list)


@scenario("SVC-10", needs=(Need.IO_COUNT, Need.FRESH))
def long_log_costs_a_fresh_instance_no_more(s: Script) -> None:
    """A fresh instance tells, opens and lists a long log at the cost of a short one."""
    _on_a_growing_log(s, s.stat, s.open, s.list, fresh=True)


def _among_many_sessions(s: Script, *measured: Callable[[int, str], object]) -> None:
    """Make calls about a session that is alone, and about one just like it among many."""
    s.start_counting()
    a = s.instance()
    for more, name in ((0, "alone"), (MANY, "among-many")):
        if more:
            s.populate(a, more)
        w = s.create(a, name)
        s.fill(w, 0, 1, size=PROBE)
        s.close(w)
        s.read_counters()
        for call in measured:
            call(a, name)
            s.read_counters()


@scenario("SVC-10", needs=(Need.IO_COUNT,))
def looking_at_one_session_leaves_the_others_alone(s: Script) -> None:
    """``stat`` of one id, and opening it for reading, cost the same among many sessions as alone."""
    _among_many_sessions(s, s.stat, s.open)


@scenario("SVC-10", needs=(Need.IO_COUNT,))
def writing_to_one_session_leaves_the_others_alone(s: Script) -> None:
    """Opening a session for writing, and appending to it, cost the same among many sessions as alone."""
    writers: list[int] = []

    def open_writer(instance: int, name: str) -> None:
        writers.append(s.open(instance, name, "write"))

    def append(instance: int, name: str) -> None:
        s.fill(writers[-1], PROBE, 4)
        s.flush(writers[-1])

    _among_many_sessions(s, open_writer, append)


BULKY = 4096
"""Characters of text in an event of a log that is read in parts."""

SLICE = 4
"""Events that a bounded read asks for."""


@scenario("READ-05", needs=(Need.IO_COUNT,))
def bounded_reads_take_the_memory_of_what_they_return(s: Script) -> None:
    """A few events from the start, the middle and the end of 4 MB of text take the memory they take from 256 KB."""
    s.start_counting()
    a = s.instance()
    w = s.create(a)
    r = s.open(a)
    for first, length in ((0, 64), (64, 1024)):
        s.fill(w, first, (length - first) // 16, size=16, width=BULKY)
        s.flush(w)
        s.read_counters()
        for offset in (0, length // 2, length - SLICE):
            s.read(r, offset, SLICE)
            s.read_counters()
