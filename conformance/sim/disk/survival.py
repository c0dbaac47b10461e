"""Presets with effects: which of them survive, enumerated name by name, file by file, page by page.

Promises: each legal state once where the budget allows, and the state where given effects are lost. Names come first,
then the files that still have one, then for each file its sizes and the pages below them; pages past the size and files
that nobody names are never looked at. What did not change from one moment to the next is not made again.

Does not: choose; `sampling` does where a budget or a row of choices asks for some of the states.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, product

from conformance.sim.disk import ops
from conformance.sim.disk.chains import Effect
from conformance.sim.disk.content import Content, FileOptions, Tear
from conformance.sim.disk.effects import Pending
from conformance.sim.disk.graph import Graph, graph_of
from conformance.sim.disk.image import FileSystem, Tree
from conformance.sim.disk.namespace import Namespace, Namespaces, Places
from conformance.sim.disk.presets import Preset
from conformance.sim.disk.state import State

NOTHING: frozenset[Effect] = frozenset()


class Survival:
    """What may survive on a disk, under a preset that has a log or chains."""

    def __init__(self, base: FileSystem, preset: Preset) -> None:
        self.preset = preset
        self._pending = Pending(base, preset)
        self._namespaces = Namespaces(self._pending, base.above)
        self._graph: Graph | None = None
        self._log_stamp = -1
        self._spaces: tuple[int, list[Namespace], bool] | None = None
        self._deciding: dict[int, set[Effect]] = {}
        self._known: dict[tuple[int, frozenset[Effect]], FileOptions] = {}

    def feed(self, op: ops.DiskOp) -> None:
        """See `Disk`."""
        self._pending.feed(op)
        if not isinstance(op, ops.Marker):
            self._graph = None

    @property
    def graph(self) -> Graph:
        """The rules of this moment."""
        if self._graph is None:
            self._graph = graph_of(self._pending)
        return self._graph

    def _follow_log(self) -> None:
        """Forget what depends on the log, where it changed."""
        pending = self._pending
        if self._log_stamp == pending.log_stamp:
            return
        self._log_stamp = pending.log_stamp
        self._spaces = None
        if self._deciding:
            self._known = {key: options for key, options in self._known.items() if not key[1]}
        self._deciding = pending.deciding()

    def _every_namespace(self, most: int) -> tuple[list[Namespace], bool]:
        self._follow_log()
        if self._spaces is None or self._spaces[0] != most:
            self._spaces = (most, *self._namespaces.every(most))
        return self._spaces[1:]

    def _options(self, namespace: Namespace) -> list[FileOptions]:
        """What may be left of each file that has a name."""
        found: list[FileOptions] = []
        files, known, deciding = self._pending.files, self._known, self._deciding
        for ino in namespace.places.distinct:
            file = files[ino]
            # Without a log the names that survive decide nothing about a file.
            kept = namespace.kept.intersection(deciding[ino]) if ino in deciding else NOTHING
            options = known.get((ino, kept))
            if options is None or options.stamp != file.stamp:
                options = known[ino, kept] = FileOptions(self._pending, file, kept)
            found.append(options)
        return found

    def count(self, most: int) -> tuple[int, bool]:
        """In how many ways effects may survive, as far as they were counted, and whether that is all of them."""
        spaces, is_all = self._every_namespace(most)
        legal = sum([_ways(self._options(each)) for each in spaces])
        return (legal, True) if is_all else (legal + most, False)

    def every(self, most: int) -> tuple[list[State] | None, int]:
        """Every state, distinct, the ones that lose least of their names first, and in how many ways effects survive.

        Where there are more than `most` ways, the states are None.
        """
        spaces, is_all = self._every_namespace(most)
        options = [self._options(each) for each in spaces]
        legal = sum([_ways(each) for each in options])
        if not is_all:
            return None, legal + most
        if legal > most:
            return None, legal
        found: dict[Hashable, State] = {}
        for namespace, mine in zip(spaces, options, strict=True):
            _collect(namespace, mine, found)
        return list(found.values()), legal

    def state(self, lost: Iterable[Effect], tear: Tear | None) -> State:
        """See `Disk`."""
        pending = self._pending
        wanted = frozenset(lost)
        gone = self.graph.lose(wanted.intersection(self.graph.needs))
        filled = [(op, page) for op, part, page in wanted if part == "garbage"] if self.preset.garbage else []
        self._follow_log()
        namespace = self._namespaces.at(frozenset([each.effect for each in pending.log if each.effect not in gone]))
        contents: list[Content] = []
        for ino, each in zip(namespace.places.distinct, self._options(namespace), strict=True):
            file = pending.files[ino]
            steps = sum(step.effect not in gone for step in file.sizes)
            versions = {
                page: sum((version.op, "page", page) not in gone for version in found)
                for page, found in file.pages.items()
            }
            garbage = {page: op for op, page in filled if any(version.op == op for version in file.pages.get(page, ()))}
            contents.append(each.at(steps, versions, tear, garbage))
            if contents[-1].tear is not None:
                tear = None
        return _state(namespace, contents, _key(namespace.places, contents))


def _collect(namespace: Namespace, options: list[FileOptions], found: dict[Hashable, State]) -> None:
    """Add every state with these names."""
    every = [each.every() for each in options]
    whole = [each for each, _ in every]
    rows: Iterable[tuple[Content, ...]] = product(*whole)
    for index, (_, torn) in enumerate(every):
        if torn:
            rows = chain(rows, product(*whole[:index], torn, *whole[index + 1 :]))
    for contents in rows:
        key = _key(namespace.places, contents)
        if key not in found:
            found[key] = _state(namespace, contents, key)


def _key(places: Places, contents: Sequence[Content]) -> Hashable:
    """As `key_of` tells it of the tree."""
    files = tuple([(path, contents[at].data) for path, at in places.columns])
    return files, places.directories, places.symlinks, places.specials, places.linked


def _state(namespace: Namespace, contents: Sequence[Content], key: Hashable) -> State:
    """The state with these names and contents."""
    places, lost = namespace.places, namespace.lost
    tear: Tear | None = None
    for each in contents:
        if each.lost:
            lost += each.lost
            tear = each.tear or tear
    files = {path: contents[at].data for path, at in places.columns}
    tree = Tree(files, places.directories, dict(places.symlinks), places.specials, places.inodes)
    return State(tuple(sorted(lost)) if len(lost) > 1 else lost, tear, tree, key)


def _ways(options: Iterable[FileOptions]) -> int:
    """In how many ways the files may survive together, at most one of them with a torn page."""
    whole, torn = 1, 0
    for each in options:
        torn = torn * each.whole + whole * each.torn
        whole *= each.whole
    return whole + torn
