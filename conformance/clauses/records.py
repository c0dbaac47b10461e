"""The shape of a clause: plain data, without the catalogue itself and without any decision about it.

``Condition`` and ``Claim`` are names only; what they ask of a backend stands in the table of
``conformance.clauses.applicability``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from conformance.clauses.needs import Need

Level = Literal["must", "should", "claim"]
"""``must`` gates; ``should`` is reported and gates only under ``--strict``; ``claim`` gates where it is claimed."""

Claim = Literal[
    "cross_process_ownership",
    "lease",
    "append_durability",
    "migrates",
    "encodings",
    "checksums",
    "distributed",
    "live",
    "resume",
]
"""The capability, or the seam (``live``, ``resume``), by which a backend claims a clause."""


class Condition(StrEnum):
    """A declared capability without which a clause means nothing."""

    SERVICE = 'storage="service"'
    NOT_SERVICE = 'storage other than "service"'
    LAZY = 'materialization="lazy"'
    SHARED_PENDING = 'materialization="lazy" and create_scope="instance"'
    CLOSED_VOCABULARY = 'vocabulary="closed"'
    SHARED_WITHOUT_OWNERSHIP = "shared storage without cross_process_ownership"
    FROM_PROCESS_KILL = 'durability from "process-kill" up'
    FROM_POWER_LOSS = 'durability from "power-loss" up'


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One numbered promise of the contract.

    Attributes:
        id: area and number, such as ``SEQ-02``; never reused for another promise.
        level: how much it counts (``Level``).
        area: the part of the id before the hyphen.
        statement: the promise in full sentences, for a reader who has seen nothing else.
        source: the document and section it rests on, and field reports (``R009``) that show why it matters.
        needs: what it cannot be exercised without.
        narrower_than: ids of broader clauses; where one answer breaks several, the narrowest is blamed.
        claim: the capability or seam that claims it. A ``should`` clause may have one too: without it, it is not
            claimed.
        requires: declared capabilities without which it does not apply.
        reading: what the kit takes the statement to mean where it leaves room; empty where it leaves none.
        since: the release that introduced it.
    """

    id: str
    level: Level
    area: str
    statement: str
    source: str
    needs: frozenset[Need] = frozenset()
    narrower_than: tuple[str, ...] = ()
    claim: Claim | None = None
    requires: tuple[Condition, ...] = ()
    reading: str = ""
    since: str = "0.1.0"

    def gates(self, *, strict: bool = False) -> bool:
        """Whether a violation fails the run; of a claim, only where it is claimed, as nothing else is judged."""
        return strict or self.level != "should"
