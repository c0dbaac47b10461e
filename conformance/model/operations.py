"""Operations as data: what a program does to a backend, one frozen record for each call.

The same records are drawn by a machine, written by a scenario, sent over a driver protocol, saved as a case, replayed
and printed. Instances and handles are small numbers chosen by the program, so that a program needs no results to be
written down. Arguments are held as given, wrong ones included; nothing here checks them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from conformance.contract import SessionHeader
from conformance.model.adversities import Confine as Confine
from conformance.model.adversities import CountLeft as CountLeft
from conformance.model.adversities import Crash as Crash
from conformance.model.adversities import Damage as Damage
from conformance.model.adversities import Effect as Effect
from conformance.model.adversities import Fail as Fail
from conformance.model.adversities import Heal as Heal
from conformance.model.live_ops import Dispose as Dispose
from conformance.model.live_ops import Flood as Flood
from conformance.model.live_ops import HubCreate as HubCreate
from conformance.model.live_ops import HubFlush as HubFlush
from conformance.model.live_ops import Publish as Publish
from conformance.model.live_ops import ReadWarnings as ReadWarnings
from conformance.model.operation import Operation as Operation
from conformance.model.operation import header_form as header_form
from conformance.model.overlap import Overlap as Overlap
from conformance.model.overlap import Step as Step
from conformance.model.values import decode


@dataclass(frozen=True, slots=True)
class OpenInstance(Operation):
    """A fresh instance over the same root."""

    kind: ClassVar[str] = "open_instance"
    instance: int


@dataclass(frozen=True, slots=True)
class MakeRoot(Operation):
    """Make the root, empty and durable, before the first instance: whoever deploys a backend may have done so."""

    kind: ClassVar[str] = "make_root"


@dataclass(frozen=True, slots=True)
class Wait(Operation):
    """Let so many seconds pass, in which nobody calls anything; the backend's own timers go off meanwhile.

    It is done where time is virtual and no lease could run out by it.
    """

    kind: ClassVar[str] = "wait"
    seconds: float


@dataclass(frozen=True, slots=True)
class CloseInstance(Operation):
    """The service's ``close``."""

    kind: ClassVar[str] = "close_instance"
    instance: int


@dataclass(frozen=True, slots=True)
class FlushInstance(Operation):
    """The service's ``flush``."""

    kind: ClassVar[str] = "flush_instance"
    instance: int


@dataclass(frozen=True, slots=True)
class Stat(Operation):
    """The service's ``stat``."""

    kind: ClassVar[str] = "stat"
    instance: int
    session: Any


@dataclass(frozen=True, slots=True)
class ListSessions(Operation):
    """The service's ``list``."""

    kind: ClassVar[str] = "list"
    instance: int


@dataclass(frozen=True, slots=True)
class Create(Operation):
    """The service's ``create``; the handle gets the number ``handle``.

    With ``scribble`` the caller overwrites what its header holds once the call has returned; with ``named`` arguments
    are given by their names, here and in other calls.
    """

    kind: ClassVar[str] = "create"
    instance: int
    handle: int
    header: SessionHeader
    inherited: Any = None
    scribble: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class OpenSession(Operation):
    """The service's ``open``; the handle gets the number ``handle``."""

    kind: ClassVar[str] = "open"
    instance: int
    handle: int
    session: Any
    access: Literal["read", "write"]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Read(Operation):
    """``read`` on a handle. With ``scribble`` the caller then overwrites what it got (SEQ-07)."""

    kind: ClassVar[str] = "read"
    handle: int
    offset: Any = 0
    length: Any = None
    scribble: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Append(Operation):
    """``append`` on a handle. With ``scribble`` the caller overwrites the batch once the call is under way (SEQ-06)."""

    kind: ClassVar[str] = "append"
    handle: int
    events: Any
    scribble: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Flush(Operation):
    """``flush`` on a handle."""

    kind: ClassVar[str] = "flush"
    handle: int


@dataclass(frozen=True, slots=True)
class Close(Operation):
    """``close`` on a handle."""

    kind: ClassVar[str] = "close"
    handle: int


@dataclass(frozen=True, slots=True)
class Leave(Operation):
    """Enter the handle as a context manager and leave it (CLOSE-05).

    ``raising``: by an exception of the caller's; ``cancelled``: by that of a cancellation. What the handle says of
    itself inside, and once it is closed, is what comes back.
    """

    kind: ClassVar[str] = "leave"
    handle: int
    raising: bool = False
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Discard(Operation):
    """Forget the handle without closing it and let it be collected (OWN-12)."""

    kind: ClassVar[str] = "discard"
    handle: int


ON_HANDLES = (Read, Append, Flush, Close, Leave, Discard)
"""The calls of a handle."""

VIEWS = (Read, Stat, ListSessions)
"""The calls that change nothing."""


@dataclass(frozen=True, slots=True)
class StartCounting(Operation):
    """From here on what the backend uses is counted.

    It stands before the first instance: of files that are open already when it begins not everything is seen.
    """

    kind: ClassVar[str] = "start_counting"


@dataclass(frozen=True, slots=True)
class ReadCounters(Operation):
    """What the calls since the counters were started, or read last, have used; they go on from nothing."""

    kind: ClassVar[str] = "read_counters"


