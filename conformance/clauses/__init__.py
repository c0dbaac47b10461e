"""What is promised: every clause of the contract as data, one violation class for each, and the table of applicability.

Words the statements use. *Instance*: one service object over one storage root; a *fresh* instance is another one over
the same storage, as another process would open it. *Refused*: rejected for arguments, seq, vocabulary, state of the
handle or ownership, with nothing written. *Barrier*: a resolved ``flush``, service ``flush`` or first ``close``; it
covers every append called before it on its handle that did not reject, and what the log held when that handle was
opened. *Materialised*: visible to other instances.

It imports ``conformance.contract`` and nothing above: no model, no check, no Hypothesis. It judges nothing; the model
does.
"""

from conformance.clauses.applicability import (
    APPLIES,
    DURABILITY_ORDER,
    TABLE,
    Route,
    Ruling,
    Standing,
    in_process_route,
    needs_standing,
    ruling,
    rulings,
    stdio_route,
)
from conformance.clauses.built import BUILT
from conformance.clauses.catalogue import (
    AREAS,
    CLAUSES,
    UnknownClauseError,
    broader_than,
    clause,
    narrowest,
    select,
)
from conformance.clauses.needs import Need
from conformance.clauses.records import Claim, Clause, Condition, Level
from conformance.clauses.verdicts import Verdict
from conformance.clauses.violations import VIOLATIONS, Violation, violation

__all__ = [
    "APPLIES",
    "AREAS",
    "BUILT",
    "CLAUSES",
    "DURABILITY_ORDER",
    "TABLE",
    "VIOLATIONS",
    "Claim",
    "Clause",
    "Condition",
    "Level",
    "Need",
    "Route",
    "Ruling",
    "Standing",
    "UnknownClauseError",
    "Verdict",
    "Violation",
    "broader_than",
    "clause",
    "in_process_route",
    "narrowest",
    "needs_standing",
    "ruling",
    "rulings",
    "select",
    "stdio_route",
    "violation",
]
