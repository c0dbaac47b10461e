"""Named scenarios in larger numbers: many sessions, handles, rounds and events, long batches and wide slices.

Field faults like caps, pools and pages show only past a number; each scenario here goes past the usual ones.
"""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event, header
from conformance.clauses import Need

SESSIONS = 14


def _names(count: int = SESSIONS) -> list[str]:
    return [f"n{number}" for number in range(count)]


@scenario("SVC-06", "OWN-11")
def many_sessions_are_written_and_listed(s: Script) -> None:
    """Fourteen sessions with a writer each: all of them are listed, none loses its owner."""
    a = s.instance()
    writers = [s.create(a, name) for name in _names()]
    for w in writers:
        s.append(w, batch(0, 1))
    s.list(a)
    for w in writers:
        s.append(w, batch(1, 2))
        s.flush(w)
    s.list(a)
    for name in _names():
        s.stat(a, name)
        s.read(s.open(a, name))


@scenario("SVC-06", "CLOSE-03")
def a_list_has_no_pages(s: Script) -> None:
    """A hundred and twenty sessions are all listed, more than fit on one page of most databases' answers."""
    a = s.instance()
    s.populate(a, 120)
    s.list(a)


@scenario("SVC-06", "CLOSE-03", thorough=True)
def a_list_of_thousands_has_no_pages(s: Script) -> None:
    """The same for eleven hundred: object stores answer by the thousand."""
    a = s.instance()
    s.populate(a, 1_100)
    s.list(a)


@scenario("OWN-01")
def every_one_of_many_owners_owns(s: Script) -> None:
    """A hundred and thirty sessions have a writer each: the first, the last and one between are owned still."""
    a = s.instance()
    names = _names(130)
    for name in names:
        s.create(a, name)
    for name in (names[0], names[64], names[-1]):
        s.open(a, name, "write")
        s.create(a, name)
    s.close_all(a)


@scenario("FLUSH-01", "CLOSE-07")
def sweeps_reach_every_one_of_many_handles(s: Script) -> None:
    """A service flush and a service close serve fourteen handles, not the first few."""
    a = s.instance()
    writers = [s.create(a, name) for name in _names()]
    s.append(writers[-1], batch(0, 1))
    s.flush_all(a)
    s.list(a)
    s.close_all(a)
    for w in writers:
        s.read(w)


@scenario("FLUSH-01", "CLOSE-07", needs=(Need.FRESH,))
def sweeps_over_many_handles_are_seen_elsewhere(s: Script) -> None:
    """Another instance sees all fourteen sessions after a service flush, and all events after the service's close."""
    a, b = s.instance(), s.instance()
    writers = [s.create(a, name) for name in _names()]
    s.flush_all(a)
    s.list(b)
    for w in writers:
        s.append(w, batch(0, 2))
    s.close_all(a)
    for name in _names():
        s.read(s.open(b, name))


@scenario("FRESH-01")
def many_readers_stay_open(s: Script) -> None:
    """Twenty read handles of one session all see what is appended after they were opened."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    readers = [s.open(a) for _ in range(20)]
    s.append(w, batch(1, 1))
    for r in readers:
        s.read(r)


@scenario("OWN-11", "REV-02")
def many_rounds_by_one_owner(s: Script) -> None:
    """Seventy appends and flushes by one handle, with a new revision after each append."""
    a = s.instance()
    w = s.create(a)
    for seq in range(70):
        s.append(w, batch(seq, 1))
        s.stat(a)
        s.flush(w)
    s.append(w, batch(70, 64))
    s.stat(a)
    s.read(w)


@scenario("OWN-02")
def many_owners_one_after_the_other(s: Script) -> None:
    """Twelve times a new owner goes on where the last one ended."""
    a = s.instance()
    s.close(s.create(a, "other"))
    w = s.create(a)
    for seq in range(12):
        s.append(w, batch(seq, 1))
        s.close(w)
        w = s.open(a, access="write")
    s.read(w)


@scenario("SEQ-01", "READ-01")
def long_log_is_read_whole_and_in_slices(s: Script) -> None:
    """A log of 1,200 events, one batch of 300 among them, is read back whole and in slices of every kind."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 300))
    for first in range(300, 1200, 60):
        s.append(w, batch(first, 60))
    s.read(w)
    r = s.open(a)
    s.read(r)
    for offset, length in (
        (0, 11),
        (9, 25),
        (17, 9),
        (33, 1),
        (250, 120),
        (299, 2),
        (1024, 130),
        (1190, 50),
        (1200, 1),
    ):
        s.read(r, offset, length)
        s.read(r, offset)


