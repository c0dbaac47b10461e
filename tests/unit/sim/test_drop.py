"""The crash of an instance: its loop is dropped and nothing of it runs on."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conformance.sim import RecordedChoices, SimLoop


@contextmanager
def _nothing_is_reported(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No log record and no unraisable error inside."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    with caplog.at_level(logging.DEBUG):
        yield
        gc.collect()
    assert (caplog.records, unraisable) == ([], [])


def _crowded_loop(log: list[str]) -> SimLoop:
    """A loop with tasks suspended in all kinds of places, one unstarted, and one failed."""
    loop = SimLoop(RecordedChoices([3]))

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.sleep(9)
            yield 2
        finally:
            log.append("generator")

    async def iterates() -> None:
        async for _ in numbers():
            continue

    async def awaits_in_finally() -> None:
        try:
            async with asyncio.timeout(5), asyncio.Lock():
                await asyncio.sleep(9)
        finally:
            log.append("finally")
            await asyncio.sleep(0)
            log.append("never")

    async def job() -> None:
        try:
            await asyncio.to_thread(log.append, "job")
        finally:
            log.append("job cleanup")

    async def fails() -> None:
        raise ValueError("nobody asks")

    for coroutine in (iterates(), awaits_in_finally(), job(), fails()):
        loop.create_task(coroutine)
    loop.run_until_idle()
    loop.create_task(fails())
    loop.call_soon(log.append, "callback")
    return loop


def test_a_dropped_loop_runs_nothing(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `drop` no callback, job or `finally` block runs, and nothing is reported."""
    log: list[str] = []
    loop = _crowded_loop(log)
    caplog.clear()
    with _nothing_is_reported(caplog, monkeypatch):
        loop.drop()
        loop.drop()
        gc.collect()
        assert (log, loop.is_closed()) == ([], True)
        with pytest.raises(RuntimeError, match="dropped"):
            loop.turn()
        assert loop.call_soon(log.append, "late").cancelled()
        assert loop.call_later(0, log.append, "late").cancelled()
        errors = loop.bury()
        assert [what for what in log if what != "generator"] == ["finally", "job cleanup"]
        # From 3.13 on, closing a coroutine also closes the generator that it waits for.
        assert ("generator" in log) == (sys.version_info >= (3, 13))
        assert [str(error) for error in errors] == ["coroutine ignored GeneratorExit"]
        assert loop.bury() == []
        del loop, errors


def test_pending_tasks_are_listed_in_the_order_of_their_making() -> None:
    """`pending_tasks` is ordered, leaves out what is done, and a dropped loop is empty."""
    loop = SimLoop()
    tasks = [loop.create_task(asyncio.sleep(n)) for n in range(12)]
    loop.run_until_idle()
    assert loop.pending_tasks() == tasks[1:]
    loop.drop()
    loop.bury()
    with pytest.raises(RuntimeError, match="only a dropped loop"):
        SimLoop().bury()


def test_pending_tasks_stay_alive_without_a_reference() -> None:
    """A task that only waits for itself is not left to the garbage collector."""
    loop = SimLoop()

    async def waits_for_nothing() -> None:
        await asyncio.get_running_loop().create_future()

    async def starts() -> None:
        asyncio.create_task(waits_for_nothing(), name="alone")  # noqa: RUF006 - the point of it

    loop.run(starts())
    loop.run(asyncio.sleep(1))
    gc.collect()
    assert [task.get_name() for task in loop.pending_tasks()] == ["alone"]
    loop.drop()
    loop.bury()
