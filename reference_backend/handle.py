"""The two handles: argument checks and the order of things; the blocking work is in ``reader`` and ``writer``.

Each mutation is a task of its own that takes its turn in the order of the calls. Cancelling the call leaves it alone: a
mutation that has not had its turn is dropped, one that has goes on to its end. Whatever is asked of the session
afterwards waits until that is settled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from conformance.contract import (
    Access,
    SessionEvent,
    SessionFormatUnsupportedError,
    SessionHandleClosedError,
    SessionHeader,
    SessionReadOnlyError,
    assert_contiguous,
    assert_understood,
    check_read_range,
    materialize_append_batch,
)
from reference_backend.jobs import finished
from reference_backend.positions import MAX_TEXT
from reference_backend.reader import LogReader
from reference_backend.records import encode_lines
from reference_backend.writer import Writer

if TYPE_CHECKING:
    from reference_backend.service import JsonlPersistence


class _Handle:
    """What both handles share: identity, reading, one close."""

    def __init__(
        self, service: JsonlPersistence, header: SessionHeader, inherited: int | None, access: Access, reader: LogReader
    ) -> None:
        self._service = service
        self._header = header
        self._inherited = inherited
        self._access: Access = access
        self._reader = reader
        self._closing: asyncio.Task[None] | None = None
        self._closed = False
        self._failure: Exception | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self._header.id

    @property
    def header(self) -> SessionHeader:
        """The header as created."""
        return self._header

    @property
    def inherited_event_count(self) -> int | None:
        """How many of the first events came from the parent; None where not seeded."""
        return self._inherited

    @property
    def access(self) -> Access:
        """``"read"`` or ``"write"``."""
        return self._access

    @property
    def is_closing(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed or self._closing is not None

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """The slice ``[offset:offset+length]`` of the log, as objects of the caller's own."""
        self._refuse_if_closed()
        offset, length = check_read_range(offset, length)
        await self._service.settle(self.id)
        return await self._service.jobs.run(asyncio.to_thread(self._reader.read, offset, length))

    async def close(self) -> None:
        """Release the handle; every call has the outcome of the first."""
        if not self._closed:
            if self._closing is None:
                self._closing = self._service.jobs.spawn(self._close())
            await finished(self._closing)
        if self._failure is not None:
            raise self._failure

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _close(self) -> None:
        try:
            await self._give_up()
        except Exception as error:  # noqa: BLE001 - kept for every call of close, this one included.
            self._failure = error
        finally:
            self._closed = True
            self._closing = None

    async def _give_up(self) -> None:
        raise NotImplementedError

    def _refuse_if_closed(self) -> None:
        if self.is_closing:
            raise SessionHandleClosedError(f"session {self.id!r}: this handle was closed", session_id=self.id)


class ReadHandle(_Handle):
    """Observes a session; never owns it."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Refused."""
        raise self._read_only()

    async def flush(self) -> None:
        """Refused."""
        raise self._read_only()

    def _read_only(self) -> Exception:
        self._refuse_if_closed()
        return SessionReadOnlyError(
            f"session {self.id!r}: this handle was opened for reading; open it with access='write'", session_id=self.id
        )

    async def _give_up(self) -> None:
        try:
            await asyncio.to_thread(self._reader.close)
        finally:
            self._service.forget_reader(self)


class _Turn:
    """One mutation; ``abandoned`` when its caller was cancelled."""

    __slots__ = ("abandoned",)

    def __init__(self) -> None:
        self.abandoned = False


class WriteHandle(_Handle):
    """Owns a session until it is closed."""

    def __init__(self, service: JsonlPersistence, writer: Writer, reader: LogReader) -> None:
        super().__init__(service, writer.header, writer.inherited, "write", reader)
        self.writer = writer
        self._mutex = asyncio.Lock()
        self._waiting = 0
        self._unsettled: set[asyncio.Task[Any]] = set()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store a contiguous batch; durable when it resolves."""
        self._refuse_if_closed()
        batch = materialize_append_batch(events)
        try:
            assert_understood(batch, session_id=self.id)
        except SessionFormatUnsupportedError as error:
            error.location = str(self.writer.place.path)
            raise
        if not batch:
            return
        # The encoded lines are the snapshot that is stored; nothing has been awaited yet.
        lines = encode_lines(batch)
        if len(lines) > MAX_TEXT:
            raise ValueError(f"events: {len(lines)} bytes as JSON lines, at most {MAX_TEXT} fit in one batch: split it")
        await self._in_turn(lambda: self._append(batch, lines))

    async def flush(self) -> None:
        """The durability barrier; materialises a session without events."""
        self._refuse_if_closed()
        if not self._waiting and self.writer.is_clean:
            # Nothing to write or sync: three small looks at the file are cheaper than a thread.
            self.writer.verify()
            return
        await self._in_turn(self._flush)

    async def flush_in_sweep(self) -> None:
        """The service's flush of this handle: one that is being closed is left to its close, and waited for."""
        try:
            if not self.is_closing:
                await self._in_turn(self._flush_unless_closing)
        finally:
            if self.is_closing:
                await self.close()

    async def settle(self) -> None:
        """Wait for the mutations whose callers were cancelled."""
        if self._unsettled:
            await asyncio.wait(set(self._unsettled))

    async def _append(self, batch: list[SessionEvent], lines: bytes) -> None:
        assert_contiguous(batch, self.writer.next_seq, session_id=self.id)
        await asyncio.to_thread(self.writer.append, lines, len(batch))

    async def _flush(self) -> None:
        await asyncio.to_thread(self.writer.flush)

    async def _flush_unless_closing(self) -> None:
        if not self.is_closing:
            await self._flush()

    async def _in_turn(self, work: Callable[[], Awaitable[None]]) -> None:
        turn = _Turn()
        task = self._service.jobs.spawn(self._take_turn(turn, work))
        self._waiting += 1
        task.add_done_callback(self._turn_ended)
        try:
            await finished(task)
        except asyncio.CancelledError:
            turn.abandoned = True
            if not task.done():
                self._unsettled.add(task)
                task.add_done_callback(self._unsettled.discard)
            raise

    async def _take_turn(self, turn: _Turn, work: Callable[[], Awaitable[None]]) -> None:
        # Tasks start in the order they were made and the lock is first come, first served: that is the order of the
        # calls.
        async with self._mutex:
            if not turn.abandoned:
                await work()

    def _turn_ended(self, task: asyncio.Task[None]) -> None:
        self._waiting -= 1

    async def _give_up(self) -> None:
        try:
            async with self._mutex:
                await asyncio.to_thread(self.writer.release)
        finally:
            self._service.forget_writer(self)
