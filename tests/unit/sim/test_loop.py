"""What the simulated loop adds to asyncio's: virtual time, its own ways to run, and its reports."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from conformance.sim import (
    BlockingJob,
    Choices,
    Deadlock,
    Hang,
    SimLoop,
    SimRefused,
    VirtualClock,
)


async def _appends(log: list[Any], item: object, delay: float = 0.0) -> object:
    await asyncio.sleep(delay)
    log.append(item)
    return item


def test_time_is_virtual_and_exact() -> None:
    """An hour of sleep takes the clock forward by exactly an hour."""
    clock = VirtualClock()
    loop = SimLoop(clock=clock)
    assert loop.run(asyncio.sleep(3600, "slept")) == "slept"
    assert clock.now_us == 3_600_000_000
    assert loop.time() == clock.monotonic()


def test_equal_times_fire_in_the_order_they_were_set() -> None:
    """Many timers of one moment keep their order, whatever was set or cancelled between them."""
    loop, log = SimLoop(), list[int]()
    timers = [loop.call_later(0.5, log.append, index) for index in range(200)]
    for timer in timers[1::2]:
        timer.cancel()
    loop.call_later(0.25, log.append, -1)
    loop.run(asyncio.sleep(1))
    assert log == [-1, *range(0, 200, 2)]


def test_sleeping_for_what_is_left_makes_progress() -> None:
    """A delay below a microsecond moves time, so that waiting for a moment ends."""
    loop = SimLoop()

    async def waits(moment: float) -> None:
        while loop.time() < moment:
            await asyncio.sleep(moment - loop.time())

    loop.run(waits(loop.time() + 1e-8))
    loop.run(waits(loop.time() + 1.2345678901))


def test_run_leaves_other_tasks_for_later() -> None:
    """`run` stops when its own awaitable is done; what it started goes on in the next call."""
    loop, log = SimLoop(), list[Any]()

    async def starts() -> asyncio.Task[object]:
        return asyncio.create_task(_appends(log, "background", 2))

    background = loop.run(starts())
    loop.run(_appends(log, "first", 1))
    assert (log, loop.pending_tasks()) == (["first"], [background])
    assert loop.run(background) == "background"
    assert loop.pending_tasks() == []


def test_run_raises_what_its_awaitable_raises() -> None:
    """Exceptions and cancellation come out of `run`, and the loop goes on afterwards."""
    loop = SimLoop()

    async def fails(error: BaseException) -> None:
        raise error

    for error in (ValueError("x"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            loop.run(fails(error))
    with pytest.raises(TypeError):
        loop.run(3)  # type: ignore[arg-type]
    assert loop.run(asyncio.sleep(0, "still alive")) == "still alive"


def test_a_turn_is_one_pass_over_what_is_ready() -> None:
    """`turn` takes each ready task one step and leaves time alone."""
    loop, log = SimLoop(), list[Any]()

    async def steps(name: str) -> None:
        for index in range(2):
            log.append((name, index))
            await asyncio.sleep(0)

    for name in "ab":
        loop.create_task(steps(name))
    loop.call_later(1, log.append, "timer")
    assert loop.turn() == 2
    assert log == [("a", 0), ("b", 0)]
    loop.turn()
    assert log[2:] == [("a", 1), ("b", 1)]
    assert (loop.turn(), loop.turn()) == (2, 0)
    loop.clock.advance_to(1_000_000)
    assert (loop.turn(), log[-1]) == (1, "timer")


@pytest.mark.parametrize(("bound", "names"), [(None, [0]), (0, [0]), (1_000, [0, 1]), (5_000, [0, 1, 2, 3])])
def test_run_until_idle_keeps_its_bound(bound: int | None, names: list[int]) -> None:
    """No timer past the bound fires, and time ends at the last one that did."""
    loop, log = SimLoop(), list[Any]()
    for ms in range(4):
        loop.create_task(_appends(log, ms, ms / 1000))
    loop.run_until_idle(bound)
    assert log == names
    assert loop.clock.now_us == 1_000 * names[-1]


def test_a_loop_inside_another_gives_it_back() -> None:
    """Running a simulated loop inside a running one changes neither the running loop nor the task."""

    async def outer() -> None:
        inner, here, task = SimLoop(), asyncio.get_running_loop(), asyncio.current_task()
        hooks = sys.get_asyncgen_hooks()
        assert inner.run(_the_running_loop()) is inner
        with pytest.raises(Deadlock):
            inner.run(inner.create_future())
        assert (asyncio.get_running_loop(), asyncio.current_task()) == (here, task)
        assert sys.get_asyncgen_hooks() == hooks
        assert not inner.is_running()
        await asyncio.sleep(0)

    for factory in (SimLoop, asyncio.new_event_loop):
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(outer())


async def _the_running_loop() -> asyncio.AbstractEventLoop:
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


def test_a_deadlock_shows_where_each_task_stands() -> None:
    """The report has one block for each pending task, and its innermost await comes last."""
    loop = SimLoop()

    async def numbers(lock: asyncio.Lock) -> AsyncIterator[int]:
        await lock.acquire()
        yield 1
        await lock.acquire()
        yield 2

    async def consumes() -> None:
        async for _ in numbers(asyncio.Lock()):
            continue

    async def main() -> None:
        child = asyncio.create_task(consumes(), name="the consumer")
        await asyncio.gather(child, asyncio.sleep(1))

    with pytest.raises(Deadlock) as caught:
        loop.run(main())
    assert [stuck.name for stuck in caught.value.tasks] == ["Task-1", "the consumer"]
    waiting, consumer = caught.value.tasks
    assert [frame.name for frame in consumer.frames] == ["consumes", "numbers", "acquire"]
    assert waiting.awaits == "awaits gather of task 'the consumer'"
    report = str(caught.value)
    assert report.startswith("deadlock: nothing is ready")
    assert report.index("task 'Task-1'") < report.index("task 'the consumer'")
    assert "await lock.acquire()" in report
    assert report.endswith("awaits a future that nobody has set")


def test_an_infinite_delay_is_never() -> None:
    """Sleeping for ever with nothing else to do is a deadlock, not a jump in time."""
    with pytest.raises(Deadlock):
        SimLoop().run(asyncio.sleep(math.inf))


def test_a_hang_names_what_was_awaited() -> None:
    """Past its virtual deadline a call ends with `Hang`, and time stands at the deadline."""

    async def polls() -> None:
        while True:
            await asyncio.sleep(0.3)

    for method in (SimLoop.run, SimLoop.run_until_complete):
        loop = SimLoop()
        loop.run(asyncio.sleep(1))
        with pytest.raises(Hang, match="not done after 1000000 us") as caught:
            method(loop, polls(), deadline_us=1_000_000)
        assert [frame.name for frame in caught.value.tasks[0].frames] == ["polls", "sleep"]
        assert loop.clock.now_us == 2_000_000
        assert [task.get_name() for task in loop.pending_tasks()] == ["Task-2"]
        loop.drop()
        loop.bury()


def test_a_deadline_is_inclusive() -> None:
    """What happens at the deadline itself is in time."""
    assert SimLoop().run(asyncio.sleep(1, "in time"), deadline_us=1_000_000) == "in time"


def test_turning_on_the_spot_is_a_hang() -> None:
    """A program that yields for ever while no time passes is stopped, however it is run."""

    async def spins() -> None:
        while True:
            await asyncio.sleep(0)

    def runs_until_idle(loop: SimLoop) -> None:
        loop.create_task(spins())
        loop.run_until_idle()

    runs: tuple[Callable[[SimLoop], None], ...] = (lambda loop: loop.run(spins()), runs_until_idle)
    for run in runs:
        loop = SimLoop()
        loop.max_turns_without_time = 1_000
        with pytest.raises(Hang, match="turned 1000 times while no virtual time passed"):
            run(loop)
        loop.drop()
        loop.bury()


def test_many_turns_with_time_passing_are_no_hang() -> None:
    """The bound counts turns of one moment only."""
    loop = SimLoop()
    loop.max_turns_without_time = 10

    async def ticks() -> None:
        for _ in range(100):
            await asyncio.sleep(0.001)

    loop.run(ticks())
    assert loop.clock.now_us == 100_000


async def _swallows(asked: Any) -> str:
    try:
        await asked
    except NotImplementedError:
        await asyncio.sleep(0)
    return "swallowed"


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (lambda loop: asyncio.open_connection("localhost", 1), "loop.create_connection"),
        (lambda loop: loop.create_server(asyncio.Protocol), "loop.create_server"),
        (lambda loop: loop.getaddrinfo("localhost", 1), "loop.getaddrinfo"),
        (lambda loop: asyncio.create_subprocess_exec("true"), "loop.subprocess_exec"),
        (lambda loop: loop.connect_read_pipe(asyncio.Protocol, None), "loop.connect_read_pipe"),
        (lambda loop: loop.sock_recv(None, 1), "loop.sock_recv"),
        (lambda loop: loop.add_reader(0, print), "loop.add_reader"),
        (lambda loop: loop.run_in_executor(ProcessPoolExecutor(1), print), "loop.run_in_executor"),
    ],
)
def test_what_is_not_simulated_ends_the_run(asked: Callable[[SimLoop], Any], name: str) -> None:
    """A refused call names itself and the way out, also where the program swallowed the error."""
    loop = SimLoop()

    async def program() -> str:
        try:
            return await _swallows(asked(loop))
        except NotImplementedError:
            return "swallowed"

    with pytest.raises(SimRefused, match='register loop="real"') as caught:
        loop.run(program())
    assert caught.value.asked == name


def test_every_refusal_overrides_asyncio() -> None:
    """No method of asyncio's loop is left to its silent default."""
    left = {
        name
        for name in vars(asyncio.AbstractEventLoop)
        if not name.startswith("__") and getattr(SimLoop, name) is vars(asyncio.AbstractEventLoop)[name]
    }
    assert left <= {"slow_callback_duration"}


