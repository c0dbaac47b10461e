"""What the tests of the strategies share: the smallest example of a strategy, and values through a saved program."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.strategies import SearchStrategy

from conformance.model.values import decode, encode


def _minimal(strategy: SearchStrategy[Any], condition: Callable[[Any], bool] = lambda value: True) -> Any:
    # What else Hypothesis does with a failing example, such as explaining it, takes most of its time.
    plain = settings(
        database=None,
        max_examples=3_000,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
    )
    return find(strategy, condition, settings=plain, random=Random(0))


@pytest.fixture(scope="session")
def minimal() -> Callable[..., Any]:
    """``minimal(strategy, condition)``: what Hypothesis shrinks an example that meets the condition to."""
    return _minimal


def _examples(strategy: SearchStrategy[Any], count: int = 1_000) -> list[Any]:
    found: list[Any] = []

    @settings(database=None, max_examples=count, deadline=None, derandomize=True, phases=(Phase.generate,))
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


@pytest.fixture(scope="session")
def examples() -> Callable[..., list[Any]]:
    """``examples(strategy, count)``: what a run of ``count`` examples draws, health checks on; the same every time."""
    return _examples


def _saved(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


@pytest.fixture(scope="session")
def saved() -> Callable[[Any], Any]:
    """``saved(value)``: the value as it comes back from a program written to a file."""
    return _saved
