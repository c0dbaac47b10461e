"""The crash sweep: every short workload, every point at which it may crash, every state that the crash may leave.

Promises: a workload is performed and recorded once, judged call by call as any program; the crash points of its new
calls are then walked, and each distinct state that the preset allows there goes through the laboratory. With
``second_lives`` the process is also killed at each point, opened again and written to, and *then* loses its power, for
a kill is no sync; with ``recovery_crashes`` recovery itself is crashed. What was covered is counted and told, and where
a budget ended it, how far it came.

Does not: decide what is legal (``sim.disk``), what is right (``model``), or why it went wrong (``explaining``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance.clauses import Need, Violation
from conformance.clauses.levels import GATING
from conformance.drivers.errors import KitError
from conformance.drivers.resting import old_objects_at_rest
from conformance.machines.edges import edge_workloads, wide_workload
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.machines.laboratory import Laboratory
from conformance.machines.lives import GoesOn, next_life, owner_beside_reader
from conformance.machines.points import Point, Recorded, points, record
from conformance.machines.workloads import Workload, workloads
from conformance.model.operations import Crash, Operation
from conformance.sim.disk import ops
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import BUDGET, Disk, State

MOST_CONFIRMED = 12
"""Failing states that are performed again in full, for each workload."""


@dataclass(frozen=True, slots=True)
class Tier:
    """How far a sweep goes.

    Attributes:
        calls: workloads of at most so many calls.
        second_lives: workloads up to so many calls are killed, opened again and written to before the power fails.
        recovery_crashes: the same for crashes inside recovery.
    """

    calls: int
    second_lives: int
    recovery_crashes: int = 0


@dataclass(slots=True)
class Coverage:
    """What a sweep covered."""

    preset: str
    bound: int
    workloads: int = 0
    of_workloads: int = 0
    lives: int = 0
    recoveries: int = 0
    points: int = 0
    legal: int = 0
    tested: int = 0
    sampled_points: int = 0
    seed: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every legal state of every workload was covered."""
        return self.workloads == self.of_workloads and not self.sampled_points

    def line(self, laboratory: Laboratory) -> str:
        """One line that says what was covered, and what was not."""
        tally = laboratory.tally
        extent = "exhaustive" if self.is_whole else "not exhaustive"
        told = [
            f"{self.preset}: {self.workloads:,} of {self.of_workloads:,} workloads of up to {self.bound} calls",
            f"{self.lives:,} second lives and {self.recoveries:,} recoveries crashed again",
            f"{self.points:,} crash points",
            f"{self.legal:,} legal states, {self.tested:,} of them tested as distinct at their point ({extent})",
            f"{laboratory.images:,} distinct images, {tally.opened:,} opened, {tally.judged:,} judged",
            f"seed {self.seed}",
        ]
        if self.sampled_points:
            told.append(f"{self.sampled_points:,} points past the budget: k-deviation (k≤2), then samples")
        if not laboratory.deduplicates:
            told.append("every state opened by itself: the factory takes no env")
        return ", ".join(told)


@dataclass(slots=True)
class Walked:
    """What a walk came by: the crash points, and of each distinct image that conforms where it was first met."""

    points: list[Point] = field(default_factory=list)
    images: list[tuple[Point, State]] = field(default_factory=list)


