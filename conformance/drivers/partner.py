"""The reference partner: a conforming backend that takes every step beside the one under test.

Its own history is judged by its own judge; a violation there is an error of the kit, for then the model or the
reference is wrong. Wherever the model allows exactly one answer, on both sides, the two answers must be the same: where
they are not, the model overlooked something, and that is told too. Where it allows several and the two took different
ones, their worlds are not the same any more, and the partner leaves for the rest of the program. A partner in memory
has no second instance: it stands aside while several instances live, and is built anew from the model's state when one
is left. No partner crashes: it stands aside from a crash on, until the recovery has shown what every session holds and
one instance lives, and is then built anew too; the same from an overlap on, in which it might have taken another order.
Nor does its storage fail, nobody damages it, and it has no live path: where the backend meets one of these, they part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.clauses import Violation
from conformance.contract import Backend, SessionHeader
from conformance.drivers.errors import KitError
from conformance.drivers.inprocess import InProcessDriver
from conformance.model.history import Completion, HandleView, Invocation, Outcome, Raised, Returned, SnapshotView
from conformance.model.judge import Judge
from conformance.model.operations import (
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
    Heal,
    HubCreate,
    HubFlush,
    ListSessions,
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
)
from conformance.model.state import Session
from conformance.model.values import clone, same
from conformance.model.views import headers_differ
from conformance.model.words import outcome_text, snapshot_id

_VIEWS = (Stat, ListSessions, Read)
"""What changes nothing: two different answers to them leave the worlds as they were."""


_LIVE = (HubCreate, Publish, HubFlush, Dispose, Flood)
"""What only a backend with a live path takes part in: the partner leaves where it begins."""


_COUNTED = (StartCounting, ReadCounters, Confine, ReadWarnings, CountLeft)

_ITS_OWN_AFFAIR = (*_LIVE, *_COUNTED, Overlap, Crash, Fail, Heal, Damage)
"""What is done to the backend under test alone."""


class Partner:
    """Follows the operations of one program."""

    def __init__(self, backend: Backend, root: Path) -> None:
        self._backend = backend
        self._root = root
        self._shares_storage = backend.capabilities.storage != "memory"
        self._live: set[int] = set()
        self._aside = False
        self._parted = False
        self._gone = False
        self._waits = False
        self._used = False
        self._generation = 0
        self._start()

    def _start(self) -> None:
        self._generation += 1
        root = self._root.with_name(f"{self._root.name}-partner{self._generation}")
        self._driver = InProcessDriver(self._backend, root)
        self._judge = Judge(self._backend.capabilities)
        self._calls = 0

    def follow(self, operation: Operation, outcome: Outcome, judge: Judge) -> Outcome | None:
        """Take the same step; ``outcome`` and ``judge`` are those of the backend under test, already judged.

        Returns the partner's own outcome, or None while it stands aside.

        Raises:
            KitError: the partner breaks the model, or differs where the model allows one answer.
        """
        self._gone = self._gone or isinstance(operation, _LIVE)
        if self._gone or isinstance(operation, StartCounting | ReadCounters | Confine | ReadWarnings):
            # What the reference costs is not asked, and only one can be counted at a time.
            return None
        if isinstance(operation, Crash | Overlap):
            self._driver.finish()
            self._waits = True
        if self._waits:
            self._return_if_told(judge)
            return None
        self._parted = self._parted or isinstance(operation, Fail | Damage)
        if isinstance(operation, Heal | CountLeft):
            return None
        if self._parted or (not self._shares_storage and self._steps_aside(operation, judge)):
            return None
        answer = self._perform(operation)
        if not isinstance(operation, _VIEWS) and type(answer) is not type(outcome):
            self._parted = True
        if judge.exact and self._judge.exact and not _agree(outcome, answer):
            raise KitError(
                f"the reference {self._backend.name!r} and the backend differ at {operation!r:.300}, where the model"
                f" allows one answer.\nreference: {outcome_text(answer)}\nbackend: {outcome_text(outcome)}"
            )
        return answer

    def answer(self, operation: Operation) -> str:
        """What the partner says to an operation at which the backend under test was found wrong, in a few words."""
        if self._gone or self._waits or self._aside or self._parted or isinstance(operation, _ITS_OWN_AFFAIR):
            return ""
        return outcome_text(self._perform(operation))

    def finish(self) -> None:
        """End what is open."""
        self._driver.finish()

    def _perform(self, operation: Operation) -> Outcome:
        call = self._calls
        self._calls += 1
        self._judge.feed(Invocation(call, operation))
        outcome = self._driver.perform(operation)
        try:
            self._judge.feed(Completion(call, outcome))
        except Violation as found:
            raise KitError(
                f"the reference {self._backend.name!r} breaks the model at {operation!r:.300}: {found}"
            ) from found
        return outcome

    def _steps_aside(self, operation: Operation, judge: Judge) -> bool:
        """Whether a partner that has one instance only must sit this operation out."""
        if isinstance(operation, OpenInstance):
            self._live.add(operation.instance)
            if len(self._live) == 1 and self._used:
                # The others are closed; what they stored is not in memory any more.
                self._driver.finish()
                self._rebuild(judge, operation.instance)
                return True
            self._used = True
        if len(self._live) > 1:
            self._aside = True
        if isinstance(operation, CloseInstance):
            self._live.discard(operation.instance)
            if self._aside:
                self._driver.finish()
                if len(self._live) == 1:
                    self._rebuild(judge, next(iter(self._live)))
                return True
        return self._aside

    def _return_if_told(self, judge: Judge) -> None:
        """Come back after a crash, where nothing that it left is open any more."""
        world = judge.world
        live = [number for number, instance in world.instances.items() if not instance.closed]
        if len(live) == 1 and not world.blurred and all(map(_is_told, world.stored.values())):
            self._waits = self._parted = False
            self._live = set(live)
            self._used = True
            self._rebuild(judge, live[0])

    def _rebuild(self, judge: Judge, instance: int) -> None:
        """Bring a new partner to the state that the surviving instance is in."""
        self._start()
        self._aside = False
        builder = _Builder(self, instance)
        world = judge.world
        sessions = [world.visible(instance, found)[0] for found in dict.fromkeys((*world.stored, *_ids(judge)))]
        try:
            for session in sessions:
                if session is not None and not session.unsure and not session.opaque and session.unknown is None:
                    builder.build(session)
        except _NotTaken:
            # The backend holds what this partner may refuse: from here on they part.
            self._parted = True
            return
        for number, handle in judge.world.handles.items():
            if handle.instance == instance and not handle.is_writer and not handle.closed:
                builder.reader(number, handle.session)


def _is_told(session: Session) -> bool:
    """Whether it certainly exists, with a log that is known."""
    return not session.unsure and not session.opaque and (session.recovery is None or session.recovery.fixed)


def _ids(judge: Judge) -> list[str]:
    return [session_id for _, session_id in judge.world.pending]


class _NotTaken(Exception):
    """The partner refuses, as it may, what the backend under test has taken."""


class _Builder:
    """Gives a new partner the sessions and handles that the model knows."""

    def __init__(self, partner: Partner, instance: int) -> None:
        self._partner = partner
        self._instance = instance
        self._spare = 1_000_000
        partner._perform(OpenInstance(instance))

    def build(self, session: Session) -> None:
        owner = session.owner if session.owner is not None and session.owner.instance == self._instance else None
        number = self._spare if owner is None else owner.number
        self._spare += 1
        self._must(Create(self._instance, number, session.header, session.inherited))
        if session.log:
            self._must(Append(number, clone(session.log)))
        if session.durable:
            self._must(Flush(number))
        if owner is None:
            self._must(Close(number))
            self._must(Discard(number))

    def reader(self, number: int, session: Session) -> None:
        self._partner._perform(OpenSession(self._instance, number, session.id, "read"))

    def _must(self, operation: Operation) -> None:
        outcome = self._partner._perform(operation)
        if isinstance(outcome, Raised) and outcome.error.kind in ("TypeError", "ValueError"):
            raise _NotTaken
        if not isinstance(outcome, Returned):
            raise KitError(f"the reference cannot be rebuilt: {operation!r:.300} {outcome_text(outcome)}")


def _agree(left: Outcome, right: Outcome) -> bool:
    """Whether two answers are the same in everything that the contract fixes."""
    if isinstance(left, Raised) and isinstance(right, Raised):
        one, two = left.error, right.error
        return (one.kind, one.expected, one.got) == (two.kind, two.expected, two.got)
    if isinstance(left, Returned) and isinstance(right, Returned):
        return _values_agree(left.value, right.value)
    return type(left) is type(right)


def _values_agree(left: Any, right: Any) -> bool:
    if isinstance(left, HandleView) and isinstance(right, HandleView):
        return (left.id, left.access) == (right.id, right.access) and _headers_agree(left.header, right.header)
    if isinstance(left, SnapshotView) and isinstance(right, SnapshotView):
        return _headers_agree(left.header, right.header)
    if isinstance(left, list) and isinstance(right, list):
        if left and isinstance(left[0], SnapshotView):
            return sorted(map(repr, map(snapshot_id, left))) == sorted(map(repr, map(snapshot_id, right)))
        return same(left, right, exact=False)
    return left is None and right is None


def _headers_agree(left: Any, right: Any) -> bool:
    return isinstance(left, SessionHeader) and not headers_differ(left, right)
