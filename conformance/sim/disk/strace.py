"""The recorder from outside: the operations of a program and of all it starts, read off what ``strace`` wrote.

Promises: the same operations that the recorder in the process makes, from the same paths, by the same journal,
whoever made the calls: Python, a C extension, a child process. They stand in the order in which they ended.

Does not: see what goes through a memory mapping or through io_uring, nor what another program was asked to do. Where
such a thing is set up on a file under the root it is named in `reasons`, as is whatever else cannot be followed. What
the kernel copies by itself (sendfile and the like) is not in the lines: such a write holds NUL, as many as it took.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from conformance.sim.disk import ops
from conformance.sim.disk.image import Directory, File
from conformance.sim.disk.journal import RWF_APPEND, Journal
from conformance.sim.disk.paths import Locator, OpenFile, Where
from conformance.sim.disk.strace_lines import (
    Descriptor,
    SystemCall,
    data_of,
    descriptor_of,
    flags_of,
    path_of,
    system_calls,
)
from conformance.sim.disk.trace import Trace

_BY_NUMBER = re.compile(r"/(?:proc/(?:self|thread-self|\d+)|dev)/fd/(\d+)")
_CLONES = frozenset({"clone", "clone3", "fork", "vfork"})
_HERE = Descriptor(None, "")


@dataclass(slots=True)
class _Opened:
    """An open file of the kernel; duplicates of its descriptor share it."""

    file: OpenFile
    position: int = 0


@dataclass(slots=True)
class _Process:
    """What the threads of one process share: the working directory, and what is open under the root."""

    directory: str
    files: dict[int, _Opened] = field(default_factory=dict)


class Replay:
    """What a program does under one root.

    Args:
        root: as for `Recorder`; to be given before the program runs, for what is there by now is the base.
        directory: the working directory in which the program begins.

    Attributes:
        reasons: why the operations are not all there were, as far as that can be seen.
    """

    def __init__(self, root: str | os.PathLike[str], directory: str) -> None:
        self.reasons: list[str] = []
        self._locator = Locator(root, {})
        self._journal = Journal(self._locator, self.reasons)
        self._directory = directory
        self._processes: dict[int, _Process] = {}

    def feed(self, lines: Iterable[str]) -> None:
        """Take the lines of a whole run, see `command`; to be called once."""
        calls = list(system_calls(lines))
        makers = {call.number: call for call in calls if call.name in _CLONES and call.number > 0}
        for call in calls:
            process = self._process(call.thread, makers)
            follow = _FOLLOW.get(call.name)
            # What failed has done nothing, but for a close: the number is free all the same.
            if follow is not None and (call.number >= 0 or call.name == "close"):
                follow(self, process, call)

    def trace(self) -> Trace:
        """What was done."""
        return self._journal.trace()

    def _process(self, thread: int, makers: Mapping[int, SystemCall]) -> _Process:
        """The process of a thread; a new one has what its maker had, or shares it."""
        found = self._processes.get(thread)
        if found is not None:
            return found
        maker = makers.get(thread)
        if maker is None:
            found = _Process(self._directory)
        else:
            parent = self._process(maker.thread, makers)
            shares = any("CLONE_FILES" in each for each in maker.args)
            found = parent if shares else _Process(parent.directory, dict(parent.files))
        self._processes[thread] = found
        return found

    def _cloned(self, process: _Process, call: SystemCall) -> None:
        self._process(call.number, {call.number: call})

    def _blind(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)

    def _opened(self, process: _Process, text: str) -> _Opened | None:
        """What a descriptor is open on, where that lies under the root."""
        descriptor = descriptor_of(text)
        if descriptor.number is None:
            return None
        if not descriptor.is_file:
            # It was closed in a way that is not told, and the number belongs to something else now.
            process.files.pop(descriptor.number, None)
            return None
        found = process.files.get(descriptor.number)
        if found is None and self._locator.match(descriptor.path) is not None:
            self._blind(f"{descriptor.path!r} is open in a process that was not seen opening it")
        return found

    def _where(self, process: _Process, path: str, at: Descriptor = _HERE, *, follow: bool) -> Where | None:
        """Where a path lies that was given to a call; None outside the root."""
        number = _BY_NUMBER.fullmatch(path)
        if number is not None:
            found = process.files.get(int(number[1])) if follow else None
            return None if found is None else (found.file.node, "")
        if not path.startswith("/"):
            base = None if at.number is None else process.files.get(at.number)
            node = None if base is None else base.file.node
            if not path or (isinstance(node, Directory) and not node.above):
                return None if node is None else (node, path)
            path = f"{at.path or process.directory}/{path}"
        return self._locator.under(path, follow=follow)

    def _open(self, process: _Process, call: SystemCall, where: Where | None, flags: int) -> None:
        process.files.pop(call.number, None)
        file = None if where is None else self._journal.opened(where, flags, None)
        if file is not None:
            process.files[call.number] = _Opened(file)

    def _open_at(self, process: _Process, call: SystemCall) -> None:
        flags = flags_of(call.args[2].removeprefix("{flags=").partition(",")[0])
        follow = not flags & os.O_NOFOLLOW
        where = self._where(process, path_of(call.args[1]), descriptor_of(call.args[0]), follow=follow)
        self._open(process, call, where, flags)

    def _open_by_path(self, process: _Process, call: SystemCall) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC if call.name == "creat" else flags_of(call.args[1])
        where = self._where(process, path_of(call.args[0]), follow=not flags & os.O_NOFOLLOW)
        self._open(process, call, where, flags)

    def _close(self, process: _Process, call: SystemCall) -> None:
        number = descriptor_of(call.args[0]).number
        if number is not None:
            process.files.pop(number, None)

    def _close_range(self, process: _Process, call: SystemCall) -> None:
        first, last = int(call.args[0].partition("<")[0]), int(call.args[1].partition("<")[0])
        if "CLOEXEC" not in call.args[2]:
            process.files = {number: each for number, each in process.files.items() if not first <= number <= last}

    def _duplicate(self, process: _Process, call: SystemCall) -> None:
        found = self._opened(process, call.args[0])
        process.files.pop(call.number, None)
        if found is not None:
            process.files[call.number] = found

    def _fcntl(self, process: _Process, call: SystemCall) -> None:
        if call.args[1] in ("F_DUPFD", "F_DUPFD_CLOEXEC"):
            self._duplicate(process, call)
        elif call.args[1] == "F_SETFL" and (found := self._opened(process, call.args[0])) is not None:
            found.file.flags = found.file.flags & ~os.O_APPEND | flags_of(call.args[2]) & os.O_APPEND

    def _seek(self, process: _Process, call: SystemCall) -> None:
        found = self._opened(process, call.args[0])
        if found is not None:
            found.position = call.number

    def _read(self, process: _Process, call: SystemCall) -> None:
        found = process.files.get(int(call.args[0], 0))
        if found is not None:
            found.position += call.number

    def _write(self, process: _Process, call: SystemCall) -> None:
        found = self._opened(process, call.args[0])
        if found is not None:
            offset = None if len(call.args) < 4 else int(call.args[3])
            flags = flags_of(call.args[4]) if len(call.args) > 4 else 0
            self._put(found, data_of(call.args[1], call.number), offset, flags)

    def _put(self, opened: _Opened, data: bytes, offset: int | None, flags: int = 0) -> None:
        """Data was written at an offset, or where the descriptor stands."""
        node = opened.file.node
        if not isinstance(node, File) or not data:
            return
        moves = offset is None or offset < 0
        appends = opened.file.append or flags & RWF_APPEND
        # Linux appends whatever the offset says.
        at = len(node.data) if appends else opened.position if offset is None or offset < 0 else offset
        if moves:
            opened.position = at + len(data)
        self._journal.put(opened.file, at, data, flags, None)

    def _copy(self, process: _Process, call: SystemCall) -> None:
        """sendfile(to, from, from offset, n), copy_file_range and splice(from, offset, to, offset, n, flags)."""
        to, at, source, from_ = (0, "NULL", 1, 2) if call.name == "sendfile" else (2, call.args[3], 0, 1)
        read, written = self._opened(process, call.args[source]), self._opened(process, call.args[to])
        if read is not None and call.args[from_] == "NULL":
            read.position += call.number
        if written is not None:
            place = re.match(r"\[(\d+)", at)
            self._put(written, bytes(call.number), None if place is None else int(place[1]))

    def _truncate(self, process: _Process, call: SystemCall) -> None:
        size = int(call.args[1])
        if call.name == "ftruncate":
            found = self._opened(process, call.args[0])
            self._journal.resized(None if found is None else found.file.node, size, None)
        elif (where := self._where(process, path_of(call.args[0]), follow=True)) is not None:
            self._journal.resized_path(where, size, None)

    def _fallocate(self, process: _Process, call: SystemCall) -> None:
        found = self._opened(process, call.args[0])
        node = None if found is None else found.file.node
        if not isinstance(node, File):
            return
        mode, offset, length = call.args[1], int(call.args[2]), int(call.args[3])
        if mode not in ("0", "FALLOC_FL_KEEP_SIZE"):
            self._blind(f"blocks of a file were changed in a way that is not followed ({mode})")
        else:
            self._journal.emit(ops.Fallocate(node.ino, offset, length, mode != "0"), None)

    def _sync(self, process: _Process, call: SystemCall) -> None:
        found = self._opened(process, call.args[0])
        if found is not None:
            self._journal.synced(found.file.node, None, data_only=call.name == "fdatasync")

    def _sync_all(self, process: _Process, call: SystemCall) -> None:
        # Which file system a descriptor outside the root lies on is not told: it may well be that of the root.
        self._journal.emit(ops.SyncAll(), None)

    def _make(self, process: _Process, call: SystemCall) -> None:
        where = self._named(process, call, call.name.endswith("at"), 0)
        if where is None:
            return
        if call.name.startswith("mknod"):
            self._blind(f"{where[1]!r} was made by mknod: what goes through it is not seen")
        else:
            self._journal.made_directory(where, None)

    def _named(self, process: _Process, call: SystemCall, has_directory: bool, first: int) -> Where | None:
        """The place of a name that is made, moved or removed; its arguments begin at the index `first`."""
        at = descriptor_of(call.args[first]) if has_directory else _HERE
        return self._where(process, path_of(call.args[first + has_directory]), at, follow=False)

    def _symlink(self, process: _Process, call: SystemCall) -> None:
        where = self._named(process, call, call.name == "symlinkat", 1)
        if where is not None:
            self._journal.made_symlink(path_of(call.args[0]), where, None)

    def _remove(self, process: _Process, call: SystemCall) -> None:
        where = self._named(process, call, call.name == "unlinkat", 0)
        if where is not None:
            self._journal.removed(where, None)

    def _rename(self, process: _Process, call: SystemCall) -> None:
        has_directory = call.name != "rename"
        source = self._named(process, call, has_directory, 0)
        target = self._named(process, call, has_directory, 1 + has_directory)
        if call.name == "renameat2" and call.args[4] not in ("0", "RENAME_NOREPLACE"):
            if source is not None or target is not None:
                self._blind(f"names were moved in a way that is not followed ({call.args[4]})")
            return
        if source is not None or target is not None:
            self._journal.renamed(source, target, None)

    def _link(self, process: _Process, call: SystemCall) -> None:
        has_directory = call.name == "linkat"
        target = self._named(process, call, has_directory, 1 + has_directory)
        if target is None:
            return
        follow = has_directory and "AT_SYMLINK_FOLLOW" in call.args[4]
        at = descriptor_of(call.args[0]) if has_directory else _HERE
        source = self._where(process, path_of(call.args[has_directory]), at, follow=follow)
        self._journal.linked(source, target, not follow, None)

    def _change_directory(self, process: _Process, call: SystemCall) -> None:
        path = descriptor_of(call.args[0]).path if call.name == "fchdir" else path_of(call.args[0])
        process.directory = os.path.join(process.directory, path)

    def _map(self, process: _Process, call: SystemCall) -> None:
        if "MAP_SHARED" in call.args[3] and "PROT_WRITE" in call.args[2]:
            found = self._opened(process, call.args[4])
            if found is not None:
                self._blind(f"{found.file.text!r} was mapped into memory for writing: such writes are not seen")

    def _ioctl(self, process: _Process, call: SystemCall) -> None:
        if call.args[1].startswith("FICLONE") and self._opened(process, call.args[0]) is not None:
            self._blind("blocks of a file were shared with another one (a reflink), which is not followed")

    def _ring(self, process: _Process, call: SystemCall) -> None:
        self._blind(f"{call.name} was called: what goes to the disk that way is not seen")


_Follow: TypeAlias = Callable[[Replay, _Process, SystemCall], None]


def _all(follow: _Follow, names: str) -> dict[str, _Follow]:
    return dict.fromkeys(names.split(), follow)


_FOLLOW: dict[str, _Follow] = {
    **_all(Replay._cloned, "clone clone3 fork vfork"),
    **_all(Replay._open_at, "openat openat2"),
    **_all(Replay._open_by_path, "open creat"),
    **_all(Replay._duplicate, "dup dup2 dup3"),
    **_all(Replay._read, "read readv"),
    **_all(Replay._write, "write writev pwrite64 pwritev pwritev2"),
    **_all(Replay._copy, "sendfile copy_file_range splice"),
    **_all(Replay._truncate, "truncate ftruncate"),
    **_all(Replay._sync, "fsync fdatasync"),
    **_all(Replay._sync_all, "sync syncfs"),
    **_all(Replay._make, "mkdir mkdirat mknod mknodat"),
    **_all(Replay._symlink, "symlink symlinkat"),
    **_all(Replay._remove, "unlink unlinkat rmdir"),
    **_all(Replay._rename, "rename renameat renameat2"),
    **_all(Replay._link, "link linkat"),
    **_all(Replay._change_directory, "chdir fchdir"),
    **_all(Replay._ring, "io_uring_setup io_submit"),
    "close": Replay._close,
    "close_range": Replay._close_range,
    "fcntl": Replay._fcntl,
    "lseek": Replay._seek,
    "fallocate": Replay._fallocate,
    "mmap": Replay._map,
    "ioctl": Replay._ioctl,
}
