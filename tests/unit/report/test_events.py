"""Events own what they are built from, and equal what their JSON form gives back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from conformance.report.events import EVENTS, FailureFound, ItemFinished, RunStarted, event_from_json


def test_a_header_equals_its_json_read_back(started: Callable[..., RunStarted]) -> None:
    """Tuples inside capabilities and rulings survive the way through JSON."""
    header = started("SEQ-01", rulings={"SEQ-01": ("not measured", "no")}, items=["a", "b"])
    assert event_from_json(json.loads(json.dumps(header.to_json()))) == header
    assert header.rulings == {"SEQ-01": ("not measured", "no")}
    assert header.items == ("a", "b")


def test_a_failure_equals_its_json_read_back(gap_failure: FailureFound) -> None:
    """Histories hold tuples (members and notes of errors); the event holds what JSON has of them."""
    assert event_from_json(json.loads(json.dumps(gap_failure.to_json()))) == gap_failure


def test_an_event_shares_nothing_with_its_maker() -> None:
    """What the caller does to its mapping later does not change the event; read-only mappings are taken too."""
    witnesses = {"SEQ-01": 1}
    mine = ItemFinished(item="a", outcome="passed", witnesses=witnesses)
    frozen = ItemFinished(item="a", outcome="passed", witnesses=MappingProxyType(witnesses))
    witnesses["SEQ-01"] = 9
    assert mine == frozen
    assert mine.witnesses == {"SEQ-01": 1}
    form = mine.to_json()
    form["witnesses"]["SEQ-01"] = 9
    assert mine.witnesses == {"SEQ-01": 1}


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"event": "unheard_of"}, KeyError),
        ({"event": "warning"}, TypeError),
        ({"event": "warning", "text": "a", "colour": "red"}, TypeError),
    ],
)
def test_what_is_no_event_is_refused(form: Mapping[str, Any], error: type[Exception]) -> None:
    """Unknown names, missing fields and unknown fields raise."""
    with pytest.raises(error):
        event_from_json(form)


def test_every_event_has_a_name_of_its_own() -> None:
    """The table of events is keyed by the names of its classes."""
    assert all(cls.name == name for name, cls in EVENTS.items())
    assert len(EVENTS) == 7
