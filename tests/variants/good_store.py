"""The known-good store: a directory for each session, and in it one log of JSON lines that withstands any power loss.

Each line has a checksum, and the first of a batch begins with a mark of its own. A batch is synced before the next one
is written, and a writer syncs what it found before it writes, so that only the last batch can be torn. The log ends
before the first line that is not sound; where a sound batch stands behind that, synced data was damaged, and the log
is refused. A log appears whole: written under another name, synced, linked to its own, the directory synced.

It is written to be broken: the steps are methods of ``GoodFiles`` or of the service that it extends, their order is in
the handles, and each crash mutant changes one of them. After a failed sync the handle is spent, and the next writer of
that instance writes the log anew, because the system may have dropped what it could not write. A sync may have failed
in other instances too, so a writer writes the last batch that it found once more. Everything else is as in
``plain_files``.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import line_files
from line_files import (
    BEGIN,
    LONGEST_NAME,
    SUFFIX,
    Stored,
    SyncFailedError,
    discard,
    id_of,
    is_there,
    path_of,
    sealed,
    unsealed,
)
from plain_files import PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    Access,
    Capabilities,
    SessionEvent,
    SessionHeader,
    SessionOwnershipLostError,
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

    def head(self) -> bytes:
        """The text of that line."""
        return self.line or (b"" if self.draft is None else unsealed(self.draft.line.rstrip(b"\n")) or b"")

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """A line for each event."""
        return sealed(batch)

    def write_behind(self, data: bytes) -> None:
        """Add a batch, once the one before it is durable, and so is that nothing stands behind that."""
        self.cut()
        self.settle()
        super().write_behind(data)

    def put(self, data: bytes) -> int:
        """Write it, unsynced."""
        self.check_size(self.path.stat().st_size)
        self.failed = len(data)
        self.unsynced = True
        self.service.write_batch(self.path, self.end, data)
        return self.path.stat().st_size

    def settle(self) -> None:
        """Make durable what this handle wrote."""
        if self.failure is not None:
            raise self.failure
        if self.unsynced:
            try:
                self.service.sync_batch(self.path)
            except SyncFailedError as failure:
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
        self.let_go(self.undo_and_settle)

    def undo_and_settle(self) -> None:
        """Leave nothing of what failed, and everything else durable."""
        self.undo()
        self.settle()

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
        logs = [Path(self.root, name, name + SUFFIX) for name in line_files.names_in(self.root)]
        return [id_of(path) for path in logs if _may_be_there(path)]

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin a session; its header is sealed like everything else."""
        handle = await super().create(header, inherited_event_count)
        draft = self.drafts[handle.id]
        draft.line = sealed([draft.values])
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
        data = data[: self.upto(session_id)]
        texts, end = self.sound_lines(data)
        if not texts or line_files.has_sealed_batch(data, end):
            raise line_files.damaged(path, f"the line at {end} is not sound")
        header, inherited = line_files.header_in(path, texts[0])
        events = validate_stored_events(
            line_files.values_in(path, texts[1:]), session_id=session_id, location=str(path)
        )
        digest = hashlib.sha256(data[:end]).hexdigest()
        return Stored(header, inherited, events, end, path.stat().st_size, digest, texts[0])

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
        """Make a directory and what is missing above it, each durable before the next."""
        line_files.make_directories(directory, self.sync)

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Write a batch behind what is there."""
        with path.open("r+b", buffering=0) as file:
            file.seek(end)
            line_files.write_all(file, data)

    def sync_batch(self, path: Path) -> None:
        """Make durable what was written to a log."""
        self.sync(path)

    def cut_tail(self, path: Path, end: int) -> None:
        """Take a torn tail away; `sync_found` makes that durable."""
        os.truncate(path, end)

    def sync_found(self, path: Path) -> None:
        """Make durable what a dead process may have left unsynced, or a failed sync dropped: the log, and its name."""
        line_files.write_again(path, max(0, path.read_bytes().rfind(BEGIN)))
        self.sync(path)
        self.sync_entry(path)

    def replace(self, path: Path, data: bytes) -> None:
        """Put a new log in the place of the old one, durably."""
        temporary = self.write_temporary(path, data)
        try:
            self.sync_temporary(temporary)
            os.replace(temporary, path)
        finally:
            discard(temporary)
        self.sync_entry(path)

    def sync(self, path: Path) -> None:
        """Let what the file or directory holds outlive a power loss."""
        line_files.sync(path)


def _may_be_there(path: Path) -> bool:
    """Whether a log stands there; one that cannot be looked at does, and says so to whoever describes it."""
    try:
        return is_there(path)
    except OSError:
        return True


def location(root: Path, session_id: str) -> Path | None:
    """The log of a session, or None before there is one."""
    path = GoodFiles(root).place(session_id)
    return path if len(path.name) <= LONGEST_NAME and is_there(path) else None


good_store = replace(
    plain_files,
    name="good-store",
    open=GoodFiles,
    capabilities=Capabilities(durability="power-loss-strict"),
    location=location,
)
"""Lazy materialisation; each batch is durable before the next one is written."""
