"""Work that a cancelled caller must not break off: it runs to its end, counted so that a close can wait for it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def in_thread(work: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
    """Start blocking work in a thread, in the caller's context: ``asyncio.to_thread`` without a coroutine around it."""
    return asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, work, *args)


async def finished(future: asyncio.Future[T]) -> T:
    """The outcome of a future; cancelling the wait leaves it alone."""
    if not future.done():
        ended = future.get_loop().create_future()

        def wake(_: asyncio.Future[T]) -> None:
            if not ended.done():
                ended.set_result(None)

        future.add_done_callback(wake)
        try:
            await ended
        finally:
            future.remove_done_callback(wake)
    return future.result()


class Jobs:
    """What one service has under way."""

    def __init__(self) -> None:
        self._running: set[asyncio.Future[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task that nobody may ever wait for; its failure is no warning then."""
        task = asyncio.ensure_future(work)
        self._watch(task)
        return task

    def start(self, work: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Start blocking work in a thread that nobody may ever wait for."""
        future = in_thread(work, *args)
        self._watch(future)
        return future

    async def run(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        """The outcome of blocking work, which goes on to its end where this wait is cancelled."""
        return await finished(self.start(work, *args))

    @property
    def all_over(self) -> bool:
        """Whether nothing is under way."""
        return not self._running

    async def drain(self) -> None:
        """Wait until nothing runs but the task that asks."""
        while others := self._running - {asyncio.current_task()}:
            await asyncio.wait(others)

    def _watch(self, future: asyncio.Future[Any]) -> None:
        self._running.add(future)
        future.add_done_callback(self._ended)

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._running.discard(future)
        take_note(future)


def take_note(future: asyncio.Future[Any]) -> None:
    """Count a failure as seen: whoever waits for the future raises it, and nobody may."""
    if not future.cancelled():
        future.exception()
