"""Where one session's files lie, and the refusals that name them."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

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


class Place:
    """The files of one session under a root, in one encoding. Names are text: a ``Path`` costs more than opening it.

    Attributes:
        directory: the session's own directory.
        file: the artifact.
        temporary: where a log is written before it gets its name; only the holder of the lock touches it.
        lock: the lock file, never removed.
    """

    __slots__ = ("codec", "directory", "file", "lock", "root", "session_id", "temporary")

    def __init__(self, root: str, codec: Codec, session_id: str) -> None:
        self.root = root
        self.codec = codec
        self.session_id = session_id
        self.directory = directory = f"{root}/{directory_name(session_id)}"
        self.file = file = f"{directory}/{codec.file_name}"
        self.temporary = f"{file}.tmp"
        self.lock = f"{directory}/session.lock"

    @property
    def path(self) -> Path:
        """The artifact."""
        return Path(self.file)

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
            f"session {self.session_id!r}: {self.file} is damaged: {problem}",
            session_id=self.session_id,
            location=self.file,
        )

    def damage_told(self) -> _DamageTold:
        """Inside of it ``Damage`` turns into the contract's corruption error, with id and location."""
        return _DamageTold(self)


class _DamageTold:
    """A context manager; one that is a generator would cost as much as what it guards."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, Damage):
            raise self._place.corruption(str(error)) from error
