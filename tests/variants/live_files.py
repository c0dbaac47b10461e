"""Two right-but-different live paths over ``plain_files``, which store what is published at other moments.

``prompt_files`` keeps no window: the loop stores one event after the other as soon as it comes round, and what can
never be stored is refused at publication. ``patient_files`` waits for a whole second, and stores in one batch; it
captures whatever is published, and tells of what cannot be stored at every flush and at the close. Appends by hand are
refused there by contiguity while something waits.

Storing awaits nothing, so nothing is ever under way. After a failure both are silent until a flush, an append or a
close has stored what waits, all of which is still there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from plain_files import PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    SessionContiguityError,
    SessionEvent,
    SessionHub,
    SessionPersistenceError,
    assert_contiguous,
    assert_understood,
    materialize_append_batch,
)

logger = logging.getLogger(__name__)

MOST = 2_000
"""Events that may wait for one session."""

SECOND = 1.0
"""The window of ``patient_files``."""


@dataclass(frozen=True, slots=True)
class Published:
    """An event as it was when it was published, or why it can never be stored."""

    seq: object
    event: SessionEvent | None
    problem: str = ""


class PromptHandle(PlainHandle):
    """Lets what is published wait until the loop comes round."""

    waiting: deque[Published]
    timer: asyncio.Handle | None
    silent: bool

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.waiting = deque()
        self.timer = None
        self.silent = False

    def publish(self, event: SessionEvent) -> None:
        """Take an event in, and see to it that it will be stored."""
        if len(self.waiting) >= MOST:
            raise SessionPersistenceError(f"session {self.id!r}: {MOST} events wait already", session_id=self.id)
        self.waiting.append(self.captured(event))
        if self.timer is None and not self.silent:
            self.timer = self.later()

    def captured(self, event: SessionEvent) -> Published:
        """A copy of it.

        Raises:
            TypeError, ValueError, SessionPersistenceError: it can never be stored; the message names its seq.
        """
        seq = event.get("seq")
        try:
            batch = materialize_append_batch([event])
            assert_understood(batch, session_id=self.id)
            assert_contiguous(batch, self.next_seq + len(self.waiting), session_id=self.id)
        except Exception as problem:
            problem.add_note(f"the event was published with seq {seq!r:.40}")
            raise
        return Published(seq, batch[0])

    def later(self) -> asyncio.Handle:
        """Store it when the loop comes round."""
        return asyncio.get_running_loop().call_soon(self.store_in_background)

    def store_in_background(self) -> None:
        """Store what waits; a failure is logged, and left to the next barrier."""
        self.timer = None
        try:
            self.store_waiting()
        except (SessionPersistenceError, OSError):
            self.silent = True
            logger.warning(
                "session %r: %d published events wait for a flush", self.id, len(self.waiting), exc_info=True
            )

    def store_waiting(self) -> None:
        """Store one event after the other."""
        while self.waiting:
            self.store_first(1)

    def store_first(self, count: int) -> None:
        """Store so many of them; they leave the queue when they are in the file."""
        self.write([each.event for each in list(self.waiting)[:count] if each.event is not None])
        for _ in range(count):
            self.waiting.popleft()

    def barrier(self) -> None:
        """Store what waits now, and raise where that fails."""
        self.stop()
        self.store_waiting()
        self.silent = False

    def stop(self) -> None:
        """No timer ends any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    async def append(self, events: list[SessionEvent]) -> None:
        """What was published goes first."""
        self.check_writable()
        if self.waiting:
            batch = materialize_append_batch(events)
            assert_contiguous(batch, self.next_seq + len(self.waiting), session_id=self.id)
            assert_understood(batch, session_id=self.id)
            self.barrier()
        await super().append(events)

    async def flush(self) -> None:
        """A barrier for what was published, too."""
        self.check_writable()
        self.barrier()
        await super().flush()

    async def close(self) -> None:
        """Store what waits, whatever comes of it, and give ownership up."""
        self.let_go(self.last)

    def last(self) -> None:
        """What a close has to do yet."""
        self.stop()
        try:
            self.store_waiting()
        finally:
            self.waiting.clear()
            self.undo()


class PatientHandle(PromptHandle):
    """Lets what is published wait for a second from the first of it, whatever it is."""

    def captured(self, event: SessionEvent) -> Published:
        """A copy, or the reason why there is none."""
        seq = event.get("seq") if isinstance(event, dict) else None
        try:
            batch = materialize_append_batch([event])
            assert_understood(batch, session_id=self.id)
        except (TypeError, ValueError, SessionPersistenceError) as problem:
            return Published(seq, None, str(problem))
        return Published(seq, batch[0])

    def later(self) -> asyncio.Handle:
        """Store it when the second is over."""
        return asyncio.get_running_loop().call_later(SECOND, self.store_in_background)

    def store_waiting(self) -> None:
        """Store as much as continues the log, and refuse what does not; that stays, and keeps its place."""
        fits = 0
        for place, each in enumerate(self.waiting):
            if each.event is None or each.seq != self.next_seq + place:
                break
            fits += 1
        if fits:
            self.store_first(fits)
        if self.waiting:
            first, due = self.waiting[0], self.next_seq
            said = f"session {self.id!r}: the event published with seq {first.seq!r:.40} cannot be stored at seq {due}"
            if first.event is None:
                raise SessionPersistenceError(f"{said}: {first.problem}", session_id=self.id)
            raise SessionContiguityError(said, expected=due, got=first.event["seq"], session_id=self.id)

    async def append(self, events: list[SessionEvent]) -> None:
        """Refused while anything waits, for what waits comes first."""
        self.check_writable()
        if self.waiting:
            batch = materialize_append_batch(events)
            assert_understood(batch, session_id=self.id)
            if batch:
                due, got = self.next_seq, batch[0]["seq"]
                due += len(self.waiting) if got == due else 0
                said = f"session {self.id!r}: {len(self.waiting)} published events come before seq {got}; flush first"
                raise SessionContiguityError(said, expected=due, got=got, session_id=self.id)
        await PlainHandle.append(self, events)


class PromptFiles(PlainFiles):
    """Has handles that take published events."""

    handle_type = PromptHandle


class PatientFiles(PlainFiles):
    """The same, with another way of waiting."""

    handle_type = PatientHandle


def subscribe(service: PlainFiles, hub: SessionHub) -> None:
    """Answer the signals of the hub for the sessions that have a writer."""

    def on_event(session_id: str, event: SessionEvent) -> None:
        writer = service.writers.get(session_id)
        if isinstance(writer, PromptHandle):
            writer.publish(event)

    async def on_flush(session_id: str) -> None:
        writer = service.writers.get(session_id)
        if writer is not None:
            await writer.flush()

    async def on_disposed(session_id: str) -> None:
        writer = service.writers.get(session_id)
        if writer is not None:
            try:
                await writer.close()
            except (SessionPersistenceError, OSError):
                logger.warning("session %r: its last events were not stored", session_id, exc_info=True)

    hub.subscribe(on_event=on_event, on_flush=on_flush, on_disposed=on_disposed)


prompt_files = replace(
    plain_files,
    name="prompt-files",
    open=PromptFiles,
    capabilities=replace(plain_files.capabilities, live_window=0.0),
    live=subscribe,
)
"""Stores at once, one event at a time."""

patient_files = replace(
    plain_files,
    name="patient-files",
    open=PatientFiles,
    capabilities=replace(plain_files.capabilities, live_window=SECOND),
    live=subscribe,
)
"""Stores after a second, all in one batch."""
