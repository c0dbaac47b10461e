"""The storage of one instance, blocking: what is visible under its root, bounded by what its own writers know.

Every look goes to the disk anew, so that what other instances stored is seen at once. Where a writer of this instance
is active its ``log`` decides where the log ends: bytes of an append that has not resolved, or that failed and is not
undone yet, lie behind that and stay unseen. The methods may run in several threads at once.

With ``at_once`` they refuse a log that is not small with ``LongLogError``: those are for a thread to read.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conformance.contract import SessionEvent, SessionHeader, SessionPersistenceError, SessionSnapshot
from reference_backend.artifact import Artifact, header_line, id_in_header, open_artifact, still_there
from reference_backend.disk import Identity, identity_of, make_directories
from reference_backend.ids import is_digest, session_id_of
from reference_backend.locks import signature_at
from reference_backend.opening import Owned, own_stored
from reference_backend.place import Place
from reference_backend.positions import Check, Codec, LogEnd
from reference_backend.ranges import BytesRange, Damage
from reference_backend.writer import Residue, Writer

logger = logging.getLogger("torntail.reference")

_OF_THE_PROCESS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Numbers of errors that say nothing about the file at which they came."""


class ErasedError(Exception):
    """The artifact of a session that has an active writer here is gone, or another stands in its place. Never leaves
    here
    as itself: who asked knows whether that is damage or absence."""


class View(NamedTuple):
    """A log as it is at one moment.

    Attributes:
        artifact: its file, open; the caller's to close, unless it is the one that the caller had pinned.
        log: where it ends.
        events: all of its events where they were asked for and came at once, else None.
    """

    artifact: Artifact
    log: LogEnd
    events: list[SessionEvent] | None

    def close(self) -> None:
        """Let the file go."""
        os.close(self.artifact.fd)


