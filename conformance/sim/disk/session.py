"""The recording that is going on: what the patched functions report to.

Promises: a patched function holds `lock` from the real call to the end of its report, so that the operations stand
in the order in which the operating system did them, with threads too.

Does not: patch anything, or do what it is told of. `SLOT` is where the patched functions look for the session; it is
empty while nobody records.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.sim.disk import ops, real
from conformance.sim.disk.counts import Calls
from conformance.sim.disk.faults import Content, Fault, Faults
from conformance.sim.disk.journal import RWF_DSYNC, RWF_SYNC, Journal
from conformance.sim.disk.paths import Locator, OpenFile, Where
from conformance.sim.disk.trace import Trace

if TYPE_CHECKING:
    from io import FileIO

    from _typeshed import ReadableBuffer

_SYNCHRONOUS: int = getattr(os, "O_SYNC", 0) | getattr(os, "O_DSYNC", 0)
_DELETED = re.compile(r" \(deleted\)$")


class Session:
    """One recording under one root.

    Args:
        record: keep the operations with their data, not the counts alone.
        carried: the trace that this recording goes on with.
        untouched: nobody has anything under the root open.

    Attributes:
        files: the open descriptors under the root.
        owners: descriptor -> the raw file object that was made of it.
        reasons: why what was recorded or counted is not all there was, as far as was noticed.
        faults: the calls that were met by faults; armed: the same while a call may be met, None otherwise.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        record: bool,
        carried: Trace | None = None,
        untouched: bool = False,
    ) -> None:
        self.files: dict[int, OpenFile] = {}
        self.owners: dict[int, weakref.ref[FileIO]] = {}
        self.reasons: list[str] = []
        self.faults = Faults()
        self.armed: Faults | None = None
        self.locator = Locator(root, self.files)
        self.calls = Calls()
        # Reentrant: a collected buffer may be flushed by the very thread that is reporting.
        self.lock = threading.RLock()
        self.under = self.locator.under
        self.journal = Journal(self.locator, self.reasons, carried) if record else None
        for path in () if untouched else _open_paths():
            if self.locator.match(path) is not None:
                self.blind(f"{path!r} was open before the recording began")

    def blind(self, reason: str) -> None:
        """Something was done that the recording cannot follow."""
        if reason not in self.reasons:
            self.reasons.append(reason)

    def begin(self, call: int) -> None:
        """An API call was made."""
        with self.lock:
            self.calls.begin(call)
            if self.journal is not None:
                self.journal.emit(ops.CallBegin(call), call)

    def end(self, call: int, *, resolved: bool) -> None:
        """An API call is over."""
        with self.lock:
            self.calls.end(call)
            if resolved and self.journal is not None:
                self.journal.emit(ops.Ack(call), call)

    def arm(self, fault: Fault) -> None:
        """Storage calls may be met by this fault from now on."""
        with self.lock:
            self.faults.arm(fault)
            self.armed = self.faults

    def lift(self) -> None:
        """Storage works again."""
        with self.lock:
            self.faults.lift()
            self.armed = None

    def meet(self, kind: str, what: OpenFile | Where | None, *names: object) -> OSError | None:
        """A call is about to be made: the error to raise once it is done, or None. See `Faults.meet`.

        Args:
            what: what it is made on; None where that lies outside the root. names: the paths that were given to it.

        Raises:
            OSError: it is refused, and nothing of it must be done.
        """
        if what is None:
            return None
        with self.lock:
            return self.faults.meet(kind, lambda: self.path_of(what), *names)

    def meet_write(self, file: OpenFile, size: int, content: Content) -> tuple[int, OSError | None]:
        """The same for a write of that many bytes, with how many it may take. See `Faults.meet_write`."""
        with self.lock:
            return self.faults.meet_write(size, lambda: self.path_of(file), content)

    def denied(self, where: Where) -> bool:
        """Whether a look that raises nothing is answered with no. See `Faults.denies`."""
        with self.lock:
            return self.faults.denies(lambda: self.path_of(where))

    def meet_sync(self, file: OpenFile) -> OSError | None:
        """The same for a sync of a descriptor."""
        try:
            return self.meet("sync", file)
        except OSError:
            if self.journal is not None:
                self.journal.sync_failed(file.node, self.calls.current().call)
            raise

    def meet_sync_of_all(self) -> OSError | None:
        """The same for a sync of everything."""
        with self.lock:
            try:
                return self.faults.meet("sync", lambda: "")
            except OSError:
                if self.journal is not None:
                    for node in list(self.journal.image.nodes.values()):
                        self.journal.sync_failed(node, self.calls.current().call)
                raise

    def path_of(self, what: OpenFile | Where) -> str:
        """The absolute path of something under the root; "" where it has none."""
        node, text = (what.node, what.text) if isinstance(what, OpenFile) else what
        if node is None:
            found: str | None = text
        else:
            found = None if self.journal is None else self.journal.image.path_of(node)
            if found is not None and not isinstance(what, OpenFile):
                found = f"{found}/{text}" if text else found
        return "" if found is None else os.path.normpath(os.path.join(self.locator.top, found))

    def is_under(self, path: object, dir_fd: int | None) -> bool:
        """Whether a path, or a descriptor given in place of one, lies under the root."""
        if isinstance(path, int):
            return path in self.files
        return self.under(path, dir_fd) is not None

    def looked(self) -> None:
        """Metadata was asked for, or attributes that no operation holds were changed."""
        with self.lock:
            self.calls.current().metadata += 1

    def listed(self, entries: int) -> None:
        """So many directory entries were given out."""
        with self.lock:
            self.calls.current().listed += entries

    def read(self, count: int) -> None:
        """One read gave so many bytes."""
        with self.lock:
            tally = self.calls.current()
            tally.reads += 1
            tally.bytes_read += count

    def opened(self, fd: int, where: Where, flags: int) -> None:
        """A descriptor was opened by a path under the root."""
        tally = self.calls.current()
        tally.opens += 1
        if self.journal is None:
            self.files[fd] = OpenFile(None, where[1], flags)
            return
        file = self.journal.opened(where, flags, tally.call)
        if file is not None:
            self.files[fd] = file

    def wrote(
        self,
        fd: int,
        file: OpenFile,
        count: int,
        buffers: Sequence[ReadableBuffer] | None,
        offset: int | None = None,
        flags: int = 0,
    ) -> None:
        """A write took so many bytes; see `Journal.wrote`."""
        tally = self.calls.current()
        tally.writes += 1
        tally.bytes_written += count
        if file.flags & _SYNCHRONOUS or flags & (RWF_SYNC | RWF_DSYNC):
            tally.syncs += 1
        if count and self.journal is not None:
            self.journal.wrote(fd, file, count, buffers, offset, flags, tally.call)

    def resized(self, file: OpenFile, size: int) -> None:
        """An open file got a size."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.resized(file.node, size, tally.call)

    def resized_path(self, where: Where, size: int) -> None:
        """A file got a size by its path."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.resized_path(where, size, tally.call)

    def reserved(self, file: OpenFile, offset: int, length: int) -> None:
        """Blocks were reserved."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.reserved(file.node, offset, length, tally.call)

    def synced(self, file: OpenFile, *, data_only: bool) -> None:
        """A descriptor was synced."""
        tally = self.calls.current()
        tally.syncs += 1
        if self.journal is not None:
            self.journal.synced(file.node, tally.call, data_only=data_only)

    def synced_all(self) -> None:
        """Everything was synced."""
        with self.lock:
            tally = self.calls.current()
            tally.syncs += 1
            if self.journal is not None:
                self.journal.emit(ops.SyncAll(), tally.call)

    def made_directory(self, where: Where) -> None:
        """A directory was made."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.made_directory(where, tally.call)

    def made_symlink(self, target: str, where: Where) -> None:
        """A symbolic link was made."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.made_symlink(target, where, tally.call)

    def made_special(self, where: Where) -> None:
        """A pipe, a socket or a device was made."""
        self.calls.current().metadata += 1
        self.blind(f"{where[1]!r} was made, which is no file: what goes through it is not recorded")

    def removed(self, where: Where) -> None:
        """A name was removed."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.removed(where, tally.call)

    def renamed(self, source: Where | None, target: Where | None) -> None:
        """A name was moved; None is a place outside."""
        tally = self.calls.current()
        tally.metadata += 1
        self.locator.forget()
        if self.journal is not None:
            self.journal.renamed(source, target, tally.call)

    def linked(self, source: Where | None, target: Where, *, symlink: bool) -> None:
        """An inode got one more name; `symlink` where it is the link itself that got it."""
        tally = self.calls.current()
        tally.metadata += 1
        if self.journal is not None:
            self.journal.linked(source, target, symlink, tally.call)

    def mapped(self, file: OpenFile, length: int, *, writable: bool) -> None:
        """A file was mapped into memory."""
        self.read(length)
        if writable:
            self.blind(f"{file.text!r} was mapped into memory for writing: such writes are not seen")


class Slot:
    """Where the session of this process is found, while there is one."""

    __slots__ = ("session",)

    def __init__(self) -> None:
        self.session: Session | None = None

    def empty(self) -> None:
        """Nobody records from now on."""
        self.session = None


SLOT = Slot()
if hasattr(os, "register_at_fork"):
    # A forked child has the patched functions, but its own copy of the recording, which nobody will ask.
    os.register_at_fork(after_in_child=SLOT.empty)


def _open_paths() -> list[str]:
    """The paths of this process's open descriptors, where the operating system tells them."""
    paths: list[str] = []
    try:
        numbers = real.listdir("/proc/self/fd")
    except OSError:
        return paths
    for number in numbers:
        try:
            paths.append(_DELETED.sub("", real.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            # The descriptor that the listing itself used is closed by now.
            continue
    return paths
