"""What nobody awaits: errors of tasks and callbacks, and async generators left open."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance.sim import SimLoop


async def _numbers(log: list[str]) -> AsyncIterator[int]:
    try:
        yield 1
        yield 2
    finally:
        log.append("closing")
        await asyncio.sleep(0)
        log.append("closed")


async def _fails_to_close() -> AsyncIterator[int]:
    try:
        yield 1
    finally:
        raise ValueError("while closing")


def test_the_default_handler_logs_like_asyncio(caplog: pytest.LogCaptureFixture) -> None:
    """An error nobody awaits is logged as an error of asyncio, with its traceback; the run goes on."""
    loop = SimLoop()

    def fails() -> None:
        raise ValueError("in a callback")

    loop.call_soon(fails)
    assert loop.run(asyncio.sleep(1, "went on")) == "went on"
    [record] = caplog.records
    assert (record.name, record.levelno) == ("asyncio", logging.ERROR)
    assert "Exception in callback" in record.message
    assert "handle: <Handle" in record.message
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


def test_a_handler_that_fails_is_reported_too(caplog: pytest.LogCaptureFixture) -> None:
    """An error inside the exception handler is logged; one that ends programs goes through."""
    loop = SimLoop()
    errors: list[BaseException] = [KeyError("handler"), KeyboardInterrupt()]

    def handler(_loop: object, _context: object) -> None:
        raise errors.pop(0)

    loop.set_exception_handler(handler)
    assert loop.get_exception_handler() is handler
    loop.call_exception_handler({"message": "something"})
    assert "Unhandled error in exception handler" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        loop.call_exception_handler({"message": "something"})
    with pytest.raises(TypeError):
        loop.set_exception_handler(3)  # type: ignore[arg-type]


def test_open_generators_are_closed_in_order_and_their_errors_reported() -> None:
    """`shutdown_asyncgens` closes what is open, reports what fails, and leaves nothing to do."""
    loop, log, heard = SimLoop(), list[str](), list[Any]()
    loop.set_exception_handler(lambda _loop, context: heard.append(context["exception"]))

    async def program() -> list[Any]:
        generators: list[Any] = [_numbers(log), _fails_to_close(), _numbers([])]
        for generator in generators[:2]:
            await anext(generator)
        return generators

    kept = loop.run(program())
    loop.run(loop.shutdown_asyncgens())
    loop.run(loop.shutdown_asyncgens())
    assert log == ["closing", "closed"]
    assert [repr(error) for error in heard] == ["ValueError('while closing')"]
    assert len(kept) == 3


def test_a_generator_started_after_the_shutdown_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """As on the ordinary loop, starting one then is logged and works."""
    loop = SimLoop()

    async def program() -> int:
        await asyncio.get_running_loop().shutdown_asyncgens()
        return await anext(_numbers([]))

    assert loop.run(program()) == 1
    assert "was started after the shutdown of its loop" in caplog.text


def test_a_generator_that_outlives_its_loop_is_left_alone() -> None:
    """Collecting an open generator of a closed loop schedules nothing and raises nothing."""
    loop, log = SimLoop(), list[str]()

    async def program() -> AsyncIterator[int]:
        generator = _numbers(log)
        await anext(generator)
        return generator

    kept = loop.run(program())
    loop.close()
    del kept
    gc.collect()
    assert log == []


def test_debug_mode_is_kept() -> None:
    """`set_debug` makes handles remember where they were made, as asyncio's own do."""
    loop = SimLoop()
    assert not loop.get_debug()
    loop.set_debug(True)
    assert "created at" in repr(loop.call_soon(print))
    assert loop.get_debug()
    assert loop.run(asyncio.sleep(0, "runs in debug mode")) == "runs in debug mode"