def test_signal_handlers_are_refused_like_elsewhere() -> None:
    """Code that tries a signal handler and lives without it goes on."""
    loop = SimLoop()

    async def tries() -> str:
        with pytest.raises(NotImplementedError, match="signal"):
            loop.add_signal_handler(1, print)
        with pytest.raises(NotImplementedError, match="signal"):
            loop.remove_signal_handler(1)
        return "went on"

    assert loop.run(tries()) == "went on"


def test_a_foreign_thread_is_refused_there_and_here() -> None:
    """`call_soon_threadsafe` from another thread raises in it, and the run ends with the error."""
    loop = SimLoop()
    refused: list[SimRefused] = []

    def calls() -> None:
        try:
            loop.call_soon_threadsafe(print)
        except SimRefused as exc:
            refused.append(exc)

    async def starts_a_thread() -> None:
        thread = threading.Thread(target=calls, name="of the backend")
        thread.start()
        thread.join()
        await loop.create_future()

    with pytest.raises(SimRefused, match="'of the backend'") as caught:
        loop.run(starts_a_thread())
    assert refused == [caught.value]
    loop.drop()
    loop.bury()


def test_a_choice_engine_that_gives_up_ends_the_run() -> None:
    """What the engine raises comes out of the run though the program swallowed it."""

    class _GivesUp(Choices):
        def _choose(self, n: int, label: str) -> int:
            raise KeyError("no more data")

    async def swallows() -> str:
        try:
            await asyncio.to_thread(print)
        except KeyError:
            await asyncio.sleep(0)
        return "swallowed"

    with pytest.raises(KeyError, match="no more data"):
        SimLoop(_GivesUp()).run(swallows())


