"""The fold over what sessions publish, clause by clause, on hand-written histories (``live_histories``)."""

from __future__ import annotations

import pytest

from conformance.clauses import BUILT
from conformance.contract import Capabilities
from conformance.model.judgement import judge_history
from tests.unit.model.cases import Case, assert_right_is_allowed, assert_wrong_is_blamed
from tests.unit.model.histories import events, history, opened, read
from tests.unit.model.live_histories import ALLOWED, BLAMED, CASES, LIVE, ONE, TWO, WINDOW, passes, publish

IDS = [f"{case.clause}-{number}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_right_answer_is_allowed_and_witnesses_the_clause(case: Case) -> None:
    """The right answer breaks nothing and counts the clause once more than the steps before it."""
    assert_right_is_allowed(case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_answer_is_blamed_on_the_clause(case: Case) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    assert_wrong_is_blamed(case)


def test_every_clause_of_the_live_path_has_a_case() -> None:
    """No clause of LIVE that the fold judges is without a history that breaks it."""
    assert {each for each in BUILT if each.startswith("LIVE-")} <= {case.clause for case in CASES}


@pytest.mark.parametrize("told", ALLOWED)
def test_what_surprises_and_is_right(told: str) -> None:
    """None of these histories is called wrong."""
    found = judge_history(history(ALLOWED[told]), LIVE).violation
    assert found is None, found


@pytest.mark.parametrize("told", BLAMED)
def test_mistake_is_blamed_on_its_clause(told: str) -> None:
    """What was done wrong is blamed where it shows."""
    clause, steps = BLAMED[told]
    before = judge_history(history(steps[:-1]), LIVE).violation
    found = judge_history(history(steps), LIVE).violation
    assert before is None
    assert found is not None
    assert found.clause == clause


@pytest.mark.parametrize(("late", "binds"), [(-1, False), (0, False), (1, True)])
def test_a_window_ends_to_the_microsecond(late: int, binds: bool) -> None:
    """Until the window has passed an event may be stored or not, and a microsecond later it is."""
    steps = (*ONE, passes(WINDOW + late))
    found = judge_history(history((*steps, read(1, []))), LIVE).violation
    assert (found is not None) == binds
    assert judge_history(history((*steps, read(1, events(0)))), LIVE).violation is None


@pytest.mark.parametrize(("late", "binds"), [(-1, False), (0, False), (1, True)])
def test_a_window_of_the_next_batch_ends_to_the_microsecond(late: int, binds: bool) -> None:
    """What is published a microsecond too late to join a window has its own, from the moment of its publication."""
    steps = (*ONE, passes(WINDOW + 1), *publish(*events(1)), passes(WINDOW + late))
    found = judge_history(history((*steps, read(1, events(0)))), LIVE).violation
    assert (found is not None) == binds


def test_a_window_without_length_binds_at_the_next_microsecond() -> None:
    """Whoever stores at once has stored when time has passed, each event for itself."""
    at_once = Capabilities(live_window=0.0)
    for steps, binds in ((TWO, False), ((*TWO, passes(1)), True)):
        found = judge_history(history((*steps, read(1, []))), at_once).violation
        assert (found is not None) == binds


def test_without_a_declared_window_none_binds() -> None:
    """A backend that declares no window is judged by its barriers and by the order alone."""
    for seen in ([], events(0), events(0, 2)):
        steps = (*TWO, passes(60_000_000), opened(2), read(2, seen))
        assert judge_history(history(steps), Capabilities()).violation is None
    wrong = judge_history(history((*TWO, passes(60_000_000), read(1, events(1)))), Capabilities()).violation
    assert wrong is not None
    assert wrong.clause.startswith("LIVE-")
