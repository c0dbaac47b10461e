"""A file tree in memory: what is on the disk at one moment, and what each operation makes of it.

Promises: `FileSystem.apply` does to the image what the operation did to the real tree, as a reader sees it at once;
content belongs to the inode, so renamed and unlinked files keep it. Reading the real tree goes past the recorder: it
is neither counted nor recorded.

Does not: know what is durable. An image is what readers see; what a crash leaves of it is decided elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from conformance.sim.disk import ops, real


class File:
    """An inode with content."""

    __slots__ = ("data", "ino")

    def __init__(self, ino: int, data: bytes | bytearray = b"") -> None:
        self.ino = ino
        self.data = bytearray(data)


class Directory:
    """An inode with entries.

    `parent` is the inode of the directory that holds it, None for the top. `above` is empty in the root and below it;
    in the directories above the root it holds the names that lead down to it, for the image knows no other entry there.
    """

    __slots__ = ("above", "entries", "ino", "parent")

    def __init__(self, ino: int, parent: int | None, above: tuple[str, ...] = ()) -> None:
        self.ino = ino
        self.parent = parent
        self.above = above
        self.entries: dict[str, Node] = {}

    def below(self, name: str) -> tuple[str, ...]:
        """The `above` of a directory that gets this name in here."""
        return self.above[1:] if self.above[:1] == (name,) else ()


class Symlink:
    """An inode that holds a path."""

    __slots__ = ("ino", "target")

    def __init__(self, ino: int, target: str) -> None:
        self.ino = ino
        self.target = target


class Special:
    """An inode of any other kind: a pipe, a socket, a device."""

    __slots__ = ("ino",)

    def __init__(self, ino: int) -> None:
        self.ino = ino


Node: TypeAlias = File | Directory | Symlink | Special


@dataclass(frozen=True, slots=True)
class Tree:
    """What a reader finds under a root. Paths are relative to it, and the root itself is "."; it may be absent.

    Attributes:
        inodes: path -> inode, as far as it is known. Paths with one number are one file; a path without one is a file
            of its own. Two trees that differ in this alone are equal.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    directories: frozenset[str] = frozenset()
    symlinks: Mapping[str, str] = field(default_factory=dict)
    specials: frozenset[str] = frozenset()
    inodes: Mapping[str, int] = field(default_factory=dict, compare=False)


class FileSystem:
    """The image of a root and of the way down to it, by inode.

    Args:
        above: the names that lead from the top directory, inode 0, down to the root; the last is the root's own.
    """

    def __init__(self, above: tuple[str, ...]) -> None:
        self.above = above
        self.top = Directory(0, None, above)
        self.nodes: dict[int, Node] = {0: self.top}

    @classmethod
    def load(cls, top: str, above: tuple[str, ...]) -> FileSystem:
        """Read what is on the disk now. The inodes get their numbers in the order of the sorted paths."""
        image = cls(above)
        path = os.path.join(top, *above)
        try:
            status = real.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return image
        # Where the root is there, so is everything above it.
        parent = image.top
        for name in above[:-1]:
            parent = image._adopt_directory(parent, name)
        image._load(path, parent, above[-1], status, {})
        return image

    def _adopt_directory(self, parent: Directory, name: str) -> Directory:
        directory = Directory(len(self.nodes), parent.ino, parent.below(name))
        self.nodes[directory.ino] = parent.entries[name] = directory
        return directory

    def _load(
        self, path: str, parent: Directory, name: str, status: os.stat_result, linked: dict[tuple[int, int], Node]
    ) -> None:
        if stat.S_ISDIR(status.st_mode):
            directory = self._adopt_directory(parent, name)
            for entry in sorted(real.listdir(path)):
                below = f"{path}/{entry}"
                self._load(below, directory, entry, real.lstat(below), linked)
            return
        identity = (status.st_dev, status.st_ino)
        node = linked.get(identity)
        if node is None:
            node = self.nodes[len(self.nodes)] = _read_node(path, len(self.nodes), status)
            linked[identity] = node
        parent.entries[name] = node

    def copy(self) -> FileSystem:
        """An image of its own that is equal to this one."""
        image = FileSystem(self.above)
        for ino, node in self.nodes.items():
            if isinstance(node, File):
                image.nodes[ino] = File(ino, node.data)
            elif isinstance(node, Directory) and ino:
                image.nodes[ino] = Directory(ino, node.parent, node.above)
            elif not isinstance(node, Directory):
                image.nodes[ino] = node
        for ino, node in self.nodes.items():
            if isinstance(node, Directory):
                entries = image.directory(ino).entries
                entries.update((name, image.nodes[child.ino]) for name, child in node.entries.items())
        return image

    def directory(self, ino: int) -> Directory:
        """The directory of that number. Raises `ValueError` for another kind of inode."""
        node = self.nodes[ino]
        if not isinstance(node, Directory):
            raise ValueError(f"inode {ino} is no directory but a {type(node).__name__.lower()}")
        return node

    def file(self, ino: int) -> File:
        """The file of that number. Raises `ValueError` for another kind of inode."""
        node = self.nodes[ino]
        if not isinstance(node, File):
            raise ValueError(f"inode {ino} is no file but a {type(node).__name__.lower()}")
        return node

    def path_of(self, node: Node) -> str | None:
        """A path from the top to an inode, the first in the order of the names; None where it has none."""
        pending: list[tuple[str, Node]] = [("", self.top)]
        while pending:
            path, found = pending.pop()
            if found is node:
                return path
            if isinstance(found, Directory):
                below = sorted(found.entries.items(), reverse=True)
                pending.extend((f"{path}/{name}" if path else name, child) for name, child in below)
        return None

    def apply(self, op: ops.DiskOp) -> None:
        """Do what the operation did. Syncs and markers change nothing here."""
        apply = _APPLY.get(type(op))
        if apply is not None:
            apply(self, op)

    def _write(self, op: ops.Write) -> None:
        data = self.file(op.ino).data
        if op.offset > len(data):
            data.extend(bytes(op.offset - len(data)))
        data[op.offset : op.offset + len(op.data)] = op.data

    def _truncate(self, op: ops.Truncate) -> None:
        _resize(self.file(op.ino).data, op.new)

    def _fallocate(self, op: ops.Fallocate) -> None:
        data = self.file(op.ino).data
        if not op.keep_size and op.offset + op.length > len(data):
            _resize(data, op.offset + op.length)

    def _create(self, op: ops.Create) -> None:
        self.nodes[op.ino] = self.directory(op.directory).entries[op.name] = File(op.ino)

    def _create_unnamed(self, op: ops.CreateUnnamed) -> None:
        self.nodes[op.ino] = File(op.ino)

    def _mkdir(self, op: ops.Mkdir) -> None:
        parent = self.directory(op.directory)
        self.nodes[op.ino] = parent.entries[op.name] = Directory(op.ino, parent.ino, parent.below(op.name))

    def _symlink(self, op: ops.Symlink) -> None:
        self.nodes[op.ino] = self.directory(op.directory).entries[op.name] = Symlink(op.ino, op.target)

    def _link(self, op: ops.Link) -> None:
        self.directory(op.directory).entries[op.name] = self.nodes[op.ino]

    def _remove(self, op: ops.Unlink | ops.Rmdir) -> None:
        del self.directory(op.directory).entries[op.name]

    def _rename(self, op: ops.Rename) -> None:
        node = self.directory(op.directory).entries.pop(op.name)
        target = self.directory(op.to_directory)
        target.entries[op.to_name] = node
        if isinstance(node, Directory):
            node.parent = target.ino

    def tree(self) -> Tree:
        """What a reader finds under the root now."""
        node: Node | None = self.top
        for name in self.above:
            node = node.entries.get(name) if isinstance(node, Directory) else None
        files: dict[str, bytes] = {}
        directories: list[str] = []
        symlinks: dict[str, str] = {}
        specials: list[str] = []
        inodes: dict[str, int] = {}
        pending: list[tuple[str, Node]] = [] if node is None else [(".", node)]
        while pending:
            path, node = pending.pop()
            inodes[path] = node.ino
            if isinstance(node, File):
                files[path] = bytes(node.data)
            elif isinstance(node, Directory):
                directories.append(path)
                prefix = "" if path == "." else f"{path}/"
                pending.extend((prefix + name, child) for name, child in node.entries.items())
            elif isinstance(node, Symlink):
                symlinks[path] = node.target
            else:
                specials.append(path)
        return Tree(files, frozenset(directories), symlinks, frozenset(specials), inodes)


