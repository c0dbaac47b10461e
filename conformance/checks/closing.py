"""Named scenarios for CLOSE and FLUSH: how handles and the service end, and what the service's flush covers."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event
from conformance.clauses import Need


@scenario("CLOSE-01")
def closing_again_does_nothing(s: Script) -> None:
    """Later closes of write and read handles resolve like the first, also after the session was owned again."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    r = s.open(a)
    for handle in (w, r, w, r, r):
        s.close(handle)
    v = s.open(a, access="write")
    s.close(w)
    s.append(v, batch(1, 1))
    s.close(v)
    s.close(v)
    s.read(s.open(a))


@scenario("CLOSE-01")
def closing_again_does_not_touch_a_successor(s: Script) -> None:
    """A second close of a session that never was leaves the new session of its id alone."""
    a = s.instance()
    w = s.create(a)
    s.close(w)
    v = s.create(a)
    s.close(w)
    s.stat(a)
    s.append(v, batch(0, 1))
    s.close(w)
    s.read(v)


@scenario("CLOSE-02")
def closed_writer_refuses_everything_as_closed(s: Script) -> None:
    """After ``close`` reads, appends, empty and malformed batches and ``flush`` are refused as closed."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    s.read(w)
    for events in (batch(2, 1), batch(7, 1), [], "events", [{"type": 1}], [event(2, data=None), 5]):
        s.append(w, events)
    s.flush(w)
    s.read(w, 0, 1)
    s.read(s.open(a))


@scenario("CLOSE-02")
def closed_reader_says_closed_and_not_read_only(s: Script) -> None:
    """A closed read handle refuses ``append`` and ``flush`` as closed, not as read-only."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    r = s.open(a)
    s.close(r)
    s.append(r, batch(1, 1))
    s.append(r, [])
    s.append(r, None)
    s.flush(r)
    s.read(r)
    s.append(w, batch(1, 1))


@scenario("CLOSE-02")
def handle_of_a_session_that_never_was_says_closed(s: Script) -> None:
    """The handle of a create that stored nothing refuses as closed, not as not found."""
    a = s.instance()
    w = s.create(a)
    s.close(w)
    s.read(w)
    s.append(w, batch(0, 1))
    s.append(w, [])
    s.flush(w)
    s.stat(a)


@scenario("CLOSE-03")
def close_stores_what_was_appended(s: Script) -> None:
    """After ``close`` without a flush the same instance has the whole log, in every view."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.append(w, batch(2, 3))
    s.close(w)
    s.stat(a)
    s.list(a)
    s.read(s.open(a))
    v = s.open(a, access="write")
    s.append(v, batch(5, 1))
    s.close(v)
    s.read(s.open(a))


@scenario("CLOSE-03", needs=(Need.FRESH,))
def close_is_a_barrier_for_other_instances(s: Script) -> None:
    """An instance opened before the close sees on old and new handles what the close covered."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.flush(w)
    b = s.instance()
    r = s.open(b)
    s.read(r)
    s.append(w, batch(1, 2))
    s.close(w)
    s.read(s.open(b))
    s.stat(b)
    s.list(b)
    s.read(r)


@scenario("CLOSE-05", needs=(Need.PYTHON_VALUES,))
def leaving_the_context_closes(s: Script) -> None:
    """Leaving ``async with`` closes write and read handles: they refuse, and ownership is free."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    r = s.open(a)
    s.leave(r)
    s.read(r)
    s.leave(w)
    s.append(w, batch(2, 1))
    s.flush(w)
    s.close(w)
    v = s.open(a, access="write")
    s.append(v, batch(2, 1))
    s.read(v)


@scenario("CLOSE-05", needs=(Need.PYTHON_VALUES,))
def exception_passes_through_the_context(s: Script) -> None:
    """An exception raised inside the block passes through, and the handle is closed all the same."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    r = s.open(a)
    s.leave(r, raising=True)
    s.read(r)
    s.leave(w, raising=True)
    s.append(w, batch(2, 1))
    s.read(w)
    s.read(s.open(a, access="write"))


