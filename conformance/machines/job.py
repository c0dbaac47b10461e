"""What a machine is given to do, and what it found: the frame around every hunt.

A hunt runs random programs until its examples or its time are used up. The best failing program of each clause is kept
as data while Hypothesis searches and shrinks, so that a hunt may be ended at any moment and still tell what it found.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from conformance.clauses import CLAUSES, Need, Violation
from conformance.contract import Backend
from conformance.drivers.errors import KitError, NotMeasured, Undecided
from conformance.drivers.execution import Execution
from conformance.drivers.journal import Journal
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.model.operations import Program

ANY_CLAUSE: Callable[[str], bool] = lambda clause: True  # noqa: E731


PATIENCE = 150
"""Programs that may be tried in a row while a failure is made smaller, none of them shorter, before that ends."""

MOST_UNDECIDED = 0.01
"""The share of overlaps whose order may stay undecided. Each hides what its sessions hold, and few programs break a
rule; of conforming backends not one in two thousand is undecided."""


class BudgetSpent(BaseException):
    """Ends a Hypothesis run or a shrink in time.

    Not an ``Exception``, so that neither a backend nor Hypothesis takes it for a failure. Whether a run ended for
    its budget is told by ``Job.spent`` alone, never by this type.
    """


@dataclass(slots=True)
class Finding:
    """The shortest program known to break one clause."""

    clause: str
    program: Program
    violation: Violation

    @property
    def size(self) -> tuple[int, int]:
        """What is made small: the number of operations, then the length of their JSON forms."""
        return len(self.program.operations), len(repr(self.program.operations))


@dataclass(slots=True)
class Job:
    """One hunt: the backend, its limits, and what came of it.

    Attributes:
        deadline: of the search, on ``time.monotonic``; None for no limit.
        shrink_seconds: how much longer shrinking may take once something was found.
        wanted: which clauses count; a violation of another one ends the program, not the hunt. Neither does one of a
            should clause.
        findings: clause id -> the shortest program that breaks it.
        kit_error: the first error of the kit itself, with the program that shows it.
        spent: the hunt was ended by its budget.
        coverage: one line that says what a sweep covered, or "".
        crash_states, crash_bound: see ``ItemFinished``.
        orders, undecided: overlaps that were put in order, and those for which that was given up.
        presets: the kinds of crashes to withstand, the weakest adversary first.
        moved: the backend changed the working directory.
        doubt: why nothing that this hunt may come to would be true, or None.
    """

    backend: Backend
    partner: Backend | None
    workspace: Workspace
    journal: Journal | None
    watchdog: Watchdog | None
    item: str
    seed: int
    max_examples: int
    deadline: float | None = None
    shrink_seconds: float = 10.0
    wanted: Callable[[str], bool] = ANY_CLAUSE
    findings: dict[str, Finding] = field(default_factory=dict)
    kit_error: tuple[KitError, Program] | None = None
    witnesses: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    operations: int = 0
    spent: bool = False
    coverage: str = ""
    crash_states: int = 0
    crash_bound: int = 0
    orders: int = 0
    undecided: int = 0
    presets: tuple[str, ...] = ()
    moved: bool = False
    doubt: NotMeasured | None = None
    _shrink_until: float | None = None
    _shortened_at: int = 0
    _roots: list[Path] = field(default_factory=list)

    @property
    def is_searching(self) -> bool:
        """Whether nothing was found yet that ends the search."""
        return self._shrink_until is None

    def begin(
        self, *, crashes: bool = False, damages: bool = False, alone: bool = False, counts_left: bool = True
    ) -> Execution:
        """A world of its own for the next program; ``crashes`` and ``damages`` where it may hold some.

        ``alone``: without the reference beside it. ``counts_left``: as in ``Execution``.
        """
        root = self.workspace.fresh_root()
        self._roots.append(root)
        if self.journal is not None:
            self.journal.begin(self.item, self.backend.name)
        self.programs += 1
        # While a failure is made smaller the reference has nothing to say.
        partner = self.partner if self.is_searching and not alone else None
        return Execution(
            self.backend,
            root,
            partner=partner,
            journal=self.journal,
            watchdog=self.watchdog,
            crashes=crashes,
            damages=damages,
            counts_left=counts_left,
        )

    def end(self, execution: Execution, *, counted: bool = True) -> None:
        """The program is over: count what it witnessed, unless it repeats another, and remove what it left."""
        execution.finish()
        self.moved |= execution.moved
        if self.journal is not None:
            self.journal.end()
        self.operations += len(execution.operations)
        self.orders += execution.judge.orders
        self.undecided += execution.judge.undecided
        if counted:
            self.witnesses.update(execution.witnesses)
        for root in self._roots:
            self.workspace.drop_family(root)
        self._roots.clear()

    def found(self, violation: Violation, execution: Execution) -> bool:
        """Keep the violation if its program is the shortest for its clause so far.

        Returns whether it ends the search. One of a clause that is not wanted is not even kept; one of a should clause
        ends its own program only, or a backend that breaks such a clause everywhere would hide what else it breaks.
        """
        return self.keep(violation, execution.program)

    def keep(self, violation: Violation, program: Program) -> bool:
        """The same of a program that has been performed to its end."""
        if not self.wanted(violation.clause):
            return False
        finding = Finding(violation.clause, program, violation)
        known = self.findings.get(finding.clause)
        if known is None or finding.size < known.size:
            self.findings[finding.clause] = finding
            self._shortened_at = self.programs
        if CLAUSES[finding.clause].level == "should":
            return False
        if self.is_searching:
            self._shrink_until = time.monotonic() + self.shrink_seconds
        return True

    def check_budget(self) -> None:
        """Called between operations.

        Raises:
            BudgetSpent: the time for the search, or for shrinking what it found, is used up.
        """
        limit = self._shrink_until if self._shrink_until is not None else self.deadline
        if limit is not None and time.monotonic() > limit:
            self.spent = True
            raise BudgetSpent

    def tell_orders(self) -> None:
        """Say how many overlaps were put in order, where the item is about them; too few make a doubt."""
        if self.orders and not self.coverage:
            self.coverage = (
                f"{self.item.rpartition('::')[2]}: the order of calls was decided in"
                f" {self.orders - self.undecided:,} of {self.orders:,} overlaps"
            )
        if self.undecided > MOST_UNDECIDED * self.orders and self.doubt is None:
            self.doubt = Undecided(
                f"in {self.undecided:,} of {self.orders:,} overlaps the order of calls was not decided, and what they"
                f" left was not judged (at most {MOST_UNDECIDED:.0%} may be so): make fewer sessions share one overlap"
            )

    def forget_frames(self) -> None:
        """The hunt is over: an exception keeps the frames that it was raised through, and all that was drawn there."""
        for finding in self.findings.values():
            finding.violation.with_traceback(None)

    def check_patience(self) -> None:
        """The same for a machine, whose programs are all that it tries.

        Raises:
            BudgetSpent: or what was found has not become shorter for many programs. What is left to gain is little:
                the runner goes on by leaving out operations, which costs a fraction of drawing them again.
        """
        self.check_budget()
        if not self.is_searching and self.programs - self._shortened_at > PATIENCE:
            self.spent = True
            raise BudgetSpent


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """One machine as an item.

    Attributes:
        name: of the item ``conformance::<kind>::<name>``.
        clauses: what it can witness; it runs where at least one of them applies.
        needs: what the backend must offer for it to mean anything.
        title: what it does, in one line.
        hunt: runs it; everything it finds is left in the job.
        preset: the kind of crash that it is about, or "".
        weight: its part of the budget that machines share, beside those of the others.
    """

    name: str
    clauses: tuple[str, ...]
    needs: frozenset[Need]
    title: str
    hunt: Callable[[Job], None]
    kind: str = "machine"
    preset: str = ""
    weight: float = 1.0

    @property
    def item_id(self) -> str:
        """The same on every machine."""
        return f"conformance::{self.kind}::{self.name}"
