"""Mutants of LIVE: windows, barriers, failures in the background, and who gets what is published."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from planting import FRAMES, LIVE_QUEUE, SIGNALS, LiveQueue, Signals, WriteHandle, planted

from conformance.contract import SessionEvent, assert_contiguous
from reference_backend.live import WINDOW, Taken, _Waiting
from reference_backend.records import encode_lines

# -- windows ---------------------------------------------------------------------------------------------------------


@planted(LIVE_QUEUE, breaks="LIVE-01", also=("LIVE-02",), report="R095", sentinel=True)
class window_never_starts(LiveQueue):
    """Only barriers store what is published."""

    def _start_window(self) -> None:
        """Leave it to them."""


@planted(LIVE_QUEUE, breaks="LIVE-02")
class window_rearmed(LiveQueue):
    """Each event puts the end of the window off, as a debounce does."""

    def publish(self, event: SessionEvent) -> None:
        """Begin again."""
        super().publish(event)
        if self._window is not None:
            self._window.cancel()
            self._window = self._loop.call_at(self._loop.time() + WINDOW, self._end_window)


@planted(LIVE_QUEUE, breaks="LIVE-02")
class nobody_joins_a_window(LiveQueue):
    """Each event waits for as long as a window takes, also where one is running when it comes."""

    _is_of_window = False

    def due_is_done(self) -> None:
        """What is taken next is taken because a window has ended."""
        super().due_is_done()
        self._is_of_window = bool(self._events)

    def take(self, next_seq: int, *, before: int | None = None) -> Taken:
        """Leave the younger ones where they are."""
        if self._is_of_window and before is None:
            ripe = sum(each.since + WINDOW <= self._loop.time() + 1e-6 for each in self._events)
            before = self._stored + ripe
        self._is_of_window = False
        return super().take(next_seq, before=before)


@planted(LIVE_QUEUE, breaks="LIVE-02", also=("LIVE-01",))
class no_window_starts_in_a_drain(LiveQueue):
    """While a batch is being stored no timer is set, and nobody sets it afterwards."""

    def _start_window(self) -> None:
        """Only where nothing is under way."""
        if not self._under_way:
            super()._start_window()


@planted(LIVE_QUEUE, breaks="LIVE-02", also=("LIVE-03", "LIVE-14"))
class latecomers_are_dropped(LiveQueue):
    """When a batch is stored the queue is emptied, with what came meanwhile."""

    def end(self, stored: int) -> None:
        """Clear it."""
        failed = stored < self._under_way
        super().end(stored)
        if not failed:
            self._events.clear()
            self._stop_window()


# -- barriers --------------------------------------------------------------------------------------------------------


@planted(SIGNALS, breaks="LIVE-03", also=("LIVE-14",))
class signal_syncs_and_stores_nothing(Signals):
    """``session/flush`` syncs the file as it is, and what waits goes on waiting."""

    async def flush(self, session_id: str) -> None:
        """Go past the queue."""
        owner = self.persistence.owner(session_id)
        if owner is not None:
            await owner._turns.take(lambda: owner._start(Taken(b"", 0, None), owner.writer.flush))


@planted(SIGNALS, breaks="LIVE-01", also=("LIVE-03",))
class cancelled_signal_loses_what_it_took(Signals):
    """``session/flush`` takes what waits out of the queue before it awaits anything, and nobody puts it back."""

    async def flush(self, session_id: str) -> None:
        """Begin with what was taken."""
        owner = self.persistence.owner(session_id)
        if owner is not None and not owner._live._under_way:
            taken = tuple(owner._live._events)
            owner._live._events.clear()
            await asyncio.sleep(0)
            owner._live._events.extendleft(reversed(taken))
        await super().flush(session_id)


@planted(SIGNALS, breaks="LIVE-13", also=("LIVE-03",))
class signal_passes_a_close(Signals):
    """``session/flush`` of a session that is being closed has nothing to do, for the close stores everything."""

    async def flush(self, session_id: str) -> None:
        """Leave it to the close."""
        owner = self.persistence.owner(session_id)
        if owner is None or not owner.is_closing:
            await super().flush(session_id)


@planted(SIGNALS, breaks="LIVE-06")
class disposal_passes_a_close(Signals):
    """Nor has ``session/disposed``."""

    def disposed(self, session_id: str) -> Awaitable[None] | None:
        """Leave it to the close."""
        owner = self.persistence.owner(session_id)
        return None if owner is not None and owner.is_closing else super().disposed(session_id)


@planted(SIGNALS, breaks="LIVE-03", also=("LIVE-14",))
class signal_joins_the_one_under_way(Signals):
    """Two flushes by the hub are one, also where the second was called for what came after the first."""

    async def flush(self, session_id: str) -> None:
        """Wait for the one that runs, if there is one."""
        running = self.__dict__.setdefault("running", {})
        if session_id not in running or running[session_id].done():
            running[session_id] = asyncio.ensure_future(super().flush(session_id))
        await asyncio.shield(running[session_id])


@planted(SIGNALS, breaks="LIVE-03")
class signal_does_not_wait_for_a_drain(Signals):
    """``session/flush`` takes a drain that is under way for its own, and does not wait for it."""

    async def flush(self, session_id: str) -> None:
        """Resolve at once."""
        owner = self.persistence.owner(session_id)
        if owner is None or not owner._live._under_way:
            await super().flush(session_id)


@planted(LIVE_QUEUE, breaks="LIVE-03", also=("LIVE-12", "LIVE-13"))
class wait_goes_on_after_a_flush(LiveQueue):
    """A barrier stores what waits, and the timer that was set for it comes all the same and queues it again."""

    def begin(self, taken: Taken, *, all_of_it: bool) -> None:
        """Let the timer run."""
        timer, self._window = self._window, None
        batch = list(self._events)[: taken.count]
        super().begin(taken, all_of_it=all_of_it)
        if timer is not None:
            self._loop.call_at(timer.when(), self._again, batch)

    def _again(self, batch: list[_Waiting]) -> None:
        self._events.extendleft(reversed(batch))
        self._end_window()


@planted(FRAMES, breaks="LIVE-13", also=("LIVE-14",), report="R091")
class sweep_leaves_out_what_waits(WriteHandle):
    """The service's flush reaches the file of each handle, and not its queue."""

    async def flush_in_sweep(self) -> None:
        """Go past the queue."""
        if self.is_closing:
            await super().flush_in_sweep()
        else:
            await self._turns.take(lambda: self._start(Taken(b"", 0, None), self.writer.flush))


