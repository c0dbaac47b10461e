"""The rules for what a session publishes: on its way it may be stored or not, and after a while it must be.

Published events are *waiting* until the model knows that the log has them: because their window has ended, because a
barrier covered them, or because somebody was shown them. From then on they are events of the log like any other, and
the clause by which they had to be there is remembered with them (``Session.promised``). While storage fails no window
binds; then only barriers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.model.batches import batch_refusals, is_event
from conformance.model.history import ErrorView, FaultView, FloodView, Outcome, Raised, SnapshotView, WarningsView
from conformance.model.live_state import Live, Waiting
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Dispose,
    Fail,
    Flood,
    Flush,
    FlushInstance,
    Heal,
    HubCreate,
    HubFlush,
    ListSessions,
    Operation,
    Publish,
    Read,
    ReadWarnings,
    Stat,
    Wait,
    filler,
)
from conformance.model.state import Handle, Session
from conformance.model.transitions import end_ownership, forget_looks, materialise
from conformance.model.values import plain
from conformance.model.words import snapshot_id

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

CONTIGUITY = "SessionContiguityError"
MANY = 1_000
"""Events that may wait; a backend that takes no more while storage works is not called wrong past them (LIVE-11)."""

WRITING = frozenset({"write", "sync"})
FLOOD_LIMIT = 8 << 20
"""Bytes by which memory may grow however much is published while storage is down (LIVE-11)."""


# -- what waits ---------------------------------------------------------------------------------------


def active(judge: Judge, instance: int, name: str) -> Handle | None:
    """The handle that what the session publishes on this instance's hub goes to."""
    for handle in judge.world.handles.values():
        if handle.instance == instance and handle.session.id == name and handle.owns and not handle.closed:
            return handle
    return None


def _flowing(judge: Judge) -> Iterator[tuple[Session, Live]]:
    for session in judge.world.live.values():
        if session.live is not None and session.live.waiting and not session.opaque:
            yield session, session.live


def _broken(session: Session) -> int | None:
    """The place of the first waiting event that cannot be stored where it stands, or None."""
    for place, each in enumerate(session.live.waiting if session.live is not None else ()):
        if each.bad or each.event["seq"] != len(session.log) + place:
            return place
    return None


def _promote(judge: Judge, session: Session, count: int, clause: str) -> None:
    """The first waiting events are in the log now, because of this clause."""
    world, live = judge.world, session.live
    if live is None or count <= 0:
        return
    taken, live.waiting = live.waiting[:count], live.waiting[count:]
    first = len(session.log)
    session.log.extend(each.event for each in taken)
    session.starts.update(range(first, len(session.log)))
    session.promised.append((first, len(session.log), clause))
    handle = session.owner
    if handle is not None:
        session.home = handle.instance
        handle.left_at = len(session.log)
        handle.wrote = handle.dirty = True
    session.stir += 1
    session.grown_at, session.grown_call = world.step, world.call
    session.grown.append((world.call, len(session.log)))
    forget_looks(session)
    if world.rival(session) is None:
        materialise(world, session)


def advance(judge: Judge) -> None:
    """LIVE-01, LIVE-02: what waits in a window that has ended is in the log."""
    window = judge.capabilities.live_window
    for session, live in _flowing(judge):
        while window is not None and live.waiting and not live.held:
            due = live.waiting[0].at + round(window * 1_000_000)
            broken = _broken(session)
            joined = [each for each in live.waiting if each.at <= due]
            if due >= judge.world.now or (broken is not None and broken < len(joined)):
                # One that cannot be stored is told by the next barrier, and what stands before it is not bound either.
                break
            _promote(judge, session, len(joined), "LIVE-02" if len(joined) > 1 else "LIVE-01")


def hold(judge: Judge, op: Fail) -> None:
    """Storage may fail from here on: no window binds before the next barrier."""
    judge.world.failing = op
    for _, live in _flowing(judge):
        live.held = True


def background_failed(judge: Judge, op: Operation, faults: tuple[FaultView, ...]) -> None:
    """Storage failed while nobody was calling: a write of what waited may have failed (LIVE-04)."""
    failing = judge.world.failing
    if not isinstance(op, Wait) or not any(each.error for each in faults):
        return
    for session, live in _flowing(judge):
        if not any(each.session in (None, session.id) for each in faults):
            continue
        live.held = live.failed = True
        if failing is not None and failing.sticky and WRITING & set(failing.calls):
            live.owes = "LIVE-04"


# -- the hub's own operations ---------------------------------------------------------------------------


