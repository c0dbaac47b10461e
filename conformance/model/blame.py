"""Which clause is broken when something is there that should not be, or is missing that should be there.

The rules ask here twice: when an answer is wrong, for the clause to blame, and when it is right, for the clause that it
witnesses. That is one question, so that no clause is witnessed which a wrong answer would not have broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conformance.model import crash_blame
from conformance.model.state import STRONG_TAGS, Handle, Instance, Session, World
from conformance.model.values import same

if TYPE_CHECKING:
    from conformance.model.judge import Judge

BARRIER_CLAUSE = {
    "flush": "FRESH-04",
    "close": "CLOSE-03",
    "service flush": "FLUSH-01",
    "failing service flush": "FLUSH-02",
    "service close": "CLOSE-07",
}
"""How the latest barrier was made -> the clause that a view without its events breaks."""

CAUSES = ("CLOSE-04", "CLOSE-06", "SEQ-08", "FLUSH-03")
"""Clauses that say by themselves why a session never was."""

OWNERSHIP_ERRORS = ("SessionAlreadyOwnedError", "SessionOwnershipLostError", "SessionReadOnlyError")


def promised(session: Session, seq: int) -> str:
    """The clause because of which an event is there, where that is not its append alone."""
    for first, end, clause in session.promised:
        if first <= seq < end:
            return clause
    return ""


def on_its_way(session: Session) -> str:
    """The clause by which published events came into the log that nobody has read back since, or ""."""
    if not session.promised:
        return ""
    seq = min(session.verified, len(session.log) - 1)
    return next((clause for _, end, clause in session.promised if end > seq and clause.startswith("LIVE")), "")


def suspect(session: Session, *, but: str = "") -> str:
    """The clause about the latest operation that must not have changed the log, or "" where there was none.

    Args:
        but: a clause of which it is known that it is not the one.
    """
    latest = ""
    for tag in reversed(session.tags):
        if tag in STRONG_TAGS and tag != but:
            return tag
        if not latest and tag != but:
            latest = tag
    return latest


def absent(world: World, instance: Instance, session_id: str, base: str) -> str:
    """The clause that says why nothing may be seen under this id; ``base`` where there is no special reason."""
    if world.never.get(session_id) in CAUSES:
        return world.never[session_id]
    failed = instance.failed_claim.get(session_id, "")
    elsewhere = [
        session for (other, found), session in world.pending.items() if found == session_id and other != instance.number
    ]
    if failed and (failed != "OWN-04" or not elsewhere):
        return failed
    if any("SEQ-03" in session.tags for session in elsewhere):
        return "SEQ-03"
    if elsewhere:
        return "MAT-02"
    return world.never.get(session_id, base)


def present(judge: Judge, instance: Instance, session: Session, fresh: str) -> str:
    """The clause that says why this instance must see the session; ``fresh`` is the one for its own appends."""
    crashed = crash_blame.gone(session)
    if crashed:
        return crashed
    tag = suspect(session)
    if instance.number in session.shown and (tag in STRONG_TAGS if session.pending else tag):
        return tag
    if session.log and not session.verified and promised(session, 0).startswith("LIVE"):
        return promised(session, 0)
    if session.pending or (not session.durable and not session.log):
        return "MAT-01"
    if session.home != instance.number:
        return barrier(instance, session)
    if not session.log:
        return own_barrier(judge, session)
    return closing_barrier(session) or fresh


def own_barrier(judge: Judge, session: Session) -> str:
    """The clause that keeps an empty session in the instance that flushed it."""
    if session.barrier_kind != "flush":
        return BARRIER_CLAUSE[session.barrier_kind]
    # MAT-04 speaks of fresh instances; without any, a flushed session that is gone was removed by its close.
    return "SVC-11" if judge.capabilities.storage == "memory" else "MAT-04"


def closing_barrier(session: Session) -> str:
    """The clause of the close or service flush that covered the log as it now is, or "" where none did."""
    if session.barrier_kind == "flush" or session.barrier_at <= session.grown_at:
        return ""
    return BARRIER_CLAUSE[session.barrier_kind]


def barrier(instance: Instance, session: Session) -> str:
    """The clause that a view of another instance breaks when it lacks what the latest barrier covered."""
    if not session.log and session.barrier_kind == "flush":
        return "MAT-04"
    closed_at = session.closed_at
    if session.log and closed_at is not None and session.barrier_at <= closed_at < instance.opened_at:
        return "MAT-05"
    return BARRIER_CLAUSE[session.barrier_kind]


def stale(judge: Judge, handle: Handle) -> str:
    """The clause broken where a handle does not show events that its instance must see by now."""
    session = handle.session
    if handle.is_writer and handle.wrote:
        return "READ-04"
    if session.home == handle.instance:
        if session.pending or not session.log:
            return "MAT-01"
        newer = handle.opened_at > session.barrier_at
        return (closing_barrier(session) if newer else "") or "FRESH-01"
    if session.log and handle.shown and handle.opened_at < session.barrier_at:
        # What it shows is right as far as it goes: it goes on showing what it once loaded.
        return "FRESH-04"
    return barrier(judge.world.instances[handle.instance], session)


def raising(judge: Judge, handle: Handle, offset: int, length: int | None) -> str:
    """The clause broken where a read that must answer raises."""
    session = handle.session
    crashed = crash_blame.failing(session)
    if crashed:
        return crashed
    if handle.swept:
        return "FLUSH-04"
    if session.broken_off:
        return "SVC-11"
    if (offset and offset >= len(session.log)) or length == 0:
        return "READ-01"
    tag = suspect(session)
    if tag and session.log and session.verified == len(session.log):
        return tag
    return on_its_way(session) or stale(judge, handle)


def missing(judge: Judge, handle: Handle, seq: int, *, bounded: bool = False) -> str:
    """The clause broken where a read shows nothing from ``seq`` on, though it must.

    Args:
        bounded: an offset or a length was given, so that the slicing may be at fault.
    """
    session = handle.session
    crashed = crash_blame.short(handle, judge.world.instances[handle.instance], session, seq)
    if crashed:
        return crashed
    if seq >= session.verified and promised(session, seq):
        return promised(session, seq)
    tag = suspect(session)
    if tag in STRONG_TAGS and seq < session.verified:
        return tag
    if bounded and not tag and seq < min(session.verified, handle.shown):
        return "READ-01"
    if seq < handle.shown:
        return tag or "READ-03"
    promised_by_sight = session.home != handle.instance and seq >= session.covered
    old_reader = not handle.is_writer and handle.opened_at < session.grown_at
    if seq < min(session.verified, session.shown.get(handle.instance, 0)) and not old_reader and tag:
        return tag
    return "SEQ-04" if promised_by_sight else stale(judge, handle)


def altered(judge: Judge, handle: Handle, seq: int, event: Any = None) -> str:
    """The clause broken where the event at ``seq`` is not the one that was appended."""
    session = handle.session
    crashed = crash_blame.altered(judge.world.instances[handle.instance], session, seq, event, shown=handle.shown)
    if crashed:
        return crashed
    if seq in session.scribbled:
        return "SEQ-06"
    if session.live is not None and seq in session.live.scribbled:
        return "LIVE-08"
    if seq < session.handed.get(handle.instance, 0):
        return "SEQ-07"
    if seq < session.verified:
        return suspect(session) or ("READ-03" if seq < handle.shown else "SEQ-04")
    if event is not None and any(same(event, refused) for refused in session.refused):
        return session.refused_by
    found = promised(session, seq)
    return found if found.startswith("LIVE") else "SEQ-01"


def are_alike(handle: Handle, seqs: range) -> bool:
    """Whether each of these events, which nobody has read back yet, is in the log because of its append alone.

    Then ``altered`` gives SEQ-01 for every one of them.
    """
    session = handle.session
    ordinary = session.recovery is None and session.live is None and not session.scribbled and not session.promised
    return ordinary and session.handed.get(handle.instance, 0) <= seqs.start


def beyond(judge: Judge, handle: Handle, extra: Sequence[Any]) -> str:
    """The clause broken where a read shows events past the end of the log."""
    session = handle.session
    if extra:
        if any(_is_scribble(event) for event in extra):
            return "SEQ-06" if session.scribbled else "SEQ-07"
        if any(same(event, refused) for event in extra for refused in session.refused):
            return session.refused_by
        if session.live is not None:
            return _doubled(session, extra)
    crashed = crash_blame.beyond(judge.world.instances[handle.instance], session)
    tag = suspect(session)
    return crashed or (tag if tag in STRONG_TAGS else "SEQ-01")


def _doubled(session: Session, extra: Sequence[Any]) -> str:
    """The clause broken where a log with a live path goes on past its end."""
    clause = _given_another_seq(session, extra)
    if clause:
        return clause
    by_hand = [event for seq, event in enumerate(session.log) if not promised(session, seq)]
    if any(same(event, known) for event in extra for known in by_hand):
        return "LIVE-09"
    return "LIVE-04" if any(clause == "LIVE-05" for _, _, clause in session.promised) else "LIVE-01"


def _given_another_seq(session: Session, extra: Sequence[Any]) -> str:
    """The clause about published events that do not fit where one of them is there, under whatever seq."""
    live = session.live
    if live is None:
        return ""
    misfits = [(each, session.refused_by) for each in session.refused]
    misfits += [(each.event, "LIVE-10" if live.lost else "LIVE-14") for each in live.waiting]
    for event in extra:
        for misfit, clause in misfits:
            known = isinstance(event, dict) and isinstance(misfit, dict) and "seq" in event
            if known and same({**misfit, "seq": event["seq"]}, event):
                return clause
    return ""


def miscounted(judge: Judge, instance: Instance, session: Session, count: Any, floor: int) -> str:
    """The clause broken where a snapshot gives ``count`` events, where ``floor`` at least must be seen."""
    given = session.counted.get(instance.number, set())
    if type(count) is not int or count < 0:
        return "REV-05"
    if 0 <= count < floor and count >= session.verified and promised(session, count):
        return promised(session, count)
    crashed = crash_blame.miscounted(instance, session, count, floor)
    if crashed or count >= floor:
        return crashed or "REV-05"
    if count in given or not given:
        # It is behind the times: a count that was right once, or of a log that was empty once.
        if count and not given:
            return "REV-05"
        if session.home == instance.number:
            return "FRESH-02"
        return "FRESH-04" if given else barrier(instance, session)
    return suspect(session) if max(given) >= floor and session.tags else "REV-05"


def _is_scribble(event: Any) -> bool:
    return isinstance(event, dict) and (event.get("data") == "scribbled" or event.get("scribbled") is True)


def stored_after_all(session: Session, end: int | None) -> str:
    """The clause by which the log may not end there: what did, was refused or cancelled; "" where nothing did."""
    is_end = bool(session.refused) and end is not None and session.refused[-1].get("seq") == end - 1
    return session.refused_by if is_end and session.refused_by in CAUSES else ""


def refused_owner(handle: Handle, kind: str) -> str:
    """The clause broken where the rightful owner's append rejects with this kind of error."""
    if handle.disturbed:
        return handle.disturbed
    session = handle.session
    if (session.recovery is not None or session.reborn) and (crashed := crash_blame.refused(session)):
        return crashed
    if handle.after_refusal:
        return "SEQ-09"
    if session.broken_off and kind and kind not in OWNERSHIP_ERRORS:
        return "SVC-11"
    if handle.reopened and handle.rounds == 0:
        return "OWN-02"
    return "OWN-11" if kind in OWNERSHIP_ERRORS else "SEQ-01"
