"""Opens one instance of a backend, whatever shape its factory has, and looks at what came out.

A factory gives an instance, an awaitable of one, or an (async) context manager of one, with or without a parameter
``env``. All of these end as the same pair: the persistence and a way to leave it. A backend with ``sync=True`` comes
wrapped. Nothing is judged here, and a crashed instance is simply never left.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from types import GeneratorType
from typing import Any, NamedTuple, Protocol

from conformance.contract import Backend, SessionPersistence
from conformance.drivers.errors import SetupError
from conformance.drivers.escapes import is_answer
from conformance.drivers.sync_adapter import SyncPersistence
from conformance.sim.env import Env

METHODS = ("create", "open", "stat", "list", "flush", "close")


class Leave(Protocol):
    """Leaves what a factory entered."""

    async def __call__(self, error: BaseException | None = None) -> None:
        """``error`` is the exception that ended the use, or None; whether it goes on is the caller's to say."""


class Instance(NamedTuple):
    """One entered instance.

    Attributes:
        persistence: what the kit calls; an adapter where the backend is synchronous.
        leave: to be awaited at the end of its life; it closes the service only where the context manager does.
    """

    persistence: SessionPersistence
    leave: Leave


async def enter_instance(backend: Backend, root: Path, env: Any = None) -> Instance:
    """Open a fresh instance of ``backend`` over ``root`` in the running loop.

    Args:
        backend: the registration; its factory may return an instance, an awaitable, or an (async) context manager.
        root: the storage directory, which need not exist.
        env: given to a factory that has a parameter ``env``; where None, its default stands, or it gets wall time and
            random tokens.

    Raises:
        SetupError: the factory raised, or gave something without the service's methods; names backend and cause.
    """
    try:
        made = await _make(backend, root, env)
        persistence, leave = await _enter(backend, made)
    except SetupError:
        raise
    except BaseException as cause:
        if not is_answer(cause):
            raise
        raise SetupError(f"backend {backend.name!r} could not start: {type(cause).__name__}: {cause}") from cause
    for name in METHODS:
        if not callable(getattr(persistence, name, None)):
            raise _no_service(backend, persistence)
    return Instance(SyncPersistence(persistence) if backend.sync else persistence, leave)


def _no_service(backend: Backend, made: Any) -> SetupError:
    missing = [name for name in METHODS if not callable(getattr(made, name, None))]
    return SetupError(
        f"backend {backend.name!r} could not start: its factory gave {made!r} of type "
        f"{type(made).__qualname__}; expected a service with {', '.join(METHODS)} (no {', '.join(missing)})"
    )


async def _make(backend: Backend, root: Path, env: Any) -> Any:
    parameter = _env_parameter(backend.open)
    arguments = {}
    if parameter is not None and (env is not None or parameter.default is inspect.Parameter.empty):
        arguments["env"] = Env(_WallClock(), seed=secrets.randbits(64)) if env is None else env
    made = await asyncio.to_thread(backend.open, root, **arguments) if backend.sync else backend.open(root, **arguments)
    kind: type = type(made)
    return await made if _shape_of(kind).may_be_awaited and inspect.isawaitable(made) else made


def takes_env(backend: Backend) -> bool:
    """Whether the factory has a parameter ``env``; where it has none, its clock and tokens are the real ones."""
    return _env_parameter(backend.open) is not None


@lru_cache(maxsize=256)
def _env_parameter(factory: Callable[..., Any]) -> inspect.Parameter | None:
    try:
        return inspect.signature(factory).parameters.get("env")
    except (TypeError, ValueError):
        # Some callables written in C have no signature; they have no parameter of ours either.
        return None


class _WallClock:
    """The real time, for a factory that insists on an ``env`` outside the simulated world."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class _Shape(NamedTuple):
    """What the class of a factory's result tells; it is asked once for each class, for the answers are not cheap."""

    may_be_awaited: bool
    is_async_context: bool
    is_context: bool


@lru_cache(maxsize=256)
def _shape_of(kind: type) -> _Shape:
    return _Shape(
        issubclass(kind, Awaitable | GeneratorType),
        hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__"),
        hasattr(kind, "__enter__") and hasattr(kind, "__exit__"),
    )


async def _enter(backend: Backend, made: Any) -> tuple[Any, Leave]:
    """Enter ``made`` where it is a context manager. One that is also the service itself is entered all the same."""
    kind: type = type(made)
    shape = _shape_of(kind)
    if shape.is_async_context:

        async def leave_async(error: BaseException | None = None) -> None:
            await made.__aexit__(*_details(error))

        return await made.__aenter__(), leave_async
    if shape.is_context:

        async def leave(error: BaseException | None = None) -> None:
            await _call(backend, made.__exit__, *_details(error))

        return await _call(backend, made.__enter__), leave
    return made, _leave_nothing


async def _call(backend: Backend, function: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.to_thread(function, *arguments) if backend.sync else function(*arguments)


async def _leave_nothing(error: BaseException | None = None) -> None:
    """There was no context manager to leave."""


def _details(error: BaseException | None) -> tuple[Any, ...]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)
