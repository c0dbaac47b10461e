"""The rules for a crash: what ends with it, and how each look at the recovered storage settles what it left open.

A session that may have survived stays open until an answer shows or denies it. Its log is the longest that it may be,
and the floor of every view the least, until an answer gives its length. From then on it is what was shown: A of the
contract is that log, F is as it was, and every instance has to show exactly this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.model import crash_blame
from conformance.model.aftermath import Aftermath, Damage, Log, Recovery
from conformance.model.batches import JsonGrade, is_event, json_grade
from conformance.model.foresight import Prospect, foresee
from conformance.model.history import CrashView, Outcome, Raised
from conformance.model.operations import Append, Crash
from conformance.model.state import Handle, Session, World
from conformance.model.transitions import touch
from conformance.model.values import same

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

KILL = "kill"
"""The preset in which the process dies and the disk does not."""


def crash(judge: Judge, call: Call, op: Crash, outcome: Outcome) -> None:
    """Every instance and handle is gone, and each session is what the crash may have left of it."""
    world = judge.world
    view = getattr(outcome, "value", None)
    # What the call under way did has a word of its own in every stake.
    lost = frozenset(view.lost_calls) - {world.call} if isinstance(view, CrashView) else frozenset()
    damage = Damage(lost, kill=op.preset == KILL)
    found = foresee(judge, op.during)
    aftermath = Aftermath(world.step, world.call)
    world.instances.clear()
    world.handles.clear()
    world.live.clear()
    world.published.clear()
    world.failing = None
    world.refusal_of = None
    for session in (*world.stored.values(), *world.pending.values()):
        session.erased = True
    world.stored.clear()
    world.pending.clear()
    for name in found.untold - world.blurred:
        world.blurred.add(name)
    for prospect in found.prospects:
        session = leave(judge, prospect, damage)
        torn = crash_blame.is_hit(prospect.stake, damage) and prospect.stake.located
        aftermath.torn = aftermath.torn or torn
        aftermath.half_made = aftermath.half_made or (torn and not prospect.stake.must)
        touch(world, session)
    for name, clause in found.absent.items():
        _free(world, name, clause)
    world.aftermath = aftermath
    judge.costs.spoil()


def _free(world: World, name: str, clause: str) -> None:
    """The id is free because of a crash, and a trace of the session that it had breaks that clause."""
    world.never[name] = clause
    world.left.add(name)
    world.changes[name] = world.changes.get(name, 0) + 1


def leave(judge: Judge, prospect: Prospect, damage: Damage) -> Session:
    """The session as it may come back."""
    world, stake = judge.world, prospect.stake
    session = prospect.session
    if session is None:
        world.serials += 1
        session = Session(prospect.id, world.serials, prospect.header, prospect.inherited, -1)
    first, *others = prospect.logs
    for event in prospect.batch:
        if json_grade(event) != JsonGrade.COMMON:
            session.given[event["seq"]] = event
    if prospect.batch:
        session.starts.add(prospect.batch[0]["seq"])
    session.pending = session.eager = session.erased = session.survived = session.read_unowned = False
    session.unsure, session.durable = not stake.must, stake.must
    session.home = session.owner = session.closed_at = None
    session.covered, session.kept, session.verified = stake.covered, 0, 0
    session.log = list(first)
    session.reborn = ""
    session.tags.clear()
    for books in (session.shown, session.handed, session.counted):
        books.clear()
    session.lives += 1
    session.recovery = Recovery(stake, damage, stake.covered, [list(each) for each in others])
    _fix_if_known(world, session)
    world.stored[session.id] = session
    return session


def choose(world: World, session: Session, offset: int, value: Any) -> None:
    """Of several logs that the session may have, take the one that the events read fit."""
    recovery = session.recovery
    if recovery is None or not recovery.others or not isinstance(value, list):
        return
    logs = [session.log, *recovery.others]
    fitting = [log for log in logs if same(log[offset : offset + len(value)], value)]
    if fitting:
        # What does not fit stays possible nowhere: the answer is judged by the log that it fits.
        session.log, recovery.others = fitting[0], fitting[1:]
        _follow(world, session)


def _follow(world: World, session: Session) -> None:
    """Handles that have written nothing since the crash stand at the end of the log, wherever that is."""
    for handle in world.handles.values():
        if handle.session is session and handle.is_writer and not handle.wrote:
            handle.left_at = handle.found = len(session.log)


def narrow(world: World, session: Session, low: int, high: int | None) -> None:
    """An answer showed that the log has at least ``low`` events, and at most ``high`` where that is not None."""
    recovery = session.recovery
    if recovery is None:
        return
    recovery.shown = max(recovery.shown, low)
    recovery.told = recovery.told or high is not None
    if recovery.fixed:
        return
    session.kept = max(session.kept, low)
    recovery.low = max(recovery.low, low)
    logs: list[Log] = []
    for log in (session.log, *recovery.others):
        cut = log if high is None else log[:high]
        if len(cut) >= recovery.low and not any(same(cut, each) for each in logs):
            logs.append(cut)
    if logs:
        session.log, recovery.others = logs[0], logs[1:]
        _follow(world, session)
    _fix_if_known(world, session)


def _fix_if_known(world: World, session: Session) -> None:
    """Where one log is left, of one length, that is the log from now on."""
    recovery = session.recovery
    if recovery is None or recovery.others or recovery.low != len(session.log):
        return
    end = len(session.log)
    recovery.fixed = True
    recovery.kept = session.kept = end
    session.starts = {seq for seq in session.starts if seq < end}
    session.scribbled = {seq for seq in session.scribbled if seq < end}
    session.given = {seq: event for seq, event in session.given.items() if seq < end}
    if session.unknown is not None and session.unknown[0] >= end:
        session.unknown = None
    _follow(world, session)
    if recovery.covers:
        # The handle whose barrier came first had found all of it.
        if end > session.by_barrier:
            session.found.append((session.by_barrier, end))
        session.covered = session.by_barrier = end


def deny(judge: Judge, session: Session) -> None:
    """An answer denied the session, and that is as right as the other answer: it does not exist."""
    recovery = session.recovery
    if recovery is None or recovery.seen or recovery.stake.must:
        return
    session.erased = True
    judge.world.stored.pop(session.id, None)
    _free(judge.world, session.id, crash_blame.half_made(recovery.stake))


def settle_by_append(judge: Judge, handle: Handle, op: Append, outcome: Outcome) -> None:
    """Whether an append is taken, and the seq that a refusal names, tell where the recovered log ends."""
    session = handle.session
    recovery = session.recovery
    if recovery is None or recovery.fixed or not isinstance(op.events, list) or not op.events:
        return
    if not all(map(is_event, op.events)):
        return
    first = op.events[0]["seq"]
    longest = max(len(log) for log in (session.log, *recovery.others))
    end: Any = first
    if isinstance(outcome, Raised):
        if outcome.error.kind != "SessionContiguityError" or outcome.error.got != first:
            return
        end = outcome.error.expected
    if type(end) is not int:
        return
    wanted = f"the recovered log to end with {recovery.low} to {longest} events"
    if end < recovery.low:
        instance = judge.world.instances[handle.instance]
        judge.fail(crash_blame.short(handle, instance, session, end), wanted, f"it goes on at seq {end}")
    if end > longest:
        clause = crash_blame.beyond(judge.world.instances[handle.instance], session)
        judge.fail(clause, wanted, f"it goes on at seq {end}")
    narrow(judge.world, session, end, end)
    if not recovery.fixed:
        # Of the same length, and what it holds is not said.
        judge.world.blur(session)


def opened(world: World, handle: Handle) -> None:
    """A handle of the session was given."""
    recovery = handle.session.recovery
    if recovery is not None:
        recovery.opened = True
        if handle.is_writer:
            recovery.owned = True
            recovery.repaired[handle.instance] = world.step


def grew(world: World, handle: Handle) -> None:
    """An append of the handle was accepted."""
    recovery = handle.session.recovery
    if recovery is not None and recovery.grown_at is None:
        recovery.grown_at, recovery.healed = world.step, len(handle.session.log)
        recovery.repaired[handle.instance] = world.step


def read_back(world: World, handle: Handle, upto: int, *, whole: bool) -> None:
    """A read showed the events up to there exactly; ``whole``: all that there are, from the first."""
    session = handle.session
    recovery = session.recovery
    if whole:
        session.reborn = ""
    if recovery is None:
        return
    recovery.answered = True
    recovery.read = max(recovery.read, upto)
    recovery.counted_by = None
    fresh = recovery.grown_at is not None and world.instances[handle.instance].opened_at > recovery.grown_at
    if fresh and whole:
        # The recovered log and what followed it stand as they should: its life is an ordinary one again.
        session.recovery = None


def bounds(session: Session) -> tuple[int, ...]:
    """The seqs at which the clause about an event may change because of a crash."""
    recovery = session.recovery
    if recovery is None:
        return ()
    found = (seq for pair in recovery.stake.found for seq in pair)
    return (recovery.stake.covered, recovery.stake.by_barrier, recovery.read, recovery.kept, recovery.healed, *found)
