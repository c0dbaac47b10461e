"""Which clause about faults an ordinary violation breaks, where a fault is the reason for it.

`retold` is asked after an ordinary rule objected in a world in which storage failed. Its answer is the clause to blame
in place of the ordinary one, "" where what happened is allowed after all, or None where no fault explains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conformance.model import aimed_rules, fault_contests
from conformance.model.history import Outcome, Raised, Returned, SnapshotView
from conformance.model.operations import (
    Append,
    Close,
    Create,
    Flush,
    Leave,
    ListSessions,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.service_rules import MOVED_ON
from conformance.model.state import Handle, Session, World
from conformance.model.trouble import Batch, Mishap, Trouble
from conformance.model.values import same
from conformance.model.words import snapshot_id

if TYPE_CHECKING:
    from conformance.clauses import Violation
    from conformance.model.judge import Judge

_LOOKS = (Read, Stat, ListSessions)

_READING = ("open", "read", "look")
"""Kinds of storage calls that only read, or may."""

_LESS = frozenset(
    "READ-03 READ-04 FRESH-01 FRESH-02 FRESH-04 REV-05 SEQ-04 SVC-06 MAT-01 MAT-04 MAT-05 FLUSH-01 CLOSE-03"
    " CLOSE-07 SEQ-01 JSON-01 JSON-03 FMT-03".split()
)
"""What is blamed where a view shows less than it must, its events in another order, or ends before a rare value."""

_GONE = ("SessionPersistenceNotFoundError", "SessionPersistenceCorruptionError", "SessionContiguityError")
"""Kinds of errors that say that something is not there."""

_LOST = frozenset("DUR-01 DUR-02 DUR-05 DUR-06 DUR-08 DUR-09 DUR-11 TORN-01 TORN-03 TORN-04".split())
"""What is blamed on a barrier that did not hold, or on recovery, after a crash."""


def retold(judge: Judge, op: Operation, outcome: Outcome, found: Violation) -> str | None:
    """See the module."""
    trouble = judge.world.trouble
    if trouble is None or not trouble.fired:
        return None
    handle = judge.world.handles.get(getattr(op, "handle", -1))
    session = _session(judge, op, handle) if not isinstance(op, ListSessions) else _listed(judge, found)
    mishap = None if session is None else trouble.mishaps.get(session.serial)
    if isinstance(op, Read) and handle is not None and refuses_what_shrank(trouble, handle, outcome):
        return ""
    if session is not None and mishap is not None and _shows_a_ghost(op, outcome, handle, session, mishap):
        # What it met failed before; the fault of now may be of another session's call.
        return ""
    if trouble.now:
        return aimed_rules.blamed(judge, trouble, op) or _while_failing(trouble, op, outcome)
    if isinstance(outcome, Raised):
        return _rejected(judge, trouble, op, outcome.error.kind, handle, session, mishap)
    if mishap is None or session is None:
        return None
    if isinstance(op, Read) and isinstance(outcome, Returned) and handle is not None:
        shown = _shown(op, outcome.value, handle, session, mishap)
        return _missing(session, mishap, found) if shown is None else shown
    if isinstance(op, Stat | ListSessions) and _unsettled(mishap) and _may_meet(session, mishap, op.instance):
        is_wrong = _tells_else(session, mishap, getattr(outcome, "value", None))
        return _missing(session, mishap, found) if is_wrong else ""
    return _missing(session, mishap, found)


def _tells_else(session: Session, mishap: Mishap, value: Any) -> bool:
    """Whether a snapshot, or a listing, tells what no ghost explains: less of the session than a barrier covered, or
    more than the log holds with what failed appends left."""
    views = value if isinstance(value, list) else [value]
    counts = [each.event_count for each in views if isinstance(each, SnapshotView) and snapshot_id(each) == session.id]
    if not counts:
        return session.durable
    ends = [ghost[0]["seq"] + len(ghost) for ghost in _unsettled(mishap) if ghost]
    most = max(len(session.log), *ends) if ends and mishap.contest is None else None
    numbers = [count for count in counts if type(count) is int]
    return any(count < session.covered or (most is not None and count > most) for count in numbers)


def _shows_a_ghost(op: Operation, outcome: Outcome, handle: Handle | None, session: Session, mishap: Mishap) -> bool:
    """Whether a look shows what another instance's append left, and is right otherwise."""
    if not isinstance(outcome, Returned):
        return False
    if isinstance(op, Stat):
        meets = bool(_unsettled(mishap)) and _may_meet(session, mishap, op.instance)
        return meets and outcome.value is not None and not _tells_else(session, mishap, outcome.value)
    return isinstance(op, Read) and handle is not None and _shown(op, outcome.value, handle, session, mishap) == ""


