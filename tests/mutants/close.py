"""Mutants of CLOSE: what a close does, how often, and what is possible after it."""

from __future__ import annotations

import asyncio
from types import TracebackType

from planting import (
    BUFFERED,
    FILES,
    FRAMES,
    MEMORY,
    QUEUED,
    ROWS,
    BufferedFiles,
    JsonlPersistence,
    MemoryHandle,
    MemoryPersistence,
    PlainFiles,
    PlainHandle,
    QueuedFiles,
    QueuedHandle,
    RowsHandle,
    WriteHandle,
    planted,
)

from conformance.contract import (
    SessionContiguityError,
    SessionEvent,
    SessionHandleClosedError,
    SessionHeader,
    SessionPersistenceError,
    SessionSnapshot,
    copy_json,
)
from reference_backend.artifact import LongLogError
from reference_backend.handle import ReadHandle
from reference_backend.reader import LogReader
from reference_backend.service import _named


@planted(MEMORY, breaks="CLOSE-01", sentinel=True)
class second_close_raises(MemoryHandle):
    """Closing is an operation like any other, and a closed handle refuses operations."""

    __slots__ = ()

    async def close(self) -> None:
        """Refuse where it is closed."""
        self._check_open()
        await super().close()


@planted(MEMORY, breaks="CLOSE-02", also=("CLOSE-05",), report="R097")
class append_after_close_is_swallowed(MemoryHandle):
    """A closed handle takes the batch and never stores it."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Say nothing."""
        if not self._closed:
            await super().append(events)


@planted(FILES, breaks="CLOSE-02", also=("READ-02", "CLOSE-05"))
class closed_handle_still_reads(PlainHandle):
    """Nothing is released by a close, so a read still finds everything it needs."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Look at the service alone."""
        was, self.closed = self.closed, False
        try:
            return await super().read(offset, length)
        finally:
            self.closed = was


