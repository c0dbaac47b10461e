"""Plainer forms of single operations, and of the ids of a whole program: what a failing program need not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.model.operations import Append, Crash, Create, OpenSession, Operation, Program, Read, Stat


def in_call(operation: Operation, change: Callable[[Operation], Operation | None]) -> Operation | None:
    """The operation, or the call that a crash comes into, changed; None where nothing is to be changed."""
    if not isinstance(operation, Crash):
        return change(operation)
    during = None if operation.during is None else change(operation.during)
    return None if during is None else replace(operation, during=during)


def shorter_batch(operation: Operation) -> Append | None:
    """The append without its last event, or None where there is but one."""
    if not isinstance(operation, Append) or not isinstance(operation.events, list) or len(operation.events) < 2:
        return None
    return replace(operation, events=operation.events[:-1])


def plain_batch(operation: Operation) -> Append | None:
    """The append with events that hold nothing but their seqs, or None where it has none or is plain already."""
    if not isinstance(operation, Append) or not isinstance(operation.events, list):
        return None
    if not all(isinstance(event, dict) and type(event.get("seq")) is int for event in operation.events):
        return None
    events = [{"type": "user/message", "seq": event["seq"], "time": 0, "data": None} for event in operation.events]
    return replace(operation, events=events) if events != operation.events else None


def not_overwritten(operation: Operation) -> Operation | None:
    """The call without what its caller does to the events, or None where that is nothing."""
    is_overwritten = isinstance(operation, Append | Create | Read) and operation.scribble
    return replace(operation, scribble=False) if is_overwritten else None  # type: ignore[call-arg]


def plain_ids(program: Program) -> list[Operation] | None:
    """The program with its sessions called ``s1``, ``s2``, …, or None where one has no text for an id."""
    names: dict[str, str] = {}

    def renamed(operation: Operation) -> Operation:
        given = operation.header.id if isinstance(operation, Create) else getattr(operation, "session", "")
        if not isinstance(given, str):
            raise _NoText
        name = names.setdefault(given, f"s{len(names) + 1}") if given else given
        if isinstance(operation, Create):
            return replace(operation, header=replace(operation.header, id=name))
        if isinstance(operation, OpenSession | Stat):
            return replace(operation, session=name)
        return operation

    try:
        found = [in_call(operation, renamed) or operation for operation in program.operations]
    except _NoText:
        return None
    return found if found != list(program.operations) else None


class _NoText(Exception):
    """An id is no text."""
