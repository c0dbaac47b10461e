"""Mutants of READ: which slice is returned, and that reads on one handle never go back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from planting import FILES, MEMORY, QUEUED, MemoryHandle, PlainHandle, QueuedHandle, planted

from conformance.contract import SessionEvent, check_read_range, copy_json


@planted(MEMORY, breaks="READ-01", also=("READ-04", "FRESH-01"), sentinel=True)
class length_is_taken_for_an_end(MemoryHandle):
    """``read(offset, length)`` slices ``[offset:length]``."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Count the offset twice."""
        events = await super().read(offset, length)
        return events if length is None else events[: max(0, length - offset)]


@planted(FILES, breaks="READ-01")
class reading_at_the_end_is_an_error(PlainHandle):
    """An offset has to be the place of an event."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Refuse the place behind the last event, but not that of an empty log."""
        events = await super().read(offset, length)
        if offset and offset >= len(self.stored_events()):
            raise IndexError(f"offset {offset} is past the end")
        return events


@planted(MEMORY, breaks="READ-02")
class negative_offset_counts_from_the_end(MemoryHandle):
    """The arguments go into a slice as they came."""

    __slots__ = ()

    async def read(self, offset: Any = 0, length: int | None = None) -> list[SessionEvent]:
        """Give what Python gives."""
        if type(offset) is int and offset < 0:
            offset = max(0, len(self._session.events) + offset)
        return await super().read(offset, length)


@planted(FILES, breaks="READ-02")
class range_is_checked_first(PlainHandle):
    """A closed handle looks at the arguments before it says that it is closed."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Check the range where the interface begins."""
        if type(offset) is not int or offset < 0:
            raise ValueError(f"offset={offset!r}")
        return await super().read(offset, length)


@planted(FILES, breaks="READ-03", also=("FRESH-01",))
class repeated_reads_go_to_a_replica(PlainHandle):
    """A read that would find nothing new goes to a replica, and that one stays where it was at the first read."""

    first: int | None = None
    latest = 0

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Ask the replica where the length is the one shown last."""
        events = await super().read()
        start, count = check_read_range(offset, length)
        self.first = len(events) if self.first is None else self.first
        is_new, self.latest = len(events) != self.latest, len(events)
        seen = events if is_new or self.access == "write" else events[: self.first]
        return seen[start : None if count is None else start + count]


@planted(FILES, breaks="READ-04")
class writer_reads_what_it_opened(PlainHandle):
    """A write handle reads from the copy of the log that it loaded when it was opened."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.opened_at = self.next_seq

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Show nothing that was appended since."""
        events = await super().read(offset, length)
        return [event for event in events if self.access == "read" or event["seq"] < self.opened_at]


@planted(QUEUED, breaks="READ-06", also=("FAULT-01", "FRESH-02"))
class readers_see_what_is_on_its_way(QueuedHandle):
    """A batch is shown from its turn on, and taken back where writing it fails."""

    def stored_events(self) -> list[SessionEvent]:
        """What is stored, and what is being written behind it."""
        on_its_way = self.service.__dict__.get("on_its_way", {}).get(self.id, [])
        stored = super().stored_events()
        behind = [copy_json(event) for event in on_its_way if event["seq"] >= len(stored)]
        return [*stored, *behind] if behind and behind[0]["seq"] == len(stored) else stored

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Show it while it is written."""
        if before is not None:
            await asyncio.wait({before})
        shown = self.service.__dict__.setdefault("on_its_way", {})
        shown[self.id] = args[0] if work == self.store and args[0] and args[0][0]["seq"] == self.next_seq else []
        try:
            await super().turn(None, work, *args)
        finally:
            shown.pop(self.id)


@planted(MEMORY, breaks="READ-01")
class offset_has_another_name(MemoryHandle):
    """The first argument of a read has a name of the author's own."""

    __slots__ = ()

    async def read(self, start: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Take it under that name."""
        return await super().read(start, length)