@scenario("READ-01", "READ-04", thorough=True)
def a_read_has_no_pages(s: Script) -> None:
    """A log of 12,000 events is read whole, by its owner and by a reader, and from its ten-thousandth event on."""
    a = s.instance()
    w = s.create(a)
    s.fill(w, 0, 12, size=1_000)
    s.read(w)
    r = s.open(a)
    s.read(r)
    s.read(r, 9_990)
    s.read(r, 10_000, 1)
    s.read(r, 500, 11_000)
    s.stat(a)


@scenario("READ-01")
def huge_ranges_are_slices_too(s: Script) -> None:
    """Offsets and lengths past 64 bits are slices like any other."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 3))
    s.read(w, 2**63)
    s.read(w, 1, 2**63)
    s.read(w, 2**70, 2**70)


@scenario("MAT-05", needs=(Need.FRESH,))
def long_log_is_whole_in_a_fresh_instance(s: Script) -> None:
    """Two hundred batches and one long one are all there after the close."""
    a = s.instance()
    w = s.create(a)
    for seq in range(200):
        s.append(w, batch(seq, 1))
    s.append(w, batch(200, 150))
    s.close(w)
    s.read(s.open(s.instance()))


@scenario("SEQ-06", needs=(Need.CALLER_MEMORY,))
def long_batch_is_captured(s: Script) -> None:
    """A batch of forty is captured when it is appended, like one of one."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 40), scribble=True)
    s.read(w)


@scenario("SEQ-06", needs=(Need.CALLER_MEMORY,))
def large_batch_is_captured(s: Script) -> None:
    """So is one of four hundred, and one of a few large events."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 400), scribble=True)
    s.append(w, [event(400 + n, data={"text": "large " * 10_000, "list": [n]}) for n in range(4)], scribble=True)
    s.read(w)


@scenario("SEQ-07", needs=(Need.CALLER_MEMORY,))
def long_results_are_the_callers(s: Script) -> None:
    """What a long read returned is the caller's, like what a short one did."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 40))
    s.read(w, scribble=True)
    s.read(w)
    s.read(w, 3, 20, scribble=True)
    s.read(s.open(a))


@scenario("SEQ-02")
def error_names_a_place_far_inside_the_batch(s: Script) -> None:
    """The first offending place is named also where it is the seventieth."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [*batch(0, 70), *batch(71, 10)])
    s.append(w, batch(0, 2))
    s.read(w)


@scenario("SVC-01")
def falsy_header_fields_are_kept(s: Script) -> None:
    """Empty text, empty objects, zero and false are values, and so are odd keys of ``extra``."""
    a = s.instance()
    given = header(
        cwd="",
        parent_session="",
        origin={},
        agent_preset=False,
        delegation_depth=300,
        extra={"": None, "created_at": 0, "revision": "x", "null": None, "empty": [], "/": "/a/b/"},
    )
    w = s.create(a, header=given)
    s.append(w, batch(0, 1))
    s.close(w)
    s.open(a)
    s.stat(a)
    s.list(a)


@scenario("SVC-01", "SVC-09", needs=(Need.FRESH,))
def seeded_sessions_copy_nothing_by_themselves(s: Script) -> None:
    """A session that names its parent starts empty; a huge inherited count survives."""
    a = s.instance()
    parent = s.create(a, "parent")
    s.append(parent, batch(0, 3))
    s.close(parent)
    given = header("child", parent_session="parent", is_seeded=True)
    w = s.create(a, "child", header=given, inherited=2**40 + 1)
    s.read(w)
    s.append(w, batch(0, 1, mark="own"))
    s.close(w)
    b = s.instance()
    s.read(s.open(b, "child"))
    s.stat(b, "child")


@scenario("SEQ-01")
def text_and_times_are_kept_as_they_are(s: Script) -> None:
    """Long text, combining characters, carriage returns and times before 1970 come back unchanged."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0, data={"text": "e\u0301 a\r\nb\rc"}), {**event(1), "time": -1}])
    s.append(w, [event(2, data={"text": "long " * 20_000})])
    s.read(w)
    s.read(s.open(a))


@scenario("CLOSE-03", needs=(Need.FRESH,))
def refused_append_does_not_lose_what_came_before(s: Script) -> None:
    """A close after a refused append still covers the appends that had resolved."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.append(w, batch(5, 1))
    s.close(w)
    s.read(s.open(b))
    s.read(s.open(a))


@scenario("SVC-12", needs=(Need.FRESH,))
def losers_append_leaves_a_flushed_empty_winner(s: Script) -> None:
    """The winner made its empty session real; the loser's append does not replace it."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    late = s.create(b)
    s.flush(w)
    s.append(late, batch(0, 1, mark="late"))
    s.append(w, batch(0, 1))
    s.flush(w)
    s.read(s.open(s.instance()))
