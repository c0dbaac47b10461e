"""What other calls in flight mean for the ordinary rules: which clause is broken here where one of theirs seems to be.

A *situation* is a mapping of clauses to those about overlaps that take their place, for one call.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from conformance.model.batches import is_event
from conformance.model.history import Raised
from conformance.model.operations import Append, Close, CloseInstance, Create, FlushInstance, OpenSession
from conformance.model.phase import Flight, Phase
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Judge

ORDINARY: Mapping[str, str] = MappingProxyType({})
"""The situation of a call beside which nothing is in flight that matters to it."""

_BEHIND = MappingProxyType(dict.fromkeys(("SEQ-01", "OWN-11", "SEQ-09"), "SEQ-05"))
"""What is broken where a call of a handle fails because another one of it is in flight."""

_SWEEPS = (FlushInstance, CloseInstance)
_GIVE_HANDLES = (Create, OpenSession)


def situation(judge: Judge, phase: Phase, flight: Flight) -> Mapping[str, str]:
    """Clause -> the one about overlaps by which it is told here: what else was in flight is why it broke."""
    op = flight.op
    if flight.is_on_handle:
        return _in_line(judge, phase, flight)
    if not phase.has_closes and flight.kind != "Hung":
        return ORDINARY
    found: dict[str, str] = {}
    if isinstance(op, OpenSession) and op.access == "write":
        closes = [each for each in phase.calls(Close) if each.session == op.session and each.begin < flight.end]
        if any(each.given_up for each in closes):
            found = {"OWN-02": "CLOSE-04", "OWN-03": "CLOSE-04"}
    elif isinstance(op, FlushInstance) and _names_a_closing(phase, flight):
        found = {"FLUSH-01": "FLUSH-03"}
    elif isinstance(op, _SWEEPS) and flight.kind == "Hung":
        cancelled = [each for each in phase.made() if each.cancelled and each.begin < flight.end]
        if cancelled:
            clause = "CLOSE-04" if isinstance(cancelled[-1].op, Close) else "SEQ-08"
            found = dict.fromkeys(("FLUSH-01", "CLOSE-07", "CLOSE-08"), clause)
    elif isinstance(op, _GIVE_HANDLES) and phase.closing(flight.instance, flight):
        found = {"CLOSE-07": "CLOSE-08"}
    return found


def _in_line(judge: Judge, phase: Phase, flight: Flight) -> Mapping[str, str]:
    """The same for a call that changes something through a handle."""
    line = phase.on_handle(flight.op.handle)
    is_behind = _races_one(flight, line) or _is_overtaken_in_line(phase, flight)
    if not flight.kind and not phase.gives_up:
        return _BEHIND if is_behind else ORDINARY
    found: dict[str, str] = {}
    earlier = [each for each in line if each.begin < flight.begin]
    # Also what must be refused for other reasons has to come to an end.
    hung = ("SEQ-02",) if flight.kind == "Hung" else ()
    if is_behind:
        found = dict(_BEHIND)
        if flight.kind:
            seqs = (*_of_its_place(flight), *_of_an_earlier_end(judge, flight))
            found.update(dict.fromkeys((*hung, *seqs), "SEQ-05"))
    if phase.gives_up and any(each.given_up for each in earlier):
        found = dict.fromkeys(("SEQ-01", "OWN-11", "SEQ-09", "MAT-04", *hung), "SEQ-08")
        found["CLOSE-03"] = "SEQ-08" if flight.kind else "CLOSE-03"
        if any(isinstance(each.op, Close) for each in earlier):
            found["CLOSE-01"] = "CLOSE-04"
    return found


def _races_one(flight: Flight, line: list[Flight]) -> bool:
    """Whether nobody waited for one of the calls of its handle before it was made; see ``Flight.races``."""
    begin, since = flight.begin, flight.at - flight.instant
    for each in line:
        if each.begin >= begin:
            # They stand in the order in which they began.
            return False
        if each.end >= begin or (each.at >= since and flight.races(each)):
            return True
    return False


def _of_its_place(flight: Flight) -> tuple[str, ...]:
    """SEQ-06 where an append is refused with the seq that it was given: it was captured, and came out of its turn."""
    if not isinstance(flight.op, Append) or flight.kind != "SessionContiguityError" or not flight.op.events:
        return ()
    given, got = flight.op.events[0], getattr(flight.outcome.error, "got", None)  # type: ignore[union-attr]
    return ("SEQ-06",) if is_event(given) and given["seq"] == got else ()


def _of_an_earlier_end(judge: Judge, flight: Flight) -> tuple[str, ...]:
    """SEQ-02 where an append is told of a shorter log than there is by then: it was refused before its turn."""
    handle = judge.world.handles.get(flight.op.handle)
    if not isinstance(flight.op, Append) or flight.kind != "SessionContiguityError" or handle is None:
        return ()
    expected = getattr(flight.outcome.error, "expected", None)  # type: ignore[union-attr]
    return ("SEQ-02",) if expected is not None and expected < len(handle.session.log) else ()


def _is_overtaken_in_line(phase: Phase, flight: Flight) -> bool:
    """Whether an append finds no place in the log because one that was called later took it."""
    if not isinstance(flight.op, Append) or flight.kind != "SessionContiguityError":
        return False
    later = (each for each in phase.calls(Append) if each.op.handle == flight.op.handle)
    return any(each.resolved and each.races(flight) for each in later)


def _names_a_closing(phase: Phase, sweep: Flight) -> bool:
    """Whether a service flush rejects because of a handle that was being closed when it was called."""
    members = sweep.outcome.error.members if isinstance(sweep.outcome, Raised) else ()
    closing = {each.session for each in phase.calls(Close) if each.instance == sweep.instance and each.overlaps(sweep)}
    return any(names_session(member, name) for name in closing if name is not None for member in members)
