"""Named scenarios of the live write path in larger numbers and sizes.

Batches that are cut at a limit, and events that are captured late because they are large, show only past that limit.
"""

from __future__ import annotations

from conformance.checks.live import LIVE, TIMED, begin
from conformance.checks.registry import scenario
from conformance.checks.script import Script, event
from conformance.clauses import Need
from conformance.model.operations import Flush, FlushInstance, HubFlush

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
