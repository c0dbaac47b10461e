"""How what the model knows changes when a call has done what it should: barriers, materialisation, ends."""

from __future__ import annotations

from enum import Enum

from conformance.contract import Capabilities
from conformance.model.state import STRONG_TAGS, Handle, Session, World


class Standing(Enum):
    """What a write handle that is not closed may still do.

    ``OWNER``: everything. ``BEATEN``: nothing, another instance stored the id first (SVC-12). ``CONTESTED``: perhaps
    nothing, another instance wrote under the id but nothing says that it is stored. ``DISPLACED``: it was told that it
    lost, or another instance opened the session for writing or wrote it beside this one; little is promised to it.
    """

    OWNER, BEATEN, CONTESTED, DISPLACED = range(4)


def standing(world: World, handle: Handle) -> Standing:
    """The standing of a write handle."""
    rival = world.rival(handle.session)
    if rival is not None and rival is not handle.session:
        return Standing.BEATEN if rival.settled else Standing.CONTESTED
    session = handle.session
    former = world.former.get(session.id) if world.former else None
    if (
        session.pending
        and former is not None
        and any(each.instance != handle.instance for each in world.writers(former))
    ):
        # Damage took what another instance still owns, and that one may keep others out.
        return Standing.CONTESTED
    if handle.lost or not handle.owns or session.opaque or handle.left_at != len(session.log):
        return Standing.DISPLACED
    return Standing.OWNER


def touch(world: World, session: Session) -> None:
    """The existence of the id may have changed."""
    world.changes[session.id] = world.changes.get(session.id, 0) + 1


def demote(world: World, session_id: str) -> None:
    """What was written under the id turned out not to be stored: it is pending again, in the instance that wrote it."""
    session = world.stored.pop(session_id, None)
    if session is not None and not session.unsure:
        session.pending = True
        world.pending[session.creator, session_id] = session


def materialise(world: World, session: Session) -> None:
    """The session is stored: other instances may see it from now on."""
    if session.pending:
        demote(world, session.id)
        session.pending = False
        world.pending.pop((session.creator, session.id), None)
        world.stored[session.id] = session
    touch(world, session)


def cover(world: World, handle: Handle, kind: str) -> None:
    """A barrier of this kind resolved on the handle: its session exists, and its log so far is in F."""
    session = handle.session
    materialise(world, session)
    recovery = session.recovery
    if recovery is not None and not recovery.fixed:
        # How much it covers is told by the first look at the log.
        recovery.covers = True
        upto = recovery.low
    else:
        upto = len(session.log)
    note_found(session, handle, upto)
    session.covered = session.by_barrier = upto
    session.durable = session.barred = True
    session.barrier_call = world.call
    session.barriers.append((world.call, upto))
    session.barrier_kind, session.barrier_at = kind, world.step
    session.stir += 1
    forget_looks(session)
    handle.dirty = False


def note_found(session: Session, handle: Handle, upto: int) -> None:
    """A barrier of the handle covers the session and that many events: of these it had found, and not written, some."""
    if not session.barred and handle.reopened:
        session.exists_found = True
    end = min(handle.found, upto)
    if end > session.by_barrier:
        session.found.append((session.by_barrier, end))


def confirm(session: Session) -> None:
    """An instance showed the session: whatever was open about its existence, it exists."""
    if session.recovery is not None:
        session.recovery.seen = session.survived = True
        session.unsure = False
    elif session.unsure:
        session.unsure, session.durable = False, True


def forget_looks(session: Session) -> None:
    """The session was written: whoever only looked before that is no longer the first to be suspected."""
    if session.tags:
        session.tags = [tag for tag in session.tags if tag in STRONG_TAGS]


def hush(world: World, session: Session, clause: str) -> None:
    """Something was done to the session that must change its revision in no instance."""
    for instance in world.instances.values():
        book = instance.revisions.get(session.id)
        if book is not None:
            book.quiet.append(clause)


def end_ownership(handle: Handle) -> None:
    """The handle owns nothing from now on."""
    if handle.owns:
        handle.session.owner = None


def end_handle(world: World, handle: Handle, kind: str, capabilities: Capabilities, *, failed: bool) -> None:
    """The first close of a handle ended, by itself or with its service; ``failed`` where it raised."""
    session = handle.session
    found = standing(world, handle) if handle.is_writer else Standing.DISPLACED
    if found is Standing.OWNER:
        _settle_close(world, handle, kind, capabilities)
    elif found is Standing.BEATEN or (found is Standing.CONTESTED and not session.log):
        # What it did not store must not have cost the winner anything.
        world.stored[session.id].tag("SVC-12")
        _erase(world, session)
    elif found is Standing.CONTESTED:
        # Perhaps it stored its events after all and beat the other instance.
        world.blur(session)
    elif handle.is_writer and handle.dirty and not failed and handle.left_at == len(session.log):
        cover(world, handle, kind)
    end_ownership(handle)


def _settle_close(world: World, handle: Handle, kind: str, capabilities: Capabilities) -> None:
    """The first close of an owner resolved: a barrier, unless the session never was (MAT-03)."""
    session = handle.session
    if session.log or session.durable or session.survived:
        if handle.dirty or session.covered < len(session.log) or not session.durable:
            cover(world, handle, kind)
        if kind == "close":
            session.closed_at = world.step
    elif capabilities.materialization == "eager":
        session.unsure = True
        touch(world, session)
    else:
        _erase(world, session)
        aimed = (clause for clause in ("CLOSE-06", "SEQ-08", "SEQ-03") if clause in session.tags)
        world.never[session.id] = next(aimed, "MAT-03")


def _erase(world: World, session: Session) -> None:
    """The session never was."""
    session.erased = True
    world.pending.pop((session.creator, session.id), None)
    if world.stored.get(session.id) is session:
        # An append that failed may have shown it to others.
        del world.stored[session.id]
    touch(world, session)
