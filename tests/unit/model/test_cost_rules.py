"""What counts as growth, and what is no evidence at all; the clauses themselves are in ``clause_cases``."""

from __future__ import annotations

import pytest

from conformance.contract import Capabilities
from conformance.model.cost_rules import FACTOR, SLACK_ACCESSES, SLACK_ALLOCATED, SLACK_BYTES, SLACK_MEMORY
from conformance.model.judgement import Judgement, judge_history
from tests.unit.model.cost_histories import BEGUN, FILLED, appended, appends, opens, reads, stats, used
from tests.unit.model.histories import Step, append, close, create, events, flush, history, opened, read, snap, stat

COSTS = ("SEQ-10", "SVC-10", "READ-05")
MEMORY = Capabilities(storage="memory", durability="none")
HUGE = 10**8


def judged(*steps: Step, capabilities: Capabilities | None = None) -> Judgement:
    """What these steps come to."""
    return judge_history(history(steps), capabilities or Capabilities())


def is_evidence(*steps: Step, capabilities: Capabilities | None = None) -> bool:
    """Whether the last window was judged, for a clause or against it."""
    found = judged(*steps, capabilities=capabilities)
    assert found.violation is None or found.violation.clause in COSTS
    return found.violation is not None or any(found.witnesses[each] for each in COSTS)


@pytest.mark.parametrize(
    ("beginning", "before", "largest", "larger", "clause"),
    [
        (appends, used(2), used(16 * (FACTOR + SLACK_BYTES)), used(16 * (FACTOR + SLACK_BYTES + 1)), "SEQ-10"),
        (stats, used(100), used(100 * FACTOR + SLACK_BYTES), used(100 * FACTOR + SLACK_BYTES + 1), "SVC-10"),
        (opens, used(9, 7), used(9, 7 * FACTOR + SLACK_ACCESSES), used(9, 7 * FACTOR + SLACK_ACCESSES + 1), "SVC-10"),
        (
            reads,
            used(9, peak=1_000),
            used(9, peak=1_000 * FACTOR + SLACK_MEMORY),
            used(9, peak=1_000 * FACTOR + SLACK_MEMORY + 1),
            "READ-05",
        ),
    ],
)  # fmt: skip
def test_growth_begins_past_twice_and_the_slack(
    beginning: object, before: Step, largest: Step, larger: Step, clause: str
) -> None:
    """Twice what it cost and the slack on top is allowed to the byte, and not one more."""
    assert callable(beginning)
    steps = beginning(before)
    allowed, broken = judged(*steps, largest), judged(*steps, larger).violation
    assert allowed.violation is None
    assert allowed.witnesses[clause] == 1
    assert broken is not None
    assert broken.clause == clause


def test_violation_tells_both_numbers_for_each_call() -> None:
    """What is said are the costs of one call at either size, and the most that it might have been."""
    found = judged(*appends(used(620)), used(16 * 24_800)).violation
    assert found is not None
    assert found.observed == "bytes read and written for each append: 310 at length 4, 24,800 at length 32"
    assert "at most 8,812 (2 times what the smaller one took, and 8,192)" in found.expected


def test_sessions_are_told_as_such() -> None:
    """A cost that grows with the number of sessions names those numbers."""
    found = judged(*opens(used(10, 6)), used(10, 60)).violation
    assert found is not None
    assert found.observed == "accesses to files for each open for reading: 6 with 1 session, 60 with 8 sessions"


