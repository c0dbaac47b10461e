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
        statement="The log never changes behind its readers: what an instance once showed at a seq it shows again,"
        " equal as JSON, in every later observation, unless a crash or a failed flush or close came between. What a"
        " barrier (a resolved flush, service flush or first close) covered stays for good, whichever instance looks.",
        source=f"{_INVARIANTS}; R163, R202",
        # A log that was right once and changed kept SEQ-01 and broke this.
        narrower_than=("SEQ-01",),
    ),
    Clause(
        id="SEQ-05",
        level="must",
        area="SEQ",
        statement="Calls of `append`, `flush` and `close` on one handle work in the order they were made, and an"
        " append of a living instance is never applied in part. If an append fails, those queued behind it may be"
        " rejected for the same cause.",
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
        statement="Cancelling an append leaves either all of its batch or nothing; the next operation on the session"
        " to return finds that decided, and it stays so. Cancelling a flush gives no guarantee, and neither"
        " cancellation makes the handle unusable.",
        source="S3, What the service provides; R195",
        needs=frozenset({Need.CANCEL}),
        narrower_than=("SEQ-05", "SEQ-09"),
    ),
    Clause(
        id="SEQ-09",
        level="must",
        area="SEQ",
        statement="Nothing of a refused append lingers: no lock is held and no transaction stays open, so other"
        " sessions and processes can write immediately. Whether an append was refused or failed, its handle can go on"
        " and expects the same next seq, except for what FAULT-02 and FAULT-09 permit once storage has failed.",
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
        reading="Counted while a log doubles, up to 64 events and up to 512, with the flush at the end, so that"
        " rewriting or merging once in a while is averaged out. It grows where an append to the longer log costs"
        " more than twice as many bytes and 8 KiB. Of a backend in memory the memory that an append takes is counted"
        " instead, with 4 KiB on top.",
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
