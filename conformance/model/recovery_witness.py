"""Which clauses an accepted recovery exercised: those that another answer to one of its looks would have broken.

The blame is that of the fold (``conformance.model.crash_blame``), asked ahead of time; no clause is counted here that
the fold would not count for the same looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from conformance.model import crash_blame
from conformance.model.aftermath import Damage, Stake
from conformance.model.history import SnapshotView
from conformance.model.recovery import Promise
from conformance.model.recovery_seen import RecoverySeen, SessionSeen, shows


class _Looks(NamedTuple):
    """What was looked at of one session that is there.

    Attributes:
        events: how many it has; below 0 where nothing was read.
        described: its snapshot was listed or given by ``stat``; ``counted``: with a count of events.
        reads: how many reads there were before something was appended.
    """

    events: int
    described: bool
    counted: bool
    reads: int
    owned: bool
    appended: bool
    after: bool


def witnessed(
    promises: Sequence[Promise], seen: RecoverySeen, lost_calls: Iterable[int] = (), *, kill: bool = False
) -> set[str]:
    """The clauses that a recovery exercised which ``fits`` accepted.

    Args:
        lost_calls: as ``CrashView`` has them.
        kill: the process died and the disk did not.
    """
    damage = Damage(frozenset(lost_calls), kill=kill)
    torn = [each for each in promises if each.may and each.stake.located and crash_blame.is_hit(each.stake, damage)]
    found = {"TORN-01" if torn else "DUR-01"}
    if seen.listed is not None and any(not each.must for each in torn):
        found.add("TORN-04")
    listed = seen.listed if isinstance(seen.listed, list) else ()
    names = {view.header.id: view for view in listed}
    for promise, session in zip(promises, seen.sessions, strict=True):
        if promise.session not in names and not shows(session):
            found |= _absence(promise, seen, session)
        else:
            found |= _presence(promise.stake, damage, _looks(session, names.get(promise.session)))
    return found


def _looks(session: SessionSeen, listed: SnapshotView | None) -> _Looks:
    reads = [each for each in (session.log, session.again, session.owned) if isinstance(each, list)]
    return _Looks(
        len(reads[0]) if reads else -1,
        listed is not None or session.stat is not None,
        any(isinstance(each, SnapshotView) and each.event_count is not None for each in (listed, session.stat)),
        len(reads),
        session.owned is not None,
        session.batch is not None,
        session.after is not None,
    )


def _absence(promise: Promise, seen: RecoverySeen, session: SessionSeen) -> set[str]:
    looks = (seen.listed, session.stat, session.log, session.again, session.owned, session.made)
    count = sum(look is not None for look in looks)
    if promise.trace:
        return {promise.trace} if count else set()
    # The first look might have shown it as well.
    return {crash_blame.half_made(promise.stake)} if count > 1 else set()


@lru_cache(maxsize=8192)
def _presence(stake: Stake, damage: Damage, looks: _Looks) -> frozenset[str]:
    """The clauses that the looks at one session witness."""
    if not (looks.described or looks.reads):
        return frozenset()
    found = {"DUR-04"}
    if stake.must:
        found.add(crash_blame.loss(stake, damage, None))
    if looks.reads:
        hit = crash_blame.is_hit(stake, damage)
        # Where a count told the length already, a read of another one is unstable first of all.
        bounds = [0] if looks.counted else [0, stake.by_barrier, *(seq for pair in stake.found for seq in pair)]
        end = min(stake.covered, looks.events)
        found |= {crash_blame.loss(stake, damage, seq) for seq in bounds if 0 <= seq < end}
        found.add(crash_blame.unreadable(stake, damage))
        if not looks.counted:
            found.add(crash_blame.invented(stake, damage))
        if looks.events > stake.covered and hit and stake.located:
            found.add("TORN-03")
    if looks.reads > 1:
        found.add("DUR-05")
    if looks.owned:
        found.add("OWN-08")
    if looks.appended:
        found.add("DUR-07")
    if looks.after and looks.appended:
        found.add(crash_blame.tail(stake, damage))
        if looks.events > stake.covered and stake.located:
            found.add("TORN-03")
    return frozenset(found)
