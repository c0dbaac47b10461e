"""Explanations of planted crash faults: the weakest preset, the class of cause, and the barrier that would mend it.

A mutant that only a crash shows says in its ``crash=`` what the explanation must come to. `make test` holds one of each
class and explains the first thing that the sweep finds; `make soak` all of them, and the shortest of a whole sweep.
"""

from __future__ import annotations

import contextlib

import pytest

from conformance.clauses.levels import GATING
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.explaining import Explained, Explainer
from conformance.machines.job import BudgetSpent, Job
from conformance.machines.sweep import CrashSweep, Tier
from conformance.sim.disk import Patching
from tests.quality.matrix import IS_SOAK, ROOT, mutants, spec_of
from tests.unit.machines.laboratories import FirstFinding

pytestmark = pytest.mark.usefixtures("patched")

TOLD = {name: mutant for name, mutant in mutants().items() if mutant.crash is not None}

ALWAYS = (
    "dur.flush_syncs_nothing",
    "dur.replaces_without_directory_sync",
    "dur.directory_is_not_synced",
    "torn.empty_log_is_corruption",
    "torn.no_tail_repair",
    "torn.repair_cuts_the_whole_batch",
)
"""One of each class that a short sweep shows."""

NAMES = sorted(TOLD) if IS_SOAK else ALWAYS

SUBJECTS = {
    "log": ".jsonl",
    "temporary file": ".tmp",
    "index": ".index",
    "session directory": "directory session-",
    "root": "directory the root",
    "directory above the root": "directory the directory above the root",
}
"""What a mutant says is not synced -> what the barrier that is offered names."""


def explain(name: str) -> Explained | None:
    """The explanation of what the sweep under the mutant's weakest preset finds; None where it finds nothing."""
    mutant = TOLD[name]
    assert mutant.crash is not None
    with Patching(), Workspace() as workspace, Watchdog() as watchdog:
        backend = load_backend(spec_of(name), ROOT)
        kind = Job if IS_SOAK else FirstFinding
        job = kind(backend, None, workspace, None, watchdog, "item", 0, 0)
        job.wanted = {mutant.breaks}.__contains__
        tier = Tier(calls=4 if IS_SOAK else 3, second_lives=2, recovery_crashes=2)
        with contextlib.suppress(BudgetSpent):
            CrashSweep(job, mutant.crash.weakest, tier).run()
        found = job.findings.get(mutant.breaks)
        return None if found is None else Explainer(job, GATING).explain(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_fault_is_explained_by_its_cause(name: str) -> None:
    """The explanation names the preset, the class and the barrier that the mutant was planted with."""
    expected = TOLD[name].crash
    assert expected is not None
    found = explain(name)
    assert found is not None, f"no sweep under {expected.weakest} breaks {TOLD[name].breaks}"
    story = found.story
    assert (story.preset, story.cause) == (expected.weakest, expected.cause)
    if not expected.barrier:
        assert story.barriers == ()
        return
    assert not story.is_recovery
    subject = SUBJECTS.get(expected.barrier.removeprefix("fsync(").removesuffix(")"), "fsync(")
    assert any(subject in each for each in story.barriers), story.barriers


def test_the_handful_is_among_them() -> None:
    """What `make test` explains is planted, and covers more than half of the classes."""
    assert set(ALWAYS) <= set(TOLD)
    assert len({TOLD[name].crash.cause for name in ALWAYS if TOLD[name].crash is not None}) >= 5  # type: ignore[union-attr]
