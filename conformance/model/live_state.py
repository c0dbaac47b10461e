"""Events on their way: what a session published and its log may not have yet, as plain state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Waiting:
    """A published event.

    Attributes:
        event: as it was when it was published. at: that moment, in virtual microseconds.
        bad: it can never be stored, whatever its seq.
    """

    event: Any
    at: int
    bad: bool = False


@dataclass(slots=True)
class Live:
    """What is on its way into the log of a session.

    Attributes:
        waiting: published to a handle, and not known to be stored, in order.
        held: storage failed, or was to fail, since the latest barrier: no window binds.
        failed: a write of published events failed since then.
        lost: a close that failed may have lost events.
        owes: the clause for which a warning with the session's id must have been logged, or "".
        scribbled: seqs of events that the producer overwrote after publication.
        seeded: with so many events its session was published, that had been appended by hand.
        first_try: when storage first failed in the background since the latest barrier, and how many of its calls did.
        tries: how many of its calls failed in the background since then.
        handle: the number of the handle that what was published latest went to, or None.
        moved: it went to another one before, and nothing that went to this one is known to be stored (LIVE-10).
        looked: when somebody was last shown that nothing of what waits is stored, in virtual microseconds.
        ended: the number of the handle that the session's end closed (LIVE-06), until the session is owned again.
    """

    waiting: list[Waiting] = field(default_factory=list)
    held: bool = False
    failed: bool = False
    lost: bool = False
    owes: str = ""
    scribbled: set[int] = field(default_factory=set)
    seeded: int = 0
    first_try: tuple[int, int] | None = None
    tries: int = 0
    handle: int | None = None
    moved: bool = False
    looked: int = -1
    ended: int | None = None

    def is_scribbled(self, seqs: Iterable[int] = ()) -> bool:
        """Whether the producer overwrote one of these events, or one that waits."""
        waiting = (each.event.get("seq") for each in self.waiting if isinstance(each.event, dict))
        return any(seq in self.scribbled for seq in (*seqs, *waiting)) if self.scribbled else False
