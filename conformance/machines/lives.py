"""What the next life of a workload does with the storage that a crash left.

Promises: it owns the first session that is there, or makes the first one anew where none is, for a caller whose session
is gone creates it again. What it appends takes the place of what was lost: an event of another text, as long as the one
that the crash took, so that it ends where old bytes may go on.

Does not: judge or record; the operations depend on what is answered, and those performed make a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from conformance.drivers.execution import Execution
from conformance.machines.recovering import is_handle, sessions_of
from conformance.machines.workloads import sweep_event
from conformance.model.history import Returned
from conformance.model.operations import (
    Append,
    Create,
    Flush,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
)
from conformance.model.overlap import Overlap, Step
from conformance.model.recovery import newcomer

GoesOn = Literal["recover", "flush", "append and flush"]
"""What a next life does with its session: it appends, calls a barrier, or both."""


def next_life(execution: Execution, before: Sequence[Operation], goes_on: GoesOn) -> Iterator[Operation]:
    """Open the first session that is there for writing and read it, or create the first of all; then go on."""
    instance, handle = _unused(before)
    yield OpenInstance(instance)
    sessions = sessions_of(execution)
    log: list[Any] = []
    for session in sessions:
        yield OpenSession(instance, handle, session, "write")
        if is_handle(execution.latest):
            yield Read(handle)
            log = _log_in(execution)
            break
        handle += 1
    else:
        if not sessions:
            return
        session = sessions[0]
        yield Create(instance, handle, newcomer(session))
        if not is_handle(execution.latest):
            # Whether it may be refused is the model's to say, and it has.
            return
    if goes_on != "flush":
        yield Append(handle, [_in_place_of_the_lost(before, session, len(log))])
    if goes_on != "recover":
        yield Flush(handle)


def owner_beside_reader(execution: Execution, before: Sequence[Operation]) -> Iterator[Operation]:
    """Read each session that is there, while another client of the same instance is let in to write, and afterwards."""
    instance, handle = _unused(before)
    yield OpenInstance(instance)
    for session in sessions_of(execution):
        reader, owner = handle, handle + 1
        handle += 2
        yield OpenSession(instance, reader, session, "read")
        if not is_handle(execution.latest):
            continue
        yield Read(reader)
        letting_in = Step(OpenSession(instance, owner, session, "write"))
        yield Overlap(((letting_in,), (Step(Read(reader)), Step(Read(reader)))))
        yield Read(reader)


def _unused(before: Sequence[Operation]) -> tuple[int, int]:
    """Numbers for an instance and a handle that the program has not used."""
    instance = 1 + max((getattr(each, "instance", 0) for each in before), default=0)
    return instance, 1 + max((getattr(each, "handle", 0) for each in before), default=0)


def _log_in(execution: Execution) -> list[Any]:
    outcome = execution.latest
    return outcome.value if isinstance(outcome, Returned) and isinstance(outcome.value, list) else []


def _in_place_of_the_lost(before: Sequence[Operation], session: str, seq: int) -> dict[str, Any]:
    """Another event as long as the one that the session was given at that seq; a small one where there was none."""
    owner: dict[int, str] = {}
    lost: dict[str, Any] | None = None
    for each in before:
        called = getattr(each, "during", None) or each
        if isinstance(called, Create):
            owner[called.handle] = called.header.id
        elif isinstance(called, OpenSession):
            owner[called.handle] = called.session
        elif isinstance(called, Append) and owner.get(called.handle) == session:
            lost = next((event for event in called.events if event["seq"] == seq), lost)
    if lost is None:
        return sweep_event(session, seq)
    return {**lost, "data": {**lost["data"], "text": lost["data"]["text"][::-1].swapcase()}}
