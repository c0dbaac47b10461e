"""What views of a session have in common: headers compared, verdicts on existence, revisions, event counts."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

from conformance.contract import HEADER_KEYS, SessionHeader
from conformance.contract.records import NO_EXTRA
from conformance.model import blame, crash_blame, identity_blame, value_blame
from conformance.model.crash_rules import narrow
from conformance.model.history import SnapshotView
from conformance.model.state import Instance, RevisionBook, Session
from conformance.model.values import plain, same
from conformance.model.words import first_difference

if TYPE_CHECKING:
    from conformance.model.judge import Judge


_VALUES = attrgetter(*HEADER_KEYS)
"""The values of a header's own fields, in the order of ``HEADER_KEYS``."""


def headers_differ(given: SessionHeader, seen: Any, *, exact: bool = True) -> str:
    """The first field in which the header seen differs from the one given; empty where none does.

    Args:
        exact: ``1`` and ``1.0`` differ (``numbers="exact"``).
    """
    if not isinstance(seen, SessionHeader):
        return f" is {seen!r:.120}"
    values, shown = _VALUES(given), _VALUES(seen)
    # Mostly they are the very objects, or short texts like them.
    for name, due, found in () if all(map(is_, values, shown)) else zip(HEADER_KEYS, values, shown, strict=True):
        if due is not found and not (type(due) is str is type(found) and due == found):
            difference = first_difference(plain(due), plain(found), f".{name}", exact=exact)
            if difference:
                return difference
    if seen.extra is given.extra is NO_EXTRA:
        return ""
    if not isinstance(seen.extra, Mapping):
        return f".extra is {seen.extra!r:.120}"
    if not given.extra and not seen.extra:
        return ""
    return first_difference(plain(given.extra), plain(seen.extra), ".extra", exact=exact)


def shows_other_header(session: Session, seen: Any, *, exact: bool) -> str:
    """The same for a header that is shown for a session."""
    if seen is not None and seen is session.seen_header:
        return ""
    difference = headers_differ(session.header, seen, exact=exact)
    if not difference:
        session.seen_header = seen
    return difference


def note_verdict(
    judge: Judge, instance: Instance, session_id: str, source: str, *, occupied: bool, free: bool = False
) -> None:
    """A call said whether the id exists; at rest all of them say the same (SVC-13).

    Args:
        free: either answer is right by every other clause, so that this one alone can break.
    """
    changes = judge.world.changes.get(session_id, 0)
    last = instance.verdicts.get(session_id)
    instance.verdicts[session_id] = (changes, source, occupied)
    if not free or last is None or last[0] != changes or last[1] == source:
        return
    if last[2] != occupied:
        words = {True: "occupied", False: "absent"}
        judge.fail(
            "SVC-13",
            f"{session_id!r:.80} {words[last[2]]}, as {last[1]} said",
            f"{source}: {words[occupied]}",
        )
    judge.witness("SVC-13")


def said_absent(judge: Judge, instance: Instance, session_id: str) -> bool:
    """Whether this instance called the id absent, and nothing happened to it since."""
    last = instance.verdicts.get(session_id)
    return last is not None and last[0] == judge.world.changes.get(session_id, 0) and not last[2]


def check_snapshot(
    judge: Judge, instance: Instance, session: Session, view: SnapshotView, floor: int, header_clause: str
) -> None:
    """One snapshot against what the instance must and may see."""
    exact = judge.capabilities.numbers == "exact"
    listed = header_clause == "SVC-06"
    header_clause = crash_blame.header(session) or header_clause
    difference = shows_other_header(session, view.header, exact=exact)
    if difference:
        kin = identity_blame.is_of_other(judge.world, session.id, getattr(view.header, "id", None))
        clause = "SVC-01" if session.lent else value_blame.in_header(session.header, view.header, exact=exact)
        judge.fail("ID-01" if kin else clause or header_clause, "the header given to create", f"header{difference}")
    judge.witness(header_clause, *value_blame.witnessed_header(session))
    if identity_blame.kin_of(judge.world, session.id):
        judge.witness("ID-01")
    _check_count(judge, instance, session, view, floor)
    # What waits may be written at any moment: its artifact may have grown since the backend looked.
    rests = judge.alone or session.live is None or not session.live.waiting
    if rests and view.size_bytes is not None and view.artifact_size not in (None, view.size_bytes):
        judge.fail(
            "REV-05",
            f"size_bytes={view.artifact_size}, the size of the artifact",
            f"size_bytes={view.size_bytes!r}",
        )
    if view.size_bytes is not None and (type(view.size_bytes) is not int or view.size_bytes < 0):
        judge.fail("REV-05", "size_bytes is None, or a number of bytes", f"size_bytes={view.size_bytes!r}")
    # A snapshot without either number witnesses too: it could have given a wrong one.
    judge.witness("REV-05")
    book = instance.book(session.id)
    _check_equal(judge, book, session, view, listed=listed)
    if floor == len(session.log):
        check_revision(judge, instance, book, session, view.revision)
    session.show(instance.number, 0)


