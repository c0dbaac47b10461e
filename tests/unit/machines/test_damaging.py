"""The damage sweep: silent where nothing is wrong, loud where something is, honest about what it tried."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.drivers.execution import run_program
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import Tier, damage_sweeps
from conformance.machines.damaging import CLAUSES_OF_DAMAGE, DamageSweep, Ways, ways_beside, ways_of
from conformance.machines.job import Job
from conformance.model.operations import Damage
from tests.unit.machines.laboratories import ROOT

FMT = "tests/mutants/fmt.py"


@contextlib.contextmanager
def job_for(spec: str) -> Iterator[Job]:
    """A job over that backend."""
    with Workspace() as workspace, Watchdog() as watchdog:
        yield Job(load_backend(spec, ROOT), None, workspace, None, watchdog, "item", 0, 100)


def test_every_byte_of_the_reference_s_log_is_vouched_for() -> None:
    """Whichever single byte changes, the reference refuses, or shows the right log; and all of them are tried."""
    with job_for("jsonl") as job:
        sweep = DamageSweep(job, "flip", 1)
        sweep.run()
        assert job.findings == {}
        assert sweep.tried == sweep.of > 500
        assert job.coverage.endswith("(exhaustive)")
        assert job.witnesses["FMT-10"] > sweep.tried
        assert job.crash_states == 0


@pytest.mark.parametrize("what", ["cut", "nul"])
@pytest.mark.parametrize("spec", ["jsonl", "jsonl-raw", "tests/variants/plain_files.py:plain_files"])
def test_conforming_backends_are_silent(spec: str, what: Ways) -> None:
    """However the log is cut or blanked, nobody is blamed; every seventh place is told as no more than that."""
    with job_for(spec) as job:
        DamageSweep(job, what, 7).run()
        assert job.findings == {}
        assert "one byte in 7 (not exhaustive)" in job.coverage
        assert job.witnesses["TORN-01" if what == "cut" else "FMT-04"]


@pytest.mark.parametrize(
    ("name", "what", "clause"),
    [
        ("last_batch_is_dropped_whatever_it_met", "flip", "FMT-10"),
        ("checksum_is_not_kept", "flip", "FMT-10"),
        ("ends_at_the_first_bad_line", "nul", "FMT-04"),
        ("count_beside_the_log_ends_it", "beside", "FMT-11"),
    ],
)
def test_planted_faults_are_found(name: str, what: Ways, clause: str) -> None:
    """A store with one fault is found by its clause, in a whole program that fails again when it is performed."""
    with job_for(f"{FMT}:{name}") as job:
        DamageSweep(job, what, 7).run()
        assert set(job.findings) == {clause}
        program = job.findings[clause].program
        assert any(isinstance(each, Damage) for each in program.operations)
        again = run_program(job.backend, program, job.workspace.fresh_root())
        assert again.violation is not None
        assert again.violation.clause == clause


@pytest.mark.parametrize("spec", ["jsonl", "jsonl-raw"])
def test_files_beside_the_artifacts_decide_nothing_alone(spec: str) -> None:
    """The reference's lock files may be damaged in any way: each way of each file is tried, and nobody is blamed."""
    with job_for(spec) as job:
        sweep = DamageSweep(job, "beside", 1)
        sweep.run()
        assert job.findings == {}
        assert sweep.tried == sweep.of == len(list(ways_beside(2)))
        assert job.coverage == f"beside: {sweep.of} of {sweep.of} ways, to each file (exhaustive)"
        assert job.witnesses["FMT-11"] > 0


def test_where_there_is_nothing_beside_nothing_is_tried() -> None:
    """A backend with one file for each session and no other is asked nothing here."""
    with job_for("tests/variants/plain_files.py:plain_files") as job:
        sweep = DamageSweep(job, "beside", 1)
        sweep.run()
        assert (sweep.of, job.witnesses["FMT-11"]) == (0, 0)


def test_a_sweep_that_runs_out_of_time_says_so() -> None:
    """Nothing is called exhaustive that was not."""
    with job_for("jsonl") as job:
        job.deadline = time.monotonic() - 1
        sweep = DamageSweep(job, "flip", 1)
        sweep.run()
        assert job.spent
        assert sweep.tried == 0
        assert "not exhaustive" in job.coverage


def test_nothing_is_left_behind() -> None:
    """When a sweep has ended nothing of it is left in the workspace."""
    with job_for("jsonl-raw") as job:
        DamageSweep(job, "cut", 50).run()
        DamageSweep(job, "beside", 1).run()
        assert [path for path in Path(job.workspace.directory).glob("r*/**/*") if path.is_file()] == []


def test_all_ways_are_there() -> None:
    """A byte is changed, a cut is made and a run of NUL begins at every offset."""
    assert [each.start for each in ways_of("flip", 3, 1)] == [(0, 0), (0, 1), (0, 2)]
    assert [each.mask for each in ways_of("flip", 9, 1)] == [1, 2, 4, 8, 16, 32, 64, 128, 1]
    assert len(list(ways_of("cut", 10, 3))) == 4
    assert [each.end for each in ways_of("nul", 2, 2)] == [(-1, 0), (0, 8)]


def test_sweeps_are_items_of_their_own() -> None:
    """There is one for each kind of damage, by a name that is the same everywhere."""
    found = damage_sweeps(Tier(calls=4, second_lives=1))
    assert [each.item_id for each in found] == [f"conformance::sweep::damage[{what}]" for what in CLAUSES_OF_DAMAGE]
