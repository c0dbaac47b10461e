"""Mutants of FAULT: what a failing storage call does to a backend, and what it still knows when storage works again."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from planting import (
    BUFFERED,
    FILES,
    FRAMES,
    GOOD,
    MEMORY,
    SYNCING,
    BufferedHandle,
    GoodFiles,
    GoodHandle,
    JsonlPersistence,
    MemoryHandle,
    MemoryPersistence,
    PlainFiles,
    PlainHandle,
    Stored,
    damaged,
    lines_of,
    planted,
    write_all,
)

from conformance.contract import SessionEvent, SessionHeader, SessionPersistenceError, copy_json
from reference_backend.handle import ReadHandle
from reference_backend.reader import LogReader

# -- A call that fails is told, and leaves nothing ------------------------------------------------


@planted(FILES, breaks="FAULT-01", also=("FAULT-07", "FAULT-02"), report="R160")
class bytes_of_a_failed_write_stay(PlainHandle):
    """Nobody takes back what a write left that reported an error, and readers take it for events."""

    def put(self, data: bytes) -> int:
        """Forget that it failed."""
        try:
            return super().put(data)
        finally:
            self.failed = 0


@planted(FILES, breaks="FAULT-01", also=("FAULT-02",))
class remains_that_stay_are_written_behind(PlainHandle):
    """That the remains of a failed write cannot be cut off is logged only, and the next batch goes behind them."""

    def cut(self) -> None:
        """Hope that it works."""
        try:
            super().cut()
        except OSError:
            logging.getLogger(__name__).warning("%s is not cut", self.path)


@planted(FILES, breaks="FAULT-01", also=("FAULT-02",))
class long_batch_is_written_in_parts_that_count(PlainHandle):
    """A batch of more than a hundred events is stored a hundred at a time, and a failure takes back the last part."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Store each part as a batch of its own."""
        for first in range(0, len(batch), 100):
            super().write(batch[first : first + 100])


@planted(FILES, breaks="FAULT-01", also=("FAULT-02",))
class large_batch_is_written_in_parts_that_count(PlainHandle):
    """A batch past 64 KiB is stored in parts of at most so many bytes, and a failure takes back the last part."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Store each part as a batch of its own."""
        while batch:
            fitting = len(batch)
            while fitting > 1 and len(lines_of(batch[:fitting])) > 1 << 16:
                fitting //= 2
            super().write(batch[:fitting])
            batch = batch[fitting:]


@planted(FILES, breaks="FAULT-01")
class short_write_is_not_continued(PlainHandle):
    """A write that takes a part of the batch is an error, though the next one might take the rest."""

    def put(self, data: bytes) -> int:
        """Write once."""
        with self.path.open("r+b", buffering=0) as file:
            self.check_size(file.seek(0, os.SEEK_END))
            self.failed = len(data)
            if file.write(data) != len(data):
                raise OSError(errno.EIO, "short write")
        return self.end + len(data)


@planted(FILES, breaks="FAULT-01", report="R152")
class short_write_counts_as_whole(PlainHandle):
    """Nobody asks how many bytes a write took."""

    def put(self, data: bytes) -> int:
        """Write once, and see where the file ends."""
        with self.path.open("r+b", buffering=0) as file:
            self.check_size(file.seek(0, os.SEEK_END))
            self.failed = len(data)
            file.write(data)
            return file.tell()


def _put_until(handle: PlainHandle, data: bytes, is_all: Callable[[bytes], bool]) -> int:
    """Write as a handle does, until what was written seems to be all of it; where the file ends then."""
    with handle.path.open("r+b", buffering=0) as file:
        handle.check_size(file.seek(0, os.SEEK_END))
        handle.failed = len(data)
        done = file.write(data)
        while done < len(data) and not is_all(data[:done]):
            done += file.write(data[done:])
    return handle.end + done


@planted(FILES, breaks="FAULT-01", report="R152")
class write_that_ends_a_line_counts_as_whole(PlainHandle):
    """A write that took a part is continued until the file ends with a line, as every log does."""

    def put(self, data: bytes) -> int:
        """Look at the last byte."""
        return _put_until(self, data, lambda written: written.endswith(b"\n"))


@planted(FILES, breaks="FAULT-01")
class write_that_fills_its_page_counts_as_whole(PlainHandle):
    """A write ends early only inside a page, for pages are written whole."""

    def put(self, data: bytes) -> int:
        """Look where it ended."""
        return _put_until(self, data, lambda written: (self.end + len(written)) % 4096 == 0)


