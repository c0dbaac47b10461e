"""JSON values within the ground common to every codec."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from conformance.contract import MAX_SAFE_INTEGER

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def _plus_zero(value: float) -> float:
    # Minus zero is beyond the common ground; adding plus zero turns it into plus zero and changes nothing else.
    return value + 0.0


@cache
def json_values(max_leaves: int = 6) -> st.SearchStrategy[Any]:
    """Any JSON value that must be stored exactly.

    Text of every Unicode scalar (NUL and astral ones included), integers to ±(2**53-1), finite floats but minus zero,
    booleans, null, lists and objects. Shrinks towards null, then short text, then small containers.

    Args:
        max_leaves: roughly how many scalars one value holds at most.
    """
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
        st.floats(allow_nan=False, allow_infinity=False).map(_plus_zero),
        _TEXT,
    )
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
        max_leaves=max_leaves,
    )
