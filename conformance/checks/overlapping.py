"""Named scenarios of calls that are in flight at once: races, queues of one handle, reads beside writes, closes.

Jobs take long in them (``SLOW``), so that there is something to overlap with where a backend hands work to a thread;
one that never waits answers each call before the next one is made, and has to be right all the same.
"""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import CREATED_AT, Script, batch, step
from conformance.clauses import Need
from conformance.contract import SessionHeader
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    FlushInstance,
    ListSessions,
    OpenSession,
    Read,
    Stat,
)

SLOW = (3,) * 12
"""Each job takes 10 ms, and takes effect at their end."""

LATE = (6,) * 12
"""Each job takes effect at once, and its result comes after 10 ms."""

MIXED = (7, 1, 6, 2, 3, 5, 1, 7, 6, 1, 2, 3)
"""Jobs take all kinds of times."""

PACES = (SLOW, LATE, MIXED, ())


def _new(s: Script, instance: int, name: str) -> Create:
    return Create(instance, s.next_handle(), SessionHeader(id=name, created_at=CREATED_AT))


@scenario("SVC-03")
def of_racing_creates_one_wins(s: Script) -> None:
    """Several clients create one id at once: one gets a handle, the others are told that the id is taken."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        first, second, third = _new(s, a, name), _new(s, a, name), _new(s, a, name)
        s.overlap([step(first)], [step(second)], [step(third), step(Stat(a, name))], jobs=jobs)
        for created in (first, second, third):
            if s.has(created.handle):
                s.append(created.handle, batch(0, 1))
                s.close(created.handle)
        s.read(s.open(a, name))
    s.list(a)


@scenario("OWN-05")
def of_racing_write_opens_one_wins(s: Script) -> None:
    """Several clients open one session for writing at once: one owns it, the others are told that it is owned."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    length = 2
    for jobs in PACES:
        opens = [OpenSession(a, s.next_handle(), "s1", "write") for _ in range(3)]
        s.overlap(*([step(each)] for each in opens), jobs=jobs)
        for each in opens:
            if s.has(each.handle):
                s.append(each.handle, batch(length, 1))
                s.close(each.handle)
        length += 1
    s.read(s.open(a))


@scenario("SEQ-05", "SEQ-06", needs=(Need.CALLER_MEMORY,))
def calls_on_one_handle_take_effect_in_their_order(s: Script) -> None:
    """Appends, flushes and a close are called without waiting, batches overwritten: all is stored in that order."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        w = s.create(a, f"s{number}")
        calls = [Append(w, batch(seq, 2), scribble=seq % 4 == 0) for seq in range(0, 12, 2)]
        row = [step(call, waits=False) for call in calls]
        row.insert(2, step(Flush(w), waits=False))
        row.insert(5, step(Append(w, []), waits=False))
        s.overlap([*row, step(Close(w))], [step(Stat(a, f"s{number}"), after=10_050)], jobs=jobs)
        s.read(s.open(a, f"s{number}"))


@scenario("SEQ-05", "SEQ-02")
def a_refused_append_in_the_queue_stops_nothing(s: Script) -> None:
    """Between appends that wait in line stands one with a gap and one with a repeat: they alone are refused."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        w = s.create(a, f"s{number}")
        calls = (batch(0, 2), batch(5, 1), batch(2, 1), batch(2, 1, mark="again"), batch(3, 1))
        s.overlap([step(Append(w, events), waits=False) for events in calls], jobs=jobs)
        s.flush(w)
        s.read(w)


