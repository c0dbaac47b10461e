"""FAULT: storage calls that fail, and what may still be relied on."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"FAULT": "Storage faults"}

_FAILING = frozenset({Need.FAULTS})

CLAUSES = (
    Clause(
        id="FAULT-01",
        level="must",
        area="FAULT",
        statement="When a storage call fails, the backend repairs that internally or lets the append, or else the"
        " following flush or close, reject and show the cause. This covers ENOSPC, EIO, EDQUOT and EFBIG, EPERM,"
        " EBUSY and EACCES from open, rename, link and unlink, and bytes that land despite a reported failure; after"
        " a short write or EINTR it just goes on. As long as the batch is not stored, its instance shows precisely"
        " the log without it, through all handles, `stat` and `list`.",
        source="field reports R076, R077, R085, R088, R136",
        needs=_FAILING,
        narrower_than=("SEQ-09",),
        reading="The cause is the fault itself or stands in the cause, context or group of what is raised; it is"
        " never one of the contract's specific errors. Other instances may see what a failed append left until another"
        " append takes its place, and a reader that was opened or read meanwhile may raise from then on (READ-03). An"
        " owner in another instance, where one is let in, may count it in: with its append or flush it is part of the"
        " log for everybody, and no longer the first one's to undo.",
    ),
    Clause(
        id="FAULT-02",
        level="must",
        area="FAULT",
        statement="When storage works again, repeating the batch on its handle stores it, and only once; if a flush"
        " was rejected, resolved events remain visible and the next `flush` takes them up. A failed fsync may"
        " alternatively end the handle: it refuses all mutations with `SessionOwnershipLostError`, and the repeat"
        " succeeds on a handle opened anew.",
        source="field reports R076, R077, R088, R160",
        needs=_FAILING,
        narrower_than=("SEQ-09", "FAULT-01"),
        reading="The same means that a reopened handle takes the batch and stores it exactly once.",
    ),
    Clause(
        id="FAULT-03",
        level="must",
        area="FAULT",
        statement="A failed fsync may mean that the page cache dropped data, so a later barrier (flush, service flush"
        " or first close) must not resolve before the file data it covers has been written again. A crash after that"
        " barrier therefore loses nothing.",
        source="field reports R105, R109",
        needs=frozenset({Need.FAULTS, Need.FRESH, Need.CRASH}),
        narrower_than=("DUR-01", "FAULT-02"),
        requires=(Condition.FROM_POWER_LOSS,),
    ),
    Clause(
        id="FAULT-04",
        level="must",
        area="FAULT",
        statement="If reading fails, with EIO or EACCES for instance, the caller gets an error or the complete,"
        " correct log out of memory. The failure is never disguised as an empty or shorter log or as a missing"
        " session.",
        source="field reports R110, R140, R278",
        needs=_FAILING,
        narrower_than=("SVC-06", "READ-03", "READ-04"),
    ),
    Clause(
        id="FAULT-05",
        level="must",
        area="FAULT",
        statement="While storage fails, closing a handle that has unsaved work raises, yet frees its ownership"
        " (OWN-07).",
        source="field reports R091, R092",
        needs=_FAILING,
        narrower_than=("CLOSE-03", "FAULT-01"),
    ),
    Clause(
        id="FAULT-06",
        level="must",
        area="FAULT",
        statement="Once the service is closed, all its file descriptors, tasks and threads are gone, after normal use"
        " as well as after faults. Threads idling in the event loop's default executor are exempt.",
        source="field reports R092, R042",
        needs=frozenset(),
        reading="Faults are tried where the kit can make a storage call fail; ordinary use is tried wherever the"
        " system tells which descriptors are open.",
    ),
    Clause(
        id="FAULT-07",
        level="should",
        area="FAULT",
        statement="Should an append fail half-way, it cleans up after itself so that no crash later on can bring"
        " forth a record from what it wrote.",
        source="field reports R152, R160",
        needs=frozenset({Need.FAULTS, Need.FRESH, Need.CRASH}),
        reading='With durability="none" there is no state that a crash may leave, so the clause does not apply.',
    ),
    Clause(
        id="FAULT-08",
        level="must",
        area="FAULT",
        statement="Faults stay local: sessions kept in other files are unharmed and the process keeps running."
        " Storing is never disabled for good, so that operations succeed again as soon as storage does.",
        source="field reports R084, R085, R089, R105",
        needs=_FAILING,
        narrower_than=("SEQ-04",),
    ),
    Clause(
        id="FAULT-09",
        level="must",
        area="FAULT",
        statement="A service can lose a reply, time out or drop a COMMIT without the backend knowing whether the"
        " write happened. The append is then rejected, the batch exists entirely or not at all, and from the next"
        " read on it is clear which. Repeating it ends with a single copy: the repeat resolves, or"
        " `SessionContiguityError` reports an `expected` one past the batch's last seq.",
        source="field reports R112, R115",
        needs=_FAILING,
        narrower_than=("SEQ-02", "FAULT-02"),
        requires=(Condition.SERVICE,),
    ),
    Clause(
        id="FAULT-10",
        level="must",
        area="FAULT",
        statement="If an append failed and other events are then appended at its seqs, exactly these are stored or"
        " the append is rejected; the backend never mistakes them for the failed batch and reports success.",
        source="field reports R112, R114",
        needs=_FAILING,
        narrower_than=("FAULT-02",),
    ),
)
