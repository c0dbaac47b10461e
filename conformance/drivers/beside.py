"""The files of a store that are no session's artifact: indexes, counts, locks, whatever a backend keeps beside.

Promises: they are told by their order of names, and what each of them held after each call is known, so that an older
copy can be put back. Which sessions they are about is nobody's guess. Nothing here judges.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from conformance.drivers.artifact import Artifact, is_file, look
from conformance.sim.disk import real


class Beside:
    """What lies under the root besides artifacts, watched from the first call on."""

    def __init__(self) -> None:
        self._known: dict[str, Artifact] = {}

    def note(self, root: Path, call: int, artifacts: Collection[Path]) -> None:
        """Look at every file, after that call."""
        lying = dict(_lying(str(root), ""))
        for artifact in artifacts:
            lying.pop(os.path.relpath(artifact, root), None)
        for name in sorted(lying):
            if lying[name] or name in self._known:
                path = root / name
                self._known.setdefault(name, Artifact(path)).note(call, *look(path))
        for name in self._known.keys() - lying.keys():
            self._known[name].note(call, None, 0)

    def files(self) -> list[Artifact]:
        """Those that are there, by name."""
        return [each for _, each in sorted(self._known.items()) if each.content is not None]


def _lying(directory: str, below: str) -> Iterator[tuple[str, bool]]:
    """The name below the root of everything that lies in a directory, at any depth, and whether it is a file."""
    try:
        scanned = real.scandir(directory)
    except FileNotFoundError:
        # Before the first instance there is no root yet.
        return
    with scanned as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            # A link may lead round in a circle, at which an entry would raise.
            yield name, is_file(Path(entry.path)) if entry.is_symlink() else entry.is_file()
            if entry.is_dir(follow_symlinks=False):
                yield from _lying(entry.path, f"{name}/")
