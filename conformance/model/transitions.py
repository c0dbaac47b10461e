"""How what the model knows changes when a call has done what it should: barriers, materialisation, ends."""

from __future__ import annotations

from conformance.contract import Capabilities
from conformance.model.state import Handle, Session, World


def touch(world: World, session: Session) -> None:
    """The existence of the id may have changed."""
    world.changes[session.id] = world.changes.get(session.id, 0) + 1


def materialise(world: World, session: Session) -> None:
    """The session is stored: other instances may see it from now on."""
    if session.pending:
        session.pending = False
        world.pending.pop((session.creator, session.id), None)
        world.stored[session.id] = session
    touch(world, session)


def cover(world: World, handle: Handle, kind: str) -> None:
    """A barrier of this kind resolved on the handle: its session exists, and its log so far is in F."""
    session = handle.session
    materialise(world, session)
    session.covered = len(session.log)
    session.durable = True
    session.barrier_kind, session.barrier_at = kind, world.step
    session.stir += 1
    handle.dirty = False


def end_ownership(handle: Handle) -> None:
    """The handle owns nothing from now on."""
    if handle.owns:
        handle.session.owner = None


def settle_close(world: World, handle: Handle, kind: str, capabilities: Capabilities) -> None:
    """The first close of an owner resolved: a barrier, unless the session never was (MAT-03)."""
    session = handle.session
    if session.log or session.durable:
        if handle.dirty:
            cover(world, handle, kind)
        if kind == "close":
            session.closed_at = world.step
    elif capabilities.materialization == "eager":
        session.unsure = True
        touch(world, session)
    else:
        session.erased = True
        world.pending.pop((session.creator, session.id), None)
        world.never[session.id] = handle.instance
        touch(world, session)
