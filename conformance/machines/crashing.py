"""The crash machine: long random histories with crashes in them, and more work in what each of them left.

Ordinary calls go on as in the sequential machine, and between them come crashes, with some work of their own before
each: after a call or inside one, under any preset that the backend has to withstand, in a state that is drawn so that 0
loses nothing. After a crash a fresh instance looks at everything, owns it and goes on, or recovery itself is crashed
first, or a process kill is followed by a power loss, for a kill is no flush. Sometimes nobody looks, and the next call
meets what is there. Every program has a crash.

Promises: what was drawn goes into the program as a ``Crash`` that says all of it, so that the program alone comes to
the same again. Batches end at the edges of sectors and pages of the session's file as often as not.

Does not: enumerate (``machines.sweep`` does), judge, or make a failing program short.
"""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

import strategies
from conformance.clauses import Need
from conformance.machines.calling import CallingMachine
from conformance.machines.draws import INDEX, POOLS, SESSION
from conformance.machines.job import Job, MachineSpec
from conformance.machines.sequential import hunt
from conformance.machines.sweep import CLAUSES_OF_CRASHES
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    FlushInstance,
    ListSessions,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.recovery import newcomer
from conformance.model.state import Handle
from conformance.sim.disk.presets import PRESETS
from strategies import DrawnChoices

STEPS = 12
"""Rules in one program, at most; one that crashes performs many operations."""

ABOUT = ("plain", "rich", "many")
"""Kinds of batches that a program may be about."""

WORK = st.lists(
    st.sampled_from(
        ("append", "append at a boundary", "flush", "close", "append and flush", "service flush", "restart")
    ),
    max_size=4,
)
"""What is done to one session or another before a crash."""

UNDER_WAY = st.sampled_from(
    (
        "nothing",
        "append",
        "append at a boundary",
        "nothing",
        "flush",
        "close",
        "service flush",
        "create",
        "open instance",
        "restart",
    )
)
"""What a crash comes inside of."""

LATER = st.sampled_from(("look", "own", "look twice", "crash again", "go on"))
"""What comes after a crash."""

RECOVERING = st.sampled_from(("open instance", "open session", "append", "flush"))
"""What is crashed of a recovery."""


