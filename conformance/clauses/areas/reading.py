"""READ, FRESH and REV: what reads, snapshots and revisions show, and how soon."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"READ": "Reading", "FRESH": "Freshness", "REV": "Revision"}

_PROVIDES = "S3, What the service provides"

_READ = (
    Clause(
        id="READ-01",
        level="must",
        area="READ",
        statement="`read(offset, length)` returns the events that the slice `[offset:offset+length]` of the log"
        " holds, to the end where no length is given; at or beyond the end it returns an empty list.",
        source=_PROVIDES,
        # Blamed where the slicing is wrong; a stale or altered log is told by the clause that the log breaks.
        narrower_than=("READ-03", "READ-04"),
    ),
    Clause(
        id="READ-02",
        level="must",
        area="READ",
        statement="A negative offset or length, or one that is not an integer, is refused with `TypeError` or"
        " `ValueError`; on a closed handle the refusal as closed comes first.",
        source=_PROVIDES,
        narrower_than=("READ-01", "CLOSE-02"),
        reading="A length of None means to the end and is valid. Booleans are not tried.",
    ),
    Clause(
        id="READ-03",
        level="must",
        area="READ",
        statement="A handle never reads backwards: each read agrees with every earlier read on the same handle and"
        " shows at least as much of the log. If storage lost events in the meantime, the read raises instead.",
        source=f"{_PROVIDES}; R263, R269",
        narrower_than=("SEQ-04",),
    ),
    Clause(
        id="READ-04",
        level="must",
        area="READ",
        statement="A write handle sees every append of its own that has resolved.",
        source=_PROVIDES,
        narrower_than=("FRESH-01",),
    ),
    Clause(
        id="READ-05",
        level="should",
        area="READ",
        statement="The memory a bounded read takes depends on the events it returns; the rest of the log does not add"
        " to it.",
        source="field reports R273, R274, R275",
        needs=frozenset({Need.IO_COUNT}),
        reading="Counted is the most memory that Python objects take at once during the read, as `tracemalloc` sees it,"
        " which is not what a C library allocates by itself. Four events of a log of 4 MB may take twice what four of a"
        " log of 256 KB take, and 2 MiB for buffers of a fixed size (of a backend in memory 4 KiB). Bytes read do not"
        " count: a pass over the file in bounded memory is allowed.",
    ),
    Clause(
        id="READ-06",
        level="must",
        area="READ",
        statement='Unless the backend declares `storage="service"`, a read never shows events of an append in the'
        " same instance that fails afterwards.",
        source="field reports R077, R082, R232",
        narrower_than=("FRESH-03", "FAULT-01"),
        requires=(Condition.NOT_SERVICE,),
    ),
)

_FRESH = (
    Clause(
        id="FRESH-01",
        level="must",
        area="FRESH",
        statement="Reads that start after an append or flush has resolved include everything up to it, on any handle"
        " of the same instance, whether opened before or after. This holds until a flush or close fails.",
        source=f"{_PROVIDES}; R262, R064",
        narrower_than=("SEQ-04",),
    ),
    Clause(
        id="FRESH-02",
        level="must",
        area="FRESH",
        statement="Once an append or a flush has resolved, `stat` and `list` on the same instance show it as well:"
        " `event_count`, where it is given, reaches at least that prefix, and the revision is another one than"
        " before.",
        source=f"{_PROVIDES}; R266",
        # A count that lags behind is stale before it is wrong; one that is wrong in any other way is left to REV-05.
        narrower_than=("REV-05",),
        reading="A flush that had nothing to store may leave the revision as it was.",
    ),
    Clause(
        id="FRESH-03",
        level="must",
        area="FRESH",
        statement="A read that overlaps a mutation shows a valid, contiguous prefix of the log, no shorter than what"
        " had resolved when the read began and no longer than what had been called when it ended.",
        source=f"{_PROVIDES}; R059, R270",
        narrower_than=("SEQ-05",),
    ),
    Clause(
        id="FRESH-04",
        level="must",
        area="FRESH",
        statement="After a barrier (a flush, service flush or first close) has resolved, all other instances know"
        " what it covered: any call started from then on, through any handle, `stat`, `list` or a revision, reflects"
        " at least that much, however long ago the instance was opened.",
        source=f"{_PROVIDES}; R266, R268",
        needs=frozenset({Need.FRESH}),
        narrower_than=("SEQ-04",),
    ),
)

_REV = (
    Clause(
        id="REV-01",
        level="must",
        area="REV",
        statement="While nothing is in progress, repeated `stat` calls and a `list` give the same revision for a"
        " session.",
        source=_PROVIDES,
        narrower_than=("SVC-06",),
        reading="A refused operation in between may change no log, but revisions are compared only across operations"
        " that write nothing and that REV-03 or SEQ-03 names.",
    ),
    Clause(
        id="REV-02",
        level="must",
        area="REV",
        statement="An append of a batch that is not empty has changed the session's revision when it resolves.",
        source=f"{_PROVIDES}; R262",
        narrower_than=("FRESH-02", "REV-04"),
    ),
    Clause(
        id="REV-03",
        level="must",
        area="REV",
        statement="The revision stays the same when a session is merely opened, owned, read, or closed without"
        " anything left to store.",
        source="field reports R050, R054",
        narrower_than=("REV-01",),
        reading="A write open that migrates an old format or cuts off a torn tail changes storage; the revision is"
        " not compared across it.",
    ),
    Clause(
        id="REV-04",
        level="must",
        area="REV",
        statement="Within one instance, the same revision for the same id guarantees the same log. This includes logs"
        " that another instance changed or that were restored from an older copy, and logs of equal size written in"
        " the same clock tick; tokens from different instances have no relation.",
        source="field reports R262, R263, R268, R269, R053",
        reading="Other writers are tried where there is a second instance; an older copy put back, where the artifact"
        " can be reached.",
    ),
    Clause(
        id="REV-05",
        level="must",
        area="REV",
        statement="`event_count`, where a snapshot gives it, is the number of events in the log; `size_bytes`, where"
        " a snapshot gives it and the backend gives `location`, is the size of that artifact.",
        source=f"{_PROVIDES}; R170",
        reading="A snapshot that leaves both out is right, and a witness all the same: it could have been wrong.",
    ),
)

CLAUSES = _READ + _FRESH + _REV
