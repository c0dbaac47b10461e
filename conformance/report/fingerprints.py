"""When two failures are the same bug: the clause, and the shape of the program that breaks it.

The shape keeps what a reader would retell (create, append, append with a gap) and drops what another seed would draw
differently: ids, texts, times, the numbers of handles and instances, the length of a contiguous batch. It is an
opinion, good enough to fold repeated findings into one; it is no proof, and nothing but reports may rest on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import fields
from itertools import pairwise
from typing import Any

from conformance.contract import SessionHeader
from conformance.model.operations import (
    Append,
    Crash,
    Create,
    Damage,
    Fail,
    Leave,
    OpenSession,
    Operation,
    Overlap,
    Program,
    Read,
)
from conformance.report.abbreviate import odd_places


def fingerprint(clause: str, program: Program, call: int | None = None) -> str:
    """64 hexadecimal digits, equal for failures of one clause by programs of one shape.

    Args:
        call: index of the offending operation; what comes after it is left out of account.
    """
    shape = _Shape()
    operations = program.operations[: len(program.operations) if call is None else call + 1]
    text = json.dumps([clause, [shape.of(each) for each in operations]], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class _Shape:
    """Operations as lists of words and first-use numbers; remembers sessions and where their logs end."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, Hashable], int] = {}
        self.sessions: dict[int, Hashable] = {}
        self.ends: dict[Hashable, int] = {}

    def of(self, operation: Operation) -> list[Any]:
        found: list[Any] = [operation.kind]
        for role in ("instance", "handle"):
            if hasattr(operation, role):
                found.append(self._number(role, getattr(operation, role)))
        match operation:
            case Create(header=header, inherited=inherited):
                session = self._session(header.id)
                self.sessions[operation.handle] = session
                found += [session, *self._header(header), _kind(inherited)]
            case OpenSession(session=id, access=access):
                session = self.sessions[operation.handle] = self._session(id)
                found += [session, access if isinstance(access, str) else _kind(access)]
            case Append(events=events, scribble=scribble):
                found += [*self._batch(self.sessions.get(operation.handle), events), scribble]
            case Read(offset=offset, length=length, scribble=scribble):
                found += [_kind(offset), _kind(length), scribble]
            case Leave(raising=raising, cancelled=cancelled):
                found += [raising, *("cancelled" for _ in range(cancelled))]
            case Fail(calls=calls, how=how, place=place, session=session):
                found += [list(calls), how, *filter(None, [place]), *([self._session(session)] if session else [])]
            case Overlap(rows=rows):
                found += [[[*self.of(step.call), step.waits, bool(step.cancels)] for step in row] for row in rows]
            case Crash(preset=preset, during=during, lost=lost, tear=tear):
                cut_short = None if during is None else self.of(during)
                found += [preset, cut_short, sorted({part for _, part, _ in lost}), tear is not None]
            case Damage(session=session, how=how, beside=beside):
                found += [self._session(session), how, *(["beside"] if beside is not None else [])]
            case _ if hasattr(operation, "session"):
                found.append(self._session(operation.session))
        return found

    def _number(self, role: str, value: Hashable) -> int:
        return self.numbers.setdefault((role, value), sum(known == role for known, _ in self.numbers))

    def _session(self, id: Any) -> Any:
        """A first-use number for an id of the usual kind; the shape of one that is not."""
        return self._number("session", id) if isinstance(id, str) and _kind(id) == "text" else _kind(id)

    def _header(self, header: SessionHeader) -> list[Any]:
        seeded = header.is_seeded if isinstance(header.is_seeded, bool) else _kind(header.is_seeded)
        values = {each.name: getattr(header, each.name) for each in fields(header) if each.name not in ("id", "extra")}
        odd = [f"{name} {_kind(value)}" for name, value in values.items() if _is_odd(value) or not _fits(name, value)]
        return [seeded, odd, _oddities(dict(header.extra)) if hasattr(header.extra, "keys") else _kind(header.extra)]

    def _batch(self, session: Hashable, events: Any) -> list[Any]:
        """How the seqs run on from the log and inside the batch, and what in it is out of the ordinary."""
        if type(events) is not list:
            return [_kind(events)]
        if not events:
            return ["empty"]
        seqs: list[Any] = [each.get("seq") if type(each) is dict else None for each in events]
        if not all(type(seq) is int for seq in seqs):
            return ["odd seqs", _oddities(events)]
        end = self.ends.get(session, 0)
        steps = {
            _step(end, seqs[0], "start"),
            *(_step(one + 1, two, "") for one, two in pairwise(seqs)),
        }
        if steps == {"start on"} or steps == {"start on", "on"}:
            self.ends[session] = seqs[-1] + 1
        missing = sorted({key for each in events for key in ("type", "time", "data") if key not in each})
        return [sorted(steps - {"on"}), missing, _oddities([each.get("data") for each in events])]


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "created_at": (int,),
    "version": (int,),
    "delegation_depth": (int,),
    "cwd": (str, type(None)),
    "parent_session": (str, type(None)),
}


def _fits(name: str, value: Any) -> bool:
    """Whether a field of a header is of the type, and a number of the range, that it should have."""
    types = _FIELD_TYPES.get(name)
    if types is None:
        return True
    return type(value) in types and (type(value) is not int or (value == 1 if name == "version" else value >= 0))


def _step(expected: int, got: int, place: str) -> str:
    return f"{place} {'on' if got == expected else 'ahead' if got > expected else 'behind'}".strip()


def _kind(value: Any) -> str:
    """What sort of value it is, as far as a refusal could depend on it."""
    if isinstance(value, str):
        return "empty text" if not value else "odd text" if _is_odd(value) else "text"
    if type(value) is int:
        return "zero" if value == 0 else "positive" if value > 0 else "negative"
    return type(value).__name__


def _is_odd(value: Any) -> bool:
    return next(odd_places(value), None) is not None


def _oddities(value: Any) -> list[str]:
    """The kinds of the values inside that not every JSON reader takes."""
    found = set()
    for _, odd in odd_places(value):
        known = isinstance(odd, float) and (odd != odd or odd in (float("inf"), float("-inf")))
        found.add("not finite" if known else _kind(odd))
    return sorted(found)
