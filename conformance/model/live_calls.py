"""The rules for calls of the backend where published events wait: views, appends by hand, and barriers of every kind.

A signal of the hub is judged as the call of the handle that it comes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model import blame
from conformance.model.batches import batch_refusals
from conformance.model.history import ErrorView, FaultView, Outcome, Raised, SnapshotView
from conformance.model.live_flow import (
    active,
    background_failed,
    broken_at,
    flowing,
    hold,
    lingers,
    live_of,
    names_seq,
    promote,
)
from conformance.model.live_state import Live
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Dispose,
    Fail,
    Flush,
    FlushInstance,
    Heal,
    HubFlush,
    ListSessions,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.state import Handle, Session
from conformance.model.sweep_rules import serve_others
from conformance.model.transitions import end_ownership
from conformance.model.words import snapshot_id

if TYPE_CHECKING:
    from conformance.model.judge import Judge

CONTIGUITY = "SessionContiguityError"

_ADVERSITIES = (Fail, Heal)


def as_call(judge: Judge, op: HubFlush | Dispose, outcome: Outcome) -> Flush | Close | None:
    """The call of the handle that a signal of the hub comes to; None where it comes to none, and is judged here."""
    if (op.instance, op.session) not in judge.world.published:
        return None
    if isinstance(op, Dispose):
        judge.world.published.discard((op.instance, op.session))
    if op.session in judge.world.blurred:
        return None
    handle = active(judge, op.instance, op.session)
    if handle is not None and isinstance(op, HubFlush):
        return Flush(handle.number)
    if handle is not None:
        live_of(judge, handle.session).ended = handle.number
        return Close(handle.number)
    clause = "LIVE-07" if isinstance(op, HubFlush) else "LIVE-06"
    judge.demand_success(outcome, clause, "resolved: no handle of this instance owns the session")
    judge.witness(clause)
    return None


def disposed(judge: Judge, op: Dispose, outcome: Outcome, faults: tuple[FaultView, ...]) -> bool:
    """LIVE-06: the hub hears of no failure; where storage failed meanwhile a later close says whether this one did."""
    if (op.instance, op.session) not in judge.world.published:
        # The hub refuses it by itself.
        return False
    judge.demand_success(outcome, "LIVE-06", "resolved: a drain that fails at a session's end is logged, not raised")
    handle = active(judge, op.instance, op.session)
    if handle is None or not any(each.error for each in faults):
        judge.witness("LIVE-06")
        return False
    session = handle.session
    judge.world.published.discard((op.instance, op.session))
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


BARRIERS = ("OWN-11", "MAT-04", "SEQ-01", "SEQ-09", "CLOSE-03", "CLOSE-07", "FLUSH-01")
"""What a mutation breaks that is rejected for no reason."""


def situation(judge: Judge, op: Operation, outcome: Outcome) -> dict[str, str]:
    """Clause -> the one about the live path because of which it is broken.

    A session's end did not close the handle (LIVE-06); or a mutation is rejected, and what was published before it is
    the only thing that is out of the ordinary.
    """
    for session in judge.world.live.values():
        live, owner = session.live, session.owner
        found = blame.on_its_way(session)
        if isinstance(outcome, Raised):
            found = _out_of_place(session, outcome.error) or found
        if isinstance(outcome, Raised) and owner is not None and found and _is_mutation_of(op, owner):
            return dict.fromkeys(BARRIERS, found)
        if live is None or live.ended is None:
            continue
        if owner is not None and owner.number != live.ended:
            live.ended = None
        elif isinstance(op, Read | Append | Flush | Close) and op.handle == live.ended:
            return dict.fromkeys(("CLOSE-01", "CLOSE-02"), "LIVE-06")
        elif isinstance(op, OpenSession) and op.session == session.id and op.access == "write":
            return dict.fromkeys(("OWN-02", "OWN-03", "OWN-04"), "LIVE-06")
    return {}


def _out_of_place(session: Session, error: ErrorView) -> str:
    """The clause about the event that a backend says it cannot store, where nobody published it to this handle."""
    if error.kind != CONTIGUITY or not isinstance(error.got, int):
        return ""
    if session.refused_by == "LIVE-07" and any(each.get("seq") == error.got for each in session.refused):
        return "LIVE-07"
    if 0 <= error.got < len(session.log) and not blame.promised(session, error.got):
        return "LIVE-09"
    return ""


def _is_mutation_of(op: Operation, owner: Handle) -> bool:
    if isinstance(op, FlushInstance | CloseInstance):
        return op.instance == owner.instance
    return isinstance(op, Append | Flush | Close) and op.handle == owner.number


def takes(judge: Judge, op: Operation, outcome: Outcome, faults: tuple[FaultView, ...]) -> bool:
    """What the call says of events that wait; True where nothing else is to be judged of it."""
    if isinstance(op, _ADVERSITIES):
        if isinstance(op, Fail):
            hold(judge, op)
        else:
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
            _shown(judge, handle.session, op.offset + len(value), handle.instance)
        if handle is not None and isinstance(value, list) and judge.alone:
            _found_waiting(judge, op, handle, len(value))
    elif isinstance(op, Stat | ListSessions):
        value = getattr(outcome, "value", None)
        for view in value if isinstance(value, list) else [value]:
            if isinstance(view, SnapshotView) and type(view.event_count) is int:
                session, _ = world.visible(op.instance, snapshot_id(view))
                if session is not None:
                    _shown(judge, session, view.event_count, op.instance)
    elif isinstance(op, Append):
        return _append(judge, op, outcome)
    elif isinstance(op, Flush | Close | FlushInstance | CloseInstance):
        if isinstance(op, Flush):
            _seeded(judge, op, outcome)
        # Each of them is judged, also behind one that ends the call.
        taken = [session for session, _ in list(flowing(judge)) if barrier(judge, op, session, outcome)]
        if taken and isinstance(op, FlushInstance | CloseInstance) and isinstance(outcome, Raised):
            serve_others(judge, op, outcome.error, taken)
        return bool(taken)
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


def _shown(judge: Judge, session: Session, upto: int, instance: int) -> None:
    live = session.live
    if live is None or not live.waiting or session.opaque or lingers(judge, session, instance):
        return
    broken = broken_at(session)
    good = len(live.waiting) if broken is None else broken
    promote(judge, session, min(upto - len(session.log), good), "LIVE-04" if live.failed else "LIVE-01")


def _found_waiting(judge: Judge, op: Read, handle: Handle, count: int) -> None:
    """A read of the rest of the log shows nothing of what waits: the window of the first of it is running still."""
    live, owner = handle.session.live, handle.session.owner
    here = live is not None and live.waiting and owner is not None and owner.instance == handle.instance
    if live is not None and here and op.length is None and op.offset + count == len(handle.session.log):
        live.looked = judge.world.now


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
    broken = broken_at(session)
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
        promote(judge, session, broken, "LIVE-12")
        live.held = True
        return False
    if op.events[0]["seq"] != total:
        judge.fail("LIVE-12", f"SessionContiguityError, expected at most {total}: {len(live.waiting)} events wait")
    promote(judge, session, total - len(session.log), "LIVE-12")
    judge.witness("LIVE-12")
    return False


def barrier(judge: Judge, op: Operation, session: Session, outcome: Outcome) -> bool:
    """LIVE-03, 05, 06, 13 and 14: a barrier stores all that was published before it, or says why not."""
    live, owner = session.live, session.owner
    mine = owner is not None and (
        op.handle == owner.number if isinstance(op, Flush | Close) else op.instance == owner.instance  # type: ignore[attr-defined]
    )
    if live is None or owner is None or not mine:
        return False
    clause = "LIVE-10" if live.moved else judge.signal or "LIVE-13"
    broken = broken_at(session)
    if broken is not None:
        return _broken_barrier(judge, op, session, owner, broken, outcome)
    if isinstance(outcome, Raised):
        return _failed_barrier(judge, op, owner, live, outcome.error, clause)
    judge.witness(*(("LIVE-04", "LIVE-05") if live.failed else (clause,)))
    promote(judge, session, len(live.waiting), "LIVE-05" if live.failed else clause)
    live.held = live.failed = False
    live.first_try, live.tries = None, 0
    return False


def _failed_barrier(judge: Judge, op: Operation, owner: Handle, live: Live, error: ErrorView, clause: str) -> bool:
    session = owner.session
    if not error.fault:
        if isinstance(op, FlushInstance | CloseInstance):
            return False
        if _out_of_place(session, error):
            clause = _out_of_place(session, error)
        elif error.kind != CONTIGUITY and live.is_scribbled():
            clause = "LIVE-08"
        elif live.failed or live.held:
            clause = "LIVE-04" if error.kind == CONTIGUITY else "LIVE-05"
        judge.fail(clause, f"resolved: {len(live.waiting)} published events wait, and nothing fails")
    live.failed = live.held = True
    judge.witness("LIVE-05")
    if isinstance(op, Close | CloseInstance) and judge.world.trouble is not None:
        # What was on its way may be stored or not, from the front.
        batch = [each.event for each in live.waiting]
        judge.world.trouble.mishap(session.serial).haunt(batch, owner.instance, judge.world.span[0])
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
    lost = live.lost and not live.waiting[broken].bad
    clause = "LIVE-10" if lost else "LIVE-14"
    if judge.signal == "LIVE-06" and not isinstance(outcome, Raised):
        # The hub hears of nothing, and the log of the program says it.
        owner.closed = owner.unheard = True
        end_ownership(owner)
        if broken or not session.log or owner.dirty:
            judge.world.blur(session)
        live.waiting.clear()
        live.owes = "LIVE-06"
        return True
    if not isinstance(outcome, Raised):
        judge.fail(clause, f"rejected: the event published with seq {seq} cannot be stored behind {len(session.log)}")
    error = outcome.error
    if lost and not error.fault and CONTIGUITY not in {error.kind, *(each.kind for each in error.members)}:
        judge.fail(clause, "SessionContiguityError: events before it were lost with a close that failed")
    if not error.fault:
        if _out_of_place(session, error) and error.got != seq:
            judge.fail(_out_of_place(session, error), f"an error that names the event's seq, {seq}")
        names_seq(judge, error, seq)
        judge.witness(clause)
    session.refused = [each.event for each in live.waiting[broken:] if isinstance(each.event, dict)]
    session.refused_by = clause
    session.tag(clause)
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
