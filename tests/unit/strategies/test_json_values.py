"""Values that must be stored exactly: all of them common ground, with the corners in them, shrinking to plain ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.contract import MAX_DEPTH, MAX_SAFE_INTEGER, materialize_append_batch
from conformance.model.batches import JsonGrade, json_grade
from conformance.model.values import same
from strategies.json_values import EDGE_FLOATS, EDGE_INTEGERS, ODD_KEYS, ODD_TEXTS, TWIN_KEYS
from strategies.sizes import PAGE, PIPE, SECTOR

Minimal = Callable[..., Any]
Saved = Callable[[Any], Any]


def depth_of(value: Any) -> int:
    """How many lists and objects lie in one another."""
    deepest, waiting = 0, [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(each, dict | list):
            items = each.values() if isinstance(each, dict) else each
            waiting.extend((item, depth + 1) for item in items)
    return deepest


def parts_of(value: Any) -> list[Any]:
    """Everything inside a value, keys too, and the value itself."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        found.append(each)
        if isinstance(each, dict):
            waiting.extend([*each.keys(), *each.values()])
        elif isinstance(each, list):
            waiting.extend(each)
    return found


@settings(deadline=None, max_examples=150)
@given(strategies.json_values())
def test_json_values_are_common_ground(value: Any) -> None:
    """The model and the shared validation both take every value."""
    assert json_grade(value) == JsonGrade.COMMON
    batch = materialize_append_batch([{"type": "x", "seq": 0, "time": 0, "data": value}])
    assert same(batch[0]["data"], value)


@settings(deadline=None)
@given(value=strategies.json_values())
def test_json_values_survive_being_saved(saved: Saved, value: Any) -> None:
    """A program with the value in it can be written down and read back."""
    assert same(saved(value), value)


def test_json_values_shrink_to_null(minimal: Minimal) -> None:
    """The plainest value is null."""
    assert minimal(strategies.json_values()) is None


@pytest.mark.parametrize(
    ("condition", "smallest"),
    [
        (lambda value: isinstance(value, str) and bool(value), "0"),
        (lambda value: isinstance(value, str) and not value.isascii(), "\x80"),
        (lambda value: type(value) is int and value > 5, 6),
        (lambda value: type(value) is float, 0.0),
        (lambda value: isinstance(value, list), []),
        (lambda value: isinstance(value, list) and bool(value), [None]),
        (lambda value: isinstance(value, dict) and len(value) == 1, {"": None}),
    ],
)
def test_json_values_shrink_to_plain_ones(minimal: Minimal, condition: Callable[[Any], bool], smallest: Any) -> None:
    """Whatever property of a value matters, what is left of the value has nothing else."""
    assert same(minimal(strategies.json_values(), condition), smallest)


CORNERS: tuple[Callable[[Any], bool], ...] = (
    lambda part: part == "\x00",
    lambda part: part == "\u2028",
    lambda part: isinstance(part, str) and any(ord(character) > 0xFFFF for character in part),
    lambda part: part == "\uffff",
    lambda part: part == "__proto__",
    lambda part: part == "NaN",
    lambda part: type(part) is int and part == MAX_SAFE_INTEGER,
    lambda part: type(part) is float and part == 0.1 + 0.2,
    lambda part: type(part) is float and part == 5e-324,
    lambda part: type(part) is float and part == 1.0,
    lambda part: isinstance(part, str) and len(part.encode()) == PAGE + 1,
    lambda part: isinstance(part, dict) and {"é", "e\u0301"} <= part.keys(),
    lambda part: isinstance(part, dict) and "" in part,
)


def test_json_values_have_the_corners(examples: Callable[..., list[Any]]) -> None:
    """Each corner that the contract names comes up within a run of ordinary length."""
    missed = set(range(len(CORNERS)))
    for value in examples(strategies.json_values(), 1_000):
        parts = parts_of(value)
        missed -= {number for number in missed if any(map(CORNERS[number], parts))}
    assert not missed


