"""The fault machine: the crash machine's histories, in which storage fails in between and heals again.

A fault is armed before a rule or two: which kinds of storage calls, the how-manieth, with which error, once or from
there on. Then calls go on as they come, may reject, are made again, and meet crashes before or after storage heals.

Promises: everything drawn goes into the program as operations, so that it alone comes to the same again. Choices shrink
towards one call that fails once with EIO and has done nothing.

Does not: go through the calls one by one (``machines.faulting`` does), judge, or make a failing program short.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

import strategies
from conformance.clauses import Need
from conformance.machines.calling import CallingMachine
from conformance.machines.crashing import ABOUT, STEPS, CrashingMachine
from conformance.machines.draws import INDEX, POOLS
from conformance.machines.fault_modes import GROUPS, Mode
from conformance.machines.faulting import CLAUSES_OF_FAULTS
from conformance.machines.job import Job, MachineSpec
from conformance.machines.sequential import hunt
from conformance.machines.sweep import CLAUSES_OF_CRASHES
from conformance.model.history import Raised
from conformance.model.operations import Append, Close, Flush, Heal, Operation, Read, Stat

MODES: tuple[Mode, ...] = tuple(mode for group in ("sync", "write", "names", "read") for mode in GROUPS[group])
"""What may be wrong with storage."""


class FailingMachine(CrashingMachine):
    """Draws calls, crashes and faults for one job. A subclass for each backend is made by ``machine_for``."""

    @initialize(kinds=strategies.swarm(ABOUT), pool=POOLS)
    def begin(self, kinds: frozenset[str], pool: tuple[str, ...]) -> None:
        """What this program is about."""
        self._kinds, self._ids = kinds, pool

    @rule(mode=st.sampled_from(MODES), nth=st.integers(1, 12), sticky=st.booleans())
    def storage_fails(self, mode: Mode, nth: int, sticky: bool) -> None:
        """One call fails, or every one from there on."""
        self._perform(mode.at(nth, sticky=sticky and not mode.once))

    @rule()
    def storage_heals(self) -> None:
        """It works again."""
        self._perform(Heal())

    @precondition(CallingMachine._has_writer)
    @rule(which=INDEX, tries=st.integers(1, 3), ends=st.sampled_from(("flush", "close", "nothing")), data=st.data())
    def append_until_it_is_taken(self, which: int, tries: int, ends: str, data: st.DataObject) -> None:
        """The same batch again and again while storage fails, with looks in between; then storage heals."""
        handle = self._pick(self._open_handles("write"), which)
        batch = self._next_append(handle, data, at_a_boundary=False)
        for number in range(tries + 1):
            if number == tries:
                self._perform(Heal())
            if len(handle.session.log) > batch.events[0]["seq"]:
                break
            self._perform(Append(handle.number, batch.events))
            self._perform(Read(handle.number))
            self._perform(Stat(handle.instance, handle.session.id))
        if ends != "nothing" and not handle.closed:
            call: Operation = Flush(handle.number) if ends == "flush" else Close(handle.number)
            self._perform(call)
            if isinstance(self._execution.latest, Raised) and ends == "flush":
                self._perform(call)


def _hunt(job: Job) -> None:
    hunt(job, FailingMachine, steps=STEPS)


FAILING = MachineSpec(
    name="fault",
    clauses=(*CLAUSES_OF_FAULTS, *CLAUSES_OF_CRASHES),
    needs=frozenset({Need.FAULTS, Need.CRASH}),
    title="long random histories on storage that fails and heals, with crashes in them, keep the contract",
    hunt=_hunt,
)