@scenario("CLOSE-05", "MAT-03", needs=(Need.PYTHON_VALUES,))
def leaving_the_context_of_an_empty_session_erases_it(s: Script) -> None:
    """A created session whose context was left without a write never was."""
    a = s.instance()
    w = s.create(a)
    s.leave(w, raising=True)
    s.flush(w)
    s.stat(a)
    s.create(a)


@scenario("CLOSE-05", needs=(Need.PYTHON_VALUES, Need.FRESH))
def leaving_the_context_is_a_barrier(s: Script) -> None:
    """What was appended before the context was left is there for another instance."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 3))
    s.leave(w, raising=True)
    s.flush(w)
    b = s.instance()
    s.read(s.open(b))
    s.read(s.open(b, access="write"))


@scenario("CLOSE-07")
def closing_the_service_closes_every_handle(s: Script) -> None:
    """After the service's ``close`` its handles, writing, pending and reading ones, refuse as closed."""
    a = s.instance()
    w, pending = s.create(a, "s1"), s.create(a, "pending")
    s.append(w, batch(0, 2))
    r = s.open(a, "s1")
    s.close_all(a)
    for handle in (w, pending, r):
        s.read(handle)
        s.append(handle, batch(2, 1))
        s.flush(handle)
        s.close(handle)


@scenario("CLOSE-07", needs=(Need.FRESH,))
def closing_the_service_drains_every_handle(s: Script) -> None:
    """What was appended and not flushed is stored by the service's ``close``, in every session; ownership is free."""
    a = s.instance()
    for name, count in (("s1", 1), ("s2", 3)):
        s.append(s.create(a, name), batch(0, count))
    s.create(a, "never")
    s.close_all(a)
    b = s.instance()
    s.list(b)
    for name, count in (("s1", 1), ("s2", 3)):
        s.read(s.open(b, name))
        w = s.open(b, name, "write")
        s.append(w, batch(count, 1))
    s.create(b, "never")


@scenario("CLOSE-07", needs=(Need.FRESH,))
def older_instance_sees_what_closing_the_service_drained(s: Script) -> None:
    """An instance that had the session open sees what the other service's ``close`` stored."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.flush(w)
    r = s.open(b)
    s.read(r)
    s.append(w, batch(1, 2))
    s.close_all(a)
    s.stat(b)
    s.read(s.open(b))
    s.read(r)


@scenario("CLOSE-08")
def closed_service_rejects_every_operation(s: Script) -> None:
    """After the service's ``close`` ``create``, ``open``, ``stat``, ``list`` and ``flush`` reject; none hangs."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close_all(a)
    s.create(a, "s2")
    s.create(a, "s1")
    s.open(a, "s1")
    s.open(a, "s1", "write")
    s.open(a, "absent")
    s.stat(a, "s1")
    s.list(a)
    s.flush_all(a)


@scenario("CLOSE-08")
def closing_the_service_again_does_nothing(s: Script) -> None:
    """A second and third ``close`` of the service resolve, of one that was never used too."""
    a = s.instance()
    s.close(s.create(a))
    s.close_all(a)
    s.close_all(a)
    s.close_all(a)
    s.stat(a)


@scenario("CLOSE-08", needs=(Need.FRESH,))
def closed_service_leaves_the_other_instances_alone(s: Script) -> None:
    """One service closed, and closed again, disturbs neither the owner in another nor its log."""
    a, b = s.instance(), s.instance()
    w = s.create(b)
    s.append(w, batch(0, 1))
    s.flush(w)
    s.stat(a)
    s.close_all(a)
    s.append(w, batch(1, 1))
    s.close_all(a)
    s.flush(w)
    s.read(w)
    s.create(a, "s2")