@scenario("FRESH-03", "FRESH-01", "FRESH-02")
def reads_beside_appends_show_a_prefix(s: Script) -> None:
    """Readers page, ask and list while a writer appends batch after batch: each sees whole batches, and never less."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 2))
        r = s.open(a, name)
        writes = [step(Append(w, batch(seq, 3)), waits=False) for seq in range(2, 14, 3)]
        pages = [step(Read(r, offset, 2), after=4_990) for offset in range(0, 8, 2)]
        looks = [step(Read(r), after=2_500 * (each % 2)) for each in range(6)]
        asks = [step(Stat(a, name), after=3_300), step(ListSessions(a)), step(Read(w)), step(Stat(a, name))]
        asks.append(step(Stat(a, name), after=20_000))
        s.overlap([*writes, step(Flush(w))], pages, looks, asks, jobs=jobs)
        s.read(r)


@scenario("FRESH-03", needs=(Need.FRESH,))
def another_instance_reads_beside_appends(s: Script) -> None:
    """Another instance looks while a writer appends and flushes: it sees a prefix, no shorter than what is covered."""
    a, b = s.instance(), s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 2))
        s.flush(w)
        r = s.open(b, name)
        writes = [step(Append(w, batch(2, 2))), step(Flush(w)), step(Append(w, batch(4, 2)), waits=False)]
        s.overlap(
            [*writes, step(Flush(w))],
            [step(Read(r), after=2_700) for _ in range(8)],
            [step(Stat(b, name), after=5_100), step(ListSessions(b)), step(Stat(b, name), after=5_100)],
            jobs=jobs,
        )
        s.read(r)


@scenario("SEQ-07", needs=(Need.CALLER_MEMORY,))
def readers_overwrite_what_they_got_while_others_read(s: Script) -> None:
    """What one reader does to its events is seen by nobody who reads at the same time."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 4))
    r, q = s.open(a), s.open(a)
    for jobs in PACES:
        s.overlap(
            [step(Read(r, scribble=True)), step(Read(r))],
            [step(Read(q, scribble=True), waits=False), step(Read(q))],
            [step(Read(w, 1, 2, scribble=True)), step(Read(w))],
            jobs=jobs,
        )
    s.read(s.open(a))


@scenario("CLOSE-06", "CLOSE-02")
def a_close_drops_nothing_that_is_in_flight(s: Script) -> None:
    """A handle is closed while appends are under way: each resolves and is stored, or rejects and is not."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        w = s.create(a, name)
        appends = [step(Append(w, batch(seq, 2)), waits=False) for seq in range(0, 6, 2)]
        late = [step(Append(w, batch(6, 1)), waits=False), step(Flush(w)), step(Read(w))]
        s.overlap([*appends, step(Close(w), waits=False), *late], [step(Close(w), after=50)], jobs=jobs)
        s.read(s.open(a, name))
        v = s.open(a, name, "write")
        s.read(v)
        s.close(v)


@scenario("CLOSE-07", "CLOSE-08")
def the_service_closes_beside_everything(s: Script) -> None:
    """The service is closed while calls are under way: all end, nothing that resolved is lost, nothing works after."""
    _close_beside_everything(s, "s1", SLOW)


@scenario("CLOSE-07", "CLOSE-08", needs=(Need.FRESH,))
def each_service_closes_beside_everything(s: Script) -> None:
    """The same at any pace, and the next instance sees what had resolved."""
    for number, jobs in enumerate(PACES):
        _close_beside_everything(s, f"s{number}", jobs)
        s.read(s.open(s.instance(), f"s{number}"))


def _close_beside_everything(s: Script, name: str, jobs: tuple[int, ...]) -> None:
    a = s.instance()
    w = s.create(a, name)
    n = _new(s, a, f"new-{name}")
    o = OpenSession(a, s.next_handle(), name, "read")
    s.overlap(
        [step(Append(w, batch(0, 2)), waits=False), step(Append(w, batch(2, 2)), waits=False), step(Flush(w))],
        [step(n, waits=False), step(o, waits=False), step(CloseInstance(a)), step(CloseInstance(a))],
        [step(ListSessions(a)), step(Stat(a, name), after=100), step(FlushInstance(a))],
        [step(CloseInstance(a), after=50)],
        jobs=jobs,
    )
    s.append(w, batch(4, 1))
    s.append(n.handle, batch(0, 1))
    s.read(o.handle)
    s.stat(a, name)


@scenario("FLUSH-03", "FLUSH-01")
def a_sweep_waits_for_a_close_that_came_before(s: Script) -> None:
    """A service flush is called while one handle closes: it ends after that, and stores no session without events."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        w, e, v = s.create(a, f"w{number}"), s.create(a, f"e{number}"), s.create(a, f"v{number}")
        s.append(v, batch(0, 1))
        s.overlap(
            [
                step(Append(w, batch(0, 2)), waits=False),
                step(Close(w), waits=False),
                step(Close(e), waits=False),
                step(FlushInstance(a)),
            ],
            [step(FlushInstance(a), after=20)],
            [step(FlushInstance(a), after=50), step(Append(v, batch(1, 1))), step(Close(v))],
            jobs=jobs,
        )
        s.stat(a, f"e{number}")
        s.read(s.open(a, f"w{number}"))
        s.read(s.open(a, f"v{number}"))


