"""Named scenarios for SVC: what ``create``, ``open``, ``stat`` and ``list`` answer, and that they agree."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, header
from conformance.clauses import Need

FULL = header(
    "full",
    cwd="/home/ann/project",
    parent_session="parent",
    origin={"kind": "fork", "path": ["a", "b"], "exact": 0.1},
    delegation_depth=3,
    agent_preset={"name": "careful", "on": True},
    extra={"nested": {"list": [1, 2.5, None, False]}, "text": "§ € 😀"},
)


@scenario("SVC-01")
def creator_gets_a_write_handle_with_what_was_given(s: Script) -> None:
    """The handle that ``create`` returns tells the id, header, access and inherited count that were given."""
    a = s.instance()
    s.create(a, "s1")
    s.create(a, header=FULL)
    s.create(a, header=header("seeded", is_seeded=True, parent_session="s1"), inherited=2)


@scenario("SVC-01")
def header_is_shown_again_by_every_view(s: Script) -> None:
    """A header with every field set is the same in ``stat``, in ``list`` and on every handle opened later."""
    a = s.instance()
    w = s.create(a, header=FULL)
    s.open(a, "full")
    s.stat(a, "full")
    s.append(w, batch(0, 1))
    s.close(w)
    s.open(a, "full", "write")
    s.open(a, "full")
    s.stat(a, "full")
    s.list(a)


@scenario("SVC-01", needs=(Need.FRESH,))
def header_is_shown_again_by_a_fresh_instance(s: Script) -> None:
    """A header with every field set is read back from storage as it was given."""
    w = s.create(s.instance(), header=FULL)
    s.append(w, batch(0, 1))
    s.close(w)
    b = s.instance()
    s.stat(b, "full")
    s.list(b)
    s.open(b, "full")
    s.open(b, "full", "write")


@scenario("SVC-02")
def create_of_a_pending_id_is_refused(s: Script) -> None:
    """``create`` of an id that is pending and owned is refused, and its creator writes on."""
    a = s.instance()
    w = s.create(a)
    s.create(a)
    s.append(w, batch(0, 2))
    s.create(a)
    s.read(w)


@scenario("SVC-02")
def create_of_a_stored_id_is_refused_though_nobody_owns_it(s: Script) -> None:
    """``create`` of a stored session without an owner is refused, and its log and header stay."""
    a = s.instance()
    w = s.create(a, header=FULL)
    s.append(w, batch(0, 3))
    s.close(w)
    s.create(a, header=header("full", cwd="/elsewhere"))
    r = s.open(a, "full")
    s.read(r)
    s.stat(a, "full")


@scenario("SVC-02", needs=(Need.FRESH,))
def create_of_a_stored_id_is_refused_in_a_fresh_instance(s: Script) -> None:
    """``create`` in another instance is refused for a stored id, owned and not, and changes nothing."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.flush(w)
    b = s.instance()
    s.create(b)
    s.read(w)
    s.close(w)
    s.create(s.instance())
    r = s.open(b)
    s.read(r)


@scenario("SVC-04", "SVC-05")
def absent_id_is_not_found_for_both_accesses(s: Script) -> None:
    """An id without a session: ``stat`` is ``None``, both opens say not found, and ``list`` is empty."""
    a = s.instance()
    s.stat(a, "nobody")
    s.open(a, "nobody", "read")
    s.open(a, "nobody", "write")
    s.list(a)


@scenario("SVC-04", "SVC-05")
def absent_id_beside_others_is_not_found(s: Script) -> None:
    """An id that is a prefix or an extension of a stored one is absent."""
    a = s.instance()
    w = s.create(a, "session-12")
    s.append(w, batch(0, 1))
    for near in ("session-1", "session-123", "session"):
        s.stat(a, near)
        s.open(a, near, "read")
        s.open(a, near, "write")


@scenario("SVC-04", "SVC-05", needs=(Need.FRESH,))
def absent_id_is_not_found_by_a_fresh_instance(s: Script) -> None:
    """A fresh instance over storage with one session finds no other."""
    w = s.create(s.instance(), "s1")
    s.append(w, batch(0, 1))
    s.close(w)
    b = s.instance()
    s.stat(b, "s2")
    s.open(b, "s2", "read")
    s.open(b, "s2", "write")


