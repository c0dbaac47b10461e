"""A small store that keeps its promise at every power loss, and what becomes of it with one step left out."""

from __future__ import annotations

import mmap
from dataclasses import replace
from pathlib import Path

from conformance.contract import Backend
from conformance.drivers.loading import load_file

GOOD = load_file(Path(__file__).parents[2] / "variants" / "good_store.py")


class Unsynced(GOOD.GoodFiles):  # type: ignore[misc, name-defined]
    """A flush that syncs no batch."""

    def sync_batch(self, path: Path) -> None:
        """Leave it in the page cache."""


class Unrepaired(GOOD.GoodFiles):  # type: ignore[misc, name-defined]
    """A writer that goes on behind a torn tail."""

    def cut_tail(self, path: Path, end: int) -> None:
        """Leave it where it is."""


class Mapped(GOOD.GoodFiles):  # type: ignore[misc, name-defined]
    """Writes large batches by way of memory, which nobody sees."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Map the file where it pays."""
        super().write_batch(path, end, data)
        if len(data) > 2_000:
            with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
                mapping[end : end + 1] = data[:1]


def planted(kind: type) -> Backend:
    """A backend of that kind."""
    good: Backend = GOOD.good_store
    return replace(good, name=kind.__name__.lower(), open=kind)
