"""Work that a cancelled caller must not break off: tasks that run to their end, counted so that a close can wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Jobs:
    """The running tasks of one service."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start work that nobody may ever wait for; its failure is no warning then."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The outcome of work that goes on to its end where this wait is cancelled."""
        return await finished(self.spawn(work))

    async def drain(self) -> None:
        """Wait until nothing runs but the task that asks."""
        while others := self._running - {asyncio.current_task()}:
            await asyncio.wait(others)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()


async def finished(task: asyncio.Task[T]) -> T:
    """The outcome of a task; cancelling the wait leaves the task alone."""
    await asyncio.wait({task})
    return task.result()
