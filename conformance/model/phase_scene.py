"""What the calls of an overlap make of the ids that they are about, one after the other, as far as their outcomes tell.

A ``Scene`` is what the search for an order goes through (``phase_order``): it says of a call what is so behind it, or
that its outcome cannot be that at this place.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conformance.model.history import ErrorView, Raised
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Dispose,
    Flush,
    FlushInstance,
    HubFlush,
    OpenSession,
    Operation,
    Publish,
)
from conformance.model.phase import Flight, Phase
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.state import Session, World

EXISTS, OWNED, MISSING = "SessionAlreadyExistsError", "SessionAlreadyOwnedError", "SessionPersistenceNotFoundError"
CLOSED = "SessionHandleClosedError"
_CLOSED = {"pending": "absent", "haunting": "absent", "appended": "stored"}
_EMPTY = ("pending", "haunting")


@dataclass(slots=True, eq=False)
class Id:
    """What is known under one id. It is never changed, only made anew; nothing is made as often in a search.

    Attributes:
        state: "absent"; "pending": its home alone sees it; "haunting": the others may, for what failed, until it is
            closed; "appended": the others may; "stored": all see it; "unknown".
        home: the instance that has written or created it.
        owners: (instance, handle) of those who own it.
    """

    state: str = "unknown"
    home: int = -1
    owners: frozenset[tuple[int, int]] = frozenset()

    def owner_in(self, instance: int) -> bool:
        """Whether a handle of that instance owns it."""
        return any(where == instance for where, _ in self.owners)

    def is_seen(self, instance: int) -> bool | None:
        """Whether that instance sees it; None: it may."""
        if self.state == "unknown" or (self.state in ("appended", "haunting") and instance != self.home):
            return None
        return self.state != "absent" and (self.state != "pending" or instance == self.home)


UNKNOWN = Id()

_WRITES = (Append, Flush)
_CLOSES = (Close, CloseInstance)


@dataclass(slots=True, eq=False)
class Scene:
    """What the calls placed so far have made of the ids; of those in ``vague`` nothing is known. Never changed."""

    phase: Phase
    vague: frozenset[str]
    ids: dict[str, Id] = field(default_factory=dict)
    closed: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()

    def after(self, flight: Flight) -> Scene | None:
        """The scene after the call, or None where its outcome says that it cannot be placed here."""
        op = flight.op
        if flight.is_view:
            return self
        if flight.resolved and isinstance(op, _WRITES) and flight.session not in self.vague:
            # Most calls are like this.
            return self._written(flight)
        found = self.ids.get(flight.session or "", UNKNOWN)
        if flight.part is not None:
            owned = any(handle == flight.part for _, handle in found.owners)
            return self._with(flight.session, replace(found, state=self._after_sweep(flight, found))) if owned else self
        if isinstance(op, _CLOSES):
            return self._closed(op.handle) if isinstance(op, Close) else self._ended(op.instance)
        if flight.kind == "Hung" or flight.shows_fault or flight.cancelled:
            # What met a failing storage, or is in the log, had come that far: its handle was open.
            came_far = flight.shows_fault or flight.landed
            over = came_far and isinstance(op, _WRITES) and op.handle in self.closed
            return None if over else self._unsettled(op, "haunting" if flight.shows_fault else "unknown")
        if flight.session in self.vague:
            return self
        if isinstance(op, _WRITES):
            return self._written(flight)
        if isinstance(op, Create):
            return self._created(flight, found)
        if isinstance(op, OpenSession):
            return self._opened(flight, found)
        if flight.is_on_hub:
            return self._signalled(flight, found)
        if isinstance(op, FlushInstance) and flight.resolved:
            return None if op.instance in self.ended else self._swept(op.instance)
        return self

    def _after_sweep(self, flight: Flight, found: Id) -> str:
        """What a service flush made of a session: an empty one it may have left to a close that came meanwhile."""
        end = self.phase.end_of(flight.part if flight.part is not None else -1)
        closing = (end is not None and end.begin < flight.end) or self.phase.closing(flight.instance, flight)
        if closing and found.state in _EMPTY:
            return "unknown"
        if found.state in _EMPTY and any(names_session(each, flight.session or "") for each in _members(flight)):
            return "haunting"
        return "stored" if flight.resolved else "appended"

    def _with(self, name: str | None, now: Id) -> Scene:
        if name is None:
            return self
        return Scene(self.phase, self.vague, {**self.ids, name: now}, self.closed, self.ended)

    def _unsettled(self, op: Operation, state: str) -> Scene:
        """What a call may have stored that does not say so."""
        scene = self
        for name, found in self.ids.items():
            mine = any(handle == getattr(op, "handle", None) for _, handle in found.owners)
            swept = isinstance(op, FlushInstance) and found.owner_in(op.instance)
            if found.state in _EMPTY and ((mine and isinstance(op, _WRITES)) or swept):
                scene = scene._with(name, replace(found, state=state))
        return scene

    def _written(self, flight: Flight) -> Scene | None:
        if flight.op.handle in self.closed:
            return self if flight.kind == CLOSED else None
        if not flight.resolved:
            return self
        found = self.ids.get(flight.session or "", UNKNOWN)
        now = "stored" if isinstance(flight.op, Flush) else "appended"
        if found.state in ("stored", now) or (now == "appended" and not flight.op.events):
            return self
        return self._with(flight.session, Id(now, found.home, found.owners))

    def _swept(self, instance: int) -> Scene:
        scene = self
        for name, found in self.ids.items():
            if found.owner_in(instance):
                scene = scene._with(name, replace(found, state="stored"))
        return scene

    def _created(self, flight: Flight, found: Id) -> Scene | None:
        op = flight.op
        if flight.resolved:
            if op.instance in self.ended or found.is_seen(op.instance):
                return None
            owners = found.owners | {(op.instance, op.handle)}
            state = "unknown" if found.owners or found.state == "appended" else "pending"
            return self._with(flight.session, Id(state, op.instance, owners))
        if op.instance in self.ended:
            return self
        return None if flight.kind in (EXISTS, OWNED) and found.state == "absent" else self

    def _opened(self, flight: Flight, found: Id) -> Scene | None:
        op, writes = flight.op, flight.op.access == "write"
        seen = found.is_seen(op.instance)
        if flight.resolved:
            if op.instance in self.ended or seen is False or (writes and found.owner_in(op.instance)):
                return None
            now = replace(found, owners=found.owners | {(op.instance, op.handle)})
            return self._with(flight.session, now) if writes else self
        if op.instance in self.ended:
            return self
        if flight.kind == OWNED and writes and not found.owners:
            return None
        return None if flight.kind == MISSING and seen else self

    def _signalled(self, flight: Flight, found: Id) -> Scene:
        """What came of a signal of the hub for the session of that owner; an event may be stored from now on."""
        owners = [handle for where, handle in found.owners if where == flight.instance]
        if isinstance(flight.op, Dispose):
            return self._closed(owners[0]) if owners else self
        if not owners or not flight.resolved or found.state == "stored":
            return self
        if isinstance(flight.op, HubFlush):
            return self._with(flight.session, replace(found, state="stored"))
        return self._with(flight.session, replace(found, state="appended")) if isinstance(flight.op, Publish) else self

    def _closed(self, handle: int) -> Scene:
        where, name = self.phase.places.get(handle, (-1, ""))
        found = self.ids.get(name, UNKNOWN)
        scene = replace(self, closed=self.closed | {handle})
        if (where, handle) not in found.owners:
            return scene
        state = _CLOSED.get(found.state, found.state)
        return scene._with(name, Id(state, found.home, found.owners - {(where, handle)}))

    def _ended(self, instance: int) -> Scene:
        scene = self
        for handle, (where, _) in self.phase.places.items():
            if where == instance and handle not in scene.closed:
                scene = scene._closed(handle)
        return replace(scene, ended=scene.ended | {instance})


def _members(flight: Flight) -> tuple[ErrorView, ...]:
    return flight.outcome.error.members if isinstance(flight.outcome, Raised) else ()


def scene_of(world: World, phase: Phase) -> Scene:
    """What the calls begin with."""
    names = {name for _, name in phase.places.values()}
    names.update(phase.sessions())
    owning: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    closed = set()
    for number, handle in world.handles.items():
        if handle.closed:
            closed.add(number)
        elif handle.owns:
            owning[handle.session.id].add((handle.instance, handle.number))
    pending_under: defaultdict[str, list[Session]] = defaultdict(list)
    for (_, name), session in world.pending.items():
        pending_under[name].append(session)
    ids, vague = dict[str, Id](), set[str]()
    for name in sorted(names):
        owners, pending, stored = frozenset(owning[name]), pending_under[name], world.stored.get(name)
        if name in world.blurred or len(pending) + (stored is not None) > 1:
            vague.add(name)
            ids[name] = Id(owners=owners)
        elif pending:
            ids[name] = Id("pending", pending[0].creator, owners)
        elif stored is None:
            ids[name] = Id("absent", owners=owners)
        elif stored.unsure or stored.recovery is not None:
            ids[name] = Id(owners=owners)
        else:
            # What failed may have shown an empty one to others; for its own instance nothing has been called yet.
            # Where a published event waits the close has something to store.
            flows = stored.live is not None and bool(stored.live.waiting)
            empty = not stored.durable and not stored.log and not flows and world.trouble is not None
            home = stored.creator if empty else -1 if stored.home is None else stored.home
            ids[name] = Id("stored" if stored.durable else "haunting" if empty else "appended", home, owners)
    ended = frozenset([number for number, instance in world.instances.items() if instance.closed])
    return Scene(phase, frozenset(vague), ids, frozenset(closed), ended)
