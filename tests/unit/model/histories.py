"""A small language in which histories are written by hand: steps, each an operation with the answer it got.

Every function gives a step with a right answer, such as ``create(1)`` for a create that returned handle 1;
``gives`` and ``raises`` replace the answer. ``history`` turns steps into events. No backend is asked anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from conformance.contract import SessionHeader
from conformance.model.history import (
    Completion,
    ErrorView,
    Event,
    FaultView,
    HandleView,
    Hung,
    Invocation,
    Outcome,
    Raised,
    Returned,
    SnapshotView,
)
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Discard,
    Flush,
    FlushInstance,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
    Wait,
)

EXISTS = "SessionAlreadyExistsError"
OWNED = "SessionAlreadyOwnedError"
NOT_FOUND = "SessionPersistenceNotFoundError"
READ_ONLY = "SessionReadOnlyError"
CLOSED = "SessionHandleClosedError"
LOST = "SessionOwnershipLostError"
CONTIGUITY = "SessionContiguityError"


NOTHING = Returned()


@dataclass(frozen=True)
class Step:
    """One call, what came of it, and the faults that storage had meanwhile."""

    operation: Operation
    outcome: Outcome = NOTHING
    faults: tuple[FaultView, ...] = ()

    def gives(self, value: Any) -> Step:
        """The same call with another return value."""
        return replace(self, outcome=Returned(value))

    def raises(self, kind: str, message: str = "", **fields: Any) -> Step:
        """The same call, rejected with this kind of error."""
        return replace(self, outcome=Raised(ErrorView(kind, kind, message, **fields)))

    def meets(self, *faults: FaultView, **fields: Any) -> Step:
        """The same call, rejected because storage failed in it."""
        error = ErrorView("OSError", "OSError", "", fault=True, **fields)
        return replace(self, outcome=Raised(error), faults=faults)

    def beside(self, *faults: FaultView) -> Step:
        """The same call with the same answer, though storage failed in it."""
        return replace(self, faults=faults)

    def hangs(self) -> Step:
        """The same call, never answered."""
        return replace(self, outcome=Hung("nothing is ready"))


def history(steps: Iterable[Step]) -> list[Event]:
    """The steps one after the other, as events; time passes in those that wait, and in no others."""
    events: list[Event] = []
    now = 0
    for call, step in enumerate(steps):
        events.append(Invocation(call, step.operation, at=now))
        if isinstance(step.operation, Wait):
            now += round(step.operation.seconds * 1_000_000)
        events.append(Completion(call, step.outcome, now, step.faults))
    return events


def header(session: Any = "s", **fields: Any) -> SessionHeader:
    """A header."""
    return SessionHeader(id=session, **{"created_at": 1, **fields})


def events(first: int, count: int = 1, mark: str = "") -> list[dict[str, Any]]:
    """A contiguous batch; ``mark`` tells two at the same seqs apart."""
    return [
        {"type": "user/message", "seq": seq, "time": 0, "data": f"{mark}{seq}"} for seq in range(first, first + count)
    ]


def snap(count: int | None, token: int, session: str = "s", **fields: Any) -> SnapshotView:
    """A snapshot of the session's plain header."""
    values = {"size_bytes": None, **fields}
    return SnapshotView(header(session), token, count, **values)


def group(*members: str) -> dict[str, Any]:
    """The fields of an ``ExceptionGroup`` whose members carry these session ids."""
    return {"members": tuple(ErrorView(EXISTS, EXISTS, "", session_id=each) for each in members)}


def up(instance: int = 1) -> Step:
    """A fresh instance."""
    return Step(OpenInstance(instance))


def down(instance: int = 1) -> Step:
    """The service's close."""
    return Step(CloseInstance(instance))


def sweep(instance: int = 1) -> Step:
    """The service's flush."""
    return Step(FlushInstance(instance))


def create(handle: int, session: Any = "s", on: int = 1, *, inherited: Any = None, **fields: Any) -> Step:
    """A create that worked."""
    given = header(session, **fields)
    return Step(Create(on, handle, given, inherited), Returned(HandleView(session, given, "write", inherited)))


def opened(handle: int, session: str = "s", on: int = 1, access: Literal["read", "write"] = "read") -> Step:
    """An open that worked, of a session with the plain header."""
    return Step(OpenSession(on, handle, session, access), Returned(HandleView(session, header(session), access, None)))


def owned(handle: int, session: str = "s", on: int = 1) -> Step:
    """A write open that worked."""
    return opened(handle, session, on, "write")


def stat(value: SnapshotView | None, session: str = "s", on: int = 1) -> Step:
    """A stat."""
    return Step(Stat(on, session), Returned(value))


def listed(*values: SnapshotView, on: int = 1) -> Step:
    """A list."""
    return Step(ListSessions(on), Returned(list(values)))


def read(
    handle: int, found: list[dict[str, Any]], offset: Any = 0, length: Any = None, *, scribble: bool = False
) -> Step:
    """A read and what it returned."""
    return Step(Read(handle, offset, length, scribble), Returned(found))


def append(handle: int, batch: Any, *, scribble: bool = False) -> Step:
    """An append that resolved."""
    return Step(Append(handle, batch, scribble))


def flush(handle: int) -> Step:
    """A flush that resolved."""
    return Step(Flush(handle))


def close(handle: int) -> Step:
    """A close that resolved."""
    return Step(Close(handle))


def leave(handle: int, *, raising: bool = False) -> Step:
    """The context left; with ``raising`` the caller's own exception came out."""
    step = Step(Leave(handle, raising))
    return step.raises("CallerError") if raising else step


def discard(handle: int) -> Step:
    """The handle forgotten and collected."""
    return Step(Discard(handle))
