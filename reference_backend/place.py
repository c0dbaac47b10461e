"""Where one session's files lie, and the refusals that name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.contract import (
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    SessionPersistenceNotFoundError,
)
from reference_backend.ids import directory_name
from reference_backend.positions import Codec
from reference_backend.ranges import Damage


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one session under a root, in one encoding."""

    root: Path
    codec: Codec
    session_id: str

    @property
    def directory(self) -> Path:
        """The session's own directory."""
        return self.root / directory_name(self.session_id)

    @property
    def path(self) -> Path:
        """The artifact."""
        return self.directory / self.codec.file_name

    @property
    def temporary(self) -> Path:
        """Where a log is written before it gets its name; only the holder of the lock touches it."""
        return self.directory / f"{self.codec.file_name}.tmp"

    @property
    def lock(self) -> Path:
        """The lock file, never removed."""
        return self.directory / "session.lock"

    def not_found(self) -> SessionPersistenceNotFoundError:
        """The refusal of an absent session."""
        return SessionPersistenceNotFoundError(
            f"session {self.session_id!r} is not stored under {self.root}", session_id=self.session_id
        )

    def already_exists(self) -> SessionAlreadyExistsError:
        """The refusal of an id that is taken."""
        return SessionAlreadyExistsError(
            f"session {self.session_id!r} is there already, in {self.directory}", session_id=self.session_id
        )

    def already_owned(self, by: str) -> SessionAlreadyOwnedError:
        """The refusal of a second writer."""
        return SessionAlreadyOwnedError(
            f"session {self.session_id!r} is owned by {by}: close that handle first", session_id=self.session_id
        )

    def lost(self, problem: str) -> SessionOwnershipLostError:
        """The refusal of a handle that owns nothing any more."""
        return SessionOwnershipLostError(
            f"session {self.session_id!r}: {problem}; close this handle", session_id=self.session_id
        )

    def corruption(self, problem: str) -> SessionPersistenceCorruptionError:
        """The refusal of a damaged artifact."""
        return SessionPersistenceCorruptionError(
            f"session {self.session_id!r}: {self.path} is damaged: {problem}",
            session_id=self.session_id,
            location=str(self.path),
        )

    @contextmanager
    def damage_told(self) -> Iterator[None]:
        """Turn ``Damage`` into the contract's corruption error, with id and location."""
        try:
            yield
        except Damage as error:
            raise self.corruption(str(error)) from error
