"""The concurrent machine: programs with calls in flight at once, one after the other, each from choices of its own.

A program is made from seeded choices (``overlaps``), so that a thousand of them cost little more than what the backend
itself takes; what fails is made short as data (``reduce``), like every finding. No reference stands beside it: which
of several orders it would have taken is not the backend's affair.
"""

from __future__ import annotations

from conformance.clauses import Need
from conformance.drivers.execution import Execution
from conformance.machines.job import Job, MachineSpec
from conformance.machines.overlaps import crashing_programs, overlapping_program
from conformance.machines.seeded import hunt_by_seed, perform_all
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


def hunt(job: Job, *, fails: bool = False) -> None:
    """Calls of several clients in flight at once, program after program (``hunt_by_seed``).

    Args:
        fails: storage fails in each of them.
    """

    def perform(execution: Execution, choices: SeededChoices) -> None:
        perform_all(job, execution, overlapping_program(choices, job.backend.capabilities, fails=fails))

    hunt_by_seed(job, perform, crashes=fails)


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
    """The same with a crash inside the last overlap, and what a fresh instance finds then."""

    def perform(execution: Execution, choices: SeededChoices) -> None:
        before, overlap, after = crashing_programs(choices, job.backend.capabilities)
        perform_all(job, execution, before)
        execution.crash(choices.pick(job.presets, "preset"), choices, overlap)
        perform_all(job, execution, after)

    hunt_by_seed(job, perform, crashes=True)


OVERLAPPING_CRASHES = MachineSpec(
    name="overlap-crashes",
    clauses=CLAUSES_OF_CRASHES,
    needs=frozenset({Need.CRASH}),
    title="a crash inside calls that are in flight at once loses nothing that a barrier covered",
    hunt=hunt_crashes,
    weight=0.5,
)
