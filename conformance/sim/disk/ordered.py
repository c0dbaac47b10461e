"""Presets without effects: everything survives, or a prefix of the operations since the latest sync.

Promises: the same questions as `survival` answers, and the same answers for the same operations.

Does not: know any file system. `kill` is one of these, and so is the tidy disk that explanations shrink towards.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice

from conformance.sim.choices import Choices
from conformance.sim.disk import ops
from conformance.sim.disk.chains import Effect
from conformance.sim.disk.content import Tear
from conformance.sim.disk.graph import Graph
from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.presets import SECTOR
from conformance.sim.disk.state import Enumeration, State, key_of


class Ordered:
    """A disk that keeps everything (`whole`), or a prefix of the operations since the latest sync of anything.

    A sync that failed is nothing to it: the next one saves everything.
    """

    graph = Graph({}, ())
    """Nothing survives by itself."""

    def __init__(self, base: FileSystem, *, whole: bool) -> None:
        self._whole = whole
        self._settled = base.copy()
        self._since: list[tuple[int, ops.DiskOp]] = []
        self._count = 0

    def feed(self, op: ops.DiskOp) -> None:
        """See `Disk`."""
        if self._whole:
            self._settled.apply(op)
        elif isinstance(op, ops.Sync):
            for _, each in self._since:
                self._settled.apply(each)
            self._since.clear()
        elif not isinstance(op, ops.SyncFailed | ops.Marker):
            self._since.append((self._count, op))
        self._count += 1

    def _ways(self) -> Iterator[tuple[int, int]]:
        """(operations that survive, sectors of the next one, a write, that do), nothing-lost first."""
        for kept in range(len(self._since), -1, -1):
            cut = self._since[kept][1] if kept < len(self._since) else None
            edges = _sectors(cut) if isinstance(cut, ops.Write) else 0
            yield from ((kept, sectors) for sectors in range(edges, -1, -1))

    def count(self, most: int) -> tuple[int, bool]:
        """See `Survival`."""
        return sum(1 for _ in self._ways()), True

    def states(self, budget: int, seed: int) -> Enumeration:
        """See `Disk`."""
        legal = self.count(budget)[0]
        ways = list(islice(self._ways(), budget))
        made = list(self._each(ways[::-1]))
        found: dict[Hashable, State] = {}
        for state in reversed(made):
            found.setdefault(state.key, state)
        return Enumeration(tuple(found.values()), legal, legal <= budget)

    def choose(self, choices: Choices) -> State:
        """See `Disk`."""
        return next(self._each([choices.pick(list(self._ways()), "survives")]))

    def state(self, lost: Iterable[Effect], tear: Tear | None) -> State:
        """See `Disk`."""
        first = min((each[0] for each in lost), default=self._count)
        kept = sum(index < first for index, _ in self._since)
        return next(self._each([(kept, tear[2] if tear is not None and kept < len(self._since) else 0)]))

    def _each(self, ways: list[tuple[int, int]]) -> Iterator[State]:
        """The states of these ways, whose operations become more from each to the next."""
        image = self._settled.copy() if self._since else self._settled
        done = 0
        for kept, sectors in ways:
            for _, op in self._since[done:kept]:
                image.apply(op)
            done = kept
            lost: tuple[Effect, ...] = ()
            tear: Tear | None = None
            there = image
            if kept < len(self._since):
                index, cut = self._since[kept]
                lost = (_whole_effect(index, cut),)
                if sectors and isinstance(cut, ops.Write):
                    there = image.copy()
                    there.apply(ops.Write(cut.ino, cut.offset, cut.data[: _edge(cut, sectors)]))
                    tear = (index, cut.offset // SECTOR, sectors)
            tree = there.tree()
            yield State(lost, tear, tree, key_of(tree))


def _whole_effect(index: int, op: ops.DiskOp) -> Effect:
    if isinstance(op, ops.Write):
        return index, "page", op.offset // SECTOR
    return index, "size" if isinstance(op, ops.Truncate | ops.Fallocate) else "entry", 0


def _edge(op: ops.Write, sectors: int) -> int:
    """Bytes of a write up to the n-th sector edge of the file inside it."""
    return (op.offset // SECTOR + sectors) * SECTOR - op.offset


def _sectors(op: ops.Write) -> int:
    """How many sector edges of the file lie inside a write."""
    return max(0, (op.offset + len(op.data) - 1) // SECTOR - op.offset // SECTOR)
