"""The crash sweep: silent where nothing is wrong, loud where something is, honest about what it covered."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.drivers.execution import run_program
from conformance.drivers.registry import load_backend
from conformance.machines.job import Job
from conformance.machines.lives import GoesOn
from conformance.machines.points import Recorded
from conformance.machines.sweep import CrashSweep, Tier
from conformance.model.operations import Crash, Operation
from tests.unit.machines.laboratories import DUR, QUICK, ROOT, TORN, first_finding, job_for, swept

pytestmark = pytest.mark.usefixtures("patched")


@pytest.mark.parametrize("preset", ["kill", "ext4", "xfs", "posix"])
def test_reference_withstands_every_preset(preset: str) -> None:
    """No state of any short workload of the reference is a finding, and the sweep says that it saw all of them.

    What the two in the middle may leave is in what the strictest may leave; their second lives are shorter.
    """
    with job_for("jsonl") as job:
        lives = 2 if preset in ("kill", "posix") else 1
        sweep = swept(job, preset, Tier(calls=2, second_lives=lives, recovery_crashes=2))
        assert job.findings == {}
        assert sweep.coverage.is_whole
        assert job.crash_bound == 2
        assert job.crash_states == sweep.laboratory.tally.opened > 0
        assert "exhaustive" in job.coverage
        assert "not exhaustive" not in job.coverage
        assert {"DUR-01", "TORN-01", "TORN-02", "TORN-04", "DUR-05", "OWN-08"} <= set(job.witnesses)


def test_equal_images_are_opened_once() -> None:
    """Where the factory takes env there are fewer images opened than states judged; where not, each is opened."""
    with job_for("jsonl") as job:
        tally = swept(job, "posix").laboratory.tally
        assert tally.opened < tally.judged
    backend = load_backend("jsonl", ROOT)
    with job_for(replace(backend, open=lambda root: backend.open(root))) as job:
        sweep = swept(job, "posix")
        assert sweep.laboratory.tally.opened == sweep.laboratory.tally.judged
        assert "takes no env" in job.coverage


class _NotedLives(CrashSweep):
    """A sweep that notes what was performed in each second life."""

    def __init__(self, job: Job, preset: str, tier: Tier) -> None:
        super().__init__(job, preset, tier)
        self.lived: list[tuple[Operation, ...]] = []

    def _live_on(self, before: tuple[Operation, ...], goes_on: GoesOn) -> Recorded | None:
        recorded = super()._live_on(before, goes_on)
        if recorded is not None:
            self.lived.append(recorded.operations)
        return recorded


def test_no_second_life_is_lived_twice() -> None:
    """Each kill is gone on from in both ways, and what is gone is made anew in both."""
    with job_for("jsonl") as job:
        sweep = _NotedLives(job, "ext4", Tier(calls=2, second_lives=2))
        sweep.run()
    told = [repr(each) for each in sweep.lived]
    assert len(set(told)) == len(told) == sweep.coverage.lives
    ways: dict[str, set[str]] = {}
    for operations in sweep.lived:
        at = max(index for index, each in enumerate(operations) if isinstance(each, Crash))
        ways.setdefault(repr(operations[: at + 1]), set()).add(" ".join(each.kind for each in operations[at + 1 :]))
    assert {frozenset(each) for each in ways.values()} == {
        frozenset({"open_instance open open create flush", "open_instance open open create append flush"}),
        frozenset({"open_instance open create flush", "open_instance open create append flush"}),
        frozenset({"open_instance open read flush", "open_instance open read append flush"}),
    }


@pytest.mark.parametrize(
    ("spec", "preset", "clause"),
    [
        (f"{TORN}:no_tail_repair", "ext4", "TORN-02"),
        (f"{DUR}:replaces_without_fsync", "xfs", "DUR-11"),
    ],
)
def test_planted_faults_are_found(spec: str, preset: str, clause: str) -> None:
    """A store with one fault is found by the clause that it breaks, in a program that crashes and recovers."""
    finding = first_finding(spec, preset, clause)
    assert any(isinstance(each, Crash) for each in finding.program.operations)
    with job_for(spec) as job:
        again = run_program(job.backend, finding.program, job.workspace.fresh_root())
    assert again.violation is not None
    assert again.violation.clause == clause


def test_a_sweep_that_runs_out_of_time_says_so() -> None:
    """Nothing is called exhaustive that was not."""
    with job_for("jsonl") as job:
        job.deadline = time.monotonic() - 1
        sweep = swept(job, "ext4")
        assert job.spent
        assert sweep.coverage.workloads == 0
        assert job.crash_bound == 0
        assert "not exhaustive" in job.coverage


def test_the_same_seed_sweeps_the_same() -> None:
    """Two sweeps of one seed judge the same states and count the same witnesses."""
    found = []
    for _ in range(2):
        with job_for("jsonl") as job:
            sweep = CrashSweep(job, "posix", QUICK)
            sweep.run()
            found.append((sweep.coverage.legal, sweep.coverage.tested, sweep.laboratory.images, dict(job.witnesses)))
    assert found[0] == found[1]


def test_nothing_is_left_behind() -> None:
    """When a sweep has ended no image and no life is left in the workspace."""
    with job_for("jsonl") as job:
        swept(job, "ext4")
        left = [path for path in Path(job.workspace.directory).glob("r*/**/*") if path.is_file()]
        assert left == []
