"""The live write path: events that a program publishes on its session hub, on their way into the log.

A backend subscribes once. What is published for a session with an active write handle waits in that handle's
``LiveQueue``, as encoded lines, until its window ends or something that has to be a barrier comes. Storing it is a
mutation like any other, in the handle's order of calls; ``handle`` does that. What is here does no I/O.

The rules, in the order in which they matter:

- an event leaves the queue only when the log has it: what failed is still there, in order, ahead of newer events;
- the first event that waits starts the window, and later ones join it; events published while a batch is being stored
  have a window of their own, from the first of them;
- after a failure the queue is silent: no window starts before an explicit flush, append or close stored what waited.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from conformance.contract import (
    SessionContiguityError,
    SessionEvent,
    SessionHub,
    SessionPersistenceError,
    assert_understood,
    materialize_append_batch,
)
from reference_backend.jobs import finished
from reference_backend.positions import MAX_TEXT
from reference_backend.records import encode_lines

if TYPE_CHECKING:
    from reference_backend.handle import WriteHandle
    from reference_backend.service import JsonlPersistence

logger = logging.getLogger("torntail.reference")

WINDOW = 0.2
"""Seconds from the publication of the first waiting event until it is being stored."""

MAX_WAITING = 10_000
"""Events that one session may have waiting. Whoever publishes more is told so: memory stays bounded while storage is
down (LIVE-11)."""

MAX_WAITING_BYTES = 8 * 1024 * 1024
"""Bytes of JSON lines that may wait for one session; a larger event is taken where nothing waits. Either way they fit
in one batch, so that none has to be split."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An event as it was when it was published, and when that was (``loop.time()``)."""

    seq: int
    line: bytes
    since: float


@dataclass(frozen=True, slots=True)
class Taken:
    """What goes into the log next: the lines of a batch that continues it, perhaps of none.

    Attributes:
        refused: the event behind them does not continue the log, and nothing behind it may be stored in its place.
    """

    lines: bytes
    count: int
    refused: SessionContiguityError | None

    def without_refusal(self) -> Taken:
        """The same lines, whatever stands behind them."""
        return self if self.refused is None else Taken(self.lines, self.count, None)


_NOTHING = Taken(b"", 0, None)


