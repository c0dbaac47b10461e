"""Mutants of SVC: what exists, what is said of it, and who may begin it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import orjson
from planting import (
    EAGER,
    FILES,
    MEMORY,
    QUEUED,
    Draft,
    EagerFiles,
    MemoryHandle,
    MemoryPersistence,
    PlainFiles,
    PlainHandle,
    QueuedFiles,
    Session,
    Stored,
    bytes_in,
    lines_of,
    path_of,
    planted,
)

from conformance.contract import (
    Access,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionEvent,
    SessionHeader,
    SessionPersistenceCorruptionError,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionSnapshot,
    header_to_json,
)


@planted(FILES, breaks="SVC-01")
class extra_is_not_stored(PlainFiles):
    """The header is stored field by field, and its further keys have no field."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Prepare a header line without them."""
        handle = await super().create(header, inherited_event_count)
        if handle.draft is not None:
            bare = replace(handle.header, extra={})
            handle.draft.line = lines_of([header_to_json(bare, inherited_event_count)])
        return handle


@planted(FILES, breaks="SVC-01", also=("JSON-01",))
class headers_are_kept_by_id(PlainFiles):
    """A header never changes, so what was once shown under an id is shown again, also of the next session there."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.headers: dict[str, SessionHeader] = {}

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Tell the header from memory."""
        found = super().snapshot(session_id)
        return None if found is None else replace(found, header=self.headers.setdefault(session_id, found.header))


@planted(MEMORY, breaks="SVC-02", report="R199", sentinel=True)
class create_overwrites(MemoryPersistence):
    """``create`` is an upsert: a session of that id makes way for the new, empty one."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Forget whatever was there."""
        if isinstance(header.id, str):
            self._sessions.pop(header.id, None)
        return await super().create(header, inherited_event_count)


@planted(MEMORY, breaks="SVC-04", report="R197")
class open_of_an_absent_session_creates_it(MemoryPersistence):
    """Opening for writing runs the create path where nothing is found."""

    async def open(self, session_id: str, access: Access) -> MemoryHandle:
        """Begin what is not there."""
        try:
            return await super().open(session_id, access)
        except SessionPersistenceNotFoundError:
            if access == "read":
                raise
            return await super().create(SessionHeader(id=session_id, created_at=0))


@planted(FILES, breaks="SVC-05", also=("SVC-04", "SVC-13"))
class stat_touches_the_file(PlainFiles):
    """``stat`` opens the file in a mode that makes it."""

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Ask for the snapshot first, and leave an empty file where there was none."""
        found = await super().stat(session_id)
        if found is None:
            self.root.mkdir(exist_ok=True)
            path_of(self.root, session_id).touch()
        return found


@planted(MEMORY, breaks="SVC-05")
class absent_sessions_have_an_empty_snapshot(MemoryPersistence):
    """``stat`` tells an absent session by an empty snapshot of it."""

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Never answer None."""
        found = await super().stat(session_id)
        return found or SessionSnapshot(SessionHeader(id=session_id, created_at=0), revision="", event_count=0)


@planted(FILES, breaks="SVC-06")
class owned_sessions_are_listed_twice(PlainFiles):
    """The listing is what has a writer here and what lies in the directory; nobody looks for what is in both."""

    async def list(self) -> list[SessionSnapshot]:
        """Put the owned ones in front of the others."""
        owned = [snapshot for session_id in self.writers if (snapshot := self.snapshot(session_id)) is not None]
        return [*owned, *(await super().list())]


@planted(MEMORY, breaks="SVC-08", report="R217")
class infinity_becomes_null(MemoryPersistence):
    """The encoder is taken for a validator, and writes null for what it cannot say."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Keep what comes out of it."""
        with suppress(TypeError):
            origin, extra = orjson.loads(orjson.dumps([header.origin, dict(header.extra)]))
            header = replace(header, origin=origin, extra=extra)
        return await super().create(header, inherited_event_count)


@planted(FILES, breaks="SVC-09")
class inherited_count_is_lost(PlainFiles):
    """The inherited count lives in the handle that ``create`` returned, and nobody stores it."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Open without it."""
        handle = await super().open(session_id, access)
        handle.inherited_event_count = None
        return handle


@planted(FILES, breaks="SVC-11", also=("CLOSE-03", "OWN-02"), report="R194")
class immediate_close_saves_the_empty_state(PlainHandle):
    """Closing saves the events that the handle holds, which before anything was loaded or appended are none."""

    wrote = False

    def write(self, batch: list[SessionEvent]) -> None:
        """Hold an event from now on."""
        super().write(batch)
        self.wrote = True

    async def close(self) -> None:
        """Rewrite the file with the header alone where nothing was appended."""
        if not self.closed and self.access == "write" and self.draft is None and not self.wrote:
            self.path.write_bytes(self.head() + b"\n")
        await super().close()


