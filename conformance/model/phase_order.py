"""An order in which the calls of an overlap may have taken effect, one after the other.

The order keeps what is certain: a call that had ended came before one that began later, and what changes a session
through one handle does so in the order of the calls. Beyond that it is searched for among those in which each create,
open and close finds what its outcome says it found; what the calls then hold against each other is for the ordinary
rules. Mostly the order of the begins is right at once, for two calls in flight mostly have nothing to do with each
other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model.operations import (
    Close,
    CloseInstance,
    Dispose,
    Flush,
    FlushInstance,
    HubFlush,
)
from conformance.model.phase import Flight, Phase
from conformance.model.phase_scene import Scene, scene_of

if TYPE_CHECKING:
    from conformance.model.state import World

MOST_NODES = 4_000
"""Prefixes of orders that are looked at before it is called undecided."""


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


def arrange(world: World, phase: Phase, flights: list[Flight]) -> Order:
    """An order of these calls; their own order, which must be that of their begins, where none fits.

    A service flush is in it handle by handle, but for one that was refused.
    """
    if sweeps := bool(phase.calls(FlushInstance)):
        flights = [part for each in flights for part in _parts(world, phase, each)]
    scene = scene_of(world, phase)
    if not (sweeps and any(map(_is_whole_sweep, flights))) and _fits(scene, flights):
        return Order(flights)
    before = _predecessors(phase, flights)
    path, seen, nodes = list[Flight](), set[frozenset[int]](), 0

    def search(scene: Scene, placed: frozenset[int]) -> bool:
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


def _fits(scene: Scene, flights: list[Flight]) -> bool:
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
