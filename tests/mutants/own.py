"""Mutants of OWN: one owner, kept while it is needed, and given up by nobody else."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from planting import (
    BUFFERED,
    FILES,
    FRAMES,
    GOOD,
    MEMORY,
    QUEUED,
    BufferedHandle,
    Crashes,
    GoodFiles,
    GoodHandle,
    JsonlPersistence,
    MemoryHandle,
    MemoryPersistence,
    PlainFiles,
    PlainHandle,
    QueuedFiles,
    QueuedHandle,
    Session,
    planted,
)

from conformance.contract import (
    Access,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionEvent,
    SessionHeader,
)
from reference_backend.opening import Owned
from reference_backend.service import _Gate


@planted(FILES, breaks="OWN-01")
class owner_is_waited_for(PlainFiles):
    """A session in use is tried again for a while before it is called owned, as engines do it with locks."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Try for half a second."""
        for _ in range(50):
            try:
                return await super().open(session_id, access)
            except SessionAlreadyOwnedError:
                await asyncio.sleep(0.01)
        return await super().open(session_id, access)


@planted(FILES, breaks="OWN-01")
class owner_is_given_a_moment_to_go(PlainFiles):
    """A session in use is refused when its owner has not let go within a few milliseconds of being asked to."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Wait for the release, and not for long."""
        if access == "write" and session_id in self.writers:
            gone = self.__dict__.setdefault("gone", {}).setdefault(session_id, asyncio.Event())
            with suppress(TimeoutError):
                await asyncio.wait_for(gone.wait(), 0.005)
        return await super().open(session_id, access)

    def release(self, handle: PlainHandle) -> None:
        """Tell who waits."""
        super().release(handle)
        self.__dict__.setdefault("gone", {}).pop(handle.id, asyncio.Event()).set()


@planted(MEMORY, breaks="OWN-01", report="R002", sentinel=True)
class second_writer_is_let_in(MemoryPersistence):
    """Nothing marks a session as being written."""

    async def open(self, session_id: str, access: Access) -> MemoryHandle:
        """Take ownership whoever has it."""
        session = self._sessions.get(session_id)
        if session is not None and access == "write":
            session.writer = None
        return await super().open(session_id, access)


@planted(MEMORY, breaks="OWN-02", report="R045")
class close_keeps_ownership(MemoryPersistence):
    """The path of an ordinary close releases nothing."""

    def release(self, session: Session, handle: MemoryHandle) -> None:
        """Erase what was never stored, and forget the rest of the work."""
        if session.pending:
            super().release(session, handle)


@planted(FILES, breaks="OWN-02", report="R015")
class next_writer_goes_on_where_the_last_one_was(PlainFiles):
    """The next seq is cached by id in each instance, and a write open believes the cache more than the file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.remembered: dict[str, int] = {}

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Put the remembered seq over the stored one."""
        handle = await super().open(session_id, access)
        handle.next_seq = self.remembered.get(session_id, handle.next_seq)
        return handle

    def release(self, handle: PlainHandle) -> None:
        """Remember where the writer was."""
        if self.writers.get(handle.id) is handle:
            self.remembered[handle.id] = handle.next_seq
        super().release(handle)


@planted(MEMORY, breaks="OWN-03", report="R074")
class readers_wait_for_the_writer(MemoryPersistence):
    """Reading takes the lock that the writer holds."""

    async def open(self, session_id: str, access: Access) -> MemoryHandle:
        """Refuse every open while there is a writer."""
        session = self._sessions.get(session_id)
        if session is not None and session.writer is not None:
            raise SessionAlreadyOwnedError(f"session {session_id!r} is busy", session_id=session_id)
        return await super().open(session_id, access)


@planted(MEMORY, breaks="OWN-03")
class read_open_takes_ownership(MemoryPersistence):
    """Every handle registers as the owner, readers too."""

    async def open(self, session_id: str, access: Access) -> MemoryHandle:
        """Register where nobody is registered."""
        handle = await super().open(session_id, access)
        if handle._session.writer is None:
            handle._session.writer = handle
        return handle