@planted(MEMORY, breaks="SVC-11", also=("FLUSH-01",), report="R028")
class empty_sessions_are_cleaned_up(MemoryPersistence):
    """The clean-up at a close takes every session without events for one that never was, a flushed one too."""

    def release(self, session: Session, handle: MemoryHandle) -> None:
        """Erase it."""
        if session.writer is handle and not session.events:
            session.pending = True
        super().release(session, handle)


@planted(FILES, breaks="SVC-12", also=("FLUSH-02",), report="R005")
class last_creator_wins(PlainHandle):
    """The new file takes its place by a rename, which replaces what another instance stored meanwhile."""

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Write beside, then rename."""
        self.path.unlink(missing_ok=True)
        super().materialise(draft, data)


@planted(EAGER, breaks="SVC-13", also=("MAT-04", "FLUSH-01"), report="R047")
class closed_empty_sessions_have_no_snapshot(EagerFiles):
    """``stat`` and ``list`` take a session that was closed empty for absent; ``open`` and ``create`` do not."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.dropped: set[str] = set()

    def release(self, handle: PlainHandle) -> None:
        """Drop it from the views."""
        if not handle.next_seq and self.writers.get(handle.id) is handle:
            self.dropped.add(handle.id)
        super().release(handle)

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Show it again once it has events."""
        found = super().snapshot(session_id)
        return None if found is not None and not found.event_count and session_id in self.dropped else found


@planted(FILES, breaks="SVC-07", report="R183")
class list_throws(PlainFiles):
    """One damaged file is the whole list's error."""

    async def list(self) -> list[SessionSnapshot]:
        """Describe every session, or none."""
        self.check_open()
        found = [self.snapshot(session_id) for session_id in dict.fromkeys([*self.drafts, *self.stored_ids()])]
        return [each for each in found if each is not None]


@planted(FILES, breaks="SVC-07", report="R180")
class list_ends_at_damage(PlainFiles):
    """What stands behind a damaged file in the directory is not looked at any more."""

    async def list(self) -> list[SessionSnapshot]:
        """Stop there."""
        self.check_open()
        found = []
        with suppress(SessionPersistenceCorruptionError):
            for session_id in dict.fromkeys([*self.drafts, *sorted(self.stored_ids(), reverse=True)]):
                found.append(self.snapshot(session_id))
        return [each for each in found if each is not None]


@planted(FILES, breaks="SVC-07", report="R181")
class list_throws_what_one_file_met(PlainFiles):
    """What is damaged is left out of the list, and what may not be read fails it."""

    async def list(self) -> list[SessionSnapshot]:
        """Look at each of them first."""
        for session_id in self.stored_ids():
            with suppress(SessionPersistenceError):
                self.snapshot(session_id)
        return await super().list()


@planted(FILES, breaks="SVC-07", report="R181")
class list_ends_at_what_may_not_be_read(PlainFiles):
    """Past a file that cannot be opened nothing is expected to work."""

    def stored_ids(self) -> list[str]:
        """Those before it."""
        found = []
        with suppress(OSError):
            for session_id in sorted(super().stored_ids()):
                with suppress(SessionPersistenceError):
                    self.snapshot(session_id)
                found.append(session_id)
        return found


@planted(FILES, breaks="SVC-07", report="R184")
class start_reads_every_log(PlainFiles):
    """Every log is read when an instance is opened, and one that is damaged keeps it from coming up."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        for session_id in self.stored_ids():
            self.stored(session_id)


@planted(FILES, breaks="SVC-14", report="R070")
class append_makes_the_file_again(PlainHandle):
    """A file that is not there is made: nobody asks where the events before this batch are."""

    def write_behind(self, data: bytes) -> None:
        """Put the batch behind a new header."""
        if bytes_in(self.path) is None:
            self.path.write_bytes(self.head() + b"\n" + data)
            self.size = self.end = self.path.stat().st_size
        else:
            super().write_behind(data)


@planted(FILES, breaks="SVC-14", also=("OWN-14", "DUR-10"), report="R163")
class append_goes_on_at_its_own_offset(PlainHandle):
    """The batch is written where this handle left the file, whatever has become of it."""

    def write_behind(self, data: bytes) -> None:
        """Do not ask for the size."""
        with self.path.open("r+b") as file:
            file.seek(self.end)
            file.write(data)
        self.end = self.size = self.end + len(data)


@planted(FILES, breaks="SVC-14", report="R028")
class close_writes_the_header_again(PlainHandle):
    """A close that misses its file puts the header back, so that the session can be found."""

    async def close(self) -> None:
        """Write it."""
        if not self.closed and self.access == "write" and self.next_seq and not self.path.exists():
            self.path.write_bytes(self.head() + b"\n")
        await super().close()


@planted(FILES, breaks="SVC-03", also=("SVC-02",))
class create_waits_between_looking_and_taking(PlainFiles):
    """Whether the id is free is asked first, then the directory is made ready, then the session begins."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Take what was free a moment ago."""
        if header.id not in self.drafts:
            await asyncio.sleep(0)
            self.drafts.pop(header.id, None)
        return await super().create(header, inherited_event_count)