def test_a_job_past_its_wall_limit_is_reported() -> None:
    """A slow job ends the run with its name; while it runs the loop tells which one it is."""
    loop = SimLoop()
    loop.job_wall_limit_s = 0.0
    seen: list[str | None] = []

    def slow_job() -> None:
        seen.append(loop.running_job)

    with pytest.raises(BlockingJob, match=r'blocks inside an executor job.*register loop="real"') as caught:
        loop.run(asyncio.to_thread(slow_job))
    assert seen == [caught.value.job]
    assert caught.value.job.endswith("slow_job")
    assert loop.running_job is None


_HASH_ORDER_PROGRAM = """
import asyncio
from conformance.sim import SeededChoices, SimLoop

async def client(log, name, delay):
    try:
        await asyncio.sleep(delay)
        await asyncio.to_thread(log.append, name)
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        log.append((name, "cancelled"))
        raise

async def idle():
    pass

async def main(log):
    loop = asyncio.get_running_loop()
    # What lies where in memory depends on the hash seed, so that addresses would give themselves away.
    rubbish = [make() for _ in range(200) for make in (loop.create_future, lambda: loop.create_task(idle()))]
    for _ in range(200):
        await asyncio.sleep(0)
    rubbish = [item for index, item in enumerate(rubbish) if hash(str(index)) % 2]
    tasks = {asyncio.create_task(client(log, name, 0)) for name in range(20)}
    log.append([task.get_name() for task in tasks])
    futures = set()
    for index in range(20):
        future = loop.create_future()
        future.add_done_callback(lambda _, index=index: log.append(index))
        futures.add(future)
    for future in futures:
        future.set_result(None)
    await asyncio.wait(futures)
    done, pending = await asyncio.wait(tasks, timeout=0.5)
    log.append([task.get_name() for task in asyncio.all_tasks()])
    for task in pending:
        task.cancel()
    try:
        async with asyncio.TaskGroup() as group:
            for name in "abcdefgh":
                group.create_task(client(log, name, 5))
            await asyncio.sleep(1)
            raise ValueError
    except* ValueError:
        log.append("group over")

log = []
with asyncio.Runner(loop_factory=lambda: SimLoop(SeededChoices(4))) as runner:
    runner.run(main(log))
print(log)
"""


