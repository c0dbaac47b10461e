"""The patched functions that work on descriptors: reading, writing, syncing, duplicating, closing.

Promises: the same arguments, results and errors as the real function. A call that raises is neither counted nor
recorded. They are bound methods, because a plain function kept as a class attribute would be given `self`, where the
real one is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from conformance.sim.disk import real
from conformance.sim.disk.session import SLOT

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_DUPLICATE = real.F_DUPLICATE
# What Linux lets F_SETFL change, as far as it matters for where a write lands.
_SETTABLE = os.O_APPEND


class DescriptorRoutes:
    """One method for each function of `os`, under its name."""

    NAMES = (
        "read readv pread preadv write writev pwrite pwritev sendfile copy_file_range splice ftruncate posix_fallocate "
        "fsync fdatasync sync close closerange dup dup2"
    ).split()

    def read(self, fd: int, length: int, /) -> bytes:
        """See `os.read`."""
        data: bytes = real.read(fd, length)
        session = SLOT.session
        if session is not None and fd in session.files:
            session.read(len(data))
        return data

    def readv(self, fd: int, buffers: Sequence[WriteableBuffer], /) -> int:
        """See `os.readv`."""
        return self._counted_read(fd, real.readv(fd, buffers))

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        """See `os.pread`."""
        data: bytes = real.pread(fd, length, offset)
        session = SLOT.session
        if session is not None and fd in session.files:
            session.read(len(data))
        return data

    def preadv(self, fd: int, buffers: Sequence[WriteableBuffer], offset: int, flags: int = 0, /) -> int:
        """See `os.preadv`."""
        return self._counted_read(fd, real.preadv(fd, buffers, offset, flags))

    def _counted_read(self, fd: int, count: int) -> int:
        session = SLOT.session
        if session is not None and fd in session.files:
            session.read(count)
        return count

    def write(self, fd: int, data: ReadableBuffer, /) -> int:
        """See `os.write`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.write(fd, data)  # type: ignore[no-any-return]
        with session.lock:
            count: int = real.write(fd, data)
            session.wrote(fd, file, count, (data,))
        return count

    def writev(self, fd: int, buffers: Sequence[ReadableBuffer], /) -> int:
        """See `os.writev`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.writev(fd, buffers)  # type: ignore[no-any-return]
        with session.lock:
            count: int = real.writev(fd, buffers)
            session.wrote(fd, file, count, buffers)
        return count

    def pwrite(self, fd: int, data: ReadableBuffer, offset: int, /) -> int:
        """See `os.pwrite`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.pwrite(fd, data, offset)  # type: ignore[no-any-return]
        with session.lock:
            count: int = real.pwrite(fd, data, offset)
            session.wrote(fd, file, count, (data,), offset)
        return count

    def pwritev(self, fd: int, buffers: Sequence[ReadableBuffer], offset: int, flags: int = 0, /) -> int:
        """See `os.pwritev`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.pwritev(fd, buffers, offset, flags)  # type: ignore[no-any-return]
        with session.lock:
            count: int = real.pwritev(fd, buffers, offset, flags)
            session.wrote(fd, file, count, buffers, offset, flags)
        return count

    def sendfile(self, out_fd: int, in_fd: int, offset: int | None, count: int, **options: Any) -> int:
        """See `os.sendfile`."""
        return self._copied(in_fd, out_fd, None, lambda: real.sendfile(out_fd, in_fd, offset, count, **options))

    def copy_file_range(
        self, src: int, dst: int, count: int, offset_src: int | None = None, offset_dst: int | None = None
    ) -> int:
        """See `os.copy_file_range`."""
        return self._copied(src, dst, offset_dst, lambda: real.copy_file_range(src, dst, count, offset_src, offset_dst))

    def splice(
        self,
        src: int,
        dst: int,
        count: int,
        offset_src: int | None = None,
        offset_dst: int | None = None,
        flags: int = 0,
    ) -> int:
        """See `os.splice`."""
        return self._copied(src, dst, offset_dst, lambda: real.splice(src, dst, count, offset_src, offset_dst, flags))

    def _copied(self, src: int, dst: int, offset: int | None, copy: Callable[[], int]) -> int:
        session = SLOT.session
        if session is None or (src not in session.files and dst not in session.files):
            return copy()
        with session.lock:
            count = copy()
            if src in session.files:
                session.read(count)
            file = session.files.get(dst)
            if file is not None:
                session.wrote(dst, file, count, None, offset)
        return count

    def ftruncate(self, fd: int, length: int, /) -> None:
        """See `os.ftruncate`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            real.ftruncate(fd, length)
            return
        with session.lock:
            real.ftruncate(fd, length)
            session.resized(file, length)

    def posix_fallocate(self, fd: int, offset: int, length: int, /) -> None:
        """See `os.posix_fallocate`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            real.posix_fallocate(fd, offset, length)
            return
        with session.lock:
            real.posix_fallocate(fd, offset, length)
            session.reserved(file, offset, length)

    def fsync(self, fd: Any) -> None:
        """See `os.fsync`."""
        self._sync(fd, real.fsync, data_only=False)

    def fdatasync(self, fd: Any) -> None:
        """See `os.fdatasync`."""
        self._sync(fd, real.fdatasync, data_only=True)

    def _sync(self, fd: Any, sync: Callable[[Any], None], *, data_only: bool) -> None:
        session = SLOT.session
        if session is None:
            sync(fd)
            return
        file = session.files.get(descriptor(fd))
        if file is None:
            sync(fd)
            return
        with session.lock:
            sync(fd)
            session.synced(file, data_only=data_only)

    def sync(self) -> None:
        """See `os.sync`."""
        real.sync()
        if SLOT.session is not None:
            SLOT.session.synced_all()

    def close(self, fd: int) -> None:
        """See `os.close`."""
        # Forgotten before it is closed: another thread may be given the number at once.
        if SLOT.session is not None:
            SLOT.session.files.pop(fd, None)
        real.close(fd)

    def closerange(self, fd_low: int, fd_high: int, /) -> None:
        """See `os.closerange`."""
        if SLOT.session is not None:
            for fd in [fd for fd in SLOT.session.files if fd_low <= fd < fd_high]:
                SLOT.session.files.pop(fd, None)
        real.closerange(fd_low, fd_high)

    def dup(self, fd: int, /) -> int:
        """See `os.dup`."""
        twin: int = real.dup(fd)
        duplicated(fd, twin)
        return twin

    def dup2(self, fd: int, fd2: int, inheritable: bool = True) -> int:
        """See `os.dup2`."""
        twin: int = real.dup2(fd, fd2, inheritable)
        duplicated(fd, twin)
        return twin

    def fcntl(self, fd: Any, cmd: int, arg: Any = 0, /) -> Any:
        """See `fcntl.fcntl`."""
        result = real.fcntl(fd, cmd, arg)
        session = SLOT.session
        if session is None or (file := session.files.get(descriptor(fd))) is None:
            return result
        if cmd in _DUPLICATE:
            duplicated(descriptor(fd), result)
        elif cmd == real.F_SETFL:
            file.flags = file.flags & ~_SETTABLE | arg & _SETTABLE
        elif cmd == real.F_FULLFSYNC:
            with session.lock:
                session.synced(file, data_only=False)
        return result


def duplicated(fd: int, twin: int) -> None:
    """`twin` is open on what `fd` is open on, from now on."""
    session = SLOT.session
    if session is None or fd == twin:
        return
    file = session.files.get(fd)
    if file is None:
        session.files.pop(twin, None)
    else:
        session.files[twin] = file


def descriptor(fd: Any) -> int:
    """The number behind a descriptor or an object with `fileno()`; -1 where there is none."""
    if isinstance(fd, int):
        return fd
    try:
        number = fd.fileno()
    except (AttributeError, ValueError, OSError):
        # The real call has the same trouble with it, or has had it, and says so better.
        return -1
    return number if isinstance(number, int) else -1


DESCRIPTOR_ROUTES = DescriptorRoutes()
