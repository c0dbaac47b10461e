"""Where things stand in a log: small records shared by both encodings, and the interface each encoding fills.

The records are named tuples: some are made in every call, and a frozen dataclass takes three times as long.

A ``Codec`` knows bytes and nothing else: no session, no path, no lock. What it cannot believe it refuses with
``Damage``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from conformance.contract import SessionEvent
from reference_backend.ranges import ByteRange

MAX_TEXT = 256 * 1024 * 1024
"""Largest header line or batch, in bytes of text: what a hostile artifact can make a reader hold."""

TAIL = 64
"""Bytes remembered from the end of a log, to notice one that was changed in place."""

Check = Callable[[list[Any], int], list[SessionEvent]]
"""``check(decoded, first_seq)`` -> the same list, or a refusal in the contract's words."""


class HeaderBlock(NamedTuple):
    """The stored header: its line without the newline, its stored bytes, their length and their CRC-32."""

    line: bytes
    stored: bytes
    end: int
    checksum: int


class LogEnd(NamedTuple):
    """The end of a recovered log.

    Attributes:
        end: offset behind the last sound batch (or the header); a repair truncates here.
        next_seq: events in the sound batches.
        chain: running checksum over header and footers (0 where the encoding has none).
        last_start: where the last sound batch begins, or 0: what a predecessor may have left unsynced starts here.
        tail: the last bytes before ``end``, at most ``TAIL``.
        kept: lines recovered from a torn batch behind ``end``, visible to readers and still to be rewritten.
        kept_count: how many lines that is.
    """

    end: int
    next_seq: int
    chain: int
    last_start: int
    tail: bytes
    kept: bytes = b""
    kept_count: int = 0

    def without_kept(self) -> LogEnd:
        """The log up to its last sound batch."""
        return self._replace(kept=b"", kept_count=0)

    @property
    def total(self) -> int:
        """Events a reader sees."""
        return self.next_seq + self.kept_count


class Mark(NamedTuple):
    """A fingerprint of a whole log: equal marks mean equal logs, and a mark can be found again in a longer log.

    For a log with kept lines it is the mark of the repaired log, so that a repair changes no revision.
    """

    end: int
    next_seq: int
    token: str

    @property
    def revision(self) -> str:
        """The opaque text that ``stat`` gives."""
        return f"{self.next_seq:x}-{self.token}"


class Codec(Protocol):
    """One encoding of the stored format."""

    @property
    def file_name(self) -> str:
        """Name of the artifact in its session's directory."""

    def encode_header(self, line: bytes) -> tuple[bytes, LogEnd]:
        """Header bytes, and the empty log they make."""

    def encode_batch(self, lines: bytes, count: int, after: LogEnd) -> tuple[bytes, LogEnd]:
        """Bytes of one batch to be written at ``after.end``, and the log they make."""

    def read_header(self, source: ByteRange) -> HeaderBlock | None:
        """The header, or None where the artifact is what a torn creation leaves; ``Damage`` where it is neither."""

    def recover(self, source: ByteRange, header: HeaderBlock) -> LogEnd:
        """Where the log ends; ``Damage`` where its last batch is broken as no crash can break it."""

    def take_in(self, source: ByteRange, header: HeaderBlock, check: Check) -> tuple[LogEnd, list[SessionEvent]] | None:
        """The end and all events of a small log that is sound from beginning to end, in one pass.

        None where it is not, or may not be: then ``recover`` and ``read`` or ``validate`` find out what it is.
        """

    def read(
        self, source: ByteRange, header: HeaderBlock, log: LogEnd, offset: int, stop: int, check: Check
    ) -> list[SessionEvent]:
        """Events ``offset`` to ``stop`` (not past ``log.total``), decoded anew and checked."""

    def validate(self, source: ByteRange, header: HeaderBlock, log: LogEnd, check: Check) -> None:
        """Decode and check the whole log, keeping nothing."""

    def mark(self, source: ByteRange, header: HeaderBlock, log: LogEnd, shown: Mark | None = None) -> Mark:
        """The mark of the log; ``Damage`` where ``shown`` is not the mark of one of its prefixes."""

    def cheap_mark(self, source: ByteRange, header: HeaderBlock, log: LogEnd) -> Mark | None:
        """The mark where it costs nothing that grows with the log, else None."""
