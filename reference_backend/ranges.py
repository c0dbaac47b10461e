"""Byte ranges to read from, and what crashes leave in them.

``ByteRange`` is all that recovery knows of a file: a fixed size and bytes at offsets. ``FileRange`` reads an open
descriptor, ``BytesRange`` memory, so recovery is a pure function of bytes that tests can call on any image.
``Damage`` is how the pure functions refuse; whoever knows the session turns it into the contract's corruption error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

PAGE = 4096
SECTOR = 512
WINDOW = 256 * 1024
"""Bytes fetched at a time while walking or scanning."""

SMALL = 16 * 1024
"""Largest file that is read whole, at once: one call to the system costs more than these bytes do."""


class Damage(Exception):
    """The stored bytes cannot be a log that this backend wrote and a crash cut short."""


class ByteRange(Protocol):
    """Bytes ``0`` to ``size`` of something."""

    @property
    def size(self) -> int:
        """Length in bytes; it does not change."""

    def at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``.

        Raises:
            Damage: the range ends before that.
            OSError: the storage refused to read.
        """


class BytesRange:
    """A range in memory. No dataclass, for one is made at every look at a small file."""

    __slots__ = ("data", "size")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``."""
        found = self.data[offset : offset + length]
        if len(found) != length:
            raise Damage(f"{length} bytes at {offset} reach past the end at {len(self.data)}")
        return found


@dataclass(frozen=True, slots=True)
class FileRange:
    """The first ``size`` bytes of an open file; later growth stays unseen."""

    fd: int
    size: int

    def at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``."""
        if offset < 0 or offset + length > self.size:
            raise Damage(f"{length} bytes at {offset} reach past the end at {self.size}")
        found = os.pread(self.fd, length, offset)
        while len(found) < length:
            more = os.pread(self.fd, length - len(found), offset + len(found))
            if not more:
                raise Damage(f"the file ends at {offset + len(found)}, {self.size} bytes were there a moment ago")
            found += more
        return found


def range_of(fd: int, size: int) -> ByteRange:
    """The first ``size`` bytes of an open file, read already where they are few.

    Raises:
        Damage: the file is shorter than that by now.
        OSError: the storage refused to read.
    """
    if size > SMALL:
        return FileRange(fd, size)
    data = os.pread(fd, size, 0)
    return BytesRange(data if len(data) == size else FileRange(fd, size).at(0, size))


class BackwardWindow:
    """Small reads that move towards the start, served from larger fetches."""

    __slots__ = ("_data", "_source", "_start")

    def __init__(self, source: ByteRange) -> None:
        self._source = source
        self._start = 0
        self._data = b""

    def at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``."""
        begin = offset - self._start
        if begin < 0 or begin + length > len(self._data):
            # The first fetch is small: most callers want the last footer and nothing else.
            end = offset + length
            self._start = max(0, min(offset, end - (WINDOW if self._data else PAGE)))
            self._data = self._source.at(self._start, end - self._start)
            begin = offset - self._start
        return self._data[begin : begin + length]


def chunks(source: ByteRange, start: int, end: int) -> Iterator[bytes]:
    """The bytes from ``start`` to ``end`` in pieces of at most ``WINDOW``."""
    while start < end:
        piece = source.at(start, min(WINDOW, end - start))
        yield piece
        start += len(piece)


def nul_runs(data: bytes, base: int, size: int) -> Iterator[tuple[int, int]]:
    """The NUL runs of ``data`` that end at a page edge of the file or at the file's end, as (start, end) in ``data``.

    ``base`` is the offset of ``data`` in the file, ``size`` the file's length. A run over several pages is given page
    by page.
    """
    begin = 0
    while begin < len(data):
        end = min(begin + PAGE - (base + begin) % PAGE, len(data))
        at_edge = (base + end) % PAGE == 0 or base + end == size
        if at_edge and data[end - 1] == 0:
            yield begin + len(data[begin:end].rstrip(b"\0")), end
        begin = end


def first_nul_run(data: bytes, base: int, size: int) -> int:
    """Where in ``data`` the first such run starts, or ``len(data)``: nothing behind it may be believed without a
    checksum."""
    for start, _ in nul_runs(data, base, size):
        return start
    return len(data)


def crash_left(data: bytes, base: int, size: int) -> bool:
    """Whether ``data`` holds a NUL run that a crash can leave.

    A lost page or sector reads NUL from its start or from where the lost write began. One to seven NUL bytes that begin
    elsewhere are more likely to be the compressor's own, and must not turn a changed byte into a torn tail.
    """
    return any(
        end - start >= 8 or start == 0 or (base + start) % SECTOR == 0 for start, end in nul_runs(data, base, size)
    )
