"""Views in flight beside a change: they show a prefix of the log between what is certain and what may be.

What had resolved in their instance when they began, they must see; what was called before they ended, they may.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.model import fault_blame, overlap_live
from conformance.model.batches import is_event, range_is_bad
from conformance.model.blame import promised
from conformance.model.history import SnapshotView
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Dispose,
    Flush,
    FlushInstance,
    HubFlush,
    ListSessions,
    OpenSession,
    Read,
)
from conformance.model.overlap_failed import ghosts, stranger, witness_failing_append
from conformance.model.phase import Flight, Phase
from conformance.model.phase_order import settled
from conformance.model.state import Handle, Session
from conformance.model.values import plain, same
from conformance.model.views import shows_other_header
from conformance.model.words import first_difference, log_text, snapshot_id

if TYPE_CHECKING:
    from conformance.model.judge import Judge

CLOSED = "SessionHandleClosedError"


def is_beside_a_change(phase: Phase, view: Flight) -> bool:
    """Whether something was in flight with the view which may change what it sees."""
    begin, end = view.begin, view.end
    for each in phase.changes_for(view):
        if each.begin >= end:
            # They are in the order in which they began.
            return False
        if (each.end > begin or each.cancelled) and _may_change(each, view) and _meets(phase, each, view):
            return True
    return False


def is_made_beside_a_change(phase: Phase, view: Flight) -> bool:
    """Whether something that changes what it sees was called at the same time, though one ended before the other."""
    first, last = view.at - phase.instant, view.at + phase.instant
    for each in phase.changes_for(view):
        near = first <= each.at <= last
        if near and _may_change(each, view) and (view.races(each) or each.races(view)):
            return True
    return False


_SWEEPS = (FlushInstance, CloseInstance)


def _may_change(change: Flight, view: Flight) -> bool:
    """Whether a call that is no view may change what the view shows."""
    if isinstance(change.op, _SWEEPS) or isinstance(view.op, ListSessions):
        return True
    return change.session == view.session


def _meets(phase: Phase, change: Flight, view: Flight) -> bool:
    end = settled(phase, change) if change.cancelled else change.end
    if change.cancelled and isinstance(change.op, Append) and change.instance != view.instance:
        # It is settled for those who ask in its own instance; the others may see it come.
        end = phase.rested
    return change.begin < view.end and view.begin < end


def judge_view(judge: Judge, phase: Phase, view: Flight) -> None:
    """FRESH-03 and READ-06, and of the other clauses what an overlap leaves of them."""
    if phase.closing(view.instance, view) or view.shows_fault or view.cancelled:
        return
    if _was_over(phase, view):
        if view.ended is not None:
            judge.redo(view.begun, view.ended, {})
    elif isinstance(view.op, Read):
        _read(judge, phase, view)
    elif isinstance(view.op, ListSessions):
        _list(judge, phase, view)
    else:
        _stat(judge, phase, view)


def _was_over(phase: Phase, view: Flight) -> bool:
    """Whether its service or its handle had been closed before the overlap began."""
    return view.instance in phase.ended or (isinstance(view.op, Read) and view.op.handle in phase.closed)


# -- what is certain, and what may be -----------------------------------------------------------------


def _appends(phase: Phase, session: Session) -> Iterator[tuple[Flight, int]]:
    """The appends that made the log what it is, with the length that each made it."""
    for each in phase.of(session.id):
        if isinstance(each.op, Append) and each.op.events and (each.resolved or each.cancelled):
            first = each.op.events[0]
            if is_event(first) and same(plain([first]), session.log[first["seq"] : first["seq"] + 1]):
                yield each, first["seq"] + len(each.op.events)


def _least(judge: Judge, phase: Phase, view: Flight, session: Session) -> int:
    """How many events it must see."""
    found = phase.floors.get((view.instance or 0, session.serial), 0)
    for each, length in _appends(phase, session):
        own = each.before(view) and each.instance == view.instance
        if each.resolved and (own or any(_covers(bar, each) and bar.before(view) for bar in phase.changes())):
            found = max(found, length)
    found = max(found, overlap_live.least(phase, view, session))
    reads = [each for each in phase.of(session.id) if isinstance(each.op, Read) and each.instance == view.instance]
    seen = max((_reaches(each) for each in reads if each.before(view)), default=0)
    if seen > found and ghosts(judge, phase, view, session):
        # What it saw of an append that failed may go again.
        seen = min(seen, phase.lengths.get(session.serial, 0))
    return max(found, seen)


def _covers(barrier: Flight, append: Flight) -> bool:
    if not barrier.resolved or append.begin > barrier.begin:
        return False
    if isinstance(barrier.op, FlushInstance):
        return barrier.instance == append.instance
    if barrier.is_on_hub:
        return overlap_live.covers(barrier, append.session, append.instance, append.begin)
    return isinstance(barrier.op, _OF_A_HANDLE) and barrier.op.handle == append.op.handle


def _most(phase: Phase, view: Flight, session: Session) -> int:
    """How many events it may see."""
    found = max(phase.lengths.get(session.serial, 0), phase.reach.get(session.serial, 0))
    ends = [*_appends(phase, session), *overlap_live.stored_ends(phase, session)]
    return max([found, *(length for each, length in ends if each.begin < view.end)])


def _reaches(read: Flight) -> int:
    value = getattr(read.outcome, "value", None)
    return read.op.offset + len(value) if isinstance(value, list) and value else 0


def may_be_missing(judge: Judge, phase: Phase, view: Flight) -> bool:
    """Whether an open may find nothing: another instance's barrier, which would show the session, had not resolved."""
    changes = [each for each in phase.changes() if each.instance != view.instance]
    changes = [each for each in changes if each.session == view.session or isinstance(each.op, FlushInstance)]
    if not any(each.overlaps(view) for each in changes):
        return False
    seen, certain = judge.world.visible(view.instance or 0, view.session or "")
    if seen is not None and certain:
        return False
    return not any(each.resolved and each.before(view) for each in changes if isinstance(each.op, _BARRIERS))


