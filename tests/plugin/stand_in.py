"""A stand-in for ``conformance.runner``, so that the door's tests are about the door: a few items with known ends.

Loaded with ``-p`` before the kit's own plugin opens anything, it puts itself in the runner's place. The first item ends
as the backend's name says; the others always pass or are skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.clauses import select
from conformance.drivers.errors import SetupError
from conformance.drivers.registry import load_backend
from conformance.report.events import (
    FailureFound,
    ItemFinished,
    ItemStarted,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    RunStarted,
)

PROFILES = {"smoke": None, "default": None, "ci": None, "nightly": None, "soak": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that the real runner has."""

    backend: str
    profile: str = "default"
    budget: float | None = None
    seed: int = 0
    clauses: tuple[str, ...] = ()
    max_examples: int | None = None
    durability: str | None = None
    presets: tuple[str, ...] = ()
    strict: bool = False
    require_measured: bool = False
    home: Path = field(default_factory=Path.cwd)
    state: Path = Path(".torntail")
    base: Path = Path()
    workers: int = 1

    def typed(self, path: Path) -> Path:
        """As the real ones tell it."""
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One check."""

    id: str
    clauses: tuple[str, ...]
    skip: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is run."""

    settings: Settings
    backend: Any
    items: tuple[Item, ...]
    rulings: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def started(self) -> RunStarted:
        """The header."""
        clauses = tuple(dict.fromkeys(clause for item in self.items for clause in item.clauses))
        return RunStarted(
            kit_version="0",
            backend=self.backend.name,
            spec=self.settings.backend,
            capabilities={},
            profile=self.settings.profile,
            seed=self.settings.seed,
            strict=self.settings.strict,
            require_measured=self.settings.require_measured,
            durability="none",
            python="3",
            platform="any",
            clauses=clauses,
            rulings=dict.fromkeys(clauses, ("applies", "")) | dict(self.rulings),
            items=tuple(item.id for item in self.items),
        )


ITEMS = (
    Item(id="conformance::seq::gap_is_refused_whole", clauses=("SEQ-02",)),
    Item(id="conformance::seq::numbers_go_on", clauses=("SEQ-01",)),
    Item(id="conformance::rev::revisions_differ", clauses=("REV-01",)),
    Item(id="conformance::own::lease_runs_out", clauses=("OWN-10",), skip="not claimed: no lease"),
    Item(id="conformance::sweep::crash[ext4]", clauses=("MAT-01",)),
)


def make_plan(settings: Settings) -> Plan:
    """The plan of five items, fewer where clauses are selected; the backend is really loaded."""
    backend = load_backend(settings.backend, settings.base)
    if backend.name == "broken":
        raise SetupError("backend 'broken' could not start: OSError: no such device")
    asked = {clause.id for clause in select(settings.clauses)} if settings.clauses else None
    items = tuple(item for item in ITEMS if asked is None or asked & set(item.clauses))
    return Plan(settings=settings, backend=backend, items=items, rulings={"OWN-10": ("not claimed", "no lease")})


def run_item(plan: Plan, item: Item, *, share: float | None = None) -> list[ReportEvent]:
    """The events of one item."""
    print(f"torntail stand-in: seed={plan.settings.seed} workers={plan.settings.workers} pid={os.getpid()}")
    events: list[ReportEvent] = [ItemStarted(item=item.id)]
    outcome: Any = "skipped" if item.skip else "passed"
    witnesses = dict.fromkeys(item.clauses, 1) if outcome == "passed" else {}
    wrong = item.id.endswith("gap_is_refused_whole")
    match plan.backend.name:
        case "violates" | "mild" if wrong:
            clause = "SEQ-02" if plan.backend.name == "violates" else shy_clause()
            outcome = "failed"
            events.append(
                FailureFound(
                    item=item.id,
                    clause=clause,
                    expected="a refusal",
                    observed="a gap \udcff",
                    fingerprint="f",
                    reproduce=f"torntail replay a-case --seed {plan.settings.seed}",
                )
            )
        case "confused" if wrong:
            outcome = "error"
            events.append(KitErrorFound(item=item.id, message="the partner differs", traceback="somewhere"))
        case "lazy" if wrong:
            witnesses = {}
        case "leaves" if wrong:
            raise SetupError("backend 'leaves' could not start: OSError: no such device")
        case "interrupted" if wrong:
            raise KeyboardInterrupt
        case "moody" if wrong and not Path("mended").exists():
            outcome = "failed"
            events.append(FailureFound(item=item.id, clause="SEQ-02", expected="x", observed="y", reproduce="again"))
    events.append(ItemFinished(item=item.id, outcome=outcome, reason=item.skip, witnesses=witnesses))
    return events


def shy_clause() -> str:
    """A should clause of the catalogue."""
    return next(clause.id for clause in select(()) if clause.level == "should")


def run(plan: Plan, sink: Any) -> int:
    """All items, one after the other."""
    sink(plan.started())
    for item in plan.items:
        for event in run_item(plan, item):
            sink(event)
    sink(RunFinished(seconds=0.0))
    return 0


if __name__ != "tests.plugin.stand_in":
    sys.modules["conformance.runner"] = sys.modules[__name__]