def hub_create(judge: Judge, call: Call, op: HubCreate, outcome: Outcome) -> None:
    """The session is published."""
    judge.world.published.add((op.instance, op.session))
    handle = active(judge, op.instance, op.session)
    if handle is not None and op.events and not handle.session.opaque:
        live = handle.session.live = handle.session.live or Live()
        live.seeded = True
        judge.world.live[handle.session.serial] = handle.session


def publish(judge: Judge, call: Call, op: Publish, outcome: Outcome) -> None:
    """LIVE-07, LIVE-14: it is taken, or its producer is told that it never will be."""
    if (op.instance, op.session) not in judge.world.published:
        return
    handle = active(judge, op.instance, op.session)
    if handle is None:
        judge.demand_success(outcome, "LIVE-07", "resolved: no handle of this instance owns the session")
        judge.witness("LIVE-07")
        session, _ = judge.world.visible(op.instance, op.session)
        if session is not None and isinstance(op.event, dict):
            session.refused, session.refused_by = [op.event], "LIVE-07"
            session.tag("LIVE-07")
        return
    session = handle.session
    if session.opaque:
        return
    if session.recovery is not None and not session.recovery.fixed:
        # Where the log ends nobody knows yet.
        judge.world.blur(session)
        return
    live = session.live = session.live or Live()
    judge.world.live[session.serial] = session
    expected = len(session.log) + len(live.waiting)
    seq = op.event.get("seq") if isinstance(op.event, dict) else None
    refusals = batch_refusals([op.event], expected, judge.capabilities)
    bad = bool(set(refusals.must) - {"SEQ-02"})
    if isinstance(outcome, Raised):
        if bad or "SEQ-02" in refusals.must:
            _names_seq(judge, outcome.error, seq)
        elif not (live.held or judge.world.failing or len(live.waiting) >= MANY or outcome.error.kind in refusals.may):
            judge.fail("LIVE-01", "taken: the event continues what was published before it")
        return
    event = op.event if not is_event(op.event) else plain([op.event])[0]
    live.waiting.append(Waiting(event, judge.world.now, bad=bad))
    if session.pending and judge.world.rival(session) is None:
        # It may be stored at any moment from now on.
        materialise(judge.world, session)
    live.held = live.held or judge.world.failing is not None
    if op.scribble and isinstance(seq, int):
        live.scribbled.add(seq)


def _names_seq(judge: Judge, error: ErrorView, seq: Any) -> None:
    """LIVE-14: whoever tells that an event cannot be stored names its seq."""
    if isinstance(seq, int) and not isinstance(seq, bool):
        said = " ".join([error.message, *error.notes, *(each.message for each in error.members)])
        if str(seq) not in said and error.got != seq and all(each.got != seq for each in error.members):
            judge.fail("LIVE-14", f"an error that names the event's seq, {seq}")
    judge.witness("LIVE-14")


def flood(judge: Judge, call: Call, op: Flood, outcome: Outcome) -> None:
    """LIVE-11: what is published while storage is down does not fill the memory; producers may be told instead."""
    value = getattr(outcome, "value", None)
    handle = active(judge, op.instance, op.session)
    if not isinstance(value, FloodView) or handle is None or handle.session.opaque:
        return
    live = handle.session.live = handle.session.live or Live()
    judge.world.live[handle.session.serial] = handle.session
    live.waiting += [Waiting(filler(op.first + each, op.width), judge.world.now) for each in range(value.taken)]
    live.held = live.held or judge.world.failing is not None
    if judge.world.failing is not None:
        if not value.error and value.grown > FLOOD_LIMIT:
            judge.fail(
                "LIVE-11",
                f"memory that grows by {FLOOD_LIMIT:,} bytes at most, or a producer who is told",
                f"it grew by {value.grown:,} bytes, and all {value.taken:,} events were taken",
            )
        judge.witness("LIVE-11")


def read_warnings(judge: Judge, call: Call, op: ReadWarnings, outcome: Outcome) -> None:
    """LIVE-04, LIVE-06: what failed where nobody was told of it was logged with the session's id."""
    value = getattr(outcome, "value", None)
    if not isinstance(value, WarningsView):
        return
    for session in judge.world.live.values():
        if session.live is None or not session.live.owes:
            continue
        clause, session.live.owes = session.live.owes, ""
        if not any(session.id in each for each in value.messages):
            judge.fail(
                clause,
                f"a warning in the log of the program that names the session {session.id!r:.80}",
                f"{len(value.messages)} warnings: {'; '.join(value.messages)[:200]}" if value.messages else "none",
            )
        judge.witness(clause)


# -- calls of the backend, where something waits ---------------------------------------------------------


