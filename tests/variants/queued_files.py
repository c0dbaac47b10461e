"""A right-but-different backend: the files of ``plain_files``, with calls that wait, for their turn and for a thread.

The mutations of a handle stand in line, and each is done in a thread when it has its turn. A caller that cancels one
only stops waiting: the mutation keeps its place and is done all the same, and whoever asks about the session next waits
for that first. Looks do not stand in line: while something is written they end where the log ended before.

A close stands at the end of the line, and from its call on the handle refuses. The service's flush has a place in each
line, which it gives up where the handle is being closed by then, and waits for that close.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

from line_files import Stored
from plain_files import Draft, PlainFiles, PlainHandle, location

from conformance.contract import (
    Access,
    Backend,
    Capabilities,
    SessionEvent,
    SessionHandleClosedError,
    SessionPersistenceError,
    SessionSnapshot,
    assert_contiguous,
    assert_understood,
    materialize_append_batch,
)


async def outcome_of(task: asyncio.Task[None]) -> None:
    """What becomes of the task; cancelling the wait leaves it alone."""
    await asyncio.wait({task})
    task.result()


def take_note(task: asyncio.Task[None]) -> None:
    """Count a failure as seen: whoever waits for the task raises it, and nobody may."""
    if not task.cancelled():
        task.exception()


class QueuedHandle(PlainHandle):
    """One session. ``tail`` is the latest of the line, ``abandoned`` those in it that nobody waits for."""

    service: QueuedFiles

    def __init__(self, service: PlainFiles, access: Access, draft: Draft | None, stored: Stored | None) -> None:
        super().__init__(service, access, draft, stored)
        self.tail: asyncio.Task[None] | None = None
        self.abandoned: set[asyncio.Task[None]] = set()
        self.closing: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether anything is in line."""
        return self.tail is not None and not self.tail.done()

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Wait for what was cancelled, then read."""
        self.check_open()
        await self.service.settle(self.id)
        return await super().read(offset, length)

    async def append(self, events: list[SessionEvent]) -> None:
        """Copy the batch and stand in line with the copy; whether it continues the log is told by then."""
        await self.in_line(self.store, self.taken(events))

    def taken(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """A copy of a batch that this handle may store, where it continues the log."""
        self.check_writable()
        batch = materialize_append_batch(events)
        assert_understood(batch, session_id=self.id)
        return batch

    def store(self, batch: list[SessionEvent]) -> None:
        """Write a batch that has its turn."""
        assert_contiguous(batch, self.next_seq, session_id=self.id)
        if batch:
            self.write(batch)

    async def flush(self) -> None:
        """Stand in line."""
        self.check_writable()
        await self.in_line(self.store_all)

    def store_all(self) -> None:
        """Store the session, where it is not; a batch is stored when its append has resolved."""
        if self.draft is not None and not self.draft.stored:
            self.materialise(self.draft, b"")
        else:
            self.undo()
            self.check_there()

    async def flush_in_sweep(self) -> None:
        """The service's flush: leave everything to a close that was called before this has its turn."""
        if self.closing is None:
            await self.in_line(self.store_all_unless_closing)
        if self.closing is not None:
            await outcome_of(self.closing)

    def store_all_unless_closing(self) -> None:
        """The part of a sweep."""
        if self.closing is None:
            self.store_all()

    async def close(self) -> None:
        """Stand at the end of the line, once; every call waits for that."""
        await outcome_of(self.begin_to_close())

    def begin_to_close(self) -> asyncio.Task[None]:
        """From here on the handle refuses."""
        if self.closing is None:
            self.closing = self.line_up(self.let_go, self.undo)
            if self.access == "write":
                self.service.ending.append(self)
                self.closing.add_done_callback(lambda _: self.service.ending.remove(self))
        return self.closing

    async def in_line(self, work: Callable[..., None], *args: Any) -> None:
        """Do it behind everything that was called before; cancelled, it is done all the same."""
        task = self.line_up(work, *args)
        try:
            await outcome_of(task)
        except asyncio.CancelledError:
            if not task.done():
                self.abandoned.add(task)
                task.add_done_callback(self.abandoned.discard)
            raise

    def line_up(self, work: Callable[..., None], *args: Any) -> asyncio.Task[None]:
        """Take the last place in the line."""
        task = self.tail = asyncio.ensure_future(self.turn(self.tail, work, *args))
        task.add_done_callback(take_note)
        return task

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Wait for the one before, then work in a thread."""
        if before is not None:
            await asyncio.wait({before})
        await asyncio.to_thread(work, *args)

    def check_open(self) -> None:
        """Refuse from the call of ``close`` on."""
        super().check_open()
        if self.closing is not None:
            raise SessionHandleClosedError(f"this handle of session {self.id!r} is being closed", session_id=self.id)


class QueuedFiles(PlainFiles):
    """The service. ``ending`` are the handles that are being closed, also those that own nothing any more."""

    handle_type: ClassVar[type[PlainHandle]] = QueuedHandle

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.closing: asyncio.Task[None] | None = None
        self.ending: Handles = []

    async def settle(self, session_id: str) -> None:
        """Wait for what callers of the session's writer gave up."""
        writer = self.writers.get(session_id)
        if isinstance(writer, QueuedHandle) and writer.abandoned:
            await asyncio.wait(set(writer.abandoned))

    def upto(self, session_id: str) -> int | None:
        """While something is written the log ends where it ended before, unless another instance owned it since."""
        writer = self.writers.get(session_id)
        is_busy = isinstance(writer, QueuedHandle) and writer.is_busy and writer.is_latest
        return writer.end if writer is not None and is_busy and writer.end else super().upto(session_id)

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Wait for what was cancelled, then open."""
        self.check_open()
        await self.settle(session_id)
        return await super().open(session_id, access)

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Wait for what was cancelled, then look."""
        self.check_open()
        await self.settle(session_id)
        return await super().stat(session_id)

    async def list(self) -> list[SessionSnapshot]:
        """Wait for what was cancelled, then look."""
        self.check_open()
        for session_id in tuple(self.writers):
            await self.settle(session_id)
        return await super().list()

    async def flush(self) -> None:
        """A place in each line, and the end of every close that comes later meanwhile; failures come together."""
        self.check_open()
        await self.each("flushed", [(handle, handle.flush_in_sweep()) for handle in self.lines()])

    async def close(self) -> None:
        """Close every handle, once; every call waits for that, and the first tells what failed."""
        if self.closing is not None:
            await asyncio.wait({self.closing})
            return
        self.closing = asyncio.ensure_future(self.close_all())
        self.closing.add_done_callback(take_note)
        await outcome_of(self.closing)

    async def close_all(self) -> None:
        """Close what there is, whatever fails."""
        try:
            await self.each("closed", [(handle, handle.close()) for handle in self.lines()])
        finally:
            self.closed = True

    def lines(self) -> Handles:
        """The handles that own a session, or did until a close that has not ended."""
        owners = [handle for handle in self.writers.values() if isinstance(handle, QueuedHandle)]
        return [*owners, *(handle for handle in self.ending if handle not in owners)]

    async def each(self, done: str, calls: Calls) -> None:
        """Let all of them come to their end.

        Raises:
            ExceptionGroup: some failed; each member names its session.
        """
        past: Handles = []

        async def come_past(handle: QueuedHandle, call: Coroutine[Any, Any, None]) -> None:
            await call
            if handle.closing is None:
                past.append(handle)

        ends = {handle: asyncio.ensure_future(come_past(handle, call)) for handle, call in calls}
        while waited := [task for task in ends.values() if not task.done()]:
            await asyncio.wait(waited)
            # Who is closed after its own call has ended is waited for.
            ends |= {each: each.closing for each in past if each.closing is not None}
        failures = []
        for handle, task in ends.items():
            problem = task.exception()
            if isinstance(problem, SessionPersistenceError | OSError):
                problem.add_note(f"session {handle.id!r}")
                failures.append(problem)
        if failures:
            raise ExceptionGroup(f"not every session could be {done}", failures)

    def check_open(self) -> None:
        """Refuse from the call of ``close`` on."""
        super().check_open()
        if self.closing is not None:
            raise SessionPersistenceError("this session persistence is being closed")


Handles = list[QueuedHandle]
Calls = list[tuple[QueuedHandle, Coroutine[Any, Any, None]]]

queued_files = Backend(
    name="queued-files",
    open=QueuedFiles,
    capabilities=Capabilities(durability="process-kill"),
    location=location,
)
"""Calls that wait in line, and for threads."""
