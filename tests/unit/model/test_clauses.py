"""The fold, clause by clause, on hand-written histories (``clause_cases``)."""

from __future__ import annotations

import pytest

from conformance.clauses import BUILT
from conformance.model.judgement import judge_history
from tests.unit.model.cases import Case, assert_judging_is_pure, assert_right_is_allowed, assert_wrong_is_blamed
from tests.unit.model.clause_cases import CASES
from tests.unit.model.crash_histories import CASES as CRASHES
from tests.unit.model.damage_histories import CASES as DAMAGES
from tests.unit.model.fault_histories import CASES as FAULTS
from tests.unit.model.histories import Step, history
from tests.unit.model.live_histories import CASES as LIVE
from tests.unit.model.overlap_histories import CASES as OVERLAPS
from tests.unit.model.value_cases import ALLOWED, STORES

IDS = [f"{case.clause}-{number}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_right_answer_is_allowed_and_witnesses_the_clause(case: Case) -> None:
    """The right answer breaks nothing and counts the clause once more than the steps before it."""
    assert_right_is_allowed(case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_answer_is_blamed_on_the_clause(case: Case) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    assert_wrong_is_blamed(case)


def test_every_built_clause_has_a_case() -> None:
    """No clause counts as built without a history that breaks it."""
    elsewhere = {case.clause for case in (*CRASHES, *DAMAGES, *FAULTS, *LIVE, *OVERLAPS)}
    assert BUILT - {case.clause for case in CASES} - elsewhere == set()


@pytest.mark.parametrize("steps", ALLOWED)
def test_what_a_log_with_an_unknown_type_may_answer(steps: tuple[Step, ...]) -> None:
    """Stored unknown types leave these ways open, and none of them is called wrong."""
    assert judge_history(history(steps), STORES).violation is None


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_judging_is_pure(case: Case) -> None:
    """The same history judged twice gives the same witnesses, and is not changed by it."""
    assert_judging_is_pure(case)
