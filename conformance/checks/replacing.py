"""Named scenarios about artifacts that are not what they were: foreign, another session's, older, moved, or gone.

At rest, and under handles that are open: FMT-04, FMT-06, FMT-09, FMT-11, SVC-07, SVC-14, DUR-10, MAT-06, REV-04.
"""

from __future__ import annotations

from typing import Any

from conformance.checks.damage import DAMAGED, FOREIGN, go_on, look, store
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event
from conformance.clauses import Need


@scenario("FMT-09", "FMT-05", needs=DAMAGED)
def what_is_not_ours_is_refused_and_left(s: Script) -> None:
    """A foreign file, a directory or a link to something else in the session's place is refused, and stays as it is."""
    ways: list[dict[str, Any]] = [
        {"how": "replace", "data": FOREIGN},
        {"how": "replace", "data": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20},
        {"how": "replace", "data": "{}\n[]\n"},
        {"how": "directory"},
        {"how": "symlink", "data": FOREIGN},
    ]
    for number, way in enumerate(ways):
        name = f"s{number}"
        store(s, name)
        s.damage(session=name, **way)
        s.inspect_bytes(name)
        look(s, name)
        s.create(s.instance(), name)
        s.inspect_bytes(name)


@scenario("FMT-09", needs=DAMAGED)
def a_moved_artifact_is_right_or_refused(s: Script) -> None:
    """Somebody moved the file and left a link to it: the right log, or a refusal."""
    store(s, "s1")
    s.damage("symlink")
    look(s, "s1")


@scenario("FMT-06", needs=DAMAGED)
def another_session_s_artifact_is_refused(s: Script) -> None:
    """An artifact whose header names another session is corruption, and neither session is served from it."""
    store(s, "s1")
    store(s, "s2", batches=2)
    s.damage("copy", "s1", other="s2")
    look(s, "s1")
    s.create(s.instance(), "s1")
    look(s, "s2")


@scenario("FMT-11", needs=DAMAGED)
def a_removed_artifact_is_no_session(s: Script) -> None:
    """The artifact is gone: whatever else the backend keeps of the session, nothing is shown, and the id is free."""
    store(s, "s1")
    store(s, "s2")
    # Whoever keeps an index by what it looked at has seen them now.
    s.list(s.instance())
    s.damage("unlink")
    a = s.instance()
    s.list(a)
    s.stat(a)
    s.open(a)
    s.open(a, access="write")
    w = s.create(a)
    s.append(w, [event(0, data={"text": "a new life"})])
    s.close(w)
    b = s.instance()
    s.stat(b)
    s.read(s.open(b))
    s.read(s.open(b, "s2"))


@scenario("SVC-07", needs=DAMAGED)
def damage_hides_no_healthy_session(s: Script) -> None:
    """Among damaged and foreign artifacts the healthy sessions are listed, told and opened as before."""
    ways: list[dict[str, Any]] = [
        {"how": "replace", "data": FOREIGN},
        {"how": "replace", "data": ""},
        {"how": "replace", "data": b"\xff\xfe\x00"},
        {"how": "directory"},
        {"how": "drop", "start": (0, 0), "end": (0, 9)},
        {"how": "cut", "start": (0, 9)},
        {"how": "nul", "start": (1, 0), "end": (2, 0)},
    ]
    store(s, "healthy")
    for number, way in enumerate(ways):
        name = f"s{number}"
        store(s, name)
        s.damage(session=name, **way)
        a = s.instance()
        s.list(a)
        s.stat(a, name)
        s.stat(a, "healthy")
        s.read(s.open(a, "healthy"))
    go_on(s, "healthy")


UNDER_A_WRITER: list[dict[str, Any]] = [
    {"how": "unlink"},
    {"how": "replace", "data": FOREIGN},
    {"how": "replace", "data": ""},
    {"how": "directory"},
    {"how": "symlink", "data": FOREIGN},
    {"how": "cut", "start": (1, 0)},
    {"how": "cut", "start": (-1, -3)},
]


def take_away(s: Script, number: int, way: dict[str, Any]) -> tuple[str, int]:
    """A session with an active writer whose artifact is taken away; its name and the handle."""
    name = f"s{number}"
    w = s.create(s.instance(), name)
    s.flush(w)
    for first in (0, 2):
        s.append(w, batch(first, 2))
        s.flush(w)
    s.damage(session=name, **way)
    return name, w


