"""Byte images of small logs for the tests of this folder, built by the codecs alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.contract import SessionEvent, SessionHeader
from reference_backend.artifact import header_line
from reference_backend.positions import Codec, LogEnd
from reference_backend.ranges import BytesRange, Damage
from reference_backend.raw_codec import RawCodec
from reference_backend.records import encode_lines, stored_check
from reference_backend.zstd_codec import ZstdCodec

ZSTD: Codec = ZstdCodec()
RAW: Codec = RawCodec()
CODECS = {"jsonl": ZSTD, "jsonl-raw": RAW}
HEADER = SessionHeader("s", 1000, cwd="/c")


def event(seq: int, text: str = "", **more: Any) -> SessionEvent:
    """One event of a known type."""
    return {"type": "user/message", "seq": seq, "time": 1000 + seq, "data": {"text": f"é {seq} {text}"}, **more}


def batch(first: int, count: int, text: str = "") -> list[SessionEvent]:
    """``count`` events from ``first`` on."""
    return [event(seq, text) for seq in range(first, first + count)]


@dataclass(frozen=True)
class Image:
    """A log's bytes, where each batch ends (the header first), and all its events."""

    data: bytes
    ends: list[int]
    events: list[SessionEvent]
    counts: list[int]


def image(codec: Codec, *batches: list[SessionEvent]) -> Image:
    """The image of a log of these batches."""
    data, log = codec.encode_header(header_line(HEADER, None))
    ends, counts = [len(data)], [0]
    for events in batches:
        more, log = codec.encode_batch(encode_lines(events), len(events), log)
        data += more
        ends.append(len(data))
        counts.append(log.next_seq)
    return Image(data, ends, [event for events in batches for event in events], counts)


def recover(codec: Codec, data: bytes) -> tuple[LogEnd, list[SessionEvent]] | None:
    """Recovery and a full read of an image; None where it is a torn creation. ``Damage`` passes through."""
    source = BytesRange(data)
    header = codec.read_header(source)
    if header is None:
        return None
    if not header.line.startswith(b'{"type":"session"'):
        raise Damage("no session header (``artifact`` parses it; here its beginning is enough)")
    log = codec.recover(source, header)
    check = stored_check("s", "/log")
    codec.validate(source, header, log, check)
    return log, codec.read(source, header, log, 0, log.total, check)


def repaired(codec: Codec, data: bytes) -> bytes:
    """The image as the first repair leaves it."""
    found = recover(codec, data)
    if found is None:
        raise Damage("no header")
    log = found[0]
    kept = data[: log.end]
    if log.kept:
        kept += codec.encode_batch(log.kept, log.kept_count, log.without_kept())[0]
    return kept
