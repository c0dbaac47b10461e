"""The only place that loops: items run one by one, told as report events.

Running an item needs nothing but the plan, so that the two doors (the command line and the pytest plugin) and the
workers of a distributed run all do the same. What a run consists of is decided in ``planning``.
"""

from __future__ import annotations

import contextlib
import shlex
import time
import traceback
from collections.abc import Callable
from dataclasses import replace

from conformance import __version__
from conformance.checks import Scenario
from conformance.checks.script import Script
from conformance.clauses import CLAUSES, Need, Violation
from conformance.drivers.children import noting
from conformance.drivers.errors import KitError, NotMeasured, SetupError, Undecided
from conformance.drivers.execution import ProgramResult, run_program
from conformance.drivers.fitting import NO_FIT, Fit
from conformance.drivers.journal import Journal
from conformance.drivers.leaving import heed_interrupts
from conformance.drivers.resting import exhaustion_unheard, old_objects_at_rest
from conformance.drivers.watchdog import LIMIT_S, Watchdog
from conformance.drivers.whereabouts import staying
from conformance.drivers.workspace import Workspace
from conformance.machines import Finding, Job, MachineSpec
from conformance.machines.explaining import Explained, Explainer
from conformance.machines.reduce import reduce_finding
from conformance.model.history_forms import event_to_json
from conformance.model.operations import Crash, Fail, Program
from conformance.planning import PROFILES, RECORDED, Item, Plan, Profile, Settings, make_plan
from conformance.report.cases import Case, CaseError, fingerprint, load_case
from conformance.report.events import (
    FailureFound,
    ItemFinished,
    ItemStarted,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    WarningRaised,
)
from conformance.report.program_text import render_failure_program
from conformance.report.summary import summarise
from conformance.sim.disk import Patching

REDUCE_SECONDS = 5.0
"""How long one finding of a machine may be made shorter by leaving out operations."""

MOST_HANGS = 3
"""Calls that may block the thread until the watchdog comes; each takes as long as a quick run in all."""

SCENARIO_REDUCE_SECONDS = 1.0
"""The same for a scenario, which is short already, and of which a broken backend may fail many."""


_MOVES = (
    "the backend changes the working directory, which is the whole process's: relative paths of everybody else lead"
    " elsewhere from then on. No clause forbids it; here each program begins where the backend's module left it"
)

