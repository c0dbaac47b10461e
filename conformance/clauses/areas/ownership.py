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
        statement="A session has one writer in an instance: while a write handle is active, opening the session for"
        " writing there again is refused with `SessionAlreadyOwnedError`, straight away and without waiting. The"
        " handle from `create` counts as such a writer even before anything is stored.",
        reading="On the simulated loop no time passes but by a timer that somebody waits for. The refusal may take no"
        " more of it than the longest open that owned so far; where there was none, less than a quarter of a second.",
        source=f"{_OWNERSHIP}; R009, R001",
        narrower_than=("OWN-13",),
    ),
    Clause(
        id="OWN-02",
        level="must",
        area="OWN",
        statement="Closing a write handle ends its ownership; a backend that claims `cross_process_ownership` ends it"
        " for all instances at once. Whoever opens the session for writing next, in whichever instance, carries on at"
        " the seq found in storage rather than at a remembered one.",
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
        statement="When `create` or a write open fails or is cancelled, the session is as free as before: nobody owns"
        " it and none was made. A second try meets the refusal of the first, or works once the cause is gone;"
        " `SessionAlreadyOwnedError` or `SessionAlreadyExistsError` never comes from the failed try itself.",
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
        statement="A fresh instance (another service over the same storage) that starts after a crash can take over"
        " every session, immediately or, with a lease, when the declared lease time is over.",
        source="field reports R033, R034, R044, R046",
        needs=frozenset({Need.FRESH, Need.CRASH}),
        narrower_than=("DUR-07",),
        reading='With durability="none" there is no state that a crash may leave, so the clause does not apply.',
    ),
    Clause(
        id="OWN-09",
        level="claim",
        area="OWN",
        statement="No second instance, be it in this process or in another, can open a session for writing while its"
        " holder lives: it gets `SessionAlreadyOwnedError`. After the holder is killed the open succeeds, without"
        " delay for a kernel lock and when its time is over for a lease; children started with `subprocess` do not"
        " prolong the ownership, and a forked copy can do so until it ends at the longest. Stopping the holder with"
        " SIGSTOP leaves a kernel lock in place but lets a lease run out, after which OWN-10 binds the holder when it"
        " continues.",
        source="field reports R009, R010, R003, R033, R024",
        needs=frozenset({Need.FRESH, Need.SECOND_PROCESS}),
        narrower_than=("OWN-13",),
        claim="cross_process_ownership",
    ),
    Clause(
        id="OWN-10",
        level="claim",
        area="OWN",
        statement="A handle whose ownership was lost never gets it back: each further mutation is refused with"
        " `SessionOwnershipLostError`, and whatever it still tries to write stays out of the log. Closing it frees"
        " its resources, and raises only if some resolved append of its own had not been covered by a barrier.",
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
        statement="A handle that never owned the session, lost it or already gave it up cannot take ownership away"
        " from the present owner, whether it is closed once more, cancelled or garbage-collected: only the owner ends"
        " ownership.",
        source="field reports R030, R024, R027",
        narrower_than=("SVC-11", "OWN-01", "OWN-11", "CLOSE-01"),
        reading="Cancelled calls are tried where the route can cancel.",
    ),
    Clause(
        id="OWN-13",
        level="claim",
        area="OWN",
        statement="Whatever order opens, appends, closes and kills take in several instances, a session never has two"
        " owners, and each resolved append stands in its log once, all of them in one gapless order.",
        source="field reports R001, R005, R006, R012",
        needs=frozenset({Need.FRESH, Need.CRASH}),
        narrower_than=("SEQ-04",),
        claim="cross_process_ownership",
    ),
    Clause(
        id="OWN-14",
        level="should",
        area="OWN",
        statement="A backend with shared storage that does not claim `cross_process_ownership` still notices a"
        " foreign write: when the stored log is not what the handle left behind, its append stores nothing and is"
        " refused with `SessionContiguityError` or `SessionOwnershipLostError`.",
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
