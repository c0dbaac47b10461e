"""What is ready, what is due when, and what runs where: the loop's queues, tasks and jobs.

Promises: ready callbacks keep the order in which they were scheduled, timers are ordered by time and
then by the order in which they were set, and pending tasks stay alive until they are done.

Does not: run anything or move time; `loop` does.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import Context
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar, TypeVarTuple, cast

from conformance.sim.choices import NO_CHOICES, Choices
from conformance.sim.clock import MONOTONIC_BASE_US, VirtualClock
from conformance.sim.errors import SimRefused
from conformance.sim.housekeeping import HousekeepingLoop
from conformance.sim.jobs import DEFAULT_WORKERS, Job, JobPool
from conformance.sim.tasks import Alarm, Handle, SimFuture, SimTask, TimerHandle

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

_PRUNE_CANCELLED_TIMERS = 64


class SchedulingLoop(HousekeepingLoop):
    """What `SimLoop` inherits so that its own module is about running only."""

    job_wall_limit_s = 10.0
    """Wall seconds that one executor job may take before the run ends with `BlockingJob`."""

    running_job: str | None = None
    """The name of the executor job that runs right now. A watchdog thread may read it."""

    def __init__(self, choices: Choices | None = None, clock: VirtualClock | None = None) -> None:
        self.choices: Choices = NO_CHOICES if choices is None else choices
        self.clock: VirtualClock = VirtualClock() if clock is None else clock
        self._ready: deque[asyncio.Handle] = deque()
        # The middle number keeps equal times in the order in which they were set.
        self._timers: list[tuple[int, int, asyncio.TimerHandle]] = []
        self._timers_set = 0
        self._timers_cancelled = 0
        self._tasks_made = 0
        self._futures_numbered = 0
        # Pending tasks are kept alive: asyncio itself would let the garbage collector decide.
        self._tasks: list[asyncio.Future[Any]] = []
        self._turns_to_pruning = 0
        self._pools: dict[Executor | None, JobPool] | None = None
        self._thread_id = threading.get_ident()

    # -- scheduling ------------------------------------------------------------------------------

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Run `callback` in the next turn, after everything that was scheduled before it."""
        kind = asyncio.Handle if self._debug else Handle
        handle = kind(callback, args, self, context)
        if self._gone:
            return self._refuse_when_gone(handle)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """`call_soon` in the loop's own thread (executor jobs run there too); else `SimRefused`."""
        if threading.get_ident() != self._thread_id:
            name = threading.current_thread().name
            raise self.remember(
                SimRefused(
                    "loop.call_soon_threadsafe",
                    f"called from thread {name!r}, and the simulated loop works with one thread",
                )
            )
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run `callback` after `delay` seconds of virtual time."""
        return self._set_timer(self.clock.monotonic() + delay, callback, args, context)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback` when `time()` is `when` seconds; an infinite `when` is never."""
        return self._set_timer(when, callback, args, context)

    def call_at_us(
        self,
        when_us: int,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run `callback` when the clock shows `when_us`, in virtual microseconds."""
        return self._set_timer_us(when_us, callback, args, context)

    def pause(self, time_us: int) -> asyncio.Future[None]:
        """A future that is done when so many microseconds of virtual time have passed; as a sleep, but cheaper."""
        self._check_usable()
        over: SimFuture[None] = SimFuture(loop=self)
        when_us = self.clock.now_us + time_us
        self._timers_set += 1
        alarm = Alarm((MONOTONIC_BASE_US + when_us) / 1_000_000, over)
        heappush(self._timers, (when_us, self._timers_set, alarm))
        return over

    def _set_timer(
        self, when: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> asyncio.TimerHandle:
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        # Rounded up, or a loop that sleeps for what is left would stand still below a microsecond;
        # but a nanosecond, which is the noise of float seconds, does not count.
        when_us = math.ceil(when * 1_000_000 - 0.001) - MONOTONIC_BASE_US
        return self._set_timer_us(when_us, callback, args, context)

    def _set_timer_us(
        self, when_us: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> asyncio.TimerHandle:
        kind = asyncio.TimerHandle if self._debug else TimerHandle
        handle = kind((MONOTONIC_BASE_US + when_us) / 1_000_000, callback, args, self, context)
        if self._gone:
            self._refuse_when_gone(handle)
            return handle
        self._timers_set += 1
        heappush(self._timers, (when_us, self._timers_set, handle))
        return handle

    def time(self) -> float:
        """Virtual monotonic seconds, equal to `clock.monotonic()`."""
        return self.clock.monotonic()

    def is_quiet(self) -> bool:
        """Whether nothing is ready and no timer is set, a cancelled one included."""
        return not self._ready and not self._timers

    def _next_timer_us(self) -> int | None:
        timers = self._timers
        while timers:
            when_us, _, handle = timers[0]
            if not handle._cancelled:
                return when_us
            heappop(timers)
        return None

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """asyncio calls this for each cancelled timer; most of them would otherwise pile up."""
        self._timers_cancelled += 1
        if self._timers_cancelled > max(_PRUNE_CANCELLED_TIMERS, len(self._timers) // 2):
            self._timers_cancelled = 0
            self._timers[:] = [timer for timer in self._timers if not timer[2]._cancelled]
            heapify(self._timers)

    # -- tasks, futures and jobs -----------------------------------------------------------------

    def create_future(self) -> SimFuture[Any]:
        """A future of this loop."""
        return SimFuture(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[_T]:
        """A task that hashes by its creation number and is called `Task-<number>` by default."""
        if self._gone:
            self._check_usable()
        self._tasks_made += 1
        number = self._tasks_made
        factory = self._task_factory
        if factory is None:
            task: asyncio.Task[_T] = SimTask(coro, self, name, context, number, **options)
        else:
            if context is not None:
                options["context"] = context
            task = cast("asyncio.Task[_T]", factory(self, coro, **options))
            if name is not None and hasattr(task, "set_name"):
                task.set_name(name)
        self._tasks.append(task)
        return task

    def take_future_number(self) -> int:
        """The next number for a future that is hashed for the first time."""
        self._futures_numbered += 1
        return self._futures_numbered

    def run_in_executor(self, executor: Executor | None, func: Callable[[*_Ts], _T], *args: *_Ts) -> asyncio.Future[_T]:
        """Run `func` inline, at a moment that `choices` decides (see `jobs`).

        A `ThreadPoolExecutor` lends its number of workers only; other executors are refused.
        """
        self._check_usable()
        pool = self._pool(executor)
        future: SimFuture[_T] = self.create_future()
        job = Job(func, args, future)
        future.job_name = job.name
        pool.submit(job)
        return future

    def set_default_executor(self, executor: Executor) -> None:
        """Take over the number of workers of `executor` for jobs without one."""
        pools = self._pools = {} if self._pools is None else self._pools
        pools[None] = JobPool(self, _workers_of(self, executor))

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Refuse further default jobs and return when those under way are done."""
        self._default_executor_shut = True
        pool = self._pools.get(None) if self._pools else None
        if pool is not None:
            # No timeout is needed: every job ends within a bounded virtual time.
            await pool.idle()

    def _pool(self, executor: Executor | None) -> JobPool:
        if executor is None and self._default_executor_shut:
            raise RuntimeError("Executor shutdown has been called")
        if getattr(executor, "_shutdown", False):
            raise RuntimeError("cannot schedule new futures after shutdown")
        pools = self._pools = {} if self._pools is None else self._pools
        pool = pools.get(executor)
        if pool is None:
            workers = DEFAULT_WORKERS if executor is None else _workers_of(self, executor)
            pool = pools[executor] = JobPool(self, workers)
        return pool

    def _prune_tasks(self) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        # The more tasks, the more rarely: what this costs a turn stays constant.
        self._turns_to_pruning = len(self._tasks)


def _workers_of(loop: SchedulingLoop, executor: Executor) -> int:
    if not isinstance(executor, ThreadPoolExecutor):
        raise loop.remember(SimRefused("loop.run_in_executor", f"jobs of {type(executor).__name__} cannot run inline"))
    return cast("int", getattr(executor, "_max_workers", DEFAULT_WORKERS))