def as_call(judge: Judge, op: HubFlush | Dispose, outcome: Outcome) -> Flush | Close | None:
    """The call of the handle that a signal of the hub comes to; None where it comes to none, and is judged here."""
    if (op.instance, op.session) not in judge.world.published:
        return None
    if isinstance(op, Dispose):
        judge.world.published.discard((op.instance, op.session))
    handle = active(judge, op.instance, op.session)
    if handle is not None:
        return Flush(handle.number) if isinstance(op, HubFlush) else Close(handle.number)
    clause = "LIVE-07" if isinstance(op, HubFlush) else "LIVE-06"
    judge.demand_success(outcome, clause, "resolved: no handle of this instance owns the session")
    judge.witness(clause)
    return None


def disposed(judge: Judge, op: Dispose, outcome: Outcome, faults: tuple[FaultView, ...]) -> bool:
    """LIVE-06: the hub hears of no failure; where storage failed meanwhile a later close says whether this one did."""
    judge.demand_success(outcome, "LIVE-06", "resolved: a drain that fails at a session's end is logged, not raised")
    handle = active(judge, op.instance, op.session)
    if handle is None or not any(each.error for each in faults):
        judge.witness("LIVE-06")
        return False
    session = handle.session
    handle.closed = handle.unheard = True
    end_ownership(handle)
    judge.world.blur(session)
    if session.live is not None:
        session.live.waiting.clear()
    return True


def closed_after_disposal(judge: Judge, handle: Handle, outcome: Outcome) -> bool:
    """Whether the close is the first after a disposal in which storage failed: it tells what became of that one."""
    if not handle.unheard:
        return False
    handle.unheard = False
    handle.close_error = outcome.error.kind if isinstance(outcome, Raised) else ""
    if handle.close_error and handle.session.live is not None:
        handle.session.live.owes = "LIVE-06"
    return True


def takes(judge: Judge, op: Operation, outcome: Outcome, faults: tuple[FaultView, ...]) -> bool:
    """What the call says of events that wait; True where nothing else is to be judged of it."""
    if isinstance(op, Fail):
        hold(judge, op)
    elif isinstance(op, Heal):
        judge.world.failing = None
    if not judge.world.live:
        return False
    background_failed(judge, op, faults)
    if isinstance(op, Close) and op.handle in judge.world.handles:
        handle = judge.world.handles[op.handle]
        if closed_after_disposal(judge, handle, outcome):
            return True
    return _meets(judge, op, outcome)


def _meets(judge: Judge, op: Operation, outcome: Outcome) -> bool:
    world = judge.world
    if isinstance(op, Read):
        handle = world.handles.get(op.handle)
        value = getattr(outcome, "value", None)
        if handle is not None and isinstance(value, list) and value and isinstance(op.offset, int):
            _shown(judge, handle.session, op.offset + len(value))
    elif isinstance(op, Stat | ListSessions):
        value = getattr(outcome, "value", None)
        for view in value if isinstance(value, list) else [value]:
            if isinstance(view, SnapshotView) and type(view.event_count) is int:
                session, _ = world.visible(op.instance, snapshot_id(view))
                if session is not None:
                    _shown(judge, session, view.event_count)
    elif isinstance(op, Append):
        return _append(judge, op, outcome)
    elif isinstance(op, Flush | Close | FlushInstance | CloseInstance):
        if isinstance(op, Flush):
            _seeded(judge, op, outcome)
        # Each of them is judged, also behind one that ends the call.
        taken = [_barrier(judge, op, session, outcome) for session, _ in list(_flowing(judge))]
        return any(taken)
    return False


def _seeded(judge: Judge, op: Flush, outcome: Outcome) -> None:
    """LIVE-09: nothing but what was published waits, and that continues the log."""
    handle = judge.world.handles.get(op.handle)
    if handle is None or handle.closed or not handle.owns or handle.session.opaque or handle.session.live is None:
        return
    live = handle.session.live
    if live.seeded and not live.waiting and not live.held:
        if isinstance(outcome, Raised) and outcome.error.kind == CONTIGUITY:
            judge.fail("LIVE-09", "resolved: nothing waits, for the seed was appended by hand and never published")
        judge.witness("LIVE-09")


def _shown(judge: Judge, session: Session, upto: int) -> None:
    live = session.live
    if live is None or not live.waiting or session.opaque:
        return
    broken = _broken(session)
    good = len(live.waiting) if broken is None else broken
    _promote(judge, session, min(upto - len(session.log), good), "LIVE-04" if live.failed else "LIVE-01")