@planted(FILES, breaks="OWN-04", report="R041")
class failed_open_keeps_ownership(PlainFiles):
    """The id is claimed before it is known to exist, and the error path does not give it back."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.claimed: set[str] = set()

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Claim first."""
        if access == "write" and session_id in self.claimed:
            raise SessionAlreadyOwnedError(f"session {session_id!r} is claimed", session_id=session_id)
        if access == "write":
            self.claimed.add(session_id)
        handle = await super().open(session_id, access)
        self.claimed.discard(session_id)
        return handle


@planted(GOOD, breaks="OWN-04", report="R041")
class failed_repair_keeps_ownership(GoodFiles):
    """A writer is registered before what it found is made durable, and stays where that fails."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Register, then repair."""
        handle = await PlainFiles.open(self, session_id, access)
        if access == "write" and isinstance(handle, GoodHandle):
            handle.take_over()
        return handle


@planted(MEMORY, breaks="OWN-04", also=("SVC-08",), report="R036")
class failed_create_leaves_its_id(MemoryPersistence):
    """The id is entered before the header is validated."""

    def __init__(self) -> None:
        super().__init__()
        self.entered: set[object] = set()

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Refuse an id that any earlier create entered."""
        if header.id in self.entered and header.id not in self._sessions:
            raise SessionAlreadyExistsError(f"session {header.id!r} exists", session_id=header.id)
        self.entered.add(header.id)
        handle = await super().create(header, inherited_event_count)
        self.entered.discard(header.id)
        return handle


@planted(MEMORY, breaks="OWN-06")
class reader_may_append(MemoryHandle):
    """The access is a label that nothing looks at."""

    __slots__ = ()

    def _check_writable(self) -> None:
        self._check_open()


@planted(FILES, breaks="OWN-06")
class empty_append_is_waved_through(PlainHandle):
    """An empty batch returns before anyone asks whether the handle may write."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Look at the batch first."""
        self.check_open()
        if events != []:
            await super().append(events)


@planted(BUFFERED, breaks="OWN-07", report="R092")
class close_that_fails_keeps_ownership(BufferedHandle):
    """What waits is written first, and nothing is given up where that fails."""

    async def close(self) -> None:
        """Write, then close."""
        if not self.closed and self.access == "write" and self.service.waiting.get(self.id):
            self.drain()
        await super().close()


@planted(FILES, breaks="OWN-11", also=("FLUSH-01",), report="R050")
class own_writes_look_foreign(PlainHandle):
    """The owner compares the file with what it was before its own latest append."""

    def write_behind(self, data: bytes) -> None:
        """Write, and go on with the old size."""
        super().write_behind(data)
        self.size -= len(data)


@planted(MEMORY, breaks="OWN-12", report="R030")
class closing_again_releases_the_next_owner(MemoryHandle):
    """Ownership is released by id: who closes again releases whoever owns the session by then."""

    __slots__ = ()

    async def close(self) -> None:
        """Release first, then see whether there is anything to close."""
        if self._closed:
            self._session.writer = None
        await super().close()


@planted(FILES, breaks="OWN-14", also=("TORN-02", "DUR-10"), report="R016")
class seq_is_checked_in_memory_only(PlainHandle):
    """An append trusts its own cursor and never looks at the stored tail."""

    def write_behind(self, data: bytes) -> None:
        """Write at the end of the file, wherever that is by now."""
        self.end = self.size = self.path.stat().st_size
        super().write_behind(data)


class _Few(dict[str, PlainHandle]):
    """The sixty-four entries that were used last."""

    def __setitem__(self, key: str, value: PlainHandle) -> None:
        super().__setitem__(key, value)
        if len(self) > 64:
            del self[next(iter(self))]


@planted(FILES, breaks="OWN-01")
class owners_are_a_bounded_cache(PlainFiles):
    """Who owns which session is kept in a cache of a fixed size, like everything else that is kept."""

    def __init__(self, root: Path) -> None:
        """Bound it."""
        super().__init__(root)
        self.writers = _Few()


