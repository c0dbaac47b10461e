"""The pytest door: what happens once a backend is given. One object, registered for one pytest run, holds the state.

Every process makes the same plan from the same settings. Where pytest-xdist is used, the workers run the items, and
the controller, which has no items, folds the events that travel in their reports. The controller alone writes files,
prints the summary and sets the exit status: 1 for violations and for gating clauses that nothing exercised, 3 for
errors of the kit, 4 for usage and set-up.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Generator, Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import pytest

from conformance.clauses import UnknownClauseError
from conformance.configuration import parse_budget, read_configuration, split_patterns
from conformance.contract import Durability
from conformance.drivers.children import end_at_exit
from conformance.drivers.errors import UsageError
from conformance.drivers.leaving import leave_in_time, running, tell_exits
from conformance.pytest_items import BackendStopped, Check, ended, matching, plant
from conformance.report.events import FailureFound, KitErrorFound, ReportEvent, RunFinished, RunStarted, event_from_json
from conformance.report.folder import ReportFolder
from conformance.report.summary import Summary, summarise
from conformance.report.text import ansi, plain, render_terminal
from conformance.runner import PROFILES, Item, Plan, Settings, make_plan
from conformance.unfinished import keep_unfinished

SEED = "torntail_seed"
EVENTS = "torntail_events"
STOPPED = "torntail_stopped"
_MAX_WIDTH = 120


class Door:
    """The state of one pytest run with a backend.

    Args:
        selectors: the arguments that name checks of the kit; empty means all.
    """

    def __init__(self, config: pytest.Config, selectors: tuple[str, ...]) -> None:
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._config = config
        self._selectors = selectors
        self._is_worker = worker is not None
        self._settings = settings_from(config, worker)
        self._plan: Plan | None = None
        self._chosen: tuple[Item, ...] = ()
        self._header: RunStarted | None = None
        self._events: list[ReportEvent] = []
        self._folder: ReportFolder | None = None
        self._summary: Summary | None = None
        self._stopped = False
        self._threads = running()
        self._session: pytest.Session | None = None
        self._exits_again = tell_exits()
        end_at_exit()
        self._began = time.monotonic()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Make the plan before anything is collected, so that every usage error comes first.

        Raises:
            pytest.UsageError: no such backend, clause or check, or a backend that cannot start.
        """
        self._session = session
        try:
            self._plan = make_plan(self._settings)
        except (UsageError, UnknownClauseError) as error:
            # The str() of a KeyError is the repr of its argument; its first argument is the message.
            raise pytest.UsageError(str(error.args[0] if error.args else error)) from error
        self._header = self._plan.started()
        self._chosen = chosen_items(self._plan, self._selectors)

    def pytest_report_header(self) -> str:
        """What is checked, and the seed that repeats it."""
        settings = self._settings
        return f"torntail: backend {settings.backend}, profile {settings.profile}, --torntail-seed={settings.seed}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the seed to a worker of pytest-xdist, so that all of them draw from the same one."""
        node.workerinput[SEED] = self._settings.seed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the kit's items, before anybody selects or orders."""
        if self._plan is not None and self._header is not None:
            items.extend(plant(session, self._plan, self._header, self._chosen))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What is left of the items when everybody has selected is what this run is about."""
        if self._plan is None:
            return
        checks = [item for item in session.items if isinstance(item, Check)]
        plan = replace(self._plan, items=tuple(each.check for each in checks))
        for each in checks:
            each.plan = plan
        if not self._is_worker and not self._config.getoption("collectonly"):
            self._begin(each.nodeid for each in checks)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        """The same for the controller of pytest-xdist, which collects nothing itself; all workers have the same ids."""
        if not self._events:
            self._begin(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the events of a check into its report, which travels from a worker to the controller."""
        report = yield
        if isinstance(item, Check) and call.when == "call":
            setattr(report, EVENTS, json.dumps([event.to_json() for event in item.events]))
            setattr(report, STOPPED, call.excinfo is not None and call.excinfo.errisinstance(BackendStopped))
            if isinstance(report.longrepr, tuple):
                # Why it was skipped matters, not the line of the kit that skipped it.
                place, line, _ = item.reportinfo()
                report.longrepr = (str(place), line + 1, report.longrepr[2])
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the events out of a report once everybody else has read it."""
        text = getattr(report, EVENTS, None)
        if self._is_worker or text is None:
            return
        self._stopped |= getattr(report, STOPPED)
        found = [event_from_json(form) for form in json.loads(text)]
        for event in found:
            self._emit(event)
        # The terminal shows each bug once, with its program, at the end; among pytest's own failures a line is enough.
        if report.failed and any(isinstance(event, KitErrorFound) for event in found):
            report.longrepr = "an error of the kit; its traceback is in the summary below"
        elif report.failed and found:
            clauses = dict.fromkeys(event.clause for event in found if isinstance(event, FailureFound))
            report.longrepr = f"{', '.join(clauses)} violated; the program is in the summary below"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fold the events, write the report, and say with the exit status what pytest cannot know."""
        if self._is_worker or not self._events or self._plan is None:
            return
        if exitstatus == pytest.ExitCode.OK and not ended(self._events):
            # Nothing was to run, as with --setup-plan or --fixtures.
            return
        header = self._events[0]
        selected = set(header.items) if isinstance(header, RunStarted) else set()
        is_cut = exitstatus == pytest.ExitCode.INTERRUPTED or not selected <= ended(self._events)
        self._emit(RunFinished(seconds=time.monotonic() - self._began, interrupted=is_cut))
        self._summary = summarise(self._events)
        if self._folder is not None:
            self._folder.finish(self._summary)
        is_whole = len(selected) == len(self._plan.items) and not is_cut
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            if self._summary.kit_errors:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            elif self._stopped:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
            elif self._summary.gating_failures or (is_whole and self._summary.unsettled()):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """What a backend left running must not keep the process, whose exit code is known by now."""
        self._exits_again()
        if self._session is not None:
            leave_in_time(int(self._session.exitstatus), self._threads)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the summary; the failures, with the commands that repeat them, come last."""
        if self._summary is None or self._plan is None:
            return
        terminalreporter.ensure_newline()
        settings = self._settings
        # With -q pytest shows no header, and a failing run must show its seed.
        terminalreporter.section(f"torntail: {self._plan.backend.name}, {settings.profile}, seed {settings.seed}")
        ran, every = len(ended(self._events)), len(self._plan.items)
        if ran < every:
            counted = "" if self._events[0] is self._header else "; only the clauses of those selected are counted"
            terminalreporter.write_line(f"{ran} of {every} checks ran{counted}")
        width = min(shutil.get_terminal_size((100, 24)).columns, _MAX_WIDTH)
        style = ansi if terminalreporter.hasmarkup else plain
        for line in render_terminal(self._summary, width=width, style=style).splitlines():
            terminalreporter.write_line(line)

    def _begin(self, ids: Iterable[str]) -> None:
        """Say what the run is about; nothing where no check of the kit was selected."""
        selected = set(ids)
        if self._plan is None or self._header is None:
            return
        items = [item for item in self._plan.items if item.id in selected]
        if not items:
            return
        directory = Options(self._config).get("report")
        if directory is not None:
            place = Path(self._config.invocation_params.dir) / directory
            try:
                self._folder = ReportFolder(place, spec=self._settings.backend)
            except OSError as error:
                raise pytest.UsageError(f"--torntail-report={directory}: {error.strerror or error}") from error
        self._emit(self._header if len(items) == len(self._plan.items) else narrowed(self._header, items))
        for warning in keep_unfinished(self._plan):
            self._emit(warning)

    def _emit(self, event: ReportEvent) -> None:
        self._events.append(event)
        if self._folder is not None:
            self._folder.write(event)


def narrowed(header: RunStarted, items: Iterable[Item]) -> RunStarted:
    """The header of a run of some items: the clauses of the others were not asked about, which is no lack."""
    items = tuple(items)
    asked = {clause for item in items for clause in item.clauses}
    return replace(
        header,
        items=tuple(item.id for item in items),
        clauses=tuple(clause for clause in header.clauses if clause in asked),
        rulings={clause: ruling for clause, ruling in header.rulings.items() if clause in asked},
    )


def chosen_items(plan: Plan, selectors: Iterable[str]) -> tuple[Item, ...]:
    """The items that the selectors name, in the plan's order; all of them where there is no selector.

    Raises:
        pytest.UsageError: a selector names none.
    """
    found: set[str] = set()
    for selector in (selectors := tuple(selectors)):
        ids = {item.id for item in matching(plan.items, selector)}
        if not ids:
            near = get_close_matches(
                "conformance::" + selector.partition("::")[2], [item.id for item in plan.items], n=3, cutoff=0.8
            )
            hint = f"; did you mean {' or '.join(near)}?" if near else "; --collect-only lists them"
            raise pytest.UsageError(f"no check of the kit matches {selector!r}{hint}")
        found |= ids
    return tuple(item for item in plan.items if not selectors or item.id in found)


class Options:
    """The options of ``--torntail-NAME``, and where one was not given the key of ``[tool.torntail]``.

    Raises:
        pytest.UsageError: the project file cannot be read, or has a key or value that means nothing.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:
            self._project = read_configuration(Path(config.invocation_params.dir))
        except UsageError as error:
            raise pytest.UsageError(str(error)) from error

    def get(self, name: str) -> Any:
        """The value, or None where neither says anything."""
        given = self._config.getoption(f"torntail_{name}", None)
        return self._project.get(name) if given is None or given is False or given == [] else given


