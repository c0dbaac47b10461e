"""The rules for ``create`` and ``open``, of instances and of sessions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from conformance.model import blame, crash_blame, crash_rules, identity_blame, value_blame, vocabulary_rules
from conformance.model.batches import header_refusals
from conformance.model.history import HandleView, Outcome, Raised
from conformance.model.operations import Create, Fail, Heal, MakeRoot, OpenInstance, OpenSession, Wait
from conformance.model.state import Handle, Instance, Session
from conformance.model.transitions import confirm, demote, hush, touch
from conformance.model.views import note_verdict, said_absent, shows_other_header

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

EXISTS = frozenset({"SessionAlreadyExistsError"})
OWNED = frozenset({"SessionAlreadyOwnedError"})
NOT_FOUND = frozenset({"SessionPersistenceNotFoundError"})
TAKEN = EXISTS | OWNED
MOVED_ON = frozenset({"SessionContiguityError", "SessionOwnershipLostError"})

PATIENCE_US = 250_000
"""Simulated microseconds that make a wait where nothing says how long an open takes."""

_ORDINARY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def kind_of(outcome: Outcome) -> str:
    """The kind of error that a call raised, or "" where it resolved."""
    return outcome.error.kind if isinstance(outcome, Raised) else ""


def nothing_to_judge(judge: Judge, call: Call, op: MakeRoot | Wait | Fail | Heal, outcome: Outcome) -> None:
    """The kit did it, and the backend was not asked."""


def open_instance(judge: Judge, call: Call, op: OpenInstance, outcome: Outcome) -> None:
    """A fresh instance over the same root must come up."""
    world = judge.world
    others = [each for each in world.instances.values() if not each.closed]
    if world.instances and judge.capabilities.storage == "memory":
        # What is in memory goes with its instance: a program with another one says nothing.
        judge.void = True
        return
    crashed = crash_blame.opening(world.aftermath)
    clause = crashed or ("FRESH-04" if others else "MAT-05")
    judge.demand_success(outcome, clause, "a fresh instance over the same storage")
    if crashed and world.aftermath is not None:
        judge.witness(crashed)
        world.aftermath.opened = True
    world.instances[op.instance] = Instance(op.instance, world.step)
    judge.exact = True


def reject_on_closed_service(judge: Judge, outcome: Outcome) -> None:
    """After the service's close every operation rejects, in whatever way, and none hangs (CLOSE-08)."""
    if kind_of(outcome) in ("", "Hung"):
        judge.fail("CLOSE-08", "rejected: the service is closed")
    judge.witness("CLOSE-08")


