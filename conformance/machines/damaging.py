"""The damage sweep: every byte of a small log changed, every place at which it may be cut, every run of NUL at its end,
and every file beside the artifacts removed, replaced, cut or put back as it was.

Promises: one program stores a session of a few batches and its neighbour, judged call by call. Then its artifact is
damaged in each way that the sweep is about; a fresh instance lists, tells, opens and reads, and for torn tails another
one goes on. Each answer is judged by the model, from where the program left it, and what breaks a clause is performed
again as a whole program. Between two ways the artifact is put back byte for byte.

Does not: know a format, or decide what is right.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from conformance.clauses import Need, Violation
from conformance.contract import SessionHeader
from conformance.drivers.damage import Artifacts
from conformance.drivers.errors import KitError
from conformance.drivers.execution import Execution
from conformance.drivers.inprocess import InProcessDriver
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.machines.sweep import Tier
from conformance.machines.workloads import sweep_event
from conformance.model.adversities import END
from conformance.model.history import Completion, Invocation, Outcome, Returned
from conformance.model.judge import Judge
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Damage,
    Flush,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)

Ways = Literal["flip", "cut", "nul", "beside"]

SESSION, NEIGHBOUR = "s1", "s2"

CREATED_AT = 1_700_000_000_000
"""Unix ms of both."""

CLAUSES_OF_DAMAGE: dict[Ways, tuple[str, ...]] = {
    "flip": ("FMT-10", "FMT-04", "FMT-05", "FMT-06", "SVC-07"),
    "cut": ("TORN-01", "TORN-02", "SVC-07"),
    "nul": ("FMT-04", "FMT-05", "FMT-10", "TORN-01", "TORN-02", "SVC-07"),
    "beside": ("FMT-11",),
}
"""What each of the sweeps can witness; the first one says what it is for."""

TITLES: dict[Ways, str] = {
    "flip": "Each single byte of a small log changed",
    "cut": "A small log cut at each of its bytes",
    "nul": "A small log that reads NUL from each of its bytes on",
    "beside": "Each file beside the artifacts removed, replaced, emptied, cut, or as it was earlier",
}

FOREIGN = "This is a note that somebody put here.\n"

EARLIER = 4
"""As many of the first states of a file are put back; what held fewer is put back as it was last."""

COARSE, MIDDLE = 7, 3
"""Of so many places one is tried in the shortest runs; in ordinary ones, where a crash could leave the same."""


def stored_program() -> list[Operation]:
    """A session of three batches, each flushed, and its neighbour; all closed."""
    found: list[Operation] = [OpenInstance(1), Create(1, 1, SessionHeader(SESSION, CREATED_AT)), Flush(1)]
    for first, end in ((0, 2), (2, 3), (3, 5)):
        found += [Append(1, [sweep_event(SESSION, seq) for seq in range(first, end)]), Flush(1)]
    found += [Close(1), Create(1, 2, SessionHeader(NEIGHBOUR, CREATED_AT))]
    found += [Append(2, [sweep_event(NEIGHBOUR, 0)]), Close(2), CloseInstance(1)]
    return found


def ways_beside(count: int) -> Iterator[Damage]:
    """Every damage to each of so many files that are no artifacts."""
    for number in range(count):
        yield Damage(SESSION, "unlink", beside=number)
        yield Damage(SESSION, "directory", beside=number)
        yield Damage(SESSION, "symlink", data=FOREIGN, beside=number)
        yield Damage(SESSION, "replace", data=FOREIGN, beside=number)
        yield Damage(SESSION, "replace", data="", beside=number)
        yield Damage(SESSION, "cut", start=(-1, -1), beside=number)
        for version in range(EARLIER):
            yield Damage(SESSION, "put_back", version=version, beside=number)


def ways_of(what: Ways, size: int, stride: int) -> Iterator[Damage]:
    """Every damage of that kind to an artifact of so many bytes."""
    for at in range(0, size, stride):
        if what == "flip":
            yield Damage(SESSION, "flip", start=(0, at), mask=1 << at % 8)
        elif what == "cut":
            yield Damage(SESSION, "cut", start=(0, at))
        else:
            yield Damage(SESSION, "nul", start=(0, at), end=END)
            yield Damage(SESSION, "nul", start=(0, at), end=(0, at + 8))


@dataclass(slots=True)
class _Stored:
    """What the program left: its operations, its model as bytes, its storage, and what is known of the artifacts."""

    operations: list[Operation]
    judge: bytes
    outer: Path
    root: Path
    artifacts: Artifacts


@dataclass(slots=True)
class DamageSweep:
    """One sweep over one kind of damage."""

    job: Job
    what: Ways
    stride: int
    tried: int = 0
    of: int = 0
    failing: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Sweep until everything is tried, or the time is used up."""
        with contextlib.suppress(BudgetSpent):
            self._run()
        extent = "exhaustive" if self.tried == self.of and self.stride == 1 else "not exhaustive"
        each = "at each byte" if self.stride == 1 else f"at one byte in {self.stride}"
        each = "to each file" if self.what == "beside" else each
        self.job.coverage = f"{self.what}: {self.tried:,} of {self.of:,} ways, {each} ({extent})"

    def _run(self) -> None:
        execution = self.job.begin(damages=True)
        try:
            stored = self._store(execution)
            if stored is None:
                return
            if self.what == "beside":
                ways = list(ways_beside(stored.artifacts.count_beside()))
            else:
                ways = list(ways_of(self.what, stored.artifacts.size(SESSION), self.stride))
            self.of = len(ways)
            for way in ways:
                self.job.check_budget()
                with _put_back(stored) if self.what == "beside" else contextlib.nullcontext(stored) as as_it_was:
                    self._try(as_it_was, way)
                self.tried += 1
        finally:
            self.job.end(execution)

    def _store(self, execution: Execution) -> _Stored | None:
        operations = stored_program()
        try:
            for operation in operations:
                execution.do(operation)
        except Violation as violation:
            self.job.found(violation, execution)
            return None
        outer, root, artifacts = execution.storage()
        return _Stored(operations, pickle.dumps(execution.judge), outer, root, artifacts)

    def _try(self, stored: _Stored, way: Damage) -> None:
        """Damage, look, judge, and put back."""
        # Read back for each way: that is the quickest copy of everything the model knows.
        judge: Judge = pickle.loads(stored.judge)
        judge.witnesses.clear()
        driver = InProcessDriver(self.job.backend, stored.outer, watchdog=self.job.watchdog)
        performed = list(stored.operations)

        def do(operation: Operation) -> Outcome:
            call = len(performed)
            performed.append(operation)
            judge.feed(Invocation(call, operation))
            if isinstance(operation, Damage):
                outcome: Outcome = Returned(stored.artifacts.damage(stored.root, operation))
            else:
                outcome = driver.perform(operation)
            judge.feed(Completion(call, outcome))
            return outcome

        saved = stored.artifacts.saved(SESSION)
        try:
            do(way)
            for operation in _looks():
                do(operation)
            if self.what != "flip":
                _go_on(do)
        except Violation as violation:
            self._confirm(violation, performed)
        finally:
            driver.finish()
            stored.artifacts.restore(SESSION, saved)
        self.job.witnesses.update(judge.witnesses)

    def _confirm(self, violation: Violation, performed: list[Operation]) -> None:
        """Perform the whole of it in a world of its own; one program for each clause and kind of wrong answer."""
        shape = f"{violation.clause} {len(performed)}"
        if shape in self.failing:
            return
        self.failing.add(shape)
        execution = self.job.begin(damages=True)
        try:
            for operation in performed:
                execution.do(operation)
        except Violation as confirmed:
            self.job.found(confirmed, execution)
            return
        finally:
            execution.finish()
        raise KitError(
            f"what broke {violation.clause} in a damage sweep breaks nothing as a program: {performed!r:.2000}"
        )