@planted(GOOD, breaks="FAULT-01")
class rest_of_a_write_is_taken_for_text(GoodFiles):
    """What a write left over is decoded first, and what is no character by itself is left out."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Write the rest as text."""
        with path.open("r+b", buffering=0) as file:
            file.seek(end)
            while data:
                data = data[file.write(data) :].decode("utf-8", errors="ignore").encode()


@planted(FILES, breaks="FAULT-01", report="R081")
class cause_is_thrown_away(PlainHandle):
    """The caller hears that the batch could not be stored, and not why."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Raise an error of its own, outside the handler."""
        try:
            super().write(batch)
        except OSError:
            stored = False
        else:
            stored = True
        if not stored:
            raise SessionPersistenceError("the batch could not be stored", session_id=self.id)


@planted(FILES, breaks="FAULT-01", report="R081")
class full_disk_is_told_as_corruption(PlainHandle):
    """Whatever goes wrong with the file is told as damage to it."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Call it corrupted."""
        try:
            super().write(batch)
        except OSError as cause:
            raise damaged(self.path, cause) from cause


@planted(FILES, breaks="FAULT-01", also=("FAULT-02", "DUR-10"), report="R085")
class failed_append_is_logged_only(PlainHandle):
    """A batch that could not be written is worth a warning, and the caller goes on as if it were stored."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Let nothing out."""
        with suppress(OSError):
            super().write(batch)


@planted(FILES, breaks="FAULT-01", also=("FAULT-02",))
class link_that_failed_is_made_again(PlainFiles):
    """A new session gets its name at the second try, which finds that it has one, and takes it for somebody else's."""

    def publish(self, temporary: Path, path: Path) -> None:
        """Try twice."""
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:
            os.link(temporary, path)


@planted(GOOD, breaks="FAULT-01")
class failed_mkdir_is_found_out_later(GoodFiles):
    """Directories are made if it can be done; where not, something else will fail."""

    def make_directories(self, directory: Path) -> None:
        """Ignore what goes wrong."""
        with suppress(OSError):
            super().make_directories(directory)


@planted(GOOD, breaks="FAULT-01", also=("FAULT-03", "FAULT-05"), report="R088")
class failed_sync_is_swallowed(GoodFiles):
    """A barrier tries to sync, and answers that it is one."""

    def sync_batch(self, path: Path) -> None:
        """Do what can be done."""
        with suppress(OSError):
            super().sync_batch(path)


# -- The same call again, once storage works ------------------------------------------------------


@planted(FILES, breaks="FAULT-02", also=("SEQ-09",), report="R082")
class next_seq_moves_before_the_write(PlainHandle):
    """The seqs of a batch are taken before it is stored, and not given back where that fails."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Count first."""
        taken = self.next_seq = self.next_seq + len(batch)
        super().write(batch)
        self.next_seq = taken


@planted(FILES, breaks="FAULT-02", also=("FAULT-07", "TORN-02"), report="R112")
class retry_writes_behind_the_remains(PlainHandle):
    """What a failed append left is hidden from readers, and the next append goes behind it."""

    def write_behind(self, data: bytes) -> None:
        """Begin where the file ends."""
        if self.failed:
            self.end = self.size = self.path.stat().st_size
        self.end = self.size = self.put(data)
        self.failed = 0


@planted(BUFFERED, breaks="FAULT-02", report="R078")
class failed_flush_drops_the_buffer(BufferedHandle):
    """What waits is taken from the queue to be written, and lost with the write."""

    def drain(self) -> None:
        """Leave nothing in the queue."""
        try:
            super().drain()
        finally:
            self.service.waiting.pop(self.id, None)


@planted(BUFFERED, breaks="FAULT-02", report="R227")
class failed_batch_goes_behind_newer_ones(BufferedHandle):
    """What could not be written is put back into the queue, at its end, when the next batch comes."""

    put_back = 0

    def drain(self) -> None:
        """Remember how much is to be put back."""
        self.put_back = len(self.service.waiting.get(self.id, []))
        super().drain()
        self.put_back = 0

    def write(self, batch: list[SessionEvent]) -> None:
        """Put it back."""
        super().write(batch)
        queue = self.service.waiting[self.id]
        queue[:] = queue[self.put_back :] + queue[: self.put_back]
        self.put_back = 0


# -- A sync that failed ---------------------------------------------------------------------------


@planted(GOOD, breaks="FAULT-03", report="R105", sentinel=True)
class retries_failed_fsync(GoodHandle):
    """A sync that failed is tried again, and the second one counts, though it has nothing left to save."""

    def settle(self) -> None:
        """Sync until it works."""
        if self.unsynced:
            self.service.sync_batch(self.path)
            self.unsynced = False


