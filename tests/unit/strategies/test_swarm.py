"""Swarm subsets: never none, often all, shrinking to few, the same in every process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies

KINDS = ("append", "read", "flush", "close", "stat")


@given(st.lists(st.text(max_size=3), min_size=1, max_size=8, unique=True), st.data())
def test_a_swarm_is_some_of_the_kinds(kinds: list[str], data: st.DataObject) -> None:
    """A subset of what was given, never empty."""
    on = data.draw(strategies.swarm(kinds))
    assert on
    assert on <= set(kinds)


def test_a_swarm_shrinks_to_what_is_needed(minimal: Callable[..., Any]) -> None:
    """The first kind alone, or just those that the failure needs."""
    assert minimal(strategies.swarm(KINDS)) == {"append"}
    for kind in KINDS:
        assert minimal(strategies.swarm(KINDS), lambda on, kind=kind: kind in on) == {kind}
    assert minimal(strategies.swarm(KINDS), {"flush", "stat"}.issubset) == {"flush", "stat"}


def test_swarms_differ(examples: Callable[..., list[Any]]) -> None:
    """Runs with everything on, with one kind only and with each kind off all come up."""
    seen = Counter(examples(strategies.swarm(KINDS), 300))
    assert seen[frozenset(KINDS)] > 30
    assert any(len(on) == 1 for on in seen)
    for kind in KINDS:
        assert sum(times for on, times in seen.items() if kind not in on) > 20
    assert len(seen) > 15


@pytest.mark.parametrize("kinds", [(), ("a", "b", "a")])
def test_a_swarm_of_nothing_or_of_doubles_is_refused(kinds: tuple[str, ...]) -> None:
    """A mistake in the list of kinds is told at once."""
    with pytest.raises(ValueError, match="expected distinct names, at least one"):
        strategies.swarm(kinds)