class CrashSweep:
    """One sweep under one preset.

    Args:
        job: the backend, its limits, and where findings go.
    """

    def __init__(self, job: Job, preset: str, tier: Tier) -> None:
        self.job = job
        self.preset = preset
        self.tier = tier
        self.laboratory = Laboratory(job)
        self.coverage = Coverage(preset, tier.calls, seed=job.seed)

    def workloads(self) -> list[Workload]:
        """All that it goes through, the short ones first."""
        # What a backend makes of its root it makes in its first calls.
        short = workloads(self.tier.calls, on_a_root=min(2, self.tier.calls))
        every = [*short, *edge_workloads(self.job), wide_workload()]
        return sorted((each for each in every if each.calls <= self.tier.calls), key=lambda each: each.calls)

    def run(self) -> None:
        """Sweep until everything is covered, something was found, or the time is used up."""
        every = self.workloads()
        self.coverage.of_workloads = len(every)
        with contextlib.suppress(BudgetSpent), old_objects_at_rest():
            self._sweep(every)
        self.job.coverage = self.coverage.line(self.laboratory)
        self.job.crash_states = self.laboratory.tally.opened
        self.job.crash_bound = self.tier.calls if self.coverage.is_whole else 0

    def _sweep(self, every: Sequence[Workload]) -> None:
        shortest: int | None = None
        for workload in every:
            if shortest is not None and workload.calls > shortest:
                # Longer workloads fail in the same way, and explain it worse.
                break
            self.job.check_budget()
            self._workload(workload)
            self.coverage.workloads += 1
            if shortest is None and not self.job.is_searching:
                shortest = workload.calls

    def _workload(self, workload: Workload) -> None:
        first = len(workload.operations) - workload.new
        recorded = self._record(workload.operations, first)
        if recorded is None:
            return
        walked = self._walk(recorded)
        if not PRESETS[self.preset].is_power_loss:
            for point in walked.points:
                if point.cut:
                    self.job.check_budget()
                    self._let_in_beside_a_reader(point)
            return
        if workload.depth <= self.tier.second_lives:
            for point in (*walked.points, *_cuts(recorded)):
                self.job.check_budget()
                self._second_life(point)
        if workload.depth <= self.tier.recovery_crashes:
            for point, state in walked.images:
                self.job.check_budget()
                self._crash_recovery(point, state)

    def _record(self, operations: Sequence[Operation], first: int) -> Recorded | None:
        execution = self.job.begin(crashes=True, counts_left=False)
        try:
            return record(execution, operations, first)
        except Violation as violation:
            self.job.found(violation, execution)
            return None
        finally:
            self.job.end(execution)

    def _walk(self, recorded: Recorded) -> Walked:
        """Judge every state of every new point."""
        walked = Walked()
        seen: set[Hashable] = set()
        confirmed = 0
        is_kill = not PRESETS[self.preset].is_power_loss
        for point, disk in points(recorded, Disk(recorded.frozen.trace.base, self.preset), cuts=is_kill):
            self.coverage.points += 1
            walked.points.append(point)
            found = disk.states(BUDGET, self.job.seed)
            self.coverage.legal += found.legal
            self.coverage.sampled_points += not found.is_exhaustive
            for state in found.states:
                self.coverage.tested += 1
                if self._conforms(recorded, point, state):
                    if state.key not in seen:
                        seen.add(state.key)
                        walked.images.append((point, state))
                    continue
                confirmed += 1
                if confirmed <= MOST_CONFIRMED:
                    self._confirm(point, state)
        return walked

    def _conforms(self, recorded: Recorded, point: Point, state: State) -> bool:
        lost = {recorded.frozen.trace.calls[effect[0]] for effect in state.lost}
        calls = frozenset(each for each in lost if each is not None)
        kill = not PRESETS[self.preset].is_power_loss
        return self.laboratory.conforms(state, point.promises, calls, recorded.frozen, kill=kill)

    def _confirm(self, point: Point, state: State) -> None:
        crash = point.crash(self.preset, state)
        confirmed = self.laboratory.confirm(point.before, crash)
        if confirmed.violation is None:
            # The quick look saw something that the model has nothing against: one of the two is wrong.
            listing = "\n".join(f"  {each!r:.300}" for each in confirmed.program.operations)
            raise KitError(
                f"a state that the quick look condemns conforms when it is performed:\n{listing}\n"
                f"the quick look saw {self.laboratory.latest!r:.2000}, and was promised {point.promises!r:.1000}"
            )
        self.job.keep(confirmed.violation, confirmed.program)

    def _second_life(self, point: Point) -> None:
        """Kill at that point, open again, write, and let the power fail at every point of that."""
        killed = Crash("kill", point.during, point.after, point.cut)
        for goes_on in ("flush", "append and flush"):
            recorded = self._live_on((*point.before, killed), goes_on)
            if recorded is not None:
                self.coverage.lives += 1
                self._walk(recorded)

    def _let_in_beside_a_reader(self, point: Point) -> None:
        """Kill inside a write, and let a writer in, who has the tail to repair, while a reader looks on."""
        execution = self.job.begin(crashes=True, counts_left=False)
        try:
            for operation in (*point.before, Crash("kill", point.during, point.after, point.cut)):
                execution.do(operation)
            for operation in owner_beside_reader(execution, execution.program.operations):
                execution.do(operation)
        except Violation as violation:
            self.job.found(violation, execution)
        finally:
            self.job.end(execution)

    def _crash_recovery(self, point: Point, state: State) -> None:
        """Let the power fail, and fail again at every point of the recovery from that."""
        recorded = self._live_on((*point.before, point.crash(self.preset, state)), "recover")
        if recorded is not None and any(isinstance(op, ops.Change) for op in recorded.frozen.trace.ops):
            self.coverage.recoveries += 1
            self._walk(recorded)

    def _live_on(self, before: tuple[Operation, ...], goes_on: GoesOn) -> Recorded | None:
        execution = self.job.begin(crashes=True, counts_left=False)
        try:
            for operation in before:
                execution.do(operation)
            return record(execution, next_life(execution, before, goes_on), len(before))
        except Violation as violation:
            self.job.found(violation, execution)
            return None
        finally:
            self.job.end(execution)


def _cuts(recorded: Recorded) -> Iterator[Point]:
    """The points at which a kill cuts a write that is under way."""
    killed = Disk(recorded.frozen.trace.base, "kill")
    return (point for point, _ in points(recorded, killed, cuts=True) if point.cut)


CLAUSES_OF_CRASHES: tuple[str, ...] = tuple(
    (
        "DUR-01 DUR-02 DUR-03 DUR-04 DUR-05 DUR-06 DUR-07 DUR-08 DUR-09 DUR-11"
        " TORN-01 TORN-02 TORN-03 TORN-04 TORN-05 OWN-08"
    ).split()
)
"""What a sweep can witness."""


def sweeps(tier: Tier, asked: Container[str] = ()) -> tuple[MachineSpec, ...]:
    """One sweep for each preset that gates at some durability, and for each other one that is asked for."""
    others = [preset for preset in PRESETS if preset in asked and preset not in GATING]
    return tuple(_sweep(preset, tier) for preset in (*GATING, *others))


def _sweep(preset: str, tier: Tier) -> MachineSpec:
    return MachineSpec(
        name=f"crash[{preset}]",
        clauses=CLAUSES_OF_CRASHES,
        needs=frozenset({Need.CRASH}),
        title=f"Every short workload, every crash point, every state that {preset} may leave",
        hunt=lambda job: CrashSweep(job, preset, tier).run(),
        kind="sweep",
        preset=preset,
        # Its states by the thousand are what a default run has to get through.
        weight=4.0 if PRESETS[preset].is_power_loss else 2.0,
    )
