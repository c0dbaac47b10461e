"""No false alarms: conforming backends of every kind stay silent, over seeds, in runs of a fixed and counted size.

Silence means something only where the same run would have cried out, so each of these is void unless the sentinel
mutants of all areas die first, by the same function. `make soak` runs them over more seeds and longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.contract import Backend
from conformance.drivers.errors import KitError
from conformance.drivers.loading import load_file
from conformance.machines import MACHINES, MachineSpec
from conformance.machines.damaging import CLAUSES_OF_DAMAGE
from conformance.machines.fault_modes import GROUPS
from conformance.report.events import FailureFound
from conformance.runner import Item
from conformance.sim.disk import Patching
from conformance.sim.disk.presets import presets_of
from tests.quality.conforming import CONFORMING, Conforming
from tests.quality.matrix import (
    COSTS,
    IS_SOAK,
    ROOT,
    VARIANTS,
    defined_names,
    findings,
    is_scenario,
    kill,
    part_of,
    perform,
    plan_for,
    sentinels,
    told,
)

pytestmark = pytest.mark.usefixtures("patched")

EXAMPLES = {
    "sequential": (4, 40),
    "crash": (2, 12),
    "fault": (2, 12),
    "damage": (10, 40),
    "overlap": (18, 60),
    "overlap-faults": (9, 30),
    "overlap-crashes": (8, 16),
    "live": (20, 60),
    "live-overlap": (25, 60),
    "live-faults": (20, 60),
}
"""Programs of a machine in one run, in `make test` and in `make soak`: by what one of them costs."""

SEEDS = range(1, 21 if IS_SOAK else 4)

DOOR_SEEDS = SEEDS[:1]
"""For a service that is in the table already, opened in another way."""

BESIDE = SEEDS[: 3 if IS_SOAK else 1]
"""Seeds for which the reference takes every step beside the backend, which takes as long again."""

SWEEP = "default" if IS_SOAK else "smoke"
"""The profile whose sweep is made."""

SILENT = [each for each in CONFORMING if each.alarm is None]

COUNTED = {"jsonl", "memory", "plain_files", "sqlite_rows"}
"""Of which costs are looked at in `make test`."""

WANTED = {
    "materialises in create",
    "stores unknown types",
    "refuses what is beyond common JSON",
    "accepts and returns what is beyond common JSON",
    "results that cannot be changed",
    "synchronous",
    "exception classes of its own",
    "one file for all sessions",
    "buffers, and writes at barriers",
    "calls wait in line, and are done in threads",
    "syncs at flush, with a durable mark in each batch",
    "SQLite in one file",
    "stores what is published at once, one event at a time",
    "stores what is published after a second",
    "refuses appends by hand while published events wait",
    "tells of what cannot be stored at every barrier",
    "published events never wait",
    "the factory is a context manager",
    "the factory is an async context manager",
    "the factory takes env",
}
"""Differences that some conforming backend must have."""


@pytest.fixture(scope="session")
def alert(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The areas whose sentinel was killed."""
    state = tmp_path_factory.mktemp("sentinels")
    # A fixture of the session comes before the module's own patching.
    with Patching():
        return frozenset(area for area, name in sentinels().items() if kill(name, state).clause.startswith(area))


def test_sentinels_die(alert: frozenset[str]) -> None:
    """The checks of every area see the defect that is planted in it."""
    assert alert == sentinels().keys()


@pytest.mark.xfail(reason="false alarms that are known", strict=True, raises=(AssertionError, KitError))
@pytest.mark.parametrize("backend", [pytest.param(each, id=each.name) for each in CONFORMING if each.alarm])
def test_known_false_alarms_are_mended(backend: Conforming) -> None:
    """The shortest program that raised a false alarm is judged right."""
    assert backend.alarm is not None
    assert perform(backend.spec, backend.alarm.program).violation is None, backend.alarm.reason


