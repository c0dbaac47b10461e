"""What calls that overlap may come to.

When the last of them has ended they are put into an order in which they may have taken effect (``phase_order``), and
the ordinary rules judge one after the other. What only an overlap can break is judged here: who wins a race, what a
cancelled call leaves, and what was in flight when a handle was closed. Views that were in flight beside a change are
judged by what they must and may see (``overlap_views``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.model import fault_rules, live_calls, overlap_live, overlap_sweeps, overlap_views
from conformance.model.batches import is_event
from conformance.model.history import Outcome, Raised, Returned
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Dispose,
    Flush,
    FlushInstance,
    OpenSession,
    Operation,
    Overlap,
    Read,
)
from conformance.model.overlap import LOOKS
from conformance.model.overlap_cancelled import cancelled, note_promise, remember, settle
from conformance.model.overlap_failed import witness_failing_append
from conformance.model.overlap_situation import ORDINARY, situation
from conformance.model.phase import Flight, Phase
from conformance.model.phase_order import Order, arrange
from conformance.model.phase_scene import MISSING
from conformance.model.races import judge_races
from conformance.model.state import Session
from conformance.model.transitions import Standing, cover, standing
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

CLOSED = "SessionHandleClosedError"

_BY_HANDLE = (Read, Append, Flush)
_CLOSES = (Close, CloseInstance)
_ENDS = (*_CLOSES, Dispose)
_WRITES = (Append, Flush)


def begin(judge: Judge, phase: Phase) -> None:
    """Note what is certain when the clients begin."""
    world = judge.world
    for session in (*world.stored.values(), *world.pending.values()):
        phase.lengths[session.serial] = len(session.log)
        overlap_live.begin(phase, session)
        for number in world.instances:
            seen, certain = world.visible(number, session.id)
            if seen is session and certain:
                phase.floors[number, session.serial] = session.floor(number)
    if world.trouble is not None:
        phase.haunted = {serial: len(each.hauntings) for serial, each in world.trouble.mishaps.items()}
    phase.shown = {number: handle.shown for number, handle in world.handles.items()}
    phase.ended = frozenset(number for number, instance in world.instances.items() if instance.closed)
    phase.closed = frozenset(number for number, handle in world.handles.items() if handle.closed)


def looks(judge: Judge) -> Iterator[Operation]:
    """The looks that tell what a cancelled append left: each session is opened, read and closed once."""
    phase = judge.phase
    if phase is None:
        return
    names = dict.fromkeys((each.instance, each.session) for each in phase.calls(Append) if each.cancelled)
    ended = {each.op.instance for each in phase.calls(CloseInstance)}
    unused = max((LOOKS - 1, *judge.world.handles)) + 1
    for number, (instance, name) in enumerate(names, unused):
        open_still = instance in judge.world.instances and not judge.world.instances[instance].closed
        if instance is None or name is None or instance in ended or not open_still:
            continue
        yield OpenSession(instance, number, name, "read")
        yield Read(number)
        yield Close(number)


def overlap(judge: Judge, call: Call, op: Overlap, outcome: Outcome) -> None:
    """SEQ-05, SEQ-08, SVC-03, OWN-04, OWN-05, FLUSH-03, CLOSE-04, CLOSE-06, FRESH-03, READ-06; and all the others."""
    phase, judge.phase = judge.phase, None
    if phase is None:
        return
    world, flights = judge.world, phase.made()
    if world.trouble is not None:
        # Also what only a look met, or nobody, has come by now.
        world.trouble.fired = max(world.trouble.fired, int(phase.meets_faults))
        for each in flights:
            if each.resolved:
                fault_rules.note_look(world, each.op, phase.span(each))
    judge_races(judge, phase)
    landed = settle(phase) if phase.gives_up else {}
    for each in flights if landed else ():
        each.landed = landed.get(id(each))
    views = [
        each
        for each in flights
        if each.is_view
        and (overlap_live.is_beside_a_drain(phase, each) or overlap_views.is_beside_a_change(phase, each))
    ]
    beside = set(map(id, views))
    closes = phase.has_closes
    ordered = [
        each
        for each in flights
        if not ((closes or each.kind == MISSING) and _is_overtaken(judge, phase, each)) and id(each) not in beside
    ]
    is_settled = phase.is_quiet and len(world.instances) == 1 and world.trouble is None
    order = Order(ordered) if is_settled else arrange(world, phase, ordered)
    judge.orders += 1
    if not order.decided:
        judge.undecided += 1
        _give_up(judge, phase, flights)
        return
    _judge_in_turn(judge, phase, order.flights, landed)
    if phase.calls(FlushInstance):
        overlap_sweeps.judge_sweeps(judge, phase)
        overlap_sweeps.judge_late_closes(judge, phase)
    if closes:
        _judge_closes(judge, phase)
        overlap_live.judge_ends(judge, phase)
    for view in views:
        judge.about(view.ended)
        overlap_views.judge_view(judge, phase, view)
    if landed:
        _blur(judge, _open_ends(judge, phase, landed))
    judge.exact = False


def _judge_in_turn(judge: Judge, phase: Phase, flights: list[Flight], landed: dict[int, bool | None]) -> None:
    """The calls one after the other.

    What is rare is asked about once, and not for each of them.
    """
    step, gives_up, closes = phase.step, phase.gives_up, phase.has_closes
    may_store_half = gives_up or bool(phase.calls(FlushInstance))
    for flight in flights:
        judge.world.span = (step, flight.begin), (step, flight.end)
        if flight.part is not None:
            judge.about(flight.ended)
            _swept(judge, phase, flight, flight.part)
        elif phase.signalled and overlap_live.settles(judge, phase, flight):
            continue
        elif flight.cancelled:
            judge.about(flight.ended)
            cancelled(judge, phase, flight, landed.get(id(flight)), situation(judge, phase, flight))
        elif (ended := phase.with_faults(flight)) is not None and flight.is_view:
            judge.redo(flight.begun, ended, ORDINARY)
            if flight.resolved:
                if overlap_views.is_made_beside_a_change(phase, flight):
                    judge.witness("FRESH-03")
                if phase.shows_faults:
                    witness_failing_append(judge, phase, flight)
        elif ended is not None:
            if closes:
                _note_hurried(judge, phase, flight)
            if _tells_of_closes_only(judge, phase, flight):
                ended = ended._replace(outcome=Returned())
            judge.redo(flight.begun, ended, situation(judge, phase, flight))
            if gives_up:
                _note_given_up(judge, flight)
        if may_store_half:
            _half_stored(judge, phase, flight)
        if judge.world.trouble is not None:
            _left_open(judge, phase, flight)


# -- what closes mean for the calls beside them ------------------------------------------------------


def _is_overtaken(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """Whether a close settles what it comes to, whatever else there is; if so it is judged here.

    From the call of a handle's close on that handle refuses. What was called before may be refused because of it, and
    so may everything that meets the service's own close; nothing of it is stored then.
    """
    op = flight.op
    if isinstance(op, _BY_HANDLE) and op.handle in phase.places:
        close = phase.close_of(op.handle)
        before = close is not None and close.begin < flight.begin
        if before and not _was_closed(judge, op.handle):
            judge.about(flight.ended)
            if flight.kind != CLOSED:
                judge.fail("CLOSE-02", f"refused with {CLOSED}: close was called before")
            judge.witness("CLOSE-02")
            return True
        beside = close is not None and close.begin < flight.end
        beside = beside or overlap_live.may_be_closed(phase, flight)
        if flight.kind == CLOSED and (beside or phase.closing(flight.instance, flight)):
            handle = judge.world.handles.get(op.handle)
            if isinstance(op, Append) and handle is not None:
                remember(handle.session, op.events, "CLOSE-06")
            return not _was_closed(judge, op.handle)
        return False
    if isinstance(op, OpenSession) and flight.kind == MISSING and overlap_views.may_be_missing(judge, phase, flight):
        return True
    rejects = flight.kind not in ("", "Hung") and not isinstance(op, _CLOSES)
    return rejects and not flight.shows_fault and phase.closing(flight.instance, flight)


def _was_closed(judge: Judge, number: int) -> bool:
    handle = judge.world.handles.get(number)
    return handle is not None and handle.closed


def _note_hurried(judge: Judge, phase: Phase, flight: Flight) -> None:
    """CLOSE-06, CLOSE-07: an append that was in flight when its handle was closed, and resolved, is there."""
    op = flight.op
    if not isinstance(op, Append) or not flight.resolved or op.handle not in judge.world.handles:
        return
    close = phase.close_of(op.handle)
    beside = close is not None and close.races(flight)
    if (beside or phase.closing(flight.instance, flight)) and op.events and all(map(is_event, op.events)):
        note_promise(judge.world.handles[op.handle].session, op.events, "CLOSE-06" if beside else "CLOSE-07")


def _note_given_up(judge: Judge, flight: Flight) -> None:
    """SEQ-08: its caller gave up an append or a flush that had ended by then: the handle stays usable all the same."""
    if flight.given_up and isinstance(flight.op, _WRITES) and flight.op.handle in judge.world.handles:
        handle = judge.world.handles[flight.op.handle]
        if not handle.closed:
            handle.disturbed = handle.disturbed or "SEQ-08"


# -- sweeps ------------------------------------------------------------------------------------------


def _swept(judge: Judge, phase: Phase, flight: Flight, number: int) -> None:
    """FLUSH-01, FLUSH-02: a service flush has flushed this handle, or names its session among those that failed."""
    handle, outcome, trouble = judge.world.handles.get(number), flight.outcome, judge.world.trouble
    if handle is None or handle.closed or standing(judge.world, handle) is not Standing.OWNER:
        return
    ended = phase.with_faults(flight)
    if isinstance(outcome, Raised) and trouble is not None and ended is not None:
        fault_rules.note(judge, Flush(number), ended.faults)
        if any(names_session(member, handle.session.id) for member in outcome.error.members):
            fault_rules.flush_failed(judge, trouble, handle, outcome.error)
            judge.witness("FLUSH-02")
            return
        cover(judge.world, handle, "failing service flush")
        return
    if flight.resolved and overlap_live.waiting(handle.session) and not handle.session.opaque:
        live_calls.barrier(judge, Flush(number), handle.session, outcome)
    cover(judge.world, handle, "service flush")
    judge.witness("FLUSH-01")


def _judge_closes(judge: Judge, phase: Phase) -> None:
    """CLOSE-01: a later close does not end before the first. CLOSE-08: handles that come late are closed too."""
    for close in phase.calls(Close):
        first = phase.close_of(close.op.handle)
        if first is None or first is close or not close.resolved or first.cancelled or not close.overlaps(first):
            continue
        judge.about(close.ended)
        if close.ended is not None and (first.ended is None or close.ended.at < first.ended.at):
            judge.fail("CLOSE-01", "resolved when the first close has ended, with its outcome", "resolved before")
        judge.witness("CLOSE-01")
    for made in (*phase.calls(Create), *phase.calls(OpenSession)):
        handle = judge.world.handles.get(made.op.handle)
        if handle is not None and made.resolved and phase.closing(made.instance, made):
            handle.late = True


# -- what stays open ---------------------------------------------------------------------------------


def _open_ends(judge: Judge, phase: Phase, landed: dict[int, bool | None]) -> list[str]:
    """Ids of which these calls leave open what is stored."""
    found = {each.session for each in phase.made() if id(each) in landed and landed[id(each)] is None}
    return [name for name in found if name is not None and name not in judge.world.blurred]


def _half_stored(judge: Judge, phase: Phase, flight: Flight) -> None:
    """Blur a session without events that the call may have stored or not, where nothing later says which."""
    if flight.is_view or isinstance(flight.op, Append):
        return
    numbers: list[int] = []
    if flight.cancelled and isinstance(flight.op, Flush):
        numbers = [flight.op.handle]
    elif flight.cancelled and isinstance(flight.op, FlushInstance):
        numbers = [number for number, each in judge.world.handles.items() if each.instance == flight.op.instance]
    elif isinstance(flight.op, _ENDS) and any(
        flight.races(sweep) and sweep.end > flight.begin for sweep in phase.sweeps(flight.instance)
    ):
        here = [(number, each) for number, each in judge.world.handles.items() if each.instance == flight.instance]
        numbers = [number for number, each in here if flight.session in (None, each.session.id)]
    elif flight.gives_owner and flight.resolved and any(map(flight.overlaps, phase.sweeps(flight.instance))):
        # Whether it was active yet when the sweep was called is not said.
        numbers = [flight.op.handle]
    for number in numbers:
        handle = judge.world.handles.get(number)
        if handle is None or not handle.is_writer or (handle.session.log and handle.session.recovery is None):
            continue
        if isinstance(flight.op, _ENDS) or (not handle.session.durable and not _is_told_later(judge, phase, flight)):
            judge.world.blur(handle.session)


def _left_open(judge: Judge, phase: Phase, flight: Flight) -> None:
    """Blur a session that a close left open, or erased, where something else was called about it in the overlap.

    What is stored of it behind calls that failed the first look tells; which look beside others is the first, nothing
    does.
    """
    if not isinstance(flight.op, _CLOSES):
        return
    ended = [each.session for each in judge.world.handles.values() if each.closed and each.is_writer]
    for session in dict.fromkeys(ended):
        recovery = session.recovery
        is_open = recovery is not None and not recovery.fixed and recovery.damage.fault
        if not (is_open or (session.erased and (phase.meets_faults or _is_hit(judge, session)))):
            continue
        about = (each for each in phase.flights if each.session in (None, session.id) and each is not flight)
        if any(each.end > flight.begin for each in about):
            judge.world.blur(session)


def _is_hit(judge: Judge, session: Session) -> bool:
    """Whether storage failed in a call about the session."""
    mishap = None if judge.world.trouble is None else judge.world.trouble.mishaps.get(session.serial)
    return mishap is not None and mishap.hit_at >= 0


def _tells_of_closes_only(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """Whether a service flush rejects for closes alone that it waited for, and that failed by now (FLUSH-03)."""
    if not isinstance(flight.op, FlushInstance) or flight.kind != "ExceptionGroup":
        return False
    ends = (*phase.calls(Close), *phase.calls(Dispose))
    here = (each for each in ends if each.instance == flight.instance and each.overlaps(flight))
    owned = {each.session.id for each in judge.world.handles.values() if each.is_writer and not each.closed}
    # The hub hears of no failure at a session's end.
    quiet = {each.id for each in judge.world.live.values() if each.live is not None and each.live.owes == "LIVE-06"}
    failed = [each.session for each in here if each.session is not None and (each.kind or each.session in quiet)]
    failed = [name for name in failed if name not in owned]
    members = flight.outcome.error.members  # type: ignore[union-attr]
    return bool(members) and all(any(names_session(each, name) for name in failed) for each in members)


def _is_told_later(judge: Judge, phase: Phase, flight: Flight) -> bool:
    """Whether the session is stored for certain a little later, and nobody else can have looked meanwhile."""
    if len(judge.world.instances) > 1 or isinstance(flight.op, FlushInstance):
        return False
    if flight.gives_owner and any(_is_part_of(phase, sweep, flight) for sweep in phase.sweeps(flight.instance)):
        return True
    return any(
        each.resolved and each.begin > flight.begin
        for each in phase.on_handle(flight.op.handle)
        if isinstance(each.op, _WRITES)
    )


def _is_part_of(phase: Phase, sweep: Flight, owner: Flight) -> bool:
    """Whether a service flush that resolved was called behind the call that gave this handle, and before its close."""
    end = phase.end_of(owner.op.handle)
    return sweep.resolved and owner.before(sweep) and (end is None or sweep.begin < end.begin)


def _give_up(judge: Judge, phase: Phase, flights: list[Flight]) -> None:
    """Of what these calls were about nothing is judged any more; a call of the service is about all its sessions."""
    names = {each.session for each in flights}
    is_of_all = any(isinstance(each.op, FlushInstance | CloseInstance) for each in flights)
    names |= {name for _, name in phase.places.values() if is_of_all}
    _blur(judge, sorted(filter(None, names)))
    for each in flights:
        if isinstance(each.op, CloseInstance) and each.op.instance in judge.world.instances:
            judge.world.instances[each.op.instance].closed = True


def _blur(judge: Judge, names: list[str]) -> None:
    for name in names:
        held = [each for each in (*judge.world.stored.values(), *judge.world.pending.values()) if each.id == name]
        for each in held:
            judge.world.blur(each)
        judge.world.blurred.add(name)
