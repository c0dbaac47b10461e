"""Bodies of event types that this build does not know, to be kept or refused (FMT-02, FMT-03).

Some are plainly foreign; others are a known type but for its case, a space or a character that looks alike, so that a
backend that folds or trims before it compares is found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from conformance.contract import KNOWN_EVENT_TYPES
from strategies.batches import EVENT_TYPES, Body
from strategies.json_values import json_values

FOREIGN_TYPES = (
    "x-vendor/event",
    "session",
    "session/unknown",
    "header",
    "text-chunks",
    "reasoning-chunks",
    "tool-call-chunks",
    "*",
    "/",
    "user",
    "message",
    "null",
    "0",
    " ",
    "\x00",
    "\n",
    "__proto__",
    "constructor",
    "toString",
    "日本/語",
    "\U0001f600",
    "x" * 300,
)
"""Types that no build knows, among them names that the stored formats use for their own lines."""

_ALTERED: tuple[Callable[[str], str], ...] = (
    lambda known: known + " ",
    lambda known: " " + known,
    lambda known: known.upper(),
    lambda known: known.title(),
    lambda known: known + "s",
    lambda known: known[:-1],
    lambda known: known + "\x00",
    lambda known: known + "\n",
    lambda known: known.replace("/", "\u2215"),
    lambda known: known.replace("/", "."),
    lambda known: known.replace("/", "\\"),
    lambda known: known + "/v2",
    lambda known: "\ufeff" + known,
    lambda known: known.replace("e", "\u0435").replace("a", "\u0430"),
)


@cache
def unknown_types() -> st.SearchStrategy[str]:
    """A type that is not among ``KNOWN_EVENT_TYPES``, not empty; shrinks to ``x-vendor/event``."""
    near = sorted({alter(known) for known in KNOWN_EVENT_TYPES for alter in _ALTERED} - KNOWN_EVENT_TYPES)
    # By index: the repr of a strategy lists what it samples from.
    one_near = st.integers(0, len(near) - 1).map(lambda index: near[index])
    any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    return st.sampled_from(FOREIGN_TYPES) | one_near | any_text.map(lambda text: f"x-vendor/{text}")


@cache
def unknown_bodies() -> st.SearchStrategy[list[Body]]:
    """Bodies of which at least one has an unknown type and is not marked ignorable (FMT-02).

    The mark is absent or false; known events, and unknown ones that are ignorable, stand before and behind.
    Shrinks to one body of type ``x-vendor/event`` with null data.
    """
    return _among(st.builds(_body, unknown_types(), json_values(2), st.sampled_from([{}, {"ignorable": False}])))


@cache
def ignorable_bodies() -> st.SearchStrategy[list[Body]]:
    """Bodies that all may be stored, at least one of an unknown type that is marked ignorable (FMT-03).

    Shrinks to one body of type ``x-vendor/event`` with null data.
    """
    return _among(_ignorable())


@cache
def _ignorable() -> st.SearchStrategy[Body]:
    return st.builds(_body, unknown_types(), json_values(2), st.just({"ignorable": True}))


def _among(bodies: st.SearchStrategy[Body]) -> st.SearchStrategy[list[Body]]:
    known = st.builds(_body, st.sampled_from(EVENT_TYPES), json_values(2), st.just({}))
    others = st.lists(known | _ignorable(), max_size=2)
    return st.builds(lambda body, before, after: [*before, body, *after], bodies, others, others)


def _body(type: str, data: Any, mark: dict[str, bool]) -> Body:
    return {"type": type, "time": 0, "data": data, **mark}