def _append(judge: Judge, op: Append, outcome: Outcome) -> bool:
    """LIVE-12: what waits is stored first, or the append is refused by contiguity and nothing is lost."""
    handle = judge.world.handles.get(op.handle)
    if handle is None or handle.closed or not handle.owns or handle.session.opaque:
        return False
    session, live = handle.session, handle.session.live
    if live is None or not live.waiting or not isinstance(op.events, list) or not op.events:
        return False
    total = len(session.log) + len(live.waiting)
    refusals = batch_refusals(op.events, total, judge.capabilities)
    if set(refusals.must) - {"SEQ-02"} or (isinstance(outcome, Raised) and outcome.error.fault):
        return False
    broken = _broken(session)
    if isinstance(outcome, Raised):
        error = outcome.error
        fits = error.kind == CONTIGUITY and error.expected is not None
        if not fits or not len(session.log) <= (error.expected or 0) <= total:
            judge.fail("LIVE-12", f"resolved, or SessionContiguityError with expected {len(session.log)} to {total}")
        judge.witness("LIVE-12")
        session.refused, session.refused_by = [each for each in op.events if isinstance(each, dict)], "LIVE-12"
        session.tag("LIVE-12")
        return True
    if broken is not None:
        # Behind what cannot be stored an append may fill the gap.
        if op.events[0]["seq"] != len(session.log) + broken:
            judge.fail("LIVE-12", f"SessionContiguityError(expected={len(session.log) + broken})")
        _promote(judge, session, broken, "LIVE-12")
        live.held = True
        return False
    if op.events[0]["seq"] != total:
        judge.fail("LIVE-12", f"SessionContiguityError, expected at most {total}: {len(live.waiting)} events wait")
    _promote(judge, session, total - len(session.log), "LIVE-12")
    judge.witness("LIVE-12")
    return False


def _barrier(judge: Judge, op: Operation, session: Session, outcome: Outcome) -> bool:
    """LIVE-03, 05, 06, 13 and 14: a barrier stores all that was published before it, or says why not."""
    live, owner = session.live, session.owner
    mine = owner is not None and (
        op.handle == owner.number if isinstance(op, Flush | Close) else op.instance == owner.instance  # type: ignore[attr-defined]
    )
    if live is None or owner is None or not mine:
        return False
    clause = judge.signal or "LIVE-13"
    broken = _broken(session)
    if broken is not None:
        return _broken_barrier(judge, op, session, owner, broken, outcome)
    if isinstance(outcome, Raised):
        return _failed_barrier(judge, op, session, live, outcome.error, clause)
    judge.witness("LIVE-05" if live.failed else clause)
    _promote(judge, session, len(live.waiting), "LIVE-05" if live.failed else clause)
    live.held = live.failed = False
    return False


def _failed_barrier(judge: Judge, op: Operation, session: Session, live: Live, error: ErrorView, clause: str) -> bool:
    if not error.fault:
        if isinstance(op, FlushInstance | CloseInstance):
            return False
        if live.failed or live.held:
            clause = "LIVE-04" if error.kind == CONTIGUITY else "LIVE-05"
        judge.fail(clause, f"resolved: {len(live.waiting)} published events wait, and nothing fails")
    live.failed = live.held = True
    judge.witness("LIVE-05")
    if isinstance(op, Close | CloseInstance) and judge.world.trouble is not None:
        # What was on its way may be stored or not, from the front.
        batch = [each.event for each in live.waiting]
        judge.world.trouble.mishap(session.serial).ghosts.append(batch)
        live.waiting.clear()
        live.lost = True
    return False


def _broken_barrier(
    judge: Judge, op: Operation, session: Session, owner: Handle, broken: int, outcome: Outcome
) -> bool:
    """LIVE-14, LIVE-10: something waits that can never be stored where it stands: each barrier says so."""
    live = session.live
    if live is None:
        return False
    seq = live.waiting[broken].event.get("seq") if isinstance(live.waiting[broken].event, dict) else None
    clause = "LIVE-10" if live.lost else "LIVE-14"
    if not isinstance(outcome, Raised):
        judge.fail(clause, f"rejected: the event published with seq {seq} cannot be stored behind {len(session.log)}")
    error = outcome.error
    if live.lost and error.kind != CONTIGUITY:
        judge.fail(clause, "SessionContiguityError: events before it were lost with a close that failed")
    if not error.fault:
        _names_seq(judge, error, seq)
        judge.witness(clause)
    session.refused = [each.event for each in live.waiting[broken:] if isinstance(each.event, dict)]
    session.refused_by = clause
    live.held = True
    if isinstance(op, Close | CloseInstance):
        owner.closed, owner.close_error = True, error.kind
        end_ownership(owner)
        if broken or not session.log or owner.dirty:
            # What stood before it may be stored or not.
            judge.world.blur(session)
        live.waiting.clear()
        if isinstance(op, CloseInstance):
            owner.closed_by_service = judge.world.instances[op.instance].closed = True
    return True
