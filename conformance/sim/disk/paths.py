"""Which paths lie under the root, however they are spelled.

Promises: absolute and relative paths, `bytes` and path objects, `dir_fd` forms, `..`, and symbolic links that lead
into the root from outside are all found, and come back as one spelling. A path outside the root costs little more
than a string comparison once it has been seen.

Does not: notice that another process made a symbolic link into the root at a path that was seen before.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TypeAlias

from conformance.sim.disk import real
from conformance.sim.disk.image import Directory, Node

_MOST_REMEMBERED = 10_000
_MOST_LINKS = 40
_CHANGING = ("/proc", "/dev/fd")
_DESCRIPTOR = re.compile(r"/(?:proc/self|dev)/fd/(\d+)")


@dataclass(slots=True)
class OpenFile:
    """What one open of a file or directory under the root gave; its duplicates share it.

    Attributes:
        node: the inode, where operations are recorded and it is known.
        text: the path it was opened by, relative to the top directory.
        flags: those given to `open`, and later to `F_SETFL`.
    """

    node: Node | None
    text: str
    flags: int

    @property
    def append(self) -> bool:
        """Whether writes go to the end, whatever the position."""
        return bool(self.flags & os.O_APPEND)


Where: TypeAlias = tuple[Node | None, str]
"""A path under the root: the inode to start from (None: the top), and the names from there."""


class Locator:
    """The way from paths to places under one root.

    Attributes:
        root: the root as the operating system spells it.
        top: the nearest directory above the root that exists; inode 0.
        above: the names that lead from there to the root.
    """

    def __init__(self, root: str | os.PathLike[str], files: dict[int, OpenFile]) -> None:
        spelled = os.path.abspath(os.fspath(root))
        self.root = canonical(spelled, follow=True)
        if self.root == "/":
            raise ValueError("the root of the file system cannot be recorded; give a directory below it")
        top = os.path.dirname(self.root)
        while not _is_directory(top):
            top = os.path.dirname(top)
        self.top = top
        self.above = tuple(os.path.relpath(self.root, top).split("/"))
        self._files = files
        self._outside: set[str] = set()
        self._directories: dict[str, str] = {}
        self._below = "/".join(self.above)
        self._prefixes = (self.root + "/", spelled + "/")
        # The directories above the root belong to the recording by themselves, without their other entries: a root
        # that is made, and made durable, is an operation on them.
        self._exact: dict[str, str] = {spelled: self._below, top: ""}
        for depth in range(1, len(self.above) + 1):
            names = "/".join(self.above[:depth])
            self._exact[f"{top.rstrip('/')}/{names}"] = names

    def forget(self) -> None:
        """Forget what was found: a symbolic link was made, or something that may be or hold one was moved."""
        self._outside.clear()
        self._directories.clear()

    def under(self, path: object, dir_fd: int | None = None, *, follow: bool = True) -> Where | None:
        """Where the path lies; None outside the root.

        `follow` tells whether the operation goes through a symbolic link that the path ends in.
        """
        if type(path) is not str:
            try:
                path = os.fsdecode(path)  # type: ignore[arg-type]
            except TypeError:
                return None
        for prefix in self._prefixes:
            if path.startswith(prefix):
                if "/.." in path:
                    return self._search(path, follow=follow)
                return None, f"{self._below}/{path[len(prefix) :]}"
        if path in self._outside:
            return None
        if not path.startswith("/"):
            if dir_fd is not None:
                file = self._files.get(dir_fd)
                if file is not None and not (isinstance(file.node, Directory) and file.node.above):
                    return _start(file, path)
            absolute = _absolute(path, dir_fd)
            if absolute is None:
                return None
            path = absolute
        return self._search(path, follow=follow)

    def _search(self, path: str, *, follow: bool) -> Where | None:
        number = _DESCRIPTOR.fullmatch(path)
        if number is not None:
            # It leads to what the descriptor is open on, which need not have a name any more.
            file = self._files.get(int(number[1]))
            if file is None or not follow:
                return None
            return (None, file.text) if file.node is None else (file.node, "")
        direct = self._canonical(path)
        found = self.match(direct)
        if found is not None:
            return None, found
        found = self.match(canonical(direct, follow=True))
        if found is not None:
            return (None, found) if follow else None
        if not path.startswith(_CHANGING):
            if len(self._outside) >= _MOST_REMEMBERED:
                self._outside.clear()
            self._outside.add(path)
        return None

    def _canonical(self, path: str) -> str:
        """As `canonical`, without following the last name; what lies before it is remembered."""
        before, _, name = path.rpartition("/")
        if name in ("", ".", "..") or before.startswith(_CHANGING):
            return canonical(path, follow=False)
        found = self._directories.get(before)
        if found is None:
            if len(self._directories) >= _MOST_REMEMBERED:
                self._directories.clear()
            found = self._directories[before] = canonical(before, follow=True)
        return f"{found.rstrip('/')}/{name}"

    def match(self, path: str) -> str | None:
        """The names from the top, for an absolute path that is spelled plainly; None outside."""
        for prefix in self._prefixes:
            if path.startswith(prefix):
                return f"{self._below}/{path[len(prefix) :]}"
        return self._exact.get(path)


def canonical(path: str, *, follow: bool) -> str:
    """An absolute path without symbolic links, `.` and `..`; the last name is looked through only with `follow`.

    Names that do not exist stay as they are. It goes past the recorder.
    """
    resolved = ""
    links = 0
    pending = path.split("/")[::-1]
    while pending:
        name = pending.pop()
        if name in ("", "."):
            continue
        if name == "..":
            resolved = resolved.rpartition("/")[0]
            continue
        here = f"{resolved}/{name}"
        if (pending or follow) and links < _MOST_LINKS:
            try:
                target = real.readlink(here)
            except (OSError, ValueError):
                # No link, or nothing at all, or no name that could be: it stands for itself.
                resolved = here
                continue
            links += 1
            if target.startswith("/"):
                resolved = ""
            pending.extend(target.split("/")[::-1])
        else:
            resolved = here
    return resolved or "/"


def _start(file: OpenFile, path: str) -> Where:
    if isinstance(file.node, Directory):
        return file.node, path
    return None, f"{file.text}/{path}"


def _absolute(path: str, dir_fd: int | None) -> str | None:
    try:
        base = os.getcwd() if dir_fd is None else real.readlink(f"/proc/self/fd/{dir_fd}")
    except (OSError, OverflowError):
        # The working directory is gone, or the descriptor is none: the call itself will say so.
        return None
    return f"{base}/{path}"


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(real.stat(path).st_mode)
    except OSError:
        return False
