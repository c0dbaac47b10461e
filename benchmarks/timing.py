"""Timing for the benchmarks of this folder: contenders take turns in one run, and what is reported are ratios.

A time says as much about the machine, and about what else runs on it, as about the code. So contenders run
alternately, round by round, in changing order, and are compared within each round; the median over the rounds is
what counts. Nothing here asserts anything, and no test imports it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

Rounds = dict[str, list[float]]
"""Seconds by contender, one for each round."""


def take_turns(contenders: Mapping[str, Callable[[], object]], rounds: int) -> Rounds:
    """Run each contender once a round and give the seconds of each.

    Whoever times a part of its work only, returns that part's seconds as a ``float``.
    """
    names = list(contenders)
    seconds: Rounds = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            begin = perf_counter()
            told = contenders[name]()
            seconds[name].append(told if isinstance(told, float) else perf_counter() - begin)
    return seconds


def ratio(seconds: Rounds, name: str, base: str) -> float:
    """How many times as fast as ``base`` the contender is: the median over the rounds."""
    return statistics.median(b / a for a, b in zip(seconds[name], seconds[base], strict=True))


def each(seconds: Sequence[float], parts: int = 1) -> str:
    """The median and the best of some rounds, in microseconds for each of their ``parts``."""
    return f"{statistics.median(seconds) / parts * 1e6:,.1f} us (best {min(seconds) / parts * 1e6:,.1f})"
