"""What a probe saw of one recovery, as data: of the service, and of each session look by look.

A probe asks in this order, each look by an instance of its own where one is named, and leaves None where it did not
look: the first lists, and for each session gives ``stat`` and a read open with its read; the second reads again; the
third opens for writing, reads, appends ``marker(end)`` and closes, or, where the session is absent, creates it and
appends ``marker(0)``; the fourth reads what is there after. A probe in a hurry leaves the first two out. Nothing here
judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal

from conformance.contract import SessionHeader
from conformance.model.history import ErrorView, HandleView, SnapshotView
from conformance.model.operations import FILLED_AT, filler


class Absence(Enum):
    """What ``stat`` says of a session that is not there."""

    ABSENT = "absent"


ABSENT: Final = Absence.ABSENT

NOT_FOUND = "SessionPersistenceNotFoundError"

Answer = list[Any] | ErrorView | None
"""What a read open and its read gave: events, the error of either, or None where nobody looked."""


@dataclass(slots=True)
class SessionSeen:
    """What one recovery showed of one session, look by look; None where nobody looked.

    Attributes:
        stat: in the first instance.
        handle, log: the read handle of the first instance, and what reading it gave.
        again: what a read open of the second instance gave.
        owner, owned: the write handle, and what a write open and reading it gave.
        made: the header with which the absent session was created, ``newcomer`` itself; ``owner`` is then the handle
            that ``create`` returned.
        batch: what was appended then, best ``marker(end)`` itself.
        failed: the first error of create, append or close, or None where all resolved.
        after: what a read open of the last instance gave.
        before_looks, after_looks: the artifact's bytes before the first and after the second instance, or None.
    """

    session: str
    stat: SnapshotView | ErrorView | Literal[Absence.ABSENT] | None = None
    handle: HandleView | None = None
    log: Answer = None
    again: Answer = None
    owner: HandleView | None = None
    owned: Answer = None
    made: SessionHeader | None = None
    batch: list[dict[str, Any]] | None = None
    failed: ErrorView | None = None
    after: Answer = None
    before_looks: bytes | None = None
    after_looks: bytes | None = None


@dataclass(slots=True)
class RecoverySeen:
    """What one recovery showed: of the service, and of each promised session in the order of the promises.

    Attributes:
        failed: the first error of opening or closing an instance, or None.
        listed: what the first instance listed, its error, or None where it was not asked.
    """

    sessions: list[SessionSeen]
    failed: ErrorView | None = None
    listed: list[SnapshotView] | ErrorView | None = None


@lru_cache(maxsize=4096)
def marker(seq: int) -> list[dict[str, Any]]:
    """The batch of one event that a probe appends to a log of that many events; always the same object."""
    return [filler(seq)]


@lru_cache(maxsize=4096)
def newcomer(session: str) -> SessionHeader:
    """The header with which a probe creates an absent session; always the same object."""
    return SessionHeader(session, FILLED_AT)


def shows(seen: SessionSeen) -> bool:
    """Whether some look at the session found it; a listing aside."""
    if isinstance(seen.log, list) or isinstance(seen.owned, list) or isinstance(seen.again, list):
        return True
    return isinstance(seen.stat, SnapshotView) or seen.handle is not None


def looked_for(seen: SessionSeen) -> bool:
    """Whether anybody looked for the session; a listing aside."""
    return any(look is not None for look in (seen.stat, seen.log, seen.again, seen.owned, seen.made))
