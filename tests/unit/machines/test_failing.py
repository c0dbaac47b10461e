"""The fault machine: its mishaps meet their faults, come from choices alone, and find what is planted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from conformance.clauses.levels import presets_of
from conformance.drivers.execution import Execution
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.failing import FAILING, hunt_seeded
from conformance.machines.fault_modes import GROUPS
from conformance.machines.job import BudgetSpent, Job
from conformance.machines.mishaps import DRAWN, MEETS, MODES
from conformance.model.operations import Crash, Fail, Operation
from tests.unit.machines.laboratories import FAULT, ROOT

pytestmark = pytest.mark.usefixtures("patched")


class Watched(Job):
    """Keeps the operations of every program, and how many faults came in it."""

    seen: list[tuple[list[Operation], int]]

    def end(self, execution: Execution, *, counted: bool = True) -> None:
        """Keep them."""
        trouble = execution.judge.world.trouble
        self.seen.append((list(execution.operations), 0 if trouble is None else trouble.fired))
        super().end(execution, counted=counted)


@contextlib.contextmanager
def watched(spec: str = "jsonl", *, seed: int = 1, examples: int = 40) -> Iterator[Watched]:
    """A job over a backend."""
    with Workspace() as workspace, Watchdog() as watchdog:
        backend = load_backend(spec, ROOT)
        presets = presets_of(backend.capabilities.durability)
        job = Watched(backend, None, workspace, None, watchdog, "item", seed, examples, presets=presets)
        job.seen = []
        yield job


def test_mishaps_meet_their_faults() -> None:
    """Nothing is found in the reference, every program arms a fault, most meet it, and crashes come too."""
    with watched() as job:
        hunt_seeded(job, 40, None)
        assert job.findings == {}
        assert len(job.seen) == 40
        armed = [[each for each in operations if isinstance(each, Fail)] for operations, _ in job.seen]
        assert all(armed)
        assert sum(fired > 0 for _, fired in job.seen) >= 25
        assert sum(any(isinstance(each, Crash) for each in operations) for operations, _ in job.seen) >= 10
        assert {"FAULT-01", "FAULT-02", "FAULT-04", "FAULT-06", "FAULT-08"} <= set(job.witnesses)


def test_the_same_seed_makes_the_same_programs() -> None:
    """Seeded choices alone decide; another seed makes other programs."""
    found = []
    for seed in (1, 1, 2):
        with watched(seed=seed) as job:
            hunt_seeded(job, 8, None)
            found.append([[each.to_json() for each in operations] for operations, _ in job.seen])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("mutant", "clause"),
    [
        ("cause_is_thrown_away", "FAULT-01"),
        ("failed_flush_drops_the_buffer", "FAULT-02"),
        ("retries_failed_fsync", "FAULT-03"),
        ("read_error_is_absence", "FAULT-04"),
        ("close_swallows_the_error", "FAULT-05"),
        ("readers_keep_their_file_open", "FAULT-06"),
    ],
)
def test_what_is_planted_is_found(mutant: str, clause: str) -> None:
    """The hunt ends with the first program that breaks a clause, and keeps it."""
    with watched(f"{FAULT}:{mutant}", seed=12) as job:
        hunt_seeded(job, 60, None)
        assert set(job.findings) == {clause}
        assert len(job.seen) < 60
        assert any(isinstance(each, Fail) for each in job.findings[clause].program.operations)


def test_the_hunt_goes_on_by_rules() -> None:
    """A quarter of the programs is drawn by Hypothesis."""
    with watched(examples=8) as job:
        FAILING.hunt(job)
        assert job.findings == {}
        assert len(job.seen) > 6


def test_time_is_up() -> None:
    """A hunt whose time is used up says so, and one whose part of it is ends."""
    with watched() as job:
        job.deadline = time.monotonic() - 1
        with pytest.raises(BudgetSpent):
            hunt_seeded(job, 8, None)
        assert job.spent
    with watched() as job:
        hunt_seeded(job, 8, time.monotonic() - 1)
        assert job.seen == []


def test_every_group_of_faults_is_drawn() -> None:
    """Whatever the sweeps count through, mishaps draw."""
    assert set(MEETS) == set(GROUPS) == set(MODES) == set(DRAWN)
