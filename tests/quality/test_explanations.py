"""Explanations of planted crash faults: the weakest preset, the class of cause, and the barrier that would mend it.

A mutant that only a crash shows says in its ``crash=`` what the explanation must come to. `make test` holds one of each
class and explains the first thing that the sweep finds; `make soak` all of them, and the shortest of a whole sweep,
which may show another symptom of the same fault (``OTHERWISE``).
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

OTHERWISE = {
    "dur.creation_is_stored_at_once": "missing entry",
    "dur.header_has_a_file_of_its_own": "zero-length replacement",
    "dur.journal_is_replayed_twice": "torn record",
    "torn.batches_are_not_synced_between": "NUL tail",
    "torn.index_is_written_first": "torn record",
    "torn.skips_over_the_tail": "NUL tail",
    "torn.stray_temporary_blocks_the_id": "zero-length replacement",
    "torn.writes_behind_nul": "fused record",
}
"""The class of the shortest thing that a whole sweep finds, where it is not that of the first one."""

NOTHING_COVERED = frozenset({"dur.header_has_a_file_of_its_own"})
"""Those of which the shortest thing that is found loses nothing below a barrier, so that none is offered."""

NOT_SWEPT = frozenset(
    {
        "dur.found_data_is_not_synced",
        "dur.index_is_never_synced",
        "dur.repair_moves_the_log_away",
        "dur.repair_replaces_without_fsync",
        "dur.repair_rewrites_in_place",
        "dur.takes_over_with_the_first_append",
        "own.lock_file_outlives_its_owner",
        "torn.batch_behind_an_inherited_one",
        "torn.readers_see_less_during_the_repair",
        "torn.syncs_before_it_repairs",
    }
)
"""What scenarios show, or a sweep by another clause or over records at the edges of pages (``test_crash_matrix``)."""

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
    assert (found is None) == (name in NOT_SWEPT), f"a sweep under {expected.weakest} for {TOLD[name].breaks}"
    if found is None:
        return
    story = found.story
    assert (story.preset, story.cause) == (expected.weakest, OTHERWISE.get(name, expected.cause))
    if not expected.barrier or name in NOTHING_COVERED:
        assert story.barriers == ()
        assert story.is_recovery or not expected.barrier
        return
    assert not story.is_recovery
    subject = SUBJECTS.get(expected.barrier.removeprefix("fsync(").removesuffix(")"), "fsync(")
    assert any(subject in each for each in story.barriers), story.barriers


def test_the_handful_is_among_them() -> None:
    """What `make test` explains is planted, and covers more than half of the classes."""
    assert set(ALWAYS) <= set(TOLD) - NOT_SWEPT - OTHERWISE.keys()
    assert NOT_SWEPT | NOTHING_COVERED | OTHERWISE.keys() <= TOLD.keys()
    assert len({TOLD[name].crash.cause for name in ALWAYS if TOLD[name].crash is not None}) >= 5  # type: ignore[union-attr]
