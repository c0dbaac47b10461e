"""The table that decides which clauses, and which scenarios, are asked of a backend. Nothing else decides it.

Each row names one thing a clause may ask for (a need, a condition or a claim), says when it is missing, and what the
clause is then: a declarative list, read from top to bottom. It promises exactly one ruling for each clause, and a
reason with each that is not *applies*. It runs nothing and knows no check.

The questions are asked in the order in which their answers stay true:

1. Is the part there that the clause speaks about (the seams)? Without a session store no clause about it means a thing.
2. Is it promised (the claims)? What is not promised is not claimed, whatever else would stand in the way.
3. Does it mean anything with the capabilities declared? This does not change with the kit or the machine.
4. Has the kit a check for it? Without one, a better route or machine would not help.
5. Can this route on this machine measure it? Only here can the user do something about it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Literal

from conformance.clauses.built import BUILT, REACHED_BY
from conformance.clauses.catalogue import CLAUSES
from conformance.clauses.needs import Need
from conformance.clauses.records import Claim, Clause, Condition
from conformance.clauses.verdicts import Verdict
from conformance.contract import Backend, Durability

RouteKind = Literal["in-process", "stdio"]

_NOTHING: Mapping[str, str] = MappingProxyType({})

DURABILITY_ORDER: tuple[Durability, ...] = ("none", "process-kill", "power-loss", "power-loss-strict")
"""The durability levels, from the weakest adversary to the strongest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How the backend is reached, and what cannot be measured that way on this machine.

    Attributes:
        kind: within this process, or over the line protocol.
        cannot: need, or id of a clause that alone asks for something, -> why it cannot be met, as a phrase for the
            report.
        knows_format: the kit can find and read the backend's artifacts itself, without its ``location`` and ``craft``.
    """

    kind: RouteKind
    cannot: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    knows_format: bool = False


def in_process_route(*, cannot: Mapping[str, str] = _NOTHING, knows_format: bool = False) -> Route:
    """The route within this process; ``cannot`` adds what the machine lacks."""
    return Route(kind="in-process", cannot=MappingProxyType(dict(cannot)), knows_format=knows_format)


_STDIO_CANNOT: Mapping[str, str] = MappingProxyType(
    {
        Need.CALLER_MEMORY: "the driver is another process and shares no object with its caller",
        Need.PYTHON_VALUES: "the line protocol carries JSON and nothing else of Python",
        Need.CANCEL: "the line protocol cannot cancel a call at a chosen point inside it",
        Need.CLOCK: "the driver is another process with a clock of its own",
    }
)


def stdio_route(*, cannot: Mapping[str, str] = _NOTHING, knows_format: bool = False) -> Route:
    """The route over the line protocol; ``cannot`` adds what the machine lacks."""
    return Route(kind="stdio", cannot=MappingProxyType({**_STDIO_CANNOT, **cannot}), knows_format=knows_format)


class Standing(Enum):
    """Whether a clause is asked of a backend; all but ``APPLIES`` are final verdicts."""

    APPLIES = "applies"
    NOT_CLAIMED = "not claimed"
    NOT_APPLICABLE = "not applicable"
    NOT_MEASURED = "not measured"
    NOT_BUILT = "not built yet"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The standing of a clause, with the reason where it is not asked; the reason is empty where it is."""

    standing: Standing
    reason: str = ""

    @property
    def applies(self) -> bool:
        """Whether the clause is asked."""
        return self.standing is Standing.APPLIES

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that the ruling already is, or None where histories have to show it."""
        return None if self.applies else Verdict(self.standing.value)


APPLIES = Ruling(Standing.APPLIES)


@dataclass(frozen=True, slots=True)
class Case:
    """What a row looks at: a backend, the route to it, and the durability that is tried."""

    backend: Backend
    route: Route
    durability: Durability

    def withstands(self, level: Durability) -> bool:
        """Whether the durability that is tried reaches that level."""
        return DURABILITY_ORDER.index(self.durability) >= DURABILITY_ORDER.index(level)


Key = Need | Condition | Claim


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: where ``missing`` is true of a case, whatever asks for ``key`` has that standing."""

    key: Key
    standing: Standing
    missing: Callable[[Case], bool]
    reason: str


def _lacks_seam(seam: str) -> Callable[[Case], bool]:
    return lambda case: not case.backend.gives(seam)


def _in_memory(case: Case) -> bool:
    return case.backend.capabilities.storage == "memory"


def _lacks_artifact(case: Case) -> bool:
    return not case.backend.gives("location") and not case.route.knows_format


_NO_SEAM = "the backend gives no `{}`"
_MEMORY = 'storage="memory" outlives no instance: there is no second one, no crash, no storage fault and no damage'