class Store:
    """One encoding under one root.

    ``writers`` holds the active writers by id. The service adds and removes; threads only look.
    """

    def __init__(self, root: str, codec: Codec) -> None:
        self.root = root
        self.codec = codec
        self.writers: dict[str, Writer] = {}
        self._registrations = 0
        self._residues: dict[str, Residue] = {}
        self._durable_root: Identity | None = None
        # Where a log ends follows from its bytes alone. Listing, stat, open and read often meet the same ones in a row.
        self._recovered: tuple[bytes, LogEnd] | tuple[None, None] = (None, None)

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

    def own(self, session_id: str, *, at_once: bool = False) -> Owned:
        """Own a stored session; the caller registers the writer."""
        place = self.place(session_id)
        return own_stored(place, known=lambda artifact, owner: self._known_end(place, artifact, owner), at_once=at_once)

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

    def stat(self, session_id: str, *, at_once: bool = False) -> SessionSnapshot | None:
        """A snapshot of a stored or pending session, or None."""
        place = self.place(session_id)
        try:
            view = self.look(place, at_once=at_once)
        except ErasedError as error:
            raise place.corruption(str(error)) from error
        if view is None:
            writer = self.writers.get(session_id)
            return None if writer is None else self._pending_snapshot(writer)
        try:
            artifact = view.artifact
            with place.damage_told():
                mark = self.codec.mark(artifact.source, artifact.block, view.log)
            return SessionSnapshot(artifact.header, mark.revision, view.log.total, artifact.source.size)
        finally:
            view.close()

    def list(self) -> list[SessionSnapshot]:
        """A snapshot of each visible session, by id; what cannot be described is left out and logged.

        Raises:
            OSError: the root cannot be read, or no file could be, for want of descriptors or memory.
        """
        found: list[SessionSnapshot] = []
        for session_id in sorted({*self._stored_ids(), *list(self.writers)}):
            try:
                snapshot = self.stat(session_id)
            except (SessionPersistenceError, OSError) as error:
                if _is_of_the_process(error):
                    raise
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
            try:
                session_id = id_in_header(self.root, self.codec, name) if is_digest(name) else session_id_of(name)
            except OSError as error:
                if _is_of_the_process(error):
                    raise
                logger.warning("%s is left out of the list: %s", Path(self.root, name), error)
                continue
            if session_id is None:
                logger.warning("%s is left out of the list: no id makes that name", Path(self.root, name))
            else:
                yield session_id

    def look(
        self, place: Place, *, pin: Artifact | None = None, check: Check | None = None, at_once: bool = False
    ) -> View | None:
        """The stored log of a session, or None where it is absent or pending in this instance.

        Args:
            pin: a file that the caller keeps open, and that is looked at where it still stands at its place.
            check: also give the events, checked so, if they come at once.

        Raises:
            ErasedError: it has a writer here, but its artifact is gone or replaced.
            SessionPersistenceCorruptionError, SessionFormatUnsupportedError, OSError: as met.
            LongLogError: with ``at_once`` only.
        """
        while True:
            registrations = self._registrations
            writer = self.writers.get(place.session_id)
            identity = None if writer is None else writer.identity
            artifact = None if pin is None else still_there(place, pin, at_once=at_once)
            opened = artifact is None
            if artifact is None:
                artifact = open_artifact(place, at_once=at_once)
            found: View | None = None
            settled = False
            try:
                found = self._bounded(place, writer, artifact, check)
                settled = self._registrations == registrations and self.writers.get(place.session_id) is writer
            except ErasedError:
                if writer is not None and writer.identity == identity:
                    raise
            finally:
                if artifact is not None and opened and not (settled and found):
                    os.close(artifact.fd)
            if settled:
                return found
            # A writer came, went, or moved the log while the file was opened: what was seen may not be what it knows.

    def _bounded(
        self, place: Place, writer: Writer | None, artifact: Artifact | None, check: Check | None
    ) -> View | None:
        codec = self.codec
        log: LogEnd | None = None
        if writer is not None and writer.identity is not None:
            log = None if artifact is None else writer.log_in(artifact)
            if artifact is None or log is None:
                raise ErasedError("it was removed or replaced under its writer")
            if artifact.source.size < log.end:
                artifact = _grown(place, artifact, log)
        elif artifact is None or (writer is not None and writer.is_debris(artifact)):
            return None
        elif self._residues:
            log = self._known_end(place, artifact, signature_at(place.lock))
        source, block = artifact.source, artifact.block
        data = source.data if isinstance(source, BytesRange) else None
        before, end = self._recovered
        if log is None and data is not None and data == before:
            log = end
        if check is not None and (log is None or (log.end == source.size and not log.kept)):
            found = codec.take_in(source, block, check)
            if found is not None and (log is None or found[0] == log):
                return View(artifact, *found)
        if log is None:
            try:
                log = codec.recover(source, block)
            except Damage as error:
                raise place.corruption(str(error)) from error
            if data is not None:
                self._recovered = data, log
        return View(artifact, log, None)

    def _known_end(self, place: Place, artifact: Artifact, owner: int | None) -> LogEnd | None:
        residue = self._residues.get(place.session_id)
        if residue is None or residue.owner != owner:
            return None
        if (residue.identity, residue.size) != (artifact.identity, artifact.source.size):
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


def _is_of_the_process(error: Exception) -> bool:
    """Whether no other file could be read either."""
    return isinstance(error, OSError) and error.errno in _OF_THE_PROCESS


def _grown(place: Place, artifact: Artifact, log: LogEnd) -> Artifact:
    """The file as long as its writer says that it is.

    Its size was taken before the log's end was asked for, so it may lag behind an append that has just resolved.
    """
    with place.damage_told():
        grown = artifact.again(os.fstat(artifact.fd).st_size) or artifact
    if grown.source.size < log.end:
        raise place.corruption(f"it was cut to {grown.source.size} bytes under its writer")
    return grown
