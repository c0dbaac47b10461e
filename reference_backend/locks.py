"""The lock that makes ownership hold across instances and processes: ``flock`` on a file that is never removed.

The kernel gives the lock up when the last descriptor of it is closed, so a killed owner blocks nobody and a stopped
one still owns. Two instances in one process exclude each other like two processes. The descriptor is not inherited by
programs that are started, and a forked child closes its copy at once: otherwise a child that outlives its parent
would keep the session owned.

Each owner signs the file by its time, so that one who let go can tell later whether there was another since.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref


class LockHeldError(Exception):
    """Somebody else holds the lock."""


class SessionLock:
    """A held lock. ``held`` turns false by ``release`` and in a forked child, and never true again.

    Attributes:
        former: the signature of the owner before. signature: its own.
    """

    __slots__ = ("__weakref__", "_fd", "former", "signature")

    def __init__(self, fd: int, former: int) -> None:
        self._fd: int | None = fd
        self.former = former
        self.signature = _sign(fd)
        _held.add(self)

    @classmethod
    def acquire(cls, path: str | os.PathLike[str]) -> SessionLock:
        """Take the lock at once or not at all; the file is made where it is missing.

        Raises:
            LockHeldError: another descriptor holds it.
            OSError: the file cannot be opened or locked.
        """
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                former = _signature_of(fd, path)
                if former is not None:
                    return cls(fd, former)
            except BlockingIOError as error:
                os.close(fd)
                raise LockHeldError(str(path)) from error
            except BaseException:
                os.close(fd)
                raise
            # Someone removed or replaced the file between the two calls: this lock would exclude nobody.
            os.close(fd)

    @property
    def held(self) -> bool:
        """Whether this process still holds it."""
        return self._fd is not None

    def release(self) -> None:
        """Give the lock up; again is nothing."""
        fd, self._fd = self._fd, None
        _held.discard(self)
        if fd is not None:
            os.close(fd)

    @staticmethod
    def drop_all() -> None:
        """Close this process's copies of every lock, after a fork: the parent's lock stays as it is."""
        for lock in list(_held):
            lock.release()


_held: weakref.WeakSet[SessionLock] = weakref.WeakSet()
os.register_at_fork(after_in_child=SessionLock.drop_all)


def signature_at(path: str | os.PathLike[str]) -> int | None:
    """Who owned it last; None where there is no such file."""
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return None


def _sign(fd: int) -> int:
    now = time.time_ns()
    try:
        os.utime(fd, ns=(now, now))
    except PermissionError:
        # Of a file that is another user's the time can be set to now only, as coarse as that is.
        os.utime(fd)
    return os.fstat(fd).st_mtime_ns


def _signature_of(fd: int, path: str | os.PathLike[str]) -> int | None:
    """Who owned it last, where the file is still at that path."""
    mine = os.fstat(fd)
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return mine.st_mtime_ns if (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino) else None
