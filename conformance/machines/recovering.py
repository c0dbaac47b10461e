"""What is done to crashed storage to see whether it conforms, as operations that the model judges one by one.

A fresh instance lists, tells and reads everything; a second one has to show the same; a third takes ownership, reads,
appends one event, and makes anew what is not there; a fourth reads what the third left. The quick look of
``drivers.probe`` asks the same questions in the same order.

Does not: judge. What comes next depends on the answers, and the operations performed make a program that does not.
"""

from __future__ import annotations

from typing import Any

from conformance.drivers.execution import Execution
from conformance.model.history import HandleView, Outcome, Returned
from conformance.model.operations import (
    Append,
    Close,
    Create,
    Inspect,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.recovery import marker, newcomer


class _Steps:
    """Numbers instances and handles on from those that the program has used."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        used = execution.program.operations
        self.instance = max((getattr(each, "instance", 0) for each in used), default=0)
        self.handle = max((getattr(each, "handle", 0) for each in used), default=0)

    def do(self, operation: Operation) -> Outcome:
        return self.execution.do(operation)

    def fresh(self) -> int:
        self.instance += 1
        self.do(OpenInstance(self.instance))
        return self.instance

    def open(self, instance: int, session: str, access: Any) -> int | None:
        """The handle, where one was returned."""
        self.handle += 1
        outcome = self.do(OpenSession(instance, self.handle, session, access))
        return self.handle if is_handle(outcome) else None

    def read(self, handle: int) -> list[Any]:
        outcome = self.do(Read(handle))
        return outcome.value if isinstance(outcome, Returned) and isinstance(outcome.value, list) else []


def is_handle(outcome: Outcome | None) -> bool:
    """Whether a handle was returned."""
    return isinstance(outcome, Returned) and isinstance(outcome.value, HandleView)


def sessions_of(execution: Execution) -> list[str]:
    """The ids that the program has created, in order."""
    found: dict[str, None] = {}
    for operation in execution.program.operations:
        created = getattr(operation, "during", None) or operation
        if isinstance(created, Create):
            found[created.header.id] = None
    return list(found)


def recover(execution: Execution, *, inspects: bool = False) -> None:
    """Look at everything, take ownership of it and go on.

    Args:
        inspects: the bytes of the artifacts are compared around the looks that must not change them.

    Raises:
        Violation: the clause that the backend broke.
    """
    steps, sessions = _Steps(execution), sessions_of(execution)
    if inspects:
        steps.do(Inspect(sessions, bytes_only=True))
    look(steps, sessions)
    look(steps, sessions)
    if inspects:
        steps.do(Inspect(sessions, bytes_only=True))
    instance = steps.fresh()
    for session in sessions:
        handle = steps.open(instance, session, "write")
        if handle is not None:
            _go_on(steps, handle, steps.read(handle))
        else:
            steps.handle += 1
            created = steps.do(Create(instance, steps.handle, newcomer(session)))
            if is_handle(created):
                _go_on(steps, steps.handle, [])
    look(steps, sessions)


def _go_on(steps: _Steps, handle: int, log: list[Any]) -> None:
    steps.do(Append(handle, marker(len(log))))
    steps.do(Close(handle))


def look(steps: _Steps, sessions: list[str]) -> None:
    """A fresh instance lists, tells and reads every session, and changes nothing."""
    instance = steps.fresh()
    steps.do(ListSessions(instance))
    for session in sessions:
        steps.do(Stat(instance, session))
        handle = steps.open(instance, session, "read")
        if handle is not None:
            steps.read(handle)
