"""What follows from calls in a world in which storage fails or has failed, once the rules had no objection to them.

What a failed append may have left, what a failed close leaves open, and when either is settled. The rejections
themselves are judged in ``conformance.model.fault_rules``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model import crash_rules, fault_blame, fault_contests
from conformance.model.aftermath import Damage, Stake
from conformance.model.foresight import Prospect
from conformance.model.history import Outcome, Raised
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Crash,
    Create,
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
from conformance.model.transitions import materialise, touch
from conformance.model.trouble import Mishap, Trouble

if TYPE_CHECKING:
    from conformance.model.judge import Judge

_LOOKS = (Read, Stat, ListSessions)


class Before:
    """What has to be known from before a call, to follow it.

    Attributes:
        length: events in the log of the handle's session. owned: the sessions whose owner the call may close.
        under_way: serials of the sessions that a call may write, in which a crash comes.
    """

    __slots__ = ("length", "owned", "under_way")

    def __init__(self, world: World, op: Operation) -> None:
        handle = world.handles.get(getattr(op, "handle", -1))
        self.length = 0 if handle is None else len(handle.session.log)
        self.owned: list[Session] = []
        during = op.during if isinstance(op, Crash) else None
        self.under_way = set() if during is None else {session.serial for session, _ in touched(world, during)}
        if isinstance(op, Close | Leave | CloseInstance):
            about = ((session, each) for session, each in touched(world, op) if each is not None)
            instance = getattr(op, "instance", None)
            self.owned = [session for session, each in about if each.owns and instance in (None, each.instance)]


def touched(world: World, op: Operation) -> list[tuple[Session, Handle | None]]:
    """The sessions that a call is about, each with the handle that it works on; all owned ones for whole services."""
    handle = world.handles.get(getattr(op, "handle", -1))
    if isinstance(op, OpenSession | Create | Stat):
        name = op.header.id if isinstance(op, Create) else op.session
        session, _ = world.visible(op.instance, name) if isinstance(name, str) else (None, True)
        return [] if session is None else [(session, None)]
    if handle is not None:
        return [(handle.session, handle)]
    if isinstance(op, (*_LOOKS, OpenInstance)):
        return []
    return [(each.session, each) for each in world.handles.values() if each.is_writer and not each.closed]


def leave_open(judge: Judge, trouble: Trouble, session: Session) -> None:
    """How much of the log is stored past what a barrier covered, and whether a ghost is: the first look settles it."""
    world = judge.world
    rival = world.rival(session)
    if rival is not None and rival is not session:
        world.blur(session)
        return
    if session.pending:
        materialise(world, session)
    mishap = trouble.mishap(session.serial)
    if mishap.contest is not None:
        world.blur(session)
        return
    stake = Stake(
        must=session.durable,
        covered=session.covered,
        by_barrier=session.by_barrier,
        exists_by_barrier=session.barred,
        in_flight=True,
        quiet=False,
        located=judge.located,
    )
    end = acknowledged = len(session.log)
    hidden = [each for each in mishap.hidden if each and each[0]["seq"] == end]
    logs = (*(session.log + each for each in (*mishap.ghosts, *hidden)), list(session.log))
    mishap.hidden = [*mishap.ghosts, *hidden]
    prospect = Prospect(session.id, session.header, session.inherited, stake, logs, session)
    failed = session.home
    if failed is None and session.recovery is not None:
        failed = session.recovery.by
    crash_rules.leave(judge, prospect, Damage(fault=True))
    if session.recovery is not None:
        session.recovery.by, session.recovery.acknowledged = failed, acknowledged
    touch(world, session)
    session.stir += 1
    mishap.replaced, mishap.ghosts, mishap.hits = [*mishap.replaced, *mishap.ghosts], [], 0


def settle(judge: Judge, op: Operation, outcome: Outcome, before: Before) -> None:
    """Follow a call to which the ordinary rules had no objection."""
    trouble = judge.world.trouble
    if trouble is None:
        return
    if isinstance(op, Crash):
        _settle_crash(judge, trouble, before.under_way)
        return
    resolved = not isinstance(outcome, Raised)
    handle = judge.world.handles.get(getattr(op, "handle", -1))
    if isinstance(op, Append) and resolved and handle is not None and before.length < len(handle.session.log):
        _settle_append(judge, trouble, handle, op)
    elif isinstance(op, Flush | FlushInstance) and resolved:
        for session, each in touched(judge.world, op):
            if each is not None:
                fault_contests.adopt(judge, each, trouble.mishap(session.serial))
                _settle_barrier(judge, trouble, each)
    elif isinstance(op, Close | Leave | CloseInstance) and resolved:
        for session in before.owned:
            _settle_close(judge, trouble, session)
    elif isinstance(op, Close | Leave) and handle is not None and handle.lost:
        # It had ended itself, and what failed in it may be stored.
        for session in before.owned:
            leave_open(judge, trouble, session)
    elif isinstance(op, OpenSession) and op.access == "write" and resolved and handle is not None:
        trouble.forget(op.handle)
        mishap = trouble.mishap(handle.session.serial)
        if mishap.close_failed:
            judge.witness("OWN-07")
            mishap.close_failed = False
        _take_back(handle, mishap)
        fault_contests.contend(trouble, handle)
    elif isinstance(op, Read) and resolved and handle is not None:
        _settle_read(judge, trouble, handle)
        if op.offset == 0 and op.length is None:
            fault_contests.note_shown(trouble.mishap(handle.session.serial), handle, handle.session.log)
        if op.offset == 0 and op.length is None:
            _settle_whole_read(judge, trouble, handle.session)
    if trouble.fails_now and resolved and isinstance(op, _LOOKS):
        judge.witness("FAULT-04")
    if trouble.now and not trouble.fails_now and resolved and isinstance(op, Append | Flush | Close):
        # A write took a part and reported no error: to reject for that would have been wrong.
        judge.witness("FAULT-01")
    if trouble.fired and not trouble.now and resolved and _is_aside(judge, trouble, op):
        judge.witness("FAULT-08")


def _take_back(handle: Handle, mishap: Mishap) -> None:
    """The next owner in the instance whose close failed may undo what that left, whatever others saw of it."""
    session = handle.session
    recovery = session.recovery
    if recovery is None or recovery.by != handle.instance or recovery.grown_at is not None or not mishap.hidden:
        return
    base = min(each[0]["seq"] for each in mishap.hidden)
    if not recovery.fixed or session.covered > base or len(session.log) <= base:
        return
    recovery.fixed, recovery.low, recovery.others = False, min(recovery.low, base), [session.log[:base]]
    recovery.read, session.kept, session.verified = min(recovery.read, base), min(session.kept, base), base
    for instance, upto in session.shown.items():
        session.shown[instance] = min(upto, base)


def _is_aside(judge: Judge, trouble: Trouble, op: Operation) -> bool:
    """Whether a call is about a session that no fault touched."""
    about = touched(judge.world, op) if isinstance(op, Append | Flush | Close | Read | OpenSession | Stat) else []
    return any(trouble.mishap(session.serial).hit_at < 0 for session, _ in about)


def _settle_append(judge: Judge, trouble: Trouble, handle: Handle, op: Append) -> None:
    mishap, grip = trouble.mishap(handle.session.serial), trouble.grip(handle.number)
    mishap.hidden = []
    mishap.lay(judge.world.span[1])
    if mishap.contest is not None:
        fault_contests.settle(mishap)
    if mishap.ghosts and not trouble.now:
        mishap.swapped = not fault_blame.is_one_of(op.events, mishap.ghosts)
        if not mishap.swapped:
            judge.witness("FAULT-02")
    mishap.replaced, mishap.ghosts, mishap.hits = [*mishap.replaced, *mishap.ghosts], [], 0
    if trouble.now:
        mishap.owing = "FAULT-01"
    grip.rejected, grip.owed = False, grip.owed or trouble.fails_now


def _settle_barrier(judge: Judge, trouble: Trouble, handle: Handle) -> None:
    mishap, grip = trouble.mishap(handle.session.serial), trouble.grip(handle.number)
    if grip.rejected and not trouble.now:
        judge.witness("FAULT-02")
    if not trouble.now:
        mishap.hidden = []
    if trouble.now:
        mishap.barrier_hit_at, mishap.owing = judge.world.step, "FAULT-01"
    grip.rejected = grip.owed = False


def _settle_close(judge: Judge, trouble: Trouble, session: Session) -> None:
    """Where repairs met faults too, what failed may be stored all the same, behind what the close covered."""
    mishap = trouble.mishap(session.serial)
    if trouble.now:
        mishap.barrier_hit_at, mishap.owing = judge.world.step, "FAULT-05"
    if session.opaque or not mishap.hits or mishap.contest is not None:
        return
    if mishap.ghosts and mishap.hits > 1:
        leave_open(judge, trouble, session)
    elif session.erased and mishap.hits > 1:
        judge.world.blur(session)


def _settle_crash(judge: Judge, trouble: Trouble, under_way: set[int]) -> None:
    """What a ghost may have left is told by the recovery now; a call under way may have stored it once more."""
    trouble.grips.clear()
    for each in trouble.mishaps.values():
        each.lay(judge.world.span[1])
    for session in judge.world.stored.values():
        mishap = trouble.mishaps.get(session.serial)
        if mishap is None:
            continue
        mishap.contest = None
        only_once = bool(mishap.ghosts) and mishap.hits == 1 and session.recovery is not None
        only_once = only_once and session.serial not in under_way
        mishap.residue = list(mishap.ghosts) if only_once else []
        mishap.residue_at = min((each[0]["seq"] for each in mishap.residue), default=0)
        mishap.replaced, mishap.ghosts, mishap.hits = [*mishap.replaced, *mishap.ghosts], [], 0


def _settle_whole_read(judge: Judge, trouble: Trouble, session: Session) -> None:
    mishap = trouble.mishap(session.serial)
    if mishap.swapped:
        judge.witness("FAULT-10")
        mishap.swapped = False
    if session.barrier_at > mishap.hit_at:
        mishap.owing = ""


def _settle_read(judge: Judge, trouble: Trouble, handle: Handle) -> None:
    """FAULT-03, FAULT-07: what came through a crash, where storage had failed before.

    Where one fault only came, the append that failed could have taken away what it had written.
    """
    session = handle.session
    mishap, recovery = trouble.mishaps.get(session.serial), session.recovery
    if mishap is None or recovery is None or not recovery.fixed or recovery.damage.fault:
        return
    if 0 <= mishap.sync_hit_at < session.barrier_at and session.covered:
        judge.witness("FAULT-03")
    if not mishap.residue:
        return
    residue, mishap.residue = mishap.residue, []
    if recovery.grown_at is not None:
        return
    if len(session.log) > mishap.residue_at:
        judge.fail(
            "FAULT-07",
            f"a log of {mishap.residue_at} events: the append behind them failed, and could have taken back its bytes",
            f"{len(session.log) - mishap.residue_at} events of the failed append, of {max(map(len, residue))}",
        )
    judge.witness("FAULT-07")
