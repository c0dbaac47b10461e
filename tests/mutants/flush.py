"""Mutants of FLUSH: the service's flush, whom it reaches, and how it tells what failed."""

from __future__ import annotations

from contextlib import suppress

from planting import BUFFERED, FILES, FRAMES, BufferedFiles, JsonlPersistence, PlainFiles, planted

from conformance.contract import SessionPersistenceError


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