class CrashingMachine(CallingMachine):
    """Draws calls and crashes for one job. A subclass for each backend is made by ``machine_for``."""

    crashes: ClassVar[bool] = True

    @initialize(kinds=strategies.swarm(ABOUT), pool=POOLS, data=st.data())
    def begin(self, kinds: frozenset[str], pool: tuple[str, ...], data: st.DataObject) -> None:
        """What this program is about, and its first crash."""
        self._kinds, self._ids = kinds, pool
        self._work_and_crash(data)

    # -- what there is ---------------------------------------------------------------------------

    def _presets(self, *, power_loss: bool) -> tuple[str, ...]:
        return tuple(each for each in self.job.presets if PRESETS[each].is_power_loss or not power_loss)

    def _may_lose_power(self) -> bool:
        return bool(self._presets(power_loss=True)) and self._has_writer()

    def _may_take(self, instance: int, session: str) -> bool:
        """Whether taking the session would not make two writers that nobody keeps apart."""
        claimed = self.job.backend.capabilities.cross_process_ownership
        return claimed or not self._owned_elsewhere(instance, session)

    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._ids))

    def _given(self, number: int) -> Handle | None:
        """The handle of that number, where one was returned and is open."""
        handle = self._execution.judge.world.handles.get(number)
        return None if handle is None or handle.closed else handle

    # -- before a crash --------------------------------------------------------------------------

    def _writer(self, name: str) -> Handle | None:
        """The owner of a session in some instance, which takes or makes it where nobody has it."""
        found = next((each for each in self._open_handles("write") if each.session.id == name), None)
        if found is not None:
            return found
        if not self._live():
            self._fresh()
        instance = self._live()[0]
        return self._open(instance, name, writes=True) or self._make(instance, name)

    def _make(self, instance: int, name: str) -> Handle | None:
        number = self._next_handle()
        self._perform(Create(instance, number, newcomer(name)))
        return self._given(number)

    def _work(self, what: str, session: int, data: st.DataObject) -> None:
        handle = self._writer(self._ids[session])
        if handle is None:
            return
        operations: list[Operation] = []
        if what.startswith("append"):
            operations.append(self._next_append(handle, data, at_a_boundary=what == "append at a boundary"))
        if what in ("flush", "append and flush"):
            operations.append(Flush(handle.number))
        if what == "close":
            operations.append(Close(handle.number))
        if what == "service flush":
            operations.append(FlushInstance(handle.instance))
        if what == "restart":
            operations += [CloseInstance(handle.instance), self._next_instance()]
        for operation in operations:
            self._perform(operation)

    def _next_append(self, handle: Handle, data: st.DataObject, *, at_a_boundary: bool) -> Append:
        first = len(handle.session.log)
        if at_a_boundary:
            start = self._execution.artifact_size(handle.session.id) or 0
            return Append(handle.number, data.draw(strategies.boundary_batches(first, start=start)))
        return Append(handle.number, strategies.numbered(data.draw(strategies.small_bodies()), first))

    def _under_way(self, what: str, session: int, data: st.DataObject) -> Operation | None:
        """A call for a crash to come into, or None."""
        if what == "nothing":
            return None
        if what == "open instance":
            return self._next_instance()
        if what == "create":
            live = self._live()
            return Create(live[0], self._next_handle(), newcomer(self._ids[session])) if live else self._next_instance()
        handle = self._writer(self._ids[session])
        if handle is None:
            return None
        match what:
            case "flush":
                return Flush(handle.number)
            case "close":
                return Close(handle.number)
            case "service flush":
                return FlushInstance(handle.instance)
            case "restart":
                return CloseInstance(handle.instance)
        return self._next_append(handle, data, at_a_boundary=what == "append at a boundary")

    # -- a crash, and after it -------------------------------------------------------------------

    def _crash(self, data: st.DataObject, during: Operation | None = None, *, power_loss: bool = False) -> None:
        choices = DrawnChoices(data)
        preset = choices.pick(self._presets(power_loss=power_loss), "preset")
        self._attempt(lambda: self._execution.crash(preset, choices, during))

    def _work_and_crash(self, data: st.DataObject) -> None:
        session = data.draw(SESSION)
        for what in data.draw(WORK):
            self._work(what, session, data)
            session = (session + data.draw(st.integers(0, 1))) % len(self._ids)
        self._crash(data, self._under_way(data.draw(UNDER_WAY), session, data))
        self._come_back(data)

    def _come_back(self, data: st.DataObject) -> None:
        """A fresh instance after a crash, and what it does first."""
        later = data.draw(LATER)
        if later == "crash again":
            self._crash_recovery(data)
        instance = self._fresh()
        if later == "look twice":
            self._look(instance)
            self._perform(CloseInstance(instance))
            instance = self._fresh()
        if later in ("look", "look twice"):
            self._look(instance)
        if later != "go on":
            self._own_all(instance)

    def _fresh(self) -> int:
        opened = self._next_instance()
        self._perform(opened)
        return opened.instance

    def _look(self, instance: int) -> None:
        """List, tell and read everything."""
        self._perform(ListSessions(instance))
        for name in self._names():
            self._perform(Stat(instance, name))
            handle = self._open(instance, name, writes=False)
            if handle is not None:
                self._perform(Read(handle.number))

    def _own_all(self, instance: int) -> None:
        """Own everything, make what is not there, and go on with it."""
        for name in self._names():
            handle = self._open(instance, name, writes=True)
            if handle is None:
                handle = self._make(instance, name)
            else:
                self._perform(Read(handle.number))
            if handle is not None:
                self._go_on(handle)
        self._look(self._fresh())

    def _open(self, instance: int, name: str, *, writes: bool) -> Handle | None:
        number = self._next_handle()
        self._perform(OpenSession(instance, number, name, "write" if writes else "read"))
        return self._given(number)

    def _go_on(self, handle: Handle) -> None:
        batch = strategies.numbered(strategies.palette_bodies(1), len(handle.session.log))
        self._perform(Append(handle.number, batch))

    def _crash_recovery(self, data: st.DataObject) -> None:
        """Crash while an instance, or the first owner, is taking over."""
        what, session = data.draw(RECOVERING), data.draw(SESSION)
        if what == "open instance":
            self._crash(data, self._next_instance())
            return
        instance, name = self._fresh(), self._ids[session]
        if what == "open session":
            self._crash(data, OpenSession(instance, self._next_handle(), name, "write"))
            return
        handle = self._open(instance, name, writes=True)
        if handle is None or what == "flush":
            self._crash(data, None if handle is None else Flush(handle.number))
            return
        self._perform(Read(handle.number))
        self._crash(data, self._next_append(handle, data, at_a_boundary=False))

    # -- rules -----------------------------------------------------------------------------------

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """Some work, a crash, and what comes after."""
        self._work_and_crash(data)

    @precondition(_may_lose_power)
    @rule(which=INDEX, inside=st.booleans(), appends=st.booleans(), closes=st.booleans(), data=st.data())
    def kill_then_lose_power(
        self, which: int, inside: bool, appends: bool, closes: bool, data: st.DataObject
    ) -> None:  # fmt: skip
        """The process dies, the next one takes over what it left unsynced and flushes, and then the power fails."""
        dead = self._pick(self._open_handles("write"), which)
        batch = self._next_append(dead, data, at_a_boundary=False)
        choices = DrawnChoices(data)
        if not inside:
            self._perform(batch)
        self._attempt(lambda: self._execution.crash("kill", choices, batch if inside else None))
        handle = self._open(self._fresh(), dead.session.id, writes=True)
        if handle is not None:
            if appends:
                self._perform(Read(handle.number))
                self._go_on(handle)
            self._perform(Close(handle.number) if closes else Flush(handle.number))
        self._crash(data, power_loss=True)
        self._come_back(data)

    @precondition(CallingMachine._has_writer)
    @rule(which=INDEX, covers=st.booleans(), data=st.data())
    def append_at_a_boundary(self, which: int, covers: bool, data: st.DataObject) -> None:
        """A batch that ends at or beside the edge of a sector or page, with a barrier behind it or not."""
        handle = self._pick(self._open_handles("write"), which)
        self._perform(self._next_append(handle, data, at_a_boundary=True))
        if covers:
            self._perform(Flush(handle.number))


def _hunt(job: Job) -> None:
    if not job.presets:
        raise ValueError(f"backend {job.backend.name!r}: a machine that crashes it has to know how")
    hunt(job, CrashingMachine, steps=STEPS)


CRASHING = MachineSpec(
    name="crash",
    clauses=(*CLAUSES_OF_CRASHES, "FRESH-01", "FRESH-04", "FLUSH-01", "MAT-05", "READ-03", "SEQ-01", "SVC-13"),
    needs=frozenset({Need.CRASH}),
    title="long random histories with crashes, and more work in what each of them left, keep the contract",
    hunt=_hunt,
    weight=2.0,
)
