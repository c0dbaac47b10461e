"""Recovery: pure functions from the bytes of a log to where it ends and what of its torn tail is kept.

What a crash can leave. Each batch is synced before the next is written, and a write open syncs what it found before
it writes; so only the last batch can be torn: cut anywhere, or with pages and sectors that read NUL, up to the edge of
a page or the end of the file (``disk.cut`` sees to it that a cut which is interrupted leaves nothing else). Everything
before it was durable and has to be right. From that follow the three answers:

- the last batch is whole: the log ends behind it;
- it is broken as a crash breaks batches: the log ends before it, and records decoded from its sound beginning are kept;
- it is broken in another way, or something stands behind it: ``Damage``.

Neither function writes, and neither looks at more than the end of the log: damage further up is found by reading.
"""

from __future__ import annotations

import zlib
from typing import Any

from reference_backend.frames import (
    FOOTER_HEAD,
    FOOTER_SIZE,
    HEADER,
    Footer,
    decode_doubtful,
    may_be_ours,
    parse_footer,
)
from reference_backend.positions import MAX_TEXT, TAIL, HeaderBlock, LogEnd
from reference_backend.ranges import WINDOW, ByteRange, Damage, chunks, crash_left, first_nul_run
from reference_backend.records import decode_line

_MAX_TORN = MAX_TEXT + WINDOW
"""Longest torn tail that is looked at: a batch that does not compress, and what surrounds it."""


def tail_of(source: ByteRange, end: int) -> bytes:
    """The last bytes before ``end``, at most ``TAIL``."""
    length = min(TAIL, end)
    return source.at(end - length, length)


# -- zstd ---------------------------------------------------------------------------------------------------------


def recover_frames(source: ByteRange, header: HeaderBlock) -> LogEnd:
    """Where a framed log ends, and the text recovered from a torn final frame.

    Raises:
        Damage: the last batch is broken as no crash can break it.
    """
    if source.size == header.end:
        return LogEnd(header.end, 0, header.checksum, 0, tail_of(source, header.end))
    end = source.size
    last = footer_before(source, end, header.end)
    if last is None or not frame_intact(source, end, last):
        return _recover_torn_frames(source, header)
    return LogEnd(end, last.next_seq, last.chain, end - FOOTER_SIZE - last.length, tail_of(source, end))


def footer_before(source: ByteRange, end: int, floor: int) -> Footer | None:
    """The footer that ends at ``end``, or None where none does or its frame would reach below ``floor``."""
    start = end - FOOTER_SIZE
    if start < floor:
        return None
    footer = parse_footer(source.at(start, FOOTER_SIZE))
    return footer if footer is not None and start - footer.length >= floor else None


def frame_intact(source: ByteRange, end: int, footer: Footer) -> bool:
    """Whether the frame before the footer that ends at ``end`` has the checksum the footer gives."""
    stop = end - FOOTER_SIZE
    if footer.length <= WINDOW:
        return zlib.crc32(source.at(stop - footer.length, footer.length)) == footer.checksum
    checksum = 0
    for piece in chunks(source, stop - footer.length, stop):
        checksum = zlib.crc32(piece, checksum)
    return checksum == footer.checksum


def last_sound_batch(source: ByteRange, floor: int) -> tuple[int, Footer] | None:
    """The last intact batch and where its footer ends: found by magic and both checksums, whatever stands behind it."""
    stop = source.size
    while stop > floor:
        # Windows overlap by a footer less one byte, so that none is cut by a window's edge.
        start = max(floor, stop - WINDOW)
        data = source.at(start, min(stop + FOOTER_SIZE - 1, source.size) - start)
        at = data.rfind(FOOTER_HEAD)
        while at >= 0:
            end = start + at + FOOTER_SIZE
            footer = parse_footer(data, at)
            if footer is not None and end - FOOTER_SIZE - footer.length >= floor and frame_intact(source, end, footer):
                return end, footer
            at = data.rfind(FOOTER_HEAD, 0, at + len(FOOTER_HEAD) - 1)
        stop = start
    return None


def _recover_torn_frames(source: ByteRange, header: HeaderBlock) -> LogEnd:
    found = last_sound_batch(source, header.end)
    if found is None:
        end, next_seq, chain, last_start = header.end, 0, header.checksum, 0
    else:
        end, footer = found
        next_seq, chain, last_start = footer.next_seq, footer.chain, end - FOOTER_SIZE - footer.length
    torn = _last_bytes(source, end, source.size)
    text, whole = _sound_beginning(torn, end, source.size)
    kept, count = _whole_records(text, next_seq)
    if whole and len(kept) < len(text):
        raise Damage(f"the whole frame at {end} holds something else than the next events")
    return LogEnd(end, next_seq, chain, last_start, tail_of(source, end), kept, count)


def _last_bytes(source: ByteRange, start: int, stop: int) -> bytes:
    if stop - start > _MAX_TORN:
        raise Damage(f"{stop - start} bytes at {start} hold no sound batch, more than any torn one could")
    return source.at(start, stop - start)


