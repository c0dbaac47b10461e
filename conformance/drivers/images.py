"""Crash images on their stage: each is written out, looked at and taken away again, one at a time.

Promises: an image stands at a path of its own, in a directory of its own and in inodes of its own, so that nothing that
a backend remembers by any of them, or has left open, is found again in the next one. Nothing else is there, and
nothing of it stays.

Does not: choose images, or judge what is seen of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.drivers.probe import Prober
from conformance.model.recovery_seen import RecoverySeen
from conformance.sim.disk import Tree, real
from conformance.sim.disk.materialise import Attributes, clear, materialise


class Stage:
    """Where images are looked at, one after the other.

    Args:
        directory: for the images; made with what is missing above it, and free for this stage alone.
    """

    def __init__(self, prober: Prober, directory: Path) -> None:
        self._prober = prober
        self._directory = os.fspath(directory)
        self._number = 0
        directory.mkdir(parents=True, exist_ok=True)

    def look(self, tree: Tree, attributes: Mapping[str, Attributes], sessions: Sequence[str]) -> RecoverySeen:
        """What the backend shows of these sessions over this image.

        Args:
            attributes: path in the tree -> its mode and time.

        Raises:
            OSError: the image could not be written, or not be taken away.
        """
        self._number += 1
        place = f"{self._directory}/{self._number}"
        root = f"{place}/root"
        real.mkdir(place, 0o777)
        try:
            materialise(tree, root, attributes)
            return self._prober.look(Path(root), sessions)
        finally:
            clear(root)
            _remove(place)


def _remove(place: str) -> None:
    """Remove a directory in which there should be nothing any more, and what a backend put there all the same."""
    try:
        real.rmdir(place)
    except OSError:
        clear(place)
