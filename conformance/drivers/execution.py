"""One program in one world: perform, write down, judge, and keep the reference in step.

The single place where an operation goes through all of it. Machines and scenarios call ``do``; a replay calls
``run_program``. The history is kept as data; verdicts are the model's alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from conformance.clauses import Violation
from conformance.contract import Backend
from conformance.drivers.crash_plans import AsWritten, CrashPlan, Drawn, Placed, Placement
from conformance.drivers.crashes import Frozen
from conformance.drivers.damage import Artifacts
from conformance.drivers.errors import UsageError
from conformance.drivers.fitting import NO_FIT, Fit, continued, continues
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.journal import Journal
from conformance.drivers.partner import Partner
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.whereabouts import Whereabouts
from conformance.model.history import RESOLVED, Completion, Event, Invocation, Outcome, Returned
from conformance.model.judge import Judge
from conformance.model.operations import (
    CountLeft,
    Crash,
    Damage,
    Fail,
    Heal,
    Macro,
    Operation,
    Overlap,
    Program,
    StartCounting,
)
from conformance.model.overlap_rules import looks
from conformance.model.phase import Phase
from conformance.sim import Choices

_made = tuple.__new__
"""Makes a named tuple of all its values, in order; its own way to be made costs three times as much."""


class Execution:
    """Runs one program against one backend over one root.

    Args:
        backend: the backend under test.
        root: its storage, absent at first.
        partner: the reference that takes every step beside it, or None.
        journal: where each operation is written down before it is performed.
        crashes: the program may hold a ``Crash``, so that everything is recorded from the first operation on.
        damages: it may hold a ``Damage``, so that artifacts are watched from the first operation on.
        counts_left: it may hold a ``CountLeft``, for which what there is before its first instance is noted.

    Attributes:
        operations: what was performed so far.
        history: what happened so far.
        judge: the model's state; machines look there for what may be done next.
        reference_answer: what the reference said to the call that broke a clause, or "".
    """

    def __init__(
        self,
        backend: Backend,
        root: Path,
        *,
        partner: Backend | None = None,
        journal: Journal | None = None,
        choices: Choices | None = None,
        watchdog: Watchdog | None = None,
        crashes: bool = False,
        damages: bool = False,
        counts_left: bool = True,
    ) -> None:
        self.backend = backend
        self.operations: list[Operation] = []
        self.history: list[Event] = []
        self._placements: dict[int, Placement] = {}
        self._continuing: set[int] = set()
        self.judge = Judge(backend.capabilities, located=backend.gives("location"))
        self.reference_answer = ""
        self._journal = journal
        self._driver = InProcessDriver(
            backend,
            root,
            choices=choices,
            watchdog=watchdog,
            crashes=crashes,
            damages=damages,
            counts_left=counts_left,
        )
        self._partner = Partner(partner, root) if partner is not None else None
        self._whereabouts = Whereabouts()

    @property
    def moved(self) -> bool:
        """Whether the backend changed the working directory of the process."""
        return self._whereabouts.moved

    @property
    def program(self) -> Program:
        """What was performed so far, as data."""
        return Program(tuple(self.operations))

    @property
    def fit(self) -> Fit:
        """What the operations did, for a program that lacks some of them."""
        return Fit(dict(self._placements), frozenset(self._continuing))

    @property
    def witnesses(self) -> Counter[str]:
        """Clause id -> how often it was exercised."""
        return self.judge.witnesses

    def do(self, operation: Operation) -> Outcome:
        """Perform one operation and judge it; of a macro every operation it stands for, as the last of which it ends.

        Raises:
            Violation: the clause that the backend broke.
            KitError: the reference broke the model, or differs from what the model calls the only answer.
            SetupError: the first instance could not be opened.
            NotMeasured: a crash, of a backend that does what the kit cannot see.
        """
        if isinstance(operation, Crash):
            return self._crash(operation, AsWritten(operation))
        call = self._note(operation)
        if isinstance(operation, Overlap):
            return self._overlap(call, operation)
        if not isinstance(operation, Macro):
            return self._step(call, operation)
        outcome: Outcome = RESOLVED
        for each in operation.expand():
            outcome = self._step(call, each)
        return outcome

    def crash(self, preset: str, choices: Choices, during: Operation | None = None) -> Outcome:
        """A crash that the choices decide once it is known what there is to lose; 0 everywhere loses nothing.

        ``during`` is performed first, and what came of it is forgotten; then the choices say how many of its disk
        operations were done (0: all), where a write of a killed process was cut, and what was lost. The operation that
        goes into program, history and journal says all of that, so that the program comes to the same again.

        Raises:
            As ``do``; KeyError: an unknown preset. ValueError: ``during`` is no single call of a backend.
        """
        return self._crash(Crash(preset, during), Drawn(preset, choices))

    def crash_as(self, crash: Crash, placement: Placement) -> Outcome:
        """A crash as in another program, where it took what the placement says; as far as that is there to be taken.

        Raises:
            As ``crash``.
        """
        return self._crash(crash, Placed(crash, placement))

    def _note(self, operation: Operation) -> int:
        """Write the operation down; returns its number."""
        if self._journal is not None:
            self._journal.note(operation)
        call = len(self.operations)
        if continues(self.judge, operation):
            self._continuing.add(call)
        self.operations.append(operation)
        return call

    def _crash(self, asked: Crash, plan: CrashPlan) -> Outcome:
        call, at = self._note(asked), self._driver.now_us()
        left = self._driver.crash(asked, call, plan)
        # What lives on is another process, and begins where this one did.
        self._whereabouts.put_back()
        self.operations[call] = crash = left.crash
        self._placements[call] = left.placement
        if self._journal is not None and crash is not asked:
            self._journal.amend(crash)
        self._take(Invocation(call, crash, at=at))
        return self._end(call, crash, Returned(left.view))

    def _overlap(self, call: int, operation: Overlap) -> Outcome:
        self._take(Invocation(call, operation, at=self._driver.now_us()))
        if self.judge.phase is None:
            raise RuntimeError(f"the model did not take in that calls begin to overlap: {operation!r:.200}")
        ears = _Ears(call, self._driver, self.history, self.judge.phase)
        self._driver.overlap(operation, call, ears)
        for number, look in enumerate(looks(self.judge), 1):
            ears.begun(0, number, look)
            ears.ended(0, number, self._driver.perform(look, call))
        return self._end(call, operation, RESOLVED)

    def _take(self, event: Event) -> None:
        self.history.append(event)
        self.judge.feed(event)

    def _step(self, call: int, operation: Operation) -> Outcome:
        self._take(_made(Invocation, (call, operation, 0, self._driver.now_us(), 0)))
        return self._end(call, operation, self._driver.perform(operation, call))

    def _end(self, call: int, operation: Operation, outcome: Outcome) -> Outcome:
        try:
            self._take(_made(Completion, (call, outcome, self._driver.now_us(), self._driver.take_faults(), 0, 0)))
        except Violation:
            if self._partner is not None:
                self.reference_answer = self._partner.answer(operation)
            raise
        if self._partner is not None:
            self._partner.follow(operation, outcome, self.judge)
        return outcome

    @property
    def latest(self) -> Outcome | None:
        """What the latest operation came to; None before the first."""
        ended = self.history[-1] if self.history else None
        return ended.outcome if isinstance(ended, Completion) else None

    def artifact_size(self, session: str) -> int | None:
        """Bytes of the session's artifact as it is now; None where there is none, or nobody knows where it is."""
        return self._driver.artifact_size(session)

    def storage(self) -> tuple[Path, Path, Artifacts]:
        """Where another driver finds the same storage, the root in it, and its artifacts; made with ``damages``.

        Raises:
            UsageError: the execution was made without.
        """
        return self._driver.storage()

    def frozen(self) -> Frozen:
        """What was done to the files so far.

        Raises:
            NotMeasured: something may have been done that was not seen.
            RecorderError: the execution was made without ``crashes``, or nothing was performed.
        """
        return self._driver.frozen()

    def finish(self) -> None:
        """End what the program left open; to be called once, whatever happened."""
        self._driver.finish()
        self._whereabouts.put_back()
        if self._partner is not None:
            self._partner.finish()


