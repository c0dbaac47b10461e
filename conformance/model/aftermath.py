"""What a crash leaves open, as plain state: what is at stake for a session, and what is known of its new life.

A ``Stake`` is fixed at the crash: by it, and by the calls that the crash took something of, one can tell whose fault it
is when the session comes back wrong (``conformance.model.crash_blame``). A ``Recovery`` goes on with each look at the
recovered storage (``conformance.model.crash_rules``). Nothing here judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Log = list[dict[str, Any]]

NO_CALLS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Stake:
    """What a crash could do to one session, by whose disk operations it takes.

    Calls that were made of the whole service count as every session's own.

    Attributes:
        must: a barrier covered its existence.
        covered: F, how many events a barrier covered, or the durability of appends.
        by_barrier: how many of them a barrier covered.
        exists_by_barrier: it exists because of a barrier, and not only because appends are durable.
        before: its own calls up to its latest barrier.
        after: those since.
        this_life: those since the crash before this one; all of them where there was none.
        in_flight: the call under way may write to it.
        other_in_flight: it may write to another session.
        quiet: nothing was written to it since its latest barrier.
        survivor: it came through a crash before, and nothing was appended to it since.
        found: seqs (first, end) that a handle had found and not written when its barrier covered them.
        exists_found: the same of its existence.
        located: the backend gives the location of its artifact, so that TORN applies.
    """

    must: bool
    covered: int
    by_barrier: int
    exists_by_barrier: bool = True
    before: frozenset[int] = NO_CALLS
    after: frozenset[int] = NO_CALLS
    this_life: frozenset[int] = NO_CALLS
    in_flight: bool = False
    other_in_flight: bool = False
    quiet: bool = True
    survivor: bool = False
    found: tuple[tuple[int, int], ...] = ()
    exists_found: bool = False
    located: bool = True


@dataclass(frozen=True, slots=True)
class Damage:
    """What one crash took: the calls, and whether the process alone died; ``fault``: none came, only a close failed."""

    lost: frozenset[int] = NO_CALLS
    kill: bool = False
    fault: bool = False


@dataclass(slots=True)
class Recovery:
    """What is known of a session since the latest crash, until its new life is an ordinary one.

    While it is not fixed, the session's own log is the longest that it may have, and ``low`` the least.

    Attributes:
        by: where a close that failed left it open, the instance whose close that was: it may hide what it left behind.
        acknowledged: there, how many events were of appends that had resolved; what else it holds was promised nothing.
        others: further logs of which it may have a prefix, besides the session's own.
        low: how many events were shown, or must be there.
        fixed: the log is known.
        shown, told: how many events an answer showed, and whether one gave the length.
        counted_by: the instance whose event count told it, before anything was read.
        seen: an instance showed that it exists; ``opened``: one gave a handle of it; ``answered``: a read resolved.
        read: how many events were read back exactly.
        covers: a barrier resolved before the log was known, and covers it.
        owned: a write open succeeded.
        artifact: digest of its artifact's bytes at an earlier look at the files, before any write open, or None.
        repaired: instance -> the model's step of its latest write open or first append, which may repair the tail.
        grown_at: the model's step of the first append since, or None.
        kept, healed: how many events there were before that append, and with it.
    """

    stake: Stake
    damage: Damage
    low: int
    others: list[Log] = field(default_factory=list)
    by: int | None = None
    acknowledged: int | None = None
    fixed: bool = False
    shown: int = 0
    told: bool = False
    counted_by: int | None = None
    seen: bool = False
    opened: bool = False
    answered: bool = False
    read: int = 0
    covers: bool = False
    owned: bool = False
    artifact: str | None = None
    repaired: dict[int, int] = field(default_factory=dict)
    grown_at: int | None = None
    kept: int = 0
    healed: int = 0


@dataclass(slots=True)
class Aftermath:
    """The latest crash, as far as it concerns the whole service.

    Attributes:
        step, call: the model's step at which it came, and the number of its call.
        torn, half_made: something of a session's tail, or of a creation, may be torn.
        opened, listed: an instance came up since, and a listing resolved.
    """

    step: int
    call: int = -1
    torn: bool = False
    half_made: bool = False
    opened: bool = False
    listed: bool = False
