"""The first place where two values part, and where an answer parts from what was given before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import ErrorView, Event, HandleView, Outcome, Raised, Returned, SnapshotView
from conformance.model.operations import (
    Append,
    Create,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Read,
    Stat,
    Step,
)
from conformance.model.values import same
from conformance.report.difference import ABSENT, answer_difference, first_difference, sides_text

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_a_difference_is_found_where_there_is_one(left: Any, right: Any) -> None:
    """Nothing is found between equal values, and between others two sides that are not equal."""
    found = first_difference(left, right)
    assert (found is None) == same(left, right)
    assert found is None or not same(found[1], found[2])


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}, (".a[0].b", 1, True)),
        ({"a": 1, "b c": 2}, {"a": 1}, ('["b c"]', 2, ABSENT)),
        ([1], [1, 2], ("[1]", ABSENT, 2)),
        (0.0, -0.0, ("", 0.0, -0.0)),
        (1, 1.0, ("", 1, 1.0)),
    ],
)
def test_the_path_leads_there(left: Any, right: Any, found: tuple[str, Any, Any]) -> None:
    """The path names keys and indices from the outside in."""
    assert repr(first_difference(left, right)) == repr(found)


def test_long_texts_are_shown_where_they_part() -> None:
    """Of two long texts the stretch around the first other character, and both lengths."""
    assert sides_text("a" * 500 + "b", "a" * 500) == (
        '"aaaaaaaaaab" from character 490 of 501',
        '"aaaaaaaaaa" from character 490 of 500',
    )


HEADER = SessionHeader("s0", 1)
OPENED = (OpenInstance(0), Returned()), (Create(0, 0, HEADER), Returned(HandleView("s0", HEADER, "write", None)))
Happened = Callable[..., list[Event]]


def test_a_read_is_compared_with_what_was_appended(event: Callable[..., SessionEvent], happened: Happened) -> None:
    """Read through another handle, with an offset, after a refused batch at the same seq: the accepted one counts."""
    refused: Outcome = Raised(ErrorView("SessionContiguityError", "X", "no", expected=2, got=1))
    run: tuple[tuple[Operation, Outcome], ...] = (
        *OPENED,
        (Append(0, [event(0), event(1, x=1)]), Returned()),
        (Append(0, [event(1, x=2)]), refused),
        (OpenSession(0, 1, "s0", "read"), Returned(HandleView("s0", HEADER, "read", None))),
        (Read(1, 1), Returned([event(1, x=3)])),
    )
    found = answer_difference(happened(*run), 5)
    assert found is not None
    assert found.text() == "at [0].data.x: appended 1, read 3"
    assert found.is_told_by("at seq 1: event.data.x: expected 1, got 3")
    assert not found.is_told_by("returned 1 event")


def test_a_read_inside_an_overlap_is_compared_with_what_had_ended(
    event: Callable[..., SessionEvent], happened: Happened, overlapped: Happened
) -> None:
    """What was appended before the overlap or ended in it counts; what ended after the read does not."""
    read = Step(Read(0))
    rows = ((Step(Append(0, [event(0, x=1)])), Step(Append(0, [event(1, x=1)]))), (read, read))
    order = [(1, 0, 0), (1, 0, 1), (1, 1, 1), (2, 0, 1), (2, 0, 2), (1, 1, 3), (2, 1, 3), (2, 1, 4)]
    wrong = Returned([event(0, x=1), event(1, x=2)])
    answers: dict[tuple[int, int], Outcome] = dict.fromkeys(((2, 0), (2, 1)), wrong)
    history = [*happened(*OPENED), *overlapped(2, Overlap(rows), order, answers)]
    assert answer_difference(history, 2, client=2, step=0) is None
    found = answer_difference(history, 2, client=2, step=1)
    assert found is not None
    assert found.text() == "at [1].data.x: appended 1, read 2"
    assert answer_difference(history, 2) is None


@pytest.mark.parametrize("read", [[], [{"type": "user/message", "seq": 0, "time": 1, "data": {}}], [{"seq": 9}], ["?"]])
def test_nothing_is_said_where_nothing_parts(
    event: Callable[..., SessionEvent], happened: Happened, read: list[Any]
) -> None:
    """A short or shifted answer is the model's to describe; an equal one has no difference."""
    history = happened(*OPENED, (Append(0, [event(0)]), Returned()), (Read(0), Returned(read)))
    assert answer_difference(history, 3) is None
    assert answer_difference(history, None) is None
    assert answer_difference(history, 2) is None


@pytest.mark.parametrize("seen", ["stat", "open"])
def test_a_header_is_compared_with_the_one_created(happened: Happened, seen: str) -> None:
    """Through a snapshot or a handle, the field that differs is named."""
    other = replace(HEADER, extra={"k": 1})
    answers: dict[str, tuple[Operation, Outcome]] = {
        "stat": (Stat(0, "s0"), Returned(SnapshotView(other, 0, 0, None))),
        "open": (OpenSession(0, 1, "s0", "read"), Returned(HandleView("s0", other, "read", None))),
    }
    found = answer_difference(happened(*OPENED, answers[seen]), 2)
    assert found is not None
    assert found.text() == "at header.extra.k: created with nothing, shows 1"
