"""What is done to the storage and not through the backend: crashes, storage calls that fail, and damage.

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
        place: a short write takes all bytes before the ``nth`` place of this kind, a name of
            ``conformance.sim.disk.places.PLACES``; "" where it takes ``taken``.
        session: calls about the artifact of this session alone are hit and counted; "" for all. Nothing is armed where
            it has none yet, or shares it.
        around: those about what lies beside it in the session's own directory too, and about that. Nothing is armed
            where it has none.
    """

    kind: ClassVar[str] = "fail"
    calls: list[str]
    nth: int = 1
    error: str = "EIO"
    sticky: bool = False
    how: str = "refused"
    taken: int = 0
    place: str = ""
    session: str = ""
    around: bool = False


@dataclass(frozen=True, slots=True)
class Heal(Operation):
    """Storage works again from here on."""

    kind: ClassVar[str] = "heal"


@dataclass(frozen=True, slots=True)
class CountLeft(Operation):
    """Look what the backend still has: open descriptors, tasks and threads that it did not have at first (FAULT-06)."""

    kind: ClassVar[str] = "count_left"


Position = tuple[int, int]
"""A place in an artifact: (edge, delta). Edge 0 is its beginning, edge k where it ended after the k-th change of its
size that a call made, and negative edges count from the latest; ``delta`` is added in bytes. What lies outside the
artifact means its nearer end."""

BEGINNING: Position = (0, 0)
END: Position = (-1, 0)

HOW_DAMAGED: tuple[str, ...] = (
    "cut",
    "nul",
    "flip",
    "drop",
    "repeat",
    "swap",
    "insert",
    "replace",
    "copy",
    "put_back",
    "unlink",
    "directory",
    "symlink",
    "bom",
    "crlf",
    "hostile",
    "plant",
)
"""What can be done to an artifact, as ``Damage.how`` says it."""

HOSTILE: tuple[str, ...] = ("nested", "endless", "bomb")
"""What a hostile artifact may be: nesting without an end, a line without an end, or little that expands to much."""


@dataclass(frozen=True, slots=True)
class Damage(Operation):
    """Something other than the backend changes the artifact of a session, or a file beside it, behind its back.

    Attributes:
        how: one of ``HOW_DAMAGED``. "cut": it ends at ``start``. "nul": the bytes from ``start`` to ``end`` read NUL.
            "flip": the bits of ``mask`` change in the byte at ``start``. "drop", "repeat": these bytes are taken out,
            or stand twice. "swap": they change places with those from ``end`` to ``to``. "insert": ``data`` comes in at
            ``start``. "replace": another file with ``data`` has its place; "copy": one with what the artifact of the
            session ``other`` holds. "put_back": it holds what it held after a call left it so for the ``version``-th
            time (from 0, negative from the latest), under an unchanged time stamp. "unlink": it is gone. "directory":
            an empty directory has its place. "symlink": a link to a file with ``data``, or, where that is empty, to
            itself at another place. "bom", "crlf": an editor put a byte-order mark in front, or carriage returns before
            its line ends. "hostile": from ``start`` on it holds what ``data``, one of ``HOSTILE``, says;
            "plant": another file with that has its place.
        beside: in place of the artifact the file of this number, from 0, among those under the root that are no
            session's artifact, by name; all stored sessions may need it.
    """

    kind: ClassVar[str] = "damage"
    session: str
    how: str
    start: Position = BEGINNING
    end: Position = END
    to: Position = END
    data: str | bytes = ""
    other: str = ""
    mask: int = 1
    version: int = 0
    beside: int | None = None


@dataclass(frozen=True, slots=True)
class Confine(Operation):
    """From here on everything is done in another process, with ``room`` more bytes of memory than that begins with.

    It comes before the first instance, and is done where the system can limit the memory of a process.
    """

    kind: ClassVar[str] = "confine"
    room: int
