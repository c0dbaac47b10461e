"""The engines of `Choices`: what each answers, records and replays."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from conformance.sim import (
    NO_CHOICES,
    Choices,
    ChoicesDiverged,
    RecordedChoices,
    SeededChoices,
    exhaustive,
)


class _FailingChoices(Choices):
    def _choose(self, n: int, label: str) -> int:
        raise KeyboardInterrupt(label)


class _WrongChoices(Choices):
    def _choose(self, n: int, label: str) -> int:
        return n


def _ask(choices: Choices) -> tuple[object, ...]:
    """Some of every kind of question; the second depends on the first."""
    first = choices.draw(5, "first")
    more = [choices.flag("more") for _ in range(first)]
    return first, more, choices.pick("xyz", "letter"), choices.between(-2, 2, "signed"), choices.draw(2**80)


def test_seeded_answers_depend_on_the_seed_alone() -> None:
    """The same seed gives the same answers in processes with different hash seeds."""
    program = (
        "from conformance.sim import SeededChoices\n"
        "choices = SeededChoices(7)\n"
        "print([choices.draw(n) for n in (2, 3, 10**6, 2**40, 2**90)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = SeededChoices(7)
    assert outputs == {f"{[here.draw(n) for n in (2, 3, 10**6, 2**40, 2**90)]}\n"}


def test_seeded_answers_cover_their_range() -> None:
    """Every answer below a small bound comes up, and none outside it; other seeds give others."""
    choices = SeededChoices(1)
    assert {choices.draw(6) for _ in range(300)} == set(range(6))
    assert _ask(SeededChoices(1)) != _ask(SeededChoices(2))


def test_a_recorded_trace_replays_any_engine() -> None:
    """Replaying the trace of a run gives the same answers and the same trace."""
    for seed in range(30):
        seeded = SeededChoices(seed)
        answers = _ask(seeded)
        recorded = RecordedChoices(seeded.trace)
        assert _ask(recorded) == answers
        assert (recorded.trace, recorded.bounds, recorded.labels) == (
            seeded.trace,
            seeded.bounds,
            seeded.labels,
        )
        assert recorded.faithful


@pytest.mark.parametrize(
    ("trace", "answers"),
    [((), [0, 0]), ((9,), [2, 0]), ((-4, 1), [0, 1]), ((1, 1, 1), [1, 1])],
)
def test_any_list_of_numbers_is_a_trace(trace: tuple[int, ...], answers: list[int]) -> None:
    """Missing numbers read as 0 and others are moved into the range, which `faithful` tells."""
    choices = RecordedChoices(trace)
    assert [choices.draw(3), choices.draw(3)] == answers
    assert choices.faithful == (trace[:2] == tuple(answers))


def test_fixed_choices_are_the_simplest_run() -> None:
    """`NO_CHOICES` answers what an empty trace replays to, and keeps no record."""
    assert _ask(NO_CHOICES) == _ask(RecordedChoices(())) == (0, [], "x", -2, 0)
    assert NO_CHOICES.trace == []


def test_questions_with_one_answer_are_not_recorded() -> None:
    """A bound of 1 asks nothing of the engine; a bound below 1 is an error."""
    choices = SeededChoices(3)
    assert (choices.draw(1), choices.pick([7]), choices.between(5, 5), choices.trace) == (0, 7, 5, [])
    for engine in (choices, NO_CHOICES):
        with pytest.raises(ValueError, match="at least one possibility"):
            engine.draw(0)
        with pytest.raises(ValueError, match="at least one possibility"):
            engine.pick([])


def test_an_engine_that_fails_or_errs_is_noticed() -> None:
    """What the engine raises is kept in `aborted`; an answer outside the range is an error."""
    failing = _FailingChoices()
    with pytest.raises(KeyboardInterrupt) as caught:
        failing.flag("stop")
    assert failing.aborted is caught.value
    with pytest.raises(ValueError, match="answered 2"):
        _WrongChoices().draw(2)


def test_exhaustive_visits_each_path_once() -> None:
    """A tree whose later questions depend on earlier answers is visited completely, in order."""

    def walk(choices: Choices) -> tuple[int, ...]:
        width = choices.draw(3)
        return (width, *(choices.draw(width) for _ in range(2) if width))

    sweep = exhaustive()
    paths = [walk(choices) for choices in sweep]
    expected = [(0,), (1, 0, 0), *((2, a, b) for a, b in itertools.product(range(2), repeat=2))]
    assert paths == expected
    assert (sweep.complete, sweep.paths) == (True, len(expected))


def test_exhaustive_of_a_program_without_choices_is_one_path() -> None:
    """A program that asks nothing runs once."""
    sweep = exhaustive()
    assert [choices.trace for choices in sweep] == [[]]
    assert sweep.complete


@pytest.mark.parametrize(("bound", "complete"), [(7, False), (8, True), (9, True)])
def test_exhaustive_tells_whether_its_bound_cut_it_short(*, bound: int, complete: bool) -> None:
    """`complete` is true exactly when all 8 paths were given."""
    sweep = exhaustive(max_paths=bound)
    seen = [tuple(choices.flag() for _ in range(3)) for choices in sweep]
    assert len(set(seen)) == len(seen) == min(bound, 8)
    assert (sweep.complete, sweep.paths) == (complete, len(seen))


def test_exhaustive_left_early_is_not_complete() -> None:
    """Breaking out of the loop leaves `complete` false, and a second loop is refused."""
    sweep = exhaustive()
    for choices in sweep:
        choices.flag()
        break
    assert not sweep.complete
    with pytest.raises(RuntimeError, match="iterated once"):
        next(iter(sweep))


def test_exhaustive_past_its_depth_is_not_complete() -> None:
    """Draws past `max_draws` answer 0, and a sweep that had some does not call itself complete."""
    for depth, complete in ((2, False), (3, True)):
        sweep = exhaustive(max_draws=depth)
        paths = [tuple(choices.draw(2) for _ in range(3)) for choices in sweep]
        assert paths == [(*path, *(0,) * (3 - depth)) for path in itertools.product(range(2), repeat=depth)]
        assert sweep.complete == complete


def test_exhaustive_notices_nondeterminism_elsewhere() -> None:
    """A program that asks something else, or stops, after the same answers is refused."""
    bounds = iter([2, 2, 3])

    def other_bound(choices: Choices) -> None:
        choices.draw(next(bounds))
        choices.draw(2)

    with pytest.raises(ChoicesDiverged, match="bound 2 on an earlier run"):
        _sweep(other_bound)
    rounds = iter([2, 0])
    with pytest.raises(ChoicesDiverged, match="stopped after"):
        _sweep(lambda choices: [choices.flag() for _ in range(next(rounds))])


def _sweep(program: Callable[[Choices], object]) -> None:
    for choices in exhaustive():
        program(choices)
