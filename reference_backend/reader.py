"""The reading side of one handle, blocking: which log it is tied to, and what it has shown.

A handle is tied to a session, not to an id. It keeps the file it was opened on open, so that no later file can pass
for it, and the mark of what it has shown, so that a log which went back, or was put in the place of this one, is
refused. A repair puts a rewritten copy in the place of the log: that one holds the same header and carries the mark
on.

With ``at_once`` whatever may take long, a long log or a reader that is busy in a thread, is refused with
``LongLogError``.
"""

from __future__ import annotations

import os
import threading

from conformance.contract import SessionEvent, SessionHeader, SessionPersistenceError
from reference_backend.artifact import Artifact, LongLogError
from reference_backend.opening import Owned
from reference_backend.place import Place
from reference_backend.positions import Mark
from reference_backend.ranges import BytesRange, Damage
from reference_backend.records import stored_check
from reference_backend.store import ErasedError, Store, View
from reference_backend.writer import Writer


class LogReader:
    """Reads for one handle, one at a time.

    A reader of a session that is pending in this instance, or the reader of a write handle, is given that ``writer``.
    """

    def __init__(self, store: Store, place: Place, writer: Writer | None, *, owns: bool) -> None:
        self._store = store
        self._place = place
        self._writer = writer
        self._owns = owns
        self._mutex = threading.Lock()
        self._pin: Artifact | None = None
        self._shown: Mark | None = None
        self._has_read = False
        self._check = stored_check(place.session_id, place.file)
        self._decoded: tuple[bytes, list[SessionEvent]] | None = None

    @classmethod
    def open(
        cls, store: Store, session_id: str, *, at_once: bool = False
    ) -> tuple[LogReader, SessionHeader, int | None]:
        """A reader of a visible session, its header and inherited count.

        Raises:
            SessionPersistenceNotFoundError: absent.
            SessionPersistenceCorruptionError, SessionFormatUnsupportedError: something else stands there.
        """
        place = store.place(session_id)
        try:
            view = store.look(place, at_once=at_once)
        except ErasedError as error:
            raise place.corruption(str(error)) from error
        if view is None:
            writer = store.writers.get(session_id)
            if writer is None:
                raise place.not_found()
            return cls(store, place, writer, owns=False), writer.header, writer.inherited
        artifact = view.artifact
        self = cls(store, place, None, owns=False)
        try:
            self._shown = store.codec.cheap_mark(artifact.source, artifact.block, view.log)
        except BaseException as error:
            view.close()
            if isinstance(error, Damage):
                raise place.corruption(str(error)) from error
            raise
        self._pin = artifact
        return self, artifact.header, artifact.inherited

    @classmethod
    def of_owner(cls, store: Store, owned: Owned) -> LogReader:
        """The reader of a write handle on a stored session."""
        writer, artifact, events = owned
        self = cls(store, writer.place, writer, owns=True)
        self._pin = Artifact(os.dup(artifact.fd), *artifact[1:])
        if events is not None and isinstance(artifact.source, BytesRange):
            self._decoded = artifact.source.data, events
        return self

    def read(self, offset: int, length: int | None, *, at_once: bool = False) -> list[SessionEvent]:
        """The slice of the log, of fresh objects.

        Raises:
            SessionPersistenceNotFoundError: the session was erased, also where another has its id now.
            SessionPersistenceCorruptionError: damaged, or no longer what this handle has shown.
            SessionFormatUnsupportedError: an event this build may not serve.
        """
        if not self._mutex.acquire(blocking=not at_once):
            raise LongLogError
        try:
            writer = self._writer
            if writer is not None and writer.identity is None:
                return self._read_pending(writer)
            check = self._check if offset == 0 and length is None and self._decoded is None else None
            try:
                view = self._store.look(self._place, pin=self._pin, check=check, at_once=at_once)
            except ErasedError as error:
                raise self._gone() from error
            if view is None:
                raise self._gone()
            try:
                return self._read_stored(view, offset, length)
            finally:
                if self._pin is None or view.artifact.fd != self._pin.fd:
                    view.close()
        finally:
            self._mutex.release()

    @property
    def is_busy(self) -> bool:
        """Whether a thread is reading."""
        return self._mutex.locked()

    def close(self) -> None:
        """Let the file go."""
        with self._mutex:
            self._pin_to(None)

    def _read_pending(self, writer: Writer) -> list[SessionEvent]:
        if writer.released:
            raise self._gone()
        view = self._store.look(self._place)
        if view is not None:
            view.close()
            # Another instance stored the id first: this session will never be, and must not pass for that one.
            raise self._place.already_exists() if self._owns else self._gone()
        return []

    def _read_stored(self, view: View, offset: int, length: int | None) -> list[SessionEvent]:
        codec, artifact, log = self._store.codec, view.artifact, view.log
        elsewhere = self._is_elsewhere(artifact)
        # What the open found has not been shown to anybody: a failed append may have stood there, and been taken back
        # since. It has to be found again only in another file, where it tells a repaired copy from another session.
        earlier = self._shown if self._has_read or elsewhere else None
        try:
            mark = codec.mark(artifact.source, artifact.block, log, earlier)
        except Damage as error:
            if elsewhere and not self._owns:
                raise self._gone() from error
            raise self._place.corruption(str(error)) from error
        events = view.events if view.events is not None else self._take_decoded(view, offset, length)
        if events is None:
            stop = log.total if length is None else min(offset + length, log.total)
            try:
                events = codec.read(artifact.source, artifact.block, log, offset, stop, self._check)
            except Damage as error:
                raise self._place.corruption(str(error)) from error
        self._shown, self._has_read = mark, True
        if elsewhere:
            self._pin_to(artifact)
        return events

    def _take_decoded(self, view: View, offset: int, length: int | None) -> list[SessionEvent] | None:
        """What the write open decoded, where the stored bytes are still the same; for one reader, once."""
        decoded, self._decoded = self._decoded, None
        source = view.artifact.source
        same = decoded is not None and isinstance(source, BytesRange) and source.data == decoded[0]
        if decoded is None or not same or view.log.total != len(decoded[1]):
            return None
        return decoded[1][offset:] if length is None else decoded[1][offset : offset + length]

    def _is_elsewhere(self, artifact: Artifact) -> bool:
        """Whether the log is in another file than before; refuses where it cannot be this session's."""
        pin = self._pin
        if pin is not None and artifact.identity == pin.identity:
            return False
        if self._owns:
            # Its writer vouches for the file.
            return True
        if pin is None:
            # Opened while pending: this is the first look at the file its writer made since then.
            if self._writer is None or artifact.identity != self._writer.identity:
                raise self._gone()
            return True
        if self._shown is None or self._shown.next_seq == 0 or artifact.block.line != pin.block.line:
            raise self._gone()
        return True

    def _pin_to(self, artifact: Artifact | None) -> None:
        old, self._pin = self._pin, artifact
        if old is not None:
            os.close(old.fd)

    def _gone(self) -> SessionPersistenceError:
        return self._place.not_found()
