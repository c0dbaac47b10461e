"""Python values as data: JSON forms, copies, and equality as JSON."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.model.values import (
    SampleEnum,
    SampleObject,
    clone,
    decode,
    encode,
    encode_seen,
    make_cycle,
    plain,
    same,
    sample_function,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
HASHABLE = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
ANYTHING = st.recursive(
    SCALARS
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.sampled_from([SampleEnum.MEMBER, SampleObject(), sample_function])
    | st.sets(HASHABLE, max_size=3)
    | st.frozensets(HASHABLE, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.just("$py") | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def alike(left: Any, right: Any) -> bool:
    """Equal with types, NaN equal to itself."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(alike, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(alike(left[key], right[key]) for key in left)
    return bool(left == right)


@given(ANYTHING)
def test_every_argument_has_a_json_form(value: Any) -> None:
    """Whatever a program may hold survives encoding, real JSON text and decoding, with its types."""
    assert alike(decode(json.loads(json.dumps(encode(value), allow_nan=False))), value)


def test_cycle_stays_a_cycle() -> None:
    """A list that holds itself is encoded, decoded and copied as one."""
    for found in (decode(encode(make_cycle())), clone(make_cycle())):
        assert found[0] is found


def test_value_without_a_form_is_refused_as_argument_and_told_as_result() -> None:
    """A program may not hold an unknown object; a history tells one that a backend returned by its repr."""
    with pytest.raises(TypeError, match="no form in a program"):
        encode(object)
    assert "object" in encode_seen({"a": [object]})["a"][0]["of"]
    assert isinstance(decode(encode_seen([object])), list)


@given(JSON)
def test_copies_are_equal_and_share_nothing(value: Any) -> None:
    """``clone`` and ``plain`` give an equal value whose containers are new."""
    for copy in (clone(value), plain(value)):
        assert same(copy, value)
        if isinstance(value, list | dict):
            assert copy is not value


@given(JSON)
def test_order_of_keys_does_not_count(value: Any) -> None:
    """A dict is the same with its keys in another order."""
    holder = {"a": value, "b": [value]}
    assert same(holder, dict(reversed(holder.items())))


def test_frozen_results_are_plain() -> None:
    """Mapping views and tuples that a backend returns compare like dicts and lists."""
    assert plain(MappingProxyType({"a": (1, MappingProxyType({}))})) == {"a": [1, {}]}
    assert plain(b"ab") == b"ab"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        ({"a": [1]}, {"a": [True]}),
        (0.0, -0.0),
        (1, 1.0),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"b": 1}),
        ({"a": None}, {}),
        ("1", 1),
        ([], {}),
        ("é", "e\u0301"),
        (None, False),
        (0.1, 0.1 + 2**-56),
        (2**53, 2**53 + 1),
    ],
)
def test_near_values_differ(left: Any, right: Any) -> None:
    """Values that Python or a careless codec takes for equal are not the same."""
    assert not same(left, right)
    assert not same(right, left)
    assert not same([{"x": left}], [{"x": right}])


def test_doubles_compare_as_doubles() -> None:
    """With ``numbers="double"`` 1 and 1.0 are the same, and nothing else becomes so."""
    assert same({"a": 1}, {"a": 1.0}, exact=False)
    assert not same(1, True, exact=False)
    assert not same(0.0, -0.0, exact=False)
    assert not same(1, 1.5, exact=False)


def test_deep_values_are_compared() -> None:
    """Nesting far past what a codec takes is no obstacle, equal or not."""
    deep: Any = 1
    other: Any = True
    for _ in range(400):
        deep, other = [deep], [other]
    assert same(deep, clone(deep))
    assert not same(deep, other)
