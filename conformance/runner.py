"""The only place that loops: a plan of items, run one by one, told as report events.

A plan is made once from the settings: the backend loaded and opened for a try, the clauses selected, the table asked
about each of them and about each item. Running an item needs nothing but the plan, so that the two doors (the
command line and the pytest plugin) and the workers of a distributed run all do the same.
"""

from __future__ import annotations

import platform
import shlex
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType

from conformance import __version__
from conformance.checks import SCENARIOS, Scenario
from conformance.checks.script import Script
from conformance.clauses import (
    Clause,
    Route,
    Ruling,
    Violation,
    in_process_route,
    needs_standing,
    ruling,
    select,
)
from conformance.contract import Backend
from conformance.drivers.errors import KitError, SetupError, UsageError
from conformance.drivers.execution import ProgramResult, run_program
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.journal import Journal
from conformance.drivers.registry import load_backend, partner_for
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import MACHINES, Finding, Job, MachineSpec
from conformance.machines.reduce import reduce_finding
from conformance.model.history import event_to_json
from conformance.model.operations import OpenInstance, Program
from conformance.report.cases import Case, fingerprint
from conformance.report.events import (
    FailureFound,
    ItemFinished,
    ItemStarted,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    RunStarted,
)
from conformance.report.summary import summarise

REDUCE_SECONDS = 5.0
"""How long one finding may be made shorter by leaving out operations."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How much a run tries.

    Attributes:
        budget: wall seconds for everything random in the run, shared among its machines; None for no limit.
        max_examples: programs for each machine.
    """

    budget: float | None
    max_examples: int


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "smoke": Profile(5.0, 50),
        "default": Profile(30.0, 600),
        "ci": Profile(240.0, 6_000),
        "nightly": Profile(1_700.0, 1_000_000),
        "soak": Profile(None, 1_000_000_000),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user asked for.

    Attributes:
        backend: the spec as written.
        profile: a key of ``PROFILES``; ``budget`` (seconds) and ``max_examples`` replace its own.
        seed: of everything drawn.
        clauses: patterns such as ``JSON-*``; empty for all.
        durability: to try more or less than is claimed.
        strict: should clauses gate; require_measured: *not measured* counts as not exercised.
        state: where journals and cases are kept; base: relative paths of backends start here.
        workers: how many processes share the budget.
    """

    backend: str
    profile: str = "default"
    budget: float | None = None
    seed: int = 0
    clauses: tuple[str, ...] = ()
    max_examples: int | None = None
    durability: str | None = None
    strict: bool = False
    require_measured: bool = False
    state: Path = Path(".torntail")
    base: Path = Path()
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Item:
    """One check as both doors show it.

    Attributes:
        id: the same on every machine.
        clauses: what it can witness.
        title: what it checks, in one line.
        skip: the table's reason why it does not run, or "".
        check: the scenario or machine behind it.
    """

    id: str
    clauses: tuple[str, ...]
    title: str
    skip: str
    check: Scenario | MachineSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything an item needs to run."""

    settings: Settings
    backend: Backend
    partner: Backend
    route: Route
    clauses: tuple[Clause, ...]
    rulings: Mapping[str, Ruling]
    items: tuple[Item, ...]

    def started(self) -> RunStarted:
        """The header of the run's report."""
        settings = self.settings
        return RunStarted(
            kit_version=__version__,
            backend=self.backend.name,
            spec=settings.backend,
            capabilities=asdict(self.backend.capabilities),
            profile=settings.profile,
            seed=settings.seed,
            strict=settings.strict,
            require_measured=settings.require_measured,
            durability=settings.durability or self.backend.capabilities.durability,
            python=platform.python_version(),
            platform=platform.system(),
            clauses=tuple(each.id for each in self.clauses),
            rulings={name: (found.standing.name, found.reason) for name, found in self.rulings.items()},
            items=tuple(item.id for item in self.items),
        )

    def share(self) -> float | None:
        """Wall seconds for each machine of this run."""
        profile = PROFILES[self.settings.profile]
        budget = self.settings.budget if self.settings.budget is not None else profile.budget
        machines = sum(isinstance(item.check, MachineSpec) and not item.skip for item in self.items)
        if budget is None or not machines:
            return budget
        return budget * min(self.settings.workers, machines) / machines

    def max_examples(self) -> int:
        """Programs for each machine."""
        if self.settings.max_examples is not None:
            return self.settings.max_examples
        return PROFILES[self.settings.profile].max_examples


