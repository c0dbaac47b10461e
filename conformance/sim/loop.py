"""The virtual event loop: asyncio's scheduling with virtual time, inline jobs and no I/O.

Promises: callbacks run in the order they were scheduled; timers fire by time, and of equal times in
the order they were set; time stands still while anything is ready and then jumps to the next timer.
All that varies is asked of `Choices` (see `jobs`). What cannot finish raises `Deadlock` or `Hang`
with the pending tasks; what is not simulated raises `SimRefused`.

Does not: permute ready callbacks (asyncio promises their order), open anything, or start threads.
A loop is used by one thread, and may run inside another running loop, which is put back afterwards.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Generator
from heapq import heappop
from typing import Any, TypeVar, cast

from conformance.sim.errors import Deadlock, Hang
from conformance.sim.scheduling import SchedulingLoop
from conformance.sim.stacks import stuck_task
from conformance.sim.tasks import SimTask

_T = TypeVar("_T")

_PRUNE_CANCELLED_TIMERS = 64


class SimLoop(SchedulingLoop):
    """An asyncio event loop for one simulated program. Making one costs about a microsecond.

    `choices` defaults to the simplest run, `clock` to a new one at time zero.
    """

    max_turns_without_time = 100_000
    """Turns in one call, with no time passing between them, after which it is a `Hang`."""

    # -- running ---------------------------------------------------------------------------------

    def run(self, awaitable: Awaitable[_T], *, deadline_us: int | None = None) -> _T:
        """Run until `awaitable` is done; return its result or raise its exception.

        `deadline_us` is the virtual time the call may take, counted from now. Tasks that it leaves
        behind stay where they are and go on in the next call; the loop stops in the turn in which
        the awaited thing is done. Raises `Hang`, `Deadlock`, `SimRefused` or `BlockingJob`.
        """
        outer = self._enter()
        goal: asyncio.Future[_T] | None = None
        try:
            goal = self._as_future(awaitable)
            self._spin(goal, deadline_us)
        except BaseException:
            self._keep(goal)
            raise
        finally:
            self._leave(outer)
        if not goal.done():
            self._keep(goal)
            raise RuntimeError("Event loop stopped before Future completed.")
        return goal.result()

    def run_until_complete(
        self,
        future: Generator[Any, None, _T] | Awaitable[_T],
        *,
        deadline_us: int | None = None,
    ) -> _T:
        """Like `run`, with asyncio's own rhythm: the turn after the future was done still runs."""
        outer = self._enter()
        goal: asyncio.Future[_T] | None = None
        try:
            goal = self._as_future(cast("Awaitable[_T]", future))
            goal.add_done_callback(_stop_loop_of)
            try:
                self._spin(None, deadline_us)
            finally:
                goal.remove_done_callback(_stop_loop_of)
        except BaseException:
            self._keep(goal)
            raise
        finally:
            self._leave(outer)
        if not goal.done():
            self._keep(goal)
            raise RuntimeError("Event loop stopped before Future completed.")
        return goal.result()

    def run_forever(self) -> None:
        """Run until `stop` is called. With nothing left that could call it, raises `Deadlock`."""
        outer = self._enter()
        try:
            self._spin(None, None)
        finally:
            self._leave(outer)

    def turn(self) -> int:
        """Run exactly one pass over what is ready now, due timers included; time stands still.

        Returns how many callbacks were ready. Raises `SimRefused` or `BlockingJob`.
        """
        outer = self._enter()
        try:
            ready = self._turn()
            self._raise_fatal()
        finally:
            self._leave(outer)
        return ready

    def run_until_idle(self, max_time_us: int | None = None) -> None:
        """Run until nothing is ready. At most `max_time_us` of virtual time may pass; None: none.

        Time ends at the last timer that fired, not at the bound. Raises `Hang`, `SimRefused` or
        `BlockingJob`; tasks that are left pending are no error here.
        """
        last_us = self.clock.now_us + (max_time_us or 0)
        outer = self._enter()
        try:
            turns = 0
            while True:
                if not self._ready:
                    when_us = self._next_timer_us()
                    if when_us is None or when_us > last_us:
                        break
                    if when_us > self.clock.now_us:
                        self.clock.advance_to(when_us)
                        turns = 0
                self._turn()
                self._raise_fatal()
                turns += 1
                self._refuse_livelock(turns)
        finally:
            self._leave(outer)

    def stop(self) -> None:
        """End `run_forever` after the present turn."""
        self._stopping = True

    def _spin(self, goal: asyncio.Future[Any] | None, deadline_us: int | None) -> None:
        """Turn until `goal` is done or `stop` was called."""
        ready, timers = self._ready, self._timers
        clock = self.clock
        last_us = None if deadline_us is None else clock.now_us + deadline_us
        turns = 0
        while True:
            # A loop that was told to stop beforehand still makes one turn, without waiting.
            if not ready and not self._stopping:
                is_due = bool(timers) and not timers[0][2]._cancelled
                when_us = timers[0][0] if is_due else self._next_timer_us()
                if when_us is None:
                    self._raise_fatal()
                    raise Deadlock(
                        "deadlock: nothing is ready and nothing is scheduled (something that lives "
                        "in a thread of its own cannot be waited for on the simulated loop)",
                        self._stuck_tasks(),
                    )
                if last_us is not None and when_us > last_us:
                    clock.advance_to(last_us)
                    raise Hang(
                        f"hang: not done after {deadline_us} us of virtual time",
                        self._stuck_tasks(),
                    )
                if when_us > clock.now_us:
                    clock.advance_to(when_us)
                    turns = 0
            self._turn()
            if self._fatal is not None or self.choices.aborted is not None:
                self._raise_fatal()
            if self._stopping or (goal is not None and goal.done()):
                return
            turns += 1
            if turns >= self.max_turns_without_time:
                self._refuse_livelock(turns)

    def _turn(self) -> int:
        ready = self._ready
        timers = self._timers
        if timers:
            now_us = self.clock.now_us
            while timers and timers[0][0] <= now_us:
                ready.append(heappop(timers)[2])
        count = len(ready)
        handle: asyncio.Handle | None = None
        for _ in range(count):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()
        # An exception that a callback raised keeps this frame, which must not keep the last task.
        handle = None
        if self._tasks:
            self._turns_to_pruning -= 1
            if self._turns_to_pruning < 0:
                self._prune_tasks()
        return count

    def _refuse_livelock(self, turns: int) -> None:
        if turns >= self.max_turns_without_time:
            raise Hang(
                f"hang: the loop turned {turns} times while no virtual time passed",
                self._stuck_tasks(),
            )

    def _raise_fatal(self) -> None:
        error = self._fatal or self.choices.aborted
        if error is not None:
            raise error

    def _as_future(self, awaitable: Awaitable[_T]) -> asyncio.Future[_T]:
        if asyncio.iscoroutine(awaitable) and self._task_factory is None:
            # The caller's frame keeps this task alive, so it is not noted like others.
            self._tasks_made += 1
            return SimTask(awaitable, self, None, None, self._tasks_made)
        return asyncio.ensure_future(awaitable, loop=self)

    def _keep(self, goal: asyncio.Future[Any] | None) -> None:
        """Look after what a run was waiting for when it ends without it."""
        if goal is None:
            return
        if not goal.done():
            self._tasks.append(goal)
        elif not goal.cancelled():
            # Another error is on its way to the caller; this one counts as seen.
            goal.exception()

    def _stuck_tasks(self) -> list[Any]:
        return [stuck_task(task) for task in self.pending_tasks()]

    # -- entering and leaving --------------------------------------------------------------------

    def _enter(self) -> tuple[Any, ...]:
        """Become the running loop of this thread; returns what `_leave` puts back."""
        self._check_usable()
        if self._running:
            raise RuntimeError("This event loop is already running")
        outer = asyncio._get_running_loop()
        outer_task = None
        if sys.version_info >= (3, 14) and outer is not None:
            # The current task is the thread's there, not the loop's.
            outer_task = asyncio.tasks._swap_current_task(outer, None)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._asyncgen_first_iter, self._asyncgen_finalizer)
        asyncio._set_running_loop(self)
        self._running = True
        self._thread_id = threading.get_ident()
        return outer, outer_task, hooks

    def _leave(self, entered: tuple[Any, ...]) -> None:
        outer, outer_task, hooks = entered
        self._running = False
        self._stopping = False
        if self._tasks:
            self._prune_tasks()
        asyncio._set_running_loop(outer)
        sys.set_asyncgen_hooks(*hooks)
        if sys.version_info >= (3, 14) and outer is not None:
            asyncio.tasks._swap_current_task(outer, outer_task)


def _stop_loop_of(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and isinstance(future.exception(), (SystemExit, KeyboardInterrupt)):
        # It is on its way through the loop already; asyncio does not stop for it either.
        return
    future.get_loop().stop()
