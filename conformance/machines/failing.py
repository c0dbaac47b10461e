"""The fault machine: the crash machine's histories, in which storage fails in between and heals again.

What a program is about is a *mishap*: a session is brought into some state, a fault is armed, calls that are likely to
meet it are made, everybody looks while storage fails, and when it works again the calls are made once more, others come
in their place, the owner goes away, or a crash comes. Between mishaps, calls and crashes go on as they come, and faults
are armed and lifted beside them. Every program has a mishap.

For most of its time programs are made from seeded choices, one after the other, for what Hypothesis tries next is
mostly a copy of what it tried before. In the rest it draws them, with what else there is to draw.

Promises: everything drawn goes into the program as operations, so that it alone comes to the same again. Choices shrink
towards one sync that fails once with EIO and has done nothing, at an append.

Does not: go through the calls one by one (``machines.faulting`` does), judge, or make a failing program short.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

import strategies
from conformance.clauses import Need, Violation
from conformance.machines.crashing import ABOUT
from conformance.machines.fault_modes import GROUPS, Mode
from conformance.machines.faulting import CLAUSES_OF_FAULTS, Everything
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.machines.making_up import MakingUp
from conformance.machines.mishaps import AFTER, BEFORE, DRAWN, FIRST, MEETS, MODES, NTH, UNTIL_IT_COMES
from conformance.machines.seeded import choices_for
from conformance.machines.sequential import hunt
from conformance.machines.sweep import CLAUSES_OF_CRASHES
from conformance.machines.workloads import batch_for
from conformance.model.history import Raised
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    CountLeft,
    Create,
    Flush,
    FlushInstance,
    Heal,
    ListSessions,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.recovery import newcomer
from conformance.model.state import Handle
from conformance.sim import Choices

STEPS = 5
"""Rules in one program, at most: a mishap has many calls, and short programs differ more."""

ANY_MODE = st.sampled_from(tuple(mode for name in MEETS for mode in GROUPS[name]))

POOLS = st.sampled_from(strategies.ID_POOLS)
"""Ids that can be stored everywhere, mostly: what is refused meets no fault."""


class FailingMachine(MakingUp):
    """Draws calls, crashes and faults for one job. A subclass for each backend is made by ``machine_for``."""

    @initialize(kinds=strategies.swarm(ABOUT), pool=POOLS, data=st.data())
    def begin(self, kinds: frozenset[str], pool: tuple[str, ...], data: st.DataObject) -> None:
        """What this program is about, and its first mishap."""
        self._kinds, self._ids = kinds, pool
        self.suffer(strategies.DrawnChoices(data))

    # -- a mishap --------------------------------------------------------------------------------

    _wide = False

    def suffer(self, choices: Choices) -> None:
        """One mishap, as the choices make it.

        Raises:
            Violation: the clause that the backend broke. BudgetSpent: the time is used up.
        """
        name = choices.pick(self._ids, "session")
        if not self._prepare(name, choices):
            return
        group = choices.pick(DRAWN, "group")
        mode = choices.pick(MODES[group], "mode")
        mode = replace(mode, session=name if mode.session else "")
        self._wide = group == "short" and choices.flag("wide ones")
        self._perform(mode.at(choices.pick(NTH, "nth"), sticky=not mode.once and choices.flag("sticky")))
        failed: list[Operation] = []
        fired = self._fired()
        if mode.session:
            # What one session meets shows in what is said of the others, and in whether new ones come.
            self._look_afresh()
            self._meet("new session", name, failed, choices)
        for _ in range(choices.between(1, 3, "calls")):
            self._meet(choices.pick(MEETS[group], "call"), name, failed, choices)
        for what in UNTIL_IT_COMES:
            if self._over or self._fired() > fired:
                break
            self._meet(what, name, failed, choices)
        if failed and choices.flag("again while it fails"):
            self._repeat(name, failed)
        self._perform(Heal())
        if group in FIRST and choices.flag("first"):
            self._make_up_for(choices.pick(FIRST[group], "what"), name, failed, choices)
        for _ in range(choices.between(1, 4, "afterwards")):
            self._make_up_for(choices.pick(AFTER, "later"), name, failed, choices)
        self._look_afresh()
        if choices.draw(4, "count") == 3:
            self._count_left()

    def _fired(self) -> int:
        trouble = self._execution.judge.world.trouble
        return 0 if trouble is None else trouble.fired

    def _meet(self, what: str, name: str, failed: list[Operation], choices: Choices) -> None:
        """Make a call; where it is rejected, look and remember it."""
        for call in self._calls(what, name, choices):
            self._perform(call)
            if isinstance(self._execution.latest, Raised):
                failed.append(call)
                self._look_around(name)

    def _prepare(self, name: str, choices: Choices) -> bool:
        """Bring the session, its readers and a neighbour into some state; whether somebody owns it then."""
        handle, before = self._writer(name), choices.pick(BEFORE, "before")
        if handle is None:
            return False
        if before != "nothing":
            self._perform(self._batch(handle, choices))
        if before == "covered":
            self._perform(Flush(handle.number))
        if before == "reopened":
            self._perform(CloseInstance(handle.instance))
            handle = self._open(self._fresh(), name, writes=True)
        if handle is None:
            return False
        if choices.flag("reader"):
            reader = self._open(handle.instance, name, writes=False)
            if reader is not None:
                self._perform(Read(reader.number))
        if choices.flag("neighbour"):
            self._go_on_beside(name, handle.instance)
        return True

    def _calls(self, what: str, name: str, choices: Choices) -> Iterator[Operation]:
        """One call or two."""
        if what == "new session":
            name, what = self._stranger(name), "append"
            if self._owner(name) is None:
                yield Create(self._live()[-1] if self._live() else self._fresh(), self._next_handle(), newcomer(name))
        call = self._call(what, name, choices)
        if call is not None:
            yield call

    def _call(self, what: str, name: str, choices: Choices) -> Operation | None:
        """A call about the session; of its owner where it has one, and else a claim."""
        handle, live = self._owner(name), self._live()
        if not live:
            return self._next_instance()
        instance = live[-1] if handle is None else handle.instance
        match what:
            case "look":
                return ListSessions(instance) if choices.flag("list") else Stat(instance, name)
            case "open":
                return OpenSession(instance, self._next_handle(), name, "read")
            case "read":
                readers = [each.number for each in self._open_handles() if each.session.id == name]
                return Read(readers[-1]) if readers else None
            case "service flush":
                return FlushInstance(instance)
            case "service close":
                return CloseInstance(instance)
        if handle is None or what == "own":
            return OpenSession(instance, self._next_handle(), name, "write") if handle is None else Close(handle.number)
        if what == "append":
            return self._batch(handle, choices)
        return Flush(handle.number) if what == "flush" else Close(handle.number)

    def _batch(self, handle: Handle, choices: Choices) -> Append:
        """One to three events of any data, or two of which the second covers the edge of a page."""
        first = len(handle.session.log)
        if choices.draw(4, "wide") == 3 or self._wide:
            return Append(handle.number, batch_for(handle.session.id, first, large=True))
        bodies = strategies.palette_bodies(choices.between(1, 3, "events"), choices.draw(8, "data"))
        return Append(handle.number, strategies.numbered(bodies, first))

    def _stranger(self, name: str) -> str:
        """An id of this program that nobody has created, or else the name itself."""
        known = self._execution.judge.world.stored
        return next((each for each in self._names() if each not in known and not self._owner(each)), name)

    def _look_afresh(self) -> None:
        """An instance that knows nothing looks at everything."""
        instance = self._fresh()
        self._look(instance)
        self._perform(CloseInstance(instance))

    # -- when storage works again ----------------------------------------------------------------

    def _make_up_for(self, what: str, name: str, failed: list[Operation], choices: Choices) -> None:
        handle = self._owner(name)
        match what:
            case "again":
                self._repeat(name, failed)
                self._cover(name)
            case "neighbour":
                self._go_on_beside(name, self._live()[-1] if self._live() else self._fresh())
            case "kill":
                self._attempt(lambda: self._execution.crash("kill", choices))
                self._look(self._fresh())
            case "lose power" | "lose everything" if self._presets(power_loss=True):
                if what == "lose everything":
                    # What is not durable is gone: nothing else shows what a barrier is worth.
                    self._cover(name)
                preset = choices.pick(self._presets(power_loss=True), "preset")
                taking = choices if what == "lose power" else Everything()
                self._attempt(lambda: self._execution.crash(preset, taking))
                self._look(self._fresh())
            case "other batch" if handle is not None:
                first = len(handle.session.log)
                self._perform(Append(handle.number, strategies.numbered(strategies.palette_bodies(2), first)))
                self._look_around(name)
            case "flush" if handle is not None:
                self._perform(Flush(handle.number))
            case "close" if handle is not None:
                self._perform(Close(handle.number))
            case "elsewhere":
                self._hand_over(name, handle)
            case "beside" if handle is not None:
                self._own_beside(name, handle, failed, choices)
            case "end":
                self._count_left()

    def _go_on_beside(self, name: str, instance: int) -> None:
        """Another session of the same service is written and covered."""
        other = self._ids[(self._ids.index(name) + 1) % len(self._ids)]
        handle = self._owner(other) or self._open(instance, other, writes=True) or self._make(instance, other)
        if other != name and handle is not None:
            self._go_on(handle)
            self._perform(Flush(handle.number))

    def _count_left(self) -> None:
        """Every service closes, and nothing may be left of any; another one goes on."""
        for instance in self._live():
            self._perform(CloseInstance(instance))
        self._perform(CountLeft())
        self._fresh()

    # -- rules -----------------------------------------------------------------------------------

    @rule(data=st.data())
    def mishap(self, data: st.DataObject) -> None:
        """A fault with calls that meet it, and what comes after."""
        self.suffer(strategies.DrawnChoices(data))

    @rule(data=st.data())
    def another_mishap(self, data: st.DataObject) -> None:
        """The same, so that it comes more often than what is only beside it."""
        self.suffer(strategies.DrawnChoices(data))

    @rule(mode=ANY_MODE, nth=st.integers(1, 12), sticky=st.booleans())
    def storage_fails(self, mode: Mode, nth: int, sticky: bool) -> None:
        """One call fails, or every one from there on, whatever is called next."""
        self._perform(mode.at(nth, sticky=sticky and not mode.once))

    @rule()
    def storage_heals(self) -> None:
        """It works again."""
        self._perform(Heal())

    @rule()
    def everything_ends(self) -> None:
        """Storage works, and every service is closed."""
        self._perform(Heal())
        self._count_left()


def hunt_seeded(job: Job, programs: int, until: float | None) -> None:
    """Programs of one mishap or two, made from seeded choices, until something was found.

    Args:
        programs: at most so many. until: on ``time.monotonic``; None for no limit.

    Raises:
        BudgetSpent: the job's time is used up. NotMeasured: something may have been done that the kit cannot see.
    """
    kind = type("SeededFailingMachine", (FailingMachine,), {"job": job})
    for number in range(programs):
        if not job.is_searching or (until is not None and time.monotonic() > until):
            return
        machine = kind()
        choices = choices_for(job, number)
        try:
            for _ in range(choices.between(1, 2, "mishaps")):
                machine.suffer(choices)
        except Violation:
            # It is kept in the job, and the runner makes it short.
            return
        finally:
            machine.teardown()


def _hunt(job: Job) -> None:
    """Three quarters of the job by seeded choices, and the rest by Hypothesis."""
    now = time.monotonic()
    until = None if job.deadline is None else now + (job.deadline - now) * 3 / 4
    try:
        hunt_seeded(job, job.max_examples * 3 // 4, until)
    except BudgetSpent:
        if job.doubt is not None:
            raise job.doubt from None
    if job.is_searching and not job.spent:
        hunt(job, FailingMachine, steps=STEPS)


FAILING = MachineSpec(
    name="fault",
    clauses=(*CLAUSES_OF_FAULTS, "FAULT-07", "FAULT-10", *CLAUSES_OF_CRASHES),
    needs=frozenset({Need.FAULTS, Need.CRASH}),
    title="long random histories on storage that fails and heals, with crashes in them, keep the contract",
    hunt=_hunt,
)
