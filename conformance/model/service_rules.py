"""The rules for ``create``, ``open`` and the service's own ``flush`` and ``close``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from conformance.model import blame
from conformance.model.batches import header_refusals
from conformance.model.history import HandleView, Outcome, Raised
from conformance.model.operations import CloseInstance, Create, FlushInstance, OpenInstance, OpenSession
from conformance.model.state import Handle, Instance, Session
from conformance.model.transitions import cover, end_ownership, settle_close, touch
from conformance.model.views import headers_differ, note_verdict
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

EXISTS = frozenset({"SessionAlreadyExistsError"})
OWNED = frozenset({"SessionAlreadyOwnedError"})
NOT_FOUND = frozenset({"SessionPersistenceNotFoundError"})
TAKEN = EXISTS | OWNED

_ORDINARY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def open_instance(judge: Judge, call: Call, op: OpenInstance, outcome: Outcome) -> None:
    """A fresh instance over the same root must come up."""
    world = judge.world
    others = [each for each in world.instances.values() if not each.closed]
    clause = "FRESH-04" if others else "MAT-05"
    judge.demand_success(outcome, clause, "a fresh instance over the same storage")
    world.instances[op.instance] = Instance(op.instance, world.step)
    judge.exact = True


def reject_on_closed_service(judge: Judge, outcome: Outcome) -> None:
    """After the service's close every operation rejects, in whatever way, and none hangs (CLOSE-08)."""
    if not isinstance(outcome, Raised) or outcome.error.kind == "Hung":
        judge.fail("CLOSE-08", "rejected: the service is closed")
    judge.witness("CLOSE-08")