@planted(FRAMES, breaks="LIVE-13", also=("LIVE-06", "LIVE-14"), report="R076")
class close_gives_up_what_waits(WriteHandle):
    """Closing stops the window, and with it what waits for its end."""

    def begin_to_close(self) -> Any:
        """Stop first."""
        if not self.is_closing:
            self._live.stop()
        return super().begin_to_close()


@planted(SIGNALS, breaks="LIVE-06")
class disposal_is_not_waited_for(Signals):
    """``session/disposed`` begins to close, and leaves that to itself."""

    closing: asyncio.Future[None] | None = None

    def disposed(self, session_id: str) -> None:
        """Resolve at once."""
        found = super().disposed(session_id)
        if found is not None:
            self.closing = asyncio.ensure_future(found)


@planted(SIGNALS, breaks="LIVE-06")
class disposal_throws(Signals):
    """Whoever disposes of a session hears what its last drain met."""

    def disposed(self, session_id: str) -> Awaitable[None] | None:
        """Hand the close over."""
        owner = self.persistence.owner(session_id)
        return None if owner is None else owner.close()


@planted(SIGNALS, breaks="LIVE-06")
class disposal_leaves_the_handle_open(Signals):
    """The last drain of a session is taken for its end."""

    def disposed(self, session_id: str) -> Awaitable[None] | None:
        """Flush."""
        owner = self.persistence.owner(session_id)
        return None if owner is None else owner.flush()


@planted(SIGNALS, breaks="LIVE-06")
class disposal_drops_what_waits(Signals):
    """A session that is disposed of has nothing to say any more."""

    def disposed(self, session_id: str) -> Awaitable[None] | None:
        """Forget it first."""
        owner = self.persistence.owner(session_id)
        if owner is None:
            return None
        owner._live.stop()
        return owner.close()


@planted(SIGNALS, breaks="LIVE-06")
class disposal_fails_in_silence(Signals):
    """The hub hears nothing of a failure, and nobody else does."""

    def disposed(self, session_id: str) -> Awaitable[None] | None:
        """Swallow it."""
        owner = self.persistence.owner(session_id)

        return None if owner is None else self._end(owner)

    async def _end(self, owner: WriteHandle) -> None:
        with suppress(Exception):
            await owner.close()


# -- failing storage -------------------------------------------------------------------------------------------------