def _sound_beginning(torn: bytes, base: int, size: int) -> tuple[bytes, bool]:
    """The text of a torn batch that may be believed, and whether its frame is whole; ``torn`` is everything from where
    the batch begins, at ``base``."""
    footer = parse_footer(torn, len(torn) - FOOTER_SIZE) if len(torn) >= FOOTER_SIZE else None
    if footer is not None:
        return _beginning_before_footer(torn, base, size, footer), False
    believed = first_nul_run(torn, base, size)
    if believed >= HEADER and not may_be_ours(torn):
        raise Damage(f"the frame at {base} is none that this backend wrote")
    decoded = decode_doubtful(torn)
    if decoded.length is not None:
        # The frame is whole and its checksum right. Behind it stands what is left of its footer, at most.
        behind = torn[decoded.length :]
        if len(behind) > FOOTER_SIZE and behind[FOOTER_SIZE:].strip(b"\0"):
            raise Damage(f"something follows the whole frame at {base} that is no footer")
        return decoded.text, True
    if believed < len(torn):
        # A NUL page inside a frame decodes, without an error, to wrong text: nothing behind its start may be believed.
        return decode_doubtful(torn[:believed]).text, False
    if decoded.failed:
        raise Damage(f"the batch at {base} is broken, and not as a crash breaks one")
    return decoded.text, False


def _beginning_before_footer(torn: bytes, base: int, size: int, footer: Footer) -> bytes:
    frame = torn[: len(torn) - FOOTER_SIZE]
    if footer.length != len(frame):
        raise Damage(f"the last footer tells of {footer.length} bytes, {len(frame)} stand before it at {base}")
    if not crash_left(frame, base, size):
        raise Damage(f"the batch at {base} does not have the checksum that its footer gives")
    return decode_doubtful(frame[: first_nul_run(frame, base, size)]).text


def _whole_records(text: bytes, next_seq: int) -> tuple[bytes, int]:
    """The leading lines of ``text`` that are the next events, and how many."""
    length = count = 0
    while (newline := text.find(b"\n", length)) >= 0:
        try:
            event = decode_line(text[length:newline])
        except Damage:
            break
        if not _is_record(event, next_seq + count):
            break
        count += 1
        length = newline + 1
    return text[:length], count


def _is_record(event: Any, seq: int | None) -> bool:
    """Whether a decoded line is an event with that seq (with any, where None)."""
    if type(event) is not dict or type(event.get("type")) is not str or type(event.get("seq")) is not int:
        return False
    return seq is None or event["seq"] == seq


# -- raw lines ----------------------------------------------------------------------------------------------------

MARKER = b"\n "
"""A newline and the space that begins a batch; no other line begins with one."""


def recover_lines(source: ByteRange, header: HeaderBlock) -> LogEnd:
    """Where a log of plain lines ends. Complete records of a torn batch stay where they are, so nothing is rewritten.

    Raises:
        Damage: a bad line that no crash can leave in the last batch.
    """
    start = last_marker(source, header.end)
    if start is None:
        if source.size > header.end:
            _refuse_unless_torn(_last_bytes(source, header.end, source.size), header.end)
        return LogEnd(header.end, 0, 0, 0, tail_of(source, header.end))
    end, next_seq = _sound_lines(source, start, source.size)
    if next_seq is not None:
        return LogEnd(end, next_seq, 0, start, tail_of(source, end))
    # Nothing of the last batch is sound. The one before it was durable when this one was written: it has to be.
    before = last_marker(source, header.end, stop=start)
    if before is None:
        if start != header.end:
            raise Damage(f"the bytes from {header.end} to {start} are no batch")
        return LogEnd(header.end, 0, 0, 0, tail_of(source, header.end))
    end, next_seq = _sound_lines(source, before, start)
    if next_seq is None or end != start:
        raise Damage(f"a bad line at {end} has a batch behind it")
    return LogEnd(start, next_seq, 0, before, tail_of(source, start))


def last_marker(source: ByteRange, floor: int, *, stop: int | None = None) -> int | None:
    """Where the last batch that begins in ``floor`` to ``stop`` begins, or None."""
    end = source.size if stop is None else stop
    # The newline of a marker is the last byte of the line before, which for the first batch is the header's.
    while end > floor:
        start = max(floor, end - WINDOW)
        data = source.at(start - 1, end - start + 1)
        at = data.rfind(MARKER)
        if at >= 0:
            return start + at
        end = start
    return None


def _sound_lines(source: ByteRange, start: int, stop: int) -> tuple[int, int | None]:
    """Where the sound records from ``start`` on end, and the seq behind them; None where there is none."""
    data = _last_bytes(source, start, stop)
    position = 0
    seq: int | None = None
    while position < len(data):
        newline = data.find(b"\n", position)
        line = data[position : newline if newline >= 0 else len(data)]
        if newline < 0 or b"\0" in line:
            _refuse_batch_behind_nul(line, start + position)
            break
        event = decode_line(line)
        if not _is_record(event, seq):
            raise Damage(f"the line at {start + position} is no record with the next seq")
        seq = event["seq"] + 1
        position = newline + 1
    return start + position, seq


def _refuse_unless_torn(data: bytes, base: int) -> None:
    # The first batch lost its beginning, or it is cut inside its first line.
    newline = data.find(b"\n")
    line = data if newline < 0 else data[:newline]
    if data[:1] not in b" \0" or (newline >= 0 and b"\0" not in line):
        raise Damage(f"the line at {base} belongs to no batch")
    _refuse_batch_behind_nul(line, base)


def _refuse_batch_behind_nul(line: bytes, base: int) -> None:
    """Refuse where a NUL run blanked the newline before a batch: it has a batch behind it all the same."""
    _, nul, behind = line.rpartition(b"\0")
    if not nul or not behind.startswith(b" "):
        return
    try:
        event = decode_line(behind)
    except Damage:
        return
    if _is_record(event, None):
        raise Damage(f"the bytes at {base} read NUL, and the batch with seq {event['seq']} follows")