@planted(MEMORY, breaks="CLOSE-05")
class context_swallows_the_exception(MemoryHandle):
    """Leaving the context answers that the exception was dealt with."""

    __slots__ = ()

    async def __aexit__(  # type: ignore[override]
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        await super().__aexit__(exc_type, exc, traceback)
        return True


@planted(ROWS, breaks="CLOSE-05")
class context_stays_open_after_an_exception(RowsHandle):
    """Only the ordinary way out of the context closes."""

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc is None:
            self.close()


@planted(FILES, breaks="CLOSE-03", also=("CLOSE-07", "FRESH-04"))
class close_rings_no_bell(PlainHandle):
    """Instances cache logs and reload when a flush rang the bell; a close stores everything and does not ring."""

    def stored_events(self) -> list[SessionEvent]:
        """Read the file where the bell rang since the last time."""
        bell = self.service.root / "bell"
        rung = bell.stat().st_size if bell.exists() else 0, self.path.exists() and self.path.stat().st_ino
        cache = self.service.__dict__.setdefault("cache", {})
        if self.id not in cache or cache[self.id][0] != rung:
            cache[self.id] = (rung, super().stored_events())
        events: list[SessionEvent] = copy_json(cache[self.id][1])
        return events

    def write(self, batch: list[SessionEvent]) -> None:
        """Drop the own entry."""
        super().write(batch)
        self.service.__dict__.get("cache", {}).pop(self.id, None)

    async def flush(self) -> None:
        """Ring."""
        await super().flush()
        with (self.service.root / "bell").open("ab") as bell:
            bell.write(b"!")


@planted(MEMORY, breaks="CLOSE-07")
class service_close_forgets_the_handles(MemoryPersistence):
    """The service's close ends the service; handles that were handed out go on."""

    ended = False

    async def close(self) -> None:
        """Mark the service alone."""
        self.ended = True

    def _check_open(self) -> None:
        if self.ended:
            raise SessionHandleClosedError("the service is closed")


@planted(BUFFERED, breaks="CLOSE-07", report="R124")
class service_close_stops_at_the_first_failure(BufferedFiles):
    """A loop without isolation: what the first failing session raises is what the caller gets."""

    async def close(self) -> None:
        """Close one after the other."""
        for handle in list(self.writers.values()):
            await handle.close()
        self.closed = True


@planted(MEMORY, breaks="CLOSE-08")
class closed_service_answers(MemoryPersistence):
    """The service's close closes the handles, and nothing marks the service itself."""

    def _check_open(self) -> None:
        """Let everything through."""


@planted(QUEUED, breaks="CLOSE-01", also=("CLOSE-04",))
class second_close_has_nothing_to_wait_for(QueuedHandle):
    """Where a close was called already another one returns at once."""

    async def close(self) -> None:
        """Wait for nobody else's."""
        if self.closing is None:
            await super().close()


@planted(QUEUED, breaks="CLOSE-02", also=("CLOSE-06", "CLOSE-07"))
class closing_handle_takes_more(QueuedHandle):
    """A handle refuses when its close has ended; until then what is called still finds a place in line."""

    def check_open(self) -> None:
        """Ask whether it is closed, not whether it is being closed."""
        closing, self.closing = self.closing, None
        try:
            super().check_open()
        finally:
            self.closing = closing


@planted(QUEUED, breaks="CLOSE-06", also=("CLOSE-07", "OWN-02"), report="R124")
class close_does_not_look_at_the_line(QueuedHandle):
    """A close releases everything at once; what stands in line finds a closed file, and says nothing."""

    def begin_to_close(self) -> asyncio.Task[None]:
        """Go to the front of the line."""
        self.tail = None
        return super().begin_to_close()

    def store(self, batch: list[SessionEvent]) -> None:
        """Store nothing in a closed file."""
        if not self.closed:
            super().store(batch)


@planted(QUEUED, breaks="CLOSE-06")
class closed_out_append_is_stored_all_the_same(QueuedHandle):
    """An append whose handle was closed meanwhile is told so when it has been stored."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Look again afterwards."""
        await super().append(events)
        self.check_open()


@planted(QUEUED, breaks="CLOSE-04")
class cancelled_close_is_not_taken_up_again(QueuedHandle):
    """The drain is part of the call: cancelled there, nobody goes on, and the mark that it is closing stays."""

    async def close(self) -> None:
        """Drop the rest of it with the caller."""
        was_called = self.closing is not None
        try:
            await super().close()
        except asyncio.CancelledError:
            if self.closing is not None and not was_called:
                self.closing.cancel()
            raise


@planted(QUEUED, breaks="CLOSE-04")
class cancelled_close_has_never_been_called(QueuedHandle):
    """The close is undone with its caller: the handle is open again, and owns."""

    async def close(self) -> None:
        """Start anew next time."""
        was_called = self.closing is not None
        try:
            await super().close()
        except asyncio.CancelledError:
            if self.closing is not None and not was_called:
                self.closing.cancel()
                self.closing = None
            raise


@planted(QUEUED, breaks="CLOSE-07")
class service_close_breaks_off_what_is_in_line(QueuedHandle):
    """What has not had its turn when the service is closed is dropped, and callers hear that it was done."""

    def store(self, batch: list[SessionEvent]) -> None:
        """Work only for an open service."""
        if self.service.closing is None:
            super().store(batch)


@planted(QUEUED, breaks="CLOSE-08")
class create_in_flight_opens_the_storage_again(QueuedFiles):
    """A create that finds its service closed meanwhile connects anew, for itself."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Look in the storage first, then begin."""
        self.check_open()
        await asyncio.to_thread(self.make_directories, self.root)
        service = self if self.closing is None else QueuedFiles(self.root)
        return await QueuedFiles.create(service, header, inherited_event_count)


@planted(QUEUED, breaks="CLOSE-08")
class second_service_close_waits_for_ever(QueuedFiles):
    """The service's close waits for every call under way, another close among them."""

    async def close(self) -> None:
        """Wait for them to end."""
        if self.closing is not None and not self.closed:
            await asyncio.get_running_loop().create_future()
        await super().close()


@planted(FRAMES, breaks="CLOSE-04")
class cancelled_close_gives_up_what_waits(WriteHandle):
    """Who breaks a close off is taken to have no more interest in what was published."""

    async def close(self) -> None:
        """Empty the queue on the way out."""
        try:
            await super().close()
        except asyncio.CancelledError:
            while len(self._live) > self._live._under_way:
                self._live._events.pop()
            raise


@planted(MEMORY, breaks="CLOSE-05")
class context_swallows_a_cancellation(MemoryHandle):
    """Who is cancelled inside the block has been let go by it, and nobody outside need know."""

    __slots__ = ()

    async def __aexit__(  # type: ignore[override]
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Close, and answer for the cancellation."""
        await self.close()
        return exc_type is asyncio.CancelledError


@planted(MEMORY, breaks="CLOSE-05")
class entering_gives_nothing(MemoryHandle):
    """The context has a beginning that returns nothing, for the caller has the handle already."""

    __slots__ = ()

    async def __aenter__(self) -> None:  # type: ignore[override]
        """Begin."""


@planted(FILES, breaks="CLOSE-03", also=("SVC-06", "FRESH-02"))
class list_is_one_page(PlainFiles):
    """The storage answers by the page, and nobody asks for the next one."""

    async def list(self) -> list[SessionSnapshot]:
        """Take the first page for all there is."""
        return (await super().list())[:100]


@planted(FRAMES, breaks="CLOSE-07", also=("LIVE-13",))
class service_close_stops_at_what_cannot_be_stored(JsonlPersistence):
    """Handles are closed one after the other, and one with an event that was published out of turn ends it."""

    async def _close_all(self) -> None:
        failures = []
        for owner in list(self._owners.values()):
            try:
                await owner.close()
            except (SessionPersistenceError, OSError) as problem:
                failures.append(_named(owner.id, problem))
                if isinstance(problem, SessionContiguityError):
                    break
        else:
            await super()._close_all()
        if failures:
            raise ExceptionGroup("not every session could be closed", failures)


@planted(FRAMES, breaks="CLOSE-08", also=("FAULT-06",))
class long_log_is_opened_past_the_end(JsonlPersistence):
    """A long log is opened in a thread, and who waits for that gets a handle, whatever became of the service."""

    async def _open_reader(self, session_id: str) -> ReadHandle:
        """Do not look again."""
        await self.settle(session_id)
        self._refuse_if_closed()
        try:
            return self._read_handle(*LogReader.open(self._store, session_id, at_once=True))
        except LongLogError:
            return self._read_handle(*await asyncio.to_thread(LogReader.open, self._store, session_id))
