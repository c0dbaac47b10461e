"""LIVE and RES: published events on their way to storage, and the closing of interrupted turns.

LIVE is claimed by giving the ``live`` seam, RES by giving ``resume``. The backend subscribes once to a session hub that
sends ``session/event`` (synchronous), ``session/flush`` (awaited) and ``session/disposed``.
"""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause

AREAS = {"LIVE": "The live write path", "RES": "Resuming"}

_PATH = "S3, The live write path and shutdown drain"
_GLANCE = "S3, The write path at a glance"
_RECOVERY = "S3, Resuming and crash recovery"
_LIVE_NEEDS = frozenset({Need.LIVE})
_RESUME_NEEDS = frozenset({Need.RESUME})

_LIVE = (
    Clause(
        id="LIVE-01",
        level="claim",
        area="LIVE",
        statement="While a session has an active write handle, each event it publishes reaches storage before"
        " `live_window` has passed, in publication order.",
        source=f"{_PATH}; R226, R235",
        needs=_LIVE_NEEDS | {Need.CLOCK},
        claim="live",
        reading="Where no `live_window` is declared only the order is judged.",
    ),
    Clause(
        id="LIVE-02",
        level="claim",
        area="LIVE",
        statement="A window opens with the first event waiting and ends when it was due to end, however many events"
        " join it. What is published while a drain runs is kept in order for the batch after it.",
        source=_GLANCE,
        needs=_LIVE_NEEDS | {Need.CLOCK},
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-03",
        level="claim",
        area="LIVE",
        statement="On `session/flush` the backend stops waiting and stores at least all events published so far; once"
        " that resolves it is as good a barrier as a flush of the handle.",
        source=_GLANCE,
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-04",
        level="claim",
        area="LIVE",
        statement="If writing in the background fails, a warning with the session's name is logged and the events"
        " keep their place and order. Further tries happen no more than once per window, or wait for an explicit"
        " flush; no event gets lost or is stored twice.",
        source=f"{_PATH}; R079, R084, R088",
        needs=_LIVE_NEEDS | {Need.FAULTS, Need.CLOCK},
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-05",
        level="claim",
        area="LIVE",
        statement="An explicit flush after a failed background write tries the events again. It raises for as long as"
        " storage fails, and after that each event is in the log exactly once.",
        source=f"{_PATH}; R076, R089",
        needs=_LIVE_NEEDS | {Need.FAULTS},
        narrower_than=("LIVE-03", "LIVE-04"),
        claim="live",
    ),
    Clause(
        id="LIVE-06",
        level="claim",
        area="LIVE",
        statement="When `session/disposed` arrives, the handle is drained and closed. If this fails, the log of the"
        " program records it with the session's id and the hub sees no exception; closing the handle or the service"
        " drains in the same way.",
        source=f"{_PATH}; R091",
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-13",),
        claim="live",
        reading="The failing drain is tried where the kit can make storage fail.",
    ),
    Clause(
        id="LIVE-07",
        level="claim",
        area="LIVE",
        statement="Without an active write handle nothing a session publishes is stored, and flushing it through"
        " `session/flush` simply resolves.",
        source=_PATH,
        needs=_LIVE_NEEDS,
        claim="live",
    ),
    Clause(
        id="LIVE-08",
        level="claim",
        area="LIVE",
        statement="Events are captured when they are published: what the producer changes later changes nothing that"
        " is stored.",
        source=f"{_PATH}; R059",
        needs=_LIVE_NEEDS | {Need.CALLER_MEMORY},
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-09",
        level="claim",
        area="LIVE",
        statement="Events that seeded the session, and were appended by hand before it was published, do not enter"
        " the live queue a second time.",
        source=_GLANCE,
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-10",
        level="claim",
        area="LIVE",
        statement="If a session is closed and opened for writing again, events published from then on go to the new"
        " handle. Should a failed close have lost events, flushing that handle is refused with"
        " `SessionContiguityError` rather than storing a log with a gap.",
        source=_PATH,
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01", "SEQ-02"),
        claim="live",
        reading="The failed close is tried where the kit can make storage fail.",
    ),
    Clause(
        id="LIVE-11",
        level="should",
        area="LIVE",
        statement="A storage outage does not make memory grow without limit, unless producers are slowed or told"
        " instead; when it is over, events are stored in their order.",
        source="field reports R079, R089",
        needs=_LIVE_NEEDS | {Need.FAULTS},
        claim="live",
        reading="While 15 MB are published into the outage, the process takes no more than 8 MiB of them, or the"
        " producer is told.",
    ),
    Clause(
        id="LIVE-12",
        level="claim",
        area="LIVE",
        statement="Calling `append` while published events are still waiting has one of two outcomes: the waiting"
        " events go first, or contiguity refuses the append and neither side loses anything. Events are never"
        " swapped, stored twice or left stuck.",
        source="S3, The write path at a glance; R226, R235",
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01", "SEQ-05"),
        claim="live",
    ),
    Clause(
        id="LIVE-13",
        level="claim",
        area="LIVE",
        statement="Anything published before a flush of the handle, a flush of the service or a `close` is made"
        " durable by it.",
        source=f"{_PATH}; R095",
        needs=_LIVE_NEEDS,
        narrower_than=("CLOSE-03", "FLUSH-01", "LIVE-01"),
        claim="live",
    ),
    Clause(
        id="LIVE-14",
        level="claim",
        area="LIVE",
        statement="If a published event turns out to be impossible to store, the backend names its seq, either right"
        " at publication or in every flush and in the close; its seq is not given to any later event.",
        source="field reports R088, R189, R216",
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01", "LIVE-03", "LIVE-13"),
        claim="live",
    ),
)