@planted(LIVE_QUEUE, breaks="LIVE-04", also=("LIVE-05",))
class failed_batch_goes_behind_newer_events(LiveQueue):
    """What could not be stored is put back at the end of the queue."""

    def publish(self, event: SessionEvent) -> None:
        """Let newer events pass."""
        super().publish(event)
        if self._is_silent:
            self._events.rotate(1)


@planted(LIVE_QUEUE, breaks="LIVE-04", also=("LIVE-05",), report="R088")
class failed_batch_is_dropped(LiveQueue):
    """A batch leaves the queue when its write begins, and does not come back."""

    def end(self, stored: int) -> None:
        """Drop it."""
        super().end(self._under_way)


@planted(FRAMES, breaks="LIVE-04")
class failure_is_not_logged(WriteHandle):
    """What fails in the background is kept, and nobody hears of it before the next flush."""

    async def _drain(self) -> None:
        """Swallow it."""
        with suppress(Exception):
            await self._turns.take(self._start_drain)


@planted(FRAMES, breaks="LIVE-04")
class failure_is_logged_without_a_name(WriteHandle):
    """The warning says what failed, and not for which session."""

    async def _drain(self) -> None:
        """Log the reason alone."""
        try:
            await self._turns.take(self._start_drain)
        except Exception:
            logging.getLogger("torntail.reference").warning("published events could not be stored", exc_info=True)


@planted(FRAMES, breaks="LIVE-04")
class failure_is_logged_for_the_latest_session(WriteHandle):
    """The warning names the session that was opened last, whichever failed."""

    async def _drain(self) -> None:
        """Look who came last."""
        try:
            await self._turns.take(self._start_drain)
        except Exception:
            latest = list(self._service._owners)[-1]
            logging.getLogger("torntail.reference").warning("session %r: storing failed", latest, exc_info=True)


@planted(FRAMES, breaks="LIVE-05", also=("LIVE-10", "LIVE-14"), report="R076")
class flush_takes_a_failure_for_a_success(WriteHandle):
    """A failed drain has cleared the mark by which a flush sees that something waits."""

    async def flush(self) -> None:
        """See nothing."""
        if self.is_closing or not self._live._is_silent:
            await super().flush()


@planted(LIVE_QUEUE, breaks="LIVE-01", also=("LIVE-02", "LIVE-04"), report="R084")
class one_failure_ends_the_windows(LiveQueue):
    """The background task ends with its first error, and nothing starts it again when storage is back."""

    def end(self, stored: int) -> None:
        """From now on none starts."""
        super().end(stored)
        if self._is_silent:
            self.__dict__["_start_window"] = lambda: None


@planted(LIVE_QUEUE, breaks="LIVE-04", also=("LIVE-05",))
class retry_doubles_what_failed(LiveQueue):
    """A batch is put back though it never left the queue."""

    def end(self, stored: int) -> None:
        """Put it back."""
        failed = list(self._events)[stored : self._under_way]
        super().end(stored)
        self._events.extend(failed)


@planted(FRAMES, breaks="LIVE-04")
class every_event_tries_again(WriteHandle):
    """While storage is down each event that is published begins a drain of its own."""

    def publish(self, event: SessionEvent) -> None:
        """Drain."""
        super().publish(event)
        if self._live._is_silent:
            self._drain_soon()


# -- who gets what ---------------------------------------------------------------------------------------------------


@planted(SIGNALS, breaks="LIVE-07")
class unowned_events_wait_for_an_owner(Signals):
    """What a session without an owner publishes is kept, and its next owner stores it."""

    kept: list[tuple[str, SessionEvent]]

    def event(self, session_id: str, event: SessionEvent) -> None:
        """Keep it."""
        if self.persistence.owner(session_id) is None:
            self.__dict__.setdefault("kept", []).append((session_id, dict(event)))
            self.persistence.__dict__["_own"] = self._own
        super().event(session_id, event)

    def _own(self, *args: Any) -> WriteHandle:
        handle = type(self.persistence)._own(self.persistence, *args)
        for _, event in [each for each in self.kept if each[0] == handle.id]:
            handle.publish(event)
        return handle


@planted(SIGNALS, breaks="LIVE-07")
class unowned_flush_is_an_error(Signals):
    """A flush looks for the handle, and there must be one."""

    async def flush(self, session_id: str) -> None:
        """Index."""
        await self.persistence._owners[session_id].flush()


