"""Where writes may be cut short: what each kind of place is, in text and in what is none."""

from __future__ import annotations

import pytest

from conformance.sim.disk.places import PLACES, places_in

TEXT = "ab\ncž字d\n".encode()

FOUND: dict[str, tuple[str, bytes | None, int, list[int]]] = {
    "lines, before their end and behind it": ("record", TEXT, 0, [2, 3, 10]),
    "lines that are empty": ("record", b"\n\na", 0, [1, 2]),
    "no lines in what is no text": ("record", b"a\n\xfdb\n", 0, []),
    "no lines where there is NUL": ("record", b"a\n\0b\n", 0, []),
    "no lines in what nobody tells": ("record", None, 0, []),
    "the first and the last character of several bytes": ("character", TEXT, 0, [5, 8]),
    "one character alone": ("character", "až".encode(), 0, [2]),
    "no character of several bytes": ("character", b"abc", 0, []),
    "a page edge in the middle": ("page", b"x" * 300, 4000, [96]),
    "page edges at both ends are none": ("page", b"x" * 4096, 8192, []),
    "two page edges": ("page", None, 4095, [1, 4097]),
    "half of it": ("middle", b"abcdefg", 0, [3]),
    "no middle that is not the first or the last": ("middle", b"abc", 0, []),
    "every byte but the ends": ("byte", b"abcd", 0, [1, 2, 3]),
    "nothing in one byte": ("byte", b"a", 0, []),
}


@pytest.mark.parametrize("told", FOUND)
def test_places(told: str) -> None:
    """Numbers of bytes, in order, none of them nothing or all."""
    kind, data, offset, places = FOUND[told]
    assert places_in(kind, data, 5_000 if data is None else len(data), offset) == places


def test_every_kind_is_shown() -> None:
    """None is without an example."""
    assert {kind for kind, *_ in FOUND.values()} == set(PLACES)
