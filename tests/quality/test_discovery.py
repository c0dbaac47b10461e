"""How soon random histories find a defect, by the machine alone: examples and seconds to the first failing one.

The table is printed (``pytest -rP``); what is asserted is only that each of these is found within a number of examples,
which is the same on every machine for the same seed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

import pytest

from conformance.clauses import Violation
from conformance.drivers.execution import Execution
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import MACHINES, Job
from conformance.machines.job import BudgetSpent
from tests.quality.matrix import mutants

WITHIN = 200
"""Examples within which each of them must be found."""

SEEDS = (11, 12, 13)

HANDFUL = (
    "close.second_close_raises",
    "own.failed_open_keeps_ownership",
    "seq.gap_accepted",
    "seq.keeps_the_callers_batch",
    "svc.inherited_count_is_lost",
)


class FirstFinding(Job):
    """A hunt that ends with the first failing program, before anything is made shorter."""

    def found(self, violation: Violation, execution: Execution) -> bool:
        """Keep it, and end the hunt."""
        super().found(violation, execution)
        self.spent = True
        raise BudgetSpent


@dataclass(frozen=True, slots=True)
class Discovery:
    """What it took to find a mutant, or that it was not found."""

    examples: int
    seconds: float
    clauses: tuple[str, ...]


def discover(name: str, seed: int) -> Discovery:
    """Hunt one mutant by the machine alone until something fails."""
    backend = mutants()[name]
    # Without a partner, so that the seconds are those of the search.
    begun = time.perf_counter()
    with Workspace() as workspace, Watchdog() as watchdog:
        job = FirstFinding(backend, None, workspace, None, watchdog, name, seed, WITHIN)
        MACHINES[0].hunt(job)
    return Discovery(job.programs, time.perf_counter() - begun, tuple(job.findings))


@pytest.mark.parametrize("name", HANDFUL)
def test_machine_finds_it_alone(name: str) -> None:
    """Without any scenario the machine meets the defect within a bounded number of examples, whatever the seed."""
    mutant = mutants()[name]
    runs = [discover(name, seed) for seed in SEEDS]
    examples, seconds = median(run.examples for run in runs), median(run.seconds for run in runs)
    blamed = ", ".join(sorted({clause for run in runs for clause in run.clauses}))
    print(f"{name:40} {mutant.breaks:9} median {examples:4.0f} examples {seconds:6.2f} s  blamed: {blamed or '-'}")
    assert [run.clauses for run in runs if not run.clauses] == []
