"""One instance over one root: who owns what here, and in what order creates and opens of one id happen.

Creates and write opens of one id pass a gate one after the other, so that of racing ones exactly one wins and the
next sees its outcome. The gate is left by the caller that takes the handle, or, where the caller was cancelled, once
what it had acquired is given back: a retry is never refused because of itself. Where nobody is in the gate, a look
that takes no longer than handing it to a thread is done without one, and without a gate: nothing can come between.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from conformance.contract import (
    Access,
    SessionHandleClosedError,
    SessionHeader,
    SessionPersistenceError,
    SessionSnapshot,
    check_session_id,
    materialize_create_header,
)
from reference_backend.artifact import LongLogError
from reference_backend.handle import ReadHandle, WriteHandle
from reference_backend.jobs import Jobs, finished, in_thread
from reference_backend.opening import Owned
from reference_backend.positions import Codec
from reference_backend.reader import LogReader
from reference_backend.store import Store
from reference_backend.writer import Writer

logger = logging.getLogger("torntail.reference")


class _Gate:
    """Lets creates and write opens of one id through one at a time."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class JsonlPersistence:
    """The service over ``root``; makes nothing on disk before the first append or flush."""

    def __init__(self, root: str | os.PathLike[str], codec: Codec) -> None:
        self.jobs = Jobs()
        name = os.fspath(root)
        self._store = Store(name if name.startswith(os.sep) else os.path.join(os.getcwd(), name), codec)
        self._owners: dict[str, WriteHandle] = {}
        self._readers: set[ReadHandle] = set()
        self._gates: dict[str, _Gate] = {}
        self._arriving = 0
        self._arrived: asyncio.Event | None = None
        self._closing: asyncio.Task[None] | None = None
        self._closed = False
        self._when_closed: list[Callable[[], None]] = []

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> WriteHandle:
        """Own a new session; only this instance sees it before its first append or flush."""
        self._refuse_if_closed()
        header, inherited = materialize_create_header(header, inherited_event_count)
        if header.id not in self._gates:
            return self._create(header, inherited)
        async with self._arrival(), self._gate(header.id):
            return self._create(header, inherited)

    def _create(self, header: SessionHeader, inherited: int | None) -> WriteHandle:
        self._refuse_if_closed()
        if header.id in self._owners or self._store.is_occupied(header.id):
            raise self._store.place(header.id).already_exists()
        writer = self._store.new_writer(header, inherited)
        return self._own(writer, LogReader(self._store, writer.place, writer, owns=True))

    async def open(self, session_id: str, access: Access) -> ReadHandle | WriteHandle:
        """A handle on a visible session; ``"write"`` owns it."""
        self._refuse_if_closed()
        if access not in ("read", "write"):
            raise ValueError(f"access={access!r}: expected 'read' or 'write'")
        if not _is_usable(session_id):
            raise self._store.place(session_id).not_found()
        if access == "read":
            return await self._open_reader(session_id)
        self._refuse_if_owned(session_id)
        if session_id not in self._gates:
            try:
                return self._own_stored(self._store.own(session_id, at_once=True))
            except LongLogError:
                logger.debug("session %r has a long log: a thread opens it", session_id)
        async with self._arrival():
            return await self._open_writer(session_id)

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """One session, without decoding an event, or None where it is absent."""
        self._refuse_if_closed()
        if not _is_usable(session_id):
            return None
        await self.settle(session_id)
        try:
            return self._store.stat(session_id, at_once=True)
        except LongLogError:
            return await self.jobs.run(self._store.stat, session_id)

    async def list(self) -> list[SessionSnapshot]:
        """A snapshot of each visible session, ordered by id."""
        self._refuse_if_closed()
        for owner in list(self._owners.values()):
            await owner.settle()
        return await self.jobs.run(self._store.list)

    async def flush(self) -> None:
        """Flush every active write handle.

        Raises:
            ExceptionGroup: with one member for each session that failed, naming it.
        """
        self._refuse_if_closed()
        owners = list(self._owners.values())
        sweeps = [self.jobs.spawn(owner.flush_in_sweep()) for owner in owners]
        await _all_ended(sweeps)
        closes: dict[WriteHandle, asyncio.Task[None]] = {}
        # What was closed when its sweep had come past is waited for too, as long as anything of that is under way.
        while late := [each for each in owners if each.is_closing and each not in closes]:
            closes |= {each: self.jobs.spawn(each.close()) for each in late}
            await _all_ended([closes[each] for each in late])
        flushed = [
            (owner.id, task if task.exception() else closes.get(owner, task))
            for owner, task in zip(owners, sweeps, strict=True)
        ]
        _raise_failures("flush", flushed)

    async def close(self) -> None:
        """Drain and close every handle; again is nothing.

        Raises:
            ExceptionGroup: as ``flush``; everything is closed all the same.
        """
        if self._closed or self._close_at_once():
            return
        first = self._closing is None
        if self._closing is None:
            self._closing = self.jobs.spawn(self._close_all())
        closing = self._closing
        await asyncio.wait({closing})
        if first:
            closing.result()

    async def settle(self, session_id: str) -> None:
        """Wait for mutations of that session whose callers were cancelled."""
        owner = self._owners.get(session_id)
        if owner is not None and not owner.is_settled:
            await owner.settle()

    def owner(self, session_id: str) -> WriteHandle | None:
        """The write handle of that session that has not been released yet, also while it is being closed."""
        return self._owners.get(session_id)

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call this when every handle is closed."""
        self._when_closed.append(call)

    def forget_writer(self, handle: WriteHandle) -> None:
        """The handle was released: its session has no owner here."""
        self._store.forget(handle.writer)
        if self._owners.get(handle.id) is handle:
            del self._owners[handle.id]

    def forget_reader(self, handle: ReadHandle) -> None:
        """The handle was closed."""
        self._readers.discard(handle)

    async def _open_reader(self, session_id: str) -> ReadHandle:
        await self.settle(session_id)
        self._refuse_if_closed()
        try:
            return self._read_handle(*LogReader.open(self._store, session_id, at_once=True))
        except LongLogError:
            logger.debug("session %r has a long log: a thread opens it", session_id)
        async with self._arrival():
            opening = self.jobs.start(LogReader.open, self._store, session_id)
            try:
                found = await finished(opening)
            except asyncio.CancelledError:
                self.jobs.spawn(_close_reader(opening))
                raise
            if self._closing is not None:
                self.jobs.spawn(_close_reader(opening))
                raise _service_closed()
            return self._read_handle(*found)

    def _read_handle(self, reader: LogReader, header: SessionHeader, inherited: int | None) -> ReadHandle:
        handle = ReadHandle(self, header, inherited, "read", reader)
        self._readers.add(handle)
        return handle

    async def _open_writer(self, session_id: str) -> WriteHandle:
        self._refuse_if_owned(session_id)
        gate = await self._enter(session_id)
        taking: asyncio.Future[Owned] | None = None
        try:
            self._refuse_if_owned(session_id)
            taking = self.jobs.start(self._store.own, session_id)
            owned = await finished(taking)
            self._refuse_if_closed()
            # Nothing is awaited from here on: the caller has the handle, or the writer was never taken.
            handle = self._own(owned.writer, LogReader.of_owner(self._store, owned))
        except BaseException:
            if taking is None:
                self._leave(session_id, gate)
            else:
                self.jobs.spawn(self._give_back(taking, session_id, gate))
            raise
        self._leave(session_id, gate)
        return handle

    async def _give_back(self, taking: asyncio.Future[Owned], session_id: str, gate: _Gate) -> None:
        """Release what a write open took for a caller that is not there any more; only then may the next one try."""
        try:
            await asyncio.wait({taking})
            if not taking.cancelled() and taking.exception() is None:
                await in_thread(taking.result().writer.abandon)
        except OSError:
            logger.warning("session %r: an abandoned open was not closed cleanly", session_id, exc_info=True)
        finally:
            self._leave(session_id, gate)

    def _own_stored(self, owned: Owned) -> WriteHandle:
        try:
            return self._own(owned.writer, LogReader.of_owner(self._store, owned))
        except BaseException:
            owned.writer.abandon()
            raise

    def _own(self, writer: Writer, reader: LogReader) -> WriteHandle:
        handle = WriteHandle(self, writer, reader)
        self._store.register(writer)
        self._owners[handle.id] = handle
        return handle

    def _close_at_once(self) -> bool:
        """Close where no handle is open and nothing is under way: nothing is left to wait for, or to fail."""
        if self._owners or self._readers or self._arriving or not self.jobs.all_over:
            return False
        self._end()
        return True

    def _end(self) -> None:
        self._closed = True
        while self._when_closed:
            self._when_closed.pop()()

    async def _close_all(self) -> None:
        while self._arriving:
            self._arrived = asyncio.Event()
            await self._arrived.wait()
        handles: list[ReadHandle | WriteHandle] = [*self._owners.values(), *self._readers]
        closes = [self.jobs.spawn(handle.close()) for handle in handles]
        await _all_ended(closes)
        await self.jobs.drain()
        self._end()
        _raise_failures("close", [(handle.id, task) for handle, task in zip(handles, closes, strict=True)])

    @asynccontextmanager
    async def _arrival(self) -> AsyncIterator[None]:
        """A create or open in flight: the service's close waits for it."""
        self._arriving += 1
        try:
            yield
        finally:
            self._arriving -= 1
            if self._arrived is not None:
                self._arrived.set()

    @asynccontextmanager
    async def _gate(self, session_id: str) -> AsyncIterator[None]:
        gate = await self._enter(session_id)
        try:
            yield
        finally:
            self._leave(session_id, gate)

    async def _enter(self, session_id: str) -> _Gate:
        gate = self._gates.setdefault(session_id, _Gate())
        gate.users += 1
        try:
            await gate.lock.acquire()
        except BaseException:
            self._drop_user(session_id, gate)
            raise
        return gate

    def _leave(self, session_id: str, gate: _Gate) -> None:
        gate.lock.release()
        self._drop_user(session_id, gate)

    def _drop_user(self, session_id: str, gate: _Gate) -> None:
        gate.users -= 1
        if not gate.users:
            del self._gates[session_id]

    def _refuse_if_owned(self, session_id: str) -> None:
        if session_id in self._owners:
            raise self._store.place(session_id).already_owned("a write handle of this instance")

    def _refuse_if_closed(self) -> None:
        if self._closed or self._closing is not None:
            raise _service_closed()


