"""The rules for faults that meet the artifact of one session alone, as where that file cannot be read (EACCES, EIO).

Whoever is asked about that session may show the fault, as ever. A fresh instance comes up all the same, a listing tells
of all others and may leave that one out (SVC-07), and no call about another session is rejected for it (FAULT-08).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.operations import Create, ListSessions, OpenInstance, OpenSession, Operation, Stat
from conformance.model.state import Handle
from conformance.model.trouble import Grip, Trouble

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def demand_unharmed(judge: Judge, trouble: Trouble, op: Operation) -> None:
    """A call was rejected because of such a fault: it has to be about the session that the fault is about."""
    clause = blamed(judge, trouble, op)
    if clause:
        judge.fail(clause, f"an answer: only the artifact of {trouble.aim!r:.60} meets errors", note=_NOTE)


def blamed(judge: Judge, trouble: Trouble, op: Operation) -> str:
    """The clause that a wrong answer breaks in which such a fault came; "" where others say that."""
    if not trouble.aim or not trouble.now:
        return ""
    if isinstance(op, ListSessions | OpenInstance):
        hit = judge.world.stored.get(trouble.aim)
        return "FAULT-04" if hit is not None and hit.serial == trouble.listed else "SVC-07"
    handle = judge.world.handles.get(getattr(op, "handle", -1))
    if isinstance(op, Stat | OpenSession):
        about: object = op.session
    elif isinstance(op, Create):
        about = op.header.id
    else:
        about = None if handle is None else handle.session.id
    return "FAULT-08" if about is not None and about != trouble.aim else ""


def demand_spared(judge: Judge, trouble: Trouble, failing: list[Handle]) -> None:
    """A call for the whole service names these: each is the session that the fault is about, or owes an older one."""
    for each in failing if trouble.aim and trouble.now else ():
        if each.session.id != trouble.aim and not _owes(trouble.grip(each.number), each):
            judge.fail("FAULT-08", f"no failure of {each.session.id!r:.60}", note=_NOTE)


def _owes(grip: Grip, handle: Handle) -> bool:
    return grip.owed or handle.lost or (grip.spendable and grip.rejected)


_NOTE = "a fault of one session's file is nobody else's"
