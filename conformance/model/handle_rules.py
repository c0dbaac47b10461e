"""The rules for ``append``, ``flush``, ``close`` and leaving a handle's context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.model import blame, crash_blame, crash_rules, fault_contests, identity_blame, value_blame
from conformance.model.batches import UNSUPPORTED, JsonGrade, Refusals, batch_refusals, json_grade
from conformance.model.history import HandleView, Odd, Outcome, Raised
from conformance.model.operations import Append, Close, Discard, Flush, Leave
from conformance.model.service_rules import MOVED_ON, TAKEN, check_view, kind_of
from conformance.model.state import Handle
from conformance.model.transitions import Standing, cover, end_handle, forget_looks, hush, materialise, standing
from conformance.model.values import plain
from conformance.model.vocabulary_rules import remember_unknown
from conformance.model.words import log_text

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

CLOSED = frozenset({"SessionHandleClosedError"})
READ_ONLY = frozenset({"SessionReadOnlyError"})
_NONE = frozenset[str]()


def refused_as_closed(judge: Judge, handle: Handle, outcome: Outcome) -> bool:
    """Whether the handle is closed; then the call had to be refused as such before anything else (CLOSE-02)."""
    if not handle.closed:
        return False
    by_service = "CLOSE-08" if handle.late else "CLOSE-07"
    clause = by_service if handle.closed_by_service else "CLOSE-05" if handle.left else "CLOSE-02"
    judge.demand_refusal(outcome, {clause: CLOSED}, closed=True)
    return True


def _refused_as_read_only(judge: Judge, handle: Handle, outcome: Outcome, may: frozenset[str] = frozenset()) -> None:
    """The handle is a reader's: the call had to be refused as such, or in one of the ways in which it may be too."""
    judge.demand_refusal(outcome, {"OWN-06": READ_ONLY}, may=may)
    handle.session.tag("OWN-06")


def append(judge: Judge, call: Call, op: Append, outcome: Outcome) -> None:
    """SEQ-01, SEQ-02, SEQ-03, SEQ-09, SEQ-11, OWN-06, OWN-11, OWN-12, OWN-14, and the refusals of JSON and FMT."""
    handle = judge.world.handles[op.handle]
    session, is_writer, kind = handle.session, handle.is_writer, kind_of(outcome)
    if refused_as_closed(judge, handle, outcome):
        return
    if is_writer and session.recovery is not None and not session.opaque:
        crash_rules.settle_by_append(judge, handle, op, outcome)
    if is_writer and judge.world.trouble is not None and not session.opaque:
        fault_contests.take_in(judge, handle, op, outcome)
    refusals = batch_refusals(op.events, len(session.log), judge.capabilities)
    if not is_writer:
        _refused_as_read_only(judge, handle, outcome, refusals.kinds | refusals.may)
        _remember_refused(handle, op, "OWN-06")
        return
    if session.opaque:
        return
    found = standing(judge.world, handle)
    if op.events == [] and isinstance(op.events, list):
        _empty_append(judge, handle, found, outcome)
        return
    moved_on = handle.left_at != len(session.log)
    if moved_on:
        # Its own next seq and the stored one differ: a refusal may name either (OWN-14).
        refusals.must.pop("SEQ-02", None)
    elif "SEQ-02" in refusals.must and _is_remembered(judge, handle, op):
        refusals.must = {"OWN-02" if each == "SEQ-02" else each: kinds for each, kinds in refusals.must.items()}
    elif "SEQ-02" in refusals.must and (left := _left_behind(handle, op)):
        refusals.must = {left if each == "SEQ-02" else each: kinds for each, kinds in refusals.must.items()}
    lost = _losses(found, moved_on=moved_on)
    if refusals.must:
        _refused_batch(judge, handle, op, refusals, refusals.may | lost, outcome)
    elif found is Standing.BEATEN and kind not in refusals.may:
        # A batch that may be refused for what it holds is refused for either reason (§1).
        _refused_as_beaten(judge, handle, outcome)
        winner = judge.world.stored[session.id]
        winner.refused, winner.refused_by = list(op.events), "SVC-12"
    elif moved_on:
        _append_behind_others(judge, handle, op, refusals.may, outcome)
    elif kind in lost:
        handle.lost = True
    elif kind in refusals.may or (session.unknown is not None and kind in UNSUPPORTED):
        # Whether a log that is refused to readers goes on is left to the backend too.
        _refused_by_choice(judge, handle, op, outcome, plain=refusals.plain)
    else:
        _accepted_batch(judge, handle, op, found, outcome, refusals)


