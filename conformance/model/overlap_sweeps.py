"""Service flushes, and the handles that are closed while one is under way (FLUSH-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.history import Raised
from conformance.model.operations import Close, FlushInstance
from conformance.model.phase import Flight, Phase
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def judge_late_closes(judge: Judge, phase: Phase) -> None:
    """FLUSH-03: a sweep waits for each close that was called during it, and names it where it failed."""
    for sweep in phase.made():
        if isinstance(sweep.op, FlushInstance) and (sweep.resolved or sweep.kind == "ExceptionGroup"):
            for close in phase.made():
                if _is_late(judge, phase, sweep, close):
                    _judge_late(judge, sweep, close)


def _is_late(judge: Judge, phase: Phase, sweep: Flight, close: Flight) -> bool:
    """Whether it is the first close of a handle that the sweep is about, called while that was under way for certain.

    That it was is certain where time passed before the sweep ended: it may come to its end a few turns of the loop
    before its caller hears of it.
    """
    if not isinstance(close.op, Close) or close.instance != sweep.instance or close.cancelled:
        return False
    handle = judge.world.handles.get(close.op.handle)
    if handle is None or not handle.is_writer or phase.close_of(close.op.handle) is not close:
        return False
    given = [each for each in phase.made() if each.gives_owner and each.op.handle == close.op.handle]
    if not all(each.before(sweep) for each in given) or sweep.ended is None or close.ended is None:
        return False
    return sweep.begin < close.begin < sweep.end and sweep.ended.at - close.begun.at > sweep.instant


def _judge_late(judge: Judge, sweep: Flight, close: Flight) -> None:
    name = close.session or ""
    judge.about(sweep.ended)
    if sweep.ended is None or close.ended is None:
        return
    if close.ended.at > sweep.ended.at:
        if sweep.resolved:
            judge.fail(
                "FLUSH-03",
                f"resolved after the close of {name!r:.80}, which was called during it, had ended",
                "resolved while that close was still under way",
            )
        return
    members = sweep.outcome.error.members if isinstance(sweep.outcome, Raised) else ()
    if close.shows_fault and not any(names_session(member, name) for member in members):
        judge.fail(
            "FLUSH-03", f"a member of one ExceptionGroup that names {name!r:.80}, whose close failed during the sweep"
        )
    judge.witness("FLUSH-03")
