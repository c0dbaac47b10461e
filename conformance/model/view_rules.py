"""The rules for ``stat``, ``list`` and ``read``: what an instance must see, may see, and must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from conformance.model import blame, crash_blame, crash_rules, identity_blame, value_blame, vocabulary_rules
from conformance.model.batches import BAD_ARGUMENT, range_is_bad
from conformance.model.handle_rules import CLOSED, refused_as_closed
from conformance.model.history import Outcome, SnapshotView
from conformance.model.operations import ListSessions, Read, Stat
from conformance.model.service_rules import kind_of, reject_on_closed_service
from conformance.model.state import STRONG_TAGS, Handle, Instance, Session
from conformance.model.transitions import confirm, hush
from conformance.model.values import same
from conformance.model.views import check_snapshot, hides, note_verdict
from conformance.model.words import first_difference, log_text, snapshot_id

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge


def take_floors(judge: Judge, call: Call) -> None:
    """Note at the invocation of a view how much of each session it must see at least."""
    op, world = call.operation, judge.world
    if isinstance(op, Read):
        handle = world.handles.get(op.handle)
        if handle is not None:
            call.floors[handle.session.serial] = max(handle.session.floor(handle.instance), handle.shown)
    elif isinstance(op, Stat):
        session, _ = world.visible(op.instance, op.session)
        if session is not None:
            call.floors[session.serial] = session.floor(op.instance)
    elif isinstance(op, ListSessions):
        for session in (*world.stored.values(), *world.pending.values()):
            call.floors[session.serial] = session.floor(op.instance)


def stat(judge: Judge, call: Call, op: Stat, outcome: Outcome) -> None:
    """SVC-05, FRESH-02, FRESH-04, MAT-01 to MAT-05, REV-01 to REV-05."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    if op.session in world.blurred:
        return None
    session, certain = world.visible(op.instance, op.session)
    if session is None:
        clause = blame.absent(world, instance, op.session, "SVC-05")
        wanted = "None: no such session is visible here"
        files = judge.capabilities.storage == "files"
        cause = identity_blame.led_away(op.session, kind_of(outcome), files=files)
        if op.session in world.left and kind_of(outcome):
            cause = clause
        value = judge.demand_success(outcome, cause or "SVC-05", wanted)
        if isinstance(value, SnapshotView) and identity_blame.is_of_other(world, op.session, snapshot_id(value)):
            clause = "ID-01"
        if value is not None:
            judge.fail(clause, wanted)
        if identity_blame.kin_of(world, op.session):
            judge.witness("ID-01")
        judge.witness(clause)
        note_verdict(judge, instance, op.session, "stat", occupied=False)
        judge.exact = world.known_to_all(op.instance, op.session)
        return None
    if session.pending and not certain:
        return None
    clause = blame.present(judge, instance, session, "FRESH-02")

    def snapshot() -> str:
        return f"a snapshot of {session.id!r:.80}"

    value = judge.demand_success(outcome, lambda: _unanswered(judge, session, kind_of(outcome)) or clause, snapshot)
    if value is None:
        if certain:
            judge.fail(clause, snapshot)
        note_verdict(judge, instance, session.id, "stat", occupied=False, free=session.unsure)
        crash_rules.deny(judge, session)
        return None
    if not isinstance(value, SnapshotView):
        judge.fail("SVC-05", snapshot)
    if certain:
        judge.witness(clause)
    _admit_snapshot(judge, call, instance, session, value, "stat", "SVC-01")
    session.tag("SVC-05")
    judge.exact = certain and world.known_to_all(op.instance, op.session)
    return None


def _unanswered(judge: Judge, session: Session, kind: str) -> str:
    """The clause where a ``stat`` raises because of what is stored; "" where that is not the cause."""
    cause = value_blame.unreadable(judge, session, kind) or identity_blame.unreadable(judge.world, session, kind)
    return crash_blame.failing(session) or cause


def _admit_snapshot(
    judge: Judge, call: Call, instance: Instance, session: Session, view: SnapshotView, source: str, header_clause: str
) -> None:
    note_verdict(judge, instance, session.id, source, occupied=True, free=session.unsure)
    check_snapshot(judge, instance, session, view, call.floors[session.serial], header_clause)
    confirm(session)


