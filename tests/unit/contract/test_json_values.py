"""The snapshot of JSON values: what it takes, what it refuses, and that it reads each value once."""

from __future__ import annotations

import datetime
import enum
import math
import struct
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.contract import MAX_DEPTH, MAX_SAFE_INTEGER, copy_json, snapshot_json
from conformance.contract.json_values import shown

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


def anatomy(value: Any) -> Any:
    """A form that two values share exactly when they agree in types, key order and bits."""
    if type(value) is dict:
        return ("dict", [(key, anatomy(item)) for key, item in value.items()])
    if type(value) is list:
        return ("list", [anatomy(item) for item in value])
    if type(value) is float:
        return ("float", struct.pack(">d", value))
    return (type(value).__name__, value)


def containers(value: Any) -> list[int]:
    """The identities of all dicts and lists in a value."""
    if isinstance(value, dict):
        return [id(value), *(found for item in value.values() for found in containers(item))]
    if isinstance(value, list):
        return [id(value), *(found for item in value for found in containers(item))]
    return []


def nested(levels: int, *, kind: type = list) -> Any:
    """A value of exactly that many containers inside one another."""
    value: Any = kind()
    for _ in range(levels - 1):
        value = [value] if kind is list else kind({"k": value})
    return value


@given(JSON_VALUES)
def test_snapshot_is_the_same_json_and_shares_no_container(value: Any) -> None:
    """A snapshot agrees in types, order and bits, and no dict or list of it is one of the argument's."""
    copy = snapshot_json(value)
    assert anatomy(copy) == anatomy(value)
    assert not set(containers(copy)) & set(containers(value))


@given(JSON_VALUES)
def test_plain_copy_is_the_same_json_and_shares_no_container(value: Any) -> None:
    """The unchecked copy keeps the same promises for values that are JSON already."""
    copy = copy_json(value)
    assert anatomy(copy) == anatomy(value)
    assert not set(containers(copy)) & set(containers(value))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        MAX_SAFE_INTEGER,
        -MAX_SAFE_INTEGER,
        1.0,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        1e16,
        "",
        "\x00\u2028\u2029\ufeff\uffff\U0001f600\U0010ffff",
        {"": {"": []}},
        [[], {}, [[]]],
    ],
    ids=repr,
)
def test_corner_values_are_taken_to_the_bit(value: Any) -> None:
    """Every corner of JSON's common ground comes back with its type and bits, at the top, in a list and in a dict."""
    assert anatomy(snapshot_json(value)) == anatomy(value)
    assert anatomy(snapshot_json([value])) == anatomy([value])
    assert anatomy(snapshot_json({"k": value})) == anatomy({"k": value})


def test_negative_zero_keeps_its_sign() -> None:
    """-0.0 stays -0.0."""
    assert math.copysign(1.0, snapshot_json([-0.0])[0]) == -1.0


@pytest.mark.parametrize(
    "text", ["a" * (5 << 20), "ä" * (4 << 20), "\U0001f600" * (1 << 20)], ids=["ascii", "latin", "astral"]
)
def test_long_text_is_shared_not_copied(text: str) -> None:
    """Text cannot change, so that a long one is checked and kept as the same object."""
    assert snapshot_json({"k": [text]})["k"][0] is text


class Colour(enum.StrEnum):
    """An enum whose members are text."""

    RED = "red"


class Level(enum.IntEnum):
    """An enum whose members are integers."""

    LOW = 1


class Text(str):
    """Text of a class of its own."""


class Number(int):
    """An integer of a class of its own."""


class Real(float):
    """A float of a class of its own."""


