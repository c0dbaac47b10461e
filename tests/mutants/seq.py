"""Mutants of SEQ: what a batch must be, when it is captured, and what a refused one leaves behind."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from planting import (
    FILES,
    FRAMES,
    MEMORY,
    QUEUED,
    ROWS,
    Draft,
    MemoryHandle,
    PlainFiles,
    PlainHandle,
    QueuedHandle,
    RowsHandle,
    Stored,
    WriteHandle,
    lines_of,
    outcome_of,
    planted,
    take_note,
)

from conformance.contract import (
    Access,
    SessionContiguityError,
    SessionEvent,
    SessionPersistenceError,
    assert_contiguous,
    assert_understood,
    check_read_range,
    materialize_append_batch,
)


@planted(MEMORY, breaks="SEQ-02", sentinel=True)
class gap_accepted(MemoryHandle):
    """Only an overlap is refused: a batch from beyond the end of the log is stored, with a hole before it."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Check that nothing stored is overwritten, and no more."""
        self._check_writable()
        batch = materialize_append_batch(events)
        log = self._session.events
        if batch:
            assert_contiguous(batch, max(len(log), batch[0]["seq"]), session_id=self.id)
            assert_understood(batch, session_id=self.id)
            log += batch
            self._session.pending = False


@planted(MEMORY, breaks="SEQ-02", also=("SEQ-09", "FMT-02"))
class refused_batch_leaves_its_first_events(MemoryHandle):
    """Events are stored one by one: those before the one that is out of order stay when the batch is refused."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Check and store event by event."""
        self._check_writable()
        materialize_append_batch(events)
        for event in events:
            await super().append([event])


@planted(FILES, breaks="SEQ-02")
class error_names_the_first_event(PlainHandle):
    """The refusal tells the first seq of the batch, not the first one that is out of place."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Make the error of what is known before the loop."""
        try:
            await super().append(events)
        except SessionContiguityError as error:
            first = events[0]["seq"]
            raise SessionContiguityError(str(error), expected=self.next_seq, got=first, session_id=self.id) from error


@planted(MEMORY, breaks="SEQ-06", report="R059")
class keeps_the_callers_batch(MemoryHandle):
    """The batch is checked, then the caller's own objects are kept."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store the checked copy, then what was given in its place."""
        await super().append(events)
        if events:
            self._session.events[-len(events) :] = events


@planted(MEMORY, breaks="SEQ-07")
class returns_its_own_events(MemoryHandle):
    """A read hands out the stored objects themselves."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Slice, and copy nothing."""
        events = await super().read(offset, length)
        start, _ = check_read_range(offset, length)
        return self._session.events[start : start + len(events)]


@planted(FILES, breaks="SEQ-03", also=("MAT-03",))
class empty_batch_materialises(PlainHandle):
    """An append stores the session before it looks whether there is anything to append."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Make the file first."""
        self.check_writable()
        if self.draft is not None and not self.draft.stored and events == []:
            self.materialise(self.draft, b"")
        await super().append(events)


@planted(MEMORY, breaks="SEQ-11")
class bool_is_an_int(MemoryHandle):
    """``isinstance(True, int)`` is true, so a seq of ``True`` is taken for 1."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Make integers of what passes for integers."""
        await super().append([_as_int(event) for event in events] if isinstance(events, list) else events)


def _as_int(event: Any) -> Any:
    if isinstance(event, dict) and isinstance(event.get("seq"), bool):
        return {**event, "seq": int(event["seq"])}
    return event


@planted(ROWS, breaks="SEQ-09", report="R125")
class refused_append_leaves_a_transaction_open(RowsHandle):
    """The transaction begins before the batch is checked, and the refusal does not roll it back."""

    def append(self, events: list[SessionEvent]) -> None:
        """Begin, check, commit; then store as usual."""
        with self.store.lock:
            self.check_open()
            if not self.store.db.in_transaction:
                self.store.db.execute("BEGIN IMMEDIATE")
            self.checked(events)
            self.store.db.execute("COMMIT")
        super().append(events)


@planted(FILES, breaks="SEQ-09", also=("SEQ-02",), report="R089")
class refusal_is_remembered(PlainHandle):
    """A refusal sets the handle's failure flag, and nothing ever clears it."""

    failure: SessionPersistenceError | None = None

    async def append(self, events: list[SessionEvent]) -> None:
        """Raise the old failure again, or keep the new one."""
        self.check_writable()
        materialize_append_batch(events)
        if self.failure is not None:
            raise self.failure
        try:
            await super().append(events)
        except SessionPersistenceError as error:
            self.failure = error
            raise


