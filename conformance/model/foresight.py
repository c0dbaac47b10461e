"""What a crash may leave of each session, told from the model as it is, without changing it.

Of a call under way nothing is certain: an append may be stored in whole, in part or not at all, a flush or close may
have covered everything or nothing, a create may have made its session visible where the backend is eager.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.contract import SessionHeader
from conformance.model.aftermath import Log, Stake
from conformance.model.batches import batch_refusals, header_refusals, is_event, understood
from conformance.model.operations import (
    ON_HANDLES,
    Append,
    Close,
    CloseInstance,
    Create,
    Fill,
    Flush,
    FlushInstance,
    Leave,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
)
from conformance.model.state import Handle, Session
from conformance.model.transitions import Standing, standing
from conformance.model.values import plain

if TYPE_CHECKING:
    from conformance.model.judge import Judge


@dataclass(frozen=True, slots=True)
class Prospect:
    """What may come back of one session.

    Attributes:
        session: as the model has it; None for one whose ``create`` was under way.
        logs: it has a prefix of one of them, of no fewer events than ``stake.covered``.
        batch: the events that an append under way would have added to the first log, as they were given.
    """

    id: str
    header: SessionHeader
    inherited: int | None
    stake: Stake
    logs: tuple[Log, ...]
    session: Session | None = None
    batch: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class Foresight:
    """What a crash may leave.

    Attributes:
        prospects: the sessions that must or may come back.
        absent: ids that must be free -> the clause that a trace of them breaks.
        untold: ids of which nothing can be told.
    """

    prospects: list[Prospect] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    untold: set[str] = field(default_factory=set)


_THROUGH_HANDLES = frozenset({*ON_HANDLES, Fill})


def subject(judge: Judge, op: Operation) -> str | None:
    """Id of the session that a call is about; None where it is about the whole service, or nothing."""
    if type(op) in _THROUGH_HANDLES:
        handle = judge.world.handles.get(op.handle)  # type: ignore[attr-defined]
        return None if handle is None else handle.session.id
    name = op.header.id if isinstance(op, Create) else getattr(op, "session", None)
    return name if isinstance(name, str) else None


def foresee(judge: Judge, during: Operation | None) -> Foresight:
    """What a crash now may leave, with this call under way."""
    world = judge.world
    found = Foresight(untold=set(world.blurred))
    flight = _Flight(judge, during)
    for name in dict.fromkeys([*world.stored, *(each for _, each in world.pending)]):
        if name in world.blurred:
            continue
        pending = [each for (_, other), each in world.pending.items() if other == name]
        stored = world.stored.get(name)
        awakened = [each for each in pending if each.serial in flight.awakened]
        if name in flight.untold or any(each.log for each in pending) or (awakened and stored is not None):
            found.untold.add(name)
        elif stored is not None or awakened:
            found.prospects.append(_prospect(judge, stored or awakened[0], flight))
        else:
            found.absent[name] = _trace(pending[0])
    if flight.created is not None and flight.created.id not in world.stored:
        found.absent.pop(flight.created.id, None)
        found.prospects.append(flight.created)
    elif isinstance(during, Create) and isinstance(during.header.id, str) and during.header.id not in world.stored:
        found.absent.setdefault(during.header.id, "DUR-03")
    return found


def _trace(session: Session) -> str:
    """The clause that a trace of a session breaks on which nothing was called that stores anything."""
    return "SEQ-03" if "SEQ-03" in session.tags else session.refused_by or "DUR-03"


class _Flight:
    """What the call under way may have done.

    Attributes:
        awakened: serials of pending sessions that it may have stored.
        batch: (serial, events) that it may have appended, as given.
        created: a session that it may have made.
        untold: ids of which nothing can be told because of it.
        chains: serial -> batches that calls in flight at once may have appended, in the order of the clients.
        target: the id it may write to; None for all; "" for none.
    """

    def __init__(self, judge: Judge, during: Operation | None) -> None:
        self.judge = judge
        self.awakened: set[int] = set()
        self.batch: tuple[int, list[dict[str, Any]]] | None = None
        self.created: Prospect | None = None
        self.untold: set[str] = set()
        self.chains: dict[int, list[list[dict[str, Any]]]] = {}
        self.target: str | None = ""
        match during:
            case Overlap():
                self._overlap(during)
            case Append() | Flush() | Close() | Leave() | Fill():
                self._on_handle(during)
            case FlushInstance() | CloseInstance() | OpenInstance():
                self.target = None
                if isinstance(during, FlushInstance):
                    self._sweep(during.instance)
            case OpenSession(access="write"):
                self.target = subject(judge, during) or ""
            case Create():
                self.target = subject(judge, during) or ""
                self._create(during)
            case _:
                pass

    def _on_handle(self, op: Append | Flush | Close | Leave | Fill) -> None:
        world = self.judge.world
        handle = world.handles.get(op.handle)
        if handle is None or handle.closed or not handle.is_writer or handle.session.opaque:
            return
        session, found = handle.session, standing(world, handle)
        self.target = session.id
        if found is Standing.BEATEN:
            return
        if isinstance(op, Fill) or (found is not Standing.OWNER and isinstance(op, Append | Flush)):
            self.untold.add(session.id)
        elif isinstance(op, Flush):
            self.awakened.add(session.serial)
        elif isinstance(op, Append) and _may_store(self.judge, session, op.events):
            self.awakened.add(session.serial)
            self.batch = (session.serial, op.events)
            if self.judge.capabilities.vocabulary == "closed" and not all(map(understood, op.events)):
                # Where it was stored, readers are refused: that is more than can be told of a log.
                self.untold.add(session.id)

    def _overlap(self, op: Overlap) -> None:
        """Of several calls under way nothing is certain of any, and the appends of a handle follow each other."""
        world, judge = self.judge.world, self.judge
        self.target = None
        for _, _, step in op.steps():
            call = step.call
            if isinstance(call, FlushInstance):
                self._sweep(call.instance)
            elif isinstance(call, Create | OpenSession) and isinstance(name := subject(judge, call), str):
                # What is done through a handle that nobody has yet is more than can be told.
                if isinstance(call, Create) or call.access == "write":
                    self.untold.add(name)
            elif isinstance(call, Append | Flush) and call.handle in world.handles:
                self._one_of_several(call, world.handles[call.handle])

    def _one_of_several(self, call: Append | Flush, handle: Handle) -> None:
        session, found = handle.session, standing(self.judge.world, handle) if handle.is_writer else None
        if found is None or handle.closed or session.opaque or found is Standing.BEATEN:
            return
        if found is not Standing.OWNER:
            self.untold.add(session.id)
        elif isinstance(call, Flush):
            self.awakened.add(session.serial)
        elif isinstance(call.events, list) and call.events and all(map(is_event, call.events)):
            self.awakened.add(session.serial)
            self.chains.setdefault(session.serial, []).append(plain(call.events))

    def _sweep(self, instance: int) -> None:
        for handle in self.judge.world.handles.values():
            active = handle.instance == instance and handle.is_writer and not handle.closed
            if active and standing(self.judge.world, handle) is not Standing.BEATEN:
                self.awakened.add(handle.session.serial)

    def _create(self, op: Create) -> None:
        world, judge = self.judge.world, self.judge
        refused = header_refusals(op.header, op.inherited).must
        if judge.capabilities.materialization != "eager" or refused or not self.target:
            return
        if op.instance in world.instances and world.visible(op.instance, self.target)[0] is None:
            stake = Stake(must=False, covered=0, by_barrier=0, in_flight=True, quiet=False, located=judge.located)
            self.created = Prospect(self.target, op.header, op.inherited, stake, ([],))


def _may_store(judge: Judge, session: Session, events: Any) -> bool:
    """Whether an append of these events need not be refused, wherever the log ends."""
    if not isinstance(events, list) or not events or not all(map(is_event, events)):
        return False
    first = events[0]["seq"]
    return _takes(session, first) and not batch_refusals(events, first, judge.capabilities).must


def _takes(session: Session, first: int) -> bool:
    """Whether the log may end just before that seq."""
    recovery = session.recovery
    if recovery is None or recovery.fixed:
        return first == len(session.log)
    return any(recovery.low <= first <= len(log) for log in (session.log, *recovery.others))


def _prospect(judge: Judge, session: Session, flight: _Flight) -> Prospect:
    logs = [session.log, *(session.recovery.others if session.recovery is not None else ())]
    logs = [*_with_ghosts(judge, session, logs), *logs]
    if session.live is not None and session.live.waiting:
        # What was published may be on its way into the log.
        on_its_way = [each.event for each in session.live.waiting]
        logs = [session.log + on_its_way, *logs]
    batch: tuple[dict[str, Any], ...] = ()
    if flight.batch is not None and flight.batch[0] == session.serial:
        given = flight.batch[1]
        first, added = given[0]["seq"], plain(given)
        others = [log for log in logs if len(log) != first]
        logs = [*(log[:first] + added for log in logs if len(log) >= first), *others]
        batch = tuple(given)
    least = len(session.log) if session.recovery is None or session.recovery.fixed else session.recovery.low
    chains = [chain for chain in flight.chains.get(session.serial, ()) if chain[0]["seq"] >= least]
    for chain in chains:
        # Of two batches at the same seqs either may be there, and then those that follow it.
        logs = [*(log[: chain[0]["seq"]] + chain for log in logs if len(log) >= chain[0]["seq"]), *logs]
    if chains:
        # The first one is the longest: behind a cancelled append that may be there, another may have taken its place.
        logs.sort(key=len, reverse=True)
    stake = _stake(judge, session, flight)
    return Prospect(session.id, session.header, session.inherited, stake, tuple(logs), session, batch)


def _with_ghosts(judge: Judge, session: Session, logs: list[Log]) -> list[Log]:
    """The logs with a batch behind them whose append failed and may have left something."""
    trouble = judge.world.trouble
    mishap = None if trouble is None else trouble.mishaps.get(session.serial)
    if mishap is None:
        return []
    firsts = [(ghost[0]["seq"], ghost) for ghost in mishap.ghosts]
    return [log[:first] + ghost for first, ghost in firsts for log in logs if len(log) >= first]


def _stake(judge: Judge, session: Session, flight: _Flight) -> Stake:
    world = judge.world
    since = world.aftermath.step if world.aftermath is not None else -1
    grown = session.grown_at > since and bool(session.log)
    # While it is not known how its log ends, an append that failed may be counted in it, and was promised nothing.
    known = session.recovery is None or session.recovery.fixed
    claims = judge.capabilities.append_durability == "append" and grown and known
    end = len(session.log)
    if session.recovery is not None and session.recovery.acknowledged is not None and session.recovery.grown_at is None:
        end = min(end, session.recovery.acknowledged)
    upto = max(session.barrier_call, session.grown_call) if claims else session.barrier_call
    own = {call for call, name in world.about.items() if name is None or name == session.id}
    this_life = own if world.aftermath is None else {call for call in own if call > world.aftermath.call}
    in_flight = flight.target is None or flight.target == session.id
    return Stake(
        must=session.barred or (claims and bool(end)),
        covered=max(end, session.covered) if claims else session.covered,
        by_barrier=session.by_barrier,
        exists_by_barrier=session.barred,
        before=frozenset(call for call in own if call <= upto),
        after=frozenset(call for call in own if call > upto),
        this_life=frozenset(this_life),
        in_flight=in_flight,
        other_in_flight=bool(flight.target) and not in_flight,
        quiet=not in_flight and session.covered >= len(session.log),
        survivor=session.lives > 0 and not grown,
        found=tuple(session.found),
        exists_found=session.exists_found,
        located=judge.located,
    )
