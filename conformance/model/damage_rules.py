"""The rules for damaged artifacts: every call about such a session is judged here, and in place of the ordinary rules.

``harm_of`` says at the damage what may follow. An instance that is opened later, and a handle that it gives, has to
answer by that; whoever was there before may still know the log as it was. All other sessions stay under the ordinary
rules, but where one of them is hidden while an artifact is damaged, SVC-07 is blamed. Where a free id is created anew
the ordinary rules have it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.model.harm import CORRUPT, EXHAUSTED, HOSTILE_WAYS, SPECIFIC, Harm, harm_beside, harm_of, vague
from conformance.model.harm_seen import check_header, check_read, look_back, refused, underhand
from conformance.model.history import DamageView, ErrorView, HandleView, Outcome, Raised, Returned, SnapshotView
from conformance.model.operations import (
    ON_HANDLES,
    Append,
    Close,
    Create,
    Damage,
    Discard,
    Flush,
    Inspect,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.service_rules import EXISTS, NOT_FOUND, OWNED, kind_of
from conformance.model.state import Handle, Session
from conformance.model.tree import TreeView
from conformance.model.words import snapshot_id

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge


def damage(judge: Judge, call: Call, op: Damage, outcome: Outcome) -> None:
    """The artifact is not as it was."""
    world, view = judge.world, getattr(outcome, "value", None)
    judge.costs.spoil()
    if not isinstance(view, DamageView) or not view.changed:
        return
    world.damaged = True
    if op.beside is not None:
        for each in list(world.stored.values()):
            each.harm = harm_beside(each, world.step)
            world.harmed[each.id] = each
            world.blur(each)
        return
    session = world.stored.get(op.session)
    if session is None:
        # Nothing of it is stored as far as anybody was told, so that nothing can be told of it.
        world.blurred.add(op.session)
        return
    live = any(each.owns for each in world.writers(session))
    former = world.former.get(op.session)
    harm = harm_of(session, op, view, judge.capabilities, world.step, live=live, former=former)
    if session.harm is not None and op.how not in ("unlink", "put_back"):
        # Two kinds of damage may come to anything.
        vague(harm)
    session.harm = harm
    world.harmed[op.session] = session
    world.blur(session)


def _exhausts(judge: Judge, outcome: Outcome) -> bool:
    """ID-04: whoever meets what is hostile, before it or since, has memory and stack enough to say what it is.

    Returns whether something hostile is there.
    """
    if not any(each.harm is not None and each.harm.how in HOSTILE_WAYS for each in judge.world.harmed.values()):
        return False
    if isinstance(outcome, Raised) and not EXHAUSTED.isdisjoint(_kinds_in(outcome.error)):
        judge.fail("ID-04", "SessionPersistenceCorruptionError, or an answer, without using up memory or stack")
    return True


def _kinds_in(error: ErrorView) -> Iterator[str]:
    """The kind of an error and of everything that it groups."""
    yield error.kind
    for member in error.members:
        yield from _kinds_in(member)


def judged(judge: Judge, op: Operation, outcome: Outcome) -> bool:
    """Judge a call in a world with damage; False where the ordinary rules are to judge it, or to go on."""
    world = judge.world
    session: Session | None = None
    if isinstance(op, ON_HANDLES):
        session = world.handles[op.handle].session
    elif isinstance(op, Stat | OpenSession):
        session = world.harmed.get(op.session)
    elif isinstance(op, Create) and isinstance(op.header.id, str):
        session = world.harmed.get(op.header.id)
    hostile = bool(world.harmed) and _exhausts(judge, outcome)
    if session is not None and session.harm is not None:
        if isinstance(op, Stat | OpenSession | Create) and world.instances[op.instance].closed:
            return False
        judge.costs.spoil()
        done = _about_harmed(judge, session, session.harm, op, outcome)
        if hostile:
            judge.witness("ID-04")
        return done
    if world.harmed:
        _among_others(judge, op, outcome)
    return False


def _about_harmed(judge: Judge, session: Session, harm: Harm, op: Operation, outcome: Outcome) -> bool:
    match op:
        case Stat():
            _stat(judge, session, harm, op, outcome)
        case OpenSession():
            _open(judge, session, harm, op, outcome)
        case Create():
            return _create(judge, session, harm, op, outcome)
        case Read():
            _read(judge, judge.world.handles[op.handle], harm, op, outcome)
        case Append() | Flush() | Close() | Leave() | Discard():
            _change(judge, judge.world.handles[op.handle], harm, op, outcome)
    return True


def _is_fresh(judge: Judge, instance: int, harm: Harm) -> bool:
    """Whether the instance was opened after the damage, and so knows only what is stored."""
    return judge.world.instances[instance].opened_at > harm.step


# -- one damaged session ------------------------------------------------------------------------------------------


def _stat(judge: Judge, session: Session, harm: Harm, op: Stat, outcome: Outcome) -> None:
    value, kind = getattr(outcome, "value", None), kind_of(outcome)
    if isinstance(value, SnapshotView):
        harm.tokens[op.instance] = value.revision
    if not _is_fresh(judge, op.instance, harm):
        if kind == "Hung":
            judge.fail(harm.clause, "an answer")
        return
    if kind:
        refused(judge, harm, outcome, told_by="SVC-07" if harm.tells else harm.clause)
        harm.verdicts[op.instance] = True
        return
    if value is None:
        if not harm.vanish:
            judge.fail(harm.gone, "refused: its artifact is there, and damaged")
        underhand(judge, harm)
        harm.verdicts[op.instance] = False
        judge.witness(harm.clause)
        return
    if not harm.shows and not harm.live:
        judge.fail(harm.clause if harm.vanish else "SVC-07", "no snapshot: there is no session to tell of")
    if isinstance(value, SnapshotView):
        check_header(judge, session, harm, value.header, getattr(value.header, "id", None))
    harm.verdicts[op.instance] = True


def _open(judge: Judge, session: Session, harm: Harm, op: OpenSession, outcome: Outcome) -> None:
    world, kind = judge.world, kind_of(outcome)
    fresh = _is_fresh(judge, op.instance, harm)
    if isinstance(outcome, Raised):
        if kind == "Hung" or (fresh and not (kind in OWNED and op.access == "write")):
            if kind in NOT_FOUND:
                _absent(judge, harm, op.instance)
            else:
                refused(judge, harm, outcome)
                harm.verdicts[op.instance] = True
        return
    value = outcome.value if isinstance(outcome, Returned) else None
    if not isinstance(value, HandleView):
        judge.fail("SVC-01", f"a {op.access} handle")
    if fresh:
        if not harm.shows and not harm.live and op.access == "write":
            judge.fail(harm.clause, "refused: what stands there is no log of this session")
        check_header(judge, session, harm, value.header, value.id)
        harm.verdicts[op.instance] = True
    world.handles[op.handle] = Handle(op.handle, op.instance, session, op.access, opened_at=world.step, reopened=True)


def _absent(judge: Judge, harm: Harm, instance: int) -> None:
    if not harm.vanish or harm.settled is not None:
        judge.fail(harm.gone, "refused, or the log: the session is there, and its artifact damaged")
    underhand(judge, harm)
    harm.verdicts[instance] = False
    judge.witness(harm.clause)


def _create(judge: Judge, session: Session, harm: Harm, op: Create, outcome: Outcome) -> bool:
    kind = kind_of(outcome)
    said = harm.verdicts.get(op.instance)
    if kind in EXISTS | SPECIFIC:
        if said is False:
            judge.fail(harm.creating, "created: the id was called absent, and nothing happened since")
        judge.witness(harm.creating)
        return True
    if kind in OWNED and judge.world.writers(session):
        # Somebody owns what was there, and may keep others out until it is closed.
        return True
    if kind:
        judge.fail(harm.creating, "refused with SessionAlreadyExistsError or SessionPersistenceCorruptionError")
    if _is_fresh(judge, op.instance, harm) and (not harm.vanish or harm.settled is not None):
        judge.fail(harm.creating, "refused with SessionAlreadyExistsError or SessionPersistenceCorruptionError")
    if said is True:
        judge.fail("SVC-13", "refused: the id was called occupied, and nothing happened since")
    world = judge.world
    if world.stored.get(session.id) is session:
        del world.stored[session.id]
    world.harmed.pop(session.id, None)
    world.blurred.discard(session.id)
    # From here on it is a session like any other; a trace of the one before breaks the clause about what is left.
    world.never[session.id] = harm.creating
    world.left.add(session.id)
    world.changes[session.id] = world.changes.get(session.id, 0) + 1
    judge.witness(harm.creating)
    world.former[session.id] = session
    return False


def _read(judge: Judge, handle: Handle, harm: Harm, op: Read, outcome: Outcome) -> None:
    if handle.closed:
        return
    fresh = handle.opened_at > harm.step and _is_fresh(judge, handle.instance, harm)
    kind = kind_of(outcome)
    if not fresh:
        look_back(judge, handle, harm, op, outcome)
        return
    if kind:
        if kind in NOT_FOUND and harm.vanish:
            underhand(judge, harm)
        else:
            refused(judge, harm, outcome)
        return
    check_read(judge, handle, harm, op, getattr(outcome, "value", None))


def _change(judge: Judge, handle: Handle, harm: Harm, op: Operation, outcome: Outcome) -> None:
    """Appends, flushes and ends of handles."""
    kind = kind_of(outcome)
    if kind == "Hung":
        judge.fail("SVC-14" if harm.live else harm.going_on, "an answer")
    if isinstance(op, Discard):
        judge.world.handles.pop(handle.number, None)
        return
    if isinstance(op, Close | Leave):
        handle.closed = True
    if not handle.is_writer:
        return
    if handle.opened_at < harm.step and harm.settled is not None and not kind:
        # Two writers at once, of which the older one has not noticed the other (OWN-14): nothing can be told.
        handle.session.harm = None
        return
    if handle.opened_at < harm.step:
        harm.called = harm.called or isinstance(op, Append | Flush | Close)
        if not kind:
            # No crash leaves a hole in what was made durable before more was written behind it.
            harm.refusal = harm.refusal or CORRUPT
        harm.barred = harm.barred or (isinstance(op, Flush | Close) and not kind)
        if isinstance(op, Append | Flush) and not kind:
            harm.resolved = True
            if isinstance(op, Append):
                harm.added += op.events
                # What a fresh instance read before is not all that is there.
                harm.recovered = None
        elif isinstance(op, Append | Flush) and harm.live:
            judge.witness("DUR-10")
        return
    if isinstance(op, Append):
        _go_on(judge, handle.session, harm, op, kind)


def _go_on(judge: Judge, session: Session, harm: Harm, op: Append, kind: str) -> None:
    """A new writer appends behind what it found."""
    log = harm.settled if harm.settled is not None else harm.recovered
    if log is None or not op.events or op.events[0]["seq"] != len(log):
        vague(harm)
        if op.events and not kind:
            # Nobody was told what it was appended to.
            session.harm = None
        return
    if kind:
        if kind in CORRUPT and harm.refusal and harm.settled is None:
            return
        judge.fail(harm.going_on, f"resolved: the log that was read ends before seq {len(log)}")
    harm.settled = [*log, *op.events]
    judge.witness(harm.going_on)


# -- everything else while an artifact is damaged -----------------------------------------------------------------


def _among_others(judge: Judge, op: Operation, outcome: Outcome) -> None:
    if isinstance(op, OpenInstance):
        if isinstance(outcome, Raised):
            judge.fail("SVC-07", "a fresh instance: one damaged artifact hides no other session")
    elif isinstance(op, ListSessions):
        _list(judge, op, outcome)
    elif isinstance(op, Inspect):
        _inspect(judge, outcome)
    elif isinstance(op, Stat | OpenSession):
        _neighbour(judge, op, outcome)


def _neighbour(judge: Judge, op: Stat | OpenSession, outcome: Outcome) -> None:
    """A healthy session is there as before."""
    world = judge.world
    instance = world.instances[op.instance]
    session, certain = world.visible(op.instance, op.session)
    if instance.closed or session is None or not certain or session.opaque:
        return
    kind = kind_of(outcome)
    strange = kind and not kind.startswith("Session") and kind not in ("TypeError", "ValueError")
    missing = kind in SPECIFIC | NOT_FOUND or (isinstance(op, Stat) and not kind and outcome == Returned(None))
    if strange or missing:
        judge.fail("SVC-07", f"{op.session!r:.80} as before: another session's artifact is damaged, not its own")


def _list(judge: Judge, op: ListSessions, outcome: Outcome) -> None:
    world = judge.world
    if world.instances[op.instance].closed:
        return
    value = getattr(outcome, "value", None)
    if isinstance(outcome, Raised) or not isinstance(value, list):
        judge.fail("SVC-07", "a list of the healthy sessions: what cannot be described is left out of it")
    names = [snapshot_id(each) for each in value]
    healthy = False
    for name in dict.fromkeys([*world.stored, *(found for _, found in world.pending)]):
        session, certain = world.visible(op.instance, name)
        if session is None or not certain or session.opaque:
            continue
        healthy = True
        if name not in names:
            judge.fail("SVC-07", f"a snapshot of {name!r:.80} among the others: its artifact is sound")
    for name, session in world.harmed.items():
        harm = session.harm
        if harm is None or not _is_fresh(judge, op.instance, harm):
            continue
        if name in names and not harm.shows and not harm.live:
            judge.fail(harm.clause if harm.vanish else "SVC-07", f"no snapshot of {name!r:.80}")
    if len(set(map(repr, names))) < len(names):
        copied = any(each.harm is not None and each.harm.how == "copy" for each in world.harmed.values())
        judge.fail("FMT-06" if copied else "SVC-07", "no session twice")
    if healthy:
        judge.witness("SVC-07")


def _inspect(judge: Judge, outcome: Outcome) -> None:
    """Foreign bytes stay as they were; of a live writer, whether it changed the artifact."""
    view = getattr(outcome, "value", None)
    if not isinstance(view, TreeView):
        return
    for name, digest in view.digests:
        session = judge.world.harmed.get(name)
        harm = session.harm if session is not None else None
        if harm is None:
            continue
        harm.made = harm.made or digest != harm.digest
        if harm.stays:
            clause = "SVC-14" if harm.called else harm.clause
            if digest != harm.digest:
                judge.fail(clause, f"the artifact of {name!r:.80} as it was: it is not this backend's", "other bytes")
            judge.witness(clause)
