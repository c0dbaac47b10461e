"""Values to refuse and values past the common ground: graded as promised, placed anywhere, saved and shrunk."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.contract import Capabilities, materialize_append_batch
from conformance.model.batches import BAD_ARGUMENT, JsonGrade, batch_refusals, json_grade
from conformance.model.values import encode
from strategies.hostile_values import BEYOND_MAKERS, REFUSED_MAKERS, wrap

Minimal = Callable[..., Any]
Saved = Callable[[Any], Any]

OPEN = Capabilities(vocabulary="open")


@settings(deadline=None, max_examples=150)
@given(strategies.refused_values())
def test_refused_values_are_outside_json(value: Any) -> None:
    """The model grades every one of them as outside JSON."""
    assert json_grade(value) == JsonGrade.OUTSIDE


@settings(deadline=None, max_examples=150)
@given(strategies.beyond_common_values())
def test_beyond_common_values_are_just_that(value: Any) -> None:
    """The model grades every one of them as JSON past the common ground: neither common nor outside."""
    assert json_grade(value) == JsonGrade.BEYOND


@pytest.mark.parametrize("make", [*REFUSED_MAKERS, *BEYOND_MAKERS])
def test_each_sample_can_be_saved(saved: Saved, make: Callable[[], Any]) -> None:
    """What comes back from a saved program has the same form, and the same grade."""
    value = make()
    assert encode(saved(value)) == encode(value)
    assert json_grade(saved(value)) == json_grade(value) != JsonGrade.COMMON


def test_samples_are_fresh() -> None:
    """Two draws share no container, so that changing one value changes no other."""
    for make in (*REFUSED_MAKERS, *BEYOND_MAKERS):
        if isinstance(make(), list | dict | set):
            assert make() is not make()


@settings(deadline=None)
@given(strategies.refused_bodies())
def test_refused_bodies_must_be_refused(bodies: list[dict[Any, Any]]) -> None:
    """JSON-02 and nothing else forbids the batch; the shared validation refuses it too."""
    batch = strategies.numbered(bodies, 4)
    found = batch_refusals(batch, 4, OPEN)
    assert found.must == {"JSON-02": BAD_ARGUMENT}
    with pytest.raises((TypeError, ValueError)):
        materialize_append_batch(batch)


@settings(deadline=None)
@given(strategies.beyond_common_bodies())
def test_beyond_common_bodies_may_be_refused(bodies: list[dict[str, Any]]) -> None:
    """Nothing forbids the batch, and a refusal for its arguments is allowed."""
    found = batch_refusals(strategies.numbered(bodies), 0, OPEN)
    assert found.must == {}
    assert found.may == BAD_ARGUMENT


@settings(deadline=None)
@given(strategies.bodies_with(strategies.json_values()))
def test_bodies_with_a_good_value_are_good(body: dict[str, Any]) -> None:
    """A place for a value never spoils the event around it."""
    found = batch_refusals(strategies.numbered([body]), 0, Capabilities())
    assert not found.must
    assert not found.may


@pytest.mark.parametrize(
    "condition",
    [
        lambda body: body["data"] == "here",
        lambda body: isinstance(body["data"], dict) and "here" in body["data"]["message"]["content"][1].values(),
        lambda body: body.get("") == "here",
        lambda body: body.get("surfaceOp") == "here",
        lambda body: body.get("sourceEventSeqs") == [0, "here"],
    ],
)
def test_values_are_placed_everywhere(minimal: Minimal, condition: Callable[[Any], bool]) -> None:
    """Data, deep inside data, unknown keys and optional fields are all reached."""
    assert condition(minimal(strategies.bodies_with(st.just("here"), optional_fields=True), condition))


def test_refused_values_come_at_any_place_of_a_batch(minimal: Minimal) -> None:
    """Not only the first event is spoiled, and a key at the top of an event is among what is."""
    last = minimal(strategies.refused_bodies(), lambda bodies: len(bodies) > 2 and json_grade(bodies[-1]) == 2)
    assert [json_grade(body) for body in last] == [0, 0, 2]
    keyed = minimal(strategies.refused_bodies(), lambda bodies: any(type(key) is not str for key in bodies[0]))
    assert keyed == [{"type": "user/message", "time": 0, "data": None, 1: 0}]


def test_hostile_values_shrink_to_the_plainest(minimal: Minimal) -> None:
    """NaN for what is refused, 2**53 for what is beyond, bare and in one plain event."""
    assert math.isnan(minimal(strategies.refused_values()))
    assert minimal(strategies.beyond_common_values()) == 2**53
    (body,) = minimal(strategies.beyond_common_bodies())
    assert (body["time"], body["data"]) in ((2**53, None), (0, 2**53))
    (body,) = minimal(strategies.refused_bodies(), lambda bodies: json_grade(bodies[0]["data"]) == JsonGrade.OUTSIDE)
    assert math.isnan(body["data"])


@given(st.lists(st.integers(0, 4), max_size=4))
def test_wrap_makes_one_container_or_more_for_each_number(containers: list[int]) -> None:
    """The value is still inside, once."""
    assert repr(wrap("here", containers)).count("here") == 1
