"""The rules for ``append``, ``flush``, ``close`` and leaving a handle's context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model import blame
from conformance.model.batches import Refusals, batch_refusals, understood
from conformance.model.history import Outcome, Raised
from conformance.model.operations import Append, Close, Discard, Flush, Leave
from conformance.model.state import Handle
from conformance.model.transitions import cover, end_ownership, materialise, settle_close
from conformance.model.values import plain
from conformance.model.words import log_text

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

CLOSED = frozenset({"SessionHandleClosedError"})
READ_ONLY = frozenset({"SessionReadOnlyError"})
TAKEN = frozenset({"SessionAlreadyExistsError", "SessionAlreadyOwnedError"})
MOVED_ON = frozenset({"SessionContiguityError", "SessionOwnershipLostError"})


def refused_as_closed(judge: Judge, handle: Handle, outcome: Outcome) -> bool:
    """Whether the handle is closed; then the call had to be refused as such before anything else (CLOSE-02)."""
    if not handle.closed:
        return False
    clause = "CLOSE-07" if handle.closed_by_service else "CLOSE-05" if handle.left else "CLOSE-02"
    judge.demand_refusal(outcome, {clause: CLOSED}, closed=True)
    return True


def _refused_as_read_only(judge: Judge, handle: Handle, outcome: Outcome) -> bool:
    if handle.is_writer:
        return False
    judge.demand_refusal(outcome, {"OWN-06": READ_ONLY})
    handle.session.tag("OWN-06")
    return True


def _refused_as_beaten(judge: Judge, handle: Handle, outcome: Outcome) -> bool:
    """Whether another instance stored the id first, in which case this one must be refused (SVC-12)."""
    session = handle.session
    if not (session.pending and session.id in judge.world.stored):
        return False
    judge.demand_refusal(outcome, {"SVC-12": TAKEN})
    judge.world.stored[session.id].tag("SVC-12")
    handle.lost = True
    return True


def append(judge: Judge, call: Call, op: Append, outcome: Outcome) -> None:
    """SEQ-01, SEQ-02, SEQ-03, SEQ-09, SEQ-11, OWN-06, OWN-11, OWN-12, OWN-14, and the refusals of JSON and FMT."""
    handle = judge.world.handles[op.handle]
    session = handle.session
    if refused_as_closed(judge, handle, outcome) or _refused_as_read_only(judge, handle, outcome):
        return
    if op.events == [] and isinstance(op.events, list):
        _empty_append(judge, handle, outcome)
        return
    refusals = batch_refusals(op.events, len(session.log), judge.capabilities)
    moved_on = handle.left_at != len(session.log)
    if moved_on:
        # Its own next seq and the stored one differ: a refusal may name either (OWN-14).
        refusals.must.pop("SEQ-02", None)
    if not refusals.must and _refused_as_beaten(judge, handle, outcome):
        return
    if refusals.must:
        _refused_batch(judge, handle, op, refusals, outcome)
    elif moved_on:
        _append_behind_others(judge, handle, op, outcome)
    elif isinstance(outcome, Raised) and outcome.error.kind in refusals.may:
        session.tag("JSON-03")
        session.stir += 1
        handle.after_refusal = True
    else:
        _accepted_batch(judge, handle, op, outcome)


def _empty_append(judge: Judge, handle: Handle, outcome: Outcome) -> None:
    session = handle.session
    if session.pending and session.id in judge.world.stored and isinstance(outcome, Raised):
        return
    judge.demand_success(outcome, "SEQ-03", "resolved, with nothing changed")
    judge.witness("SEQ-03")
    session.tag("SEQ-03")
    book = judge.world.instances[handle.instance].revisions.get(session.id)
    if book is not None:
        book.quiet.append("SEQ-03")
    judge.exact = True


def _refused_batch(judge: Judge, handle: Handle, op: Append, refusals: Refusals, outcome: Outcome) -> None:
    session = handle.session
    error = judge.demand_refusal(outcome, refusals.must)
    if "SEQ-02" in refusals.must and error.kind == "SessionContiguityError":
        wanted = (refusals.expected, refusals.got)
        if (error.expected, error.got) != wanted:
            judge.fail(
                "SEQ-02",
                f"SessionContiguityError(expected={wanted[0]}, got={wanted[1]}), the first offending place",
            )
    for clause in refusals.must:
        session.tag(clause)
    if isinstance(op.events, list):
        session.refused = [event for event in op.events if isinstance(event, dict)]
    session.stir += 1
    handle.after_refusal = True
    judge.world.refusal_of = session.id


def _append_behind_others(judge: Judge, handle: Handle, op: Append, outcome: Outcome) -> None:
    """The stored log is not as the handle left it: another writer was there (OWN-14)."""
    session = handle.session
    covered_by_others = session.covered > handle.left_at
    if isinstance(outcome, Raised) and outcome.error.kind in MOVED_ON:
        if covered_by_others:
            judge.witness("OWN-14")
        session.tag("OWN-14")
        session.refused = list(op.events)
        handle.lost = True
        return
    if not covered_by_others or (not isinstance(outcome, Raised) and op.events[0]["seq"] == len(session.log)):
        judge.fail("OWN-14", "refused, for the stored log is not as this handle left it")
    judge.fail(
        "OWN-14",
        "SessionContiguityError or SessionOwnershipLostError, and nothing written",
        note=f"this handle left the log at seq {handle.left_at}, another writer took it to {len(session.log)}",
    )


def _accepted_batch(judge: Judge, handle: Handle, op: Append, outcome: Outcome) -> None:
    world, session = judge.world, handle.session
    kind = outcome.error.kind if isinstance(outcome, Raised) else ""
    clause = blame.refused_owner(handle, kind)
    if clause == "SEQ-01" and world.refusal_of not in (None, session.id):
        clause = "SEQ-09"
    wanted = f"resolved: the log ends before seq {len(session.log)} and the batch is {log_text(op.events)}"
    judge.demand_success(outcome, clause, wanted)
    judge.witness("SEQ-01", clause)
    if handle.disturbed or handle.rounds:
        judge.witness("OWN-11")
    if world.refusal_of not in (None, session.id):
        judge.witness("SEQ-09")
        world.refusal_of = None
    first = len(session.log)
    # The program's own events are never handed to a backend, only copies of them, so they serve as the log.
    session.log.extend(plain(event) for event in op.events)
    if op.scribble:
        session.scribbled.update(range(first, len(session.log)))
    if judge.capabilities.vocabulary == "closed" and not all(map(understood, op.events)):
        session.opaque = True
    session.home = handle.instance
    session.stir += 1
    materialise(world, session)
    handle.left_at = len(session.log)
    handle.wrote = handle.dirty = True
    handle.after_refusal = handle.disturbed = False
    handle.rounds += 1
    judge.exact = True


def flush(judge: Judge, call: Call, op: Flush, outcome: Outcome) -> None:
    """MAT-04, OWN-06, OWN-11; what it covered is judged by whoever looks next."""
    handle = judge.world.handles[op.handle]
    if refused_as_closed(judge, handle, outcome) or _refused_as_read_only(judge, handle, outcome):
        return
    if _refused_as_beaten(judge, handle, outcome):
        return
    if not handle.owns:
        # Another writer took over: whether it is refused or has nothing to write is left to the backend.
        handle.lost = handle.lost or isinstance(outcome, Raised)
        return
    kind = outcome.error.kind if isinstance(outcome, Raised) else ""
    clause = "OWN-12" if handle.disturbed else "OWN-11"
    if not handle.session.log and "Own" not in kind:
        clause = "MAT-04"
    judge.demand_success(outcome, clause, "resolved: the handle owns its session and nothing failed")
    judge.witness(clause)
    cover(judge.world, handle, "flush")
    handle.rounds += 1
    handle.disturbed = False
    judge.exact = True


def close(judge: Judge, call: Call, op: Close, outcome: Outcome) -> None:
    """CLOSE-01, CLOSE-03, OWN-03, OWN-12."""
    handle = judge.world.handles[op.handle]
    if handle.closed:
        _close_again(judge, handle, outcome)
        return
    beaten = handle.session.pending and handle.session.id in judge.world.stored
    raised = isinstance(outcome, Raised)
    if not (raised and (beaten or handle.lost)):
        clause = "CLOSE-03" if handle.is_writer else "OWN-03"
        judge.demand_success(outcome, clause, "resolved: nothing failed")
        judge.exact = not beaten
    closed(judge, handle, raised=raised)


def _close_again(judge: Judge, handle: Handle, outcome: Outcome) -> None:
    raised = isinstance(outcome, Raised)
    if raised != handle.close_raised:
        first = "raised" if handle.close_raised else "resolved"
        judge.fail("CLOSE-01", f"the first close's outcome: it {first}")
    judge.witness("CLOSE-01")
    _disturb(handle)
    judge.exact = True


def closed(judge: Judge, handle: Handle, *, raised: bool = False) -> None:
    """The first close of the handle ended."""
    world, session = judge.world, handle.session
    handle.closed, handle.close_raised = True, raised
    if handle.owns:
        settle_close(world, handle, "close", judge.capabilities)
    elif session.pending and session.id in world.stored and handle.is_writer:
        session.erased = True
        world.pending.pop((session.creator, session.id), None)
    else:
        _disturb(handle)
    end_ownership(handle)
    session.tag("SVC-11")
    book = world.instances[handle.instance].revisions.get(session.id)
    if book is not None:
        book.quiet.append("REV-03")


def _disturb(handle: Handle) -> None:
    """A handle that does not own was closed or collected: the owner, if there is one, must not notice."""
    handle.session.tag("SVC-11")
    owner = handle.session.owner
    if owner is not None and owner is not handle:
        owner.disturbed = True


def leave(judge: Judge, call: Call, op: Leave, outcome: Outcome) -> None:
    """CLOSE-05: leaving the context closes, and the body's own exception passes through."""
    handle = judge.world.handles[op.handle]
    if handle.closed:
        return
    if op.raising:
        judge.demand_refusal(outcome, {"CLOSE-05": frozenset({"CallerError"})})
    else:
        judge.demand_success(outcome, "CLOSE-05", "resolved: leaving the context is close")
        judge.witness("CLOSE-05")
    closed(judge, handle)
    handle.left = True
    judge.exact = True


def discard(judge: Judge, call: Call, op: Discard, outcome: Outcome) -> None:
    """OWN-12 for a handle that is collected; it says nothing by itself."""
    handle = judge.world.handles.pop(op.handle)
    _disturb(handle)
    judge.exact = True