def _is_remembered(judge: Judge, handle: Handle, op: Append) -> bool:
    """Whether the batch continues the log where an earlier owner in this instance left it (OWN-02)."""
    session, first = handle.session, op.events[0]["seq"]
    if not handle.reopened or handle.rounds or first >= len(session.log):
        return False
    former = (each for each in judge.world.handles.values() if each.session is session and each.is_writer)
    return any(each.instance == handle.instance and each.closed and each.left_at == first for each in former)


def _left_behind(handle: Handle, op: Append) -> str:
    """The clause because of which the log may seem to end elsewhere than it does: of a batch that must not be there."""
    if handle.disturbed == "SEQ-08":
        return "SEQ-08"
    return blame.stored_after_all(handle.session, op.events[0]["seq"])


def _losses(found: Standing, *, moved_on: bool) -> frozenset[str]:
    """The error kinds by which a handle may be told that it lost its session, where that may be so."""
    if found is Standing.OWNER and not moved_on:
        return _NONE
    if found is Standing.BEATEN or found is Standing.CONTESTED:
        return TAKEN
    if found is Standing.DISPLACED:
        return MOVED_ON | TAKEN
    return MOVED_ON if moved_on else _NONE


def _remember_refused(handle: Handle, op: Append, clause: str) -> None:
    """Keep the events of a refused batch, to know them again where they turn up."""
    if isinstance(op.events, list):
        handle.session.refused = [event for event in op.events if isinstance(event, dict)]
        handle.session.refused_by = clause


def _refused_as_beaten(judge: Judge, handle: Handle, outcome: Outcome) -> None:
    """Another instance stored the id first: the next append or flush names that, later ones reject somehow (SVC-12)."""
    kind = kind_of(outcome)
    judge.demand_refusal(outcome, {"SVC-12": TAKEN}, may=frozenset({kind}) - {"", "Hung"} if handle.lost else TAKEN)
    judge.world.stored[handle.session.id].tag("SVC-12")
    handle.lost = True


def _empty_append(judge: Judge, handle: Handle, found: Standing, outcome: Outcome) -> None:
    session = handle.session
    if found is not Standing.OWNER and isinstance(outcome, Raised):
        return
    judge.demand_success(outcome, "SEQ-03", "resolved, with nothing changed")
    judge.witness("SEQ-03")
    session.tag("SEQ-03")
    hush(judge.world, session, "SEQ-03")
    judge.exact = True


def _refused_batch(
    judge: Judge, handle: Handle, op: Append, refusals: Refusals, may: frozenset[str], outcome: Outcome
) -> None:
    session = handle.session
    error = judge.demand_refusal(outcome, refusals.must, may=may)
    clause = next((each for each, kinds in refusals.must.items() if error.kind in kinds), "")
    about_seq = clause in ("SEQ-02", "OWN-02", *blame.CAUSES)
    if about_seq and (error.expected, error.got) != (refusals.expected, refusals.got):
        wanted = f"expected={refusals.expected}, got={refusals.got}"
        blamed = blame.stored_after_all(session, error.expected) or clause
        judge.fail(blamed, f"SessionContiguityError({wanted}), the first offending place")
    clause = clause or next(iter(refusals.must))
    judge.exact = judge.exact and "FMT-02" not in refusals.must
    session.tag("SEQ-02" if clause in ("OWN-02", *blame.CAUSES) else clause)
    _remember_refused(handle, op, clause)
    session.stir += 1
    handle.after_refusal = True
    judge.world.refusal_of = session.id


def _refused_by_choice(judge: Judge, handle: Handle, op: Append, outcome: Outcome, *, plain: bool) -> None:
    """The backend need not have refused the batch, and may."""
    clause = "FMT-02" if kind_of(outcome) in UNSUPPORTED else "JSON-03"
    if clause == "JSON-03" and not plain:
        judge.witness(clause)
    _remember_refused(handle, op, clause)
    handle.session.tag(clause)
    handle.session.stir += 1
    handle.after_refusal = True


def _append_behind_others(judge: Judge, handle: Handle, op: Append, may: frozenset[str], outcome: Outcome) -> None:
    """The stored log is not as the handle left it: another writer was there (OWN-14)."""
    session = handle.session
    kind = kind_of(outcome)
    if session.covered <= handle.left_at:
        # What the others appended may not be stored yet, and then this batch may be what is stored.
        if not kind:
            judge.world.blur(session)
        return
    if kind not in MOVED_ON and not (kind and kind in may):
        judge.fail(
            "OWN-14",
            "SessionContiguityError or SessionOwnershipLostError, and nothing written",
            note=f"this handle left the log at seq {handle.left_at}, another writer took it to {len(session.log)}",
        )
    if kind in MOVED_ON:
        judge.witness("OWN-14")
        handle.lost = True
    session.tag("OWN-14")
    _remember_refused(handle, op, "OWN-14")


