"""Executor jobs on the simulated loop: run inline, at moments that are drawn.

Promises, as an executor with threads would show it to the code under test: a job runs at most once,
outside any task and without a running loop; its function sees the context that `asyncio.to_thread`
gave it, or an empty one; of one executor no more jobs are under way than it has workers, and they
begin in the order of submission; a job whose await was cancelled before it began never runs; one
that had begun takes effect all the same and its result is dropped.

What is drawn: when a job takes effect and when its result arrives (`JOB_TIMES_US`; the simplest is
"in the next turn of the loop"), and, for a job with a worker whose await was cancelled before its
effect, whether it had begun by then (the simplest is "no").

Does not: interrupt a job, run two at once, or split one. A job is one step of the simulated world.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from conformance.sim.errors import BlockingJob
from conformance.sim.tasks import SimFuture

if TYPE_CHECKING:
    from conformance.sim.scheduling import SchedulingLoop

JOB_TIMES_US: tuple[tuple[int, int], ...] = (
    (0, 0),
    (100, 100),
    (1_000, 1_000),
    (10_000, 10_000),
    (0, 100),
    (0, 1_000),
    (0, 10_000),
    (100, 10_000),
)
"""What a job's times may be: (effect, result), in virtual us after it was given a worker."""

DEFAULT_WORKERS = 32
"""Workers of the default executor. The real default follows the machine; this one must not."""

_OF_THE_PROGRAM = (Exception, asyncio.CancelledError, GeneratorExit, SystemExit)


class Job:
    """One call that was handed to an executor."""

    __slots__ = ("args", "func", "future", "name", "result_at_us")

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], future: SimFuture[Any]) -> None:
        self.func: Callable[..., Any] | None = func
        self.args = args
        self.future = future
        self.name = job_name(func, args)
        self.result_at_us = 0


class JobPool:
    """The jobs of one executor. `unfinished` counts those that still hold or wait for a worker."""

    __slots__ = ("_free_workers", "_loop", "_queue", "_when_idle", "unfinished")

    def __init__(self, loop: SchedulingLoop, workers: int) -> None:
        self._loop = loop
        self._free_workers = workers
        self._queue: deque[Job] = deque()
        self._when_idle: list[SimFuture[None]] = []
        self.unfinished = 0

    def submit(self, job: Job) -> None:
        """Give `job` to a free worker, or queue it until there is one."""
        self.unfinished += 1
        if self._free_workers:
            self._start(job)
        else:
            self._queue.append(job)

    async def idle(self) -> None:
        """Return when no job is unfinished."""
        while self.unfinished:
            waiter = self._loop.create_future()
            self._when_idle.append(waiter)
            await waiter

    def _start(self, job: Job) -> None:
        self._free_workers -= 1
        loop = self._loop
        effect_us, result_us = JOB_TIMES_US[loop.choices.draw(len(JOB_TIMES_US), "job times")]
        now_us = loop.clock.now_us
        job.result_at_us = now_us + result_us
        if effect_us:
            loop.call_at_us(now_us + effect_us, self._take_effect, job)
        else:
            loop.call_soon(self._take_effect, job)

    def _take_effect(self, job: Job) -> None:
        func = job.func
        if func is None:
            raise RuntimeError(f"{job.name} would have run twice")
        # What the job holds is let go as soon as it ran, like a worker thread does.
        job.func = None
        args, job.args = job.args, ()
        if job.future.cancelled() and not self._loop.choices.flag("job had begun"):
            self._finish()
            return
        self._settle(job, _run_inline(self._loop, job.name, func, args))
        # The traceback of a failed job holds this frame, and the job holds that traceback.
        del job, func, args

    def _settle(self, job: Job, outcome: tuple[bool, Any]) -> None:
        if job.result_at_us > self._loop.clock.now_us:
            self._loop.call_at_us(job.result_at_us, self._deliver, job.future, outcome)
        else:
            self._deliver(job.future, outcome)

    def _deliver(self, future: SimFuture[Any], outcome: tuple[bool, Any]) -> None:
        self._finish()
        if future.done():
            return
        succeeded, value = outcome
        if succeeded:
            future.set_result(value)
        else:
            # A StopIteration is refused here, or wrapped, by the same code as on the real loop.
            future.set_exception(_as_asyncio_error(value))

    def _finish(self) -> None:
        self._free_workers += 1
        self.unfinished -= 1
        while self._queue and self._free_workers:
            job = self._queue.popleft()
            if job.future.cancelled():
                self.unfinished -= 1
            else:
                self._start(job)
        if not self.unfinished:
            for waiter in self._when_idle:
                if not waiter.done():
                    waiter.set_result(None)
            self._when_idle.clear()


def job_name(func: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The dotted name of the function a job really calls, seen through `partial` and `Context.run`."""
    inner: Any = func
    while True:
        if isinstance(inner, functools.partial):
            inner, args = inner.func, inner.args
        elif isinstance(getattr(inner, "__self__", None), Context) and args:
            inner, args = args[0], args[1:]
        else:
            break
    module = getattr(inner, "__module__", None)
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return f"{module}.{name}" if module else name


def _run_inline(loop: SchedulingLoop, name: str, func: Callable[..., Any], args: tuple[Any, ...]) -> tuple[bool, Any]:
    """Call the function as a worker thread would: (True, its result) or (False, its exception)."""
    loop.running_job = name
    asyncio._set_running_loop(None)
    started = time.perf_counter()
    try:
        return True, Context().run(func, *args)
    except KeyboardInterrupt:
        # It was meant for the program: the job has the main thread, which no real worker has.
        raise
    except BaseException as exc:  # noqa: BLE001 - a worker thread hands on whatever it meets
        if not isinstance(exc, _OF_THE_PROGRAM):
            # A watchdog or a budget of the kit: it ends the run even where the program swallows it.
            loop.remember(exc)
        # Without its first entry the traceback starts in the job's own function.
        return False, exc.with_traceback(exc.__traceback__ and exc.__traceback__.tb_next)
    finally:
        asyncio._set_running_loop(loop)
        loop.running_job = None
        seconds = time.perf_counter() - started
        if seconds > loop.job_wall_limit_s:
            loop.remember(BlockingJob(name, seconds, loop.job_wall_limit_s))


def _as_asyncio_error(error: BaseException) -> BaseException:
    """`concurrent.futures` errors become asyncio's of the same meaning, as `wrap_future` does it."""
    kind = type(error)
    if kind is concurrent.futures.CancelledError:
        return asyncio.CancelledError(*error.args)
    if kind is concurrent.futures.InvalidStateError:
        return asyncio.InvalidStateError(*error.args)
    return error
