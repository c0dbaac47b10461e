"""Named scenarios of the live write path in larger numbers and sizes, and of flushes that are given up in line.

Batches that are cut at a limit, and events that are captured late because they are large, show only past that limit.
"""

from __future__ import annotations

from conformance.checks.live import DRAINS, LIVE, TIMED, begin
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event, step
from conformance.clauses import Need
from conformance.model.operations import Append, Flush, FlushInstance, HubFlush, Publish

MANY = 300
"""More than a background write, a flush or a close would take at once where it had a limit."""

LARGE = 200_000
"""Characters in an event, more than would be encoded at once where large ones were left for later."""


@scenario("LIVE-02", needs=TIMED)
def however_many_events_are_stored_within_their_window(s: Script) -> None:
    """Hundreds of events are published at once: when their window has ended all of them are in the log."""
    a, w = begin(s)
    for first in (0, MANY):
        s.flood(a, first=first, count=MANY)
        s.window(past=1)
        s.read(w)
    s.read(s.open(a))


@scenario("LIVE-03", "LIVE-13", needs=LIVE)
def however_many_events_a_barrier_covers(s: Script) -> None:
    """Hundreds of events wait: a flush of whatever kind, and the close, store all of them."""
    a, w = begin(s)
    r = s.open(a)
    for first, barrier in ((0, HubFlush(a, "s1")), (MANY, Flush(w)), (2 * MANY, FlushInstance(a))):
        s.flood(a, first=first, count=MANY)
        s.do(barrier)
        s.read(r)
    s.flood(a, first=3 * MANY, count=MANY)
    s.close(w)
    s.read(r)


@scenario("LIVE-08", needs=(*LIVE, Need.CALLER_MEMORY))
def a_large_event_is_captured(s: Script) -> None:
    """A large event is overwritten when it is published, like a small one: what is stored is what it was."""
    a, w = begin(s)
    s.publish(a, event(0, data={"list": [0, {"deep": "text"}], "text": "large " * (LARGE // 6)}), scribble=True)
    s.publish(a, event(1, data={"list": [{"n": n} for n in range(LARGE // 10)]}), scribble=True)
    s.hub_flush(a)
    s.read(w)


@scenario("LIVE-01", needs=(*TIMED, Need.CANCEL))
def a_flush_that_is_given_up_in_line_loses_nothing(s: Script) -> None:
    """A flush is cancelled behind an append that is under way: what was published is stored in time all the same."""
    a = s.instance()
    for number, point in enumerate(((0, 0), (0, 1), (0, 2), (50, 0), (4_000, 0), (9_998, 0), (15_000, 0))):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        for seq, flush in ((0, HubFlush(a, name)), (2, Flush(w)), (4, FlushInstance(a))):
            first = step(Append(w, batch(seq, 1)), waits=False)
            s.overlap([first, step(Publish(a, name, event(seq + 1))), step(flush, cancels=[point])], jobs=DRAINS)
            s.window(past=1)
            s.read(w)
