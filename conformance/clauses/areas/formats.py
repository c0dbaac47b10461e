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
        statement="Logs in a format this build cannot read are refused with `SessionFormatUnsupportedError`. Its"
        " message tells the operator to upgrade if the format is newer, and that no upgrade path exists if it is an"
        " unsupported older one.",
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
        statement="A closed vocabulary never drops or serves an event of unknown type unless it is marked `ignorable:"
        " true`. By default `append` answers with `SessionFormatUnsupportedError` and stores nothing; with"
        ' `unknown_types="store"` the event is stored and from then on reads and write opens of the session are'
        " refused with the type and seq named (READ-04 and FRESH-01 give way to this), while `stat`, `list` and other"
        " sessions work as before. The same refusal meets such an event found in an existing log.",
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
        statement="Marked `ignorable: true`, events of unknown type pass through a closed vocabulary: they are stored"
        " and come back unchanged.",
        source=f"{_FAILURES}; R186",
        narrower_than=("READ-03", "READ-04"),
        requires=(Condition.CLOSED_VOCABULARY,),
    ),
    Clause(
        id="FMT-04",
        level="must",
        area="FMT",
        statement="Once a batch was flushed and a later one appended behind it, damage to the former cannot go"
        " unnoticed while the latter is intact: the log is served complete and correct, or"
        " `SessionPersistenceCorruptionError` is raised, but no wrong or shortened log appears. Damage may remove,"
        " repeat, swap or insert records or batches, cut bytes out, overwrite them with NUL, or break the framing.",
        reading="What comes in behind the last batch but one, an insertion or a part repeated, need not be told from a"
        " torn tail: a backend may know by a mark in each batch how far the one before it was durable, and drop the"
        " rest.",
        source=f"{_FAILURES}; R149, R169, R174, R163",
        needs=_DAMAGED,
        narrower_than=("FRESH-04",),
    ),
    Clause(
        id="FMT-05",
        level="must",
        area="FMT",
        statement="If each session has one artifact, an error that refuses its stored log tells where the artifact"
        " is, in `location`.",
        source=f"{_VALIDATION}; R081",
        needs=_DAMAGED,
    ),
    Clause(
        id="FMT-06",
        level="must",
        area="FMT",
        statement="Finding another session's id in the header of an artifact is corruption, and is refused as such.",
        source="field reports R250, R251",
        needs=_DAMAGED,
        narrower_than=("FMT-04", "FMT-09"),
        reading="The kit puts one session's artifact in the place of another's, so `craft` is not needed for it.",
    ),
    Clause(
        id="FMT-07",
        level="claim",
        area="FMT",
        statement="Logs in the historical formats that `migrates` names are converted before any handle is handed"
        " out, including their ignorable unknown events. The old artifact keeps every byte; only a write open"
        " publishes the new one, atomically, so that a crash leaves the old one by itself or the new one complete."
        " Torn old artifacts follow the TORN clauses, and if the newest generation present is unsupported the session"
        " is refused, readable older ones notwithstanding.",
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
        statement="If a session's artifact uses the other one of the backend's encodings, opening and creating that"
        " id is refused with the file named, and no other session is affected.",
        source="S3, Failures and recovery; R192",
        needs=_DAMAGED,
        narrower_than=("FMT-09",),
        claim="encodings",
    ),
    Clause(
        id="FMT-09",
        level="must",
        area="FMT",
        statement="Something in a session's place that the backend did not make, or that lacks a valid header without"
        " being left over from its own torn creation, stays byte for byte as it is. Opening it reports corruption;"
        " creating the id reports that it exists, or corruption.",
        source="field reports R204, R250, R180",
        needs=_DAMAGED,
        narrower_than=("SVC-02",),
    ),
    Clause(
        id="FMT-10",
        level="claim",
        area="FMT",
        statement="Changing any byte of a stored header or event is detected: the outcome is"
        " `SessionPersistenceCorruptionError` or the correct log. The one exception is the last batch, which may be"
        " dropped if the damage looks like that of a crash, meaning a cut or NUL runs reaching a 4,096-byte edge or"
        " the end.",
        source="measured crash images; R132, R133",
        needs=_DAMAGED,
        narrower_than=("FMT-04",),
        claim="checksums",
    ),
    Clause(
        id="FMT-11",
        level="must",
        area="FMT",
        statement="A session stored in several files, keys or rows is refused or absent as a whole if any part is"
        " missing, expired, outdated or damaged; a log that is shortened or mixed from generations is never served."
        " What exists is never decided by a derived index alone.",
        source="field reports R143, R144, R146, R130, R177, R178",
        needs=_DAMAGED,
        narrower_than=("FMT-04",),
        reading="The artifact that `location` names is removed, or an older copy put back, and each other file under"
        " the root is removed, emptied, cut, replaced by something else, or put back as it was earlier. What stands in"
        " the artifact's own place is judged by FMT-09, TORN-04 or, if it is another session's, FMT-06, and damage"
        " inside it by FMT-04 and FMT-10: each of them says more exactly what may follow.",
    ),
    Clause(
        id="FMT-12",
        level="should",
        area="FMT",
        statement="If an editor adds a byte-order mark or turns line ends into CRLF, reading returns every record or"
        " is refused; records do not silently vanish.",
        source="field reports R205, R206",
        needs=_DAMAGED,
        # A special case that is meant to count less: an editor's harmless marks are no damage to the records.
        narrower_than=("FMT-04",),
    ),
)
