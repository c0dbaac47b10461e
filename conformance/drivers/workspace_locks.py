"""Whether a workspace is in use, told by a lock that ends with its process; and those of dead runs are taken away.

A run that is killed leaves its scratch files, mostly on a memory file system, where they use up memory until somebody
looks. A process id would not tell that its owner is dead: numbers come again, and mean something else in each container
that shares the file system. So a file in the workspace is held by ``flock``, and gets its name only once it is held:
nobody ever finds it free while its owner lives.

Does not: touch anything without that file, of another user, or where files cannot be locked.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from conformance.drivers.descriptors import MARK, PREFIX, out_of_the_way
from conformance.sim.disk import real
from conformance.sim.disk.materialise import clear

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")
"""As ``tempfile.mkdtemp`` makes them."""

_LEAST = 512
"""What its number is at least: the system's list of descriptors, asked for each program, is as long as the highest."""

_SAYS = b"A workspace of torntail, which goes once nobody holds a lock on this file.\n"


class Hold:
    """Holds a workspace for as long as this process, or a copy of it, has not released it and is alive.

    Where files cannot be locked, or nothing can be written, the workspace stays without a mark, and nobody takes it for
    a dead one.
    """

    def __init__(self, directory: Path) -> None:
        self._held: tuple[int, os.stat_result] | None = None
        if fcntl is None:
            return
        unheld = directory / f"{MARK}.new"
        with suppress(OSError):
            # A dead backend may close a low number that was its own once; this one must not be it.
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            number = out_of_the_way(real.open(unheld, flags, 0o600), _LEAST)
            self._held = number, real.fstat(number)
            real.write(number, _SAYS)
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            real.rename(unheld, directory / MARK)

    def release(self) -> None:
        """Let go, to be called once the workspace is gone."""
        if self._held is None:
            return
        (number, opened), self._held = self._held, None
        # A backend that closes what is not its own may have made the number somebody else's.
        with suppress(OSError):
            if os.path.samestat(real.fstat(number), opened):
                real.close(number)


def take_dead_away(parents: Iterable[Path]) -> None:
    """Remove the workspaces in these directories whose owners are dead; what cannot be removed stays."""
    if fcntl is None:
        return
    for parent in parents:
        with suppress(OSError):
            for name in real.listdir(parent):
                if _NAME.fullmatch(name):
                    _take_away_if_dead(parent / name)


def _take_away_if_dead(directory: Path) -> None:
    # Whatever is wrong with it, it is no reason not to run.
    with suppress(OSError):
        status = real.lstat(directory)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        number = real.open(directory / MARK, flags)
        try:
            if _is_dead(directory / MARK, number):
                for name in real.listdir(directory):
                    if name != MARK:
                        with suppress(OSError):
                            clear(directory / name)
                # The last thing to go, so that what could not be removed is found again.
                if real.listdir(directory) == [MARK]:
                    clear(directory)
        finally:
            real.close(number)


def _is_dead(mark: Path, number: int) -> bool:
    """Whether an opened mark is the kit's own, and nobody's any more; then it is held until it is closed."""
    status = real.fstat(number)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if real.pread(number, len(_SAYS) + 1, 0) != _SAYS:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    # Another run may have taken it away since it was opened.
    return os.path.samestat(real.lstat(mark), status)
