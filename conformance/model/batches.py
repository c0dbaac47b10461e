"""What the contract says of one argument: which refusals a batch, a header or a range must or may meet.

The judgement is independent of the shared validation in ``conformance.contract`` on purpose: a mistake there must
not hide itself here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from conformance.contract import KNOWN_EVENT_TYPES, RESERVED_HEADER_KEYS, Capabilities, SessionHeader
from conformance.contract.records import NO_EXTRA

BAD_ARGUMENT = frozenset({"TypeError", "ValueError"})
UNSUPPORTED = frozenset({"SessionFormatUnsupportedError"})
NOT_CONTIGUOUS = frozenset({"SessionContiguityError"})
SAFE = 2**53 - 1
SAFE_LEVELS = 101
"""Levels of nesting that every backend must take: 100 inside an event, which is one itself (JSON-01)."""


@dataclass(slots=True)
class Refusals:
    """Refusals by the clause that asks for them.

    Attributes:
        must: clause id -> error kinds, any of which will do; empty where the call has to resolve.
        may: error kinds that are allowed besides resolving (what is beyond JSON's common ground).
        plain: the batch is made of JSON's common ground alone.
        known: a closed vocabulary takes every event of it.
        expected, got: seqs at the first offending place, where SEQ-02 is among ``must``.
    """

    must: dict[str, frozenset[str]] = field(default_factory=dict)
    may: frozenset[str] = frozenset()
    plain: bool = True
    known: bool = True
    expected: int = 0
    got: int = 0

    def demand(self, clause: str, kinds: frozenset[str]) -> None:
        """Add one refusal that must happen unless another does."""
        self.must.setdefault(clause, kinds)

    @property
    def kinds(self) -> frozenset[str]:
        """Every error kind that one of the demanded refusals allows."""
        return frozenset().union(*self.must.values()) if self.must else frozenset()


class JsonGrade:
    """How far a value is within JSON: ``COMMON`` to every codec, ``BEYOND`` it, or ``OUTSIDE``."""

    COMMON, BEYOND, OUTSIDE = 0, 1, 2


def json_grade(value: Any, ancestors: tuple[int, ...] = ()) -> int:
    """The grade of a value: the worst of its parts (JSON-02 for OUTSIDE, JSON-03 for BEYOND).

    Args:
        ancestors: ids of the containers around the value, by which a cycle is known.
    """
    kind = type(value)
    if kind is dict:
        items: Any = value.values()
        worst = JsonGrade.COMMON
        for key in value:
            if type(key) is not str:
                if not isinstance(key, str) or isinstance(key, Enum):
                    return JsonGrade.OUTSIDE
                worst = JsonGrade.BEYOND
            elif not key.isascii() and not _encodes(key):
                worst = JsonGrade.BEYOND
    elif kind is list or kind is tuple:
        items = value
        worst = JsonGrade.BEYOND if kind is tuple else JsonGrade.COMMON
    else:
        return _scalar_grade(value, kind)
    own = id(value)
    if own in ancestors:
        return JsonGrade.OUTSIDE
    inside = (*ancestors, own)
    if len(inside) > SAFE_LEVELS + 1:
        worst = JsonGrade.BEYOND
    for item in items:
        kind = type(item)
        # What most items are is settled here, without a call for each.
        if (kind is str and item.isascii()) or (kind is int and -SAFE <= item <= SAFE):
            continue
        grade = json_grade(item, inside) if kind in _CONTAINERS else _scalar_grade(item, kind)
        if grade > worst:
            worst = grade
    return worst


_CONTAINERS = frozenset({dict, list, tuple})


def _scalar_grade(value: Any, kind: type) -> int:
    if kind is str:
        return JsonGrade.COMMON if _encodes(value) else JsonGrade.BEYOND
    if kind is int:
        return JsonGrade.COMMON if -SAFE <= value <= SAFE else JsonGrade.BEYOND
    if value is None or kind is bool:
        return JsonGrade.COMMON
    if kind is float:
        if not math.isfinite(value):
            return JsonGrade.OUTSIDE
        return JsonGrade.BEYOND if value == 0 and math.copysign(1, value) < 0 else JsonGrade.COMMON
    if isinstance(value, str | int | float) and not isinstance(value, Enum):
        # Text or a number of a class of its own is refused, or taken for what it says.
        return JsonGrade.OUTSIDE if isinstance(value, float) and not math.isfinite(value) else JsonGrade.BEYOND
    return JsonGrade.OUTSIDE


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_int(value: object) -> bool:
    return type(value) is int


def is_event(event: object) -> bool:
    """Whether it has the shape of an event (SEQ-11); whether its values are JSON is another matter."""
    return (
        isinstance(event, dict)
        and isinstance(event.get("type"), str)
        and bool(event["type"])
        and type(event.get("seq")) is int
        and event["seq"] >= 0
        and type(event.get("time")) is int
        and "data" in event
    )


def understood(event: Mapping[str, Any]) -> bool:
    """Whether a closed vocabulary takes the event (FMT-02, FMT-03)."""
    return event["type"] in KNOWN_EVENT_TYPES or event.get("ignorable") is True


def batch_refusals(events: Any, next_seq: int, capabilities: Capabilities) -> Refusals:
    """Which refusals ``append(events)`` must or may meet on a handle whose stored next seq is ``next_seq``."""
    found = Refusals()
    if not isinstance(events, list) or not all(map(is_event, events)):
        found.demand("SEQ-11", BAD_ARGUMENT)
        found.may = _other_faults(events, next_seq, capabilities)
        return found
    grade = json_grade(events)
    found.plain = grade == JsonGrade.COMMON
    if grade == JsonGrade.OUTSIDE:
        found.demand("JSON-02", BAD_ARGUMENT)
    elif grade == JsonGrade.BEYOND or not all(map(_optional_keys_fit, events)):
        found.may = BAD_ARGUMENT
    found.known = all(map(understood, events))
    if capabilities.vocabulary == "closed" and not found.known:
        if capabilities.unknown_types == "refuse":
            found.demand("FMT-02", UNSUPPORTED)
        else:
            found.may |= UNSUPPORTED
    for expected, event in enumerate(events, start=next_seq):
        if event["seq"] != expected:
            found.demand("SEQ-02", NOT_CONTIGUOUS)
            found.expected, found.got = expected, event["seq"]
            break
    return found


def _other_faults(events: Any, next_seq: int, capabilities: Capabilities) -> frozenset[str]:
    """The refusals that a malformed batch may meet besides: of several reasons a backend may name any."""
    if not isinstance(events, list):
        return frozenset()
    may: frozenset[str] = frozenset()
    for expected, event in enumerate(events, start=next_seq):
        if not isinstance(event, dict):
            continue
        seq, kind = event.get("seq"), event.get("type")
        if isinstance(seq, int | float) and seq != expected:
            may |= NOT_CONTIGUOUS
        if isinstance(kind, str) and capabilities.vocabulary == "closed" and not understood(event):
            may |= UNSUPPORTED
    return may


def _optional_keys_fit(event: Mapping[str, Any]) -> bool:
    """Whether the keys that an event may have hold what they should; the contract does not ask to refuse others."""
    if "ignorable" in event and type(event["ignorable"]) is not bool:
        return False
    cited = event.get("sourceEventSeqs")
    return cited is None or (isinstance(cited, list) and all(map(_is_int, cited)))


def header_refusals(header: Any, inherited: Any) -> Refusals:
    """Which refusals ``create(header, inherited)`` must or may meet, whatever the id's state (SVC-08, SVC-09)."""
    found = Refusals()
    if not isinstance(header, SessionHeader) or not _essentials_fit(header):
        found.demand("SVC-08", BAD_ARGUMENT)
        return found
    extra = None if header.extra is NO_EXTRA else header.extra
    extra = dict(extra) if isinstance(extra, Mapping) else extra
    texts = (header.cwd, header.parent_session)
    values = (header.origin, header.agent_preset, extra, header.is_seeded, header.delegation_depth, *texts)
    # What most fields hold needs no look.
    grade = max((json_grade(each) for each in values if each is not None and each is not False), default=0)
    if grade == JsonGrade.OUTSIDE:
        found.demand("SVC-08", BAD_ARGUMENT)
    elif grade == JsonGrade.BEYOND or not _metadata_fits(header):
        found.may = BAD_ARGUMENT
    if type(header.is_seeded) is bool:
        fits = _is_int(inherited) and inherited >= 0 if header.is_seeded else inherited is None
        if not fits:
            found.demand("SVC-09", BAD_ARGUMENT)
        elif inherited is not None and inherited > SAFE:
            found.may |= BAD_ARGUMENT
    return found


def _essentials_fit(header: SessionHeader) -> bool:
    """Whether id, version and time are usable, which SVC-08 asks for by name."""
    return (
        type(header.id) is str
        and bool(header.id)
        and _encodes(header.id)
        and _is_int(header.created_at)
        and 0 <= header.created_at <= SAFE
        and _is_int(header.version)
        and header.version == 1
    )


def _metadata_fits(header: SessionHeader) -> bool:
    """Whether the rest has the types of a header; where it is JSON all the same, the contract leaves it open."""
    return (
        type(header.is_seeded) is bool
        and _is_int(header.delegation_depth)
        and header.delegation_depth >= 0
        and (header.cwd is None or isinstance(header.cwd, str))
        and (header.parent_session is None or isinstance(header.parent_session, str))
        and (
            header.extra is NO_EXTRA
            or (isinstance(header.extra, Mapping) and not (RESERVED_HEADER_KEYS & set(header.extra)))
        )
    )


def range_is_bad(offset: Any, length: Any) -> bool:
    """Whether ``read(offset, length)`` must be refused (READ-02)."""
    return not (type(offset) is int and offset >= 0 and (length is None or (type(length) is int and length >= 0)))
