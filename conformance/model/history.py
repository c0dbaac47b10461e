"""What happened: invocations and completions with virtual times, and what each call came to.

A history is data: it holds every argument and every return value, copied at that moment. Revisions appear as
first-use numbers within their instance, so that two runs of the same choices give the same history byte for byte. Its
events are named tuples, for no other record is made as often, and a frozen one costs several times as much to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from conformance.model.operation import Operation
from conformance.model.tree import TreeView
from conformance.model.usage import Usage


@dataclass(frozen=True, slots=True)
class HandleView:
    """What a handle said of itself when it was returned."""

    id: Any
    header: Any
    access: Any
    inherited: Any


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """A snapshot as returned; ``revision`` is the token's first-use number within its instance.

    ``artifact_size`` is what the file system said at that moment, where the backend gives ``location``.
    """

    header: Any
    revision: int
    event_count: Any
    size_bytes: Any
    artifact_size: int | None = None


@dataclass(frozen=True, slots=True)
class Odd:
    """A return value of a shape that the contract does not have; ``text`` is its repr, cut."""

    text: str


@dataclass(frozen=True, slots=True)
class ErrorView:
    """An exception as data.

    Attributes:
        kind: the contract's class name after the backend's mapping, ``TypeError`` or ``ValueError`` where it is one,
            else the class's own name.
        type_name: the class's own name.
        members: the members of an exception group.
        notes: notes and the texts of the cause chain, for a session named there (FLUSH-02).
        fault: it is a fault that the kit made the storage have, or one stands among its causes, contexts or members.
    """

    kind: str
    type_name: str
    message: str
    session_id: str | None = None
    expected: int | None = None
    got: int | None = None
    location: str | None = None
    members: tuple[ErrorView, ...] = ()
    notes: tuple[str, ...] = ()
    fault: bool = False

    def __str__(self) -> str:
        if self.kind == "SessionContiguityError":
            return f"{self.kind}(expected={self.expected}, got={self.got})"
        alias = f" ({self.type_name})" if self.type_name != self.kind else ""
        return f"{self.kind}{alias}: {self.message:.200}"


@dataclass(frozen=True, slots=True)
class CrashView:
    """What a crash took.

    Attributes:
        lost_calls: the numbers of the calls of whose disk operations something was lost or torn, in order, each once.
        lines: what became of the disk operations, one line each, for people; nothing is judged by them.
    """

    lost_calls: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultView:
    """A storage call that failed, or took a part only, because the program said so.

    Attributes:
        kind: what kind of call it was. error: the name of the error, "" for none. how: as in ``Fail``.
        session: id of the session whose artifact it touched, or what lies beside that in a directory of its own; None
            where it was something else, or nobody tells.
    """

    kind: str
    error: str
    how: str
    session: str | None = None

    def __str__(self) -> str:
        what = {"landed": "was done and reported as", "short": "took a part, then"}.get(self.how, "met")
        about = "" if self.session is None else f" of session {self.session!r:.60}"
        return f"{self.kind}{about} {what} {self.error}" if self.error else f"{self.kind}{about} took a part"


@dataclass(frozen=True, slots=True)
class LeftView:
    """What a backend has, and did not have before its first instance, by name, in order."""

    descriptors: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many things."""
        return len(self.descriptors) + len(self.tasks) + len(self.threads)

    def __str__(self) -> str:
        kinds = ("descriptors", self.descriptors), ("tasks", self.tasks), ("threads", self.threads)
        return "; ".join(f"{len(names)} {kind}: {', '.join(names)}" for kind, names in kinds if names) or "nothing"


@dataclass(frozen=True, slots=True)
class DamageView:
    """What damage did to the artifact of a session.

    Attributes:
        path: where it lies, from the root; "" where nobody knows, and then nothing was done.
        before, after: its size in bytes; None where there is no file.
        edges: (number of a call, size) for each change of its size that a call made since it came to be, in order.
        in_place: every one of them added bytes behind those that were there, which stayed as they were.
        low, high: the bytes of the artifact as it was that were hit: what stands before ``low`` and from ``high`` on is
            there as it was.
        torn: "cut" where what is left is its beginning; "nul" where whatever differs reads NUL up to the next page edge
            or to the end, or where NUL stands behind it; else "".
        headless: the rest of its first page reads NUL from the first byte that differs on, whatever stands behind it.
        version: the number of the call that left it as it is now, where that was put back.
        digest: of what it holds now; "" where it is no file.
        changed: anything is not as it was.
    """

    path: str = ""
    before: int | None = None
    after: int | None = None
    edges: tuple[tuple[int, int], ...] = ()
    in_place: bool = True
    low: int = 0
    high: int = 0
    torn: str = ""
    headless: bool = False
    version: int | None = None
    digest: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class FloodView:
    """What came of publishing many events: how many were taken, what memory grew by, the error that ended it or ""."""

    taken: int
    grown: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class WarningsView:
    """What was logged as a warning or worse."""

    messages: tuple[str, ...] = ()


Value = (
    None
    | HandleView
    | SnapshotView
    | TreeView
    | Odd
    | Usage
    | CrashView
    | LeftView
    | DamageView
    | FloodView
    | WarningsView
    | list[Any]
)
"""What a call may return: nothing, a handle, a snapshot, events or snapshots; the counters give what was used.

A crash gives what it took, damage what it did, a count of what is left what that is.
"""


@dataclass(frozen=True, slots=True)
class Returned:
    """The call resolved."""

    value: Value = None


RESOLVED = Returned()
"""What most calls come to that return nothing."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The call rejected."""

    error: ErrorView


@dataclass(frozen=True, slots=True)
class Hung:
    """The call did not end within its deadline; ``detail`` says where it waits."""

    detail: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """The call was not made: the handle or instance it names was never returned."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The call was cancelled by its caller, and ended so."""


Outcome = Returned | Raised | Hung | Skipped | Cancelled


class Invocation(NamedTuple):
    """A call begins: ``at`` in virtual microseconds.

    Calls inside an ``Overlap`` have its number, the client (from 1) whose row they belong to, and their place in it.
    Client 0 with a step from 1 on is a look that the kit takes at the end.
    """

    call: int
    operation: Operation
    client: int = 0
    at: int = 0
    step: int = 0

    @property
    def is_inside(self) -> bool:
        """Whether it is a call of an overlap."""
        return bool(self.client or self.step)


class Completion(NamedTuple):
    """A call ends; ``faults`` are those that the storage had since the completion before it.

    Inside an ``Overlap`` client and step are those of its invocation.
    """

    call: int
    outcome: Outcome
    at: int = 0
    faults: tuple[FaultView, ...] = ()
    client: int = 0
    step: int = 0

    @property
    def is_inside(self) -> bool:
        """Whether it is the end of a call of an overlap."""
        return bool(self.client or self.step)


Event = Invocation | Completion
History = list[Event]
