"""Scratch roots for backends: on a memory file system where there is one, gone when the run ends.

Nothing outside the workspace's own directory is written, and the directory is removed on ``close``. Whoever works there
may have as many files open as the system allows. Of a run that is killed it is left; the next one takes it away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from conformance.drivers.descriptors import PREFIX, make_room
from conformance.drivers.whereabouts import Whereabouts
from conformance.drivers.workspace_locks import Hold, take_dead_away
from conformance.sim.disk import real
from conformance.sim.disk.materialise import clear

MEMORY_FILE_SYSTEM = Path("/dev/shm")

ROOM = 128 << 20
"""Bytes that a run may need: a string of 32 MiB in a few copies is the most that one world holds."""


def scratch_parent() -> Path:
    """Where scratch roots belong on this machine: a writable tmpfs with room, else the temporary directory."""
    if MEMORY_FILE_SYSTEM.is_dir() and os.access(MEMORY_FILE_SYSTEM, os.W_OK | os.X_OK):
        status = os.statvfs(MEMORY_FILE_SYSTEM)
        if status.f_bavail * status.f_frsize >= ROOM:
            return MEMORY_FILE_SYSTEM
    return Path(tempfile.gettempdir())


def forget_dead_runs() -> None:
    """Take away the workspaces of runs that were killed, wherever this user's runs make them on this machine."""
    take_dead_away({MEMORY_FILE_SYSTEM, Path(tempfile.gettempdir())})


class Workspace:
    """A directory of numbered roots.

    Args:
        parent: where to make it; by default ``scratch_parent()``.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent or scratch_parent()))
        self._count = 0
        self._process = os.getpid()
        make_room()
        self._hold = Hold(self.directory)
        self._whereabouts = Whereabouts()

    def fresh_root(self) -> Path:
        """The path of a root that does not exist yet."""
        self._count += 1
        return self.directory / f"r{self._count}"

    def drop(self, root: Path) -> None:
        """Remove one root and what is in it; a root that was never made is no error."""
        clear(root)

    def drop_family(self, root: Path) -> None:
        """Remove a root, and those of partners and of later lives that were made beside it."""
        self.drop(root)
        for name in real.listdir(self.directory):
            if name.startswith(f"{root.name}-"):
                self.drop(self.directory / name)

    def close(self) -> None:
        """Remove everything; nothing where this is a copy of the process that made it, and a backend's own."""
        if os.getpid() != self._process:
            return
        try:
            # A backend may have gone into what is removed now.
            self._whereabouts.put_back()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
            self._hold.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