@scenario("SVC-05")
def stat_takes_no_ownership_and_changes_nothing(s: Script) -> None:
    """After any number of ``stat`` calls the session can be owned, and its log is as before."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.read(w)
    s.stat(a)
    s.stat(a)
    s.read(w)
    s.close(w)
    s.stat(a)
    v = s.open(a, access="write")
    s.append(v, batch(2, 1))
    s.read(v)


@scenario("SVC-06")
def list_shows_each_visible_session_once(s: Script) -> None:
    """``list`` gives one snapshot each of pending, written, closed and empty flushed sessions, equal to ``stat``."""
    a = s.instance()
    s.list(a)
    s.create(a, "pending")
    written = s.create(a, "written")
    s.append(written, batch(0, 2))
    closed = s.create(a, "closed")
    s.append(closed, batch(0, 1))
    s.close(closed)
    s.flush(s.create(a, "flushed"))
    s.list(a)
    for each in ("pending", "written", "closed", "flushed"):
        s.stat(a, each)
    s.list(a)


@scenario("SVC-06", needs=(Need.FRESH,))
def fresh_instance_lists_what_is_stored_and_nothing_else(s: Script) -> None:
    """``list`` of a fresh instance has every session that a barrier covered, and no pending one."""
    a = s.instance()
    s.create(a, "pending")
    for each in ("one", "two", "three"):
        w = s.create(a, each)
        s.append(w, batch(0, 2))
        s.close(w)
    s.flush(s.create(a, "flushed"))
    b = s.instance()
    s.list(b)
    for each in ("one", "two", "three", "flushed"):
        s.stat(b, each)
    s.list(b)


@scenario("SVC-11")
def nothing_but_append_changes_a_log(s: Script) -> None:
    """Opens of both kinds, immediate closes, ``list`` and refused calls leave a log as it was."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 3))
    s.close(w)
    r = s.open(a)
    s.read(r)
    s.close(s.open(a))
    s.read(r)
    s.close(s.open(a, access="write"))
    s.read(r)
    s.list(a)
    s.read(r)
    s.open(a, "other", "write")
    s.list(a)
    s.read(s.open(a))


@scenario("SVC-11")
def refused_opens_leave_the_log_alone(s: Script) -> None:
    """A write open that is refused because the session is owned takes nothing from its log."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.read(w)
    s.open(a, access="write")
    s.read(w)
    s.append(w, batch(2, 1))
    s.read(w)


@scenario("SVC-11", needs=(Need.FRESH,))
def immediate_close_in_a_fresh_instance_keeps_the_log(s: Script) -> None:
    """A write open in a fresh instance that is closed at once leaves the stored log whole."""
    w = s.create(s.instance())
    s.append(w, batch(0, 4))
    s.close(w)
    b = s.instance()
    r = s.open(b)
    s.read(r)
    s.close(s.open(b, access="write"))
    s.read(r)
    s.list(b)
    c = s.instance()
    s.stat(c)
    s.read(s.open(c))


def _two_pending(s: Script) -> tuple[int, int, int, int]:
    """One id pending in two instances, if the second is let in: (first, second, their handles)."""
    a, b = s.instance(), s.instance()
    return a, b, s.create(a), s.create(b)


@scenario("SVC-12", needs=(Need.FRESH,))
def losing_instance_is_refused_and_the_winner_untouched(s: Script) -> None:
    """Of two instances with one id pending the first to flush wins; the other's append is refused."""
    a, b, winner, loser = _two_pending(s)
    s.append(winner, batch(0, 2))
    s.flush(winner)
    s.append(loser, batch(0, 3, mark="late"))
    s.read(winner)
    s.close(loser)
    s.read(s.open(b))
    s.append(winner, batch(2, 1))
    s.read(winner)
    s.stat(a)


@scenario("SVC-12", needs=(Need.FRESH,))
def losing_flush_is_refused(s: Script) -> None:
    """The flush of an empty pending session is refused once another instance stored the id."""
    _, b, winner, loser = _two_pending(s)
    s.append(winner, batch(0, 1))
    s.flush(winner)
    s.flush(loser)
    s.append(loser, batch(0, 1, mark="late"))
    s.read(winner)
    s.close(loser)
    s.stat(b)


