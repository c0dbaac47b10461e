"""Why a program fails after a crash: the smallest crash that shows it, its class of cause, the missing barrier.

Promises: the program before the crash is taken as it is, made short by whoever found it. Of its crashes the smallest is
looked for: the weakest preset first, in it the earliest point, there the fewest lost effects and tears. Then the cause:
where the crash took what a barrier had covered, barriers are tried (``barriers``), unless a sync of it had failed, for
then it has to be written again; where it took only what nobody had promised, recovery itself is at fault, and no
barrier is offered.

Does not: judge. Every state that is told of was performed as a whole program, and the model blamed the clause.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.clauses import Violation
from conformance.machines.barriers import Remedy, missing_barriers
from conformance.machines.causes import cause_of
from conformance.machines.job import Finding, Job
from conformance.machines.laboratory import Confirmed, Laboratory
from conformance.machines.points import Point, Recorded, points, record
from conformance.model.operations import Crash, Operation
from conformance.report.crash_text import CrashStory
from conformance.sim.disk.fates import TAKEN, fates_of, name_at, shorter_side, told
from conformance.sim.disk.image import Tree
from conformance.sim.disk.ops import Marker, SyncFailed
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import BUDGET, Disk, State
from conformance.sim.disk.trace import Trace

SECONDS = 8.0
"""How long one finding may be explained, its barriers included."""

MOST_CONFIRMED = 40
"""States that are performed in full while the smallest crash is looked for."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A finding with the smallest crash that shows it, and its story as lines for people."""

    finding: Finding
    story: CrashStory

    @property
    def lines(self) -> tuple[str, ...]:
        """The story, line by line."""
        return self.story.lines()


@dataclass(frozen=True, slots=True)
class _Found:
    preset: str
    point: Point
    state: State
    confirmed: Confirmed


