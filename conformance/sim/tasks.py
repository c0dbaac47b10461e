"""Tasks and futures whose hash is a number of their own loop, not a memory address; handles that are made fast.

Promises: sets of tasks and futures iterate in the same order in every process, given the same program. That is
what `asyncio.wait`, `TaskGroup` and `asyncio.all_tasks` hand out and walk over.

Does not: change anything else about the C classes beneath; equality stays identity. Futures that
asyncio makes without asking the loop (the one that `asyncio.gather` returns) keep their address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Protocol, TypeVar, cast

_T = TypeVar("_T")


class _NumbersFutures(Protocol):
    def take_future_number(self) -> int: ...


class SimTask(asyncio.Task[_T]):
    """An asyncio task that hashes by its creation number, counted by its loop from 1."""

    __slots__ = ("number",)

    def __init__(
        self,
        coro: Coroutine[Any, Any, _T] | Generator[Any, None, _T],
        loop: asyncio.AbstractEventLoop,
        name: str | None,
        context: Context | None,
        number: int,
        **options: Any,
    ) -> None:
        # asyncio puts the task into a set while it is being made, so the number comes first.
        self.number = number
        name = name or f"Task-{number}"
        if options:
            super().__init__(coro, loop=loop, name=name, context=context, **options)
        else:
            # Handing on options, though there are none, is dear.
            super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.number


class SimFuture(asyncio.Future[_T]):
    """An asyncio future that hashes by the order in which futures of its loop were first hashed.

    Most futures are never hashed, so the number is taken late to keep their making cheap.
    `job_name` is set on the future of an executor job, for reports.
    """

    __slots__ = ("_number", "job_name")

    _number: int
    job_name: str

    def __hash__(self) -> int:
        try:
            return self._number
        except AttributeError:
            self._number = cast("_NumbersFutures", self.get_loop()).take_future_number()
            return self._number


class Handle(asyncio.Handle):
    """A handle of a loop that is not in debug mode: asyncio's own asks it each time whether it is.

    It is called as that one, for its name stands in what is logged of a callback that raised.
    """

    __slots__ = ()

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = copy_context() if context is None else context
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class TimerHandle(asyncio.TimerHandle):
    """The same for a timer; ``when`` is in seconds of the loop's time."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = copy_context() if context is None else context
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self._when = when
        self._scheduled = False


class Alarm(asyncio.TimerHandle):
    """The end of a pause: it tells the pause's future, and has no callback whose context would have to be kept."""

    __slots__ = ("_pause",)

    def __init__(self, when: float, pause: asyncio.Future[None]) -> None:
        self._pause = pause
        self._when = when
        self._cancelled = False
        self._callback = self._repr = self._source_traceback = None

    def _run(self) -> None:
        if not self._pause.done():
            self._pause.set_result(None)
