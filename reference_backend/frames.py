"""Zstandard frames and the footer behind each batch: packing, unpacking, decoding.

Every frame carries its content size and checksum, so one decode call needs no guess and notices damage. Behind each
batch stands a skippable frame that standard decoders pass over, the footer, of ``FOOTER_SIZE`` bytes: magic
``0x184D2A50``, payload length, then, all little-endian: format (u32, 1), event count (u32), first seq (u64), length
(u64) and CRC-32 (u32) of the batch frame, the chain (u32) and CRC-32 (u32) of the payload before it. The chain is the
CRC-32 of those fields started from the chain of the footer before, and the first from the CRC-32 of the header frame;
so two logs that end in the same footer are the same log, and a batch put in another's place is noticed though it is
sound by itself.

Nothing here knows which frames a crash may have torn; that is ``recovery``.
"""

from __future__ import annotations

import struct
import threading
import zlib
from typing import NamedTuple

import zstandard

from reference_backend.positions import MAX_TEXT
from reference_backend.ranges import Damage

FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_FIELDS = struct.Struct("<IIQQI")
_PAYLOAD = struct.Struct("<IIQQIII")
FOOTER_HEAD = struct.pack("<II", 0x184D2A50, _PAYLOAD.size)
FOOTER_SIZE = len(FOOTER_HEAD) + _PAYLOAD.size
_FORMAT = 1
_MUCH = 1 << 20
"""Text of batches that is kept in memory at once, where one batch after the other would do."""
_LARGE = 0x80
"""The bit in a frame's fifth byte without which it cannot declare more than 64 KiB; a batch seldom has it."""
_SHORT = 512
"""Longest text whose frame has no entropy tables: they would save a few bytes, and cost most of the time of reading."""
_STEP = 1024
"""Compressed bytes fed at a time where nothing vouches for them: at most 32 MiB of text can come out of that."""


class Footer(NamedTuple):
    """One batch as its footer tells it; offsets follow from where the footer stands.

    A named tuple, for one is made for every batch that is walked over and a frozen dataclass takes three times as long.
    """

    first_seq: int
    events: int
    length: int
    checksum: int
    chain: int

    @property
    def next_seq(self) -> int:
        """The seq behind the batch."""
        return self.first_seq + self.events


def seal(frame: bytes, first_seq: int, count: int, chain: int) -> tuple[bytes, int]:
    """``frame`` with its footer, behind a log whose chain is ``chain``, and the chain that this makes."""
    crc32 = zlib.crc32
    fields = _FIELDS.pack(_FORMAT, count, first_seq, len(frame), crc32(frame))
    chain = crc32(fields, chain)
    payload = fields + chain.to_bytes(4, "little")
    return b"%b%b%b%b" % (frame, FOOTER_HEAD, payload, crc32(payload).to_bytes(4, "little")), chain


def parse_footer(data: bytes, at: int = 0) -> Footer | None:
    """The footer at ``at``, or None where no intact one stands there."""
    payload = at + len(FOOTER_HEAD)
    end = at + FOOTER_SIZE
    if len(data) < end or not data.startswith(FOOTER_HEAD, at):
        return None
    version, events, first_seq, length, checksum, chain, own = _PAYLOAD.unpack_from(data, payload)
    if own != zlib.crc32(data[payload : end - 4]) or version != _FORMAT or not events:
        return None
    return Footer(first_seq, events, length, checksum, chain)


def chain_at(data: bytes, at: int, before: int) -> int:
    """The chain that the footer at ``at`` has to give where the one before gave ``before``."""
    payload = at + len(FOOTER_HEAD)
    return zlib.crc32(data[payload : payload + _FIELDS.size], before)


