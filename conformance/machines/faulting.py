"""The fault sweep: one whole life of two sessions, again and again, each time with another storage call that fails.

Promises: for every kind of fault the n-th call fails, for n = 1, 2, … until a life ends without it, once by itself and
once with every later call of its kind. Whatever rejects is followed by looks at what everybody must still see, by the
same call again while storage fails, and once more when it works; then life goes on, and in the end fresh instances have
to show everything. In some sweeps the power is lost as soon as the call was made up for or got by, for what is written
later may save what a failed sync had dropped. What was tried is counted and told.

Does not: judge, or know which storage calls a backend makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from conformance.clauses import Need, Violation
from conformance.drivers.execution import Execution
from conformance.machines.fault_modes import GROUPS, Mode, more_modes
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.machines.sweep import Tier
from conformance.machines.workloads import PAGE_WIDE, SHORT, sweep_event
from conformance.model.history import Outcome, Raised
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    CountLeft,
    Create,
    Fail,
    Flush,
    FlushInstance,
    Heal,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.recovery import newcomer
from conformance.sim import Choices
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import WHAT_A_CRASH_TAKES

FIRST_CALLS = 4
"""Where a run is to be shallow, no later call of a kind fails than this one."""


class Everything(Choices):
    """Chooses a crash that takes everything it may."""

    def _choose(self, n: int, label: str) -> int:
        return int(label == WHAT_A_CRASH_TAKES)


def is_lost(outcome: Outcome) -> bool:
    """Whether a handle says that it owns nothing any more."""
    return isinstance(outcome, Raised) and outcome.error.kind == "SessionOwnershipLostError"


class _MadeUpForError(Exception):
    """What failed was done again: the power may be lost. Never leaves this module."""


class Life:
    """One life under one fault.

    Args:
        execution: where it is performed.
        fails: the operation that arms the fault.
        preset: the kind of power loss that it ends with, or "" where it ends in peace.
    """

    def __init__(self, execution: Execution, fails: Fail, preset: str = "") -> None:
        self._execution = execution
        self._fails = fails
        self._preset = preset
        # Where edges of pages are counted there has to be one.
        self._width = PAGE_WIDE if fails.place == "page" else SHORT
        self._instance = 0
        self._handle = 0
        self._writers: dict[str, int] = {}
        self._readers: dict[str, int] = {}
        self._answered = False

    def live(self) -> bool:
        """Perform it; whether the fault came.

        Raises:
            Violation: the clause that the backend broke.
        """
        do = self._execution.do
        self._fresh()
        self._create("b")
        self._append("b")
        do(self._fails)
        try:
            self._begin()
            self._go_on()
        except _MadeUpForError:
            do(Heal())
        self._end()
        trouble = self._execution.judge.world.trouble
        return trouble is not None and trouble.fired > 0

    def _begin(self) -> None:
        self._create("a")
        self._append("a", 2)
        self._readers["a"] = self._open("a", "read")
        self._append("a", width=self._width)
        self._call(Flush(self._writers["a"]))
        self._append("a")
        self._call(FlushInstance(self._instance))
        self._look("a")
        self._call(ListSessions(self._instance))

    def _go_on(self) -> None:
        self._append("a")
        self._close("a")
        self._call(CloseInstance(self._instance))
        self._fresh()
        self._look("a")
        self._own("a")
        self._append("a", 2)
        self._call(Flush(self._writers["a"]))
        self._append("a")

    def _end(self) -> None:
        do = self._execution.do
        do(Heal())
        if self._preset:
            self._cover("a")
            self._execution.crash(self._preset, Everything())
        else:
            self._close("a")
            do(CloseInstance(self._instance))
            do(CountLeft())
        for writes in (False, True):
            self._fresh()
            do(ListSessions(self._instance))
            for name in ("a", "b"):
                self._look(name)
                if writes:
                    self._own(name)
                    self._append(name)
                    self._close(name)
            do(CloseInstance(self._instance))

    def _cover(self, name: str) -> None:
        """A last barrier; where its owner is spent or closed by the next one, in another instance every other time."""
        handle = self._execution.judge.world.handles.get(self._writers.get(name, 0))
        outcome = None if handle is None or handle.closed else self._execution.do(Flush(handle.number))
        if outcome is None or is_lost(outcome):
            self._execution.do(Close(self._writers.get(name, 0)))
            if self._fails.sticky:
                self._fresh()
            self._own(name)
            self._execution.do(Flush(self._writers[name]))

    # -- calls, and what comes after one that failed ----------------------------------------------

    def _call(self, operation: Operation) -> Outcome:
        outcome = self._execution.do(operation)
        if isinstance(outcome, Raised) and outcome.error.fault and not self._answered:
            self._answered = True
            return self._answer(operation, outcome)
        trouble = self._execution.judge.world.trouble
        if self._preset and trouble is not None and trouble.fails_now and not self._answered:
            self._answered = True
            raise _MadeUpForError
        return outcome

    def _answer(self, operation: Operation, outcome: Outcome) -> Outcome:
        """Look at everything while storage still fails, try again, and once more when it works."""
        do = self._execution.do
        self._look_around(operation)
        if self._fails.sticky:
            again = self._again(operation)
            if again is not None:
                outcome = do(again)
        do(Heal())
        self._look_around(operation)
        self._append("b")
        again = self._again(operation)
        if again is not None and isinstance(outcome, Raised):
            outcome = do(again)
        if self._preset:
            raise _MadeUpForError
        return outcome

    def _again(self, operation: Operation) -> Operation | None:
        """The same call once more, where that means something."""
        if isinstance(operation, Create | OpenSession):
            self._handle += 1
            return replace(operation, handle=self._handle)
        return None if isinstance(operation, Close | CloseInstance) else operation

    def _look_around(self, operation: Operation) -> None:
        do = self._execution.do
        for name, handle in (*self._readers.items(), *self._writers.items()):
            do(Read(handle))
            do(Stat(self._instance, name))
        if isinstance(operation, Append | Flush):
            do(Append(operation.handle, []))

    # -- the steps of a life ----------------------------------------------------------------------

    def _fresh(self) -> None:
        self._instance += 1
        self._readers.clear()
        self._call(OpenInstance(self._instance))

    def _create(self, name: str) -> None:
        self._handle += 1
        self._call(Create(self._instance, self._handle, newcomer(name)))
        self._writers[name] = self._handle

    def _append(self, name: str, size: int = 1, width: int = SHORT) -> None:
        first = len(self._log(name))
        events = [sweep_event(name, seq, width) for seq in range(first, first + size)]
        outcome = self._call(Append(self._writers[name], events))
        if is_lost(outcome):
            # It ended itself, as it may after a failed sync: the next owner does it.
            self._execution.do(Close(self._writers[name]))
            self._own(name)
            self._call(Append(self._writers[name], events))

    def _log(self, name: str) -> list[object]:
        handle = self._execution.judge.world.handles.get(self._writers[name])
        return [] if handle is None else list(handle.session.log)

    def _own(self, name: str) -> None:
        self._writers[name] = self._open(name, "write")
        self._call(Read(self._writers[name]))

    def _open(self, name: str, access: str) -> int:
        self._handle += 1
        self._call(OpenSession(self._instance, self._handle, name, access))  # type: ignore[arg-type]
        return self._handle

    def _close(self, name: str) -> None:
        outcome = self._call(Close(self._writers[name]))
        if isinstance(outcome, Raised):
            # Another owner shows what is stored, and stores the rest.
            self._own(name)
            self._append(name)
            self._call(Close(self._writers[name]))

    def _look(self, name: str) -> None:
        self._call(Stat(self._instance, name))
        reader = self._open(name, "read")
        self._call(Read(reader))
        self._call(Read(reader, 1, 1))


@dataclass(slots=True)
class Coverage:
    """What a sweep tried."""

    lives: int = 0
    calls: int = 0
    modes: int = 0
    of_modes: int = 0

    def line(self, name: str, presets: tuple[str, ...]) -> str:
        """One line that says what was covered, and what was not."""
        extent = "exhaustive" if self.modes == self.of_modes else "not exhaustive"
        ends = f"each also with a loss of power ({', '.join(presets)}) at its end" if presets else "none lost its power"
        what = "places at which a write ended" if name == "short" else "calls that failed"
        return (
            f"{name}: {self.modes} of {self.of_modes} kinds of faults, {self.calls:,} {what}, one by one"
            f" ({extent}), {self.lives:,} lives, {ends}"
        )


@dataclass(slots=True)
class FaultSweep:
    """One sweep.

    Attributes:
        job: the backend, its limits, and where findings go.
        name: of the group of faults.
        most: of each kind no later call fails than this one; None for no limit.
        more: kinds of faults beside those of the group.
    """

    job: Job
    name: str
    most: int | None = None
    more: tuple[Mode, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)

    def run(self) -> None:
        """Sweep until everything is covered, something was found, or the time is used up."""
        losses = [each for each in self.job.presets if PRESETS[each].is_power_loss][:1] if self.name == "sync" else []
        modes = (*GROUPS[self.name], *self.more)
        every = [(mode, sticky) for mode in modes for sticky in (False, True) if not (sticky and mode.once)]
        going_on = [(mode, sticky, end) for mode, sticky in every for end in ("", *losses)]
        self.coverage.of_modes = len(going_on)
        try:
            for nth in count(1) if self.most is None else range(1, self.most + 1):
                # Every kind of fault at the n-th call before any at the next, for time may run out.
                for mode, sticky, end in tuple(going_on):
                    self.job.check_budget()
                    came = self._life(mode.at(nth, sticky=sticky), end)
                    self.coverage.calls += came is not False
                    if not came:
                        # A kind that ended with a finding is not covered: later calls of it were not tried.
                        self.coverage.modes += came is False
                        going_on.remove((mode, sticky, end))
                if not going_on:
                    break
        except BudgetSpent:
            pass
        self.job.coverage = self.coverage.line(self.name, tuple(losses))

    def _life(self, fails: Fail, end: str) -> bool | None:
        """Whether the fault came, so that a later call may fail too; None where it was met in the wrong way."""
        self.coverage.lives += 1
        execution = self.job.begin(crashes=True)
        try:
            return Life(execution, fails, end).live()
        except Violation as violation:
            # The first call whose failure is met in the wrong way explains it best; another one may hide behind it.
            return None if self.job.found(violation, execution) else True
        finally:
            self.job.end(execution)


CLAUSES_OF_FAULTS: tuple[str, ...] = tuple(
    ("FAULT-01 FAULT-02 FAULT-03 FAULT-04 FAULT-05 FAULT-06 FAULT-08 OWN-07 OWN-04 FLUSH-02 CLOSE-07 MAT-03").split()
)
"""What a sweep can witness."""


def fault_sweeps(tier: Tier) -> tuple[MachineSpec, ...]:
    """One sweep for each group of faults; a shallow run looks at the first calls only, a thorough one at all errors."""
    most = FIRST_CALLS if tier.calls < 4 else None
    return tuple(_spec(name, most, more_modes(name, tier.calls)) for name in GROUPS)


def _spec(name: str, most: int | None, more: tuple[Mode, ...]) -> MachineSpec:
    return MachineSpec(
        name=f"fault[{name}]",
        clauses=CLAUSES_OF_FAULTS,
        needs=frozenset({Need.FAULTS, Need.FRESH}),
        title=TITLES[name],
        hunt=lambda job: FaultSweep(job, name, most, more).run(),
        kind="sweep",
    )


TITLES: dict[str, str] = {
    **{name: f"One life of two sessions, each time with another {name} call that fails" for name in GROUPS},
    "short": "One life of two sessions, each time with a write that ends at another place",
}
"""What each of the sweeps does, in one line."""
