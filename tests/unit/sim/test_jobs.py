"""Executor jobs in the simulated world: what the choices decide, shown over all of them."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conformance.sim import Choices, RecordedChoices, SimLoop, exhaustive
from conformance.sim.jobs import JOB_TIMES_US, job_name

NEXT_TURN, AT_10_MS, EARLY_AT_10_MS = 0, 3, 6
NOT_BEGUN, BEGUN = 0, 1


def _cancelled_job(choices: Choices, *, after_s: float) -> tuple[SimLoop, list[str]]:
    """Start a job, cancel its await after a while, and let everything end."""
    loop, log = SimLoop(choices), list[str]()

    async def awaits() -> None:
        try:
            await asyncio.to_thread(log.append, "effect")
            log.append("returned")
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    async def program() -> None:
        task = asyncio.create_task(awaits())
        await asyncio.sleep(after_s)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(1)

    loop.run(program())
    return loop, log


def test_the_choice_constants_say_what_they_mean() -> None:
    """The indexes used here stand for the times they are named after."""
    assert [JOB_TIMES_US[i] for i in (NEXT_TURN, AT_10_MS, EARLY_AT_10_MS)] == [
        (0, 0),
        (10_000, 10_000),
        (0, 10_000),
    ]


@pytest.mark.parametrize(
    ("trace", "log"),
    [
        ((NEXT_TURN,), ["effect", "returned"]),
        ((AT_10_MS, NOT_BEGUN), ["cancelled"]),
        ((AT_10_MS, BEGUN), ["cancelled", "effect"]),
        ((EARLY_AT_10_MS,), ["effect", "cancelled"]),
    ],
)
def test_a_cancelled_await_finds_its_job_in_each_state(trace: tuple[int, ...], log: list[str]) -> None:
    """Done, not begun, begun, and already in effect: each comes of its own choices."""
    choices = RecordedChoices(trace)
    assert _cancelled_job(choices, after_s=0.005)[1] == log
    assert choices.trace == list(trace)


def test_all_choices_show_all_outcomes_and_no_other() -> None:
    """Over every path a job takes effect at most once, and `returned` comes after its effect."""
    sweep = exhaustive(max_paths=100)
    outcomes = {tuple(_cancelled_job(choices, after_s=0.0005)[1]) for choices in sweep}
    assert sweep.complete
    assert outcomes == {
        ("effect", "returned"),
        ("cancelled",),
        ("cancelled", "effect"),
        ("effect", "cancelled"),
    }


def _append_name(log: list[str], _future: object) -> None:
    log.append("cancelled")


def test_a_job_cancelled_in_the_turn_of_its_submission_may_have_begun() -> None:
    """With the shortest times too it is drawn whether the job had begun."""
    for begun, log in ((NOT_BEGUN, ["cancelled"]), (BEGUN, ["effect", "cancelled"])):
        loop, seen = SimLoop(RecordedChoices((NEXT_TURN, begun))), list[str]()
        future = loop.run_in_executor(None, seen.append, "effect")
        future.add_done_callback(functools.partial(_append_name, seen))
        future.cancel()
        loop.run_until_idle()
        assert sorted(seen) == sorted(log)


def test_the_simplest_job_is_done_in_the_next_turn() -> None:
    """Choice 0 takes no virtual time: effect in the next turn, the awaiting task in the one after."""
    loop, log = SimLoop(), list[str]()

    async def awaits() -> None:
        await asyncio.to_thread(log.append, "effect")
        log.append("returned")

    loop.create_task(awaits())
    seen = []
    for _ in range(3):
        loop.turn()
        seen.append(list(log))
    assert seen == [[], ["effect"], ["effect", "returned"]]
    assert loop.clock.now_us == 0


def test_two_jobs_take_effect_and_return_in_any_order() -> None:
    """The choices reach all six orders in which two jobs can take effect and return."""

    async def job(log: list[str], name: str) -> None:
        await asyncio.to_thread(log.append, f"{name} effect")
        log.append(f"{name} returns")

    async def both(log: list[str]) -> None:
        await asyncio.gather(job(log, "a"), job(log, "b"))

    orders = set()
    for choices in exhaustive():
        log: list[str] = []
        SimLoop(choices).run(both(log))
        orders.add(tuple(log))
    a, b, a_end, b_end = "a effect", "b effect", "a returns", "b returns"
    assert orders == {
        (a, b, a_end, b_end),
        (a, b, b_end, a_end),
        (b, a, a_end, b_end),
        (b, a, b_end, a_end),
        (a, a_end, b, b_end),
        (b, b_end, a, a_end),
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_an_executor_has_as_many_jobs_under_way_as_workers(workers: int) -> None:
    """Jobs of one worker take effect in order, and none is under way beside another."""
    trace = (3, 1, 2)

    async def program(log: list[int]) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=workers) as executor:
            await asyncio.gather(*(loop.run_in_executor(executor, log.append, n) for n in range(3)))

    log: list[int] = []
    loop = SimLoop(RecordedChoices(trace))
    loop.run(program(log))
    assert log == ([0, 1, 2] if workers == 1 else [1, 2, 0])
    assert loop.clock.now_us == (11_100 if workers == 1 else 10_000)


def test_a_default_executor_lends_its_workers() -> None:
    """`set_default_executor` changes how many default jobs are under way at once."""
    log: list[int] = []

    async def program() -> None:
        with ThreadPoolExecutor(max_workers=1) as executor:
            asyncio.get_running_loop().set_default_executor(executor)
            await asyncio.gather(*(asyncio.to_thread(log.append, n) for n in range(2)))

    SimLoop(RecordedChoices((3, 1))).run(program())
    assert log == [0, 1]


def test_an_interrupt_of_the_kit_ends_the_run() -> None:
    """A private `BaseException` that hits a job comes out of the run though the program swallowed it."""

    class Interrupt(BaseException):
        pass

    def is_hit(error: type[BaseException]) -> None:
        raise error("while the job ran")

    async def swallows(error: type[BaseException]) -> str:
        try:
            await asyncio.to_thread(is_hit, error)
        except BaseException:  # noqa: BLE001 - a backend that does this is the point
            await asyncio.sleep(0)
        return "swallowed"

    for error in (Interrupt, KeyboardInterrupt):
        loop = SimLoop()
        with pytest.raises(error, match="while the job ran"):
            loop.run(swallows(error))
        loop.drop()
        loop.bury()
    assert SimLoop().run(swallows(SystemExit)) == "swallowed"


def test_a_job_lets_go_of_what_it_held() -> None:
    """Arguments, results and errors of a finished job are freed without the garbage collector."""

    class Thing:
        def fails(self) -> None:
            raise ValueError

    async def program() -> list[Any]:
        things = [Thing(), Thing()]
        await asyncio.to_thread(id, things[0])
        try:
            await asyncio.to_thread(things[1].fails)
        except ValueError:
            return [weakref.ref(thing) for thing in things]
        raise AssertionError("the job was expected to fail")

    gc.disable()
    try:
        loop = SimLoop()
        assert [ref() for ref in loop.run(program())] == [None, None]
    finally:
        gc.enable()


def test_jobs_are_named_after_the_function_they_call() -> None:
    """The name sees through partials and contexts, and falls back to the type."""

    class Callable:
        def __call__(self) -> None: ...

    wrapped = functools.partial(contextvars.copy_context().run, functools.partial(int, base=2), "1")
    assert job_name(wrapped, ()) == "builtins.int"
    assert job_name(Callable(), ()).endswith("Callable")
    assert job_name(test_jobs_are_named_after_the_function_they_call, ()).endswith(
        "test_jobs.test_jobs_are_named_after_the_function_they_call"
    )
