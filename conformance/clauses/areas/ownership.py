"""OWN: who may write a session, and when that ends."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"OWN": "Ownership"}

_OWNERSHIP = "S3, Ownership and visibility"

CLAUSES = (
    Clause(
        id="OWN-01",
        level="must",
        area="OWN",
        statement="While a write handle of an instance is active, another `open` for writing of that session in the"
        " same instance is refused with `SessionAlreadyOwnedError` at once, without waiting. The handle that `create`"
        " returned owns its session in this way even before anything is stored.",
        source=f"{_OWNERSHIP}; R009, R001",
        narrower_than=("OWN-13",),
    ),
    Clause(
        id="OWN-02",
        level="must",
        area="OWN",
        statement="`close` of a write handle gives ownership up, and where `cross_process_ownership` is claimed it"
        " does so at once for every instance. The next write open, in whichever instance, continues at the seq that"
        " is stored then and not at one it remembers.",
        source=f"{_OWNERSHIP}; R015, R016, R019, R045",
        # A right batch refused, or a wrong one taken, because of a remembered cursor.
        narrower_than=("SEQ-01", "SEQ-02"),
    ),
    Clause(
        id="OWN-03",
        level="must",
        area="OWN",
        statement="Opening for reading neither takes nor needs ownership, and works while a writer is active. Closing"
        " a read handle changes nothing about who owns the session.",
        source=f"{_OWNERSHIP}; R074",
        # A reader whose close frees the writer's ownership lets a second owner in, or gets the owner refused.
        narrower_than=("SVC-11", "OWN-01", "OWN-11"),
    ),
    Clause(
        id="OWN-04",
        level="must",
        area="OWN",
        statement="A `create` or write open that fails or is cancelled leaves neither ownership nor a new session."
        " Trying again meets the same refusal, or succeeds once the cause is gone; the first attempt never makes it"
        " end in `SessionAlreadyOwnedError` or `SessionAlreadyExistsError`.",
        source="field reports R041, R036, R047",
        narrower_than=("SVC-01", "SVC-04", "SVC-05", "SVC-06", "SVC-11", "SVC-13"),
        reading="Where the first attempt was itself refused because a session or an owner was there, the same refusal"
        " again is right. Cancelled calls are tried where the route can cancel.",
    ),
    Clause(
        id="OWN-05",
        level="must",
        area="OWN",
        statement="When several opens for writing of one session overlap in one instance, exactly one of them"
        " succeeds.",
        source=_OWNERSHIP,
        narrower_than=("OWN-01",),
        reading="The others are refused with SessionAlreadyOwnedError.",
    ),
    Clause(
        id="OWN-06",
        level="must",
        area="OWN",
        statement="On a handle opened for reading, `append` (with an empty batch too) and `flush` are refused with"
        " `SessionReadOnlyError` and change nothing.",
        source=_OWNERSHIP,
        narrower_than=("SVC-11",),
        reading="A batch that is also malformed or not contiguous may be refused for that reason instead.",
    ),
    Clause(
        id="OWN-07",
        level="must",
        area="OWN",
        statement="A `close` that cannot store what is still outstanding raises, and gives ownership up nevertheless.",
        source="S3, The live write path and shutdown drain; R092, R046",
        needs=frozenset({Need.FAULTS}),
        narrower_than=("OWN-02", "FAULT-05"),
    ),
    Clause(
        id="OWN-08",
        level="must",
        area="OWN",
        statement="After a crash a fresh instance (another service over the same storage) can take ownership of every"
        " session at once, or within the lease time that the backend declares.",
        source="field reports R033, R034, R044, R046",
        needs=frozenset({Need.FRESH, Need.CRASH}),
        narrower_than=("DUR-07",),
        reading='With durability="none" there is no state that a crash may leave, so the clause does not apply.',
    ),
    Clause(
        id="OWN-09",
        level="claim",
        area="OWN",
        statement="While the holder of a session lives, a write open in a second instance, in the same process or"
        " another, is refused with `SessionAlreadyOwnedError`; once the holder is killed it succeeds, at once for a"
        " kernel lock and within its time for a lease. A child started with `subprocess` does not keep the ownership"
        " alive, and a forked copy does so at most until it ends. A holder stopped with SIGSTOP still owns a kernel"
        " lock, but loses a lease after its time and is then bound by OWN-10 when it goes on.",
        source="field reports R009, R010, R003, R033, R024",
        needs=frozenset({Need.FRESH, Need.SECOND_PROCESS}),
        narrower_than=("OWN-13",),
        claim="cross_process_ownership",
    ),
    Clause(
        id="OWN-10",
        level="claim",
        area="OWN",
        statement="Once a handle has lost its ownership, every mutation on it is refused with"
        " `SessionOwnershipLostError` for good, and nothing it writes after the loss reaches the log. Its `close`"
        " frees resources, and raises only if appends that had resolved were never covered by a barrier.",
        source=f"{_OWNERSHIP}; R022, R027, R037",
        needs=frozenset({Need.FRESH}),
        narrower_than=("OWN-09", "OWN-13"),
        claim="lease",
        reading="On a real loop the lease is waited out in real time.",
    ),
    Clause(
        id="OWN-11",
        level="must",
        area="OWN",
        statement="The rightful owner is never refused for lack of ownership: one handle may append and flush any"
        " number of times, also several times within one tick of the clock, and never meets an ownership error.",
        source="field reports R049, R050, R053, R054, R055",
        narrower_than=("SEQ-01",),
    ),
    Clause(
        id="OWN-12",
        level="must",
        area="OWN",
        statement="Only the owner can give ownership up. Closing again, cancelling or garbage-collecting a handle"
        " that lost ownership, gave it up or never had it does not disturb the present owner.",
        source="field reports R030, R024, R027",
        narrower_than=("SVC-11", "OWN-01", "OWN-11", "CLOSE-01"),
        reading="Cancelled calls are tried where the route can cancel.",
    ),
    Clause(
        id="OWN-13",
        level="claim",
        area="OWN",
        statement="However opens, appends, closes and kills interleave among several instances, at most one of them"
        " owns a session at a time, and the log holds every resolved append exactly once, in one contiguous order.",
        source="field reports R001, R005, R006, R012",
        needs=frozenset({Need.FRESH, Need.CRASH}),
        narrower_than=("SEQ-04",),
        claim="cross_process_ownership",
    ),
    Clause(
        id="OWN-14",
        level="should",
        area="OWN",
        statement="Where several instances share storage and the backend does not claim `cross_process_ownership`, an"
        " append that finds the stored log other than its handle left it is refused with `SessionContiguityError` or"
        " `SessionOwnershipLostError`, and writes nothing.",
        source="S3, Known Limitations and Deferred Work; R015, R016, R008",
        needs=frozenset({Need.FRESH}),
        # A special case that is meant to count less: two writers whom nobody keeps apart are outside SEQ.
        narrower_than=("SEQ-02", "SEQ-04"),
        requires=(Condition.SHARED_WITHOUT_OWNERSHIP,),
        reading="The contiguity error may also give the seq that the stored log expects, not the one the handle"
        " expected. Once two instances have written one session side by side, only this clause judges what became of"
        " it.",
    ),
)