def test_the_tables_hold_what_they_say() -> None:
    """No entry twice, every entry within the common ground, and twins that really are two keys."""
    for table in (ODD_TEXTS, ODD_KEYS, TWIN_KEYS, EDGE_INTEGERS):
        assert len(set(table)) == len(table)
    for value in (*ODD_TEXTS, *ODD_KEYS, *EDGE_INTEGERS, *EDGE_FLOATS, *(list(pair) for pair in TWIN_KEYS)):
        assert json_grade(value) == JsonGrade.COMMON
    folded = [unicodedata.normalize("NFKC", key).casefold() for pair in TWIN_KEYS[:4] for key in pair]
    assert folded[::2] == folded[1::2]


@settings(deadline=None)
@given(st.data())
def test_json_values_can_be_restricted(data: st.DataObject) -> None:
    """Kinds that are switched off do not come up; null always may."""
    kinds = data.draw(strategies.swarm(strategies.VALUE_KINDS))
    parts = parts_of(data.draw(strategies.json_values(kinds=kinds)))
    allowed: set[type] = {type(None)}
    allowed |= {bool} if "boolean" in kinds else set()
    allowed |= {int} if "integer" in kinds else set()
    allowed |= {float} if "float" in kinds else set()
    allowed |= {list} if "list" in kinds else set()
    allowed |= {dict, str} if kinds & {"object", "twin keys"} else set()
    allowed |= {str} if kinds & {"text", "odd text", "page text"} else set()
    assert set(map(type, parts)) <= allowed


def test_an_unknown_kind_is_refused() -> None:
    """A misspelt kind is told, with the kinds there are."""
    with pytest.raises(ValueError, match=r"kinds=\['texts'\]: expected names out of"):
        strategies.json_values(kinds=frozenset({"texts"}))


@settings(deadline=None)
@given(strategies.integers(), strategies.floats(), strategies.texts(), strategies.keys())
def test_scalars_are_common_ground(integer: int, number: float, text: str, key: str) -> None:
    """The parts that values are made of are usable alone, and of the type they say."""
    assert type(integer) is int
    assert type(number) is float
    assert json_grade([integer, number, text, {key: None}]) == JsonGrade.COMMON


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 100), st.data())
def test_deep_values_are_as_deep_as_asked(depth: int, data: st.DataObject) -> None:
    """Exactly so many levels, whatever the style."""
    value = data.draw(strategies.deep_values(depth))
    assert depth_of(value) == depth
    assert json_grade(value) == JsonGrade.COMMON


def test_deep_values_reach_what_the_shared_validation_takes(minimal: Minimal) -> None:
    """A value one level below the limit is taken inside an event, and shrinks to lists around null."""
    value = minimal(strategies.deep_values(MAX_DEPTH - 1))
    assert value == _lists(MAX_DEPTH - 1)
    materialize_append_batch([{"type": "x", "seq": 0, "time": 0, "data": value}])


def _lists(depth: int) -> Any:
    value: Any = None
    for _ in range(depth):
        value = [value]
    return value


@settings(deadline=None, max_examples=50)
@given(strategies.page_texts(), strategies.long_texts(), strategies.huge_texts(200_000))
def test_long_texts_have_their_sizes(page: str, long: str, huge: str) -> None:
    """Sizes in bytes of UTF-8 lie at a limit or one beside it."""
    beside = (-1, 0, 1)
    assert len(page.encode()) in {size + off for size in (SECTOR, PAGE) for off in beside}
    assert len(long.encode()) in {size + off for size in (PAGE, 2 * PAGE, PIPE, 2 * PIPE) for off in beside}
    assert len(huge.encode()) in {200_000 + off for off in beside}


def test_long_texts_shrink_to_one_plain_letter(minimal: Minimal) -> None:
    """The size stays, the text becomes plain."""
    assert minimal(strategies.page_texts()) == "x" * SECTOR
    assert minimal(strategies.long_texts()) == "x" * PAGE
    assert minimal(strategies.huge_texts(20_000)) == "x" * 20_000
    with pytest.raises(ValueError, match="max_size=100: expected at least 4096"):
        strategies.long_texts(100)
