"""The fold over crashes, clause by clause, on hand-written histories (``crash_histories``)."""

from __future__ import annotations

import pytest

from conformance.clauses import CLAUSES
from conformance.model.judgement import judge_history
from tests.unit.model.cases import PLAIN, Case, assert_judging_is_pure, assert_right_is_allowed, assert_wrong_is_blamed
from tests.unit.model.crash_histories import ALLOWED, CASES, EAGER
from tests.unit.model.histories import history

IDS = [f"{case.clause}-{number}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_right_answer_is_allowed_and_witnesses_the_clause(case: Case) -> None:
    """The right answer breaks nothing and counts the clause once more than the steps before it."""
    assert_right_is_allowed(case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_answer_is_blamed_on_the_clause(case: Case) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    assert_wrong_is_blamed(case)


def test_every_clause_about_crashes_has_a_case() -> None:
    """No clause of DUR or TORN that the fold judges is without a history that breaks it."""
    elsewhere = {"DUR-10", "DUR-12"}
    wanted = {each for each in CLAUSES if each.startswith(("DUR-", "TORN-"))} - elsewhere
    assert wanted <= {case.clause for case in CASES}


@pytest.mark.parametrize("told", ALLOWED)
def test_what_a_crash_may_leave(told: str) -> None:
    """None of these histories is called wrong."""
    capabilities = EAGER if "eager" in told else PLAIN
    assert judge_history(history(ALLOWED[told]), capabilities).violation is None


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_judging_is_pure(case: Case) -> None:
    """The same history judged twice gives the same witnesses, and is not changed by it."""
    assert_judging_is_pure(case)
