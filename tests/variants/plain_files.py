"""Two right-but-different backends: one file of JSON lines for each session, written and read with plain Python I/O.

They promise the contract from ``durability="process-kill"``, and nothing about other instances that write: no lock is
taken, but an append that finds the file other than its handle left it is refused (OWN-14). Nothing is cached: every
read and every ``stat`` reads the file again, which is slow and cannot be stale. ``plain_files`` materialises lazily,
``eager_files`` in ``create``. Like the memory backend they await nothing inside an operation, so none needs a lock.

A session's file appears by a link, whole or not at all; what a killed writer left behind the last complete line is cut
off before the next append. Where storage fails, an append or flush that was rejected takes back what it did. While that
fails too, this instance looks past it, and the next call on the handle begins with it. The shape of the file is in
``line_files``.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ClassVar, Self

from line_files import (
    BORN,
    LONGEST_NAME,
    SUFFIX,
    Stored,
    discard,
    id_of,
    is_there,
    lines_of,
    link_new,
    load,
    mark_of,
    names_in,
    path_of,
    write_all,
)

from conformance.contract import (
    Access,
    Backend,
    Capabilities,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionEvent,
    SessionHandleClosedError,
    SessionHeader,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
    SessionSnapshot,
    assert_contiguous,
    assert_understood,
    check_read_range,
    copy_header,
    header_to_json,
    materialize_append_batch,
    materialize_create_header,
)

logger = logging.getLogger(__name__)


def digests_of(events: Sequence[SessionEvent]) -> list[bytes]:
    """One for each event; equal for equal ones."""
    return [hashlib.sha256(repr(event).encode("utf-8", "surrogatepass")).digest() for event in events]


class Draft:
    """A session that was created and not stored yet; only its own instance knows it.

    ``debris`` marks the file that may have its name though storing it was rejected.
    """

    def __init__(self, header: SessionHeader, inherited: int | None) -> None:
        self.header = header
        self.inherited = inherited
        self.values = {**header_to_json(header, inherited), BORN: secrets.token_hex(8)}
        self.line = lines_of([self.values])
        self.stored = False
        self.erased = False
        self.debris: tuple[int, int, int] | None = None


class PlainHandle:
    """One session, opened for reading or, by its single owner in this instance, for writing."""

    def __init__(self, service: PlainFiles, access: Access, draft: Draft | None, stored: Stored | None) -> None:
        known = draft if draft is not None else stored
        assert known is not None
        self.service = service
        self.draft = draft
        self.access: Access = access
        self.id = known.header.id
        self.header = copy_header(known.header)
        self.inherited_event_count = known.inherited
        self.path = service.place(self.id)
        self.closed = False
        self.failure_of_close: Exception | None = None
        self.shown = 0
        # What it knows of the log, to notice another one in its place.
        self.known = [] if stored is None else digests_of(stored.events)
        self.line = b"" if stored is None else stored.line
        # Where this handle left the file: the next seq, the end of its complete lines, and its whole size.
        self.next_seq, self.end, self.size = (0, 0, 0) if stored is None else (len(stored.events), *stored[3:5])
        # Bytes behind that end of which any part may be there, because a call failed and is not undone.
        self.failed = 0

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """The events ``[offset:offset+length]``, from the file."""
        self.check_open()
        start, count = check_read_range(offset, length)
        if self.draft is not None and self.draft.erased:
            raise SessionPersistenceNotFoundError(f"session {self.id!r} was never stored", session_id=self.id)
        events = self.stored_events()
        if len(events) < self.shown:
            raise SessionPersistenceCorruptionError(
                f"session {self.id!r} shrank from {self.shown} to {len(events)} events", session_id=self.id
            )
        digests = digests_of(events)
        if any(known != found for known, found in zip(self.known, digests, strict=False)):
            raise SessionPersistenceNotFoundError(
                f"session {self.id!r}: another one has its place now", session_id=self.id
            )
        self.shown, self.known = len(events), max(self.known, digests, key=len)
        return events[start : None if count is None else start + count]

    def stored_events(self) -> list[SessionEvent]:
        """All events of the file; none before there is one."""
        if self.draft is not None and not self.draft.stored:
            return []
        stored = self.service.stored(self.id)
        if stored is None:
            raise SessionPersistenceNotFoundError(f"session {self.id!r}: {self.path} is gone", session_id=self.id)
        if self.head() and stored.line and stored.line != self.head():
            raise SessionPersistenceNotFoundError(
                f"session {self.id!r}: another one has its place now", session_id=self.id
            )
        return stored.events

    def head(self) -> bytes:
        """The line of the header in the log that this handle was opened on."""
        return self.line or (b"" if self.draft is None else self.draft.line.rstrip(b"\n"))

    async def append(self, events: list[SessionEvent]) -> None:
        """Write a batch behind what this handle left, in one call of ``write``."""
        self.check_writable()
        batch = self.checked(events)
        if batch:
            self.write(batch)

    def checked(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """A copy of a batch that may be stored."""
        batch = materialize_append_batch(events)
        assert_contiguous(batch, self.next_seq, session_id=self.id)
        assert_understood(batch, session_id=self.id)
        return batch

    def write(self, batch: list[SessionEvent]) -> None:
        """Store a checked batch, and the session itself where this is the first of it."""
        data = self.bytes_of(batch)
        if self.draft is not None and not self.draft.stored:
            self.materialise(self.draft, data)
        else:
            self.write_behind(data)
        self.next_seq += len(batch)

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """The events as they stand in the file."""
        return lines_of(batch)

    def write_behind(self, data: bytes) -> None:
        """Add the bytes of a batch behind the log, where the file is as this handle left it."""
        self.cut()
        try:
            end = self.put(data)
        except OSError:
            self.try_to(self.cut)
            raise
        self.end = self.size = end
        self.failed = 0

    def put(self, data: bytes) -> int:
        """Write them, and tell where the file ends then."""
        with self.path.open("r+b", buffering=0) as file:
            self.check_size(file.seek(0, os.SEEK_END))
            self.failed = len(data)
            write_all(file, data)
        return self.end + len(data)

    def check_size(self, size: int) -> None:
        """Refuse where somebody else changed the file."""
        if not (self.end <= size <= self.end + self.failed if self.failed else size == self.size):
            raise SessionOwnershipLostError(
                f"session {self.id!r}: another writer changed {self.path}", session_id=self.id
            )
        self.check_head()

    def check_head(self) -> None:
        """Refuse where another log has the place of this one, which may be as long."""
        if not self.service.begins_with(self.path, self.head()):
            raise SessionOwnershipLostError(f"session {self.id!r}: {self.path} is another log", session_id=self.id)

    def cut(self) -> None:
        """Take away what stands behind the log: a torn tail that was found, or what an append that failed left."""
        if self.size > self.end or self.failed:
            with self.path.open("r+b", buffering=0) as file:
                self.check_size(file.seek(0, os.SEEK_END))
                self.failed = max(self.failed, self.size - self.end)
                file.truncate(self.end)
            self.size, self.failed = self.end, 0

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Let the file appear with its header and these bytes; the first instance to do so wins."""
        self.clear()
        self.service.make_directories(self.path.parent)
        temporary = self.service.write_temporary(self.path, draft.line + data)
        try:
            self.service.sync_temporary(temporary)
            draft.debris = mark_of(temporary)
            self.service.publish(temporary, self.path)
            self.end = self.size = self.path.stat().st_size
        except FileExistsError as cause:
            draft.debris = None
            raise SessionAlreadyExistsError(
                f"session {self.id!r} was stored by another instance", session_id=self.id
            ) from cause
        except OSError:
            self.try_to(self.clear)
            raise
        finally:
            discard(temporary)
        draft.stored, draft.debris = True, None
        self.service.drafts.pop(self.id)

    def clear(self) -> None:
        """Take the name away from a file whose materialisation failed."""
        if self.draft is not None and self.draft.debris is not None:
            if mark_of(self.path) == self.draft.debris:
                self.path.unlink()
            self.service.sync_entry(self.path)
            self.draft.debris = None

    def undo(self) -> None:
        """Leave nothing of what failed."""
        if self.draft is not None and not self.draft.stored:
            self.clear()
        elif self.failed:
            self.cut()

    def try_to(self, repair: Callable[[], None]) -> None:
        """Repair at once, or leave it to the next call."""
        try:
            repair()
        except (OSError, SessionOwnershipLostError):
            logger.warning("session %r: what failed is not undone yet", self.id, exc_info=True)

    async def flush(self) -> None:
        """Everything resolved is in the file already; an empty session is stored now (MAT-04)."""
        self.check_writable()
        if self.draft is not None and not self.draft.stored:
            self.materialise(self.draft, b"")
        else:
            self.undo()
            self.check_there()

    def check_there(self) -> None:
        """Refuse where the file is not there, or not as long as this handle left it."""
        mark = mark_of(self.path)
        if mark is None or mark[2] != self.size:
            raise SessionOwnershipLostError(f"session {self.id!r}: {self.path} was changed", session_id=self.id)
        self.check_head()

    async def close(self) -> None:
        """Give ownership up; a session that was never stored never was."""
        self.let_go(self.undo)

    def let_go(self, last: Callable[[], None]) -> None:
        """Close after a last step, and give ownership up whether or not that fails; again has the same outcome."""
        if not self.closed:
            self.closed = True
            try:
                if self.service.writers.get(self.id) is self:
                    last()
            except (SessionPersistenceError, OSError) as failure:
                self.failure_of_close = failure
            finally:
                self.service.release(self)
        if self.failure_of_close is not None:
            raise self.failure_of_close

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        await self.close()
        return None

    def check_open(self) -> None:
        """Refuse where the handle or its service is closed."""
        if self.closed or self.service.closed:
            raise SessionHandleClosedError(f"this handle of session {self.id!r} is closed", session_id=self.id)

    def check_writable(self) -> None:
        """Refuse where the handle is closed or for reading."""
        self.check_open()
        if self.access != "write":
            raise SessionReadOnlyError(f"this handle of session {self.id!r} is for reading only", session_id=self.id)


