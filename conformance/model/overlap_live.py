"""What sessions publish while calls are in flight: what it means for the calls beside it, and what they mean for it.

Publishing takes no time and is ordered by its call, like everything else that is done to one session through its hub.
Whether a published event is stored beside a call in flight the backend decides, unless a barrier covers it. Whom an
event goes to is not said while ownership changes hands; of such a session nothing is judged any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.model.batches import batch_refusals, is_event
from conformance.model.history import Raised
from conformance.model.live_flow import active, broken_at, lingers, promote
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Dispose,
    Flush,
    FlushInstance,
    HubFlush,
    Publish,
)
from conformance.model.phase import Flight, Phase
from conformance.model.phase_order import settled
from conformance.model.state import Session
from conformance.model.sweep_rules import serve_others
from conformance.model.transitions import end_ownership

if TYPE_CHECKING:
    from conformance.model.judge import Judge

CONTIGUITY = "SessionContiguityError"
CLOSED = "SessionHandleClosedError"


def waiting(session: Session) -> int:
    """How many published events of the session are not known to be stored."""
    return 0 if session.live is None else len(session.live.waiting)


def _published(phase: Phase, session: str | None) -> Iterator[Flight]:
    return (each for each in phase.made() if isinstance(each.op, Publish) and each.session == session)


# -- signals of the hub ------------------------------------------------------------------------------


def settles(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """Whether that is all there is to say of a call: of a signal that was given up or went nobody knows where."""
    if flight.is_on_hub and (_is_unclear(judge, phase, flight) or _is_refused_as_closed(phase, flight)):
        return True
    if flight.is_on_hub and flight.cancelled:
        _cancelled(judge, flight)
        return True
    return _is_behind_what_came(judge, phase, flight) or _is_joined_by_a_misfit(judge, phase, flight)


def _is_unclear(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """Whether nobody can say whom a signal went to: an owner came, or went, when it was given.

    The session is blurred then; of a signal in flight that is told so nothing but its end is demanded.
    """
    changes = (each for each in phase.made() if each.begin < flight.begin and _changes_owner(each, flight))
    if not any(settled(phase, each) > flight.begin for each in changes):
        return False
    if flight.kind == "Hung":
        judge.about(flight.ended)
        judge.fail("LIVE-03" if isinstance(flight.op, HubFlush) else "LIVE-06", "a signal that comes to its end")
    if not isinstance(flight.op, HubFlush):
        _blur(judge, flight)
    return True


def _changes_owner(change: Flight, signal: Flight) -> bool:
    if isinstance(change.op, CloseInstance):
        return change.instance == signal.instance
    mine = change.session == signal.session and change.instance == signal.instance
    return mine and (isinstance(change.op, Close | Dispose) or (change.gives_owner and not change.kind))


def judge_ends(judge: Judge, phase: Phase) -> None:
    """LIVE-06: a session's end that comes while its owner is being closed resolves when that is done, not before."""
    for end in phase.calls(Dispose):
        for close in phase.of(end.session or ""):
            is_first = isinstance(close.op, Close) and phase.close_of(close.op.handle) is close
            handle = judge.world.handles.get(close.op.handle) if is_first else None
            if (
                handle is None
                or not handle.is_writer
                or close.instance != end.instance
                or close.op.handle in phase.closed
            ):
                continue
            if not (end.resolved and close.resolved and close.begin < end.begin < close.end):
                continue
            judge.about(end.ended)
            if end.ended is not None and close.ended is not None and end.ended.at < close.ended.at:
                judge.fail("LIVE-06", "resolved when the close that was under way had ended", "resolved before")
            judge.witness("LIVE-06")


def _is_refused_as_closed(phase: Phase, flight: Flight) -> bool:
    """Whether a flush by the hub was told that the handle is closed, by a close that was called while it was under way.

    That one covers what the flush would have.
    """
    if not isinstance(flight.op, HubFlush) or flight.kind != CLOSED:
        return False
    return any(each.begin < flight.end and _changes_owner(each, flight) for each in phase.made())