@planted(MEMORY, breaks="OWN-01", also=("OWN-11",))
class idle_owner_is_put_out(MemoryPersistence):
    """Whoever has owned a session for five minutes is taken for dead, whatever it did meanwhile."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> MemoryHandle:
        """Set the alarm."""
        handle = await super().create(header, inherited_event_count)
        session = self._sessions[header.id]
        asyncio.get_running_loop().call_later(300, setattr, session, "writer", None)
        return handle


@planted(GOOD, breaks="OWN-08", also=("DUR-07", "DUR-06"), crash=Crashes("kill", "none of these"))
class lock_file_outlives_its_owner(GoodFiles):
    """Whoever owns a session keeps a file beside its log, and a file that is there means an owner that lives."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Look for the file of another owner, and leave one."""
        handle = await super().open(session_id, access)
        mark = self.place(session_id).with_suffix(".owner")
        if access == "write" and mark.exists():
            self.writers.pop(session_id)
            raise SessionAlreadyOwnedError(f"session {session_id!r} is owned", session_id=session_id)
        if access == "write":
            mark.touch()
        return handle

    def release(self, handle: PlainHandle) -> None:
        """Take the file away."""
        super().release(handle)
        self.place(handle.id).with_suffix(".owner").unlink(missing_ok=True)


@planted(FILES, breaks="OWN-05")
class open_waits_between_looking_and_owning(PlainFiles):
    """Whether somebody owns the session is asked before the file is loaded, and not again."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Look, load, own."""
        if access != "write" or session_id in self.writers:
            return await super().open(session_id, access)
        await asyncio.sleep(0)
        self.writers.pop(session_id, None)
        return await super().open(session_id, access)


@planted(QUEUED, breaks="OWN-05")
class racing_opens_give_way_to_each_other(QueuedFiles):
    """A write open takes a ticket, and owns only where nobody took one after it."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Look who came last."""
        if access != "write" or session_id in self.writers or self.stored(session_id) is None:
            return await super().open(session_id, access)
        tickets = self.__dict__.setdefault("tickets", {})
        ticket = tickets[session_id] = tickets.get(session_id, 0) + 1
        try:
            await asyncio.to_thread(self.stored, session_id)
            if tickets[session_id] != ticket or ticket > 1:
                raise SessionAlreadyOwnedError(f"session {session_id!r} is being opened", session_id=session_id)
        finally:
            tickets[session_id] -= 1
        return await super().open(session_id, access)


@planted(QUEUED, breaks="OWN-04")
class cancelled_open_keeps_the_session(QueuedFiles):
    """Ownership is taken first, then the log is loaded; who breaks off there owns for good."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Own, then load."""
        handle = await super().open(session_id, access)
        await asyncio.to_thread(self.stored, session_id)
        return handle


@planted(QUEUED, breaks="OWN-04", also=("SVC-11",))
class cancelled_create_leaves_the_session(QueuedFiles):
    """A session is begun, then its directory is made; who breaks off there has begun it."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        """Begin, then make the directory."""
        handle = await super().create(header, inherited_event_count)
        await asyncio.to_thread(self.make_directories, handle.path.parent)
        return handle


@planted(QUEUED, breaks="OWN-02", also=("CLOSE-06", "SEQ-05"))
class close_lets_go_before_it_has_stored(QueuedHandle):
    """A close gives ownership up at its call, and stores what waits after that: the next owner begins before it."""

    def begin_to_close(self) -> asyncio.Task[None]:
        """Let go, then stand in line."""
        if self.closing is None and not self.failed and (self.draft is None or self.draft.stored):
            self.service.release(self)
        return super().begin_to_close()


@planted(FILES, breaks="OWN-01")
class refusal_names_another_session(PlainFiles):
    """The refusal for an owner carries the id of whoever was refused first."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Make it once, and raise it again."""
        try:
            return await super().open(session_id, access)
        except SessionAlreadyOwnedError as error:
            raise self.__dict__.setdefault("refusal", error) from None


@planted(FRAMES, breaks="OWN-04", also=("OWN-02", "FAULT-06"))
class long_log_stays_owned_when_its_open_is_cancelled(JsonlPersistence):
    """A long log is opened in a thread; where nobody waits for that any more, nobody gives back what it took."""

    async def _give_back(self, taking: asyncio.Future[Owned], session_id: str, gate: _Gate) -> None:
        """Wait for it, and let the next one in."""
        await asyncio.wait({taking})
        self.__dict__.setdefault("taken", []).append(taking)
        self._leave(session_id, gate)
