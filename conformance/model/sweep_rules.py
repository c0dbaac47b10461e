"""The rules for the service's own ``flush`` and ``close``, which go over every write handle of an instance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from conformance.model.history import ErrorView, Outcome, Raised
from conformance.model.live_flow import broken_at, promote
from conformance.model.operations import CloseInstance, FlushInstance
from conformance.model.service_rules import kind_of, reject_on_closed_service
from conformance.model.state import Handle, Session
from conformance.model.transitions import Standing, cover, end_handle, standing
from conformance.model.words import names_session

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge


def _active_writers(judge: Judge, instance: int) -> list[tuple[Handle, Standing]]:
    return [
        (handle, standing(judge.world, handle))
        for handle in judge.world.handles.values()
        if handle.instance == instance and handle.is_writer and not handle.closed
    ]


def _none_may_fail(judge: Judge, writers: list[tuple[Handle, Standing]]) -> bool:
    """Whether no handle has a reason to fail; of the handles on blurred ids the model does not even know all."""
    return not judge.world.blurred and all(found is Standing.OWNER for _, found in writers)


def _demand_group(judge: Judge, outcome: Outcome, writers: list[tuple[Handle, Standing]], failing: str) -> Any:
    """A sweep rejects with one group that names each session that could not be served, and no other way."""
    must = [handle.session.id for handle, found in writers if found is Standing.BEATEN and not handle.lost]
    wanted = f"one ExceptionGroup with a member that names each of {must!r:.200}"
    if not isinstance(outcome, Raised) or outcome.error.kind != "ExceptionGroup":
        judge.fail(failing, wanted)
    for name in must:
        if not any(names_session(member, name) for member in outcome.error.members):
            judge.fail(failing, wanted, note=f"no member names {name!r:.80}")
    judge.witness(failing)


def flush_instance(judge: Judge, call: Call, op: FlushInstance, outcome: Outcome) -> None:
    """FLUSH-01, FLUSH-02, FLUSH-04."""
    world = judge.world
    if world.instances[op.instance].closed:
        return reject_on_closed_service(judge, outcome)
    writers = _active_writers(judge, op.instance)
    if any(found is Standing.BEATEN and not handle.lost for handle, found in writers):
        _demand_group(judge, outcome, writers, "FLUSH-02")
    elif not isinstance(outcome, Raised) or _none_may_fail(judge, writers):
        judge.demand_success(outcome, "FLUSH-01", "resolved: no handle has a reason to fail")
    else:
        # A handle that lost its session, or may have, is named or passed over.
        _demand_group(judge, outcome, writers, "FLUSH-02")
    _cover_each(judge, op, writers, failed=isinstance(outcome, Raised))
    judge.exact = _none_may_fail(judge, writers)
    return None


def _cover_each(judge: Judge, op: FlushInstance, writers: list[tuple[Handle, Standing]], *, failed: bool) -> None:
    world = judge.world
    for handle, found in writers:
        if found is Standing.OWNER or (found is Standing.CONTESTED and not failed):
            cover(world, handle, "failing service flush" if failed else "service flush")
            if not failed:
                judge.witness("FLUSH-01")
        elif found is Standing.CONTESTED:
            world.blur(handle.session)
        elif found is Standing.BEATEN:
            handle.lost = True
    for handle in world.handles.values():
        if handle.instance == op.instance and not handle.closed and not handle.is_writer:
            handle.swept = True


def close_instance(judge: Judge, call: Call, op: CloseInstance, outcome: Outcome) -> None:
    """CLOSE-07, CLOSE-08."""
    instance = judge.world.instances[op.instance]
    if instance.closed:
        judge.demand_success(outcome, "CLOSE-08", "resolved: closing again is nothing")
        judge.witness("CLOSE-08")
        return
    writers = _active_writers(judge, op.instance)
    failed = isinstance(outcome, Raised)
    if not failed or _none_may_fail(judge, writers):
        judge.demand_success(outcome, "CLOSE-07", "resolved: every handle is drained and closed")
    elif kind_of(outcome) != "ExceptionGroup":
        # A handle that lost its session may fail or, with nothing left to write, close in peace.
        judge.fail("CLOSE-07", "resolved, or one ExceptionGroup with a member for each handle that failed")
    _end_each(judge, op, writers, failed=failed)
    judge.exact = _none_may_fail(judge, writers)


def _end_each(judge: Judge, op: CloseInstance, writers: list[tuple[Handle, Standing]], *, failed: bool) -> None:
    world = judge.world
    for handle, found in writers:
        handle.lost = handle.lost or found is not Standing.OWNER
    for handle in [each for each in world.handles.values() if each.instance == op.instance and not each.closed]:
        end_handle(world, handle, "service close", judge.capabilities, failed=failed)
        handle.closed = handle.closed_by_service = True
    world.instances[op.instance].closed = True


def serve_others(judge: Judge, op: FlushInstance | CloseInstance, error: ErrorView, told: Iterable[Session]) -> None:
    """FLUSH-02, CLOSE-07: a sweep was rejected for what cannot be stored in some sessions, and served the others.

    Args:
        told: the sessions for which it was rejected, which are judged elsewhere.
    """
    world, serials = judge.world, {each.serial for each in told}
    clause = "FLUSH-02" if isinstance(op, FlushInstance) else "CLOSE-07"
    if error.kind != "ExceptionGroup":
        judge.fail(clause, "one ExceptionGroup with a member for each session that could not be served")
    writers = [
        (each, found)
        for each, found in _active_writers(judge, op.instance)
        if each.session.serial not in serials and broken_at(each.session) is None
    ]
    for handle, _ in writers:
        live = handle.session.live
        if error.fault:
            # Storage fails too, and for which of them it did their members alone tell.
            world.blur(handle.session)
        elif live is not None and live.waiting:
            promote(judge, handle.session, len(live.waiting), "LIVE-13")
            live.held = live.failed = False
    if isinstance(op, FlushInstance):
        _cover_each(judge, op, writers, failed=True)
    else:
        _end_each(judge, op, writers, failed=True)
    if writers:
        judge.witness(clause)
