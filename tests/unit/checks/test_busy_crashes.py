"""What nobody synced is found to be lost: what a long log was rewritten into, and what came beside a flush."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from conformance.checks import SCENARIOS
from conformance.checks.script import Script
from conformance.clauses import Violation
from conformance.contract import Access, Backend, SessionEvent, SessionHeader
from conformance.drivers.execution import Execution
from conformance.drivers.workspace import Workspace

VARIANTS = Path(__file__).resolve().parents[2] / "variants"
sys.path.append(str(VARIANTS))
try:
    from good_store import GoodFiles, GoodHandle, good_store
    from plain_handles import PlainHandle
    from queued_files import QueuedFiles, QueuedHandle, outcome_of, take_note
finally:
    sys.path.remove(str(VARIANTS))

CHECKS = {check.name: check for check in SCENARIOS}


class _Compacting(GoodHandle):
    """Every 256 events the log is written anew and put in the place of the old one."""

    def write_behind(self, data: bytes) -> None:
        super().write_behind(data)
        if (self.next_seq + data.count(b"\n")) // 256 > self.next_seq // 256:
            os.replace(self.service.write_temporary(self.path, self.path.read_bytes()), self.path)


class _Compacted(GoodFiles):
    handle_type = _Compacting


COMPACTED = Backend(name="compacted", open=_Compacted, capabilities=good_store.capabilities)


class _InThreads(QueuedHandle, GoodHandle):
    """Appends stand in line and are written in threads; a flush that finds nobody in line syncs beside them."""

    service: _Threads
    joins: ClassVar[bool] = False
    syncing: asyncio.Task[None] | None = None

    async def append(self, events: list[SessionEvent]) -> None:
        await QueuedHandle.append(self, events)

    async def flush(self) -> None:
        self.check_writable()
        if self.is_busy or (self.draft is not None and not self.draft.stored):
            await self.in_line(self.store_all)
        elif not self.joins or self.syncing is None or self.syncing.done():
            self.syncing = asyncio.create_task(asyncio.to_thread(self.settle))
            self.syncing.add_done_callback(take_note)
            await outcome_of(self.syncing)
        else:
            await outcome_of(self.syncing)

    def store_all(self) -> None:
        super().store_all()
        self.settle()


class _Joining(_InThreads):
    """A flush takes the sync that is under way for its own, whatever was appended since that began."""

    joins = True


class _Threads(QueuedFiles, GoodFiles):
    handle_type: ClassVar[type[PlainHandle]] = _InThreads

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.suspect = set()

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> PlainHandle:
        return await GoodFiles.create(self, header, inherited_event_count)

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        return await GoodFiles.open(self, session_id, access)


class _Joined(_Threads):
    handle_type = _Joining


THREADS = Backend(name="threads", open=_Threads, capabilities=good_store.capabilities)
JOINED = Backend(name="joined", open=_Joined, capabilities=good_store.capabilities)


@pytest.mark.parametrize(
    ("name", "backend", "clause"),
    [
        ("a_log_of_a_thousand_events_was_covered", good_store, None),
        ("a_log_of_a_thousand_events_was_covered", COMPACTED, "DUR-01"),
        ("a_flush_beside_another_covers_what_came_between", THREADS, None),
        ("a_flush_beside_another_covers_what_came_between", JOINED, "DUR-01"),
    ],
    ids=["good", "compacted", "each for itself", "joined"],
)
def test_what_nobody_synced_is_found(name: str, backend: Backend, clause: str | None) -> None:
    """The sync of a file covers nothing under another name, and nothing that was written behind its begin."""
    with Workspace() as workspace:
        execution = Execution(backend, workspace.fresh_root(), crashes=True)
        found = None
        try:
            CHECKS[name].body(Script(execution))
        except Violation as violation:
            found = violation.clause
        finally:
            execution.finish()
    assert found == clause