_OF_A_HANDLE = (Flush, Close)
_BARRIERS = (FlushInstance, *_OF_A_HANDLE)


# -- the views ----------------------------------------------------------------------------------------


def _read(judge: Judge, phase: Phase, view: Flight) -> None:
    op: Read = view.op
    handle = judge.world.handles.get(op.handle)
    if handle is None or range_is_bad(op.offset, op.length):
        return
    session = handle.session
    close = phase.close_of(op.handle)
    if close is not None and close.begin < view.begin:
        if view.kind != CLOSED:
            judge.fail("CLOSE-02", f"refused with {CLOSED}: close was called before")
        judge.witness("CLOSE-02")
        return
    if session.opaque or session.erased or session.unknown is not None:
        return
    if close is not None and close.begin < view.end and view.kind == CLOSED:
        return
    if overlap_live.may_be_closed(phase, view):
        return
    value = getattr(view.outcome, "value", None)
    overlap_live.shown(judge, phase, view, session, _reaches(view))
    least, most = _least(judge, phase, view, session), _most(phase, view, session)
    wanted = f"a prefix of the log, of {least} to {most} events, from seq {op.offset} on"
    if not isinstance(value, list):
        trouble = judge.world.trouble
        if trouble is not None and fault_blame.refuses_what_shrank(trouble, handle, view.outcome):
            return
        judge.fail(_beside_a_repair(phase, view, session) or "FRESH-03", wanted)
    if op.length is not None and len(value) > op.length:
        judge.fail("READ-01", f"at most {op.length} events", f"returned {log_text(value)}")
    haunted = _compare(judge, phase, view, handle, value, most, wanted)
    _measure(judge, phase, view, handle, value, least, wanted, haunted=haunted)
    # What others saw of an append that then failed may go again.
    upto = min(_reaches(view), len(session.log))
    handle.shown = max(handle.shown, upto)
    if value:
        session.show(handle.instance, upto)


def _compare(
    judge: Judge, phase: Phase, view: Flight, handle: Handle, value: list[Any], most: int, wanted: str
) -> bool:
    """Each event that is there is the one that was appended, and was called before the read ended.

    Returns whether it ends with what another instance failed to append.
    """
    session, offset = handle.session, view.op.offset
    exact = judge.capabilities.numbers == "exact"
    haunted = False
    for place, event in enumerate(value):
        seq = offset + place
        due = session.log[seq] if seq < min(len(session.log), most) else None
        if due is not None and same(due, event, exact=exact):
            if haunted:
                judge.fail("FRESH-03", wanted, note=f"at seq {seq}: it stands behind events of an append that failed")
            continue
        # Behind the log as it was, what failed stands until another append takes its place.
        behind = due is None or seq >= phase.lengths.get(session.serial, 0)
        if behind and any(same(ghost, event) for ghost in ghosts(judge, phase, view, session)):
            haunted = True
            continue
        clause, note = stranger(phase, session, seq, event)
        if not clause and due is not None:
            clause, note = "SEQ-01", first_difference(due, event, "event", exact=exact)
        judge.fail(clause or "FRESH-03", wanted, note=f"at seq {seq}: {note or 'no such event was appended by then'}")
    witness_failing_append(judge, phase, view)
    return haunted


def _measure(
    judge: Judge,
    phase: Phase,
    view: Flight,
    handle: Handle,
    value: list[Any],
    least: int,
    wanted: str,
    *,
    haunted: bool,
) -> None:
    """It is no shorter than it must be, and ends between two batches."""
    session, op = handle.session, view.op
    end = least if op.length is None else min(least, op.offset + op.length)
    shown = phase.shown.get(op.handle, 0)
    for each in phase.of(session.id):
        if isinstance(each.op, Read) and each.op.handle == op.handle and each.before(view):
            shown = max(shown, _reaches(each))
    if op.offset + len(value) < end:
        short = "READ-03" if op.offset + len(value) < min(end, shown) else "FRESH-03"
        upto = op.offset + len(value)
        beside = _beside_a_repair(phase, view, session)
        clause = _hurried_barrier(phase, view, session, upto) or promised(session, upto) or beside or short
        judge.fail(clause, wanted, note=f"the log seems to end before seq {op.offset + len(value)}")
    came_short = op.length is None or len(value) < op.length
    upto = op.offset + len(value)
    before = phase.lengths.get(session.serial, 0)
    inside = before < upto < len(session.log) and upto not in session.starts and session.recovery is None
    if came_short and value and inside and not haunted:
        judge.fail(
            "SEQ-05", wanted, note=f"it ends at seq {upto}, inside a batch: an append is there whole or not at all"
        )
    judge.witness("FRESH-03")


