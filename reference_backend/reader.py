"""The reading side of one handle, blocking: which log it is tied to, and what it has shown.

A handle is tied to a session, not to an id. It keeps the file it was opened on open, so that no later file can pass
for it, and the mark of what it has shown, so that a log which went back, or was put in the place of this one, is
refused. A repair puts a rewritten copy in the place of the log: that one holds the same header and carries the mark
on.
"""

from __future__ import annotations

import os
import threading

from conformance.contract import SessionEvent, SessionHeader, SessionPersistenceError
from reference_backend.disk import Identity, identity_of
from reference_backend.place import Place
from reference_backend.positions import Mark
from reference_backend.ranges import Damage
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
        self._pin: int | None = None
        self._shown: Mark | None = None
        self._line: bytes | None = None
        self._check = stored_check(place.session_id, str(place.path))

    @classmethod
    def open(cls, store: Store, session_id: str) -> tuple[LogReader, SessionHeader, int | None]:
        """A reader of a visible session, its header and inherited count.

        Raises:
            SessionPersistenceNotFoundError: absent.
            SessionPersistenceCorruptionError, SessionFormatUnsupportedError: something else stands there.
        """
        place = store.place(session_id)
        try:
            with store.view(session_id) as view:
                if view is None:
                    writer = store.writers.get(session_id)
                    if writer is None:
                        raise place.not_found()
                    return cls(store, place, writer, owns=False), writer.header, writer.inherited
                self = cls(store, place, None, owns=False)
                with place.damage_told():
                    self._shown = store.codec.cheap_mark(view.source, view.artifact.block, view.log)
                self._tie(view)
                return self, view.artifact.header, view.artifact.inherited
        except ErasedError as error:
            raise place.corruption(str(error)) from error

    def read(self, offset: int, length: int | None) -> list[SessionEvent]:
        """The slice of the log, of fresh objects.

        Raises:
            SessionPersistenceNotFoundError: the session was erased, also where another has its id now.
            SessionPersistenceCorruptionError: damaged, or no longer what this handle has shown.
            SessionFormatUnsupportedError: an event this build may not serve.
        """
        with self._mutex:
            writer = self._writer
            if writer is not None and writer.identity is None:
                return self._read_pending(writer)
            try:
                with self._store.view(self._place.session_id) as view:
                    if view is None:
                        raise self._gone()
                    return self._read_stored(view, offset, length)
            except ErasedError as error:
                raise self._gone() from error

    def close(self) -> None:
        """Let the file go."""
        with self._mutex:
            self._untie()

    def _read_pending(self, writer: Writer) -> list[SessionEvent]:
        if writer.released:
            raise self._gone()
        with self._store.view(self._place.session_id) as view:
            if view is not None:
                # Another instance stored the id first: this session will never be, and must not pass for that one.
                raise self._place.already_exists() if self._owns else self._gone()
        return []

    def _read_stored(self, view: View, offset: int, length: int | None) -> list[SessionEvent]:
        codec, block, log = self._store.codec, view.artifact.block, view.log
        moved = not self._owns and self._is_elsewhere(view)
        try:
            mark = codec.mark(view.source, block, log, self._shown)
        except Damage as error:
            if moved:
                raise self._gone() from error
            raise self._place.corruption(str(error)) from error
        stop = log.total if length is None else min(offset + length, log.total)
        with self._place.damage_told():
            events = codec.read(view.source, block, log, offset, stop, self._check)
        self._shown = mark
        if moved:
            self._untie()
            self._tie(view)
        return events

    def _is_elsewhere(self, view: View) -> bool:
        """Whether the log is in another file than before; refuses where it cannot be this session's."""
        if self._pin is None:
            # Opened while pending: this is the first look at the file its writer made since then.
            if self._writer is None or view.artifact.identity != self._writer.identity:
                raise self._gone()
            self._tie(view)
            return False
        if view.artifact.identity == self._identity_of_pin(self._pin):
            return False
        carried_on = self._shown is not None and self._shown.next_seq > 0 and view.artifact.block.line == self._line
        if not carried_on:
            raise self._gone()
        return True

    def _identity_of_pin(self, pin: int) -> Identity:
        return identity_of(os.fstat(pin))

    def _tie(self, view: View) -> None:
        self._pin = os.dup(view.artifact.fd)
        self._line = view.artifact.block.line

    def _untie(self) -> None:
        pin, self._pin = self._pin, None
        if pin is not None:
            os.close(pin)

    def _gone(self) -> SessionPersistenceError:
        return self._place.not_found()
