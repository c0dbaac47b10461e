"""Mutants of DUR: what a barrier made durable, and what a crash during recovery, or of another session, takes."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from planting import (
    BUFFERED,
    FILES,
    GOOD,
    BufferedHandle,
    Crashes,
    GoodFiles,
    GoodHandle,
    PlainHandle,
    Stored,
    damaged,
    id_of,
    planted,
    sealed,
    unsealed,
)

from conformance.contract import Access, SessionHeader, SessionOwnershipLostError, header_to_json


@planted(
    GOOD,
    breaks="DUR-01",
    also=("TORN-01",),
    report="R110",
    sentinel=True,
    crash=Crashes("ext4", "NUL tail", "fsync(log)"),
)
class flush_syncs_nothing(GoodFiles):
    """A flush has nothing to do, because everything was written already."""

    def sync_batch(self, path: Path) -> None:
        """Leave it to the operating system."""


@planted(GOOD, breaks="DUR-01", crash=Crashes("ext4", "NUL tail", "fsync(log)"))
class close_syncs_nothing(GoodHandle):
    """A close gives ownership up, and only a flush syncs."""

    async def close(self) -> None:
        """Release."""
        await PlainHandle.close(self)


@planted(GOOD, breaks="DUR-01", report="R091", crash=Crashes("ext4", "NUL tail", "fsync(log)"))
class service_flush_syncs_nothing(GoodFiles):
    """The service's flush makes sure that every session is stored, and syncs none of those that are."""

    async def flush(self) -> None:
        """Flush those that are new."""
        writers = self.writers
        self.writers = {name: handle for name, handle in writers.items() if name in self.drafts}
        try:
            await super().flush()
        finally:
            self.writers = writers


@planted(GOOD, breaks="DUR-01")
class leaving_by_an_exception_syncs_nothing(GoodHandle):
    """A context that an exception ends is cleaned up in haste: the log is let go of, and nothing synced."""

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Let go at once where the body failed."""
        if exc is not None and self.access == "write":
            self.let_go(self.undo)
        return await super().__aexit__(exc_type, exc, traceback)


@planted(GOOD, breaks="DUR-01")
class teardown_syncs_nothing(GoodFiles):
    """The service's close takes its handles down by a way of its own, without their last sync."""

    async def close(self) -> None:
        """Let go of every log."""
        for handle in list(self.writers.values()):
            handle.let_go(handle.undo)
        await super().close()


@planted(GOOD, breaks="DUR-01", crash=Crashes("ext4", "NUL tail", "fsync(log)"))
class flush_answers_before_it_syncs(GoodHandle):
    """The sync is put on the loop, so that the caller need not wait for the disk."""

    async def flush(self) -> None:
        """Store what is new, and sync in the next turn."""
        await PlainHandle.flush(self)
        asyncio.get_running_loop().call_soon(self.settle)


@planted(BUFFERED, breaks="DUR-01", also=("FRESH-04",), report="R094", crash=Crashes("kill", "stranded buffer"))
class flush_leaves_the_buffer_to_the_loop(BufferedHandle):
    """What waits in memory is written in the loop's next turn, after the flush was answered."""

    async def flush(self) -> None:
        """Write soon."""
        self.check_writable()
        asyncio.get_running_loop().call_soon(self.drain)


@planted(BUFFERED, breaks="DUR-01", also=("FRESH-04",), report="R095", crash=Crashes("kill", "stranded buffer"))
class close_leaves_the_buffer_to_the_loop(BufferedHandle):
    """A close answers at once, and the buffer is written, and ownership given up, in the loop's next turn."""

    async def close(self) -> None:
        """Finish soon."""
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self.finish)

    def finish(self) -> None:
        """Write what waits, and let go."""
        if self.service.waiting.get(self.id):
            self.drain()
        self.service.release(self)


@planted(
    GOOD,
    breaks="DUR-01",
    also=("DUR-02",),
    report="R111",
    crash=Crashes("ext4", "zero-length replacement", "fsync(temporary file)"),
)
class temporary_is_not_synced(GoodFiles):
    """The directory is synced, and the new file in it is not."""

    def sync_temporary(self, temporary: Path) -> None:
        """Count on the directory's sync."""


