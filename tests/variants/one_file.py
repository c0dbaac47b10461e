"""A right-but-different backend: one file of JSON lines for all sessions, their events mixed as they came.

Each line is an id with an event, or with the header where it is the first of its session. Whoever writes has a lock on
the file for that moment, looks whether its session is as its handle left it (OWN-14), and cuts off what a killed writer
left behind the last complete line. Every call reads the whole file, which is dear and cannot be stale. Everything else
is as in ``plain_files``; no artifact belongs to one session alone, so there is no ``location``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar

from line_files import Stored, lines_of
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
        with self.service.writing() as write:
            stored = self.service.stored(self.id)
            if stored is None or stored.end != self.end:
                raise SessionOwnershipLostError(f"another writer continued session {self.id!r}", session_id=self.id)
            write(data)
        self.end += len(data)

    def check_there(self) -> None:
        """The one file holds what others wrote as well, and its size says nothing of this session."""

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Add the header and a batch; the first instance to do so wins."""
        line = lines_of([[self.id, header_to_json(draft.header, draft.inherited)]])
        with self.service.writing() as write:
            if self.service.is_stored(self.id):
                raise SessionAlreadyExistsError(
                    f"session {self.id!r} was stored by another instance", session_id=self.id
                )
            write(line + data)
        draft.stored = True
        self.service.drafts.pop(self.id)
        self.end = len(line) + len(data)


class OneFile(PlainFiles):
    """The service. Of what ``Stored`` says, the sizes are those of the session's own lines."""

    handle_type: ClassVar[type[PlainHandle]] = OneFileHandle

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.file = root / "sessions.jsonl"

    def lines(self) -> list[tuple[str, bytes]]:
        """Every complete line with the id of its session."""
        data = self.file.read_bytes() if self.file.exists() else b""
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
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

    @contextmanager
    def writing(self) -> Iterator[Callable[[bytes], None]]:
        """Keep other writers out; what comes is called with what is to stand behind the last complete line."""
        self.make_root()
        with os.fdopen(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield lambda data: write_at(file, self.file.read_bytes().rfind(b"\n") + 1, data)


def write_at(file: BinaryIO, end: int, data: bytes) -> None:
    """Put the bytes there and nothing behind them, or nothing at all."""
    file.truncate(end)
    file.seek(end)
    try:
        if file.write(data) != len(data):
            raise OSError("short write")
    except OSError:
        file.truncate(end)
        raise


one_file = replace(plain_files, name="one-file", open=OneFile, location=None)
"""One file holds every session."""
