"""The fold over calls in flight at once, clause by clause, on hand-written histories (``overlap_histories``)."""

from __future__ import annotations

import pytest

from conformance.model.judgement import judge_history
from tests.unit.model.cases import Case, assert_judging_is_pure, assert_right_is_allowed, assert_wrong_is_blamed
from tests.unit.model.histories import Step
from tests.unit.model.overlap_histories import ALLOWED, CASES, told_history

IDS = [f"{case.clause}-{number}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_right_answer_is_allowed_and_witnesses_the_clause(case: Case) -> None:
    """The right answer breaks nothing and counts the clause once more than the steps before it."""
    assert_right_is_allowed(case, told_history)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_answer_is_blamed_on_the_clause(case: Case) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    assert_wrong_is_blamed(case, told_history)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_judging_is_pure(case: Case) -> None:
    """The same history judged twice gives the same witnesses, and is not changed by it."""
    assert_judging_is_pure(case, told_history)


@pytest.mark.parametrize("steps", ALLOWED.values(), ids=ALLOWED)
def test_what_calls_beside_each_other_may_come_to(steps: tuple[Step, ...]) -> None:
    """What looks surprising and is right is not called wrong."""
    assert judge_history(told_history(steps), CASES[0].capabilities).violation is None
