"""Mutants of REV: what a revision tells apart, what leaves it alone, and the counts beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planting import FILES, MEMORY, MemoryPersistence, PlainFiles, PlainHandle, lines_of, load, path_of, planted

from conformance.contract import Access, SessionSnapshot


@planted(MEMORY, breaks="REV-01", sentinel=True)
class listing_has_revisions_of_its_own(MemoryPersistence):
    """``list`` takes the revision from another place than ``stat``."""

    async def list(self) -> list[SessionSnapshot]:
        """Mark where it comes from."""
        return [replace(found, revision=f"{found.revision}, listed") for found in await super().list()]


@planted(MEMORY, breaks="REV-02")
class revision_is_of_the_creation(MemoryPersistence):
    """The revision is written when the session begins, and no append touches it."""

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Tell which session it is, and nothing of its log."""
        found = await super().stat(session_id)
        return found and replace(found, revision=found.revision.split(".")[0])

    async def list(self) -> list[SessionSnapshot]:
        """The same as ``stat``."""
        return [replace(found, revision=found.revision.split(".")[0]) for found in await super().list()]


@planted(FILES, breaks="REV-03")
class opening_makes_a_revision(PlainFiles):
    """The revision counts write opens: taking ownership is stored as a change."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opens: dict[str, int] = {}

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Count."""
        handle = await super().open(session_id, access)
        if access == "write":
            self.opens[session_id] = self.opens.get(session_id, 0) + 1
        return handle

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Put the count in."""
        found = super().snapshot(session_id)
        return found and replace(found, revision=f"{found.revision} {self.opens.get(session_id, 0)}")


@planted(FILES, breaks="REV-04")
class revision_is_cached(PlainFiles):
    """The revision is computed anew after a change by this instance only."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.revisions: dict[str, str] = {}

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Take the revision from the cache while no writer is active here."""
        found = super().snapshot(session_id)
        if found is None or session_id in self.writers:
            return found
        return replace(found, revision=self.revisions.setdefault(session_id, found.revision))

    def release(self, handle: PlainHandle) -> None:
        """A writer may have changed the log."""
        self.revisions.pop(handle.id, None)
        super().release(handle)


@planted(MEMORY, breaks="REV-05")
class header_is_counted(MemoryPersistence):
    """The event count is the number of records, and the header is one of them."""

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """Count one too many."""
        found = await super().stat(session_id)
        return found and replace(found, event_count=(found.event_count or 0) + 1)

    async def list(self) -> list[SessionSnapshot]:
        """The same as ``stat``."""
        return [replace(found, event_count=(found.event_count or 0) + 1) for found in await super().list()]


@planted(FILES, breaks="REV-05")
class size_is_of_the_events(PlainFiles):
    """The size is that of the stored events, without the header's line."""

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Add up the lines of events."""
        found, stored = super().snapshot(session_id), load(path_of(self.root, session_id))
        return found if stored is None else found and replace(found, size_bytes=len(lines_of(stored.events)))


@planted(FILES, breaks="REV-04", report="R263")
class revision_is_of_size_and_time(PlainFiles):
    """The revision is made of what the file system says of the file."""

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Ask for its size and time stamp."""
        found, path = super().snapshot(session_id), self.place(session_id)
        if found is None or not path.exists():
            return found
        return replace(found, revision=f"{path.stat().st_size} {path.stat().st_mtime_ns}")


@planted(FILES, breaks="REV-04", report="R269")
class revision_never_goes_back(PlainFiles):
    """What is shorter than what was told already is taken for a look that came too late."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.told: dict[str, SessionSnapshot] = {}

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Tell the longer one again."""
        found, told = super().snapshot(session_id), self.told.get(session_id)
        if found is None or (told is not None and (found.event_count or 0) < (told.event_count or 0)):
            return found and told
        self.told[session_id] = found
        return found
