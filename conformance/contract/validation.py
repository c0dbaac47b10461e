"""The shared validation every backend may call: batches, read ranges, versions, and what a decoder gave back.

A batch is refused or copied in one pass, each of the caller's values read exactly once, so that a value that
changes between a check and a copy cannot slip through and a caller's later mutation changes nothing (SEQ-06).
An encoder is no validator: several turn NaN into null or take dates for text. Nothing here writes, and nothing here
knows a storage format; headers are in ``conformance.contract.headers``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.contract.errors import (
    SessionContiguityError,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
)
from conformance.contract.json_values import shown, snapshot_json
from conformance.contract.records import CURRENT_VERSION, SessionEvent
from conformance.contract.vocabulary import is_understood


def materialize_append_batch(events: object) -> list[SessionEvent]:
    """Validate a batch and return an independent copy of it (SEQ-06, SEQ-11, JSON-02).

    Seqs are checked for their type only; ``assert_contiguous`` checks that they continue the log.

    Raises:
        TypeError, ValueError: no list of events, or a value outside JSON; the message names the place.
    """
    if not issubclass(type(events), list):
        raise TypeError(f"events: {shown(events)}; expected a list of dicts")
    # The list itself is no level of nesting of the events in it.
    batch: list[Any] = snapshot_json(events, where="events", depth=-1)
    for index, event in enumerate(batch):
        if type(event) is not dict:
            raise TypeError(f"events[{index}]: {shown(event)}; expected a dict")
        problem = _event_problem(event)
        if problem is not None:
            raise ValueError(f"events[{index}]: {problem}")
    return batch


def _event_problem(event: dict[str, Any]) -> str | None:
    """What is wrong with the envelope of an event made of plain JSON, or None."""
    kind, seq = event.get("type"), event.get("seq")
    if type(kind) is not str or not kind:
        return _told(event, "type", "text that is not empty")
    if type(seq) is not int or seq < 0:
        return _told(event, "seq", "an integer of 0 or more")
    if type(event.get("time")) is not int:
        return _told(event, "time", "an integer (Unix ms)")
    if "data" not in event:
        return _told(event, "data", "JSON")
    if "ignorable" in event and type(event["ignorable"]) is not bool:
        return _told(event, "ignorable", "true or false")
    return None


def _told(event: dict[str, Any], key: str, expected: str) -> str:
    return f"{key} is {shown(event[key]) if key in event else 'missing'}; expected {expected}"


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


def check_read_range(offset: object, length: object) -> tuple[int, int | None]:
    """The range itself where both ends are usable, else a refusal (READ-02).

    Raises:
        TypeError: no integer. ValueError: negative.
    """
    for name, value in (("offset", offset), ("length", length)):
        if value is None and name == "length":
            continue
        if type(value) is not int:
            raise TypeError(f"{name}: {shown(value)}; expected an integer")
        if value < 0:
            raise ValueError(f"{name}: {shown(value)}; expected 0 or more")
    return offset, length  # type: ignore[return-value]


def assert_version(version: object, *, session_id: str | None = None, location: str | None = None) -> None:
    """Refuse a stored log of another format version, with the direction to go (FMT-01).

    Raises:
        SessionFormatUnsupportedError: newer (says to upgrade) or older (says that there is no upgrade path).
        SessionPersistenceCorruptionError: no version at all.
    """
    if type(version) is not int:
        raise SessionPersistenceCorruptionError(
            f"session {session_id!r}: stored version is {shown(version)}, expected an integer",
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
        f"session {session_id!r}: stored format is {shown(version)}, this build reads {CURRENT_VERSION}; {advice}",
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
    found: list[SessionEvent] = list(events)  # type: ignore[arg-type]
    for seq, event in enumerate(found, start=first_seq):
        if type(event) is not dict:
            problem: str | None = f"is {shown(event)}; expected an object"
        else:
            problem = _event_problem(event)
            if problem is None and event["seq"] != seq:
                problem = f"has seq {event['seq']}"
        if problem is not None:
            raise SessionPersistenceCorruptionError(
                f"session {session_id!r}: the record expected at seq {seq}: {problem}",
                session_id=session_id,
                location=location,
            )
    if closed_vocabulary:
        try:
            assert_understood(found, session_id=session_id)
        except SessionFormatUnsupportedError as error:
            error.location = location
            raise
    return found
