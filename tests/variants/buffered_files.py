"""A right-but-different backend: appends wait in memory, and go to the file at a flush, a close, or the service's.

What waits is visible through every handle of its instance and through nothing else; other instances see it after the
barrier, which is all the contract asks for. Everything else is as in ``plain_files``: no lock, and an append that finds
the file other than its handle left it is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from line_files import mark_of
from plain_files import PlainFiles, PlainHandle, location

from conformance.contract import (
    Backend,
    Capabilities,
    SessionAlreadyExistsError,
    SessionEvent,
    SessionSnapshot,
    copy_json,
)


class BufferedHandle(PlainHandle):
    """Keeps what it appended in ``service.waiting`` until a barrier."""

    service: BufferedFiles

    def stored_events(self) -> list[SessionEvent]:
        """What is in the file, and what waits behind it."""
        stored = [] if self.draft is not None and self.draft.is_waiting else super().stored_events()
        return [*stored, *self.service.copy_of_waiting(self.id)]

    def write(self, batch: list[SessionEvent]) -> None:
        """Let a checked batch wait, unless the file is not as this handle left it."""
        self.check_as_left()
        self.service.waiting.setdefault(self.id, []).extend(batch)
        self.next_seq += len(batch)

    def check_as_left(self) -> None:
        """Refuse where another instance stored the session first, or continued it."""
        if self.draft is None or self.draft.stored:
            self.check_size(self.path.stat().st_size)
        elif mark_of(self.path) not in (None, self.draft.debris):
            raise SessionAlreadyExistsError(f"session {self.id!r} was stored by another instance", session_id=self.id)

    async def flush(self) -> None:
        """Write what waits."""
        self.check_writable()
        self.check_as_left()
        self.drain()

    def drain(self) -> None:
        """Write what waits, and the session itself where it is new; what cannot be written goes on waiting."""
        batch = self.service.waiting.get(self.id, [])
        if batch or (self.draft is not None and not self.draft.stored):
            self.next_seq -= len(batch)
            try:
                super().write(batch)
            except BaseException:
                self.next_seq += len(batch)
                raise
            self.service.waiting.pop(self.id, None)

    async def close(self) -> None:
        """Write what waits, then give ownership up, whether or not it could be written."""
        self.let_go(self.drain_or_drop)

    def drain_or_drop(self) -> None:
        """Write what waits, or leave nothing of it."""
        try:
            if self.service.waiting.get(self.id):
                self.drain()
        finally:
            self.service.waiting.pop(self.id, None)
            self.undo()


class BufferedFiles(PlainFiles):
    """The service; ``waiting`` holds, by id, the events that no barrier covered yet."""

    handle_type: ClassVar[type[PlainHandle]] = BufferedHandle

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.waiting: dict[str, list[SessionEvent]] = {}

    def copy_of_waiting(self, session_id: str) -> list[SessionEvent]:
        """What waits, as objects of the caller's own."""
        waiting: list[SessionEvent] = copy_json(self.waiting.get(session_id, []))
        return waiting

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """What is stored, counted together with what waits."""
        found = super().snapshot(session_id)
        waiting = self.waiting.get(session_id)
        if found is None or not waiting:
            return found
        revision = hashlib.sha256(f"{found.revision} {waiting!r}".encode()).hexdigest()
        return replace(found, revision=revision, event_count=(found.event_count or 0) + len(waiting))


buffered_files = Backend(
    name="buffered-files",
    open=BufferedFiles,
    capabilities=Capabilities(durability="process-kill"),
    location=location,
)
"""Lazy materialisation; nothing is visible elsewhere before a barrier."""
