"""Which names a crash may leave: the first factor of every state.

Promises: each way in which a prefix of the log, or of every chain of names, may survive, nothing-lost first, as the
paths that can then be found below the root. Two ways that lead to the same names stand for one where nothing else
depends on the difference.

Does not: look into files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from conformance.sim.disk.chains import Effect
from conformance.sim.disk.effects import Key, Names, Pending


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """What has a name below the root.

    Attributes:
        files: (path, inode), sorted; directories, symlinks (path, target) and specials as in a `Tree`.
        inodes: path -> inode, of everything.
        linked: sets of paths, each in order, that are one file; sorted.
        distinct: the inodes of files, each once. columns: (path, place of its inode in `distinct`), sorted.
    """

    files: tuple[tuple[str, int], ...]
    directories: frozenset[str]
    symlinks: tuple[tuple[str, str], ...]
    specials: frozenset[str]
    inodes: dict[str, int]
    linked: tuple[tuple[str, ...], ...]
    distinct: tuple[int, ...]
    columns: tuple[tuple[str, int], ...]

    @property
    def names(self) -> tuple[object, ...]:
        """Equal where the same names lead to the same files."""
        return self.files, self.directories, self.symlinks, self.specials


@dataclass(frozen=True, slots=True, eq=False)
class Namespace:
    """The names that survive: `kept` of the log, `lost` the first changes that do not, and what then is where."""

    kept: frozenset[Effect]
    lost: tuple[Effect, ...]
    places: Places


class Namespaces:
    """The names of one disk, from moment to moment.

    Args:
        above: the names that lead down to the root.
    """

    def __init__(self, pending: Pending, above: tuple[str, ...]) -> None:
        self._pending = pending
        self._above = above
        self._durable_stamp = -1
        self._known: dict[frozenset[Effect], Places] = {}

    def every(self, most: int) -> tuple[list[Namespace], bool]:
        """The ways in which names may survive, and whether these are all; of more than `most` ways it is one."""
        pending = self._pending
        ways = list(islice(_prefixes(pending) if pending.has_log else _chain_prefixes(pending), most + 1))
        if len(ways) > most:
            return [self.at(ways[0])], False
        found = [self.at(kept) for kept in ways]
        if pending.has_log or len(found) == 1:
            # In a log the sizes of files go with the names.
            return found, True
        by_names: dict[object, Namespace] = {}
        for each in found:
            by_names.setdefault(each.places.names, each)
        return list(by_names.values()), True

    def at(self, kept: frozenset[Effect]) -> Namespace:
        """The names where exactly these changes in the log survive."""
        pending = self._pending
        if self._durable_stamp != pending.durable_stamp:
            self._durable_stamp = pending.durable_stamp
            self._known.clear()
        places = self._known.get(kept)
        if places is None:
            places = self._known[kept] = _walk(pending, self._above, _changed(pending, kept))
        return Namespace(kept, () if len(kept) == len(pending.log) else _lost(pending, kept), places)


def _prefixes(pending: Pending) -> Iterator[frozenset[Effect]]:
    effects = [each.effect for each in pending.log]
    for count in range(len(effects), -1, -1):
        yield frozenset(effects[:count])


def _chain_prefixes(pending: Pending) -> Iterator[frozenset[Effect]]:
    """Every set of changes that holds with each change the earlier ones of its names; the larger ones first."""
    changes = [(each.effect, each.keys) for each in pending.log if isinstance(each, Names)]
    nothing: frozenset[Key] = frozenset()
    to_extend: list[tuple[int, tuple[Effect, ...], frozenset[Key]]] = [(0, (), nothing)]
    while to_extend:
        at, kept, gone = to_extend.pop()
        if at == len(changes):
            yield frozenset(kept)
            continue
        effect, names = changes[at]
        to_extend.append((at + 1, kept, gone | names))
        if gone.isdisjoint(names):
            to_extend.append((at + 1, (*kept, effect), gone))


def _lost(pending: Pending, kept: frozenset[Effect]) -> tuple[Effect, ...]:
    """The first change that does not survive: of the log, or of each chain of names."""
    gone = (each for each in pending.log if each.effect not in kept)
    if pending.has_log:
        return tuple(each.effect for each in islice(gone, 1))
    lost: list[Effect] = []
    names: set[Key] = set()
    for each in gone:
        if isinstance(each, Names):
            if names.isdisjoint(each.keys):
                lost.append(each.effect)
            names |= each.keys
    return tuple(lost)


def _changed(pending: Pending, kept: frozenset[Effect]) -> dict[int, dict[str, int]]:
    """Directory -> its names, where they are not the durable ones."""
    changed: dict[int, dict[str, int]] = {}
    for each in pending.log:
        if isinstance(each, Names) and each.effect in kept:
            for directory, name, ino in each.entries:
                entries = changed.get(directory)
                if entries is None:
                    entries = changed[directory] = dict(pending.directories[directory])
                if ino is None:
                    entries.pop(name, None)
                else:
                    entries[name] = ino
    return changed


def _walk(pending: Pending, above: tuple[str, ...], changed: dict[int, dict[str, int]]) -> Places:
    def entries_of(directory: int) -> dict[str, int]:
        return changed[directory] if directory in changed else pending.directories[directory]

    root: int | None = 0
    for name in above:
        root = entries_of(root).get(name) if root is not None and root in pending.directories else None
    inodes: dict[str, int] = {}
    files: list[tuple[str, int]] = []
    directories: dict[int, str] = {}
    symlinks: list[tuple[str, str]] = []
    specials: list[str] = []
    to_visit: list[tuple[str, int]] = [] if root is None else [(".", root)]
    while to_visit:
        path, ino = to_visit.pop()
        if ino in pending.files:
            files.append((path, ino))
        elif ino in pending.directories:
            if ino in directories:
                # Half a rename: a directory has one place, and must not be found below itself.
                continue
            directories[ino] = path
            prefix = "" if path == "." else f"{path}/"
            to_visit.extend([(prefix + name, child) for name, child in entries_of(ino).items()])
        elif ino in pending.symlinks:
            symlinks.append((path, pending.symlinks[ino]))
        else:
            specials.append(path)
        inodes[path] = ino
    files.sort()
    symlinks.sort()
    distinct = {ino: place for place, ino in enumerate(dict.fromkeys([ino for _, ino in files]))}
    return Places(
        tuple(files),
        frozenset(directories.values()),
        tuple(symlinks),
        frozenset(specials),
        inodes,
        linked_paths(files),
        tuple(distinct),
        tuple([(path, distinct[ino]) for path, ino in files]),
    )


def linked_paths(files: list[tuple[str, int]]) -> tuple[tuple[str, ...], ...]:
    """The sets of paths that are one file, of (path, inode) in order; files with one name are left out."""
    if len({ino for _, ino in files}) == len(files):
        return ()
    paths: dict[int, list[str]] = {}
    for path, ino in files:
        paths.setdefault(ino, []).append(path)
    return tuple(sorted(tuple(each) for each in paths.values() if len(each) > 1))
