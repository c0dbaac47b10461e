"""The errors a backend raises, by the names the contract uses.

Each class stands for one reason. A backend may raise these or map classes of its own onto them
(``Backend.errors``). A storage fault is none of them: it surfaces as itself, or in the cause, context
or group of what is raised. Nothing here knows how a backend stores anything.
"""

from __future__ import annotations

from functools import partial
from typing import Any


class SessionPersistenceError(Exception):
    """Base of every refusal and failure that the contract names.

    Attributes:
        session_id: the session concerned, or None where there is none.
    """

    def __init__(self, message: str, *, session_id: str | None = None) -> None:
        super().__init__(message)
        self.session_id = session_id


class SessionPersistenceNotFoundError(SessionPersistenceError):
    """No session of that id is visible to this instance (SVC-04)."""


class SessionAlreadyExistsError(SessionPersistenceError):
    """``create`` met an occupied id (SVC-02), or another instance stored it first (SVC-12)."""


class SessionAlreadyOwnedError(SessionPersistenceError):
    """A write handle of that session is active (OWN-01, OWN-09)."""


class SessionReadOnlyError(SessionPersistenceError):
    """``append`` or ``flush`` on a handle opened for reading (OWN-06)."""


class SessionHandleClosedError(SessionPersistenceError):
    """Any operation but ``close`` on a handle whose ``close`` was called (CLOSE-02)."""


class SessionOwnershipLostError(SessionPersistenceError):
    """The handle owned the session once and does not any more, for good (OWN-10, OWN-14)."""


class SessionContiguityError(SessionPersistenceError):
    """A batch does not continue the log (SEQ-02).

    Attributes:
        expected: the seq that should stand at the first offending place.
        got: the seq found there.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: int,
        got: int,
        session_id: str | None = None,
    ) -> None:
        super().__init__(message, session_id=session_id)
        self.expected = expected
        self.got = got

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the two seqs, which cannot be left out when the copy is built in another process."""
        return partial(type(self), expected=self.expected, got=self.got), self.args, self.__dict__


class _LocatedError(SessionPersistenceError):
    def __init__(
        self,
        message: str,
        *,
        session_id: str | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(message, session_id=session_id)
        self.location = location


class SessionFormatUnsupportedError(_LocatedError):
    """A stored log, or an event, that this build cannot interpret faithfully (FMT-01, FMT-02).

    Attributes:
        location: path of the artifact where the backend keeps one for each session (FMT-05).
    """


class SessionPersistenceCorruptionError(_LocatedError):
    """Stored data is damaged; the log is refused rather than served wrong or short (FMT-04).

    Attributes:
        location: path of the artifact where the backend keeps one for each session (FMT-05).
    """


CONTRACT_ERRORS: dict[str, type[SessionPersistenceError]] = {
    cls.__name__: cls
    for cls in (
        SessionPersistenceNotFoundError,
        SessionAlreadyExistsError,
        SessionAlreadyOwnedError,
        SessionReadOnlyError,
        SessionHandleClosedError,
        SessionOwnershipLostError,
        SessionContiguityError,
        SessionFormatUnsupportedError,
        SessionPersistenceCorruptionError,
    )
}
"""The specific classes by name; the base class is not among them."""
