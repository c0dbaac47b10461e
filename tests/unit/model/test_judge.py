"""The fold's corners: what it leaves open on purpose, and what it needs to be imported."""

from __future__ import annotations

import subprocess
import sys
from typing import Literal

import pytest

from conformance.contract import Capabilities
from conformance.model.judge import Judge
from conformance.model.judgement import judge_history
from tests.unit.model.clause_cases import EAGER, MEMORY
from tests.unit.model.histories import (
    CONTIGUITY,
    EXISTS,
    LOST,
    NOT_FOUND,
    OWNED,
    Step,
    append,
    close,
    create,
    discard,
    down,
    events,
    flush,
    group,
    history,
    leave,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    sweep,
    up,
)

OWNING = Capabilities(cross_process_ownership=True)
ALONE = (up(), create(1))
WRITTEN = (*ALONE, append(1, events(0, 2)))
PENDING_TWICE = (up(), up(2), create(1), create(2, on=2))
MINUS_ZERO = [{**events(2)[0], "data": -0.0}]

OPEN_ANSWERS: dict[str, tuple[Step, ...]] = {
    "another instance may or may not see what no barrier covered": (*WRITTEN, up(2), stat(None, on=2)),
    "and it may": (*WRITTEN, up(2), stat(snap(1, 0), on=2)),
    "a second creator may be let in": (*PENDING_TWICE, append(1, events(0)), flush(1)),
    "a second creator may be refused": (*ALONE, up(2), create(2, on=2).raises(OWNED)),
    "an unstored append loses to a flush elsewhere": (
        *PENDING_TWICE,
        append(1, events(0)),
        append(2, events(0, mark="b")),
        flush(2),
        flush(1).raises(EXISTS),
        close(1),
    ),
    "an id is free where what was written under it is not stored": (
        *WRITTEN,
        up(2),
        create(2, on=2),
        flush(2),
        flush(1).raises(EXISTS),
    ),
    "a beaten handle may close with an error": (
        *PENDING_TWICE,
        flush(1),
        append(2, events(0)).raises(EXISTS),
        close(2).raises(EXISTS),
        close(2).raises(EXISTS),
    ),
    "a beaten handle rejects later appends in its own words": (
        *PENDING_TWICE,
        flush(1),
        flush(2).raises(EXISTS),
        append(2, events(0)).raises(LOST),
    ),
    "of two reasons to refuse either may be named": (
        *WRITTEN,
        append(1, [*events(5), {"type": "user/message"}]).raises(CONTIGUITY, expected=2, got=5),
        append(1, [{**events(5)[0], "data": -0.0}]).raises("ValueError"),
    ),
    "a reader may name the batch": (*WRITTEN, opened(2), append(2, [1]).raises("TypeError")),
    "what is beyond JSON's common ground may be refused": (*WRITTEN, append(1, MINUS_ZERO).raises("ValueError")),
    "or kept": (*WRITTEN, append(1, MINUS_ZERO), read(1, [*events(0, 2), *MINUS_ZERO])),
    "an odd optional key may be refused": (*WRITTEN, append(1, [{**events(2)[0], "ignorable": 1}]).raises("TypeError")),
    "an id that is no plain name may be refused": (up(), create(1, "a/b").raises("ValueError"), stat(None, "a/b")),
    "an empty log has one revision in two incarnations": (
        *ALONE,
        stat(snap(0, 0)),
        close(1),
        create(2),
        stat(snap(0, 0)),
    ),
    "a flush may change the revision": (*WRITTEN, stat(snap(2, 0)), flush(1), stat(snap(2, 1))),
    "a count need not be given": (*WRITTEN, stat(snap(None, 0)), append(1, events(2)), stat(snap(None, 1))),
    "an overtaken flush may resolve or reject": (
        *WRITTEN,
        flush(1),
        up(2),
        owned(2, on=2),
        flush(1),
        flush(1).raises(LOST),
    ),
    "a barrier covers what its own handle wrote and found, not what another wrote beside it": (
        *ALONE,
        flush(1),
        up(2),
        owned(2, on=2),
        append(1, events(0, 2)),
        sweep(2),
        close(2),
        up(3),
        stat(snap(0, 0), on=3),
    ),
    "nothing is said of an id whose pending owner was collected": (
        *ALONE,
        discard(1),
        up(2),
        sweep(),
        stat(snap(0, 0), on=2),
        create(2, on=2),
        sweep().raises("ExceptionGroup"),
        listed(on=2),
    ),
    "a service flush may name a handle that already lost": (
        *PENDING_TWICE,
        flush(1),
        flush(2).raises(EXISTS),
        sweep(2).raises("ExceptionGroup", **group("s")),
        sweep(2),
    ),
    "a service close may fail for a handle that lost": (
        *PENDING_TWICE,
        flush(1),
        down(2).raises("ExceptionGroup", **group("s")),
    ),
    "nothing is said of a collected owner": (*WRITTEN, discard(1), owned(2).raises(OWNED), owned(3), stat(None)),
    "leaving a closed handle's context is left open": (*WRITTEN, close(1), leave(1).raises("SessionHandleClosedError")),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN_ANSWERS)
