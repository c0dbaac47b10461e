"""Sizes at which storage behaves differently, and text of exactly a given size.

Disks tear at sectors and pages, pipes and line readers stop at their buffers. Everything here counts bytes of UTF-8.
"""

from __future__ import annotations

import base64
import random
from functools import cache

from hypothesis import strategies as st

SECTOR = 512
"""Bytes that a disk writes whole; a torn page may end at a multiple of it."""

PAGE = 4_096
"""Bytes that the page cache writes back together."""

PIPE = 65_536
"""Bytes that a pipe holds, and where common line readers stop by default."""

MEBIBYTE = 2**20

UNITS = ("x", "é", "日", "😀")
"""One character for each length that UTF-8 has, one byte first."""


@cache
def boundary_sizes(most: int = 8) -> st.SearchStrategy[int]:
    """Sizes in bytes at and one beside a multiple of a sector or a page.

    Shrinks to one sector exactly: sectors before pages, few before many, at the edge before one short of it.

    Args:
        most: multiples up to this many sectors or pages.
    """
    return st.builds(
        lambda unit, times, beside: unit * times + beside,
        st.sampled_from([SECTOR, PAGE]),
        st.integers(1, most),
        st.sampled_from([0, -1, 1]),
    )


def filled(size: int, unit: str = "x", *, lead: int = 0) -> str:
    """Text of exactly ``size`` bytes: ``lead`` times ``x``, then ``unit`` as often as it fits, then ``x`` again."""
    lead = min(lead, size)
    times, rest = divmod(size - lead, len(unit.encode("utf-8")))
    return "x" * lead + unit * times + "x" * rest


def noise(size: int, seed: int) -> str:
    """ASCII text of exactly ``size`` bytes that no compressor makes much shorter; the same for the same seed."""
    return base64.b64encode(random.Random(seed).randbytes(size)).decode("ascii")[:size]
