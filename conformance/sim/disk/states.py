"""What a crash may leave: every legal state of a disk, counted, enumerated within a budget, or chosen.

Promises: `Disk` is fed the operations of a trace and can at any moment tell how many states a crash may leave there,
give them all where the budget allows, or one that a row of choices picks, where the choice 0 everywhere means that
nothing was lost. Where the budget does not allow it, it gives the states that deviate in at most two effects from an
ordered prefix, as far as the budget goes, then seeded ones, and says so. The same arguments give the same list.

How: names first, then the files that still have one, then for each file its sizes and the pages below them; pages past
the size and files that nobody names are never looked at.

Does not: know what the files mean, or what was promised of them. It knows neither Hypothesis nor any backend.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice, product
from math import prod

from conformance.sim.choices import Choices, SeededChoices
from conformance.sim.disk import ops
from conformance.sim.disk.content import Content, FileOptions, Tear
from conformance.sim.disk.effects import Effect, Names, Pending
from conformance.sim.disk.graph import Graph, effect_of, graph_of, size_effect
from conformance.sim.disk.image import FileSystem, Tree
from conformance.sim.disk.namespace import Namespace, namespace_at, namespaces
from conformance.sim.disk.presets import PRESETS, SECTOR

BUDGET = 4096
"""States for each crash point that are enumerated before it comes to sampling."""


WHAT_A_CRASH_TAKES = "what the crash takes"
"""Label of the first choice of a state: 0 nothing, 1 everything it may, 2 a suffix of it, 3 effect by effect."""


@dataclass(frozen=True, slots=True)
class State:
    """One thing that a crash may leave.

    Attributes:
        lost: the effects that did not survive, of each chain the first.
        tear: the page that survived only in part, or None.
        tree: the files. key: equal where the trees are equal.
    """

    lost: tuple[Effect, ...]
    tear: Tear | None
    tree: Tree
    key: Hashable = field(repr=False)

    @property
    def weight(self) -> tuple[int, int]:
        """What an explanation has to explain: lost effects, then tears."""
        return len(self.lost), self.tear is not None


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The states of one crash point.

    Attributes:
        states: distinct ones, nothing-lost first. legal: in how many ways effects may survive; several may leave the
            same files. is_exhaustive: whether `states` has all.
    """

    states: tuple[State, ...]
    legal: int
    is_exhaustive: bool


class Disk:
    """A disk under one preset, told what is done to it.

    Args:
        base: what was there before, all of it durable.
        preset: a name of `PRESETS`.

    Raises:
        KeyError: an unknown preset.
    """

    def __init__(self, base: FileSystem, preset: str) -> None:
        names = PRESETS[preset].names
        self._rules: _Effects | _Ordered
        self._rules = _Effects(base, preset) if names in ("log", "chains") else _Ordered(base, whole=names == "all")

    def feed(self, op: ops.DiskOp) -> None:
        """The next operation, or marker, of the trace."""
        self._rules.feed(op)

    def count(self) -> int:
        """In how many ways effects may survive here; at least as many as there are distinct states."""
        return self._rules.count(BUDGET)[0]

    def states(self, budget: int = BUDGET, seed: int = 0) -> Enumeration:
        """The states of this moment."""
        return self._rules.states(budget, seed)

    def choose(self, choices: Choices) -> State:
        """The state that the choices pick; 0 everywhere is the one where nothing was lost."""
        return self._rules.choose(choices)

    def graph(self) -> Graph:
        """The rules of this moment, effect by effect; empty in presets that have no effects."""
        return self._rules.graph

    def state(self, lost: Iterable[Effect] = (), tear: Tear | None = None) -> State:
        """The state where these effects are lost, and what survives only with them."""
        return self._rules.state(frozenset(lost), tear)


