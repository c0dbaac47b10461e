"""The handles of ``plain_files``, and the drafts of its sessions.

A file's handles in one process know of each other: its owners are counted. By that a handle whose
call failed, and could not be undone, tells whether what it left behind the log is still its own to take back; once
another one owned it, only what is no part of the log may go.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from weakref import WeakValueDictionary

from line_files import BORN, HEADER, Stored, discard, lines_of, mark_of, write_all

from conformance.contract import (
    Access,
    SessionAlreadyExistsError,
    SessionEvent,
    SessionHandleClosedError,
    SessionHeader,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
    assert_contiguous,
    assert_understood,
    check_read_range,
    copy_header,
    header_to_json,
    materialize_append_batch,
)

if TYPE_CHECKING:
    from plain_files import PlainFiles

logger = logging.getLogger(__name__)


def digests_of(events: Sequence[SessionEvent]) -> list[bytes]:
    """One for each event; equal for equal ones."""
    return [hashlib.sha256(repr(event).encode("utf-8", "surrogatepass")).digest() for event in events]


class Owners:
    """How many owners a file has had in this process, as long as a handle of it is there to ask."""

    count = 0


OWNERS: WeakValueDictionary[Path, Owners] = WeakValueDictionary()


class Draft:
    """A session that was created and not stored yet; only its own instance knows it.

    ``debris`` marks the file that may have its name though storing it was rejected.
    """

    def __init__(self, header: SessionHeader, inherited: int | None) -> None:
        self.header = header
        self.inherited = inherited
        self.values = {HEADER: header_to_json(header, inherited), BORN: secrets.token_hex(8)}
        self.line = lines_of([self.values])
        self.stored = False
        self.erased = False
        self.debris: tuple[int, int, int] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it may still be stored, and is not yet."""
        return not self.stored and not self.erased

    def is_at(self, path: Path) -> bool:
        """Whether the file there is what a rejected call stored of it all the same."""
        return self.debris is not None and mark_of(path) == self.debris


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
        self.owners = OWNERS.setdefault(self.path, Owners())
        if access == "write" and stored is not None:
            self.owners.count += 1
        self.owner_number = self.owners.count

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """The events ``[offset:offset+length]``, from the file."""
        self.check_open()
        start, count = check_read_range(offset, length)
        if self.draft is not None and self.draft.erased and not self.draft.is_at(self.path):
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
        if self.draft is not None and self.draft.is_waiting:
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

    @property
    def is_latest(self) -> bool:
        """Whether nobody has owned the file since."""
        return self.owner_number == self.owners.count

    def is_its_own(self) -> bool:
        """Whether what stands behind the log is no part of it: no later owner may have counted it in, or written."""
        if self.is_latest:
            return True
        try:
            stored = self.service.stored(self.id)
        except SessionPersistenceError:
            return False
        return stored is not None and stored.end == self.end

    def cut(self) -> None:
        """Take away what stands behind the log: a torn tail that was found, or what an append that failed left."""
        if self.size > self.end or self.failed:
            if not self.is_its_own():
                self.size, self.failed = self.end, 0
                raise SessionOwnershipLostError(
                    f"session {self.id!r}: another writer owned {self.path}", session_id=self.id
                )
            with self.path.open("r+b", buffering=0) as file:
                self.check_size(file.seek(0, os.SEEK_END))
                self.failed = max(self.failed, self.size - self.end)
                file.truncate(self.end)
            self.size, self.failed = self.end, 0

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Let the file appear with its header and these bytes; the first instance to do so wins."""
        self.clear()
        self.owner_number = self.owners.count
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
        self.owner_number = self.owners.count = self.owners.count + 1
        self.service.drafts.pop(self.id)

    def clear(self) -> None:
        """Take the name away from a file whose materialisation failed, unless somebody found and owned it."""
        if self.draft is not None and self.draft.debris is not None:
            if self.is_latest and self.draft.is_at(self.path):
                self.path.unlink()
            self.service.sync_entry(self.path)
            self.draft.debris = None

    def undo(self) -> None:
        """Leave nothing of what failed."""
        if self.draft is not None and not self.draft.stored:
            self.clear()
        elif self.failed and not self.is_its_own():
            self.failed = 0
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