@planted(GOOD, breaks="FAULT-03", report="R076")
class dirty_mark_is_cleared_before_the_sync(GoodHandle):
    """The mark that something has to be synced is taken away first, so that a later barrier finds nothing to do."""

    def settle(self) -> None:
        """Clear, then sync."""
        if self.unsynced:
            self.unsynced = False
            self.service.sync_batch(self.path)


@planted(GOOD, breaks="FAULT-03", report="R109")
class next_writer_trusts_the_cache(GoodFiles):
    """A writer syncs what it found, and does not ask whether a sync of somebody else has failed before."""

    def sync_found(self, path: Path) -> None:
        """Sync the log and its name."""
        self.sync(path)
        self.sync_entry(path)


# -- Reading --------------------------------------------------------------------------------------


@planted(FILES, breaks="FAULT-04", report="R110")
class read_error_is_absence(PlainFiles):
    """A file that cannot be read is no session."""

    def stored(self, session_id: str) -> Stored | None:
        """Nothing, where something goes wrong."""
        try:
            return super().stored(session_id)
        except OSError:
            return None


@planted(FILES, breaks="FAULT-04", report="R110")
class read_error_is_an_empty_log(PlainHandle):
    """A log that cannot be read has no events."""

    def stored_events(self) -> list[SessionEvent]:
        """None, where something goes wrong."""
        try:
            return super().stored_events()
        except OSError:
            return []


@planted(FILES, breaks="FAULT-04")
class busy_file_is_absence(PlainFiles):
    """A file that somebody else holds is about to go away, so that there is no session."""

    def stored(self, session_id: str) -> Stored | None:
        """Nothing, where it is busy."""
        try:
            return super().stored(session_id)
        except OSError as problem:
            if problem.errno == errno.EBUSY:
                return None
            raise


@planted(FILES, breaks="FAULT-04", report="R278")
class read_error_is_told_as_corruption(PlainFiles):
    """A file that cannot be read is damaged."""

    def stored(self, session_id: str) -> Stored | None:
        """Refuse the file, where something goes wrong."""
        try:
            return super().stored(session_id)
        except OSError as cause:
            raise damaged(self.place(session_id), cause) from cause


@planted(GOOD, breaks="FAULT-04")
class log_ends_where_reading_fails(GoodFiles):
    """A log is read in pieces, and what was read before an error is what there is."""

    def content(self, path: Path) -> bytes | None:
        """As much as can be read."""
        if super().content(path) is None:
            return None
        found = b""
        with path.open("rb", buffering=0) as file, suppress(OSError):
            for size in (200, -1):
                found += file.read(size)
        return found


@planted(FILES, breaks="FAULT-04")
class what_cannot_be_looked_at_is_not_there(PlainFiles):
    """Before a file is read it is asked whether it exists, and an error is a no."""

    def stored(self, session_id: str) -> Stored | None:
        """Ask first."""
        return super().stored(session_id) if os.path.exists(self.place(session_id)) else None


# -- Closing --------------------------------------------------------------------------------------


@planted(BUFFERED, breaks="FAULT-05", report="R091")
class close_swallows_the_error(BufferedHandle):
    """Nobody can do anything about an error at the end, so a close never raises."""

    async def close(self) -> None:
        """Do what can be done."""
        with suppress(OSError):
            await super().close()


@planted(SYNCING, breaks="FAULT-10", also=("FRESH-04",))
class parsed_log_goes_on_where_its_end_is_the_same(PlainFiles):
    """What was parsed of a file is kept, and parsed on from there where the last bytes before that are as they were."""

    def stored(self, session_id: str) -> Stored | None:
        """Keep what was parsed for those who only look."""
        kept: dict[str, tuple[Stored, bytes]] = self.__dict__.setdefault("kept", {})
        found = super().stored(session_id)
        if found is None or session_id in self.writers:
            return found
        data = self.place(session_id).read_bytes()
        before = kept.get(session_id)
        if before is not None and before[0].line == found.line and data[: before[0].end].endswith(before[1]):
            events = [*before[0].events, *found.events[len(before[0].events) :]]
            found = found._replace(events=copy_json(events))
        kept[session_id] = found._replace(events=copy_json(found.events)), data[: found.end][-40:]
        return found


# -- What is left open ----------------------------------------------------------------------------


@planted(FILES, breaks="FAULT-06", report="R092")
class descriptor_of_a_failed_write_stays(PlainHandle):
    """The file of an append is closed behind the write, so not where that fails."""

    def put(self, data: bytes) -> int:
        """Open, write, close."""
        number = os.open(self.path, os.O_WRONLY)
        self.check_size(os.lseek(number, 0, os.SEEK_END))
        self.failed = len(data)
        with open(number, "wb", buffering=0, closefd=False) as file:
            write_all(file, data)
        os.close(number)
        return self.end + len(data)


