"""Who may win a race for a session: creates and write opens of one id that were in flight at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.operations import Close, CloseInstance, Create, OpenSession
from conformance.model.phase import Flight, Phase
from conformance.model.phase_scene import EXISTS, OWNED

if TYPE_CHECKING:
    from conformance.model.judge import Judge

_LOST = {Create: frozenset({EXISTS}), OpenSession: frozenset({OWNED})}
_CLAUSE = {Create: "SVC-03", OpenSession: "OWN-05"}
_CALLED = {Create: "create", OpenSession: "open for writing"}


def judge_races(judge: Judge, phase: Phase) -> None:
    """SVC-03 and OWN-05: of each group of calls that race in one instance exactly one wins."""
    for kind in (Create, OpenSession):
        runners = [each for each in phase.calls(kind) if each.session is not None]
        if kind is OpenSession:
            runners = [each for each in runners if each.op.access == "write"]
        for group in _groups(runners):
            if len(group) > 1 and _is_free(judge, phase, group):
                _judge_race(judge, phase, group, kind)


def _groups(runners: list[Flight]) -> list[list[Flight]]:
    """Calls for one id in one instance, each in flight together with the first of its group."""
    found: list[list[Flight]] = []
    for runner in runners:
        for group in found:
            first = group[0]
            if (first.instance, first.session) == (runner.instance, runner.session) and runner.races(first):
                group.append(runner)
                break
        else:
            found.append([runner])
    return found


def _is_free(judge: Judge, phase: Phase, group: list[Flight]) -> bool:
    """Whether the id was there to be won when the first of them began, and nothing else had to do with it."""
    world, first = judge.world, group[0]
    last = max(each.end for each in group)
    if first.session is None or first.session in world.blurred or first.instance not in world.instances:
        return False
    if world.instances[first.instance].closed or any(each.cancelled or each.shows_fault for each in group):
        return False
    others = [
        each
        for each in phase.changes()
        if each not in group
        and each.begin < last
        and (each.session == first.session or isinstance(each.op, CloseInstance))
        and not (isinstance(each.op, OpenSession) and each.op.access == "read")
    ]
    if any(not _is_of_winner(each, group) for each in others):
        return False
    session, certain = world.visible(first.instance, first.session)
    if isinstance(first.op, Create):
        return session is None and not world.pending_elsewhere(first.instance, first.session)
    return session is not None and certain and not world.writers(session) and not session.opaque


def _is_of_winner(flight: Flight, group: list[Flight]) -> bool:
    """Whether it is a call on the handle that one of them returned, and leaves it open."""
    handles = {each.op.handle for each in group if each.resolved}
    return flight.is_on_handle and flight.op.handle in handles and not isinstance(flight.op, Close)


def _judge_race(judge: Judge, phase: Phase, group: list[Flight], kind: type) -> None:
    clause, lost = _CLAUSE[kind], _LOST[kind]
    winners = [each for each in group if each.resolved]
    losers = [each for each in group if not each.resolved]
    if kind is Create and any(each.kind in ("ValueError", "TypeError") for each in losers):
        return
    if len(winners) != 1:
        judge.about(group[-1].ended)
        judge.fail(
            clause,
            f"exactly one of {len(group)} calls of {_CALLED[kind]} for {group[0].session!r:.80} returns a handle",
            f"{len(winners)} of them did",
        )
    for loser in losers:
        if loser.kind not in lost:
            judge.about(loser.ended)
            judge.fail(clause, f"refused with {' or '.join(lost)}: another call for the session was first")
    judge.witness(clause)
