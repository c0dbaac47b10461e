"""Unknown event types: really unknown, marked or not as promised, among known ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings

import strategies
from conformance.contract import KNOWN_EVENT_TYPES, Capabilities, is_understood
from conformance.model.batches import batch_refusals

Event = dict[str, Any]


@settings(deadline=None)
@given(strategies.unknown_types())
def test_unknown_types_are_unknown(type: str) -> None:
    """Text that is not empty and not in the vocabulary, however near it comes."""
    assert type
    assert type not in KNOWN_EVENT_TYPES


@settings(deadline=None)
@given(strategies.unknown_bodies())
def test_unknown_bodies_are_refused_by_a_closed_vocabulary(bodies: list[Event]) -> None:
    """FMT-02 and nothing else forbids the batch; an open vocabulary takes it."""
    batch = strategies.numbered(bodies)
    assert set(batch_refusals(batch, 0, Capabilities()).must) == {"FMT-02"}
    assert not batch_refusals(batch, 0, Capabilities(vocabulary="open")).must


@settings(deadline=None)
@given(strategies.ignorable_bodies())
def test_ignorable_bodies_are_kept(bodies: list[Event]) -> None:
    """Nothing forbids the batch, and something in it is unknown."""
    assert not batch_refusals(strategies.numbered(bodies), 0, Capabilities()).must
    assert any(body["type"] not in KNOWN_EVENT_TYPES for body in bodies)


def test_unknown_events_shrink_to_one_plain_event(minimal: Callable[..., Any]) -> None:
    """One event of a foreign type without data; a mark only where it is promised."""
    plain = {"type": "x-vendor/event", "time": 0, "data": None}
    assert minimal(strategies.unknown_types()) == plain["type"]
    assert minimal(strategies.unknown_bodies()) == [plain]
    assert minimal(strategies.ignorable_bodies()) == [{**plain, "ignorable": True}]


def test_unknown_events_stand_anywhere(examples: Callable[..., list[Any]]) -> None:
    """First, last and between known events; marked false as well as unmarked; near misses of known types."""
    drawn = examples(strategies.unknown_bodies(), 300)
    shapes = {tuple(is_understood(body) for body in bodies) for bodies in drawn}
    assert {(False,), (True, False), (False, True), (True, False, True)} <= shapes
    unknown = [body for bodies in drawn for body in bodies if not is_understood(body)]
    assert {body.get("ignorable", "absent") for body in unknown} == {False, "absent"}
    assert any(body["type"].strip().lower() in KNOWN_EVENT_TYPES for body in unknown)
