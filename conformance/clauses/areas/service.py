"""SVC: the service's five methods and what they agree on."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"SVC": "Service and handle lifecycle"}

_PROVIDES = "S3, What the service provides"
_OWNERSHIP = "S3, Ownership and visibility"

CLAUSES = (
    Clause(
        id="SVC-01",
        level="must",
        area="SVC",
        statement="The handle that `create` returns is open for writing and shows the id, header and inherited event"
        " count the caller passed; whoever opens the session later finds that header again. A field the caller left"
        " out may read as the default documented for it.",
        source=_PROVIDES,
        reading="Both None and 0 stand for the inherited count of a session that is not seeded. A later open is any"
        " in the same instance while the session is pending, and any at all once it is stored.",
    ),
    Clause(
        id="SVC-02",
        level="must",
        area="SVC",
        statement="`create` with an id that is taken (pending in this instance, or stored by any instance, owned or"
        " not) is refused with `SessionAlreadyExistsError` and leaves the existing session as it was.",
        source=f"{_OWNERSHIP}; R199, R197, R019",
        narrower_than=("SVC-11", "SVC-13"),
        reading="An id that only another instance holds pending is judged by SVC-12.",
    ),
    Clause(
        id="SVC-03",
        level="must",
        area="SVC",
        statement="When several `create` calls with one id overlap in one instance, exactly one returns a handle and"
        " every other is refused with `SessionAlreadyExistsError`.",
        source=_OWNERSHIP,
        narrower_than=("SVC-02",),
    ),
    Clause(
        id="SVC-04",
        level="must",
        area="SVC",
        statement="Opening an id that has no session is refused with `SessionPersistenceNotFoundError`, for reading"
        " and for writing alike.",
        source=f"{_PROVIDES}; R047",
        narrower_than=("SVC-13",),
    ),
    Clause(
        id="SVC-05",
        level="must",
        area="SVC",
        statement="`stat` of an id that has no session returns `None`. Asking for a `stat` never takes ownership and"
        " never changes anything.",
        source=_PROVIDES,
        narrower_than=("SVC-11", "SVC-13"),
    ),
    Clause(
        id="SVC-06",
        level="must",
        area="SVC",
        statement="While nothing is in progress, `list` gives exactly one snapshot for each visible session, and each"
        " one equals what `stat` returns for that id.",
        source=f"{_PROVIDES}; R172, R178",
        narrower_than=("SVC-13",),
        reading="Visible means visible to the instance that is asked: its own pending sessions and every materialised"
        " one.",
    ),
    Clause(
        id="SVC-07",
        level="should",
        area="SVC",
        statement="When one artifact under the root is damaged or foreign, the healthy sessions stay listed: `list`"
        " skips what it cannot describe and logs that, and only `stat` and `open` of the affected id raise the"
        " specific error. If the root itself cannot be read, the error is raised.",
        source="field reports R180, R181, R183, R184",
        needs=frozenset({Need.FRESH, Need.LOCATION, Need.DAMAGE}),
        # A special case that is meant to count less: with damage around, only this clause speaks about `list`.
        narrower_than=("SVC-06",),
    ),
    Clause(
        id="SVC-08",
        level="must",
        area="SVC",
        statement="`create` refuses a header with metadata outside JSON, an unusable `created_at`, a `version` other"
        " than 1, or an id that is not text, is empty or holds lone surrogates. It raises `TypeError` or `ValueError`"
        " at the call and creates nothing.",
        source="S3, The invariants every backend honors",
        # The refusal is about the header, and its id must stay free: more than JSON-02 and OWN-04 say of it.
        narrower_than=("JSON-02", "OWN-04"),
        reading="Unusable means no integer, a bool, below 0 or above 2**53-1. Metadata that only Python can hold is"
        " tried where the route can pass it on; the rest is tried everywhere. At the call means that the awaited call"
        " raises it.",
    ),
    Clause(
        id="SVC-09",
        level="must",
        area="SVC",
        statement="`create` takes an `inherited_event_count` of 0 or more exactly when the header says `is_seeded`; a"
        " mismatch is refused. The count is the same after reopening, and nobody compares it with the length of the"
        " log.",
        source=_PROVIDES,
        narrower_than=("SVC-01", "SVC-08"),
        reading="The mismatch is refused with TypeError or ValueError, like other bad arguments.",
    ),
    Clause(
        id="SVC-10",
        level="should",
        area="SVC",
        statement="The length of a log does not influence what `stat`, `list` or opening for reading cost, and the"
        " number of sessions does not influence what `stat` of one id, `open` or `append` cost.",
        source=f"{_PROVIDES}; R277, R282, R275",
        needs=frozenset({Need.IO_COUNT}),
        reading="Cost is counted, never timed: bytes read and written, and accesses to files (each read, write, open,"
        " sync and look at metadata, each directory entry listed). A call grows where it costs more than twice what it"
        " cost when the log was at least 8 times shorter, or the sessions 8 times fewer, and 8 KiB or 16 accesses on"
        " top. What an instance does once, such as loading an index at its first call, is left out. Of a backend in"
        " memory the memory that a call takes is counted instead, with 4 KiB on top; a search that takes neither is"
        " not seen. Opening for writing may look at the whole log.",
    ),
    Clause(
        id="SVC-11",
        level="must",
        area="SVC",
        statement="Only an `append` of new events changes a log: no other operation, such as a `list`, a `stat`, an"
        " immediate `close` or a failed or cancelled `create` or `open`, ever shortens, replaces or removes the log"
        " of any session. Materialising a session, migrating it in a write open and cutting off a torn tail before"
        " the first append change storage, but no log.",
        source="S3, The invariants every backend honors; R194, R198, R201, R204",
        # It names the operation that did the harm, where SEQ-04 only says that harm was done.
        narrower_than=("SEQ-04",),
        reading="Cancelled calls are tried where the route can cancel; the rest is tried everywhere.",
    ),
    Clause(
        id="SVC-12",
        level="must",
        area="SVC",
        statement="When several instances hold one id pending, at most one of them stores it. The next append or"
        " flush of each other is refused with `SessionAlreadyExistsError` or `SessionAlreadyOwnedError`, and the log"
        " stays as the winner wrote it.",
        source=f"{_OWNERSHIP}; R104, R201",
        needs=frozenset({Need.FRESH}),
        requires=(Condition.SHARED_PENDING,),
        # OWN-14 only asks that something should be noticed; here the loser must be refused.
        narrower_than=("SVC-02", "SVC-11", "OWN-13", "OWN-14"),
        reading="While another instance holds an id pending, `create` in a second instance may resolve or be refused"
        " with SessionAlreadyExistsError or SessionAlreadyOwnedError, and a write open there may answer"
        " SessionPersistenceNotFoundError or SessionAlreadyOwnedError.",
    ),
    Clause(
        id="SVC-13",
        level="must",
        area="SVC",
        statement="While nothing is in progress, all answers about one id agree. Either it is absent: `stat` is"
        " `None`, both opens raise `SessionPersistenceNotFoundError` and `create` works; or it is taken: `create` is"
        " refused, and `stat` and the opens answer, or raise for some reason other than absence.",
        source="field reports R047, R036, R071",
        # A create that fails on an id that everything else calls absent is a disagreement first.
        narrower_than=("SVC-01",),
        reading="Where it is known whether the session exists, the clause about that one answer is blamed (SVC-02,"
        " SVC-04, SVC-05, MAT-01, MAT-03). This one is left for states in which either is allowed. An id that another"
        " instance holds pending is judged by SVC-12.",
    ),
    Clause(
        id="SVC-14",
        level="must",
        area="SVC",
        statement="If the artifact of an open session was removed, replaced or cut short behind the handle's back,"
        " its next `append`, `flush` or `close` is rejected: none of them builds an artifact without the earlier"
        " events, and no half-made session remains.",
        source="field reports R021, R028, R031, R070",
        needs=frozenset({Need.LOCATION, Need.DAMAGE}),
        narrower_than=("SVC-11", "DUR-10"),
    ),
)