def _listed(judge: Judge, found: Violation) -> Session | None:
    """The session that a listing is wrong about, or else the one that a fault hit last."""
    world, trouble = judge.world, judge.world.trouble
    stored = list(world.stored.values())
    named = [each for each in stored if f"{each.id!r:.80}" in found.expected]
    if not named and trouble is not None:
        named = [each for each in stored if each.serial == trouble.listed]
    if named or trouble is None:
        return named[0] if named else None
    hit = [each for each in stored if trouble.mishap(each.serial).hit_at >= 0]
    return max(hit, key=lambda each: trouble.mishap(each.serial).hit_at, default=None)


def _session(judge: Judge, op: Operation, handle: Handle | None) -> Session | None:
    if handle is not None and not isinstance(op, OpenSession | Create):
        return handle.session
    name = op.header.id if isinstance(op, Create) else getattr(op, "session", None)
    if not isinstance(name, str):
        return None
    return judge.world.visible(op.instance, name)[0]  # type: ignore[attr-defined]


def _while_failing(trouble: Trouble, op: Operation, outcome: Outcome) -> str | None:
    """A call in which storage failed did what it must not."""
    if isinstance(outcome, Raised) and outcome.error.kind == "SystemExit":
        return "FAULT-08"
    if isinstance(op, ListSessions) and not isinstance(outcome, Raised):
        # What cannot be described may be left out (SVC-07).
        return ""
    if isinstance(op, _LOOKS):
        return "FAULT-04"
    if isinstance(op, OpenSession) and (op.access == "read" or all(each.kind in _READING for each in trouble.now)):
        return "FAULT-04"
    if not isinstance(outcome, Raised):
        return None
    return "FAULT-05" if isinstance(op, Close | Leave) else "FAULT-01"


def _rejected(
    judge: Judge,
    trouble: Trouble,
    op: Operation,
    kind: str,
    handle: Handle | None,
    session: Session | None,
    mishap: Mishap | None,
) -> str | None:
    """A call rejected though storage works again."""
    grip = trouble.grips.get(handle.number) if handle is not None else None
    ghosts = mishap.ghosts if mishap is not None else []
    if mishap is not None and mishap.contest is not None and isinstance(op, Append) and kind in MOVED_ON:
        return ""
    if _found_a_ghost_only(op, session, mishap) and kind == "SessionPersistenceNotFoundError":
        return ""
    if isinstance(op, Append) and ghosts and kind != "Hung" and not is_one_of(op.events, ghosts):
        # It may say that something else stands there, which is not known to be untrue.
        return ""
    if isinstance(op, Append | Flush) and kind == "SessionOwnershipLostError" and grip is not None and grip.spendable:
        if handle is not None:
            handle.lost = True
        return ""
    untouched = grip is None or not (grip.owed or grip.rejected or grip.spendable)
    untouched = untouched and mishap is not None and mishap.hit_at >= 0
    if isinstance(op, Append | Flush) and kind == "SessionOwnershipLostError" and untouched:
        # What failed for its session failed in another handle: that one took the log away from its owner.
        return None
    if isinstance(op, OpenSession) and op.access == "write" and kind == "SessionAlreadyOwnedError":
        return "OWN-07" if mishap is not None and mishap.close_failed else None
    if isinstance(op, Append | Flush | Close | Leave) and grip is not None and (grip.rejected or grip.spendable):
        return "FAULT-02"
    if isinstance(op, Create | OpenSession) and mishap is None:
        instance = judge.world.instances.get(op.instance)
        name = op.header.id if isinstance(op, Create) else op.session
        if instance is not None and name in instance.failed_claim:
            return None
    gone = kind in _GONE and isinstance(op, Read | Stat | OpenSession | Append)
    if gone and session is not None and mishap is not None:
        if _is_owing(session, mishap):
            return mishap.owing
        if kind == "SessionPersistenceCorruptionError" and mishap.replaced and session.verified < len(session.log):
            # What failed and what took its place do not go together.
            return "FAULT-02"
        if kind == "SessionPersistenceCorruptionError" and mishap.owing:
            # What is damaged shows late, behind calls in which nothing failed.
            return mishap.owing
    return "FAULT-08"


def _found_a_ghost_only(op: Operation, session: Session | None, mishap: Mishap | None) -> bool:
    """Whether all that another instance may have seen of the session is of appends that failed, and may go again."""
    if not isinstance(op, OpenSession) or session is None or mishap is None:
        return False
    return not session.durable and _may_meet(session, mishap, op.instance)


