"""The crash machine: long random histories with crashes in them, and more work in what each of them left.

The rules of the sequential machine go on, and crashes come between them: after a call or inside one, under any preset
that the backend has to withstand, in a state that is drawn so that 0 loses nothing. After a crash a fresh instance
looks at everything, owns it and goes on, or recovery itself is crashed first, or a process kill is followed by a power
loss, for a kill is no flush. Sometimes nobody looks, and the next call meets what is there.

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
from conformance.machines.draws import INDEX, KINDS, POOLS, SESSION, SMALL
from conformance.machines.job import Job, MachineSpec
from conformance.machines.sequential import SequentialMachine, hunt
from conformance.machines.sweep import CLAUSES_OF_CRASHES
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    FlushInstance,
    Leave,
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

STEPS = 30
"""Rules in one program, at most; one that crashes performs several operations."""

LATER = st.sampled_from(("look", "own", "go on", "crash again", "look twice"))
"""What comes after a crash."""

RECOVERING = st.sampled_from(("open instance", "open session", "append", "flush"))
"""What is crashed of a recovery."""

UNDER_WAY = ("append", "boundary append", "flush", "close", "service flush", "create", "open", "restart")
"""What a crash comes inside of."""


class CrashingMachine(SequentialMachine):
    """Draws operations and crashes for one job. A subclass for each backend is made by ``machine_for``."""

    crashes: ClassVar[bool] = True

    @initialize(kinds=strategies.swarm(KINDS), pool=POOLS)
    def begin(self, kinds: frozenset[str], pool: tuple[str, ...]) -> None:
        """What this program is about; the files are looked at by the sequential machine."""
        self._kinds, self._ids = kinds - {"inspect"}, pool

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

    # -- crashes ---------------------------------------------------------------------------------

    def _crash(self, data: st.DataObject, during: Operation | None = None, *, power_loss: bool = False) -> None:
        choices = DrawnChoices(data)
        preset = choices.pick(self._presets(power_loss=power_loss), "preset")
        self._attempt(lambda: self._execution.crash(preset, choices, during))

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
                self._perform(Close(handle.number))

    def _own_all(self, instance: int) -> None:
        """Own everything, read it and go on with it; what is not there is made anew now and then by other rules."""
        for name in self._names():
            handle = self._open(instance, name, writes=True)
            if handle is not None:
                self._perform(Read(handle.number))
                self._go_on(handle)

    def _open(self, instance: int, name: str, *, writes: bool) -> Handle | None:
        number = self._next_handle()
        self._perform(OpenSession(instance, number, name, "write" if writes else "read"))
        return self._given(number)

    def _go_on(self, handle: Handle) -> None:
        self._perform(self._next_batch(handle, strategies.palette_bodies(1)))

    def _next_batch(self, handle: Handle, bodies: list[dict[str, object]]) -> Append:
        return Append(handle.number, strategies.numbered(bodies, len(handle.session.log)))

    def _crash_recovery(self, data: st.DataObject) -> None:
        """Crash while an instance, or the first owner, is taking over."""
        what, which = data.draw(RECOVERING), data.draw(SESSION)
        if what == "open instance":
            self._crash(data, self._next_instance())
            return
        instance, name = self._fresh(), self._ids[which]
        if what == "open session":
            self._crash(data, OpenSession(instance, self._next_handle(), name, "write"))
            return
        handle = self._open(instance, name, writes=True)
        during: Operation | None = None
        if handle is not None:
            during = Flush(handle.number)
            if what == "append":
                self._perform(Read(handle.number))
                during = self._next_batch(handle, strategies.palette_bodies(1))
        self._crash(data, during)

    # -- rules -----------------------------------------------------------------------------------

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """A crash between two calls, and what comes after."""
        self._crash(data)
        self._come_back(data)

    @precondition(SequentialMachine._has_live)
    @rule(which=INDEX, what=st.sampled_from(UNDER_WAY), session=SESSION, data=st.data())
    def crash_inside(self, which: int, what: str, session: int, data: st.DataObject) -> None:
        """A crash inside a call, and what comes after."""
        self._crash(data, self._under_way(what, which, session, data))
        self._come_back(data)

    def _under_way(self, what: str, which: int, session: int, data: st.DataObject) -> Operation:
        """A call for a crash to come into; a flush of the service where it would need a writer and there is none."""
        instance, writers = self._pick_instance(which), self._open_handles("write")
        match what:
            case "create":
                return Create(instance, self._next_handle(), newcomer(self._ids[session]))
            case "open" if self._may_take(instance, self._ids[session]):
                return OpenSession(instance, self._next_handle(), self._ids[session], "write")
            case "restart":
                return self._next_instance() if which % 2 else CloseInstance(instance)
            case "service flush":
                return FlushInstance(instance)
        if not writers:
            return FlushInstance(instance)
        handle = self._pick(writers, which)
        match what:
            case "append":
                return self._next_batch(handle, data.draw(strategies.small_bodies()))
            case "boundary append":
                return Append(handle.number, self._at_a_boundary(handle, data))
            case "flush":
                return Flush(handle.number)
        return Leave(handle.number) if which % 2 else Close(handle.number)

    @precondition(_may_lose_power)
    @rule(which=INDEX, inside=st.booleans(), appends=st.booleans(), closes=st.booleans(), data=st.data())
    def kill_then_lose_power(
        self, which: int, inside: bool, appends: bool, closes: bool, data: st.DataObject
    ) -> None:  # fmt: skip
        """The process dies, the next one takes over what it left unsynced and flushes, and then the power fails."""
        dead = self._pick(self._open_handles("write"), which)
        batch = self._next_batch(dead, data.draw(strategies.small_bodies()))
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

    @precondition(SequentialMachine._has_writer)
    @rule(which=INDEX, cover=SMALL, data=st.data())
    def append_at_a_boundary(self, which: int, cover: int, data: st.DataObject) -> None:
        """A batch that ends at or beside the edge of a sector or page, with a barrier behind it now and then."""
        handle = self._pick(self._open_handles("write"), which)
        self._perform(Append(handle.number, self._at_a_boundary(handle, data)))
        if cover == 1:
            self._perform(Flush(handle.number))

    def _at_a_boundary(self, handle: Handle, data: st.DataObject) -> list[dict[str, object]]:
        start = self._execution.artifact_size(handle.session.id) or 0
        return data.draw(strategies.boundary_batches(len(handle.session.log), start=start))


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
)
