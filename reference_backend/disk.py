"""File-system steps that are easy to get wrong, each with its barrier.

``os`` functions are called by attribute, never captured, so that whoever records or breaks them sees every call.
"""

from __future__ import annotations

import errno
import os
import stat

from reference_backend.ranges import PAGE, SECTOR

Identity = tuple[int, int]
"""Device and inode: which file it is, whatever its name."""

_HAS_FDATASYNC = hasattr(os, "fdatasync")


def identity_of(status: os.stat_result) -> Identity:
    """The identity in a stat result."""
    return status.st_dev, status.st_ino


def write_all(fd: int, data: bytes, offset: int) -> None:
    """Write all of ``data`` at ``offset``; a short write is continued.

    Raises:
        OSError: the storage refused; part of the data may have landed.
    """
    written = os.pwrite(fd, data, offset)
    if written == len(data):
        return
    view = memoryview(data)
    while view:
        if written <= 0:
            raise OSError(errno.EIO, "the storage takes no more bytes and gives no reason")
        view = view[written:]
        offset += written
        written = os.pwrite(fd, view, offset) if view else 0


def sync_data(fd: int) -> None:
    """Make a file's data and size durable."""
    if _HAS_FDATASYNC:
        os.fdatasync(fd)
    else:
        os.fsync(fd)


def cut(fd: int, end: int) -> None:
    """Make a file end at ``end``, durably. A crash on the way leaves the tail, no tail, or one that reads NUL from some
    byte on to the end of a page or of the file, and recovery knows all three.

    Just to cut does not do for a tail in several sectors. A page is written sector by sector, and not together with the
    size: of the cut page the first sectors alone may arrive, and then NUL up to the edge of a sector stands before old
    bytes, which no append leaves and which may as well be damage. So what lies in the page of the cut is blanked first,
    from back to front and a sector at a time, which leaves nothing that could be torn. Behind a page that reads NUL
    from ``end`` on it does not matter what becomes of the pages after it.

    Raises:
        OSError: the storage refused; call it again. What was blanked is blanked anew then: its sync may have failed.
    """
    size = os.fstat(fd).st_size
    if size > end // SECTOR * SECTOR + SECTOR:
        stop = min(size, end // PAGE * PAGE + PAGE)
        while stop > end:
            start = max(end, (stop - 1) // SECTOR * SECTOR)
            write_all(fd, bytes(stop - start), start)
            sync_data(fd)
            stop = start
    os.ftruncate(fd, end)
    os.fsync(fd)


def sync_directory(path: str) -> None:
    """Make a directory's entries durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directories(directory: str, *, durable: str | None = None) -> None:
    """Make a directory and what is missing above it, each entry durable before the next is made below it.

    The lowest directory that is there already may be one that a killed process made and never synced, so its entry is
    synced too, unless it is ``durable``; by the same rule everything above that one is durable.
    """
    missing: list[str] = []
    there = directory
    while not _is_directory(there):
        missing.append(there)
        there = os.path.dirname(there)
    if there != durable:
        sync_directory(os.path.dirname(there))
    for path in reversed(missing):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not _is_directory(path):
                raise
        sync_directory(os.path.dirname(path))


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def remove(path: str) -> None:
    """Unlink a file; a missing one is no error."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def link_new(source: str, target: str, identity: Identity) -> None:
    """Give the file ``source`` of that identity the second name ``target``, never in place of another file.

    Raises:
        OSError: it has not got that name. One that was linked although the call reported failure is a success.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        if not is_file(target, identity):
            raise


def is_file(path: str, identity: Identity) -> bool:
    """Whether the file of that identity stands at ``path``."""
    try:
        return identity_of(os.stat(path, follow_symlinks=False)) == identity
    except FileNotFoundError:
        return False
