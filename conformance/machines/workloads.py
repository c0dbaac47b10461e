"""Canonical workloads for sweeps: every short program of a small vocabulary, each once, the short ones first.

Promises: sessions are numbered by first use, payloads depend on the session and the seq alone, and no call stands
where it would be refused, so that two programs are never the same but for names. Every program begins with one
instance, and every prefix of a program comes before it: what is new in it is its last call.

Does not: perform anything, or know what a crash is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from conformance.contract import SessionHeader
from conformance.model.operations import (
    FILLED_AT,
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    FlushInstance,
    MakeRoot,
    OpenInstance,
    OpenSession,
    Operation,
)

MOST_SESSIONS = 2
"""Sessions in one workload."""

SHORT, PAGE_WIDE = 12, 2400
"""Characters of text in the events of a small batch, and of the second event of a large one: it covers a page edge."""

_FIRST_CHARACTER, _CHARACTERS = 0x4E00, 0x5000
"""Text is drawn from a range of characters of three bytes, so that a tear can fall inside one."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One program, and how many calls of the backend it has.

    Attributes:
        operations: the first opens an instance.
        calls: how many of them count.
        new: how many at the end are not in a shorter workload: their crash points are new.
        counts_for: calls that it counts for where second lives are bounded; all of them where it is None.
    """

    operations: tuple[Operation, ...]
    calls: int
    new: int = 1
    counts_for: int | None = None

    @property
    def depth(self) -> int:
        """How deep second lives have to go for this workload to have any."""
        return self.calls if self.counts_for is None else self.counts_for


def session_name(number: int) -> str:
    """The id of the n-th session, counted from 1."""
    return f"session-{number}"


@lru_cache(maxsize=1024)
def text_for(session: str, seq: int, width: int) -> str:
    """So many characters of three bytes each, of which no compressor makes much less than two."""
    noise = hashlib.shake_128(f"{session} {seq}".encode()).digest(2 * width)
    drawn = (noise[at] << 8 | noise[at + 1] for at in range(0, 2 * width, 2))
    return "".join(chr(_FIRST_CHARACTER + each % _CHARACTERS) for each in drawn)


def sweep_event(session: str, seq: int, width: int = SHORT) -> dict[str, Any]:
    """The event at that seq; sessions differ in it."""
    data = {"text": f"{session} {seq} {text_for(session, seq, width)}"}
    return {"type": "user/message", "seq": seq, "time": FILLED_AT + seq, "data": data}


def batch_for(session: str, first: int, *, large: bool) -> list[dict[str, Any]]:
    """One event, or a large batch of two of which the second covers a page edge."""
    if not large:
        return [sweep_event(session, first)]
    return [sweep_event(session, first), sweep_event(session, first + 1, PAGE_WIDE)]


def workloads(most_calls: int, *, on_a_root: int = 0) -> Iterator[Workload]:
    """Every workload of at most that many calls, by length.

    Args:
        on_a_root: those of at most so many calls come again with a root that is there beforehand.
    """
    level = [_Plan()]
    for calls in range(1, most_calls + 1):
        level = [longer for plan in level for longer in plan.longer()]
        for plan in level:
            yield Workload(plan.operations, calls, plan.new)
            if calls <= on_a_root:
                yield Workload((MakeRoot(), *plan.operations), calls, plan.new)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A workload, and what it left: lengths of logs, and the open write handle of each session."""

    operations: tuple[Operation, ...] = (OpenInstance(1),)
    new: int = 1
    instance: int = 1
    handles: int = 0
    lengths: tuple[int, ...] = ()
    stored: tuple[bool, ...] = ()
    owners: tuple[int | None, ...] = field(default=())

    def longer(self) -> Iterator[_Plan]:
        """This workload and one call more."""
        for index, owner in enumerate(self.owners):
            if owner is not None:
                yield self._append(index, owner, large=False)
                yield self._append(index, owner, large=True)
                yield self._then(Flush(owner), stored=_at(self.stored, index, True))
                yield self._close(index, owner)
            elif self.stored[index]:
                yield self._open(index)
        if len(self.lengths) < MOST_SESSIONS:
            yield self._create()
        if any(owner is not None for owner in self.owners):
            active = tuple(done or owner is not None for done, owner in zip(self.stored, self.owners, strict=True))
            yield self._then(FlushInstance(self.instance), stored=active)
            yield self._restart()

    def _then(self, *operations: Operation, **changes: Any) -> _Plan:
        return replace(self, operations=(*self.operations, *operations), new=len(operations), **changes)

    def _create(self) -> _Plan:
        name = session_name(len(self.lengths) + 1)
        handle = self.handles + 1
        return self._then(
            Create(self.instance, handle, SessionHeader(id=name, created_at=FILLED_AT, cwd="/work")),
            handles=handle,
            lengths=(*self.lengths, 0),
            stored=(*self.stored, False),
            owners=(*self.owners, handle),
        )

    def _append(self, index: int, owner: int, *, large: bool) -> _Plan:
        first = self.lengths[index]
        events = batch_for(session_name(index + 1), first, large=large)
        return self._then(
            Append(owner, events),
            lengths=_at(self.lengths, index, first + len(events)),
            stored=_at(self.stored, index, True),
        )

    def _close(self, index: int, owner: int) -> _Plan:
        return self._then(Close(owner), owners=_at(self.owners, index, None))

    def _open(self, index: int) -> _Plan:
        handle = self.handles + 1
        opened = OpenSession(self.instance, handle, session_name(index + 1), "write")
        return self._then(opened, handles=handle, owners=_at(self.owners, index, handle))

    def _restart(self) -> _Plan:
        """The service is closed and opened again; the next call goes to the new instance."""
        return self._then(
            CloseInstance(self.instance),
            OpenInstance(self.instance + 1),
            instance=self.instance + 1,
            owners=tuple(None for _ in self.owners),
        )


def _at(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])