class PlainFiles:
    """The service over one root. ``handle_type`` is what it makes its handles of."""

    handle_type: ClassVar[type[PlainHandle]] = PlainHandle

    def __init__(self, root: Path) -> None:
        self.root = root
        self.drafts: dict[str, Draft] = {}
        self.writers: dict[str, PlainHandle] = {}
        self.closed = False

    def place(self, session_id: str) -> Path:
        """The file of a session."""
        return path_of(self.root, session_id)

    def stored(self, session_id: str) -> Stored | None:
        """What that file says now, or None where there is none."""
        return load(self.place(session_id), upto=self.upto(session_id))

    def upto(self, session_id: str) -> int | None:
        """Where a log ends whatever stands behind it, because its writer could not undo what failed; else None."""
        writer = self.writers.get(session_id)
        return writer.end if writer is not None and writer.failed else None

    def stored_ids(self) -> list[str]:
        """The sessions that have a file."""
        return [id_of(Path(name)) for name in names_in(self.root) if name.endswith(SUFFIX)]

    def begins_with(self, path: Path, head: bytes) -> bool:
        """Whether the text of a header stands in the first line of a file."""
        with path.open("rb") as file:
            return head in file.readline()

    def is_stored(self, session_id: str) -> bool:
        """Whether the id is taken in storage.

        Raises:
            ValueError: it could never be stored.
        """
        path = self.place(session_id)
        if len(path.name) > LONGEST_NAME:
            raise ValueError(f"id={session_id!r:.80}: too long for a file name")
        return is_there(path)

    def make_directories(self, directory: Path) -> None:
        """Let it be there."""
        directory.mkdir(parents=True, exist_ok=True)

    def new_file(self, directory: Path) -> tuple[BinaryIO, Path]:
        """An empty, unbuffered file under a name that no session has, and that name."""
        handle, name = tempfile.mkstemp(dir=directory, prefix=".", suffix=".tmp")
        return os.fdopen(handle, "wb", buffering=0), Path(name)

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Write what is to stand at a path beside it, or leave nothing there."""
        file, temporary = self.new_file(path.parent)
        try:
            with file:
                write_all(file, data)
        except BaseException:
            discard(temporary)
            raise
        return temporary

    def sync_temporary(self, temporary: Path) -> None:
        """Make it durable before it gets its name."""
        self.sync(temporary)

    def publish(self, temporary: Path, path: Path) -> None:
        """Give a file its name, never in place of another."""
        link_new(temporary, path)
        self.sync_entry(path)

    def sync_entry(self, path: Path) -> None:
        """Make the name of a file durable."""
        self.sync(path.parent)

    def sync(self, path: Path) -> None:
        """Nothing: what was written outlives the process, and no more than that is claimed."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin a session and own it; nothing is written before its first append or flush."""
        self.check_open()
        own, count = materialize_create_header(header, inherited_event_count)
        if self.is_stored(own.id) or own.id in self.drafts:
            raise SessionAlreadyExistsError(f"session {own.id!r} exists already", session_id=own.id)
        draft = self.drafts[own.id] = Draft(own, count)
        handle = self.writers[own.id] = self.handle_type(self, "write", draft, None)
        return handle

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Open a session; a writer of this instance keeps other writers of this instance out."""
        self.check_open()
        if access not in ("read", "write"):
            raise ValueError(f"access={access!r:.80}; expected 'read' or 'write'")
        draft = self.drafts.get(session_id)
        stored = self.stored(session_id) if draft is None else None
        if draft is None and stored is None:
            raise SessionPersistenceNotFoundError(f"there is no session {session_id!r}", session_id=session_id)
        if access == "write" and session_id in self.writers:
            raise SessionAlreadyOwnedError(f"session {session_id!r} has a writer already", session_id=session_id)
        handle = self.handle_type(self, access, draft, stored)
        if access == "write":
            self.writers[session_id] = handle
        return handle

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """One session, or None where there is none; the revision is a digest of what is stored."""
        self.check_open()
        return self.snapshot(session_id)

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """What ``stat`` and ``list`` tell."""
        draft = self.drafts.get(session_id)
        if draft is not None:
            return SessionSnapshot(copy_header(draft.header), hashlib.sha256(draft.line).hexdigest(), 0)
        stored = self.stored(session_id)
        if stored is None:
            return None
        return SessionSnapshot(stored.header, stored.digest, len(stored.events), stored.size)

    async def list(self) -> list[SessionSnapshot]:
        """Every session that this instance sees; a file that is damaged or cannot be read hides no other."""
        self.check_open()
        found = []
        for session_id in dict.fromkeys([*self.drafts, *self.stored_ids()]):
            try:
                snapshot = self.snapshot(session_id)
            except (SessionPersistenceError, OSError) as problem:
                logger.warning("left out of the list: %s", problem)
                continue
            if snapshot is not None:
                found.append(snapshot)
        return found

    async def flush(self) -> None:
        """Flush every writer; failures come together."""
        self.check_open()
        failures = []
        for handle in list(self.writers.values()):
            try:
                await handle.flush()
            except (SessionPersistenceError, OSError) as problem:
                problem.add_note(f"session {handle.id!r}")
                failures.append(problem)
        if failures:
            raise ExceptionGroup("not every session could be flushed", failures)

    async def close(self) -> None:
        """Close every writer, whatever fails; readers look at ``closed``. Again is nothing."""
        failures = []
        for handle in list(self.writers.values()):
            try:
                await handle.close()
            except (SessionPersistenceError, OSError) as problem:
                problem.add_note(f"session {handle.id!r}")
                failures.append(problem)
        self.closed = True
        if failures:
            raise ExceptionGroup("not every session could be closed", failures)

    def release(self, handle: PlainHandle) -> None:
        """Take ownership back from a handle that closes, if it has it."""
        if self.writers.get(handle.id) is handle:
            del self.writers[handle.id]
            if handle.draft is not None and not handle.draft.stored:
                handle.draft.erased = True
                self.drafts.pop(handle.id, None)

    def check_open(self) -> None:
        """Refuse where the service is closed."""
        if self.closed:
            raise SessionPersistenceError("this session persistence is closed")


class EagerFiles(PlainFiles):
    """The same, but a session is stored by its ``create``, and stays when it is closed empty."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin a session, own it and store it at once."""
        handle = await super().create(header, inherited_event_count)
        try:
            await handle.flush()
        except BaseException:
            await handle.close()
            raise
        return handle


def location(root: Path, session_id: str) -> Path | None:
    """The file of a session, or None before there is one."""
    path = path_of(root, session_id)
    return path if len(path.name) <= LONGEST_NAME and is_there(path) else None


plain_files = Backend(
    name="plain-files",
    open=PlainFiles,
    capabilities=Capabilities(durability="process-kill"),
    location=location,
)
"""Lazy materialisation."""

eager_files = Backend(
    name="eager-files",
    open=EagerFiles,
    capabilities=Capabilities(durability="process-kill", materialization="eager"),
    location=location,
)
"""Eager materialisation."""