def _append_blame(judge: Judge, handle: Handle, op: Append, kind: str, *, common: bool = True) -> str:
    """The clause broken where an append that must work rejects with this kind of error."""
    if op.scribble and kind not in blame.OWNERSHIP_ERRORS:
        return "SEQ-06"
    clause = blame.refused_owner(handle, kind)
    return _append_cause(judge, handle, op, kind, common=common) if clause == "SEQ-01" else clause


def _append_cause(judge: Judge, handle: Handle, op: Append, kind: str, *, common: bool) -> str:
    """The clause about what the batch or the id holds, where that is why it rejects."""
    world, session_id = judge.world, handle.session.id
    files = judge.capabilities.storage == "files"
    found = ""
    if kind:
        found = identity_blame.stored(world, session_id, kind, files=files)
        found = found or value_blame.refused(judge, op.events, kind, common=common)
    return found or ("SEQ-09" if world.refusal_of not in (None, session_id) else "SEQ-01")


def _accepted_batch(
    judge: Judge, handle: Handle, op: Append, found: Standing, outcome: Outcome, refusals: Refusals
) -> None:
    world, session, common = judge.world, handle.session, refusals.plain
    if isinstance(outcome, Raised):
        clause = _append_blame(judge, handle, op, outcome.error.kind, common=common)
        ends = f"the log ends before seq {len(session.log)}"
        judge.fail(clause, f"resolved: {ends} and the batch is {log_text(op.events)}")
    judge.witness(_append_blame(judge, handle, op, ""))
    if handle.rounds:
        judge.witness(_append_blame(judge, handle, op, "SessionOwnershipLostError"))
    if world.refusal_of != session.id:
        world.refusal_of = None
    first = len(session.log)
    # The program's own events are never handed to a backend, only copies of them, so they serve as the log.
    session.log.extend(op.events if common else plain(op.events))
    if not common:
        session.given.update((each["seq"], each) for each in op.events if json_grade(each) != JsonGrade.COMMON)
    session.starts.add(first)
    if op.scribble:
        session.scribbled.update(range(first, len(session.log)))
    if judge.capabilities.vocabulary == "closed" and not refusals.known:
        remember_unknown(session, op.events)
    identity_blame.touch_kin(world, session)
    session.home = handle.instance
    session.broken_off = False
    session.stir += 1
    session.grown_at, session.grown_call = world.step, world.call
    session.grown.append((world.call, len(session.log)))
    if session.recovery is not None:
        crash_rules.grew(world, handle)
    forget_looks(session)
    if found is not Standing.CONTESTED:
        materialise(world, session)
    handle.left_at = len(session.log)
    handle.wrote = handle.dirty = True
    handle.after_refusal = False
    handle.disturbed = ""
    handle.rounds += 1
    # Another backend may refuse a type that this one stores.
    judge.exact = found is Standing.OWNER and refusals.known


def flush(judge: Judge, call: Call, op: Flush, outcome: Outcome) -> None:
    """MAT-04, OWN-06, OWN-11; what it covered is judged by whoever looks next."""
    world = judge.world
    handle = world.handles[op.handle]
    session = handle.session
    if refused_as_closed(judge, handle, outcome):
        return
    if not handle.is_writer:
        _refused_as_read_only(judge, handle, outcome)
        return
    if session.opaque:
        return
    found = standing(world, handle)
    if found is Standing.BEATEN:
        _refused_as_beaten(judge, handle, outcome)
    elif found is Standing.DISPLACED:
        # Another writer took over: whether it is refused or has nothing to write is left to the backend.
        if isinstance(outcome, Raised):
            handle.lost = True
        elif handle.dirty and handle.left_at == len(session.log):
            cover(world, handle, "flush")
    elif found is Standing.CONTESTED and kind_of(outcome) in TAKEN:
        handle.lost = True
    else:
        if isinstance(outcome, Raised):
            wanted = "resolved: the handle owns its session and nothing failed"
            judge.fail(_flush_blame(judge, handle, outcome.error.kind), wanted)
        judge.witness(_flush_blame(judge, handle, ""))
        if found is Standing.OWNER:
            judge.witness(_flush_blame(judge, handle, "SessionOwnershipLostError"))
        cover(world, handle, "flush")
        identity_blame.touch_kin(world, session)
        handle.rounds += 1
        handle.after_refusal = False
        handle.disturbed = ""
        judge.exact = found is Standing.OWNER


