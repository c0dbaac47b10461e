"""The two handles: argument checks and the order of things; the blocking work is in ``reader`` and ``writer``.

Each mutation takes its turn in the order of the calls (``turns``), and takes along what was published before it
(``live``). Cancelling the call leaves it alone. Whatever is asked of the session afterwards waits until that is
settled.

What writes or syncs is done in a thread. What only looks at a small file is not: handing it to a thread would take
longer, and the loop longer to come round.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVarTuple

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
from reference_backend.artifact import LongLogError
from reference_backend.jobs import finished, in_thread
from reference_backend.live import LiveQueue, Taken
from reference_backend.positions import MAX_TEXT
from reference_backend.reader import LogReader
from reference_backend.records import encode_lines
from reference_backend.turns import Turns
from reference_backend.writer import Writer

if TYPE_CHECKING:
    from reference_backend.service import JsonlPersistence

logger = logging.getLogger("torntail.reference")

Ts = TypeVarTuple("Ts")


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
        await self._service.settle(self._header.id)
        self._refuse_if_closed()
        try:
            return self._reader.read(offset, length, at_once=True)
        except LongLogError:
            return await self._service.jobs.run(self._reader.read, offset, length)

    async def close(self) -> None:
        """Release the handle; every call has the outcome of the first."""
        closing = self.begin_to_close()
        if closing is not None:
            await finished(closing)
        if self._failure is not None:
            raise self._failure

    def begin_to_close(self) -> asyncio.Task[None] | None:
        """Close at once, or start to, where neither was done before; gives what is under way of it. Raises nothing."""
        if not self._closed and self._closing is None and not self._close_at_once():
            self._closing = self._service.jobs.spawn(self._close())
        return self._closing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _close_at_once(self) -> bool:
        """Close where nothing is under way and nothing has to be written or synced."""
        try:
            self._closed = self._give_up_at_once()
        except Exception as error:  # noqa: BLE001 - kept for every call of close, this one included.
            self._closed, self._failure = True, error
        return self._closed

    async def _close(self) -> None:
        try:
            await self._give_up()
        except Exception as error:  # noqa: BLE001 - kept for every call of close, this one included.
            self._failure = error
        finally:
            self._closed = True
            self._closing = None

    def _give_up_at_once(self) -> bool:
        """Release everything, or nothing where that may take long."""
        raise NotImplementedError

    async def _give_up(self) -> None:
        raise NotImplementedError

    def _refuse_if_closed(self) -> None:
        if self._closed or self._closing is not None:
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

    def _give_up_at_once(self) -> bool:
        if self._reader.is_busy:
            return False
        try:
            self._reader.close()
        finally:
            self._service.forget_reader(self)
        return True

    async def _give_up(self) -> None:
        try:
            await in_thread(self._reader.close)
        finally:
            self._service.forget_reader(self)


class WriteHandle(_Handle):
    """Owns a session until it is closed."""

    def __init__(self, service: JsonlPersistence, writer: Writer, reader: LogReader) -> None:
        super().__init__(service, writer.header, writer.inherited, "write", reader)
        self.writer = writer
        self._turns = Turns(service.jobs)
        self._live = LiveQueue(self.id, self._drain_soon)

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
        mark = self._live.mark
        await self._turns.take(lambda: self._start_append(batch, lines, mark))

    def publish(self, event: SessionEvent) -> None:
        """Take in an event that was published for this session, to be stored within the window (``live``)."""
        try:
            self._live.publish(event)
        except SessionFormatUnsupportedError as error:
            error.location = str(self.writer.place.path)
            raise

    async def flush(self) -> None:
        """The durability barrier; materialises a session without events."""
        self._refuse_if_closed()
        if self._turns.nobody_waits and not self._live and self.writer.is_clean:
            # Nothing to write or sync: three small looks at the file are cheaper than a thread.
            self.writer.verify()
            return
        mark = self._live.mark
        await self._turns.take(lambda: self._start_flush(mark))

    async def flush_in_sweep(self) -> None:
        """The service's flush of this handle: one that is being closed is left to its close, and waited for."""
        try:
            if not self.is_closing:
                mark = self._live.mark
                await self._turns.take(lambda: None if self.is_closing else self._start_flush(mark))
        finally:
            if self.is_closing:
                await self.close()

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to wait for in ``settle``."""
        return self._turns.is_settled

    async def settle(self) -> None:
        """Wait for the mutations whose callers were cancelled."""
        await self._turns.settle()

    # -- published events ahead of the mutations ------------------------------------------------------------------

    def _start_append(self, batch: list[SessionEvent], lines: bytes, mark: int) -> asyncio.Future[None]:
        # What was published before the append was called goes first. What of that cannot be stored is no business of
        # the append, which is judged by its own seqs.
        taken = self._live.take(self.writer.next_seq, before=mark)
        assert_contiguous(batch, self.writer.next_seq + taken.count, session_id=self.id)
        self._live.begin(taken, all_of_it=False)
        return self._start(taken.without_refusal(), self.writer.append, lines, len(batch), goes_on=True)

    def _start_flush(self, mark: int) -> asyncio.Future[None]:
        return self._start(self._begin(self._live.take_due(self.writer.next_seq, mark)), self.writer.flush)

    def _drain_soon(self) -> None:
        self._service.jobs.spawn(self._drain())

    async def _drain(self) -> None:
        """Store what waits when its window has ended; a failure is told once, and left to whoever flushes next."""
        try:
            await self._turns.take(self._start_drain)
        except Exception:
            # The events are still there, and the next flush or close raises it again.
            logger.warning(
                "session %r: %d published events could not be stored; they wait for the next flush or close",
                self.id,
                len(self._live),
                exc_info=True,
            )

    def _start_drain(self) -> asyncio.Future[None] | None:
        self._live.due_is_done()
        if not self._live:
            # Something that was called before the window ended has stored it all, or a close has given it up.
            return None
        return self._start(self._begin(self._live.take_due(self.writer.next_seq)), _nothing_more)

    def _begin(self, taken: Taken) -> Taken:
        self._live.begin(taken, all_of_it=True)
        return taken

    def _start(
        self, taken: Taken, then: Callable[[*Ts], None], *args: *Ts, goes_on: bool = False
    ) -> asyncio.Future[None]:
        """Store what was taken from the queue and, if nothing of it was refused, do the rest: one turn, one thread.

        Args:
            goes_on: the rest adds to the log, so that what the queue could not store before may fit then.
        """
        before = self.writer.next_seq
        work = in_thread(self._store_and, taken, then, *args)

        def ended(work: asyncio.Future[None]) -> None:
            # The log alone tells what was stored: a batch that failed was undone, and one that did not is in it even
            # where what came after it failed.
            self._live.end(min(self.writer.next_seq - before, taken.count))
            if goes_on and not work.cancelled() and work.exception() is None:
                self._live.resume()

        work.add_done_callback(ended)
        return work

    def _store_and(self, taken: Taken, then: Callable[[*Ts], None], *args: *Ts) -> None:
        self._store(taken)
        then(*args)

    def _store(self, taken: Taken) -> None:
        if taken.count:
            self.writer.append(taken.lines, taken.count)
        if taken.refused is not None:
            raise taken.refused

    def _give_up_at_once(self) -> bool:
        if not self._turns.all_over or self._live or not self.writer.is_idle or self._reader.is_busy:
            return False
        self._live.stop()
        try:
            self._release()
        finally:
            self._service.forget_writer(self)
        return True

    async def _give_up(self) -> None:
        try:
            async with self._turns.last():
                taken = self._begin(self._live.take(self.writer.next_seq))
                await in_thread(self._store_and_release, taken)
        finally:
            self._live.stop()
            self._service.forget_writer(self)

    def _store_and_release(self, taken: Taken) -> None:
        try:
            self._store(taken)
        finally:
            self._release()

    def _release(self) -> None:
        try:
            self.writer.release()
        finally:
            self._reader.close()


def _nothing_more() -> None:
    """A batch is durable when it is stored."""