SEAM_ROWS = (
    Row(Need.STORE, Standing.NOT_APPLICABLE, _lacks_seam("store"), _NO_SEAM.format("store")),
    Row(Need.ENTRIES, Standing.NOT_APPLICABLE, _lacks_seam("entries"), _NO_SEAM.format("entries")),
    Row(Need.STORAGE_KEY, Standing.NOT_APPLICABLE, _lacks_seam("storage_key"), _NO_SEAM.format("storage_key")),
    Row(Need.SESSION_ID, Standing.NOT_APPLICABLE, _lacks_seam("session_id_for"), _NO_SEAM.format("session_id_for")),
    # These two claim a whole area by being there. Needs and claims compare as text, so one row serves both.
    Row(Need.LIVE, Standing.NOT_CLAIMED, _lacks_seam("live"), _NO_SEAM.format("live")),
    Row(Need.RESUME, Standing.NOT_CLAIMED, _lacks_seam("resume"), _NO_SEAM.format("resume")),
)

CLAIM_ROWS = (
    Row(
        "cross_process_ownership",
        Standing.NOT_CLAIMED,
        lambda case: not case.backend.capabilities.cross_process_ownership,
        "`cross_process_ownership` is not claimed",
    ),
    Row("lease", Standing.NOT_CLAIMED, lambda case: case.backend.capabilities.lease is None, "no `lease` is declared"),
    Row(
        "append_durability",
        Standing.NOT_CLAIMED,
        lambda case: case.backend.capabilities.append_durability != "append",
        '`append_durability="append"` is not claimed',
    ),
    Row(
        "migrates",
        Standing.NOT_CLAIMED,
        lambda case: not case.backend.capabilities.migrates,
        "`migrates` names no format",
    ),
    Row(
        "encodings",
        Standing.NOT_CLAIMED,
        lambda case: not case.backend.capabilities.encodings,
        "`encodings` names none",
    ),
    Row(
        "checksums",
        Standing.NOT_CLAIMED,
        lambda case: not case.backend.capabilities.checksums,
        "`checksums` is not claimed",
    ),
    Row(
        "distributed",
        Standing.NOT_CLAIMED,
        lambda case: not case.backend.capabilities.distributed,
        "`distributed` is not claimed",
    ),
)

CAPABILITY_ROWS = (
    Row(Need.FRESH, Standing.NOT_APPLICABLE, _in_memory, _MEMORY),
    Row(Need.CRASH, Standing.NOT_APPLICABLE, _in_memory, _MEMORY),
    Row(Need.FAULTS, Standing.NOT_APPLICABLE, _in_memory, _MEMORY),
    Row(Need.DAMAGE, Standing.NOT_APPLICABLE, _in_memory, _MEMORY),
    Row(Need.SECOND_PROCESS, Standing.NOT_APPLICABLE, _in_memory, _MEMORY),
    Row(
        Need.FILES,
        Standing.NOT_APPLICABLE,
        lambda case: case.backend.capabilities.storage != "files",
        'only a backend with storage="files" keeps files under its root',
    ),
    Row(
        Condition.SERVICE,
        Standing.NOT_APPLICABLE,
        lambda case: case.backend.capabilities.storage != "service",
        'it speaks of backends with storage="service"',
    ),
    Row(
        Condition.NOT_SERVICE,
        Standing.NOT_APPLICABLE,
        lambda case: case.backend.capabilities.storage == "service",
        'it is not asked of backends with storage="service"',
    ),
    Row(
        Condition.LAZY,
        Standing.NOT_APPLICABLE,
        lambda case: case.backend.capabilities.materialization == "eager",
        'materialization="eager" makes sessions visible before they are written to',
    ),
    Row(
        Condition.SHARED_PENDING,
        Standing.NOT_APPLICABLE,
        lambda case: (
            case.backend.capabilities.materialization == "eager" or case.backend.capabilities.create_scope == "storage"
        ),
        "no second instance can hold a pending id",
    ),
    Row(
        Condition.CLOSED_VOCABULARY,
        Standing.NOT_APPLICABLE,
        lambda case: case.backend.capabilities.vocabulary == "open",
        'vocabulary="open" knows no unknown event type',
    ),
    Row(
        Condition.SHARED_WITHOUT_OWNERSHIP,
        Standing.NOT_APPLICABLE,
        lambda case: _in_memory(case) or case.backend.capabilities.cross_process_ownership,
        "no other instance can write beside the owner",
    ),
    Row(
        Condition.FROM_PROCESS_KILL,
        Standing.NOT_APPLICABLE,
        lambda case: not case.withstands("process-kill"),
        'durability="none" promises nothing after a crash',
    ),
    Row(
        Condition.FROM_POWER_LOSS,
        Standing.NOT_APPLICABLE,
        lambda case: not case.withstands("power-loss"),
        'it is asked from durability="power-loss" up',
    ),
    # A crash leaves one of the states that the durability allows, and this one allows none in particular.
    Row(
        Need.CRASH,
        Standing.NOT_APPLICABLE,
        lambda case: not case.withstands("process-kill"),
        'durability="none" promises nothing after a crash',
    ),
    Row(
        Need.LOCATION,
        Standing.NOT_APPLICABLE,
        _lacks_artifact,
        "the backend gives no `location`, and the kit does not know its format",
    ),
)