def _beside_a_repair(phase: Phase, view: Flight, session: Session) -> str:
    """The clause of reads while the first writer after a crash is let in, who may have the tail to repair."""
    recovery = session.recovery
    if recovery is None or recovery.grown_at is not None:
        return ""
    for each in phase.of(session.id):
        is_owner = isinstance(each.op, OpenSession) and each.op.access == "write"
        if is_owner and each.instance == view.instance and view.overlaps(each):
            return "TORN-05" if recovery.stake.located else "READ-03"
    return ""


_HURRIED = {Flush: "SEQ-05", FlushInstance: "FLUSH-01", Close: "CLOSE-06", HubFlush: "LIVE-03", Dispose: "LIVE-06"}


def _hurried_barrier(phase: Phase, view: Flight, session: Session, upto: int) -> str:
    """The clause of a barrier that resolved though an append that it covers, and the view lacks, was still in line."""
    for append, length in _appends(phase, session):
        for bar in phase.changes():
            if length > upto and _covers(bar, append) and bar.before(view) and append.end > bar.end:
                return _HURRIED[type(bar.op)]
    return ""


def _stat(judge: Judge, phase: Phase, view: Flight) -> None:
    world, name = judge.world, view.session
    if name is None or name in world.blurred or view.instance not in world.instances:
        return
    # What came or went meanwhile may be there or not.
    fleeting = [each for each in phase.of(name) if isinstance(each.op, Create) or _empties(judge, each)]
    session, certain = world.visible(view.instance, name)
    if session is None or fleeting or not certain or session.opaque or view.kind:
        if view.kind and not fleeting and session is not None and certain and not session.opaque:
            judge.fail("FRESH-03", f"a snapshot of {name!r:.80}")
        return
    value = getattr(view.outcome, "value", None)
    if not isinstance(value, SnapshotView):
        if phase.floors.get((view.instance, session.serial)) is None:
            return
        judge.fail("FRESH-02", f"a snapshot of {name!r:.80}")
    _snapshot(judge, phase, view, session, value)


def _empties(judge: Judge, flight: Flight) -> bool:
    handle = judge.world.handles.get(flight.op.handle) if isinstance(flight.op, Close) else None
    return handle is not None and handle.is_writer and not handle.session.log


def _snapshot(judge: Judge, phase: Phase, view: Flight, session: Session, value: SnapshotView) -> None:
    difference = shows_other_header(session, value.header, exact=judge.capabilities.numbers == "exact")
    if difference:
        judge.fail("SVC-01", "the header given to create", f"header{difference}")
    count = value.event_count
    overlap_live.shown(judge, phase, view, session, count if type(count) is int else 0)
    least, most = _least(judge, phase, view, session), _most(phase, view, session)
    if count is not None:
        most += len(ghosts(judge, phase, view, session))
        if type(count) is not int or not least <= count <= most:
            is_short = type(count) is int and count < least
            lost = (_hurried_barrier(phase, view, session, count) or promised(session, count)) if is_short else ""
            judge.fail(lost or "FRESH-02", f"event_count from {least} to {most}", f"event_count={count!r}")
        session.show(view.instance or 0, min(count, len(session.log)))
    judge.witness("FRESH-02")


def _list(judge: Judge, phase: Phase, view: Flight) -> None:
    world = judge.world
    value = getattr(view.outcome, "value", None)
    if view.instance not in world.instances or world.blurred:
        return
    if not isinstance(value, list) or not all(isinstance(each, SnapshotView) for each in value):
        judge.fail("SVC-06", "a list of snapshots")
    found: dict[Any, SnapshotView] = {}
    for each in value:
        if snapshot_id(each) in found:
            judge.fail("SVC-06", "no session twice", f"{snapshot_id(each)!r:.80} twice")
        found[snapshot_id(each)] = each
    fleeting = {each.session for each in phase.made() if isinstance(each.op, Create) or _empties(judge, each)}
    for name in dict.fromkeys([*(each for _, each in world.pending), *world.stored]):
        session, certain = world.visible(view.instance, name)
        if session is None or session.opaque or name in fleeting:
            found.pop(name, None)
            continue
        snapshot = found.pop(name, None)
        there = certain and phase.floors.get((view.instance, session.serial)) is not None
        if snapshot is None:
            if there and session.home == view.instance:
                judge.fail("FRESH-02", f"a snapshot of {name!r:.80} among the others", "it is missing")
            continue
        _snapshot(judge, phase, view, session, snapshot)
    for name in found:
        if name not in fleeting and name not in world.never:
            judge.fail("SVC-06", f"no snapshot of {name!r:.80}: no such session is visible here")
