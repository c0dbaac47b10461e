"""Every named scenario: it says what it is, finds no fault in a conforming backend, and witnesses its clauses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from conformance.checks import SCENARIOS, Scenario, scenario
from conformance.checks.script import Script
from conformance.clauses import BUILT, CLAUSES, Need, in_process_route, needs_standing, ruling
from conformance.clauses.levels import preset_gap
from conformance.contract import Backend
from conformance.drivers.execution import Execution
from conformance.drivers.registry import load_backend, partner_for
from conformance.drivers.workspace import Workspace
from conformance.machines.sequential import AT_ONCE
from conformance.model.operations import OpenInstance
from conformance.planning import RECORDED, Settings, make_plan

pytestmark = pytest.mark.usefixtures("patched")

BACKENDS = ("memory", "jsonl")
VARIANTS = (
    "tests/variants/plain_files.py:plain_files",
    "tests/variants/sqlite_rows.py:sqlite_rows",
    "tests/variants/newer_types.py:newer_types",
)
"""Each encodes and names in a way of its own; that no scenario alarms on any variant is held by ``tests/quality``."""

OF_VALUES = ("json", "id", "fmt")
"""Areas whose scenarios depend on how a backend encodes and names things, and so are tried on every kind of it."""

ROOT = Path(__file__).resolve().parents[3]
ROUTE = in_process_route()


def runs_on(check: Scenario, backend: Backend) -> bool:
    """Whether the table lets the scenario run against the backend."""
    claimed = backend.capabilities.durability
    return needs_standing(check.needs, backend, ROUTE).applies and not (
        check.preset and preset_gap(check.preset, claimed, None, thorough=True)
    )


RUNS = [
    pytest.param(name, check, id=f"{name.rpartition(':')[2]}-{check.item_id}")
    for name in (*BACKENDS, *VARIANTS)
    for check in SCENARIOS
    if (name in BACKENDS or check.area in OF_VALUES)
    and runs_on(check, load_backend(name, ROOT))
    and not check.thorough
    and not (not RECORDED.isdisjoint(check.needs) and "sqlite" in name)
]


def perform(check: Scenario, backend: Backend, workspace: Workspace, *, partner: bool = True) -> Execution:
    """Run a scenario, beside its partner or alone."""
    root, crashes, damages = workspace.fresh_root(), not RECORDED.isdisjoint(check.needs), Need.DAMAGE in check.needs
    beside = partner_for(backend) if partner else None
    execution = Execution(backend, root, partner=beside, crashes=crashes, damages=damages)
    try:
        check.body(Script(execution))
    finally:
        execution.finish()
    return execution


@pytest.fixture(scope="module")
def workspace() -> object:
    """One directory for all scenarios of this module."""
    with Workspace() as made:
        yield made


@pytest.mark.parametrize(("name", "check"), RUNS)
def test_scenario_witnesses_what_it_declares(name: str, check: Scenario, workspace: Workspace) -> None:
    """A scenario breaks no clause, contradicts no partner, and witnesses each clause it declares that applies.

    It opens a second instance exactly where it declares to need one. A partner takes every step beside the built-in
    backends; what the variants are there for is how they encode and name things.
    """
    backend = load_backend(name, ROOT)
    execution = perform(check, backend, workspace, partner=name in BACKENDS)
    applying = [clause for clause in check.clauses if ruling(CLAUSES[clause], backend, ROUTE).applies]
    assert [clause for clause in applying if not execution.witnesses[clause]] == []
    opened = sum(isinstance(operation, OpenInstance) for operation in execution.operations)
    assert (opened > 1) == (Need.FRESH in check.needs)


def test_calls_at_the_same_time_are_exercised_where_calls_never_wait(workspace: Workspace) -> None:
    """Nothing is in flight there, and yet no clause about calls at the same time stays unexercised for it."""
    backend = load_backend("tests/variants/plain_files.py:plain_files", ROOT)
    checks = [each for each in SCENARIOS if not AT_ONCE.isdisjoint(each.clauses) and runs_on(each, backend)]
    witnessed = {
        clause
        for each in checks
        for clause, count in perform(each, backend, workspace, partner=False).witnesses.items()
        if count
    }
    assert {clause for clause in AT_ONCE if ruling(CLAUSES[clause], backend, ROUTE).applies} - witnessed == set()


@pytest.mark.parametrize("name", BACKENDS)
def test_every_built_clause_that_applies_has_a_scenario(name: str) -> None:
    """On each backend the scenarios that run declare every built clause that is asked of it."""
    backend = load_backend(name)
    declared = {clause for check in SCENARIOS if runs_on(check, backend) for clause in check.clauses}
    asked = {clause for clause in BUILT if ruling(CLAUSES[clause], backend, ROUTE).applies}
    assert asked - declared == set()


def test_scenarios_declare_built_clauses_only() -> None:
    """No scenario stands for a clause that the kit does not count as built."""
    assert {clause for check in SCENARIOS for clause in check.clauses} - BUILT == set()


def test_item_ids_are_unique() -> None:
    """No two scenarios share an item id."""
    assert [name for name, count in Counter(check.item_id for check in SCENARIOS).items() if count > 1] == []


@pytest.mark.parametrize("check", SCENARIOS, ids=lambda check: check.name)
def test_titles_are_sentences(check: Scenario) -> None:
    """The title is one line of a sentence that begins with a capital or a name, without its full stop."""
    assert check.title
    assert not check.title.endswith(".")
    assert check.title[0].isupper() or check.title[0] == "`"


def test_same_scenario_gives_the_same_history() -> None:
    """A scenario is a fixed program: two runs in two roots see the same."""
    check = next(each for each in SCENARIOS if each.name == "next_owner_continues_at_what_is_stored_now")
    with Workspace() as workspace:
        backend = load_backend("jsonl-raw")
        first, second = perform(check, backend, workspace), perform(check, backend, workspace)
    assert first.history == second.history


@pytest.mark.parametrize("clauses", [(), ("SEQ-99",), ("SEQ-02", "seq-01")])
def test_unknown_clause_is_refused(clauses: tuple[str, ...]) -> None:
    """A scenario without a clause, or with one that does not exist, cannot be declared."""
    with pytest.raises(ValueError, match="expected ids of the catalogue"):
        scenario(*clauses)


def test_scenario_needs_a_docstring() -> None:
    """A scenario without a title cannot be declared."""

    def untitled(s: Script) -> None:
        s.instance()

    with pytest.raises(ValueError, match="untitled"):
        scenario("SEQ-02")(untitled)


def test_thorough_scenarios_are_left_to_thorough_runs(tmp_path: Path) -> None:
    """The default profile skips them with the reason, the profile ci runs them, and their clauses are met without."""
    thorough = {check.item_id for check in SCENARIOS if check.thorough}
    assert thorough
    for profile, runs in (("default", False), ("ci", True)):
        plan = make_plan(
            Settings(backend="jsonl", profile=profile, clauses=("JSON-*", "SVC-06", "READ-04"), state=tmp_path)
        )
        assert {item.id for item in plan.items if item.id in thorough and not item.skip} == (
            thorough if runs else set()
        )
    quick = {clause for check in SCENARIOS if not check.thorough for clause in check.clauses}
    assert {clause for check in SCENARIOS for clause in check.clauses} == quick
