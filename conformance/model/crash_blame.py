"""Which clause is broken where a session comes back wrong from a crash: by cause, for both questions of ``blame``.

What the crash took tells the cause. Where it took something that a barrier had covered, a barrier was missing: DUR.
Where it took only what no barrier covered, or nothing at all was torn there, recovery made the mistake: TORN, or the
wider clause of DUR where the backend gives no location. What an earlier look after the same crash showed, and what the
first append after it must keep, have clauses of their own. Each function returns "" where the clauses of ordinary life
say more.
"""

from __future__ import annotations

from typing import Any

from conformance.model.aftermath import Aftermath, Damage, Recovery, Stake
from conformance.model.state import Handle, Instance, Session


def loss(stake: Stake, damage: Damage, seq: int | None, *, fails: bool = False) -> str:
    """The clause where what must be there is not: the event at ``seq``, or the session itself.

    Args:
        fails: it is there and cannot be read.
    """
    if stake.before & damage.lost:
        return _uncovered(stake, damage, seq, fails=fails)
    hit = is_hit(stake, damage)
    if stake.survivor and (stake.in_flight or stake.after & stake.this_life & damage.lost):
        return "DUR-06"
    if stake.quiet and (stake.other_in_flight or damage.lost - stake.before - stake.after):
        return "DUR-08"
    if hit:
        return "TORN-01" if stake.located else "DUR-01"
    return _uncovered(stake, damage, seq, fails=fails)


def _uncovered(stake: Stake, damage: Damage, seq: int | None, *, fails: bool) -> str:
    """The clause of the barrier that did not hold."""
    found = stake.exists_found if seq is None else any(first <= seq < end for first, end in stake.found)
    if found:
        # What a kill takes was in no disk cache, and DUR-11 is about what was there and not synced.
        return "DUR-06" if damage.kill else "DUR-11"
    if (not stake.exists_by_barrier) if seq is None else seq >= stake.by_barrier:
        return "DUR-09"
    return "DUR-02" if seq is None and not fails else "DUR-01"


def is_hit(stake: Stake, damage: Damage) -> bool:
    """Whether something of what no barrier covered may be torn."""
    return stake.in_flight or bool(stake.after & damage.lost)


def half_made(stake: Stake) -> str:
    """The clause where a session that need not exist is there by halves, or blocks its id."""
    return "TORN-04" if stake.located else "DUR-04"


def tail(stake: Stake, damage: Damage) -> str:
    """The clause where the remains of a crash spoil what is appended next."""
    return "TORN-02" if stake.located and (is_hit(stake, damage) or not stake.quiet) else "DUR-07"


def gone(session: Session) -> str:
    """The clause where a session that must be there, or was shown since the crash, is not."""
    recovery = session.recovery
    if recovery is None:
        return ""
    if recovery.grown_at is not None:
        return tail(recovery.stake, recovery.damage)
    if recovery.answered:
        return "DUR-05"
    if recovery.stake.must:
        return loss(recovery.stake, recovery.damage, None)
    return half_made(recovery.stake)


def failing(session: Session, *, writing: bool = False) -> str:
    """The clause where a call that looks at the session raises, and not because the session is absent.

    Args:
        writing: it is a write open.
    """
    recovery = session.recovery
    if recovery is None:
        return ""
    stake, damage = recovery.stake, recovery.damage
    if recovery.grown_at is not None:
        return tail(stake, damage)
    if recovery.answered:
        return "DUR-07" if writing else "DUR-05"
    return unreadable(stake, damage)


def unreadable(stake: Stake, damage: Damage) -> str:
    """The clause where the first look at a session raises."""
    if stake.must:
        return loss(stake, damage, None, fails=True)
    return "TORN-04" if stake.located else "DUR-01"


def short(handle: Handle | None, instance: Instance, session: Session, seq: int) -> str:
    """The clause where nothing is shown from ``seq`` on, though it must be."""
    recovery = session.recovery
    if recovery is None:
        return ""
    stake, damage = recovery.stake, recovery.damage
    if handle is not None and seq < handle.shown:
        repaired = recovery.repaired.get(handle.instance, -1) > handle.opened_at
        if repaired and seq < _before_append(session, recovery):
            return "TORN-05" if stake.located else "READ-03"
        return "READ-03" if recovery.grown_at is None else ""
    if recovery.grown_at is not None:
        return _spoiled(recovery, instance, seq)
    if seq < recovery.shown:
        # Whoever took ownership was to keep what a reader had been shown.
        taken_away = recovery.owned and stake.located and is_hit(stake, damage)
        return "TORN-03" if taken_away else _unstable(recovery, instance)
    return loss(stake, damage, seq)


