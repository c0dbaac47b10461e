"""What views of a session have in common: headers compared, verdicts on existence, revisions, event counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.contract import HEADER_KEYS, SessionHeader
from conformance.model.history import SnapshotView
from conformance.model.state import Instance, RevisionBook, Session
from conformance.model.values import plain
from conformance.model.words import first_difference

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def headers_differ(given: SessionHeader, seen: Any) -> str:
    """The first field in which the header seen differs from the one given; empty where none does."""
    if not isinstance(seen, SessionHeader):
        return f" is {seen!r:.120}"
    if seen == given:
        return ""
    for name in HEADER_KEYS:
        found = first_difference(plain(getattr(given, name)), plain(getattr(seen, name)), f".{name}")
        if found:
            return found
    if not isinstance(seen.extra, Mapping):
        return f".extra is {seen.extra!r:.120}"
    return first_difference(plain(given.extra), plain(seen.extra), ".extra")


def note_verdict(judge: Judge, instance: Instance, session_id: str, source: str, *, occupied: bool) -> None:
    """A call said whether the id exists; at rest all of them say the same (SVC-13)."""
    changes = judge.world.changes.get(session_id, 0)
    last = instance.verdicts.get(session_id)
    instance.verdicts[session_id] = (changes, source, occupied)
    if last is None or last[0] != changes or last[1] == source:
        return
    if last[2] != occupied:
        words = {True: "occupied", False: "absent"}
        judge.fail(
            "SVC-13",
            f"{session_id!r:.80} {words[last[2]]}, as {last[1]} said",
            f"{source}: {words[occupied]}",
        )
    judge.witness("SVC-13")


def check_snapshot(
    judge: Judge, instance: Instance, session: Session, view: SnapshotView, floor: int, header_clause: str
) -> None:
    """One snapshot against what the instance must and may see."""
    difference = headers_differ(session.header, view.header)
    if difference:
        judge.fail(header_clause, "the header given to create", f"header{difference}")
    judge.witness(header_clause)
    _check_count(judge, instance, session, view, floor)
    if view.size_bytes is not None and view.artifact_size is not None:
        if view.size_bytes != view.artifact_size:
            judge.fail(
                "REV-05",
                f"size_bytes={view.artifact_size}, the size of the artifact",
                f"size_bytes={view.size_bytes!r}",
            )
        judge.witness("REV-05")
    if floor == len(session.log):
        check_revision(judge, instance, session, view.revision)


def _check_count(judge: Judge, instance: Instance, session: Session, view: SnapshotView, floor: int) -> None:
    count, most = view.event_count, len(session.log)
    if count is None:
        return
    before = session.counted.get(instance.number, 0)
    grew_here = session.home == instance.number
    clause = "FRESH-02" if grew_here else "FRESH-04"
    wanted = f"event_count={most}" if floor == most else f"event_count from {floor} to {most}"
    if type(count) is not int or count > most or (count < floor and count != before):
        judge.fail("REV-05", wanted, f"event_count={count!r}")
    if count < floor:
        judge.fail(clause, wanted, f"event_count={count!r}", note="that is the count an earlier snapshot gave")
    judge.witness("REV-05")
    if floor > before:
        judge.witness(clause)
    session.counted[instance.number] = count
    session.shown[instance.number] = max(session.shown.get(instance.number, 0), count)


def check_revision(judge: Judge, instance: Instance, session: Session, token: int) -> None:
    """REV-01 to REV-04, where the instance's view of the log is exact."""
    book = instance.revisions.setdefault(session.id, RevisionBook())
    now = (session.serial, len(session.log))
    last = book.last
    meant = book.meaning.setdefault(token, now)
    if meant != now:
        stale = last is not None and last[0] == token and last[1] == session.serial
        clause = "REV-02" if stale and session.home == instance.number else "REV-04"
        judge.fail(
            clause,
            f"another revision than for the log of {meant[1]} events",
            f"the same revision for the log of {now[1]} events",
        )
    if last is not None:
        if last[1:3] == now and last[3] == session.stir:
            quiet = book.quiet[-1] if book.quiet else "REV-01"
            if last[0] != token:
                judge.fail(quiet, "the revision of the snapshot before: nothing was written since", "another revision")
            judge.witness("REV-01", quiet)
        elif last[1:3] != now:
            judge.witness("REV-02" if session.home == instance.number else "REV-04", "REV-04")
    book.last = (token, session.serial, len(session.log), session.stir)
    book.quiet.clear()