def create(judge: Judge, call: Call, op: Create, outcome: Outcome) -> None:
    """SVC-01, SVC-02, SVC-08, SVC-09, and what a create may meet where another instance holds the id pending."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    session_id = op.header.id if isinstance(op.header.id, str) else repr(op.header.id)
    if session_id in world.blurred:
        return None
    existing, certain = world.visible(op.instance, session_id)
    refusals = header_refusals(op.header, op.inherited)
    may = refusals.may
    if existing is not None and (certain or existing.pending):
        refusals.demand("SVC-02", EXISTS)
    elsewhere = world.pending_elsewhere(op.instance, session_id)
    if elsewhere or (existing is not None and not certain and not existing.pending):
        # After a crash nobody owns it.
        may |= EXISTS if existing is not None and existing.recovery is not None else TAKEN
    if not _ORDINARY_ID.fullmatch(session_id):
        may |= {"ValueError"}
    if existing is None and elsewhere and judge.capabilities.create_scope == "storage":
        refusals.demand("SVC-02", TAKEN)
    if refusals.must:
        return _refused_create(judge, instance, session_id, existing, refusals.must, may, outcome)
    kind = kind_of(outcome)
    if kind in may and kind:
        if kind == "ValueError" and not identity_blame.is_ordinary(session_id):
            judge.witness("ID-01")
        if elsewhere and kind in TAKEN:
            judge.witness("SVC-12")
        instance.failed_claim.setdefault(session_id, "OWN-04")
        # An id that is refused for what it is may be free all the same.
        if existing is not None and existing.unsure and kind in TAKEN:
            note_verdict(judge, instance, session_id, "create", occupied=True, free=True)
            if kind in EXISTS and existing.recovery is not None:
                confirm(existing)
        return None

    def clause() -> str:
        failing = crash_blame.failing(existing) if existing is not None else ""
        return failing or _create_blame(judge, instance, session_id, kind)

    value = judge.demand_success(outcome, clause, lambda: f"a write handle of the new session {session_id!r:.80}")
    if not isinstance(value, HandleView):
        judge.fail("SVC-01", "a write handle")
    _admit_created(judge, op, instance, session_id, value)
    return None


def _refused_create(
    judge: Judge,
    instance: Instance,
    session_id: str,
    existing: Session | None,
    must: dict[str, frozenset[str]],
    may: frozenset[str],
    outcome: Outcome,
) -> None:
    if existing is None and kind_of(outcome) in TAKEN - may and session_id in instance.failed_claim:
        judge.fail("OWN-04", "refused as before: the first attempt took nothing")
    taken = crash_blame.gone(existing) if existing is not None and "SVC-02" in must else ""
    if taken and not kind_of(outcome):
        judge.fail(taken, "refused: the session came through the crash")
    judge.witness(*filter(None, [taken]))
    error = judge.demand_refusal(outcome, must, may=may)
    if existing is None and session_id in instance.failed_claim:
        judge.witness("OWN-04")
    judge.exact = judge.exact and judge.world.known_to_all(instance.number, session_id)
    first = next((clause for clause, kinds in must.items() if error.kind in kinds), next(iter(must)))
    if existing is None:
        instance.failed_claim[session_id] = first
    else:
        existing.tag("SVC-02")
        if first == "SVC-02":
            note_verdict(judge, instance, session_id, "create", occupied=True)


def _create_blame(judge: Judge, instance: Instance, session_id: str, kind: str) -> str:
    """The clause broken where a ``create`` that must work rejects with this kind of error."""
    world = judge.world
    if world.pending_elsewhere(instance.number, session_id):
        return "SVC-12"
    if session_id in world.left and kind in TAKEN:
        # Freed by a crash; that it was looked for in vain meanwhile explains nothing.
        return world.never[session_id]
    if session_id in instance.failed_claim:
        return "OWN-04"
    if session_id in world.never:
        return world.never[session_id]
    found = identity_blame.created(world, session_id, kind, files=judge.capabilities.storage == "files")
    if found:
        return found
    if kind in TAKEN:
        return "SVC-13" if said_absent(judge, instance, session_id) else "SVC-01"
    return "SEQ-09" if world.refusal_of not in (None, session_id) else "SVC-01"


def _admit_created(judge: Judge, op: Create, instance: Instance, session_id: str, value: HandleView) -> None:
    world = judge.world
    world.serials += 1
    eager = judge.capabilities.materialization == "eager"
    session = Session(session_id, world.serials, op.header, op.inherited, op.instance, home=op.instance, eager=eager)
    session.lent = op.scribble
    handle = Handle(op.handle, op.instance, session, "write", opened_at=world.step)
    check_view(judge, handle, value, "write")
    # Where another instance holds the id pending, or may have stored it, a refusal would have been as right.
    judge.exact = world.known_to_all(op.instance, session_id) and session_id not in world.stored
    if not world.pending_elsewhere(op.instance, session_id) and session_id not in world.stored:
        judge.witness(_create_blame(judge, instance, session_id, "SessionAlreadyExistsError"))
    if session_id in world.left:
        session.reborn = world.never[session_id]
    elif session_id in world.stored and world.stored[session_id].recovery is not None:
        session.reborn = "TORN-04" if judge.located else "DUR-04"
    world.left.discard(session_id)
    instance.failed_claim.pop(session_id, None)
    world.never.pop(session_id, None)
    note_verdict(judge, instance, session_id, "create", occupied=False)
    # That the id was free says that nothing another instance wrote under it was stored yet.
    demote(world, session_id)
    session.owner = handle
    world.handles[op.handle] = handle
    if not identity_blame.is_ordinary(session_id):
        judge.witness("ID-01")
    identity_blame.note_name(world, session_id)
    identity_blame.touch_kin(world, session)
    if eager:
        session.pending = False
        world.stored[session_id] = session
    else:
        world.pending[op.instance, session_id] = session
    touch(world, session)


def check_view(judge: Judge, handle: Handle, value: HandleView, access: str) -> None:
    """SVC-01, SVC-09, ID-01: what a handle says of itself, whenever it is asked."""
    session, exact = handle.session, judge.capabilities.numbers == "exact"
    if identity_blame.is_of_other(judge.world, session.id, value.id, getattr(value.header, "id", None)):
        judge.fail("ID-01", f"a handle of {session.id!r:.80}", f"one of {value.id!r:.80}, header {value.header!r:.120}")
    if value.id != session.id or value.access != access:
        judge.fail(
            "SVC-01",
            f"id={session.id!r:.80} and access={access!r} on the handle",
            f"id={value.id!r:.80} and access={value.access!r}",
        )
    crashed = crash_blame.header(session)
    difference = shows_other_header(session, value.header, exact=exact)
    if difference:
        clause = "" if session.lent else value_blame.in_header(session.header, value.header, exact=exact)
        clause = clause or crashed or "SVC-01"
        judge.fail(clause, "the header given to create", f"header{difference}")
    judge.witness(*value_blame.witnessed_header(session))
    if identity_blame.kin_of(judge.world, session.id):
        judge.witness("ID-01")
    given, seen = session.inherited, value.inherited
    fits = seen == given if given is not None else seen in (None, 0)
    if not fits or type(seen) not in (int, type(None)):
        judge.fail(crashed or "SVC-09", f"inherited_event_count={given!r}", f"inherited_event_count={seen!r}")
    judge.witness("SVC-01", crashed or "SVC-09")


def open_session(judge: Judge, call: Call, op: OpenSession, outcome: Outcome) -> None:
    """SVC-04, OWN-01, OWN-02, OWN-03, and the visibility clauses through ``open``."""
    world, instance = judge.world, judge.world.instances[op.instance]
    if instance.closed:
        return reject_on_closed_service(judge, outcome)
    if op.session in world.blurred:
        return None
    session, certain = world.visible(op.instance, op.session)
    if session is None:
        return _open_absent(judge, op, instance, outcome)
    floor = session.floor(op.instance) if certain else 0
    may = OWNED if op.access == "write" and world.writers(session) else frozenset()
    if vocabulary_rules.refused_open(judge, op, session, floor, may, outcome):
        return note_verdict(judge, instance, op.session, f"open {op.access}", occupied=True, free=session.unsure)
    if _refused_as_owned(judge, op, instance, session, outcome):
        return _came_at_once(judge, call, op, session, outcome)
    if session.pending and not certain:
        # Pending here and written by another instance: which of the two a handle shows is not said (SVC-12).
        return None
    kind = kind_of(outcome)
    if not certain and kind in NOT_FOUND:
        note_verdict(judge, instance, op.session, f"open {op.access}", occupied=False, free=session.unsure)
        crash_rules.deny(judge, session)
        return None
    if kind in OWNED and crash_blame.taking(session) and judge.capabilities.lease is not None:
        # The dead owner's lease may last.
        return None
    value = judge.demand_success(
        outcome,
        lambda: _open_blame(judge, op, instance, session, kind),
        lambda: f"a {op.access} handle of session {op.session!r:.80}",
    )
    if not isinstance(value, HandleView):
        judge.fail("SVC-01", f"a {op.access} handle")
    if certain:
        judge.witness(_open_blame(judge, op, instance, session, "SessionPersistenceNotFoundError"))
    if session.recovery is not None:
        judge.witness(crash_blame.failing(session, writing=op.access == "write"))
    if (op.access == "read" and session.owner is not None) or (op.access == "write" and not world.writers(session)):
        judge.witness(_open_blame(judge, op, instance, session, "SessionAlreadyOwnedError"))
    _note_time(judge, call, op)
    _admit_opened(judge, op, instance, session, value)
    return None


def _came_at_once(judge: Judge, call: Call, op: OpenSession, session: Session, outcome: Outcome) -> None:
    """OWN-01: a refusal for an owner in this instance did not wait for it."""
    owner_here = any(each.instance == op.instance for each in judge.world.writers(session))
    if call.alone_since is None or judge.capabilities.loop != "simulated" or not owner_here:
        return
    waited = judge.world.now - call.alone_since
    # While one call is made alone jobs take no time, so that time passes only by a timer that somebody waits for. A
    # backend may wait for one in every open; what it waits for longer here, it waits for the owner.
    usual = judge.world.open_takes
    is_wait = waited >= PATIENCE_US if usual is None else waited > usual
    if is_wait and judge.world.trouble is None:
        told = f"{kind_of(outcome)} after {waited:,} us, in which nothing else was called"
        told += "" if usual is None else f"; an open that owns takes {usual:,} us"
        judge.fail("OWN-01", "refused at once: the owner may keep the session for as long as it likes", told)


def _note_time(judge: Judge, call: Call, op: OpenSession) -> None:
    """How long an open for writing takes at most where nobody owns the session."""
    if call.alone_since is not None and op.access == "write":
        judge.world.open_takes = max(judge.world.open_takes or 0, judge.world.now - call.alone_since)


def _open_absent(judge: Judge, op: OpenSession, instance: Instance, outcome: Outcome) -> None:
    """SVC-04; a handle that comes back all the same is told by the clause about why the id is absent."""
    elsewhere = judge.world.pending_elsewhere(op.instance, op.session)
    kinds = NOT_FOUND | OWNED if op.access == "write" and elsewhere else NOT_FOUND
    special = blame.absent(judge.world, instance, op.session, "SVC-04")
    kind = kind_of(outcome)
    if not kind and _is_of_other(judge, op.session, outcome):
        special = "ID-01"
    elif identity_blame.kin_of(judge.world, op.session):
        judge.witness("ID-01")
    leaked = (kind in TAKEN and op.session in instance.failed_claim) or op.session in judge.world.left
    leaked = leaked or special == "CLOSE-04"
    files = judge.capabilities.storage == "files"
    cause = identity_blame.led_away(op.session, kind, files=files) or "SVC-04"
    error = judge.demand_refusal(outcome, {special if leaked or not kind else cause: kinds})
    if special != "SVC-04":
        judge.witness(special)
    judge.exact = judge.exact and judge.world.known_to_all(instance.number, op.session)
    if error.kind in NOT_FOUND:
        note_verdict(judge, instance, op.session, f"open {op.access}", occupied=False)
    if op.access == "write":
        instance.failed_claim.setdefault(op.session, "OWN-04")


def _is_of_other(judge: Judge, session_id: str, outcome: Outcome) -> bool:
    """Whether a handle came back that is one of another session (ID-01)."""
    value = getattr(outcome, "value", None)
    seen = (value.id, getattr(value.header, "id", None)) if isinstance(value, HandleView) else ()
    return identity_blame.is_of_other(judge.world, session_id, *seen)


def _refused_as_owned(judge: Judge, op: OpenSession, instance: Instance, session: Session, outcome: Outcome) -> bool:
    """Whether the open was a write open that another writer keeps out, as it must or may be."""
    writers = judge.world.writers(session) if op.access == "write" else []
    if not writers:
        return False
    kind = kind_of(outcome)
    here = next((each for each in writers if each.instance == op.instance), None)
    if here is not None and here.owns and not here.lost:
        judge.demand_refusal(outcome, {here.disturbed or "OWN-01": OWNED})
    elif here is None and judge.capabilities.cross_process_ownership:
        judge.demand_refusal(outcome, {"OWN-09": OWNED})
    elif kind not in OWNED:
        return False
    instance.failed_claim.setdefault(session.id, "OWN-04")
    session.tag("SVC-11")
    return True


def _open_blame(judge: Judge, op: OpenSession, instance: Instance, session: Session, kind: str) -> str:
    """The clause broken where an ``open`` that must work rejects with this kind of error."""
    if op.access == "write" and kind in OWNED:
        if crash_blame.taking(session):
            return "OWN-08"
        if session.left_by:
            return session.left_by
        if session.id in instance.failed_claim:
            return "OWN-04"
        kin = identity_blame.owned(judge.world, instance, session)
        return kin or ("OWN-03" if session.read_unowned else "OWN-02")
    if op.access == "read" and session.owner is not None and kind in OWNED:
        return "OWN-03"
    if kind and kind not in NOT_FOUND and _was_cancelled(session):
        return "SEQ-08"
    cause = value_blame.unreadable(judge, session, kind) or identity_blame.unreadable(judge.world, session, kind)
    if kind not in NOT_FOUND:
        cause = crash_blame.failing(session, writing=op.access == "write") or cause
    if cause:
        return cause
    if op.access == "read" and session.owner is not None and kind not in NOT_FOUND:
        return "OWN-03"
    return blame.present(judge, instance, session, "FRESH-01")


def _was_cancelled(session: Session) -> bool:
    """Whether something is in the log of which the append was cancelled, and nobody has read it back."""
    return any(clause == "SEQ-08" and end > session.verified for _, end, clause in session.promised)


def _admit_opened(judge: Judge, op: OpenSession, instance: Instance, session: Session, value: HandleView) -> None:
    world = judge.world
    handle = Handle(
        op.handle, op.instance, session, op.access, reopened=True, left_at=len(session.log), opened_at=world.step
    )
    handle.found = handle.left_at
    check_view(judge, handle, value, op.access)
    note_verdict(judge, instance, session.id, f"open {op.access}", occupied=True, free=session.unsure)
    confirm(session)
    session.show(op.instance, 0)
    judge.exact = world.known_to_all(op.instance, session.id) and (op.access == "read" or not world.writers(session))
    if op.access == "read":
        session.read_unowned = session.read_unowned or session.owner is None
    else:
        instance.failed_claim.pop(session.id, None)
        session.read_unowned = False
        if session.covered < len(session.log) and world.writers(session):
            # Another writer's events that no barrier covered: what this one continues at is not said.
            world.blur(session)
        session.owner = handle
        session.left_by = ""
        if len(session.log) == max(session.covered, session.kept):
            session.home = op.instance
    world.handles[op.handle] = handle
    session.tag("SVC-11")
    hush(world, session, (crash_blame.looking(session) if op.access == "read" else "") or "REV-03")
    crash_rules.opened(world, handle)
