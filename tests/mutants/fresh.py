"""Mutants of FRESH: what an append or a barrier made visible, to whom, and through which call."""

from __future__ import annotations

from planting import FILES, MEMORY, MemoryPersistence, PlainFiles, PlainHandle, planted

from conformance.contract import SessionEvent, SessionHeader, SessionSnapshot, copy_json


@planted(FILES, breaks="FRESH-01", also=("FRESH-04",), sentinel=True)
class reader_keeps_its_first_view(PlainHandle):
    """A read handle loads the log once and serves that for good."""

    view: list[SessionEvent] | None = None

    def stored_events(self) -> list[SessionEvent]:
        """Load at the first read."""
        if self.access == "write":
            return super().stored_events()
        self.view = super().stored_events() if self.view is None else self.view
        events: list[SessionEvent] = copy_json(self.view)
        return events


@planted(MEMORY, breaks="FRESH-02", also=("REV-02",))
class stat_is_cached(MemoryPersistence):
    """``stat`` answers from a cache that appends do not invalidate; ``list`` looks anew."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[str, SessionSnapshot] = {}

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Keep the first snapshot of a session that has events."""
        found = await super().stat(session_id)
        if found is None or not found.event_count:
            return found
        return self.cache.setdefault(session_id, found)


@planted(FILES, breaks="FRESH-04", also=("CLOSE-03", "CLOSE-07"))
class logs_are_cached_by_path(PlainHandle):
    """Each instance caches the logs it has read, and only its own appends drop an entry."""

    def stored_events(self) -> list[SessionEvent]:
        """Read the file once."""
        cache = self.service.__dict__.setdefault("cache", {})
        if self.id not in cache:
            cache[self.id] = super().stored_events()
        events: list[SessionEvent] = copy_json(cache[self.id])
        return events

    def write(self, batch: list[SessionEvent]) -> None:
        """Drop the entry."""
        super().write(batch)
        self.service.__dict__.get("cache", {}).pop(self.id, None)


@planted(FILES, breaks="FRESH-04", also=("SVC-06", "MAT-04"), report="R266")
class listing_is_cached(PlainFiles):
    """The directory is read once; afterwards the listing knows only of sessions that this instance began."""

    names: set[str] | None = None

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Keep the cache up to date with what is begun here."""
        handle = await super().create(header, inherited_event_count)
        if self.names is not None:
            self.names.add(handle.id)
        return handle

    async def list(self) -> list[SessionSnapshot]:
        """Show what the cache knows."""
        found = await super().list()
        if self.names is None:
            self.names = {snapshot.header.id for snapshot in found}
        return [snapshot for snapshot in found if snapshot.header.id in self.names]