MEASURING_ROWS = (
    Row(
        Need.CRAFTED_FORMAT,
        Standing.NOT_MEASURED,
        lambda case: not case.backend.gives("craft") and not case.route.knows_format,
        "the backend gives no `craft`, and the kit does not know its format",
    ),
    Row(
        Need.CLOCK,
        Standing.NOT_MEASURED,
        lambda case: case.backend.capabilities.loop == "real",
        'loop="real" runs in real time, which the kit cannot move',
    ),
)

TABLE = SEAM_ROWS + CLAIM_ROWS + CAPABILITY_ROWS + MEASURING_ROWS
"""All rows in the order in which they are asked.

*Not built yet* is asked before ``MEASURING_ROWS``, and ``Route.cannot`` last of all.
"""


def ruling(
    clause: Clause,
    backend: Backend,
    route: Route,
    *,
    durability: Durability | None = None,
    built: Container[str] = BUILT,
) -> Ruling:
    """Whether that clause is asked of that backend over that route.

    Args:
        durability: the level to try in place of the one the backend claims.
        built: ids of the clauses that have a check.
    """
    case = Case(backend, route, durability or backend.capabilities.durability)
    asks: frozenset[str] = clause.needs | frozenset(clause.requires)
    if clause.claim is not None:
        asks |= {clause.claim}
    decided = _first_missing(SEAM_ROWS + CLAIM_ROWS + CAPABILITY_ROWS, asks, case)
    if decided is not None:
        return decided
    if clause.id not in built:
        return Ruling(Standing.NOT_BUILT, "the kit has no check for it yet")
    lacking = [_lacking(way, case) for way in REACHED_BY.get(clause.id, ())]
    if lacking and all(lacking):
        # What the machine lacks can be mended; what the backend is cannot.
        decisive = next((each for each in lacking if each and each.standing is Standing.NOT_MEASURED), lacking[0])
        if decisive is not None:
            standing = Standing.NOT_MEASURED if decisive.standing is Standing.NOT_MEASURED else Standing.NOT_BUILT
            return Ruling(standing, f"no way to it here: {decisive.reason}")
    if clause.id in route.cannot:
        return Ruling(Standing.NOT_MEASURED, route.cannot[clause.id])
    return _unmeasurable(clause.needs, case) or APPLIES


def rulings(
    backend: Backend,
    route: Route,
    *,
    clauses: Iterable[Clause] = CLAUSES.values(),
    durability: Durability | None = None,
    built: Container[str] = BUILT,
) -> dict[str, Ruling]:
    """The ruling of each clause given, by id and in their order; of the whole catalogue by default."""
    return {each.id: ruling(each, backend, route, durability=durability, built=built) for each in clauses}


def needs_standing(
    needs: frozenset[Need], backend: Backend, route: Route, *, durability: Durability | None = None
) -> Ruling:
    """Whether something that has these needs, such as a scenario, can run against that backend over that route.

    Never *not built yet*: a scenario is itself the check.
    """
    case = Case(backend, route, durability or backend.capabilities.durability)
    decided = _first_missing(SEAM_ROWS + CAPABILITY_ROWS, needs, case)
    return decided or _unmeasurable(needs, case) or APPLIES


def _lacking(way: Need | Condition, case: Case) -> Ruling | None:
    """Why a backend cannot be brought to a clause in that way; None where it can."""
    decided = _first_missing(CAPABILITY_ROWS, {way}, case)
    return decided or (_unmeasurable(frozenset({way}), case) if isinstance(way, Need) else None)


def _first_missing(rows: Iterable[Row], asks: Container[str], case: Case) -> Ruling | None:
    for row in rows:
        if row.key in asks and row.missing(case):
            return Ruling(row.standing, row.reason)
    return None


def _unmeasurable(needs: frozenset[Need], case: Case) -> Ruling | None:
    decided = _first_missing(MEASURING_ROWS, needs, case)
    if decided is not None:
        return decided
    # In the order of the enumeration, so that two runs give the same reason.
    for need in Need:
        if need in needs and need in case.route.cannot:
            return Ruling(Standing.NOT_MEASURED, case.route.cannot[need])
    return None
