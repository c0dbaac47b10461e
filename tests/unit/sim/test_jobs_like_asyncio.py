"""The simulated loop shows a program what the ordinary one shows it: executor jobs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

MS = 0.001
Log = list[Any]

# Indexes into JOB_TIMES_US, and the answer to "had the job begun when its await was cancelled?"
AT_10_MS, BEGUN = 3, 1


async def _values_and_errors_come_back(_: Any, log: Log) -> None:
    def fails() -> None:
        raise FileNotFoundError("job")

    log.append(await asyncio.to_thread(sorted, [3, 1, 2], reverse=True))
    for job in (fails, lambda: [].pop()):
        try:
            await asyncio.to_thread(job)
        except Exception as exc:  # noqa: BLE001 - which one is what is compared
            log.append(repr(exc))
    log.append(await asyncio.gather(*(asyncio.to_thread(int, str(n)) for n in range(5))))


async def _contexts_follow_to_thread_only(_: Any, log: Log) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("main")

    def sets() -> str:
        seen = variable.get()
        variable.set("job")
        return seen

    log.append(await asyncio.to_thread(sets))
    log.append(variable.get())
    log.append(await asyncio.get_running_loop().run_in_executor(None, sets))
    log.append(variable.get())


async def _jobs_have_no_running_loop_but_may_run_one(_: Any, log: Log) -> None:
    loop = asyncio.get_running_loop()

    def asks() -> list[str]:
        try:
            asyncio.get_running_loop()
        except RuntimeError as exc:
            return [str(exc), asyncio.run(asyncio.sleep(0, "own loop"))]
        return ["a loop runs here"]

    log.append(await asyncio.to_thread(asks))
    log.append(asyncio.get_running_loop() is loop)
    await asyncio.to_thread(loop.call_soon_threadsafe, log.append, "from the job")
    await asyncio.sleep(MS)


async def _special_errors_are_handed_on(_: Any, log: Log) -> None:
    def raises(error: BaseException) -> None:
        raise error

    # From 3.12 on it ends the program, and the loop with it.
    harsh = [GeneratorExit("exit")] if sys.version_info < (3, 12) else []
    for error in (
        StopIteration("stop"),
        concurrent.futures.InvalidStateError("state"),
        concurrent.futures.CancelledError("of the job"),
        asyncio.CancelledError("by hand"),
        *harsh,
        TimeoutError("own"),
    ):
        try:
            await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, raises, error), 50 * MS)
        except BaseException as exc:  # noqa: BLE001 - which one is what is compared
            log.append((repr(error), type(exc)))


async def _a_begun_job_takes_effect_though_cancelled(world: Any, log: Log) -> None:
    job = world.job(lambda: log.append("effect"))
    task = asyncio.create_task(asyncio.to_thread(job))
    await world.begun(0)
    task.cancel()
    log.append(repr(await asyncio.gather(task, return_exceptions=True)))
    world.let_jobs_go()
    await world.settle(0)


async def _a_begun_job_that_fails_is_dropped_in_silence(world: Any, log: Log) -> None:
    job = world.job(lambda: 1 // 0)
    try:
        async with asyncio.timeout(5 * MS):
            await asyncio.to_thread(job)
    except TimeoutError:
        log.append("timeout")
    world.let_jobs_go()
    await world.settle(0)
    await asyncio.sleep(2 * MS)


async def _a_queued_job_that_was_cancelled_never_runs(world: Any, log: Log) -> None:
    loop = asyncio.get_running_loop()
    jobs = [world.job(lambda name=name: log.append(name)) for name in ("first", "second", "third")]
    with ThreadPoolExecutor(max_workers=1) as executor:
        futures = [loop.run_in_executor(executor, job) for job in jobs]
        await world.begun(0)
        log.append(futures[1].cancel())
        await asyncio.sleep(0)
        world.let_jobs_go()
        await asyncio.gather(*futures, return_exceptions=True)
        log.append([future.cancelled() for future in futures])


async def _a_shut_executor_refuses(_: Any, log: Log) -> None:
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(max_workers=2)
    log.append(await loop.run_in_executor(executor, len, "four"))
    executor.shutdown()
    for shut in (executor, None):
        try:
            await loop.run_in_executor(shut, len, "four")
        except RuntimeError as exc:
            log.append(str(exc))
        await loop.shutdown_default_executor()


async def _shutdown_waits_for_begun_jobs(world: Any, log: Log) -> None:
    job = world.job(lambda: log.append("effect"))
    task = asyncio.create_task(asyncio.to_thread(job))
    await world.begun(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    world.let_jobs_go()
    await asyncio.get_running_loop().shutdown_default_executor()
    log.append("shut")


async def _primitives_and_jobs_mix(_: Any, log: Log) -> None:
    lock, queue, guard = asyncio.Lock(), asyncio.Queue[int](), threading.Lock()
    total = 0

    def add(number: int) -> int:
        nonlocal total
        with guard:
            total += number
            return total

    async def worker() -> None:
        while (item := await queue.get()) >= 0:
            async with lock, asyncio.timeout(1):
                log.append((item, await asyncio.to_thread(add, item)))

    async with asyncio.TaskGroup() as group:
        for _worker in range(3):
            group.create_task(worker())
        for item in (5, 6, 7, 8, -1, -1, -1):
            queue.put_nowait(item)
    log.append(total)


@pytest.mark.parametrize(
    ("function", "trace"),
    [
        (_values_and_errors_come_back, ()),
        (_contexts_follow_to_thread_only, ()),
        (_jobs_have_no_running_loop_but_may_run_one, ()),
        (_special_errors_are_handed_on, ()),
        (_a_begun_job_takes_effect_though_cancelled, (AT_10_MS, BEGUN)),
        (_a_begun_job_that_fails_is_dropped_in_silence, (AT_10_MS, BEGUN)),
        (_a_queued_job_that_was_cancelled_never_runs, (AT_10_MS,)),
        (_a_shut_executor_refuses, ()),
        (_shutdown_waits_for_begun_jobs, (AT_10_MS, BEGUN)),
        (_primitives_and_jobs_mix, ()),
    ],
    ids=lambda value: getattr(value, "__name__", "").strip("_"),
)
def test_jobs_look_the_same_on_both_loops(function: Any, trace: tuple[int, ...], logs_of: Any) -> None:
    """A program with executor jobs logs the same on both loops, given the matching choices."""
    simulated, real = logs_of(function, trace)
    assert simulated == real
    assert simulated, "a program that logs nothing compares nothing"
