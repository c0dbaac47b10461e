"""The patched functions that work on descriptors: reading, writing, syncing, duplicating, closing.

Promises: the same arguments, results and errors as the real function, but where a fault is armed: then a call may
fail, or do a part, as the fault says. A call that raises is neither counted nor recorded, unless it was done all the
same. Without a fault this costs one look at an attribute. They are bound methods, because a plain function kept as a
class attribute would be given `self`, where the real one is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from conformance.sim.disk import real
from conformance.sim.disk.journal import RWF_APPEND
from conformance.sim.disk.paths import OpenFile
from conformance.sim.disk.session import SLOT, Session

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
        session = SLOT.session
        error = None if session is None or session.armed is None else session.meet("read", session.files.get(fd))
        data: bytes = real.read(fd, length)
        if session is not None and fd in session.files:
            session.read(len(data))
        if error is not None:
            raise error
        return data

    def readv(self, fd: int, buffers: Sequence[WriteableBuffer], /) -> int:
        """See `os.readv`."""
        return self._counted_read(fd, lambda: real.readv(fd, buffers))

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        """See `os.pread`."""
        session = SLOT.session
        error = None if session is None or session.armed is None else session.meet("read", session.files.get(fd))
        data: bytes = real.pread(fd, length, offset)
        if session is not None and fd in session.files:
            session.read(len(data))
        if error is not None:
            raise error
        return data

    def preadv(self, fd: int, buffers: Sequence[WriteableBuffer], offset: int, flags: int = 0, /) -> int:
        """See `os.preadv`."""
        return self._counted_read(fd, lambda: real.preadv(fd, buffers, offset, flags))

    def _counted_read(self, fd: int, read: Callable[[], int]) -> int:
        session = SLOT.session
        error = None if session is None or session.armed is None else session.meet("read", session.files.get(fd))
        count = read()
        if session is not None and fd in session.files:
            session.read(count)
        if error is not None:
            raise error
        return count

    def write(self, fd: int, data: ReadableBuffer, /) -> int:
        """See `os.write`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.write(fd, data)  # type: ignore[no-any-return]
        with session.lock:
            if session.armed is not None:
                return met_write(session, fd, file, (data,), lambda parts: real.write(fd, *parts))
            count: int = real.write(fd, data)
            session.wrote(fd, file, count, (data,))
        return count

    def writev(self, fd: int, buffers: Sequence[ReadableBuffer], /) -> int:
        """See `os.writev`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.writev(fd, buffers)  # type: ignore[no-any-return]
        with session.lock:
            if session.armed is not None:
                return met_write(session, fd, file, buffers, lambda parts: real.writev(fd, parts))
            count: int = real.writev(fd, buffers)
            session.wrote(fd, file, count, buffers)
        return count

    def pwrite(self, fd: int, buffer: ReadableBuffer, offset: int, /) -> int:
        """See `os.pwrite`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.pwrite(fd, buffer, offset)  # type: ignore[no-any-return]
        with session.lock:
            if session.armed is not None:
                return met_write(session, fd, file, (buffer,), lambda parts: real.pwrite(fd, *parts, offset), offset)
            count: int = real.pwrite(fd, buffer, offset)
            session.wrote(fd, file, count, (buffer,), offset)
        return count

    def pwritev(self, fd: int, buffers: Sequence[ReadableBuffer], offset: int, flags: int = 0, /) -> int:
        """See `os.pwritev`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            return real.pwritev(fd, buffers, offset, flags)  # type: ignore[no-any-return]
        with session.lock:
            if session.armed is not None:
                return met_write(
                    session, fd, file, buffers, lambda parts: real.pwritev(fd, parts, offset, flags), offset, flags
                )
            count: int = real.pwritev(fd, buffers, offset, flags)
            session.wrote(fd, file, count, buffers, offset, flags)
        return count

    def sendfile(self, out_fd: int, in_fd: int, offset: int | None, count: int, **options: Any) -> int:
        """See `os.sendfile`."""
        return self._copied(
            in_fd, out_fd, count, None, lambda most: real.sendfile(out_fd, in_fd, offset, most, **options)
        )

    def copy_file_range(
        self, src: int, dst: int, count: int, offset_src: int | None = None, offset_dst: int | None = None
    ) -> int:
        """See `os.copy_file_range`."""
        return self._copied(
            src, dst, count, offset_dst, lambda most: real.copy_file_range(src, dst, most, offset_src, offset_dst)
        )

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
        return self._copied(
            src, dst, count, offset_dst, lambda most: real.splice(src, dst, most, offset_src, offset_dst, flags)
        )

    def _copied(self, src: int, dst: int, most: int, offset: int | None, copy: Callable[[int], int]) -> int:
        session = SLOT.session
        if session is None or (src not in session.files and dst not in session.files):
            return copy(most)
        with session.lock:
            most, error = (most, None) if session.armed is None else _met_copy(session, src, dst, most, offset)
            # Of nothing there is nothing to copy, and some systems take it for everything.
            count = copy(most) if most else 0
            if src in session.files:
                session.read(count)
            file = session.files.get(dst)
            if file is not None:
                session.wrote(dst, file, count, None, offset)
            if error is not None:
                raise error
        return count

    def ftruncate(self, fd: int, length: int, /) -> None:
        """See `os.ftruncate`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            real.ftruncate(fd, length)
            return
        with session.lock:
            error = None if session.armed is None else session.meet("truncate", file)
            real.ftruncate(fd, length)
            session.resized(file, length)
            if error is not None:
                raise error

    def posix_fallocate(self, fd: int, offset: int, length: int, /) -> None:
        """See `os.posix_fallocate`."""
        session = SLOT.session
        if session is None or (file := session.files.get(fd)) is None:
            real.posix_fallocate(fd, offset, length)
            return
        with session.lock:
            error = None if session.armed is None else session.meet("truncate", file)
            real.posix_fallocate(fd, offset, length)
            session.reserved(file, offset, length)
            if error is not None:
                raise error

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
            error = None if session.armed is None else session.meet_sync(file)
            sync(fd)
            session.synced(file, data_only=data_only)
            if error is not None:
                raise error

    def sync(self) -> None:
        """See `os.sync`."""
        session = SLOT.session
        if session is None:
            real.sync()
            return
        # What another thread writes meanwhile may be too late for it, and must not stand before it.
        with session.lock:
            error = None if session.armed is None else session.meet_sync_of_all()
            real.sync()
            session.synced_all()
            if error is not None:
                raise error

    def close(self, fd: int) -> None:
        """See `os.close`."""
        # Forgotten before it is closed: another thread may be given the number at once.
        session = SLOT.session
        file = None if session is None else session.files.pop(fd, None)
        error = None if session is None or session.armed is None else session.meet("close", file)
        real.close(fd)
        if error is not None:
            raise error

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
        session = SLOT.session
        file = None if session is None else session.files.get(descriptor(fd))
        if cmd == real.F_FULLFSYNC and session is not None and file is not None:
            return self._full_sync(session, file, fd, arg)
        result = real.fcntl(fd, cmd, arg)
        if session is None or file is None:
            return result
        if cmd in _DUPLICATE:
            duplicated(descriptor(fd), result)
        elif cmd == real.F_SETFL:
            file.flags = file.flags & ~_SETTABLE | arg & _SETTABLE
        return result

    def _full_sync(self, session: Session, file: OpenFile, fd: Any, arg: Any) -> Any:
        with session.lock:
            error = None if session.armed is None else session.meet_sync(file)
            result = real.fcntl(fd, real.F_FULLFSYNC, arg)
            session.synced(file, data_only=False)
            if error is not None:
                raise error
        return result


