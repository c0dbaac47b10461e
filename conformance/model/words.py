"""How the model says what it expected and what it saw: short, concrete, with the first difference pointed at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from conformance.model.history import (
    Cancelled,
    ErrorView,
    HandleView,
    Hung,
    Odd,
    Outcome,
    Raised,
    Returned,
    Skipped,
    SnapshotView,
)
from conformance.model.tree import TreeView
from conformance.model.values import same


def outcome_text(outcome: Outcome) -> str:
    """One outcome in a few words."""
    match outcome:
        case Returned(value):
            return value_text(value)
        case Raised(error):
            return f"raised {error}"
        case Hung(detail):
            return f"never returned: {detail}"
        case Skipped():
            return "was not called"
        case Cancelled():
            return "was cancelled"


def value_text(value: Any) -> str:
    """One return value in a few words."""
    match value:
        case None:
            return "returned None"
        case HandleView(id, _, access, _):
            return f"returned a {access} handle of {id!r:.60}"
        case SnapshotView():
            return f"returned a snapshot of {snapshot_id(value)!r:.60}, event_count={value.event_count!r}"
        case Odd(text):
            return f"returned {text}"
        case TreeView(outside, modes):
            return f"saw {len(modes)} paths under the root and {len(outside)} changes outside it"
        case list():
            if value and isinstance(value[0], SnapshotView | Odd):
                names = ", ".join(repr(snapshot_id(item))[:60] for item in value[:8])
                return f"returned {len(value)} snapshots: {names}"
            return f"returned {log_text(value)}"
    return f"returned {value!r:.120}"


def snapshot_id(value: Any) -> Any:
    """The id a snapshot is of, or what stands in its place."""
    return getattr(getattr(value, "header", None), "id", value)


def log_text(events: Sequence[Any]) -> str:
    """A log or a part of one: how many events, and their seqs."""
    if not events:
        return "no event"
    seqs = [event.get("seq") if isinstance(event, dict) else "?" for event in events]
    if len(seqs) == 1:
        return f"1 event, seq {seqs[0]}"
    first = seqs[0]
    if isinstance(first, int) and seqs == list(range(first, first + len(seqs))):
        return f"{len(seqs)} events, seq {first}..{seqs[-1]}"
    shown = ", ".join(map(str, seqs[:12])) + (", …" if len(seqs) > 12 else "")
    return f"{len(seqs)} events, seq {shown}"


def first_difference(expected: Any, observed: Any, path: str = "", *, exact: bool = True) -> str:
    """Where two JSON values differ first: ``path: expected x, got y``; empty where they do not."""
    if same(expected, observed, exact=exact):
        return ""
    if isinstance(expected, dict) and isinstance(observed, dict):
        for key in expected:
            if key not in observed:
                return f"{path}.{key} is missing"
            found = first_difference(expected[key], observed[key], f"{path}.{key}", exact=exact)
            if found:
                return found
        extra = next(key for key in observed if key not in expected)
        return f"{path}.{extra} was never given"
    if isinstance(expected, list) and isinstance(observed, list):
        for index, (left, right) in enumerate(zip(expected, observed, strict=False)):
            found = first_difference(left, right, f"{path}[{index}]", exact=exact)
            if found:
                return found
        return f"{path} has {len(observed)} items, expected {len(expected)}"
    return f"{path}: expected {expected!r:.120}, got {observed!r:.120}"


def names_session(error: ErrorView, session_id: str) -> bool:
    """Whether a member of a group names the session: by attribute, in its text or in a note (FLUSH-02)."""
    return (
        error.session_id == session_id
        or text_names(error.message, session_id)
        or any(text_names(note, session_id) for note in error.notes)
        or any(names_session(member, session_id) for member in error.members)
    )


def text_names(text: str, session_id: str, others: Iterable[str] = ()) -> bool:
    """Whether a text names the session: the id stands in it as ``repr`` gives it, or as a word of its own.

    ``s1`` is not named by ``s10``, nor by ``s1.5`` or ``s1-b``; a full stop may follow it.

    Args:
        others: ids of other sessions. Where one of them that is longer stands in the text, what it holds is none.
    """
    for other in sorted((each for each in others if session_id in each and each != session_id), key=len, reverse=True):
        text = text.replace(other, " ")
    if repr(session_id) in text:
        return True
    return re.search(rf"(?<![\w.-]){re.escape(session_id)}(?![\w-]|\.\w)", text) is not None
