"""Batches that must be refused: for their shape or their seqs, one thing wrong in each, at any place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.contract import Capabilities, SessionContiguityError, assert_contiguous, materialize_append_batch
from conformance.model.batches import BAD_ARGUMENT, batch_refusals, is_event
from conformance.model.values import encode
from strategies.broken_batches import BROKEN_EVENTS, NOT_LISTS, broken

Minimal = Callable[..., Any]
Saved = Callable[[Any], Any]

LATER = 1_000
"""A next seq that no relative seq gets below zero from."""


@settings(deadline=None, max_examples=150)
@given(strategies.broken_batches(7))
def test_broken_batches_are_no_batches(events: Any) -> None:
    """SEQ-11 and nothing else forbids the call; the shared validation refuses it too."""
    assert batch_refusals(events, 7, Capabilities()).must == {"SEQ-11": BAD_ARGUMENT}
    with pytest.raises((TypeError, ValueError)):
        materialize_append_batch(events)


@pytest.mark.parametrize("way", BROKEN_EVENTS)
@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 0), (1, 2)])
def test_one_event_is_spoiled_and_the_others_are_good(way: Callable[[Any], Any], before: int, after: int) -> None:
    """Every way spoils exactly the event that it is given, at whatever place; the seqs beside it are right."""
    events = broken(way, before, after, start=3, first_seq=5)
    assert [is_event(event) for event in events] == [True] * before + [False] + [True] * after
    others = [event["seq"] for place, event in enumerate(events) if place != before]
    assert others == [seq for seq in range(5, 5 + len(events)) if seq != 5 + before]


@settings(deadline=None)
@given(strategies.debatable_bodies())
def test_debatable_bodies_may_be_refused(bodies: list[dict[str, Any]]) -> None:
    """Nothing forbids the batch, and a refusal for its arguments is allowed."""
    found = batch_refusals(strategies.numbered(bodies), 0, Capabilities())
    assert not found.must
    assert found.may == BAD_ARGUMENT


def test_every_way_can_be_saved(saved: Saved) -> None:
    """A refused call is kept as data like any other."""
    for batch in [*(broken(way, 1, 1) for way in BROKEN_EVENTS), *(way([broken(len)]) for way in NOT_LISTS[4:9])]:
        assert encode(saved(batch)) == encode(batch)


def test_broken_batches_shrink_to_an_event_without_data(minimal: Minimal) -> None:
    """The plainest broken batch is one event that lacks its data."""
    (event,) = minimal(strategies.broken_batches())
    assert event == {"type": "user/message", "seq": 0, "time": 1_700_000_000_000}
    first = minimal(strategies.broken_batches(), lambda events: not isinstance(events, list))
    assert first == ({**event, "data": None},)


def test_ways_reach_the_last_event_and_the_batch_itself(minimal: Minimal) -> None:
    """A drawn batch may be broken at its very end, or be no list."""
    last = minimal(
        strategies.broken_batches(), lambda events: isinstance(events, list) and len(events) > 2 and is_event(events[1])
    )
    assert [is_event(event) for event in last] in ([False, True, True], [True, True, False])
    assert minimal(strategies.broken_batches(), lambda events: events is None) is None


@settings(deadline=None, max_examples=150)
@given(strategies.misplaced_seqs(), strategies.small_bodies())
def test_misplaced_seqs_break_contiguity(seqs: list[int], bodies: list[dict[str, Any]]) -> None:
    """SEQ-02 and nothing else forbids the batch, and the model and the shared check agree where."""
    events = [{**bodies[place % len(bodies)], "seq": LATER + seq} for place, seq in enumerate(seqs)]
    found = batch_refusals(events, LATER, Capabilities())
    assert set(found.must) == {"SEQ-02"}
    assert not found.may
    with pytest.raises(SessionContiguityError) as raised:
        assert_contiguous(events, LATER)
    assert (raised.value.expected, raised.value.got) == (found.expected, found.got)


@pytest.mark.parametrize(
    ("condition", "smallest"),
    [
        (lambda seqs: True, [1]),
        (lambda seqs: seqs[0] < 0, [-1]),
        (lambda seqs: len(set(seqs)) < len(seqs), [0, 0]),
        (lambda seqs: seqs[0] == 0 and sorted(seqs) == list(range(len(seqs))), None),
        (lambda seqs: seqs[:2] == [0, 1] and seqs[-1] == 1, [0, 1, 1]),
        (lambda seqs: seqs[:2] == [0, 1] and seqs[-1] > 1, [0, 1, 3]),
        (lambda seqs: max(seqs) > 2**50, [2**52]),
        (lambda seqs: any(b < a for a, b in pairwise(seqs)), [0, -1]),
    ],
)
def test_every_misplacement_comes_up(minimal: Minimal, condition: Callable[[Any], bool], smallest: Any) -> None:
    """Gaps, overlaps, repeats and descents, at the first place and behind good seqs, shrink to their plainest."""
    found = minimal(strategies.misplaced_seqs(), condition)
    assert condition(found)
    if smallest is not None:
        assert found == smallest


@given(st.integers(1, 8), st.data())
def test_misplaced_seqs_keep_to_their_size(most: int, data: st.DataObject) -> None:
    """A batch is no longer than asked, but for the one seq that a repeat or a descent adds."""
    assert 1 <= len(data.draw(strategies.misplaced_seqs(most))) <= 2 * most + 1
