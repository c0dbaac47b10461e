"""Hunts without Hypothesis: a program for each number, made from choices with a seed of its own.

What they find is kept in the job, as it was performed; whoever runs the job makes it short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance.clauses import Violation
from conformance.drivers.execution import Execution
from conformance.machines.job import BudgetSpent, Job
from conformance.model.operations import Operation
from conformance.sim import SeededChoices

STRIDE = 1_000_003
"""The seeds of the programs of one hunt are this far from those of another."""

Perform = Callable[[Execution, SeededChoices], None]
"""Makes the program of these choices, and performs it."""


def choices_for(job: Job, number: int) -> SeededChoices:
    """What the n-th program of a hunt is made from."""
    return SeededChoices(job.seed * STRIDE + number)


def perform_all(job: Job, execution: Execution, operations: Iterable[Operation]) -> None:
    """Perform operation after operation.

    Raises:
        Violation: the clause that the backend broke. BudgetSpent: the time is used up.
    """
    for operation in operations:
        job.check_budget()
        execution.do(operation)


def hunt_by_seed(job: Job, perform: Perform, *, crashes: bool = False, damages: bool = False) -> None:
    """Perform program after program until the job's examples or time are used up; findings are left in the job.

    Args:
        crashes, damages: as in ``Job.begin``; no program may count what is left open.

    Raises:
        SetupError: the backend could not be opened. NotMeasured: it does to its files what the kit cannot see.
    """
    try:
        for number in range(job.max_examples):
            job.check_budget()
            execution = job.begin(alone=True, crashes=crashes, damages=damages, counts_left=False)
            try:
                perform(execution, choices_for(job, number))
            except Violation as violation:
                if job.found(violation, execution):
                    return
            finally:
                job.end(execution)
    except BudgetSpent:
        return
