"""Which clauses the kit has checks for; every other one is *not built yet* where it would apply.

A clause enters this set in the same change as its check, never before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.clauses.needs import Need
from conformance.clauses.records import Condition

BUILT: frozenset[str] = frozenset(
    """
    SVC-01 SVC-02 SVC-03 SVC-04 SVC-05 SVC-06 SVC-07 SVC-08 SVC-09 SVC-10 SVC-11 SVC-12 SVC-13 SVC-14
    OWN-01 OWN-02 OWN-03 OWN-04 OWN-05 OWN-06 OWN-11 OWN-12 OWN-14
    SEQ-01 SEQ-02 SEQ-03 SEQ-04 SEQ-05 SEQ-06 SEQ-07 SEQ-08 SEQ-09 SEQ-10 SEQ-11
    READ-01 READ-02 READ-03 READ-04 READ-05 READ-06
    FRESH-01 FRESH-02 FRESH-03 FRESH-04
    REV-01 REV-02 REV-03 REV-04 REV-05
    MAT-01 MAT-02 MAT-03 MAT-04 MAT-05 MAT-06
    CLOSE-01 CLOSE-02 CLOSE-03 CLOSE-04 CLOSE-05 CLOSE-06 CLOSE-07 CLOSE-08
    FLUSH-01 FLUSH-02 FLUSH-03 FLUSH-04
    DUR-01 DUR-02 DUR-03 DUR-04 DUR-05 DUR-06 DUR-07 DUR-08 DUR-09 DUR-10 DUR-11 OWN-08
    TORN-01 TORN-02 TORN-03 TORN-04 TORN-05
    FAULT-01 FAULT-02 FAULT-03 FAULT-04 FAULT-05 FAULT-06 FAULT-07 FAULT-08 FAULT-10 OWN-07
    FMT-02 FMT-03 FMT-04 FMT-05 FMT-06 FMT-09 FMT-10 FMT-11 FMT-12
    JSON-01 JSON-02 JSON-03
    ID-01 ID-02 ID-03 ID-04 ID-05
    LIVE-01 LIVE-02 LIVE-03 LIVE-04 LIVE-05 LIVE-06 LIVE-07 LIVE-08 LIVE-09 LIVE-10 LIVE-11 LIVE-12 LIVE-13 LIVE-14
    """.split()
)

REACHED_BY: Mapping[str, tuple[Need | Condition, ...]] = {
    "FLUSH-02": (Condition.SHARED_PENDING, Need.FAULTS),
    "READ-06": (Need.FAULTS,),
}
"""Built clauses that a backend can be brought to in one of these ways only: where it has none they are not checked."""
