"""The known-good store: a directory for each session, and in it one log of JSON lines that withstands any power loss.

Each line has a checksum, and the first of a batch begins with a mark of its own. A batch is synced before the next one
is written, and a writer syncs what it found before it writes, so that only the last batch can be torn. The log ends
before the first line that is not sound; where a sound batch stands behind that, synced data was damaged, and the log
is refused. A log appears whole: written under another name, synced, linked to its own, the directory synced.

It is written to be broken: the steps are methods of ``GoodFiles``, their order is in ``GoodHandle``, and each crash
mutant changes one of them. After a failed sync the handle is spent, and the next writer of that instance writes the
log anew, because the system may have dropped what it could not write. Everything else is as in ``plain_files``.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import line_files
from line_files import LONGEST_NAME, SUFFIX, Stored, id_of, path_of, sealed, unsealed
from plain_files import Draft, PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    Access,
    Capabilities,
    SessionAlreadyExistsError,
    SessionEvent,
    SessionHeader,
    SessionOwnershipLostError,
    header_to_json,
    validate_stored_events,
)


class GoodHandle(PlainHandle):
    """Knows the order of the steps. ``unsynced``: it wrote what no sync covered; ``failure``: why it is spent."""

    service: GoodFiles

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.unsynced = False
        self.failure: OSError | None = None

    def take_over(self) -> None:
        """Before a writer gets a log that it found: no torn tail, and everything durable, its name too."""
        if self.size > self.end:
            self.service.cut_tail(self.path, self.end)
            self.end = self.size = self.path.stat().st_size
        self.service.sync_found(self.path)

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """A line for each event."""
        return sealed(batch)

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Let the log appear, durably, with its header and these bytes; the first instance to do so wins."""
        self.service.make_directories(self.path.parent)
        temporary = self.service.write_temporary(self.path, draft.line + data)
        try:
            self.service.sync_temporary(temporary)
            self.service.publish(temporary, self.path)
        except FileExistsError as cause:
            raise SessionAlreadyExistsError(f"another instance stored {self.id!r}", session_id=self.id) from cause
        finally:
            temporary.unlink(missing_ok=True)
        draft.stored = True
        self.service.drafts.pop(self.id)
        self.end = self.size = self.path.stat().st_size

    def write_behind(self, data: bytes) -> None:
        """Add a batch, once the one before it is durable."""
        self.settle()
        if self.path.stat().st_size != self.size:
            raise SessionOwnershipLostError(f"another writer changed {self.path}", session_id=self.id)
        self.unsynced = True
        self.service.write_batch(self.path, self.end, data)
        self.end = self.size = self.path.stat().st_size

    def settle(self) -> None:
        """Make durable what this handle wrote."""
        if self.failure is not None:
            raise self.failure
        if self.unsynced:
            try:
                self.service.sync_batch(self.path)
            except OSError as failure:
                self.failure = failure
                self.service.suspect.add(self.id)
                raise
            self.unsynced = False

    async def flush(self) -> None:
        """A barrier; an empty session is stored."""
        await super().flush()
        self.settle()

    async def close(self) -> None:
        """A barrier too; ownership is given up whether or not it could be one."""
        try:
            if self.service.writers.get(self.id) is self:
                self.settle()
        finally:
            await super().close()

    def check_writable(self) -> None:
        """Refuse where a sync failed."""
        super().check_writable()
        if self.failure is not None:
            raise SessionOwnershipLostError(f"a sync of {self.path} failed", session_id=self.id) from self.failure


