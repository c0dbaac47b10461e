"""The simulated loop shows a program what the ordinary asyncio loop shows it: tasks and primitives."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from conformance.sim import SimLoop

MS = 0.001
Log = list[Any]

_PROGRAMS: list[Callable[[Any, Log], Any]] = []


def _program(function: Callable[[Any, Log], Any]) -> Callable[[Any, Log], Any]:
    _PROGRAMS.append(function)
    return function


async def _note(log: Log, name: str, delay: float = 0) -> str:
    """Sleep, and log how that went."""
    try:
        await asyncio.sleep(delay)
    except asyncio.CancelledError as exc:
        log.append((name, "cancelled", exc.args))
        raise
    log.append((name, "done"))
    return name


@_program
async def _sleeps_end_by_time(_: Any, log: Log) -> None:
    tasks = [asyncio.create_task(_note(log, str(ms), ms * MS)) for ms in (5, 1, 3, 0, 1)]
    log.append("made")
    await asyncio.wait(tasks)
    log.append([task.result() for task in tasks])


@_program
async def _callbacks_keep_their_order(_: Any, log: Log) -> None:
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.call_later(2 * MS, ended.set_result, None)
    now = loop.time()
    loop.call_at(now + MS, log.append, "timer 1ms")
    loop.call_later(0, log.append, "timer now")
    for index in range(3):
        loop.call_soon(log.append, index)
    cancelled = loop.call_soon(log.append, "never")
    never = loop.call_later(MS, log.append, "never")
    cancelled.cancel()
    never.cancel()
    log.append((cancelled.cancelled(), never.cancelled()))
    loop.call_soon(loop.call_soon, log.append, "nested")
    loop.call_soon_threadsafe(log.append, "threadsafe")
    await ended


@_program
async def _timeout_cancels_and_converts(_: Any, log: Log) -> None:
    for delay in (1, 10):
        try:
            async with asyncio.timeout(4 * MS) as scope:
                await _note(log, f"within {delay}", delay * MS)
        except TimeoutError as exc:
            log.append(repr(exc))
        log.append((scope.expired(), asyncio.current_task().cancelling()))  # type: ignore[union-attr]


@_program
async def _timeouts_nest_and_move(_: Any, log: Log) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(20 * MS) as outer:
            try:
                async with asyncio.timeout(2 * MS) as inner:
                    inner.reschedule(loop.time() + 4 * MS)
                    await _note(log, "short", 3 * MS)
                    await _note(log, "long", 50 * MS)
            except TimeoutError:
                log.append(("inner", inner.expired(), outer.expired()))
            outer.reschedule(loop.time() - 1)
            await _note(log, "after", 5 * MS)
    except TimeoutError:
        log.append(("outer", outer.expired()))
    async with asyncio.timeout(None):
        await _note(log, "without limit")


@_program
async def _a_failing_child_cancels_its_group(_: Any, log: Log) -> None:
    async def fails(delay: float, error: Exception) -> None:
        await asyncio.sleep(delay)
        raise error

    async def slow_to_end() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            log.append("cleaning")
            await asyncio.sleep(MS)
            raise KeyError("cleanup")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_note(log, "quick"))
            group.create_task(slow_to_end())
            group.create_task(fails(2 * MS, ValueError("first")))
            await _note(log, "body", 1)
    except* ValueError as errors:
        log.append(repr(errors.exceptions))
    except* KeyError as errors:
        log.append(repr(errors.exceptions))


@_program
async def _a_group_ends_with_its_children(_: Any, log: Log) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(_note(log, "first", 2 * MS), name="named")
        group.create_task(_note(log, "second", MS))
        log.append(("body over", first.get_name()))
    log.append(first.result())


@_program
async def _a_cancelled_parent_cancels_its_group(_: Any, log: Log) -> None:
    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_note(log, "child", 1))
            await _note(log, "parent", 1)

    task = asyncio.create_task(parent())
    await asyncio.sleep(MS)
    log.append(task.cancel("stop"))
    log.append(repr(await asyncio.gather(task, return_exceptions=True)))


@_program
async def _locks_are_fair_and_survive_cancelled_waiters(_: Any, log: Log) -> None:
    lock = asyncio.Lock()

    async def client(name: str, hold: float) -> None:
        async with lock:
            log.append(("has", name))
            await asyncio.sleep(hold)

    tasks = [asyncio.create_task(client(name, MS)) for name in "abcd"]
    await asyncio.sleep(0)
    tasks[2].cancel()
    tasks.append(asyncio.create_task(client("e", 0)))
    log.append([type(r) for r in await asyncio.gather(*tasks, return_exceptions=True)])
    log.append(lock.locked())
    with pytest.raises(RuntimeError):
        lock.release()


@_program
async def _a_lock_cancelled_while_handed_over_goes_to_the_next(_: Any, log: Log) -> None:
    lock = asyncio.Lock()
    await lock.acquire()
    tasks = [asyncio.create_task(lock.acquire()) for _ in range(2)]
    await asyncio.sleep(0)
    lock.release()
    tasks[0].cancel()
    done, pending = await asyncio.wait(tasks, timeout=5 * MS)
    log.append((len(done), len(pending), [task.cancelled() for task in tasks], lock.locked()))


@_program
async def _conditions_wake_whom_they_notify(_: Any, log: Log) -> None:
    condition = asyncio.Condition()
    stock = 0

    async def taker(name: str) -> None:
        nonlocal stock
        try:
            async with condition:
                await condition.wait_for(lambda: stock > 0)
                stock -= 1
                log.append((name, "took"))
        except asyncio.CancelledError:
            log.append((name, "gave up", condition.locked()))
            raise

    tasks = [asyncio.create_task(taker(name)) for name in "abc"]
    await asyncio.sleep(0)
    for given in (1, 2):
        async with condition:
            stock += given
            condition.notify(given)
        tasks[1].cancel()
        await asyncio.sleep(MS)
    log.append([type(r) for r in await asyncio.gather(*tasks, return_exceptions=True)])


@_program
async def _events_semaphores_and_barriers_let_go(_: Any, log: Log) -> None:
    event, semaphore, barrier = asyncio.Event(), asyncio.BoundedSemaphore(2), asyncio.Barrier(3)

    async def client(name: str) -> None:
        await event.wait()
        async with semaphore:
            log.append((name, "in"))
            await asyncio.sleep(MS)
        async with barrier as place:
            log.append((name, place))

    tasks = [asyncio.create_task(client(name)) for name in "abc"]
    await asyncio.sleep(MS)
    log.append("set")
    event.set()
    await asyncio.wait(tasks)
    waiting = [asyncio.create_task(barrier.wait()) for _ in range(2)]
    await asyncio.sleep(0)
    await barrier.abort()
    log.append([repr(r) for r in await asyncio.gather(*waiting, return_exceptions=True)])


@_program
async def _queues_hand_over_in_order(_: Any, log: Log) -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=2)

    async def consumer(name: str) -> None:
        while True:
            item = await queue.get()
            log.append((name, item))
            await asyncio.sleep(item % 2 * MS)
            queue.task_done()

    consumers = [asyncio.create_task(consumer(name)) for name in "xy"]
    for item in range(7):
        await queue.put(item)
        log.append(("put", item, queue.qsize()))
    await queue.join()
    for task in consumers:
        task.cancel()
    log.append([type(r) for r in await asyncio.gather(*consumers, return_exceptions=True)])
    try:
        await asyncio.wait_for(queue.get(), MS)
    except TimeoutError:
        log.append("empty")
    priority: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
    for item in (3, 1, 2):
        priority.put_nowait(item)
    log.append([priority.get_nowait() for _ in range(3)])


@_program
async def _wait_for_returns_or_cancels(_: Any, log: Log) -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            log.append("swallowed")
        return "stubborn"

    async def fails() -> None:
        raise LookupError("no")

    for call in (_note(log, "ok", MS), _note(log, "late", 1), fails(), stubborn(), _note(log, "now")):
        try:
            log.append(await asyncio.wait_for(call, 3 * MS))
        except Exception as exc:  # noqa: BLE001 - which one is what is compared
            log.append(type(exc))
    task = asyncio.create_task(_note(log, "zero", MS))
    try:
        await asyncio.wait_for(task, 0)
    except TimeoutError:
        log.append(("zero", task.cancelled()))


@_program
async def _wait_for_cancelled_from_outside(_: Any, log: Log) -> None:
    outer = asyncio.create_task(asyncio.wait_for(_note(log, "inner", 1), 1))
    await asyncio.sleep(MS)
    outer.cancel()
    try:
        await outer
    except asyncio.CancelledError:
        log.append("outer cancelled")


@_program
async def _shields_keep_the_inner_task(_: Any, log: Log) -> None:
    inner = asyncio.create_task(_note(log, "inner", 3 * MS))

    async def outer() -> None:
        try:
            await asyncio.shield(inner)
        except asyncio.CancelledError:
            log.append(("outer cancelled", inner.done()))
            log.append(await inner)

    task = asyncio.create_task(outer())
    await asyncio.sleep(MS)
    task.cancel()
    await task
    failing = asyncio.create_task(asyncio.wait_for(asyncio.shield(asyncio.sleep(2 * MS, "late")), MS))
    log.append([type(r) for r in await asyncio.gather(failing, return_exceptions=True)])


@_program
async def _gather_collects_fails_and_is_cancelled(_: Any, log: Log) -> None:
    async def fails(delay: float) -> None:
        await asyncio.sleep(delay)
        raise OSError(delay)

    log.append(await asyncio.gather(_note(log, "a", 2 * MS), _note(log, "b", MS)))
    results = await asyncio.gather(fails(0), _note(log, "c"), return_exceptions=True)
    log.append([repr(r) for r in results])
    slow = asyncio.create_task(_note(log, "left alone", 4 * MS))
    try:
        await asyncio.gather(slow, fails(MS))
    except OSError as exc:
        log.append((repr(exc), slow.done()))
    both = asyncio.gather(slow, _note(log, "d", 1))
    await asyncio.sleep(MS)
    log.append(both.cancel())
    try:
        await both
    except asyncio.CancelledError:
        log.append((slow.cancelled(), both.cancelled()))


@_program
async def _wait_and_as_completed_order(_: Any, log: Log) -> None:
    async def fails() -> str:
        await asyncio.sleep(2 * MS)
        raise ValueError

    tasks = [asyncio.create_task(_note(log, name, ms * MS)) for name, ms in (("a", 9), ("b", 1), ("c", 5))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    log.append((len(done), len(pending)))
    for earliest in asyncio.as_completed(tasks):
        log.append(await earliest)
    bad, slow = asyncio.create_task(fails()), asyncio.create_task(_note(log, "slow", 1))
    done, pending = await asyncio.wait({bad, slow}, return_when=asyncio.FIRST_EXCEPTION)
    log.append((done == {bad}, pending == {slow}, repr(bad.exception())))
    done, pending = await asyncio.wait({slow}, timeout=MS)
    log.append((len(done), slow.cancel("enough")))


@_program
async def _async_generators_are_closed(_: Any, log: Log) -> None:
    async def numbers(name: str) -> AsyncIterator[int]:
        try:
            for number in range(5):
                await asyncio.sleep(0)
                yield number
        except GeneratorExit:
            log.append((name, "exit"))
            raise
        finally:
            log.append((name, "closing"))
            await asyncio.sleep(MS)
            log.append((name, "closed"))

    log.append([number async for number in numbers("whole")])
    async for _number in numbers("left early"):
        break
    log.append("left")
    await asyncio.sleep(3 * MS)
    closed = numbers("aclose")
    log.append(await anext(closed))
    await closed.aclose()  # type: ignore[attr-defined]
    log.append(await anext(closed, "over"))
    thrown = numbers("athrow")
    await anext(thrown)
    try:
        await thrown.athrow(ValueError("in"))  # type: ignore[attr-defined]
    except ValueError as exc:
        log.append(repr(exc))
    still_open = numbers("open at the end")
    log.append(await anext(still_open))
    asyncio.current_task().kept = still_open  # type: ignore[union-attr]


@_program
async def _errors_nobody_awaits_are_reported(_: Any, log: Log) -> None:
    async def fails() -> None:
        raise ValueError("alone")

    def callback() -> None:
        raise KeyError("callback")

    asyncio.get_running_loop().call_soon(callback)
    task: Any = asyncio.create_task(fails())
    await asyncio.sleep(MS)
    log.append(task.done())
    del task
    await asyncio.sleep(MS)


@_program
async def _cancelling_counts_and_can_be_refused(_: Any, log: Log) -> None:
    async def refuses() -> str:
        task = asyncio.current_task()
        assert task is not None
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError as exc:
            log.append((exc.args, task.cancelling(), task.uncancel()))
        return await _note(log, "went on", MS)

    never_began = asyncio.create_task(_note(log, "never began"))
    never_began.cancel("before")
    log.append(repr(await asyncio.gather(never_began, return_exceptions=True)))
    task = asyncio.create_task(refuses())
    await asyncio.sleep(0)
    log.append((task.cancel("one"), task.cancel("two"), task.cancelling()))
    log.append((await task, task.cancelled(), task.cancel()))
    itself = asyncio.current_task()
    assert itself is not None
    itself.cancel()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        log.append(("itself", itself.uncancel()))
    await _note(log, "after")


def _append(log: Log, item: object, _future: object) -> None:
    log.append(item)


@_program
async def _futures_call_back_in_order(_: Any, log: Log) -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    for index in range(3):
        future.add_done_callback(functools.partial(_append, log, index))
    removed = log.append
    future.add_done_callback(removed)
    log.append(future.remove_done_callback(removed))
    loop.call_soon(future.set_result, "value")
    log.append(await future)
    future.add_done_callback(lambda f: log.append(("late", f.result())))
    failed = loop.create_future()
    failed.set_exception(OSError("set"))
    try:
        await failed
    except OSError as exc:
        log.append(repr(exc))
    with pytest.raises(asyncio.InvalidStateError):
        failed.set_result(1)
    await asyncio.sleep(0)


@_program
async def _contexts_are_copied_or_given(_: Any, log: Log) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def sets(value: str) -> None:
        log.append(variable.get())
        variable.set(value)
        await asyncio.sleep(MS)
        log.append(variable.get())

    variable.set("main")
    await asyncio.gather(sets("a"), sets("b"))
    given = contextvars.copy_context()
    await asyncio.create_task(sets("given"), context=given)
    log.append((variable.get(), given[variable]))
    asyncio.get_running_loop().call_soon(lambda: log.append(variable.get()), context=given)
    variable.set("later")
    await asyncio.sleep(0)


@_program
async def _the_program_ends_with_its_error_and_leaves_tasks(_: Any, log: Log) -> None:
    async def left_behind() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            log.append("left behind, cleaning")
            await asyncio.sleep(MS)
            log.append("cleaned")

    asyncio.current_task().kept = asyncio.create_task(left_behind())  # type: ignore[union-attr]
    await asyncio.sleep(0)
    raise ArithmeticError("the end")


@pytest.mark.parametrize("function", _PROGRAMS, ids=lambda function: function.__name__.strip("_"))
def test_programs_see_the_same_on_both_loops(function: Any, logs_of: Any) -> None:
    """A program that appends what it sees to a list makes equal lists on both loops."""
    simulated, real = logs_of(function, ())
    assert simulated == real
    assert simulated, "a program that logs nothing compares nothing"


def test_a_runner_keeps_loop_and_context_between_runs() -> None:
    """`asyncio.Runner` over either loop runs several coroutines in one context and cleans up."""
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def step(log: Log) -> None:
        variable.set(variable.get() + 1)
        log.append((variable.get(), asyncio.get_running_loop() is loops[-1]))

    logs: list[Log] = []
    loops: list[asyncio.AbstractEventLoop] = []
    for factory in (SimLoop, asyncio.new_event_loop):
        log: Log = []
        with asyncio.Runner(loop_factory=factory) as runner:
            loops.append(runner.get_loop())
            runner.run(step(log))
            runner.run(step(log))
        log.append(loops[-1].is_closed())
        logs.append(log)
    assert logs[0] == logs[1] == [(1, True), (2, True), True]
