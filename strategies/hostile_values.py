"""Python values that are no JSON, and JSON that not every codec can hold.

``refused_values`` must be refused at the call (JSON-02); ``beyond_common_values`` is refused or returned equal
(JSON-03). All of them have a form in a program (``conformance.model.values.encode``), so a case with one can be saved
and replayed.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from hypothesis import strategies as st

from conformance.contract import MAX_SAFE_INTEGER
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
    sample_generator,
)
from strategies.json_values import json_values

REFUSED_MAKERS: tuple[Callable[[], Any], ...] = (
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: float("-inf"),
    lambda: b"",
    lambda: b"bytes",
    lambda: set(),
    lambda: {1, 2},
    lambda: frozenset({"a"}),
    lambda: sample_function,
    lambda: datetime.date(2024, 1, 1),
    lambda: datetime.datetime(2024, 1, 1, 12, 30),
    lambda: datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    lambda: decimal.Decimal("1.5"),
    lambda: decimal.Decimal(1),
    lambda: SampleEnum.MEMBER,
    lambda: SampleObject(),
    make_cycle,
    make_dict_cycle,
    make_long_cycle,
    lambda: SampleTextEnum.MEMBER,
    lambda: SampleIntEnum.MEMBER,
    lambda: bytearray(b"bytes"),
    lambda: complex(1, 2),
    lambda: datetime.time(12, 30),
    lambda: datetime.timedelta(seconds=90),
    lambda: uuid.UUID(int=7),
    lambda: PurePosixPath("/home/dev"),
    sample_generator,
    lambda: {SampleTextEnum.MEMBER: 0},
    lambda: {1: "a"},
    lambda: {1: "a", "1": "b"},
    lambda: {None: 0},
    lambda: {True: 0},
    lambda: {1.5: 0},
    lambda: {b"k": 0},
    lambda: {(1, 2): 0},
    lambda: {SampleEnum.MEMBER: 0},
    lambda: {datetime.date(2024, 1, 1): 0},
)
"""Each makes one fresh value of a kind that JSON does not have."""

BAD_KEYS: tuple[Any, ...] = (1, None, True, 1.5, b"k", (1, 2), SampleEnum.MEMBER)
"""Keys that no JSON object can have; several encoders turn some of them into text."""

BEYOND_MAKERS: tuple[Callable[[], Any], ...] = (
    lambda: MAX_SAFE_INTEGER + 1,
    lambda: -MAX_SAFE_INTEGER - 1,
    lambda: MAX_SAFE_INTEGER + 2,
    lambda: 2**63 - 1,
    lambda: 2**63,
    lambda: -(2**63) - 1,
    lambda: 2**64 - 1,
    lambda: 2**64,
    lambda: 10**30,
    lambda: 2**1024,
    lambda: -0.0,
    lambda: "\ud800",
    lambda: "\udfff",
    lambda: "cut \ud83d",
    lambda: "\ude00 rest",
    lambda: "\ude00\ud83d",
    lambda: {"\ud800": 0},
    lambda: {"\ud83d": 0, "\U0001f600": 1},
    lambda: {"a\udc80": {"\udc80": "\udc80"}},
    tuple,
    lambda: (1, "a"),
    lambda: ([], {"a": ()}),
    lambda: [(1,), [2]],
    lambda: "\ud83d\ude00",
    lambda: SampleText("text"),
    lambda: SampleInt(7),
    lambda: SampleFloat(0.5),
    lambda: {SampleText("key"): 0},
)
"""Each makes one fresh value past JSON's common ground."""


@cache
def refused_values() -> st.SearchStrategy[Any]:
    """What must be refused as data with ``TypeError`` or ``ValueError`` (JSON-02).

    NaN and infinities, bytes, sets, functions, dates and times, decimals, complex numbers, UUIDs, paths, generators,
    enums (those that are text or integers too), objects, cycles and keys that are no text, bare or inside lists and
    objects. Shrinks to a bare NaN.
    """
    return _wrapped(_any_of(REFUSED_MAKERS, st.binary(max_size=8)))


@cache
def beyond_common_values() -> st.SearchStrategy[Any]:
    """What a backend may refuse or must return equal (JSON-03): never alter.

    Integers past ±(2**53-1), minus zero, lone surrogates in values and keys (pairs of them too), tuples, text and
    numbers of classes of their own; bare or inside lists and objects. Shrinks to a bare 2**53.
    """
    return _wrapped(
        _any_of(
            BEYOND_MAKERS,
            st.integers(MAX_SAFE_INTEGER + 1, 2**80),
            st.integers(-(2**80), -MAX_SAFE_INTEGER - 1),
            st.builds(lambda before, half, after: before + half + after, _SHORT, _HALVES, _SHORT),
            st.lists(st.integers(0, 3), max_size=3).map(tuple),
        )
    )


def _any_of(makers: Sequence[Callable[[], Any]], *kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One of the makers' values or of the kinds, each as likely as any other: alternatives would halve the makers."""
    made = [st.builds(make) for make in makers]
    return st.sampled_from([*made, *kinds]).flatmap(lambda strategy: strategy)


_SHORT = st.text("ab", max_size=3)
_HALVES = st.integers(0xD800, 0xDFFF).map(chr)


def _wrapped(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The values bare, or up to three containers deep; the containers shrink away."""
    return st.builds(wrap, values, st.lists(st.integers(0, 4), max_size=3), json_values(2))


def wrap(value: Any, containers: list[int], sibling: Any = None) -> Any:
    """The value inside one container for each number: a list, an object, or one of either with a sibling beside it."""
    for kind in containers:
        match kind:
            case 0:
                value = [value]
            case 1:
                value = {"a": value}
            case 2:
                value = [sibling, value]
            case 3:
                value = {"sibling": sibling, "a": value}
            case _:
                value = [{"a": value}, sibling]
    return value
