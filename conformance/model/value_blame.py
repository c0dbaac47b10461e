"""Which clause is broken where a value changed on its way, vanished, or made a call fail (JSON-01, JSON-03, FMT-03).

These clauses are blamed only where the value is the likely cause: the event or header is otherwise the one that was
given, or what is missing or fails holds something that codecs are known to trip over. Everything else stays with the
clause of the operation. Nothing here knows operations or decides whether an answer is right.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from conformance.contract import CONTRACT_ERRORS, KNOWN_EVENT_TYPES, SessionHeader
from conformance.model.batches import JsonGrade, json_grade
from conformance.model.values import plain, same

if TYPE_CHECKING:
    from conformance.model.judge import Judge
    from conformance.model.state import Session

DEEP = 20
LONG = 4096
WIDE = 2**31
"""Levels, characters and size from which a value is out of the ordinary."""

_FIELDS = ("cwd", "parent_session", "origin", "agent_preset")
_VALUES = attrgetter(*_FIELDS)
_OF_VALUES = ("SessionPersistenceCorruptionError", "SessionFormatUnsupportedError", "SessionPersistenceError")
"""Kinds of the contract's own errors by which a backend may tell that it cannot read what it stored."""

_BY_GRADE = {JsonGrade.COMMON: "JSON-01", JsonGrade.BEYOND: "JSON-03", JsonGrade.OUTSIDE: "JSON-03"}


def changed(given: Any, seen: Any, *, exact: bool, beyond: bool = False) -> str:
    """The clause about the first value in which ``seen`` differs from ``given``; "" where none does.

    Args:
        given: as it was handed over, tuples included.
        exact: ``1`` and ``1.0`` differ.
        beyond: it lies inside something that is beyond JSON's common ground itself.
    """
    if isinstance(given, Mapping) and isinstance(seen, Mapping):
        for key, item in given.items():
            if key not in seen:
                return _clause_for(key, beyond=beyond)
            found = changed(item, seen[key], exact=exact, beyond=beyond)
            if found:
                return found
        return _clause_for(None, beyond=beyond) if len(seen) > len(given) else ""
    if isinstance(given, list | tuple) and isinstance(seen, list):
        beyond = beyond or isinstance(given, tuple)
        for left, right in zip(given, seen, strict=False):
            found = changed(left, right, exact=exact, beyond=beyond)
            if found:
                return found
        return "" if len(given) == len(seen) else _clause_for(None, beyond=beyond)
    return "" if same(plain(given), seen, exact=exact) else _clause_for(given, beyond=beyond)


def _clause_for(value: Any, *, beyond: bool) -> str:
    return "JSON-03" if beyond else _BY_GRADE[json_grade(value)]


def altered(judge: Judge, session: Session, seq: int, seen: Any) -> str:
    """The clause where another event is seen at ``seq`` than the one appended, which nobody had read back before.

    Returns "" where it is not the value that is at fault.
    """
    given = session.given.get(seq, session.log[seq])
    marked = is_marked(judge, given)
    if not isinstance(seen, dict):
        return ""
    if seen.get("seq") != seq or type(seen.get("seq")) is not int:
        later = any(same(event, seen) for event in session.log[seq + 1 :])
        return lost(judge, session, seq) if later else ""
    if marked and (given.keys() != seen.keys() or seen["type"] != given["type"] or seen["ignorable"] is not True):
        return "FMT-03"
    missing = [key for key in given if key not in seen]
    if any(json_grade(key) != JsonGrade.COMMON for key in missing):
        return "JSON-03"
    if missing or len(seen) > len(given):
        return ""
    if not same(given["type"], seen["type"]) and json_grade(given["type"]) == JsonGrade.COMMON:
        return ""
    return changed(given, seen, exact=judge.capabilities.numbers == "exact")


def lost(judge: Judge, session: Session, seq: int) -> str:
    """The clause where the event at ``seq`` is gone and others of its batch are there; "" where it is not the value."""
    given = session.given.get(seq, session.log[seq])
    if is_marked(judge, given):
        return "FMT-03"
    if seq in session.given:
        return "JSON-03"
    return "JSON-01" if remarkable(given) else ""


