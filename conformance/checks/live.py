"""Named scenarios of the live write path: windows, barriers, closes, and what was published and cannot be stored."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event, step
from conformance.clauses import Need
from conformance.model.operations import (
    Append,
    Dispose,
    Flush,
    FlushInstance,
    HubFlush,
    OpenSession,
    Publish,
    Read,
)

LIVE = (Need.LIVE,)
TIMED = (Need.LIVE, Need.CLOCK)

DRAINS = (3, 3, 3, 6, 3, 3, 3, 3)
"""Storing takes a while, so that something can happen meanwhile."""


def publish(s: Script, instance: int, first: int, count: int, *, session: str = "s1") -> None:
    """Publish plain events from that seq on."""
    for seq in range(first, first + count):
        s.publish(instance, event(seq), session)


def begin(s: Script, *, session: str = "s1", events: int = 0) -> tuple[int, int]:
    """An instance, and the write handle of a session that is on its hub; ``events`` are appended by hand before."""
    a = s.instance()
    w = s.create(a, session)
    if events:
        s.append(w, batch(0, events))
    s.hub_create(a, session, batch(0, events))
    return a, w


@scenario("LIVE-01", "LIVE-02", needs=TIMED)
def what_is_published_is_stored_within_its_window(s: Script) -> None:
    """One event, then several in one window, then one after it: each is in the log when its window has ended."""
    a, w = begin(s)
    publish(s, a, 0, 1)
    s.window(past=1)
    s.read(w)
    s.window(part=0.5)
    publish(s, a, 1, 1)
    s.window(part=0.6)
    publish(s, a, 2, 2)
    s.window(part=0.3)
    publish(s, a, 4, 1)
    s.window(part=0.05)
    s.read(w)
    s.window(part=0.05, past=1)
    s.read(s.open(a))
    publish(s, a, 5, 1)
    s.window(past=1)
    s.stat(a)
    s.read(w)


@scenario("LIVE-02", needs=TIMED)
def a_busy_producer_does_not_put_a_window_off(s: Script) -> None:
    """Events come faster than windows end, for several windows: none waits longer than its own."""
    a, w = begin(s)
    for seq in range(12):
        publish(s, a, seq, 1)
        s.window(part=0.3)
        if seq % 4 == 3:
            s.window(past=1, part=0.1)
            s.read(w)
    s.window(past=1)
    s.read(s.open(a))


@scenario("LIVE-02", "LIVE-01", needs=TIMED)
def what_comes_during_a_drain_is_the_next_batch(s: Script) -> None:
    """Events are published while others are being stored: they follow in order, in a window of their own."""
    a, w = begin(s)
    window = s.window_us
    first = [step(Publish(a, "s1", event(seq)), waits=False) for seq in range(2)]
    second = [step(Publish(a, "s1", event(seq)), after=window // 2 + 1, waits=False) for seq in range(2, 8)]
    s.overlap([*first, *second], [step(Read(w), after=window + 5_000), step(Read(w), after=window)], jobs=DRAINS)
    s.window(past=1)
    s.read(w)
    s.read(s.open(a))


@scenario("LIVE-03", needs=LIVE)
def a_flush_by_the_hub_stores_what_was_published(s: Script) -> None:
    """``session/flush`` does not wait for the window, and is a barrier."""
    a, w = begin(s)
    publish(s, a, 0, 3)
    s.hub_flush(a)
    s.read(w)
    publish(s, a, 3, 1)
    s.hub_flush(a)
    publish(s, a, 4, 1)
    s.hub_flush(a)
    s.hub_flush(a)
    s.read(s.open(a))
    s.wait(1)
    s.hub_flush(a)
    s.read(w)


@scenario("LIVE-03", needs=TIMED)
def a_flush_waits_for_the_drain_under_way(s: Script) -> None:
    """``session/flush`` comes while what waited is being stored: it resolves when that is done."""
    a, w = begin(s)
    window = s.window_us
    for first in (0, 2):
        s.overlap(
            [step(Publish(a, "s1", event(seq)), waits=False) for seq in (first, first + 1)],
            [step(HubFlush(a, "s1"), after=window + 2_000), step(Read(w))],
            jobs=DRAINS,
        )
    s.read(s.open(a))


@scenario("LIVE-03", "LIVE-13", needs=LIVE)
def a_flush_covers_what_came_during_another(s: Script) -> None:
    """Events are published while a flush is under way, and flushed: they are there when that flush resolves."""
    a = s.instance()
    for number, jobs in enumerate((DRAINS, DRAINS[3:], (6, 6, 6))):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        publish(s, a, 0, 1, session=name)
        for seq, flush in enumerate((HubFlush(a, name), Flush(w), FlushInstance(a)), 1):
            s.overlap(
                [step(flush, waits=False), step(Publish(a, name, event(seq)), after=5_000), step(flush), step(Read(w))],
                jobs=jobs,
            )


@scenario("LIVE-03", "LIVE-01", needs=(*TIMED, Need.CANCEL))
def a_cancelled_flush_loses_nothing(s: Script) -> None:
    """``session/flush`` is cancelled at several points: what was published before is stored in time all the same."""
    a = s.instance()
    for number, point in enumerate(((0, 0), (0, 1), (0, 2), (0, 4), (50, 0), (9_999, 0))):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        publish(s, a, 0, 1, session=name)
        s.overlap([step(HubFlush(a, name), cancels=[point])], jobs=DRAINS)
        s.window(past=1)
        s.read(w)
        publish(s, a, 1, 2, session=name)
        s.hub_flush(a, name)
        s.read(w)


@scenario("LIVE-03", "LIVE-13", needs=(*LIVE, Need.FRESH))
def barriers_reach_other_instances(s: Script) -> None:
    """What was published before a flush, of whatever kind, or before the close, another instance sees after it."""
    a, w = begin(s)
    b = s.instance()
    publish(s, a, 0, 2)
    s.hub_flush(a)
    r = s.open(b)
    s.read(r)
    publish(s, a, 2, 1)
    s.flush(w)
    s.read(r)
    publish(s, a, 3, 2)
    s.flush_all(a)
    s.read(r)
    s.stat(b)
    publish(s, a, 5, 1)
    s.close(w)
    s.read(r)
    s.read(s.open(s.instance()))


@scenario("LIVE-13", needs=(*LIVE, Need.FRESH))
def the_close_of_the_service_drains(s: Script) -> None:
    """What was published is stored when the service has closed."""
    for number in range(2):
        a = s.instance()
        w = s.create(a, f"s{number}")
        s.hub_create(a, f"s{number}")
        publish(s, a, 0, 3, session=f"s{number}")
        if number:
            s.append(w, batch(3, 1))
            publish(s, a, 4, 1, session=f"s{number}")
        s.close_all(a)
        b = s.instance()
        s.read(s.open(b, f"s{number}"))
        s.close_all(b)


@scenario("LIVE-06", needs=(*LIVE, Need.FRESH))
def a_disposed_session_is_drained_and_closed(s: Script) -> None:
    """``session/disposed`` stores what waits and closes the handle, so that the session can be owned again."""
    a, w = begin(s)
    publish(s, a, 0, 3)
    s.hub_dispose(a)
    s.append(w, batch(3, 1))
    s.close(w)
    b = s.instance()
    s.read(s.open(b))
    v = s.open(a, "s1", "write")
    s.read(v)
    s.append(v, batch(3, 1))
    s.close(v)


@scenario("LIVE-06", needs=LIVE)
def a_disposal_waits_for_its_drain(s: Script) -> None:
    """When ``session/disposed`` has resolved the session can be owned at once, and holds all that was published."""
    a = s.instance()
    for number, jobs in enumerate((DRAINS, DRAINS[3:], ())):
        name = f"s{number}"
        s.create(a, name)
        s.hub_create(a, name)
        publish(s, a, 0, 2, session=name)
        v = OpenSession(a, s.next_handle(), name, "write")
        s.overlap([step(Dispose(a, name)), step(v)], jobs=jobs)
        if s.has(v.handle):
            s.read(v.handle)
            s.append(v.handle, batch(2, 1))
            s.close(v.handle)


@scenario("LIVE-07", needs=LIVE)
def a_session_without_an_owner_stores_nothing(s: Script) -> None:
    """Events of sessions that nobody owns, never did, or own no longer, are not kept, and their flush resolves."""
    a = s.instance()
    s.hub_create(a, "ghost")
    publish(s, a, 0, 2, session="ghost")
    s.hub_flush(a, "ghost")
    s.stat(a, "ghost")
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    r = s.open(a)
    s.hub_create(a)
    publish(s, a, 2, 1)
    s.hub_flush(a)
    s.wait(1)
    s.read(r)
    w = s.open(a, "s1", "write")
    s.flush(w)
    s.read(w)
    s.hub_dispose(a, "ghost")
    s.list(a)


@scenario("LIVE-08", needs=(*LIVE, Need.CALLER_MEMORY))
def a_producer_may_overwrite_what_it_published(s: Script) -> None:
    """The event is overwritten when it is published: what is stored is what it was."""
    a, w = begin(s)
    for seq in range(3):
        s.publish(a, event(seq, data={"list": [seq, {"deep": "text"}]}), scribble=True)
    s.hub_flush(a)
    s.read(w)
    s.publish(a, event(3), scribble=True)
    s.wait(1)
    s.flush(w)
    s.read(s.open(a))


@scenario("LIVE-09", needs=LIVE)
def seed_events_are_not_stored_again(s: Script) -> None:
    """The seed was appended by hand before the session was published: publishing goes on behind it."""
    a, w = begin(s, events=3)
    s.hub_flush(a)
    s.read(w)
    publish(s, a, 3, 2)
    s.wait(1)
    s.hub_flush(a)
    s.append(w, batch(5, 1))
    s.hub_flush(a)
    s.wait(1)
    s.flush(w)
    s.read(w)
    s.read(s.open(a))


@scenario("LIVE-10", needs=LIVE)
def the_next_owner_gets_what_is_published_next(s: Script) -> None:
    """A session is closed and owned again: what is published from then on goes into its log."""
    a, w = begin(s)
    publish(s, a, 0, 2)
    s.close(w)
    v = s.open(a, "s1", "write")
    publish(s, a, 2, 2)
    s.wait(1)
    s.hub_flush(a)
    s.read(v)
    s.close(v)
    u = s.open(a, "s1", "write")
    publish(s, a, 4, 1)
    s.flush(u)
    s.read(u)


@scenario("LIVE-12", needs=LIVE)
def an_append_by_hand_beside_what_waits(s: Script) -> None:
    """Events wait while others are appended by hand, in order or not: nothing is swapped, doubled or lost."""
    a, w = begin(s)
    publish(s, a, 0, 2)
    s.append(w, batch(2, 2))
    s.read(w)
    publish(s, a, 4, 1)
    s.append(w, batch(4, 1, mark="too early"))
    s.append(w, batch(6, 1, mark="too late"))
    publish(s, a, 5, 1)
    s.append(w, batch(6, 1))
    publish(s, a, 7, 1)
    s.wait(1)
    s.hub_flush(a)
    s.read(w)
    s.read(s.open(a))


@scenario("LIVE-12", needs=TIMED)
def appends_by_hand_beside_a_drain(s: Script) -> None:
    """The window ends while appends by hand are under way: whatever is stored first, the order holds."""
    a, w = begin(s)
    window = s.window_us
    s.overlap(
        [step(Publish(a, "s1", event(seq)), waits=False) for seq in range(2)],
        [step(Append(w, batch(2, 1)), after=window - 1, waits=False), step(Append(w, batch(3, 1)), after=100)],
        [step(Publish(a, "s1", event(4)), after=window + 25_000), step(HubFlush(a, "s1"), after=100)],
        jobs=DRAINS,
    )
    s.read(w)
    s.wait(1)
    s.flush(w)
    s.read(s.open(a))


@scenario("LIVE-12", "LIVE-03", needs=LIVE)
def appends_by_hand_in_the_turn_of_publication(s: Script) -> None:
    """Between a publication and an append lies no turn of the loop, or one: the append overtakes nothing.

    The flush was called before the last event came, which stands behind an append in line; it is no business of its.
    """
    a = s.instance()
    for number, jobs in enumerate((DRAINS, DRAINS[3:], (), DRAINS)):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        published = [step(Publish(a, name, event(seq)), waits=bool(number % 2)) for seq in range(2)]
        taken = step(Append(w, batch(1, 1, mark="overtakes")), waits=False)
        first, last = (step(Append(w, batch(seq, 1)), waits=False) for seq in (2, 3))
        flush = step(HubFlush(a, name), waits=False)
        s.overlap([*published, taken, first, flush, last, step(Publish(a, name, event(4)))], jobs=jobs)
        s.hub_flush(a, name)
        s.read(w)


@scenario("LIVE-14", needs=LIVE)
def what_cannot_be_stored_is_told(s: Script) -> None:
    """An event is published that can never be stored: its producer hears of it, or every flush and the close do."""
    a = s.instance()
    for number, bad in enumerate((event(1, data={"set": {1, 2}}), event(3), event(0), {"type": "user/message"})):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        publish(s, a, 0, 1, session=name)
        s.publish(a, bad, name)
        s.hub_flush(a, name)
        s.flush(w)
        s.read(w)
        s.flush_all(a)
        s.close(w)
    s.close_all(a)