@dataclass(frozen=True, slots=True)
class Macro(Operation):
    """An operation that stands for a row of plain ones, so that a program stays short where a log gets long.

    Histories and the model see the plain ones, all under the call number of the macro.
    """

    def expand(self) -> Iterator[Operation]:
        """The plain operations, in order."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Fill(Macro):
    """``count`` appends on a handle, of ``size`` events each, from seq ``first``; ``width`` characters in an event."""

    kind: ClassVar[str] = "fill"
    handle: int
    first: int
    count: int
    size: int = 1
    width: int = 40

    def expand(self) -> Iterator[Operation]:
        """One ``Append`` for each batch."""
        for number in range(self.count):
            begin = self.first + number * self.size
            yield Append(self.handle, [filler(seq, self.width) for seq in range(begin, begin + self.size)])


@dataclass(frozen=True, slots=True)
class Populate(Macro):
    """Sessions ``crowd-<number>`` for ``count`` numbers from ``first``, each with one event, closed again.

    Their handles are numbered from ``handle``.
    """

    kind: ClassVar[str] = "populate"
    instance: int
    handle: int
    first: int
    count: int

    def expand(self) -> Iterator[Operation]:
        """``Create``, ``Append`` and ``Close`` for each session."""
        for number in range(self.count):
            handle = self.handle + number
            yield Create(self.instance, handle, SessionHeader(id=f"crowd-{self.first + number}", created_at=FILLED_AT))
            yield Append(handle, [filler(0)])
            yield Close(handle)


FILLED_AT = 1_700_000_000_000
"""Unix ms of the sessions and events that macros make."""


def filler(seq: int, width: int = 40) -> dict[str, Any]:
    """One event that no compressor makes much smaller; ``width`` is the length of its text, in characters."""
    text = hashlib.shake_128(str(seq).encode()).hexdigest(-(-width // 2))[:width]
    return {"type": "user/message", "seq": seq, "time": FILLED_AT + seq, "data": {"text": text}}


@dataclass(frozen=True, slots=True)
class Inspect(Operation):
    """Look at the files in and around the root: the driver does, and the backend is not called (ID-02, ID-03, ID-05).

    ``sessions`` are the ids whose artifacts are to be told. With ``bytes_only`` nothing but a digest of each artifact
    is (DUR-05).
    """

    kind: ClassVar[str] = "inspect"
    sessions: list[str]
    bytes_only: bool = False


def _crash_from_json(values: dict[str, Any]) -> Crash:
    """The inverse of ``Crash.to_json``, without its ``do``."""
    found = dict(values)
    if "during" in found:
        found["during"] = operation_from_json(found["during"])
    if "lost" in found:
        found["lost"] = tuple(tuple(effect) for effect in found["lost"])
    if "tear" in found:
        found["tear"] = tuple(found["tear"])
    return Crash(**found)


def _overlap_from_json(values: dict[str, Any]) -> Overlap:
    """The inverse of ``Overlap.to_json``, without its ``do``."""
    return Overlap(tuple(tuple(map(_step_from_json, row)) for row in values["rows"]), tuple(values.get("jobs", ())))


def _step_from_json(form: dict[str, Any]) -> Step:
    more = dict(form.get("step", {}))
    if "cancels" in more:
        more["cancels"] = tuple((after, turns) for after, turns in more["cancels"])
    return Step(operation_from_json({key: value for key, value in form.items() if key != "step"}), **more)


OPERATIONS: dict[str, type[Operation]] = {
    cls.kind: cls
    for cls in (
        MakeRoot,
        Wait,
        OpenInstance,
        CloseInstance,
        FlushInstance,
        Stat,
        ListSessions,
        Create,
        OpenSession,
        Read,
        Append,
        Flush,
        Close,
        Leave,
        Discard,
        Inspect,
        StartCounting,
        ReadCounters,
        Fill,
        Populate,
        Crash,
        Fail,
        Heal,
        CountLeft,
        Damage,
        Confine,
        Overlap,
        HubCreate,
        Publish,
        HubFlush,
        Dispose,
        ReadWarnings,
        Flood,
    )
}


def operation_from_json(form: dict[str, Any]) -> Operation:
    """The operation of this JSON form.

    Raises:
        KeyError: an unknown ``do``. TypeError: missing or unknown fields.
    """
    values = {key: value for key, value in form.items() if key != "do"}
    cls = OPERATIONS[form["do"]]
    if cls is Crash:
        return _crash_from_json(values)
    if cls is Overlap:
        return _overlap_from_json(values)
    if "header" in values:
        values["header"] = SessionHeader(**{k: decode(v) for k, v in values["header"].items()})
    return cls(**{key: value if key == "header" else decode(value) for key, value in values.items()})


@dataclass(frozen=True, slots=True)
class Program:
    """A sequence of operations, performed one after the other.

    A crash is one of them, and the calls after it are made in the world that it leaves; so are faults of the storage,
    and so is an overlap, which holds a row of calls for each of its clients.
    """

    operations: tuple[Operation, ...] = field(default=())

    def to_json(self) -> list[dict[str, Any]]:
        """The JSON forms of the operations, in order."""
        return [operation.to_json() for operation in self.operations]

    @classmethod
    def from_json(cls, form: list[dict[str, Any]]) -> Program:
        """The inverse of ``to_json``."""
        return cls(tuple(operation_from_json(item) for item in form))