@scenario("FLUSH-01")
def service_flush_keeps_empty_sessions(s: Script) -> None:
    """The service's ``flush`` materialises every session that is being written: closed, they still exist."""
    a = s.instance()
    handles = [s.create(a, name) for name in ("s1", "s2", "s3")]
    s.append(handles[1], batch(0, 2))
    s.flush_all(a)
    for handle in handles:
        s.close(handle)
    s.list(a)
    for name in ("s1", "s2", "s3"):
        s.stat(a, name)
        s.read(s.open(a, name))


@scenario("FLUSH-01")
def service_flush_with_nothing_to_do_resolves(s: Script) -> None:
    """The service's ``flush`` resolves without handles, with readers only, and twice in a row."""
    a = s.instance()
    s.flush_all(a)
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.flush_all(a)
    s.flush_all(a)
    s.close(w)
    s.open(a)
    s.flush_all(a)
    s.append(s.open(a, access="write"), batch(1, 1))
    s.flush_all(a)


@scenario("FLUSH-01", needs=(Need.FRESH,))
def service_flush_is_the_flush_of_every_writer(s: Script) -> None:
    """After the service's ``flush`` other instances see all sessions that were being written, with all their events."""
    b, a = s.instance(), s.instance()
    for name, count in (("s1", 2), ("s2", 0), ("s3", 1)):
        w = s.create(a, name)
        if count:
            s.append(w, batch(0, count))
    s.flush_all(a)
    s.list(b)
    for name in ("s1", "s2", "s3"):
        s.read(s.open(b, name))
    s.list(s.instance())


@scenario("FLUSH-01", needs=(Need.FRESH,))
def service_flush_covers_what_came_since_the_last(s: Script) -> None:
    """A second service ``flush`` covers what was appended after the first, for a reader that was there already."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.flush_all(a)
    r = s.open(b)
    for first in (0, 2):
        s.append(w, batch(first, 2))
        s.flush_all(a)
        s.read(r)
        s.stat(b)


@scenario("FLUSH-02", needs=(Need.FRESH,))
def service_flush_names_a_loser_and_flushes_the_others(s: Script) -> None:
    """A session that another instance stored first is named in one group; those before and after it are flushed."""
    a, b = s.instance(), s.instance()
    before = s.create(b, "before")
    s.create(b, "lost")
    after = s.create(b, "after")
    winner = s.create(a, "lost")
    s.append(winner, batch(0, 1))
    s.flush(winner)
    s.append(before, batch(0, 1))
    s.append(after, batch(0, 2))
    s.flush_all(b)
    for name in ("before", "after", "lost"):
        s.read(s.open(a, name))


@scenario("FLUSH-02", needs=(Need.FRESH,))
def service_flush_names_every_loser(s: Script) -> None:
    """Two sessions that another instance stored first are both named in the one group."""
    a, b = s.instance(), s.instance()
    for name in ("first", "kept", "second"):
        s.create(b, name)
        if name != "kept":
            s.append(s.create(a, name), batch(0, 1))
    s.flush_all(a)
    s.flush_all(b)
    for name in ("first", "kept", "second"):
        s.read(s.open(a, name))


@scenario("FLUSH-04")
def service_flush_leaves_readers_alone(s: Script) -> None:
    """A reader reads on after the service's ``flush``, from where it was, and still refuses to write."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    r = s.open(a)
    s.flush_all(a)
    s.read(r)
    s.append(w, batch(2, 1))
    s.flush_all(a)
    s.read(r, 2)
    s.flush(r)
    s.close(w)
    s.flush_all(a)
    s.read(r)


@scenario("FLUSH-04", needs=(Need.FRESH,))
def service_flush_leaves_readers_of_others_sessions_alone(s: Script) -> None:
    """The ``flush`` of a service that only reads neither fails nor writes the session that another one owns."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.flush(w)
    r = s.open(b)
    s.flush_all(b)
    s.read(r)
    s.append(w, batch(2, 1))
    s.flush_all(b)
    s.flush(w)
    s.read(r)
