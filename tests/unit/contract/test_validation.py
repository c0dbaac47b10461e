"""Batches, contiguity, vocabulary, read ranges, versions, and what a decoder gave back."""

from __future__ import annotations

import enum
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.contract import (
    KNOWN_EVENT_TYPES,
    MAX_DEPTH,
    SessionContiguityError,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
    assert_contiguous,
    assert_understood,
    assert_version,
    check_read_range,
    is_understood,
    materialize_append_batch,
    validate_stored_events,
)


def event(seq: Any = 0, **more: Any) -> dict[str, Any]:
    """A well-formed event; ``more`` adds or replaces keys."""
    return {"type": "turn/start", "seq": seq, "time": 1000, "data": {"turn": 1}, **more}


def without(key: str) -> dict[str, Any]:
    """A well-formed event but for one missing key."""
    return {name: value for name, value in event().items() if name != key}


class Number(int):
    """An integer of a class of its own."""


class Kind(enum.StrEnum):
    """Event types as an enum."""

    START = "turn/start"


WRONG_EVENTS = {
    "no type": without("type"),
    "no seq": without("seq"),
    "no time": without("time"),
    "no data": without("data"),
    "empty type": event(type=""),
    "type is None": event(type=None),
    "type is a number": event(type=1),
    "seq is negative": event(-1),
    "seq is a bool": event(True),
    "seq is a float": event(0.0),
    "seq is text": event("0"),
    "seq is None": event(None),
    "time is a bool": event(time=False),
    "time is a float": event(time=1.0),
    "time is None": event(time=None),
    "ignorable is a number": event(ignorable=1),
    "ignorable is None": event(ignorable=None),
}
"""Events of plain JSON whose envelope is wrong."""


@pytest.mark.parametrize("wrong", WRONG_EVENTS.values(), ids=WRONG_EVENTS)
def test_a_malformed_event_anywhere_refuses_the_batch(wrong: dict[str, Any]) -> None:
    """The envelope is checked for each event, and the message names the place."""
    with pytest.raises((TypeError, ValueError), match=r"^events\[0\]: (type|seq|time|data|ignorable) is "):
        materialize_append_batch([wrong])
    with pytest.raises((TypeError, ValueError), match=r"^events\[1\]: "):
        materialize_append_batch([event(), wrong])


@pytest.mark.parametrize(
    "wrong",
    [
        event(data=float("nan")),
        event(data={"x": {1}}),
        event(data=(1,)),
        event(type=Kind.START),
        event(Number(0)),
        event(time=Number(0)),
        event(time=2**53),
        event(extra=b"x"),
        dict([*event().items(), (1, 2)]),
        None,
        1,
        "turn/start",
        [event()],
        (("type", "turn/start"),),
    ],
    ids=repr,
)
def test_values_outside_json_refuse_the_batch(wrong: Any) -> None:
    """What is no JSON, in any part of an event or in its place, refuses the whole batch."""
    with pytest.raises((TypeError, ValueError), match=r"^events\[1\]"):
        materialize_append_batch([event(), wrong])


@pytest.mark.parametrize(
    "batch",
    [None, (), (event(),), event(), {0: event()}, "events", iter([event()]), {1}, 0],
    ids=lambda batch: type(batch).__name__,
)
def test_a_batch_that_is_no_list_is_refused(batch: Any) -> None:
    """Only a list is a batch."""
    with pytest.raises(TypeError, match="expected a list of dicts"):
        materialize_append_batch(batch)


class Batch(list[Any]):
    """A list of a class of its own."""


def test_a_batch_is_captured() -> None:
    """The copy keeps every key in order, is made of plain dicts and lists, and shares none with the caller's."""
    given_batch = Batch(
        [
            OrderedDict(event(0, surfaceOp="append", sourceEventSeqs=[3, 1], other={"deep": [1.0, True, None]})),
            event(1, type="my/type", ignorable=True, data=None),
            event(7, time=-5, ignorable=False, data=[{}]),
        ]
    )
    captured = materialize_append_batch(given_batch)
    assert type(captured) is list
    assert [type(item) for item in captured] == [dict, dict, dict]
    assert captured == given_batch
    assert [list(item) for item in captured] == [list(item) for item in given_batch]
    given_batch[0]["other"]["deep"].append("later")
    given_batch[0]["type"] = "later"
    given_batch[2]["data"][0]["later"] = 1
    del given_batch[1]
    assert captured[0]["other"] == {"deep": [1.0, True, None]}
    assert (captured[0]["type"], captured[2]["data"], len(captured)) == ("turn/start", [{}], 3)


def test_an_empty_batch_is_a_batch() -> None:
    """The empty list is accepted and a new list comes back."""
    empty: list[Any] = []
    assert materialize_append_batch(empty) == []
    assert materialize_append_batch(empty) is not empty


def test_the_depth_limit_counts_from_the_event() -> None:
    """An event is the first level; the list around it is none."""
    data: Any = 0
    for _ in range(MAX_DEPTH - 1):
        data = [data]
    assert materialize_append_batch([event(data=data)]) == [event(data=data)]
    with pytest.raises(ValueError, match="nested more than"):
        materialize_append_batch([event(data=[data])])


@given(st.integers(0, 5), st.integers(0, 6))
def test_a_batch_that_continues_the_log_is_contiguous(next_seq: int, length: int) -> None:
    """Any batch that counts on from the next seq passes, the empty one too."""
    batch = [event(next_seq + index) for index in range(length)]
    assert_contiguous(batch, next_seq)
    assert [item["seq"] for item in batch] == list(range(next_seq, next_seq + length))