def test_sets_of_tasks_iterate_alike_in_every_process() -> None:
    """A program that walks over sets of tasks and futures logs the same under any hash seed."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _HASH_ORDER_PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert "group over" in outputs.pop()


def test_a_task_factory_is_used() -> None:
    """Tasks come from the factory, with the name and context that were asked for."""
    loop, made = SimLoop(), list[Any]()

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        made.append(asyncio.Task(coro, loop=loop, **options))
        return made[-1]

    loop.set_task_factory(factory)
    assert loop.get_task_factory() is factory
    assert loop.run(asyncio.sleep(0, "done")) == "done"
    assert loop.create_task(asyncio.sleep(0), name="mine").get_name() == "mine"
    assert len(made) == 2
    loop.run_until_idle()
    with pytest.raises(TypeError):
        loop.set_task_factory(3)


def test_stop_ends_run_forever_after_the_turn() -> None:
    """`run_forever` runs until `stop`; a loop stopped beforehand makes one turn."""
    loop, log = SimLoop(), list[int]()
    loop.call_later(5, loop.stop)
    loop.call_later(5, log.append, 1)
    loop.run_forever()
    loop.stop()
    loop.run_forever()
    assert (log, loop.clock.now_us) == ([1], 5_000_000)
    loop.call_soon(loop.stop)
    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        loop.run(loop.create_future())
    with pytest.raises(Deadlock):
        loop.run_forever()


def test_a_closed_loop_refuses_work() -> None:
    """After `close` nothing can be scheduled or run, and closing again is harmless."""
    loop = SimLoop()
    loop.close()
    loop.close()
    assert loop.is_closed()
    coroutine = asyncio.sleep(0)
    attempts: list[Callable[[], object]] = [
        lambda: loop.call_soon(print),
        lambda: loop.call_later(1, print),
        lambda: loop.create_task(coroutine),
        lambda: loop.run(coroutine),
        lambda: loop.turn(),
        lambda: loop.run_in_executor(None, print),
    ]
    for attempt in attempts:
        with pytest.raises(RuntimeError, match="Event loop is closed"):
            attempt()
    coroutine.close()


def test_a_running_loop_cannot_be_entered_closed_or_dropped() -> None:
    """From inside, `run`, `close` and `drop` are refused and the program goes on."""
    loop = SimLoop()

    async def program() -> str:
        future = loop.create_future()
        attempts: tuple[Callable[[], object], ...] = (lambda: loop.run(future), loop.close, loop.drop)
        for attempt in attempts:
            with pytest.raises(RuntimeError, match="running"):
                attempt()
        return "went on"

    assert loop.run(program()) == "went on"


def test_sockets_of_the_process_are_untouched() -> None:
    """Making and running a loop opens no descriptor."""
    before = socket.socket()
    number = before.fileno()
    before.close()
    loop = SimLoop()
    loop.run(asyncio.to_thread(len, "job"))
    with socket.socket() as after:
        assert after.fileno() == number
