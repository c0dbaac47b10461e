"""The files of a store that are no session's artifact: indexes, counts, locks, whatever a backend keeps beside.

Promises: they are told by their order of names, and what each of them held after each call is known, so that an older
copy can be put back. Which sessions they are about is nobody's guess. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from conformance.drivers.artifact import Artifact, look


class Beside:
    """What lies under the root besides artifacts, watched from the first call on."""

    def __init__(self) -> None:
        self._known: dict[str, Artifact] = {}

    def note(self, root: Path, call: int, artifacts: Collection[Path]) -> None:
        """Look at every file, after that call."""
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path not in artifacts and (path.is_file() or name in self._known):
                self._known.setdefault(name, Artifact(path)).note(call, *look(path))

    def files(self) -> list[Artifact]:
        """Those that are there, by name."""
        return [each for _, each in sorted(self._known.items()) if each.content is not None]