@planted(LIVE_QUEUE, breaks="LIVE-08", report="R059")
class captured_when_it_is_stored(LiveQueue):
    """The queue holds the producer's objects, and encodes them when their window ends."""

    objects: dict[int, SessionEvent]

    def publish(self, event: SessionEvent) -> None:
        """Keep the object."""
        super().publish(event)
        self.__dict__.setdefault("objects", {})[event["seq"]] = event

    def take(self, next_seq: int, *, before: int | None = None) -> Taken:
        """Encode now."""
        self._events = deque(replace(each, line=encode_lines([self.objects[each.seq]])) for each in self._events)
        return super().take(next_seq, before=before)


@planted(FRAMES, breaks="LIVE-09")
class seed_is_queued_too(WriteHandle):
    """The first event that a session publishes brings along what was appended by hand before."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Take note."""
        await super().append(events)
        if not self._live.mark:
            self.__dict__.setdefault("seed", []).extend(events)

    def publish(self, event: SessionEvent) -> None:
        """Queue all of it."""
        for each in self.__dict__.pop("seed", []):
            super().publish(each)
        super().publish(event)


@planted(SIGNALS, breaks="LIVE-10")
class first_owner_gets_everything(Signals):
    """The route of a session is found once, and leads to the handle of then."""

    def event(self, session_id: str, event: SessionEvent) -> None:
        """Go the same way again."""
        routes = self.__dict__.setdefault("routes", {})
        owner = routes.setdefault(session_id, self.persistence.owner(session_id))
        if owner is not None:
            owner.publish(event)


@planted(LIVE_QUEUE, breaks="LIVE-10", also=("LIVE-14",))
class gap_is_closed_by_other_numbers(LiveQueue):
    """What is stored gets the next seq, whatever seq it was published with."""

    def take(self, next_seq: int, *, before: int | None = None) -> Taken:
        """Number them."""
        for place, each in enumerate(self._events):
            event = {**json.loads(each.line), "seq": next_seq + place}
            self._events[place] = replace(each, seq=next_seq + place, line=encode_lines([event]))
        return super().take(next_seq, before=before)


# -- what does not fit -----------------------------------------------------------------------------------------------


@planted(LIVE_QUEUE, breaks="LIVE-11", report="R079")
class memory_is_the_limit(LiveQueue):
    """Whatever is published while storage is down is kept."""

    def publish(self, event: SessionEvent) -> None:
        """Ask nothing."""
        seq, line = self._captured(event)
        self._events.append(_Waiting(seq, line, self._loop.time()))
        self._bytes += len(line)
        self._start_window()


@planted(FRAMES, breaks="LIVE-12", report="R226")
class append_overtakes_what_waits(WriteHandle):
    """An append by hand is counted behind what waits, and written before it."""

    def _start_append(self, batch: list[SessionEvent], lines: bytes, mark: int) -> asyncio.Future[None]:
        """Write it at once."""
        taken = self._live.take(self.writer.next_seq, before=mark)
        assert_contiguous(batch, self.writer.next_seq + taken.count, session_id=self.id)
        return self._start(Taken(b"", 0, None), self.writer.append, lines, len(batch))


@planted(FRAMES, breaks="LIVE-12")
class append_overtakes_what_has_just_come(WriteHandle):
    """What is published is in line only when the loop has come round twice, and an append passes it until then."""

    ripe = 0

    def publish(self, event: SessionEvent) -> None:
        """Let it be seen in a while."""
        super().publish(event)
        self._live._loop.call_soon(self._live._loop.call_soon, setattr, self, "ripe", self._live.mark)

    def _start_append(self, batch: list[SessionEvent], lines: bytes, mark: int) -> asyncio.Future[None]:
        """Go behind what is seen."""
        return super()._start_append(batch, lines, min(mark, self.ripe))


@planted(FRAMES, breaks="LIVE-12", also=("LIVE-13", "LIVE-14"))
class cancelled_append_takes_along_what_waits(WriteHandle):
    """An append that is cancelled empties the queue, of its own events as it believes."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Clean up."""
        try:
            await super().append(events)
        except asyncio.CancelledError:
            while len(self._live) > self._live._under_way:
                self._live._events.pop()
            raise


@planted(LIVE_QUEUE, breaks="LIVE-12", also=("LIVE-03", "LIVE-13"))
class flush_trips_over_what_came_later(LiveQueue):
    """A flush in line takes what waits when its turn comes, and is refused for what stands behind a later append."""

    def take_due(self, next_seq: int, due: int | None = None) -> Taken:
        """Whatever is there."""
        return self.take(next_seq)