def met_write(
    session: Session,
    fd: int,
    file: OpenFile,
    buffers: Sequence[ReadableBuffer],
    put: Callable[[Sequence[ReadableBuffer]], Any],
    offset: int | None = None,
    flags: int = 0,
) -> int:
    """Write where a fault may meet it, and tell of what was taken. The caller holds the lock.

    Raises:
        OSError: it was refused, or has landed and is reported as failed.
    """
    sizes = [memoryview(each).nbytes for each in buffers]
    most, error = session.meet_write(
        file, sum(sizes), lambda: (b"".join(map(bytes, buffers)), _begin_of(fd, file, offset, flags))
    )
    parts = buffers if most == sum(sizes) else _first(buffers, most)
    count: int = put(parts) if parts or most == sum(sizes) else 0
    session.wrote(fd, file, count or 0, buffers, offset, flags)
    if error is not None:
        raise error
    return count


def _first(buffers: Sequence[ReadableBuffer], most: int) -> list[ReadableBuffer]:
    """The first so many bytes of some buffers; none for none."""
    parts: list[ReadableBuffer] = []
    for each in buffers:
        if most:
            parts.append(memoryview(each).cast("B")[:most])
            most -= len(memoryview(parts[-1]))
    return parts


def _begin_of(fd: int, file: OpenFile, offset: int | None, flags: int = 0) -> int:
    """Where in its file a write to the descriptor would begin."""
    if file.append or flags & RWF_APPEND:
        # Linux appends whatever the offset says.
        return real.fstat(fd).st_size  # type: ignore[no-any-return]
    return os.lseek(fd, 0, os.SEEK_CUR) if offset is None or offset < 0 else offset


def _met_copy(session: Session, src: int, dst: int, most: int, offset: int | None) -> tuple[int, OSError | None]:
    """How much of a copy may be done, and the error to raise once it is; of two kinds it is what a fault may hit."""
    source, target = session.files.get(src), session.files.get(dst)
    kinds = (("write", target), ("read", source))
    kind = session.faults.which(tuple(kind for kind, file in kinds if file is not None))
    if kind == "write" and target is not None:
        return session.meet_write(target, most, lambda: (None, _begin_of(dst, target, offset)))
    return most, None if kind is None else session.meet(kind, source)


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
