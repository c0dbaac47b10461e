"""Trees as plain files: writing one under an absent root, and taking it away again.

Promises: `materialise` makes exactly the files, directories and symbolic links of a tree, past the recorder, and where
attributes are given with those modes and times; `attributes_of` reads them from a real tree by inode, and
`attributes_at` finds them for the paths of another tree of the same inodes. `clear` removes whatever stands at a path.

Does not: sync anything, or give owners and extended attributes back. What was never seen has no attributes: such a
file gets a mode that its owner alone can use, so that no mode looks too open by our doing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from conformance.sim.disk import real
from conformance.sim.disk.image import Directory, FileSystem, Node, Tree

Attributes: TypeAlias = tuple[int, int | None]
"""Mode (the permission bits), and the time of the last change in nanoseconds, or None for "now"."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_INODE = -1
_UNSEEN_FILE: Attributes = (0o600, None)
_PRIVATE = 0o700
_UNSEEN_DIRECTORY: Attributes = (_PRIVATE, None)


def materialise(tree: Tree, root: str | os.PathLike[str], attributes: Mapping[str, Attributes] | None = None) -> None:
    """Write a tree under a root that is absent, in a directory that is there; an absent tree writes nothing.

    Args:
        attributes: path in the tree -> its mode and time. Paths without an entry get a private mode. None: nobody
            asks for modes and times.

    Raises:
        FileExistsError: the root is there.
        ValueError: the tree holds a pipe, a socket or a device.
    """
    if tree.specials:
        raise ValueError(f"no plain files, and nothing that could be written again: {sorted(tree.specials)}")
    base = os.fspath(root)
    directories = sorted(tree.directories, key=_outermost_first)
    for path in directories:
        real.mkdir(_place(base, path), _PRIVATE)
    first: dict[int, str] = {}
    for path, data in tree.files.items():
        place = _place(base, path)
        ino = tree.inodes.get(path)
        if ino is not None and first.setdefault(ino, place) != place:
            real.link(first[ino], place)
        else:
            _write(place, data, None if attributes is None else attributes.get(path, _UNSEEN_FILE))
    for path, target in tree.symlinks.items():
        real.symlink(target, _place(base, path))
    if attributes is not None:
        # A directory's time changes with each entry, so the deepest come first and all of them last.
        for path in reversed(directories):
            mode, changed = attributes.get(path, _UNSEEN_DIRECTORY)
            place = _place(base, path)
            if mode != _PRIVATE:
                real.chmod(place, mode)
            if changed is not None:
                real.utime(place, ns=(changed, changed))


def _outermost_first(path: str) -> tuple[bool, str]:
    """Sorts a directory before what is in it; there are names that sort before the root's own."""
    return path != ".", path


def _place(base: str, path: str) -> str:
    return base if path == "." else f"{base}/{path}"


def _write(place: str, data: bytes, attributes: Attributes | None) -> None:
    fd = real.open(place, _NEW_FILE, 0o600)
    try:
        written = real.write(fd, data) if data else 0
        while written < len(data):
            written += real.write(fd, data[written:])
        if attributes is not None:
            mode, changed = attributes
            if mode != 0o600:
                real.fchmod(fd, mode)
            if changed is not None:
                real.utime(fd, ns=(changed, changed))
    finally:
        real.close(fd)


def attributes_of(image: FileSystem, root: str | os.PathLike[str]) -> dict[int, Attributes]:
    """Inode -> attributes, for every inode of an image that equals the real tree under `root`.

    Raises:
        FileNotFoundError: it does not equal it.
    """
    base = os.fspath(root)
    return {node.ino: _attributes(_place(base, path)) for path, node in _walk(image)}


def _attributes(place: str) -> Attributes:
    status = real.lstat(place)
    return stat.S_IMODE(status.st_mode), status.st_mtime_ns


def attributes_at(tree: Tree, live: Tree, by_inode: Mapping[int, Attributes]) -> dict[str, Attributes]:
    """Path -> attributes, for the paths of a tree.

    Args:
        live: the tree that the attributes were read from. Where `tree` does not know the inode of a path, it is taken
            for the one that is there now.
    """
    known, now = tree.inodes, live.inodes
    found: dict[str, Attributes] = {}
    for path in (*tree.files, *tree.directories):
        ino = known.get(path)
        attributes = by_inode.get(now.get(path, _NO_INODE) if ino is None else ino)
        if attributes is not None:
            found[path] = attributes
    return found


def _walk(image: FileSystem) -> Iterator[tuple[str, Node]]:
    node: Node | None = image.top
    for name in image.above:
        node = node.entries.get(name) if isinstance(node, Directory) else None
    pending: list[tuple[str, Node]] = [] if node is None else [(".", node)]
    while pending:
        path, node = pending.pop()
        yield path, node
        if isinstance(node, Directory):
            prefix = "" if path == "." else f"{path}/"
            pending.extend((prefix + name, child) for name, child in node.entries.items())


def clear(root: str | os.PathLike[str], expected: Tree | None = None) -> None:
    """Remove what stands at a path, and everything in it; symbolic links are not followed. Nothing there is no error.

    Args:
        expected: what probably stands there, which saves half of the time; whatever else there is goes too.

    Raises:
        OSError: something could not be removed.
    """
    place = os.fspath(root)
    if expected is not None and _clear_expected(place, expected):
        return
    try:
        real.unlink(place)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        # Linux says the one of a directory, other systems the other.
        _clear_directory(place)


def _clear_expected(place: str, expected: Tree) -> bool:
    """Remove what is expected; whether that was all."""
    try:
        for path in (*expected.files, *expected.symlinks):
            real.unlink(_place(place, path))
        for path in sorted(expected.directories, key=_outermost_first, reverse=True):
            real.rmdir(_place(place, path))
    except OSError:
        # It is not there, or something else is: for those who look.
        return False
    return "." in expected.directories


def _clear_directory(place: str) -> None:
    with real.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _clear_directory(entry.path)
            else:
                real.unlink(entry.path)
    real.rmdir(place)