@scenario("FLUSH-03", needs=(Need.FAULTS,))
def a_sweep_names_a_close_that_fails(s: Script) -> None:
    """A service flush is called while a handle closes on failing storage: where the close fails, it says so too."""
    a = s.instance()
    for number, jobs in enumerate((*PACES, SLOW)):
        w = s.create(a, f"w{number}")
        s.append(w, batch(0, 1))
        s.flush(w)
        if number % 2:
            s.append(w, batch(1, 2))
        s.fail("write", "sync", "truncate", error="EIO", sticky=True)
        append = [] if number % 2 else [step(Append(w, batch(1, 2)), waits=False)]
        s.overlap([*append, step(Close(w), waits=False), step(FlushInstance(a))], [step(FlushInstance(a))], jobs=jobs)
        s.heal()


@scenario("FLUSH-03")
def a_sweep_waits_for_a_close_that_comes_during_it(s: Script) -> None:
    """A handle is closed when a service flush has come past it, and is busy with another: that close is waited for."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        w, v = s.create(a, f"w{number}"), s.create(a, f"v{number}")
        for handle in (w, v):
            s.append(handle, batch(0, 1))
        s.flush(w)
        slow = [step(Append(v, batch(seq, 1)), waits=False) for seq in (1, 2)]
        first = step(Append(w, batch(1, 1)), after=15_000, waits=False)
        last = [first, *(step(Append(w, batch(seq, 1)), waits=False) for seq in (2, 3))]
        s.overlap([*slow, step(FlushInstance(a))], [*last, step(Close(w))], jobs=jobs)
        s.overlap([step(Close(v), waits=False), step(FlushInstance(a))], jobs=jobs)
        s.read(s.open(a, f"w{number}"))


@scenario("FLUSH-03", needs=(Need.FAULTS,))
def a_sweep_names_a_close_that_fails_during_it(s: Script) -> None:
    """The same on failing storage, of which the handle that is closed hears only then: the sweep says so too."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        w, v = s.create(a, f"w{number}"), s.create(a, f"v{number}")
        for handle in (w, v):
            s.append(handle, batch(0, 1))
            s.flush(handle)
        s.fail("write", "sync", "truncate", error="EIO", sticky=True)
        slow = [step(Append(v, batch(seq, 1)), waits=False) for seq in (1, 2, 3, 4)]
        late = [step(Append(w, batch(1, 1)), after=15_000, waits=False), step(Close(w))]
        s.overlap([*slow, step(FlushInstance(a))], late, jobs=jobs)
        s.heal()