class GoodFiles(PlainFiles):
    """The service, step by step. ``suspect``: sessions of which a sync failed, until they are written anew."""

    handle_type: ClassVar[type[PlainHandle]] = GoodHandle

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.suspect: set[str] = set()

    def place(self, session_id: str) -> Path:
        """The log of a session."""
        name = path_of(self.root, session_id).name
        return self.root.joinpath(name.removesuffix(SUFFIX), name)

    def stored_ids(self) -> list[str]:
        """The sessions that have a log; a directory without one is none."""
        return [id_of(path) for path in self.root.glob(f"*/*{SUFFIX}")]

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin a session; its header is sealed like everything else."""
        handle = await super().create(header, inherited_event_count)
        draft = self.drafts[handle.id]
        draft.line = sealed([header_to_json(draft.header, draft.inherited)])
        return handle

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Open a session; a writer gets it repaired and durable."""
        if access == "write" and session_id in self.suspect and session_id not in self.writers:
            path = self.place(session_id)
            self.replace(path, path.read_bytes())
            self.suspect.discard(session_id)
        handle = await super().open(session_id, access)
        if access == "write" and isinstance(handle, GoodHandle):
            try:
                handle.take_over()
            except BaseException:
                self.release(handle)
                raise
        return handle

    def stored(self, session_id: str) -> Stored | None:
        """What the log of a session says now, or None where there is none."""
        path = self.place(session_id)
        data = self.content(path)
        if data is None:
            return None
        texts, end = self.sound_lines(data)
        if not texts or line_files.has_sealed_batch(data, end):
            raise line_files.damaged(path, f"the line at {end} is not sound")
        header, inherited = line_files.header_in(path, texts[0])
        events = validate_stored_events(
            line_files.values_in(path, texts[1:]), session_id=session_id, location=str(path)
        )
        return Stored(header, inherited, events, end, path.stat().st_size, hashlib.sha256(data[:end]).hexdigest())

    def content(self, path: Path) -> bytes | None:
        """The bytes of a log, or None where there is none."""
        return line_files.bytes_in(path)

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """The texts of the leading sound lines, and where they end."""
        texts: list[bytes] = []
        end = 0
        while (newline := data.find(b"\n", end)) >= 0 and (text := unsealed(data[end:newline])) is not None:
            texts.append(text)
            end = newline + 1
        return texts, end

    def make_directories(self, directory: Path) -> None:
        """Make a directory and what is missing above it, each durable before the next; a dead process may have made
        the lowest one that is there, so that one is made durable too."""
        path = [directory, *directory.parents]
        there = next(place for place, each in enumerate(path) if each.is_dir())
        self.sync(path[there].parent)
        for each in reversed(path[:there]):
            each.mkdir(exist_ok=True)
            self.sync(each.parent)

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Write a new log under a name that no session has."""
        number, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with os.fdopen(number, "wb") as file:
            file.write(data)
        return Path(name)

    def sync_temporary(self, temporary: Path) -> None:
        """Make a new log durable before it gets its name."""
        self.sync(temporary)

    def publish(self, temporary: Path, path: Path) -> None:
        """Give a log its name, never in place of another; where that cannot be made durable it is taken back."""
        os.link(temporary, path)
        try:
            self.sync_entry(path)
        except OSError:
            path.unlink()
            raise

    def sync_entry(self, path: Path) -> None:
        """Make the name of a log durable."""
        self.sync(path.parent)

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Write a batch behind what is there; nothing of it stays where that fails."""
        with path.open("r+b", buffering=0) as file:
            file.seek(end)
            try:
                if file.write(data) != len(data):
                    raise OSError(f"short write to {path}")
            except OSError:
                file.truncate(end)
                raise

    def sync_batch(self, path: Path) -> None:
        """Make durable what was written to a log."""
        self.sync(path)

    def cut_tail(self, path: Path, end: int) -> None:
        """Take a torn tail away; `sync_found` makes that durable."""
        os.truncate(path, end)

    def sync_found(self, path: Path) -> None:
        """Make durable what a dead process may have left unsynced: the log, and its name."""
        self.sync(path)
        self.sync_entry(path)

    def replace(self, path: Path, data: bytes) -> None:
        """Put a new log in the place of the old one, durably."""
        temporary = self.write_temporary(path, data)
        try:
            self.sync_temporary(temporary)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink()
            raise
        self.sync_entry(path)

    def sync(self, path: Path) -> None:
        """Let what the file or directory holds outlive a power loss."""
        line_files.sync(path)


def location(root: Path, session_id: str) -> Path | None:
    """The log of a session, or None before there is one."""
    path = GoodFiles(root).place(session_id)
    return path if len(path.name) <= LONGEST_NAME and path.exists() else None


good_store = replace(
    plain_files,
    name="good-store",
    open=GoodFiles,
    capabilities=Capabilities(durability="power-loss-strict"),
    location=location,
)
"""Lazy materialisation; each batch is durable before the next one is written."""
