"""One overlap as the model takes it in: its calls with their begin and end, and what follows from that alone.

Times are places in the order of begins and ends, so that of any two calls it is known which of them had ended before
the other began. Plain data; ``overlap_rules`` judges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.model.history import Cancelled, Completion, Hung, Invocation, Outcome, Raised, Returned, Skipped
from conformance.model.operations import (
    VIEWS,
    Append,
    Close,
    CloseInstance,
    Create,
    Dispose,
    Flush,
    FlushInstance,
    HubCreate,
    HubFlush,
    ListSessions,
    OpenSession,
    Operation,
    Overlap,
    Publish,
    Read,
    Step,
)
from conformance.model.phase_tables import Tables
from conformance.model.trouble import Span

_ON_HANDLES = (Append, Flush, Close)

ON_HUB = (HubCreate, Publish, HubFlush, Dispose)
"""What a session does on its hub."""

_SIGNALS = frozenset(ON_HUB)
_TRAITS: dict[type[Operation], tuple[bool, bool, bool]] = {
    **dict.fromkeys(VIEWS, (True, False, False)),
    **dict.fromkeys(_ON_HANDLES, (False, True, False)),
    **dict.fromkeys(ON_HUB, (False, False, True)),
}
"""Kind of call -> whether it is a view, changes something through a handle, or goes to the hub."""
_ORDINARY = (False, False, False)
_BY_HANDLE = frozenset({Read, *_ON_HANDLES})
_QUIET = frozenset({Append, Flush, OpenSession, *VIEWS})

_NOT_MADE = Skipped()

_NOWHERE: tuple[int | None, str | None] = (None, None)

NEVER = 1_000_000_000
"""The place of what has not happened."""


@dataclass(slots=True, eq=False)
class Flight:
    """One call of an overlap.

    What is asked of it again and again is written down once, when it begins and when it ends.

    Attributes:
        begin, end: places of its begin and its end; ``NEVER`` for one that has not ended.
        session: id of the session that it is about; None where it is about the whole service.
        instance: the number of its instance, or None where nobody knows the handle.
        step: the step that it is; None for a look of the kit's.
        part: of a service flush, the handle that it is looked at for; it does one after the other.
        instant: microseconds within which two calls are made at the same time.
        op: the operation. outcome: what came of it. at: when it began, in virtual microseconds.
        is_view: it changes nothing. is_on_handle: it changes something through a handle. is_on_hub: through the hub.
        gives_owner: it asks for a handle that owns.
        resolved: it returned. cancelled: its caller gave it up.
        given_up: its caller cancelled it, though it may have ended before that came to it.
        shows_fault: it raised because the kit made storage fail.
        landed: a cancelled append is in the log all the same; None where nothing tells, or it is no such call.
        kind: the kind of error that it raised, "Hung" where it never ended, else "".
    """

    begun: Invocation
    begin: int
    session: str | None
    instance: int | None
    step: Step | None = None
    part: int | None = None
    instant: int = 0
    ended: Completion | None = None
    end: int = NEVER
    op: Any = field(init=False)
    at: int = field(init=False)
    outcome: Outcome = _NOT_MADE
    is_view: bool = field(init=False)
    is_on_handle: bool = field(init=False)
    gives_owner: bool = field(init=False)
    is_on_hub: bool = field(init=False)
    resolved: bool = False
    cancelled: bool = False
    given_up: bool = False
    shows_fault: bool = False
    kind: str = ""
    landed: bool | None = None

    def __post_init__(self) -> None:
        op: Any = self.begun.operation
        self.op = op
        self.at = self.begun.at
        kind = type(op)
        self.is_view, self.is_on_handle, self.is_on_hub = _TRAITS.get(kind, _ORDINARY)
        self.gives_owner = kind is Create or (kind is OpenSession and op.access == "write")

    def ends(self, ended: Completion, end: int) -> None:
        """The call has ended."""
        self.ended, self.end, self.outcome = ended, end, ended.outcome
        match ended.outcome:
            case Returned():
                self.resolved = True
            case Cancelled():
                self.cancelled = True
            case Raised(error):
                self.kind, self.shows_fault = error.kind, error.fault
            case Hung():
                self.kind = "Hung"
        self.given_up = self.cancelled or (self.step is not None and bool(self.step.cancels))

    def before(self, other: Flight) -> bool:
        """Whether it had ended when the other began."""
        return self.end < other.begin

    def overlaps(self, other: Flight) -> bool:
        """Whether the two were in flight at once."""
        return self is not other and not self.before(other) and not other.before(self)

    def races(self, earlier: Flight) -> bool:
        """Whether nobody waited for the earlier call before this one was made.

        A backend whose calls never wait has no two of them in flight at once; they were made at the same time all the
        same, by two clients or by one that does not wait.
        """
        if earlier is self or earlier.begin > self.begin:
            return False
        if earlier.end >= self.begin:
            return True
        unawaited = earlier.step is not None and not earlier.step.waits
        at_once = self.at - earlier.at <= self.instant
        return at_once and (unawaited or earlier.begun.client != self.begun.client)


@dataclass(slots=True)
class Phase:
    """The calls of one overlap, in the order in which they began.

    Attributes:
        begun: the overlap itself. step: that of the model when it began. instant: as of each of its flights.
        places: handle -> (instance, session id), of the handles that there were before, and those made meanwhile.
        floors: (instance, session serial) -> how many events a call of that instance had to see when it began.
        lengths: session serial -> how many events its log had then, with what waited for it.
        haunted: session serial -> how often an append to it had failed by then.
        reach: session serial -> the length that its log has once all is stored that waited then, whatever fills gaps.
        waiting: session serial -> the instance of its owner, where published events waited then.
        signalled: ids of the sessions that the hub has to do with in it, or that had something waiting.
        shown: handle -> how many events its reads had shown by then.
        ended, closed: the instances and the handles that were closed by then.
        rested: the place at which the backend had come to rest.
        meets_faults: storage failed in one of its calls. shows_faults: one of them was rejected because it did.
    """

    begun: Invocation
    places: dict[int, tuple[int, str]]
    step: int
    instant: int = 0
    floors: dict[tuple[int, int], int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    haunted: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    reach: dict[int, int] = field(default_factory=dict)
    signalled: set[str] = field(default_factory=set)
    shown: dict[int, int] = field(default_factory=dict)
    ended: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    flights: list[Flight] = field(default_factory=list)
    time: int = 0
    rested: int = NEVER
    meets_faults: bool = False
    shows_faults: bool = False
    _open: dict[tuple[int, int], Flight] = field(default_factory=dict)
    _made: Tables | None = None
    _rows: tuple[tuple[Step, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        overlap = self.begun.operation
        self._rows = overlap.rows if isinstance(overlap, Overlap) else ()

    def begins(self, event: Invocation) -> None:
        """A call begins."""
        self.time += 1
        op: Any = event.operation
        client = event.client
        if not client and self.rested == NEVER:
            self.rested = self.time
            self.time += 1
        kind = type(op)
        instance, session = self.places.get(op.handle, _NOWHERE) if kind in _BY_HANDLE else self._about(op)
        if kind in _SIGNALS and session is not None:
            self.signalled.add(session)
        step = self._rows[client - 1][event.step] if client else None
        flight = Flight(event, self.time, session, instance, step, None, self.instant)
        self.flights.append(flight)
        self._open[client, event.step] = flight

    def ends(self, event: Completion) -> None:
        """A call ends."""
        self.time += 1
        flight = self._open.pop((event.client, event.step))
        flight.ends(event, self.time)
        self._made = None
        if event.faults:
            self.meets_faults = True
        if flight.shows_fault:
            self.shows_faults = True

    def _about(self, op: Any) -> tuple[int | None, str | None]:
        """Instance and session of a call; of one that gives a handle they are noted as that handle's."""
        kind = type(op)
        name = op.header.id if kind is Create else getattr(op, "session", None)
        if kind is Create or kind is OpenSession:
            self.places[op.handle] = (op.instance, name if isinstance(name, str) else repr(name))
        return getattr(op, "instance", None), name if isinstance(name, str) else None

    def with_faults(self, flight: Flight, last: Flight | None = None) -> Completion | None:
        """Its completion, with the faults that storage had while it was in flight, in whichever call they were met.

        Those for which another call was rejected are not its own, unless it was rejected for one too, or could not be:
        the hub hears of no failure at a session's end (LIVE-06).

        Args:
            last: the call whose completion is taken for it.
        """
        end = last or flight
        if end.ended is None or not self.meets_faults:
            return end.ended
        met = [each for each in self.flights if each.ended is not None and flight.begin < each.end <= end.end]
        if not end.shows_fault and not isinstance(flight.op, Dispose):
            met = [each for each in met if not each.shows_fault]
        faults = tuple(fault for each in met if each.ended is not None for fault in each.ended.faults)
        return end.ended if faults == end.ended.faults else end.ended._replace(faults=faults)

    def span(self, flight: Flight) -> Span:
        """When it was in flight."""
        return (self.step, flight.begin), (self.step, flight.end)

    def made(self) -> list[Flight]:
        """The calls that were made, in the order in which they began; not to be changed."""
        return (self._made or self._tables()).flights

    def calls(self, kind: type[Operation]) -> list[Flight]:
        """Those of one kind of operation; not to be changed."""
        return (self._made or self._tables()).kinds.get(kind, [])

    def changes(self) -> list[Flight]:
        """Those that may change something; not to be changed."""
        return (self._made or self._tables()).changes

    def changes_for(self, view: Flight) -> list[Flight]:
        """Those of them among which are all that may change what the view shows; not to be changed."""
        made = self._made or self._tables()
        if made.has_sweeps or type(view.op) is ListSessions:
            return made.changes
        return made.changed.get(view.session, [])

    def on_handle(self, handle: int) -> list[Flight]:
        """The calls that change something through a handle, in the order in which they began; not to be changed."""
        return (self._made or self._tables()).handles.get(handle, [])

    def of(self, session: str) -> list[Flight]:
        """The calls about one session; not to be changed."""
        return (self._made or self._tables()).sessions.get(session, [])

    def sessions(self) -> list[str]:
        """The ids of the sessions that the calls are about."""
        return [name for name in (self._made or self._tables()).sessions if name is not None]

    @property
    def has_closes(self) -> bool:
        """Whether a handle or a service was closed."""
        return (self._made or self._tables()).has_closes

    @property
    def gives_up(self) -> bool:
        """Whether a call was cancelled."""
        return (self._made or self._tables()).gives_up

    @property
    def is_quiet(self) -> bool:
        """Whether nothing comes or goes: nobody creates, owns, closes or sweeps, and every call has come to an end.

        Then, in one instance, each call finds at every place what it finds at its own, so that no order is better.
        """
        made = self._made or self._tables()
        return not made.stirs and not made.gives_up and not self.meets_faults and made.kinds.keys() <= _QUIET

    def _tables(self) -> Tables:
        made = [each for each in self.flights if each.ended is not None and type(each.outcome) is not Skipped]
        self._made = Tables(made)
        return self._made

    def parts(self, sweep: Flight, writers: Iterable[int]) -> list[Flight]:
        """A service flush, handle by handle: those that were there before, and those that were given before it began.

        A handle whose close was called before is none of its.
        """
        given = [
            each.op.handle
            for each in self.made()
            if each.resolved and each.before(sweep) and each.instance == sweep.instance and each.gives_owner
        ]
        found = []
        for number in (*writers, *given):
            end = self.end_of(number)
            if end is None or end.begin > sweep.begin:
                found.append(replace(sweep, part=number, session=self.places[number][1]))
        return found

    def sweeps(self, instance: int | None) -> list[Flight]:
        """The calls of an instance's own flush."""
        return [each for each in self.calls(FlushInstance) if each.op.instance == instance]

    def closing(self, instance: int | None, flight: Flight) -> bool:
        """Whether the service's close was called before the call ended."""
        ends = self.calls(CloseInstance)
        return bool(ends) and any(each.op.instance == instance and each.begin < flight.end for each in ends)

    def close_of(self, handle: int) -> Flight | None:
        """The first call of a handle's close."""
        return (self._made or self._tables()).closes.get(handle)

    def end_of(self, handle: int) -> Flight | None:
        """The first call by which the handle ends: its close, or its session's end where it owns that."""
        close = self.close_of(handle)
        if not self.calls(Dispose):
            return close
        given = next((each for each in self.made() if each.gives_owner and each.op.handle == handle), None)
        since = -1 if given is None else given.begin
        place = self.places.get(handle)
        ends = [each for each in self.calls(Dispose) if (each.instance, each.session) == place and each.begin > since]
        return min((each for each in (close, *ends) if each is not None), key=lambda each: each.begin, default=None)
