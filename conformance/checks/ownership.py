"""Named scenarios for OWN: who may write a session, and when that ends."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, header
from conformance.clauses import Need


@scenario("MAT-01", "OWN-01", needs=(Need.CLOCK,))
def a_session_that_is_not_stored_yet_waits_for_its_first_append(s: Script) -> None:
    """Created, and nothing for a day: it is still there, still owned, and takes its first batch."""
    a = s.instance()
    w = s.create(a)
    for pause in (3_600, 86_400):
        s.wait(pause)
        s.stat(a)
        s.list(a)
        s.open(a, "s1", "write")
        s.create(a, "s1")
    s.append(w, batch(0, 1))
    s.flush(w)
    s.read(s.open(a))


@scenario("OWN-11", "OWN-01", needs=(Need.CLOCK,))
def an_idle_owner_keeps_its_session(s: Script) -> None:
    """An owner that does nothing for hours still owns: nobody else gets in, and its next append works."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.flush(w)
    for pause in (1, 120, 7_200):
        s.wait(pause)
        s.open(a, access="write")
    s.append(w, batch(2, 1))
    s.flush(w)
    s.read(w)


@scenario("OWN-01")
def creator_owns_before_anything_is_stored(s: Script) -> None:
    """Right after ``create`` a write open of the pending session is refused as owned."""
    a = s.instance()
    w = s.create(a)
    s.open(a, access="write")
    s.append(w, batch(0, 1))
    s.open(a, access="write")
    s.append(w, batch(1, 1))
    s.read(w)


@scenario("OWN-01")
def second_write_open_is_refused_while_the_first_is_active(s: Script) -> None:
    """A handle that was opened for writing keeps the next one out, before and after it wrote."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    v = s.open(a, access="write")
    s.open(a, access="write")
    s.append(v, batch(1, 1))
    s.flush(v)
    s.open(a, access="write")
    s.append(v, batch(2, 1))


@scenario("OWN-01")
def ownership_is_of_one_session_only(s: Script) -> None:
    """Owning one session keeps nobody out of another, and each session has its own owner."""
    a = s.instance()
    for name in ("s1", "s2"):
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.close(w)
    s.open(a, "s1", "write")
    s.open(a, "s2", "write")
    s.open(a, "s1", "write")
    s.open(a, "s2", "write")


@scenario("OWN-02")
def close_releases_ownership(s: Script) -> None:
    """After ``close`` the next write open succeeds and continues at the stored seq, again and again."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    for first in (2, 3, 4):
        v = s.open(a, access="write")
        s.append(v, batch(first, 1))
        s.close(v)
    s.read(s.open(a))


@scenario("OWN-02")
def close_of_a_flushed_empty_session_releases_ownership(s: Script) -> None:
    """A session that was only flushed can be owned again after ``close`` and starts at seq 0."""
    a = s.instance()
    w = s.create(a)
    s.flush(w)
    s.close(w)
    v = s.open(a, access="write")
    s.append(v, batch(0, 1))
    s.read(v)


@scenario("OWN-02", needs=(Need.FRESH,))
def next_owner_continues_at_what_is_stored_now(s: Script) -> None:
    """Owners in two instances take turns; each continues where the other stopped, not at a seq it remembers."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    for instance, first in ((b, 2), (a, 5), (b, 8)):
        v = s.open(instance, access="write")
        s.append(v, batch(first, 3))
        s.close(v)
    s.read(s.open(a))
    s.read(s.open(b))


@scenario("OWN-02", needs=(Need.FRESH,))
def remembered_seq_is_refused_after_another_owner_wrote(s: Script) -> None:
    """Back in the first instance, a batch at the seq it remembers is refused, and the right one is accepted."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    v = s.open(b, access="write")
    s.append(v, batch(2, 2))
    s.close(v)
    u = s.open(a, access="write")
    s.append(u, batch(2, 1, mark="remembered"))
    s.append(u, batch(4, 1))
    s.read(u)


@scenario("OWN-03")
def readers_come_and_go_beside_a_writer(s: Script) -> None:
    """Read opens work while a writer is active, and their closes change no ownership."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    r, q = s.open(a), s.open(a)
    s.read(r)
    s.close(r)
    s.append(w, batch(1, 1))
    s.read(q)
    s.close(q)
    s.open(a, access="write")
    s.append(w, batch(2, 1))


@scenario("OWN-03")
def reader_of_a_pending_session_leaves_it_to_its_creator(s: Script) -> None:
    """A reader that comes and goes before anything was written leaves the session pending and owned."""
    a = s.instance()
    w = s.create(a)
    s.close(s.open(a))
    s.open(a, access="write")
    s.stat(a)
    s.append(w, batch(0, 1))
    s.read(w)


@scenario("OWN-03")
def read_open_takes_no_ownership(s: Script) -> None:
    """Read handles on a session without an owner do not keep a write open out."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    r = s.open(a)
    v = s.open(a, access="write")
    s.append(v, batch(1, 1))
    s.read(r)
    s.close(v)
    s.close(r)
    s.open(a, access="write")


@scenario("OWN-03", needs=(Need.FRESH,))
def readers_in_another_instance_disturb_no_writer(s: Script) -> None:
    """A fresh instance reads beside the owner; when its reader closes, the owner writes on and still owns."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.flush(w)
    r = s.open(b)
    s.read(r)
    s.close(r)
    s.append(w, batch(2, 1))
    s.open(a, access="write")
    s.append(w, batch(3, 1))
    s.read(w)


@scenario("OWN-04")
def failed_create_leaves_the_id_free(s: Script) -> None:
    """After a refused ``create`` the id is absent and not owned, and the corrected ``create`` works."""
    a = s.instance()
    s.create(a, header=header(created_at=-1))
    s.create(a, header=header(created_at=-1))
    s.open(a, access="write")
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    s.open(a, access="write")


@scenario("OWN-04")
def failed_write_open_leaves_the_id_free(s: Script) -> None:
    """A write open of an absent id leaves nothing: again it is not found, and then ``create`` works and owns."""
    a = s.instance()
    s.open(a, access="write")
    s.stat(a)
    s.open(a, access="write")
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    v = s.open(a, access="write")
    s.append(v, batch(1, 1))


@scenario("OWN-04")
def refused_write_open_succeeds_once_the_owner_is_gone(s: Script) -> None:
    """Who was refused because the session is owned gets in after the owner closed."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.open(a, access="write")
    s.open(a, access="write")
    s.close(w)
    v = s.open(a, access="write")
    s.append(v, batch(1, 1))
    s.read(v)


@scenario("OWN-04", needs=(Need.FRESH,))
def failed_write_open_keeps_no_other_instance_out(s: Script) -> None:
    """After a write open of an absent id failed in one instance, another creates, owns and hands over."""
    a, b = s.instance(), s.instance()
    s.open(a, access="write")
    w = s.create(b)
    s.append(w, batch(0, 2))
    s.close(w)
    v = s.open(a, access="write")
    s.append(v, batch(2, 1))
    s.read(v)


@scenario("OWN-06")
def append_and_flush_on_a_read_handle_are_refused(s: Script) -> None:
    """A read handle refuses a right batch, an empty batch and ``flush`` as read-only, with or without an owner."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    r = s.open(a)
    for _ in range(2):
        s.append(r, batch(2, 1, mark="read-only"))
        s.append(r, [])
        s.flush(r)
        s.read(r)
        s.close(w)
    s.stat(a)


@scenario("OWN-06", "MAT-03")
def flush_on_a_read_handle_materialises_nothing(s: Script) -> None:
    """A refused ``flush`` or ``append`` through a reader keeps no pending session alive."""
    a = s.instance()
    w = s.create(a)
    r = s.open(a)
    s.flush(r)
    s.append(r, batch(0, 1))
    s.read(r)
    s.close(w)
    s.stat(a)


@scenario("OWN-11")
def owner_is_never_refused(s: Script) -> None:
    """Many rounds of ``append`` and ``flush`` by one handle, none of which meets an ownership error."""
    a = s.instance()
    w = s.create(a)
    for first in range(0, 24, 2):
        s.append(w, batch(first, 2))
        s.flush(w)
    s.flush(w)
    s.append(w, batch(24, 1))
    s.read(w)


@scenario("OWN-11")
def owner_may_flush_an_empty_session_again_and_again(s: Script) -> None:
    """``flush`` with nothing to write resolves any number of times, also after reopening."""
    a = s.instance()
    w = s.create(a)
    for _ in range(3):
        s.flush(w)
    s.close(w)
    v = s.open(a, access="write")
    s.flush(v)
    s.append(v, batch(0, 1))
    s.flush(v)
    s.flush(v)


@scenario("OWN-11", needs=(Need.FRESH,))
def owner_is_never_refused_while_others_look(s: Script) -> None:
    """Another instance that stats, lists, reads and closes never makes the owner meet an ownership error."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    for first in range(4):
        s.append(w, batch(first, 1))
        s.flush(w)
        s.stat(b)
        s.list(b)
        s.close(s.open(b))


@scenario("OWN-12")
def closing_again_does_not_disturb_the_next_owner(s: Script) -> None:
    """A second ``close`` of a handle that gave ownership up leaves its successor the owner."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    v = s.open(a, access="write")
    s.close(w)
    s.open(a, access="write")
    s.append(v, batch(1, 1))
    s.close(w)
    s.flush(v)
    s.read(v)


@scenario("OWN-12")
def collecting_a_handle_does_not_disturb_the_owner(s: Script) -> None:
    """A closed writer and an open reader that are garbage-collected leave the owner the owner."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    v = s.open(a, access="write")
    r = s.open(a)
    s.discard(w)
    s.append(v, batch(1, 1))
    s.discard(r)
    s.open(a, access="write")
    s.append(v, batch(2, 1))
    s.read(v)


@scenario("OWN-12", needs=(Need.FRESH,))
def handle_of_another_instance_does_not_disturb_the_owner(s: Script) -> None:
    """Closing again and collecting a former owner in one instance leaves the owner in another alone."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    v = s.open(b, access="write")
    s.close(w)
    s.append(v, batch(1, 1))
    s.discard(w)
    s.open(b, access="write")
    s.append(v, batch(2, 1))
    s.read(v)


@scenario("OWN-14", needs=(Need.FRESH,))
def writer_that_was_overtaken_is_refused(s: Script) -> None:
    """With two write handles in two instances, the one whose log moved on is refused and writes nothing."""
    a, b = s.instance(), s.instance()
    first = s.create(a)
    s.append(first, batch(0, 1))
    s.flush(first)
    second = s.open(b, access="write")
    s.append(second, batch(1, 2, mark="second"))
    s.flush(second)
    s.append(first, batch(1, 1, mark="overtaken"))
    s.read(s.open(s.instance()))
    s.read(second)


@scenario("OWN-14", needs=(Need.FRESH,))
def writer_at_the_right_seq_is_refused_all_the_same(s: Script) -> None:
    """A batch that fits the stored log is refused too, for it is not the log that its handle left."""
    a, b = s.instance(), s.instance()
    first = s.create(a)
    s.append(first, batch(0, 1))
    s.flush(first)
    second = s.open(b, access="write")
    s.append(second, batch(1, 2, mark="second"))
    s.flush(second)
    s.append(first, batch(3, 1, mark="overtaken"))
    s.read(s.open(s.instance()))
