"""What the model thinks of arguments, compared with the contract's own validation where both must agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.contract import (
    Capabilities,
    SessionHeader,
    materialize_append_batch,
    materialize_create_header,
)
from conformance.model.batches import JsonGrade, batch_refusals, header_refusals, json_grade, range_is_bad
from conformance.model.values import SampleEnum, SampleObject, make_cycle, sample_function

COMMON: list[Any] = [None, True, 0, 2**53 - 1, 1 - 2**53, 0.5, 1e308, "", "\u0000\u2028😀", [], {}, {"": [{"a": [1]}]}]
BEYOND: list[Any] = [2**53, -(2**53), -0.0, "\ud800", {"\udfff": 1}, (1,), [[-0.0]], {"a": (2**60,)}]
OUTSIDE: list[Any] = [
    float("nan"),
    float("-inf"),
    b"",
    {1},
    {1: 2},
    {None: 1},
    SampleEnum.MEMBER,
    SampleObject(),
    sample_function,
    make_cycle(),
    [(float("nan"),)],
    {"a": [2**60, {"b": b"x"}]},
]


@pytest.mark.parametrize(
    ("grade", "value"),
    [(grade, value) for grade, values in enumerate((COMMON, BEYOND, OUTSIDE)) for value in values],
)
def test_json_grade_is_the_worst_part(grade: int, value: Any) -> None:
    """A value is as far from JSON as the worst of its parts, however deep it lies."""
    assert json_grade(value) == grade
    assert json_grade([{"deep": [value]}, "fine"]) == grade


def test_shared_parts_are_no_cycle() -> None:
    """A part that occurs twice side by side is not inside itself."""
    part: list[Any] = [1]
    assert json_grade([part, {"a": part, "b": [part]}]) == JsonGrade.COMMON


def test_cycle_through_a_dict_is_outside() -> None:
    """A cycle is found however many containers it leads through."""
    ring: dict[str, Any] = {"a": [{}]}
    ring["a"][0]["b"] = ring
    assert json_grade(ring) == JsonGrade.OUTSIDE


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=6,
    )
)
def test_grade_agrees_with_the_shared_validation(value: Any) -> None:
    """What the contract's validation takes is never outside JSON, and it takes all that is common ground."""
    event = {"type": "user/message", "seq": 0, "time": 0, "data": value}
    try:
        materialize_append_batch([event])
        accepted = True
    except (TypeError, ValueError):
        accepted = False
    assert accepted or json_grade(value) != JsonGrade.COMMON
    assert not accepted or json_grade(value) != JsonGrade.OUTSIDE


def event(seq: Any = 0, **changes: Any) -> dict[str, Any]:
    """An event with some keys changed."""
    return {"type": "user/message", "seq": seq, "time": 0, "data": None, **changes}


@pytest.mark.parametrize(
    ("batch", "must", "may"),
    [
        ([event(3)], set(), set()),
        ([], set(), set()),
        ([event(4)], {"SEQ-02"}, set()),
        ((event(3),), {"SEQ-11"}, set()),
        ([event(3), 1], {"SEQ-11"}, set()),
        ([event(-1)], {"SEQ-11"}, {"SessionContiguityError"}),
        ([event(3, type="")], {"SEQ-11"}, {"SessionFormatUnsupportedError"}),
        ([event(True)], {"SEQ-11"}, {"SessionContiguityError"}),
        ([event(3, data=b"")], {"JSON-02"}, set()),
        ([event(9, data=b"")], {"JSON-02", "SEQ-02"}, set()),
        ([event(3, data=-0.0)], set(), {"TypeError", "ValueError"}),
        ([event(3, ignorable="yes")], set(), {"TypeError", "ValueError"}),
        ([event(3, type="unheard/of")], {"FMT-02"}, set()),
        ([event(3, type="unheard/of", ignorable=True)], set(), set()),
    ],
)
def test_refusals_of_a_batch(batch: Any, must: set[str], may: set[str]) -> None:
    """Each batch must meet the refusals of these clauses, and may meet those kinds, where seq 3 is due."""
    found = batch_refusals(batch, 3, Capabilities())
    assert set(found.must) == must
    assert found.may == may


def test_open_vocabulary_refuses_no_type() -> None:
    """Unknown types are stored where the vocabulary is open, and may be refused where they are stored to be refused."""
    unknown = [event(0, type="unheard/of")]
    assert not batch_refusals(unknown, 0, Capabilities(vocabulary="open")).must
    assert batch_refusals(unknown, 0, Capabilities(unknown_types="store")).may == {"SessionFormatUnsupportedError"}


@given(st.integers(0, 5), st.lists(st.integers(0, 8), min_size=1, max_size=5))
def test_first_offending_place_is_found(due: int, seqs: list[int]) -> None:
    """``expected`` and ``got`` are of the first seq that is not the one due there."""
    found = batch_refusals([event(seq) for seq in seqs], due, Capabilities())
    wrong = [(place, seq) for place, seq in enumerate(seqs, start=due) if place != seq]
    assert ("SEQ-02" in found.must) == bool(wrong)
    if wrong:
        assert (found.expected, found.got) == wrong[0]


@pytest.mark.parametrize(
    ("fields", "inherited", "must", "may"),
    [
        ({}, None, set(), set()),
        ({"id": ""}, None, {"SVC-08"}, set()),
        ({"created_at": 1.0}, None, {"SVC-08"}, set()),
        ({"version": True}, None, {"SVC-08"}, set()),
        ({"origin": {1}}, None, {"SVC-08"}, set()),
        ({"cwd": b"/"}, None, {"SVC-08"}, set()),
        ({"cwd": 5}, None, set(), {"TypeError", "ValueError"}),
        ({"delegation_depth": -1}, None, set(), {"TypeError", "ValueError"}),
        ({"extra": {"id": "clash"}}, None, set(), {"TypeError", "ValueError"}),
        ({"agent_preset": 2**60}, None, set(), {"TypeError", "ValueError"}),
        ({}, 0, {"SVC-09"}, set()),
        ({"is_seeded": True}, None, {"SVC-09"}, set()),
        ({"is_seeded": True}, True, {"SVC-09"}, set()),
        ({"is_seeded": True}, 7, set(), set()),
    ],
)
def test_refusals_of_a_header(fields: dict[str, Any], inherited: Any, must: set[str], may: set[str]) -> None:
    """Each header must meet the refusals of these clauses, and may meet those kinds; the validation agrees."""
    header = SessionHeader(**{"id": "s", "created_at": 0, **fields})
    found = header_refusals(header, inherited)
    assert set(found.must) == must
    assert found.may == may
    if must:
        with pytest.raises((TypeError, ValueError)):
            materialize_create_header(header, inherited)


@pytest.mark.parametrize(
    ("offset", "length", "bad"),
    [
        (0, None, False),
        (5, 0, False),
        (-1, None, True),
        (0, -1, True),
        (0.0, None, True),
        ("0", 1, True),
        (0, 1.5, True),
        (None, None, True),
    ],
)
def test_bad_ranges(offset: Any, length: Any, *, bad: bool) -> None:
    """Ends that are negative or no integer are bad; a length of None is not."""
    assert range_is_bad(offset, length) is bad
