"""What a run will do, decided before anything runs: the settings, the clauses, the table's rulings, the items.

A plan is made once: the backend is loaded and opened for a try, the clauses are selected, and the table is asked about
each of them and about each item. It holds nothing open, so that every worker of a distributed run makes the same one.
"""

from __future__ import annotations

import platform
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

from conformance import __version__
from conformance.checks import SCENARIOS, Scenario
from conformance.clauses import (
    Clause,
    Need,
    Route,
    Ruling,
    in_process_route,
    needs_standing,
    ruling,
    select,
)
from conformance.clauses.levels import THOROUGH_ONLY, beyond, preset_gap, presets_of
from conformance.contract import Backend, Durability
from conformance.drivers.calibration import counting_gap, leftovers_gap, recording_gap
from conformance.drivers.children import noting
from conformance.drivers.errors import UsageError
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.journal import Journal
from conformance.drivers.outside import Comparison, compare
from conformance.drivers.registry import load_backend, partner_for
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.whereabouts import Whereabouts, staying
from conformance.drivers.workspace import Workspace, forget_dead_runs
from conformance.machines import MACHINES, MachineSpec, Tier, damage_sweeps, fault_sweeps, sweeps
from conformance.model.operations import OpenInstance
from conformance.report.events import RunStarted
from conformance.sim.disk import PRESETS, Patching

LEFTOVERS = "FAULT-06"
"""The clause about what is left open past the close of a service."""

RECORDED = frozenset({Need.CRASH, Need.FAULTS})
"""Needs that are met by recording what a backend does to its files."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How much a run tries.

    Attributes:
        budget: wall seconds for everything random in the run, shared among its machines; None for no limit.
        max_examples: programs for each machine.
        tier: how far crash sweeps go.
        thorough: every preset of the durability is tried, also where it was not asked for by name.
    """

    budget: float | None
    max_examples: int
    tier: Tier
    thorough: bool = False


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "smoke": Profile(1.8, 20, Tier(calls=2, second_lives=1)),
        "default": Profile(44.0, 600, Tier(calls=4, second_lives=3)),
        "ci": Profile(270.0, 6_000, Tier(calls=5, second_lives=3, recovery_crashes=3), thorough=True),
        "nightly": Profile(1_700.0, 1_000_000, Tier(calls=6, second_lives=4, recovery_crashes=4), thorough=True),
        "soak": Profile(None, 1_000_000_000, Tier(calls=7, second_lives=5, recovery_crashes=5), thorough=True),
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
        presets: kinds of crashes to sweep besides; what the durability need not withstand is reported only.
        strict: should clauses gate; require_measured: *not measured* counts as not exercised.
        home: where the run was started, which a backend may leave; the paths below start there.
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
    presets: tuple[str, ...] = ()
    strict: bool = False
    require_measured: bool = False
    home: Path = field(default_factory=Path.cwd)
    state: Path = Path(".torntail")
    base: Path = Path()
    workers: int = 1

    def __post_init__(self) -> None:
        """Make the paths absolute, before any backend is loaded."""
        for name in ("state", "base"):
            object.__setattr__(self, name, self.home / getattr(self, name))

    def typed(self, path: Path) -> Path:
        """A path as it may be typed where the run was started."""
        return path.relative_to(self.home) if path.is_relative_to(self.home) else path


@dataclass(frozen=True, slots=True)
class Item:
    """One check as both doors show it.

    Attributes:
        id: the same on every machine.
        clauses: what it can witness.
        title: what it checks, in one line.
        skip: the table's reason why it does not run, or "".
        beyond: why nothing that it finds gates, as a phrase, or "".
        check: the scenario or machine behind it.
    """

    id: str
    clauses: tuple[str, ...]
    title: str
    skip: str
    check: Scenario | MachineSpec
    beyond: str = ""


