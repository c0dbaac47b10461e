"""The storage of one instance, blocking: what is visible under its root, bounded by what its own writers know.

Every look opens the file anew, so that what other instances stored is seen at once. Where a writer of this instance
is active its ``log`` decides where the log ends: bytes of an append that has not resolved, or that failed and is not
undone yet, lie behind that and stay unseen. The methods may run in several threads at once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.contract import SessionHeader, SessionPersistenceError, SessionSnapshot
from reference_backend.artifact import Artifact, header_line, id_in_header, open_artifact
from reference_backend.disk import Identity, identity_of, make_directories
from reference_backend.ids import is_digest, session_id_of
from reference_backend.place import Place
from reference_backend.positions import Codec, LogEnd
from reference_backend.ranges import BytesRange, FileRange
from reference_backend.writer import Residue, Writer

logger = logging.getLogger("torntail.reference")


class ErasedError(Exception):
    """The artifact of a session that has an active writer here is gone, or another stands in its place. Never leaves
    here
    as itself: who asked knows whether that is damage or absence."""


@dataclass(frozen=True, slots=True)
class View:
    """A log as it is at one moment; its file stays open until whoever asked for the view is done."""

    artifact: Artifact
    log: LogEnd

    @property
    def source(self) -> FileRange:
        """The bytes of the file."""
        return self.artifact.source


class Store:
    """One encoding under one root.

    ``writers`` holds the active writers by id. The service adds and removes; threads only look.
    """

    def __init__(self, root: Path, codec: Codec) -> None:
        self.root = root
        self.codec = codec
        self.writers: dict[str, Writer] = {}
        self._registrations = 0
        self._residues: dict[str, Residue] = {}
        self._durable_root: Identity | None = None

    def place(self, session_id: str) -> Place:
        """Where a session lies."""
        return Place(self.root, self.codec, session_id)

    def register(self, writer: Writer) -> None:
        """From now on this writer bounds what readers of its session see."""
        self.writers[writer.place.session_id] = writer
        self._registrations += 1
        self._residues.pop(writer.place.session_id, None)

    def forget(self, writer: Writer) -> None:
        """The writer was released."""
        session_id = writer.place.session_id
        if self.writers.get(session_id) is writer:
            if writer.residue is not None:
                self._residues[session_id] = writer.residue
            del self.writers[session_id]

    def open_writer(self, session_id: str) -> Writer:
        """Own a stored session; the caller registers it."""
        place = self.place(session_id)
        return Writer.open(place, known=lambda artifact: self._known_end(place, artifact))

    def new_writer(self, header: SessionHeader, inherited: int | None) -> Writer:
        """The writer of a session that is not stored yet; the caller registers it."""
        place = self.place(header.id)
        return Writer(place, header, inherited, lambda: self._make_directory(place))

    def is_occupied(self, session_id: str) -> bool:
        """Whether something stands under that id, readable or not (a torn creation does not count)."""
        try:
            artifact = open_artifact(self.place(session_id))
        except SessionPersistenceError:
            return True
        if artifact is not None:
            os.close(artifact.fd)
        return artifact is not None

    @contextmanager
    def view(self, session_id: str) -> Iterator[View | None]:
        """The stored log of a session, or None where it is absent or pending in this instance.

        Raises:
            ErasedError: it has a writer here, but its artifact is gone or replaced.
            SessionPersistenceCorruptionError, SessionFormatUnsupportedError, OSError: as met.
        """
        found = self._look(self.place(session_id))
        try:
            yield found
        finally:
            if found is not None:
                os.close(found.artifact.fd)

    def stat(self, session_id: str) -> SessionSnapshot | None:
        """A snapshot of a stored or pending session, or None."""
        place = self.place(session_id)
        try:
            with self.view(session_id) as view:
                if view is None:
                    writer = self.writers.get(session_id)
                    return None if writer is None else self._pending_snapshot(writer)
                artifact = view.artifact
                with place.damage_told():
                    mark = self.codec.mark(view.source, artifact.block, view.log)
                return SessionSnapshot(artifact.header, mark.revision, view.log.total, artifact.size)
        except ErasedError as error:
            raise place.corruption(str(error)) from error

    def list(self) -> list[SessionSnapshot]:
        """A snapshot of each session, by id; what cannot be described is left out and logged.

        Raises:
            OSError: the root, or a file in it, cannot be read: that is no damage, and no absence either.
        """
        found: list[SessionSnapshot] = []
        for session_id in sorted({*self._stored_ids(), *list(self.writers)}):
            try:
                snapshot = self.stat(session_id)
            except SessionPersistenceError as error:
                logger.warning("session %r is left out of the list: %s", session_id, error)
                continue
            if snapshot is not None:
                found.append(snapshot)
        return found

    def _stored_ids(self) -> Iterator[str]:
        try:
            names = os.listdir(self.root)
        except FileNotFoundError:
            return
        for name in names:
            session_id = id_in_header(self.root, self.codec, name) if is_digest(name) else session_id_of(name)
            if session_id is None:
                logger.warning("%s is left out of the list: no id makes that name", self.root / name)
            else:
                yield session_id

    def _look(self, place: Place) -> View | None:
        while True:
            registrations = self._registrations
            writer = self.writers.get(place.session_id)
            identity = None if writer is None else writer.identity
            artifact = open_artifact(place)
            try:
                found = self._bounded(place, writer, artifact)
                settled = self._registrations == registrations and self.writers.get(place.session_id) is writer
            except ErasedError:
                settled = writer is not None and writer.identity == identity
                if settled:
                    _close(artifact)
                    raise
            except BaseException:
                _close(artifact)
                raise
            if settled:
                if found is None:
                    _close(artifact)
                return found
            # A writer came, went, or moved the log while the file was opened: what was seen may not be what it knows.
            _close(artifact)

    def _bounded(self, place: Place, writer: Writer | None, artifact: Artifact | None) -> View | None:
        if writer is not None and writer.identity is not None:
            log = None if artifact is None else writer.log_in(artifact)
            if artifact is None or log is None:
                raise ErasedError("it was removed or replaced under its writer")
            # The size was taken before the log's end was asked for, so it may lag behind an append that has just
            # resolved.
            artifact = replace(artifact, size=os.fstat(artifact.fd).st_size)
            if artifact.size < log.end:
                raise place.corruption(f"it was cut to {artifact.size} bytes under its writer")
            return View(artifact, log)
        if artifact is None or (writer is not None and writer.is_debris(artifact)):
            return None
        known = self._known_end(place, artifact)
        if known is not None:
            return View(artifact, known)
        with place.damage_told():
            return View(artifact, self.codec.recover(artifact.source, artifact.block))

    def _known_end(self, place: Place, artifact: Artifact) -> LogEnd | None:
        residue = self._residues.get(place.session_id)
        if residue is None or (residue.identity, residue.size) != (artifact.identity, artifact.size):
            return None
        return residue.log

    def _pending_snapshot(self, writer: Writer) -> SessionSnapshot:
        """What is known of a session that is not stored yet: the revision is that of the empty log it would be."""
        data, log = self.codec.encode_header(header_line(writer.header, writer.inherited))
        source = BytesRange(data)
        block = self.codec.read_header(source)
        if block is None:
            raise writer.place.corruption("a header that was just encoded cannot be read back")
        return SessionSnapshot(writer.header, self.codec.mark(source, block, log).revision, 0, None)

    def _make_directory(self, place: Place) -> None:
        # That the root's own entry is durable is learnt once, and forgotten when another directory stands there.
        durable = self.root if self._root_identity() == self._durable_root is not None else None
        make_directories(place.directory, durable=durable)
        self._durable_root = self._root_identity()

    def _root_identity(self) -> Identity | None:
        try:
            return identity_of(os.stat(self.root))
        except FileNotFoundError:
            return None


def _close(artifact: Artifact | None) -> None:
    if artifact is not None:
        os.close(artifact.fd)
