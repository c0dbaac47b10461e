"""The kit's items as pytest sees them: a small tree ``conformance`` / area / check, and what a check's end means there.

Node ids are the items' own ids, on every machine and in every worker. The items use no fixture and take nothing from
the user's tree. They run what the runner gives them and decide nothing: the summary of an item's events says whether
it failed.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from conformance.drivers.errors import SetupError
from conformance.drivers.resting import old_objects_at_rest
from conformance.report.events import FailureFound, ItemFinished, KitErrorFound, ReportEvent, RunFinished, RunStarted
from conformance.report.summary import Summary, summarise
from conformance.report.text import render_failure, render_kit_error
from conformance.runner import Item, Plan, run_item
from conformance.sim.disk import Patching

ROOT = "conformance"


class ConformanceWarning(UserWarning):
    """A violated clause that does not fail the run, such as a should clause without ``--torntail-strict``."""


class ClausesViolated(Exception):
    """The check found violations of gating clauses."""

    def __init__(self, failures: Sequence[FailureFound]) -> None:
        super().__init__(f"violated: {', '.join(dict.fromkeys(each.clause for each in failures))}")
        self.failures = tuple(failures)


class KitFailed(Exception):
    """The check could not be carried out: an error of the kit, which says nothing about the backend."""

    def __init__(self, faults: Sequence[KitErrorFound]) -> None:
        super().__init__(f"error of the kit: {faults[0].message}")
        self.faults = tuple(faults)


class BackendStopped(Exception):
    """The backend could be opened when the run began and cannot be any more: a set-up error, no verdict."""


class Area(pytest.Collector):
    """One area of the catalogue, or the machines, or the sweeps."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing: the items are planted, never collected from here."""
        return ()


class Conformance(Area):
    """The root of the kit's items: set up before the first of a row of them, and torn down after the last."""

    def setup(self) -> None:
        """Items that record find the functions of ``os`` patched; each would look through the whole process for it."""
        super().setup()
        self._around = contextlib.ExitStack()
        self._around.enter_context(Patching())
        self._around.enter_context(old_objects_at_rest())

    def teardown(self) -> None:
        """Other people's tests find everything as it was."""
        self._around.close()
        super().teardown()


class Check(pytest.Item):
    """One check of the kit.

    Attributes:
        check: the runner's item. plan: what it runs under; the door puts a narrower one here when some were deselected,
            since those that are left share the budget.
        events: what the runner said of it; empty until it has run.
    """

    def __init__(self, *, plan: Plan, check: Item, header: RunStarted, **node: Any) -> None:
        super().__init__(**node)
        self.plan = plan
        self.check = check
        self._header = header
        self.events: tuple[ReportEvent, ...] = ()
        # The clauses it is about, so that -k SEQ-02 finds it.
        self.extra_keyword_matches.update(check.clauses)

    def runtest(self) -> None:
        """Run the check.

        Raises:
            KitFailed, ClausesViolated: what its events come to. It skips where the table ruled the check out.
            BackendStopped: instead of any events.
        """
        try:
            self.events = tuple(run_item(self.plan, self.check))
        except SetupError as error:
            raise BackendStopped(str(error)) from error
        settle(summarise([self._header, *self.events, RunFinished(seconds=0.0)]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failures as the report package renders them, for JUnit and every other reader of reports."""
        if isinstance(excinfo.value, ClausesViolated | KitFailed | BackendStopped):
            return rendered(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int, str]:
        """No file has it: the place is the root of the ids, the name is the whole id."""
        return self.path / ROOT, 0, self.nodeid


def rendered(error: ClausesViolated | KitFailed | BackendStopped) -> str:
    """What a reader of the report is told, in full."""
    if isinstance(error, ClausesViolated):
        return "\n\n".join(render_failure(each) for each in error.failures)
    if isinstance(error, KitFailed):
        return "\n\n".join(render_kit_error(each) for each in error.faults)
    return str(error)


def settle(summary: Summary) -> None:
    """Turn the summary of one item into what a test function does: return, warn, skip or raise.

    Raises:
        KitFailed, ClausesViolated: and what ``pytest.skip`` raises.
    """
    if summary.kit_errors:
        raise KitFailed(summary.kit_errors)
    if summary.gating_failures:
        raise ClausesViolated(summary.gating_failures)
    for failure in summary.other_failures:
        warnings.warn(
            ConformanceWarning(f"{failure.clause} is violated and does not gate: expected {failure.expected}"),
            stacklevel=1,
        )
    for event in summary.items:
        if event.outcome in ("skipped", "not measured"):
            pytest.skip(event.reason)


def plant(session: pytest.Session, plan: Plan, header: RunStarted, chosen: Iterable[Item]) -> list[Check]:
    """Make the pytest items of the chosen items, and announce them as if they had been collected."""
    root = Conformance.from_parent(session, name=ROOT, nodeid=ROOT)
    areas: dict[str, Area] = {}
    checks: list[Check] = []
    for item in chosen:
        _, area, name = item.id.split("::", 2)
        if area not in areas:
            areas[area] = Area.from_parent(root, name=area, nodeid=f"{ROOT}::{area}")
        check = Check.from_parent(areas[area], name=name, nodeid=item.id, plan=plan, check=item, header=header)
        session.config.hook.pytest_itemcollected(item=check)
        checks.append(check)
    # Without a report pytest counts nothing, and --collect-only says that no tests were collected.
    report = pytest.CollectReport(nodeid=ROOT, outcome="passed", longrepr=None, result=list(checks))
    session.config.hook.pytest_collectreport(report=report)
    return checks


def matching(items: Iterable[Item], selector: str) -> Iterator[Item]:
    """The items that a selector names: itself, or what lies below it."""
    _, colons, rest = selector.partition("::")
    wanted = ROOT + colons + rest.removesuffix("::") if rest else ROOT
    for item in items:
        if item.id == wanted or item.id.startswith((f"{wanted}::", f"{wanted}[")):
            yield item


def ended(events: Iterable[ReportEvent]) -> set[str]:
    """The ids of the items that came to their end."""
    return {event.item for event in events if isinstance(event, ItemFinished)}
