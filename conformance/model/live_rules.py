"""The rules for what a session does on its hub: publish, flood, and what is logged meanwhile.

What becomes of published events is in ``live_flow``; how the calls of the backend are judged where some wait, in
``live_calls``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.batches import batch_refusals, is_event
from conformance.model.history import FloodView, Outcome, Raised, WarningsView
from conformance.model.live_flow import active, live_of, names_seq
from conformance.model.live_state import Waiting
from conformance.model.operations import Flood, HubCreate, Publish, ReadWarnings, filler
from conformance.model.transitions import materialise
from conformance.model.values import plain
from conformance.model.words import text_names

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

MANY = 1_000
"""Events that may wait; a backend that takes no more while storage works is not called wrong past them (LIVE-11)."""

FLOOD_LIMIT = 8 << 20
"""Bytes by which memory may grow however much is published while storage is down (LIVE-11)."""


def hub_create(judge: Judge, call: Call, op: HubCreate, outcome: Outcome) -> None:
    """The session is published."""
    judge.world.published.add((op.instance, op.session))
    handle = active(judge, op.instance, op.session)
    if handle is not None and op.events and not handle.session.opaque:
        live_of(judge, handle.session).seeded = len(op.events)


def publish(judge: Judge, call: Call, op: Publish, outcome: Outcome) -> None:
    """LIVE-07, LIVE-14: it is taken, or its producer is told that it never will be."""
    if (op.instance, op.session) not in judge.world.published or op.session in judge.world.blurred:
        return
    handle = active(judge, op.instance, op.session)
    if handle is None:
        judge.demand_success(outcome, "LIVE-07", "resolved: no handle of this instance owns the session")
        judge.witness("LIVE-07")
        session, _ = judge.world.visible(op.instance, op.session)
        if session is not None and isinstance(op.event, dict):
            session.refused, session.refused_by = [op.event], "LIVE-07"
            session.tag("LIVE-07")
            live_of(judge, session)
        return
    session = handle.session
    if session.opaque:
        return
    if session.recovery is not None and not session.recovery.fixed:
        # Where the log ends nobody knows yet.
        judge.world.blur(session)
        return
    live = live_of(judge, session)
    live.moved = live.moved or live.handle not in (None, handle.number)
    live.handle = handle.number
    expected = len(session.log) + len(live.waiting)
    seq = op.event.get("seq") if isinstance(op.event, dict) else None
    refusals = batch_refusals([op.event], expected, judge.capabilities)
    bad = bool(set(refusals.must) - {"SEQ-02"})
    if isinstance(outcome, Raised):
        if bad or "SEQ-02" in refusals.must:
            names_seq(judge, outcome.error, seq)
        elif not (live.held or judge.world.failing or len(live.waiting) >= MANY or outcome.error.kind in refusals.may):
            judge.fail("LIVE-01", "taken: the event continues what was published before it")
        return
    event = op.event if not is_event(op.event) else plain([op.event])[0]
    live.waiting.append(Waiting(event, judge.world.now, bad=bad))
    if session.pending and judge.world.rival(session) is None:
        # It may be stored at any moment from now on.
        materialise(judge.world, session)
    live.held = live.held or judge.world.failing is not None
    if op.scribble and isinstance(seq, int):
        live.scribbled.add(seq)


def flood(judge: Judge, call: Call, op: Flood, outcome: Outcome) -> None:
    """LIVE-11: what is published while storage is down does not fill the memory; producers may be told instead."""
    value = getattr(outcome, "value", None)
    handle = active(judge, op.instance, op.session)
    if not isinstance(value, FloodView) or handle is None or handle.session.opaque:
        return
    live = live_of(judge, handle.session)
    live.waiting += [Waiting(filler(op.first + each, op.width), judge.world.now) for each in range(value.taken)]
    live.held = live.held or judge.world.failing is not None
    if judge.world.failing is not None:
        if not value.error and value.grown > FLOOD_LIMIT:
            judge.fail(
                "LIVE-11",
                f"memory that grows by {FLOOD_LIMIT:,} bytes at most, or a producer who is told",
                f"it grew by {value.grown:,} bytes, and all {value.taken:,} events were taken",
            )
        if value.error or op.count * op.width > FLOOD_LIMIT:
            judge.witness("LIVE-11")


def read_warnings(judge: Judge, call: Call, op: ReadWarnings, outcome: Outcome) -> None:
    """LIVE-04, LIVE-06: what failed where nobody was told of it was logged with the session's id."""
    value = getattr(outcome, "value", None)
    if not isinstance(value, WarningsView):
        return
    known = {each.session.id for each in judge.world.handles.values()}
    for session in judge.world.live.values():
        if session.live is None or not session.live.owes:
            continue
        clause, session.live.owes = session.live.owes, ""
        if not any(text_names(each, session.id, known) for each in value.messages):
            judge.fail(
                clause,
                f"a warning in the log of the program that names the session {session.id!r:.80}",
                f"{len(value.messages)} warnings: {'; '.join(value.messages)[:200]}" if value.messages else "none",
            )
        judge.witness(clause)
