"""What appends that did not succeed leave to those who read beside them, or after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.model.batches import is_event
from conformance.model.live_flow import lingers
from conformance.model.operations import Append, Read
from conformance.model.phase import Flight, Phase
from conformance.model.state import Session
from conformance.model.values import plain, same

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def ghosts(judge: Judge, phase: Phase, view: Flight, session: Session) -> list[Any]:
    """Events of other instances' appends that failed, now or before: what these left in storage others may see."""
    trouble = judge.world.trouble
    if trouble is None:
        return []
    earlier = [
        each.ghost
        for each in trouble.mishap(session.serial).hauntings[: phase.haunted.get(session.serial, 0)]
        if each.instance != view.instance and each.meets(phase.span(view))
    ]
    failed = [
        each
        for each in phase.of(session.id)
        if isinstance(each.op, Append) and isinstance(each.op.events, list) and each.instance != view.instance
    ]
    batches = [each.op.events for each in failed if each.shows_fault or each.cancelled]
    if session.live is not None and lingers(judge, session, view.instance):
        batches.append([each.event for each in session.live.waiting if is_event(each.event)])
    return [*(event for ghost in earlier for event in ghost), *(plain(event) for batch in batches for event in batch)]


def stranger(phase: Phase, session: Session, seq: int, event: Any) -> tuple[str, str]:
    """The clause that an event breaks which is not in the log, where an append that did not succeed brought it."""
    for each in phase.of(session.id):
        if not isinstance(each.op, Append) or each.resolved or not isinstance(each.op.events, list):
            continue
        # What stands at another place than its own is no part of any log, whatever became of its append.
        given = [one for one in each.op.events if is_event(one) and one["seq"] == seq]
        if any(same(plain(one), event) for one in given):
            if each.cancelled:
                return "SEQ-08", "it is of an append that was cancelled, and is not in the log"
            return ("READ-06" if each.shows_fault else "SEQ-09"), "it is of an append that then failed"
    return "", ""


def witness_failing_append(judge: Judge, phase: Phase, view: Flight) -> None:
    """Witness READ-06 where a read was made while, or at the same time as, an append to its session that failed.

    Where calls never wait such an append has failed by the time at which the read begins.
    """
    if not isinstance(view.op, Read) or view.session is None:
        return
    for each in phase.of(view.session):
        if each.shows_fault and isinstance(each.op, Append) and (view.overlaps(each) or view.races(each)):
            judge.witness("READ-06")
            return