def make_plan(settings: Settings) -> Plan:
    """Load the backend, open it once for a try, and decide what will run.

    Raises:
        UsageError: an unknown backend, profile or durability. SetupError: the backend could not start.
        UnknownClauseError: a pattern that matches no clause.
    """
    if settings.profile not in PROFILES:
        raise UsageError(f"profile={settings.profile!r}: expected one of {', '.join(PROFILES)}")
    selected = select(settings.clauses)
    backend = load_backend(settings.backend, settings.base)
    _try_to_open(backend)
    route = in_process_route()
    rulings = {
        each.id: ruling(each, backend, route, durability=settings.durability)  # type: ignore[arg-type]
        for each in selected
    }
    wanted = frozenset(rulings)
    checks: list[Scenario | MachineSpec] = [*SCENARIOS, *MACHINES]
    items = tuple(_item(check, backend, route, rulings) for check in checks if wanted.intersection(check.clauses))
    return Plan(settings, backend, partner_for(backend), route, selected, rulings, items)


def _item(check: Scenario | MachineSpec, backend: Backend, route: Route, rulings: Mapping[str, Ruling]) -> Item:
    reasons = [rulings[name] for name in check.clauses if name in rulings]
    skip = "" if any(each.applies for each in reasons) else reasons[0].reason
    needed = needs_standing(check.needs, backend, route)
    if not skip and not needed.applies:
        skip = needed.reason
    return Item(check.item_id, check.clauses, check.title, skip, check)


def _try_to_open(backend: Backend) -> None:
    """Open and close one instance, so that a backend that cannot start is told before anything is judged."""
    with Workspace() as workspace, Watchdog() as watchdog:
        driver = InProcessDriver(backend, workspace.fresh_root(), watchdog=watchdog)
        try:
            driver.perform(OpenInstance(1))
        finally:
            driver.finish()


class _Run:
    """One item being run: its scratch space, its journal, and what it found."""

    def __init__(self, plan: Plan, item: Item, workspace: Workspace, journal: Journal, watchdog: Watchdog) -> None:
        self.plan = plan
        self.item = item
        self.workspace = workspace
        self.journal = journal
        self.watchdog = watchdog
        self.job = Job(
            plan.backend,
            plan.partner,
            workspace,
            journal,
            watchdog,
            item.id,
            plan.settings.seed,
            plan.max_examples(),
        )

    def scenario(self, check: Scenario) -> None:
        """Perform the scenario's steps once."""
        execution = self.job.begin()
        try:
            check.body(Script(execution))
        except Violation as violation:
            self.job.found(violation, execution)
        except KitError as error:
            self.job.kit_error = (error, execution.program)
        finally:
            self.job.end(execution)

    def machine(self, check: MachineSpec, share: float | None) -> None:
        """Hunt for ``share`` seconds."""
        wanted = frozenset(self.plan.rulings)
        self.job.wanted = wanted.__contains__
        if share is not None:
            self.job.deadline = time.monotonic() + share
            self.job.shrink_seconds = max(3.0, share / 3)
        check.hunt(self.job)

    def perform(self, program: Program) -> ProgramResult:
        """Perform a whole program in a world of its own."""
        root = self.workspace.fresh_root()
        self.journal.begin(self.item.id, self.plan.backend.name)
        try:
            return run_program(
                self.plan.backend,
                program,
                root,
                partner=self.plan.partner,
                journal=self.journal,
                watchdog=self.watchdog,
            )
        finally:
            self.journal.end()
            self.workspace.drop_family(root)

    def failures(self) -> list[ReportEvent]:
        """What was found, made as short as it can be; failing programs that contain another one are left out."""
        found: dict[str, ReportEvent] = {}
        for finding in sorted(self.job.findings.values(), key=lambda each: each.size):
            reduced = reduce_finding(finding, self.perform, seconds=REDUCE_SECONDS)
            if reduced is None:
                found.setdefault(finding.clause, self._vanished(finding))
                continue
            shortest, result = reduced
            if shortest.clause not in found:
                found[shortest.clause] = self._failure(shortest, result)
        return list(found.values())

    def _failure(self, finding: Finding, result: ProgramResult) -> FailureFound:
        settings, violation = self.plan.settings, finding.violation
        program = tuple(finding.program.to_json())
        failure = FailureFound(
            item=self.item.id,
            clause=finding.clause,
            expected=violation.expected,
            observed=violation.observed,
            note=violation.note,
            program=program,
            history=tuple(event_to_json(event) for event in result.history),
            call=violation.call,
            reference_answer=result.reference_answer,
            fingerprint=fingerprint(finding.clause, finding.program, violation.call),
        )
        case = Case.of(failure, kit_version=__version__, backend=settings.backend, seed=settings.seed)
        path = case.save(settings.state / "cases")
        return replace(failure, case=str(path), reproduce=f"torntail replay {shlex.quote(str(path))}")

    def _vanished(self, finding: Finding) -> KitErrorFound:
        """A program that failed once and does not fail again: the world it ran in was not the same."""
        return KitErrorFound(
            item=self.item.id,
            message=(
                f"a program broke {finding.clause} and did not break it when performed again: the backend or the kit"
                " depends on something that is not in the program (time, memory addresses, hash seeds, leftovers)"
            ),
            traceback="\n".join(repr(operation) for operation in finding.program.operations),
        )