def unreadable(judge: Judge, session: Session, kind: str) -> str:
    """The clause where a call that reads what is stored raises because of a value; "" where it is not the value.

    Only what nobody has read back yet can be the cause.
    """
    if (kind in CONTRACT_ERRORS and kind not in _OF_VALUES) or kind == "Hung" or _is_of_system(kind):
        return ""
    fresh = range(session.verified, len(session.log))
    if session.live is not None and session.live.is_scribbled(fresh):
        return "LIVE-08"
    if kind == "SessionFormatUnsupportedError":
        return "FMT-03" if any(is_marked(judge, session.log[seq]) for seq in fresh) else ""
    if any(seq in session.given for seq in fresh) or _header_grade(session.header) == JsonGrade.BEYOND:
        return "JSON-03"
    values = [*session.log[session.verified :], *_header_values(session.header)]
    return "JSON-01" if any(map(remarkable, values)) else ""


def refused(judge: Judge, events: Any, kind: str, *, common: bool) -> str:
    """The clause where an append that must work rejects because of a value; "" where it is not the value."""
    if kind == "SessionFormatUnsupportedError":
        return "FMT-03" if any(is_marked(judge, event) for event in events) else ""
    if kind in CONTRACT_ERRORS or kind == "Hung":
        return ""
    if not common:
        return "JSON-03"
    return "JSON-01" if remarkable(events) else ""


def in_header(given: SessionHeader, seen: Any, *, exact: bool) -> str:
    """The clause where a header shows another value than was given; "" where a field is lost, or no value differs."""
    if not isinstance(seen, SessionHeader) or not isinstance(seen.extra, Mapping):
        return ""
    pairs = [(getattr(given, name), getattr(seen, name)) for name in _FIELDS]
    for key, item in given.extra.items():
        if key in seen.extra:
            pairs.append((item, seen.extra[key]))
        elif json_grade(key) != JsonGrade.COMMON:
            return "JSON-03"
    found = (changed(due, got, exact=exact) for due, got in pairs if due is not None and got is not None)
    return next(filter(None, found), "")


def witnessed(judge: Judge, session: Session, seqs: Sequence[int]) -> set[str]:
    """The clauses that a changed value in one of these events, first read now, would have broken."""
    found = {"JSON-01"} if seqs else set()
    if session.given and not session.given.keys().isdisjoint(seqs):
        found.add("JSON-03")
    log = session.log
    for seq in seqs:
        if "ignorable" in log[seq] and is_marked(judge, log[seq]):
            found.add("FMT-03")
            break
    return found


def witnessed_header(session: Session) -> frozenset[str]:
    """The clauses that a changed value in the session's header, shown now, would have broken."""
    found = session.header_clauses
    if found is None:
        found = session.header_clauses = _clauses_of(session.header)
    return found


def _clauses_of(header: SessionHeader) -> frozenset[str]:
    if not _header_values(header):
        return frozenset()
    return frozenset({"JSON-01"} if _header_grade(header) == JsonGrade.COMMON else {"JSON-01", "JSON-03"})


def _header_values(header: SessionHeader) -> list[Any]:
    extra = [dict(header.extra)] if header.extra else []
    return [value for value in _VALUES(header) if value is not None] + extra


def _header_grade(header: SessionHeader) -> int:
    return max(map(json_grade, _header_values(header)), default=JsonGrade.COMMON)


def _is_of_system(kind: str) -> bool:
    """Whether the class of that name is one by which the operating system tells of files."""
    found = getattr(builtins, kind, None)
    return isinstance(found, type) and issubclass(found, OSError)


def is_marked(judge: Judge, event: Any) -> bool:
    """Whether a closed vocabulary has to keep the event though it does not know its type (FMT-03)."""
    return (
        judge.capabilities.vocabulary == "closed"
        and event.get("ignorable") is True
        and event["type"] not in KNOWN_EVENT_TYPES
    )


def remarkable(value: Any, depth: int = 0) -> bool:
    """Whether there is something in the value that codecs and stores are known to trip over.

    Odd characters, empty keys, long text, wide integers, floats, deep nesting; ordinary text and small numbers are not.
    """
    kind = type(value)
    if kind is str:
        return len(value) > LONG or not (value.isascii() and value.isprintable())
    if kind is int:
        # Times of today are wide, and no store has trouble with them.
        return not -WIDE <= value <= WIDE << 11
    if kind is float:
        return True
    if kind is dict:
        if depth > DEEP:
            return True
        return any(key == "" or remarkable(key) or remarkable(item, depth + 1) for key, item in value.items())
    if kind is list or kind is tuple:
        return depth > DEEP or any(remarkable(item, depth + 1) for item in value)
    return False
