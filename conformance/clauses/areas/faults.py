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
        statement="A storage call that fails (ENOSPC, EIO, EDQUOT, EFBIG; EPERM, EBUSY or EACCES of open, rename,"
        " link or unlink; also bytes that arrive although failure is reported) is repaired inside, or makes the"
        " append, or the next flush or close, reject with the cause; a short write or EINTR is continued. Until the"
        " batch is stored, readers of the instance see exactly the log without it, on every handle and through `stat`"
        " and `list`.",
        source="field reports R076, R077, R085, R088, R136",
        needs=_FAILING,
        narrower_than=("SEQ-09",),
        reading="The cause is the fault itself or stands in the cause, context or group of what is raised; it is"
        " never one of the contract's specific errors.",
    ),
    Clause(
        id="FAULT-02",
        level="must",
        area="FAULT",
        statement="Once storage heals, the same batch on the same handle succeeds and is stored exactly once; after a"
        " rejected flush, what had resolved stays visible and `flush` tries it again. After a failed fsync a backend"
        " may instead give the handle up, and refuse each mutation on it with `SessionOwnershipLostError`; a reopened"
        " handle then does the same.",
        source="field reports R076, R077, R088, R160",
        needs=_FAILING,
        narrower_than=("SEQ-09", "FAULT-01"),
        reading="The same means that a reopened handle takes the batch and stores it exactly once.",
    ),
    Clause(
        id="FAULT-03",
        level="must",
        area="FAULT",
        statement="After a failed fsync no later barrier (flush, service flush or first close) resolves unless the"
        " file data it covers was written again, because the page cache may have dropped it: a crash after that"
        " barrier loses nothing.",
        source="field reports R105, R109",
        needs=frozenset({Need.FAULTS, Need.FRESH, Need.CRASH}),
        narrower_than=("DUR-01", "FAULT-02"),
        requires=(Condition.FROM_POWER_LOSS,),
    ),
    Clause(
        id="FAULT-04",
        level="must",
        area="FAULT",
        statement="An error while reading, such as EIO or EACCES, surfaces as an error, or the exact log comes from"
        " memory. It never shows as an empty log, a shorter log or an absent session.",
        source="field reports R110, R140, R278",
        needs=_FAILING,
        narrower_than=("SVC-06", "READ-03", "READ-04"),
    ),
    Clause(
        id="FAULT-05",
        level="must",
        area="FAULT",
        statement="A `close` that still has something to make durable while storage fails raises, and gives ownership"
        " up (OWN-07).",
        source="field reports R091, R092",
        needs=_FAILING,
        narrower_than=("CLOSE-03", "FAULT-01"),
    ),
    Clause(
        id="FAULT-06",
        level="must",
        area="FAULT",
        statement="Neither ordinary use nor a fault leaks file descriptors, tasks or threads past the service's"
        " `close`; idle threads of the loop's default executor do not count.",
        source="field reports R092, R042",
        needs=frozenset({Need.IO_COUNT}),
        reading="Faults are tried where the kit can make a storage call fail; ordinary use is tried everywhere.",
    ),
    Clause(
        id="FAULT-07",
        level="should",
        area="FAULT",
        statement="An append that fails midway leaves no residue that a later crash could show as a record.",
        source="field reports R152, R160",
        needs=frozenset({Need.FAULTS, Need.FRESH, Need.CRASH}),
        reading='With durability="none" there is no state that a crash may leave, so the clause does not apply.',
    ),
    Clause(
        id="FAULT-08",
        level="must",
        area="FAULT",
        statement="A fault on one session harms no other session that does not share its file, and does not end the"
        " process. Persistence never switches itself off: once storage heals, the next operation works.",
        source="field reports R084, R085, R089, R105",
        needs=_FAILING,
        narrower_than=("SEQ-04",),
    ),
    Clause(
        id="FAULT-09",
        level="must",
        area="FAULT",
        statement="Where a service may have done what it did not confirm (a lost reply, a timeout, a lost COMMIT),"
        " the append rejects; its batch is there in whole or not at all, and the next read settles which. The same"
        " batch again leaves one copy: it resolves, or is refused with `SessionContiguityError` whose `expected` lies"
        " just past it.",
        source="field reports R112, R115",
        needs=_FAILING,
        narrower_than=("SEQ-02", "FAULT-02"),
        requires=(Condition.SERVICE,),
    ),
    Clause(
        id="FAULT-10",
        level="must",
        area="FAULT",
        statement="A different batch at the seqs of a failed one is stored as it was given, or is rejected; it is"
        " never taken to be there already.",
        source="field reports R112, R114",
        needs=_FAILING,
        narrower_than=("FAULT-02",),
    ),
)
