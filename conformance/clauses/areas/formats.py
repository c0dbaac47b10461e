"""FMT: stored formats of other versions, unknown event types, and damage."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"FMT": "Format and corruption"}

_FAILURES = "S3, Failures and recovery"
_VALIDATION = "S3, Stored-record validation"
_DAMAGED = frozenset({Need.FRESH, Need.LOCATION, Need.DAMAGE})
_CRAFTED = frozenset({Need.FRESH, Need.LOCATION, Need.CRAFTED_FORMAT})

CLAUSES = (
    Clause(
        id="FMT-01",
        level="must",
        area="FMT",
        statement="A stored log of a newer format is refused with `SessionFormatUnsupportedError` that says to"
        " upgrade; one of an older format that is not supported, with the same error saying that there is no upgrade"
        " path.",
        source=f"{_FAILURES}; R008",
        needs=_CRAFTED,
        narrower_than=("FMT-09",),
        reading="Only the backend, by `craft`, or a kit that knows the format can make such a log; where neither can,"
        " the clause applies and is not measured.",
    ),
    Clause(
        id="FMT-02",
        level="must",
        area="FMT",
        statement='With `vocabulary="closed"` an unknown event type without `ignorable: true` is never dropped and'
        " never served: `append` refuses it with `SessionFormatUnsupportedError` and stores nothing. With"
        ' `unknown_types="store"` it is stored instead, and afterwards reads and write opens of that session refuse'
        " it, naming type and seq (before READ-04 and FRESH-01 are asked), while `stat`, `list` and other sessions"
        " are unaffected. Met in a stored log, it is refused in the same way.",
        source=f"{_VALIDATION}; R187, R188, R189, R190",
        narrower_than=("SEQ-09", "READ-04"),
        requires=(Condition.CLOSED_VOCABULARY,),
        reading="Refusing a read means by `open` for reading or by the first `read`. The part about a stored log is"
        " tried where such a log can be made.",
    ),
    Clause(
        id="FMT-03",
        level="must",
        area="FMT",
        statement='With `vocabulary="closed"` an unknown event type with `ignorable: true` is kept, and returned'
        " exactly as it was given.",
        source=f"{_FAILURES}; R186",
        narrower_than=("READ-03", "READ-04"),
        requires=(Condition.CLOSED_VOCABULARY,),
    ),
    Clause(
        id="FMT-04",
        level="must",
        area="FMT",
        statement="Damage to data that was flushed before a later, still intact batch was appended gives"
        " `SessionPersistenceCorruptionError`, or exactly the right log, and never a wrong or silently shorter one."
        " Damage is a record or batch that is removed, repeated, swapped or inserted, a cut, a run of NUL bytes, or"
        " broken framing.",
        source=f"{_FAILURES}; R149, R169, R174, R163",
        needs=_DAMAGED,
        narrower_than=("FRESH-04",),
    ),
    Clause(
        id="FMT-05",
        level="must",
        area="FMT",
        statement="The errors that refuse a stored log carry the location of its artifact where the backend keeps one"
        " artifact for each session.",
        source=f"{_VALIDATION}; R081",
        needs=_DAMAGED,
    ),
    Clause(
        id="FMT-06",
        level="must",
        area="FMT",
        statement="An artifact whose header names another session id is refused as corruption.",
        source="field reports R250, R251",
        needs=_DAMAGED,
        narrower_than=("FMT-04", "FMT-09"),
        reading="The kit puts one session's artifact in the place of another's, so `craft` is not needed for it.",
    ),
    Clause(
        id="FMT-07",
        level="claim",
        area="FMT",
        statement="Supported historical formats are converted before a handle is returned, and ignorable unknown"
        " events are carried over. The source stays byte-identical, and the successor is published atomically and by"
        " a write open only. A torn source is read as TORN says; a crash leaves the source alone or the whole"
        " successor; and a newest generation that is unsupported is refused even where an older one could be read.",
        source=f"{_FAILURES}; R186, R067, R141",
        needs=_CRAFTED,
        narrower_than=("SVC-11", "DUR-06", "FMT-01"),
        claim="migrates",
        reading="Crashes and torn sources are tried where the kit can make them. Without `craft` and without a format"
        " that the kit knows, the claim is not measured.",
    ),
    Clause(
        id="FMT-08",
        level="claim",
        area="FMT",
        statement="An artifact in the other encoding is refused when its id is opened or created, naming the file;"
        " other sessions are unaffected.",
        source="S3, Failures and recovery; R192",
        needs=_DAMAGED,
        narrower_than=("FMT-09",),
        claim="encodings",
    ),
    Clause(
        id="FMT-09",
        level="must",
        area="FMT",
        statement="An artifact that is not this backend's, or has no valid header and is no torn creation of its own,"
        " is refused on open as corruption and on create as existing or as corruption. Its bytes stay as they were.",
        source="field reports R204, R250, R180",
        needs=_DAMAGED,
        narrower_than=("SVC-02",),
    ),
    Clause(
        id="FMT-10",
        level="claim",
        area="FMT",
        statement="Any changed byte of a stored header or event gives `SessionPersistenceCorruptionError` or exactly"
        " the right log. A damaged last batch may be dropped only where the damage is one that a crash can leave: a"
        " cut, or runs of NUL that end at a 4,096-byte edge or at the end.",
        source="measured crash images; R132, R133",
        needs=_DAMAGED,
        narrower_than=("FMT-04",),
        claim="checksums",
    ),
    Clause(
        id="FMT-11",
        level="must",
        area="FMT",
        statement="Where a session spans several files, keys or rows, a missing, expired, older or damaged part gives"
        " a refusal or the absence of the whole, and never a shorter or mixed log. A derived index alone never"
        " decides what exists.",
        source="field reports R143, R144, R146, R130, R177, R178",
        needs=_DAMAGED,
        narrower_than=("FMT-04",),
    ),
    Clause(
        id="FMT-12",
        level="should",
        area="FMT",
        statement="A byte-order mark or CRLF line ends that an editor put in give all records or a refusal, never"
        " fewer records.",
        source="field reports R205, R206",
        needs=_DAMAGED,
        # A special case that is meant to count less: an editor's harmless marks are no damage to the records.
        narrower_than=("FMT-04",),
    ),
)