class _Ears:
    """Puts the calls of an overlap into the history, and to the model: into the phase, as ``Judge.feed`` does."""

    __slots__ = ("_begins", "_call", "_driver", "_ends", "_note", "_now_us")

    def __init__(self, call: int, driver: InProcessDriver, history: list[Event], phase: Phase) -> None:
        self._call = call
        self._driver = driver
        self._now_us = driver.now_us
        self._note = history.append
        self._begins, self._ends = phase.begins, phase.ends

    def begun(self, client: int, step: int, operation: Operation) -> None:
        """See ``overlapping.Ears``."""
        event = _made(Invocation, (self._call, operation, client, self._now_us(), step))
        self._note(event)
        self._begins(event)

    def ended(self, client: int, step: int, outcome: Outcome) -> None:
        """See ``overlapping.Ears``."""
        event = _made(Completion, (self._call, outcome, self._now_us(), self._driver.take_faults(), client, step))
        self._note(event)
        self._ends(event)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What one program came to.

    Attributes:
        program: the operations that were performed, up to the one that broke a clause.
        fit: what its operations did.
    """

    program: Program
    history: tuple[Event, ...]
    witnesses: Counter[str]
    violation: Violation | None
    reference_answer: str
    fit: Fit = NO_FIT

    def told_history(self) -> tuple[Event, ...]:
        """The history as reports hold it: of what a macro did, the program says enough while nothing went wrong.

        Of a macro that met an error, or broke a clause, its last call is kept.
        """
        macros = {call for call, each in enumerate(self.program.operations) if isinstance(each, Macro)}
        latest = {event.call: place for place, event in enumerate(self.history)}
        blamed = None if self.violation is None else self.violation.call

        def is_told(place: int, event: Event) -> bool:
            if event.call not in macros:
                return True
            end = self.history[latest[event.call]]
            failed = isinstance(end, Completion) and not isinstance(end.outcome, Returned)
            return place >= latest[event.call] - 1 and (failed or event.call == blamed)

        return tuple(event for place, event in enumerate(self.history) if is_told(place, event))


_ON_RECORDED_STORAGE = (Crash, Fail, Heal)


def run_program(
    backend: Backend,
    program: Program,
    root: Path,
    *,
    partner: Backend | None = None,
    journal: Journal | None = None,
    watchdog: Watchdog | None = None,
    fit: Fit = NO_FIT,
) -> ProgramResult:
    """Perform a whole program; stops at the first violation.

    Args:
        fit: what operations did in a longer program, and are to do here as far as they can.

    Raises:
        KitError, SetupError, NotMeasured: as ``Execution.do``.
        UsageError: it holds a crash, and counts what calls use, or the backend stores nothing in files. It holds
            damage, and a crash too, or the backend does not tell where its artifacts are.
    """
    crashes = any(isinstance(operation, _ON_RECORDED_STORAGE) for operation in program.operations)
    damages = any(isinstance(operation, Damage) for operation in program.operations)
    if crashes and any(isinstance(operation, StartCounting) for operation in program.operations):
        raise UsageError(
            "a program counts what calls use, or it crashes or its storage fails: one recording cannot do both"
        )
    execution = Execution(
        backend,
        root,
        partner=partner,
        journal=journal,
        watchdog=watchdog,
        crashes=crashes,
        damages=damages,
        counts_left=any(isinstance(operation, CountLeft) for operation in program.operations),
    )
    found: Violation | None = None
    try:
        for number, operation in enumerate(program.operations):
            fitted = continued(execution.judge, operation) if number in fit.continuing else operation
            if isinstance(fitted, Crash) and number in fit.placements:
                execution.crash_as(fitted, fit.placements[number])
            else:
                execution.do(fitted)
    except Violation as violation:
        found = violation
    finally:
        execution.finish()
    return ProgramResult(
        execution.program,
        tuple(execution.history),
        execution.witnesses,
        found,
        execution.reference_answer,
        execution.fit,
    )
