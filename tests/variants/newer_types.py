"""A right-but-different backend: it stores event types that it does not know, and refuses to show a log that holds one.

Claims ``unknown_types="store"``. Everything else is as in ``plain_files``: ``stat`` and ``list`` tell of such a session
as of any other, its reads and write opens name the type and the seq, and its writer may go on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from line_files import Stored, load
from plain_files import PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    Access,
    Capabilities,
    SessionEvent,
    assert_contiguous,
    materialize_append_batch,
    validate_stored_events,
)


class NewerHandle(PlainHandle):
    """Takes any type, and serves a log only where it knows all of them."""

    def checked(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """Check all but the types."""
        batch = materialize_append_batch(events)
        assert_contiguous(batch, self.next_seq, session_id=self.id)
        return batch

    def stored_events(self) -> list[SessionEvent]:
        """All events, or a refusal."""
        events = super().stored_events()
        validate_stored_events(events, session_id=self.id, location=str(self.path))
        return events


class NewerTypes(PlainFiles):
    """Looks at the types where events are wanted, and nowhere else."""

    handle_type: ClassVar[type[PlainHandle]] = NewerHandle

    def stored(self, session_id: str) -> Stored | None:
        """Whatever types it holds."""
        return load(self.place(session_id), closed_vocabulary=False, upto=self.upto(session_id))

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Refuse a writer that could not read what it continues."""
        handle = await super().open(session_id, access)
        if access == "write":
            try:
                handle.stored_events()
            except BaseException:
                await handle.close()
                raise
        return handle


newer_types = replace(
    plain_files,
    name="newer-types",
    open=NewerTypes,
    capabilities=Capabilities(durability="process-kill", unknown_types="store"),
)
"""Unknown types are stored."""
