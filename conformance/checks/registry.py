"""How a scenario is declared: its clauses, what it needs of the backend, and its body.

The declaration is data; whether a scenario runs is decided from it by the table in ``conformance.clauses`` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from conformance.checks.script import Script
from conformance.clauses import CLAUSES, Need

Body = Callable[[Script], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One named scenario.

    Attributes:
        name: of the item ``conformance::<area>::<name>``.
        clauses: the clauses it is there to witness; the first gives the area. It runs where one of them applies.
        needs: what it needs besides, for instance a fresh instance.
        title: the property in one line.
        body: the steps.
        preset: the strictest kind of crash in it, or "".
        thorough: it takes long, and is left to thorough runs.
    """

    name: str
    clauses: tuple[str, ...]
    needs: frozenset[Need]
    title: str
    body: Body
    preset: str = ""
    thorough: bool = False

    @property
    def area(self) -> str:
        """The area of its first clause, in lower case."""
        return CLAUSES[self.clauses[0]].area.lower()

    @property
    def item_id(self) -> str:
        """The same on every machine."""
        return f"conformance::{self.area}::{self.name}"


def scenario(
    *clauses: str, needs: tuple[Need, ...] = (), preset: str = "", thorough: bool = False
) -> Callable[[Body], Scenario]:
    """Declare the function below as a scenario that witnesses these clauses, with crashes of at most that preset.

    Raises:
        ValueError: no clause, an unknown one, or no docstring: it is the title.
    """
    unknown = [name for name in clauses if name not in CLAUSES]
    if unknown or not clauses:
        raise ValueError(f"clauses={clauses!r}: expected ids of the catalogue, unknown: {unknown}")

    def declare(body: Body) -> Scenario:
        return Scenario(body.__name__, clauses, frozenset(needs), _title(body), body, preset, thorough)

    return declare


def _title(body: Body) -> str:
    if body.__doc__:
        return body.__doc__.strip().splitlines()[0].rstrip(".")
    if sys.flags.optimize >= 2:
        # Python was told to drop all docstrings (-OO); what a scenario does is not in its title.
        return body.__name__.replace("_", " ").capitalize()
    raise ValueError(f"scenario {body.__name__!r} has no docstring; its first line is the title")
