"""The fold over damaged artifacts, clause by clause, on hand-written histories (``damage_histories``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.contract import SessionHeader
from conformance.drivers.execution import run_program
from conformance.drivers.registry import load_backend
from conformance.model.history import Completion, Raised
from conformance.model.judgement import judge_history
from conformance.model.operations import Append, Close, Create, Damage, Flush, OpenInstance, Program
from tests.unit.model.cases import Case, assert_judging_is_pure, assert_right_is_allowed, assert_wrong_is_blamed
from tests.unit.model.damage_histories import ALLOWED, CASES, KILLED, PLAIN, SURE
from tests.unit.model.histories import history

IDS = [f"{case.clause}-{number}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_right_answer_is_allowed_and_witnesses_the_clause(case: Case) -> None:
    """The right answer breaks nothing and counts the clause once more than the steps before it."""
    # A kept record of a torn tail is seen under the clause about tails.
    assert_right_is_allowed(case, witness="TORN-01" if case.clause == "TORN-03" else "")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_answer_is_blamed_on_the_clause(case: Case) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    assert_wrong_is_blamed(case)


@pytest.mark.parametrize("told", ALLOWED)
def test_what_may_follow_damage(told: str) -> None:
    """None of these histories is called wrong."""
    capabilities = KILLED if "killed" in told else SURE if "checksums are claimed" in told else PLAIN
    assert judge_history(history(ALLOWED[told]), capabilities).violation is None


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_judging_is_pure(case: Case) -> None:
    """The same history judged twice gives the same witnesses, and is not changed by it."""
    assert_judging_is_pure(case)


def test_who_owns_what_was_removed_may_keep_others_out(tmp_path: Path) -> None:
    """An artifact is removed under its owner: who creates the id elsewhere may be kept from storing it meanwhile."""
    batch = [{"type": "user/message", "seq": 0, "time": 0, "data": None}]
    program = Program(
        (
            OpenInstance(1),
            Create(1, 1, SessionHeader(id="s", created_at=0)),
            Append(1, batch),
            Flush(1),
            Damage("s", "unlink"),
            OpenInstance(2),
            Create(2, 2, SessionHeader(id="s", created_at=0)),
            Append(2, batch),
            Close(1),
        )
    )
    result = run_program(load_backend("jsonl"), program, tmp_path / "root")
    assert result.violation is None
    raised = [
        each.outcome for each in result.history if isinstance(each, Completion) and isinstance(each.outcome, Raised)
    ]
    assert raised[0].error.kind == "SessionAlreadyOwnedError"
