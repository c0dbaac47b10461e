"""What a dead instance leaves open in this process, and how it is closed without harm to the living.

In process the owner of a descriptor is not really dead: its objects may be finalised at any later time, and then flush
or close a *number* that belongs to somebody else by now. So file objects are closed as objects, below their buffers,
after which nothing they do reaches a descriptor; and a bare number is not freed but put on a scratch file, until a full
collection has taken place in which its owner, if it is garbage, was finalised.

Promises: after `Remains.close` none of the old files is open (locks on them are gone), and at most `MOST_KEPT` numbers
are held back at any time.

Does not: find what the recording did not see being opened.
"""

from __future__ import annotations

import gc
import os
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from io import FileIO

from conformance.sim.disk import real

MOST_KEPT = 200
"""Numbers that may wait for a collection before one is asked for; it takes about a tenth of a second."""


class Remains:
    """The descriptors that were open at one moment.

    Args:
        files: their numbers. owners: the raw file objects over them, where there are any.
    """

    def __init__(self, files: Iterable[int], owners: Mapping[int, weakref.ref[FileIO]]) -> None:
        self._files = [(fd, _identity(fd)) for fd in files]
        self._owners = owners

    def close(self) -> None:
        """Close what is still open of them. Nobody may be recording."""
        _KEPT.release()
        for fd, identity in self._files:
            owner = self._owners[fd]() if fd in self._owners else None
            if identity is None or _identity(fd) != identity:
                continue
            if owner is not None and not owner.closed and owner.fileno() == fd:
                owner.close()
            else:
                _KEPT.keep(fd)


class _Kept:
    """Numbers that lead to a scratch file, so that nobody else is given them."""

    def __init__(self) -> None:
        self._scratch: int | None = None
        self._numbers: list[tuple[int, int]] = []

    def keep(self, fd: int) -> None:
        """Put the number on the scratch file."""
        if self._scratch is None:
            self._scratch, path = tempfile.mkstemp(prefix="torntail-")
            os.unlink(path)
        real.dup2(self._scratch, fd, False)
        self._numbers.append((fd, _full_collections()))

    def release(self, *, now: bool = False) -> None:
        """Free the numbers whose owners, if nobody refers to them, have been finalised."""
        if self._scratch is None or not self._numbers:
            return
        if now or len(self._numbers) > MOST_KEPT:
            gc.collect()
        ours, done = _identity(self._scratch), _full_collections()
        waiting = []
        for fd, since in self._numbers:
            if since == done:
                waiting.append((fd, since))
            elif _identity(fd) == ours:
                real.close(fd)
        self._numbers = waiting


def release_numbers() -> None:
    """Collect garbage, and free every number that was held back."""
    _KEPT.release(now=True)


def _full_collections() -> int:
    collections: int = gc.get_stats()[-1]["collections"]
    return collections


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        status: os.stat_result = real.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


_KEPT = _Kept()
