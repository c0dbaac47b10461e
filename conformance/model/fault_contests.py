"""Two owners of one session in two instances, where an append of the first failed and is not made up for.

Where nobody keeps instances apart a second owner is let in. It may count in what the failed append left, or not; until
it appends, or a flush of it covers what it found, either is right, and what it saw may go again, for the first one may
undo its append. With that the first one has taken part again, and the second is no longer sure to own. From the append
or flush on the log is what that made it, in every instance, and nothing that the first one does may take it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.model.aftermath import Damage, Recovery, Stake
from conformance.model.batches import is_event
from conformance.model.history import Outcome, Raised
from conformance.model.operations import Append
from conformance.model.state import Handle, Session, World
from conformance.model.transitions import Standing, standing
from conformance.model.trouble import Batch, Contest, Mishap, Trouble
from conformance.model.values import same

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def contend(trouble: Trouble, handle: Handle) -> None:
    """A write open resolved: another instance may still have to undo an append that failed."""
    mishap = trouble.mishap(handle.session.serial)
    failing = [each.instance for each in mishap.hauntings if each.until is None and each.instance != handle.instance]
    if failing and mishap.ghosts and handle.session.recovery is None and not handle.session.opaque:
        mishap.contest = Contest(failing[-1])


def wake(world: World, session: Session, mishap: Mishap, handle: Handle) -> None:
    """A handle of the instance in which the append failed does something: it may undo it beside the present owner."""
    contest = mishap.contest
    if contest is None or handle.instance != contest.by or not handle.is_writer:
        return
    contest.seen = None
    owner = session.owner
    if owner is None or owner.instance == contest.by:
        return
    session.owner = None
    if not session.durable:
        # The session itself may go with the append, beside whoever found it.
        world.blur(session)


def note_shown(mishap: Mishap, handle: Handle, log: Batch) -> None:
    """A whole read showed the session with that log, of which the end is of a failed append, or nothing is."""
    if mishap.contest is not None and handle.owns and handle.instance != mishap.contest.by:
        mishap.contest.seen = list(log)


def take_in(judge: Judge, handle: Handle, op: Append, outcome: Outcome) -> None:
    """An append resolved at a seq that only what failed leads to: that is part of the log."""
    trouble, session = judge.world.trouble, handle.session
    mishap = None if trouble is None else trouble.mishaps.get(session.serial)
    if mishap is None or mishap.contest is None or isinstance(outcome, Raised) or not _has_first(op.events):
        return
    end, first = len(session.log), op.events[0]["seq"]
    if first <= end or not handle.is_writer:
        return
    longer = [log for log in _longer(session.log, mishap) if len(log) == first]
    if mishap.contest.seen is not None and len(mishap.contest.seen) == first:
        longer = [mishap.contest.seen]
    if not longer:
        return
    if any(not same(longer[0], each) for each in longer):
        judge.world.blur(session)
        return
    session.log = list(longer[0])
    session.stir += 1
    handle.left_at = handle.found = first


def adopt(judge: Judge, handle: Handle, mishap: Mishap) -> None:
    """A flush of the second owner covers the log as it found it; where nobody knows that, the first look tells."""
    session, contest = handle.session, mishap.contest
    if contest is None or handle.instance == contest.by or standing(judge.world, handle) is not Standing.OWNER:
        return
    longer = sorted(_longer(session.log, mishap), key=len, reverse=True)
    if contest.seen is not None:
        session.log = list(contest.seen)
        session.covered = session.by_barrier = handle.left_at = handle.found = len(session.log)
        session.barriers.append((judge.world.call, len(session.log)))
        session.grown_at, session.grown_call, mishap.owing = judge.world.step, judge.world.call, ""
    elif longer:
        stake = Stake(must=True, covered=session.covered, by_barrier=session.by_barrier, located=judge.located)
        others = [*longer[1:], list(session.log)]
        session.recovery = Recovery(stake, Damage(fault=True), session.covered, others, covers=True)
        session.log, session.home = longer[0], None
        handle.left_at = handle.found = len(session.log)
    session.stir += 1
    mishap.lay(judge.world.span[1])
    settle(mishap)


def settle(mishap: Mishap) -> None:
    """What failed is part of the log, or never will be."""
    mishap.contest = None
    mishap.replaced, mishap.ghosts, mishap.hidden, mishap.hits = [*mishap.replaced, *mishap.ghosts], [], [], 0


def _longer(log: Batch, mishap: Mishap) -> list[Batch]:
    """The log with what failed behind it, or with a part of that."""
    end = len(log)
    ghosts = [each for each in mishap.ghosts if each[0]["seq"] == end]
    return [log + ghost[:upto] for ghost in ghosts for upto in range(1, len(ghost) + 1)]


def _has_first(events: Any) -> bool:
    return isinstance(events, list) and bool(events) and all(map(is_event, events))
