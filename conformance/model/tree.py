"""What the driver saw of the files in and around a root, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.model.values import decode, encode_seen


@dataclass(frozen=True, slots=True)
class TreeView:
    """One look at the files.

    Attributes:
        outside: what was made or changed outside the root, as paths from the root (``../escaped``).
        modes: path under the root -> permission bits, the root itself (``./``) first; directories end in ``/``.
        artifacts: the files of the sessions asked for, where the backend gives ``location``.
        digests: (session id, digest of its artifact's bytes) of the sessions asked for, where it has one file.
    """

    outside: tuple[str, ...] = ()
    modes: tuple[tuple[str, int], ...] = ()
    artifacts: tuple[str, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All fields by name; a name on disk may hold bytes that are no text."""
        return {
            "outside": [encode_seen(path) for path in self.outside],
            "modes": [[encode_seen(path), mode] for path, mode in self.modes],
            "artifacts": [encode_seen(path) for path in self.artifacts],
            "digests": [[encode_seen(name), digest] for name, digest in self.digests],
        }

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> TreeView:
        """The inverse of ``to_json``."""
        return cls(
            tuple(decode(path) for path in form["outside"]),
            tuple((decode(path), mode) for path, mode in form["modes"]),
            tuple(decode(path) for path in form["artifacts"]),
            # Cases of earlier versions have none.
            tuple((decode(name), digest) for name, digest in form.get("digests", ())),
        )
