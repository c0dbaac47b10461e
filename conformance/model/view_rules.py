"""The rules for ``stat``, ``list`` and ``read``: what an instance must see, may see, and must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.model import blame
from conformance.model.batches import BAD_ARGUMENT, range_is_bad
from conformance.model.handle_rules import refused_as_closed
from conformance.model.history import Outcome, SnapshotView
from conformance.model.operations import ListSessions, Read, Stat
from conformance.model.service_rules import reject_on_closed_service
from conformance.model.state import Handle, Instance, Session
from conformance.model.values import same
from conformance.model.views import check_snapshot, note_verdict
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
    elif isinstance(op, Stat | ListSessions):
        for session in (*world.stored.values(), *world.pending.values()):
            call.floors[session.serial] = session.floor(op.instance)


def stat(judge: Judge, call: Call, op: Stat, outcome: Outcome) -> None:
    """SVC-05, FRESH-02, FRESH-04, MAT-01 to MAT-05, REV-01 to REV-05."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    session, certain = world.visible(op.instance, op.session)
    if session is None:
        clause = blame.absent(world, instance, op.session, "SVC-05")
        value = judge.demand_success(outcome, clause, "None: no such session is visible here")
        if value is not None:
            judge.fail(clause, "None: no such session is visible here")
        judge.witness(clause)
        note_verdict(judge, instance, op.session, "stat", occupied=False)
        judge.exact = True
        return None
    if session.pending and not certain:
        return None
    clause = blame.present(instance, session, "FRESH-02")
    value = judge.demand_success(outcome, clause, f"a snapshot of {session.id!r:.80}")
    note_verdict(judge, instance, session.id, "stat", occupied=value is not None)
    if value is None:
        if not certain:
            return None
        judge.fail(clause, f"a snapshot of {session.id!r:.80}")
    if not isinstance(value, SnapshotView):
        judge.fail("SVC-05", f"a snapshot of {session.id!r:.80}")
    judge.witness(clause)
    check_snapshot(judge, instance, session, value, call.floors[session.serial], "SVC-01")
    session.tag("SVC-05")
    if session.unsure:
        session.unsure, session.durable = False, True
    return None


