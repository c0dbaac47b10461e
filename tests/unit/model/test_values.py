"""Python values as data: JSON forms, copies, and equality as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.model.samples import (
    SampleEnum,
    SampleFloat,
    SampleInt,
    SampleIntEnum,
    SampleObject,
    SampleText,
    SampleTextEnum,
    make_cycle,
    make_dict_cycle,
    make_long_cycle,
    sample_function,
)
from conformance.model.values import (
    clone,
    decode,
    encode,
    encode_seen,
    plain,
    same,
)

HALVES = st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\ud83d\ude00"), max_size=4)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | HALVES
RARITIES = (
    st.times()
    | st.timedeltas()
    | st.uuids()
    | st.complex_numbers(allow_nan=False)
    | st.binary().map(bytearray)
    | HALVES.map(SampleText)
    | st.integers().map(SampleInt)
    | st.floats(allow_nan=False).map(SampleFloat)
    | st.sampled_from([SampleTextEnum.MEMBER, SampleIntEnum.MEMBER, PurePosixPath("/a/b")])
)
HASHABLE = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
ANYTHING = st.recursive(
    SCALARS
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.sampled_from([SampleEnum.MEMBER, SampleObject(), sample_function])
    | RARITIES
    | st.sets(HASHABLE, max_size=3)
    | st.frozensets(HASHABLE, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(HALVES | st.just("$py") | st.integers(), inner, max_size=3)
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


def through_text(value: Any) -> Any:
    """The value after it was written and read as strict JSON text."""
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


@pytest.mark.parametrize("copy", [through_text, clone])
def test_cycle_stays_a_cycle(copy: Callable[[Any], Any]) -> None:
    """What holds itself, at once or through others, is encoded, decoded and copied as just that."""
    found = copy(make_cycle())
    assert found[0] is found
    mapping = copy(make_dict_cycle())
    assert list(mapping) == ["before", "self"]
    assert mapping["self"] is mapping
    long = copy({"x": [make_long_cycle()]})["x"][0]
    assert long[0] == 0
    assert long[1]["a"][0] is long
    assert long[1]["a"][1] == 1


def test_copy_of_a_cycle_shares_nothing() -> None:
    """Changing a copied cycle leaves the original as it was."""
    given = make_long_cycle()
    clone(given)[1]["a"].append("changed")
    assert len(given[1]["a"]) == 2


def test_halves_of_a_character_stay_two() -> None:
    """A pair of surrogates is not saved as the one character that JSON text would make of it."""
    assert through_text(["\ud83d\ude00", {"\ud83d\ude00": 1}]) == ["\ud83d\ude00", {"\ud83d\ude00": 1}]


@pytest.mark.parametrize("value", [SampleText("a"), SampleInt(7), SampleFloat(0.5)])
def test_scalars_of_a_class_of_their_own_are_plain(value: Any) -> None:
    """What a backend takes them for is the text or number they are."""
    found = plain([value, {"k": value}])
    assert found == [value, {"k": value}]
    assert type(found[0]) is type(value).__mro__[1]
    assert plain(SampleTextEnum.MEMBER) is SampleTextEnum.MEMBER


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
