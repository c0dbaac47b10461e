"""Good batches: accepted as they are, numbered and cut without loss, shrinking to one plain event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.contract import KNOWN_EVENT_TYPES, Capabilities, materialize_append_batch
from conformance.model.batches import batch_refusals
from strategies.batches import EXTRA_KEYS, FIELDS, palette_bodies

Minimal = Callable[..., Any]
Event = dict[str, Any]

PLAIN = {"type": "user/message", "time": 0, "data": None}


def is_accepted(batch: Any, first_seq: int) -> bool:
    """Whether the model allows no refusal of the batch, and the shared validation takes it as it is."""
    found = batch_refusals(batch, first_seq, Capabilities())
    return not found.must and not found.may and materialize_append_batch(batch) == batch


@settings(deadline=None)
@given(st.integers(0, 2**31), st.data())
def test_batches_are_accepted(first_seq: int, data: st.DataObject) -> None:
    """A closed vocabulary takes every batch at the seq it was made for."""
    batch = data.draw(strategies.batches(first_seq))
    assert batch
    assert is_accepted(batch, first_seq)


@settings(deadline=None)
@given(strategies.event_bodies(), strategies.small_bodies(), st.integers(0, 9))
def test_bodies_are_accepted_at_any_seq(bodies: list[Event], small: list[Event], first_seq: int) -> None:
    """Numbering is all that bodies lack."""
    assert "seq" not in bodies[0]
    assert "seq" not in small[0]
    assert is_accepted(strategies.numbered(bodies, first_seq), first_seq)
    assert is_accepted(strategies.numbered(small, first_seq), first_seq)


def test_batches_shrink_to_one_plain_event(minimal: Minimal) -> None:
    """One user message at time 0 without data."""
    assert minimal(strategies.batches(4)) == [{**PLAIN, "seq": 4}]
    assert minimal(strategies.event_bodies()) == [PLAIN]
    marked = minimal(strategies.event_bodies(), lambda bodies: "ignorable" in bodies[0])
    assert marked == [{**PLAIN, "ignorable": False}]
    assert minimal(strategies.small_bodies()) == [{**PLAIN, "time": 1_700_000_000_000}]


def test_bodies_have_everything_that_an_event_can(examples: Callable[..., list[Any]]) -> None:
    """Most known types, every optional field and most unknown keys come up in a few hundred draws, and nothing else."""
    bodies = [body for drawn in examples(strategies.event_bodies(), 300) for body in drawn]
    assert len(KNOWN_EVENT_TYPES - {body["type"] for body in bodies}) < 10
    keys = {key for body in bodies for key in body}
    assert len((FIELDS - {"seq"} | set(EXTRA_KEYS)) ^ keys) < 5
    assert FIELDS - keys == {"seq"}
    assert set(strategies.EVENT_TYPES) == KNOWN_EVENT_TYPES


def test_unknown_keys_are_unknown() -> None:
    """No unknown key is one that an event has by the contract, and none stands there twice."""
    assert not FIELDS & set(EXTRA_KEYS)
    assert len(set(EXTRA_KEYS)) == len(EXTRA_KEYS)


def test_a_vocabulary_of_ones_own_is_used(examples: Callable[..., list[Any]]) -> None:
    """Types and data come from the strategy that a backend gives."""
    own = strategies.event_bodies(st.just(("mine", 7)), kinds=frozenset())
    bodies = [body for drawn in examples(own, 100) for body in drawn]
    assert {(body["type"], body["data"]) for body in bodies} == {("mine", 7)}


@given(st.integers(0, 6), st.data())
def test_cutting_loses_nothing(count: int, data: st.DataObject) -> None:
    """The batches together are the events in their order, and none of them is empty."""
    events = strategies.numbered(palette_bodies(count))
    cut = data.draw(strategies.cut_into_batches(events))
    assert all(cut)
    assert [event for batch in cut for event in batch] == events


def test_cuts_shrink_to_one_batch(minimal: Minimal) -> None:
    """Uncut is the plainest; one event for each batch comes up."""
    events = strategies.numbered(palette_bodies(4))
    assert minimal(strategies.cut_into_batches(events)) == [events]
    assert minimal(strategies.cut_into_batches(events), lambda cut: len(cut) == 2) == [events[:1], events[1:]]
    alone = minimal(strategies.cut_into_batches(events), lambda cut: len(cut) == len(events))
    assert alone == [[event] for event in events]


@pytest.mark.parametrize("start", range(len(strategies.DATA_PALETTE)))
def test_palette_bodies_begin_where_asked(start: int) -> None:
    """The palette goes round, and each stretch of it is a good batch."""
    bodies = palette_bodies(5, start)
    assert bodies[0]["data"] == strategies.DATA_PALETTE[start]
    assert is_accepted(strategies.numbered(bodies), 0)