def may_be_closed(phase: Phase, flight: Flight) -> bool:
    """Whether a call on a handle may be refused as closed because of its session's end, called before it ended."""
    if flight.kind != CLOSED or flight.session not in phase.signalled:
        return False
    ends = (each for each in phase.of(flight.session or "") if isinstance(each.op, Dispose))
    return any(each.begin < flight.end and each.instance == flight.instance for each in ends)


def _cancelled(judge: Judge, flight: Flight) -> None:
    """SEQ-08, CLOSE-04: a flush by the hub that is cancelled promises nothing; a disposal goes on, and nobody hears."""
    op = flight.op
    handle = active(judge, op.instance, op.session)
    if handle is None:
        return
    if isinstance(op, HubFlush):
        handle.disturbed = handle.disturbed or "SEQ-08"
        if not handle.session.log and not handle.session.durable and not waiting(handle.session):
            judge.world.blur(handle.session)
        return
    judge.world.published.discard((op.instance, op.session))
    handle.closed = handle.unheard = True
    end_ownership(handle)
    _blur(judge, flight)


def drained(judge: Judge, session: Session) -> None:
    """CLOSE-04: a cancelled close goes on, and stores what waited before it."""
    live = session.live
    if live is None or not live.waiting or session.opaque:
        return
    if live.held or broken_at(session) is not None:
        judge.world.blur(session)
        return
    promote(judge, session, len(live.waiting), "CLOSE-04")


