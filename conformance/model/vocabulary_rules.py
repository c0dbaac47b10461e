"""The rules for a session that holds an event of unknown type (FMT-02 with ``unknown_types="store"``).

Its reads and write opens are refused, naming type and seq. ``open`` for reading may refuse already or leave it to the
first read. A read that does not come to the event, or comes before it must be visible, may be served or refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.contract import KNOWN_EVENT_TYPES
from conformance.model.batches import UNSUPPORTED
from conformance.model.history import ErrorView, Outcome, Raised
from conformance.model.operations import OpenSession, Read
from conformance.model.state import Handle, Session

if TYPE_CHECKING:
    from conformance.model.judge import Judge

_SHOWN = 40
"""Characters of a type that a message has to show; it may cut a longer one."""


def remember_unknown(session: Session, events: list[dict[str, Any]]) -> None:
    """An append of these events was accepted: note the first that reads have to refuse."""
    if session.unknown is None:
        for event in events:
            if event["type"] not in KNOWN_EVENT_TYPES and event.get("ignorable") is not True:
                session.unknown = (event["seq"], event["type"])
                return


def refused_read(judge: Judge, handle: Handle, op: Read, floor: int, outcome: Outcome) -> bool:
    """Whether the read was refused for an unknown event in the log, as it must or may be."""
    if handle.session.unknown is None:
        return False
    seq = handle.session.unknown[0]
    reaches = op.offset <= seq and (op.length is None or seq < op.offset + op.length)
    if reaches and floor > seq:
        _check_names(judge, handle.session, judge.demand_refusal(outcome, {"FMT-02": UNSUPPORTED}))
        return True
    if not isinstance(outcome, Raised):
        value = getattr(outcome, "value", None)
        if reaches and isinstance(value, list) and len(value) > seq - op.offset:
            judge.fail("FMT-02", f"no event of an unknown type served, and that at seq {seq} is one")
        return False
    return _is_named_refusal(judge, handle.session, outcome)


def refused_open(
    judge: Judge, op: OpenSession, session: Session, floor: int, may: frozenset[str], outcome: Outcome
) -> bool:
    """Whether the open was refused for an unknown event in the log, as it must or may be.

    Args:
        may: kinds of other refusals that are right here.
    """
    if session.unknown is None:
        return False
    if op.access == "write" and floor > session.unknown[0]:
        error = judge.demand_refusal(outcome, {"FMT-02": UNSUPPORTED}, may=may)
        if error.kind in UNSUPPORTED:
            _check_names(judge, session, error)
        return True
    return _is_named_refusal(judge, session, outcome)


def _is_named_refusal(judge: Judge, session: Session, outcome: Outcome) -> bool:
    if not isinstance(outcome, Raised) or outcome.error.kind not in UNSUPPORTED:
        return False
    _check_names(judge, session, outcome.error)
    return True


def _check_names(judge: Judge, session: Session, error: ErrorView) -> None:
    """The message names the type, as it is or as ``repr`` shows it, and the seq."""
    seq, kind = session.unknown or (0, "")
    texts = (error.message, *error.notes)
    starts = (kind[:_SHOWN], repr(kind[:_SHOWN])[1:-1])
    if not all(any(name in text for text in texts for name in names) for names in (starts, (str(seq),))):
        judge.fail("FMT-02", f"SessionFormatUnsupportedError naming type {kind!r:.80} and seq {seq}")
