"""Mutants of FLUSH: the service's flush, whom it reaches, and how it tells what failed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from planting import (
    BUFFERED,
    FILES,
    FRAMES,
    QUEUED,
    BufferedFiles,
    JsonlPersistence,
    PlainFiles,
    QueuedFiles,
    QueuedHandle,
    outcome_of,
    planted,
    take_note,
)

from conformance.contract import SessionContiguityError, SessionHandleClosedError, SessionPersistenceError
from reference_backend.service import _all_ended, _named, _raise_failures


@planted(FILES, breaks="FLUSH-01", also=("FLUSH-02",), sentinel=True)
class sweep_skips_empty_sessions(PlainFiles):
    """The service's flush looks for events to write, and an empty session has none."""

    async def flush(self) -> None:
        """Leave out what has no events."""
        writers = self.writers
        self.writers = {name: handle for name, handle in writers.items() if handle.next_seq}
        try:
            await super().flush()
        finally:
            self.writers = writers


@planted(BUFFERED, breaks="FLUSH-01", also=("FRESH-04",), report="R091")
class sweep_writes_nothing(BufferedFiles):
    """The service's flush makes sure that every session exists, and leaves what waits to the handles."""

    async def flush(self) -> None:
        """Flush as if nothing waited."""
        waiting, self.waiting = self.waiting, {}
        try:
            await super().flush()
        finally:
            self.waiting = waiting


@planted(FILES, breaks="FLUSH-02", report="R124")
class first_failure_ends_the_sweep(PlainFiles):
    """A loop without isolation: what the first failing session raises is what the caller gets."""

    async def flush(self) -> None:
        """Flush one after the other."""
        self.check_open()
        for handle in list(self.writers.values()):
            await handle.flush()


@planted(FILES, breaks="FLUSH-02", report="R122")
class failed_sweep_is_a_success(PlainFiles):
    """All are tried, and the failures are counted as settled."""

    async def flush(self) -> None:
        """Wait for all, look at none."""
        self.check_open()
        for handle in list(self.writers.values()):
            with suppress(SessionPersistenceError):
                await handle.flush()


@planted(FILES, breaks="FLUSH-02")
class failed_sweep_names_nobody(PlainFiles):
    """The errors of the sessions come together as they are, and most of them do not know whose they are."""

    async def flush(self) -> None:
        """Collect them."""
        self.check_open()
        failures = []
        for handle in list(self.writers.values()):
            try:
                await handle.flush()
            except (SessionPersistenceError, OSError) as problem:
                failures.append(problem)
        if failures:
            raise ExceptionGroup("not every session could be flushed", failures)


@planted(FILES, breaks="FLUSH-02", report="R121")
class failed_sweep_tells_of_the_first(PlainFiles):
    """All are tried, and of the failures the first is told."""

    async def flush(self) -> None:
        """Leave out the others."""
        try:
            await super().flush()
        except ExceptionGroup as failures:
            raise failures.derive(failures.exceptions[:1]) from None


@planted(FRAMES, breaks="FLUSH-04")
class sweep_closes_the_readers(JsonlPersistence):
    """The service's flush shares its loop with the service's close."""

    async def flush(self) -> None:
        """Flush, then let the readers go."""
        await super().flush()
        for reader in list(self._readers):
            await reader.close()


@planted(QUEUED, breaks="FLUSH-01")
class sweep_passes_over_who_is_busy(QueuedFiles):
    """A handle that is at work is about to store everything anyway, and need not be waited for."""

    def lines(self) -> list[QueuedHandle]:
        """Those that are idle, or being closed."""
        return [handle for handle in super().lines() if not handle.is_busy or handle.closing is not None]