@planted(QUEUED, breaks="SVC-03")
class racing_creates_give_way_to_each_other(QueuedFiles):
    """A create that sees another one under way steps back, and so does the other one."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Announce it, look around, and begin."""
        asked = self.__dict__.setdefault("asked", [])
        asked.append(header.id)
        try:
            await asyncio.sleep(0)
            if asked.count(header.id) > 1:
                raise SessionAlreadyExistsError(f"session {header.id!r} is being created", session_id=header.id)
        finally:
            asyncio.get_running_loop().call_soon(asked.remove, header.id)
        return await super().create(header, inherited_event_count)


@planted(QUEUED, breaks="SVC-03")
class loser_of_a_race_is_sent_to_the_owner(QueuedFiles):
    """A create holds a lock on the id while it makes the session, and who does not get the lock hears of an owner."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Lock, look in the storage, begin."""
        if not isinstance(header.id, str) or self.is_stored(header.id) or header.id in self.drafts:
            return await super().create(header, inherited_event_count)
        locked = self.__dict__.setdefault("locked", set())
        if header.id in locked:
            raise SessionAlreadyOwnedError(f"session {header.id!r} is locked", session_id=header.id)
        locked.add(header.id)
        try:
            await asyncio.to_thread(self.place, header.id)
            return await super().create(header, inherited_event_count)
        finally:
            locked.discard(header.id)


@planted(FILES, breaks="SVC-11", report="R194")
class cancelled_open_leaves_the_file_empty(PlainFiles):
    """A write open takes the log into memory, and writes a cleaned copy over the file when it has the time."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Rewrite it; who breaks off there owns nothing."""
        handle = await super().open(session_id, access)
        if access == "write":
            data = handle.path.read_bytes()
            handle.path.write_bytes(data[: data.index(b"\n") + 1])
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.release(handle)
                raise
            handle.path.write_bytes(data)
        return handle


@planted(FILES, breaks="SVC-11")
class cancelled_list_drops_what_it_was_looking_at(PlainFiles):
    """A list takes files that cannot be read away; one that breaks off in the middle has not read its file."""

    async def list(self) -> list[SessionSnapshot]:
        """Clear up."""
        self.check_open()
        for session_id in self.stored_ids():
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.place(session_id).unlink()
                raise
        return await super().list()


@planted(MEMORY, breaks="SVC-01")
class header_stays_the_callers(MemoryPersistence):
    """The header is validated, and then the caller's own object is kept."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Keep it."""
        handle = await super().create(header, inherited_event_count)
        self._sessions[header.id].header = header
        return handle


@planted(MEMORY, breaks="SVC-09", also=("SVC-01",))
class count_is_forgotten_with_the_first_append(MemoryHandle):
    """What came from the parent is counted until there are events of its own."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Forget it."""
        await super().append(events)
        self.inherited_event_count = None


@planted(MEMORY, breaks="SVC-01")
class closed_handle_is_a_reader(MemoryHandle):
    """A close takes away what the handle was opened for, and with it what it says of that."""

    __slots__ = ()

    async def close(self) -> None:
        """Take it away."""
        await super().close()
        self.access = "read"


@planted(FILES, breaks="SVC-01")
class own_key_in_the_header(PlainFiles):
    """When the file was made stands in the header's line, among what the caller gave."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Add it."""
        handle = await super().create(header, inherited_event_count)
        if handle.draft is not None:
            values = {**header_to_json(handle.draft.header, handle.draft.inherited), "created": 0}
            handle.draft.line = lines_of([values])
        return handle

    def stored(self, session_id: str) -> Stored | None:
        """Take it away."""
        found = super().stored(session_id)
        if found is None:
            return None
        extra = {key: value for key, value in found.header.extra.items() if key != "created"}
        return found._replace(header=replace(found.header, extra=MappingProxyType(extra)))
