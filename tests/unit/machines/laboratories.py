"""What the tests of sweeps and explanations share: a job over one backend, and a sweep of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from conformance.contract import Backend
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.job import Job
from conformance.machines.sweep import CrashSweep, Tier
from conformance.sim.disk import Patching

ROOT = Path(__file__).resolve().parents[3]
DUR, FAULT, TORN = "tests/mutants/dur.py", "tests/mutants/fault.py", "tests/mutants/torn.py"
QUICK = Tier(calls=2, second_lives=1)


@contextlib.contextmanager
def job_for(spec: str | Backend) -> Iterator[Job]:
    """A job that records what the backend does."""
    with Patching(), Workspace() as workspace, Watchdog() as watchdog:
        backend = load_backend(spec, ROOT) if isinstance(spec, str) else spec
        yield Job(backend, None, workspace, None, watchdog, "item", 0, 100)


def swept(job: Job, preset: str, tier: Tier = QUICK) -> CrashSweep:
    """A sweep that has run."""
    sweep = CrashSweep(job, preset, tier)
    sweep.run()
    return sweep
