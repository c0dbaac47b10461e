"""The crash machine: what it draws, what it finds, and that what it found comes again from the program alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.clauses import Violation
from conformance.clauses.levels import presets_of
from conformance.contract import Backend, SessionHeader
from conformance.drivers.execution import Execution, ProgramResult, run_program
from conformance.drivers.fitting import NO_FIT, Fit
from conformance.drivers.loading import load_file
from conformance.drivers.registry import hold_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import Finding, Job
from conformance.machines import job as job_module
from conformance.machines.crashing import CRASHING
from conformance.machines.job import BudgetSpent
from conformance.machines.reduce import Perform, groups_of, reduce_finding
from conformance.model.operations import (
    Append,
    Crash,
    Create,
    Flush,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Program,
    Read,
    filler,
)
from conformance.report.events import FailureFound, ItemFinished
from conformance.report.summary import summarise
from conformance.runner import Plan, Settings, make_plan, run_item
from conformance.sim import RecordedChoices
from reference_backend import jsonl
from reference_backend.memory import memory
from tests.unit.machines.planted import GOOD, Mapped, Unrepaired, Unsynced, planted

pytestmark = pytest.mark.usefixtures("patched")

VARIANTS = Path(__file__).parents[2] / "variants"
MARKED = load_file(VARIANTS / "marked_files.py").marked_files
PLAIN = load_file(VARIANTS / "plain_files.py")


@pytest.fixture
def world() -> Iterator[tuple[Workspace, Watchdog]]:
    """Scratch space and a watchdog."""
    with Workspace() as workspace, Watchdog() as watchdog:
        yield workspace, watchdog


class Recording(Job):
    """A hunt that keeps every program it performed, and ends with the first failing one."""

    seen: list[tuple[Operation, ...]]

    def end(self, execution: Execution, *, counted: bool = True) -> None:
        """Keep the program."""
        self.seen.append(tuple(execution.operations))
        super().end(execution, counted=counted)

    def found(self, violation: Violation, execution: Execution) -> bool:
        """Keep it, and end the hunt."""
        super().found(violation, execution)
        self.spent = True
        raise BudgetSpent


def hunted(
    backend: Backend, world: tuple[Workspace, Watchdog], examples: int, seed: int, partner: Backend | None = None
) -> Recording:
    """The job of a hunt."""
    presets = presets_of(backend.capabilities.durability)
    job = Recording(backend, partner, world[0], None, world[1], "item", seed, examples, presets=presets)
    job.seen = []
    CRASHING.hunt(job)
    return job


def crashes_of(program: tuple[Operation, ...]) -> list[Crash]:
    """The crashes of a program."""
    return [each for each in program if isinstance(each, Crash)]


@pytest.fixture(scope="module")
def drawn(patched: None) -> list[tuple[Operation, ...]]:
    """The programs of one hunt."""
    with Workspace() as workspace, Watchdog() as watchdog:
        return hunted(GOOD.good_store, (workspace, watchdog), 40, 3).seen


def test_programs_hold_crashes_of_every_kind(drawn: list[tuple[Operation, ...]]) -> None:
    """Each program crashes; between and inside calls, in recoveries too, under every preset, and work goes on after."""
    # Hypothesis gives an example up now and then, before its first rule.
    programs = [each for each in drawn if len(each) > 1]
    assert len(programs) >= 40
    assert all(crashes_of(each) for each in programs)
    crashes = [crash for each in programs for crash in crashes_of(each)]
    assert {each.preset for each in crashes} == {"kill", "ext4", "xfs", "posix"}
    inside = {each.during.kind for each in crashes if each.during is not None}
    every = {"append", "flush", "close", "create", "open_instance", "open", "flush_instance", "close_instance"}
    assert {"append", "flush"} <= inside <= every
    # Which of the others one hunt misses depends on its seed.
    assert len(inside) >= len(every) - 2
    assert any(each.during is None for each in crashes)
    assert any(each.after is not None for each in crashes)
    assert any(each.lost for each in crashes)
    assert any(not each.lost for each in crashes if each.preset != "kill")
    assert any(len(crashes_of(each)) > 3 for each in programs)
    latest = [max(at for at, each in enumerate(program) if isinstance(each, Crash)) for program in programs]
    assert any(isinstance(each, Append) for program, at in zip(programs, latest, strict=True) for each in program[at:])


def test_a_kill_is_followed_by_a_power_loss(drawn: list[tuple[Operation, ...]]) -> None:
    """What a killed process left unsynced is taken over and flushed before the power fails."""

    def is_second_life(program: tuple[Operation, ...]) -> bool:
        kinds = [each.preset if isinstance(each, Crash) else each.kind for each in program]
        text = " ".join("loss" if each in ("ext4", "xfs", "posix") else each for each in kinds)
        return "kill open_instance open read append flush loss" in text or "kill open_instance open flush loss" in text

    assert any(map(is_second_life, drawn))


@pytest.mark.parametrize("level", ["process-kill", "power-loss"])
def test_only_what_is_to_be_withstood_is_drawn(world: tuple[Workspace, Watchdog], level: str) -> None:
    """No crash is harder than the durability that is tried."""
    backend = PLAIN.plain_files if level == "process-kill" else MARKED
    assert backend.capabilities.durability == level
    crashes = [crash for each in hunted(backend, world, 10, 1).seen for crash in crashes_of(each)]
    assert {each.preset for each in crashes} == set(presets_of(backend.capabilities.durability))


def test_nothing_to_withstand_is_an_error(world: tuple[Workspace, Watchdog]) -> None:
    """A hunt without a kind of crash would exercise nothing, and does not pass for one that did."""
    with pytest.raises(ValueError, match="has to know how"):
        CRASHING.hunt(Job(jsonl, None, world[0], None, world[1], "item", 1, 1))


@pytest.mark.parametrize(
    ("backend", "partner"),
    [(jsonl, memory), (MARKED, jsonl), (GOOD.good_store, None), (PLAIN.plain_files, None), (PLAIN.eager_files, None)],
    ids=lambda each: each.name if isinstance(each, Backend) else "",
)
def test_no_alarm(backend: Backend, partner: Backend | None, world: tuple[Workspace, Watchdog]) -> None:
    """Stores that keep their promise are not called wrong, and the reference agrees wherever it can follow."""
    job = hunted(backend, world, 8, 1, partner)
    assert job.kit_error is None
    assert job.findings == {}
    assert not {"DUR-01", "DUR-05", "DUR-07", "TORN-01", "OWN-08"} - job.witnesses.keys()


LOADED: tuple[Operation, ...] = (
    OpenInstance(1),
    Create(1, 1, SessionHeader("other", 0)),
    Append(1, [filler(0)]),
    Flush(1),
    Create(1, 2, SessionHeader("s", 0)),
    Append(2, [filler(0)]),
    ListSessions(1),
    Append(2, [filler(1, 9000)]),
    Flush(2),
)
"""More than is needed to show that a flush syncs nothing."""


def performer(backend: Backend, world: tuple[Workspace, Watchdog]) -> Perform:
    """Performs programs, each in a world of its own."""

    def perform(program: Program, fit: Fit = NO_FIT, /) -> ProgramResult:
        root = world[0].fresh_root()
        try:
            return run_program(backend, program, root, watchdog=world[1], fit=fit)
        finally:
            world[0].drop_family(root)

    return perform


@pytest.mark.parametrize(
    ("kind", "clauses"),
    [(Unsynced, {"DUR-01", "DUR-06", "DUR-08", "DUR-11"}), (Unrepaired, {"TORN-01", "TORN-02", "DUR-07", "DUR-11"})],
)
def test_planted_faults_are_found_and_replay(kind: type, clauses: set[str], world: tuple[Workspace, Watchdog]) -> None:
    """A missing sync and a missing repair are found, made short, and their programs fail again through JSON."""
    backend = planted(kind)
    job = hunted(backend, world, 150, 5)
    (finding,) = job.findings.values()
    assert finding.clause in clauses
    reduced = reduce_finding(finding, performer(backend, world), seconds=10)
    assert reduced is not None
    shortest, result = reduced
    assert shortest.clause in clauses
    assert shortest.size < finding.size
    crashes = crashes_of(shortest.program.operations)
    assert len(crashes) <= 2
    assert len(shortest.program.operations) <= 16
    assert all(len(each.lost) <= 2 for each in crashes)
    again = Program.from_json(json.loads(json.dumps(shortest.program.to_json())))
    replayed = run_program(backend, again, world[0].fresh_root())
    assert replayed.violation is not None
    assert replayed.violation.clause == shortest.clause
    assert replayed.violation.call == shortest.violation.call
    assert result.program == shortest.program


def test_crashes_are_made_mild(world: tuple[Workspace, Watchdog]) -> None:
    """Where less will do, a crash comes between two calls, in a weaker preset, and loses little."""
    backend = planted(Unsynced)
    execution = Execution(backend, world[0].fresh_root(), crashes=True)
    found: Finding | None = None
    try:
        for operation in LOADED:
            execution.do(operation)
        # The call under way was done, everything is lost, one page but in part.
        execution.crash("posix", RecordedChoices([0, 1, 1]), Append(2, [filler(2)]))
        assert crashes_of(execution.program.operations)[0].tear is not None
        for operation in (OpenInstance(2), OpenSession(2, 3, "s", "read"), Read(3)):
            execution.do(operation)
    except Violation as violation:
        found = Finding(violation.clause, execution.program, violation)
    finally:
        execution.finish()
    assert found is not None
    reduced = reduce_finding(found, performer(backend, world), seconds=20)
    assert reduced is not None
    (crash,) = crashes_of(reduced[0].program.operations)
    assert (crash.preset, crash.during, crash.after, crash.tear) == ("ext4", None, None, None)
    assert Counter(each[1] for each in crash.lost) in ({"page": 1}, {"size": 1, "page": 1}, {"size": 1})
    kinds = [each.kind for each in reduced[0].program.operations]
    assert kinds[: kinds.index("crash")] == ["open_instance", "create", "append", "append", "flush"]


def test_what_belongs_together_is_left_out_together() -> None:
    """A session with its handles, the looks, each life and each handle are groups; the last operation is in none."""
    program = (
        *LOADED,
        Crash("kill"),
        OpenInstance(2),
        OpenSession(2, 3, "s", "read"),
        Read(3),
        ListSessions(2),
    )
    groups = groups_of(program)
    assert [len(each) for each in groups] == sorted(map(len, groups), reverse=True)
    assert frozenset({1, 2, 3}) in groups
    assert frozenset({4, 5, 7, 8, 11, 12}) in groups
    assert frozenset(range(10)) in groups
    assert frozenset({11, 12}) in groups
    assert not any(len(program) - 1 in each for each in groups)


def plan_of(backend: Backend, state: Path, *clauses: str) -> Plan:
    """A plan of a few examples."""
    return make_plan(Settings(backend=hold_backend(backend), state=state, clauses=clauses, max_examples=25, seed=2))


@pytest.mark.parametrize("asked", [None, "process-kill", "power-loss"])
def test_what_is_asked_for_is_tried(tmp_path: Path, asked: str | None) -> None:
    """A backend that claims nothing is crashed where the user asks for it, and only as hard as that."""
    silent = replace(PLAIN.plain_files.capabilities, durability="none")
    backend = replace(PLAIN.plain_files, name="silent", capabilities=silent)
    plan = make_plan(Settings(backend=hold_backend(backend), state=tmp_path, clauses=("DUR-01",), durability=asked))
    (item,) = [each for each in plan.items if each.check is CRASHING]
    assert bool(item.skip) == (asked is None)
    assert plan.presets() == {None: (), "process-kill": ("kill",), "power-loss": ("kill", "ext4", "xfs")}[asked]


def test_a_doubt_in_mid_run_is_not_measured(tmp_path: Path) -> None:
    """A backend that turns out to do what nobody sees neither passes nor fails, and no error is the kit's."""
    plan = plan_of(planted(Mapped), tmp_path, "DUR-01", "SEQ-01")
    item = next(each for each in plan.items if each.check is CRASHING)
    assert not item.skip
    finished = run_item(plan, item, share=120)[-1]
    assert isinstance(finished, ItemFinished)
    assert finished.outcome == "not measured"
    assert "mapped into memory for writing" in finished.reason
    assert {"DUR-01", "TORN-01"} <= set(finished.unmeasured)
    assert "SEQ-01" not in finished.unmeasured
    verdict = summarise([plan.started(), finished]).verdicts["DUR-01"]
    assert (verdict.verdict.value, verdict.reason) == ("not measured", finished.reason)


def test_a_run_tells_a_failure_that_a_case_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The item of a whole run finds the fault, and its saved case fails at the same clause."""
    monkeypatch.setattr(job_module, "PATIENCE", 10)
    plan = plan_of(planted(Unsynced), tmp_path, "DUR-01")
    item = next(each for each in plan.items if each.check is CRASHING)
    failures = [each for each in run_item(plan, item, share=120) if isinstance(each, FailureFound)]
    assert failures
    for failure in failures:
        saved = json.loads(Path(failure.case).read_text())
        result = run_program(planted(Unsynced), Program.from_json(saved["program"]), tmp_path / failure.fingerprint)
        assert result.violation is not None
        assert result.violation.clause == failure.clause == saved["clause"]