def create(judge: Judge, call: Call, op: Create, outcome: Outcome) -> None:
    """SVC-01, SVC-02, SVC-08, SVC-09, and what a create may meet where another instance holds the id pending."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    refusals = header_refusals(op.header, op.inherited)
    session_id = op.header.id if isinstance(op.header.id, str) else repr(op.header.id)
    existing, certain = world.visible(op.instance, session_id)
    if existing is not None and certain:
        refusals.demand("SVC-02", EXISTS)
    if refusals.must:
        judge.demand_refusal(outcome, refusals.must)
        first = next(iter(refusals.must))
        if existing is None:
            instance.failed_claim[session_id] = first
        else:
            existing.tag("SVC-02")
            if first == "SVC-02":
                note_verdict(judge, instance, session_id, "create", occupied=True)
        return None
    may = set(refusals.may)
    if existing is not None or world.pending_elsewhere(op.instance, session_id):
        may |= TAKEN
    if not _ORDINARY_ID.fullmatch(session_id):
        may.add("ValueError")
    if isinstance(outcome, Raised) and outcome.error.kind in may:
        instance.failed_claim.setdefault(session_id, "OWN-04")
        return None
    clauses = _unexpected_refusal(judge, instance, session_id)
    value = judge.demand_success(outcome, clauses, f"a write handle of the new session {session_id!r:.80}")
    if not isinstance(value, HandleView):
        judge.fail("SVC-01", "a write handle")
    _admit_created(judge, op, instance, session_id, value)
    return None


def _unexpected_refusal(judge: Judge, instance: Instance, session_id: str) -> list[str]:
    world = judge.world
    if session_id in instance.failed_claim:
        return ["OWN-04"]
    if session_id in world.never:
        return ["MAT-03"]
    if world.refusal_of is not None:
        return ["SEQ-09"]
    return ["SVC-01"]


def _admit_created(judge: Judge, op: Create, instance: Instance, session_id: str, value: HandleView) -> None:
    world = judge.world
    world.serials += 1
    session = Session(session_id, world.serials, op.header, op.inherited, op.instance, home=op.instance)
    handle = Handle(op.handle, op.instance, session, "write")
    _check_view(judge, handle, value, "write")
    if session_id in instance.failed_claim:
        judge.witness("OWN-04")
        del instance.failed_claim[session_id]
    if session_id in world.never:
        judge.witness("MAT-03")
        del world.never[session_id]
    note_verdict(judge, instance, session_id, "create", occupied=False)
    session.owner = handle
    world.handles[op.handle] = handle
    if judge.capabilities.materialization == "eager":
        session.pending = False
        world.stored[session_id] = session
    else:
        world.pending[op.instance, session_id] = session
    touch(world, session)
    judge.exact = True


def _check_view(judge: Judge, handle: Handle, value: HandleView, access: str) -> None:
    session = handle.session
    if value.id != session.id or value.access != access:
        judge.fail(
            "SVC-01",
            f"id={session.id!r:.80} and access={access!r} on the handle",
            f"id={value.id!r:.80} and access={value.access!r}",
        )
    difference = headers_differ(session.header, value.header)
    if difference:
        judge.fail("SVC-01", "the header given to create", f"header{difference}")
    judge.witness("SVC-01", "SVC-09")
    given = session.inherited
    fits = value.inherited == given if given is not None else value.inherited in (None, 0)
    if not fits or isinstance(value.inherited, bool):
        judge.fail("SVC-09", f"inherited_event_count={given!r}", f"inherited_event_count={value.inherited!r}")


def open_session(judge: Judge, call: Call, op: OpenSession, outcome: Outcome) -> None:
    """SVC-04, OWN-01, OWN-02, OWN-03, and the visibility clauses through ``open``."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    session_id = op.session
    session, certain = world.visible(op.instance, session_id)
    if session is None:
        kinds = NOT_FOUND
        if op.access == "write" and world.pending_elsewhere(op.instance, session_id):
            kinds |= OWNED
        clause = blame.absent(world, instance, session_id, "SVC-04")
        judge.demand_refusal(outcome, {clause: kinds})
        note_verdict(judge, instance, session_id, f"open {op.access}", occupied=False)
        if op.access == "write":
            instance.failed_claim.setdefault(session_id, "OWN-04")
        return None
    if _refused_as_owned(judge, op, session, outcome):
        return None
    if not certain and isinstance(outcome, Raised) and outcome.error.kind in NOT_FOUND:
        note_verdict(judge, instance, session_id, f"open {op.access}", occupied=False)
        return None
    if session.pending and not certain:
        # Pending here and stored by another instance: which of the two a read shows is not said (SVC-12).
        if not isinstance(outcome, Raised):
            world.handles[op.handle] = Handle(op.handle, op.instance, session, op.access)
        return None
    clause = _must_open(judge, op, instance, session, outcome)
    value = judge.demand_success(outcome, clause, f"a {op.access} handle of session {session_id!r:.80}")
    if not isinstance(value, HandleView):
        judge.fail("SVC-01", f"a {op.access} handle")
    judge.witness(clause)
    _admit_opened(judge, op, instance, session, value)
    return None


def _refused_as_owned(judge: Judge, op: OpenSession, session: Session, outcome: Outcome) -> bool:
    """Whether the open was a write open that another owner keeps out, as it must or may be."""
    owner = session.owner
    if op.access == "read" or owner is None:
        return False
    same_instance = owner.instance == op.instance
    if same_instance or judge.capabilities.cross_process_ownership:
        clause = ("OWN-12" if owner.disturbed else "OWN-01") if same_instance else "OWN-09"
        judge.demand_refusal(outcome, {clause: OWNED})
        session.tag("SVC-11")
        return True
    return isinstance(outcome, Raised) and outcome.error.kind in OWNED


def _must_open(judge: Judge, op: OpenSession, instance: Instance, session: Session, outcome: Outcome) -> str:
    kind = outcome.error.kind if isinstance(outcome, Raised) else ""
    if op.access == "write" and kind in OWNED:
        return "OWN-04" if session.id in instance.failed_claim else "OWN-02"
    if op.access == "read" and session.owner is not None and kind not in NOT_FOUND:
        return "OWN-03"
    if op.access == "write" and not kind:
        return "OWN-02"
    return blame.present(instance, session, "FRESH-01")


