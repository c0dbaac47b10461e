"""The encoding ``jsonl.zstd``: a header frame, then for each batch a frame and its footer.

``stat`` needs the header frame and the last batch's bytes, never an event; a read of the end walks back over footers,
a read of the beginning walks forward; only the batches that hold the events asked for are decoded. Whatever is
decoded has its frame's CRC-32, the decoder's own checksum, the seqs and the chain checked.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from conformance.contract import SessionEvent
from reference_backend.frames import (
    FOOTER_HEAD,
    FOOTER_SIZE,
    FRAME_MAGIC,
    Decoded,
    Footer,
    chain_at,
    decode_doubtful,
    decode_frame,
    encode_frame,
    parse_footer,
    seal,
    texts_of,
)
from reference_backend.positions import MAX_TEXT, TAIL, Check, HeaderBlock, LogEnd, Mark
from reference_backend.ranges import (
    PAGE,
    WINDOW,
    BackwardWindow,
    ByteRange,
    BytesRange,
    Damage,
    first_nul_run,
    nul_runs,
)
from reference_backend.records import decode_batch, is_plain
from reference_backend.recovery import footer_before, last_sound_batch, recover_frames

_HEADER_START = b'{"type":"session"'


class _Place(NamedTuple):
    """A border between batches: its offset, the seq behind it, the chain up to it."""

    offset: int
    seq: int
    chain: int


@dataclass(frozen=True, slots=True)
class ZstdCodec:
    """Batches in checksummed frames with footers."""

    file_name: str = "session.v1.jsonl.zstd"

    def encode_header(self, line: bytes) -> tuple[bytes, LogEnd]:
        """Header bytes, and the empty log they make."""
        data = encode_frame(line + b"\n")
        return data, LogEnd(len(data), 0, zlib.crc32(data), 0, data[-TAIL:])

    def encode_batch(self, lines: bytes, count: int, after: LogEnd) -> tuple[bytes, LogEnd]:
        """Bytes of one batch, and the log they make; lines that ``after`` still keeps are taken as written before."""
        end, next_seq = after.end, after.next_seq
        data, chain = seal(encode_frame(lines), next_seq, count, after.chain)
        return data, LogEnd(end + len(data), next_seq + count, chain, end, (after.tail + data)[-TAIL:])

    def read_header(self, source: ByteRange) -> HeaderBlock | None:
        """The header, or None where the artifact is what a torn creation leaves."""
        if source.size == 0:
            return None
        length = min(PAGE, source.size)
        # The header's frame ends where the next one begins, unless that is a chance in it: then this finds nothing.
        data = source.at(0, length)
        second = data.find(FRAME_MAGIC, len(FRAME_MAGIC))
        block = _known_header(data if second < 0 else data[:second])
        if block is not None:
            return block
        while True:
            data = source.at(0, length)
            decoded = decode_doubtful(data)
            if decoded.length is not None:
                block = _header_block(decoded, data)
                if block is None:
                    raise Damage("the first frame holds no header line")
                return block
            if decoded.failed or length == source.size or length > MAX_TEXT:
                break
            length = min(length * 4, source.size)
        # What a lost page decodes to is wrong text, not a foreign one.
        written = decode_doubtful(data[: first_nul_run(data, 0, source.size)]).text
        if not _torn_header(data, source.size, failed=decoded.failed) or not _may_begin_header(written):
            raise Damage("it does not begin with a header frame")
        behind = last_sound_batch(source, 0)
        if behind is not None and (behind[1].first_seq > 0 or data[:1] != b"\0"):
            raise Damage("its header frame is broken, and batches follow")
        return None

    def recover(self, source: ByteRange, header: HeaderBlock) -> LogEnd:
        """Where the log ends."""
        return recover_frames(source, header)

    def take_in(self, source: ByteRange, header: HeaderBlock, check: Check) -> tuple[LogEnd, list[SessionEvent]] | None:
        """The end and all events of a small, sound log."""
        if not isinstance(source, BytesRange):
            return None
        data = source.data
        try:
            found = texts_of(data, header.end, header.checksum)
            if found is None:
                return None
            texts, seq, chain, start = found
            events = decode_batch(b"".join(texts)) if texts else []
        except Damage:
            return None
        if len(events) != seq:
            return None
        log = LogEnd(source.size, seq, chain, start, data[-TAIL:])
        return log, events if is_plain(events, 0) else check(events, 0)

    def read(
        self, source: ByteRange, header: HeaderBlock, log: LogEnd, offset: int, stop: int, check: Check
    ) -> list[SessionEvent]:
        """Events ``offset`` to ``stop``, decoded anew and checked."""
        found: list[SessionEvent] = []
        stop = min(stop, log.total)
        if offset < min(stop, log.next_seq):
            # Walk from the nearer end; both ways cost a footer for each batch passed over.
            near_end = offset * 2 > log.next_seq
            place = self._before(source, header, log, offset) if near_end else self._first(header)
            for frame, footer in self._batches(source, log, place):
                if footer.next_seq > offset:
                    events = _decode(frame, footer, check)
                    first = max(offset - footer.first_seq, 0)
                    found += events[first : stop - footer.first_seq] if first or footer.next_seq > stop else events
                # A read up to the end goes there: what stands behind the last batch is looked at too.
                if footer.next_seq >= stop and stop < log.next_seq:
                    break
        if stop > log.next_seq:
            kept = check(decode_batch(log.kept), log.next_seq)
            found += kept[max(offset - log.next_seq, 0) : stop - log.next_seq]
        return found

    def validate(self, source: ByteRange, header: HeaderBlock, log: LogEnd, check: Check) -> None:
        """Decode and check the whole log, keeping nothing."""
        for frame, footer in self._batches(source, log, self._first(header)):
            _decode(frame, footer, check)
        if log.kept:
            check(decode_batch(log.kept), log.next_seq)

    def mark(self, source: ByteRange, header: HeaderBlock, log: LogEnd, shown: Mark | None = None) -> Mark:
        """The mark of the log as its next repair will leave it; refuses where ``shown`` marks none of its prefixes."""
        whole = self.encode_batch(log.kept, log.kept_count, log.without_kept())[1] if log.kept else log
        mark = Mark(whole.end, whole.next_seq, _token(whole.chain))
        if shown is not None and shown != mark:
            if shown.end == header.end:
                found = _token(header.checksum)
            else:
                footer = footer_before(source, shown.end, header.end) if shown.end <= log.end else None
                found = _token(footer.chain) if footer is not None and footer.next_seq == shown.next_seq else ""
            if found != shown.token:
                raise Damage(f"the {shown.next_seq} events that were read here before are not there any more")
        return mark

    def cheap_mark(self, source: ByteRange, header: HeaderBlock, log: LogEnd) -> Mark | None:
        """The mark: it costs one footer at most."""
        return self.mark(source, header, log)

    def _first(self, header: HeaderBlock) -> _Place:
        return _Place(header.end, 0, header.checksum)

    def _before(self, source: ByteRange, header: HeaderBlock, log: LogEnd, seq: int) -> _Place:
        """The nearest border at or before ``seq``, by footers from the end."""
        window = BackwardWindow(source)
        offset, expected = log.end, log.next_seq
        footer = _footer_ending_at(window, header, offset)
        while True:
            border = offset - FOOTER_SIZE - footer.length
            if border < header.end or footer.next_seq != expected:
                raise Damage(f"the footer before {offset} does not fit the log around it")
            if border == header.end:
                return self._first(header)
            previous = _footer_ending_at(window, header, border)
            if footer.first_seq <= seq:
                return _Place(border, footer.first_seq, previous.chain)
            offset, expected, footer = border, footer.first_seq, previous

    def _batches(self, source: ByteRange, log: LogEnd, place: _Place) -> Iterator[tuple[memoryview, Footer]]:
        """Frames and footers from ``place`` to the end of the log, their order and place checked."""
        data = b""
        view = memoryview(data)
        base, cursor, scan = place.offset, 0, 0
        seq, chain = place.seq, place.chain
        while base + cursor < log.end:
            at = data.find(FOOTER_HEAD, scan)
            if at < 0 or at + FOOTER_SIZE > len(data):
                have = base + len(data)
                if have >= log.end or len(data) - cursor > MAX_TEXT + WINDOW:
                    raise Damage(f"no footer follows the batch at {base + cursor}")
                scan = max((at if at >= 0 else len(data) - len(FOOTER_HEAD) + 1) - cursor, 0)
                data = data[cursor:] + source.at(have, min(max(WINDOW, len(data) - cursor), log.end - have))
                view = memoryview(data)
                base, cursor = base + cursor, 0
                continue
            footer = parse_footer(data, at)
            if footer is None:
                scan = at + 1
                continue
            if footer.length != at - cursor or footer.first_seq != seq or footer.chain != chain_at(data, at, chain):
                raise Damage(f"the batch at {base + cursor} is not the one that belongs there (seq {seq} was expected)")
            yield view[cursor:at], footer
            seq, chain = footer.next_seq, footer.chain
            cursor = scan = at + FOOTER_SIZE
        if base + cursor != log.end or seq != log.next_seq:
            raise Damage(f"the log ends at {base + cursor} with seq {seq}, {log.end} and {log.next_seq} were expected")


@functools.lru_cache(maxsize=256)
def _known_header(stored: bytes) -> HeaderBlock | None:
    """The header in bytes that are exactly its frame, if it is as short as usual. The same bytes are decoded once."""
    decoded = decode_doubtful(stored)
    if decoded.length != len(stored) or len(decoded.text) > PAGE:
        return None
    return _header_block(decoded, stored)


def _header_block(decoded: Decoded, data: bytes) -> HeaderBlock | None:
    """The header in the first frame of ``data``, which was decoded whole; None where that is no header line."""
    text, end = decoded.text, decoded.length
    if text.count(b"\n") != 1 or not text.endswith(b"\n"):
        return None
    stored = data[:end]
    return HeaderBlock(text[:-1], stored, len(stored), zlib.crc32(stored))


def _footer_ending_at(window: BackwardWindow, header: HeaderBlock, end: int) -> Footer:
    start = end - FOOTER_SIZE
    footer = parse_footer(window.at(start, FOOTER_SIZE)) if start >= header.end else None
    if footer is None:
        raise Damage(f"no intact footer stands before {end}, where a batch ends")
    return footer


def _decode(frame: memoryview, footer: Footer, check: Check) -> list[SessionEvent]:
    if zlib.crc32(frame) != footer.checksum:
        raise Damage(f"the batch with seq {footer.first_seq} does not have the checksum that its footer gives")
    events = decode_batch(decode_frame(frame))
    if len(events) != footer.events:
        raise Damage(
            f"the batch with seq {footer.first_seq} holds {len(events)} events, its footer says {footer.events}"
        )
    return events if is_plain(events, footer.first_seq) else check(events, footer.first_seq)


def _torn_header(data: bytes, size: int, *, failed: bool) -> bool:
    """Whether ``data``, the beginning of a file, may be a header frame that a crash cut or blanked."""
    run = next(nul_runs(data, 0, size), None)
    if run is not None and run[0] == 0:
        return True
    begun = data[: len(FRAME_MAGIC)].rstrip(b"\0")
    return FRAME_MAGIC.startswith(begun) and (run is not None or not failed)


def _may_begin_header(text: bytes) -> bool:
    return text.startswith(_HEADER_START) or _HEADER_START.startswith(text)


def _token(chain: int) -> str:
    return f"{chain:08x}"
