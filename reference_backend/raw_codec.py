"""The encoding ``jsonl``: plain lines, the first of each batch with one space before it.

Readable with any editor, and without a checksum: a changed byte inside a value goes unnoticed. Line ``n`` of the file
holds event ``n - 1``, so a read counts newlines up to its range, and a mark is a digest of the bytes: both cost a
pass over the file in bounded memory. Use ``jsonl.zstd`` where logs are long.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from conformance.contract import SessionEvent
from reference_backend.positions import MAX_TEXT, TAIL, Check, HeaderBlock, LogEnd, Mark
from reference_backend.ranges import PAGE, WINDOW, ByteRange, BytesRange, Damage, chunks
from reference_backend.records import are_next, decode_line
from reference_backend.recovery import MARKER, last_marker, recover_lines

_HEADER_START = b'{"type":"session"'


@dataclass(frozen=True, slots=True)
class RawCodec:
    """Batches as plain lines behind a space."""

    file_name: str = "session.v1.jsonl"

    def encode_header(self, line: bytes) -> tuple[bytes, LogEnd]:
        """Header bytes, and the empty log they make."""
        data = line + b"\n"
        return data, LogEnd(len(data), 0, 0, 0, data[-TAIL:])

    def encode_batch(self, lines: bytes, count: int, after: LogEnd) -> tuple[bytes, LogEnd]:
        """Bytes of one batch, and the log they make."""
        data = b" " + lines
        tail = (after.tail + data[-TAIL:])[-TAIL:]
        return data, LogEnd(after.end + len(data), after.next_seq + count, 0, after.end, tail)

    def read_header(self, source: ByteRange) -> HeaderBlock | None:
        """The header, or None where the artifact is what a torn creation leaves."""
        if source.size == 0:
            return None
        data = b""
        while b"\n" not in data and len(data) < source.size:
            if len(data) > MAX_TEXT:
                raise Damage(f"its first line is longer than {MAX_TEXT} bytes")
            length = min(max(PAGE, len(data)), source.size - len(data))
            data += source.at(len(data), length)
        newline = data.find(b"\n")
        line = data if newline < 0 else data[:newline]
        if newline >= 0 and b"\0" not in line:
            return HeaderBlock(line, data[: newline + 1], newline + 1, zlib.crc32(line))
        written = line.partition(b"\0")[0]
        hole = data[len(written) :]
        after = len(data) - len(hole.lstrip(b"\0"))
        if newline >= 0 and after % PAGE:
            raise Damage("its header line has NUL in it, and not up to the edge of a page")
        begun = written.startswith(_HEADER_START) or _HEADER_START.startswith(written)
        if not begun or (not written and data[:PAGE].strip(b"\0")):
            raise Damage("it does not begin with a header line")
        if self._later_batch(source):
            raise Damage("its header line is broken, and batches follow")
        return None

    def recover(self, source: ByteRange, header: HeaderBlock) -> LogEnd:
        """Where the log ends."""
        return recover_lines(source, header)

    def take_in(self, source: ByteRange, header: HeaderBlock, check: Check) -> tuple[LogEnd, list[SessionEvent]] | None:
        """The end and all events of a small, sound log."""
        if not isinstance(source, BytesRange):
            return None
        data, end = source.data, header.end
        if source.size == end:
            return LogEnd(end, 0, 0, 0, data[-TAIL:]), []
        # A batch begins right behind the header and behind newlines only; the last newline ends the file.
        if not data.endswith(b"\n") or not data.startswith(b" ", end):
            return None
        try:
            events = [decode_line(line) for line in data[end:-1].split(b"\n")]
        except Damage:
            return None
        if not are_next(events, 0):
            return None
        log = LogEnd(source.size, len(events), 0, data.rfind(MARKER) + 1, data[-TAIL:])
        return log, check(events, 0)

    def read(
        self, source: ByteRange, header: HeaderBlock, log: LogEnd, offset: int, stop: int, check: Check
    ) -> list[SessionEvent]:
        """Events ``offset`` to ``stop``, decoded anew and checked."""
        stop = min(stop, log.total)
        if offset >= stop:
            return []
        lines = _lines(source, header.end, log.end, offset)
        events = check([decode_line(line) for line in islice(lines, stop - offset)], offset)
        if len(events) < stop - offset or (stop == log.total and next(lines, None) is not None):
            raise Damage(f"it does not hold as many lines as the seq of its last event ({log.total - 1}) says")
        return events

    def validate(self, source: ByteRange, header: HeaderBlock, log: LogEnd, check: Check) -> None:
        """Decode and check the whole log, keeping nothing."""
        lines = _lines(source, header.end, log.end, 0)
        count = 0
        while some := [decode_line(line) for line in islice(lines, 256)]:
            check(some, count)
            count += len(some)
        if count != log.total:
            raise Damage(f"it holds {count} lines, the seq of its last event says {log.total}")

    def mark(self, source: ByteRange, header: HeaderBlock, log: LogEnd, shown: Mark | None = None) -> Mark:
        """The mark of the log; refuses where ``shown`` marks none of its prefixes. Reads the whole log."""
        digest = hashlib.blake2b(digest_size=8)
        position = 0
        if shown is not None:
            if shown.end <= log.end:
                for piece in chunks(source, 0, shown.end):
                    digest.update(piece)
                position = shown.end
            if shown.end > log.end or digest.hexdigest() != shown.token:
                raise Damage(f"the {shown.next_seq} events that were read here before are not there any more")
        for piece in chunks(source, position, log.end):
            digest.update(piece)
        return Mark(log.end, log.total, digest.hexdigest())

    def cheap_mark(self, source: ByteRange, header: HeaderBlock, log: LogEnd) -> Mark | None:
        """None: only a pass over the whole log tells."""
        return None

    def _later_batch(self, source: ByteRange) -> bool:
        """Whether a batch that does not begin the log is there: then this was no creation."""
        start = last_marker(source, 1)
        if start is None:
            return False
        line = source.at(start, min(source.size - start, WINDOW)).partition(b"\n")[0]
        try:
            event = decode_line(line)
        except Damage:
            # Too torn, or too long, to tell; but no torn creation has a second batch.
            return source.at(0, 1) != b"\0"
        return type(event) is not dict or event.get("seq") != 0


def _lines(source: ByteRange, start: int, end: int, skip: int) -> Iterator[bytes]:
    """The lines of the bytes from ``start`` to ``end``, without the first ``skip``."""
    number = 0
    begun: list[bytes] = []
    for piece in chunks(source, start, end):
        inside = piece.count(b"\n")
        if number + inside < skip:
            # The piece may end inside a line, but then in one that is skipped as well.
            number += inside
            continue
        if not inside:
            begun.append(piece)
            if len(begun) * WINDOW > MAX_TEXT:
                raise Damage(f"a line is longer than {MAX_TEXT} bytes")
            continue
        lines = piece.split(b"\n")
        lines[0] = b"".join([*begun, lines[0]])
        begun = [lines.pop()]
        yield from lines[max(skip - number, 0) :]
        number += len(lines)
    if any(begun):
        raise Damage("the last line has no end")
