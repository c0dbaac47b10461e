"""A right-but-different backend: one file of JSON lines for all sessions, their events mixed as they came.

Each line is an id with an event, or with the header where it is the first of its session. Whoever writes has a lock on
the file for that moment, looks whether its session is as its handle left it (OWN-14), and cuts off what a killed writer
left behind the last complete line. What a failed write of this instance left is looked past until it is cut off. Every
call reads the whole file, which is dear and cannot be stale. Everything else
is as in ``plain_files``; no artifact belongs to one session alone, so there is no ``location``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar

from line_files import Stored, lines_of, write_all
from plain_files import Draft, PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    SessionAlreadyExistsError,
    SessionEvent,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    header_from_json,
    header_to_json,
    validate_stored_events,
)


class OneFileHandle(PlainHandle):
    """Writes behind whatever the other sessions wrote."""

    service: OneFile

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """Lines that say whose they are."""
        return lines_of([[self.id, event] for event in batch])

    def write_behind(self, data: bytes) -> None:
        """Add a batch, where the session is as this handle left it."""
        self.service.add(self, data, self.check_as_left)
        self.end += len(data)

    def check_there(self) -> None:
        """The one file holds what others wrote as well, and its size says nothing of this session."""

    def check_as_left(self) -> None:
        """Refuse where somebody else continued the session."""
        stored = self.service.stored(self.id)
        if stored is None or stored.end != self.end:
            raise SessionOwnershipLostError(f"another writer continued session {self.id!r}", session_id=self.id)

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Add the header and a batch; the first instance to do so wins."""
        line = lines_of([[self.id, header_to_json(draft.header, draft.inherited)]])
        self.owner_number = self.owners.count
        self.service.add(self, line + data, self.check_new)
        self.owner_number = self.owners.count = self.owners.count + 1
        draft.stored = True
        self.service.drafts.pop(self.id)
        self.end = len(line) + len(data)

    def check_new(self) -> None:
        """Refuse where another instance stored the session first."""
        if self.service.is_stored(self.id):
            raise SessionAlreadyExistsError(f"session {self.id!r} was stored by another instance", session_id=self.id)

    def undo(self) -> None:
        """Cut off what a failed write of this session left; in its close, or before a flush answers."""
        self.service.repair(self)


class OneFile(PlainFiles):
    """The service. Of what ``Stored`` says, the sizes are those of the session's own lines."""

    handle_type: ClassVar[type[PlainHandle]] = OneFileHandle

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.file = root / "sessions.jsonl"
        # What a write that failed may have left behind the complete lines, where that is, and the handle whose it was.
        self.remains, self.remains_at = b"", 0
        self.failing: OneFileHandle | None = None

    def content(self) -> bytes:
        """All complete lines, without what a failed write left."""
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return b""
        if self.failing is not None and self.failing.is_latest and self.remains.startswith(data[self.remains_at :]):
            data = data[: self.remains_at]
        return data[: data.rfind(b"\n") + 1]

    def lines(self) -> list[tuple[str, bytes]]:
        """Every complete line with the id of its session."""
        lines = self.content().splitlines(keepends=True)
        try:
            return [(json.loads(line)[0], line) for line in lines]
        except (ValueError, LookupError, TypeError) as cause:
            raise SessionPersistenceCorruptionError(f"{self.file} is damaged: {cause}") from cause

    def stored(self, session_id: str) -> Stored | None:
        """What the lines of a session say, or None where it has none."""
        own = [line for whose, line in self.lines() if whose == session_id]
        if not own:
            return None
        form, *events = [json.loads(line)[1] for line in own]
        header, inherited = header_from_json(form)
        validate_stored_events(events, session_id=session_id)
        data = b"".join(own)
        return Stored(header, inherited, events, len(data), len(data), hashlib.sha256(data).hexdigest())

    def stored_ids(self) -> list[str]:
        """The sessions that have a line."""
        return list(dict.fromkeys(whose for whose, _ in self.lines()))

    def is_stored(self, session_id: str) -> bool:
        """Whether the session has a line; every id can be stored."""
        return session_id in self.stored_ids()

    def opened(self) -> BinaryIO:
        """The file, locked for writing until it is closed."""
        file = os.fdopen(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def add(self, handle: OneFileHandle, data: bytes, check: Callable[[], None]) -> None:
        """Put lines of a session behind the last complete one, after a check, while other writers are kept out."""
        self.make_directories(self.root)
        try:
            with self.opened() as file:
                check()
                self.remains_at = self.cut(file)
                self.remains, self.failing = data, handle
                file.seek(self.remains_at)
                write_all(file, data)
        except OSError:
            self.try_to_repair(handle)
            raise
        self.failing = None

    def cut(self, file: BinaryIO) -> int:
        """Let the file end behind its last complete line, and tell where that is."""
        end = len(self.content())
        if file.seek(0, os.SEEK_END) > end:
            file.truncate(end)
        self.failing = None
        return end

    def repair(self, handle: OneFileHandle) -> None:
        """Cut off what a failed write of that handle left."""
        if self.failing is handle:
            with self.opened() as file:
                self.cut(file)

    def try_to_repair(self, handle: OneFileHandle) -> None:
        """At once, or leave it to the next call."""
        try:
            self.repair(handle)
        except OSError:
            logging.getLogger(__name__).warning("a failed write to %s is not undone yet", self.file, exc_info=True)


one_file = replace(plain_files, name="one-file", open=OneFile, location=None)
"""One file holds every session."""
