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
from conformance.machines.job import BudgetSpent, Finding
from conformance.machines.sweep import CrashSweep, Tier
from conformance.sim.disk import Patching
from tests.quality.matrix import IS_SOAK, ROOT, mutants, spec_of
from tests.unit.machines.laboratories import FirstFinding

pytestmark = pytest.mark.usefixtures("patched")

NAMES = sorted(name for name, mutant in mutants().items() if mutant.crash is not None)

TIERS = (Tier(calls=2, second_lives=2, recovery_crashes=2), Tier(calls=4, second_lives=2, recovery_crashes=2))
"""A short sweep first: most faults need no more."""

SWEPT = (
    "dur.catalogue_is_rewritten_in_place",
    "dur.directory_that_is_there_is_taken_for_durable",
    "dur.found_name_is_not_synced",
    "dur.repair_replaces_without_fsync",
    "dur.syncs_before_it_repairs",
    "torn.batch_behind_an_inherited_one",
    "torn.batches_are_not_synced_between",
    "torn.frame_is_decoded_over_nul",
    "torn.line_without_its_end_is_shown_and_cut",
    "torn.log_gets_its_name_before_its_data",
    "torn.log_is_read_as_text",
    "torn.nul_is_corruption",
    "torn.readers_see_less_during_the_repair",
    "torn.skips_over_the_tail",
    "torn.writes_behind_nul",
)
"""Mutants that no scenario meets, because it takes one state of many: the sweeps that find them are `make soak`'s."""


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


def swept(backend: Backend, preset: str, broken: frozenset[str]) -> Finding | None:
    """The first finding of a sweep that is blamed on one of these clauses."""
    with Workspace() as workspace, Watchdog() as watchdog:
        job = FirstFinding(backend, None, workspace, None, watchdog, "item", 0, 0)
        job.wanted = broken.__contains__
        for tier in TIERS:
            with contextlib.suppress(BudgetSpent):
                CrashSweep(job, preset, tier).run()
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
        found = swept(backend, mutant.crash.weakest, broken)
    assert found is not None, f"{mutant.story} Nothing is blamed on {sorted(broken)}; scenarios blamed {others}"
