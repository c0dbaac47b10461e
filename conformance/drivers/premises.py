"""Where a file backend's root lies, and what can be seen there and around it.

The root is laid a few levels deep into a directory that is watched, so that a path which leads out of the root by some
levels ends where it is found and harms nothing. Looking costs something only when it is asked for. The backend is not
asked; nothing is judged.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from conformance.model.tree import TreeView
from conformance.sim.disk import real

LEVELS = ("upper", "lower")
"""Directories between the one that is watched and the root: names that no id is tried under."""

Location = Callable[[Path, str], Path | None]


class Premises:
    """One root inside a watched directory.

    Args:
        watched: the directory, absent at first.

    Attributes:
        root: for the backend; not made here.
    """

    def __init__(self, watched: Path) -> None:
        self._watched = watched
        self.root = watched.joinpath(*LEVELS, "root")
        self._above: list[Path] = []

    def prepare(self) -> None:
        """Make the directories above the root; to be called before the first instance is opened."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        # The root's own parent changes when the root is made; the ones above it must never change.
        self._above = [self._watched, self.root.parent.parent]
        for directory in self._above:
            # The clock of a file system may stand still for milliseconds; this time it cannot give again.
            os.utime(directory, ns=(0, 0))

    def look(self, location: Location | None, sessions: list[str], *, bytes_only: bool = False) -> TreeView:
        """What lies outside the root, the files and modes inside it, and digests of artifacts.

        Args:
            location: the backend's own, or None.
            sessions: ids whose artifacts are to be told.
            bytes_only: the digests alone.
        """
        digests = tuple(self._digests(location, sessions))
        if bytes_only:
            return TreeView(digests=digests)
        inside = [(".", self.root)] if self.root.is_dir() else []
        inside += [(path.relative_to(self.root).as_posix(), path) for path in _below(self.root)]
        return TreeView(
            outside=tuple(self._outside()),
            modes=tuple((_named(name, path), stat.S_IMODE(path.lstat().st_mode)) for name, path in inside),
            artifacts=tuple(self._artifacts(location, sessions)),
            digests=digests,
        )

    def _digests(self, location: Location | None, sessions: list[str]) -> Iterator[tuple[str, str]]:
        for session in sessions:
            data = artifact_bytes(location, self.root, session)
            if data is not None:
                yield session, hashlib.sha256(data).hexdigest()

    def _outside(self) -> Iterator[str]:
        way = {self.root, *self.root.parents}
        for directory in self._above:
            changed = directory.stat().st_mtime_ns
            if changed:
                yield f"{self._told(directory)}/ (something in it was made, moved or removed)"
        for path in _below(self._watched, leave=self.root):
            if path not in way:
                yield self._told(path)

    def _told(self, path: Path) -> str:
        """A path as the root sees it: ``../escaped``."""
        return os.path.relpath(path, self.root)

    def _artifacts(self, location: Location | None, sessions: list[str]) -> Iterator[str]:
        for session in sessions if location is not None else ():
            path = location(self.root, session) if location is not None else None
            if path is not None and path.exists() and path.is_relative_to(self.root):
                files = [path] if path.is_file() else [each for each in _below(path) if each.is_file()]
                yield from (each.relative_to(self.root).as_posix() for each in files)


def artifact_bytes(location: Location | None, root: Path, session: str) -> bytes | None:
    """What a session's artifact holds, read past any recorder; None where it is no file, or there is none."""
    path = None if location is None else location(root, session)
    if path is None:
        return None
    try:
        fd = real.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = b""
        while piece := real.read(fd, 1 << 20):
            data += piece
        return data
    except IsADirectoryError:
        return None
    finally:
        real.close(fd)


def _named(name: str, path: Path) -> str:
    return f"{name}/" if path.is_dir() and not path.is_symlink() else name


def _below(directory: Path, *, leave: Path | None = None) -> Iterator[Path]:
    """Everything under a directory, sorted, links not followed; ``leave`` is not looked into."""
    if not directory.is_dir():
        return
    for path in sorted(directory.iterdir()):
        yield path
        if path != leave and path.is_dir() and not path.is_symlink():
            yield from _below(path, leave=leave)
