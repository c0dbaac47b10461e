"""Mutants of MAT: when a session begins to exist, for whom, and when it never did."""

from __future__ import annotations

import asyncio

from planting import (
    FILES,
    FRAMES,
    GOOD,
    MEMORY,
    Draft,
    GoodHandle,
    MemoryHandle,
    MemoryPersistence,
    PlainFiles,
    PlainHandle,
    Session,
    WriteHandle,
    planted,
)

from conformance.contract import SessionEvent, SessionHeader, SessionSnapshot


@planted(FILES, breaks="MAT-01", sentinel=True)
class draft_is_invisible(PlainFiles):
    """A created session has no snapshot before its first append, not even in its own instance."""

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Look at what is stored only."""
        return None if session_id in self.drafts else super().snapshot(session_id)


@planted(FILES, breaks="MAT-02", also=("MAT-03",))
class create_stores_at_once(PlainFiles):
    """``create`` writes the header, though the backend does not say that it materialises eagerly."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Do as the eager variant does."""
        handle = await super().create(header, inherited_event_count)
        await handle.flush()
        return handle


@planted(MEMORY, breaks="MAT-03")
class empty_session_stays(MemoryPersistence):
    """Closing a session that was never written to only releases it."""

    def release(self, session: Session, handle: MemoryHandle) -> None:
        """Erase nothing."""
        if session.writer is handle:
            session.writer = None


@planted(FILES, breaks="MAT-03", report="R036")
class failed_first_append_leaves_the_session(PlainHandle):
    """The header is stored before the first batch, and stays where that cannot be."""

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Header, then events."""
        super().materialise(draft, b"")
        if data:
            self.write_behind(data)


@planted(FRAMES, breaks="MAT-04", also=("SVC-12", "SEQ-05"), report="R098")
class empty_flush_is_nothing(WriteHandle):
    """A flush with no event to write returns at once, so the session that was handed out is never stored."""

    async def flush(self) -> None:
        """Look for events first, stored or published."""
        self._refuse_if_closed()
        if self.writer.next_seq or self._live:
            await super().flush()


@planted(FILES, breaks="MAT-05", also=("CLOSE-03", "CLOSE-07"), report="R095")
class close_commits_nothing(PlainHandle):
    """A mark beside the file says how far the log is committed; a flush moves it, a close does not."""

    def stored_events(self) -> list[SessionEvent]:
        """Cut off what is not committed, unless it was written here."""
        events = super().stored_events()
        if self.id in self.service.__dict__.get("written", ()):
            return events
        mark = self.path.with_suffix(".mark")
        return events[: int(mark.read_text()) if mark.exists() else 0]

    def write(self, batch: list[SessionEvent]) -> None:
        """Know that it was written here."""
        super().write(batch)
        self.service.__dict__.setdefault("written", set()).add(self.id)

    async def flush(self) -> None:
        """Move the mark."""
        await super().flush()
        self.path.with_suffix(".mark").write_text(str(self.next_seq))


@planted(FILES, breaks="MAT-06", report="R071")
class reader_follows_the_path(PlainHandle):
    """A read handle reads whatever lies at its path by now."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Forget what it knew of the log."""
        self.known = []
        return await super().read(offset, length)

    def head(self) -> bytes:
        """Nor whose line it began with."""
        return b""


@planted(FILES, breaks="MAT-06", also=("READ-03",))
class reader_of_an_erased_session_is_told_of_damage(PlainHandle):
    """A file that is gone under a reader reads as an empty log, which is then too short."""

    def stored_events(self) -> list[SessionEvent]:
        """Find nothing in it."""
        return super().stored_events() if self.draft is not None or self.path.exists() else []


@planted(FILES, breaks="MAT-01", also=("OWN-01", "SVC-02"))
class drafts_expire(PlainFiles):
    """A session to which nobody wrote within an hour of its creation is swept away."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Set the alarm."""
        handle = await super().create(header, inherited_event_count)
        asyncio.get_running_loop().call_later(3_600, self.expire, handle)
        return handle

    def expire(self, handle: PlainHandle) -> None:
        """Sweep it away."""
        if handle.draft is not None and not handle.draft.stored:
            self.release(handle)


@planted(GOOD, breaks="MAT-05")
class debris_is_removed_though_somebody_owns_it(GoodHandle):
    """A first append failed and its file stayed; its handle removes the file later, whoever has found it by then."""

    def clear(self) -> None:
        """Whatever it has become."""
        if self.draft is not None and self.draft.debris is not None:
            self.path.unlink(missing_ok=True)
            self.draft.debris = None