class _Ordered:
    """Presets without effects: everything survives (`whole`), or a prefix of the operations since the latest sync."""

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
        elif not isinstance(op, ops.Marker):
            self._since.append((self._count, op))
        self._count += 1

    graph = Graph({}, {}, ())
    """Nothing survives by itself."""

    def _ways(self) -> Iterator[tuple[int, int]]:
        """(operations that survive, sectors of the next one, a write, that do), nothing-lost first."""
        for kept in range(len(self._since), -1, -1):
            cut = self._since[kept][1] if kept < len(self._since) else None
            edges = _sectors(cut) if isinstance(cut, ops.Write) else 0
            yield from ((kept, sectors) for sectors in range(edges, -1, -1))

    def count(self, most: int) -> tuple[int, bool]:
        """See `_Effects`."""
        return len(list(self._ways())), True

    def states(self, budget: int, seed: int) -> Enumeration:
        """See `Disk`."""
        found: dict[Hashable, State] = {}
        legal = self.count(budget)[0]
        for way in islice(self._ways(), budget):
            state = self._at(*way)
            found.setdefault(state.key, state)
        return Enumeration(tuple(found.values()), legal, legal <= budget)

    def choose(self, choices: Choices) -> State:
        """See `Disk`."""
        return self._at(*choices.pick(list(self._ways()), "survives"))

    def state(self, lost: frozenset[Effect], tear: Tear | None) -> State:
        """See `Disk`."""
        first = min((each[0] for each in lost), default=self._count)
        kept = sum(index < first for index, _ in self._since)
        return self._at(kept, tear[2] if tear is not None and kept < len(self._since) else 0)

    def _at(self, kept: int, sectors: int) -> State:
        image = self._settled.copy()
        for _, op in self._since[:kept]:
            image.apply(op)
        lost: tuple[Effect, ...] = ()
        tear: Tear | None = None
        if kept < len(self._since):
            index, cut = self._since[kept]
            lost = (_whole_effect(index, cut),)
            if sectors and isinstance(cut, ops.Write):
                image.apply(ops.Write(cut.ino, cut.offset, cut.data[: _edge(cut, sectors)]))
                tear = (index, cut.offset // SECTOR, sectors)
        tree = image.tree()
        return State(lost, tear, tree, key_of(tree))


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


class _Effects:
    """Presets with effects in chains."""

    def __init__(self, base: FileSystem, preset: str) -> None:
        self._above = base.above
        self._pending = Pending(base, preset)
        self._graph: Graph | None = None
        self._spaces: tuple[list[Namespace], bool] | None = None
        self._known: dict[tuple[int, frozenset[int]], FileOptions] = {}

    def feed(self, op: ops.DiskOp) -> None:
        """See `Disk`."""
        self._pending.feed(op)
        if not isinstance(op, ops.Marker):
            self._graph = self._spaces = None
            self._known.clear()

    def _namespaces(self, most: int) -> tuple[list[Namespace], bool]:
        if self._spaces is None:
            self._spaces = namespaces(self._pending, self._above, most)
        return self._spaces

    def _options(self, namespace: Namespace) -> list[tuple[int, FileOptions]]:
        files = self._pending.files
        # Without a log the names that survive decide nothing about a file.
        kept = namespace.kept if self._pending.preset.names == "log" else frozenset()
        found = []
        for ino in dict.fromkeys(ino for _, ino in namespace.files):
            options = self._known.get((ino, kept))
            if options is None:
                options = self._known[ino, kept] = FileOptions(self._pending, ino, files[ino], kept)
            found.append((ino, options))
        return found

    def count(self, most: int) -> tuple[int, bool]:
        """In how many ways effects may survive, as far as they were counted, and whether that is all of them."""
        spaces, is_all = self._namespaces(most)
        return sum(_ways([options for _, options in self._options(each)]) for each in spaces), is_all

    def states(self, budget: int, seed: int) -> Enumeration:
        """See `Disk`."""
        legal, is_all = self.count(budget)
        if is_all and legal <= budget:
            every = (state for namespace in self._namespaces(budget)[0] for state in self._of(namespace))
            found: dict[Hashable, State] = {}
            for state in every:
                found.setdefault(state.key, state)
            return Enumeration(tuple(found.values()), legal, True)
        return Enumeration(tuple(self._deviating(budget, seed)), legal, False)

    def _of(self, namespace: Namespace) -> Iterator[State]:
        """Every state with these names."""
        lost = self._lost_names(namespace)
        options = self._options(namespace)
        inodes = [ino for ino, _ in options]
        whole = [list(each.whole()) for _, each in options]
        for contents in product(*whole):
            yield _state(namespace, lost, inodes, contents)
        for index, (_, each) in enumerate(options):
            torn = list(each.torn())
            if torn:
                for contents in product(*whole[:index], torn, *whole[index + 1 :]):
                    yield _state(namespace, lost, inodes, contents)

    def _lost_names(self, namespace: Namespace) -> tuple[Effect, ...]:
        """The first changes of names that did not survive."""
        lost = []
        gone: set[tuple[int, str]] = set()
        for each in self._pending.log:
            if each.op in namespace.kept:
                continue
            if not isinstance(each, Names) or self._pending.preset.names == "log":
                return (effect_of(each),)
            names = {entry[:2] for entry in each.entries}
            if gone.isdisjoint(names):
                lost.append(effect_of(each))
            gone |= names
        return tuple(lost)

    @property
    def graph(self) -> Graph:
        """The rules of this moment."""
        if self._graph is None:
            self._graph = graph_of(self._pending)
        return self._graph

    def state(self, lost: frozenset[Effect], tear: Tear | None) -> State:
        """See `Disk`."""
        pending = self._pending
        gone = self.graph.lose(each for each in lost if each in self.graph.needs)
        kept = frozenset(each.op for each in pending.log if effect_of(each) not in gone)
        namespace = namespace_at(pending, self._above, kept)
        inodes: list[int] = []
        contents: list[Content] = []
        for ino, options in self._options(namespace):
            file = pending.files[ino]
            steps = sum(size_effect(each) not in gone for each in file.sizes)
            versions = {
                page: sum((each.op, "page", page) not in gone for each in found) for page, found in file.pages.items()
            }
            inodes.append(ino)
            contents.append(options.at(steps, versions, tear))
            if contents[-1].tear is not None:
                tear = None
        return _state(namespace, self._lost_names(namespace), inodes, contents)

    def choose(self, choices: Choices) -> State:
        """See `Disk`."""
        effects = list(self.graph.needs)
        if not effects:
            return self.state(frozenset(), None)
        lost: set[Effect] = set()
        match choices.draw(4, WHAT_A_CRASH_TAKES):
            case 1:
                lost.update(effects)
            case 2:
                # An ordered prefix: everything from some operation on is gone.
                lost.update(effects[len(effects) - 1 - choices.draw(len(effects), "lost from the end") :])
            case 3:
                for each in effects:
                    if lost.isdisjoint(self.graph.needs[each]) and not choices.flag("lost"):
                        continue
                    lost.add(each)
        state = self.state(frozenset(lost), None)
        if self._pending.preset.tears and lost:
            torn = self._torn(state)
            chosen = choices.draw(len(torn) + 1, "torn page")
            if chosen:
                return self.state(frozenset(state.lost), torn[chosen - 1])
        return state

    def _torn(self, state: State) -> list[Tear]:
        """The tears of pages that a state loses."""
        pages = [each for each in state.lost if each[1] == "page"]
        return [(op, page, sectors) for op, _, page in pages for sectors in (1, 4, 7)]

    def _deviating(self, budget: int, seed: int) -> Iterator[State]:
        """States near an ordered prefix, then seeded ones; distinct, at most `budget`."""
        found: dict[Hashable, State] = {}
        effects = list(self.graph.needs)
        indexes = sorted({each[0] for each in effects})
        prefixes = [
            frozenset(each for each in effects if each[0] >= index) for index in (*indexes[::-1], indexes[-1] + 1)
        ]
        sampled = budget // 4

        def take(lost: Iterable[Effect]) -> None:
            state = self.state(frozenset(lost), None)
            found.setdefault(state.key, state)

        def near() -> Iterator[Callable[[], None]]:
            for prefix in prefixes:
                yield lambda prefix=prefix: take(prefix)  # type: ignore[misc]
            for deviations in (1, 2):
                for prefix in prefixes:
                    for chosen in combinations(effects, deviations):
                        yield lambda prefix=prefix, chosen=chosen: take(self._deviate(prefix, chosen))  # type: ignore[misc]

        for each in islice(near(), 4 * budget):
            each()
            if len(found) >= budget - sampled:
                break
        choices = SeededChoices(seed)
        for _ in range(4 * sampled):
            if len(found) >= budget:
                break
            state = self.choose(choices)
            found.setdefault(state.key, state)
        return iter(found.values())

    def _deviate(self, lost: frozenset[Effect], chosen: Iterable[Effect]) -> frozenset[Effect]:
        """The same with each of the chosen effects lost if it survived, and the other way round."""
        for each in chosen:
            lost = lost - self.graph.gain(each) if each in lost else lost | {each}
        return lost


def _ways(options: list[FileOptions]) -> int:
    whole = [each.count() for each in options]
    torn = [each.count_torn() for each in options]
    return prod(whole) + sum(count * prod(whole[:at] + whole[at + 1 :]) for at, count in enumerate(torn))


def _state(namespace: Namespace, lost: tuple[Effect, ...], inodes: list[int], contents: Iterable[Content]) -> State:
    by_inode = dict(zip(inodes, contents, strict=True))
    tree = Tree(
        {path: by_inode[ino].data for path, ino in namespace.files},
        namespace.directories,
        dict(namespace.symlinks),
        namespace.specials,
        dict(namespace.files),
    )
    effects = (*lost, *(each for content in by_inode.values() for each in content.lost))
    tear = next((each.tear for each in by_inode.values() if each.tear is not None), None)
    return State(tuple(sorted(effects)), tear, tree, key_of(tree))


def key_of(tree: Tree) -> Hashable:
    """Two trees share it exactly where they are equal."""
    return tuple(sorted(tree.files.items())), tree.directories, tuple(sorted(tree.symlinks.items())), tree.specials
