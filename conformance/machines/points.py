"""Crash points: one performed program with its recording, and every moment of it at which it may crash.

Promises: a point knows the program up to it, what a crash there must leave, and how to say it as an operation. The disk
that comes with it is as it is at that moment.

Does not: choose states, or look at any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from conformance.drivers.crashes import Frozen
from conformance.drivers.execution import Execution
from conformance.model.operations import Crash, Operation
from conformance.model.recovery import Promise, promises
from conformance.sim.disk import ops
from conformance.sim.disk.presets import PAGE
from conformance.sim.disk.states import Disk, State
from conformance.sim.disk.trace import Trace

NOTHING: Mapping[int, ops.Sync] = MappingProxyType({})


@dataclass(slots=True)
class Recorded:
    """One performed program with its recording, ready to be crashed.

    Attributes:
        operations: what was performed. first: the index of the first operation whose points are new.
        during, after: for each new operation what a crash inside it, and after it, must leave.
    """

    operations: tuple[Operation, ...]
    first: int
    frozen: Frozen
    during: dict[int, tuple[Promise, ...]] = field(default_factory=dict)
    after: dict[int, tuple[Promise, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Point:
    """One crash point: the operations before it, the one under way, how many disk operations of it were done."""

    before: tuple[Operation, ...]
    during: Operation | None
    after: int | None
    promises: tuple[Promise, ...]
    index: int
    cut: int = 0

    def crash(self, preset: str, state: State) -> Crash:
        """The crash that leaves this state here."""
        return Crash(preset, self.during, self.after, self.cut, state.lost, state.tear)


def record(execution: Execution, operations: Iterable[Operation], first: int) -> Recorded:
    """Perform the operations, and keep what a crash at each point from ``first`` on must leave.

    Raises:
        Violation: without any crash.
    """
    during: dict[int, tuple[Promise, ...]] = {}
    after: dict[int, tuple[Promise, ...]] = {}
    for operation in operations:
        index = len(execution.operations)
        if index >= first:
            during[index] = promises(execution.judge, operation)
        execution.do(operation)
        if index >= first:
            after[index] = promises(execution.judge, None)
    return Recorded(execution.program.operations, first, execution.frozen(), during, after)


def points(
    recorded: Recorded, disk: Disk, *, cuts: bool, extra: Mapping[int, ops.Sync] = NOTHING
) -> Iterator[tuple[Point, Disk]]:
    """Every crash point of the new operations, with the disk as it is there.

    Args:
        disk: told of nothing so far. cuts: a write may be in flight, and cut at a page edge of its file.
        extra: index -> a sync that was not made, and is taken to have been made before that operation. The states of
            the disk then name operations by other indexes.
    """
    trace = recorded.frozen.trace
    done = 0
    for index, op in enumerate(trace.ops):
        if index in extra:
            disk.feed(extra[index])
        call = trace.calls[index]
        is_new = call is not None and call >= recorded.first
        if is_new and cuts and isinstance(op, ops.Write) and call is not None:
            yield from _cut_points(recorded, trace, index, op, call, done)
        disk.feed(op)
        if not is_new or call is None:
            continue
        if isinstance(op, ops.CallBegin):
            done = 0
        elif isinstance(op, ops.Ack):
            # What the backend goes on doing by itself does not count as done.
            at_once = 0 if _goes_on(trace, index) else None
            yield Point(recorded.operations[: call + 1], None, at_once, recorded.after[call], index), disk
        else:
            done += 1
            during = recorded.operations[call]
            yield Point(recorded.operations[:call], during, done, recorded.during[call], index), disk


def _goes_on(trace: Trace, index: int) -> bool:
    """Whether something was done to the disk between the acknowledgement at that index and the next call."""
    following = trace.ops[index + 1] if index + 1 < len(trace.ops) else None
    return following is not None and not isinstance(following, ops.Marker)


def _cut_points(
    recorded: Recorded, trace: Trace, index: int, op: ops.Write, call: int, done: int
) -> Iterator[tuple[Point, Disk]]:
    """A write in flight when the process is killed, cut at each page edge inside it."""
    edges = range((op.offset // PAGE + 1) * PAGE, op.offset + len(op.data), PAGE)
    for edge in edges:
        cut = edge - op.offset
        part = trace.until(index).with_part_of(op, cut, call)
        torn = Disk(part.image, "kill")
        during = recorded.operations[call]
        yield Point(recorded.operations[:call], during, done, recorded.during[call], index, cut), torn
