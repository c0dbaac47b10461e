"""The one source of nondeterminism, and the engines behind it.

Promises: whatever may vary in a simulated run is asked of one `Choices` object, as a number below a
bound, with 0 the simplest answer. The same engine state gives the same answers in every process and
under every hash seed. Each engine records what it answered, and a recorded trace replays it.

Does not: know Hypothesis. The engine that draws from it lives in `strategies`, subclasses `Choices`
and implements `_choose` only.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")


class Choices(ABC):
    """Numbers below a bound. Subclasses implement `_choose`; everything else is built on it.

    `trace`, `bounds` and `labels` run in parallel: what was answered, below which bound, for what.
    A question with one possible answer is not asked, and not recorded. `aborted` is the exception
    that the engine itself raised, if it did: code under test may have caught it, so whoever drives
    the run looks here to end it all the same.
    """

    def __init__(self) -> None:
        self.trace: list[int] = []
        self.bounds: list[int] = []
        self.labels: list[str] = []
        self.aborted: BaseException | None = None

    @abstractmethod
    def _choose(self, n: int, label: str) -> int:
        """Answer a number in [0, n), for n >= 2. 0 is the simplest; shrinking moves towards it."""

    def draw(self, n: int, label: str = "") -> int:
        """A number in [0, n). Raises `ValueError` for n < 1, and whatever the engine raises."""
        if n <= 1:
            if n < 1:
                raise ValueError(f"a choice needs at least one possibility: n={n!r}, {label=}")
            return 0
        try:
            value = self._choose(n, label)
        except BaseException as exc:
            self.aborted = exc
            raise
        if not 0 <= value < n:
            raise ValueError(f"{type(self).__name__} answered {value!r} for n={n!r}, {label=}")
        self.trace.append(value)
        self.bounds.append(n)
        self.labels.append(label)
        return value

    def flag(self, label: str = "") -> bool:
        """True or False; False is the simplest."""
        return self.draw(2, label) == 1

    def pick(self, sequence: Sequence[_T], label: str = "") -> _T:
        """One item; the first is the simplest. Raises `ValueError` for an empty sequence."""
        return sequence[self.draw(len(sequence), label)]

    def between(self, lo: int, hi: int, label: str = "") -> int:
        """A number in [lo, hi], both ends included; `lo` is the simplest."""
        return lo + self.draw(hi - lo + 1, label)


class FixedChoices(Choices):
    """Always 0. It records nothing: an empty trace replays to the same answers."""

    def draw(self, n: int, label: str = "") -> int:
        """0. Raises `ValueError` for n < 1."""
        if n < 1:
            raise ValueError(f"a choice needs at least one possibility: n={n!r}, {label=}")
        return 0

    def _choose(self, n: int, label: str) -> int:
        return 0


NO_CHOICES = FixedChoices()
"""The simplest run there is. It has no state, so everyone may share it."""


class SeededChoices(Choices):
    """Pseudo-random answers that follow from an integer seed alone."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        # `random()` and `getrandbits` are stable across Python versions for one seed; the
        # conveniences above them (`randrange`, `choice`) are not promised to be.
        self._random = random.Random(seed)

    def draw(self, n: int, label: str = "") -> int:
        """See ``Choices``. Most answers are given here: they cannot fail, or lie outside of the bound."""
        if not 1 < n <= 1 << 32:
            return super().draw(n, label)
        value = int(self._random.random() * n)
        self.trace.append(value)
        self.bounds.append(n)
        self.labels.append(label)
        return value

    def flag(self, label: str = "") -> bool:
        """See ``Choices``; without a detour, for most questions are of this kind."""
        value = int(self._random.random() * 2)
        self.trace.append(value)
        self.bounds.append(2)
        self.labels.append(label)
        return value == 1

    def _choose(self, n: int, label: str) -> int:
        bits = n.bit_length()
        while (value := self._random.getrandbits(bits)) >= n:
            pass
        return value


class RecordedChoices(Choices):
    """Replays a trace. Any list of ints is a valid one, so that a shrunk trace still runs.

    Past its end the answer is 0, and a value outside the bound is moved to the nearest inside.
    `faithful` tells whether that was never needed so far.
    """

    def __init__(self, recorded: Iterable[int]) -> None:
        super().__init__()
        self.recorded = tuple(recorded)
        self.faithful = True

    def _choose(self, n: int, label: str) -> int:
        position = len(self.trace)
        if position >= len(self.recorded):
            self.faithful = False
            return 0
        value = min(max(self.recorded[position], 0), n - 1)
        if value != self.recorded[position]:
            self.faithful = False
        return value


class ChoicesDiverged(Exception):
    """A program asked other questions after the same answers: something else than `Choices` varies."""


class ExhaustiveChoices(Choices):
    """One path of an `Exhaustive` sweep: a fixed prefix of answers, then 0 for ever."""

    def __init__(self, prefix: Sequence[tuple[int, int]], max_draws: int | None) -> None:
        super().__init__()
        self.truncated = False
        self._prefix = prefix
        self._max_draws = max_draws

    def _choose(self, n: int, label: str) -> int:
        position = len(self.trace)
        if position < len(self._prefix):
            value, bound = self._prefix[position]
            if bound != n:
                raise ChoicesDiverged(
                    f"draw {position} ({label!r}) had bound {bound} on an earlier run of the same "
                    f"answers {self.trace!r}, and has n={n!r} now"
                )
            return value
        if self._max_draws is not None and position >= self._max_draws:
            self.truncated = True
        return 0


class Exhaustive:
    """Every path of a choice tree once, like an odometer whose last wheel turns fastest.

    Iterate over it and run the program once with each `ExhaustiveChoices` it gives. `paths` counts
    those given. `complete` is True only when the whole tree was visited: not when the loop was
    left early, `max_paths` was reached with paths left over, or a path went past `max_draws`.
    It can be iterated once.
    """

    def __init__(self, *, max_paths: int | None = None, max_draws: int | None = None) -> None:
        self.paths = 0
        self.complete = False
        self._max_paths = max_paths
        self._max_draws = max_draws

    def __iter__(self) -> Iterator[ExhaustiveChoices]:
        if self.paths:
            raise RuntimeError("an exhaustive sweep is iterated once; make a new one")
        truncated = False
        prefix: list[tuple[int, int]] | None = []
        while prefix is not None:
            if self._max_paths is not None and self.paths >= self._max_paths:
                return
            self.paths += 1
            choices = ExhaustiveChoices(prefix, self._max_draws)
            yield choices
            if len(choices.trace) < len(prefix):
                raise ChoicesDiverged(
                    f"the program stopped after the answers {choices.trace!r}; on an earlier run "
                    f"it went on to {[value for value, _ in prefix]!r}"
                )
            truncated = truncated or choices.truncated
            prefix = self._next_prefix(choices)
        self.complete = not truncated

    def _next_prefix(self, choices: ExhaustiveChoices) -> list[tuple[int, int]] | None:
        path = list(zip(choices.trace, choices.bounds, strict=True))
        if self._max_draws is not None:
            del path[self._max_draws :]
        while path:
            value, bound = path.pop()
            if value + 1 < bound:
                return [*path, (value + 1, bound)]
        return None


def exhaustive(*, max_paths: int | None = None, max_draws: int | None = None) -> Exhaustive:
    """`for choices in exhaustive(): …` runs the body once for every path of its choice tree.

    Keep the object to ask it for `complete` and `paths` afterwards. Raises `ChoicesDiverged` where
    the body does not ask the same questions after the same answers.
    """
    return Exhaustive(max_paths=max_paths, max_draws=max_draws)