_UNREPEATABLE = (
    "performed again in a world of its own the program did not fail: the backend keeps something from one instance to"
    " the next (module or class state), or depends on time, memory addresses or hash seeds"
)


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
            # A quick look does without the reference where every step is judged and nothing is drawn.
            None if plan.settings.profile == "smoke" and isinstance(item.check, Scenario) else plan.partner,
            workspace,
            journal,
            watchdog,
            item.id,
            plan.settings.seed,
            plan.max_examples(),
            presets=plan.presets(),
        )

    def scenario(self, check: Scenario) -> None:
        """Perform the scenario's steps once."""
        execution = self.job.begin(crashes=not RECORDED.isdisjoint(check.needs), damages=Need.DAMAGE in check.needs)
        try:
            check.body(Script(execution))
        except Violation as violation:
            self.job.found(violation, execution)
        except KitError as error:
            self.job.kit_error = (error, execution.program)
        finally:
            self.job.end(execution)

    def machine(self, check: MachineSpec, share: float | None) -> None:
        """Try again what failed earlier, and hunt for ``share`` seconds where that is mended or breaks a should clause.

        A backend may be told of a should clause in every run; that must not be all that it is ever told.
        """
        wanted = frozenset(self.plan.rulings)
        self.job.wanted = wanted.__contains__
        if share is not None:
            self.job.deadline = time.monotonic() + share
            self.job.shrink_seconds = min(10.0, max(3.0, share / 3))
        self.replay_earlier()
        if all(CLAUSES[clause].level == "should" for clause in self.job.findings):
            check.hunt(self.job)

    def replay_earlier(self) -> None:
        """Perform the saved cases of this item and backend: a failure that is still there is told at once."""
        for path in sorted((self.plan.settings.state / "cases").glob("*.json")):
            try:
                case = load_case(path)
                program = case.operations()
            except (CaseError, KeyError, TypeError, ValueError):
                # A case of another version of the kit is no reason not to run this one.
                continue
            if case.item != self.item.id or case.backend != self.plan.settings.backend:
                continue
            result = self.perform(program)
            self.job.programs += 1
            self.job.operations += len(result.program.operations)
            violation = result.violation
            if violation is not None and self.job.wanted(violation.clause):
                self.job.findings.setdefault(violation.clause, Finding(violation.clause, result.program, violation))

    def perform(self, program: Program, fit: Fit = NO_FIT, /, *, with_partner: bool = False) -> ProgramResult:
        """Perform a whole program in a world of its own; ``fit`` as in ``run_program``."""
        root = self.workspace.fresh_root()
        self.journal.begin(self.item.id, self.plan.backend.name)
        try:
            return run_program(
                self.plan.backend,
                program,
                root,
                partner=self.plan.partner if with_partner else None,
                journal=self.journal,
                watchdog=self.watchdog,
                fit=fit,
            )
        finally:
            self.journal.end()
            self.workspace.drop_family(root)

    def failures(self) -> list[ReportEvent]:
        """What was found, made as short as it can be; failing programs that contain another one are left out."""
        found: dict[str, ReportEvent] = {}
        for finding in sorted(self.believed(), key=lambda each: each.size):
            # A program that counts is short as it is written, and takes long to perform: it is only confirmed. One that
            # blocks takes the watchdog's time whenever it is performed.
            usual = SCENARIO_REDUCE_SECONDS if isinstance(self.item.check, Scenario) else REDUCE_SECONDS
            seconds = 0.0 if Need.IO_COUNT in self.item.check.needs or self.watchdog.hangs else usual
            reduced = reduce_finding(finding, self.perform, seconds=seconds)
            shortest = finding if reduced is None else reduced[0]
            explained = self.explained(shortest)
            story = () if explained is None else explained.lines
            shortest = shortest if explained is None else explained.finding
            if shortest.clause not in found:
                # Once more, to hear what the reference answers where the backend went wrong.
                result = self.perform(shortest.program, with_partner=True)
                again = result.violation is not None and result.violation.clause == shortest.clause
                failure = self._failure(shortest, result if again else None, story)
                found[shortest.clause] = failure
        return list(found.values())

    def believed(self) -> list[Finding]:
        """The findings, without those that a barrier may be behind that the recorder does not see."""
        recorded = [each for each in self.job.findings.values() if _rests_on_a_recording(each.program)]
        reason = self.plan.compared().reason if recorded else ""
        if not reason:
            return list(self.job.findings.values())
        self.job.doubt = NotMeasured(reason)
        return [each for each in self.job.findings.values() if each not in recorded]

    def explained(self, finding: Finding) -> Explained | None:
        """The smallest crash that shows a finding, and its story; None where it has none."""
        if not any(isinstance(each, Crash) for each in finding.program.operations):
            return None
        explainer = Explainer(self.job, self.plan.told_presets(self.item), compared=self.plan.compared().agrees)
        return explainer.explain(finding)

    def _failure(self, finding: Finding, result: ProgramResult | None, story: tuple[str, ...]) -> FailureFound:
        """The failure as it is told; ``result`` is None where the program did not fail when it was performed again.

        Then the backend remembers something from one world to the next, or looks at what is in no program.
        """
        settings, violation = self.plan.settings, finding.violation
        if result is not None and result.violation is not None:
            violation = result.violation
        note = violation.note if result is not None else "; ".join(filter(None, (violation.note, _UNREPEATABLE)))
        program = tuple(finding.program.to_json())
        failure = FailureFound(
            item=self.item.id,
            clause=finding.clause,
            expected=violation.expected,
            observed=violation.observed,
            note=note,
            program=program,
            history=tuple(map(event_to_json, result.told_history())) if result is not None else (),
            call=violation.call,
            client=violation.client,
            step=violation.step,
            reference_answer=result.reference_answer if result is not None else "",
            fingerprint=fingerprint(finding.clause, finding.program, violation.call),
            explanation=story,
            beyond=self._beyond(finding.program),
        )
        case = Case.of(failure, kit_version=__version__, backend=settings.backend, seed=settings.seed)
        try:
            path = case.save(settings.state / "cases")
            script = path.with_suffix(".py")
            script.write_text(render_failure_program(failure, backend_spec=settings.backend), "utf-8")
            path, script = settings.typed(path), settings.typed(script)
        except OSError as problem:
            # What was found is worth more than the file that repeats it.
            return replace(failure, note="; ".join(filter(None, (note, f"it could not be saved: {problem}"))))
        command = f"torntail replay {shlex.quote(str(path))}"
        return replace(failure, case=str(path), script=str(script), reproduce=command)

    def _beyond(self, program: Program) -> str:
        """Why what a program shows gates nothing, as a phrase; "" where the durability has to withstand its crashes."""
        crashes = [each for each in program.operations if isinstance(each, Crash)]
        return self.item.beyond if any(each.preset not in self.plan.presets() for each in crashes) else ""