def find(s: Script, name: str) -> None:
    """What a fresh instance finds of it."""
    s.inspect_bytes(name)
    a = s.instance()
    s.list(a)
    s.stat(a, name)
    s.read(s.open(a, name))


@scenario("SVC-14", "DUR-10", needs=DAMAGED)
def an_append_makes_no_log_that_lacks_the_rest(s: Script) -> None:
    """The artifact is removed, replaced or cut under its writer: an append leaves no log without what came before."""
    for number, way in enumerate(UNDER_A_WRITER):
        name, w = take_away(s, number, way)
        s.append(w, batch(4, 2))
        s.append(w, batch(4, 1))
        find(s, name)
        s.close(w)
        find(s, name)


@scenario("SVC-14", needs=DAMAGED)
def a_close_makes_no_log_that_lacks_the_rest(s: Script) -> None:
    """The same where the writer only closes."""
    for number, way in enumerate(UNDER_A_WRITER):
        name, w = take_away(s, number, way)
        s.close(w)
        find(s, name)


@scenario("DUR-10", needs=DAMAGED)
def a_writer_notices_that_its_artifact_is_gone(s: Script) -> None:
    """The artifact is removed, replaced or cut under its writer: the next flush rejects."""
    for number, way in enumerate(UNDER_A_WRITER):
        name, w = take_away(s, number, way)
        s.flush(w)
        find(s, name)


ROTS_UNDER_A_WRITER: list[dict[str, Any]] = [
    {"how": "nul", "start": (1, 0), "end": (2, 0)},
    {"how": "drop", "start": (1, 0), "end": (2, 0)},
    {"how": "repeat", "start": (1, 0), "end": (2, 0)},
    {"how": "swap", "start": (1, 0), "end": (2, 0), "to": (3, 0)},
    {"how": "insert", "start": (2, -3), "data": "\n{}\n"},
    {"how": "drop", "start": (1, 5), "end": (2, -5)},
    {"how": "flip", "start": (1, 3), "mask": 0x80},
    {"how": "bom"},
    {"how": "crlf"},
    {"how": "hostile", "start": (1, 0), "data": "nested"},
]


@scenario("FMT-04", "FMT-12", needs=DAMAGED)
def what_rots_under_a_writer_is_no_shorter_log(s: Script) -> None:
    """What was flushed is damaged while somebody owns it: whatever the owner does, nobody is served less or else."""
    for number, way in enumerate(ROTS_UNDER_A_WRITER):
        name, w = take_away(s, number, way)
        s.append(w, batch(4, 2))
        s.flush(w)
        find(s, name)
        s.close(w)
        find(s, name)


@scenario("MAT-06", needs=DAMAGED)
def a_reader_of_an_erased_session_sees_no_later_one(s: Script) -> None:
    """The session is erased under a reader, and its id created anew: the reader is told, and shows nothing of that."""
    store(s, "s1")
    b = s.instance()
    r, unread = s.open(b), s.open(b)
    s.read(r)
    s.damage("unlink")
    s.read(r)
    w = s.create(s.instance())
    s.append(w, batch(0, 8, mark="later"))
    s.close(w)
    s.read(r)
    s.read(unread)


@scenario("REV-04", needs=DAMAGED)
def an_older_copy_has_a_revision_of_its_own(s: Script) -> None:
    """An older copy is put back in place: an instance that reads the older log gives it another revision."""
    store(s, "s1")
    a = s.instance()
    s.stat(a)
    s.read(s.open(a))
    s.damage("put_back", version=-2)
    s.stat(a)
    s.read(s.open(a))
    look(s, "s1")


@scenario("REV-04", needs=(Need.LOCATION, Need.DAMAGE))
def a_copy_of_the_same_size_has_a_revision_of_its_own(s: Script) -> None:
    """The same where the copy has the size and the time stamp of what it replaces, and other events."""
    a = s.instance()
    for text in ("one", "two"):
        w = s.create(a)
        s.append(w, [event(0, data={"text": text})])
        s.close(w)
        if text == "one":
            s.damage("unlink")
    s.stat(a)
    s.damage("put_back", version=0)
    s.stat(a)
    s.read(s.open(a))
