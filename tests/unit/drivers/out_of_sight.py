"""Right stores whose barriers the recorder in the process does not see: they sync by C, or let another process do it.

Everything else is as in ``good_store``, and each of them withstands any power loss.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.contract import Backend

_VARIANTS = str(Path(__file__).resolve().parents[2] / "variants")
sys.path.append(_VARIANTS)
try:
    from good_store import GoodFiles, good_store
finally:
    sys.path.remove(_VARIANTS)

_LIBC = ctypes.CDLL(None, use_errno=True)


class ByExtension(GoodFiles):
    """Syncs as a C extension does."""

    def sync(self, path: Path) -> None:
        """Let what the file or directory holds outlive a power loss."""
        number = os.open(path, os.O_RDONLY)
        try:
            if _LIBC.fsync(number):
                raise OSError(ctypes.get_errno(), "the sync failed")
        finally:
            os.close(number)


class ByChild(GoodFiles):
    """Lets another process sync."""

    def sync(self, path: Path) -> None:
        """Let what the file or directory holds outlive a power loss."""
        subprocess.run([shutil.which("sync") or "sync", path], check=True)


class ByMapping(GoodFiles):
    """Maps the log for writing, in C, and writes nothing through it."""

    def sync(self, path: Path) -> None:
        """Sync, and look at the file."""
        super().sync(path)
        if path.is_file():
            number = os.open(path, os.O_RDWR)
            _LIBC.mmap.restype = ctypes.c_void_p
            place = _LIBC.mmap(None, ctypes.c_size_t(1), mmap.PROT_WRITE, mmap.MAP_SHARED, number, ctypes.c_long(0))
            _LIBC.munmap(ctypes.c_void_p(place), ctypes.c_size_t(1))
            os.close(number)


def _store(service: type[Any], name: str) -> Backend:
    return replace(good_store, name=name, open=service)


extension_syncs = _store(ByExtension, "extension-syncs")
child_syncs = _store(ByChild, "child-syncs")
log_is_mapped = _store(ByMapping, "log-is-mapped")
