"""DUR and TORN: what a crash may leave, and what recovery makes of it.

A crash ends an instance without warning; the storage is then in one of the states that the claimed durability allows.
A process kill is such a crash too, and one that syncs nothing. A barrier is a resolved flush, service flush or first
close.
"""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"DUR": "Durability and crashes", "TORN": "Torn tails"}

_PROVIDES = "S3, What the service provides"
_INVARIANTS = "S3, The invariants every backend honors"
_CRASHING = frozenset({Need.FRESH, Need.CRASH})
_TEARING = _CRASHING | {Need.LOCATION}
_FROM_KILL = (Condition.FROM_PROCESS_KILL,)

_DUR = (
    Clause(
        id="DUR-01",
        level="must",
        area="DUR",
        statement="After a crash, recovery shows a prefix of the events of resolved appends, followed at most by one"
        " unbroken run of batches whose appends had failed, were cancelled or had not ended; it is never shorter than"
        " what a barrier (a resolved flush, service flush or first close) covered. Nothing below that point is lost,"
        " and nothing is invented, reordered, altered or doubled; a batch may survive in part, with its first events."
        " No state that the claimed durability allows makes `open`, `stat`, `list` or `create` hang or report"
        " corruption.",
        source=f"{_INVARIANTS}; measured crash images; R095, R110, R166",
        needs=_CRASHING,
        narrower_than=("SEQ-04",),
        requires=_FROM_KILL,
        reading="The run starts where the log of resolved appends ends. An append that did not resolve, and whose"
        " first seq a later resolved one took, must not appear.",
    ),
    Clause(
        id="DUR-02",
        level="must",
        area="DUR",
        statement="A session that a barrier (a resolved flush, service flush or first close) covered exists after the"
        " crash, also where two first writers raced through one new directory. The close of a session that was never"
        " written (MAT-03) covers nothing.",
        source=f"{_PROVIDES}; R104, R111, R109",
        needs=_CRASHING,
        narrower_than=("DUR-01",),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-03",
        level="must",
        area="DUR",
        statement='Unless the backend declares `materialization="eager"`, a session on which neither `append` nor'
        " `flush` was called does not exist after a crash, and its id can be created.",
        source="S3, Ownership and visibility; R036",
        needs=_CRASHING,
        narrower_than=("DUR-01",),
        requires=(Condition.LAZY, Condition.FROM_PROCESS_KILL),
    ),
    Clause(
        id="DUR-04",
        level="must",
        area="DUR",
        statement="A session that is recovered has the header and the inherited event count it was created with, and"
        " no half-made session is ever visible.",
        source="measured crash images; R162, R165",
        needs=_CRASHING,
        narrower_than=("SVC-01", "DUR-01"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-05",
        level="must",
        area="DUR",
        statement="Recovery is stable: any number of fresh instances over the same crashed storage show the same log."
        " Opening for reading changes no log, header, revision or owner that anyone sees, and no byte of the"
        " session's artifact where each session has one; a storage engine's own roll-back or checkpoint is no change.",
        source="field reports R067, R174, R147",
        needs=_CRASHING,
        # The instability is told before any of the states that it shows.
        narrower_than=("SVC-11", "REV-03", "DUR-01"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-06",
        level="must",
        area="DUR",
        statement="A crash during recovery or migration, or right after it, satisfies DUR-01 to DUR-05 again. What"
        " the recovery kept counts as covered once a barrier has covered it.",
        source="S3, Resuming and crash recovery; R141, R160",
        needs=_CRASHING,
        # Blamed where the first recovery was right and the second crash is what did the harm.
        narrower_than=("DUR-01", "DUR-02", "DUR-03", "DUR-04", "DUR-05"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-07",
        level="must",
        area="DUR",
        statement="After recovery a session can be owned, appended to at its next seq, flushed, and crashed and"
        " recovered again, with nothing lost.",
        source="S3, Resuming and crash recovery; R156, R155",
        needs=_CRASHING,
        narrower_than=("DUR-01",),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-08",
        level="must",
        area="DUR",
        statement="A crash while one session is written harms no other session.",
        source="field reports R183, R184, R282",
        needs=_CRASHING,
        narrower_than=("DUR-01", "DUR-02", "DUR-04"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-09",
        level="claim",
        area="DUR",
        statement="Every resolved append is durable at once, as if a barrier had covered it.",
        source=f"{_PROVIDES}; R094, R099",
        needs=_CRASHING,
        narrower_than=("DUR-01",),
        claim="append_durability",
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-10",
        level="should",
        area="DUR",
        statement="An artifact that is replaced, truncated or unlinked under an active writer is noticed: the next"
        " append or flush is rejected, and never resolves into a file that is gone.",
        source="field reports R031, R028, R163",
        needs=frozenset({Need.LOCATION, Need.DAMAGE}),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-11",
        level="must",
        area="DUR",
        statement="What a write handle found when it was opened is durable once its first barrier has resolved, data"
        " and directory entries alike, also where the process that wrote it was killed before it synced anything.",
        source="measured crash images; R104, R110",
        needs=_CRASHING,
        narrower_than=("DUR-01", "DUR-02", "DUR-06", "DUR-07"),
        requires=(Condition.FROM_POWER_LOSS,),
    ),
    Clause(
        id="DUR-12",
        level="must",
        area="DUR",
        statement="For a backend over a service, losing the client and restarting the server both count as crashes. A"
        " barrier resolves only on the server's word for those very writes, on the connection that wrote them and"
        " with the reply checked: a WAITAOF that timed out, ran on another connection or inside MULTI is a failed"
        " flush. Fail-over is not judged unless the backend names it.",
        source="S0, How the durable session actually works; R064, R112",
        needs=_CRASHING,
        # The claim of DUR-09 rests on the same word of the server.
        narrower_than=("DUR-01", "DUR-02", "DUR-09"),
        requires=(Condition.SERVICE, Condition.FROM_PROCESS_KILL),
    ),
)

_TORN = (
    Clause(
        id="TORN-01",
        level="must",
        area="TORN",
        statement="No reader ever sees a torn tail, and none makes the log before it unreadable. The tail may be cut"
        " at any byte (inside a record, a UTF-8 sequence, a frame header or a checksum), be extended with zeros, have"
        " pages or page ends that read as NUL with valid bytes behind them, or have a hole in any of several"
        " unflushed batches: the log then ends before the hole, and intact batches behind it are dropped.",
        source=f"{_INVARIANTS}; measured crash images; R149, R153, R166",
        needs=_TEARING,
        narrower_than=("DUR-01",),
        requires=_FROM_KILL,
        reading="Synthetic tails are used only where the backend's own writes could leave them.",
    ),
    Clause(
        id="TORN-02",
        level="must",
        area="TORN",
        statement="After recovering, appending one batch and reopening, the log is the recovered one followed by that"
        " batch, intact. The new batch never fuses with the fragment of the old one, and no later reader stops before"
        " it.",
        source=f"{_INVARIANTS}; R155, R159, R152",
        needs=_TEARING,
        narrower_than=("TORN-01", "DUR-07"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="TORN-03",
        level="must",
        area="TORN",
        statement="A complete record inside the torn tail may be kept or dropped, and so may a last record that lacks"
        " only its terminator; a kept one is unaltered, and what a fresh reader showed, the first new append keeps."
        " From a compressed frame whose checksum is missing or wrong nothing is kept that lies behind the start of"
        " its first run of NUL bytes that ends at a 4,096-byte edge or at the end, because a NUL page inside such a"
        " frame decodes to wrong text without an error.",
        source="S3, Resuming and crash recovery; measured crash images; R159, R160",
        needs=_TEARING,
        # An altered record is also a log that DUR-01 rules out; a record kept for one reader only is also DUR-05.
        narrower_than=("TORN-01", "DUR-05"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="TORN-04",
        level="must",
        area="TORN",
        statement="A session whose creation was torn, in a way that its own creation can be, does not exist and"
        " blocks no other one; its id can be created and the new log starts empty. Such remains are an empty"
        " artifact, half a header, a first page of NUL whatever follows it, a stray temporary or lock file, or an"
        " empty directory; anything else is judged by FMT-09.",
        source="measured crash images; R165, R167, R180, R183",
        needs=_TEARING,
        narrower_than=("DUR-03", "DUR-04", "DUR-08"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="TORN-05",
        level="must",
        area="TORN",
        statement="While a torn tail is repaired, no handle of the repairing instance reads less than before. Readers"
        " in other instances get a prefix no shorter than what a barrier covered, or an error.",
        source="S3, Resuming and crash recovery; R067, R140",
        needs=_TEARING,
        narrower_than=("READ-03", "TORN-01"),
        requires=_FROM_KILL,
    ),
)

CLAUSES = _DUR + _TORN