class Loud:
    """An object that cannot even be printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (float("-inf"), ValueError),
        (MAX_SAFE_INTEGER + 1, ValueError),
        (-MAX_SAFE_INTEGER - 1, ValueError),
        (10**6000, ValueError),
        ("\ud800", ValueError),
        ("a\udfff", ValueError),
        (b"x", TypeError),
        (bytearray(b"x"), TypeError),
        (memoryview(b"x"), TypeError),
        ({1}, TypeError),
        (frozenset({1}), TypeError),
        ((1,), TypeError),
        (range(3), TypeError),
        (print, TypeError),
        (lambda: None, TypeError),
        (datetime.date(2026, 1, 2), TypeError),
        (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), TypeError),
        (Decimal(1), TypeError),
        (1j, TypeError),
        (Colour.RED, TypeError),
        (Level.LOW, TypeError),
        (Text("a"), TypeError),
        (Number(1), TypeError),
        (Real(1.0), TypeError),
        (Loud(), TypeError),
        (object, TypeError),
        (..., TypeError),
        (UserDict({"a": 1}), TypeError),
        (mock.MagicMock(spec=dict), TypeError),
        (iter([1]), TypeError),
    ],
    ids=lambda value: value.__name__ if value in (TypeError, ValueError) else type(value).__name__,
)
def test_what_is_no_json_is_refused_wherever_it_stands(value: Any, error: type[Exception]) -> None:
    """A value outside JSON is refused at the top, in a list, in a dict and deep inside, with its path."""
    for wrapped, path in (
        (value, ""),
        ([0, value], r"\[1\]"),
        ({"k": value}, r"\['k'\]"),
        ({"a": [{"b": [0, value]}]}, r"\['a'\]\[0\]\['b'\]\[1\]"),
        (OrderedDict(o=[value]), r"\['o'\]\[0\]"),
    ):
        with pytest.raises(error, match=f"^here{path}: "):
            snapshot_json(wrapped, where="here")


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (1, TypeError),
        (None, TypeError),
        (True, TypeError),
        (1.5, TypeError),
        (b"k", TypeError),
        (("a",), TypeError),
        (Text("k"), TypeError),
        (Colour.RED, TypeError),
        ("\ud800", ValueError),
    ],
    ids=repr,
)
def test_keys_that_are_no_text_are_refused(key: Any, error: type[Exception]) -> None:
    """A key is text of the built-in class without lone surrogates, or the whole value is refused at that place."""
    for wrapped in ({key: 1}, [{"a": 1, key: 2}], OrderedDict({key: 1})):
        with pytest.raises(error, match=r"key|surrogate"):
            snapshot_json(wrapped)


@pytest.mark.parametrize("kind", [list, dict, OrderedDict])
@pytest.mark.parametrize("levels", [100, MAX_DEPTH])
def test_deep_nesting_is_taken(kind: type, levels: int) -> None:
    """100 levels, and all up to the stated limit, are accepted."""
    copy = snapshot_json(nested(levels, kind=kind))
    assert copy == nested(levels, kind=kind)
    assert copy_json(copy) == copy


@pytest.mark.parametrize("kind", [list, dict, OrderedDict])
def test_nesting_past_the_limit_is_refused(kind: type) -> None:
    """One level past the limit is a ValueError; levels that lie around the value count."""
    with pytest.raises(ValueError, match="nested more than"):
        snapshot_json(nested(MAX_DEPTH + 1, kind=kind))
    with pytest.raises(ValueError, match="nested more than"):
        snapshot_json(nested(MAX_DEPTH, kind=kind), depth=1)


class Items(list[Any]):
    """A list of a class of its own."""


@pytest.mark.parametrize("kind", [dict, OrderedDict, list, Items])
def test_cycles_are_refused(kind: type) -> None:
    """A cycle through a dict, a list or a subclass of them is a ValueError with a short message."""
    value: Any = kind()
    inner = [value]
    if isinstance(value, dict):
        value["k"] = inner
    else:
        value.append(inner)
    with pytest.raises(ValueError, match="cycle") as caught:
        snapshot_json(value)
    assert len(str(caught.value)) < 300


def test_subclasses_of_dict_and_list_come_back_plain() -> None:
    """Containers of a class of their own are taken for what they hold, in order."""
    counts: defaultdict[str, Any] = defaultdict(int, a=1)
    copy = snapshot_json(OrderedDict(z=Items([counts, Items()]), a=OrderedDict()))
    assert anatomy(copy) == anatomy({"z": [{"a": 1}, []], "a": {}})


class Shifty(dict[str, Any]):
    """A dict that holds something else each time it is asked."""

    asked = 0

    def items(self) -> Any:
        """JSON at first, a set ever after."""
        self.asked += 1
        return [("k", self.asked if self.asked == 1 else {1})]


def test_a_dict_that_changes_between_reads_is_read_once() -> None:
    """What was checked is what was copied, also where a second look would find something else."""
    shifty = Shifty(k=0)
    assert snapshot_json([shifty]) == [{"k": 1}]
    assert shifty.asked == 1


class Intruder(dict[str, Any]):
    """A dict that, when read, changes the containers around it."""

    def __init__(self, around_list: list[Any], around_dict: dict[str, Any]) -> None:
        super().__init__()
        self.around_list = around_list
        self.around_dict = around_dict

    def items(self) -> Any:
        """Nothing to see; the list around grows and the dict around gets a value that is no JSON."""
        self.around_list.append(Intruder(self.around_list, self.around_dict))
        self.around_dict["later"] = {1}
        self.around_dict["new"] = {2}
        return {}.items()


def test_containers_changed_while_they_are_read_are_taken_as_they_were() -> None:
    """A list or dict that a value inside it changes during the snapshot is taken as it was found."""
    around_list: list[Any] = []
    around_dict: dict[str, Any] = {"list": around_list, "later": 1}
    around_list.append(Intruder(around_list, around_dict))
    assert snapshot_json(around_dict) == {"list": [{}], "later": 1}
    assert len(around_list) == 2


class Stream(list[Any]):
    """A list whose iterator is its own and can be used up."""

    def __iter__(self) -> Iterator[Any]:
        while len(self):
            yield self.pop(0)


def test_a_list_of_its_own_iterator_is_read_once() -> None:
    """A subclass of list is asked for its iterator once, and what that gave is the snapshot."""
    stream = Stream([1, 2])
    assert snapshot_json(stream) == [1, 2]
    assert snapshot_json(stream) == []


def test_shared_parts_come_back_apart() -> None:
    """One dict in two places becomes two, so that changing one place of a copy changes no other."""
    shared: dict[str, Any] = {"n": 1}
    copy = snapshot_json([shared, shared])
    copy[0]["n"] = 2
    assert copy[1] == {"n": 1}


def test_a_refusal_leaves_the_argument_alone() -> None:
    """Nothing of the caller's is changed by being refused or taken."""
    value = {"a": [1, {"b": OrderedDict(c=1)}]}
    snapshot_json(value)
    assert type(value["a"][1]["b"]) is OrderedDict  # type: ignore[index]
    broken = {"a": [OrderedDict(c=1), {1}]}
    with pytest.raises(TypeError):
        snapshot_json(broken)
    assert type(broken["a"][0]) is OrderedDict


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "'a'"),
        ("x" * 1000, repr("x" * 60) + "…"),
        (3, "3"),
        (10**6000, "an integer of 19932 bits"),
        (None, "None"),
        (Loud(), "a value of type Loud"),
        ({"a": 1}, "a value of type dict"),
    ],
    ids=["short", "long", "int", "huge", "none", "loud", "dict"],
)
def test_values_in_messages_are_short_and_run_no_code(value: object, text: str) -> None:
    """Messages show built-in scalars cut to a line, and only the type of everything else."""
    assert shown(value) == text
