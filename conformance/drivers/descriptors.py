"""Room for open files, also behind a backend that leaves its own open.

Such a backend takes a few descriptors along in each of its lives, and a run has thousands of them. Once none is to be
had everything fails, the kit and its reference too, and the one thing that was wrong (FAULT-06) drowns in it.

Does not: judge. What a backend leaves open is counted past each close where a program asks for that (``CountLeft``).
"""

from __future__ import annotations

import gc
import io
import os
from contextlib import suppress

from conformance.sim.disk import real

try:
    import fcntl
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

PREFIX = "torntail-"
"""What the names of workspaces begin with."""

MARK = "torntail-in-use"
"""The file in a workspace that is open for as long as that is in use."""

MOST = 65_536
"""Open files that are asked for at most."""

LIVES = 8
"""Lives after which the open files are counted again."""

_OPEN = "/proc/self/fd"

Held = tuple[int, int, int]
"""A descriptor, and the device and inode that it is open on."""


def make_room() -> None:
    """Raise this process's limit of open files as far as it may be, for good: what is left open stays open."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems have a limit of their own beside it.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def out_of_the_way(descriptor: int, least: int | None = None) -> int:
    """The same under a number that hardly anybody has had before: ``least`` or above, by default half of all.

    In process a dead backend's objects live on, and may close what was theirs: a low number, which is somebody else's
    by now.
    """
    if resource is None:
        return descriptor
    if least is None:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        least = MOST // 2 if most == resource.RLIM_INFINITY else most // 2
    try:
        moved: int = real.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)
    except OSError:
        return descriptor
    real.close(descriptor)
    return moved


class Orphans:
    """Finds what is open on scratch files for longer than any life, and closes it where descriptors are scarce.

    Args:
        start: what the paths of all scratch files begin with.
    """

    def __init__(self, start: str) -> None:
        self._start = start
        self._lives = 0
        self._before: frozenset[Held] = frozenset()

    def life_begins(self) -> None:
        """To be told of each life before it opens anything."""
        self._lives += 1
        if self._lives % LIVES:
            return
        if not _is_scarce():
            self._before = frozenset()
            return
        gc.collect()
        held = frozenset(filter(None, map(self._held, real.listdir(_OPEN))))
        orphans = held & self._before
        _close({number for number, _, _ in orphans})
        self._before = held - orphans

    def _held(self, name: str) -> Held | None:
        try:
            target = real.readlink(f"{_OPEN}/{name}")
            if not target.startswith(self._start) or target.endswith(f"/{MARK}"):
                return None
            status = real.fstat(int(name))
        except OSError:
            # It was that of the listing itself.
            return None
        return int(name), status.st_dev, status.st_ino


def _is_scarce() -> bool:
    """Whether half of the descriptors that there may be are in use; False where nothing tells."""
    if resource is None:
        return False
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        return soft != resource.RLIM_INFINITY and len(real.listdir(_OPEN)) * 2 > soft
    except OSError:
        return False


def _close(numbers: set[int]) -> None:
    """Objects that own one are closed themselves, so that none closes a number later that is another's by then."""
    if not numbers:
        return
    for each in gc.get_objects():
        if isinstance(each, io.FileIO) and not each.closed and each.fileno() in numbers:
            numbers.discard(each.fileno())
            each.close()
    for number in numbers:
        with suppress(OSError):
            os.close(number)
