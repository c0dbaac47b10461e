"""Named scenarios of calls that their callers cancel, at one point inside them after the other.

A call is cancelled so many turns of the loop, or so many microseconds, after it began; where it has ended by then
nothing is, and the next point is tried in the next session.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.checks.registry import scenario
from conformance.checks.script import CREATED_AT, Script, batch, event, header, step
from conformance.clauses import Need
from conformance.contract import SessionHeader
from conformance.model.operations import (
    Append,
    Close,
    Create,
    Flush,
    FlushInstance,
    ListSessions,
    OpenSession,
    Operation,
    Publish,
    Read,
    Stat,
)

POINTS = ((0, 0), (0, 1), (0, 2), (0, 3), (0, 5), (50, 0), (9_999, 0), (10_000, 0), (10_000, 1), (19_999, 0))
"""(microseconds, turns) after a call began."""

SLOW = (3,) * 16
LATE = (6, 1) * 8
"""A job takes effect at once and its result comes after 10 ms; where its await was cancelled it had begun."""


def _paces(number: int) -> tuple[int, ...]:
    return SLOW if number % 2 else LATE


@scenario("SEQ-08", needs=(Need.CANCEL,))
def a_cancelled_append_is_there_whole_or_not_at_all(s: Script) -> None:
    """An append is cancelled at every point: the log has all of it or nothing, and the handle goes on."""
    a = s.instance()
    for number, point in enumerate(POINTS * 2):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        r = s.open(a, name)
        cancelled = step(Append(w, batch(1, 3)), cancels=[point])
        s.overlap(
            [cancelled, step(Read(r)), step(Read(r), after=15_000), step(Stat(a, name))],
            jobs=_paces(number // len(POINTS)),
        )
        s.append(w, batch(4, 1))
        s.append(w, batch(1, 1))
        s.flush(w)
        s.read(w)
        s.close(w)


@scenario("SEQ-08", needs=(Need.CANCEL,))
def an_append_cancelled_in_the_queue_stops_nothing(s: Script) -> None:
    """The second of three appends in line is cancelled, once or twice: the others are stored, and it whole or not."""
    a = s.instance()
    for number, point in enumerate(POINTS * 2):
        name = f"s{number}"
        w = s.create(a, name)
        queue = [
            step(Append(w, batch(0, 2)), waits=False),
            step(Append(w, batch(2, 2)), waits=False, cancels=[point, (0, number % 3)]),
            step(Append(w, batch(4, 2)), waits=False),
            step(Append(w, batch(2, 1)), waits=False),
        ]
        s.overlap([*queue, step(Flush(w))], [step(FlushInstance(a), after=7_000)], jobs=_paces(number // len(POINTS)))
        s.read(w)
        s.close(w)
        v = s.open(a, name, "write")
        s.read(v)


@scenario("SEQ-08", needs=(Need.CANCEL,))
def a_cancelled_flush_leaves_the_handle_usable(s: Script) -> None:
    """A flush is cancelled at every point, by handle or by service: appends, flushes and the close go on."""
    a = s.instance()
    for number, point in enumerate(POINTS * 2):
        w = s.create(a, f"s{number}")
        flush = FlushInstance(a) if number % 2 else Flush(w)
        s.overlap(
            [step(Append(w, batch(0, 1))), step(flush, cancels=[point]), step(Append(w, batch(1, 1))), step(Flush(w))],
            [step(Flush(w), after=100, cancels=[point]), step(Stat(a, f"s{number}"))],
            jobs=_paces(number // len(POINTS)),
        )
        s.append(w, batch(2, 1))
        s.close(w)
        s.read(s.open(a, f"s{number}"))


@scenario("OWN-04", "SVC-11", needs=(Need.CANCEL,))
def a_cancelled_create_takes_nothing(s: Script) -> None:
    """A create is refused, or cancelled at any point, with another one behind it or not: the id can be created."""
    a = s.instance()
    for number, point in enumerate(POINTS):
        name = f"s{number}"
        s.create(a, header=header(name, created_at=-1))
        first, second = (Create(a, s.next_handle(), SessionHeader(id=name, created_at=CREATED_AT)) for _ in range(2))
        rows = [[step(first, cancels=[point])]]
        if number % 2:
            rows.append([step(OpenSession(a, s.next_handle(), name, "write"), after=12_000)])
        s.overlap(*rows, jobs=_paces(number))
        if not s.has(first.handle):
            s.stat(a, name)
            s.open(a, name)
            s.overlap([step(second)], jobs=_paces(number))
        for each in (first, second):
            if s.has(each.handle):
                s.append(each.handle, batch(0, 1))
                s.close(each.handle)
        s.read(s.open(a, name))
        s.read(s.open(a, name))
    s.list(a)


@scenario("OWN-04", "SVC-11", needs=(Need.CANCEL,))
def a_cancelled_write_open_takes_nothing(s: Script) -> None:
    """A write open is cancelled at every point, others racing with it or not: nobody owns the session, and one can."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    length = 2
    for number, point in enumerate(POINTS * 2):
        opens = [OpenSession(a, s.next_handle(), "s1", "write") for _ in range(3)]
        rows = [[step(opens[0], cancels=[point])]]
        if number % 2:
            rows.append([step(ListSessions(a), cancels=[(0, 1)]), step(Stat(a, "s1"), cancels=[(0, 0)])])
        s.overlap(*rows, jobs=_paces(number // len(POINTS)))
        if s.has(opens[0].handle):
            s.close(opens[0].handle)
        # Two more race for it, and the first of them is given up.
        s.overlap([step(opens[1], cancels=[point])], [step(opens[2], after=30_000)], jobs=_paces(number // len(POINTS)))
        for each in opens[1:]:
            if s.has(each.handle):
                s.append(each.handle, batch(length, 1))
                length += 1
                s.close(each.handle)
    s.read(s.open(a))


@scenario("CLOSE-04", needs=(Need.CANCEL,))
def a_cancelled_close_goes_on(s: Script) -> None:
    """A close is cancelled at every point, once or twice: it ends all the same, and the next owner gets the session."""
    a = s.instance()
    for number, point in enumerate(POINTS * 2):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        opens = [OpenSession(a, s.next_handle(), name, "write") for _ in range(3)]
        close = step(Close(w), cancels=[point] if number % 3 else [point, (0, 1), (100, 0)])
        last = [step(Close(w))] if number % 2 else []
        s.overlap(
            [step(Append(w, batch(1, 2)), waits=False), close, step(opens[0]), *last],
            [step(opens[1], after=10_050)],
            jobs=_paces(number // len(POINTS)),
        )
        s.overlap([step(opens[2])], jobs=SLOW)
        for each in opens:
            if s.has(each.handle):
                s.read(each.handle)
                s.append(each.handle, batch(3, 1))
                s.close(each.handle)


@scenario("SVC-11", needs=(Need.CANCEL,))
def a_cancelled_look_changes_nothing(s: Script) -> None:
    """Reads, stats and lists are cancelled at every point beside a writer: the log is what was appended."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    r = s.open(a)
    length = 2
    for number, point in enumerate(POINTS):
        s.overlap(
            [step(Append(w, batch(length, 1)))],
            [step(Read(r), cancels=[point]), step(Stat(a, "s1"), cancels=[point])],
            [step(ListSessions(a), cancels=[point]), step(Read(w), cancels=[point]), step(Read(r))],
            jobs=_paces(number),
        )
        length += 1
    s.flush(w)
    s.read(s.open(a))


@scenario("CLOSE-04", needs=(Need.LIVE, Need.CANCEL))
def a_cancelled_close_stores_what_was_published(s: Script) -> None:
    """A close is cancelled at every point while published events wait: it goes on, and they are stored all the same."""
    _give_up_behind_published(s, Close)


@scenario("LIVE-12", "SEQ-08", needs=(Need.LIVE, Need.CANCEL))
def a_cancelled_append_takes_nothing_along(s: Script) -> None:
    """An append by hand is cancelled at every point, behind what was published: that is stored all the same, once."""
    _give_up_behind_published(s, lambda writer: Append(writer, batch(3, 1)))


def _give_up_behind_published(s: Script, call: Callable[[int], Operation]) -> None:
    a = s.instance()
    for number, point in enumerate(POINTS):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        first = step(Append(w, batch(0, 1)), waits=False)
        published = [step(Publish(a, name, event(seq))) for seq in (1, 2)]
        s.overlap([first, *published, step(call(w), cancels=[point])], jobs=_paces(number))
        s.close(w)
        v = s.open(a, name, "write")
        s.read(v)
        s.append(v, batch(s.log_length(v), 1))
        s.close(v)


@scenario("CLOSE-05", needs=(Need.CANCEL, Need.PYTHON_VALUES))
def cancellation_passes_through_the_context(s: Script) -> None:
    """A cancellation inside the block is not swallowed, and the handle is closed all the same."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    r = s.open(a)
    s.leave(r, cancelled=True)
    s.read(r)
    s.leave(w, cancelled=True)
    s.append(w, batch(2, 1))
    s.read(s.open(a, access="write"))