@scenario("SVC-12", needs=(Need.FRESH,))
def losing_close_leaves_the_winner_untouched(s: Script) -> None:
    """Closing the pending session that lost removes nothing of the winner's."""
    a, b, winner, loser = _two_pending(s)
    s.flush(winner)
    s.close(loser)
    s.append(winner, batch(0, 2))
    s.close(winner)
    s.read(s.open(b))
    s.read(s.open(a))
    s.list(b)


@scenario("SVC-12", needs=(Need.FRESH,))
def second_creator_may_win(s: Script) -> None:
    """Who created first does not matter: the first to store the id owns it."""
    a, _, first, second = _two_pending(s)
    s.append(second, batch(0, 2, mark="second"))
    s.flush(second)
    s.append(first, batch(0, 2, mark="first"))
    s.close(first)
    s.close(second)
    s.read(s.open(a))
    s.read(s.open(s.instance()))


@scenario("SVC-13")
def absent_id_can_be_created(s: Script) -> None:
    """An id that ``stat`` and ``open`` call absent can be created, and then all calls say that it is taken."""
    a = s.instance()
    s.stat(a)
    s.open(a)
    w = s.create(a)
    s.stat(a)
    s.open(a)
    s.create(a)
    s.append(w, batch(0, 1))
    s.open(a)
    s.create(a)


@scenario("SVC-13")
def id_that_never_was_is_absent_to_every_call(s: Script) -> None:
    """After a create that stored nothing was closed, every call calls the id absent, and ``create`` works."""
    a = s.instance()
    s.close(s.create(a))
    s.list(a)
    s.open(a, access="write")
    s.open(a)
    s.stat(a)
    s.create(a)
    s.close(s.create(a, "s2"))
    s.stat(a, "s2")
    s.stat(a, "s3")
    s.create(a, "s3")


@scenario("SVC-13", needs=(Need.FRESH,))
def absent_id_can_be_created_in_a_fresh_instance(s: Script) -> None:
    """A fresh instance that calls an id absent can create it."""
    a = s.instance()
    w = s.create(a, "s1")
    s.append(w, batch(0, 1))
    s.close(w)
    b = s.instance()
    s.stat(b, "s2")
    s.open(b, "s2")
    s.create(b, "s2")
    s.stat(b, "s1")
    s.create(b, "s1")


@scenario("SVC-11")
def flushed_empty_session_outlives_its_close(s: Script) -> None:
    """An empty session that a flush made real is still there after its handle was closed."""
    a = s.instance()
    w = s.create(a)
    s.flush(w)
    s.stat(a)
    s.close(w)
    s.stat(a)
    s.list(a)
    s.read(s.open(a))


@scenario("SVC-01", "SVC-09", "CLOSE-05", needs=(Need.PYTHON_VALUES,))
def a_handle_says_the_same_for_as_long_as_it_lives(s: Script) -> None:
    """Its id, header, access and inherited count are looked at behind appends and a flush, and once it is closed."""
    a = s.instance()
    given = header(is_seeded=True, origin={"by": ["someone"]}, extra={"team": {"name": "blue"}})
    w = s.create(a, header=given, inherited=2)
    s.append(w, batch(0, 3))
    s.flush(w)
    s.leave(s.open(a))
    s.leave(w)
    s.leave(s.open(a, access="write"))
    s.leave(s.create(a, "s2"))


@scenario("SVC-01", needs=(Need.CALLER_MEMORY, Need.PYTHON_VALUES))
def a_header_is_captured(s: Script) -> None:
    """The caller overwrites what its header holds once the session is created: nobody sees anything of that."""
    a = s.instance()
    given = header(origin={"by": ["someone"]}, agent_preset=["plain"], extra={"team": {"name": "blue"}})
    w = s.create(a, header=given, scribble=True)
    s.stat(a)
    s.append(w, batch(0, 1))
    s.flush(w)
    s.leave(s.open(a))
    s.leave(w)
    s.leave(s.open(a, access="write"))
