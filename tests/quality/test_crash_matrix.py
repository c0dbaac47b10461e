"""The kill matrix of what only a crash shows: every such mutant dies by the clause it breaks.

First the named scenarios about crashes, judged as they stand; where none of them sees the fault, the sweep under the
weakest preset that is to show it. A run stops at the first thing found. Nothing is made short here: that found programs
become short ones is held by the tests of the machines, and that they are explained by ``test_explanations``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from conformance.checks import SCENARIOS
from conformance.checks.script import Script
from conformance.clauses import Need, Violation, in_process_route, needs_standing
from conformance.clauses.levels import preset_gap
from conformance.contract import Backend
from conformance.drivers.execution import Execution
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.edges import edge_workloads, wide_workload
from conformance.machines.job import BudgetSpent, Finding, Job
from conformance.machines.sweep import CrashSweep, Tier
from conformance.machines.workloads import Workload
from conformance.sim.disk import Patching
from tests.quality.matrix import IS_SOAK, ROOT, mutants, spec_of
from tests.unit.machines.laboratories import FirstFinding

pytestmark = pytest.mark.usefixtures("patched")

NAMES = sorted(name for name, mutant in mutants().items() if mutant.crash is not None)

TIERS = (Tier(calls=2, second_lives=2, recovery_crashes=2), Tier(calls=4, second_lives=3, recovery_crashes=3))
"""A short sweep first: most faults need no more."""

SWEPT = (
    "dur.catalogue_is_rewritten_in_place",
    "torn.batches_are_not_synced_between",
    "torn.log_is_read_as_text",
)
"""Mutants that show in workloads of four calls only: the sweeps that find them are `make soak`'s."""

EDGES = (
    "dur.repair_replaces_without_fsync",
    "torn.batch_behind_an_inherited_one",
    "torn.line_without_its_end_is_shown_and_cut",
    "torn.nul_is_corruption",
    "torn.readers_see_less_during_the_repair",
    "torn.skips_over_the_tail",
    "torn.syncs_before_it_repairs",
    "torn.writes_behind_nul",
)
"""Mutants that no scenario meets, and that a record at the edge of a page shows."""

WIDE = ("torn.frame_is_decoded_over_nul",)
"""The same of a batch over many pages."""


class QuickSweep(CrashSweep):
    """Goes through the workloads alone that are known to show a mutant."""

    def __init__(self, job: Job, preset: str, tier: Tier, name: str) -> None:
        super().__init__(job, preset, tier)
        self.name = name

    def workloads(self) -> list[Workload]:
        """Those at the edge of a page, the wide one, or all."""
        if IS_SOAK or self.name not in EDGES + WIDE:
            return super().workloads()
        return [wide_workload()] if self.name in WIDE else [each for each in edge_workloads(self.job) if each.depth < 4]


def crash_scenarios(backend: Backend, broken: frozenset[str]) -> Iterator[tuple[str, Violation]]:
    """What the scenarios about crashes blame the backend for; those that declare one of these clauses come first."""
    route, claimed = in_process_route(), backend.capabilities.durability
    wanted = [
        each
        for each in SCENARIOS
        if Need.CRASH in each.needs
        and needs_standing(each.needs, backend, route).applies
        and not (each.preset and preset_gap(each.preset, claimed, claimed, thorough=True))
    ]
    with Workspace() as workspace, Watchdog() as watchdog:
        for check in sorted(wanted, key=lambda each: broken.isdisjoint(each.clauses)):
            execution = Execution(backend, workspace.fresh_root(), watchdog=watchdog, crashes=True)
            try:
                check.body(Script(execution))
            except Violation as violation:
                yield check.name, violation
            finally:
                execution.finish()


def swept(name: str, backend: Backend, preset: str, broken: frozenset[str]) -> Finding | None:
    """The first finding of a sweep that is blamed on one of these clauses."""
    with Workspace() as workspace, Watchdog() as watchdog:
        job = FirstFinding(backend, None, workspace, None, watchdog, "item", 0, 0)
        job.wanted = broken.__contains__
        for tier in TIERS:
            with contextlib.suppress(BudgetSpent):
                QuickSweep(job, preset, tier, name).run()
            if job.findings:
                return next(iter(job.findings.values()))
    return None


@pytest.mark.parametrize("name", [name for name in NAMES if IS_SOAK or name not in SWEPT])
def test_crash_mutant_dies_by_the_clause_it_breaks(name: str) -> None:
    """A scenario or the sweep of its weakest preset blames the mutant for the clause that it breaks."""
    mutant = mutants()[name]
    assert mutant.crash is not None
    broken = frozenset({mutant.breaks, *mutant.also})
    backend = load_backend(spec_of(name), ROOT)
    with Patching():
        others = []
        for check, violation in crash_scenarios(backend, broken):
            if violation.clause in broken:
                return
            others.append(f"{check}: {violation.clause}")
        found = swept(name, backend, mutant.crash.weakest, broken)
    assert found is not None, f"{mutant.story} Nothing is blamed on {sorted(broken)}; scenarios blamed {others}"
