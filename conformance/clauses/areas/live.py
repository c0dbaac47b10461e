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
        statement="The events that a session with an active write handle publishes are persisted in order, within the"
        " declared `live_window`.",
        source=f"{_PATH}; R226, R235",
        needs=_LIVE_NEEDS | {Need.CLOCK},
        claim="live",
        reading="Where no `live_window` is declared only the order is judged.",
    ),
    Clause(
        id="LIVE-02",
        level="claim",
        area="LIVE",
        statement="The first pending event starts the window, and later ones join it without moving its deadline."
        " Events that arrive during a drain form the next batch, in order.",
        source=_GLANCE,
        needs=_LIVE_NEEDS | {Need.CLOCK},
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-03",
        level="claim",
        area="LIVE",
        statement="`session/flush` cancels the wait, stores every event that was published before it (later ones may"
        " join), and then is a barrier like the handle's flush.",
        source=_GLANCE,
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-04",
        level="claim",
        area="LIVE",
        statement="A background write that fails keeps its events in order and is logged as a warning that names the"
        " session. It is tried again at most once in each window, or not before the next explicit flush, and nothing"
        " is lost or doubled.",
        source=f"{_PATH}; R079, R084, R088",
        needs=_LIVE_NEEDS | {Need.FAULTS, Need.CLOCK},
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-05",
        level="claim",
        area="LIVE",
        statement="After a failed background write the next explicit flush tries again, rejects loudly while storage"
        " fails, and stores everything exactly once when it heals.",
        source=f"{_PATH}; R076, R089",
        needs=_LIVE_NEEDS | {Need.FAULTS},
        narrower_than=("LIVE-03", "LIVE-04"),
        claim="live",
    ),
    Clause(
        id="LIVE-06",
        level="claim",
        area="LIVE",
        statement="`session/disposed` drains and closes the handle; a final drain that fails there is logged with the"
        " session's id and not thrown into the hub. `close` of the handle and the service's teardown drain as well.",
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
        statement="A session without an active write handle persists nothing, and a `session/flush` of it resolves.",
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
        statement="Seed events that were appended through the handle before publication are never enqueued again.",
        source=_GLANCE,
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01",),
        claim="live",
    ),
    Clause(
        id="LIVE-10",
        level="claim",
        area="LIVE",
        statement="A second write handle, opened after a `close`, receives the events that are published after it was"
        " opened. If events were lost with a failed close, its flush is refused with `SessionContiguityError`, and a"
        " gap is never stored.",
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
        statement="While storage is down, memory stays bounded or the producers feel it, and order is kept at"
        " recovery.",
        source="field reports R079, R089",
        needs=_LIVE_NEEDS | {Need.FAULTS},
        claim="live",
    ),
    Clause(
        id="LIVE-12",
        level="claim",
        area="LIVE",
        statement="On an explicit append while published events wait, either these are stored first, or the append is"
        " refused by contiguity and both stay intact; nothing is ever reordered, doubled or stuck.",
        source="S3, The write path at a glance; R226, R235",
        needs=_LIVE_NEEDS,
        narrower_than=("LIVE-01", "SEQ-05"),
        claim="live",
    ),
    Clause(
        id="LIVE-13",
        level="claim",
        area="LIVE",
        statement="The handle's `flush`, the service's `flush` and `close` cover every event that was published"
        " before them.",
        source=f"{_PATH}; R095",
        needs=_LIVE_NEEDS,
        narrower_than=("CLOSE-03", "FLUSH-01", "LIVE-01"),
        claim="live",
    ),
    Clause(
        id="LIVE-14",
        level="claim",
        area="LIVE",
        statement="A published event that cannot be stored is reported with its seq, at publication or by every flush"
        " and the close, and nothing later is stored in its place.",
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
        statement="Resuming closes an open final turn with, in this order: an error `tool/result` for each unanswered"
        " call of the step that is still open, in the order of the requests; `step/end` if a step is open; and"
        ' `turn/end` with the turn and the reason `{kind: "interrupted"}`. Their seqs continue the log and their'
        " times repeat that of its last event.",
        source=f"{_RECOVERY}; R240, R243, R150, R239",
        needs=_RESUME_NEEDS,
        claim="resume",
    ),
    Clause(
        id="RES-03",
        level="claim",
        area="RES",
        statement="A call that was requested but never recorded as started is closed with the error code"
        " `TOOL_NOT_STARTED`; one that was recorded without a result, with `TOOL_OUTCOME_UNKNOWN` and a"
        " `sourceEventSeqs` that cites its `tool/call`.",
        source="S3, Model Experience; R242, R248",
        needs=_RESUME_NEEDS,
        narrower_than=("RES-02",),
        claim="resume",
    ),
    Clause(
        id="RES-04",
        level="claim",
        area="RES",
        statement="Closers go through the same write handle as an ordinary batch. Resuming again adds nothing, and a"
        " crash inside that batch is healed by the next resume.",
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
        statement="Closers are computed from what the write handle read once it owned the session; where contiguity"
        " refuses them, they are computed anew.",
        source=f"{_RECOVERY}; R016, R017",
        needs=_RESUME_NEEDS,
        narrower_than=("RES-02",),
        claim="resume",
    ),
)

CLAUSES = _LIVE + _RES
