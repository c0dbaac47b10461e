"""Crashes inside calls that are in flight at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from conformance.clauses import Violation
from conformance.contract import SessionHeader
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.registry import load_backend
from conformance.machines.overlaps import crashing_programs
from conformance.model.operations import (
    Append,
    Crash,
    Create,
    Flush,
    ListSessions,
    OpenInstance,
    OpenSession,
    Overlap,
    Program,
    Read,
    Step,
)
from conformance.sim import SeededChoices

pytestmark = pytest.mark.usefixtures("patched")

JSONL = load_backend("jsonl")
HEADER = SessionHeader(id="s", created_at=0)


def event(seq: int) -> dict[str, object]:
    """A plain event."""
    return {"type": "user/message", "seq": seq, "time": 0, "data": {"seq": seq}}


def perform(root: Path, seed: int) -> tuple[Execution, Violation | None]:
    """One program of that seed."""
    choices = SeededChoices(seed)
    before, overlap, after = crashing_programs(choices, JSONL.capabilities)
    execution = Execution(JSONL, root / str(seed), crashes=True)
    found = None
    try:
        for operation in before:
            execution.do(operation)
        execution.crash(choices.pick(("kill", "ext4", "posix"), "preset"), choices, overlap)
        for operation in after:
            execution.do(operation)
    except Violation as violation:
        found = violation
    finally:
        execution.finish()
    return execution, found


def test_the_reference_comes_through(tmp_path: Path) -> None:
    """Whatever is in flight, the reference keeps what a barrier covered and shows whole logs; and that is witnessed."""
    witnessed: Counter[str] = Counter()
    for seed in range(20):
        execution, found = perform(tmp_path, seed)
        assert found is None
        witnessed += execution.witnesses
    assert all(witnessed[clause] for clause in ("DUR-01", "DUR-04", "TORN-01", "OWN-08"))


def test_the_program_alone_comes_to_the_same_again(tmp_path: Path) -> None:
    """A crash inside an overlap is data: performed from its JSON form, the program has the same history."""
    execution, _ = perform(tmp_path, 3)
    again = run_program(JSONL, Program.from_json(execution.program.to_json()), tmp_path / "again")
    assert again.violation is None
    assert again.history == tuple(execution.history)


@pytest.mark.parametrize(("after", "kept"), [(0, 1), (None, 3)])
def test_appends_in_flight_come_back_as_the_beginning_of_a_chain(tmp_path: Path, after: int | None, kept: int) -> None:
    """Two appends are in flight: any beginning of what they would have made may come back, and nothing else."""
    calls = tuple(Step(Append(1, [event(seq)]), waits=False) for seq in (1, 2))
    crash = Crash("kill", Overlap((calls,)), after)
    execution = Execution(JSONL, tmp_path / "root", crashes=True)
    try:
        for operation in (OpenInstance(1), Create(1, 1, HEADER), Append(1, [event(0)]), Flush(1), crash):
            execution.do(operation)
        session = execution.judge.world.stored["s"]
        assert session.recovery is not None
        assert [event(0), event(1), event(2)] in [session.log, *session.recovery.others]
        assert session.recovery.low == 1
        execution.do(OpenInstance(2))
        execution.do(OpenSession(2, 2, "s", "read"))
        shown = execution.do(Read(2))
        assert getattr(shown, "value", None) == [event(0), event(1), event(2)][:kept]
    finally:
        execution.finish()


@pytest.mark.parametrize("after", [None, 0, 2, 4, 6, 8])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_another_batch_may_stand_where_a_cancelled_one_was_to(tmp_path: Path, turns: int, after: int | None) -> None:
    """Whether a cancelled append is there nobody knows; the next one is for its place, and either may come back."""
    other = {**event(1), "data": "other"}
    first = Step(Append(1, [event(seq) for seq in (1, 2, 3)]), waits=False, cancels=((0, turns),))
    overlap = Overlap(((first, Step(Append(1, [other]))),))
    execution = Execution(JSONL, tmp_path / "root", crashes=True)
    try:
        for operation in (OpenInstance(1), Create(1, 1, HEADER), Append(1, [event(0)]), Flush(1)):
            execution.do(operation)
        execution.do(Crash("kill", overlap, after))
        for look in (OpenInstance(2), ListSessions(2), OpenSession(2, 2, "s", "read"), Read(2)):
            execution.do(look)
    finally:
        execution.finish()


def test_an_append_at_a_place_that_is_taken_does_not_come_back(tmp_path: Path) -> None:
    """It has to be refused, so that no crash inside of it leaves less, or anything else, than what was there."""
    calls = (Step(Append(1, [{**event(1), "data": "late"}])),)
    execution = Execution(JSONL, tmp_path / "root", crashes=True)
    try:
        before = (OpenInstance(1), Create(1, 1, HEADER), Append(1, [event(0), event(1), event(2)]))
        for operation in (*before, Crash("kill", Overlap((calls,)))):
            execution.do(operation)
        session = execution.judge.world.stored["s"]
        assert session.recovery is not None
        assert [session.log, *session.recovery.others] == [[event(0), event(1), event(2)]]
        execution.do(OpenInstance(2))
        execution.do(ListSessions(2))
    finally:
        execution.finish()
