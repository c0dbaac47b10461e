"""The concurrent machine: programs with calls in flight at once, one after the other, each from choices of its own.

A program is made from seeded choices (``overlaps``), so that a thousand of them cost little more than what the backend
itself takes; what fails is made short as data (``reduce``), like every finding. No reference stands beside it: which
of several orders it would have taken is not the backend's affair.
"""

from __future__ import annotations

from conformance.clauses import Need, Violation
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.machines.overlaps import crashing_programs, overlapping_program
from conformance.machines.sweep import CLAUSES_OF_CRASHES
from conformance.sim import SeededChoices

CLAUSES_OF_OVERLAPS = (
    "SVC-03",
    "OWN-05",
    "SEQ-05",
    "SEQ-08",
    "FRESH-03",
    "CLOSE-04",
    "CLOSE-06",
    "FLUSH-03",
    "OWN-04",
    "SVC-11",
    "SEQ-06",
    "SEQ-07",
    "FRESH-01",
    "FRESH-02",
    "CLOSE-01",
    "CLOSE-02",
    "CLOSE-07",
    "CLOSE-08",
    "FLUSH-01",
)

STRIDE = 1_000_003
"""The seeds of the programs of one hunt are this far from those of another."""


def hunt(job: Job, *, fails: bool = False) -> None:
    """Perform program after program until the job's examples or time are used up; findings are left in the job.

    Args:
        fails: storage fails in each of them.

    Raises:
        SetupError: the backend could not be opened. NotMeasured: it does to its files what the kit cannot see.
    """
    try:
        for number in range(job.max_examples):
            job.check_budget()
            if _breaks(job, SeededChoices(job.seed * STRIDE + number), fails=fails):
                return
    except BudgetSpent:
        return


def _breaks(job: Job, choices: SeededChoices, *, fails: bool) -> bool:
    """Whether the program breaks a clause that ends the hunt."""
    execution = job.begin(alone=True, crashes=fails, counts_left=False)
    try:
        for operation in overlapping_program(choices, job.backend.capabilities, fails=fails):
            job.check_budget()
            execution.do(operation)
    except Violation as violation:
        return job.found(violation, execution)
    finally:
        job.end(execution)
    return False


OVERLAPPING = MachineSpec(
    name="overlap",
    clauses=CLAUSES_OF_OVERLAPS,
    needs=frozenset(),
    title="calls in flight at once, cancelled at any point, keep the contract",
    hunt=hunt,
    weight=2.0,
)

CLAUSES_OF_FAILING_OVERLAPS = (
    "READ-06",
    "FAULT-01",
    "FAULT-02",
    "FAULT-08",
    "SEQ-05",
    "SEQ-06",
    "FRESH-03",
    "FRESH-01",
)

OVERLAPPING_FAULTS = MachineSpec(
    name="overlap-faults",
    clauses=CLAUSES_OF_FAILING_OVERLAPS,
    needs=frozenset({Need.FAULTS}),
    title="calls in flight at once on storage that fails and heals keep the contract",
    hunt=lambda job: hunt(job, fails=True),
)


def hunt_crashes(job: Job) -> None:
    """The same with a crash inside the last overlap, and what a fresh instance finds then.

    Raises:
        SetupError: the backend could not be opened. NotMeasured: it does to its files what the kit cannot see.
    """
    try:
        for number in range(job.max_examples):
            job.check_budget()
            if _breaks_in_a_crash(job, SeededChoices(job.seed * STRIDE + number)):
                return
    except BudgetSpent:
        return


def _breaks_in_a_crash(job: Job, choices: SeededChoices) -> bool:
    execution = job.begin(alone=True, crashes=True, counts_left=False)
    try:
        before, overlap, after = crashing_programs(choices, job.backend.capabilities)
        for operation in before:
            execution.do(operation)
        execution.crash(choices.pick(job.presets, "preset"), choices, overlap)
        for operation in after:
            job.check_budget()
            execution.do(operation)
    except Violation as violation:
        return job.found(violation, execution)
    finally:
        job.end(execution)
    return False


OVERLAPPING_CRASHES = MachineSpec(
    name="overlap-crashes",
    clauses=CLAUSES_OF_CRASHES,
    needs=frozenset({Need.CRASH}),
    title="a crash inside calls that are in flight at once loses nothing that a barrier covered",
    hunt=hunt_crashes,
    weight=0.5,
)