class Explainer:
    """Explains one finding.

    Args:
        job: the backend, and room to perform programs in.
        presets: those that may be told, the weakest first; the one in which it was found is among them.
        compared: a recorder outside the process has seen the same barriers.
    """

    def __init__(self, job: Job, presets: Sequence[str], *, compared: bool = False) -> None:
        self._compared = compared
        self._job = job
        self._presets = presets
        self._laboratory = Laboratory(job)
        self._deadline = 0.0

    def explain(self, finding: Finding) -> Explained | None:
        """The story of a finding; None where it needs no crash, or does not fail again."""
        self._deadline = time.monotonic() + SECONDS
        before, crash = _last_crash(finding.program.operations)
        if crash is None:
            return None
        recorded = self._record(before, crash)
        if recorded is None:
            return None
        found = self._smallest(recorded, crash, finding.clause)
        if found is None or found.confirmed.violation is None:
            return None
        smallest = Finding(finding.clause, found.confirmed.program, found.confirmed.violation)
        return Explained(smallest, self._story(recorded, found, smallest.violation))

    def _record(self, before: tuple[Operation, ...], crash: Crash) -> Recorded | None:
        """Perform the program without its last crash, the call that it hit to its end."""
        operations = before if crash.during is None else (*before, crash.during)
        earlier = [index for index, each in enumerate(operations) if isinstance(each, Crash)]
        execution = self._job.begin(crashes=True)
        try:
            return record(execution, operations, earlier[-1] + 1 if earlier else 0)
        except Violation:
            return None
        finally:
            self._job.end(execution, counted=False)

    def _smallest(self, recorded: Recorded, crash: Crash, clause: str) -> _Found | None:
        confirmed = 0
        for preset in self._presets:
            for point, state in self._failing(recorded, preset):
                if confirmed >= MOST_CONFIRMED or time.monotonic() > self._deadline:
                    return self._as_found(recorded, crash, clause)
                confirmed += 1
                again = self._laboratory.confirm(point.before, point.crash(preset, state))
                if again.violation is not None and again.violation.clause == clause:
                    return _Found(preset, point, state, again)
        return self._as_found(recorded, crash, clause)

    def _failing(self, recorded: Recorded, preset: str) -> Iterator[tuple[Point, State]]:
        """What does not fit, the earliest point first, and at each point the state that loses least."""
        kill = not PRESETS[preset].is_power_loss
        for point, disk in points(recorded, Disk(recorded.frozen.trace.base, preset), cuts=kill):
            for state in sorted(disk.states(BUDGET, self._job.seed).states, key=lambda each: each.weight):
                if not self._laboratory.fits(state, point.promises, recorded.frozen):
                    yield point, state

    def _as_found(self, recorded: Recorded, crash: Crash, clause: str) -> _Found | None:
        """The crash of the finding itself, where no smaller one shows the same."""
        for point, disk in points(recorded, Disk(recorded.frozen.trace.base, crash.preset), cuts=True):
            same_call = point.during == crash.during and len(point.before) == _calls_before(recorded, crash)
            if same_call and (crash.after is None or point.after == crash.after) and point.cut == crash.cut:
                again = self._laboratory.confirm(point.before, crash)
                if again.violation is not None and again.violation.clause == clause:
                    return _Found(crash.preset, point, disk.state(crash.lost, crash.tear), again)
        return None

    def _story(self, recorded: Recorded, found: _Found, violation: Violation) -> CrashStory:
        trace = recorded.frozen.trace.until(found.point.index + (0 if found.point.cut else 1))
        if found.point.cut:
            call = recorded.frozen.trace.calls[found.point.index]
            trace = trace.with_part_of(recorded.frozen.trace.ops[found.point.index], found.point.cut, call)
        state = found.state
        fates = fates_of(trace, found.preset, state)
        lost = [index for index, fate in enumerate(fates) if fate in TAKEN]
        lost_calls = {trace.calls[index] for index in lost}
        covered = any(each.stake.before & lost_calls for each in found.point.promises)
        later = recorded.frozen.trace.ops[found.point.index + 1 :]
        following = next((op for op in later if not isinstance(op, Marker)), None)
        cause = cause_of(trace, following, found.preset, state, violation, covered=covered)
        side = shorter_side(trace, fates)
        remedy = Remedy()
        dropped = _dropped(trace, lost) if covered else ()
        lies = PRESETS[found.preset].lies
        if covered and not dropped and not lies:
            remedy = missing_barriers(recorded, found.preset, lost, self._fits, seconds=self._left())
        names = recorded.frozen.trace
        return CrashStory(
            preset=found.preset,
            cause=cause,
            is_recovery=not covered and cause != "stranded buffer",
            barriers=tuple(" and ".join(each.text(names) for each in every) for every in remedy.barriers),
            is_partial=remedy.is_partial,
            table=told(trace, fates),
            before=_files(trace.image.tree()),
            after=_files(state.tree),
            dropped=dropped,
            compared=self._compared,
            lies=lies,
            named=side.lines,
            are_survivors=side.survived,
            at_stake=side.at_stake,
        )

    def _left(self) -> float:
        return max(1.0, self._deadline - time.monotonic())

    def _fits(self, recorded: Recorded, point: Point, state: State) -> bool:
        return self._laboratory.fits(state, point.promises, recorded.frozen)


def _dropped(trace: Trace, lost: Sequence[int]) -> tuple[str, ...]:
    """The files of which something is lost that a sync had been asked for, and failed."""
    first = {getattr(trace.ops[index], "ino", -1): index for index in reversed(lost)}
    failed = [
        name_at(trace, index, op.ino)
        for index, op in enumerate(trace.ops)
        if isinstance(op, SyncFailed) and first.get(op.ino, index) < index
    ]
    return tuple(dict.fromkeys(failed))


def _files(tree: Tree) -> dict[str, bytes | str]:
    """A tree as the report takes it."""
    return {**tree.files, **tree.symlinks, **{f"{path}/": b"" for path in tree.directories if path != "."}}


def _last_crash(operations: tuple[Operation, ...]) -> tuple[tuple[Operation, ...], Crash | None]:
    """The operations before the last crash, and the crash."""
    for index in range(len(operations) - 1, -1, -1):
        each = operations[index]
        if isinstance(each, Crash):
            return operations[:index], each
    return operations, None


def _calls_before(recorded: Recorded, crash: Crash) -> int:
    return len(recorded.operations) - (crash.during is not None)
