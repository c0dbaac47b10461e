"""What is done to the storage and not through the backend: crashes, and storage calls that fail.

They are operations of a program like the others; everybody imports them from ``conformance.model.operations``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.model.operation import Operation

Effect = tuple[int, str, int]
"""One thing that can survive a crash or not: (index of the disk operation in the trace, part, number)."""


@dataclass(frozen=True, slots=True)
class Crash(Operation):
    """Every instance ends without warning, and the next one opens the storage that this leaves behind.

    All choices at 0 are the mildest crash: everything that was done on the disk is still there.

    Attributes:
        preset: what the disk may do, a name of ``conformance.sim.disk`` ("kill": the process dies, the disk does not).
        during: the call that was under way: it is begun and never ends. None: the crash came between two calls.
        after: how many disk operations of that call were done, those of no call not counted; None: all of them. Without
            a call under way: how many were done since the latest one returned, by the backend itself.
        cut: bytes of the next write that reached the disk.
        lost: the first effect that did not survive, of each chain of effects that lost one.
        tear: (index of the disk operation, page, sector) of the page that survived up to that sector, or None.
    """

    kind: ClassVar[str] = "crash"
    preset: str
    during: Operation | None = None
    after: int | None = None
    cut: int = 0
    lost: tuple[Effect, ...] = ()
    tear: tuple[int, int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """As every operation, with ``during`` as a form of its own, and lists in place of tuples."""
        found: dict[str, Any] = {"do": self.kind, "preset": self.preset, "after": self.after, "cut": self.cut or None}
        found["during"] = None if self.during is None else self.during.to_json()
        found["lost"] = [list(effect) for effect in self.lost] or None
        found["tear"] = None if self.tear is None else list(self.tear)
        return {key: value for key, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Fail(Operation):
    """From here on storage calls of the backend fail as told, until ``Heal`` or a crash; it replaces an earlier one.

    Attributes:
        calls: the kinds of storage calls that it may hit, names of ``conformance.sim.disk.faults.KINDS``.
        nth: which of these calls, counted from 1.
        error: the name of the error ("EIO"); "" where nothing fails, and a write takes a part only.
        sticky: every later one of them fails too.
        how: "refused": nothing is done; a file whose sync is refused may have lost what it was to make durable.
            "landed": it is done all the same. "short": a write takes a part, and the next one meets the error.
        taken: how many bytes a short write takes.
    """

    kind: ClassVar[str] = "fail"
    calls: list[str]
    nth: int = 1
    error: str = "EIO"
    sticky: bool = False
    how: str = "refused"
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Heal(Operation):
    """Storage works again from here on."""

    kind: ClassVar[str] = "heal"


@dataclass(frozen=True, slots=True)
class CountLeft(Operation):
    """Look what the backend still has: open descriptors, tasks and threads that it did not have at first (FAULT-06)."""

    kind: ClassVar[str] = "count_left"
