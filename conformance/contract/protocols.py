"""The contract as Protocols: what a backend gives, with the clauses each method carries.

A backend need not inherit from these. ``Backend(sync=True)`` declares the same methods as plain functions.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from conformance.contract.records import Access, SessionEvent, SessionHeader, SessionSnapshot


class SessionHandle(Protocol):
    """One session, opened for reading or, by its single owner, for writing."""

    @property
    def id(self) -> str: ...

    @property
    def header(self) -> SessionHeader: ...

    @property
    def inherited_event_count(self) -> int | None:
        """How many of the first events came from the parent; None (or 0) where not seeded (SVC-09)."""

    @property
    def access(self) -> Access: ...

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """The slice ``[offset:offset+length]`` of the log; empty at or past its end.

        Clauses: READ-01 to READ-06, FRESH-01, FRESH-03, FRESH-04, SEQ-04, SEQ-07, TORN-01, FMT-04.

        Raises:
            SessionHandleClosedError: ``close`` was called; comes before any look at the arguments.
            TypeError, ValueError: a negative or non-integer offset or length.
            SessionPersistenceCorruptionError, SessionFormatUnsupportedError: the stored log cannot be trusted or read.
        """

    async def append(self, events: list[SessionEvent]) -> None:
        """Add a contiguous batch whose first seq is the stored next seq; whole or not at all.

        The batch is captured before the first suspension. Accepted, ordered and visible in this instance on
        return; durable only after a barrier, unless the backend claims ``append_durability="append"``.

        Clauses: SEQ-01 to SEQ-11, JSON-01 to JSON-03, FMT-02, FMT-03, OWN-06, OWN-10, OWN-14, SVC-12, CLOSE-02.

        Raises:
            SessionHandleClosedError, SessionReadOnlyError, SessionOwnershipLostError: the handle may not write.
            SessionContiguityError: ``expected`` and ``got`` at the first offending place; nothing is stored.
            TypeError, ValueError: a malformed batch or a value outside JSON; nothing is stored.
            SessionFormatUnsupportedError: an unknown event type that is not ignorable, under a closed vocabulary.
        """

    async def flush(self) -> None:
        """The durability barrier; also makes an empty created session durably visible (MAT-04, DUR-01, DUR-11)."""

    async def close(self) -> None:
        """Release the handle; for a writer a barrier first. Idempotent, not undone by cancellation.

        Clauses: CLOSE-01 to CLOSE-06, OWN-02, OWN-07, FAULT-05.
        """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Close; never swallow the body's exception (CLOSE-05)."""


class SessionPersistence(Protocol):
    """The service: one instance over one storage root."""

    async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> SessionHandle:
        """Start a session and own it; it may stay invisible to other instances until the first append or flush.

        Clauses: SVC-01 to SVC-03, SVC-08, SVC-09, SVC-12, OWN-01, OWN-04, MAT-01 to MAT-03.

        Raises:
            SessionAlreadyExistsError: the id is pending in this instance or stored by any.
            TypeError, ValueError: a bad header or inherited count.
        """

    async def open(self, session_id: str, access: Access) -> SessionHandle:
        """Open a session; ``"write"`` takes ownership, ``"read"`` never needs it.

        Clauses: SVC-01, SVC-04, OWN-01 to OWN-05, OWN-09, MAT-01.

        Raises:
            SessionPersistenceNotFoundError: absent, for both accesses.
            SessionAlreadyOwnedError: a writer is active.
        """

    async def stat(self, session_id: str) -> SessionSnapshot | None:
        """One session without reading its log, or None where absent (SVC-05, SVC-10, FRESH-02, REV-01 to REV-05)."""

    async def list(self) -> list[SessionSnapshot]:
        """A snapshot for each visible session, none twice (SVC-06, SVC-07)."""

    async def flush(self) -> None:
        """The flush of every active write handle; failures come as one ExceptionGroup (FLUSH-01 to FLUSH-04)."""

    async def close(self) -> None:
        """Drain and close every handle; afterwards every operation rejects (CLOSE-07, CLOSE-08)."""