def run_item(plan: Plan, item: Item, *, share: float | None = None) -> list[ReportEvent]:
    """Run one item: ``ItemStarted``, what it found, ``ItemFinished``.

    Args:
        share: wall seconds for a machine; by default the plan's own share.

    Raises:
        SetupError: the backend opened when the plan was made and does not any more.
    """
    events: list[ReportEvent] = [ItemStarted(item=item.id)]
    skip = item.skip
    if plan.ledger.hangs >= MOST_HANGS:
        skip = skip or f"calls blocked {plan.ledger.hangs} times for {LIMIT_S:.0f} s before this; mend that first"
    if skip:
        return [*events, ItemFinished(item=item.id, outcome="skipped", reason=skip)]
    begun = time.monotonic()
    journal = Journal(plan.settings.state)
    try:
        with (
            staying(plan.ledger.directory),
            noting(),
            Workspace() as workspace,
            Watchdog() as watchdog,
            exhaustion_unheard(),
        ):
            run = _Run(plan, item, workspace, journal, watchdog)
            events += _found_by(run, share if share is not None else _share(plan, item))
    finally:
        journal.close()
    plan.ledger.hangs += watchdog.hangs
    events += _moves(plan, run.job)
    if isinstance(item.check, MachineSpec):
        plan.ledger.due += plan.part(item.check) or 0.0
        plan.ledger.seconds += time.monotonic() - begun
    run.job.tell_orders()
    doubt = run.job.doubt
    failed = any(isinstance(event, FailureFound) for event in events)
    broken = any(isinstance(event, KitErrorFound) for event in events)
    return [
        *events,
        ItemFinished(
            item=item.id,
            outcome="error" if broken else "failed" if failed else "passed" if doubt is None else "not measured",
            reason="" if doubt is None else str(doubt),
            seconds=time.monotonic() - begun,
            programs=run.job.programs,
            operations=run.job.operations,
            witnesses=dict(run.job.witnesses),
            unmeasured=tuple(each for each in item.clauses if _is_in_doubt(each, doubt)),
            coverage="" if isinstance(item.check, Scenario) else run.job.coverage,
            crash_states=run.job.crash_states,
            crash_bound=run.job.crash_bound,
            beyond=item.beyond,
        ),
    ]


def _moves(plan: Plan, job: Job) -> list[ReportEvent]:
    """Say once that the backend changes the working directory."""
    ledger = plan.ledger
    ledger.moved |= job.moved
    if not ledger.moved or ledger.told:
        return []
    ledger.told = True
    return [WarningRaised(text=_MOVES)]


def _share(plan: Plan, item: Item) -> float | None:
    return plan.share(item.check) if isinstance(item.check, MachineSpec) else None


def _found_by(run: _Run, share: float | None) -> list[ReportEvent]:
    # Entered once around all programs of an item that counts or records; each would have to do it otherwise.
    seen = {Need.IO_COUNT, *RECORDED} & run.item.check.needs
    patching = Patching() if seen else contextlib.nullcontext()
    try:
        with patching:
            try:
                if isinstance(run.item.check, Scenario):
                    run.scenario(run.item.check)
                else:
                    run.machine(run.item.check, share)
            except NotMeasured as doubt:
                run.job.doubt = doubt
            found = run.failures()
    except SetupError:
        raise
    except NotMeasured as doubt:
        # What had been found cannot be shown again.
        run.job.doubt = doubt
        found = []
    except (Exception, SystemExit) as error:  # noqa: BLE001
        # The loop of the kit itself: whatever else goes wrong is told as the kit's own error, with its traceback.
        text = "".join(traceback.format_exception(error))
        return [KitErrorFound(item=run.item.id, message=f"{type(error).__name__}: {error}", traceback=text)]
    if run.job.kit_error is not None:
        broken, program = run.job.kit_error
        text = "".join(traceback.format_exception(broken))
        found.append(KitErrorFound(item=run.item.id, message=f"{broken}\n{_listing(program)}", traceback=text))
    return found


def _rests_on_a_recording(program: Program) -> bool:
    """Whether what a program shows depends on what was seen of the backend's storage calls."""
    return any(isinstance(each, Crash | Fail) for each in program.operations)


def _is_in_doubt(clause: str, doubt: NotMeasured | None) -> bool:
    """Whether a verdict on the clause rests on what could not be measured: a recording, or an order of calls."""
    if doubt is None:
        return False
    return isinstance(doubt, Undecided) or not RECORDED.isdisjoint(CLAUSES[clause].needs)


def _listing(program: Program) -> str:
    return "\n".join(f"  {operation!r:.300}" for operation in program.operations)


def run(plan: Plan, sink: Callable[[ReportEvent], None]) -> int:
    """Run every item and tell ``sink`` all events.

    Returns the exit code of their summary: 0 conforms, 1 violated, 3 not exercised, 4 the kit erred, 130 interrupted.
    """
    events: list[ReportEvent] = []

    def tell(event: ReportEvent) -> None:
        events.append(event)
        sink(event)

    begun = time.monotonic()
    interrupted = False
    tell(plan.started())
    try:
        # Once around everything: each item that records would look through the whole process for it.
        with Patching(), old_objects_at_rest():
            for item in plan.items:
                for event in run_item(plan, item):
                    tell(event)
                heed_interrupts()
    except KeyboardInterrupt:
        interrupted = True
    tell(RunFinished(seconds=time.monotonic() - begun, interrupted=interrupted))
    return summarise(events).exit_code()


__all__ = ["PROFILES", "Item", "Plan", "Profile", "Settings", "make_plan", "run", "run_item"]
