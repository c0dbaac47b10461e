"""The shared validation every backend may call: refuse or snapshot in one pass.

``materialize_append_batch`` and ``materialize_create_header`` read each value of the caller's exactly once and build what
they return from what they read, so that a value that changes between a check and a copy cannot slip through, and
a caller's later mutation changes nothing (SEQ-06). An encoder is no validator: several turn NaN into null or
take dates for text. Nothing here writes, and nothing here knows a storage format.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from conformance.contract.errors import (
    SessionContiguityError,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
)
from conformance.contract.records import (
    CURRENT_VERSION,
    MAX_SAFE_INTEGER,
    RESERVED_HEADER_KEYS,
    SessionEvent,
    SessionHeader,
)
from conformance.contract.vocabulary import is_understood

MAX_DEPTH = 200
"""Levels of nesting that the shared validation accepts in one event or header field; common decoders stop near 250."""


def snapshot_json(value: object, *, where: str = "value", depth: int = 0) -> Any:
    """A deep copy of a JSON value made of fresh dicts and lists, or a refusal that names the place.

    Only what survives every JSON codec to the bit is taken: text without lone surrogates, integers to ±(2**53-1), finite
    floats, booleans, None, lists, dicts with text keys.

    Raises:
        TypeError: a type outside JSON, tuples, enums and subclasses of the scalar types included.
        ValueError: NaN, infinities, integers past ±(2**53-1), lone surrogates, cycles and nesting past ``MAX_DEPTH``.
    """
    kind = type(value)
    if kind is str:
        return _text(value, where)
    if value is None or kind is bool:
        return value
    if kind is int:
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:  # type: ignore[operator]
            raise ValueError(f"{where}={value!r}: integers past ±(2**53-1) are refused")
        return value
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise ValueError(f"{where}={value!r}: JSON has no such number")
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"{where}: nested more than {MAX_DEPTH} levels deep, or a cycle")
    if isinstance(value, dict):
        return {
            _key(key, where): snapshot_json(item, where=f"{where}[{key!r}]", depth=depth + 1)
            if type(item) in _NESTED
            else _scalar(item, where, key)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            snapshot_json(item, where=where, depth=depth + 1) if type(item) in _NESTED else _scalar(item, where, index)
            for index, item in enumerate(value)
        ]
    raise TypeError(f"{where}={value!r:.80} of type {kind.__name__} is not JSON")


_NESTED = frozenset({dict, list})


def _scalar(item: object, where: str, key: object) -> Any:
    # The path of a scalar is only spelled out when it is refused: this runs for each value of each append.
    kind = type(item)
    if kind is str:
        if item.isascii():  # type: ignore[attr-defined]
            return item
    elif item is None or kind is bool:
        return item
    return snapshot_json(item, where=f"{where}[{key!r}]", depth=1)


def _text(value: Any, where: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"{where}={value!r:.80}: lone surrogates are refused") from error
    return value  # type: ignore[no-any-return]


def _key(key: object, where: str) -> str:
    if type(key) is not str:
        raise TypeError(f"{where}: key {key!r:.80} of type {type(key).__name__} is no text")
    return _text(key, f"a key of {where}")


def _is_int(value: object) -> bool:
    return type(value) is int


def materialize_append_batch(events: object) -> list[SessionEvent]:
    """Validate a batch and return an independent copy of it (SEQ-06, SEQ-11, JSON-02).

    Seqs are checked for their type only; ``assert_contiguous`` checks that they continue the log.

    Raises:
        TypeError, ValueError: no list of events, or a value outside JSON; the message names the place.
    """
    if not isinstance(events, list):
        raise TypeError(f"events={events!r:.80} of type {type(events).__name__}: expected a list of dicts")
    return [_materialize_event(event, index) for index, event in enumerate(events)]


def _materialize_event(event: object, index: int) -> SessionEvent:
    where = f"events[{index}]"
    if not isinstance(event, dict):
        raise TypeError(f"{where}={event!r:.80} of type {type(event).__name__}: expected a dict")
    copy: SessionEvent = snapshot_json(event, where=where)
    for key, problem in _event_problems(copy):
        raise ValueError(f"{where}: {key} {problem}")
    return copy


def _event_problems(event: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    kind, seq, time = event.get("type"), event.get("seq"), event.get("time")
    if not isinstance(kind, str) or not kind:
        yield "type", f"is {kind!r:.80}, expected text that is not empty"
    if not _is_int(seq) or seq < 0:  # type: ignore[operator]
        yield "seq", f"is {seq!r:.80}, expected an integer of 0 or more"
    if not _is_int(time):
        yield "time", f"is {time!r:.80}, expected an integer (Unix ms)"
    if "data" not in event:
        yield "data", "is missing"
    if not isinstance(event.get("ignorable", False), bool):
        yield "ignorable", f"is {event['ignorable']!r:.80}, expected true or false"


def assert_contiguous(batch: list[SessionEvent], next_seq: int, *, session_id: str | None = None) -> None:
    """Refuse a batch that does not continue the log at ``next_seq`` (SEQ-01, SEQ-02).

    Raises:
        SessionContiguityError: with the seq expected and the one found at the first offending place.
    """
    for expected, event in enumerate(batch, start=next_seq):
        if event["seq"] != expected:
            raise SessionContiguityError(
                f"session {session_id!r}: expected seq {expected}, got {event['seq']}",
                expected=expected,
                got=event["seq"],
                session_id=session_id,
            )


def assert_understood(batch: list[SessionEvent], *, session_id: str | None = None) -> None:
    """Refuse a batch with an unknown type that is not marked ``ignorable: true`` (FMT-02, closed vocabulary).

    Raises:
        SessionFormatUnsupportedError: names the type and the seq.
    """
    for event in batch:
        if not is_understood(event):
            raise SessionFormatUnsupportedError(
                f"session {session_id!r}: event type {event['type']!r} at seq {event['seq']} is unknown to this"
                " build and not marked ignorable",
                session_id=session_id,
            )


def materialize_create_header(header: object, inherited_event_count: object = None) -> tuple[SessionHeader, int | None]:
    """Validate a header and return an independent copy, with the inherited count (SVC-08, SVC-09).

    Raises:
        TypeError, ValueError: the message names the field, its value and what was expected.
    """
    if not isinstance(header, SessionHeader):
        raise TypeError(f"header={header!r:.80}: expected a SessionHeader")
    if not _is_int(header.version) or header.version != CURRENT_VERSION:
        raise ValueError(f"version={header.version!r}: expected {CURRENT_VERSION}")
    if type(header.is_seeded) is not bool:
        raise TypeError(f"is_seeded={header.is_seeded!r}: expected a bool")
    depth = header.delegation_depth
    if not _is_int(depth) or not 0 <= depth <= MAX_SAFE_INTEGER:
        raise ValueError(f"delegation_depth={depth!r}: expected an integer of 0 or more")
    created_at = header.created_at
    if not _is_int(created_at) or not 0 <= created_at <= MAX_SAFE_INTEGER:
        raise ValueError(f"created_at={created_at!r}: expected Unix ms, 0 to 2**53-1")
    snapshot = SessionHeader(
        id=check_session_id(header.id),
        created_at=created_at,
        version=CURRENT_VERSION,
        cwd=_optional_text(header.cwd, "cwd"),
        parent_session=_optional_text(header.parent_session, "parent_session"),
        is_seeded=header.is_seeded,
        origin=snapshot_json(header.origin, where="origin"),
        delegation_depth=depth,
        agent_preset=snapshot_json(header.agent_preset, where="agent_preset"),
        extra=_materialize_extra(header.extra),
    )
    return snapshot, _check_inherited(header.is_seeded, inherited_event_count)


def check_session_id(session_id: object) -> str:
    """The id itself where it is usable text, else a refusal (SVC-08)."""
    if type(session_id) is not str:
        raise TypeError(f"id={session_id!r:.80} of type {type(session_id).__name__}: expected text")
    if not session_id:
        raise ValueError("id='': expected text that is not empty")
    return _text(session_id, "id")


def _optional_text(value: object, name: str) -> str | None:
    if value is None:
        return None
    if type(value) is not str:
        raise TypeError(f"{name}={value!r:.80} of type {type(value).__name__}: expected text or None")
    return _text(value, name)


def _materialize_extra(extra: object) -> Mapping[str, Any]:
    if not isinstance(extra, Mapping):
        raise TypeError(f"extra={extra!r:.80}: expected a mapping of JSON keys")
    copy: dict[str, Any] = snapshot_json(dict(extra), where="extra")
    clash = sorted(RESERVED_HEADER_KEYS & copy.keys())
    if clash:
        raise ValueError(f"extra: {clash} are keys of the header itself")
    return MappingProxyType(copy)


def _check_inherited(is_seeded: bool, count: object) -> int | None:
    if not is_seeded:
        if count is not None:
            raise ValueError(f"inherited_event_count={count!r}: given for a session that is not seeded")
        return None
    if type(count) is not int or not 0 <= count <= MAX_SAFE_INTEGER:
        raise ValueError(f"inherited_event_count={count!r}: a seeded session needs an integer of 0 or more")
    return count


def check_read_range(offset: object, length: object) -> tuple[int, int | None]:
    """The range itself where both ends are usable, else a refusal (READ-02).

    Raises:
        TypeError: no integer. ValueError: negative.
    """
    for name, value in (("offset", offset), ("length", length)):
        if value is None and name == "length":
            continue
        if type(value) is not int:
            raise TypeError(f"{name}={value!r:.80} of type {type(value).__name__}: expected an integer")
        if value < 0:
            raise ValueError(f"{name}={value!r}: expected 0 or more")
    return offset, length  # type: ignore[return-value]


def assert_version(version: object, *, session_id: str | None = None, location: str | None = None) -> None:
    """Refuse a stored log of another format version, with the direction to go (FMT-01).

    Raises:
        SessionFormatUnsupportedError: newer (says to upgrade) or older (says that there is no upgrade path).
        SessionPersistenceCorruptionError: no version at all.
    """
    if type(version) is not int:
        raise SessionPersistenceCorruptionError(
            f"session {session_id!r}: stored version is {version!r}, expected an integer",
            session_id=session_id,
            location=location,
        )
    if version == CURRENT_VERSION:
        return
    advice = (
        "it was written by a newer build: upgrade this one to open it"
        if version > CURRENT_VERSION
        else "there is no upgrade path from it"
    )
    raise SessionFormatUnsupportedError(
        f"session {session_id!r}: stored format is {version}, this build reads {CURRENT_VERSION}; {advice}",
        session_id=session_id,
        location=location,
    )


def validate_stored_events(
    events: Iterable[object],
    *,
    first_seq: int = 0,
    closed_vocabulary: bool = True,
    session_id: str | None = None,
    location: str | None = None,
) -> list[SessionEvent]:
    """Check what a decoder gave back before any reader sees it; the same dicts are returned as a list.

    Raises:
        SessionPersistenceCorruptionError: a record that is no event, or whose seq is not the next.
        SessionFormatUnsupportedError: an unknown type that is not ignorable (names type and seq).
    """
    found: list[SessionEvent] = []
    for seq, event in enumerate(events, start=first_seq):
        problem = (
            "is no object"
            if not isinstance(event, dict)
            else next((f"has a {key} that {text}" for key, text in _event_problems(event)), None)
        )
        if problem is None and event["seq"] != seq:  # type: ignore[index]
            problem = f"has seq {event['seq']}"  # type: ignore[index]
        if problem is not None:
            raise SessionPersistenceCorruptionError(
                f"session {session_id!r}: the record at seq {seq} {problem}",
                session_id=session_id,
                location=location,
            )
        found.append(event)  # type: ignore[arg-type]
    if closed_vocabulary:
        try:
            assert_understood(found, session_id=session_id)
        except SessionFormatUnsupportedError as error:
            error.location = location
            raise
    return found