def refuses_what_shrank(trouble: Trouble, handle: Handle, outcome: Outcome) -> bool:
    """Whether a read raised where its handle may have met events that are gone since: it must never go back (READ-03).

    They may be those that a failed close lost, or what another instance's append stored before it failed: FAULT-01
    hides the latter from readers of its own instance only.
    """
    if not isinstance(outcome, Raised) or outcome.error.kind == "Hung":
        return False
    return _lost_by_a_close(handle) or trouble.met_a_ghost(handle.number, handle.instance, handle.session.serial)


def _lost_by_a_close(handle: Handle) -> bool:
    recovery = handle.session.recovery
    if recovery is None or not recovery.damage.fault:
        return False
    return handle.shown > (len(handle.session.log) if recovery.fixed else recovery.low)


def _shown(op: Read, value: Any, handle: Handle, session: Session, mishap: Mishap) -> str | None:
    """A read shows what a failed append would have stored."""
    if not isinstance(value, list):
        return None
    log, first = session.log, op.offset
    if first + len(value) > len(log) and _may_meet(session, mishap, handle.instance):
        # Whether another instance sees it is left open until something settles it.
        for ghost in _unsettled(mishap):
            longer = (log[: ghost[0]["seq"]] + ghost)[first : first + len(value)]
            if same(longer, value):
                if first == 0 and op.length is None:
                    fault_contests.note_shown(mishap, handle, longer)
                return ""
    for place, event in enumerate(value):
        seq = first + place
        if seq < len(log) and same(log[seq], event):
            continue
        if any(same(event, each) for ghost in mishap.replaced for each in ghost):
            # The batch that failed stands where another does, or once more behind itself.
            return "FAULT-02" if any(same(event, each) for each in log) else "FAULT-10"
        return None
    return None


def _unsettled(mishap: Mishap) -> list[Batch]:
    """What failed appends left, or what was published and failed, as far as nothing has taken its place."""
    return [*mishap.ghosts, *(each.ghost for each in mishap.hauntings if each.until is None)]


def _may_meet(session: Session, mishap: Mishap, instance: int) -> bool:
    """Whether an instance may show what a failed append left: the append's own only once others may have counted it."""
    return mishap.contest is not None or instance != session.home


def _is_owing(session: Session, mishap: Mishap) -> bool:
    """Whether a fault may be why events are gone: it came in the call that appended last, or later, or kept a barrier
    from storing what was appended before, and nobody has seen that since a later one did."""
    return bool(mishap.owing) and (mishap.hit_at >= session.grown_at or mishap.owing == "FAULT-02")


def _missing(session: Session, mishap: Mishap, found: Violation) -> str | None:
    """What had resolved, or what a barrier had covered, is not there."""
    if session.recovery is None:
        return mishap.owing if found.clause in _LESS and _is_owing(session, mishap) else None
    return _lost(session, mishap, found)


def _lost(session: Session, mishap: Mishap, found: Violation) -> str | None:
    """What a barrier had covered did not come through a crash, and a fault came before that barrier."""
    recovery = session.recovery
    if recovery is None or recovery.damage.fault or found.clause not in _LOST or mishap.hit_at < 0:
        return None
    if session.barrier_at == mishap.barrier_hit_at:
        # It resolved although storage failed in it.
        return "FAULT-05" if session.barrier_kind in ("close", "service close") else "FAULT-01"
    if 0 <= mishap.sync_hit_at < session.barrier_at:
        return "FAULT-03"
    return "FAULT-01" if mishap.hit_at < session.barrier_at else None


def told(world: World) -> str:
    """The faults of this call, or that some came before, as a phrase."""
    trouble = world.trouble
    if trouble is None or not trouble.fired:
        return ""
    return "; ".join(map(str, trouble.now)) if trouble.now else "storage works again; it had failed before"


ALIASES = {
    "OWN-08": "OWN-07",
    "DUR-07": "FAULT-08",
    "TORN-02": "FAULT-02",
    **dict.fromkeys("DUR-01 DUR-02 DUR-03 DUR-04 DUR-05 DUR-06 DUR-08 DUR-09 DUR-11".split(), "FAULT-01"),
    **dict.fromkeys("TORN-01 TORN-03 TORN-04 TORN-05".split(), "FAULT-01"),
}
"""Clauses about crashes -> those that the same breaks where no crash came, only a close that failed."""


def is_one_of(events: Sequence[Any], batches: list[Batch]) -> bool:
    """Whether a batch is one of these."""
    return any(same(list(events), each) for each in batches)
