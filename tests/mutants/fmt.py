"""Mutants of FMT: what becomes of event types that this build does not know."""

from __future__ import annotations

from contextlib import suppress
from itertools import takewhile
from typing import Any

from planting import MEMORY, ROWS, MemoryHandle, RowsHandle, planted

from conformance.contract import (
    KNOWN_EVENT_TYPES,
    SessionEvent,
    SessionFormatUnsupportedError,
    assert_contiguous,
    materialize_append_batch,
)


def _is_known(event: Any) -> bool:
    return not isinstance(event, dict) or event.get("type") in KNOWN_EVENT_TYPES


@planted(MEMORY, breaks="FMT-02", sentinel=True, report="R187")
class unknown_type_is_served(MemoryHandle):
    """Nobody asks for the type when a batch comes in."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Check shape and seqs only."""
        self._check_writable()
        batch = materialize_append_batch(events)
        assert_contiguous(batch, len(self._session.events), session_id=self.id)
        if batch:
            self._session.events += batch
            self._session.pending = False


@planted(MEMORY, breaks="FMT-02")
class unknown_type_is_dropped(MemoryHandle):
    """What the build does not know it leaves out, and says nothing."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Keep the rest of the batch."""
        with suppress(SessionFormatUnsupportedError):
            return await super().append(events)
        await super().append([event for event in events if _is_known(event) or event.get("ignorable") is True])


@planted(MEMORY, breaks="FMT-02")
class any_mark_makes_ignorable(MemoryHandle):
    """The mark is tested for its truth."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Make true of what is truthy."""
        if isinstance(events, list):
            events = [{**each, "ignorable": True} if _is_marked(each) else each for each in events]
        await super().append(events)


def _is_marked(event: Any) -> bool:
    return isinstance(event, dict) and not _is_known(event) and bool(event.get("ignorable"))


@planted(MEMORY, breaks="FMT-02")
class types_are_trimmed_first(MemoryHandle):
    """Types are compared without spaces and case, and the normal form is stored."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Normalise."""
        if isinstance(events, list):
            events = [{**each, "type": _trimmed(each)} if not _is_known(each) else each for each in events]
        await super().append(events)


def _trimmed(event: Any) -> Any:
    kind = event.get("type")
    if not isinstance(kind, str) or event.get("ignorable") is True:
        return kind
    return kind.strip().lower() or kind


@planted(ROWS, breaks="FMT-02", report="R190")
class refused_type_leaves_the_events_before_it(RowsHandle):
    """The type is looked at when the event is stored, and those before it are stored by then."""

    def append(self, events: list[SessionEvent]) -> None:
        """Refuse, and keep what came before."""
        try:
            super().append(events)
        except SessionFormatUnsupportedError:
            super().append(list(takewhile(_is_known, events)))
            raise


@planted(MEMORY, breaks="FMT-03", report="R186")
class ignorable_event_is_dropped(MemoryHandle):
    """A reader that does not know the type skips the event."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Skip."""
        return [event for event in await super().read(offset, length) if _is_known(event)]


@planted(MEMORY, breaks="FMT-03")
class ignorable_event_loses_its_keys(MemoryHandle):
    """Of an event that it does not know it keeps what every event has."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store, then keep the known keys."""
        await super().append(events)
        for event in self._session.events[-len(events) :] if events else ():
            if not _is_known(event):
                for key in event.keys() - {"type", "seq", "time", "data", "ignorable"}:
                    del event[key]


@planted(MEMORY, breaks="FMT-03")
class ignorable_event_is_refused(MemoryHandle):
    """The mark is not looked at."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Refuse any unknown type."""
        self._check_writable()
        batch = materialize_append_batch(events)
        assert_contiguous(batch, len(self._session.events), session_id=self.id)
        if not all(map(_is_known, batch)):
            raise SessionFormatUnsupportedError("an unknown event type", session_id=self.id)
        await super().append(events)
