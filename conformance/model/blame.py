"""Which clause is broken when something is there that should not be, or is missing that should be there."""

from __future__ import annotations

from conformance.model.state import Handle, Instance, Session, World

STRONG_TAGS = ("SEQ-02", "SEQ-11", "JSON-02", "JSON-03", "FMT-02", "SEQ-03", "OWN-06", "SVC-02", "OWN-14", "SVC-12")
"""Tags of operations that tried to change something; the others only looked."""

BARRIER_CLAUSE = {
    "flush": "FRESH-04",
    "close": "CLOSE-03",
    "service flush": "FLUSH-01",
    "failing service flush": "FLUSH-02",
    "service close": "CLOSE-07",
}
"""How the latest barrier was made -> the clause that a view without its events breaks."""


def absent(world: World, instance: Instance, session_id: str, base: str) -> str:
    """The clause that says why nothing may be seen under this id; ``base`` where there is no special reason."""
    if session_id in instance.failed_claim:
        return instance.failed_claim[session_id]
    elsewhere = [
        session for (other, found), session in world.pending.items() if found == session_id and other != instance.number
    ]
    if any("SEQ-03" in session.tags for session in elsewhere):
        return "SEQ-03"
    if elsewhere:
        return "MAT-02"
    return "MAT-03" if session_id in world.never else base


def present(instance: Instance, session: Session, fresh: str) -> str:
    """The clause that says why this instance must see the session; ``fresh`` is the one for its own appends."""
    if session.pending:
        return "MAT-01"
    if session.home == instance.number:
        if session.log:
            return fresh
        return "MAT-04" if session.durable else "MAT-01"
    return barrier(instance, session)


def barrier(instance: Instance, session: Session) -> str:
    """The clause that a view of another instance breaks when it lacks what the latest barrier covered."""
    if not session.log and session.barrier_kind == "flush":
        return "MAT-04"
    if session.log and session.closed_at is not None and instance.opened_at > session.closed_at:
        return "MAT-05"
    return BARRIER_CLAUSE[session.barrier_kind]


def gone(handle: Handle, upto: int) -> str:
    """The clause broken where a read lacks, or changed, events that were read back before; it ends at ``upto``."""
    session = handle.session
    for tag in reversed(session.tags):
        if tag in STRONG_TAGS:
            return tag
    if session.tags:
        return session.tags[-1]
    return "READ-03" if handle.shown > upto else "SEQ-04"


def refused_owner(handle: Handle, kind: str) -> str:
    """The clause broken where the rightful owner's append or flush rejects with this kind of error."""
    if handle.disturbed:
        return "OWN-12"
    if handle.after_refusal:
        return "SEQ-09"
    if handle.reopened and handle.rounds == 0:
        return "OWN-02"
    ownership = ("SessionAlreadyOwnedError", "SessionOwnershipLostError", "SessionReadOnlyError")
    return "OWN-11" if kind in ownership else "SEQ-01"
