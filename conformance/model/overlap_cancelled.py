"""What a call leaves that its caller gave up.

Whether a cancelled append is in the log is told by what was appended or read later; it is there whole or not at
all, and for good. A cancelled close goes on. A cancelled create, open or look has done nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.model import overlap_live
from conformance.model.batches import is_event
from conformance.model.history import Completion, Returned
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    FlushInstance,
    ListSessions,
    OpenSession,
    Read,
)
from conformance.model.phase import Flight, Phase
from conformance.model.state import Handle, Session
from conformance.model.transitions import end_ownership, touch
from conformance.model.values import plain, same

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def remember(session: Session, events: Any, clause: str) -> None:
    """The events of a batch that must not be there, to know them again where they turn up."""
    if isinstance(events, list):
        session.refused, session.refused_by = [each for each in events if isinstance(each, dict)], clause
        session.tag(clause)


def note_promise(session: Session, events: Any, clause: str) -> None:
    """The batch is there though its call was broken off: where it is missing, this clause says why."""
    first = events[0]["seq"]
    session.promised.append((first, first + len(events), clause))


def settle(phase: Phase) -> dict[int, bool | None]:
    """For each cancelled append whether it is in the log; None where nothing tells."""
    found: dict[int, bool | None] = {}
    taken: dict[str, set[int]] = {}
    for each in phase.calls(Append):
        if not each.cancelled:
            continue
        events = each.op.events
        if not isinstance(events, list) or not events or not all(map(is_event, events)):
            found[id(each)] = False
            continue
        seqs = taken.setdefault(each.session or "", set())
        landed = False if events[0]["seq"] in seqs else _landed(phase, each)
        if landed:
            seqs.update(range(events[0]["seq"], events[0]["seq"] + len(events)))
        found[id(each)] = landed
    return found


def _landed(phase: Phase, flight: Flight) -> bool | None:
    """Whether a cancelled append is in the log: by what was appended or read after it began."""
    events = flight.op.events
    first, end = events[0]["seq"], events[0]["seq"] + len(events)
    later = [each for each in phase.of(flight.session or "") if each.begin > flight.begin]
    appends = [each for each in later if isinstance(each.op, Append) and each.op.events and is_event(each.op.events[0])]
    if any(each.resolved and each.op.events[0]["seq"] == first for each in appends):
        return False
    given = plain(events)
    for each in later:
        value = getattr(each.outcome, "value", None)
        if not isinstance(each.op, Read) or not isinstance(value, list):
            continue
        at = first - each.op.offset
        if 0 <= at < len(value):
            is_there = same(given[0], value[at])
            if is_there and phase.meets_faults and each.instance != flight.instance:
                # It may have failed as well, and others may see what it left until that is taken back.
                continue
            return is_there
        here = each.instance == flight.instance and each.begin > flight.end
        if here and at >= len(value) and (each.op.length is None or at < each.op.length):
            return False
    if flight.session in phase.signalled:
        # That the log goes on behind it does not say whose events those are: published ones may be counted too.
        return None
    for each in appends:
        at = each.op.events[0]["seq"] if each.resolved else None
        if each.kind == "SessionContiguityError" and each.op.handle == flight.op.handle:
            at = getattr(each.outcome.error, "expected", None)  # type: ignore[union-attr]
        if at in (first, end):
            return bool(at == end)
    return None


def cancelled(judge: Judge, phase: Phase, flight: Flight, landed: bool | None, situation: Mapping[str, str]) -> None:
    """Go on from a call that was cancelled.

    Args:
        landed: for an append, whether it is in the log; None where nothing tells.
        situation: what other calls in flight mean for it.
    """
    world, op = judge.world, flight.op
    handle = world.handles.get(getattr(op, "handle", -1)) if flight.is_on_handle or isinstance(op, Read) else None
    if isinstance(op, Append | Flush) and handle is not None and phase.meets_faults:
        _owe(judge, phase, handle)
    match op:
        case Append() if handle is not None:
            _cancelled_append(judge, flight, handle, landed, situation)
        case Flush() if handle is not None:
            handle.disturbed = handle.disturbed or "SEQ-08"
        case Close() if handle is not None:
            _cancelled_close(judge, phase, flight, handle)
        case FlushInstance():
            for each in world.handles.values():
                if each.instance == op.instance and each.is_writer and not each.closed:
                    each.disturbed = each.disturbed or "SEQ-08"
        case CloseInstance():
            _cancelled_end(judge, phase, flight)
        case Create() | OpenSession() if op.instance in world.instances:
            if isinstance(op, Create) or op.access == "write":
                world.instances[op.instance].failed_claim.setdefault(flight.session or "", "OWN-04")
            _looked(judge, flight)
        case _:
            _looked(judge, flight)


def _owe(judge: Judge, phase: Phase, handle: Handle) -> None:
    """What failed in a call that nobody waited for any more, a later one on its handle may say, or be spent by it."""
    trouble = judge.world.trouble
    if trouble is None:
        return
    flights = (each.ended for each in phase.flights if each.ended is not None)
    met = [fault for ended in flights for fault in ended.faults if fault.session in (None, handle.session.id)]
    if not met:
        return
    grip = trouble.grip(handle.number)
    grip.owed = True
    trouble.fired = max(trouble.fired, len(met))
    grip.spendable = grip.spendable or any(each.kind == "sync" and each.error for each in met)


def _looked(judge: Judge, flight: Flight) -> None:
    """SVC-11: what was cancelled has changed no log."""
    for session in judge.world.stored.values():
        if isinstance(flight.op, ListSessions) or session.id == flight.session:
            session.tag("SVC-11")
            session.broken_off = True


def _cancelled_append(
    judge: Judge, flight: Flight, handle: Handle, landed: bool | None, situation: Mapping[str, str]
) -> None:
    if landed and flight.ended is not None:
        situation = {**situation, **dict.fromkeys(("SEQ-01", "OWN-11", "SEQ-09"), "SEQ-08")}
        note_promise(handle.session, flight.op.events, "SEQ-08")
        judge.redo(flight.begun, _as_returned(flight.ended), situation)
    elif landed is None:
        judge.world.blur(handle.session)
    else:
        remember(handle.session, flight.op.events, "SEQ-08")
        judge.witness("SEQ-08")
        trouble = judge.world.trouble
        if trouble is not None and isinstance(flight.op.events, list) and all(map(is_event, flight.op.events)):
            # It may have failed, and left something for others to see.
            mishap = trouble.mishap(handle.session.serial)
            mishap.haunt(plain(flight.op.events), handle.instance, judge.world.span[0])
    if not handle.closed:
        handle.disturbed = handle.disturbed or "SEQ-08"


def _as_returned(ended: Completion) -> Completion:
    return Completion(ended.call, Returned(), ended.at, ended.faults, ended.client, ended.step)


def _cancelled_close(judge: Judge, phase: Phase, flight: Flight, handle: Handle) -> None:
    """CLOSE-04: it goes on; where a later close joined it, that one's outcome is its own."""
    if handle.closed:
        return
    later = [each for each in phase.calls(Close) if each.op.handle == flight.op.handle]
    joined = next((each for each in later if each.begin > flight.begin and not each.cancelled), None)
    if handle.owns:
        handle.session.left_by = "CLOSE-04"
    if joined is not None and (ended := phase.with_faults(flight, joined)) is not None:
        judge.redo(flight.begun, ended, {"CLOSE-03": "CLOSE-04", "OWN-03": "CLOSE-04"})
        if judge.world.never.get(handle.session.id) == "MAT-03":
            judge.world.never[handle.session.id] = "CLOSE-04"
        return
    # Nobody was told that it resolved: it is no barrier, and the handle is closed all the same.
    session = handle.session
    owned = handle.owns
    if owned and judge.world.trouble is None:
        overlap_live.drained(judge, session)
    handle.closed = handle.unheard = True
    end_ownership(handle)
    if owned and judge.world.trouble is not None:
        # Whether it could store what there was nobody knows.
        judge.world.blur(session)
    elif owned and session.pending:
        judge.world.blur(session) if session.log else _never_was(judge, session)
    touch(judge.world, session)


def _never_was(judge: Judge, session: Session) -> None:
    judge.world.pending.pop((session.creator, session.id), None)
    session.erased = True
    judge.world.never[session.id] = "CLOSE-04"


def _cancelled_end(judge: Judge, phase: Phase, flight: Flight) -> None:
    """A cancelled close of the service: whether it went on is told by a later one, else nothing is known any more."""
    instance = judge.world.instances.get(flight.op.instance)
    later = [each for each in phase.calls(CloseInstance) if each.begin > flight.begin]
    joined = next((each for each in later if each.op == flight.op and not each.cancelled), None)
    if instance is None or instance.closed:
        return
    if joined is not None and joined.ended is not None:
        judge.redo(flight.begun, joined.ended, {})
        return
    instance.closed = True
    for handle in judge.world.handles.values():
        if handle.instance == instance.number and not handle.closed:
            handle.closed = handle.closed_by_service = True
            end_ownership(handle)
            judge.world.blur(handle.session)