def _admit_opened(judge: Judge, op: OpenSession, instance: Instance, session: Session, value: HandleView) -> None:
    world = judge.world
    handle = Handle(op.handle, op.instance, session, op.access, reopened=True, left_at=len(session.log))
    _check_view(judge, handle, value, op.access)
    note_verdict(judge, instance, session.id, f"open {op.access}", occupied=True)
    if session.unsure:
        session.unsure, session.durable = False, True
    if session.id in instance.failed_claim:
        judge.witness("OWN-04")
        del instance.failed_claim[session.id]
    world.handles[op.handle] = handle
    session.tag("SVC-11")
    if op.access == "read":
        session.shown.setdefault(op.instance, 0)
    else:
        session.owner = handle
        if len(session.log) == session.covered:
            session.home = op.instance
    book = instance.revisions.get(session.id)
    if book is not None:
        book.quiet.append("REV-03")
    judge.exact = True


def _losers(judge: Judge, instance: int) -> list[Handle]:
    """The active write handles of this instance whose id another instance stored first (SVC-12)."""
    return [
        handle
        for handle in judge.world.handles.values()
        if handle.instance == instance and handle.is_writer and not handle.closed and _lost_race(judge, handle)
    ]


def _lost_race(judge: Judge, handle: Handle) -> bool:
    return handle.session.pending and handle.session.id in judge.world.stored


def _demand_group(judge: Judge, outcome: Outcome, losers: list[Handle], clause: str, failing: str) -> None:
    """A sweep resolves, or rejects with one group that names each session that could not be served."""
    if not losers:
        judge.demand_success(outcome, clause, "resolved: no handle has a reason to fail")
        return
    names = [handle.session.id for handle in losers]
    wanted = f"one ExceptionGroup with a member that names each of {names!r:.200}"
    if not isinstance(outcome, Raised) or outcome.error.kind != "ExceptionGroup":
        judge.fail(failing, wanted)
    for name in names:
        if not any(names_session(member, name) for member in outcome.error.members):
            judge.fail(failing, wanted, note=f"no member names {name!r:.80}")
    judge.witness(failing)


def flush_instance(judge: Judge, call: Call, op: FlushInstance, outcome: Outcome) -> None:
    """FLUSH-01, FLUSH-02, FLUSH-04."""
    world = judge.world
    if world.instances[op.instance].closed:
        return reject_on_closed_service(judge, outcome)
    losers = _losers(judge, op.instance)
    _demand_group(judge, outcome, losers, "FLUSH-01", "FLUSH-02")
    kind = "failing service flush" if losers else "service flush"
    for handle in world.handles.values():
        if handle.instance != op.instance or handle.closed:
            continue
        if not handle.is_writer:
            handle.swept = True
        elif handle not in losers and handle.owns:
            cover(world, handle, kind)
            judge.witness("FLUSH-01")
    judge.exact = True
    return None


def close_instance(judge: Judge, call: Call, op: CloseInstance, outcome: Outcome) -> None:
    """CLOSE-07, CLOSE-08."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        judge.demand_success(outcome, "CLOSE-08", "resolved: closing again is nothing")
        judge.witness("CLOSE-08")
        return
    losers = _losers(judge, op.instance)
    if not (losers and not isinstance(outcome, Raised)):
        # A handle that lost its race and has nothing to write may close in peace.
        _demand_group(judge, outcome, losers, "CLOSE-07", "CLOSE-07")
    for handle in list(world.handles.values()):
        if handle.instance == op.instance and not handle.closed:
            handle.closed = handle.closed_by_service = True
            if handle.owns:
                settle_close(world, handle, "service close", judge.capabilities)
            end_ownership(handle)
    instance.closed = True
    judge.exact = not losers
