"""The clients of an overlap: each makes its calls on the backend's own loop, beside the others.

Begin and end of each call are told at the moment at which they happen: a call has begun when its coroutine takes its
first step, and has ended when it returns, raises or is cancelled. Nothing here judges.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any, Protocol

from conformance.drivers.escapes import is_answer
from conformance.drivers.outcomes import scribble
from conformance.model.history import RESOLVED, Cancelled, Hung, Outcome, Returned, Skipped, Value
from conformance.model.operations import Append, Operation, Overlap, Step
from conformance.model.values import clone
from conformance.sim import SimLoop

_MAKING: ContextVar[tuple[Operation, int, int] | None] = ContextVar("making", default=None)
"""The call of an overlap that code is run for, its client and step; tasks and jobs of the backend inherit it."""


def making() -> str:
    """The call of an overlap that code is run for right now, and its client; "" where it is for none."""
    made = _MAKING.get()
    return "" if made is None else _named(*made)


def _named(call: Operation, client: int, number: int) -> str:
    return f"{call.kind} of client {client}, its step {number + 1}"


class Ears(Protocol):
    """Who hears when a call begins and ends."""

    def begun(self, client: int, step: int, operation: Operation) -> None:
        """The call has taken its first step."""

    def ended(self, client: int, step: int, outcome: Outcome) -> None:
        """The call has ended."""


class Deaf:
    """Hears nothing: whoever would, dies with the calls."""

    def begun(self, client: int, step: int, operation: Operation) -> None:
        """See ``Ears``."""

    def ended(self, client: int, step: int, outcome: Outcome) -> None:
        """See ``Ears``."""


class Caller(Protocol):
    """What makes one call, and turns into data what comes of it."""

    def call(self, operation: Operation) -> Coroutine[Any, Any, Value]:
        """Make the call."""

    def append(self, operation: Append, events: Any) -> Coroutine[Any, Any, Value]:
        """The same for a batch that the caller keeps."""

    def observed(self, error: BaseException) -> Outcome:
        """What was raised, as data."""


@types.coroutine
def turn() -> Generator[None, None, None]:
    """Let everything else that is ready have its turn, as ``asyncio.sleep(0)`` does."""
    yield


class Clients:
    """The clients of one overlap.

    Args:
        at_once: a call takes its arguments in its first step, and can be cancelled. A plain function in a thread takes
            them when it runs, and nobody can cancel it.
    """

    def __init__(self, overlap: Overlap, caller: Caller, ears: Ears, *, at_once: bool) -> None:
        self._overlap = overlap
        self._caller = caller
        self._ears = ears
        self._at_once = at_once
        self._in_flight: dict[tuple[int, int], None] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def in_flight(self) -> tuple[tuple[int, int], ...]:
        """(client, step) of the calls that have begun and not ended, in the order in which they began."""
        return tuple(self._in_flight)

    def break_off(self, told: str, by: str = "") -> None:
        """Nothing goes on any more: what is in flight never ended.

        Args:
            by: as ``making`` said, the one call that held the thread. The others then came to no end because of it.
        """
        names = {at: _named(self._overlap.rows[at[0] - 1][at[1]].call, *at) for at in self._in_flight}
        for client, number in self.in_flight:
            held_up = by in names.values() and names[client, number] != by
            self._ears.ended(client, number, Skipped() if held_up else Hung(told))

    async def run(self) -> None:
        """Return when every call of every client has ended."""
        loop = asyncio.get_running_loop()
        clients = [loop.create_task(self._row(number, row, loop)) for number, row in enumerate(self._overlap.rows, 1)]
        for client in clients:
            await client
        for task in self._tasks:
            await task

    async def _row(self, client: int, row: tuple[Step, ...], loop: asyncio.AbstractEventLoop) -> None:
        for number, step in enumerate(row):
            if step.after:
                await _pause(step.after, loop)
            operation, kept = step.call, None
            if isinstance(operation, Append) and operation.scribble:
                kept = clone(operation.events)
                made = self._caller.append(operation, kept)
            else:
                made = self._caller.call(operation)
            if step.waits and not step.cancels and kept is None:
                # Nothing is to be done while it is under way: it needs no task of its own.
                await self._call(client, number, step, made)
                continue
            task = loop.create_task(self._call(client, number, step, made))
            self._tasks.append(task)
            if step.cancels and self._at_once:
                self._tasks.append(loop.create_task(_cancel(task, step.cancels)))
            await turn()
            if kept is not None:
                if not self._at_once:
                    await task
                scribble(kept)
            if step.waits:
                await task

    async def _call(self, client: int, number: int, step: Step, made: Coroutine[Any, Any, Value]) -> None:
        _MAKING.set((step.call, client, number))
        self._ears.begun(client, number, step.call)
        at = client, number
        self._in_flight[at] = None
        outcome: Outcome
        try:
            value = await made
            outcome = RESOLVED if value is None else Returned(value)
        except asyncio.CancelledError as error:
            outcome = Cancelled() if step.cancels else self._caller.observed(error)
        except BaseException as error:
            # Whatever a backend raises is an observation.
            if not is_answer(error):
                raise
            outcome = self._caller.observed(error)
        _MAKING.set(None)
        del self._in_flight[at]
        self._ears.ended(client, number, outcome)


def _pause(after: int, loop: asyncio.AbstractEventLoop) -> Awaitable[None]:
    """To be awaited until that many microseconds have passed."""
    return loop.pause(after) if isinstance(loop, SimLoop) else asyncio.sleep(after / 1_000_000)


async def _cancel(task: asyncio.Task[None], cancels: tuple[tuple[int, int], ...]) -> None:
    for after, turns in cancels:
        if after:
            await asyncio.sleep(after / 1_000_000)
        for _ in range(turns):
            await turn()
        task.cancel()