def test_what_the_contract_leaves_open_is_allowed(name: str) -> None:
    """An answer that the contract neither asks for nor forbids breaks nothing."""
    assert judge_history(history(OPEN_ANSWERS[name]), Capabilities()).violation is None


@pytest.mark.parametrize(
    "steps",
    [
        (*ALONE, close(1), stat(snap(0, 0)), create(2).raises(EXISTS), owned(3)),
        (*ALONE, close(1), stat(None), create(2)),
        (*ALONE, up(2), stat(snap(0, 0), on=2), listed(snap(0, 0), on=2), create(2, on=2).raises(EXISTS)),
    ],
)
def test_eager_backend_may_keep_an_empty_session(steps: tuple[Step, ...]) -> None:
    """With eager materialisation an empty session may remain after its close, as long as all calls agree."""
    assert judge_history(history(steps), EAGER).violation is None


def test_second_owner_breaks_the_claim_of_ownership() -> None:
    """Where ``cross_process_ownership`` is claimed a second instance's write open must be refused."""
    steps = (*WRITTEN, flush(1), up(2))
    refused = judge_history(history((*steps, owned(2, on=2).raises(OWNED))), OWNING)
    let_in = judge_history(history((*steps, owned(2, on=2))), OWNING)
    assert refused.violation is None
    assert let_in.violation is not None
    assert let_in.violation.clause == "OWN-09"


def test_no_judgement_after_two_instances_wrote_side_by_side_unseen() -> None:
    """Once two instances wrote one session and no barrier says whose events are stored, nothing of it is judged."""
    steps = (*WRITTEN, flush(1), up(2), owned(2, on=2), append(2, events(2)), append(1, events(2, mark="x")))
    after = (
        read(1, events(7)),
        stat(None),
        append(1, events(9)),
        flush(1).raises("OSError"),
        close(2).raises("OSError"),
    )
    assert judge_history(history((*steps, *after)), Capabilities()).violation is None


def test_hang_breaks_the_clause_of_the_call() -> None:
    """A call that never ends is judged as a wrong answer to it."""
    found = judge_history(history((*WRITTEN, flush(1).hangs())), Capabilities()).violation
    assert found is not None
    assert "never returned" in found.observed


@pytest.mark.parametrize("loop", ["simulated", "real"])
def test_owner_is_not_waited_for(loop: Literal["simulated", "real"]) -> None:
    """OWN-01: a refusal that took simulated time is no refusal at once; real time says nothing."""
    told = history((up(), create(1), owned(2).raises(OWNED)))
    told[-1] = told[-1]._replace(at=500_000)
    found = judge_history(told, Capabilities(loop=loop)).violation
    assert (found is not None and found.clause == "OWN-01") == (loop == "simulated")


def test_skipped_calls_say_nothing() -> None:
    """A call on a handle that was never returned is neither judged nor witnessed."""
    steps = (up(), opened(1).raises(NOT_FOUND))
    alone = judge_history(history(steps), MEMORY)
    events_with_skip = history((*steps, read(1, [])))
    judge = Judge(MEMORY)
    for event in events_with_skip:
        judge.feed(event)
    assert judge.witnesses == alone.witnesses


@pytest.mark.parametrize(
    ("steps", "exact"),
    [
        ((*WRITTEN, read(1, events(0, 2))), True),
        ((*WRITTEN, append(1, events(5)).raises(CONTIGUITY, expected=2, got=5)), True),
        ((*WRITTEN, append(1, "x").raises("TypeError")), False),
        ((*ALONE, close(1), stat(None)), False),
        ((*ALONE, up(2), stat(None, on=2)), False),
        ((*WRITTEN, up(2), stat(snap(2, 0), on=2)), False),
        ((*WRITTEN, flush(1), up(2), owned(2, on=2)), False),
        ((*WRITTEN, flush(1), up(2), stat(snap(2, 0), on=2)), True),
        ((*PENDING_TWICE, append(1, events(0)), sweep(2)), False),
        ((*PENDING_TWICE, sweep(2)), True),
    ],
)
def test_exact_says_whether_every_backend_answers_so(steps: tuple[Step, ...], *, exact: bool) -> None:
    """``exact`` holds where one answer is allowed, whatever the backend claims."""
    judge = Judge(Capabilities())
    for event in history(steps):
        judge.feed(event)
    assert judge.exact is exact


def test_judge_needs_neither_hypothesis_nor_a_backend() -> None:
    """Importing the judge and folding a history loads no Hypothesis, no event loop and no backend."""
    program = (
        "import sys\n"
        "from conformance.contract import Capabilities\n"
        "from conformance.model.judgement import judge_history\n"
        "judge_history([], Capabilities())\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'hypothesis', 'reference_backend', 'asyncio', 'strategies', 'pytest', 'orjson'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
