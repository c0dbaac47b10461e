"""Mutants against checks: finds the planted mutants, and runs the items of a plan over one of them.

Shared by the modules of this folder. It reads what the files of ``tests/mutants`` define, makes no judgement of its
own, and gives every run a fixed size and seed, so that what a run finds is the same on every machine.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

from conformance import runner
from conformance.checks import Scenario
from conformance.checks.script import Script
from conformance.clauses import BUILT, CLAUSES, Need, Violation
from conformance.contract import Backend
from conformance.drivers.execution import Execution, ProgramResult, run_program
from conformance.drivers.fitting import NO_FIT, Fit
from conformance.drivers.loading import load_file
from conformance.drivers.outside import Comparison
from conformance.drivers.registry import hold_backend, load_backend, partner_for
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import Finding
from conformance.machines.reduce import reduce_finding
from conformance.model.operations import Program
from conformance.planning import RECORDED
from conformance.report.events import FailureFound, KitErrorFound
from conformance.runner import Item, Plan, Settings, make_plan, run_item

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "tests" / "mutants"
VARIANTS = ROOT / "tests" / "variants"

sys.path.append(str(MUTANTS))
try:
    from planting import Mutant
finally:
    sys.path.remove(str(MUTANTS))

SEED = 20240229
"""Of everything drawn here."""

REDUCE_SECONDS = 5.0
"""How long a failure is made shorter, as in a run of the kit."""

SHARE = 600.0
"""Wall seconds after which a machine gives up: never, for the size of a run is counted, also on a busy computer."""

COSTS = tuple(sorted(each for each in BUILT if Need.IO_COUNT in CLAUSES[each].needs))
"""The clauses about what calls cost."""

ANSWERS = tuple(each for each in CLAUSES if Need.IO_COUNT not in CLAUSES[each].needs)
"""All others. What a backend answers does not depend on what it costs, and many a right one is dear."""

NO_CALLS = ("start_counting", "read_counters", "fail", "heal", "crash")
"""Operations that call nothing of a backend."""

Found = FailureFound | KitErrorFound


def defined_names(path: Path) -> Iterator[str]:
    """The public names that the file defines at its top level, imports apart."""
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


IS_SOAK = os.environ.get("TORNTAIL_SOAK") == "1"


@cache
def mutants() -> dict[str, Mutant]:
    """``area.name`` -> mutant, of every file in ``tests/mutants``.

    Raises:
        TypeError: a file defines something public that is no mutant, and would be skipped in silence.
    """
    found: dict[str, Mutant] = {}
    for path in sorted(MUTANTS.glob("*.py")):
        if path.stem == "planting":
            continue
        module = load_file(path)
        for name in defined_names(path):
            value = getattr(module, name)
            if not isinstance(value, Mutant):
                raise TypeError(f"{path}: {name} is {value!r:.80}; every public definition there must be a mutant")
            found[f"{path.stem}.{name}"] = value
    return found


def sentinels() -> dict[str, str]:
    """Area -> the id of its sentinel mutant."""
    return {each.breaks.split("-")[0]: name for name, each in mutants().items() if each.sentinel}


def spec_of(name: str) -> str:
    """How the mutant is addressed from the root of the repository."""
    stem, _, attribute = name.partition(".")
    return f"tests/mutants/{stem}.py:{attribute}"


def plan_for(
    backend: str | Backend,
    state: Path,
    *,
    clauses: tuple[str, ...] = (),
    examples: int = 60,
    seed: int = SEED,
    profile: str = "smoke",
) -> Plan:
    """A plan of fixed size over a backend, given by its spec or in hand.

    Args:
        clauses: those that are judged; by default all but the ones about costs. Whether costs can be counted at all has
            to be tried for each plan that asks for them.
        profile: how far sweeps go. Under ``smoke`` the reference does not stand beside the scenarios, of which every
            step is judged all the same.
    """
    spec = backend if isinstance(backend, str) else hold_backend(backend)
    plan = make_plan(
        Settings(
            backend=spec,
            profile=profile,
            base=ROOT,
            clauses=clauses or ANSWERS,
            max_examples=examples,
            budget=600.0,
            seed=seed,
            state=state,
        )
    )
    if not IS_SOAK:
        # It starts a process for each plan; whether the recorder sees all that a backend does is no defect's question.
        plan.ledger.comparison = Comparison(gap="left to soak")
    return plan


def part_of(
    plan: Plan, number: int, *, clauses: tuple[str, ...] = (), own: int = 1, near: int = 1, parts: int = 6
) -> Plan:
    """The plan with every machine, and parts of the scenarios.

    One part of ``own`` is kept of what is about these clauses, one of ``near`` of what is about their areas, and one of
    ``parts`` of everything else.
    Which part is decided by ``number``, so that a row of plans numbered one after the other covers all of them.
    Sweeps of faults are left to ``test_zero_alarms``, which makes them over the same backends. `make soak` leaves
    nothing out.
    """
    if IS_SOAK:
        return plan
    areas = {clause.partition("-")[0] for clause in clauses}

    def is_kept(place: int, item: Item) -> bool:
        if not is_scenario(item):
            return not is_fault_sweep(item)
        of = near if any(clause.partition("-")[0] in areas for clause in item.clauses) else parts
        of = of if set(clauses).isdisjoint(item.clauses) else own
        return place % of == number % of

    return replace(plan, items=tuple(item for place, item in enumerate(plan.items) if is_kept(place, item)))


def is_scenario(item: Item) -> bool:
    """Whether the item is a named scenario."""
    return isinstance(item.check, Scenario)


def is_fault_sweep(item: Item) -> bool:
    """Whether the item goes through the storage calls of a life and lets each fail."""
    return kind_of(item) == "sweep" and Need.FAULTS in item.check.needs


def counts(item: Item) -> bool:
    """Whether the item counts what calls cost."""
    return Need.IO_COUNT in item.check.needs


def kind_of(item: Item) -> str:
    """``scenario``, or the second part of its id: ``machine``, ``sweep``."""
    return "scenario" if is_scenario(item) else item.id.split("::")[1]


def findings(plan: Plan, *kinds: str) -> Iterator[Found]:
    """Every failure and kit error of the plan's items, in order; whoever stops reading stops the run.

    Args:
        kinds: those of the items that run; all where none is given.
    """
    for item in plan.items:
        if not kinds or kind_of(item) in kinds:
            yield from (event for event in run_item(plan, item, share=SHARE) if isinstance(event, Found))


def blamed_beyond(mutant: Mutant, plan: Plan, allowed: frozenset[str]) -> Iterator[str]:
    """What the scenarios of the plan blame a mutant for besides the clauses allowed, once made short; no partner.

    A failure that is blamed on an allowed clause as it stands is not made shorter: that takes most of the time.
    """
    shown_by_faults = Need.FAULTS in CLAUSES[mutant.breaks].needs
    with Workspace() as workspace, Watchdog() as watchdog:

        def perform(program: Program, fit: Fit = NO_FIT, /) -> ProgramResult:
            root = workspace.fresh_root()
            try:
                return run_program(mutant, program, root, watchdog=watchdog, fit=fit)
            finally:
                workspace.drop(root)

        for item in plan.items:
            if item.skip or not isinstance(item.check, Scenario):
                continue
            recorded = not RECORDED.isdisjoint(item.check.needs)
            needed = shown_by_faults and Need.CRASH not in item.check.needs
            if recorded and not needed:
                # A defect that shows without crash and fault is looked for without: what it leads to there is its own.
                continue
            root = workspace.fresh_root()
            execution = Execution(
                mutant, root, watchdog=watchdog, crashes=recorded, damages=Need.DAMAGE in item.check.needs
            )
            found: Violation | None = None
            try:
                item.check.body(Script(execution))
            except Violation as violation:
                found = violation
            finally:
                execution.finish()
                workspace.drop(root)
            if found is None or found.clause in allowed:
                continue
            reduced = reduce_finding(Finding(found.clause, execution.program, found), perform, seconds=REDUCE_SECONDS)
            if reduced is None:
                yield f"{item.id}: broke {found.clause} once and not again"
            elif reduced[0].clause not in allowed:
                steps = "\n".join(f"    {step}" for step in reduced[0].program.to_json())
                yield f"{item.id}: {reduced[0].violation}\n{steps}"


def told(found: Found) -> str:
    """A finding in a few lines, for the message of a test."""
    if isinstance(found, KitErrorFound):
        return f"kit error in {found.item}: {found.message}"
    steps = "\n".join(f"    {step}" for step in found.program)
    said = f"expected: {found.expected}\n  observed: {found.observed}\n  {found.note}"
    return f"{found.clause} in {found.item}\n  {said}\n{steps}"


@dataclass(frozen=True, slots=True)
class Kill:
    """The first failure of a mutant's own run.

    Attributes:
        item: the check that found it.
        length: calls in its program; reading counters and what is done to the storage are none.
        is_short: it was made as short as it becomes.
    """

    name: str
    clause: str
    item: str
    length: int
    is_short: bool
    failure: FailureFound

    @property
    def program(self) -> Program:
        """The program that fails."""
        return Program.from_json([dict(step) for step in self.failure.program])


def first_finding(name: str, state: Path) -> Found | None:
    """The first thing that the checks of its clause find in a mutant."""
    return next(findings(plan_for(spec_of(name), state, clauses=(mutants()[name].breaks,))), None)


def kill(name: str, state: Path, *, short: bool = True) -> Kill:
    """Run the checks of a mutant's clause until one fails.

    Args:
        short: make the failing program as short as it becomes, which takes more than half of the time.

    Raises:
        AssertionError: none does, the kit errs, or the failure is blamed on a clause that the mutant does not break.
    """
    mutant = mutants()[name]
    # How short a program becomes must not depend on how busy the computer is.
    with patch.object(runner, "SCENARIO_REDUCE_SECONDS", REDUCE_SECONDS * 4 if short else 0.0):
        found = first_finding(name, state)
    if found is None:
        raise AssertionError(f"{name} survived the checks of {mutant.breaks}: {mutant.story}")
    is_blamed = isinstance(found, FailureFound) and found.clause in (mutant.breaks, *mutant.also)
    if not is_blamed and not short:
        # What else happens in a long program may be told first.
        return kill(name, state)
    if isinstance(found, KitErrorFound) or not is_blamed:
        raise AssertionError(f"{name} breaks {mutant.breaks}: {mutant.story}\nfound: {told(found)}")
    calls = [step for step in found.program if step["do"] not in NO_CALLS]
    return Kill(name, found.clause, found.item, len(calls), short, found)


def perform(backend: str | Backend, program: Program) -> ProgramResult:
    """Perform a program on a backend, given by its spec or in hand, in a fresh world, the reference beside it."""
    found = load_backend(backend, ROOT) if isinstance(backend, str) else backend
    with Workspace() as workspace:
        return run_program(found, program, workspace.fresh_root(), partner=partner_for(found))
