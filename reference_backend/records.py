"""Event lines: encoding, decoding, and the check every decoded event passes before a reader sees it.

The check is the contract's ``validate_stored_events`` with a short way round it for the plain event of a known type,
so that reading costs little more than decoding. It refuses exactly what that function refuses.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import Any

import orjson

from conformance.contract import KNOWN_EVENT_TYPES, SessionEvent, validate_stored_events
from reference_backend.positions import Check
from reference_backend.ranges import Damage

_SEQ = itemgetter("seq")
_TYPE = itemgetter("type")


def encode_lines(batch: list[SessionEvent]) -> bytes:
    """One line for each event, each with its newline; the batch was validated before (an encoder is no validator)."""
    return b"".join([orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE) for event in batch])


def decode_batch(text: bytes) -> list[Any]:
    """The values of a whole batch. Only for text that a checksum vouches for: lines are joined, not split.

    Raises:
        Damage: no lines of JSON.
    """
    if not text.endswith(b"\n"):
        raise Damage("a batch does not end with a newline")
    try:
        # Text inside JSON strings has its newlines escaped, so every newline stands between two events.
        found: list[Any] = orjson.loads(b"[%b]" % text[:-1].replace(b"\n", b","))
    except orjson.JSONDecodeError as error:
        raise Damage(f"a batch is no JSON: {error}") from error
    return found


def decode_line(line: bytes) -> Any:
    """The value of one line.

    Raises:
        Damage: no JSON, or nested past the parser's limit.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Damage(f"a line is no JSON: {error}") from error


def is_plain(events: list[Any], first_seq: int) -> bool:
    """Whether a batch is what this backend wrote, read quickly: objects of known types with the seqs that belong there.

    Only for a batch that a checksum vouches for: it was validated in full before it was encoded. What is not plain (an
    ignorable type, say) is for the full check to judge.
    """
    try:
        return are_next(events, first_seq) and KNOWN_EVENT_TYPES.issuperset(map(_TYPE, events))
    except (TypeError, KeyError):
        return False


def are_next(events: list[Any], first_seq: int) -> bool:
    """Whether these are objects with the seqs that follow each other from there on."""
    try:
        return list(map(_SEQ, events)) == list(range(first_seq, first_seq + len(events)))
    except (TypeError, KeyError):
        return False


def stored_check(session_id: str, location: str) -> Check:
    """The check for one session; its refusals carry the id and the artifact's location."""
    return partial(_check, session_id, location)


def _check(session_id: str, location: str, events: list[Any], first_seq: int) -> list[SessionEvent]:
    known = KNOWN_EVENT_TYPES
    for seq, event in enumerate(events, start=first_seq):
        # Exactly the four plain members, each of its type: nothing is left for the full validation to refuse.
        if type(event) is dict and len(event) == 4:
            kind = event.get("type")
            if (
                type(kind) is str
                and kind in known
                and event.get("seq") == seq
                and type(event["seq"]) is int
                and type(event.get("time")) is int
                and "data" in event
            ):
                continue
        validate_stored_events([event], first_seq=seq, session_id=session_id, location=location)
    return events