def settings_from(config: pytest.Config, worker: dict[str, Any] | None) -> Settings:
    """The options as settings; a random seed where none is given, and in a worker the controller's.

    Raises:
        pytest.UsageError: a value that means nothing.
    """
    options = Options(config)
    seed = options.get("seed") if worker is None else worker.get(SEED)
    budget = options.get("budget")
    given = {
        "profile": one_of("profile", options.get("profile"), PROFILES),
        "budget": None if budget is None else seconds(str(budget)),
        "seed": random.SystemRandom().randrange(2**32) if seed is None else not_below("seed", seed, 0),
        "clauses": split_patterns(options.get("clause") or ()),
        "max_examples": not_below("max-examples", options.get("max_examples"), 1),
        "durability": one_of("durability", options.get("durability"), get_args(Durability)),
        "presets": split_patterns(options.get("preset") or ()),
        "strict": options.get("strict"),
        "require_measured": options.get("require_measured"),
        "workers": None if worker is None else worker["workercount"],
    }
    return Settings(
        backend=config.getoption("torntail_backend"),
        base=Path(config.invocation_params.dir),
        **{name: value for name, value in given.items() if value is not None},
    )


def one_of(name: str, value: str | None, words: Iterable[str]) -> str | None:
    """``value``, where it is one of the words.

    Raises:
        pytest.UsageError: it is not.
    """
    known = list(words)
    if value is not None and value not in known:
        raise pytest.UsageError(f"--torntail-{name}={value!r}; expected one of {', '.join(known)}")
    return value


def not_below(name: str, value: int | None, least: int) -> int | None:
    """``value``, where it is at least ``least``.

    Raises:
        pytest.UsageError: it is not.
    """
    if value is not None and value < least:
        raise pytest.UsageError(f"--torntail-{name}={value!r}; expected at least {least}")
    return value


def seconds(text: str) -> float:
    """Seconds of a budget.

    Raises:
        pytest.UsageError: text that is no time above zero.
    """
    try:
        return parse_budget(text)
    except ValueError as error:
        raise pytest.UsageError(f"--torntail-{error}") from error