@planted(QUEUED, breaks="FLUSH-01")
class sweep_joins_the_one_under_way(QueuedFiles):
    """Two flushes of the service are one, also where the second was called for what came after the first."""

    under_way: asyncio.Task[None] | None = None

    async def flush(self) -> None:
        """Wait for the one that runs, if there is one."""
        self.check_open()
        if self.under_way is None or self.under_way.done():
            self.under_way = asyncio.ensure_future(super().flush())
            self.under_way.add_done_callback(take_note)
        await outcome_of(self.under_way)


@planted(QUEUED, breaks="FLUSH-03")
class sweep_passes_over_who_is_closing(QueuedFiles):
    """A handle that is being closed stores everything by itself, and is left out."""

    async def flush(self) -> None:
        """Wait for the others."""
        self.check_open()
        handles = [handle for handle in self.lines() if handle.closing is None]
        await self.each("flushed", [(handle, handle.flush_in_sweep()) for handle in handles])


@planted(QUEUED, breaks="FLUSH-03")
class sweep_stores_who_is_closing(QueuedHandle):
    """A handle is in the list until it is closed, and what is in the list is flushed."""

    async def flush_in_sweep(self) -> None:
        """Store it before the close has its turn."""
        if self.draft is not None and not self.draft.stored and not self.closed:
            self.materialise(self.draft, b"")
        await super().flush_in_sweep()


@planted(QUEUED, breaks="FLUSH-03")
class sweep_tells_of_who_is_closing(QueuedHandle):
    """The flush of a handle that is being closed is refused, and the sweep hands that on."""

    async def flush_in_sweep(self) -> None:
        """Count it as a failure."""
        if self.closing is not None:
            await asyncio.wait({self.closing})
            raise SessionHandleClosedError(f"session {self.id!r} is being closed", session_id=self.id)
        await super().flush_in_sweep()


@planted(QUEUED, breaks="FLUSH-03")
class sweep_does_not_ask_how_a_close_ended(QueuedHandle):
    """The sweep waits for a handle that is being closed, and leaves its failure to the caller of that close."""

    async def flush_in_sweep(self) -> None:
        """Wait, and no more."""
        if self.closing is None:
            await super().flush_in_sweep()
        else:
            await asyncio.wait({self.closing})


@planted(FRAMES, breaks="FLUSH-03")
class sweep_does_not_look_back(JsonlPersistence):
    """A handle that is closed when the sweep has come past it is no concern of the sweep any more."""

    async def flush(self) -> None:
        """Wait for the flushes, and no more."""
        self._refuse_if_closed()
        sweeps = [(owner.id, self.jobs.spawn(owner.flush_in_sweep())) for owner in self._owners.values()]
        await _all_ended([task for _, task in sweeps])
        _raise_failures("flush", sweeps)


@planted(FRAMES, breaks="FLUSH-03")
class sweep_forgets_how_a_later_close_ended(JsonlPersistence):
    """The sweep looks back at its end, waits for the handles that are being closed by then, and asks none of them."""

    async def flush(self) -> None:
        """Wait for all, and tell of the flushes."""
        self._refuse_if_closed()
        owners = list(self._owners.values())
        sweeps = [(owner.id, self.jobs.spawn(owner.flush_in_sweep())) for owner in owners]
        await _all_ended([task for _, task in sweeps])
        await _all_ended([self.jobs.spawn(owner.close()) for owner in owners if owner.is_closing])
        _raise_failures("flush", sweeps)


@planted(FRAMES, breaks="FLUSH-02", also=("LIVE-13",))
class sweep_stops_at_what_cannot_be_stored(JsonlPersistence):
    """Storage that fails is isolated; an event published out of turn ends the sweep."""

    async def flush(self) -> None:
        """Flush one after the other."""
        self._refuse_if_closed()
        failures = []
        for owner in list(self._owners.values()):
            try:
                await owner.flush_in_sweep()
            except (SessionPersistenceError, OSError) as problem:
                failures.append(_named(owner.id, problem))
                if isinstance(problem, SessionContiguityError):
                    break
        if failures:
            raise ExceptionGroup("not every session could be flushed", failures)
