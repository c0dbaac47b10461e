"""Two right-but-different backends: one file of JSON lines for each session, written and read with plain Python I/O.

They promise the contract from ``durability="process-kill"``, and nothing about other processes that write: no lock is
taken, but an append that finds the file other than its handle left it is refused (OWN-14). Nothing is cached: every
read and every ``stat`` reads the file again, which is slow and cannot be stale. ``plain_files`` materialises lazily,
``eager_files`` in ``create``. Like the memory backend they await nothing inside an operation, so none needs a lock.

A session's file appears by a link, whole or not at all; what a killed writer left behind the last complete line is cut
off before the next append. Where storage fails, an append or flush that was rejected takes back what it did. While that
fails too, this instance looks past it, and the next call on the handle begins with it. The shape of the file is in
``line_files``, the handles are in ``plain_handles``.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, ClassVar

from line_files import (
    LONGEST_NAME,
    SUFFIX,
    Stored,
    discard,
    id_of,
    is_there,
    link_new,
    load,
    names_in,
    path_of,
    write_all,
)
from plain_handles import Draft as Draft
from plain_handles import PlainHandle as PlainHandle

from conformance.contract import (
    Access,
    Backend,
    Capabilities,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionHeader,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionSnapshot,
    copy_header,
    materialize_create_header,
)

logger = logging.getLogger(__name__)


class PlainFiles:
    """The service over one root. ``handle_type`` is what it makes its handles of."""

    handle_type: ClassVar[type[PlainHandle]] = PlainHandle

    def __init__(self, root: Path) -> None:
        self.root = root
        self.drafts: dict[str, Draft] = {}
        self.writers: dict[str, PlainHandle] = {}
        self.closed = False

    def place(self, session_id: str) -> Path:
        """The file of a session."""
        return path_of(self.root, session_id)

    def stored(self, session_id: str) -> Stored | None:
        """What that file says now, or None where there is none."""
        return load(self.place(session_id), upto=self.upto(session_id))

    def upto(self, session_id: str) -> int | None:
        """Where a log ends whatever stands behind it, because its writer could not undo what failed; else None."""
        writer = self.writers.get(session_id)
        return writer.end if writer is not None and writer.failed and writer.is_latest else None

    def stored_ids(self) -> list[str]:
        """The sessions that have a file."""
        return [id_of(Path(name)) for name in names_in(self.root) if name.endswith(SUFFIX)]

    def begins_with(self, path: Path, head: bytes) -> bool:
        """Whether the text of a header stands in the first line of a file."""
        with path.open("rb") as file:
            return head in file.readline()

    def is_stored(self, session_id: str) -> bool:
        """Whether the id is taken in storage.

        Raises:
            ValueError: it could never be stored.
        """
        path = self.place(session_id)
        if len(path.name) > LONGEST_NAME:
            raise ValueError(f"id={session_id!r:.80}: too long for a file name")
        return is_there(path)

    def make_directories(self, directory: Path) -> None:
        """Let it be there."""
        directory.mkdir(parents=True, exist_ok=True)

    def new_file(self, directory: Path) -> tuple[BinaryIO, Path]:
        """An empty, unbuffered file under a name that no session has, and that name."""
        handle, name = tempfile.mkstemp(dir=directory, prefix=".", suffix=".tmp")
        return os.fdopen(handle, "wb", buffering=0), Path(name)

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Write what is to stand at a path beside it, or leave nothing there."""
        file, temporary = self.new_file(path.parent)
        try:
            with file:
                write_all(file, data)
        except BaseException:
            discard(temporary)
            raise
        return temporary

    def sync_temporary(self, temporary: Path) -> None:
        """Make it durable before it gets its name."""
        self.sync(temporary)

    def publish(self, temporary: Path, path: Path) -> None:
        """Give a file its name, never in place of another."""
        link_new(temporary, path)
        self.sync_entry(path)

    def sync_entry(self, path: Path) -> None:
        """Make the name of a file durable."""
        self.sync(path.parent)

    def sync(self, path: Path) -> None:
        """Nothing: what was written outlives the process, and no more than that is claimed."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin a session and own it; nothing is written before its first append or flush."""
        self.check_open()
        own, count = materialize_create_header(header, inherited_event_count)
        if self.is_stored(own.id) or own.id in self.drafts:
            raise SessionAlreadyExistsError(f"session {own.id!r} exists already", session_id=own.id)
        draft = self.drafts[own.id] = Draft(own, count)
        handle = self.writers[own.id] = self.handle_type(self, "write", draft, None)
        return handle

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Open a session; a writer of this instance keeps other writers of this instance out."""
        self.check_open()
        if access not in ("read", "write"):
            raise ValueError(f"access={access!r:.80}; expected 'read' or 'write'")
        draft = self.drafts.get(session_id)
        stored = self.stored(session_id) if draft is None else None
        if draft is None and stored is None:
            raise SessionPersistenceNotFoundError(f"there is no session {session_id!r}", session_id=session_id)
        if access == "write" and session_id in self.writers:
            raise SessionAlreadyOwnedError(f"session {session_id!r} has a writer already", session_id=session_id)
        handle = self.handle_type(self, access, draft, stored)
        if access == "write":
            self.writers[session_id] = handle
        return handle

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """One session, or None where there is none; the revision is a digest of what is stored."""
        self.check_open()
        return self.snapshot(session_id)

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """What ``stat`` and ``list`` tell."""
        draft = self.drafts.get(session_id)
        if draft is not None:
            return SessionSnapshot(copy_header(draft.header), hashlib.sha256(draft.line).hexdigest(), 0)
        stored = self.stored(session_id)
        if stored is None:
            return None
        return SessionSnapshot(stored.header, stored.digest, len(stored.events), stored.size)

    async def list(self) -> list[SessionSnapshot]:
        """Every session that this instance sees; a file that is damaged or cannot be read hides no other."""
        self.check_open()
        found = []
        for session_id in dict.fromkeys([*self.drafts, *self.stored_ids()]):
            try:
                snapshot = self.snapshot(session_id)
            except (SessionPersistenceError, OSError) as problem:
                logger.warning("left out of the list: %s", problem)
                continue
            if snapshot is not None:
                found.append(snapshot)
        return found

    async def flush(self) -> None:
        """Flush every writer; failures come together."""
        self.check_open()
        failures = []
        for handle in list(self.writers.values()):
            try:
                await handle.flush()
            except (SessionPersistenceError, OSError) as problem:
                problem.add_note(f"session {handle.id!r}")
                failures.append(problem)
        if failures:
            raise ExceptionGroup("not every session could be flushed", failures)

    async def close(self) -> None:
        """Close every writer, whatever fails; readers look at ``closed``. Again is nothing."""
        failures = []
        for handle in list(self.writers.values()):
            try:
                await handle.close()
            except (SessionPersistenceError, OSError) as problem:
                problem.add_note(f"session {handle.id!r}")
                failures.append(problem)
        self.closed = True
        if failures:
            raise ExceptionGroup("not every session could be closed", failures)

    def release(self, handle: PlainHandle) -> None:
        """Take ownership back from a handle that closes, if it has it."""
        if self.writers.get(handle.id) is handle:
            del self.writers[handle.id]
            if handle.draft is not None and not handle.draft.stored:
                handle.draft.erased = True
                self.drafts.pop(handle.id, None)

    def check_open(self) -> None:
        """Refuse where the service is closed."""
        if self.closed:
            raise SessionPersistenceError("this session persistence is closed")


class EagerFiles(PlainFiles):
    """The same, but a session is stored by its ``create``, and stays when it is closed empty."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin a session, own it and store it at once."""
        handle = await super().create(header, inherited_event_count)
        try:
            await handle.flush()
        except BaseException:
            await handle.close()
            raise
        return handle


def location(root: Path, session_id: str) -> Path | None:
    """The file of a session, or None before there is one."""
    path = path_of(root, session_id)
    return path if len(path.name) <= LONGEST_NAME and is_there(path) else None


plain_files = Backend(
    name="plain-files",
    open=PlainFiles,
    capabilities=Capabilities(durability="process-kill"),
    location=location,
)
"""Lazy materialisation."""

eager_files = Backend(
    name="eager-files",
    open=EagerFiles,
    capabilities=Capabilities(durability="process-kill", materialization="eager"),
    location=location,
)
"""Eager materialisation."""
