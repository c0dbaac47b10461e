"""What batches are made of: bodies of events, seqs in the wrong place, and batches that are none."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from strategies.json_values import json_values

EVENT_TYPES = ("user/message", "assistant/message", "turn/start", "turn/end", "tool/call", "tool/result")
"""Known event types that bodies are drawn from."""


@cache
def event_bodies() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Up to five events without their seqs: type, time, data, and sometimes further keys.

    Shrinks to one event of type ``user/message`` with null data.
    """
    body = st.fixed_dictionaries(
        {
            "type": st.sampled_from(EVENT_TYPES),
            "time": st.integers(0, 2**41),
            "data": json_values(),
        },
        optional={"surfaceOp": st.just("append"), "ignorable": st.booleans(), "x": json_values(2)},
    )
    return st.lists(body, min_size=1, max_size=5)


DATA_PALETTE: tuple[Any, ...] = (
    None,
    {},
    {"text": "hello"},
    True,
    1,
    1.0,
    [],
    "",
    {"": [None, False, 0, 0.5, -1]},
    {"text": "zeilen\nund\u2028noch\u0000eine", "n": 2**53 - 1},
    [[[[{"deep": [1, 2, {"er": "\U0001f600"}]}]]]],
    {"a": {"b": {"c": {"d": []}}}, "same": "same"},
    -(2**53 - 1),
    1e-300,
    {"message": {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}},
    "x" * 5_000,
)
"""Data that small bodies cycle through: each kind of JSON value, and a text longer than a disk page."""


@cache
def small_bodies() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Up to five events without their seqs, from two cheap draws: how many, and where in the palette they begin.

    For machines, where a rich value in every step would cost more than the step. Shrinks to one event with null data.
    """
    return st.builds(_small_bodies, st.integers(1, 5), st.integers(0, len(DATA_PALETTE) - 1))


def _small_bodies(count: int, start: int) -> list[dict[str, Any]]:
    return [
        {
            "type": EVENT_TYPES[(start + place) % len(EVENT_TYPES)] if start else EVENT_TYPES[0],
            "time": 1_700_000_000_000 + place,
            "data": DATA_PALETTE[(start + place) % len(DATA_PALETTE)],
            **({"surfaceOp": "append", "x-kept": [start]} if start % 3 == 2 else {}),
        }
        for place in range(count)
    ]


@cache
def misplaced_seqs() -> st.SearchStrategy[list[int]]:
    """Seqs of a batch relative to the next seq of the log, not all of them right (SEQ-02).

    A gap, an overlap, a repeat or a descent; shrinks to a gap of one.
    """
    return st.sampled_from(
        [[1], [0, 2], [2], [-1], [0, 0], [0, 1, 1], [1, 0], [0, 1, 0], [-1, 0], [0, 1, 3], [0, -1], [0, 1, 2, 4]]
    )


@cache
def broken_batches() -> st.SearchStrategy[Any]:
    """What ``append`` must refuse as no batch at all (SEQ-11); shrinks to an event without data."""
    good = {"type": "user/message", "seq": 0, "time": 0, "data": None}

    def without(key: str) -> dict[str, Any]:
        return {name: value for name, value in good.items() if name != key}

    return st.sampled_from(
        [
            [without("data")],
            [without("type")],
            [without("seq")],
            [without("time")],
            [{**good, "type": ""}],
            [{**good, "type": 7}],
            [{**good, "seq": -1}],
            [{**good, "seq": True}],
            [{**good, "seq": 0.0}],
            [{**good, "seq": "0"}],
            [{**good, "time": False}],
            [{**good, "time": 1.5}],
            [{**good, "time": None}],
            [None],
            ["event"],
            [[]],
            (good,),
            good,
            None,
            "events",
        ]
    )
