"""Values as Python expressions: evaluated, they are the values again."""

from __future__ import annotations

import datetime
import decimal
import importlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import SessionHeader
from conformance.model.values import SampleEnum, SampleObject, encode, sample_function
from conformance.report.python_values import Expressions, text_expression


def _back(value: Any) -> Any:
    """The value of its own expression, with the imports that it asked for and no others."""
    expressions = Expressions()
    text = expressions.of(value)
    scope: dict[str, Any] = {"SessionHeader": SessionHeader}
    for module in expressions.modules:
        scope[module] = importlib.import_module(module)
    for module, names in expressions.names.items():
        scope.update({name: getattr(importlib.import_module(module), name) for name in names})
    return eval(compile(text, "<expression>", "eval"), scope)


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.sampled_from([SampleEnum.MEMBER, SampleObject(), sample_function])
)
_HASHABLE = st.none() | st.integers() | st.text()
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(_HASHABLE | st.tuples(_HASHABLE), inner)
        | st.lists(inner).map(tuple)
        | st.sets(_HASHABLE)
        | st.frozensets(_HASHABLE)
    ),
    max_leaves=12,
)


@given(_VALUES)
def test_a_value_is_its_expression_again(value: Any) -> None:
    """For any value that a program may hold, to the type and the bit."""
    found = _back(value)
    assert found == value
    assert type(found) is type(value)
    assert encode(found) == encode(value)


def test_what_equality_cannot_show_comes_back_too() -> None:
    """NaN, infinities, minus zero and a list that holds itself."""
    assert math.isnan(_back(float("nan")))
    assert [_back(float("inf")), _back(float("-inf"))] == [math.inf, -math.inf]
    assert math.copysign(1, _back(-0.0)) == -1
    cycle: list[Any] = []
    cycle.append(cycle)
    found = _back(cycle)
    assert found[0] is found


@pytest.mark.parametrize("depth", [59, 60, 61, 250])
@pytest.mark.parametrize("leaf", [1, {"$py": "set", "of": [1]}, b"bytes", "$py"])
def test_deep_nesting_comes_back(depth: int, leaf: Any) -> None:
    """Nesting that Python's parser refuses as brackets is read from JSON text, tags and all."""
    value: Any = leaf
    for _ in range(depth // 2):
        value = [{"k": value}]
    assert _back(value) == value


def test_any_function_is_the_sample() -> None:
    """A program holds functions only as a kind of value; they all come back as one."""
    assert _back(lambda: None) is sample_function


def test_a_huge_int_comes_back() -> None:
    """An int of more digits than Python parses in decimal."""
    assert _back(-(10**5000)) == -(10**5000)


@given(st.text(max_size=9), st.integers(0, 400), st.text(max_size=3))
def test_a_long_text_comes_back(piece: str, times: int, rest: str) -> None:
    """Repeated text is written as a product and is the same text."""
    text = piece * times + rest
    assert eval(text_expression(text)) == text


def test_a_long_run_is_short() -> None:
    """Four million characters of one piece are one short expression."""
    assert text_expression("ab" * 2_000_000 + "a") == '"ab" * 2000000 + "a"'


def test_a_header_shows_what_is_not_at_its_default() -> None:
    """Fields at their default are left out; wrong ones are written as given."""
    header = SessionHeader("s0", 1, cwd="/x", extra={"k": {1}})
    assert Expressions().of(header) == 'SessionHeader(id="s0", created_at=1, cwd="/x", extra={"k": {1}})'
    assert _back(header) == header
    odd = SessionHeader(b"s", True, version=1.0, is_seeded=0, extra=None)
    found = _back(odd)
    assert repr(found) == repr(odd)


@pytest.mark.parametrize("value", [object(), [len], {"k": range(3)}])
def test_what_no_program_may_hold_is_refused(value: Any) -> None:
    """The same values that have no JSON form have no expression."""
    with pytest.raises(TypeError):
        Expressions().of(value)
    with pytest.raises(TypeError):
        json.dumps(encode(value))


def test_sets_print_in_one_order() -> None:
    """Hash order differs between processes; the text does not."""
    words = {"b", "a", "c"}
    assert Expressions().of(words) == '{"a", "b", "c"}'
    assert Expressions().of(frozenset(words)) == 'frozenset({"a", "b", "c"})'
    assert [Expressions().of(set()), Expressions().of(frozenset())] == ["set()", "frozenset()"]


def test_imports_are_asked_for_where_needed() -> None:
    """Plain JSON needs none."""
    plain, rare = Expressions(), Expressions()
    plain.of([{"a": 1.5}])
    rare.of([datetime.date(2024, 1, 2), decimal.Decimal("1.5"), SampleObject()])
    assert (plain.modules, plain.names) == (set(), {})
    assert rare.modules == {"datetime", "decimal"}
    assert rare.names == {"conformance.model.values": {"SampleObject"}}
