"""Fields that may be absent, for dictionaries and records built of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

_ABSENT = object()


def some_of(fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A dictionary with each field present or absent, often none; shrinks to an empty one, field by field.

    Unlike ``st.fixed_dictionaries``, a field that a failure needs keeps no other one in.
    """
    maybe = {name: st.just(_ABSENT) | value for name, value in fields.items()}
    drawn = st.fixed_dictionaries(maybe)
    return st.just({}) | drawn.map(_present)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not _ABSENT}
