"""The rules for storage that fails: what a call may reject with, and what has to hold while it fails and when it heals.

A call that resolves is judged by the ordinary rules, whatever failed inside it. One that rejects because of a fault has
to show the fault, and then nothing of it counts: readers in its instance see the log without it, and what it may have
left is a *ghost* until a later append takes its place. Where an owner's close fails nobody knows how much of what no
barrier had covered is stored; that is left open as after a crash, and settled by the first look.

`failed` accepts such rejections. What follows from calls that the ordinary rules found right is in ``fault_settling``,
and which clause about faults an ordinary violation breaks, where a fault is the reason for it, in ``fault_blame``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conformance.contract import CONTRACT_ERRORS
from conformance.model import aimed_rules, fault_blame, fault_contests
from conformance.model.batches import batch_refusals, is_event
from conformance.model.fault_settling import leave_open, touched
from conformance.model.history import ErrorView, FaultView, LeftView, Outcome, Raised
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    CountLeft,
    Create,
    Fail,
    Flush,
    FlushInstance,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.state import Handle, Session, World
from conformance.model.transitions import Standing, cover, end_handle, end_ownership, materialise, standing
from conformance.model.trouble import Grip, Span, Trouble
from conformance.model.values import plain
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

OWNERSHIP_LOST = "SessionOwnershipLostError"

SPECIFIC = frozenset({*CONTRACT_ERRORS, "TypeError", "ValueError", "Hung", "SystemExit"}) - {"SessionPersistenceError"}
"""Kinds of errors that say something else than "the storage failed"; the last would end the process (FAULT-08)."""

_LOOKS = (Read, Stat, ListSessions)


def fail(judge: Judge, call: Call, op: Fail, outcome: Outcome) -> None:
    """From here on storage may fail."""
    if judge.world.trouble is None:
        judge.world.trouble = Trouble()
    judge.world.trouble.aim = op.session


def count_left(judge: Judge, call: Call, op: CountLeft, outcome: Outcome) -> None:
    """FAULT-06: past the close of every instance nothing is left open or under way."""
    if any(not each.closed for each in judge.world.instances.values()):
        return
    value = getattr(outcome, "value", None)
    if isinstance(value, LeftView) and value.total:
        judge.fail("FAULT-06", "no descriptor, task or thread of the backend past the close of its service", str(value))
    judge.witness("FAULT-06")


# -- what a fault touches -------------------------------------------------------------------------


def note(judge: Judge, op: Operation, faults: tuple[FaultView, ...]) -> None:
    """These faults came since the completion before this one."""
    trouble = judge.world.trouble
    if trouble is None:
        return
    trouble.now, trouble.listed = faults, -1
    trouble.fired += len(faults)
    if not isinstance(op, (*_LOOKS, OpenSession, Create)):
        for session, handle in touched(judge.world, op):
            mishap = trouble.mishaps.get(session.serial)
            if handle is not None and mishap is not None:
                fault_contests.wake(judge.world, session, mishap, handle)
    if not faults:
        return
    step = judge.world.step
    told_of = [each for each in faults if each.kind == "sync" and each.error]
    failed_sync = any(each.how != "landed" for each in told_of)
    for session, handle in touched(judge.world, op):
        mishap = trouble.mishap(session.serial)
        mishap.hits += len(faults)
        mishap.hit_at = step
        if failed_sync:
            mishap.sync_hit_at = step
        if handle is not None and handle.is_writer:
            grip = trouble.grip(handle.number)
            # Whether a sync that reports a failure was done all the same is nothing that a backend can know.
            grip.spendable = grip.spendable or bool(told_of)


def note_look(world: World, op: Operation, span: Span) -> None:
    """A call resolved that was in flight then: its handle may have met what a failed append left."""
    if world.trouble is not None and isinstance(op, OpenSession | Read):
        world.trouble.look(op.handle, span, opens=isinstance(op, OpenSession))


# -- calls that reject because of a fault ---------------------------------------------------------


def failed(judge: Judge, op: Operation, outcome: Outcome) -> bool:
    """Whether the call was rejected because of a fault, as it may be; what follows from that is noted."""
    trouble = judge.world.trouble
    if trouble is None or not isinstance(outcome, Raised):
        return False
    error = outcome.error
    if not error.fault or (error.kind in SPECIFIC and not _ends_itself(trouble, op, error.kind)):
        return False
    aimed_rules.demand_unharmed(judge, trouble, op)
    rule = _FAILED.get(type(op))
    return rule is not None and rule(judge, trouble, op, error)


def _ends_itself(trouble: Trouble, op: Operation, kind: str) -> bool:
    """Whether a handle gives itself up, as it may after a failed sync."""
    return kind == OWNERSHIP_LOST and isinstance(op, Append | Flush) and trouble.grip(op.handle).spendable


def _may_fail(trouble: Trouble, grip: Grip) -> bool:
    return trouble.fails_now or grip.owed


def _may_end(trouble: Trouble, handle: Handle) -> bool:
    """Whether a close, or a call for the whole service, may reject because of this handle: it may be spent."""
    grip = trouble.grip(handle.number)
    return _may_fail(trouble, grip) or handle.lost or (grip.spendable and grip.rejected)


def _writer(judge: Judge, number: int) -> Handle | None:
    """The open owner of that number, of which something can be told."""
    handle = judge.world.handles[number]
    if handle.closed or not handle.is_writer or handle.session.opaque:
        return None
    return handle if standing(judge.world, handle) is Standing.OWNER else None


def _failed_append(judge: Judge, trouble: Trouble, op: Append, error: ErrorView) -> bool:
    handle = _writer(judge, op.handle)
    grip = trouble.grip(op.handle)
    if handle is None or not _may_fail(trouble, grip):
        return _failed_aside(judge, trouble, op)
    session = handle.session
    # What was published before is stored first, if anything is.
    waits = [] if session.live is None else session.live.waiting
    ends = {len(session.log), len(session.log) + len(waits)}
    if op.events and any(not batch_refusals(op.events, end, judge.capabilities).must for end in ends):
        batch = plain(op.events)
        if trouble.mishap(session.serial).contest is not None:
            judge.world.blur(session)
        trouble.mishap(session.serial).haunt(batch, handle.instance, judge.world.span[0])
        if before := [plain(each.event) for each in waits if is_event(each.event)]:
            # What waited goes with it.
            trouble.mishap(session.serial).linger([*before, *batch], handle.instance)
        session.refused, session.refused_by = batch, "FAULT-01"
        _may_be_seen(judge.world, session)
    session.tag("FAULT-01")
    trouble.mishap(session.serial).owing = "FAULT-01"
    _rejected(session, handle, grip, error)
    judge.witness("FAULT-01")
    return True


def _failed_flush(judge: Judge, trouble: Trouble, op: Flush, error: ErrorView) -> bool:
    handle = _writer(judge, op.handle)
    if handle is None or not _may_fail(trouble, trouble.grip(op.handle)):
        return _failed_aside(judge, trouble, op)
    flush_failed(judge, trouble, handle, error)
    judge.witness("FAULT-01")
    return True


def _failed_aside(judge: Judge, trouble: Trouble, op: Append | Flush) -> bool:
    """Whether a call failed of a handle to which little is promised, because another owner was let in beside it."""
    handle = judge.world.handles[op.handle]
    if handle.closed or not handle.is_writer or not trouble.fails_now:
        return False
    if handle.session.opaque or standing(judge.world, handle) is not Standing.DISPLACED:
        return False
    if isinstance(op, Append):
        # What it may have left stands beside what the other owner does.
        judge.world.blur(handle.session)
    return True


def flush_failed(judge: Judge, trouble: Trouble, handle: Handle, error: ErrorView) -> None:
    """A flush of the handle rejected because of a fault: what it was to store may be stored or not."""
    _may_be_seen(judge.world, handle.session)
    handle.session.tag("FAULT-02")
    trouble.mishap(handle.session.serial).owing = "FAULT-02"
    _rejected(handle.session, handle, trouble.grip(handle.number), error)


def _rejected(session: Session, handle: Handle, grip: Grip, error: ErrorView) -> None:
    session.stir += 1
    grip.rejected, grip.owed = True, False
    if error.kind == OWNERSHIP_LOST:
        handle.lost = True


def _may_be_seen(world: World, session: Session) -> None:
    """What failed may have stored the session, so that other instances may see it."""
    if session.pending and world.rival(session) is None:
        materialise(world, session)


def _failed_close(judge: Judge, trouble: Trouble, op: Close | Leave, error: ErrorView) -> bool:
    handle = judge.world.handles[op.handle]
    if handle.closed or not _may_end(trouble, handle):
        return False
    close_failed(judge, trouble, handle, error)
    handle.left = isinstance(op, Leave)
    return True


def close_failed(judge: Judge, trouble: Trouble, handle: Handle, error: ErrorView) -> None:
    """FAULT-05, OWN-07: the close raised, and the handle owns nothing any more."""
    handle.closed, handle.close_error = True, error.kind
    if not handle.is_writer:
        return
    owned = handle.owns
    end_ownership(handle)
    if owned and not handle.session.opaque:
        trouble.mishap(handle.session.serial).close_failed = True
        leave_open(judge, trouble, handle.session)
        judge.witness("FAULT-05")


def _failed_claim(judge: Judge, trouble: Trouble, op: Create | OpenSession, error: ErrorView) -> bool:
    instance = judge.world.instances[op.instance]
    name = op.header.id if isinstance(op, Create) else op.session
    if not trouble.fails_now or instance.closed or not isinstance(name, str):
        return False
    if isinstance(op, Create) or op.access == "write":
        instance.failed_claim.setdefault(name, "OWN-04")
        judge.witness("FAULT-01")
    else:
        judge.witness("FAULT-04")
    if isinstance(op, Create) and judge.capabilities.materialization == "eager" and len(trouble.now) > 1:
        # What it had made may not have been to be removed.
        judge.world.blurred.add(name)
    return True


def _failed_look(judge: Judge, trouble: Trouble, op: Operation, error: ErrorView) -> bool:
    handle = judge.world.handles.get(getattr(op, "handle", -1))
    if not trouble.fails_now or (handle is not None and handle.closed):
        return False
    judge.witness("FAULT-04")
    return True


def _failed_instance(judge: Judge, trouble: Trouble, op: OpenInstance, error: ErrorView) -> bool:
    return trouble.fails_now


def _failed_sweep(judge: Judge, trouble: Trouble, op: FlushInstance | CloseInstance, error: ErrorView) -> bool:
    """FLUSH-02, CLOSE-07: one group names each session that could not be served; the others are covered."""
    world = judge.world
    writers = [each for _, each in touched(world, op) if each is not None and each.instance == op.instance]
    owed = any(_may_end(trouble, each) for each in writers)
    if world.instances[op.instance].closed or not (trouble.fails_now or owed):
        return False
    closes = isinstance(op, CloseInstance)
    clause = "CLOSE-07" if closes else "FLUSH-02"
    failing = [each for each in writers if any(names_session(member, each.session.id) for member in error.members)]
    busy = [each for each in writers if each.dirty or not each.session.durable]
    # It may also name a session of which a reader could not be closed, or an owner whose own close was under way.
    others = [each for each in world.handles.values() if each.instance == op.instance and each not in writers]
    others = [each for each in others if not (each.closed and judge.alone) and not (each.is_writer and judge.alone)]
    beside = closes and any(names_session(member, each.session.id) for each in others for member in error.members)
    if busy and not failing and not beside and not world.blurred:
        judge.fail(clause, f"one ExceptionGroup with a member that names each session that failed, of {_ids(busy)}")
    aimed_rules.demand_spared(judge, trouble, failing)
    kind = "service close" if closes else "failing service flush"
    for handle in writers:
        if handle.session.opaque:
            continue
        if handle in failing and closes:
            close_failed(judge, trouble, handle, error)
        elif handle in failing:
            flush_failed(judge, trouble, handle, error)
        elif closes:
            end_handle(world, handle, kind, judge.capabilities, failed=False)
        elif standing(world, handle) is Standing.OWNER:
            cover(world, handle, kind)
    if closes:
        for handle in [each for each in world.handles.values() if each.instance == op.instance and not each.closed]:
            end_ownership(handle)
            handle.closed = True
        for handle in [each for each in world.handles.values() if each.instance == op.instance]:
            handle.closed_by_service = True
        world.instances[op.instance].closed = True
    if busy:
        judge.witness(clause)
    return True


def _ids(handles: list[Handle]) -> str:
    return f"{sorted({each.session.id for each in handles})!r:.200}"


_FAILED: dict[type[Operation], Callable[[Judge, Trouble, Any, ErrorView], bool]] = {
    Append: _failed_append,
    Flush: _failed_flush,
    Close: _failed_close,
    Leave: _failed_close,
    Create: _failed_claim,
    OpenSession: _failed_claim,
    Read: _failed_look,
    Stat: _failed_look,
    ListSessions: _failed_look,
    OpenInstance: _failed_instance,
    FlushInstance: _failed_sweep,
    CloseInstance: _failed_sweep,
}


def aliases(world: World, op: Operation) -> dict[str, str]:
    """The names that clauses about crashes go by where what is open was left open by a close that failed."""
    looked = [session for session, _ in touched(world, op)]
    looked = list(world.stored.values()) if isinstance(op, ListSessions) else looked
    open_by_fault = any(each.recovery is not None and each.recovery.damage.fault for each in looked)
    return fault_blame.ALIASES if open_by_fault else {}