def texts_of(data: bytes, at: int, chain: int) -> tuple[list[bytes], int, int, int] | None:
    """The texts of all batches from ``at`` to the end of ``data``, the seq and the chain behind them, the last one's
    start; None where anything is not as it has to be.

    The quick way over a sound log. What it does not believe is for those to judge who look at one batch after the
    other.
    """
    texts: list[bytes] = []
    seq = start = room = 0
    size = len(data)
    if size > at and not data.startswith(FOOTER_HEAD, size - FOOTER_SIZE):
        return None
    crc32, unpack, decompress = zlib.crc32, _PAYLOAD.unpack, _coders.decompressor.decompress
    while at < size:
        start = at
        foot = data.find(FOOTER_HEAD, at)
        end = foot + FOOTER_SIZE
        if foot < 0 or end > size:
            return None
        frame, payload = data[at:foot], data[end - _PAYLOAD.size : end]
        version, events, first_seq, length, checksum, told, own = unpack(payload)
        chain = crc32(payload[: _FIELDS.size], chain)
        if (
            told != chain
            or first_seq != seq
            or length != foot - at
            or version != _FORMAT
            or own != crc32(payload[:-4])
            or checksum != crc32(frame)
            or (frame[4] & _LARGE if length > 4 else True)
        ):
            return None
        try:
            text = decompress(frame)
        except zstandard.ZstdError:
            return None
        room += len(text)
        if room > _MUCH or text.count(b"\n") != events or not text.endswith(b"\n"):
            return None
        texts.append(text)
        seq += events
        at = end
    return texts, seq, chain, start


class _Coders(threading.local):
    """Compressors and a decompressor for each thread: none may be shared."""

    def __init__(self) -> None:
        self.quick = zstandard.ZstdCompressor(level=-1, write_checksum=True, write_content_size=True)
        self.compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
        self.decompressor = zstandard.ZstdDecompressor()


_coders = _Coders()


def encode_frame(text: bytes) -> bytes:
    """A checksummed frame that declares its content size."""
    coder = _coders.quick if len(text) <= _SHORT else _coders.compressor
    return coder.compress(text)


def decode_frame(frame: bytes | memoryview) -> bytes:
    """The text of one whole frame.

    Raises:
        Damage: broken, or larger than ``MAX_TEXT``.
    """
    try:
        if len(frame) > 4 and frame[4] & _LARGE and not 0 <= zstandard.frame_content_size(frame) <= MAX_TEXT:
            raise Damage(f"a frame declares more than {MAX_TEXT} bytes of text")
        return _coders.decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise Damage(f"a frame cannot be decoded: {error}") from error


class Decoded(NamedTuple):
    """What came out of bytes nobody vouches for.

    Attributes:
        text: everything decoded before the end, the cut or the error.
        length: length of the frame where it is whole and its checksum right, else None.
        failed: the decoder met an error; with ``length`` None and no failure the bytes end inside the frame.
    """

    text: bytes
    length: int | None
    failed: bool


HEADER = 18
"""No frame has a longer header."""


def may_be_ours(data: bytes) -> bool:
    """Whether a frame that begins so, with a whole header, is one that this backend could have written."""
    try:
        declared = zstandard.get_frame_parameters(data[:HEADER])
    except zstandard.ZstdError:
        return False
    return declared.has_checksum and declared.content_size <= MAX_TEXT


def decode_doubtful(data: bytes) -> Decoded:
    """Decode a frame that may be cut or damaged, in bounded memory.

    A frame that declares no checksum, no size, or more than ``MAX_TEXT``, or that grows past what it declares, has
    failed: this backend wrote none like it.
    """
    if not data.startswith(FRAME_MAGIC):
        return Decoded(b"", None, not FRAME_MAGIC.startswith(data))
    try:
        declared = zstandard.get_frame_parameters(data[:HEADER])
    except zstandard.ZstdError:
        return Decoded(b"", None, len(data) >= HEADER)
    if not declared.has_checksum or declared.content_size > MAX_TEXT:
        return Decoded(b"", None, True)
    decoder = _coders.decompressor.decompressobj()
    text = bytearray()
    for start in range(0, len(data), _STEP):
        try:
            text += decoder.decompress(data[start : start + _STEP])
        except zstandard.ZstdError:
            return Decoded(bytes(text), None, True)
        if len(text) > declared.content_size:
            return Decoded(b"", None, True)
        if decoder.eof:
            fed = min(start + _STEP, len(data))
            return Decoded(bytes(text), fed - len(decoder.unused_data), False)
    return Decoded(bytes(text), None, False)
