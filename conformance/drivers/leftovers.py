"""What a backend still has when it should have nothing: descriptors, tasks and threads that were not there before it.

Promises: only what came after the baseline is told; the threads of a loop's default executor, which wait for work and
are the loop's, are not. What only waits for a collection is collected first. Nothing is closed, and nothing judged.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from pathlib import Path

from conformance.model.history import LeftView
from conformance.sim.disk import real

DESCRIPTORS = "/proc/self/fd"
"""Where the operating system tells which descriptors of this process are open."""

_EXECUTOR = "asyncio_"
"""What the names of threads of asyncio's default executor begin with."""


class Baseline:
    """What this process has at one moment.

    Attributes:
        is_told: the operating system tells which descriptors are open; where it does not, nothing can be said.
    """

    def __init__(self) -> None:
        self._elsewhere = ""
        self._descriptors = _open_descriptors()
        self.is_told = bool(self._descriptors)
        self._threads = set(threading.enumerate())

    def left(self, root: Path, tasks: Sequence[str], *, world: Path) -> LeftView:
        """What came since and is there now; ``tasks`` are the names of those that the loop has.

        Args:
            world: where the scratch of this run lies; of what is in it, only what is under the root is the backend's.
        """
        self._elsewhere = f"{world}/"
        found = self._look(root, tasks)
        if found.descriptors or found.threads:
            # What nobody can reach any more is not kept by the backend.
            gc.collect()
            found = self._look(root, tasks)
        return found

    def _look(self, root: Path, tasks: Sequence[str]) -> LeftView:
        came = sorted(fd for fd, _, _ in _open_descriptors() - self._descriptors)
        opened = [
            target
            for target in filter(None, map(_target, came))
            if target.startswith(str(root)) or not target.startswith(self._elsewhere)
        ]
        threads = [each for each in threading.enumerate() if each not in self._threads and each.is_alive()]
        names = [each.name for each in threads if not each.name.startswith(_EXECUTOR)]
        return LeftView(tuple(sorted(_name(each, root) for each in opened)), tuple(tasks), tuple(sorted(names)))


def _open_descriptors() -> set[tuple[int, int, int]]:
    """Number, device and inode of each open descriptor; none where the operating system does not tell.

    What it is called is asked of those alone that are told of: a name costs many times as much.
    """
    found: set[tuple[int, int, int]] = set()
    try:
        numbers = real.listdir(DESCRIPTORS)
    except OSError:
        return found
    for number in numbers:
        try:
            status = real.fstat(int(number))
        except OSError:
            # The descriptor of the listing itself is closed by now.
            continue
        found.add((int(number), status.st_dev, status.st_ino))
    return found


def _target(fd: int) -> str:
    """What an open descriptor leads to; "" where it is closed by now."""
    try:
        return str(real.readlink(f"{DESCRIPTORS}/{fd}"))
    except OSError:
        return ""


def _name(target: str, root: Path) -> str:
    """The target without the place of the world, which is another one in each run."""
    below = str(root)
    return f"<root>{target[len(below) :]}" if target.startswith(below) else target
