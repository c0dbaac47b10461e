"""The loop's state that is not scheduling: closing, dropping, handlers, async generators.

Promises: a loop that was closed refuses work as asyncio's does. One that was dropped (its instance
crashed) refuses to run, and takes no notice of what its left-overs still schedule. Nothing of a
dropped loop is resumed, reported or closed while the loop object lives, until `bury` is called.

Does not: schedule or run anything; `loop` does.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from conformance.sim.refusals import RefusingLoop

if TYPE_CHECKING:
    from collections import deque
    from concurrent.futures import Executor

    from conformance.sim.jobs import JobPool

_logger = logging.getLogger("asyncio")

_H = TypeVar("_H", bound=asyncio.Handle)

_ExceptionHandler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]

_MOST_CLOSINGS = 100

_EVERY_TASK: weakref.WeakSet[asyncio.Task[Any]] | None = getattr(asyncio.tasks, "_all_tasks", None)
"""What `asyncio.all_tasks` looks through, where this Python has it as one set. Mostly it is empty; asking is dear."""


class HousekeepingLoop(RefusingLoop):
    """What `SimLoop` inherits so that its own module is about scheduling only."""

    slow_callback_duration = 0.1

    _ready: deque[asyncio.Handle]
    _timers: list[tuple[int, int, asyncio.TimerHandle]]
    _tasks: list[asyncio.Future[Any]]
    _pools: dict[Executor | None, JobPool] | None

    # Defaults stand on the class to keep the making of a loop cheap.
    _running = False
    _stopping = False
    _gone = False
    _closed = False
    _debug = False
    _default_executor_shut = False
    _asyncgens_shut = False
    _dropped: tuple[asyncio.Task[Any], ...] | None = None
    _task_factory: Callable[..., Any] | None = None
    _exception_handler: _ExceptionHandler | None = None
    _asyncgens: weakref.WeakKeyDictionary[AsyncGenerator[Any, Any], None] | None = None

    # -- what state the loop is in ---------------------------------------------------------------

    def is_running(self) -> bool:
        """Whether one of the running methods is under way."""
        return self._running

    def is_closed(self) -> bool:
        """Whether `close` was called. A dropped loop counts as closed."""
        return self._gone

    def get_debug(self) -> bool:
        """Whether handles and tasks note where they were made."""
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        """Switch the noting of origins on or off."""
        self._debug = enabled

    def get_task_factory(self) -> Any:
        """The task factory, or None for `SimTask`."""
        return self._task_factory

    def set_task_factory(self, factory: Any) -> None:
        """Let `factory(loop, coro)` make the tasks. They hash as that factory's tasks do."""
        if factory is not None and not callable(factory):
            raise TypeError(f"a task factory is a callable or None, not {factory!r}")
        self._task_factory = factory

    def _check_usable(self) -> None:
        if self._gone:
            raise RuntimeError("Event loop is closed" if self._closed else "Event loop was dropped")

    def _refuse_when_gone(self, handle: _H) -> _H:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle.cancel()
        return handle

    # -- the end of a loop -----------------------------------------------------------------------

    def close(self) -> None:
        """Forget what is scheduled and refuse further work. Raises `RuntimeError` while running."""
        if self._running:
            raise RuntimeError("Cannot close a running event loop")
        if self._gone:
            return
        self._closed = True
        self._forget()

    def _forget(self) -> None:
        self._gone = True
        self._ready.clear()
        self._timers.clear()
        self._tasks.clear()
        self._pools = None

    def pending_tasks(self) -> list[asyncio.Task[Any]]:
        """All tasks of this loop that are not done, in the order in which they were made."""
        if _EVERY_TASK is not None and not len(_EVERY_TASK):
            return []
        return sorted(asyncio.all_tasks(self), key=_creation_order)

    def drop(self) -> None:
        """The crash of an instance: forget every task and callback without resuming any of them.

        The suspended coroutines are kept as they are, by the loop object: no `finally` block of
        theirs runs and nothing is reported, as long as the loop lives and `bury` is not called.
        When the loop is let go without `bury`, Python closes the coroutines (their `finally`
        blocks run then, up to the first await) and prints what goes wrong there as unraisable.
        Raises `RuntimeError` while the loop runs; dropping twice is harmless.
        """
        if self._running:
            raise RuntimeError("Cannot drop a running event loop")
        if self._dropped is not None:
            return
        tasks = [] if self._closed else self.pending_tasks()
        for task in tasks:
            # asyncio's own loop sets this too, on tasks whose end it does not wait for.
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._dropped = tuple(tasks)
        self._forget()

    def bury(self) -> list[BaseException]:
        """Close the coroutines of a dropped loop, one after the other, in creation order.

        Their `finally` blocks run now, synchronously; an await in one of them is cut short again.
        Returns what they raised, which is no verdict on anything: a crash runs no cleanup.
        Call it when nothing they could still write to is looked at any more.
        """
        if self._dropped is None:
            raise RuntimeError("only a dropped loop can be buried")
        tasks, self._dropped = self._dropped, ()
        errors: list[BaseException] = []
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            for task in tasks:
                _close_for_good(task.get_coro(), errors)
        finally:
            asyncio._set_running_loop(outer)
        return errors

    # -- errors nobody awaits --------------------------------------------------------------------

    def get_exception_handler(self) -> _ExceptionHandler | None:
        """The handler that was set, or None for the default one."""
        return self._exception_handler

    def set_exception_handler(self, handler: _ExceptionHandler | None) -> None:
        """Let `handler(loop, context)` hear of errors that no task awaits."""
        if handler is not None and not callable(handler):
            raise TypeError(f"an exception handler is a callable or None, not {handler!r}")
        self._exception_handler = handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log the context at level ERROR to the logger `asyncio`, as the ordinary loop does."""
        exception = context.get("exception")
        lines = [context.get("message") or "Unhandled exception in event loop"]
        lines += [f"{key}: {context[key]!r}" for key in sorted(context) if key not in {"message", "exception"}]
        info = (type(exception), exception, exception.__traceback__) if exception else None
        _logger.error("\n".join(lines), exc_info=info)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Hand `context` to the handler. Nobody hears of what happens in a dropped loop."""
        if self._dropped is not None:
            return
        if self._exception_handler is None:
            self.default_exception_handler(context)
            return
        try:
            self._exception_handler(self, context)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as exc:  # noqa: BLE001 - it is reported, with what it was handling
            self.default_exception_handler(
                {"message": "Unhandled error in exception handler", "exception": exc, "context": context}
            )

    # -- async generators ------------------------------------------------------------------------

    async def shutdown_asyncgens(self) -> None:
        """Close every async generator that is still open, in the order of their first steps."""
        self._asyncgens_shut = True
        if not self._asyncgens:
            return
        closing = list(self._asyncgens)
        self._asyncgens.clear()
        results = await asyncio.gather(*(agen.aclose() for agen in closing), return_exceptions=True)
        for result, agen in zip(results, closing, strict=True):
            if isinstance(result, Exception):
                self.call_exception_handler(
                    {
                        "message": f"an error occurred during closing of asynchronous generator {agen!r}",
                        "exception": result,
                        "asyncgen": agen,
                    }
                )

    def _asyncgen_first_iter(self, agen: AsyncGenerator[Any, Any]) -> None:
        if self._asyncgens_shut:
            _logger.warning("asynchronous generator %r was started after the shutdown of its loop", agen)
        if self._asyncgens is None:
            self._asyncgens = weakref.WeakKeyDictionary()
        self._asyncgens[agen] = None

    def _asyncgen_finalizer(self, agen: AsyncGenerator[Any, Any]) -> None:
        if self._asyncgens is not None:
            self._asyncgens.pop(agen, None)
        if not self._gone:
            self.call_soon(self._close_asyncgen, agen)

    def _close_asyncgen(self, agen: AsyncGenerator[Any, Any]) -> None:
        self.create_task(_aclose(agen))


async def _aclose(agen: AsyncGenerator[Any, Any]) -> None:
    await agen.aclose()


def _creation_order(task: asyncio.Task[Any]) -> tuple[bool, int, str]:
    number: int | None = getattr(task, "number", None)
    return (True, 0, task.get_name()) if number is None else (False, number, "")


def _close_for_good(coro: Any, errors: list[BaseException]) -> None:
    for _ in range(_MOST_CLOSINGS):
        try:
            coro.close()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as exc:  # noqa: BLE001 - handed to the caller
            errors.append(exc)
        if getattr(coro, "cr_frame", None) is None:
            return