@dataclass(slots=True)
class Ledger:
    """What is known in this process by now.

    Attributes:
        due: wall seconds that were meant for the machines that ran here; seconds: that they have used.
        comparison: what came of recording the backend from outside too; None while nobody asked.
        hangs: how often a call held the thread until the watchdog took it away.
        directory: the working directory in which the backend's module left the process; "" for the one before it.
        moved: the backend changed the working directory; told: that was said.
    """

    due: float = 0.0
    seconds: float = 0.0
    comparison: Comparison | None = None
    hangs: int = 0
    directory: str = ""
    moved: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything an item needs to run; ``ledger`` is kept by the runner."""

    settings: Settings
    backend: Backend
    partner: Backend
    route: Route
    clauses: tuple[Clause, ...]
    rulings: Mapping[str, Ruling]
    items: tuple[Item, ...]
    ledger: Ledger = field(default_factory=Ledger, compare=False)

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
            durability=self.durability,
            presets=settings.presets,
            python=platform.python_version(),
            platform=platform.system(),
            clauses=tuple(each.id for each in self.clauses),
            rulings={name: (found.standing.value, found.reason) for name, found in self.rulings.items()},
            items=tuple(item.id for item in self.items),
        )

    def share(self, machine: MachineSpec) -> float | None:
        """Wall seconds for a machine: its part of the budget, and what those before it in this process have left."""
        part = self.part(machine)
        return part if part is None else max(part / 4, self.ledger.due + part - self.ledger.seconds)

    def part(self, machine: MachineSpec) -> float | None:
        """Wall seconds of the budget that are meant for a machine; None for no limit."""
        profile = PROFILES[self.settings.profile]
        budget = self.settings.budget if self.settings.budget is not None else profile.budget
        weights = [item.check.weight for item in self.items if isinstance(item.check, MachineSpec) and not item.skip]
        if budget is None or not weights:
            return budget
        return budget * min(self.settings.workers, len(weights)) * machine.weight / sum(weights)

    @property
    def durability(self) -> Durability:
        """The level that is tried."""
        return self.settings.durability or self.backend.capabilities.durability  # type: ignore[return-value]

    def presets(self) -> tuple[str, ...]:
        """The kinds of crashes that the durability which is tried has to withstand, the weakest adversary first."""
        return presets_of(self.durability)

    def told_presets(self, item: Item) -> tuple[str, ...]:
        """Those, and the one that the item is about: what may explain a finding, the weakest adversary first."""
        return tuple(each for each in PRESETS if each in self.presets() or each == item.check.preset)

    def compared(self) -> Comparison:
        """Whether the recorder in the process misses a barrier; found out once, when it is first asked."""
        if self.ledger.comparison is None:
            self.ledger.comparison = compare(self.settings.backend, self.settings.base, self.settings.home)
        return self.ledger.comparison

    def max_examples(self) -> int:
        """Programs for each machine."""
        if self.settings.max_examples is not None:
            return self.settings.max_examples
        return PROFILES[self.settings.profile].max_examples


def make_plan(settings: Settings) -> Plan:
    """Load the backend, open it once for a try, look what can be counted of it, and decide what will run.

    Raises:
        UsageError: an unknown backend, profile or durability, or nowhere to keep what is found. SetupError: the backend
            could not start.
        UnknownClauseError: a pattern that matches no clause.
    """
    if settings.profile not in PROFILES:
        raise UsageError(f"profile={settings.profile!r}: expected one of {', '.join(PROFILES)}")
    for preset in settings.presets:
        if preset not in PRESETS:
            raise UsageError(f"preset={preset!r}: expected one of {', '.join(PRESETS)}")
    selected = select(settings.clauses)
    _try_to_keep(settings)
    forget_dead_runs()
    with staying(), noting():
        backend, ledger = _loaded(settings)
        _try_to_open(backend)
        route = _route(backend, selected, settings, ledger)
    rulings = _rulings(selected, backend, route, settings)
    wanted = frozenset(rulings)
    tier = PROFILES[settings.profile].tier
    # What is quick comes first: what it leaves of its time is for the others.
    swept = (*sweeps(tier, settings.presets), *fault_sweeps(tier))
    checks: list[Scenario | MachineSpec] = [*SCENARIOS, *damage_sweeps(tier), *MACHINES, *swept]
    items = tuple(
        _item(check, backend, route, rulings, settings) for check in checks if wanted.intersection(check.clauses)
    )
    return Plan(settings, backend, partner_for(backend), route, selected, rulings, items, ledger)


def _loaded(settings: Settings) -> tuple[Backend, Ledger]:
    """The backend, and where its module left the process, in which a program of it begins."""
    before = Whereabouts()
    with Patching():
        # What a module captures of ``os`` while it is imported, as a default argument for instance, is seen later too.
        backend = load_backend(settings.backend, settings.base)
    after = Whereabouts()
    return backend, Ledger(directory=after.directory, moved=after.directory != before.directory)


def _try_to_keep(settings: Settings) -> None:
    """Write a journal, so that a directory in which nothing can be kept is told before anything is judged."""
    try:
        Journal(settings.state, "probe").close()
    except OSError as error:
        place = settings.typed(settings.state)
        raise UsageError(
            f"{place}: what is found cannot be kept there ({error.strerror}); run this where you may write"
        ) from error


def _route(backend: Backend, clauses: tuple[Clause, ...], settings: Settings, ledger: Ledger) -> Route:
    """The way to the backend, with what cannot be measured on it; only what a clause asks for is tried."""
    # What is left open is asked of one clause alone, and no need of its own.
    gap = leftovers_gap()
    cannot: dict[str, str] = {LEFTOVERS: gap} if gap else {}

    def asked(needs: Container[Need]) -> bool:
        rulings = _rulings(clauses, backend, in_process_route(cannot=cannot), settings)
        return any(rulings[each.id].applies and any(need in needs for need in each.needs) for each in clauses)

    if asked((Need.IO_COUNT,)) and (gap := counting_gap(backend)):
        cannot[Need.IO_COUNT] = gap
    if asked(RECORDED):
        gap = recording_gap(backend)
        # It takes the better part of a second. In quick runs it is left until something was found after a crash.
        if not gap and PROFILES[settings.profile].thorough:
            ledger.comparison = compare(settings.backend, settings.base, settings.home)
            gap = ledger.comparison.reason
        if gap:
            cannot.update(dict.fromkeys(RECORDED, gap))
    return in_process_route(cannot=cannot)


def _rulings(clauses: tuple[Clause, ...], backend: Backend, route: Route, settings: Settings) -> dict[str, Ruling]:
    """What the table says of each clause."""
    return {
        each.id: ruling(each, backend, route, durability=settings.durability)  # type: ignore[arg-type]
        for each in clauses
    }


def _item(
    check: Scenario | MachineSpec, backend: Backend, route: Route, rulings: Mapping[str, Ruling], settings: Settings
) -> Item:
    reasons = [rulings[name] for name in check.clauses if name in rulings]
    skip = "" if any(each.applies for each in reasons) else reasons[0].reason
    asked: Durability | None = settings.durability  # type: ignore[assignment]
    needed = needs_standing(check.needs, backend, route, durability=asked)
    if not skip and not needed.applies:
        skip = needed.reason
    thorough = PROFILES[settings.profile].thorough
    if not skip and isinstance(check, Scenario) and check.thorough and not thorough:
        skip = THOROUGH_ONLY
    if not skip and check.preset and check.preset not in settings.presets:
        skip = preset_gap(check.preset, backend.capabilities.durability, asked, thorough=thorough)
    aside = beyond(check.preset, asked or backend.capabilities.durability) if check.preset else ""
    return Item(check.item_id, check.clauses, check.title, skip, check, aside)


def _try_to_open(backend: Backend) -> None:
    """Open and close one instance, so that a backend that cannot start is told before anything is judged."""
    with Workspace() as workspace, Watchdog() as watchdog:
        driver = InProcessDriver(backend, workspace.fresh_root(), watchdog=watchdog)
        try:
            driver.perform(OpenInstance(1))
        finally:
            driver.finish()