class LiveQueue:
    """The published events of one write handle that its log does not have yet."""

    def __init__(self, session_id: str, window_ended: Callable[[], None]) -> None:
        self._session_id = session_id
        self._window_ended = window_ended
        self._loop = asyncio.get_running_loop()
        self._events: deque[_Waiting] = deque()
        self._bytes = 0
        self._stored = 0
        self._under_way = 0
        self._window: asyncio.TimerHandle | None = None
        self._is_due = False
        self._due = 0
        self._is_silent = False

    def __len__(self) -> int:
        """How many events wait, those included that are being stored just now."""
        return len(self._events)

    @property
    def mark(self) -> int:
        """How many events were published so far."""
        return self._stored + len(self._events)

    def publish(self, event: SessionEvent) -> None:
        """Capture an event and start the window where none runs.

        Raises:
            TypeError, ValueError, SessionFormatUnsupportedError: it can never be stored; the message names its seq.
            SessionPersistenceError: too much waits already.
        """
        seq, line = self._captured(event)
        if self._events and (len(self._events) >= MAX_WAITING or self._bytes + len(line) > MAX_WAITING_BYTES):
            raise SessionPersistenceError(
                f"session {self._session_id!r}: the event published with seq {seq} is not taken, for"
                f" {len(self._events)} events of {self._bytes} bytes wait already; at most {MAX_WAITING} of"
                f" {MAX_WAITING_BYTES} bytes may: flush the session",
                session_id=self._session_id,
            )
        self._events.append(_Waiting(seq, line, self._loop.time()))
        self._bytes += len(line)
        self._start_window()

    def take(self, next_seq: int, *, before: int | None = None) -> Taken:
        """The longest row of waiting events that continues a log at ``next_seq``; they stay in the queue.

        Args:
            before: a ``mark``; only what was published before it.
        """
        if not self._events:
            return _NOTHING
        limit = len(self._events) if before is None else before - self._stored
        lines: list[bytes] = []
        refused: SessionContiguityError | None = None
        for seq, event in enumerate(islice(self._events, max(limit, 0)), start=next_seq):
            if event.seq != seq:
                refused = SessionContiguityError(
                    f"session {self._session_id!r}: the event published with seq {event.seq} cannot be stored, nor any"
                    f" behind it: expected seq {seq}, got {event.seq}",
                    expected=seq,
                    got=event.seq,
                    session_id=self._session_id,
                )
                break
            lines.append(event.line)
        return Taken(b"".join(lines), len(lines), refused)

    def take_due(self, next_seq: int, due: int | None = None) -> Taken:
        """All that waits and continues the log; refused only for what was published before that ``mark``.

        A later event may stand behind an append that is in line: then it does not fit yet, and is left where it is.

        Args:
            due: by default the mark at the end of the latest window.
        """
        taken = self.take(next_seq)
        is_later = self._stored + taken.count >= (self._due if due is None else due)
        return replace(taken, refused=None) if is_later else taken

    def begin(self, taken: Taken, *, all_of_it: bool) -> None:
        """These events are being stored now; no window is theirs any more.

        Args:
            all_of_it: everything that waits was to be stored: what is refused is not tried again by itself.
        """
        self._under_way = taken.count
        if taken.count or all_of_it:
            self._is_silent = all_of_it and taken.refused is not None
            self._stop_window()
            self._start_window()

    def end(self, stored: int) -> None:
        """The log has so many of the events that were begun; a shortfall is a failure."""
        for _ in range(stored):
            self._bytes -= len(self._events.popleft().line)
        self._stored += stored
        if stored < self._under_way:
            self._is_silent = True
            self._stop_window()
        self._under_way = 0

    def resume(self) -> None:
        """The log went on without these events: what was refused may fit now, and is tried once in a new window."""
        if self._is_silent and self._events:
            self._is_silent = False
            self._window = self._loop.call_at(self._loop.time() + WINDOW, self._end_window)

    def due_is_done(self) -> None:
        """What the end of the window asked for has its turn."""
        self._is_due = False

    def stop(self) -> None:
        """The handle is closed: no window ends any more, and what could not be stored is given up."""
        self._is_silent = True
        self._stop_window()
        self._events.clear()

    def _captured(self, event: SessionEvent) -> tuple[int, bytes]:
        try:
            batch = materialize_append_batch([event])
            assert_understood(batch, session_id=self._session_id)
            # A copy: the encoder's own bytes keep the room it reserved for them, which is many times their size.
            line = bytes(memoryview(encode_lines(batch)))
            if len(line) > MAX_TEXT:
                raise ValueError(f"{len(line)} bytes as a JSON line, at most {MAX_TEXT} fit in one batch")
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            seq = event.get("seq") if type(event) is dict else None
            named = f"seq {seq}" if type(seq) is int and seq.bit_length() < 64 else "no usable seq"
            raise kind(
                f"session {self._session_id!r}: the event published with {named} cannot be stored: {error}"
            ) from error
        return batch[0]["seq"], line

    def _start_window(self) -> None:
        # The first event that is not being stored just now decides, whenever it was published. While a batch is due but
        # has not had its turn, newer events still join it.
        if self._window is None and not self._is_due and not self._is_silent and len(self._events) > self._under_way:
            self._window = self._loop.call_at(self._events[self._under_way].since + WINDOW, self._end_window)

    def _stop_window(self) -> None:
        if self._window is not None:
            self._window.cancel()
            self._window = None

    def _end_window(self) -> None:
        self._window = None
        self._is_due = True
        self._due = self.mark
        self._window_ended()


def subscribe(persistence: JsonlPersistence, hub: SessionHub) -> None:
    """Subscribe a service to the session hub, until it is closed.

    Events go to the handle that is active when they are published; where there is none, nothing is kept (LIVE-07).
    """

    def on_event(session_id: str, event: SessionEvent) -> None:
        owner = persistence.owner(session_id)
        if owner is not None and not owner.is_closing:
            owner.publish(event)

    async def on_flush(session_id: str) -> None:
        owner = persistence.owner(session_id)
        if owner is not None:
            # What was published before a close is the close's to store, and to answer for.
            await (owner.close() if owner.is_closing else owner.flush())

    def on_disposed(session_id: str) -> Awaitable[None] | None:
        owner = persistence.owner(session_id)
        if owner is None:
            return None
        # Begun here and not in the task: what is called next already meets a handle that is being closed.
        owner.begin_to_close()
        return finished(persistence.jobs.spawn(_close_and_tell(owner)))

    persistence.when_closed(hub.subscribe(on_event=on_event, on_flush=on_flush, on_disposed=on_disposed))


async def _close_and_tell(owner: WriteHandle) -> None:
    try:
        await owner.close()
    except Exception:
        # The hub has nobody who could do anything about it; whoever closes the handle again hears of it.
        logger.warning("session %r: closing its handle at the session's end failed", owner.id, exc_info=True)