_RES = (
    Clause(
        id="RES-01",
        level="claim",
        area="RES",
        statement="Resuming a log that is empty, or in which every turn was ended, appends no closers.",
        source=f"{_RECOVERY}; R245",
        needs=_RESUME_NEEDS,
        claim="resume",
    ),
    Clause(
        id="RES-02",
        level="claim",
        area="RES",
        statement="Resuming an unfinished last turn appends its closers in a fixed order. First comes one error"
        " `tool/result` per unanswered call of the step still open, ordered as the calls were requested; then"
        ' `step/end`, if a step is open; last `turn/end` with that turn and `reason: {kind: "interrupted"}`. They'
        " take the next seqs and the time of the log's last event.",
        source=f"{_RECOVERY}; R240, R243, R150, R239",
        needs=_RESUME_NEEDS,
        claim="resume",
    ),
    Clause(
        id="RES-03",
        level="claim",
        area="RES",
        statement="The closer of a requested call shows how far the call came. Without a `tool/call` record its error"
        " code is `TOOL_NOT_STARTED`; with one, but no result, it is `TOOL_OUTCOME_UNKNOWN`, and `sourceEventSeqs`"
        " points to that record.",
        source="S3, Model Experience; R242, R248",
        needs=_RESUME_NEEDS,
        narrower_than=("RES-02",),
        claim="resume",
    ),
    Clause(
        id="RES-04",
        level="claim",
        area="RES",
        statement="The write handle that resumes appends all closers as a normal batch. A repeated resume finds"
        " nothing to do, and if a crash cut the batch short the next resume completes it.",
        source=f"{_RECOVERY}; R245, R236",
        needs=_RESUME_NEEDS,
        narrower_than=("RES-01", "RES-02"),
        claim="resume",
        reading="The crash is tried where the kit can make one.",
    ),
    Clause(
        id="RES-05",
        level="claim",
        area="RES",
        statement="An observer that only reads balances an interrupted turn in memory and changes nothing on storage.",
        source=f"{_RECOVERY}; R067",
        needs=_RESUME_NEEDS,
        narrower_than=("SVC-11",),
        claim="resume",
    ),
    Clause(
        id="RES-06",
        level="claim",
        area="RES",
        statement="The resumer takes ownership first, reads the log through its write handle and derives the closers"
        " from that; if they are refused for contiguity it derives them afresh.",
        source=f"{_RECOVERY}; R016, R017",
        needs=_RESUME_NEEDS,
        narrower_than=("RES-02",),
        claim="resume",
    ),
)

CLAUSES = _LIVE + _RES