@scenario("FLUSH-01")
def a_sweep_covers_what_came_during_another(s: Script) -> None:
    """A sweep is called behind a create while another one is under way: it stores the new session too."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        s.create(a, f"w{number}")
        n = _new(s, a, f"n{number}")
        s.overlap([step(FlushInstance(a), waits=False), step(n, after=50), step(FlushInstance(a))], jobs=jobs)
        s.close(n.handle)
        s.stat(a, f"n{number}")


@scenario("FLUSH-01", "SEQ-05")
def a_barrier_waits_for_what_was_called_before(s: Script) -> None:
    """A sweep and a flush are called while appends stand in line: what they cover is there when they resolve."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        w, v = s.create(a, f"w{number}"), s.create(a, f"v{number}")
        for handle in (w, v):
            s.append(handle, batch(0, 1))
        s.overlap(
            [step(Append(w, batch(1, 2)), waits=False), step(Append(w, batch(3, 2)), waits=False)],
            [step(Append(v, batch(1, 2)), waits=False), step(Append(v, batch(3, 2)), waits=False)],
            [step(FlushInstance(a), after=50), step(Read(w)), step(Stat(a, f"w{number}"))],
            [step(Flush(v), after=50), step(Read(v))],
            jobs=jobs,
        )
        s.read(w)
        s.read(v)


@scenario("SEQ-05", "FRESH-01")
def a_flush_covers_what_came_during_another(s: Script) -> None:
    """A flush is called behind an append that came while another one was under way: it covers that append too."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        r = s.open(a, name)
        row = [step(Append(w, batch(1, 1)), waits=False), step(Flush(w), waits=False)]
        row += [step(Append(w, batch(2, 1)), waits=False), step(Flush(w)), step(Read(r)), step(Stat(a, name))]
        s.overlap(row, jobs=jobs)
        s.read(r)


@scenario("CLOSE-01")
def a_close_is_joined_by_the_others(s: Script) -> None:
    """Several clients close one handle at once: it is closed when any of them is told so."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        w = s.create(a, name)
        v = OpenSession(a, s.next_handle(), name, "write")
        s.overlap(
            [step(Append(w, batch(0, 1)), waits=False), step(Close(w), waits=False)],
            [step(Close(w)), step(v)],
            [step(Close(w), after=100)],
            jobs=jobs,
        )
        if s.has(v.handle):
            s.append(v.handle, batch(1, 1))
            s.close(v.handle)


@scenario("OWN-02", "CLOSE-06")
def who_opens_beside_a_close_goes_on_behind_it(s: Script) -> None:
    """A session is opened again and again while its owner closes: whoever gets it goes on where the log ends."""
    a = s.instance()
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        opens = [OpenSession(a, s.next_handle(), name, "write") for _ in range(5)]
        s.overlap(
            [step(Append(w, batch(1, 2)), waits=False), step(Append(w, batch(3, 2)), waits=False), step(Close(w))],
            [step(each, after=pause) for each, pause in zip(opens, (0, 50, 9_999, 10_050, 30_000), strict=True)],
            jobs=jobs,
        )
        for each in opens:
            if s.has(each.handle):
                s.append(each.handle, batch(5, 1))
                s.close(each.handle)
        s.read(s.open(a, name))


@scenario("READ-06", "FAULT-01", needs=(Need.FAULTS, Need.FRESH))
def a_read_beside_a_failing_append_shows_none_of_it(s: Script) -> None:
    """An append is under way and will fail: whoever reads meanwhile sees nothing of it, and the next one is stored."""
    for number, jobs in enumerate(PACES):
        a = s.instance()
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 2))
        s.flush(w)
        r = s.open(a, name)
        for calls in (("write",), ("sync",)):
            s.fail(*calls, error="EIO", sticky=True)
            s.overlap(
                # The first of the reads begins behind the append, also where calls never wait.
                [
                    step(Append(w, batch(2, 2, mark="fails")), waits=False),
                    step(Read(r), waits=False),
                    step(Flush(w)),
                ],
                [step(Read(r), after=4_700 * (each % 2)) for each in range(6)],
                [step(Stat(a, name), after=150), step(Read(w), after=150), step(Read(w), after=9_900)],
                jobs=jobs,
            )
            s.heal()
        s.close(w)
        s.close_all(a)
