"""Every shape a factory may have ends as one entered instance, and a wrong one as a set-up error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend
from conformance.drivers.errors import SetupError
from conformance.drivers.factory import METHODS, enter_instance, takes_env
from conformance.drivers.sync_adapter import SyncHandle, SyncPersistence


class _Service:
    """Has the names of a service and remembers on which thread it was called."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def create(self, header: Any, inherited_event_count: int | None = None) -> Any:
        self.threads.append(threading.get_ident())
        return _Handle()

    open = create

    def stat(self, session_id: str) -> None:
        return None

    def list(self) -> list[Any]:
        return []

    def flush(self) -> None:
        self.threads.append(threading.get_ident())

    def close(self) -> None:
        raise OSError("the disk is gone")


class _Handle:
    """A synchronous handle that is its own context manager."""

    id = "s"
    header = None
    inherited_event_count = None
    access = "write"

    def __init__(self) -> None:
        self.left: type[BaseException] | None = None

    def read(self, offset: int = 0, length: int | None = None) -> list[Any]:
        return [offset, length]

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.left = kind


SERVICE = _Service()
LEFT: list[BaseException | None] = []


def _plain(root: Path) -> _Service:
    return SERVICE


async def _awaited(root: Path) -> _Service:
    return SERVICE


@contextmanager
def _managed(root: Path) -> Iterator[_Service]:
    try:
        yield SERVICE
    finally:
        LEFT.append(None)


@asynccontextmanager
async def _managed_async(root: Path) -> AsyncIterator[_Service]:
    yield SERVICE
    LEFT.append(None)


async def _awaited_manager(root: Path) -> Any:
    return _managed_async(root)


@pytest.mark.parametrize(
    ("factory", "leaves"), [(_plain, 0), (_awaited, 0), (_managed, 1), (_managed_async, 1), (_awaited_manager, 1)]
)
def test_every_shape_of_factory_gives_the_service_and_is_left_once(tmp_path: Path, factory: Any, leaves: int) -> None:
    """Instances, awaitables and both kinds of context managers are alike to the caller."""
    LEFT.clear()

    async def body() -> Any:
        persistence, leave = await enter_instance(Backend(name="b", open=factory), tmp_path)
        await leave()
        return persistence

    assert asyncio.run(body()) is SERVICE
    assert len(LEFT) == leaves


class _Clockwork:
    """Something to hand over as env."""


def test_only_a_factory_with_that_parameter_is_given_env(tmp_path: Path) -> None:
    """env goes by the parameter's name; without one given, a default stands and a bare parameter gets wall time."""
    seen: list[Any] = []

    def with_env(root: Path, env: Any) -> _Service:
        seen.append(env)
        return SERVICE

    def with_default(root: Path, *, env: Any = "mine") -> _Service:
        seen.append(env)
        return SERVICE

    def without(root: Path) -> _Service:
        seen.append("none")
        return SERVICE

    env = _Clockwork()

    async def body() -> None:
        for given in (env, None):
            for factory in (with_env, with_default, without):
                await enter_instance(Backend(name="b", open=factory), tmp_path, given)

    asyncio.run(body())
    assert seen[:3] == [env, env, "none"]
    assert seen[4:] == ["mine", "none"]
    assert len(seen[3].token(12)) == 12
    assert seen[3].now_ms() > 1_600_000_000_000
    assert takes_env(Backend(name="b", open=with_env))
    assert not takes_env(Backend(name="b", open=print))


class _Halfway:
    """A service that forgot two methods."""

    def create(self) -> None: ...

    def open(self) -> None: ...

    def stat(self) -> None: ...

    def list(self) -> None: ...


@pytest.mark.parametrize(
    ("result", "words"),
    [(None, "gave None of type NoneType"), (_Halfway(), r"of type _Halfway; .*\(no flush, close\)")],
)
def test_a_factory_that_gives_the_wrong_thing_is_told_what_is_missing(tmp_path: Path, result: Any, words: str) -> None:
    """The set-up error names the backend, what came, and the methods that are missing."""
    with pytest.raises(SetupError, match=f"backend 'odd' could not start: .*{words}") as caught:
        asyncio.run(enter_instance(Backend(name="odd", open=lambda root: result), tmp_path))
    assert all(method in str(caught.value) for method in METHODS)


def test_a_failing_context_manager_is_a_set_up_error(tmp_path: Path) -> None:
    """What a context manager raises on entry is the cause."""

    @asynccontextmanager
    async def refusing(root: Path) -> AsyncIterator[_Service]:
        raise ConnectionRefusedError("nobody listens")
        yield SERVICE

    with pytest.raises(SetupError, match=r"'b' could not start: ConnectionRefusedError: nobody listens") as caught:
        asyncio.run(enter_instance(Backend(name="b", open=refusing), tmp_path))
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


def test_a_synchronous_backend_runs_in_threads_and_keeps_its_errors(tmp_path: Path) -> None:
    """Factory, methods and handles of a sync backend never run on the loop's thread; exceptions pass unchanged."""
    service = _Service()

    def factory(root: Path) -> _Service:
        service.threads.append(threading.get_ident())
        return service

    async def in_body(handle: Any) -> None:
        async with handle as entered:
            assert entered is handle
            raise ZeroDivisionError

    async def body() -> None:
        persistence, leave = await enter_instance(Backend(name="b", open=factory, sync=True), tmp_path)
        assert type(persistence) is SyncPersistence
        handle: Any = await persistence.create("header")
        assert type(handle) is SyncHandle
        assert (handle.id, handle.access) == ("s", "write")
        assert str(await handle.read(2, length=3)) == "[2, 3]"
        with pytest.raises(ZeroDivisionError):
            await in_body(handle)
        assert handle.inner.left is ZeroDivisionError
        await persistence.flush()
        with pytest.raises(OSError, match="the disk is gone"):
            await persistence.close()
        await leave()

    asyncio.run(body())
    assert len(service.threads) == 3
    assert threading.get_ident() not in service.threads
