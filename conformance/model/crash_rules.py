"""The rules for a crash: what ends with it, and what may be shown of each session afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.history import Outcome
from conformance.model.operations import Crash

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge


def crash(judge: Judge, call: Call, op: Crash, outcome: Outcome) -> None:
    """Every instance and handle is gone; of what is stored nothing is judged yet."""
    world = judge.world
    for session in (*world.stored.values(), *world.pending.values()):
        world.blur(session)
    world.instances.clear()
    world.handles.clear()
    judge.costs.spoil()
