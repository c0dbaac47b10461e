"""What good batches are made of: bodies of events, ways to number and cut them, and batches of every kind.

A *body* is an event without its seq, so that one draw fits wherever a log happens to stand. ``numbered`` makes a
batch of bodies. Batches that must be refused are in ``strategies.broken_batches``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from conformance.contract import KNOWN_EVENT_TYPES, MAX_SAFE_INTEGER
from strategies.conversations import conversation_bodies
from strategies.json_values import ODD_KEYS, VALUE_KINDS, json_values
from strategies.optional import some_of
from strategies.sized_batches import boundary_batches

_COMMON_TYPES = ("user/message", "assistant/message", "turn/start", "turn/end", "tool/call", "tool/result")
EVENT_TYPES = (*_COMMON_TYPES, *sorted(KNOWN_EVENT_TYPES - set(_COMMON_TYPES)))
"""Every known event type, the common ones first."""

FIELDS = frozenset({"type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs"})
"""Keys of an event that have a meaning; all others are kept verbatim."""

EXTRA_KEYS = (
    "x",
    *(key for key in ODD_KEYS if key not in FIELDS),
    "Type",
    "type ",
    "_type",
    "SEQ",
    "seq0",
    "time0",
    "version",
    "inheritedEventCount",
)
"""Unknown keys for events, some of them a near miss of a known one."""

Body = dict[str, Any]


def event_bodies(
    events: st.SearchStrategy[tuple[str, Any]] | None = None, *, kinds: frozenset[str] = frozenset(VALUE_KINDS)
) -> st.SearchStrategy[list[Body]]:
    """One to five bodies that a backend must accept: type, time, data, and sometimes further keys.

    Shrinks to one body of type ``user/message`` at time 0 with null data.

    Args:
        events: (type, data) of a vocabulary other than the default one, as ``Backend.events`` gives it.
        kinds: of values, as ``json_values`` takes them; for data where ``events`` is not given, and for further keys.
    """
    return _event_bodies(kinds) if events is None else st.lists(_bodies(events, kinds), min_size=1, max_size=5)


@cache
def _event_bodies(kinds: frozenset[str]) -> st.SearchStrategy[list[Body]]:
    typed = st.tuples(st.sampled_from(EVENT_TYPES), json_values(kinds=kinds))
    return st.lists(_bodies(typed, kinds), min_size=1, max_size=5)


def _bodies(typed: st.SearchStrategy[tuple[str, Any]], kinds: frozenset[str]) -> st.SearchStrategy[Body]:
    optional = some_of(
        {
            "surfaceOp": st.just("append"),
            "sourceEventSeqs": st.lists(st.integers(0, 9), max_size=3),
            "ignorable": st.booleans(),
        }
    )
    return st.builds(
        _body,
        typed,
        st.integers(0, 2**41) | st.sampled_from([2**31, 2**32, MAX_SAFE_INTEGER]),
        optional,
        st.dictionaries(st.sampled_from(EXTRA_KEYS), json_values(2, kinds), max_size=2),
    )


def _body(typed: tuple[str, Any], time: int, optional: dict[str, Any], extra: dict[str, Any]) -> Body:
    return {"type": typed[0], "time": time, "data": typed[1], **optional, **extra}


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
def small_bodies() -> st.SearchStrategy[list[Body]]:
    """Up to five bodies from two cheap draws: how many, and where in the palette they begin.

    For machines, where a rich value in every step would cost more than the step. The bodies share the palette's values,
    so copy them before you change them. Shrinks to one ``user/message`` with null data.
    """
    return st.builds(palette_bodies, st.integers(1, 5), st.integers(0, len(DATA_PALETTE) - 1))


def palette_bodies(count: int, start: int = 0) -> list[Body]:
    """``count`` good bodies whose data begin at place ``start`` of the palette."""
    return [
        {
            "type": EVENT_TYPES[(start + place) % len(EVENT_TYPES)] if start else EVENT_TYPES[0],
            "time": 1_700_000_000_000 + place,
            "data": DATA_PALETTE[(start + place) % len(DATA_PALETTE)],
            **({"surfaceOp": "append", "x-kept": [start]} if start % 3 == 2 else {}),
        }
        for place in range(count)
    ]


def numbered(bodies: Sequence[Body], first_seq: int = 0) -> list[dict[str, Any]]:
    """The bodies as a batch: fresh dicts with seqs from ``first_seq`` on; their values are shared."""
    return [{**body, "seq": seq} for seq, body in enumerate(bodies, start=first_seq)]


def batches(first_seq: int = 0) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Good batches of every kind, numbered from ``first_seq`` on.

    Bodies with any JSON in them, stretches of conversations, and records that end at the edges of sectors and pages.
    Never empty. Shrinks to one ``user/message`` with null data.
    """
    bodies = event_bodies() | conversation_bodies(max_turns=1)
    return bodies.map(lambda drawn: numbered(drawn, first_seq)) | boundary_batches(first_seq)


def cut_into_batches(events: Sequence[dict[str, Any]]) -> st.SearchStrategy[list[list[dict[str, Any]]]]:
    """The same events in the same order as a list of batches, none of them empty.

    Shrinks to one batch; one event for each batch comes often, as a log that is written live has it.
    """
    items = list(events)
    if len(items) < 2:
        return st.just([items] if items else [])
    inside = st.integers(1, len(items) - 1)
    return st.builds(_cut, st.just(items), st.booleans(), st.lists(inside, max_size=len(items)))


def _cut(items: list[dict[str, Any]], one_by_one: bool, drawn: list[int]) -> list[list[dict[str, Any]]]:
    cuts = list(range(1, len(items))) if one_by_one else sorted(set(drawn))
    return [items[start:end] for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True)]