def _service_closed() -> SessionHandleClosedError:
    return SessionHandleClosedError("the service was closed")


def _is_usable(session_id: object) -> bool:
    """Whether a session can have that id; no text is refused with ``TypeError``."""
    try:
        check_session_id(session_id)
    except ValueError:
        return False
    return True


async def _close_reader(opening: asyncio.Future[tuple[LogReader, SessionHeader, int | None]]) -> None:
    await asyncio.wait({opening})
    if not opening.cancelled() and opening.exception() is None:
        await in_thread(opening.result()[0].close)


async def _all_ended(tasks: list[asyncio.Task[None]]) -> None:
    if tasks:
        await asyncio.wait(tasks)


def _raise_failures(what: str, tasks: list[tuple[str, asyncio.Task[None]]]) -> None:
    failures = [
        _named(session_id, error)
        for session_id, task in tasks
        if not task.cancelled() and isinstance(error := task.exception(), Exception)
    ]
    if failures:
        raise ExceptionGroup(f"{what} failed for {len(failures)} of {len(tasks)} handles", failures)


def _named(session_id: str, error: Exception) -> Exception:
    """The error itself where it names the session, else one that does and has it as its cause."""
    if isinstance(error, SessionPersistenceError) and error.session_id == session_id:
        return error
    named = SessionPersistenceError(f"session {session_id!r}: {error}", session_id=session_id)
    named.__cause__ = error
    return named
