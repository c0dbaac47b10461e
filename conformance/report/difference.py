"""Where two values part, and where the answer of a call parts from what the program had stored.

It points and does not judge: the model decided that the answer is wrong, this only helps the reader find the
place. Where nothing in the program settles what the answer should have been, it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import count
from typing import Any

from conformance.contract import SessionHeader
from conformance.model.history import HandleView, History, Invocation, Outcome, Returned, SnapshotView
from conformance.model.operations import Append, Create, OpenSession, Operation, Read
from conformance.model.values import same
from conformance.report.abbreviate import key_path, short

ABSENT = object()


def first_difference(left: Any, right: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """The first path at which two plain values differ, with both values there; None where they are equal as JSON.

    A key or item that only one side has is told with ``ABSENT`` for the other. Dict keys are visited in the left order.
    """
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in [*left, *(key for key in right if key not in left)]:
            below = f"{path}{key_path(key)}"
            if key not in left or key not in right:
                return below, left.get(key, ABSENT), right.get(key, ABSENT)
            if found := first_difference(left[key], right[key], below):
                return found
        return None
    if isinstance(left, list) and isinstance(right, list):
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            if found := first_difference(one, other, f"{path}[{index}]"):
                return found
        if len(left) != len(right):
            index = min(len(left), len(right))
            sides = (left[index] if len(left) > index else ABSENT, right[index] if len(right) > index else ABSENT)
            return f"{path}[{index}]", *sides
        return None
    return None if same(left, right) else (path, left, right)


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two values part.

    Attributes:
        path: into what the call returned, such as ``[0].data.text`` or ``header.cwd``.
        left, right: what was given before and what was returned there; ``ABSENT`` for nothing.
        words: how ``left`` was given and ``right`` returned, such as ``("appended", "read")``.
    """

    path: str
    left: Any
    right: Any
    words: tuple[str, str]

    def text(self) -> str:
        """One line."""
        left, right = sides_text(self.left, self.right)
        return f"at {self.path}: {self.words[0]} {left}, {self.words[1]} {right}"

    def is_told_by(self, text: str) -> bool:
        """Whether the text names the place and both values already."""
        step = self.path.partition("]")[2] or self.path
        return step in text and all(each is ABSENT or repr(each) in text for each in (self.left, self.right))


def sides_text(left: Any, right: Any) -> tuple[str, str]:
    """Both sides of a difference on one line each; of two long texts the part where they part."""
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > 60:
        at = next((n for n, a, b in zip(count(), left, right, strict=False) if a != b), min(len(left), len(right)))
        start = max(0, at - 10)
        place = f" from character {start:,}" if start else ""
        one, other = (f"{short(each[start : start + 40])}{place} of {len(each):,}" for each in (left, right))
        return one, other
    return _side(left), _side(right)


def _side(value: Any) -> str:
    return "nothing" if value is ABSENT else short(value)


Which = tuple[int, int, int]
"""Number, client and step of a call."""


def answer_difference(history: History, call: int | None, *, client: int = 0, step: int = 0) -> Difference | None:
    """Where the answer to this call parts from what the program gave before it; None where it does not.

    Args:
        client, step: of a call of an overlap, as in its ``Invocation``.
    """
    if call is None:
        return None
    asked = call, client, step
    calls: dict[Which, Operation] = {}
    answers: dict[Which, Outcome] = {}
    for each in history:
        which = each.call, each.client, each.step
        if isinstance(each, Invocation):
            calls[which] = each.operation
        else:
            answers[which] = each.outcome
            if which == asked:
                # What came to its end later was not given before it.
                break
    answer = answers.get(asked)
    if not isinstance(answer, Returned):
        return None
    sessions: dict[int, Any] = {}
    for operation in calls.values():
        if isinstance(operation, Create | OpenSession):
            sessions[operation.handle] = operation.header.id if isinstance(operation, Create) else operation.session
    operation = calls.pop(asked)
    if isinstance(operation, Read):
        return _events_difference(operation, answer.value, calls, answers, sessions)
    if isinstance(answer.value, HandleView | SnapshotView):
        session = sessions.get(getattr(operation, "handle", -1), getattr(operation, "session", None))
        return _header_difference(answer.value.header, session, calls, answers)
    return None


def _events_difference(
    operation: Read,
    returned: Any,
    calls: Mapping[Which, Operation],
    answers: Mapping[Which, Outcome],
    sessions: Mapping[int, Any],
) -> Difference | None:
    session = sessions.get(operation.handle)
    written: dict[Any, Any] = {}
    for which, each in calls.items():
        if not isinstance(answers.get(which), Returned):
            continue
        if isinstance(each, Append) and sessions.get(each.handle) == session and isinstance(each.events, list):
            # The first to take a seq: what came later at the same seq should have been refused.
            for event in each.events:
                if isinstance(event, dict) and isinstance(event.get("seq"), int):
                    written.setdefault(event["seq"], event)
    for index, event in enumerate(returned if isinstance(returned, list) else ()):
        seq = event.get("seq") if isinstance(event, dict) else None
        if isinstance(seq, int) and seq in written and (found := first_difference(written[seq], event, f"[{index}]")):
            return Difference(*found, words=("appended", "read"))
    return None


def _header_difference(
    header: Any, session: Any, calls: Mapping[Which, Operation], answers: Mapping[Which, Outcome]
) -> Difference | None:
    for which, each in calls.items():
        if isinstance(each, Create) and each.header.id == session and isinstance(answers.get(which), Returned):
            if isinstance(header, SessionHeader) and (found := first_difference(_form(each.header), _form(header))):
                return Difference(f"header{found[0]}", found[1], found[2], ("created with", "shows"))
            return None
    return None


def _form(header: SessionHeader) -> dict[str, Any]:
    found = {each.name: getattr(header, each.name) for each in fields(header)}
    extra = found["extra"]
    return {**found, "extra": dict(extra) if isinstance(extra, Mapping) else extra}
