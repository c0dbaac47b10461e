"""The package as its users find it: complete, documented, usable alone, and healthy under Hypothesis."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import strategies

ROOT = Path(__file__).parents[3]

FUNCTIONS = {name: getattr(strategies, name) for name in strategies.__all__ if callable(getattr(strategies, name))}
PLAIN = {"DrawnChoices", "conversation", "line_bytes", "numbered", "palette_bodies", "world_text"}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bodies_with": (strategies.json_values(),),
    "cut_into_batches": ([{"seq": seq} for seq in range(5)],),
    "huge_texts": (10_000,),
    "sized_batches": (512,),
    "swarm": (("a", "b"),),
}


def made(name: str) -> SearchStrategy[Any]:
    """The strategy of that name, with the arguments it cannot do without."""
    strategy = FUNCTIONS[name](*ARGUMENTS.get(name, ()))
    assert isinstance(strategy, SearchStrategy)
    return strategy


def test_what_the_package_offers_is_listed_once_in_order() -> None:
    """``__all__`` is sorted as ruff sorts it, and everything in it exists."""
    assert len(set(strategies.__all__)) == len(strategies.__all__)
    assert all(hasattr(strategies, name) for name in strategies.__all__)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - PLAIN))
def test_every_strategy_says_how_it_shrinks(name: str) -> None:
    """A docstring with a summary line, and a word on shrinking."""
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    assert text.split("\n")[0]
    assert "hrink" in text


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - PLAIN))
def test_every_strategy_is_healthy(name: str) -> None:
    """Values are built, not filtered: most draws end in a value, and no health check complains."""
    strategy, begun, drawn = made(name), 0, 0

    @st.composite
    def counted(draw: st.DrawFn) -> Any:
        nonlocal begun
        begun += 1
        return draw(strategy)

    @settings(max_examples=40, database=None, deadline=None, derandomize=True, phases=(Phase.generate,))
    @given(counted())
    def take(value: Any) -> None:
        nonlocal drawn
        drawn += 1

    take()
    # The rest are prefixes that Hypothesis itself gave up while it looked for something new.
    assert drawn >= begun * 0.6


def test_strategies_are_usable_alone() -> None:
    """Importing them loads no machine, no check, no runner and no pytest."""
    script = "import sys, strategies; print(*sorted(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = found.stdout.split()
    assert "hypothesis" in loaded
    above = ("pytest", "click", "conformance.checks", "conformance.machines", "conformance.runner", "reference_backend")
    assert [name for name in loaded if name.startswith(above)] == []
