"""Ownership across processes, and what cancelling a call leaves behind."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import (
    Backend,
    SessionAlreadyOwnedError,
    SessionHandleClosedError,
    SessionOwnershipLostError,
    SessionPersistenceNotFoundError,
)
from reference_backend import JsonlPersistence, jsonl, jsonl_raw
from reference_backend.locks import LockHeldError, SessionLock
from reference_backend.ranges import SMALL
from tests.unit.reference_backend.logs import HEADER, batch, event
from tests.unit.reference_backend.loops import on_a_loop
from tests.unit.reference_backend.test_service import descriptors, stored

both = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)

HOLDER = """
import asyncio, sys
from pathlib import Path
from reference_backend import jsonl

async def hold():
    handle = await jsonl.open(Path(sys.argv[1])).open("s", "write")
    print("owned", flush=True)
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(hold())
"""


class Stall:
    """Holds the next call of an ``os`` function in its thread until it is let go."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        real: Callable[..., Any] = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                self.reached.set()
                self.go_on.wait(30)
            return real(*args, **kwargs)

        patch.setattr(os, name, call)

    async def entered(self) -> None:
        """Wait until the call is held."""
        assert await asyncio.to_thread(self.reached.wait, 30)


@on_a_loop
async def test_another_process_owns_until_it_is_killed(tmp_path: Path) -> None:
    """OWN-09: refused while the holder lives, also when it is stopped; free at once when it is killed."""
    await stored(jsonl, tmp_path, batch(0, 1))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "owned\n"
        service: JsonlPersistence = jsonl.open(tmp_path)
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(SessionAlreadyOwnedError):
            await service.open("s", "write")
        holder.kill()
        holder.wait()
        await (await service.open("s", "write")).append(batch(1, 1))
        await service.close()


def test_a_forked_child_holds_no_lock(tmp_path: Path) -> None:
    """OWN-09: a forked copy closes its descriptor, keeps nothing owned, and knows that it owns nothing."""
    lock = SessionLock.acquire(tmp_path / "lock")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"held" if lock.held else b"free")
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 4) == b"free"
    os.close(reading)
    os.waitpid(child, 0)
    assert lock.held
    with pytest.raises(LockHeldError):
        SessionLock.acquire(tmp_path / "lock")
    lock.release()
    SessionLock.acquire(tmp_path / "lock").release()


def test_a_lock_that_cannot_be_signed_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the signature meets, nothing stays open, and the next one gets the lock."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    before = descriptors(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "utime", refuse)
        with pytest.raises(OSError, match="read-only"):
            SessionLock.acquire(tmp_path / "lock")
    assert descriptors(tmp_path) == before == []
    SessionLock.acquire(tmp_path / "lock").release()


def test_a_lock_file_replaced_while_it_is_taken_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock on a file that has lost its name would exclude nobody."""
    path = tmp_path / "lock"
    real = os.open
    removed: list[bool] = []

    def steal(*args: Any, **kwargs: Any) -> int:
        fd = real(*args, **kwargs)
        if not removed:
            removed.append(True)
            path.unlink()
        return fd

    monkeypatch.setattr(os, "open", steal)
    lock = SessionLock.acquire(path)
    with pytest.raises(LockHeldError):
        SessionLock.acquire(path)
    lock.release()


@both
@on_a_loop
async def test_the_child_of_a_fork_may_not_write(backend: Backend, tmp_path: Path) -> None:
    """OWN-13: what the lock's owner left to a forked copy is refused there, and the owner goes on."""
    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.create(HEADER)
    await handle.append(batch(0, 1))
    child = os.fork()
    if child == 0:
        try:
            handle.writer.append(b"{}\n", 1)
        except SessionOwnershipLostError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    await handle.append(batch(1, 1))
    assert await handle.read() == batch(0, 2)
    await service.close()


@both
@on_a_loop
async def test_a_cancelled_append_that_has_begun_is_settled_before_a_later_read_returns(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEQ-08: it lands whole; reads and stat that start afterwards wait for it; the one queued behind it is dropped."""
    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.create(HEADER)
    await handle.append(batch(0, 1))
    reader = await service.open("s", "read")
    with monkeypatch.context() as patch:
        stall = Stall(patch, "fdatasync")
        begun = asyncio.ensure_future(handle.append(batch(1, 2)))
        await stall.entered()
        queued = asyncio.ensure_future(handle.append(batch(3, 1)))
        await asyncio.sleep(0)
        assert await reader.read() == batch(0, 1)
        begun.cancel()
        queued.cancel()
        assert [type(error) for error in await asyncio.gather(begun, queued, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2
        later = [asyncio.ensure_future(call) for call in (reader.read(), handle.read())]
        counted = asyncio.ensure_future(service.stat("s"))
        await asyncio.sleep(0)
        stall.go_on.set()
        assert [await call for call in later] == [batch(0, 3)] * 2
        snapshot = await counted
        assert snapshot is not None
        assert snapshot.event_count == 3
    await handle.append(batch(3, 1))
    await service.close()


@both
@on_a_loop
async def test_a_cancelled_write_open_leaves_no_ownership(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OWN-04: the retry waits for what the first one had begun, and owns. The log is one that a thread opens."""
    await stored(backend, tmp_path, [event(0, os.urandom(SMALL).hex())])
    service: JsonlPersistence = backend.open(tmp_path)
    with monkeypatch.context() as patch:
        stall = Stall(patch, "listdir")
        first = asyncio.ensure_future(service.open("s", "write"))
        await stall.entered()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        retry = asyncio.ensure_future(service.open("s", "write"))
        await asyncio.sleep(0)
        stall.go_on.set()
        handle = await retry
    await handle.append(batch(1, 1))
    reading = asyncio.ensure_future(service.open("s", "read"))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    with pytest.raises(SessionPersistenceNotFoundError):
        await service.open("absent", "write")
    await service.close()
    assert not descriptors(tmp_path)


@both
@on_a_loop
async def test_a_cancelled_close_goes_on(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLOSE-01, CLOSE-04: meanwhile the session is owned; a following close joins it, and then it is free."""
    await stored(backend, tmp_path, batch(0, 1))
    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.open("s", "write")
    with monkeypatch.context() as patch:
        stall = Stall(patch, "fsync")
        closing = asyncio.ensure_future(handle.close())
        await stall.entered()
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        with pytest.raises(SessionHandleClosedError):
            await handle.append(batch(1, 1))
        with pytest.raises(SessionAlreadyOwnedError):
            await service.open("s", "write")
        joined = asyncio.ensure_future(handle.close())
        stall.go_on.set()
        await joined
    await (await service.open("s", "write")).append(batch(1, 1))
    await service.close()


@both
@on_a_loop
async def test_nothing_keeps_tasks_of_finished_calls(backend: Backend, tmp_path: Path) -> None:
    """FAULT-06: no task is left after the service's close, and failed calls leave none in reference cycles."""
    gc.collect()
    before = unfinished()
    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.create(HEADER)
    for first in (0, 5, 1):
        await asyncio.gather(handle.append(batch(first, 1)), return_exceptions=True)
    await asyncio.gather(service.open("none", "read"), service.open("none", "write"), return_exceptions=True)
    await service.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    gc.collect()
    assert unfinished() == before


def unfinished() -> int:
    """How many tasks that have not ended are still in memory."""
    return sum(isinstance(one, asyncio.Task) and not one.done() for one in gc.get_objects())
