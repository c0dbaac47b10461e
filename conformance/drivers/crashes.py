"""The recorded disk of one driver, and what a crash leaves of it.

Promises: a `Recording` sees everything that a backend does under one root, call by call, and `Recording.crash` freezes
it: the image must equal the real directory at that moment, and nothing that the dead instance still does is recorded.
Any doubt about the recording ends in `NotMeasured` with the reason and the way out, never in a state.

Does not: end the instance or open the next one; the driver does. It judges nothing.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from conformance.drivers.crash_plans import AsWritten, CrashPlan, Placement, placement_of
from conformance.drivers.errors import NotMeasured
from conformance.model.history import CrashView
from conformance.model.operations import Crash, Fail
from conformance.sim.disk import Recorder, Tree
from conformance.sim.disk.fates import fates_of, lost_calls, told
from conformance.sim.disk.faults import Fault
from conformance.sim.disk.materialise import Attributes, attributes_at, materialise
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.remains import Remains
from conformance.sim.disk.states import Disk
from conformance.sim.disk.trace import Trace

_T = TypeVar("_T")

WAY_OUT = "the way out is a recorder outside the process (strace), which sees every library and process"


@dataclass(frozen=True, slots=True)
class Left:
    """What a crash left behind.

    Attributes:
        crash: the operation that leaves the same when it is performed again in the same program.
        tree: the files that the next life finds; attributes: path -> mode and time.
        carried: the trace that the next life goes on with, or None where everything it finds is durable.
        remains: what the dead instance has open.
        view: what to tell of it.
        placement: what it took, call by call.
    """

    crash: Crash
    tree: Tree
    attributes: dict[str, Attributes]
    carried: Trace | None
    remains: Remains
    view: CrashView
    placement: Placement

    def write(self, root: Path) -> None:
        """Make the world of the next life under an absent root."""
        materialise(self.tree, root, self.attributes)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A recording at one moment, for crashes that are tried out beside it.

    Attributes:
        trace: what was done. tree: the real files now; attributes: inode -> mode and time of them.
    """

    trace: Trace
    tree: Tree
    attributes: Mapping[int, Attributes]

    def attributes_at(self, tree: Tree) -> dict[str, Attributes]:
        """Path -> mode and time, for the paths of a tree that a crash may leave."""
        return attributes_at(tree, self.tree, self.attributes)


class Recording:
    """What a backend does under one root, from now to `close` or `crash`.

    Args:
        root: may be absent; nothing under it is open.
        carried: the trace of the earlier life that this one goes on with.

    Raises:
        RecorderError: something else is being recorded in this process.
    """

    def __init__(self, root: Path, carried: Trace | None = None) -> None:
        self.recorder = Recorder(root, carried=carried, untouched=True)
        self.recorder.__enter__()

    async def around(self, performed: Coroutine[Any, Any, _T], number: int, *, acknowledged: bool) -> _T:
        """Perform a call; what is done meanwhile belongs to it.

        It is acknowledged as soon as it has resolved: what the backend left to the loop is done after that.

        Args:
            acknowledged: whether its caller learns that it resolved.
        """
        self.recorder.mark_begin(number)
        try:
            value = await performed
        except BaseException:
            self.recorder.mark_end(number, resolved=False)
            raise
        self.recorder.mark_end(number, resolved=acknowledged)
        return value

    def arm(self, op: Fail, at: str) -> None:
        """Storage calls fail from here on as the operation says; those at one path alone where one is given."""
        self.recorder.arm(Fault(frozenset(op.calls), op.nth, op.error, op.sticky, op.how, op.taken, op.place, at))

    def doubts(self) -> str:
        """Why the recording cannot be trusted, as a phrase; "" where it can."""
        return "; ".join(self.recorder.doubts())

    def frozen(self) -> Frozen:
        """The recording as it is now; it goes on.

        Raises:
            NotMeasured: something may have been done that was not seen.
        """
        doubts = self.doubts()
        if doubts:
            raise NotMeasured(f"{doubts}; {WAY_OUT}")
        trace = self.recorder.trace()
        return Frozen(trace, trace.image.tree(), self.recorder.attributes())

    def crash(self, crash: Crash, number: int | None, plan: CrashPlan) -> Left:
        """End the recording as the plan says.

        Args:
            crash: what is to be performed. number: of the call that was under way, where it names one; the trace is cut
                inside it where the plan says so.

        Raises:
            NotMeasured: something may have been done that was not seen.
            KeyError: an unknown preset.
        """
        is_power_loss = PRESETS[crash.preset].is_power_loss
        frozen, remains = self.frozen(), self.recorder.left_open()
        self.close()
        whole = trace = frozen.trace
        after, cut = None, 0
        if crash.during is not None and number is not None:
            after, cut = plan.point(whole, number)
            place = whole.place_of(number, after)
            trace = whole.until(place)
            if place < len(whole.ops):
                trace = trace.with_part_of(whole.ops[place], cut, whole.calls[place])
        elif crash.during is None and crash.after is not None:
            trace = whole.until(whole.place_after_calls(crash.after))
            after = crash.after
        disk = Disk(trace.base, crash.preset)
        for op in trace.ops:
            disk.feed(op)
        state = plan.state(trace, disk)
        fates = fates_of(trace, crash.preset, state)
        carried = None if is_power_loss else trace
        view = CrashView(lost_calls(trace, fates), told(trace, fates))
        # Where a crash stands as it was written, it stays so: what it names may be less exact than what came of it.
        done = (
            crash
            if isinstance(plan, AsWritten)
            else replace(crash, after=after, cut=cut, lost=state.lost, tear=state.tear)
        )
        placement = placement_of(trace, disk, state)
        return Left(done, state.tree, frozen.attributes_at(state.tree), carried, remains, view, placement)

    def close(self) -> None:
        """End it."""
        self.recorder.__exit__()


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """What the dead raise while they are taken away is no observation, and nobody is told of it."""
    hook = sys.unraisablehook
    sys.unraisablehook = _ignore
    try:
        yield
    finally:
        sys.unraisablehook = hook


def _ignore(unraisable: object) -> None:
    """A crash runs no cleanup: whatever one does is neither right nor wrong."""
