"""What every machine of rules has in common: it draws calls, performs them one after the other, and sees what there is.

Its own rules are the calls that are to succeed; machines add refused ones, crashes and faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import strategies
from conformance.clauses import Violation
from conformance.contract import SessionHeader
from conformance.drivers.errors import KitError, NotMeasured
from conformance.machines.draws import (
    INDEX,
    KINDS,
    LENGTH,
    MANY,
    MAY_BE_REFUSED,
    POOLS,
    SESSION,
    SMALL,
    SPECIAL,
    call_of,
    with_id,
)
from conformance.machines.job import BudgetSpent, Job
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    Leave,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
)
from conformance.model.state import Handle

STEPS = 40
"""Operations in one program, at most."""

MAX_INSTANCES = 3

LATE = STEPS // 2
"""Operations after which the only instance of a backend in memory may be closed."""


class CallingMachine(RuleBasedStateMachine):
    """Draws calls that are to succeed, for one job. A subclass for each backend is made by ``machine_for``."""

    job: ClassVar[Job]
    crashes: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._execution = self.job.begin(crashes=self.crashes)
        self._instances = 0
        self._handles = 0
        self._over = False
        self._kinds: frozenset[str] = frozenset()
        self._ids: tuple[str, ...] = strategies.ID_POOLS[0]
        self._shares = self.job.backend.capabilities.storage != "memory"
        self._perform(self._next_instance())

    # -- performing ------------------------------------------------------------------------------

    def _perform(self, operation: Operation) -> None:
        self._attempt(lambda: self._execution.do(operation))

    def _attempt(self, act: Callable[[], object]) -> None:
        if self._over:
            return
        self.job.check_patience()
        try:
            act()
        except Violation as violation:
            self._over = True
            if self.job.found(violation, self._execution):
                raise
        except KitError as error:
            if self.job.kit_error is None or len(self._execution.operations) < len(self.job.kit_error[1].operations):
                self.job.kit_error = (error, self._execution.program)
            raise
        except NotMeasured as error:
            # Not an error to be shrunk: the next program would be as doubtful.
            self.job.doubt = error
            raise BudgetSpent from error

    def teardown(self) -> None:
        """End the program's world."""
        self.job.end(self._execution)

    def _pick_instance(self, which: int) -> int:
        live = self._live()
        return live[which % len(live)]

    def _pick(self, handles: list[Handle], which: int) -> Handle:
        return handles[which % len(handles)]

    def _next_instance(self) -> OpenInstance:
        self._instances += 1
        return OpenInstance(self._instances)

    def _next_handle(self) -> int:
        self._handles += 1
        return self._handles

    # -- what there is ---------------------------------------------------------------------------

    def _live(self) -> list[int]:
        return [each.number for each in self._execution.judge.world.instances.values() if not each.closed]

    def _open_handles(self, access: str = "") -> list[Handle]:
        handles = self._execution.judge.world.handles.values()
        return [each for each in handles if not each.closed and access in ("", each.access)]

    def _closed_handles(self) -> list[Handle]:
        return [each for each in self._execution.judge.world.handles.values() if each.closed]

    def _has_writer(self) -> bool:
        return bool(self._open_handles("write"))

    def _is_special(self) -> bool:
        return self._has_writer() and not self._kinds.isdisjoint(SPECIAL)

    def _has_handle(self) -> bool:
        return bool(self._open_handles())

    def _has_live(self) -> bool:
        return bool(self._live())

    def _may_open_instance(self) -> bool:
        return len(self._live()) < MAX_INSTANCES if self._shares else not self._instances

    def _may_close_instance(self) -> bool:
        # What is kept in memory goes with its only instance, so that is done late.
        return bool(self._live()) and (self._shares or len(self._execution.operations) >= LATE)

    def _owned_elsewhere(self, instance: int, session: str) -> bool:
        stored = self._execution.judge.world.stored.get(session)
        return stored is not None and stored.owner is not None and stored.owner.instance != instance

    @initialize(kinds=strategies.swarm(KINDS), pool=POOLS)
    def begin(self, kinds: frozenset[str], pool: tuple[str, ...]) -> None:
        """What this program is about."""
        self._kinds, self._ids = kinds, pool

    # -- rules: the service ----------------------------------------------------------------------

    @precondition(_may_open_instance)
    @rule()
    def open_instance(self) -> None:
        """A fresh instance over the same storage."""
        self._perform(self._next_instance())

    @precondition(_may_close_instance)
    @rule(which=INDEX)
    def close_instance(self, which: int) -> None:
        """The service's close, and another instance if none is left."""
        live = self._live()
        self._perform(CloseInstance(live[which % len(live)]))
        if len(live) == 1 and self._shares:
            self._perform(self._next_instance())

    @precondition(_has_live)
    @rule(which=INDEX, session=SESSION, given=strategies.small_headers())
    def create(self, which: int, session: int, given: tuple[SessionHeader, int | None]) -> None:
        """A new session, or a refusal where the id is occupied."""
        header = with_id(given[0], self._ids[session])
        self._perform(Create(self._pick_instance(which), self._next_handle(), header, given[1]))

    @precondition(_has_live)
    @rule(which=INDEX, session=SESSION, write=st.booleans())
    def open_session(self, which: int, session: int, write: bool) -> None:
        """A handle for reading or writing, or a refusal."""
        instance, name = self._pick_instance(which), self._ids[session]
        claimed = self.job.backend.capabilities.cross_process_ownership
        if write and not claimed and self._owned_elsewhere(instance, name):
            # Two writers without the claim are outside what the contract promises here.
            write = False
        self._perform(OpenSession(instance, self._next_handle(), name, "write" if write else "read"))

    @precondition(_has_live)
    @rule(which=INDEX, session=SESSION, kind=SMALL)
    def look(self, which: int, session: int, kind: int) -> None:
        """One session or all of them from outside; now and then the service's flush."""
        # Of the six, the looks twice as often as the flush.
        call = (0, 2, 4, 0, 2)[kind]
        self._perform(call_of(call, self._pick_instance(which), self._next_handle(), self._ids[session]))

    # -- rules: handles --------------------------------------------------------------------------

    def _append(self, which: int, bodies: list[dict[str, Any]], seqs: Iterable[int], *, scribble: bool = False) -> None:
        handle = self._pick(self._open_handles("write"), which)
        first = len(handle.session.log)
        events = [{**bodies[place % len(bodies)], "seq": first + seq} for place, seq in enumerate(seqs)]
        self._perform(Append(handle.number, events, scribble))

    @precondition(_has_writer)
    @rule(which=INDEX, bodies=strategies.small_bodies(), scribble=st.booleans())
    def append(self, which: int, bodies: list[dict[str, Any]], scribble: bool) -> None:
        """A batch that continues the log."""
        self._append(which, bodies, range(len(bodies)), scribble=scribble)

    @precondition(_has_writer)
    @rule(which=INDEX, bodies=strategies.small_bodies(), scribble=st.booleans(), close=st.booleans())
    def append_and_cover(self, which: int, bodies: list[dict[str, Any]], scribble: bool, close: bool) -> None:
        """The same, and a barrier behind it."""
        number = self._pick(self._open_handles("write"), which).number
        self._append(which, bodies, range(len(bodies)), scribble=scribble)
        self._perform(Close(number) if close else Flush(number))

    @precondition(_is_special)
    @rule(which=INDEX, kind=INDEX, more=SMALL, data=st.data())
    def append_special(self, which: int, kind: int, more: int, data: st.DataObject) -> None:
        """A batch of one of the kinds that this program is about; a few in a row of those that may all be refused."""
        kinds = [name for name in SPECIAL if name in self._kinds]
        name = kinds[kind % len(kinds)]
        for _ in range(1 + (more if name in MAY_BE_REFUSED else 0)):
            bodies = data.draw(SPECIAL[name])
            self._append(which, bodies, range(MANY if name == "many" else len(bodies)))

    @precondition(_has_handle)
    @rule(which=INDEX, offset=SMALL, length=LENGTH, scribble=st.booleans())
    def read(self, which: int, offset: int, length: int | None, scribble: bool) -> None:
        """A slice of a log; mostly from its start."""
        handle = self._pick(self._open_handles(), which)
        self._perform(Read(handle.number, max(0, offset - 2), length, scribble))

    @precondition(_has_handle)
    @rule()
    def read_all(self) -> None:
        """The whole log, through every open handle."""
        for handle in self._open_handles():
            self._perform(Read(handle.number))

    @precondition(_has_handle)
    @rule(which=INDEX, leave=SMALL)
    def close(self, which: int, leave: int) -> None:
        """The end of a handle, by ``close`` or by leaving its context."""
        number = self._pick(self._open_handles(), which).number
        choices: list[Operation] = [
            Close(number),
            Leave(number),
            Leave(number, raising=True),
            Close(number),
            Close(number),
        ]
        self._perform(choices[leave])