def test_every_variant_is_in_the_table() -> None:
    """Each backend of ``tests/variants`` is held against the kit, and together they differ in all that they should."""
    defined = {
        f"{path.relative_to(ROOT).as_posix()}:{name}"
        for path in sorted(VARIANTS.glob("*.py"))
        for name in defined_names(path)
        if isinstance(getattr(load_file(path), name), Backend)
    }
    assert defined == {each.spec for each in CONFORMING if ":" in each.spec}
    assert {difference for each in CONFORMING for difference in each.differs} >= WANTED


@pytest.mark.parametrize("backend", [pytest.param(each, id=each.name) for each in SILENT])
def test_scenarios_are_silent(backend: Conforming, alert: frozenset[str], tmp_path: Path) -> None:
    """No scenario finds anything in a conforming backend, and there are scenarios to find it."""
    plan = plan_for(backend.spec, tmp_path)
    assert sum(is_scenario(item) and not item.skip for item in plan.items) >= len(alert)
    # On the memory backend and the reference every scenario is performed by the tests of the scenarios themselves.
    is_twice = backend.door or backend.name in ("memory", "jsonl")
    plan = part_of(plan, CONFORMING.index(backend), parts=24 if is_twice else 12)
    assert [told(found) for found in findings(plan, "scenario")] == []


@pytest.mark.parametrize(
    "backend", [pytest.param(each, id=each.name) for each in CONFORMING if IS_SOAK or each.name in COUNTED]
)
def test_costs_are_told_as_they_are(backend: Conforming, tmp_path: Path) -> None:
    """Of a conforming backend those should clauses about costs are violated that it is known not to meet, no others."""
    found = list(findings(plan_for(backend.spec, tmp_path, clauses=COSTS)))
    assert {each.clause if isinstance(each, FailureFound) else told(each) for each in found} == backend.dear


@pytest.mark.usefixtures("alert")
@pytest.mark.parametrize(
    ("backend", "seed"),
    [
        pytest.param(each, seed, id=f"{each.name}-{seed}")
        for each in SILENT
        for seed in (DOOR_SEEDS if each.door else SEEDS)
    ],
)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda each: each.name)
def test_machines_are_silent(machine: MachineSpec, backend: Conforming, seed: int, tmp_path: Path) -> None:
    """No long random history of a conforming backend is called wrong."""
    plan = plan_for(backend.spec, tmp_path, examples=EXAMPLES[machine.name][IS_SOAK], seed=seed)
    plan = replace(plan, items=tuple(item for item in plan.items if item.check is machine))
    if seed not in BESIDE:
        plan = replace(plan, partner=None)  # type: ignore[arg-type]
    assert [told(found) for found in findings(plan)] == []


@pytest.mark.usefixtures("alert")
@pytest.mark.parametrize("backend", [pytest.param(each, id=each.name) for each in SILENT if IS_SOAK or not each.door])
def test_sweeps_are_silent(backend: Conforming, tmp_path: Path) -> None:
    """No crash, fault or damage of a short workload leaves a conforming backend in a state that is called wrong.

    Without soak each backend meets one kind of power loss, one group of faults and one kind of damage, and the next one
    the next. Kills alone are left to the reference, for a power loss too may leave all that a kill does.
    """
    plan = plan_for(backend.spec, tmp_path, profile=SWEEP)
    if not IS_SOAK:
        number = CONFORMING.index(backend)
        kinds: dict[str, list[str]] = {"fault": list(GROUPS), "damage": list(CLAUSES_OF_DAMAGE)}
        if backend.name != "jsonl" and "ext4" in presets_of(plan.backend.capabilities.durability):
            kinds["crash"] = ["ext4", "xfs"]
        plan = replace(plan, items=tuple(item for item in plan.items if _is_met(item, kinds, number)))
    assert [told(found) for found in findings(plan, "sweep")] == []


def _is_met(item: Item, kinds: Mapping[str, list[str]], number: int) -> bool:
    """Whether the item is a sweep of the one name that the backend with this number meets of each kind."""
    kind, _, name = item.id.rpartition("::")[2].rstrip("]").partition("[")
    return kind not in kinds or name == kinds[kind][number % len(kinds[kind])]
