"""Mutants of what calls cost (SEQ-10, SVC-10, READ-05): every answer is right, and the price of it grows."""

from __future__ import annotations

from typing import Any

from planting import (
    FILES,
    FRAMES,
    MEMORY,
    ROWS,
    JsonlPersistence,
    MemoryHandle,
    MemoryPersistence,
    PlainHandle,
    RowsHandle,
    load,
    planted,
)

from conformance.contract import Access, SessionEvent, SessionSnapshot, copy_json


@planted(FILES, breaks="SEQ-10", report="R280")
class append_rewrites_the_log(PlainHandle):
    """Each batch writes the whole file anew, the old events first."""

    def write_behind(self, data: bytes) -> None:
        """Write what is there once more before the batch goes behind it."""
        self.path.write_bytes(self.path.read_bytes())
        super().write_behind(data)


@planted(FILES, breaks="SEQ-10")
class append_rereads_the_log(PlainHandle):
    """The next seq is counted in the file at each append, from its start."""

    def write_behind(self, data: bytes) -> None:
        """Parse the log to learn how long it is."""
        stored = load(self.path)
        assert stored is not None
        self.next_seq = len(stored.events)
        super().write_behind(data)


@planted(MEMORY, breaks="SEQ-10", report="R281")
class append_replaces_the_document(MemoryHandle):
    """A log is one document, and an append makes another one with the batch in it."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Copy the old document, then add to the copy."""
        self._session.events = copy_json(self._session.events)
        await super().append(events)


@planted(FRAMES, breaks="SVC-10", report="R277")
class stat_reads_the_log(JsonlPersistence):
    """``stat`` reads the whole file to describe it."""

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Read it all, and use the first line."""
        found = await super().stat(session_id)
        if found is not None and found.size_bytes:
            self._store.place(session_id).path.read_bytes()
        return found


@planted(FRAMES, breaks="SVC-10", report="R282")
class open_scans_all_sessions(JsonlPersistence):
    """A session is looked for in the list of all of them."""

    async def open(self, session_id: str, access: Access) -> Any:
        """Make the list first."""
        self._refuse_if_closed()
        await self.list()
        return await super().open(session_id, access)


@planted(MEMORY, breaks="SVC-10", report="R272")
class snapshot_copies_the_log(MemoryPersistence):
    """A snapshot is made from a copy of the whole session."""

    __slots__ = ()

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Copy the events, and count them."""
        session = self._sessions.get(session_id)
        if session is not None:
            copy_json(session.events)
        return await super().stat(session_id)


@planted(ROWS, breaks="READ-05", report="R273")
class bounded_read_loads_everything(RowsHandle):
    """A slice is cut from the whole log, all of which is decoded for it."""

    def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Load all events, then answer."""
        everything = super().read()
        found = super().read(offset, length)
        return everything[offset : offset + len(found)]


@planted(MEMORY, breaks="READ-05", report="R274")
class bound_is_applied_last(MemoryHandle):
    """The log is copied for the caller before the slice is cut."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Copy all events, then answer."""
        everything = await super().read()
        found = await super().read(offset, length)
        return everything[offset : offset + len(found)]
