"""The oracle: a pure fold over histories that says, event by event, what is allowed.

``Judge.feed`` takes one event of a history, counts the clauses that this exercised, and raises the Violation of exactly
one clause where what happened is not allowed. No I/O, no clock, no backend. What a call had to see at least is taken at
its invocation and what it may see at most at its completion, so that overlapping calls need no other shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from conformance.clauses import Violation, narrowest, violation
from conformance.contract import Capabilities
from conformance.model import (
    cost_rules,
    crash_rules,
    damage_rules,
    fault_blame,
    fault_rules,
    fault_settling,
    handle_rules,
    live_calls,
    live_flow,
    live_rules,
    overlap_rules,
    root_rules,
    service_rules,
    sweep_rules,
    view_rules,
)
from conformance.model.call import Call as Call
from conformance.model.foresight import subject
from conformance.model.history import Completion, ErrorView, Event, Hung, Invocation, Outcome, Raised, Skipped
from conformance.model.operations import (
    ON_HANDLES,
    VIEWS,
    Append,
    Close,
    CloseInstance,
    Confine,
    CountLeft,
    Crash,
    Create,
    Damage,
    Discard,
    Dispose,
    Fail,
    Flood,
    Flush,
    FlushInstance,
    Heal,
    HubCreate,
    HubFlush,
    Inspect,
    Leave,
    ListSessions,
    MakeRoot,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Publish,
    Read,
    ReadCounters,
    ReadWarnings,
    StartCounting,
    Stat,
    Wait,
)
from conformance.model.phase import Phase
from conformance.model.state import World
from conformance.model.words import outcome_text

REAL_INSTANT = 5_000
"""Wall microseconds within which clients on a real loop make their calls at the same time."""

HUNG = "Hung"
"""Error kind under which the rules see a call that never returned."""

_SIGNALS = (HubFlush, Dispose)
_BY_HANDLE = frozenset(ON_HANDLES)
_LOOKS = frozenset(VIEWS)
_OUT_OF_LINE = frozenset({*_SIGNALS, Fail, Heal})
"""What goes on by itself, or is no call of the backend at all."""


Rule = Callable[["Judge", Call, Any, Outcome], None]

RULES: dict[type[Operation], Rule] = {
    MakeRoot: service_rules.nothing_to_judge,
    Wait: service_rules.nothing_to_judge,
    OpenInstance: service_rules.open_instance,
    CloseInstance: sweep_rules.close_instance,
    FlushInstance: sweep_rules.flush_instance,
    Create: service_rules.create,
    OpenSession: service_rules.open_session,
    Stat: view_rules.stat,
    ListSessions: view_rules.list_sessions,
    Read: view_rules.read,
    Append: handle_rules.append,
    Flush: handle_rules.flush,
    Close: handle_rules.close,
    Leave: handle_rules.leave,
    Discard: handle_rules.discard,
    Inspect: root_rules.inspect,
    StartCounting: cost_rules.start_counting,
    ReadCounters: cost_rules.read_counters,
    Crash: crash_rules.crash,
    Fail: fault_rules.fail,
    Heal: service_rules.nothing_to_judge,
    CountLeft: fault_rules.count_left,
    HubCreate: live_rules.hub_create,
    Publish: live_rules.publish,
    Flood: live_rules.flood,
    ReadWarnings: live_rules.read_warnings,
    Damage: damage_rules.damage,
    Confine: service_rules.nothing_to_judge,
    Overlap: overlap_rules.overlap,
}


class Judge:
    """Folds a history; one for each run of a program.

    Args:
        located: the backend gives the location of its artifacts, so that TORN applies; where it does not, what TORN
            asks for is blamed on the wider clauses of DUR.

    Attributes:
        alone: the call that is judged had no other beside it.
        exact: whether the latest completed call had one allowed answer only, whatever a backend claims.
        world: what the model knows so far.
        costs: what was counted so far.
        phase: the overlap under way, or None.
        void: the program is outside of what the contract speaks about, and nothing of it is judged any more.
        signal: the clause about the signal of a hub that a barrier is judged for, or "".
        orders, undecided: overlaps that were put in order, and those of them for which the search was given up.
    """

    def __init__(self, capabilities: Capabilities, *, located: bool = True) -> None:
        self.capabilities = capabilities
        self.located = located
        self.world = World()
        self.costs = cost_rules.CostBook()
        self._witnesses: Counter[str] = Counter()
        self._witnessed = list[str]()
        self.exact = False
        self.alone = True
        self._calls: dict[int, Call] = {}
        self.phase: Phase | None = None
        self.void, self.signal = False, ""
        self.orders = self.undecided = 0
        self._aliases: dict[str, str] = {}
        self._situation: Mapping[str, str] = {}
        self._op: Operation | None = None
        self._ended: Completion | None = None

    @property
    def witnesses(self) -> Counter[str]:
        """Clause id -> how often an answer was judged where another would have been a violation."""
        self._witnesses.update(self._witnessed)
        self._witnessed.clear()
        return self._witnesses

    @property
    def subject(self) -> str | None:
        """Id of the session that the call that is judged is about, or None."""
        return None if self._op is None else subject(self, self._op)

    def feed(self, event: Event) -> None:
        """Take the next event.

        Raises:
            Violation: the event is not allowed; the subclass of the one clause that is blamed.
        """
        if self.phase is not None and (event.client or event.step):
            if isinstance(event, Invocation):
                self.phase.begins(event)
            else:
                self.phase.ends(event)
        elif isinstance(event, Invocation):
            self._begin(event)
        else:
            self._end(self._calls.pop(event.call), event)

    def redo(self, begun: Invocation, ended: Completion, situation: Mapping[str, str]) -> None:
        """Judge a call of an overlap as if it had been made alone.

        Args:
            situation: clause -> the one that is witnessed or blamed in its place.

        Raises:
            Violation: as ``feed``.
        """
        call = Call(begun.call, begun.operation)
        self.world.step += 1
        self.world.now = begun.at
        if type(begun.operation) in _LOOKS:
            view_rules.take_floors(self, call)
        self._situation, self.alone = situation, False
        try:
            self._end(call, ended)
        finally:
            self._situation, self.alone = {}, True

    def about(self, ended: Completion | None) -> None:
        """What is judged next is the answer to this call."""
        if ended is not None:
            self._ended = ended

    def _begin(self, event: Invocation) -> None:
        op = event.operation
        call = Call(event.call, op, alone_since=event.at)
        self._calls[event.call] = call
        self.world.step += 1
        self.world.now = event.at
        self.world.span = ((self.world.step, 0), (self.world.step, 0))
        if self.world.live:
            live_flow.advance(self)
        self._note_subject(event)
        if type(op) in _LOOKS:
            view_rules.take_floors(self, call)
        if isinstance(op, Overlap):
            places = {number: (each.instance, each.session.id) for number, each in self.world.handles.items()}
            self.phase = Phase(
                event, places, self.world.step, 0 if self.capabilities.loop == "simulated" else REAL_INSTANT
            )
            overlap_rules.begin(self, self.phase)

    def _note_subject(self, event: Invocation) -> None:
        op = event.operation
        name = subject(self, op if not isinstance(op, Crash) or op.during is None else op.during)
        if self.world.about.setdefault(event.call, name) != name:
            # A macro goes over several sessions under one number.
            self.world.about[event.call] = None

    def _end(self, call: Call, event: Completion) -> None:
        world, op, outcome = self.world, call.operation, event.outcome
        kind = type(op)
        world.now = event.at
        self.exact = False
        if isinstance(outcome, Skipped) or self.void:
            return
        if kind in _BY_HANDLE and op.handle not in world.handles:  # type: ignore[attr-defined]
            # It came from an open of which nothing could be told, not even which session it shows.
            self.costs.spoil()
            return
        self._ended = event
        self._op = op
        world.call = event.call
        if isinstance(outcome, Hung):
            outcome = Raised(ErrorView(HUNG, HUNG, outcome.detail))
        if world.damaged and damage_rules.judged(self, op, outcome):
            return
        if kind in _OUT_OF_LINE or world.live or world.trouble is not None:
            self._end_beside(call, outcome, event)
        else:
            RULES[kind](self, call, op, outcome)
        if self.costs.window is not None:
            self.costs.note(self, op, outcome)

    def _end_beside(self, call: Call, outcome: Outcome, event: Completion) -> None:
        """A call where something else is under way: events that wait, or storage that fails."""
        op = call.operation
        if isinstance(op, _SIGNALS):
            self._end_signal(call, outcome, event)
        elif not live_calls.takes(self, op, outcome, event.faults):
            usual = self._situation
            if self.world.live:
                self._situation = {**usual, **live_calls.situation(self, op, outcome)}
            try:
                self._end_call(call, outcome, event)
            finally:
                self._situation = usual

    def _end_call(self, call: Call, outcome: Outcome, event: Completion) -> None:
        if self.world.trouble is None:
            RULES[type(call.operation)](self, call, call.operation, outcome)
        else:
            self._end_in_trouble(call, outcome, event)

    def _end_signal(self, call: Call, outcome: Outcome, event: Completion) -> None:
        """A signal of the hub: it comes to a call of the handle that it goes to, if there is one."""
        op = call.operation
        if isinstance(op, Dispose) and live_calls.disposed(self, op, outcome, event.faults):
            return
        handles = live_calls.as_call(self, op, outcome) if isinstance(op, _SIGNALS) else None
        if handles is None:
            return
        self.signal = "LIVE-03" if isinstance(op, HubFlush) else "LIVE-06"
        self._situation = dict.fromkeys(("OWN-11", "MAT-04", "SEQ-09", "CLOSE-03"), self.signal)
        self._situation = {**self._situation, **live_calls.situation(self, handles, outcome)}
        try:
            if not live_calls.takes(self, handles, outcome, event.faults):
                self._end_call(Call(call.number, handles), outcome, event)
        finally:
            self.signal, self._situation = "", {}
        if isinstance(op, Dispose) and self.world.never.get(op.session) == "MAT-03":
            self.world.never[op.session] = "LIVE-06"

    def _end_in_trouble(self, call: Call, outcome: Outcome, event: Completion) -> None:
        """A call in a world in which storage has failed, or may."""
        op = call.operation
        fault_rules.note(self, op, event.faults)
        if self.alone and not isinstance(outcome, Raised):
            fault_rules.note_look(self.world, op, self.world.span)
        self._aliases = fault_rules.aliases(self.world, op)
        if fault_rules.failed(self, op, outcome):
            self._aliases = {}
            return
        before = fault_settling.Before(self.world, op)
        try:
            RULES[type(op)](self, call, op, outcome)
        except Violation as found:
            blamed = fault_blame.retold(self, op, outcome, found)
            # What was on its way has clauses of its own for storage that failed before.
            by_now = self.world.trouble is not None and bool(self.world.trouble.now)
            if blamed is None or (blamed and found.clause.startswith("LIVE-") and not by_now):
                raise
            if blamed:
                note = "; ".join(filter(None, (found.note, fault_blame.told(self.world))))
                raise violation(blamed)(
                    expected=found.expected,
                    observed=found.observed,
                    note=note,
                    call=found.call,
                    client=found.client,
                    step=found.step,
                ) from None
        else:
            fault_settling.settle(self, op, outcome, before)
        finally:
            self._aliases = {}

    def witness(self, *clauses: str) -> None:
        """Count the clauses as exercised once."""
        # They are counted when somebody asks: this is called several times for each answer.
        self._witnessed += map(self._named, clauses) if self._situation or self._aliases else clauses

    def _named(self, clause: str) -> str:
        known = self._aliases.get(clause, clause)
        return self._situation.get(known, known)

    def fail(
        self, clauses: str | Sequence[str], expected: str | Callable[[], str], observed: str = "", note: str = ""
    ) -> NoReturn:
        """Raise the Violation of the narrowest of these clauses; ties go to the first.

        Args:
            expected: the phrase, or what makes it, where it is long and seldom needed.
        """
        blamed = clauses if isinstance(clauses, str) else narrowest(clauses)
        blamed = self._named(blamed)
        ended = self._ended
        raise violation(blamed)(
            expected=expected if isinstance(expected, str) else expected(),
            observed=observed or outcome_text(Skipped() if ended is None else ended.outcome),
            note=note,
            call=None if ended is None else ended.call,
            client=0 if ended is None else ended.client,
            step=0 if ended is None else ended.step,
        )

    def demand_refusal(
        self,
        outcome: Outcome,
        must: dict[str, frozenset[str]],
        *,
        may: frozenset[str] = frozenset(),
        closed: bool = False,
    ) -> ErrorView:
        """The error of a call that had to be refused for one of these reasons (clause -> error kinds).

        Where only one reason applies the clause is witnessed. ``may`` holds kinds of refusals that are allowed
        instead and witness nothing. ``closed`` refusals come before all others.
        """
        kinds = frozenset().union(*must.values())
        if isinstance(outcome, Raised):
            told = outcome.error.session_id
            if told is not None and self.subject not in (None, told):
                self.fail(next(iter(must)), f"an error of {self.subject!r:.80}", f"one with session_id={told!r:.80}")
            if outcome.error.kind in kinds:
                if len(must) == 1:
                    self.witness(*must)
                    self.exact = len(kinds) == 1
                return outcome.error
            if outcome.error.kind in may:
                return outcome.error
        wanted = " or ".join(sorted(kinds)) + (" before any other refusal" if closed else "")
        self.fail(next(iter(must)), f"refused with {wanted}, and nothing stored")

    def demand_success(
        self, outcome: Outcome, clause: str | Callable[[], str], expected: str | Callable[[], str]
    ) -> Any:
        """The value of a call that had to resolve; where it did not, the clause that this is, or gives, is violated."""
        if isinstance(outcome, Raised):
            self.fail(clause if isinstance(clause, str) else clause(), expected)
        return getattr(outcome, "value", None)