def _flush_blame(judge: Judge, handle: Handle, kind: str) -> str:
    """The clause broken where a flush that must work rejects with this kind of error."""
    if handle.disturbed:
        return handle.disturbed
    crashed = crash_blame.refused(handle.session)
    if crashed:
        return crashed
    if handle.after_refusal:
        return "SEQ-09"
    if handle.session.log or kind in blame.OWNERSHIP_ERRORS or judge.capabilities.storage == "memory":
        return "OWN-11"
    return "MAT-04"


def close(judge: Judge, call: Call, op: Close, outcome: Outcome) -> None:
    """CLOSE-01, CLOSE-03, OWN-03, OWN-12."""
    handle = judge.world.handles[op.handle]
    if handle.closed:
        _close_again(judge, handle, outcome)
        return
    found = standing(judge.world, handle) if handle.is_writer else Standing.OWNER
    if found is Standing.OWNER and not handle.session.opaque:
        clause = "CLOSE-03" if handle.is_writer else "OWN-03"
        judge.demand_success(outcome, clause, "resolved: nothing failed")
        judge.witness(clause)
        judge.exact = True
    _end(judge, handle, outcome)


def _close_again(judge: Judge, handle: Handle, outcome: Outcome) -> None:
    """A later close has the first one's outcome (CLOSE-01)."""
    if handle.unheard:
        handle.unheard = False
        handle.close_error = kind_of(outcome)
        return
    # Where storage failed while the service closed, how each handle fared stands in the members of its group.
    told_otherwise = handle.lost or judge.world.trouble is not None
    if not (handle.closed_by_service and told_otherwise):
        if kind_of(outcome) != handle.close_error:
            first = f"raised {handle.close_error}" if handle.close_error else "resolved"
            judge.fail("CLOSE-01", f"the first close's outcome: it {first}")
        judge.witness("CLOSE-01")
        judge.exact = True
    _disturb(handle, "OWN-12")


def _end(judge: Judge, handle: Handle, outcome: Outcome, *, raised: str | None = None) -> None:
    """The first close of the handle ended; ``raised`` where the close's own error is not the outcome's."""
    world, session = judge.world, handle.session
    handle.close_error = kind_of(outcome) if raised is None else raised
    if not handle.dirty:
        session.tag("SVC-11")
        hush(world, session, "REV-03")
    if not handle.owns:
        _disturb(handle, "OWN-12" if handle.is_writer else "OWN-03")
    end_handle(world, handle, "close", judge.capabilities, failed=bool(handle.close_error))
    if handle.is_writer:
        identity_blame.touch_kin(world, session)
    handle.closed = True


def _disturb(handle: Handle, clause: str) -> None:
    """A handle that does not own was closed or collected: the owner, if there is one, must not notice."""
    handle.session.tag("SVC-11")
    owner = handle.session.owner
    if owner is not None and owner is not handle and owner.disturbed != "SEQ-08":
        owner.disturbed = clause


def leave(judge: Judge, call: Call, op: Leave, outcome: Outcome) -> None:
    """CLOSE-05: leaving the context closes, and the body's own exception passes through."""
    handle = judge.world.handles[op.handle]
    if handle.closed:
        return
    own_error = frozenset({"CancelledError" if op.cancelled else "CallerError"})
    if handle.session.opaque or (handle.is_writer and standing(judge.world, handle) is not Standing.OWNER):
        # The close may fail here, and then its error may come in place of the body's.
        _end(judge, handle, outcome, raised="" if kind_of(outcome) in own_error else None)
    else:
        if op.raising or op.cancelled:
            judge.demand_refusal(outcome, {"CLOSE-05": own_error})
        else:
            said = judge.demand_success(outcome, "CLOSE-05", "resolved: leaving the context is close")
            if isinstance(said, Odd):
                judge.fail("CLOSE-05", "the handle itself, entered")
            if isinstance(said, HandleView):
                check_view(judge, handle, said, handle.access)
            judge.witness("CLOSE-05")
        _end(judge, handle, outcome, raised="")
        judge.exact = True
    handle.left = True


def discard(judge: Judge, call: Call, op: Discard, outcome: Outcome) -> None:
    """OWN-12 for a handle that is collected; it says nothing by itself."""
    handle: Any = judge.world.handles.pop(op.handle)
    if handle.owns:
        # Whether an owner that is collected still owns is not said.
        judge.world.blur(handle.session)
    _disturb(handle, "OWN-12")
    judge.exact = True
