"""A case: a beginning with a right and a wrong way to go on, and what the fold has to say to both.

The tables of histories hold cases, and the tests of each table call the three functions here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conformance.contract import Capabilities
from conformance.model.history import Event
from conformance.model.judgement import judge_history
from tests.unit.model.histories import Step, history

PLAIN = Capabilities()

Told = Callable[[Iterable[Step]], list[Event]]
"""Makes the events of steps."""


@dataclass(frozen=True)
class Case:
    """One clause, a beginning, and a right and a wrong way to go on; ``located`` where the backend gives locations."""

    clause: str
    steps: tuple[Step, ...]
    right: Step
    wrong: Step
    capabilities: Capabilities = PLAIN
    located: bool = True


def case(clause: str, *steps: Step, wrong: Step, capabilities: Capabilities = PLAIN, located: bool = True) -> Case:
    """The last step is the right answer; ``wrong`` is the wrong one to the same call."""
    return Case(clause, steps[:-1], steps[-1], wrong, capabilities, located)


def assert_right_is_allowed(case: Case, told: Told = history, *, witness: str = "") -> None:
    """The right answer breaks nothing and counts ``witness``, else the clause, more often than the steps before it."""
    before = judge_history(told(case.steps), case.capabilities, located=case.located)
    after = judge_history(told((*case.steps, case.right)), case.capabilities, located=case.located)
    assert before.violation is None
    assert after.violation is None
    assert after.witnesses[witness or case.clause] > before.witnesses[witness or case.clause]


def assert_wrong_is_blamed(case: Case, told: Told = history) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    found = judge_history(told((*case.steps, case.wrong)), case.capabilities, located=case.located).violation
    assert found is not None
    assert found.clause == case.clause
    assert found.call == len(case.steps)
    assert found.expected
    assert found.observed


def assert_judging_is_pure(case: Case, told: Told = history) -> None:
    """The same history judged twice gives the same witnesses, and is not changed by it."""
    events = told((*case.steps, case.right))
    text = repr(events)
    first = judge_history(events, case.capabilities, located=case.located)
    second = judge_history(events, case.capabilities, located=case.located)
    assert Counter(first.witnesses) == Counter(second.witnesses)
    assert repr(events) == text
