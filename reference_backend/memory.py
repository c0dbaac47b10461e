"""A session-log backend in memory: the contract in its smallest honest form, to read first and to measure with.

It promises every clause that applies to ``storage="memory"``: one instance is the whole world, and a fresh instance on
the same root is a new empty one. It stores nothing outside the process and takes no notice of the root.

Why there is no lock: no operation awaits anything. Each runs from its first step to its end before the event loop
turns to another task, so that operations take effect in the order they were called, no read overlaps an append, and
a cancellation either comes before the first step, when nothing was called, or after the end. Whoever adds an
``await`` to an operation here loses all of that. For the same reason one instance belongs to one event loop.

Each operation refuses in the contract's order: closed first, then the right to write, then the arguments; what is
stored changes only after the last check.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from conformance.contract import (
    Access,
    Backend,
    Capabilities,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionEvent,
    SessionHandleClosedError,
    SessionHeader,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
    SessionSnapshot,
    assert_contiguous,
    assert_understood,
    check_read_range,
    copy_header,
    copy_json,
    materialize_append_batch,
    materialize_create_header,
)


class _Session:
    """What is kept of one session; handles hold it, so that a later session of the same id is never mistaken for it.

    Attributes:
        number: counts the sessions an instance ever began, so that revisions of two of them never agree.
        writer: the handle that owns the session, or None.
        pending: no append of an event and no flush has resolved yet; closing the writer then erases the session.
        erased: it was closed while pending and never was.
    """

    __slots__ = ("erased", "events", "header", "inherited_event_count", "number", "pending", "writer")

    def __init__(self, number: int, header: SessionHeader, inherited_event_count: int | None) -> None:
        self.number = number
        self.header = header
        self.inherited_event_count = inherited_event_count
        self.events: list[SessionEvent] = []
        self.writer: MemoryHandle | None = None
        self.pending = True
        self.erased = False

    def snapshot(self) -> SessionSnapshot:
        """The session as ``stat`` and ``list`` tell it; a log only grows, so its length is revision enough."""
        count = len(self.events)
        return SessionSnapshot(copy_header(self.header), f"{self.number}.{count}", count)


class MemoryHandle:
    """One session, opened for reading or, by its single owner, for writing; ``SessionHandle`` has the clauses."""

    __slots__ = ("_closed", "_persistence", "_session", "access", "header", "id", "inherited_event_count")

    def __init__(self, persistence: MemoryPersistence, session: _Session, access: Access) -> None:
        self._persistence = persistence
        self._session = session
        self._closed = False
        self.access: Access = access
        self.header = copy_header(session.header)
        self.id = session.header.id
        self.inherited_event_count = session.inherited_event_count

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Copies of the events ``[offset:offset+length]``.

        Raises:
            SessionHandleClosedError: the handle or its service is closed.
            SessionPersistenceNotFoundError: the session was erased since (MAT-06).
            TypeError, ValueError: no such range.
        """
        self._check_open()
        start, count = check_read_range(offset, length)
        if self._session.erased:
            raise SessionPersistenceNotFoundError(f"session {self.id!r} was never stored", session_id=self.id)
        stop = None if count is None else start + count
        return [copy_json(event) for event in self._session.events[start:stop]]

    async def append(self, events: list[SessionEvent]) -> None:
        """Store a batch that continues the log, whole or not at all; an empty one changes nothing.

        Raises:
            SessionHandleClosedError, SessionReadOnlyError: the handle may not write.
            TypeError, ValueError: no batch of JSON events.
            SessionContiguityError: the batch does not start at the next seq, or is not contiguous.
            SessionFormatUnsupportedError: an unknown event type that is not ignorable.
        """
        self._check_writable()
        batch = materialize_append_batch(events)
        session = self._session
        assert_contiguous(batch, len(session.events), session_id=self.id)
        assert_understood(batch, session_id=self.id)
        if batch:
            session.events += batch
            session.pending = False

    async def flush(self) -> None:
        """Nothing is ever waiting to be stored; an empty session is kept from now on (MAT-04).

        Raises:
            SessionHandleClosedError, SessionReadOnlyError: the handle may not write.
        """
        self._check_writable()
        self._session.pending = False

    async def close(self) -> None:
        """Give ownership up; a session that was never stored is erased. Closing again is nothing."""
        if not self._closed:
            self._closed = True
            self._persistence.release(self._session, self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _check_open(self) -> None:
        if self._closed or self._persistence.closed:
            raise SessionHandleClosedError(f"this handle of session {self.id!r} is closed", session_id=self.id)

    def _check_writable(self) -> None:
        self._check_open()
        if self.access != "write":
            raise SessionReadOnlyError(f"this handle of session {self.id!r} is for reading only", session_id=self.id)


class MemoryPersistence:
    """The service: all sessions of one instance; ``SessionPersistence`` has the clauses.

    Attributes:
        closed: ``close`` was called; handles look at it too, so closing need not find them.
    """

    __slots__ = ("_begun", "_sessions", "closed")

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._begun = 0
        self.closed = False

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Begin a session and own it; it is visible in this instance at once.

        Raises:
            SessionPersistenceError: the service is closed.
            TypeError, ValueError: a bad header or inherited count.
            SessionAlreadyExistsError: the id is taken.
        """
        self._check_open()
        own_header, own_count = materialize_create_header(header, inherited_event_count)
        session_id = own_header.id
        if session_id in self._sessions:
            raise SessionAlreadyExistsError(f"session {session_id!r} exists already", session_id=session_id)
        self._begun += 1
        session = self._sessions[session_id] = _Session(self._begun, own_header, own_count)
        session.writer = MemoryHandle(self, session, "write")
        return session.writer

    async def open(self, session_id: str, access: Access) -> MemoryHandle:
        """Open a session; ``"write"`` takes ownership.

        Raises:
            SessionPersistenceError: the service is closed.
            ValueError: another access than ``"read"`` or ``"write"``.
            SessionPersistenceNotFoundError: no such session.
            SessionAlreadyOwnedError: a write handle is active.
        """
        self._check_open()
        if access not in ("read", "write"):
            raise ValueError(f"access={access!r:.80}; expected 'read' or 'write'")
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionPersistenceNotFoundError(f"there is no session {session_id!r}", session_id=session_id)
        if access == "read":
            return MemoryHandle(self, session, "read")
        if session.writer is not None:
            raise SessionAlreadyOwnedError(f"session {session_id!r} has a writer already", session_id=session_id)
        session.writer = MemoryHandle(self, session, "write")
        return session.writer

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """One session, or None where there is none. Raises SessionPersistenceError once the service is closed."""
        self._check_open()
        session = self._sessions.get(session_id)
        return None if session is None else session.snapshot()

    async def list(self) -> list[SessionSnapshot]:
        """Every session, in the order of creation. Raises SessionPersistenceError once the service is closed."""
        self._check_open()
        return [session.snapshot() for session in self._sessions.values()]

    async def flush(self) -> None:
        """Flush every write handle. Raises SessionPersistenceError once the service is closed."""
        self._check_open()
        for session in self._sessions.values():
            # A pending session always has its creator as writer, and one without a writer is not pending.
            session.pending = False

    async def close(self) -> None:
        """Close every handle and forget everything: with its only instance the world ends. Again is nothing."""
        self.closed = True
        self._sessions.clear()

    def release(self, session: _Session, handle: MemoryHandle) -> None:
        """Take ownership back from a handle that closes, if it has it; called by the handle alone."""
        if session.writer is handle:
            session.writer = None
            if session.pending:
                session.erased = True
                self._sessions.pop(session.header.id, None)

    def _check_open(self) -> None:
        if self.closed:
            raise SessionPersistenceError("this session persistence is closed")


def open_memory(root: Path) -> MemoryPersistence:
    """A new empty instance, whatever was done under that root before."""
    return MemoryPersistence()


memory = Backend(name="memory", open=open_memory, capabilities=Capabilities(durability="none", storage="memory"))
"""The registered backend."""
