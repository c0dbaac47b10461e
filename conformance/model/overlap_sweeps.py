"""Service flushes, and the handles that are closed while one is under way (FLUSH-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.history import Raised
from conformance.model.operations import Close, FlushInstance
from conformance.model.phase import Flight, Phase
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def judge_sweeps(judge: Judge, phase: Phase) -> None:
    """FLUSH-03: a sweep ends after the closes called before it, stores nothing of theirs, and names those that fail."""
    for sweep in phase.calls(FlushInstance):
        if not (sweep.resolved or sweep.kind == "ExceptionGroup"):
            continue
        for close in phase.calls(Close):
            of_it = close.instance == sweep.instance and not close.cancelled
            if not of_it or not sweep.races(close) or close.op.handle not in judge.world.handles:
                continue
            handle = judge.world.handles[close.op.handle]
            if not handle.is_writer or close.op.handle in phase.closed:
                continue
            judge.about(sweep.ended)
            if close.shows_fault:
                _names_failed_close(judge, sweep, close, handle.session.id)
            if not sweep.resolved:
                continue
            if sweep.ended is not None and close.ended is not None and sweep.ended.at < close.ended.at:
                judge.fail(
                    "FLUSH-03",
                    f"resolved after the close of {handle.session.id!r:.80}, which was called before it, had ended",
                    "resolved while that close was still under way",
                )
            judge.witness("FLUSH-03")
            if handle.session.erased and judge.world.never.get(handle.session.id) == "MAT-03":
                judge.world.never[handle.session.id] = "FLUSH-03"


def _names_failed_close(judge: Judge, sweep: Flight, close: Flight, name: str) -> None:
    """FLUSH-03: a close that was under way when the sweep was called, and failed, is among the sweep's failures."""
    ended = close.ended.at if close.ended is not None else 0
    if ended - sweep.begun.at <= sweep.instant:
        # By then it may have come to its end, of which its own caller alone had not heard yet.
        return
    members = sweep.outcome.error.members if isinstance(sweep.outcome, Raised) else ()
    if not any(names_session(member, name) for member in members):
        judge.fail("FLUSH-03", f"a member of one ExceptionGroup that names {name!r:.80}, whose close failed")
    judge.witness("FLUSH-03")


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
    if handle.number in phase.closed:
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
