"""The fold over storage that fails, clause by clause, on hand-written histories (``fault_histories``)."""

from __future__ import annotations

import pytest

from conformance.clauses import BUILT
from conformance.contract import Capabilities
from conformance.model.judgement import judge_history
from tests.unit.model.cases import Case, assert_right_is_allowed, assert_wrong_is_blamed
from tests.unit.model.fault_histories import (
    ALLOWED,
    BESIDE,
    BROKEN,
    CASES,
    FAIL,
    FAILED,
    HEAL,
    KILLED,
    LANDED,
    ONE,
    READ,
    SHORT,
    STORED,
    SYNC,
    TWO,
    WRITE,
    gone,
    group,
)
from tests.unit.model.histories import (
    NOT_FOUND,
    Step,
    append,
    close,
    create,
    events,
    flush,
    history,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    sweep,
    up,
)

IDS = [f"{case.clause}-{number}" for number, case in enumerate(CASES)]
PLAIN = Capabilities()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_right_answer_is_allowed_and_witnesses_the_clause(case: Case) -> None:
    """The right answer breaks nothing and counts the clause once more than the steps before it."""
    assert_right_is_allowed(case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_answer_is_blamed_on_the_clause(case: Case) -> None:
    """The wrong answer breaks exactly the clause, at the call that gave it, and says what was expected."""
    assert_wrong_is_blamed(case)


def test_every_built_clause_about_faults_has_a_case() -> None:
    """No clause of FAULT that the fold judges is without a history that breaks it."""
    assert {each for each in BUILT if each.startswith("FAULT-")} <= {case.clause for case in CASES}


@pytest.mark.parametrize("told", ALLOWED)
def test_what_failing_storage_excuses(told: str) -> None:
    """None of these histories is called wrong."""
    found = judge_history(history(ALLOWED[told]), PLAIN).violation
    assert found is None, found


def test_what_a_failed_close_stored_of_a_failed_append_was_promised_nothing() -> None:
    """Another instance saw it, and a crash takes it, though appends are durable by themselves here."""
    durable = Capabilities(append_durability="append")
    seen = (*FAILED, close(1).meets(WRITE), HEAL, up(2), stat(snap(2, 1), on=2), gone(4), up(3), opened(3, on=3))
    found = judge_history(history((*seen, read(3, events(0)))), durable).violation
    assert found is None, found
    lost = judge_history(history((*seen, read(3, []))), durable).violation
    assert lost is not None


BLAMED: dict[str, tuple[str, tuple[Step, ...]]] = {
    "the close of an owner whose append failed takes away what the next one appended": (
        "OWN-12",
        (*BESIDE, append(2, events(1, mark="x")), close(1), flush(2).raises("SessionOwnershipLostError")),
    ),
    "a snapshot elsewhere counts less than what was covered, behind an append that failed": (
        "FAULT-01",
        (*FAILED, up(2), stat(snap(0, 1), on=2)),
    ),
    "a snapshot elsewhere counts more than the log holds with what an append left": (
        "FAULT-01",
        (*FAILED, up(2), stat(snap(3, 1), on=2)),
    ),
    "a session that was covered is not found elsewhere, behind an append that failed": (
        "FAULT-01",
        (*FAILED, up(2), stat(None, on=2)),
    ),
    "another instance shows less than what was covered, behind an append that failed": (
        "FAULT-01",
        (*FAILED, up(2), opened(2, on=2), read(2, [])),
    ),
    "a flush swallows a failed sync": (
        "FAULT-01",
        (*STORED, append(1, events(1)), flush(1).beside(SYNC), gone(5), up(2), opened(2, on=2), read(2, events(0))),
    ),
    "a close swallows a failed write": (
        "FAULT-05",
        (*STORED, append(1, events(1)), close(1).beside(WRITE), gone(5), up(2), opened(2, on=2), read(2, events(0))),
    ),
    "the batch is there twice": (
        "FAULT-02",
        (*FAILED, HEAL, append(1, events(1)), read(1, [*events(0, 2), *events(1)])),
    ),
    "a reader in the instance whose append failed says that something is gone": (
        "FAULT-01",
        (*FAILED, opened(2), HEAL, flush(1), read(2, []).raises(BROKEN)),
    ),
    "another instance's reader says that something is gone which was there before it": (
        "FAULT-02",
        (*FAILED, HEAL, append(1, events(1)), flush(1), up(2), opened(2, on=2), read(2, []).raises(BROKEN)),
    ),
    "another instance's reader says so which has the number of one that looked meanwhile": (
        "FAULT-02",
        (
            *(*FAILED, up(2), opened(2, on=2), read(2, events(0, 2)), close(2), HEAL, append(1, events(1)), flush(1)),
            *(opened(2, on=2), read(2, []).raises(BROKEN)),
        ),
    ),
    "another instance's reader says so which looked before and not meanwhile": (
        "FAULT-02",
        (
            *(*STORED, up(2), opened(2, on=2), read(2, events(0)), append(1, events(1)).meets(LANDED), HEAL),
            *(append(1, events(1)), flush(1), read(2, []).raises(BROKEN)),
        ),
    ),
    "what a failed close loses was covered": (
        "FAULT-01",
        (*STORED, append(1, events(1)), close(1).meets(WRITE), HEAL, opened(2), read(2, [])),
    ),
    "nobody can own a session past a close that failed": (
        "FAULT-08",
        (*TWO, close(1).meets(WRITE), HEAL, opened(3, "s", access="write").raises("OSError")),
    ),
    "an append resolves though its write failed": (
        "FAULT-01",
        (*STORED, append(1, events(1)).beside(WRITE), read(1, events(0))),
    ),
    "a short write counts as whole": (
        "FAULT-01",
        (*STORED, append(1, events(1)).beside(SHORT), stat(snap(1, 1))),
    ),
    "a short write counts as whole, and the log ends before a value that is out of the ordinary": (
        "FAULT-01",
        (
            *(*STORED, append(1, [*events(1), {**events(2)[0], "data": {"text": "字"}}]).beside(SHORT)),
            read(1, events(0, 2)),
        ),
    ),
    "a short write left damage that shows behind a later append": (
        "FAULT-01",
        (*STORED, append(1, events(1)).beside(SHORT), append(1, events(2)), stat(None).raises(BROKEN)),
    ),
    "a listing shows that an append resolved though its write failed": (
        "FAULT-01",
        (*TWO, append(1, events(1)).beside(WRITE), listed(snap(1, 1), snap(1, 2, "t"))),
    ),
    "a flush that failed lost what it was to store": (
        "FAULT-02",
        (*STORED, append(1, events(1)), flush(1).meets(WRITE), HEAL, read(1, events(0))),
    ),
    "a flush that failed puts what it was to store behind what came later": (
        "FAULT-02",
        (
            *(*STORED, append(1, events(1)), flush(1).meets(WRITE), HEAL, append(1, events(2)), flush(1)),
            read(1, [*events(0), *events(2), *events(1)]),
        ),
    ),
    "a flush that failed was made up for, and events are gone later": (
        "SVC-11",
        (
            *(*STORED, append(1, events(1)), flush(1).meets(WRITE), HEAL, flush(1), read(1, events(0, 2)), opened(2)),
            read(2, events(0)),
        ),
    ),
    "a flush that failed lost what it was to store, and a reader calls it damage": (
        "FAULT-02",
        (*STORED, append(1, events(1)), flush(1).meets(WRITE), HEAL, read(1, []).raises(BROKEN)),
    ),
    "a close resolves though its write failed": (
        "FAULT-05",
        (*(*STORED, append(1, events(1)), close(1).beside(WRITE), HEAL, up(2)), opened(2, on=2), read(2, events(0))),
    ),
    "a retry and what it repeats do not go together": (
        "FAULT-02",
        (*FAILED, HEAL, append(1, events(1)), read(1, []).raises(BROKEN)),
    ),
    "a write open takes a read error for absence": (
        "FAULT-04",
        (*STORED, close(1), owned(2).raises(NOT_FOUND).beside(READ)),
    ),
    "a handle that was not spent fails to close": (
        "FAULT-02",
        (*FAILED, HEAL, close(1).raises("OSError", fault=True)),
    ),
    "events are gone long after the fault that they had nothing to do with": (
        "READ-04",
        (*FAILED, HEAL, append(1, events(1)), append(1, events(2)), read(1, events(0, 2))),
    ),
    "a reader that showed nothing that a failed close may have lost is refused": (
        "FAULT-08",
        (
            *(*STORED, opened(2), read(2, events(0)), append(1, events(1)), close(1).meets(WRITE), HEAL),
            read(2, []).raises(BROKEN),
        ),
    ),
    "a reader that showed what a failed close may have lost waits for ever": (
        "FAULT-08",
        (
            *(*STORED, append(1, events(1)), opened(2), read(2, events(0, 2)), close(1).meets(WRITE), HEAL),
            read(2, []).hangs(),
        ),
    ),
    "the storage fails no more, and another session cannot be read": (
        "FAULT-08",
        (*TWO, append(1, events(1)).meets(WRITE), HEAL, read(2, []).raises("OSError", fault=True)),
    ),
}
"""A mistake in words -> the clause that it breaks, and a history that ends with it."""


@pytest.mark.parametrize("told", BLAMED)
def test_mistake_is_blamed_on_its_clause(told: str) -> None:
    """What an earlier call did wrong is blamed where it shows."""
    clause, steps = BLAMED[told]
    found = judge_history(history(steps), PLAIN).violation
    assert found is not None
    assert found.clause == clause


ABOUT_ANOTHER: dict[str, tuple[str, Step]] = {
    "an instance that does not come up": ("SVC-07", up(2).meets(READ)),
    "an open of another session": ("FAULT-08", opened(3, "t").meets(READ)),
    "a look at another session": ("FAULT-08", stat(None, "t").meets(READ)),
    "nothing where another session is": ("FAULT-08", stat(None, "t").beside(READ)),
    "an append to another session": ("FAULT-08", append(2, events(1)).meets(READ)),
    "a new session": ("FAULT-08", create(3, "u").meets(READ)),
    "a sweep that names another session": ("FAULT-08", group(sweep(), "t")),
    "a wrong count of the session itself": ("FAULT-04", listed(snap(0, 0), snap(1, 1, "t")).beside(READ)),
}


@pytest.mark.parametrize("told", ABOUT_ANOTHER)
def test_a_fault_of_one_session_is_nobody_elses(told: str) -> None:
    """Where only one session's file meets errors, whoever is wrong about another one is blamed, and not the storage."""
    clause, step = ABOUT_ANOTHER[told]
    found = judge_history(history((*ONE, append(2, events(1)), step) if "sweep" in told else (*ONE, step)), PLAIN)
    assert found.violation is not None
    assert found.violation.clause == clause


def test_an_older_failure_of_another_session_may_be_told() -> None:
    """What one session owes because of an earlier fault is told also while only another one's file meets errors."""
    owes = (*ONE[:-1], FAIL, append(2, events(1)).beside(WRITE), ONE[-1])
    found = judge_history(history((*owes, group(sweep(), "t"))), PLAIN).violation
    assert found is None, found


def test_without_a_fault_nothing_is_excused() -> None:
    """A rejection that shows an earlier fault is no excuse for a call in which storage works."""
    steps: tuple[Step, ...] = (*STORED, HEAL, append(1, events(1)).raises("OSError", fault=True))
    found = judge_history(history(steps), PLAIN).violation
    assert found is not None
    steps = (up(), FAIL, HEAL, stat(None).raises("OSError", fault=True))
    assert judge_history(history(steps), PLAIN).violation is not None


def test_a_failed_append_is_promised_nothing_though_appends_are_durable() -> None:
    """Where nobody looked since a close failed, a barrier and a crash make nothing of a batch that was rejected."""
    claims = Capabilities(append_durability="append")
    steps = (*FAILED, close(1).meets(WRITE), HEAL, owned(2), flush(2), KILLED, up(2))
    for count in (1, 2):
        found = judge_history(history((*steps, stat(snap(count, 1), on=2))), claims).violation
        assert found is None, found
    assert judge_history(history((*steps, stat(snap(3, 1), on=2))), claims).violation is not None