def run_item(plan: Plan, item: Item, *, share: float | None = None) -> list[ReportEvent]:
    """Run one item: ``ItemStarted``, what it found, ``ItemFinished``.

    Args:
        share: wall seconds for a machine; by default the plan's own share.

    Raises:
        SetupError: the backend opened when the plan was made and does not any more.
    """
    events: list[ReportEvent] = [ItemStarted(item=item.id)]
    if item.skip:
        return [*events, ItemFinished(item=item.id, outcome="skipped", reason=item.skip)]
    begun = time.monotonic()
    journal = Journal(plan.settings.state)
    try:
        with Workspace() as workspace, Watchdog() as watchdog:
            run = _Run(plan, item, workspace, journal, watchdog)
            events += _found_by(run, share if share is not None else plan.share())
    finally:
        journal.close()
    failed = any(isinstance(event, FailureFound) for event in events)
    broken = any(isinstance(event, KitErrorFound) for event in events)
    return [
        *events,
        ItemFinished(
            item=item.id,
            outcome="error" if broken else "failed" if failed else "passed",
            seconds=time.monotonic() - begun,
            programs=run.job.programs,
            operations=run.job.operations,
            witnesses=dict(run.job.witnesses),
        ),
    ]


def _found_by(run: _Run, share: float | None) -> list[ReportEvent]:
    try:
        if isinstance(run.item.check, Scenario):
            run.scenario(run.item.check)
        else:
            run.machine(run.item.check, share)
        found = run.failures()
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001
        # The loop of the kit itself: whatever else goes wrong is told as the kit's own error, with its traceback.
        text = "".join(traceback.format_exception(error))
        return [KitErrorFound(item=run.item.id, message=f"{type(error).__name__}: {error}", traceback=text)]
    if run.job.kit_error is not None:
        broken, program = run.job.kit_error
        text = "".join(traceback.format_exception(broken))
        found.append(KitErrorFound(item=run.item.id, message=f"{broken}\n{_listing(program)}", traceback=text))
    return found


def _listing(program: Program) -> str:
    return "\n".join(f"  {operation!r:.300}" for operation in program.operations)


def run(plan: Plan, sink: Callable[[ReportEvent], None]) -> int:
    """Run every item and tell ``sink`` all events.

    Returns the exit code of their summary: 0 conforms, 1 violated, 3 not exercised, 4 an error of the kit, 130 interrupted.
    """
    events: list[ReportEvent] = []

    def tell(event: ReportEvent) -> None:
        events.append(event)
        sink(event)

    begun = time.monotonic()
    interrupted = False
    tell(plan.started())
    try:
        for item in plan.items:
            for event in run_item(plan, item):
                tell(event)
    except KeyboardInterrupt:
        interrupted = True
    tell(RunFinished(seconds=time.monotonic() - begun, interrupted=interrupted))
    return summarise(events).exit_code()