def _is_behind_what_came(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """LIVE-12: whether an append was judged behind what was published while it was in line, and stored before it.

    The backend may take such events in before the append's turn comes, or leave them to their window. An append that
    is refused changes nothing, so that its place among the calls is the one that it has, and only what it was told is
    of another. Of one that was taken for the place that such events gave it nothing more is said.
    """
    op = flight.op
    if not isinstance(op, Append) or flight.kind not in ("", CONTIGUITY):
        return False
    handle = judge.world.handles.get(op.handle)
    if handle is None or handle.closed or not handle.owns or handle.session.opaque:
        return False
    session = handle.session
    end = len(session.log) + waiting(session)
    beside = [
        each
        for each in _published(phase, flight.session)
        if flight.begin < each.begin < flight.end and each.instance == flight.instance and each.resolved
    ]
    if not beside or (flight.resolved and "SEQ-02" not in batch_refusals(op.events, end, judge.capabilities).must):
        return False
    for each in beside:
        if not is_event(each.op.event) or each.op.event["seq"] != end:
            continue
        end += 1
        refusals = batch_refusals(op.events, end, judge.capabilities)
        if flight.resolved and not refusals.must:
            _blur(judge, flight)
            return True
        told = getattr(flight.outcome, "error", None)
        if told and "SEQ-02" in refusals.must and (refusals.expected, refusals.got) == (told.expected, told.got):
            session.refused, session.refused_by = list(op.events), "LIVE-12"
            session.tag("LIVE-12")
            judge.about(flight.ended)
            judge.witness("LIVE-12")
            return True
    return False


def _blur(judge: Judge, flight: Flight) -> None:
    session, _ = judge.world.visible(flight.instance or 0, flight.session or "")
    if session is not None:
        judge.world.blur(session)


# -- barriers beside what is published ---------------------------------------------------------------


def _is_joined_by_a_misfit(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """LIVE-14: whether a barrier rejects for an event that was published behind its call, and fits nowhere.

    It may take in what comes while it is under way (LIVE-03), and is told of it then. Of the session it says nothing
    else. Where the event has its place in the log, the barrier was refused for nothing, and the usual rules say so.
    """
    if not isinstance(flight.op, Flush | HubFlush | FlushInstance | Close) or not isinstance(flight.outcome, Raised):
        return False
    told = {each.got for each in (flight.outcome.error, *flight.outcome.error.members) if each.kind == CONTIGUITY}
    late = [each for each in phase.made() if isinstance(each.op, Publish) and flight.begin < each.begin < flight.end]
    for each in late:
        event = each.op.event
        if is_event(event) and event["seq"] in told and _fits_nowhere(judge, phase, each):
            _blur(judge, each)
            if isinstance(flight.op, Close) and flight.op.handle in judge.world.handles:
                handle = judge.world.handles[flight.op.handle]
                handle.closed = handle.unheard = True
                end_ownership(handle)
            if isinstance(flight.op, FlushInstance):
                session, _ = judge.world.visible(each.instance or 0, each.session or "")
                serve_others(judge, flight.op, flight.outcome.error, [session] if session is not None else [])
            return True
    return False


def _fits_nowhere(judge: Judge, phase: Phase, published: Flight) -> bool:
    """Whether the calls made before it, each where it fits, may not bring the log to its seq.

    What was published behind a call by which an owner comes or goes may have gone to nobody.
    """
    session, _ = judge.world.visible(published.instance or 0, published.session or "")
    ends = {0 if session is None else phase.lengths.get(session.serial, 0)}
    for each in phase.of(published.session or ""):
        if each is published:
            break
        events: Any = [each.op.event] if isinstance(each.op, Publish) else getattr(each.op, "events", None)
        is_stored = each.resolved or each.landed
        if is_stored and isinstance(events, list) and all(map(is_event, events)) and events[:1]:
            behind = {end + len(events) if events[0]["seq"] == end else end for end in ends}
            ends = ends | behind if _may_go_to_nobody(phase, each) else behind
    return ends != {published.op.event["seq"]}


def _may_go_to_nobody(phase: Phase, flight: Flight) -> bool:
    return isinstance(flight.op, Publish) and any(
        each.begin < flight.begin and _changes_owner(each, flight) for each in phase.made()
    )


def covers(barrier: Flight, session: str | None, instance: int | None, begin: int) -> bool:
    """Whether the barrier covers what was published for the session, or done to it, at that place."""
    if not barrier.resolved or begin > barrier.begin or barrier.instance != instance:
        return False
    if isinstance(barrier.op, FlushInstance):
        return True
    return isinstance(barrier.op, Flush | Close | HubFlush | Dispose) and barrier.session == session


# -- views -------------------------------------------------------------------------------------------


def is_beside_a_drain(phase: Phase, view: Flight) -> bool:
    """Whether what waits may be stored beside a view at any moment, without a call that says so."""
    if not view.is_view or not phase.signalled:
        return False
    return view.session is None or view.session in phase.signalled


def stored_ends(phase: Phase, session: Session) -> Iterator[tuple[Flight, int]]:
    """The publications, each with the length that the log has when the event is in it."""
    for each in _published(phase, session.id):
        event = each.op.event
        if is_event(event) and each.resolved and event["seq"] < len(session.log) + waiting(session):
            yield each, event["seq"] + 1


def least(phase: Phase, view: Flight, session: Session) -> int:
    """How many events the view must see because of barriers that had resolved when it began."""
    if session.id not in phase.signalled:
        return 0
    bars = [each for each in phase.made() if each.before(view)]
    found = 0
    for each, length in stored_ends(phase, session):
        if any(covers(bar, session.id, each.instance, each.begin) for bar in bars):
            found = max(found, length)
    owner = phase.waiting.get(session.serial)
    if owner is not None and any(covers(bar, session.id, owner, 0) for bar in bars):
        found = max(found, phase.lengths.get(session.serial, 0))
    return min(found, len(session.log))


def shown(judge: Judge, phase: Phase, view: Flight, session: Session, upto: int) -> None:
    """What waits is in the log when a view shows it, and was published before the view ended."""
    known = phase.lengths.get(session.serial, 0)
    ends = [length for each, length in stored_ends(phase, session) if each.begin < view.end]
    count = min(upto, max([known, *ends])) - len(session.log)
    broken = broken_at(session)
    if waiting(session) and not session.opaque and not lingers(judge, session, view.instance):
        promote(judge, session, min(count, waiting(session) if broken is None else broken), "LIVE-01")


def begin(phase: Phase, session: Session) -> None:
    """Note what waits when the clients begin."""
    count = waiting(session)
    if count and session.owner is not None:
        phase.lengths[session.serial] += count
        waits = session.live.waiting if session.live is not None else ()
        phase.reach[session.serial] = 1 + max((each.event["seq"] for each in waits if is_event(each.event)), default=-1)
        phase.waiting[session.serial] = session.owner.instance
        phase.signalled.add(session.id)
