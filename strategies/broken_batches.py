"""Batches that ``append`` must refuse: no batch at all, seqs in the wrong place, values that are no JSON.

What is beyond the common ground, and may be refused, stands here too. Each has one thing wrong with it, at any place
in a batch that is good otherwise, so that a backend that looks at the first event only, or writes as it goes, is
found.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from conformance.contract import MAX_SAFE_INTEGER
from conformance.model.values import SampleEnum, SampleObject
from strategies.batches import EXTRA_KEYS, Body, numbered, palette_bodies
from strategies.hostile_values import BAD_KEYS, beyond_common_values, refused_values

_Event = dict[str, Any]


def _without(key: str) -> Callable[[_Event], Any]:
    return lambda event: {name: value for name, value in event.items() if name != key}


def _with(key: str, value: Any) -> Callable[[_Event], Any]:
    return lambda event: {**event, key: value}


_NO_TYPES: tuple[Any, ...] = ("", None, 7, True, b"user/message", ["user/message"], SampleEnum.MEMBER)
_NO_SEQS: tuple[Any, ...] = (-1, -(2**53), True, False, None, "0", [0], float("nan"), decimal.Decimal(0))
_NO_TIMES: tuple[Any, ...] = (
    *(None, True, False, 0.0, 1.5, "0", [], float("inf"), decimal.Decimal(1)),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    datetime.date(2024, 1, 1),
)

BROKEN_EVENTS: tuple[Callable[[_Event], Any], ...] = (
    *(_without(key) for key in ("data", "type", "seq", "time")),
    *(_with("type", value) for value in _NO_TYPES),
    *(_with("seq", value) for value in _NO_SEQS),
    *(_with("time", value) for value in _NO_TIMES),
    lambda event: {**event, "seq": float(event["seq"])},
    lambda event: {**event, "seq": str(event["seq"])},
    lambda event: None,
    lambda event: event["type"],
    lambda event: event["seq"],
    lambda event: [],
    lambda event: [event],
    lambda event: (event,),
    lambda event: list(event.items()),
    lambda event: {},
    lambda event: b"{}",
    lambda event: SampleObject(),
)
"""Ways to make a good event one that is none; each leaves the event it is given alone."""

NOT_LISTS: tuple[Callable[[list[_Event]], Any], ...] = (
    lambda events: tuple(events),
    lambda events: events[0],
    lambda events: dict(enumerate(events)),
    lambda events: {event["type"]: event for event in events},
    lambda events: {"events": events},
    lambda events: None,
    lambda events: "events",
    lambda events: "",
    lambda events: b"[]",
    lambda events: 0,
    lambda events: {event["type"] for event in events},
    lambda events: (),
    lambda events: {},
    lambda events: SampleObject(),
)
"""Ways to make a good batch something that is no list."""


def broken_batches(first_seq: int = 0) -> st.SearchStrategy[Any]:
    """What ``append`` must refuse as no batch with ``TypeError`` or ``ValueError`` (SEQ-11).

    One malformed event among up to four good ones whose seqs are right, or something that is no list. From four cheap
    draws. Shrinks to one event without data.

    Args:
        first_seq: of the first event.
    """
    whole = len(BROKEN_EVENTS)
    return st.builds(
        lambda way, before, after, start: (
            broken(BROKEN_EVENTS[way], before, after, start, first_seq)
            if way < whole
            else NOT_LISTS[way - whole](numbered(palette_bodies(1 + before, start), first_seq))
        ),
        st.integers(0, whole + len(NOT_LISTS) - 1),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 15),
    )


def broken(way: Callable[[_Event], Any], before: int = 0, after: int = 0, start: int = 0, first_seq: int = 0) -> Any:
    """A batch with one event spoiled in this way, behind ``before`` and ahead of ``after`` good ones."""
    events: list[Any] = list(numbered(palette_bodies(before + 1 + after, start), first_seq))
    events[before] = way(events[before])
    return events


@cache
def misplaced_seqs(most: int = 6) -> st.SearchStrategy[list[int]]:
    """Seqs of a batch relative to the next seq of the log, not all of them right (SEQ-02).

    A gap, an overlap with what is stored, a repeat, a descent or two neighbours swapped, at any place; negative
    where the batch overlaps, which is no seq at all on a log too short for it. Shrinks to a gap of one: ``[1]``.

    Args:
        most: seqs in one batch before one of them is repeated.
    """
    return st.builds(
        _misplace,
        st.sampled_from(["gap", "overlap", "repeat", "descent", "swap", "far gap"]),
        st.integers(1, most),
        st.integers(0, most - 1),
        st.integers(1, 4),
    )


def _misplace(kind: str, count: int, place: int, amount: int) -> list[int]:
    place %= count
    match kind:
        case "gap":
            return [*range(place), *range(place + amount, count + amount)]
        case "far gap":
            # The distance of a counter that lost its upper half, or of one that counts in another unit.
            far = (2**16, 2**31, 2**32, 2**52)[amount - 1]
            return [*range(place), *range(place + far, count + far)]
        case "overlap":
            return [*range(-amount, count - amount)]
        case "repeat":
            return [*range(place + 1), *range(place, count)]
        case "descent":
            return [*range(place + 1), *range(place - amount, count - amount)]
        case _:
            seqs = [*range(max(count, 2))]
            place %= len(seqs) - 1
            seqs[place : place + 2] = seqs[place + 1], seqs[place]
            return seqs


def bodies_with(values: st.SearchStrategy[Any], *, optional_fields: bool = False) -> st.SearchStrategy[Body]:
    """One good body that holds a drawn value: as its data, deep inside its data, or under an unknown key.

    Shrinks to a ``user/message`` with the value, as small as it gets, for data.

    Args:
        values: what to place.
        optional_fields: also inside ``surfaceOp`` and ``sourceEventSeqs``, where not every JSON value has a meaning.
    """
    return st.builds(_place, st.integers(0, 5 if optional_fields else 3), values, st.sampled_from(EXTRA_KEYS))


def _place(place: int, value: Any, key: str) -> Body:
    body: Body = {"type": "user/message", "time": 0, "data": None}
    match place:
        case 0:
            body["data"] = value
        case 1:
            body["data"] = {"message": {"role": "user", "content": [{"type": "text", "text": "x"}, {key: value}]}}
        case 2:
            body[key] = value
        case 3:
            body["type"], body[key] = "tool/call", {"deep": [[{"er": [value]}]]}
        case 4:
            body["surfaceOp"] = value
        case _:
            body["sourceEventSeqs"] = [0, value]
    return body


@cache
def refused_bodies() -> st.SearchStrategy[list[Body]]:
    """Bodies of which one holds what JSON cannot (JSON-02), at any place in it and in the batch.

    A key at the top that is no text is among it. Shrinks to one body with NaN or such a key in it.
    """
    top_key = st.builds(
        lambda key: {"type": "user/message", "time": 0, "data": None, key: 0}, st.sampled_from(BAD_KEYS)
    )
    return _among(_now_and_then(top_key, bodies_with(refused_values(), optional_fields=True)))


@cache
def beyond_common_bodies() -> st.SearchStrategy[list[Body]]:
    """Bodies of which one holds what is beyond JSON's common ground (JSON-03), at any place in it and in the batch.

    A time past 2**53 - 1 is among them. Shrinks to one body with 2**53 in it.
    """
    late = st.builds(
        lambda time: {"type": "user/message", "time": time, "data": None},
        st.integers(MAX_SAFE_INTEGER + 1, 2**64),
    )
    return _among(_now_and_then(late, bodies_with(beyond_common_values(), optional_fields=True)))


def _now_and_then(seldom: st.SearchStrategy[Body], mostly: st.SearchStrategy[Body]) -> st.SearchStrategy[Body]:
    """The first one time in eight, for it has few forms; shrinks to the second."""
    return st.sampled_from([mostly] * 7 + [seldom]).flatmap(lambda strategy: strategy)


_NO_FLAGS: tuple[Any, ...] = (1, 0, None, "true", "", [], {})
_NO_SEQ_LISTS: tuple[Any, ...] = (7, "7", {}, [None], ["7"], [1.0], [True], [[]])
_DEBATABLE = (
    *(("ignorable", value) for value in _NO_FLAGS),
    *(("sourceEventSeqs", value) for value in _NO_SEQ_LISTS),
)


@cache
def debatable_bodies() -> st.SearchStrategy[list[Body]]:
    """Bodies of which one has an optional field that holds JSON of another type: ``append`` may refuse the batch.

    Shrinks to one body with a number for ``ignorable``.
    """
    fields = st.sampled_from(_DEBATABLE)
    return _among(fields.map(lambda field: {"type": "user/message", "time": 0, "data": None, field[0]: field[1]}))


def _among(bodies: st.SearchStrategy[Body]) -> st.SearchStrategy[list[Body]]:
    return st.builds(
        lambda body, before, after, start: [*palette_bodies(before, start), body, *palette_bodies(after, start)],
        bodies,
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 15),
    )
