"""A right-but-different backend: it takes what is beyond JSON's common ground, and returns it as it was.

Integers of any size that Python writes in decimal, negative zero and lone surrogates come back equal, tuples as lists.
What JSON cannot hold at all is refused as everywhere. Everything else is as in ``plain_files``; headers are held to the
common ground.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, ClassVar

from plain_files import PlainFiles, PlainHandle, plain_files

from conformance.contract import (
    MAX_SAFE_INTEGER,
    SessionEvent,
    assert_contiguous,
    assert_understood,
    materialize_append_batch,
)

DEEPEST = 200
"""Levels of nesting that are taken."""


def listed(value: Any, depth: int = 0) -> Any:
    """A copy with containers of its own, lists in the place of tuples.

    Raises:
        ValueError: nested too deeply, or in itself.
    """
    kind = type(value)
    if kind not in (dict, list, tuple):
        return value
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} levels deep, or a cycle")
    if kind is dict:
        return {key: listed(item, depth + 1) for key, item in value.items()}
    return [listed(item, depth + 1) for item in value]


def narrowed(value: Any) -> Any:
    """Something that the shared validation judges as it should judge the value, but within the common ground."""
    kind = type(value)
    if kind is dict:
        return {narrowed(key): narrowed(item) for key, item in value.items()}
    if kind is list:
        return [narrowed(item) for item in value]
    if kind is str:
        return value.encode("utf-8", "replace").decode("utf-8")
    return min(value, MAX_SAFE_INTEGER) if kind is int and value >= 0 else max(value, -1) if kind is int else value


class WideHandle(PlainHandle):
    """Checks the narrow form of a batch, and stores the wide one."""

    def checked(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """A copy of a batch that Python's own JSON keeps as it is."""
        batch: list[SessionEvent] = listed(events)
        # A tuple of events is no batch.
        materialize_append_batch(narrowed(batch) if isinstance(events, list) else events)
        assert_contiguous(batch, self.next_seq, session_id=self.id)
        assert_understood(batch, session_id=self.id)
        return batch

    def bytes_of(self, batch: list[SessionEvent]) -> bytes:
        """UTF-8 with surrogates in it: as escapes, two lone halves in a row would be read as one character."""
        lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in batch]
        return "".join(lines).encode("utf-8", "surrogatepass")


class WideValues(PlainFiles):
    """The service; its handles are wide ones."""

    handle_type: ClassVar[type[PlainHandle]] = WideHandle


wide_values = replace(plain_files, name="wide-values", open=WideValues)
"""Accepts and returns what is beyond JSON's common ground."""