@planted(ROWS, breaks="SEQ-01", also=("FMT-03",))
class unknown_keys_are_dropped(RowsHandle):
    """Events are stored in columns, and a key without a column is gone."""

    def checked(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """Keep the keys that the table has."""
        kept = ("type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs")
        return [{key: event[key] for key in kept if key in event} for event in super().checked(events)]


@planted(MEMORY, breaks="SEQ-04", also=("SEQ-01", "READ-03"))
class next_append_edits_the_event_before(MemoryHandle):
    """Events form a chain: each append writes a pointer into the event before it, which readers have seen without."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store, then link."""
        log = self._session.events
        end = len(log)
        await super().append(events)
        if end and len(log) > end:
            log[end - 1]["next"] = end


@planted(FILES, breaks="SEQ-04", also=("SVC-11", "SEQ-07"))
class delivered_events_are_marked(PlainHandle):
    """What one handle has read comes back to the others with a mark that it was delivered."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Remember who read the log to its end first, and mark it for everyone else of this instance."""
        events = await super().read(offset, length)
        readers = self.service.__dict__.setdefault("readers", {})
        if offset == 0 and length is None:
            for event in events:
                if readers.setdefault((self.id, event["seq"]), self) is not self:
                    event["delivered"] = True
        return events


@planted(MEMORY, breaks="SEQ-04", also=("SEQ-01", "REV-05"))
class log_is_tidied_a_minute_later(MemoryHandle):
    """A timer drops streamed text a minute after it was stored, once nobody looks."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store, and tidy later."""
        await super().append(events)
        asyncio.get_running_loop().call_later(60, self._session.events.__delitem__, slice(1, None))


@planted(QUEUED, breaks="SEQ-05", also=("SEQ-08",), report="R235")
class single_events_go_around_the_line(QueuedHandle):
    """A batch of one event is small enough to be written at once, whatever waits in line."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Write one event without a turn."""
        batch = self.taken(events)
        if len(batch) != 1:
            await super().append(events)
        else:
            await asyncio.to_thread(self.store, batch)


@planted(QUEUED, breaks="SEQ-05")
class place_in_the_log_is_looked_up_before_the_turn(QueuedHandle):
    """The next seq is read when append is called, and what is in line by then is not counted."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Refuse at once, before the turn."""
        self.check_writable()
        self.checked(events)
        await super().append(events)


@planted(QUEUED, breaks="SEQ-05", also=("OWN-11", "SEQ-08"), report="R176")
class turn_ends_before_the_write(QueuedHandle):
    """The turn is over when the work has been handed to a thread."""

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Wait for the one before to begin, not to end."""
        begun = self.__dict__.setdefault("begun", {})
        begun[asyncio.current_task()] = asyncio.get_running_loop().create_future()
        if before is not None and work != self.let_go:
            await begun[before]
        elif before is not None:
            await asyncio.wait({before})
        begun[asyncio.current_task()].set_result(None)
        await asyncio.to_thread(work, *args)


@planted(QUEUED, breaks="SEQ-05", also=("FRESH-03",))
class flush_goes_around_the_line(QueuedHandle):
    """A batch is stored when its append has resolved, so a flush has nothing to wait for."""

    async def flush(self) -> None:
        """See that the session is there."""
        self.check_writable()
        if self.is_busy and self.next_seq:
            self.check_there()
        else:
            await super().flush()


@planted(QUEUED, breaks="SEQ-05", also=("FRESH-01",))
class flush_joins_the_one_under_way(QueuedHandle):
    """Two flushes of a handle are one, as in a group commit, also where an append was called between them."""

    under_way: asyncio.Task[None] | None = None

    async def flush(self) -> None:
        """Wait for the one that runs, if there is one."""
        self.check_writable()
        if self.under_way is None or self.under_way.done():
            self.under_way = asyncio.ensure_future(super().flush())
            self.under_way.add_done_callback(take_note)
        await outcome_of(self.under_way)


@planted(QUEUED, breaks="SEQ-05")
class refused_batch_empties_the_line(QueuedHandle):
    """What stands in line behind a batch that is refused is refused with it."""

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Hand the refusal on to the next one."""
        if before is not None and not before.done():
            await asyncio.wait({before})
            if work == self.store:
                before.result()
        await super().turn(before, work, *args)


@planted(QUEUED, breaks="SEQ-06")
class batch_is_copied_in_its_turn(QueuedHandle):
    """The batch waits in line as the caller's own list, and is copied when it is written."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Check now, copy later."""
        self.taken(events)
        await self.in_line(lambda: self.store(materialize_append_batch(events)))


@planted(FRAMES, breaks="SEQ-06")
class long_batch_is_copied_in_a_thread(WriteHandle):
    """A long batch is copied in a thread, for that would hold the loop up; the caller may change it until then."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Copy it, then stand in line."""
        self._refuse_if_closed()
        is_long = type(events) is list and len(events) > 100
        await super().append(await asyncio.to_thread(materialize_append_batch, events) if is_long else events)


@planted(FRAMES, breaks="SEQ-06")
class large_batch_is_copied_in_its_turn(WriteHandle):
    """A batch of large events is copied when the loop comes round, so that small ones are not held up by it."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Let the others go first."""
        self._refuse_if_closed()
        batch = materialize_append_batch(events)
        if sum(len(str(event["data"])) for event in batch) > 65_536:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            batch = events
        await super().append(batch)


@planted(QUEUED, breaks="SEQ-07")
class readers_in_flight_share_a_result(QueuedHandle):
    """Who reads what somebody else is reading already gets the same list."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Join a read of the same range."""
        self.check_open()
        reads = self.service.__dict__.setdefault("reads", {})
        wanted = (self.id, repr(offset), repr(length))
        if wanted not in reads:
            reads[wanted] = asyncio.ensure_future(super().read(offset, length))
            reads[wanted].add_done_callback(lambda _: reads.pop(wanted))
        found: list[SessionEvent] = await asyncio.shield(reads[wanted])
        return found


@planted(QUEUED, breaks="SEQ-08")
class cancelled_append_comes_later(QueuedHandle):
    """A cancelled append goes on by itself, and nobody waits for it."""

    async def in_line(self, work: Callable[..., None], *args: Any) -> None:
        """Forget whom the caller gave up."""
        try:
            await super().in_line(work, *args)
        finally:
            self.abandoned.clear()


@planted(QUEUED, breaks="SEQ-08", also=("SEQ-05",))
class cancelled_append_leaves_a_part(QueuedHandle):
    """The events of a batch are written one after the other; a cancellation comes between them."""

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Check the whole, store each."""
        if before is not None:
            await asyncio.wait({before})
        if work == self.store and args[0]:
            assert_contiguous(args[0], self.next_seq, session_id=self.id)
        for each in [([event],) for event in args[0]] if work == self.store else [args]:
            await super().turn(None, work, *each)

    async def in_line(self, work: Callable[..., None], *args: Any) -> None:
        """Break it off with its caller."""
        await self.line_up(work, *args)


@planted(QUEUED, breaks="SEQ-08")
class cancelled_flush_stays_under_way(QueuedHandle):
    """A mark says that a flush is under way; it is taken away at the end, which a cancelled one does not come to."""

    flushing = False

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Refuse while it is there."""
        if before is not None:
            await asyncio.wait({before})
        if self.flushing:
            raise SessionPersistenceError(f"session {self.id!r} is being flushed", session_id=self.id)
        self.flushing = work == self.store_all
        try:
            await super().turn(None, work, *args)
        except Exception:
            self.flushing = False
            raise
        self.flushing = False

    async def in_line(self, work: Callable[..., None], *args: Any) -> None:
        """A flush leaves with its caller."""
        await (super().in_line(work, *args) if work == self.store else self.line_up(work, *args))


@planted(QUEUED, breaks="SEQ-08")
class cancelled_place_in_line_is_never_left(QueuedHandle):
    """Each one in line hands a baton to the next; who is cancelled meanwhile takes it along."""

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Wait for the baton, work, hand it on."""
        batons = self.__dict__.setdefault("batons", defaultdict(asyncio.Event))
        mine = batons[asyncio.current_task()]
        if before is not None:
            await batons[before].wait()
        try:
            await super().turn(None, work, *args)
        except Exception:
            mine.set()
            raise
        mine.set()

    async def in_line(self, work: Callable[..., None], *args: Any) -> None:
        """Leave with the caller."""
        await self.line_up(work, *args)


@planted(QUEUED, breaks="SEQ-08")
class cancelled_append_is_counted(QueuedHandle):
    """The next seq moves on when a batch stands in line, and stays there where its caller leaves before its turn."""

    async def turn(self, before: asyncio.Task[None] | None, work: Callable[..., None], *args: Any) -> None:
        """Leave the line where nobody waits, and count the batch."""
        if before is not None:
            await asyncio.wait({before})
        if asyncio.current_task() in self.abandoned and work == self.store:
            self.next_seq += len(args[0])
            return
        await asyncio.to_thread(work, *args)


@planted(FILES, breaks="SEQ-01", also=("JSON-01",))
class own_key_in_each_event(PlainHandle):
    """The id of the session stands in each event's line, under a key that a caller may use as well."""

    def __init__(self, service: PlainFiles, access: Access, draft: Draft | None, stored: Stored | None) -> None:
        super().__init__(service, access, draft, stored and stored._replace(events=_without_id(stored.events)))

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """Add it."""
        return lines_of([{**event, "session_id": self.id} for event in batch])

    def stored_events(self) -> list[SessionEvent]:
        """Take it away."""
        return _without_id(super().stored_events())


def _without_id(events: list[SessionEvent]) -> list[SessionEvent]:
    """The events as they were before it was added."""
    return [{key: value for key, value in event.items() if key != "session_id"} for event in events]
