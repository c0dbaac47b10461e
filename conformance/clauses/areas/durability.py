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
        statement="A session that was created but never saw a call of `append` or `flush` is gone after a crash and"
        ' its id is free, unless the backend declares `materialization="eager"`.',
        source="S3, Ownership and visibility; R036",
        needs=_CRASHING,
        narrower_than=("DUR-01",),
        requires=(Condition.LAZY, Condition.FROM_PROCESS_KILL),
    ),
    Clause(
        id="DUR-04",
        level="must",
        area="DUR",
        statement="Whatever session comes back from a crash carries its original header and inherited event count; a"
        " session of which only a part was stored stays invisible.",
        source="measured crash images; R162, R165",
        needs=_CRASHING,
        narrower_than=("SVC-01", "DUR-01"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-05",
        level="must",
        area="DUR",
        statement="However many fresh instances look at the same crashed storage, each sees the same log. Merely"
        " opening a session for reading alters neither log nor header, revision or owner for anyone, and leaves the"
        " bytes of a per-session artifact untouched; what a storage engine rolls back or checkpoints by itself is not"
        " counted.",
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
        statement="When another crash hits recovery or migration, or comes straight after, DUR-01 to DUR-05 hold for"
        " it as for the first one. As soon as a barrier has covered what the first recovery kept, that must survive"
        " too.",
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
        statement="Recovered sessions are fully usable: one can take ownership, append at the next seq, flush, and go"
        " through further crashes and recoveries without losing anything.",
        source="S3, Resuming and crash recovery; R156, R155",
        needs=_CRASHING,
        narrower_than=("DUR-01",),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-08",
        level="must",
        area="DUR",
        statement="If a crash interrupts writing to one session, all others are as they would be without it.",
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
        statement="An active writer notices when its artifact is replaced, truncated or unlinked: its next append or"
        " flush does not succeed in writing to a file nobody can reach any more, but is rejected.",
        source="field reports R031, R028, R163",
        needs=frozenset({Need.LOCATION, Need.DAMAGE}),
        requires=_FROM_KILL,
    ),
    Clause(
        id="DUR-11",
        level="must",
        area="DUR",
        statement="The first barrier of a write handle also secures what the handle found on opening, both file data"
        " and directory entries, even if an earlier process wrote it and was killed before syncing.",
        source="measured crash images; R104, R110",
        needs=_CRASHING,
        narrower_than=("DUR-01", "DUR-02", "DUR-06", "DUR-07"),
        requires=(Condition.FROM_POWER_LOSS,),
    ),
    Clause(
        id="DUR-12",
        level="must",
        area="DUR",
        statement="A backend over a service treats a lost client and a restarted server alike as crashes. Its"
        " barriers resolve only after the server has acknowledged exactly those writes on the connection that carried"
        " them and the reply was inspected; for instance, a WAITAOF that ran into its timeout, was sent over a"
        " different connection or inside MULTI counts as a failed flush. Fail-over is left out unless the backend"
        " names it.",
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
        statement="Torn tails stay hidden from every reader and do not cost the intact log before them. A tear may"
        " cut anywhere, even within a record, a UTF-8 sequence, a frame header or a checksum; it may add zeros, or"
        " turn pages or their ends into NUL ahead of valid bytes. Where one of several unflushed batches has a hole,"
        " the log stops there and later batches are dropped even if intact.",
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
        statement="Recover, append a batch, open again: exactly the recovered events and then the whole batch are"
        " there. Leftovers of the tear never merge with the batch, and no reader gets stuck on them.",
        source=f"{_INVARIANTS}; R155, R159, R152",
        needs=_TEARING,
        narrower_than=("TORN-01", "DUR-07"),
        requires=_FROM_KILL,
    ),
    Clause(
        id="TORN-03",
        level="must",
        area="TORN",
        statement="Records that are complete inside a torn tail, or lack only their terminator at the very end, may"
        " survive or not. Those that survive are unchanged, and once a fresh reader has shown them the next append"
        " keeps them. A compressed frame with a missing or wrong checksum yields nothing past the start of its first"
        " run of NUL bytes that reaches a 4,096-byte edge or the end, since such a NUL page decodes to wrong text"
        " without any error.",
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
        statement="If a crash tears the creation of a session, that session does not exist, stands in nobody's way,"
        " and can be created anew with an empty log. The remains may be an empty artifact, half a header, a first"
        " page of NUL with anything after it, a stray temporary or lock file, or an empty directory, as far as this"
        " backend's own creation can leave them; FMT-09 covers everything else.",
        source="measured crash images; R165, R167, R180, R183",
        needs=_TEARING,
        narrower_than=("DUR-03", "DUR-04", "DUR-08"),
        requires=_FROM_KILL,
        reading="A first page that reads NUL from some byte of the header to its edge is one of them, whatever the"
        " next pages hold, unless an intact batch there shows that the header had been flushed.",
    ),
    Clause(
        id="TORN-05",
        level="must",
        area="TORN",
        statement="Repairing a torn tail is invisible inside its instance: none of its handles sees the log shrink"
        " meanwhile. Elsewhere a reader gets an error or a prefix that includes all that barriers have covered.",
        source="S3, Resuming and crash recovery; R067, R140",
        needs=_TEARING,
        narrower_than=("READ-03", "TORN-01"),
        requires=_FROM_KILL,
    ),
)

CLAUSES = _DUR + _TORN
