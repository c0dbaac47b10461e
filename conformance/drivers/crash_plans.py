"""Which of the states that a crash may leave it leaves: as a program says, as drawn, or as an earlier crash did.

Promises: a `CrashPlan` is asked once the call under way was performed, when it is known what there is to lose, and
what it answers goes into the program, so that the program performed again comes to the same. A `Placement` tells what a
crash took by calls in place of positions in a recording: it still means something in a program that lacks some calls.

Does not: decide what a crash may leave; ``conformance.sim.disk.states`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from conformance.model.operations import Crash, Effect
from conformance.sim import Choices
from conformance.sim.disk.ops import DiskOp, Marker, Write
from conformance.sim.disk.presets import PAGE, PRESETS
from conformance.sim.disk.states import Disk, State
from conformance.sim.disk.trace import Trace


class Place(NamedTuple):
    """One effect, told by its call: the ``order``-th of the operations of that kind in it.

    By kind, because a call may also do once what an earlier call would have done, such as making a directory.
    """

    call: int
    kind: str
    order: int
    part: str
    number: int


NO_CALL = -1
"""The number that stands for operations of no call."""


@dataclass(frozen=True, slots=True)
class Placement:
    """What a crash took, call by call.

    Attributes:
        heads: the first lost effect of each chain that lost one. lost: all that were lost.
        tear: the page effect that survived in part, or None; sectors: how much of it did.
    """

    heads: tuple[Place, ...] = ()
    lost: tuple[Place, ...] = ()
    tear: Place | None = None
    sectors: int = 0

    def renumbered(self, numbers: Mapping[int, int]) -> Placement:
        """The same in a program whose calls have other numbers; what belongs to a call without one is left out."""
        known = {**numbers, NO_CALL: NO_CALL}

        def moved(places: tuple[Place, ...]) -> tuple[Place, ...]:
            return tuple(each._replace(call=known[each.call]) for each in places if each.call in known)

        torn = moved((self.tear,)) if self.tear is not None else ()
        return Placement(moved(self.heads), moved(self.lost), torn[0] if torn else None, self.sectors if torn else 0)


NO_PLACEMENTS: Mapping[int, Placement] = MappingProxyType({})
"""Every crash of a program is as it says itself."""


def placement_of(trace: Trace, disk: Disk, state: State) -> Placement:
    """What the state of the disk, which was fed the trace, lost."""
    if not state.lost:
        return Placement()
    places = {index: key for key, index in _operations(trace).items()}

    def told(effect: Effect) -> Place:
        return Place(*places[effect[0]], *effect[1:])

    graph = disk.graph()
    gone = graph.lose(each for each in state.lost if each in graph.needs)
    tear = None if state.tear is None else told((state.tear[0], "page", state.tear[1]))
    sectors = 0 if state.tear is None else state.tear[2]
    heads = tuple(map(told, state.lost))
    return Placement(heads, tuple(map(told, sorted(gone))) or heads, tear, sectors)


def by_call(trace: Trace) -> dict[int, list[int]]:
    """The places of each call's disk operations in the trace, markers left out."""
    found: dict[int, list[int]] = {}
    for index, (op, call) in enumerate(zip(trace.ops, trace.calls, strict=True)):
        if not isinstance(op, Marker):
            found.setdefault(NO_CALL if call is None else call, []).append(index)
    return found


_Key: TypeAlias = tuple[int, str, int]


def _operations(trace: Trace) -> dict[_Key, int]:
    """Where each disk operation of each call stands, by call, kind and order among those of that kind."""
    found: dict[_Key, int] = {}
    count: Counter[tuple[int, str]] = Counter()
    for call, indexes in by_call(trace).items():
        for index in indexes:
            kind = type(trace.ops[index]).__name__
            found[call, kind, count[call, kind]] = index
            count[call, kind] += 1
    return found


def edges_in(op: DiskOp) -> tuple[int, ...]:
    """Bytes of a write before each page edge of its file inside it: where a kill may cut it."""
    if not isinstance(op, Write):
        return ()
    first = (op.offset // PAGE + 1) * PAGE
    return tuple(edge - op.offset for edge in range(first, op.offset + len(op.data), PAGE))


class CrashPlan(Protocol):
    """Says how a crash goes."""

    def point(self, trace: Trace, call: int) -> tuple[int | None, int]:
        """``after`` and ``cut`` of the crash inside that call, whose operations the trace has all."""

    def state(self, trace: Trace, disk: Disk) -> State:
        """What is left of the disk, which was fed the trace up to that point."""


@dataclass(frozen=True, slots=True)
class AsWritten:
    """What the operation says, which was performed before in the same program."""

    crash: Crash

    def point(self, trace: Trace, call: int) -> tuple[int | None, int]:
        """See `CrashPlan`."""
        return self.crash.after, self.crash.cut

    def state(self, trace: Trace, disk: Disk) -> State:
        """See `CrashPlan`."""
        return disk.state(self.crash.lost, self.crash.tear)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the choices pick; 0 everywhere is a crash after the whole call that takes nothing."""

    preset: str
    choices: Choices

    def point(self, trace: Trace, call: int) -> tuple[int | None, int]:
        """See `CrashPlan`."""
        own = by_call(trace).get(call, [])
        undone = self.choices.draw(len(own) + 1, "operations not done")
        if not undone:
            return None, 0
        after = len(own) - undone
        if PRESETS[self.preset].is_power_loss:
            # How much of an unsynced write is there, its pages say.
            return after, 0
        return after, self.choices.pick((0, *edges_in(trace.ops[trace.place_of(call, after)])), "write cut")

    def state(self, trace: Trace, disk: Disk) -> State:
        """See `CrashPlan`."""
        return disk.choose(self.choices)


@dataclass(frozen=True, slots=True)
class Placed:
    """What another crash did, as far as there still is something to do it to."""

    crash: Crash
    placement: Placement

    def point(self, trace: Trace, call: int) -> tuple[int | None, int]:
        """See `CrashPlan`."""
        after = self.crash.after
        if after is None or after >= len(by_call(trace).get(call, [])):
            return None, 0
        if PRESETS[self.crash.preset].is_power_loss or not self.crash.cut:
            return after, 0
        # A write that lies elsewhere now has its page edges elsewhere.
        edges = (0, *edges_in(trace.ops[trace.place_of(call, after)]))
        return after, min(edges, key=lambda each: abs(each - self.crash.cut))

    def state(self, trace: Trace, disk: Disk) -> State:
        """See `CrashPlan`."""
        effects, places = disk.graph().needs, _operations(trace)
        found: set[Effect] = set()
        for place in self.placement.lost:
            found.update(_nearest(places, effects, place))
        tear = self.placement.tear
        for op, _, page in () if tear is None else _nearest(places, effects, tear):
            return disk.state(found, (op, page, self.placement.sectors))
        return disk.state(found)


def _nearest(places: Mapping[_Key, int], effects: Mapping[Effect, object], place: Place) -> tuple[Effect, ...]:
    """The effect at that place; where pages or steps have other numbers now, the nearest; () where there is none."""
    index = places.get(place[:3])
    if index is None:
        return ()
    exact = (index, place.part, place.number)
    if exact in effects:
        return (exact,)
    alike = [each for each in effects if each[:2] == exact[:2]]
    return (min(alike, key=lambda each: abs(each[2] - place.number)),) if alike else ()