@contextlib.contextmanager
def _put_back(stored: _Stored) -> Iterator[_Stored]:
    """The same storage, all of which is as it was in the end."""
    kept = stored.root.with_name(f"{stored.root.name}-kept")
    shutil.copytree(stored.root, kept, symlinks=True)
    try:
        yield replace(stored, artifacts=copy.deepcopy(stored.artifacts))
    finally:
        shutil.rmtree(stored.root)
        kept.rename(stored.root)


def _looks() -> Iterator[Operation]:
    """A fresh instance asks about both sessions."""
    yield OpenInstance(2)
    yield ListSessions(2)
    yield Stat(2, SESSION)
    yield OpenSession(2, 3, SESSION, "read")
    yield Read(3)
    yield Read(3, 1, 2)
    yield OpenSession(2, 4, NEIGHBOUR, "read")
    yield Read(4)
    yield CloseInstance(2)


def _go_on(do: Callable[[Operation], Outcome]) -> None:
    """Another instance owns it, appends behind what it reads, and a third one reads that."""
    do(OpenInstance(3))
    do(OpenSession(3, 5, SESSION, "write"))
    log = do(Read(5))
    if isinstance(log, Returned) and isinstance(log.value, list):
        do(Append(5, [sweep_event("after", len(log.value))]))
        do(Close(5))
        do(OpenInstance(4))
        do(OpenSession(4, 6, SESSION, "read"))
        do(Read(6))


def damage_sweeps(tier: Tier) -> tuple[MachineSpec, ...]:
    """One sweep for each kind of damage."""
    return tuple(_sweep(what, _stride(what, tier)) for what in CLAUSES_OF_DAMAGE)


def _stride(what: Ways, tier: Tier) -> int:
    """How many bytes further the next way begins."""
    if tier.calls < 4 and what != "beside":
        return COARSE
    return 1 if what in ("flip", "beside") or tier.calls > 4 else MIDDLE


def _sweep(what: Ways, stride: int) -> MachineSpec:
    return MachineSpec(
        name=f"damage[{what}]",
        clauses=CLAUSES_OF_DAMAGE[what],
        needs=frozenset({Need.FRESH, Need.LOCATION, Need.DAMAGE}),
        title=TITLES[what],
        hunt=lambda job: DamageSweep(job, what, stride).run(),
        kind="sweep",
        weight=0.5,
    )
