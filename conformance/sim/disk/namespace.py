"""Which names a crash may leave: the first factor of every state.

Promises: each way in which a prefix of the log, or of every chain of names, may survive, nothing-lost first, as the
paths that can then be found below the root. Two ways that lead to the same names stand for one where nothing else
depends on the difference.

Does not: look into files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.sim.disk.effects import Names, Pending


@dataclass(frozen=True, slots=True)
class Namespace:
    """The names that survive.

    Attributes:
        kept: indexes of the operations of the log that survive.
        files: (path, inode), sorted; directories, symlinks (path, target) and specials as in a `Tree`.
    """

    kept: frozenset[int]
    files: tuple[tuple[str, int], ...]
    directories: frozenset[str]
    symlinks: tuple[tuple[str, str], ...]
    specials: frozenset[str]

    @property
    def names(self) -> tuple[object, ...]:
        """Equal where the same names lead to the same files."""
        return self.files, self.directories, self.symlinks, self.specials


def namespaces(pending: Pending, above: tuple[str, ...], most: int) -> tuple[list[Namespace], bool]:
    """The ways in which names may survive, and whether these are all of them; `most` bounds their number."""
    ways = _prefixes(pending) if pending.preset.names == "log" else _chain_prefixes(pending)
    found: dict[object, Namespace] = {}
    for tried, kept in enumerate(ways):
        if tried == most:
            return list(found.values()), False
        namespace = namespace_at(pending, above, kept)
        # In a log the sizes of files go with it.
        found.setdefault(namespace if pending.preset.names == "log" else namespace.names, namespace)
    return list(found.values()), True


def _prefixes(pending: Pending) -> Iterator[frozenset[int]]:
    indexes = [each.op for each in pending.log]
    for count in range(len(indexes), -1, -1):
        yield frozenset(indexes[:count])


def _chain_prefixes(pending: Pending) -> Iterator[frozenset[int]]:
    """Every set of changes that holds with each change the earlier ones of its names; the larger ones first."""
    changes = [(each.op, {entry[:2] for entry in each.entries}) for each in pending.log if isinstance(each, Names)]

    def extend(at: int, kept: tuple[int, ...], gone: frozenset[tuple[int, str]]) -> Iterator[frozenset[int]]:
        if at == len(changes):
            yield frozenset(kept)
            return
        op, names = changes[at]
        if gone.isdisjoint(names):
            yield from extend(at + 1, (*kept, op), gone)
        yield from extend(at + 1, kept, gone | names)

    return extend(0, (), frozenset())


def namespace_at(pending: Pending, above: tuple[str, ...], kept: frozenset[int]) -> Namespace:
    """The names where exactly these operations of the log survive."""
    changed: dict[int, dict[str, int]] = {}
    for each in pending.log:
        if isinstance(each, Names) and each.op in kept:
            for directory, name, ino in each.entries:
                entries = changed.get(directory)
                if entries is None:
                    entries = changed[directory] = dict(pending.directories[directory])
                if ino is None:
                    entries.pop(name, None)
                else:
                    entries[name] = ino
    return _walk(pending, above, changed, kept)


def _walk(
    pending: Pending, above: tuple[str, ...], changed: dict[int, dict[str, int]], kept: frozenset[int]
) -> Namespace:
    def entries_of(directory: int) -> dict[str, int]:
        return changed[directory] if directory in changed else pending.directories[directory]

    root: int | None = 0
    for name in above:
        root = entries_of(root).get(name) if root is not None and root in pending.directories else None
    files: list[tuple[str, int]] = []
    directories: list[str] = []
    symlinks: list[tuple[str, str]] = []
    specials: list[str] = []
    to_visit: list[tuple[str, int]] = [] if root is None else [(".", root)]
    while to_visit:
        path, ino = to_visit.pop()
        if ino in pending.files:
            files.append((path, ino))
        elif ino in pending.directories:
            directories.append(path)
            prefix = "" if path == "." else f"{path}/"
            to_visit.extend((prefix + name, child) for name, child in entries_of(ino).items())
        elif ino in pending.symlinks:
            symlinks.append((path, pending.symlinks[ino]))
        else:
            specials.append(path)
    return Namespace(kept, tuple(sorted(files)), frozenset(directories), tuple(sorted(symlinks)), frozenset(specials))