def _check_equal(judge: Judge, book: RevisionBook, session: Session, view: SnapshotView, *, listed: bool) -> None:
    """At rest ``list`` gives of a session what ``stat`` gives (SVC-06)."""
    now = (view.event_count, view.size_bytes)
    seen, last = book.numbers, book.last
    at_rest = last is not None and last[1:] == (session, len(session.log), session.stir) and not book.quiet
    if at_rest and seen is not None and seen[0] != listed:
        if seen[1] != now:
            judge.fail(
                "SVC-06",
                "event_count={!r}, size_bytes={!r}, as the {} before".format(*seen[1], "stat" if listed else "list"),
                "event_count={!r}, size_bytes={!r}".format(*now),
            )
        judge.witness("SVC-06")
    book.numbers = (listed, now)


def _check_count(judge: Judge, instance: Instance, session: Session, view: SnapshotView, floor: int) -> None:
    count, most = view.event_count, len(session.log)
    if count is None:
        return
    given = session.counted.setdefault(instance.number, set())
    if type(count) is not int or not floor <= count <= most:
        wanted = f"event_count={most}" if floor == most else f"event_count from {floor} to {most}"
        note = "an earlier snapshot gave that count" if count in given else ""
        seen = f"event_count={count!r}" + ("" if type(count) is int else f" of type {type(count).__name__}")
        judge.fail(blame.miscounted(judge, instance, session, count, floor), wanted, seen, note)
    latest = max(given, default=0)
    if latest < floor:
        judge.witness(blame.miscounted(judge, instance, session, latest, floor))
    given.add(count)
    session.show(instance.number, count)
    recovery = session.recovery
    if recovery is not None and recovery.grown_at is None:
        if not recovery.told:
            recovery.counted_by = instance.number
        narrow(judge.world, session, count, None if hides(session, instance.number) else count)


def hides(session: Session, instance: int) -> bool:
    """Whether this instance may hide what a failed close of its own left behind, until it owns the session again."""
    return session.recovery is not None and session.recovery.by == instance and session.owner is None


def _equal_logs(one: tuple[Session, int], other: tuple[Session, int]) -> bool:
    """Whether two states of an id hold the same events; a later incarnation may repeat what an earlier one held."""
    if one[0] is other[0]:
        return one[1] == other[1]
    return one[1] == other[1] and same(one[0].log[: one[1]], other[0].log[: other[1]])


def check_revision(judge: Judge, instance: Instance, book: RevisionBook, session: Session, token: int) -> None:
    """REV-01 to REV-04, where the instance's view of the log is exact."""
    length = len(session.log)
    last = book.last
    grown = last is not None and last[1] is session and last[2] != length
    grown_here = grown and session.home == instance.number
    meant = book.meaning.get(token)
    if meant is not None and not _equal_logs(meant, (session, length)):
        stale = last is not None and last[0] == token
        judge.fail(
            "REV-02" if stale and grown_here else "REV-04",
            f"another revision than for the log of {meant[1]} events",
            f"the same revision for the log of {length} events",
        )
    if last is not None and last[1] is session and last[2] == length and last[3] == session.stir:
        quiet = book.quiet[-1] if book.quiet else "REV-01"
        if last[0] != token:
            judge.fail(quiet, "the revision of the snapshot before: nothing was written since", "another revision")
        judge.witness(quiet)
    if grown_here:
        judge.witness("REV-02")
    if _could_repeat(book, (session, length), grown_here=grown_here):
        judge.witness("REV-04")
    book.meaning.setdefault(token, (session, length))
    book.last = (token, session, length, session.stir)
    book.quiet.clear()


def _could_repeat(book: RevisionBook, now: tuple[Session, int], *, grown_here: bool) -> bool:
    """Whether an earlier token, given again now, would have broken REV-04 (the latest one breaks REV-02)."""
    latest = book.last[0] if book.last is not None and grown_here else None
    for token, meant in book.meaning.items():  # noqa: SIM110
        if token != latest and not _equal_logs(meant, now):
            return True
    return False