@planted(
    GOOD,
    breaks="DUR-01",
    also=("DUR-02", "DUR-11"),
    report="R109",
    crash=Crashes("xfs", "zero-length replacement", "fsync(temporary file)"),
)
class replaces_without_fsync(GoodFiles):
    """Each batch makes a new file of the whole log and renames it over the old one; a flush syncs the directory."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Replace the log by a longer one."""
        temporary = self.write_temporary(path, path.read_bytes()[:end] + data)
        os.replace(temporary, path)

    def sync_batch(self, path: Path) -> None:
        """Make the rename durable."""
        self.sync_entry(path)


@planted(GOOD, breaks="DUR-01", crash=Crashes("ext4", "lost rename", "fsync(session directory)"))
class replaces_without_directory_sync(GoodFiles):
    """Each batch makes a new, synced file of the whole log and renames it over the old one; nothing syncs the name."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Replace the log by a longer one."""
        temporary = self.write_temporary(path, path.read_bytes()[:end] + data)
        self.sync(temporary)
        os.replace(temporary, path)

    def sync_batch(self, path: Path) -> None:
        """Nothing: the file was synced before it was renamed."""


@planted(GOOD, breaks="DUR-01", report="R177", crash=Crashes("ext4", "reordered files", "fsync(index)"))
class index_is_never_synced(GoodFiles):
    """Readers go as far as an index says, which is rewritten in place after each batch and never synced."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Write the batch, then where it ends."""
        super().write_batch(path, end, data)
        number = os.open(path.with_suffix(".index"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(number, b"%012d" % path.stat().st_size)
        os.close(number)

    def content(self, path: Path) -> bytes | None:
        """The log up to there."""
        data, index = super().content(path), path.with_suffix(".index")
        known = index.read_bytes().strip(b"\0") if index.exists() else b""
        return data[: int(known)] if data is not None and known else data


@planted(GOOD, breaks="DUR-02", crash=Crashes("ext4", "missing entry", "fsync(session directory)"))
class directory_is_not_synced(GoodFiles):
    """The new log is synced, and the directory that holds its name is not."""

    def sync_entry(self, path: Path) -> None:
        """Count on the file's sync."""


@planted(GOOD, breaks="DUR-02", crash=Crashes("ext4", "lost rename", "fsync(session directory)"))
class renamed_without_directory_sync(GoodFiles):
    """The new log gets its name by a rename, which is atomic and so taken for durable."""

    def publish(self, temporary: Path, path: Path) -> None:
        """Rename, unless another instance came first."""
        if path.exists():
            raise FileExistsError(path)
        os.rename(temporary, path)


@planted(GOOD, breaks="DUR-02", crash=Crashes("posix", "missing entry", "fsync(root)"))
class new_directory_is_not_synced(GoodFiles):
    """The directory of a session is synced with what is in it, and its own name is not."""

    def make_directories(self, directory: Path) -> None:
        """Make the root with care, and the session's directory without."""
        super().make_directories(directory.parent)
        directory.mkdir(exist_ok=True)


@planted(
    GOOD, breaks="DUR-02", report="R104", crash=Crashes("posix", "missing entry", "fsync(directory above the root)")
)
class parents_are_not_synced(GoodFiles):
    """All directories that are missing are made at once, and the last of their parents is synced."""

    def make_directories(self, directory: Path) -> None:
        """``mkdir -p``, and one sync."""
        directory.mkdir(parents=True, exist_ok=True)
        self.sync(directory.parent)


@planted(GOOD, breaks="DUR-02", report="R104", crash=Crashes("posix", "missing entry", "fsync(root)"))
class directory_that_is_there_is_taken_for_durable(GoodFiles):
    """Who makes a directory syncs its name; who finds it made does not, and the one who made it may be dead."""

    def make_directories(self, directory: Path) -> None:
        """Make and sync the session's directory where it is missing."""
        super().make_directories(directory.parent)
        if not directory.is_dir():
            directory.mkdir()
            self.sync(directory.parent)


@planted(GOOD, breaks="DUR-02", crash=Crashes("ext4", "missing entry", "fsync(session directory)"))
class lock_file_is_synced_for_the_directory(GoodFiles):
    """The descriptor at hand is that of the lock file, and syncing it is taken for syncing the directory it lies in."""

    def make_directories(self, directory: Path) -> None:
        """Make the lock file too."""
        super().make_directories(directory)
        (directory / "lock").touch(0o600)

    def sync_entry(self, path: Path) -> None:
        """Sync the lock file."""
        self.sync(path.parent / "lock")


@planted(GOOD, breaks="DUR-04", crash=Crashes("ext4", "reordered files", "fsync(header file)"))
class header_has_a_file_of_its_own(GoodFiles):
    """The header stands in a file beside the log whose data nobody syncs; where it is not there, defaults are shown."""

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Write the header's file too, and sync its name."""
        path.with_suffix(".header").write_bytes(data.partition(b"\n")[0])
        self.sync(path.parent)
        return super().write_temporary(path, data)

    def stored(self, session_id: str) -> Stored | None:
        """The log under the header of that file."""
        found, path = super().stored(session_id), self.place(session_id).with_suffix(".header")
        if found is None or (path.exists() and unsealed(path.read_bytes()) is not None):
            return found
        return found._replace(header=SessionHeader(session_id, 0), inherited=None)


@planted(GOOD, breaks="DUR-04", also=("TORN-04",), report="R162", crash=Crashes("kill", "zero-length replacement"))
class half_made_session_is_shown(GoodFiles):
    """An empty file keeps the name of a new log free for it; one that stayed empty is shown as an empty session."""

    def publish(self, temporary: Path, path: Path) -> None:
        """Take the name, then put the log there."""
        path.touch(0o600, exist_ok=False)
        os.replace(temporary, path)
        self.sync_entry(path)

    def content(self, path: Path) -> bytes | None:
        """The log; the least header there is where it is empty."""
        data = super().content(path)
        return sealed([header_to_json(SessionHeader(id_of(path), 0))]) if data == b"" else data


@planted(GOOD, breaks="DUR-05", report="R067", crash=Crashes("kill", "torn record"))
class reading_repairs(GoodFiles):
    """Whoever opens a log first cuts its torn tail off, readers too."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Repair, then open."""
        found = None if session_id in self.drafts else self.stored(session_id)
        if found is not None and found.size > found.end:
            self.cut_tail(self.place(session_id), found.end)
        return await super().open(session_id, access)


@planted(GOOD, breaks="DUR-06", report="R140", crash=Crashes("kill", "zero-length replacement"))
class repair_rewrites_in_place(GoodFiles):
    """A repair opens the log for writing, which empties it, and writes back what it wants to keep."""

    def cut_tail(self, path: Path, end: int) -> None:
        """Read, empty, write."""
        path.write_bytes(path.read_bytes()[:end])


@planted(GOOD, breaks="DUR-06", report="R141", crash=Crashes("kill", "missing entry"))
class repair_moves_the_log_away(GoodFiles):
    """A repair renames the torn log to a backup first, and then puts a sound one in its place."""

    def cut_tail(self, path: Path, end: int) -> None:
        """Move away, write anew."""
        backup = path.with_suffix(".bak")
        os.rename(path, backup)
        self.replace(path, backup.read_bytes()[:end])


@planted(GOOD, breaks="DUR-06", report="R165", crash=Crashes("xfs", "zero-length replacement", "fsync(temporary file)"))
class repair_replaces_without_fsync(GoodFiles):
    """A repair writes the sound part of a log to a new file, and renames it over the old one before any sync."""

    def cut_tail(self, path: Path, end: int) -> None:
        """Replace; `sync_found` comes later."""
        os.replace(self.write_temporary(path, path.read_bytes()[:end]), path)


@planted(GOOD, breaks="DUR-07", report="R156", crash=Crashes("kill", "torn record"))
class torn_log_cannot_be_owned(GoodHandle):
    """Readers look past a torn tail, and a writer is refused for good."""

    def take_over(self) -> None:
        """Refuse where there is a tail."""
        if self.size > self.end:
            raise damaged(self.path, "it has a torn tail")
        super().take_over()


@planted(GOOD, breaks="DUR-07", also=("TORN-02",), report="R017", crash=Crashes("kill", "torn record"))
class torn_record_counts_as_stored(GoodHandle):
    """The next seq is that behind the torn record, which was cut off."""

    def take_over(self) -> None:
        """Leave its seq out."""
        if self.size > self.end:
            self.next_seq += 1
        super().take_over()


@planted(GOOD, breaks="DUR-07", also=("DUR-01", "TORN-02"), report="R117", crash=Crashes("kill", "reordered files"))
class journal_is_replayed_twice(GoodFiles):
    """A batch stands in a journal until it is in the log; a writer adds a journal that it finds, wherever it got to."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Journal, log, and no journal."""
        journal = path.with_suffix(".redo")
        journal.write_bytes(data)
        self.sync(journal)
        super().write_batch(path, end, data)
        journal.unlink()

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Replay, then open."""
        path = self.place(session_id)
        if access == "write" and (journal := path.with_suffix(".redo")).exists():
            super().write_batch(path, path.stat().st_size, journal.read_bytes())
            journal.unlink()
        return await super().open(session_id, access)


@planted(GOOD, breaks="DUR-08", also=("DUR-02",), report="R184", crash=Crashes("kill", "zero-length replacement"))
class catalogue_is_rewritten_in_place(GoodFiles):
    """Which sessions there are stands in one catalogue, which is emptied and written anew when one is added."""

    def publish(self, temporary: Path, path: Path) -> None:
        """Add the session to the catalogue first; a name without a log is no session."""
        catalogue = self.root / "catalogue"
        catalogue.write_text(json.dumps([*self.stored_ids(), id_of(path)]))
        self.sync(catalogue)
        self.sync(self.root)
        super().publish(temporary, path)

    def stored(self, session_id: str) -> Stored | None:
        """What the catalogue does not name is not there."""
        catalogue = self.root / "catalogue"
        names = json.loads(catalogue.read_text() or "[]") if catalogue.exists() else []
        return super().stored(session_id) if session_id in names else None


@planted(GOOD, breaks="DUR-11", also=("TORN-01",), report="R110", crash=Crashes("ext4", "NUL tail", "fsync(log)"))
class found_data_is_not_synced(GoodFiles):
    """What a writer finds was written by somebody who synced it, so it is said; only the name is made sure of."""

    def sync_found(self, path: Path) -> None:
        """Sync the directory."""
        self.sync_entry(path)


@planted(GOOD, breaks="DUR-11", report="R104", crash=Crashes("posix", "missing entry", "fsync(session directory)"))
class found_name_is_not_synced(GoodFiles):
    """The log that a writer finds is synced, and its name is not."""

    def sync_found(self, path: Path) -> None:
        """Sync the file."""
        self.sync(path)


@planted(GOOD, breaks="DUR-11", crash=Crashes("ext4", "NUL tail", "fsync(log)"))
class takes_over_with_the_first_append(GoodHandle):
    """What was found is synced when something is to be written behind it; a flush alone does not."""

    found = False

    def take_over(self) -> None:
        """Later, but for the name."""
        self.found = True
        self.service.sync_entry(self.path)

    def write_behind(self, data: bytes) -> None:
        """Now."""
        if self.found:
            self.found = False
            super().take_over()
        super().write_behind(data)


@planted(GOOD, breaks="DUR-03", also=("MAT-02", "MAT-03"), crash=Crashes("kill", "none of these"))
class creation_is_stored_at_once(GoodFiles):
    """A session has its log from its creation on, though nobody wrote to it, and the backend does not say so."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Store an empty session."""
        handle = await super().create(header, inherited_event_count)
        await handle.flush()
        return handle


@planted(FILES, breaks="DUR-10", report="R031")
class writes_on_in_the_file_it_opened(PlainHandle):
    """The descriptor of the first append is kept, and never compared with what the path leads to by now."""

    opened: BinaryIO | None = None

    def write_behind(self, data: bytes) -> None:
        """Write to whatever that is."""
        if self.opened is None:
            self.cut()
            self.opened = self.path.open("r+b", buffering=0)
        if self.opened.seek(0, os.SEEK_END) != self.size:
            raise SessionOwnershipLostError(f"{self.path} was changed", session_id=self.id)
        self.opened.write(data)
        self.end = self.size = self.size + len(data)

    async def close(self) -> None:
        """Let the descriptor go too."""
        if self.opened is not None:
            self.opened.close()
        await super().close()


@planted(FILES, breaks="DUR-10")
class flush_looks_at_nothing(PlainHandle):
    """A flush has nothing to write, and so nothing to look at."""

    async def flush(self) -> None:
        """Store a session that is new, and resolve."""
        if self.draft is not None and not self.draft.stored:
            await super().flush()
        self.check_writable()


@planted(GOOD, breaks="DUR-01")
class flush_marks_clean_what_came_meanwhile(GoodHandle):
    """A flush syncs in a thread, and takes the mark that something is unsynced away when it hears that it did."""

    async def flush(self) -> None:
        """Sync beside everything else."""
        if self.unsynced and not self.closed and self.failure is None:
            await asyncio.to_thread(self.service.sync_batch, self.path)
            self.unsynced = False
        await super().flush()
