"""An order in which the calls of an overlap may have taken effect, one after the other.

The order keeps what is certain: a call that had ended came before one that began later, and what changes a session
through one handle does so in the order of the calls. Beyond that it is searched for among those in which each create,
open and close finds what its outcome says it found; what the calls then hold against each other is for the ordinary
rules. Mostly the order of the begins is right at once, for two calls in flight mostly have nothing to do with each
other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from conformance.model.state import Session, World

MOST_NODES = 4_000
"""Prefixes of orders that are looked at before it is called undecided."""

EXISTS, OWNED, MISSING = "SessionAlreadyExistsError", "SessionAlreadyOwnedError", "SessionPersistenceNotFoundError"
CLOSED = "SessionHandleClosedError"
_CLOSED = {"pending": "absent", "haunting": "absent", "appended": "stored"}
_EMPTY = ("pending", "haunting")


@dataclass(frozen=True, slots=True)
class Order:
    """The calls in order.

    Attributes:
        fits: each of them finds what its outcome says; else they stand in the order in which they began.
        decided: the search came to its end.
    """

    flights: list[Flight]
    fits: bool = True
    decided: bool = True


@dataclass(slots=True, eq=False)
class _Id:
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


_UNKNOWN = _Id()

_WRITES = (Append, Flush)
_CLOSES = (Close, CloseInstance)


@dataclass(slots=True, eq=False)
class _Scene:
    """What the calls placed so far have made of the ids; of those in ``vague`` nothing is known. Never changed."""

    phase: Phase
    vague: frozenset[str]
    ids: dict[str, _Id] = field(default_factory=dict)
    closed: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()

    def after(self, flight: Flight) -> _Scene | None:
        """The scene after the call, or None where its outcome says that it cannot be placed here."""
        op = flight.op
        if flight.is_view:
            return self
        if flight.resolved and isinstance(op, _WRITES) and flight.session not in self.vague:
            # Most calls are like this.
            return self._written(flight)
        found = self.ids.get(flight.session or "", _UNKNOWN)
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

    def _after_sweep(self, flight: Flight, found: _Id) -> str:
        """What a service flush made of a session: an empty one it may have left to a close that came meanwhile."""
        end = self.phase.end_of(flight.part if flight.part is not None else -1)
        closing = (end is not None and end.begin < flight.end) or self.phase.closing(flight.instance, flight)
        if closing and found.state in _EMPTY:
            return "unknown"
        return "stored" if flight.resolved else "appended"

    def _with(self, name: str | None, now: _Id) -> _Scene:
        if name is None:
            return self
        return _Scene(self.phase, self.vague, {**self.ids, name: now}, self.closed, self.ended)

    def _unsettled(self, op: Operation, state: str) -> _Scene:
        """What a call may have stored that does not say so."""
        scene = self
        for name, found in self.ids.items():
            mine = any(handle == getattr(op, "handle", None) for _, handle in found.owners)
            swept = isinstance(op, FlushInstance) and found.owner_in(op.instance)
            if found.state in _EMPTY and ((mine and isinstance(op, _WRITES)) or swept):
                scene = scene._with(name, replace(found, state=state))
        return scene

    def _written(self, flight: Flight) -> _Scene | None:
        if flight.op.handle in self.closed:
            return self if flight.kind == CLOSED else None
        if not flight.resolved:
            return self
        found = self.ids.get(flight.session or "", _UNKNOWN)
        now = "stored" if isinstance(flight.op, Flush) else "appended"
        if found.state in ("stored", now) or (now == "appended" and not flight.op.events):
            return self
        return self._with(flight.session, _Id(now, found.home, found.owners))

    def _swept(self, instance: int) -> _Scene:
        scene = self
        for name, found in self.ids.items():
            if found.owner_in(instance):
                scene = scene._with(name, replace(found, state="stored"))
        return scene

    def _created(self, flight: Flight, found: _Id) -> _Scene | None:
        op = flight.op
        if flight.resolved:
            if op.instance in self.ended or found.is_seen(op.instance):
                return None
            owners = found.owners | {(op.instance, op.handle)}
            state = "unknown" if found.owners or found.state == "appended" else "pending"
            return self._with(flight.session, _Id(state, op.instance, owners))
        if op.instance in self.ended:
            return self
        return None if flight.kind in (EXISTS, OWNED) and found.state == "absent" else self

    def _opened(self, flight: Flight, found: _Id) -> _Scene | None:
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

    def _signalled(self, flight: Flight, found: _Id) -> _Scene:
        """What came of a signal of the hub for the session of that owner; an event may be stored from now on."""
        owners = [handle for where, handle in found.owners if where == flight.instance]
        if isinstance(flight.op, Dispose):
            return self._closed(owners[0]) if owners else self
        if not owners or not flight.resolved or found.state == "stored":
            return self
        if isinstance(flight.op, HubFlush):
            return self._with(flight.session, replace(found, state="stored"))
        return self._with(flight.session, replace(found, state="appended")) if isinstance(flight.op, Publish) else self

    def _closed(self, handle: int) -> _Scene:
        where, name = self.phase.places.get(handle, (-1, ""))
        found = self.ids.get(name, _UNKNOWN)
        scene = replace(self, closed=self.closed | {handle})
        if (where, handle) not in found.owners:
            return scene
        state = _CLOSED.get(found.state, found.state)
        return scene._with(name, _Id(state, found.home, found.owners - {(where, handle)}))

    def _ended(self, instance: int) -> _Scene:
        scene = self
        for handle, (where, _) in self.phase.places.items():
            if where == instance and handle not in scene.closed:
                scene = scene._closed(handle)
        return replace(scene, ended=scene.ended | {instance})


def arrange(world: World, phase: Phase, flights: list[Flight]) -> Order:
    """An order of these calls; their own order, which must be that of their begins, where none fits.

    A service flush is in it handle by handle, but for one that was refused.
    """
    if sweeps := bool(phase.calls(FlushInstance)):
        flights = [part for each in flights for part in _parts(world, phase, each)]
    scene = _begin(world, phase)
    if not (sweeps and any(map(_is_whole_sweep, flights))) and _fits(scene, flights):
        return Order(flights)
    before = _predecessors(phase, flights)
    path, seen, nodes = list[Flight](), set[frozenset[int]](), 0

    def search(scene: _Scene, placed: frozenset[int]) -> bool:
        nonlocal nodes
        if len(path) == len(flights):
            return True
        if placed in seen or nodes >= MOST_NODES:
            return False
        nodes += 1
        seen.add(placed)
        for each in flights:
            if id(each) in placed or not before[id(each)] <= placed:
                continue
            after = scene.after(each)
            if after is None:
                continue
            path.append(each)
            if search(after, placed | {id(each)}):
                return True
            path.pop()
        return False

    if search(scene, frozenset()):
        return Order(path)
    return Order(flights, fits=False, decided=nodes < MOST_NODES)


_GO_ON = (Close, Flush, FlushInstance, CloseInstance, HubFlush, Dispose)
"""What goes on when its caller gives it up."""


def settled(phase: Phase, flight: Flight) -> int:
    """The place by which the call has done all that it does; a cancelled close, flush or sweep goes on for a while."""
    if not flight.cancelled or not isinstance(flight.op, _GO_ON):
        return flight.end
    if isinstance(flight.op, Close):
        for each in phase.calls(Close):
            joins = each.op.handle == flight.op.handle and each.begin > flight.begin
            if joins and not each.cancelled and each.kind != "Hung":
                return each.end
    return phase.rested


def _fits(scene: _Scene, flights: list[Flight]) -> bool:
    """Whether the order of the begins fits; without a whole sweep nothing else forbids it."""
    for each in flights:
        if each.is_view:
            continue
        after = scene.after(each)
        if after is None:
            return False
        scene = after
    return True


def _predecessors(phase: Phase, flights: list[Flight]) -> dict[int, frozenset[int]]:
    """For each call those that have to come before it."""
    lines = [_handle_of(each) for each in flights]
    ends = [settled(phase, each) if each.cancelled else each.end for each in flights]
    swept = any(map(_is_whole_sweep, flights))
    before: dict[int, frozenset[int]] = {}
    for place, each in enumerate(flights):
        found = set()
        for other, one in enumerate(flights):
            if one is each:
                continue
            if _is_ordered_by_hub(one, each):
                # What is done through the hub takes effect in the order of the calls, among itself and beside others.
                comes_first = one.begin < each.begin
            elif swept and (_is_whole_sweep(one) or _is_whole_sweep(each)):
                comes_first = _beside_sweep(one, each, ends[other])
            elif lines[place] is not None and lines[place] == lines[other] and not _may_skip(one, each):
                comes_first = one.begin < each.begin
            else:
                comes_first = ends[other] < each.begin
            if comes_first:
                found.add(id(one))
        before[id(each)] = frozenset(found)
    return before


def _is_ordered_by_hub(one: Flight, other: Flight) -> bool:
    """Whether one is a signal of the hub, and the other is about the same session and may change it.

    When a close beside it lets go of the session is another matter.
    """
    if one.session is None or one.session != other.session or not (one.is_on_hub or other.is_on_hub):
        return False
    if any(isinstance(each.op, Close) for each in (one, other)):
        return False
    return all(each.is_on_hub or each.is_on_handle or each.part is not None for each in (one, other))


def _beside_sweep(one: Flight, other: Flight, end: int) -> bool:
    """Whether the one comes first, where one of them is a service flush that cannot be taken handle by handle."""
    if one.instance == other.instance:
        if one.is_on_handle or other.is_on_handle:
            return one.begin < other.begin
        if _is_whole_sweep(one) and other.gives_owner and other.resolved:
            # The sweep is about the handles that were active when it was called.
            return other.end > one.begin
    return end < other.begin


def _parts(world: World, phase: Phase, flight: Flight) -> list[Flight]:
    if not isinstance(flight.op, FlushInstance):
        return [flight]
    instance = world.instances.get(flight.instance if flight.instance is not None else -1)
    in_parts = flight.resolved or (flight.shows_fault and flight.kind == "ExceptionGroup")
    if not in_parts or instance is None or instance.closed:
        return [flight]
    here = [each for each in world.handles.values() if each.instance == flight.instance and each.is_writer]
    return phase.parts(flight, [each.number for each in here if not each.closed])


def _handle_of(flight: Flight) -> int | None:
    """The handle in whose order of calls it stands."""
    number: int | None = flight.op.handle if flight.is_on_handle else flight.part
    return number


def _may_skip(one: Flight, other: Flight) -> bool:
    """Whether one is a service flush that may leave its part to the other, a close called while it was under way."""
    sweep, close = (one, other) if one.part is not None else (other, one)
    return sweep.part is not None and isinstance(close.op, Close | Dispose) and sweep.begin < close.begin < sweep.end


def _is_whole_sweep(flight: Flight) -> bool:
    return isinstance(flight.op, FlushInstance) and flight.part is None and not flight.cancelled


def _begin(world: World, phase: Phase) -> _Scene:
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
    ids, vague = dict[str, _Id](), set[str]()
    for name in sorted(names):
        owners, pending, stored = frozenset(owning[name]), pending_under[name], world.stored.get(name)
        if name in world.blurred or len(pending) + (stored is not None) > 1:
            vague.add(name)
            ids[name] = _Id(owners=owners)
        elif pending:
            ids[name] = _Id("pending", pending[0].creator, owners)
        elif stored is None:
            ids[name] = _Id("absent", owners=owners)
        elif stored.unsure or stored.recovery is not None:
            ids[name] = _Id(owners=owners)
        else:
            # What failed may have shown an empty one to others; for its own instance nothing has been called yet.
            empty = not stored.durable and not stored.log and world.trouble is not None
            home = stored.creator if empty else -1 if stored.home is None else stored.home
            ids[name] = _Id("stored" if stored.durable else "haunting" if empty else "appended", home, owners)
    ended = frozenset([number for number, instance in world.instances.items() if instance.closed])
    return _Scene(phase, frozenset(vague), ids, frozenset(closed), ended)