def list_sessions(judge: Judge, call: Call, op: ListSessions, outcome: Outcome) -> None:
    """SVC-06 and, for each session, what ``stat`` is judged by."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    value = judge.demand_success(outcome, "SVC-06", "one snapshot for each visible session")
    if not isinstance(value, list) or not all(isinstance(item, SnapshotView) for item in value):
        judge.fail("SVC-06", "a list of snapshots")
    found: dict[Any, SnapshotView] = {}
    for view in value:
        session_id = snapshot_id(view)
        if session_id in found:
            judge.fail("SVC-06", "no session twice", f"{session_id!r:.80} twice")
        found[session_id] = view
    candidates = {session_id for _, session_id in world.pending} | world.stored.keys()
    for session_id in candidates:
        session, certain = world.visible(op.instance, session_id)
        if session is not None and not (session.pending and not certain):
            _check_listed(judge, call, instance, session, found.pop(session_id, None), certain=certain)
        elif session is not None:
            found.pop(session_id, None)
    for session_id in found:
        clause = blame.absent(world, instance, session_id, "SVC-06")
        judge.fail(clause, f"no snapshot of {session_id!r:.80}: no such session is visible here")
    for session_id in world.never.keys() | instance.failed_claim.keys() | {found for _, found in world.pending}:
        if world.visible(op.instance, session_id)[0] is None:
            judge.witness(blame.absent(world, instance, session_id, "SVC-06"))
    judge.witness("SVC-06")
    return None


def _check_listed(
    judge: Judge, call: Call, instance: Instance, session: Session, view: SnapshotView | None, *, certain: bool
) -> None:
    if view is None:
        if not certain:
            note_verdict(judge, instance, session.id, "list", occupied=False)
            return
        # Where stat showed the session as it is now, the listing is what differs.
        book = instance.revisions.get(session.id)
        seen = book is not None and book.last is not None and book.last[3] == session.stir
        clause = "SVC-06" if seen else blame.present(instance, session, "FRESH-02")
        judge.fail(clause, f"a snapshot of {session.id!r:.80} among the others", "it is missing")
    judge.witness(blame.present(instance, session, "FRESH-02"))
    note_verdict(judge, instance, session.id, "list", occupied=True)
    check_snapshot(judge, instance, session, view, call.floors[session.serial], "SVC-06")
    session.tag("SVC-11")
    if session.unsure:
        session.unsure, session.durable = False, True


def read(judge: Judge, call: Call, op: Read, outcome: Outcome) -> None:
    """READ-01 to READ-04, FRESH-01, FRESH-04, SEQ-01, SEQ-04, SEQ-06, SEQ-07, FLUSH-04 and SVC-11."""
    handle = judge.world.handles[op.handle]
    session = handle.session
    bad = range_is_bad(op.offset, op.length)
    if refused_as_closed(judge, handle, outcome):
        if bad:
            judge.witness("READ-02")
        return
    if bad:
        judge.demand_refusal(outcome, {"READ-02": BAD_ARGUMENT})
        session.tag("SVC-11")
        return
    if session.erased or session.opaque or (session.pending and session.id in judge.world.stored):
        return
    floor = call.floors[session.serial]
    clause = "FLUSH-04" if handle.swept else _unread(judge, handle)
    end = len(session.log) if op.length is None else op.offset + op.length
    wanted = f"{log_text(session.log[op.offset : end])} (of a log of {len(session.log)})"
    value = judge.demand_success(outcome, clause, wanted)
    if not isinstance(value, list):
        judge.fail("READ-01", wanted)
    if op.length is not None and len(value) > op.length:
        judge.fail("READ-01", f"at most {op.length} events")
    _compare(judge, handle, op, value, wanted)
    least = max(0, min(floor, end) - op.offset)
    if len(value) < least:
        _too_short(judge, handle, op.offset + len(value), wanted)
    _admit_read(judge, handle, op, value, floor)


def _unread(judge: Judge, handle: Handle) -> str:
    """The clause broken where events that no one read back yet cannot be read."""
    session = handle.session
    if handle.is_writer and handle.wrote:
        return "READ-04"
    if session.pending or not session.log:
        return "MAT-01"
    if session.home == handle.instance:
        return "FRESH-01"
    return blame.barrier(judge.world.instances[handle.instance], session)


def _too_short(judge: Judge, handle: Handle, upto: int, wanted: str) -> None:
    session = handle.session
    clause = blame.gone(handle, upto) if upto < session.verified else _unread(judge, handle)
    judge.fail(clause, wanted, note=f"the log seems to end before seq {upto}")


def _compare(judge: Judge, handle: Handle, op: Read, value: list[Any], wanted: str) -> None:
    session = handle.session
    exact = judge.capabilities.numbers == "exact"
    expected = session.log[op.offset : op.offset + len(value)]
    if same(expected, value, exact=exact):
        return
    for place, event in enumerate(value):
        seq = op.offset + place
        if place >= len(expected):
            _too_long(judge, handle, value[place:], wanted)
        if same(expected[place], event, exact=exact):
            continue
        if any(same(session.log[at : at + len(value)], value, exact=exact) for at in range(len(session.log))):
            judge.fail("READ-01", wanted, note="these events stand elsewhere in the log")
        difference = first_difference(expected[place], event, "event", exact=exact)
        judge.fail(_altered(judge, handle, seq, event), wanted, note=f"at seq {seq}: {difference}")


def _too_long(judge: Judge, handle: Handle, extra: list[Any], wanted: str) -> None:
    session = handle.session
    for tag in reversed(session.tags):
        if tag in blame.STRONG_TAGS:
            judge.fail(tag, wanted, note=f"{log_text(extra)} beyond the log: a refused call left them")
    judge.fail("SEQ-01", wanted, note=f"{log_text(extra)} beyond the log: no resolved append stored them")


def _altered(judge: Judge, handle: Handle, seq: int, event: Any) -> str:
    """The clause broken where the event at ``seq`` is not the one that was appended."""
    session = handle.session
    if seq in session.scribbled:
        return "SEQ-06"
    if judge.world.instances[handle.instance].scribbled_result:
        return "SEQ-07"
    if seq < session.verified:
        return blame.gone(handle, seq)
    for tag in reversed(session.tags):
        if tag in blame.STRONG_TAGS and any(same(event, refused) for refused in session.refused):
            return tag
    return "SEQ-01"


def _admit_read(judge: Judge, handle: Handle, op: Read, value: list[Any], floor: int) -> None:
    world, session = judge.world, handle.session
    instance = world.instances[handle.instance]
    upto = op.offset + len(value)
    if op.offset or op.length is not None:
        judge.witness("READ-01")
    if value:
        _witness_events(judge, handle, op.offset, upto, floor)
        handle.shown = max(handle.shown, upto)
        session.shown[handle.instance] = max(session.shown.get(handle.instance, 0), upto)
    if handle.swept:
        judge.witness("FLUSH-04")
        handle.swept = False
    if instance.scribbled_result and value:
        judge.witness("SEQ-07")
    if op.offset == 0 and upto == len(session.log):
        judge.witness(*session.tags)
        session.tags.clear()
        session.verified = max(session.verified, upto)
    if op.scribble and value:
        instance.scribbled_result = True
    judge.exact = floor == len(session.log)


def _witness_events(judge: Judge, handle: Handle, first: int, upto: int, floor: int) -> None:
    session = handle.session
    judge.witness("SEQ-01")
    if handle.shown:
        judge.witness("READ-03")
    if session.verified > first:
        judge.witness("SEQ-04")
    if floor > first:
        judge.witness(_unread(judge, handle))
    if session.scribbled and any(first <= seq < upto for seq in session.scribbled):
        judge.witness("SEQ-06")