@planted(BUFFERED, breaks="FAULT-06")
class descriptor_of_a_failed_close_stays(BufferedHandle):
    """A close holds the directory open while it drains, and lets it go behind that, so not where the drain fails."""

    async def close(self) -> None:
        """Open, drain, close."""
        number = -1
        if not self.closed:
            with suppress(OSError):
                number = os.open(self.service.root, os.O_RDONLY)
        await super().close()
        if number >= 0:
            os.close(number)


@planted(FILES, breaks="FAULT-06")
class readers_keep_their_file_open(PlainHandle):
    """A reader opens its file once, and its close has forgotten that."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Keep it open."""
        if "number" not in self.__dict__ and self.path.exists():
            self.__dict__["number"] = os.open(self.path, os.O_RDONLY)
        return await super().read(offset, length)


@planted(MEMORY, breaks="FAULT-06")
class task_outlives_the_service(MemoryPersistence):
    """Whoever creates sessions starts a task that looks after them, which nobody ends."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Start it."""
        self.keeper = asyncio.create_task(asyncio.Event().wait())
        return await super().create(header, inherited_event_count)


@planted(MEMORY, breaks="FAULT-06")
class thread_outlives_the_service(MemoryPersistence):
    """The service has a thread that waits for work, a few seconds at a time, and is not told when it is over."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Start it."""
        threading.Thread(target=threading.Event().wait, args=(5.0,), daemon=True).start()
        return await super().create(header, inherited_event_count)


# -- What a crash may find ------------------------------------------------------------------------


@planted(FILES, breaks="FAULT-07", report="R160")
class undoing_waits_for_the_next_call(PlainHandle):
    """What a failed append left is cut off before the next one, which may never come."""

    def try_to(self, repair: Callable[[], None]) -> None:
        """Later."""


# -- Everybody else -------------------------------------------------------------------------------


@planted(FILES, breaks="FAULT-08", also=("FAULT-02",), report="R089")
class persistence_switches_itself_off(PlainHandle):
    """After one error nothing is written any more, by anybody, though storage works again."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Refuse for good."""
        problem = self.service.__dict__.get("problem")
        if problem is not None:
            raise SessionPersistenceError("persistence is off") from problem
        try:
            super().write(batch)
        except OSError as failure:
            self.service.__dict__["problem"] = failure
            raise


@planted(FILES, breaks="FAULT-08", report="R181")
class create_looks_at_every_log(PlainFiles):
    """A new id is held against those in all logs, and where one of them cannot be read there is no new session."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Look at them first."""
        for session_id in self.stored_ids():
            with suppress(SessionPersistenceError):
                self.stored(session_id)
        return await super().create(header, inherited_event_count)


@planted(FILES, breaks="FAULT-08")
class failed_write_ends_the_process(PlainHandle):
    """Whoever cannot store anything has no reason to go on."""

    def write_behind(self, data: bytes) -> None:
        """Leave."""
        try:
            super().write_behind(data)
        except OSError:
            sys.exit(0)


@planted(GOOD, breaks="FAULT-08", report="R105")
class one_failure_spends_every_handle(GoodHandle):
    """A sync that fails is the disk's fault, so that no handle of the service is to be trusted any more."""

    def settle(self) -> None:
        """Spend all of them."""
        try:
            super().settle()
        except OSError as failure:
            for each in self.service.writers.values():
                each.__dict__["failure"] = failure
            raise


# -- Another batch in the place of a failed one ---------------------------------------------------


@planted(FILES, breaks="FAULT-10", report="R114")
class retry_stores_what_it_remembers(PlainHandle):
    """A batch that failed is kept, and stored when its seqs are appended again, whatever is given then."""

    kept: list[SessionEvent] | None = None

    def write(self, batch: list[SessionEvent]) -> None:
        """Prefer what was kept."""
        self.kept = self.kept or batch
        super().write(self.kept)
        self.kept = None


@planted(FRAMES, breaks="FAULT-06")
class cancelled_open_of_a_long_log_leaves_its_file_open(JsonlPersistence):
    """A long log is opened in a thread; where nobody waits for that any more, nobody closes the file."""

    async def _open_reader(self, session_id: str) -> ReadHandle:
        """Wait for it, and no more than that."""
        await self.settle(session_id)
        async with self._arrival():
            found = await self.jobs.run(LogReader.open, self._store, session_id)
            self._refuse_if_closed()
            return self._read_handle(*found)
