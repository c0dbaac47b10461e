"""A right-but-different backend that withstands power loss: appends are only written, and a flush syncs them.

Several batches may lie behind one another unsynced, with a hole in any of them after a crash. So each batch is stored
with a checksum and a *durable mark*: how many events were known to be synced when it was written. Where something is
damaged, and a batch behind it has a mark beyond it, synced data was damaged, and the log is refused; otherwise the
damage is a torn tail, and the log ends before it. A tail is cut off, durably, before the first new append.

After a failed sync the handle is spent, and the next writer of that instance writes the file anew before it goes on:
the system may have dropped what it could not write. A sync may have failed in other instances too, so a writer writes
what it found once more before it relies on that. Everything else is as in ``plain_files``.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from line_files import (
    Stored,
    SyncFailedError,
    bytes_in,
    damaged,
    discard,
    header_in,
    id_of,
    make_directories,
    sync,
    write_again,
)
from plain_files import Draft, PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    Access,
    Capabilities,
    SessionEvent,
    SessionOwnershipLostError,
    validate_stored_events,
)

BEGIN = b"\x1e"
"""What a batch begins with, so that one behind damage is found again; no JSON text holds that byte."""


def record(mark: int, batch: list[SessionEvent]) -> bytes:
    """A batch as it is stored."""
    text = json.dumps([mark, batch], separators=(",", ":")).encode()
    return BEGIN + b"%08x" % zlib.crc32(text) + text + b"\n"


def batch_in(line: bytes) -> tuple[int, list[SessionEvent]] | None:
    """The mark and the events of a stored batch without its beginning, or None where it is damaged."""
    text = line[8:-1]
    if line[-1:] != b"\n" or line[:8] != b"%08x" % zlib.crc32(text):
        return None
    mark, batch = json.loads(text)
    return mark, batch


def cut_at_line(piece: bytes) -> tuple[bytes, bytes]:
    """What stands between one beginning and the next: a line, and what should not be there."""
    length = piece.find(b"\n") + 1 or len(piece)
    return piece[:length], piece[length:]


def load_marked(path: Path, upto: int | None = None) -> Stored | None:
    """Read a session's file, not past `upto`; None where there is none.

    Raises:
        SessionPersistenceCorruptionError, SessionFormatUnsupportedError: it cannot be trusted or read.
    """
    data = bytes_in(path)
    if data is None:
        return None
    (line, junk), *rest = map(cut_at_line, data[:upto].split(BEGIN))
    if line.endswith(b"\r\n"):
        raise damaged(path, "its line ends were changed, and no checksum holds any more")
    header, inherited = header_in(path, line)
    first = line.rstrip(b"\n")
    found = [batch_in(each) for each, _ in rest]
    events: list[SessionEvent] = []
    end = len(line)
    for place, each in enumerate(found):
        if junk or each is None:
            # No later batch may say that what is missing here was synced.
            if any(later[0] > len(events) for later in found[place:] if later is not None):
                raise damaged(path, f"what was synced at seq {len(events)} is not there")
            break
        if each[1][0]["seq"] != len(events):
            raise damaged(path, f"an intact batch stands at seq {len(events)} that does not belong there")
        events += each[1]
        line, junk = rest[place]
        end += len(BEGIN) + len(line)
    validate_stored_events(events, session_id=id_of(path), location=str(path))
    return Stored(header, inherited, events, end, len(data), hashlib.sha256(data[:end]).hexdigest(), first)


class MarkedHandle(PlainHandle):
    """Knows how many events are synced: ``durable``, or None while it has synced nothing itself."""

    service: MarkedFiles

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.durable: int | None = None
        self.failure: OSError | None = None

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """One record."""
        return record(self.durable or 0, batch)

    def cut(self) -> None:
        """Take away what stands behind the log, durably, so that it does not go on behind a new record."""
        if self.size > self.end or self.failed:
            super().cut()
            with self.watched():
                self.service.sync(self.path)

    def write(self, batch: list[SessionEvent]) -> None:
        """Store a batch with the mark that holds now; a writer's first one has all that it found below its mark."""
        is_new = self.draft is not None and not self.draft.stored
        if not is_new and self.durable is None:
            self.settle()
        super().write(batch)
        if is_new:
            self.durable = self.next_seq

    def materialise(self, draft: Draft, data: bytes) -> None:
        """The file appears synced."""
        super().materialise(draft, data)
        self.durable = 0

    def settle(self) -> None:
        """Sync the file and its name: all that it holds is durable, what others wrote too."""
        if self.durable is None:
            write_again(self.path, 0)
        with self.watched():
            self.service.sync(self.path)
            self.service.sync_entry(self.path)
        self.durable = self.next_seq

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Spend the handle where a sync fails."""
        try:
            yield
        except SyncFailedError as failure:
            self.failure = failure
            self.service.suspect.add(self.id)
            raise

    async def flush(self) -> None:
        """Sync what is not synced yet."""
        await super().flush()
        if self.durable != self.next_seq:
            self.settle()

    async def close(self) -> None:
        """A barrier too; ownership is given up whether or not it could be one."""
        self.let_go(self.undo_and_settle)

    def undo_and_settle(self) -> None:
        """Leave nothing of what failed, and everything else durable."""
        try:
            self.undo()
        finally:
            if (self.draft is None or self.draft.stored) and self.durable != self.next_seq:
                if self.failure is not None:
                    raise self.failure
                self.settle()

    def check_writable(self) -> None:
        """Refuse where a sync failed."""
        super().check_writable()
        if self.failure is not None:
            raise SessionOwnershipLostError(f"a sync of {self.path} failed", session_id=self.id) from self.failure


class MarkedFiles(PlainFiles):
    """The service. ``suspect`` holds the sessions of which a sync failed, until they are written anew."""

    handle_type: ClassVar[type[PlainHandle]] = MarkedHandle

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.suspect: set[str] = set()

    def stored(self, session_id: str) -> Stored | None:
        """What the marks let stand."""
        return load_marked(self.place(session_id), self.upto(session_id))

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Write a file anew, before it gets a writer, where it cannot be relied on."""
        if access == "write" and session_id in self.suspect and session_id not in self.writers:
            self.write_anew(self.place(session_id))
            self.suspect.discard(session_id)
        return await super().open(session_id, access)

    def write_anew(self, path: Path) -> None:
        """Put a synced copy in the place of the file."""
        temporary = self.write_temporary(path, path.read_bytes())
        try:
            self.sync_temporary(temporary)
            os.replace(temporary, path)
        finally:
            discard(temporary)
        self.sync_entry(path)

    def sync(self, path: Path) -> None:
        """Let what the file or directory holds outlive a power loss."""
        sync(path)

    def make_directories(self, directory: Path) -> None:
        """Each durable before the next."""
        make_directories(directory, self.sync)


marked_files = replace(
    plain_files, name="marked-files", open=MarkedFiles, capabilities=Capabilities(durability="power-loss")
)
"""Appends wait for a sync in the page cache; each batch says how far the log was durable."""
