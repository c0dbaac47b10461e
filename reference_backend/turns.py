"""Turns: the mutations of one write handle, one after the other, in the order of the calls.

Cancelling a call leaves its mutation alone: one that has not had its turn is dropped, one that has goes on to its end,
and ``settle`` waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from reference_backend.jobs import Jobs, finished, take_note


class _Turn:
    """One mutation; ``abandoned`` when its caller was cancelled."""

    __slots__ = ("abandoned",)

    def __init__(self) -> None:
        self.abandoned = False


class Turns:
    """Who is at work on one session, and who is next."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._mutex = asyncio.Lock()
        self._waiting = 0
        self._unsettled: set[asyncio.Future[None]] = set()

    @property
    def nobody_waits(self) -> bool:
        """Whether no mutation is under way or in line; a ``last`` turn does not count."""
        return not self._waiting

    @property
    def all_over(self) -> bool:
        """Whether nothing is under way, the ``last`` turn included."""
        return not self._waiting and not self._mutex.locked()

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to wait for in ``settle``."""
        return not self._unsettled

    async def settle(self) -> None:
        """Wait for the mutations whose callers were cancelled."""
        if self._unsettled:
            await asyncio.wait(set(self._unsettled))

    @asynccontextmanager
    async def last(self) -> AsyncIterator[None]:
        """The turn after everything that was called before."""
        async with self._mutex:
            yield

    async def take(self, start: Callable[[], asyncio.Future[None] | None]) -> None:
        """Start the work when all that was called before has ended, and wait for it."""
        if self._waiting:
            await self._take_in_line(start)
            return
        # Nothing is in the way: the lock is taken without a wait, and the turn needs no task of its own.
        await self._mutex.acquire()
        try:
            work = start()
        except BaseException:
            self._mutex.release()
            raise
        if work is None:
            self._mutex.release()
            return
        self._waiting += 1
        ended = asyncio.get_running_loop().create_future()

        def work_ended(_: asyncio.Future[None]) -> None:
            self._waiting -= 1
            self._mutex.release()
            take_note(work)
            if not ended.done():
                ended.set_result(None)

        work.add_done_callback(work_ended)
        try:
            await ended
        except asyncio.CancelledError:
            self._leave_unsettled(work)
            raise
        work.result()

    async def _take_in_line(self, start: Callable[[], asyncio.Future[None] | None]) -> None:
        turn = _Turn()
        task = self._jobs.spawn(self._when_free(turn, start))
        self._waiting += 1
        task.add_done_callback(self._turn_ended)
        try:
            await finished(task)
        except asyncio.CancelledError:
            turn.abandoned = True
            self._leave_unsettled(task)
            raise

    async def _when_free(self, turn: _Turn, start: Callable[[], asyncio.Future[None] | None]) -> None:
        # Tasks start in the order they were made and the lock is first come, first served: that is the order of the
        # calls.
        async with self._mutex:
            work = None if turn.abandoned else start()
            if work is not None:
                await work

    def _leave_unsettled(self, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._unsettled.add(turn)
            turn.add_done_callback(self._unsettled.discard)

    def _turn_ended(self, turn: asyncio.Future[None]) -> None:
        self._waiting -= 1
