"""A right-but-different backend: plain functions over one SQLite database, with exception classes of its own.

Everything differs from the reference that may: the methods are synchronous, the errors are the store's own and mapped,
one database holds every session, and a revision is a random token that each writing transaction renews. It withstands
the kill of its process. Ownership is kept in the instance only; a transaction compares the stored length with what the
handle left, so that two instances cannot both continue a log (OWN-14). One lock for each instance lets its methods be
called from any thread.
"""

from __future__ import annotations

import functools
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

from conformance.contract import (
    Access,
    Backend,
    Capabilities,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionContiguityError,
    SessionEvent,
    SessionHandleClosedError,
    SessionHeader,
    SessionOwnershipLostError,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
    SessionSnapshot,
    assert_understood,
    check_read_range,
    copy_header,
    header_from_json,
    header_to_json,
    materialize_append_batch,
    materialize_create_header,
)

SCHEMA = """
    PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, header TEXT, count INTEGER, revision TEXT);
    CREATE TABLE IF NOT EXISTS events (id TEXT, seq INTEGER, body TEXT, PRIMARY KEY (id, seq)) WITHOUT ROWID;
"""

LOCK_SECONDS = 0.05
"""How long a transaction waits for another one; none lasts longer than one call."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class RowsError(Exception):
    """Base of what this store raises; ``session_id`` where it knows one."""

    def __init__(self, message: str, session_id: str | None = None) -> None:
        super().__init__(message)
        self.session_id = session_id


class NoSuchSessionError(RowsError):
    """The id is not there."""


class IdTakenError(RowsError):
    """The id is there already."""


class HasWriterError(RowsError):
    """Another handle of this instance writes."""


class ForReadingError(RowsError):
    """A mutation through a reader."""


class EndedError(RowsError):
    """The handle is closed, or its store."""


class MovedOnError(RowsError):
    """Another instance continued the log."""


class WrongSeqError(RowsError):
    """A batch does not continue the log: ``expected`` and ``got``."""

    def __init__(self, session_id: str, expected: int, got: int) -> None:
        super().__init__(f"session {session_id!r}: seq {got} where {expected} should be", session_id)
        self.expected = expected
        self.got = got


LARGEST = 2**63 - 1
"""Of SQLite's integers."""


@dataclass(slots=True, eq=False)
class Known:
    """A session as one instance knows it; ``stored`` turns true once, ``erased`` only of one that was never stored."""

    header: SessionHeader
    inherited: int | None
    stored: bool
    erased: bool = False