_APPLY: dict[type, Callable[[FileSystem, Any], None]] = {
    ops.Create: FileSystem._create,
    ops.CreateUnnamed: FileSystem._create_unnamed,
    ops.Write: FileSystem._write,
    ops.Truncate: FileSystem._truncate,
    ops.Fallocate: FileSystem._fallocate,
    ops.Rename: FileSystem._rename,
    ops.Link: FileSystem._link,
    ops.Symlink: FileSystem._symlink,
    ops.Unlink: FileSystem._remove,
    ops.Mkdir: FileSystem._mkdir,
    ops.Rmdir: FileSystem._remove,
}


def _resize(data: bytearray, size: int) -> None:
    if size < len(data):
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))


def _read_node(path: str, ino: int, status: os.stat_result) -> Node:
    if stat.S_ISREG(status.st_mode):
        with real.io_open(path, "rb") as stream:
            return File(ino, stream.read())
    if stat.S_ISLNK(status.st_mode):
        return Symlink(ino, real.readlink(path))
    return Special(ino)


def difference(recorded: Tree, found: Tree, *, most: int = 5) -> str:
    """Where two trees differ, in words, at most `most` places; "" where they are equal."""
    mine, theirs = _kinds(recorded), _kinds(found)
    texts = (_difference_at(path, mine.get(path), theirs.get(path)) for path in sorted(mine.keys() | theirs.keys()))
    told = [text for text in texts if text]
    more = f"; and {len(told) - most} more" if len(told) > most else ""
    return "; ".join(told[:most]) + more


def _kinds(tree: Tree) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {path: ("file", data) for path, data in tree.files.items()}
    found.update(dict.fromkeys(tree.directories, ("directory", None)))
    found.update({path: ("symbolic link", target) for path, target in tree.symlinks.items()})
    found.update(dict.fromkeys(tree.specials, ("special file", None)))
    return found


def _difference_at(path: str, recorded: tuple[str, Any] | None, found: tuple[str, Any] | None) -> str:
    if recorded == found:
        return ""
    if recorded is None or found is None:
        there, other = ("recorded", "on the disk") if found is None else ("on the disk", "recorded")
        kind = (recorded or found or ("", None))[0]
        return f"{path!r}: a {kind} is {there} and none {other}"
    if recorded[0] != found[0]:
        return f"{path!r}: a {recorded[0]} is recorded, a {found[0]} is on the disk"
    if recorded[0] != "file":
        return f"{path!r}: points to {recorded[1]!r} as recorded, to {found[1]!r} on the disk"
    mine, theirs = recorded[1], found[1]
    at = next((at for at, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    return f"{path!r}: {len(mine)} bytes are recorded, {len(theirs)} are on the disk, and they differ from byte {at} on"
