"""How a program that lacks some operations of another still does the same: what each operation did there, as data.

Promises: a crash takes what it took of the calls that are left (``crash_plans``), and an append or a published event
that continued its log continues it wherever the log ends now. What is performed goes into the program, so that the
shorter program needs none of this any more.

Does not: choose what is left out (``machines.reduce`` does).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conformance.drivers.crash_plans import NO_PLACEMENTS, Placement
from conformance.model.judge import Judge
from conformance.model.live_flow import active
from conformance.model.operations import Append, Crash, Flood, Operation, Publish


@dataclass(frozen=True, slots=True)
class Fit:
    """What operations did, by their numbers.

    Attributes:
        placements: what each crash took. continuing: appends that began at the end of their log, as crashes during one,
            and events published for it.
    """

    placements: Mapping[int, Placement] = field(default_factory=lambda: NO_PLACEMENTS)
    continuing: frozenset[int] = frozenset()

    def renumbered(self, numbers: Mapping[int, int]) -> Fit:
        """The same for a program whose operations have other numbers; those without one are left out."""
        placements = {numbers[old]: each.renumbered(numbers) for old, each in self.placements.items() if old in numbers}
        return Fit(placements, frozenset(numbers[old] for old in self.continuing if old in numbers))


NO_FIT = Fit()
"""Every operation is performed as it stands."""


def continues(judge: Judge, operation: Operation) -> bool:
    """Whether it is an append of events in order that begins at the end of its log, or a crash during one.

    Or it publishes the event that is next.
    """
    if isinstance(operation, Flood):
        return operation.first == _next(judge, operation)
    if isinstance(operation, Publish):
        return isinstance(operation.event, dict) and operation.event.get("seq") == _next(judge, operation)
    inner = _append_of(operation)
    end = None if inner is None else _end(judge, inner)
    if inner is None or end is None:
        return False
    return [event.get("seq") for event in inner.events] == list(range(end, end + len(inner.events)))


def continued(judge: Judge, operation: Operation) -> Operation:
    """The same append with the seqs that continue its log as it is now; unchanged where nobody knows them."""
    if isinstance(operation, Publish | Flood):
        seq = _next(judge, operation)
        if seq is None:
            return operation
        if isinstance(operation, Flood):
            return replace(operation, first=seq)
        return replace(operation, event={**operation.event, "seq": seq})
    inner = _append_of(operation)
    end = None if inner is None else _end(judge, inner)
    if inner is None or end is None:
        return operation
    events = [{**event, "seq": seq} for seq, event in enumerate(inner.events, start=end)]
    append = inner if events == inner.events else replace(inner, events=events)
    return replace(operation, during=append) if isinstance(operation, Crash) else append


def _append_of(operation: Operation) -> Append | None:
    inner = operation.during if isinstance(operation, Crash) else operation
    if not isinstance(inner, Append) or not isinstance(inner.events, list) or not inner.events:
        return None
    return inner if all(isinstance(event, dict) for event in inner.events) else None


def _next(judge: Judge, publish: Publish | Flood) -> int | None:
    """The seq that continues what the session's handle has and what waits for it."""
    handle = active(judge, publish.instance, publish.session)
    if handle is None:
        return None
    return len(handle.session.log) + (0 if handle.session.live is None else len(handle.session.live.waiting))


def _end(judge: Judge, append: Append) -> int | None:
    handle = judge.world.handles.get(append.handle)
    return None if handle is None else len(handle.session.log)
