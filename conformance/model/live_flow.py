"""What is on its way into the logs: what waits, until when it may, and how it becomes part of its log.

Published events are *waiting* until the model knows that the log has them: because their window has ended, because a
barrier covered them, or because somebody was shown them. From then on they are events of the log like any other, and
the clause by which they had to be there is remembered with them (``Session.promised``). While storage fails no window
binds; then only barriers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.model.batches import is_event
from conformance.model.history import ErrorView, FaultView
from conformance.model.live_state import Live
from conformance.model.operations import Fail, Operation, Wait
from conformance.model.state import Handle, Session
from conformance.model.transitions import forget_looks, materialise
from conformance.model.values import plain

if TYPE_CHECKING:
    from conformance.model.judge import Judge

WRITING = frozenset({"write", "sync"})
TRIES = 4
"""Storage calls of a later try for each one of the first, at most."""


def active(judge: Judge, instance: int, name: str) -> Handle | None:
    """The handle that what the session publishes on this instance's hub goes to."""
    for handle in judge.world.handles.values():
        if handle.instance == instance and handle.session.id == name and handle.owns and not handle.closed:
            return handle
    return None


def live_of(judge: Judge, session: Session) -> Live:
    """What is on its way into the log of this session."""
    judge.world.live[session.serial] = session
    session.live = session.live or Live()
    return session.live


def flowing(judge: Judge) -> Iterator[tuple[Session, Live]]:
    """The sessions of which something waits."""
    for session in judge.world.live.values():
        if session.live is not None and session.live.waiting and not session.opaque:
            yield session, session.live


def broken_at(session: Session) -> int | None:
    """The place of the first waiting event that cannot be stored where it stands, or None."""
    for place, each in enumerate(session.live.waiting if session.live is not None else ()):
        if each.bad or each.event["seq"] != len(session.log) + place:
            return place
    return None


def promote(judge: Judge, session: Session, count: int, clause: str) -> None:
    """The first waiting events are in the log now, because of this clause."""
    world, live = judge.world, session.live
    if live is None or count <= 0:
        return
    if live.moved and clause != "LIVE-12":
        clause = "LIVE-10"
    live.moved = live.lost = False
    taken, live.waiting = live.waiting[:count], live.waiting[count:]
    first = len(session.log)
    session.log.extend(each.event for each in taken)
    session.starts.update(range(first, len(session.log)))
    session.promised.append((first, len(session.log), clause))
    handle = session.owner
    if handle is not None:
        session.home = handle.instance
        handle.left_at = len(session.log)
        handle.wrote = handle.dirty = True
    session.stir += 1
    session.grown_at, session.grown_call = world.step, world.call
    session.grown.append((world.call, len(session.log)))
    forget_looks(session)
    if world.trouble is not None and not live.waiting:
        world.trouble.mishap(session.serial).lay(world.span[1], len(session.log))
    if world.rival(session) is None:
        materialise(world, session)


def advance(judge: Judge) -> None:
    """LIVE-01, LIVE-02: what waits in a window that has ended is in the log."""
    window = judge.capabilities.live_window
    for session, live in flowing(judge):
        while window is not None and live.waiting and not live.held:
            due = live.waiting[0].at + round(window * 1_000_000)
            broken = broken_at(session)
            # What waited may be stored before its window ends, and what comes then opens the next one: it has joined
            # for certain where a look behind it found the first one waiting still.
            sure = max(live.waiting[0].at + 1, min(due, live.looked))
            joined = [each for each in live.waiting if each.at < sure]
            if due >= judge.world.now or (broken is not None and broken < len(joined)):
                # One that cannot be stored is told by the next barrier, and what stands before it is not bound either.
                break
            alone = len(live.waiting) == 1 or live.waiting[1].at > due
            promote(judge, session, len(joined), "LIVE-01" if alone else "LIVE-02")


def hold(judge: Judge, op: Fail) -> None:
    """Storage may fail from here on: no window binds before the next barrier."""
    judge.world.failing = op
    for _, live in flowing(judge):
        live.held = True


def background_failed(judge: Judge, op: Operation, faults: tuple[FaultView, ...]) -> None:
    """Storage failed while nobody was calling: a write of what waited may have failed (LIVE-04)."""
    failing, window = judge.world.failing, judge.capabilities.live_window
    if not isinstance(op, Wait) or window is None or not any(each.error for each in faults):
        return
    begun = judge.world.now - round(window * 1_000_000)
    due = [(session, live) for session, live in flowing(judge) if live.waiting[0].at <= begun]
    for session, live in due:
        met = [each for each in faults if each.error and each.session in (None, session.id)]
        if not met:
            continue
        # Where the artifact does not tell whose call it was, only one session may have been about to write; of one that
        # is blurred nobody knows.
        alone = len(due) == 1 and not judge.world.blurred
        its_own = alone or any(each.session for each in met)
        if its_own and failing is not None and failing.sticky and WRITING & set(failing.calls):
            # Once it is told, nobody need say it again before a barrier.
            live.owes = live.owes if live.failed else "LIVE-04"
            _count_tries(judge, live, len(met))
        live.held = live.failed = True


def _count_tries(judge: Judge, live: Live, met: int) -> None:
    """LIVE-04: what failed is tried again once for each window, whatever is published meanwhile."""
    window, ended = judge.capabilities.live_window, judge.world.now
    if window is None:
        return
    if live.first_try is None:
        live.first_try = ended, met
        return
    live.tries += met
    began, first = live.first_try
    # One try may come to more calls than another, and may begin in this window or in the next.
    most = TRIES * first * (2 + (ended - began) / max(window * 1_000_000, 1))
    if live.tries > most:
        judge.fail(
            "LIVE-04",
            "what failed in the background to be tried again at most once for each window, or by the next flush",
            f"{live.tries} calls of the storage failed in {ended - began:,} us, of which one try takes {first}",
        )


def names_seq(judge: Judge, error: ErrorView, seq: Any) -> None:
    """LIVE-14: whoever tells that an event cannot be stored names its seq."""
    if isinstance(seq, int) and not isinstance(seq, bool):
        said = " ".join([error.message, *error.notes, *(each.message for each in error.members)])
        if str(seq) not in said and error.got != seq and all(each.got != seq for each in error.members):
            judge.fail("LIVE-14", f"an error that names the event's seq, {seq}")
    judge.witness("LIVE-14")


def lingers(judge: Judge, session: Session, instance: int | None) -> bool:
    """Whether this instance may see of what waits what may go again: storage has failed, and another one owns it."""
    trouble, owner, live = judge.world.trouble, session.owner, session.live
    if trouble is None or not trouble.fired or live is None or owner is None or owner.instance == instance:
        return False
    batch = [plain(each.event) for each in live.waiting if is_event(each.event)]
    trouble.mishap(session.serial).linger(batch, owner.instance)
    return bool(batch)
