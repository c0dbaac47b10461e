"""What the tests of sweeps and explanations share: a job over one backend, and a sweep of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from conformance.clauses import Violation
from conformance.contract import Backend
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.job import BudgetSpent, Finding, Job
from conformance.machines.sweep import CrashSweep, Tier
from conformance.model.operations import Program
from conformance.sim.disk import Patching

ROOT = Path(__file__).resolve().parents[3]
DUR, FAULT, TORN = "tests/mutants/dur.py", "tests/mutants/fault.py", "tests/mutants/torn.py"
QUICK = Tier(calls=2, second_lives=1)


class FirstFinding(Job):
    """A job that ends with the first thing found."""

    def keep(self, violation: Violation, program: Program) -> bool:
        """Keep it, and let nothing follow."""
        if super().keep(violation, program):
            self.spent = True
            raise BudgetSpent
        return False


@contextlib.contextmanager
def job_for(spec: str | Backend, kind: type[Job] = Job) -> Iterator[Job]:
    """A job that records what the backend does."""
    with Patching(), Workspace() as workspace, Watchdog() as watchdog:
        backend = load_backend(spec, ROOT) if isinstance(spec, str) else spec
        yield kind(backend, None, workspace, None, watchdog, "item", 0, 100)


def swept(job: Job, preset: str, tier: Tier = QUICK) -> CrashSweep:
    """A sweep that has run."""
    sweep = CrashSweep(job, preset, tier)
    sweep.run()
    return sweep


@cache
def first_finding(spec: str, preset: str, clause: str) -> Finding:
    """The first thing that a sweep of a mutant blames on that clause; it is looked for once in a process."""
    with job_for(spec, FirstFinding) as job, contextlib.suppress(BudgetSpent):
        job.wanted = {clause}.__contains__
        swept(job, preset, Tier(calls=3, second_lives=2))
    return job.findings[clause]
