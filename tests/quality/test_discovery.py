"""How soon random histories find a defect, by the machine alone: examples and seconds to the first failing one.

One table of the medians is printed at the end of the run, whatever the number of workers (``conftest``). All that is
asserted is that each of these is found within a number of examples, which is the same everywhere for the same seed.
`make test` looks at a handful, which every seed has to find by the machine that is about their clause.
`make discovery` looks at every mutant: some seed has to find it by that machine, or one of the others, for many a
defect shows in overlaps only, or where storage fails. What none of them finds is written down in ``SCENARIOS_ONLY``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import pytest

from conformance.clauses import CLAUSES, Need, Violation, in_process_route, needs_standing
from conformance.drivers.execution import Execution
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import MACHINES, Job
from conformance.machines.harming import HARMING
from conformance.machines.job import BudgetSpent
from conformance.machines.publishing import PUBLISHING_FAULTS
from conformance.sim.disk.presets import presets_of
from tests.quality.conftest import DISCOVERY, Discovered
from tests.quality.matrix import mutants

pytestmark = pytest.mark.usefixtures("patched")

WITHIN = {
    "sequential": 100,
    "overlap": 300,
    "overlap-faults": 200,
    "fault": 120,
    "damage": 150,
    "crash": 30,
    "overlap-crashes": 60,
    "live": 150,
    "live-faults": 150,
    "live-overlap": 200,
}
"""Examples of a machine within which it must find a mutant; one with crashes opens many states in each."""

OTHERS = ("sequential", "overlap", "overlap-faults", "fault", "damage", "live-overlap")
"""What else is tried, by one seed and in this order, where the machine that is about a clause finds nothing."""

SEEDS = (11, 12, 13)

IS_WHOLE = os.environ.get("TORNTAIL_DISCOVERY") == "1"

HANDFUL = (
    "close.second_close_raises",
    "fault.cause_is_thrown_away",
    "fault.failed_flush_drops_the_buffer",
    "fault.read_error_is_absence",
    "live.failed_batch_is_dropped",
    "own.failed_open_keeps_ownership",
    "seq.gap_accepted",
    "seq.keeps_the_callers_batch",
    "svc.inherited_count_is_lost",
)


SCENARIOS_ONLY = frozenset(
    {
        "close.context_swallows_a_cancellation",
        "close.create_in_flight_opens_the_storage_again",
        "close.list_is_one_page",
        "dur.leaving_by_an_exception_syncs_nothing",
        "dur.reading_repairs",
        "dur.repair_moves_the_log_away",
        "dur.repair_replaces_without_fsync",
        "dur.repair_rewrites_in_place",
        "fault.large_batch_is_written_in_parts_that_count",
        "fault.link_that_failed_is_made_again",
        "fault.long_batch_is_written_in_parts_that_count",
        "fault.remains_that_stay_are_written_behind",
        "fault.task_outlives_the_service",
        "fault.thread_outlives_the_service",
        "flush.failed_sweep_is_a_success",
        "flush.failed_sweep_names_nobody",
        "flush.failed_sweep_tells_of_the_first",
        "flush.first_failure_ends_the_sweep",
        "flush.sweep_does_not_ask_how_a_close_ended",
        "flush.sweep_does_not_look_back",
        "flush.sweep_forgets_how_a_later_close_ended",
        "fmt.any_mark_makes_ignorable",
        "fmt.ignorable_event_loses_its_keys",
        "fmt.refused_type_leaves_the_events_before_it",
        "fresh.listing_is_cached",
        "id.bomb_is_decoded_whole",
        "id.parser_s_error_reaches_who_reads_on",
        "id.working_directory_is_made",
        "json.date_accepted_as_text",
        "json.deep_nesting_cut",
        "json.long_line_ends_the_log",
        "json.minus_zero_loses_its_sign",
        "live.flush_trips_over_what_came_later",
        "live.memory_is_the_limit",
        "live.nobody_joins_a_window",
        "live.signal_joins_the_one_under_way",
        "live.unstorable_event_is_skipped",
        "mat.reader_follows_the_path",
        "own.empty_append_is_waved_through",
        "own.idle_owner_is_put_out",
        "own.next_writer_goes_on_where_the_last_one_was",
        "read.offset_has_another_name",
        "rev.revision_is_of_size_and_time",
        "rev.revision_never_goes_back",
        "seq.bool_is_an_int",
        "seq.empty_batch_materialises",
        "seq.log_is_tidied_a_minute_later",
        "svc.header_stays_the_callers",
        "svc.headers_are_kept_by_id",
        "torn.line_without_its_end_is_shown_and_cut",
        "torn.nul_is_corruption",
        "torn.readers_see_less_during_the_repair",
        "torn.repair_cuts_the_whole_batch",
        "torn.syncs_before_it_repairs",
    }
)
"""Mutants that only scenarios or sweeps find within these sizes. They take what nobody draws (pages, long lines, long
batches), rare calls in one order, a crash or a fault at one place of many, or a look at what a store in memory leaves.
The set is meant to become smaller."""

ON_FAILING_STORAGE = frozenset({"svc.list_ends_at_what_may_not_be_read", "svc.list_throws_what_one_file_met"})
"""Mutants that show only where storage fails, though others show what their clause is about by damage."""


class FirstFinding(Job):
    """A hunt that ends with the first failing program, before anything is made shorter."""

    def found(self, violation: Violation, execution: Execution) -> bool:
        """Keep it, and end the hunt."""
        super().found(violation, execution)
        self.spent = True
        raise BudgetSpent


@dataclass(frozen=True, slots=True)
class Discovery:
    """What it took a machine to find a mutant, or that it was not found."""

    machine: str
    examples: int
    seconds: float
    clauses: tuple[str, ...]


def machine_for(clause: str, *, in_files: bool) -> str:
    """The machine that is about a clause; ``in_files``: the backend that breaks it stores files."""
    needs = CLAUSES[clause].needs
    if Need.LIVE in needs:
        return "live-faults" if clause in PUBLISHING_FAULTS.clauses else "live"
    if Need.FAULTS in needs or (clause.startswith("FAULT-") and in_files):
        return "fault"
    if Need.DAMAGE in needs and clause in HARMING.clauses:
        return "damage"
    return "crash" if Need.CRASH in needs else "sequential"


def machines_for(name: str) -> list[str]:
    """The machines that can hunt a mutant: the one that is about its clause first."""
    backend = mutants()[name]
    first = machine_for(backend.breaks, in_files=backend.capabilities.storage == "files")
    first = "fault" if name in ON_FAILING_STORAGE else first
    can = {each.name for each in MACHINES if needs_standing(each.needs, backend, in_process_route()).applies}
    return [first, *(each for each in OTHERS if each in can - {first})]


def discover(name: str, seed: int, machine_name: str) -> Discovery:
    """Hunt one mutant by one machine alone until something fails."""
    backend = mutants()[name]
    # Without a partner, so that the seconds are those of the search.
    begun = time.perf_counter()
    machine = next(each for each in MACHINES if each.name == machine_name)
    with Workspace() as workspace, Watchdog() as watchdog:
        presets = presets_of(backend.capabilities.durability)
        job = FirstFinding(backend, None, workspace, None, watchdog, name, seed, WITHIN[machine.name], presets=presets)
        machine.hunt(job)
    return Discovery(machine_name, job.programs, time.perf_counter() - begun, tuple(job.findings))


def for_the_machine() -> list[str]:
    """The mutants whose clause random histories can show to be broken: all but those of what calls cost."""
    return sorted(name for name, each in mutants().items() if Need.IO_COUNT not in CLAUSES[each.breaks].needs)


@pytest.mark.parametrize("name", HANDFUL)
def test_machine_finds_it_alone(name: str, record_property: Callable[[str, object], None]) -> None:
    """Without any scenario the machine meets the defect within a bounded number of examples, whatever the seed."""
    runs = [discover(name, seed, machines_for(name)[0]) for seed in SEEDS]
    told(name, runs, record_property)
    assert all(run.clauses for run in runs)


@pytest.mark.parametrize("name", [name for name in for_the_machine() if IS_WHOLE and name not in HANDFUL])
def test_some_machine_finds_it(name: str, record_property: Callable[[str, object], None]) -> None:
    """Without any scenario some machine meets the defect, but for those that are known to need one."""
    runs: list[Discovery] = []
    first, *others = machines_for(name)
    for machine, seed in (*((first, seed) for seed in SEEDS), *((other, SEEDS[0]) for other in others)):
        runs.append(discover(name, seed, machine))
        if runs[-1].clauses:
            break
    told(name, runs[-1:], record_property)
    assert bool(runs[-1].clauses) == (name not in SCENARIOS_ONLY)


def told(name: str, runs: list[Discovery], record_property: Callable[[str, object], None]) -> None:
    """Leave a row of the table."""
    found = [run for run in runs if run.clauses]
    blamed = sorted({clause for run in found for clause in run.clauses})
    examples, seconds = (median(getattr(run, what) for run in runs) for what in ("examples", "seconds"))
    breaks, machine = mutants()[name].breaks, runs[-1].machine
    row = Discovered(name, breaks, machine, len(found), len(runs), examples, seconds, " ".join(blamed))
    # Between processes go plain tuples only.
    record_property(DISCOVERY, tuple(row))


def test_names_are_those_of_mutants() -> None:
    """The handful and the exceptions are mutants that a machine could find, and never the same."""
    assert {*HANDFUL, *SCENARIOS_ONLY, *ON_FAILING_STORAGE} <= set(for_the_machine())
    assert SCENARIOS_ONLY.isdisjoint(HANDFUL)