@planted(FRAMES, breaks="LIVE-12")
class append_waits_for_a_drain_that_waits_for_it(WriteHandle):
    """An append takes its turn, and in it flushes what waits, which needs a turn of its own."""

    async def append(self, events: list[SessionEvent]) -> None:
        """Flush inside."""
        if self._live and not self.is_closing:
            async with self._turns.last():
                await self.flush()
        await super().append(events)


@planted(LIVE_QUEUE, breaks="LIVE-14")
class unstorable_event_is_skipped(LiveQueue):
    """An event that cannot be encoded is left out, and nobody is told."""

    def publish(self, event: SessionEvent) -> None:
        """Leave it out."""
        with suppress(TypeError, ValueError):
            super().publish(event)


@planted(LIVE_QUEUE, breaks="LIVE-14", report="R088")
class misfit_is_told_once(LiveQueue):
    """The first flush tells of an event that does not continue the log, and drops it with those behind it."""

    def begin(self, taken: Taken, *, all_of_it: bool) -> None:
        """Drop them."""
        if taken.refused is not None:
            self._events = deque(list(self._events)[: taken.count])
        super().begin(taken, all_of_it=all_of_it)


# -- many events, large ones, and flushes that are given up ----------------------------------------------------------

_LIMIT = 100


@planted(LIVE_QUEUE, breaks="LIVE-02")
class background_write_has_a_limit(LiveQueue):
    """The end of a window stores a hundred events; the others wait for a window that begins then."""

    def take_due(self, next_seq: int, due: int | None = None) -> Taken:
        """Take the first of them where nobody flushes."""
        taken = super().take_due(next_seq, due)
        is_long = due is None and taken.count > _LIMIT
        return self.take(next_seq, before=self._stored + _LIMIT) if is_long else taken

    def _start_window(self) -> None:
        """Begin anew where the window of the first event is over."""
        super()._start_window()
        if self._window is not None and self._window.when() <= self._loop.time():
            self._window.cancel()
            self._window = self._loop.call_at(self._loop.time() + WINDOW, self._end_window)


@planted(LIVE_QUEUE, breaks="LIVE-03", also=("LIVE-13", "LIVE-14"))
class flush_has_a_limit(LiveQueue):
    """A flush stores a hundred events, and leaves the others to their window."""

    def take_due(self, next_seq: int, due: int | None = None) -> Taken:
        """Take the first of them where somebody flushes."""
        taken = super().take_due(next_seq, due)
        is_long = due is not None and taken.count > _LIMIT
        return self.take(next_seq, before=self._stored + _LIMIT) if is_long else taken


@planted(FRAMES, breaks="LIVE-13", also=("LIVE-06", "LIVE-14"))
class close_has_a_limit(WriteHandle):
    """A close stores a hundred of the events that wait, and the others are given up with the queue."""

    def _begin(self, taken: Taken) -> Taken:
        """Take the first of them where the handle is being closed."""
        if self.is_closing and taken.count > _LIMIT:
            taken = self._live.take(self.writer.next_seq, before=self._live._stored + _LIMIT)
        return super()._begin(taken)


@planted(LIVE_QUEUE, breaks="LIVE-08")
class large_event_is_encoded_when_it_is_stored(LiveQueue):
    """A large event is kept as it was published, for encoding it would hold the producer up."""

    def publish(self, event: SessionEvent) -> None:
        """Keep it beside its place in the queue."""
        super().publish(event)
        if len(self._events[-1].line) > 65_536:
            self.__dict__.setdefault("large", {})[event["seq"]] = event

    def take(self, next_seq: int, *, before: int | None = None) -> Taken:
        """Encode it now."""
        for place, each in enumerate(self._events):
            if (event := self.__dict__.get("large", {}).pop(each.seq, None)) is not None:
                line = encode_lines([event])
                self._bytes += len(line) - len(each.line)
                self._events[place] = replace(each, line=line)
        return super().take(next_seq, before=before)


@planted(FRAMES, breaks="LIVE-01", also=("LIVE-02", "LIVE-03"))
class flush_stops_the_window_before_its_turn(WriteHandle):
    """A flush stops the window when it is called: given up in line, it leaves behind what nobody will store."""

    async def flush(self) -> None:
        """Stop it, then stand in line."""
        if not self.is_closing:
            self._live._stop_window()
        await super().flush()