@pytest.mark.parametrize(
    ("seqs", "expected", "got"),
    [
        ([4], 3, 4),
        ([2], 3, 2),
        ([0, 1], 3, 0),
        ([3, 5], 4, 5),
        ([3, 3], 4, 3),
        ([3, 4, 3], 5, 3),
        ([3, 4, 6, 5], 5, 6),
        ([5, 4, 3], 3, 5),
    ],
)
def test_the_first_offending_seq_is_named(seqs: list[int], expected: int, got: int) -> None:
    """A gap, overlap, repeat or descent anywhere is refused with what should stand there and what does."""
    with pytest.raises(SessionContiguityError) as caught:
        assert_contiguous([event(seq) for seq in seqs], 3, session_id="s")
    assert (caught.value.expected, caught.value.got, caught.value.session_id) == (expected, got, "s")
    assert f"expected seq {expected}, got {got}" in str(caught.value)


@pytest.mark.parametrize(
    ("item", "understood"),
    [
        *((event(type=kind), True) for kind in sorted(KNOWN_EVENT_TYPES)),
        (event(type="turn/start", ignorable=False), True),
        (event(type="my/type"), False),
        (event(type="my/type", ignorable=False), False),
        (event(type="my/type", ignorable=True), True),
        (event(type="Turn/start"), False),
    ],
    ids=lambda value: str(value.get("type")) if isinstance(value, dict) else "",
)
def test_known_or_ignorable_types_are_understood(item: dict[str, Any], understood: bool) -> None:
    """A type outside the vocabulary passes only where the event says that it may be ignored."""
    assert is_understood(item) is understood
    if understood:
        assert_understood([item])
    else:
        with pytest.raises(SessionFormatUnsupportedError, match=f"{item['type']!r} at seq 0") as caught:
            assert_understood([item], session_id="s")
        assert caught.value.session_id == "s"


@pytest.mark.parametrize(("offset", "length"), [(0, None), (0, 0), (5, 1), (2**70, 2**70), (3, None)])
def test_read_ranges_of_whole_numbers_pass(offset: int, length: int | None) -> None:
    """Integers from 0 are ranges, however large; no length means up to the end."""
    assert check_read_range(offset, length) == (offset, length)


@pytest.mark.parametrize("value", [True, False, 1.0, "1", b"1", [1], Number(1), float("nan")], ids=repr)
def test_read_ranges_of_other_types_are_refused(value: Any) -> None:
    """Whatever is no integer is a TypeError that names the argument, in both places."""
    with pytest.raises(TypeError, match=r"^offset: "):
        check_read_range(value, None)
    with pytest.raises(TypeError, match=r"^length: "):
        check_read_range(0, value)


def test_negative_ranges_and_a_missing_offset_are_refused() -> None:
    """Negative numbers are a ValueError; only the length may be None."""
    with pytest.raises(ValueError, match=r"^offset: -1"):
        check_read_range(-1, None)
    with pytest.raises(ValueError, match=r"^length: -1"):
        check_read_range(0, -1)
    with pytest.raises(TypeError, match=r"^offset: None"):
        check_read_range(None, 1)


@pytest.mark.parametrize(
    ("version", "advice"), [(2, "upgrade this one"), (0, "no upgrade path"), (-1, "no upgrade path")]
)
def test_other_versions_are_refused_with_the_way_out(version: int, advice: str) -> None:
    """A newer format says to upgrade, an older one that there is no path; both carry id and location."""
    with pytest.raises(SessionFormatUnsupportedError, match=advice) as caught:
        assert_version(version, session_id="s", location="/a")
    assert (caught.value.session_id, caught.value.location) == ("s", "/a")


@pytest.mark.parametrize("version", [None, "1", 1.0, True, [1]], ids=repr)
def test_a_version_that_is_no_number_is_corruption(version: object) -> None:
    """A stored version of another type is damage, not a format."""
    with pytest.raises(SessionPersistenceCorruptionError) as caught:
        assert_version(version, session_id="s", location="/a")
    assert (caught.value.session_id, caught.value.location) == ("s", "/a")


def test_the_current_version_passes() -> None:
    """Version 1 is served."""
    assert_version(1)


def test_stored_events_are_returned_themselves() -> None:
    """A good log comes back as a list of the same dicts, from any iterable and any first seq."""
    stored = [event(4), event(5, type="my/type", ignorable=True)]
    found = validate_stored_events(iter(stored), first_seq=4)
    assert [id(item) for item in found] == [id(item) for item in stored]


@pytest.mark.parametrize("wrong", [*WRONG_EVENTS.values(), None, [], "x", event(2), event(0)], ids=str)
def test_a_stored_record_that_is_no_next_event_is_corruption(wrong: Any) -> None:
    """A record with a wrong envelope or seq refuses the log and names the seq that was expected."""
    with pytest.raises(SessionPersistenceCorruptionError, match="at seq 1") as caught:
        validate_stored_events([event(0), wrong], session_id="s", location="/a")
    assert (caught.value.session_id, caught.value.location) == ("s", "/a")


def test_an_unknown_stored_type_is_refused_where_the_vocabulary_is_closed() -> None:
    """A stored type nobody knows refuses the log, naming type, seq and location; an open vocabulary serves it."""
    stored = [event(0), event(1, type="my/type")]
    with pytest.raises(SessionFormatUnsupportedError, match="'my/type' at seq 1") as caught:
        validate_stored_events(stored, session_id="s", location="/a")
    assert (caught.value.session_id, caught.value.location) == ("s", "/a")
    assert validate_stored_events(stored, closed_vocabulary=False) == stored