def list_sessions(judge: Judge, call: Call, op: ListSessions, outcome: Outcome) -> None:
    """SVC-06 and, for each session, what ``stat`` is judged by."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    clause = crash_blame.listing(world.aftermath) or "SVC-06"
    value = judge.demand_success(outcome, clause, "one snapshot for each visible session")
    if not isinstance(value, list):
        judge.fail("SVC-06", "a list of snapshots")
    for view in value:
        if not isinstance(view, SnapshotView):
            judge.fail("SVC-06", "a list of snapshots")
    found: dict[Any, SnapshotView] = {}
    for view in value:
        session_id = snapshot_id(view)
        if session_id in found:
            judge.fail("SVC-06", "no session twice", f"{session_id!r:.80} twice")
        found[session_id] = view
    judge.exact = not world.blurred
    for each in (*world.never, *world.stored):
        judge.exact = judge.exact and world.known_to_all(op.instance, each)
    for session_id in world.blurred:
        found.pop(session_id, None)
    spared, told_beside = "" if world.trouble is None else world.trouble.spared, False
    for session_id in dict.fromkeys([*(each for _, each in world.pending), *world.stored]):
        session, certain = world.visible(op.instance, session_id)
        if session is None or session.opaque:
            judge.exact = False
            continue
        view_or_none = found.pop(session_id, None)
        if view_or_none is None and session_id == spared:
            judge.exact = False
            continue
        judge.exact = judge.exact and certain
        told_beside = told_beside or (certain and session_id != spared)
        if certain or not session.pending:
            _check_listed(judge, call, instance, session, view_or_none, certain=certain)
    for session_id in found:
        clause = blame.absent(world, instance, session_id, "SVC-06")
        judge.fail(clause, f"no snapshot of {session_id!r:.80}: no such session is visible here")
    _witness_unlisted(judge, instance)
    judge.witness("SVC-06", clause, *(["SVC-07"] if spared and told_beside else []))
    if world.aftermath is not None:
        world.aftermath.listed = True
    return None


def _witness_unlisted(judge: Judge, instance: Instance) -> None:
    """Count the clauses for which an id had to be missing from the list."""
    world = judge.world
    if not (world.never or instance.failed_claim or world.pending):
        return
    absent = world.never.keys() | instance.failed_claim.keys() | {each for _, each in world.pending}
    for session_id in absent - world.blurred:
        if world.visible(instance.number, session_id)[0] is None:
            judge.witness(blame.absent(world, instance, session_id, "SVC-06"))


def _check_listed(
    judge: Judge, call: Call, instance: Instance, session: Session, view: SnapshotView | None, *, certain: bool
) -> None:
    if judge.world.trouble is not None:
        judge.world.trouble.listed = session.serial
    # Where stat showed the session as it is now, the listing is what differs.
    book = instance.revisions.get(session.id)
    seen = book is not None and book.last is not None and book.last[1] is session and book.last[3] == session.stir
    clause = "SVC-06" if seen else blame.present(judge, instance, session, "FRESH-02")
    if view is None:
        if certain:
            judge.fail(clause, f"a snapshot of {session.id!r:.80} among the others", "it is missing")
        note_verdict(judge, instance, session.id, "list", occupied=False, free=session.unsure)
        crash_rules.deny(judge, session)
        return
    if certain:
        judge.witness(clause)
    _admit_snapshot(judge, call, instance, session, view, "list", "SVC-06")
    session.tag("SVC-11")


def read(judge: Judge, call: Call, op: Read, outcome: Outcome) -> None:
    """READ-01 to READ-04, FRESH-01, FRESH-04, SEQ-01, SEQ-04, SEQ-06, SEQ-07, FLUSH-04 and SVC-11."""
    handle = judge.world.handles[op.handle]
    session = handle.session
    bad = range_is_bad(op.offset, op.length)
    if handle.closed and bad and kind_of(outcome) not in CLOSED:
        judge.demand_refusal(outcome, {"READ-02": CLOSED}, closed=True)
    if refused_as_closed(judge, handle, outcome):
        if bad:
            judge.witness("READ-02")
        return
    if bad:
        judge.demand_refusal(outcome, {"READ-02": BAD_ARGUMENT})
        session.tag("SVC-11")
        return
    if session.erased or session.opaque or judge.world.rival(session) is not None:
        return
    if session.unsure and kind_of(outcome) == "SessionPersistenceNotFoundError":
        # An eager backend may have removed its empty session at the close, and says so to readers (MAT-03, MAT-06).
        return
    floor = call.floors[session.serial]
    if vocabulary_rules.refused_read(judge, handle, op, floor, outcome):
        return
    crash_rules.choose(judge.world, session, op.offset, getattr(outcome, "value", None))
    end = len(session.log) if op.length is None else op.offset + op.length

    def wanted() -> str:
        return f"{log_text(session.log[op.offset : end])} (of a log of {len(session.log)})"

    value = judge.demand_success(outcome, lambda: _raising(judge, handle, op, kind_of(outcome)), wanted)
    if not isinstance(value, list):
        judge.fail("READ-01", wanted)
    if op.length is not None and len(value) > op.length:
        judge.fail("READ-01", f"at most {op.length} events", f"returned {log_text(value)}")
    _compare(judge, handle, op, value, wanted)
    least = max(0, min(floor, end) - op.offset)
    if len(value) < least:
        upto = op.offset + len(value)
        clause = blame.missing(judge, handle, upto, bounded=_bounded(op))
        cut = upto >= session.verified and upto not in session.starts and session.recovery is None
        cut = cut and blame.altered(judge, handle, upto) == "SEQ-01"
        clause = (value_blame.lost(judge, session, upto) if cut else "") or clause
        judge.fail(clause, wanted, note=f"the log seems to end before seq {upto}")
    _witness_read(judge, handle, op, len(value), floor)
    upto = op.offset + len(value)
    came_short = op.length is None or len(value) < op.length
    if session.recovery is not None and session.recovery.grown_at is None:
        came_short = came_short and not hides(session, handle.instance)
        crash_rules.narrow(judge.world, session, upto if value else 0, upto if came_short else None)
    _admit_read(judge, handle, op, len(value), floor)


def _bounded(op: Read) -> bool:
    return op.offset != 0 or op.length is not None


def _compare(judge: Judge, handle: Handle, op: Read, value: list[Any], wanted: Callable[[], str]) -> None:
    """Every event that is there must be the one that was appended at its seq."""
    log = handle.session.log
    exact = judge.capabilities.numbers == "exact"
    expected = log[op.offset : op.offset + len(value)]
    if same(expected, value, exact=exact):
        return
    if _bounded(op) and any(same(log[at : at + len(value)], value, exact=exact) for at in range(len(log))):
        judge.fail("READ-01", wanted, note="these events stand elsewhere in the log")
    for place, (due, event) in enumerate(zip(expected, value, strict=False)):
        if not same(due, event, exact=exact):
            seq = op.offset + place
            difference = first_difference(due, event, "event", exact=exact)
            judge.fail(_altered(judge, handle, seq, event), wanted, note=f"at seq {seq}: {difference}")
    extra = value[len(expected) :]
    clause = blame.beyond(judge, handle, extra)
    if clause == "SEQ-01" and extra:
        clause = identity_blame.shown(judge, handle.session, op.offset + len(expected), extra[0]) or clause
    judge.fail(clause, wanted, note=f"{log_text(extra)} beyond the log")


def _altered(judge: Judge, handle: Handle, seq: int, event: Any) -> str:
    clause = blame.altered(judge, handle, seq, event)
    session = handle.session
    if clause == "ID-01" and not identity_blame.shown(judge, session, seq, event):
        # It changed, and not into what one of its kin holds.
        return blame.suspect(session, but="ID-01") or ("READ-03" if seq < handle.shown else "SEQ-04")
    if clause != "SEQ-01":
        return clause
    cause = ""
    if event is not None:
        cause = identity_blame.shown(judge, session, seq, event) or value_blame.altered(judge, session, seq, event)
    return cause or ("DUR-01" if session.recovery is not None else clause)


def _raising(judge: Judge, handle: Handle, op: Read, kind: str) -> str:
    clause = blame.raising(judge, handle, op.offset, op.length)
    cause = value_blame.unreadable(judge, handle.session, kind) if kind else ""
    if not kind or (clause in STRONG_TAGS and cause != "LIVE-08") or crash_blame.failing(handle.session):
        return clause
    return cause or identity_blame.unreadable(judge.world, handle.session, kind) or clause


def _witness_read(judge: Judge, handle: Handle, op: Read, count: int, floor: int) -> None:
    """Count the clauses that a wrong answer to this read would have broken."""
    session = handle.session
    first, upto = op.offset, op.offset + count
    bounded = _bounded(op)
    found = {blame.raising(judge, handle, op.offset, op.length)}
    if bounded and session.log:
        found.add("READ-01")
    if not bounded:
        found.add(blame.beyond(judge, handle, ()))
        if session.live is not None and session.live.seeded:
            found.add("LIVE-09")
    if count:
        # The clause changes only at these seqs, so that one event of each stretch stands for all of it.
        bounds = {first, handle.shown, session.verified, session.covered, *crash_rules.bounds(session)}
        if session.scribbled or session.promised:
            bounds.update(islice(session.scribbled, 1), (start for start, _, _ in session.promised))
        for seq in bounds:
            if first <= seq < upto:
                found.add(_altered(judge, handle, seq, None))
                if seq < floor:
                    found.add(blame.missing(judge, handle, seq, bounded=bounded))
        fresh: Sequence[int] = (unread := range(max(first, session.verified), upto))
        if not blame.are_alike(handle, unread):
            fresh = [seq for seq in unread if blame.altered(judge, handle, seq) == "SEQ-01"]
        found |= value_blame.witnessed(judge, session, fresh)
        if fresh and identity_blame.tells_apart(judge.world, session, fresh[0], upto):
            found.add("ID-01")
    judge.witness(*found)


def _admit_read(judge: Judge, handle: Handle, op: Read, count: int, floor: int) -> None:
    session = handle.session
    upto = op.offset + count
    if count:
        handle.shown = max(handle.shown, upto)
        session.show(handle.instance, upto)
    handle.swept = False
    whole = op.offset == 0 and upto == len(session.log)
    if whole:
        session.tags.clear()
        session.broken_off = False
        session.verified = max(session.verified, upto)
    crash_rules.read_back(judge.world, handle, upto if op.offset == 0 else 0, whole=whole)
    if op.scribble and count:
        session.handed[handle.instance] = max(session.handed.get(handle.instance, 0), upto)
    hush(judge.world, session, crash_blame.looking(session) or "REV-03")
    judge.exact = floor == len(session.log)
