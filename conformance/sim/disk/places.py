"""Where a write may be cut short so that it hurts: edges of pages and records, the inside of characters, the middle.

Promises: places are numbers of bytes, each at least 1 and less than the write has, in ascending order, and depend on
what is written and where alone. Lines and characters are looked for in text only: what is no UTF-8, or holds NUL, has
edges of pages, a middle, and bytes.

Does not: know any format; that records end with their lines is what text shows by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.sim.disk.presets import PAGE

Find = Callable[[bytes | None, int, int], list[int]]


def _pages(data: bytes | None, size: int, offset: int) -> list[int]:
    return list(range(PAGE - offset % PAGE, size, PAGE))


def _records(data: bytes | None, size: int, offset: int) -> list[int]:
    text = data if data is not None and _is_text(data) else b""
    ends = [at for at, byte in enumerate(text) if byte == ord("\n")]
    return sorted({place for at in ends for place in (at, at + 1) if 0 < place < size})


def _characters(data: bytes | None, size: int, offset: int) -> list[int]:
    text = data if data is not None and _is_text(data) else b""
    inside = [at for at, byte in enumerate(text) if 0x80 <= byte < 0xC0]
    return sorted({inside[0], inside[-1]}) if inside else []


def _middle(data: bytes | None, size: int, offset: int) -> list[int]:
    # Of less than four bytes it is the first or all but one.
    return [size // 2] if size >= 4 else []


def _bytes(data: bytes | None, size: int, offset: int) -> list[int]:
    return list(range(1, size))


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


_FOUND_BY: dict[str, Find] = {
    "page": _pages,
    "record": _records,
    "character": _characters,
    "middle": _middle,
    "byte": _bytes,
}

PLACES: tuple[str, ...] = tuple(_FOUND_BY)
"""The kinds of places.

page: where a page of the file ends. record: before the end of a line, and behind it. character: in the first and in the
last character of several bytes. middle: half of the write. byte: any.
"""


def places_in(kind: str, data: bytes | None, size: int, offset: int) -> list[int]:
    """The places of one kind in a write, as numbers of bytes before them.

    Args:
        data: what is written; None where nobody tells, as of a copy that the kernel makes.
        size: how many bytes it has. offset: where in the file it begins.

    Raises:
        KeyError: an unknown kind.
    """
    return _FOUND_BY[kind](data, size, offset)