def test_costs_that_shrink_are_no_growth() -> None:
    """A call may cost less in the larger world."""
    found = judged(*stats(used(HUGE)), used(1))
    assert found.violation is None
    assert found.witnesses["SVC-10"] == 1


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((*FILLED, *appended(2, 2)), id="one window"),
        pytest.param((*FILLED, stat(snap(2, 0)), used(1), append(1, events(2, 13)), used(1), stat(snap(15, 1))),
                     id="less than eight times"),
        pytest.param((*FILLED, *appended(2, 2), used(1), append(1, events(4, 12)), used(1), *appended(16, 15)),
                     id="the log did not double"),
        pytest.param((*FILLED, *appended(2, 2), used(1), append(1, events(4, 12)), used(1), append(1, events(16, 16))),
                     id="another size of batch"),
        pytest.param((*appends(used(1)), stat(snap(32, 0))), id="another call between"),
        pytest.param((*appends(used(1)), close(1)), id="a close between"),
        pytest.param(stats(used(1))[:-1], id="nothing done"),
        pytest.param((*FILLED, opened(2), used(1), append(1, events(2, 14)), used(1), opened(3, access="write")
                      .raises("SessionAlreadyOwnedError")), id="a refusal"),
        pytest.param((*FILLED, read(1, events(0, 2)), used(1), append(1, events(2, 14)), used(1),
                      read(1, events(0, 16))), id="reads without a bound"),
        pytest.param((*FILLED, stat(snap(2, 0)), used(1), append(1, events(2, 14)),
                      *(create(number, f"t{number}") for number in range(9, 19)), used(1), stat(snap(16, 1))),
                     id="both sizes differ"),
        pytest.param((*BEGUN, append(1, events(0)), used(1), opened(2), used(1), append(1, events(1, 15)), used(1),
                      opened(3), stat(snap(16, 0))), id="two kinds of call"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_no_evidence(steps: tuple[Step, ...]) -> None:
    """Windows that differ in more than one size of the world are judged neither way, however much was used."""
    assert not is_evidence(*steps, used(HUGE, 10**6, peak=HUGE))


def test_events_of_another_weight_are_not_compared() -> None:
    """An append of much more text may cost more."""
    wide = tuple(append(1, [{**events(seq)[0], "data": "x" * 500}]) for seq in range(16, 32))
    steps = (*FILLED, *appended(2, 2), used(1), append(1, events(4, 12)), used(1), *wide)
    assert not is_evidence(*steps, used(HUGE))


def test_flush_belongs_to_the_appends_before_it() -> None:
    """What a buffered backend writes at a flush is what its appends cost."""
    steps = (*appends(used(200)), flush(1))
    assert is_evidence(*steps, used(1_600))
    found = judged(*steps, used(16 * 20_000)).violation
    assert found is not None
    assert "20,000 at length 32" in found.observed


def test_flush_of_another_session_does_not() -> None:
    """A flush of another session's handle makes the window no evidence."""
    steps = (*BEGUN, create(2, "t"), *appends(used(200))[len(BEGUN) :], flush(2))
    assert not is_evidence(*steps, used(HUGE))


def test_operating_system_counts_where_the_recorder_is_blind() -> None:
    """Where the process moved clearly more than the recorder saw, its numbers are compared, those from before too."""
    blind = stats(used(0, process=16))
    quiet = judged(*blind, used(0, process=SLACK_BYTES))
    assert quiet.violation is None
    assert quiet.witnesses["SVC-10"] == 1
    found = judged(*blind, used(0, process=90_000)).violation
    assert found is not None
    assert "16 at length 2, 90,000 at length 16" in found.observed


def test_recorder_counts_where_it_sees_as_much() -> None:
    """What the process did besides, such as logging, is left out while it is little."""
    seen = judged(*stats(used(1_000, process=1_200)), used(1_000, process=4_000))
    assert seen.violation is None
    assert seen.witnesses["SVC-10"] == 1
    assert judged(*stats(used(1_000, process=1_200)), used(50_000, process=50_000)).violation is not None


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(used(0, doubt="a mapping"), id="doubt"),
        pytest.param(used(0, process=0), id="nothing seen"),
    ],
)
def test_doubtful_counts_are_no_evidence(before: Step) -> None:
    """Where a counter says that it misses something, or neither saw a byte, nothing is judged by bytes."""
    quiet = tuple(used() if step == used(500) or step == used(900) else step for step in stats(before))
    assert not is_evidence(*quiet, used(0, 0))


def test_memory_is_judged_without_input_and_output() -> None:
    """READ-05 needs no count of bytes; without traced memory it is no evidence."""
    quiet = tuple(used() if step == used(500) or step == used(900) else step for step in reads(used(peak=100)))
    assert is_evidence(*quiet, used(peak=HUGE))
    assert not is_evidence(*reads(used(9)), used(HUGE))


def test_backend_in_memory_is_judged_by_what_it_allocates() -> None:
    """Of a backend in memory bytes read and written mean nothing; memory does, with little slack."""
    assert judged(*stats(used(allocated=900)), used(HUGE, allocated=900), capabilities=MEMORY).violation is None
    found = judged(*stats(used(allocated=900)), used(allocated=1_801 + SLACK_ALLOCATED), capabilities=MEMORY).violation
    assert found is not None
    assert found.observed.startswith("bytes of memory for each stat")
    found = judged(*reads(used(peak=900)), used(peak=1_801 + SLACK_ALLOCATED), capabilities=MEMORY).violation
    assert found is not None
    assert found.clause == "READ-05"


def test_counters_that_were_never_started_tell_nothing() -> None:
    """Without a start there is no window."""
    steps = [step for step in stats(used(1)) if step != BEGUN[0]]
    assert not is_evidence(*steps, used(HUGE))