def locked(
    method: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """One call at a time in each instance."""

    def call(self: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with self.lock:
            return method(self, *args, **kwargs)

    return functools.update_wrapper(call, method)  # type: ignore[return-value]


def key_of(session_id: str) -> str:
    """The id as ASCII: every text has one, and no two share it."""
    return json.dumps(session_id)


class RowsHandle:
    """One session, opened for reading or, by its single owner in this instance, for writing."""

    def __init__(self, store: RowsStore, access: Access, known: Known, count: int) -> None:
        self.store = store
        self.lock = store.lock
        self.known = known
        self.access: Access = access
        self.id = known.header.id
        self.header = copy_header(known.header)
        self.inherited_event_count = known.inherited
        self.next_seq = count
        self.closed = False

    @locked
    def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """The events ``[offset:offset+length]``."""
        self.check_open()
        start, count = check_read_range(offset, length)
        if self.known.erased:
            raise NoSuchSessionError(f"session {self.id!r} was never stored", self.id)
        query = "SELECT body FROM events WHERE id = ? AND seq >= ? ORDER BY seq LIMIT ?"
        # SQLite has no integers past 64 bits, and no log is that long.
        bounds = (min(start, LARGEST), -1 if count is None else min(count, LARGEST))
        found = self.store.db.execute(query, (key_of(self.id), *bounds))
        return [json.loads(body) for (body,) in found.fetchall()] if self.known.stored else []

    @locked
    def append(self, events: list[SessionEvent]) -> None:
        """Store a batch in one transaction."""
        batch = self.checked(events)
        if batch:
            self.write(batch)

    def checked(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """A copy of a batch that may be stored; looks at nothing stored."""
        self.check_writable()
        batch = materialize_append_batch(events)
        for expected, event in enumerate(batch, start=self.next_seq):
            if event["seq"] != expected:
                raise WrongSeqError(self.id, expected, event["seq"])
        assert_understood(batch, session_id=self.id)
        return batch

    def write(self, batch: list[SessionEvent]) -> None:
        """One transaction: the session where it is new, these events, a new revision."""
        key = key_of(self.id)
        after = self.next_seq + len(batch)
        with self.store.transaction() as db:
            if not self.known.stored:
                self.insert_session(db)
            (count,) = db.execute("SELECT count FROM sessions WHERE id = ?", (key,)).fetchone()
            if count != self.next_seq:
                raise MovedOnError(f"session {self.id!r} has {count} events, not {self.next_seq}", self.id)
            db.executemany("INSERT INTO events VALUES (?, ?, ?)", self.rows_of(batch))
            db.execute("UPDATE sessions SET count = ?, revision = ? WHERE id = ?", (after, secrets.token_hex(8), key))
        self.next_seq = after
        self.store.now_stored(self.known)

    def rows_of(self, batch: list[SessionEvent]) -> Iterator[tuple[str, int, str]]:
        """The rows that these events are stored as."""
        return ((key_of(self.id), event["seq"], json.dumps(event)) for event in batch)

    def insert_session(self, db: sqlite3.Connection) -> None:
        """The row of the session; the first instance to commit one wins."""
        text = json.dumps(header_to_json(self.known.header, self.known.inherited))
        try:
            db.execute("INSERT INTO sessions VALUES (?, ?, 0, ?)", (key_of(self.id), text, secrets.token_hex(8)))
        except sqlite3.IntegrityError as cause:
            raise IdTakenError(f"session {self.id!r} was stored by another instance", self.id) from cause

    @locked
    def flush(self) -> None:
        """What resolved is committed already; an empty session is stored now."""
        self.check_writable()
        if not self.known.stored:
            with self.store.transaction() as db:
                self.insert_session(db)
            self.store.now_stored(self.known)

    @locked
    def close(self) -> None:
        """Give ownership up; a session that was never stored never was."""
        if not self.closed:
            self.closed = True
            self.store.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def check_open(self) -> None:
        """Refuse where the handle or its store is closed."""
        if self.closed or self.store.closed:
            raise EndedError(f"this handle of session {self.id!r} is closed", self.id)

    def check_writable(self) -> None:
        """Refuse where the handle is closed or for reading."""
        self.check_open()
        if self.access != "write":
            raise ForReadingError(f"this handle of session {self.id!r} is for reading only", self.id)


class RowsStore:
    """The service over one database. ``handle_type`` is what it makes its handles of."""

    handle_type: ClassVar[type[RowsHandle]] = RowsHandle

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.lock = RLock()
        self.db = sqlite3.connect(
            root / "sessions.db", timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        self.db.executescript(SCHEMA)
        self.drafts: dict[str, Known] = {}
        self.writers: dict[str, RowsHandle] = {}
        self.closed = False

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block, or nothing of it."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def row(self, session_id: str) -> tuple[Known, int, str] | None:
        """A stored session with its count and revision, or None."""
        query = "SELECT header, count, revision FROM sessions WHERE id = ?"
        found = self.db.execute(query, (key_of(session_id),)).fetchone()
        if found is None:
            return None
        header, inherited = header_from_json(json.loads(found[0]))
        return Known(header, inherited, stored=True), found[1], found[2]

    @locked
    def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> RowsHandle:
        """Begin a session and own it; nothing is written before its first append or flush."""
        self.check_open()
        own, count = materialize_create_header(header, inherited_event_count)
        if own.id in self.drafts or self.row(own.id) is not None:
            raise IdTakenError(f"session {own.id!r} exists already", own.id)
        known = self.drafts[own.id] = Known(own, count, stored=False)
        handle = self.writers[own.id] = self.handle_type(self, "write", known, 0)
        return handle

    @locked
    def open(self, session_id: str, access: Access) -> RowsHandle:
        """Open a session; a writer of this instance keeps other writers of this instance out."""
        self.check_open()
        if access not in ("read", "write"):
            raise ValueError(f"access={access!r:.80}; expected 'read' or 'write'")
        draft = self.drafts.get(session_id)
        found = self.row(session_id) if draft is None else (draft, 0, "")
        if found is None:
            raise NoSuchSessionError(f"there is no session {session_id!r}", session_id)
        if access == "write" and session_id in self.writers:
            raise HasWriterError(f"session {session_id!r} has a writer already", session_id)
        handle = self.handle_type(self, access, *found[:2])
        if access == "write":
            self.writers[session_id] = handle
        return handle

    @locked
    def stat(self, session_id: str) -> SessionSnapshot | None:
        """One session, or None where there is none."""
        self.check_open()
        draft = self.drafts.get(session_id)
        found = self.row(session_id) if draft is None else (draft, 0, f"draft {id(draft)}")
        return None if found is None else SessionSnapshot(copy_header(found[0].header), found[2], found[1])

    @locked
    def list(self) -> list[SessionSnapshot]:
        """Every session that this instance sees."""
        self.check_open()
        stored = [json.loads(key) for (key,) in self.db.execute("SELECT id FROM sessions ORDER BY id").fetchall()]
        found = [self.stat(session_id) for session_id in dict.fromkeys([*self.drafts, *stored])]
        return [snapshot for snapshot in found if snapshot is not None]

    @locked
    def flush(self) -> None:
        """Flush every writer; failures come together."""
        self.check_open()
        failures = []
        for handle in list(self.writers.values()):
            try:
                handle.flush()
            except (RowsError, sqlite3.Error) as problem:
                problem.add_note(f"session {handle.id!r}")
                failures.append(problem)
        if failures:
            raise ExceptionGroup("not every session could be flushed", failures)

    @locked
    def close(self) -> None:
        """Close every writer and the database; readers look at ``closed``. Again is nothing."""
        for handle in list(self.writers.values()):
            handle.close()
        self.closed = True
        self.db.close()

    def now_stored(self, known: Known) -> None:
        """The session is stored; other instances see it."""
        known.stored = True
        self.drafts.pop(known.header.id, None)

    def release(self, handle: RowsHandle) -> None:
        """Take ownership back from a handle that closes, if it has it."""
        if self.writers.get(handle.id) is handle:
            del self.writers[handle.id]
            if not handle.known.stored:
                handle.known.erased = True
                self.drafts.pop(handle.id, None)

    def check_open(self) -> None:
        """Refuse where the store is closed."""
        if self.closed:
            raise EndedError("this store is closed")


sqlite_rows = Backend(
    name="sqlite-rows",
    open=RowsStore,
    sync=True,
    capabilities=Capabilities(durability="process-kill"),
    errors={
        RowsError: SessionPersistenceError,
        NoSuchSessionError: SessionPersistenceNotFoundError,
        IdTakenError: SessionAlreadyExistsError,
        HasWriterError: SessionAlreadyOwnedError,
        ForReadingError: SessionReadOnlyError,
        EndedError: SessionHandleClosedError,
        MovedOnError: SessionOwnershipLostError,
        WrongSeqError: SessionContiguityError,
    },
)
"""Lazy materialisation, no cross-process ownership."""
