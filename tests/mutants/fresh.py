"""Mutants of FRESH: what an append or a barrier made visible, to whom, and through which call."""

from __future__ import annotations

import asyncio
from typing import Any

from planting import (
    FILES,
    FRAMES,
    MEMORY,
    QUEUED,
    JsonlPersistence,
    MemoryPersistence,
    PlainFiles,
    PlainHandle,
    QueuedFiles,
    QueuedHandle,
    mark_of,
    planted,
)

from conformance.contract import SessionEvent, SessionHeader, SessionSnapshot, copy_json
from reference_backend.artifact import Artifact
from reference_backend.place import Place
from reference_backend.positions import LogEnd


@planted(FILES, breaks="FRESH-01", also=("FRESH-04", "MAT-06"), sentinel=True)
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


@planted(QUEUED, breaks="FRESH-03", also=("FRESH-01", "READ-04"), report="R262")
class slow_load_is_filed_under_the_newest_mark(QueuedHandle):
    """A log is loaded in a thread and cached until its file changes, which is asked after the load, not before it."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Load, ask, cache."""
        await super().read(offset, length)
        cache = self.service.__dict__.setdefault("logs", {})
        if cache.get(self.id, (0,))[0] != mark_of(self.path):
            loaded = await asyncio.to_thread(super().stored_events)
            cache[self.id] = (mark_of(self.path), loaded)
        return await super().read(offset, length)

    def stored_events(self) -> list[SessionEvent]:
        """The cached log, where the file is as it was."""
        mark, events = self.service.__dict__.get("logs", {}).get(self.id, (None, None))
        found: list[SessionEvent] = copy_json(events) if mark == mark_of(self.path) != None else super().stored_events()  # noqa: E711
        return found


@planted(QUEUED, breaks="FRESH-02")
class count_follows_by_itself(QueuedFiles):
    """Snapshots come from an index that is brought up to date a little later, by a task of its own."""

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Answer from the index where there is an entry, and renew that."""
        index = self.__dict__.setdefault("index", {})
        found = await super().stat(session_id)
        if found is None or not found.event_count or not self.writers:
            return found
        known = index.get(session_id, found)
        asyncio.get_running_loop().call_later(0.002, index.__setitem__, session_id, found)
        return known if known.event_count <= found.event_count else found


@planted(QUEUED, breaks="FRESH-03", also=("FRESH-01", "READ-03"))
class log_is_empty_while_it_is_written(QueuedHandle):
    """The view is cleared when a write begins, and built anew when it has ended."""

    def stored_events(self) -> list[SessionEvent]:
        """Nothing, while the owner is at work."""
        owner = self.service.writers.get(self.id)
        if isinstance(owner, QueuedHandle) and owner.is_busy:
            return []
        return super().stored_events()


@planted(QUEUED, breaks="FRESH-03", also=("SEQ-05",))
class read_shows_the_latest_in_line(QueuedHandle):
    """A read shows a log to which the newest batch in line is added already, whatever waits before it."""

    def stored_events(self) -> list[SessionEvent]:
        """Add it."""
        newest = self.service.__dict__.get("newest", {}).get(self.id, [])
        stored = super().stored_events()
        return [*stored, *copy_json(newest)] if newest and newest[0]["seq"] > len(stored) else stored

    async def append(self, events: list[SessionEvent]) -> None:
        """Note it."""
        if isinstance(events, list) and self.is_busy:
            self.service.__dict__.setdefault("newest", {})[self.id] = [dict(event) for event in events]
        try:
            await super().append(events)
        finally:
            self.service.__dict__.get("newest", {}).pop(self.id, None)


@planted(FRAMES, breaks="FRESH-04", also=("OWN-02", "FAULT-01"))
class failed_append_stays_hidden(JsonlPersistence):
    """What a failed append left is known by file and size, whoever has owned the session and covered it since."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Forget who has."""
        super().__init__(*given, **named)
        store = self._store
        known, residues = store._known_end, store._residues

        def of_the_same_size(place: Place, artifact: Artifact, owner: int | None) -> LogEnd | None:
            residue = residues.get(place.session_id)
            return known(place, artifact, owner if residue is None else residue.owner)

        store._known_end = of_the_same_size  # type: ignore[method-assign]


@planted(FILES, breaks="FRESH-04")
class remains_are_cut_off_whoever_wrote_since(PlainHandle):
    """What a failed append left is cut off when storage works again; what stands there is known by its size alone."""

    def is_its_own(self) -> bool:
        """As long as the file is no longer than it would be."""
        return True
