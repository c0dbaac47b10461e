"""From calls that succeeded to operations: who tells what was done, and what it means for the tree.

Promises: each call that succeeded becomes the operations it did, in the order in which they were done, and the image
moves along with them. Where a call cannot be understood (it names something that the recording has not seen being
made), the reason is put among `reasons`, and nothing is guessed.

Does not: do anything itself. The caller has done it, holds the lock, and tells of it at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.sim.disk import ops, real
from conformance.sim.disk.image import Directory, File, FileSystem, Node, Symlink
from conformance.sim.disk.paths import Locator, OpenFile, Where
from conformance.sim.disk.trace import Trace

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_MOST_LINKS = 40
_O_TMPFILE: int = getattr(os, "O_TMPFILE", 0)
_O_SYNC: int = getattr(os, "O_SYNC", 0)
_O_DSYNC: int = getattr(os, "O_DSYNC", 0)
RWF_APPEND: int = getattr(os, "RWF_APPEND", 0x10)
RWF_DSYNC: int = getattr(os, "RWF_DSYNC", 0x2)
RWF_SYNC: int = getattr(os, "RWF_SYNC", 0x4)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a path leads: the directory and name of its last step, and the inode there, if there is one."""

    directory: Directory
    name: str
    node: Node | None


class Journal:
    """The operations so far, the image they add up to, and the state they began with.

    Attributes:
        ops: the operations and markers, in order.
        calls: for each of them the API call it belongs to, or None.
        image: the tree after all of them.
        base: the tree before the first.

    Args:
        carried: what an earlier life did to the same tree; this recording goes on from there.
    """

    def __init__(self, locator: Locator, reasons: list[str], carried: Trace | None = None) -> None:
        self.ops: list[ops.DiskOp] = [] if carried is None else list(carried.ops)
        self.calls: list[int | None] = [] if carried is None else list(carried.calls)
        self.base = FileSystem.load(locator.top, locator.above) if carried is None else carried.base
        self.image = (self.base if carried is None else carried.image).copy()
        self._locator = locator
        self._reasons = reasons
        self._next_ino = len(self.image.nodes) if carried is None else carried.next_ino

    def trace(self) -> Trace:
        """What was recorded so far, apart from what is still to come."""
        return Trace(self.base, self.ops.copy(), self.calls.copy(), self.image.copy(), self._next_ino)

    def emit(self, op: ops.DiskOp, call: int | None) -> None:
        """Write one operation down and do it to the image."""
        self.ops.append(op)
        self.calls.append(call)
        self.image.apply(op)

    def _blind(self, reason: str) -> None:
        if reason not in self._reasons:
            self._reasons.append(reason)

    def _number(self) -> int:
        self._next_ino += 1
        return self._next_ino - 1

    def find(self, where: Where, *, follow: bool) -> Spot | None:
        """Walk the image; None where the path leads out of it, or is not known (which blinds the recording)."""
        start, text = where
        node: Node = start or self.image.top
        holder = node if isinstance(node, Directory) else self.image.top
        name = "."
        links = 0
        pending = [part for part in text.split("/")[::-1] if part not in ("", ".")]
        while pending:
            name = pending.pop()
            if not isinstance(node, Directory):
                self._blind(f"{text!r} leads through something that is no directory as far as was recorded")
                return None
            holder = node
            if name == "..":
                if node.parent is None:
                    return None
                node = self.image.directory(node.parent)
                continue
            if node.above and name != node.above[0]:
                return None
            child = node.entries.get(name)
            if child is None:
                if not pending:
                    return Spot(holder, name, None)
                self._blind(f"{text!r} leads through {name!r}, which was not recorded being made")
                return None
            if isinstance(child, Symlink) and (pending or follow) and links < _MOST_LINKS:
                links += 1
                target = child.target
                if target.startswith("/"):
                    inside = self._locator.under(target)
                    if inside is None:
                        return None
                    node, target = inside[0] or self.image.top, inside[1]
                pending.extend(part for part in target.split("/")[::-1] if part not in ("", "."))
                continue
            node = child
        return Spot(holder, name, node)

    def opened(self, where: Where, flags: int, call: int | None) -> OpenFile | None:
        """A descriptor was opened; None where the path led out of the root."""
        if _O_TMPFILE and flags & _O_TMPFILE == _O_TMPFILE:
            unnamed = ops.CreateUnnamed(self._number())
            self.emit(unnamed, call)
            return OpenFile(self.image.nodes[unnamed.ino], where[1], flags)
        exclusive = flags & os.O_CREAT and flags & os.O_EXCL
        spot = self.find(where, follow=not exclusive and not flags & getattr(os, "O_NOFOLLOW", 0))
        if spot is None:
            return None
        node = spot.node
        if node is None:
            if not flags & os.O_CREAT:
                self._blind(f"{where[1]!r} was opened, and was not recorded being made")
                return None
            ino = self._number()
            self.emit(ops.Create(spot.directory.ino, spot.name, ino), call)
            node = self.image.nodes[ino]
        elif exclusive:
            self._blind(f"{where[1]!r} was made, and was not recorded being removed")
            return None
        elif flags & os.O_TRUNC and isinstance(node, File):
            self.emit(ops.Truncate(node.ino, len(node.data), 0), call)
        return OpenFile(node, where[1], flags)

    def wrote(
        self,
        fd: int,
        file: OpenFile,
        count: int,
        buffers: Iterable[ReadableBuffer] | None,
        offset: int | None,
        flags: int,
        call: int | None,
    ) -> None:
        """The first `count` bytes of the buffers were written; of no buffers: what stands there now.

        `offset` is None where the descriptor's position was used; `flags` are those of `pwritev`.
        """
        node = file.node
        if not isinstance(node, File):
            return
        if offset is None or offset < 0:
            # The position has moved past what was written; in append mode too, to the end that was met.
            offset = os.lseek(fd, 0, os.SEEK_CUR) - count
        elif file.append or flags & RWF_APPEND:
            # Linux appends whatever the offset says.
            offset = real.fstat(fd).st_size - count
        data = _read_back(fd, offset, count) if buffers is None else b"".join(bytes(part) for part in buffers)
        if data is None or len(data) < count:
            self._blind(f"what the operating system copied into {file.text!r} could not be read back")
            return
        self.put(file, offset, data if len(data) == count else data[:count], flags, call)

    def put(self, file: OpenFile, offset: int, data: bytes, flags: int, call: int | None) -> None:
        """Data was written at an offset of an open file; `flags` are those of `pwritev`."""
        node = file.node
        if not isinstance(node, File):
            return
        self.emit(ops.Write(node.ino, offset, data), call)
        if flags & RWF_SYNC or file.flags & _O_SYNC == _O_SYNC:
            self.emit(ops.Fsync(node.ino), call)
        elif flags & RWF_DSYNC or file.flags & _O_DSYNC:
            self.emit(ops.Fdatasync(node.ino), call)

    def resized(self, node: Node | None, size: int, call: int | None) -> None:
        """An open file got a size."""
        if isinstance(node, File):
            self.emit(ops.Truncate(node.ino, len(node.data), size), call)

    def resized_path(self, where: Where, size: int, call: int | None) -> None:
        """A file got a size by its path."""
        spot = self._existing(where, follow=True)
        if spot is not None:
            self.resized(spot.node, size, call)

    def reserved(self, node: Node | None, offset: int, length: int, call: int | None) -> None:
        """Blocks were reserved, and the size follows."""
        if isinstance(node, File):
            self.emit(ops.Fallocate(node.ino, offset, length, False), call)

    def synced(self, node: Node | None, call: int | None, *, data_only: bool) -> None:
        """A descriptor was synced."""
        if isinstance(node, Directory):
            self.emit(ops.FsyncDirectory(node.ino), call)
        elif isinstance(node, File):
            self.emit(ops.Fdatasync(node.ino) if data_only else ops.Fsync(node.ino), call)

    def sync_failed(self, node: Node | None, call: int | None) -> None:
        """A descriptor was not synced. What is pending of a directory stays so."""
        if isinstance(node, File):
            self.emit(ops.SyncFailed(node.ino), call)

    def made_directory(self, where: Where, call: int | None) -> None:
        """A directory was made."""
        spot = self._vacant(where)
        if spot is not None:
            self.emit(ops.Mkdir(spot.directory.ino, spot.name, self._number()), call)

    def made_symlink(self, target: str, where: Where, call: int | None) -> None:
        """A symbolic link was made."""
        spot = self._vacant(where)
        if spot is not None:
            self.emit(ops.Symlink(spot.directory.ino, spot.name, self._number(), target), call)

    def removed(self, where: Where, call: int | None) -> None:
        """A name was removed, of a file or of an empty directory."""
        spot = self._existing(where, follow=False)
        if spot is not None and spot.node is not None:
            kind = ops.Rmdir if isinstance(spot.node, Directory) else ops.Unlink
            self.emit(kind(spot.directory.ino, spot.name, spot.node.ino), call)

    def renamed(self, source: Where | None, target: Where | None, call: int | None) -> None:
        """A name was moved, from or to outside where one side is None."""
        here = None if source is None else self._existing(source, follow=False)
        there = None if target is None else self.find(target, follow=False)
        if here is None and there is None:
            return
        if here is None or here.node is None or there is None:
            self._blind(f"a rename crossed the border of the root: {_text(source)} to {_text(target)}")
            return
        if here.node is there.node:
            # Two names of one file, or one name twice: the operating system does nothing, and says it did.
            return
        replaced = None if there.node is None else there.node.ino
        places = (here.directory.ino, here.name, there.directory.ino, there.name)
        self.emit(ops.Rename(*places, here.node.ino, replaced), call)

    def linked(self, source: Where | None, target: Where, target_is_symlink: bool, call: int | None) -> None:
        """An inode got one more name."""
        there = self._vacant(target)
        here = None if source is None else self._existing(source, follow=not target_is_symlink)
        if there is None:
            return
        if here is None or here.node is None:
            self._blind(f"a file that is not known to the recording was linked to {_text(target)}")
            return
        self.emit(ops.Link(there.directory.ino, there.name, here.node.ino), call)

    def _vacant(self, where: Where) -> Spot | None:
        spot = self.find(where, follow=False)
        if spot is not None and spot.node is not None:
            if spot.node is not self.image.top:
                self._blind(f"{_text(where)} was made, and was not recorded being removed")
            return None
        return spot

    def _existing(self, where: Where, *, follow: bool) -> Spot | None:
        spot = self.find(where, follow=follow)
        if spot is not None and spot.node is self.image.top:
            # Its own name is an entry of a directory that is not recorded.
            return None
        if spot is not None and spot.node is None:
            self._blind(f"{_text(where)} is there, and was not recorded being made")
            return None
        return spot


def _text(where: Where | None) -> str:
    return "a path outside" if where is None else repr(where[1])


def _read_back(fd: int, offset: int, count: int) -> bytes | None:
    """What stands in an open file now, though the descriptor may be for writing only."""
    try:
        reader = real.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = b""
        while len(data) < count:
            piece = real.pread(reader, count - len(data), offset + len(data))
            if not piece:
                break
            data += piece
        return data
    finally:
        real.close(reader)
