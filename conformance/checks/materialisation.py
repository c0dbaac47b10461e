"""Named scenarios for MAT: when a created session begins to exist, for whom, and when it never was."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, header
from conformance.clauses import Need


@scenario("MAT-01")
def created_session_is_visible_at_once(s: Script) -> None:
    """Right after ``create`` the session is in ``stat`` and ``list`` and can be read, as an empty log."""
    a = s.instance()
    w = s.create(a)
    s.stat(a)
    s.list(a)
    s.read(s.open(a))
    s.read(w)


@scenario("MAT-01")
def created_session_stays_visible_beside_others(s: Script) -> None:
    """Several pending sessions are visible side by side, before and after one of them is written."""
    a = s.instance()
    w = s.create(a, "s1")
    s.create(a, header=header("s2", cwd="/other"))
    s.list(a)
    s.append(w, batch(0, 1))
    s.list(a)
    s.stat(a, "s2")
    s.read(s.open(a, "s2"))


@scenario("MAT-02", needs=(Need.FRESH,))
def fresh_instance_does_not_see_a_pending_session(s: Script) -> None:
    """Before the first append or flush another instance finds nothing: ``stat``, ``list`` and both opens."""
    a = s.instance()
    s.create(a)
    b = s.instance()
    s.stat(b)
    s.list(b)
    s.open(b)
    s.open(b, access="write")
    s.stat(a)


@scenario("MAT-02", needs=(Need.FRESH,))
def older_instance_does_not_see_a_pending_session(s: Script) -> None:
    """An instance that was there first does not see it either, though its creator looked at it and read it."""
    b, a = s.instance(), s.instance()
    w = s.create(a)
    s.read(s.open(a))
    s.list(b)
    s.stat(b)
    s.append(w, batch(1, 1))
    s.stat(b)
    s.flush(w)
    s.stat(b)


@scenario("MAT-03")
def session_closed_without_a_write_never_was(s: Script) -> None:
    """A create closed at once is visible nowhere, and its id is free, again and again."""
    a = s.instance()
    for _ in range(2):
        s.close(s.create(a))
        s.stat(a)
        s.list(a)
        s.open(a)
        s.open(a, access="write")
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    s.stat(a)


@scenario("MAT-03")
def session_whose_only_writes_failed_never_was(s: Script) -> None:
    """Refused appends do not keep a session: closed, it never was, and its successor starts empty."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(1, 2))
    s.append(w, [{"type": "user/message"}])
    s.close(w)
    s.list(a)
    s.stat(a)
    v = s.create(a)
    s.read(v)
    s.append(v, batch(0, 1))
    s.read(v)


@scenario("MAT-03")
def leaving_the_service_ends_nothing_that_was_written(s: Script) -> None:
    """Beside a session that never was, a flushed one and a written one stay when their handles close."""
    a = s.instance()
    never, flushed, written = s.create(a, "never"), s.create(a, "flushed"), s.create(a, "written")
    s.flush(flushed)
    s.append(written, batch(0, 1))
    for handle in (never, flushed, written):
        s.close(handle)
    s.list(a)
    s.stat(a, "flushed")
    s.stat(a, "written")
    s.create(a, "never")


@scenario("MAT-03", needs=(Need.FRESH,))
def session_that_never_was_is_visible_to_nobody(s: Script) -> None:
    """Another instance does not see a session that never was, and may create its id."""
    a = s.instance()
    s.close(s.create(a))
    b = s.instance()
    s.stat(b)
    s.list(b)
    w = s.create(b)
    s.append(w, batch(0, 1))
    s.close(w)
    s.read(s.open(a))


@scenario("MAT-04", needs=(Need.FRESH,))
def flush_shows_an_empty_session_to_others(s: Script) -> None:
    """A flush of a session without events makes it visible to instances opened before and after."""
    b, a = s.instance(), s.instance()
    w = s.create(a)
    s.flush(w)
    s.stat(b)
    s.list(b)
    c = s.instance()
    s.stat(c)
    s.read(s.open(c))
    s.append(w, batch(0, 1))


@scenario("MAT-04", needs=(Need.FRESH,))
def flushed_empty_session_outlives_its_instance(s: Script) -> None:
    """An empty session that was flushed is there after its handle and its service are closed."""
    a = s.instance()
    w = s.create(a, header=header("s1", cwd="/kept"))
    s.flush(w)
    s.close(w)
    s.close_all(a)
    b = s.instance()
    s.list(b)
    s.stat(b)
    v = s.open(b, access="write")
    s.append(v, batch(0, 1))


@scenario("MAT-05", needs=(Need.FRESH,))
def closed_session_is_whole_to_fresh_instances(s: Script) -> None:
    """After an append and a close, a fresh instance sees the session in every view, with all its events."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.append(w, batch(2, 3))
    s.close(w)
    b = s.instance()
    s.stat(b)
    s.list(b)
    s.read(s.open(b))
    c = s.instance()
    s.read(s.open(c, access="write"))


@scenario("MAT-05", needs=(Need.FRESH,))
def closed_session_outlives_its_service(s: Script) -> None:
    """The same after the whole service was closed, for several sessions."""
    a = s.instance()
    for name in ("s1", "s2", "s3"):
        w = s.create(a, name)
        s.append(w, batch(0, 2))
        s.close(w)
    s.close_all(a)
    b = s.instance()
    s.list(b)
    for name in ("s1", "s2", "s3"):
        s.read(s.open(b, name))


@scenario("SVC-01", "MAT-03")
def freed_id_has_the_header_of_its_new_session(s: Script) -> None:
    """What was shown of a session that never was says nothing of the next one under its id."""
    a = s.instance()
    w = s.create(a)
    s.stat(a)
    s.list(a)
    s.open(a)
    s.close(w)
    s.stat(a)
    v = s.create(a, header=header(cwd="/second", origin={"kind": "fork"}, is_seeded=True), inherited=1)
    s.stat(a)
    s.list(a)
    s.open(a)
    s.append(v, batch(0, 1))
    s.stat(a)
    s.list(a)
    s.open(a)
