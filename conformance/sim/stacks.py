"""Where a suspended task stands: its chain of awaits, read without resuming it.

Promises: the frames from the task's outermost coroutine to its innermost await, through plain
coroutines, generators and async generators, and a phrase for what the innermost one waits on.

Does not: resume, cancel or keep anything alive. It is used for reports only, and may be slow.
"""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

_MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class StuckTask:
    """A pending task: its name, its frames (outermost first) and what it waits for."""

    name: str
    frames: tuple[traceback.FrameSummary, ...]
    awaits: str


def stuck_task(task: asyncio.Task[Any]) -> StuckTask:
    """Read where `task` stands. A task that never ran has its first line as its only frame."""
    return StuckTask(task.get_name(), _frames(task.get_coro()), _awaited_by(task))


def describe(stuck: StuckTask) -> str:
    """One readable block: the name, the frames as in a traceback, and the innermost await last."""
    lines = [f"task {stuck.name!r}\n"]
    lines += traceback.format_list(list(stuck.frames))
    lines.append(f"  {stuck.awaits}")
    return "".join(lines)


def _frames(root: object) -> tuple[traceback.FrameSummary, ...]:
    found: list[traceback.FrameSummary] = []
    node: object = root
    for _ in range(_MAX_DEPTH):
        if node is None or asyncio.isfuture(node):
            break
        frame, inner = _look_into(node)
        if frame is not None:
            code = frame.f_code
            found.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name))
            node = inner
        else:
            node = _through_wrapper(node)
    return tuple(found)


def _look_into(node: object) -> tuple[FrameType | None, object]:
    """The frame of a coroutine-like object and what it awaits; (None, None) for other objects."""
    for frame_name, inner_name in (
        ("cr_frame", "cr_await"),
        ("gi_frame", "gi_yieldfrom"),
        ("ag_frame", "ag_await"),
    ):
        frame = getattr(node, frame_name, None)
        if frame is not None:
            return frame, getattr(node, inner_name)
    return None, None


def _through_wrapper(node: object) -> object:
    # `agen.__anext__()` and `coro.__await__()` give C objects without an attribute for what they
    # wrap; the garbage collector's view of them is the only public way through.
    for referent in gc.get_referents(node):
        if asyncio.isfuture(referent) or _look_into(referent)[0] is not None:
            return referent
    return None


def _awaited_by(task: asyncio.Task[Any]) -> str:
    waiter = getattr(task, "_fut_waiter", None)
    if waiter is None:
        return "has not awaited anything yet, or is ready to go on"
    return f"awaits {_name_of(waiter)}"


def _name_of(future: asyncio.Future[Any]) -> str:
    if isinstance(future, asyncio.Task):
        return f"task {future.get_name()!r}"
    children: Iterable[asyncio.Future[Any]] | None = getattr(future, "_children", None)
    if children is not None:
        pending = ", ".join(_name_of(child) for child in children if not child.done())
        return f"gather of {pending}" if pending else "gather"
    job = getattr(future, "job_name", None)
    if job is not None:
        return f"executor job {job}"
    return "a future that is already done" if future.done() else "a future that nobody has set"
