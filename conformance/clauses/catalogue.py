"""The catalogue: every clause of the contract by id, in document order, and the ways to choose among them.

It promises that ids are unique and that ``narrower_than`` names clauses that exist and leads in no circle (checked when
the module is loaded). It does not say which clauses apply to a backend; ``conformance.clauses.applicability`` does.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from conformance.clauses.areas import (
    appending,
    durability,
    faults,
    formats,
    lifetime,
    live,
    ownership,
    reading,
    service,
    store,
    values,
)
from conformance.clauses.records import Clause

_MODULES = (service, ownership, appending, reading, lifetime, durability, faults, formats, values, live, store)


class UnknownClauseError(LookupError):
    """A clause id or pattern that matches nothing.

    Attributes:
        pattern: as it was given.
        near: ids and areas that look like it, best first; may be empty.
    """

    def __init__(self, pattern: str, near: Sequence[str] = ()) -> None:
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; the areas are {', '.join(AREAS)}"
        super().__init__(f"no clause matches {pattern!r}{hint}")
        self.pattern = pattern
        self.near = tuple(near)

    def __reduce__(self) -> tuple[type[UnknownClauseError], tuple[str, tuple[str, ...]]]:
        """Pickle by the arguments, not by the message."""
        return type(self), (self.pattern, self.near)


def index_clauses(clauses: Iterable[Clause], areas: Iterable[str]) -> Mapping[str, Clause]:
    """The clauses by id, in the order given.

    Raises:
        ValueError: an id that occurs twice or lies outside its area, or a ``narrower_than`` that names no clause or
            leads in a circle.
    """
    found: dict[str, Clause] = {}
    known_areas = frozenset(areas)
    for each in clauses:
        if each.id in found:
            raise ValueError(f"clause id {each.id!r} occurs twice")
        if each.area not in known_areas or each.id.rpartition("-")[0] != each.area:
            raise ValueError(f"clause id {each.id!r} does not lie in a known area {each.area!r}")
        found[each.id] = each
    for each in found.values():
        missing = [broader for broader in each.narrower_than if broader not in found]
        if missing:
            raise ValueError(f"clause {each.id} is narrower than {missing}, which do not exist")
    try:
        TopologicalSorter({each.id: each.narrower_than for each in found.values()}).prepare()
    except CycleError as error:
        raise ValueError(f"narrower_than leads in a circle: {error.args[1]}") from error
    return MappingProxyType(found)


AREAS: Mapping[str, str] = MappingProxyType(
    {area: title for module in _MODULES for area, title in module.AREAS.items()}
)
"""Area -> its title, in document order."""

CLAUSES: Mapping[str, Clause] = index_clauses((each for module in _MODULES for each in module.CLAUSES), AREAS)
"""Id -> clause, in document order."""


def clause(clause_id: str) -> Clause:
    """The clause of exactly that id.

    Raises:
        UnknownClauseError: there is none; the message names near misses.
    """
    try:
        return CLAUSES[clause_id]
    except KeyError:
        raise UnknownClauseError(clause_id, _near(clause_id)) from None


def select(patterns: Sequence[str] = ()) -> tuple[Clause, ...]:
    """The clauses that any pattern matches, in document order, each once; all of them where no pattern is given.

    Args:
        patterns: each a comma-separated list of ids (``SEQ-02``), areas (``SEQ``) or shell patterns (``JSON-*``); case
            does not matter.

    Raises:
        UnknownClauseError: a pattern that matches nothing.
    """
    if isinstance(patterns, str):
        raise TypeError(f"patterns={patterns!r} of type str: expected a sequence of patterns, such as [{patterns!r}]")
    if not patterns:
        return tuple(CLAUSES.values())
    pieces = [piece.strip() for pattern in patterns for piece in pattern.split(",")]
    chosen: set[str] = set()
    for piece in filter(None, pieces):
        matched = _matches(piece)
        if not matched:
            raise UnknownClauseError(piece, _near(piece))
        chosen.update(matched)
    if not chosen:
        raise UnknownClauseError(",".join(patterns))
    return tuple(each for each in CLAUSES.values() if each.id in chosen)


def _matches(piece: str) -> set[str]:
    wanted = piece.upper()
    if wanted in CLAUSES:
        return {wanted}
    if wanted in AREAS:
        wanted += "-*"
    return {clause_id for clause_id in CLAUSES if fnmatch.fnmatchcase(clause_id, wanted)}


def _near(piece: str) -> list[str]:
    return difflib.get_close_matches(piece.upper().strip("*-"), [*AREAS, *CLAUSES], n=3, cutoff=0.6)


@cache
def broader_than(clause_id: str) -> frozenset[str]:
    """The ids that the clause is narrower than, directly or through others."""
    direct = clause(clause_id).narrower_than
    return frozenset(direct).union(*(broader_than(each) for each in direct))


def narrowest(candidates: Sequence[str]) -> str:
    """The clause to blame when one answer breaks all of these: the first that no other candidate is narrower than.

    Give only clauses that apply to the backend: one that is not claimed, not applicable or not built would take the
    blame away from one that is judged.

    Raises:
        ValueError: no candidate. UnknownClauseError: a candidate that is no clause.
    """
    if not candidates:
        raise ValueError("candidates=(): expected at least one clause id")
    covered = frozenset().union(*(broader_than(each) for each in candidates))
    # A finite order without circles has a least element, so the loop always finds one.
    return next(each for each in candidates if each not in covered)
