"""One exception class for each clause, made from the catalogue.

Hypothesis tells failures apart by exception type and raising line: with one class for all clauses two bugs would merge,
and shrinking would slide from one to the other. The model alone decides when one is raised; nothing here does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from conformance.clauses.catalogue import CLAUSES
from conformance.clauses.catalogue import clause as _clause


class Violation(Exception):
    """A backend did something that a clause forbids. Only its subclasses are raised, one for each clause.

    Attributes:
        clause: id of the clause.
        expected: what the clause allows, as a phrase.
        observed: what the backend did, as a phrase.
        note: anything that helps to find the cause; may be empty.
        call: index in the history of the call that is at fault, or None where it is none in particular.
        client, step: of an overlap, which of its calls that is, as in its ``Invocation``; both 0 where it is none.
    """

    clause: ClassVar[str] = ""

    def __init__(
        self, expected: str, observed: str, *, note: str = "", call: int | None = None, client: int = 0, step: int = 0
    ) -> None:
        if not self.clause:
            raise TypeError("Violation stands for no clause: raise violation(clause_id)(expected, observed)")
        super().__init__(expected, observed)
        self.expected = expected
        self.observed = observed
        self.note = note
        self.call = call
        self.client = client
        self.step = step

    def __str__(self) -> str:
        """The id with its sentence, then what was expected and what was observed, each on a line of its own."""
        inside = f", client {self.client}, step {self.step}" if self.client or self.step else ""
        where = "" if self.call is None else f" (call {self.call}{inside})"
        lines = [
            f"{self.clause}: {CLAUSES[self.clause].statement}",
            f"  expected: {self.expected}",
            f"  observed: {self.observed}{where}",
        ]
        if self.note:
            lines.append(f"  note: {self.note}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """The class with every field that is set."""
        extra = f", note={self.note!r}" if self.note else ""
        extra += "" if self.call is None else f", call={self.call}"
        extra += f", client={self.client}, step={self.step}" if self.client or self.step else ""
        return f"{type(self).__name__}({self.expected!r}, {self.observed!r}{extra})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the clause's id, so that a worker's failure arrives as the same class."""
        return _rebuild, (self.clause, self.expected, self.observed, self.note, self.call, self.client, self.step)


def _rebuild(
    clause_id: str, expected: str, observed: str, note: str, call: int | None, client: int, step: int
) -> Violation:
    return violation(clause_id)(expected, observed, note=note, call=call, client=client, step=step)


def class_name(clause_id: str) -> str:
    """The name of a clause's class: ``Violation_SEQ_02`` for ``SEQ-02``."""
    return "Violation_" + clause_id.replace("-", "_")


def _make(clause_id: str) -> type[Violation]:
    members = {
        "__module__": __name__,
        "__doc__": f"{clause_id} is violated: {CLAUSES[clause_id].statement}",
        "clause": clause_id,
    }
    return type(class_name(clause_id), (Violation,), members)


VIOLATIONS: Mapping[str, type[Violation]] = MappingProxyType({clause_id: _make(clause_id) for clause_id in CLAUSES})
"""Clause id -> its class, in document order."""

# The classes are attributes of this module too, so that they pickle by name and a debugger finds them.
globals().update({made.__name__: made for made in VIOLATIONS.values()})


def violation(clause_id: str) -> type[Violation]:
    """The class of that clause's violations.

    Raises:
        UnknownClauseError: there is no such clause; the message names near misses.
    """
    return VIOLATIONS[_clause(clause_id).id]
