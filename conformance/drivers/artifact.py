"""One file that is watched: what it held after each call, and where its batches end."""

from __future__ import annotations

import errno
import stat
from dataclasses import dataclass, field
from pathlib import Path

from conformance.model.adversities import Position
from conformance.sim.disk import real


@dataclass(slots=True)
class Artifact:
    """What is known of the artifact of one session.

    Attributes:
        path: where it lies, once the backend has said so.
        content: what it held when it was looked at last; None where there was no file.
        inode: of the file that was.
        edges: (call, size) for each change of its size that a call made since it came to be.
        in_place: every one of them added bytes behind those that were there.
        versions: (call, content) for each time that a call changed it.
    """

    path: Path | None = None
    content: bytes | None = None
    inode: int = 0
    edges: list[tuple[int, int]] = field(default_factory=list)
    in_place: bool = True
    versions: list[tuple[int, bytes]] = field(default_factory=list)

    def note(self, call: int, content: bytes | None, inode: int) -> None:
        """A call came to an end, and this is what is there."""
        if content == self.content:
            self.inode = inode
            return
        if content is None:
            self.edges.clear()
        else:
            grew = self.content is not None and content.startswith(self.content) and inode == self.inode
            if not grew:
                self.edges.clear()
                self.in_place = self.content is None
            self.edges.append((call, len(content)))
            self.versions.append((call, content))
        self.content, self.inode = content, inode

    def place(self, position: Position) -> int:
        """The offset of a position, no less than 0 and no more than there are bytes."""
        edge, delta = position
        edges = [0, *(size for _, size in self.edges)]
        at = edges[max(-len(edges), min(edge, len(edges) - 1))] + delta
        return max(0, min(at, len(self.content or b"")))


def look(path: Path | None) -> tuple[bytes | None, int]:
    """What stands there and which file it is; (None, 0) where it is no file.

    By the real functions: a fault that is about to fail a call of the backend fails none of the kit's.
    """
    if path is None or not is_file(path):
        return None, 0
    with real.FileIO(path) as file:
        return file.readall(), real.fstat(file.fileno()).st_ino


def is_file(path: Path) -> bool:
    """Whether a file stands there, or what leads to one; by the real functions."""
    try:
        return stat.S_ISREG(real.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise
