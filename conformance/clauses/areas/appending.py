"""SEQ: appending batches, and what may be relied on afterwards."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause

AREAS = {"SEQ": "Appending"}

_PROVIDES = "S3, What the service provides"
_INVARIANTS = "S3, The invariants every backend honors"

CLAUSES = (
    Clause(
        id="SEQ-01",
        level="must",
        area="SEQ",
        statement="A batch that begins at the next seq of the stored log and is contiguous inside is accepted, and"
        " reading returns exactly its events.",
        source=f"{_PROVIDES}; R176",
        # SEQ-11 speaks of whatever was accepted; this clause of the batches that had to be.
        narrower_than=("SEQ-11",),
    ),
    Clause(
        id="SEQ-02",
        level="must",
        area="SEQ",
        statement="A batch with a gap, an overlap, a repeat or a descending seq anywhere in it is refused as a whole"
        " with `SessionContiguityError`, and nothing of it is stored. The error's `expected` and `got` are the seq"
        " that was due and the seq that was found at the first place that is wrong.",
        source=f"{_INVARIANTS}; R009, R015, R017, R018, R117",
        narrower_than=("SEQ-09",),
        reading="Where a batch is both malformed and not contiguous, either refusal is right.",
    ),
    Clause(
        id="SEQ-03",
        level="must",
        area="SEQ",
        statement="Appending an empty batch on a write handle resolves and does nothing: no event is stored, a"
        " pending session stays pending, and no revision moves.",
        source=_PROVIDES,
        # That an append of nothing wrote something is told before what it wrote (a revision, a session).
        narrower_than=("SVC-11", "REV-01", "MAT-02", "MAT-03"),
    ),
    Clause(
        id="SEQ-04",
        level="must",
        area="SEQ",
        statement="What an observation in an instance showed at a seq, every later one there shows again, equal as"
        " JSON, while no crash and no failed flush or close comes between. What a barrier covered (a resolved flush,"
        " service flush or first close) stays for ever, in every instance.",
        source=f"{_INVARIANTS}; R163, R202",
        # A log that was right once and changed kept SEQ-01 and broke this.
        narrower_than=("SEQ-01",),
    ),
    Clause(
        id="SEQ-05",
        level="must",
        area="SEQ",
        statement="Appends, flushes and closes on one handle take effect in the order in which they were called, and"
        " while the instance lives each append is there in whole or not at all. One that waits behind an append that"
        " failed may be rejected with the same cause.",
        source="S3, The write path at a glance; R226, R227, R233",
        narrower_than=("SEQ-04",),
    ),
    Clause(
        id="SEQ-06",
        level="must",
        area="SEQ",
        statement="`append` captures its batch when it is called: whatever the caller does to the batch or its events"
        " afterwards changes nothing that is stored.",
        source=f"{_INVARIANTS}; R059",
        needs=frozenset({Need.CALLER_MEMORY}),
        narrower_than=("READ-03", "READ-04"),
        reading="When it is called means before the first suspension: the kit lets the call take its first step, then"
        " changes the batch.",
    ),
    Clause(
        id="SEQ-07",
        level="must",
        area="SEQ",
        statement="What `read` returns belongs to the caller: changing it changes no later read, unless it is made of"
        " values that cannot be changed at all.",
        source=_PROVIDES,
        needs=frozenset({Need.CALLER_MEMORY}),
        narrower_than=("READ-03", "READ-04"),
    ),
    Clause(
        id="SEQ-08",
        level="must",
        area="SEQ",
        statement="A cancelled append is there in whole or not at all; which of the two is settled before a later"
        " operation on the session returns, and does not change by itself. A cancelled flush promises nothing, and"
        " the handle stays usable after both.",
        source="S3, What the service provides; R195",
        needs=frozenset({Need.CANCEL}),
        narrower_than=("SEQ-05", "SEQ-09"),
    ),
    Clause(
        id="SEQ-09",
        level="must",
        area="SEQ",
        statement="A refused append leaves nothing behind, neither a lock nor an open transaction, so that other"
        " sessions and processes can write at once. After a refused or failed append the handle stays usable and the"
        " next seq is unchanged, apart from what FAULT-02 and FAULT-09 allow after a storage fault.",
        source="field reports R125, R126, R082",
        narrower_than=("SEQ-04",),
    ),
    Clause(
        id="SEQ-10",
        level="should",
        area="SEQ",
        statement="The bytes written and read for an append stay flat, averaged over many appends, however long the"
        " log grows.",
        source="field reports R280, R281, R272",
        needs=frozenset({Need.IO_COUNT}),
    ),
    Clause(
        id="SEQ-11",
        level="must",
        area="SEQ",
        statement="Whatever `append` accepts, `read` returns, with FMT-02 as the one exception. A batch that is not a"
        " list of dicts with a text `type`, an integer `seq` of 0 or more, an integer `time` and `data` is refused at"
        " the call with `TypeError` or `ValueError`, and a bool does not count as an integer.",
        source=f"{_INVARIANTS}; R187, R213",
        reading="An empty `type` is malformed too; as it is also an unknown type, a closed vocabulary may refuse it"
        " under FMT-02 instead. Subclasses of list and dict are not tried.",
    ),
)
