"""A right-but-different live path in memory: an event is in the log when it has been published, and nothing ever waits.

What does not fit is refused at publication, as an append by hand would be. No flush has anything to do, and no window
ever runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.contract import (
    SessionEvent,
    SessionHub,
    assert_contiguous,
    assert_understood,
    materialize_append_batch,
)
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory


class LiveMemory(MemoryPersistence):
    """The memory backend, with an append that the hub may call."""

    __slots__ = ()

    def writer(self, session_id: str) -> MemoryHandle | None:
        """The session's owner."""
        session = self._sessions.get(session_id)
        return None if session is None else session.writer

    def publish(self, session_id: str, event: SessionEvent) -> None:
        """Append a published event where the session has an owner.

        Raises:
            TypeError, ValueError, SessionPersistenceError: it does not fit; a note names its seq.
        """
        session = self._sessions.get(session_id)
        if session is None or session.writer is None:
            return
        try:
            batch = materialize_append_batch([event])
            assert_contiguous(batch, len(session.events), session_id=session_id)
            assert_understood(batch, session_id=session_id)
        except Exception as problem:
            problem.add_note(f"the event was published with seq {event.get('seq')!r:.40}")
            raise
        session.events += batch
        session.pending = False


def subscribe(service: LiveMemory, hub: SessionHub) -> None:
    """Answer the signals of the hub."""

    async def on_flush(session_id: str) -> None:
        writer = service.writer(session_id)
        if writer is not None:
            await writer.flush()

    async def on_disposed(session_id: str) -> None:
        writer = service.writer(session_id)
        if writer is not None:
            await writer.close()

    hub.subscribe(on_event=service.publish, on_flush=on_flush, on_disposed=on_disposed)


def open_live_memory(root: Path) -> LiveMemory:
    """A new empty instance."""
    return LiveMemory()


live_memory = replace(
    memory,
    name="live-memory",
    open=open_live_memory,
    capabilities=replace(memory.capabilities, live_window=0.0),
    live=subscribe,
)
"""Its window has no length."""
