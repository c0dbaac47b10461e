"""Mutants of JSON: values that change on their way, and values that should never have gone."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from planting import (
    FILES,
    MEMORY,
    ROWS,
    MemoryHandle,
    MemoryPersistence,
    PlainHandle,
    RowsHandle,
    lines_of,
    planted,
)

from conformance.contract import MAX_SAFE_INTEGER, SessionEvent, SessionHeader


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with everything in it that is no list and no dict replaced, keys that are text included."""
    if type(value) is dict:
        return {change(key) if type(key) is str else key: _mapped(item, change) for key, item in value.items()}
    return [_mapped(item, change) for item in value] if type(value) is list else change(value)


class _Changing(MemoryHandle):
    """Changes each value of a batch before anything looks at it."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """One value; as it is, here."""
        return value

    async def append(self, events: list[SessionEvent]) -> None:
        """Change, then check and store; what holds itself is left to the check."""
        with suppress(RecursionError):
            events = [self.changed(event) for event in events] if isinstance(events, list) else events
        await super().append(events)

    def changed(self, event: Any) -> Any:
        """The event with the values of its data and its further keys changed."""
        if type(event) is not dict:
            return event
        values = {key: item for key, item in event.items() if key not in _SHAPE}
        return {**{key: item for key, item in event.items() if key in _SHAPE}, **_mapped(values, self.change)}


_SHAPE = ("type", "seq", "time", "ignorable", "surfaceOp", "sourceEventSeqs")


@planted(MEMORY, breaks="JSON-03", report="R222")
class surrogate_replaced(_Changing):
    """Half a character is replaced by a question mark when the text is encoded."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Encode as the platform does."""
        return value.encode("utf-8", "replace").decode() if type(value) is str else value


_HALF = "<half a character>"


@planted(MEMORY, breaks="JSON-03", report="R223")
class accepted_text_cannot_be_read(_Changing):
    """Half a character is stored as an escape, and what is made of that again nobody can encode."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Escape it."""
        return _HALF if type(value) is str and value != value.encode("utf-8", "ignore").decode() else value

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Encode for the wire."""
        events = await super().read(offset, length)
        _mapped(events, lambda value: "\ud800".encode() if value == _HALF else value)
        return events


@planted(MEMORY, breaks="JSON-02", report="R217")
class nan_becomes_null(_Changing):
    """The encoder writes null for what is no number of JSON."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Say nothing of it."""
        return None if isinstance(value, float) and not math.isfinite(value) else value


@planted(MEMORY, breaks="JSON-02")
class date_accepted_as_text(_Changing):
    """The encoder knows dates, and makes text of them."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Format."""
        return value.isoformat() if isinstance(value, datetime.date) else value


@planted(ROWS, breaks="JSON-02", also=("MAT-02",), report="R216")
class refused_value_leaves_the_events_before_it(RowsHandle):
    """Each event is checked when it is stored, so that a NaN behind good events comes too late."""

    def append(self, events: list[SessionEvent]) -> None:
        """Store what stands before it, then refuse."""
        found = [place for place, event in enumerate(events) if _has_nan(event)] if type(events) is list else []
        if found and found[0]:
            super().append(events[: found[0]])
        super().append(events)


def _has_nan(event: Any) -> bool:
    return isinstance(event, dict) and event.get("data") != event.get("data")


@planted(MEMORY, breaks="JSON-01", sentinel=True, report="R224")
class nul_cut(_Changing):
    """Text ends at its first NUL, as in C."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Cut."""
        return value.partition("\x00")[0] if isinstance(value, str) else value


@planted(MEMORY, breaks="JSON-01")
class bool_becomes_int(_Changing):
    """The column is an integer, and true is stored as 1."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Convert."""
        return int(value) if isinstance(value, bool) else value


@planted(MEMORY, breaks="JSON-01")
class float_rounded(_Changing):
    """Floats are printed with 15 digits."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Print and parse."""
        return float(f"{value:.15g}") if type(value) is float else value


@planted(MEMORY, breaks="JSON-01", also=("JSON-03",))
class whole_floats_become_integers(_Changing):
    """Numbers pass through a runtime that knows doubles only and prints 1.0 as 1, while exact ones are claimed."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Print as it does."""
        return int(value) if type(value) is float and value.is_integer() and abs(value) < 1e21 else value


@planted(MEMORY, breaks="JSON-03", report="R218")
class big_int_rounded(_Changing):
    """Integers pass through a double."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Round to what a double can hold, and to what is accepted."""
        return value if type(value) is not int or abs(value) <= MAX_SAFE_INTEGER else MAX_SAFE_INTEGER - value % 2


@planted(MEMORY, breaks="JSON-03")
class minus_zero_loses_its_sign(_Changing):
    """Zero is zero."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Add nothing."""
        return value + 0.0 if type(value) is float else value


@planted(MEMORY, breaks="JSON-03")
class tuple_altered(_Changing):
    """A tuple is no list, and what is not known is stored as its text."""

    __slots__ = ()

    def change(self, value: Any) -> Any:
        """Fall back."""
        return str(value) if isinstance(value, tuple) else value


@planted(MEMORY, breaks="JSON-01")
class empty_key_dropped(MemoryHandle):
    """A mapper skips fields without a name."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store, then map."""
        await super().append(events)
        for event in self._session.events[-len(events) :] if events else ():
            event["data"] = _named(event["data"])


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _named(item) for key, item in value.items() if key}
    return [_named(item) for item in value] if isinstance(value, list) else value


@planted(MEMORY, breaks="JSON-01")
class deep_nesting_cut(MemoryHandle):
    """What lies deeper than 64 levels is replaced by null."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store, then cut."""
        await super().append(events)
        for event in self._session.events[-len(events) :] if events else ():
            event["data"] = _cut(event["data"], 64)


def _cut(value: Any, levels: int) -> Any:
    if isinstance(value, dict):
        return {key: _cut(item, levels - 1) for key, item in value.items()} if levels else None
    if isinstance(value, list):
        return [_cut(item, levels - 1) for item in value] if levels else None
    return value


@planted(FILES, breaks="JSON-01", report="R212")
class long_line_ends_the_log(PlainHandle):
    """The scanner stops at a line past its limit, and what it has so far is the log."""

    def stored_events(self) -> list[SessionEvent]:
        """Read up to there."""
        events = super().stored_events()
        long = (place for place, event in enumerate(events) if len(lines_of([event])) > 1 << 20)
        return events[: next(long, len(events))]


@planted(FILES, breaks="JSON-01", report="R213")
class line_separators_split_records(PlainHandle):
    """Records are split at whatever Unicode calls the end of a line; a piece that is no JSON is skipped."""

    def stored_events(self) -> list[SessionEvent]:
        """Leave out what would have been in pieces."""
        whole = (event for event in super().stored_events() if not _has_line_end(event))
        return list(whole)


def _has_line_end(value: Any) -> bool:
    found: list[Any] = []
    _mapped(value, found.append)
    return any(isinstance(text, str) and set(text) & set("\u2028\u2029\x85\x1c\x1d\x1e") for text in found)


@planted(MEMORY, breaks="JSON-01")
class headers_are_normalised(MemoryPersistence):
    """Text in a header is brought to NFC."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Normalise what is text."""
        if isinstance(header, SessionHeader):
            fields = {"origin": header.origin, "agent_preset": header.agent_preset}
            header = replace(header, **_mapped(fields, _composed))
        return await super().create(header, inherited_event_count)


def _composed(value: Any) -> Any:
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value