def altered(instance: Instance, session: Session, seq: int, event: Any = None, *, shown: int = 0) -> str:
    """The clause where another event stands at ``seq`` than the one that was appended.

    Args:
        event: what stands there; None where the question is what it would be.
        shown: how many events the same handle has shown.
    """
    recovery = session.recovery
    if recovery is None:
        return ""
    stake, damage = recovery.stake, recovery.damage
    if seq < shown:
        return "READ-03"
    if recovery.grown_at is not None:
        return _spoiled(recovery, instance, seq)
    if seq < recovery.read:
        return "DUR-05"
    hit = is_hit(stake, damage)
    if seq >= stake.covered:
        if not hit:
            # It never was on a torn page: the value itself may be why it changed.
            return ""
        if not stake.located:
            return "DUR-01"
        is_record = event is None or (isinstance(event, dict) and event.get("seq") == seq)
        return "TORN-03" if is_record else "TORN-01"
    return loss(stake, damage, seq) if hit or damage.lost else ""


def miscounted(instance: Instance, session: Session, count: int, floor: int) -> str:
    """The clause where an event count is less than must be shown, or more than may be."""
    if count < floor:
        return short(None, instance, session, count)
    return beyond(instance, session) if count > len(session.log) else ""


def beyond(instance: Instance, session: Session) -> str:
    """The clause where more is shown than was ever appended, or than was shown before."""
    recovery = session.recovery
    if recovery is None:
        return session.reborn
    if recovery.grown_at is not None:
        return _spoiled(recovery, instance, recovery.kept)
    if recovery.told:
        return _unstable(recovery, instance)
    return invented(recovery.stake, recovery.damage)


def invented(stake: Stake, damage: Damage) -> str:
    """The clause where the first look at a session shows more than was ever appended."""
    return "TORN-01" if stake.located and is_hit(stake, damage) else "DUR-01"


def _before_append(session: Session, recovery: Recovery) -> int:
    return recovery.kept if recovery.grown_at is not None else session.kept


def _unstable(recovery: Recovery, instance: Instance) -> str:
    """Two looks at the same storage differ; in one instance, a count that no read confirmed may be what is wrong."""
    return "REV-05" if recovery.counted_by == instance.number and not recovery.read else "DUR-05"


def _spoiled(recovery: Recovery, instance: Instance, seq: int) -> str:
    """The clause where the first append after a recovery is not followed by the recovered log and that batch."""
    stake = recovery.stake
    if recovery.grown_at is None or seq >= recovery.healed:
        return ""
    if seq < recovery.kept:
        return "TORN-03" if stake.located and seq >= stake.covered else tail(stake, recovery.damage)
    # Its own instance may be wrong about the batch for reasons of its own.
    return tail(stake, recovery.damage) if instance.opened_at > recovery.grown_at else ""


def header(session: Session) -> str:
    """The clause where the session shows another header or inherited count."""
    recovery = session.recovery
    if recovery is None or recovery.grown_at is not None:
        return ""
    return "DUR-05" if recovery.opened else "DUR-04"


def looking(session: Session) -> str:
    """The clause where a mere look at a recovered session changes its revision."""
    return "DUR-05" if session.recovery is not None and session.recovery.grown_at is None else ""


def refused(session: Session) -> str:
    """The clause where the first append, or a flush, of a recovered session is refused."""
    recovery = session.recovery
    if recovery is not None and recovery.grown_at is None:
        return "DUR-07"
    return "" if session.log else session.reborn


def taking(session: Session) -> str:
    """The clause where a write open finds an owner, though the crash ended every one."""
    recovery = session.recovery
    return "OWN-08" if recovery is not None and not recovery.owned else ""


def opening(aftermath: Aftermath | None) -> str:
    """The clause where no instance comes up after a crash."""
    if aftermath is None or aftermath.opened:
        return ""
    return "TORN-01" if aftermath.torn else "DUR-01"


def listing(aftermath: Aftermath | None) -> str:
    """The clause where listing fails as a whole after a crash."""
    if aftermath is None or aftermath.listed:
        return ""
    if aftermath.half_made:
        return "TORN-04"
    return "TORN-01" if aftermath.torn else "DUR-01"
