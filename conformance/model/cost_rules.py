"""The rules for what calls cost: SEQ-10, SVC-10 and READ-05, judged by counts and never by time.

A program says only where counting begins and where the counters are read. What lies between two readings is a
*window*, and the model itself finds out what was done in it and how large the world was: a window that holds calls of
one kind only, all alike and all resolved, is compared with every earlier one of the same calls in a world that was at
least ``LEAST_RATIO`` times larger or smaller, in the length of the log or in the number of sessions and in nothing
else. Where a call in the larger world costs more than ``FACTOR`` times what it cost in the smaller one, and a fixed
slack on top, the cost grows. Everything else is no evidence, neither for a clause nor against it.

What is compared: bytes read and written, for SVC-10 accesses too, for READ-05 memory. A backend in memory has no input
and output: of it the memory that a call takes is compared. Whether the recorder or the operating system counts is
settled for a whole history: the recorder, unless the operating system saw clearly more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.model.history import Outcome, Returned
from conformance.model.operations import (
    Append,
    Flush,
    ListSessions,
    OpenSession,
    Operation,
    Read,
    ReadCounters,
    StartCounting,
    Stat,
)
from conformance.model.state import Session
from conformance.model.usage import InputOutput, Usage

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge

LEAST_RATIO = 8
"""How many times larger a world has to be for its costs to be compared with those of a smaller one."""

FACTOR = 2
"""How many times as much a call may cost there: a tree over 8 times as much is a level deeper."""

SLACK_BYTES = 8 * 1024
"""Bytes read and written for each call that are no sign of growth: two pages."""

SLACK_ACCESSES = 16
"""Calls of input and output for each call that are no sign of growth."""

SLACK_MEMORY = 2 * 1024 * 1024
"""Bytes of memory that a bounded read may take whatever it returns: buffers of a fixed size, for reading files."""

SLACK_ALLOCATED = 4 * 1024
"""Bytes of memory for each call of a backend in memory that are no sign of growth."""

NOISE = 4 * 1024
"""Bytes that the operating system may count beyond the recorder's without making it blind."""


@dataclass(slots=True)
class Window:
    """What was done between two readings of the counters.

    Attributes:
        kind: "append", "stat", "read", "list", "open for reading" or "open for writing"; "" while nothing was done.
        mixed: something else was done too, or a call did not resolve: the window is no evidence.
        session: what the calls were made on; None for ``list``.
        calls: how many, flushes of an appending handle apart.
        events: appended or returned by each of them.
        payload: characters of what they appended or returned.
        before, length: events in the log when the first and the last call ended, the first one's own apart; of all
            logs for ``list``.
        sessions: how many there were.
    """

    kind: str = ""
    mixed: bool = False
    session: Session | None = None
    calls: int = 0
    events: int = 0
    payload: int = 0
    before: int = 0
    length: int = 0
    sessions: int = 0

    def add(self, judge: Judge, op: Operation, outcome: Outcome) -> None:
        """One more call was made."""
        kind = _kind_of(op)
        if isinstance(op, Flush) and self.kind == "append" and isinstance(outcome, Returned):
            self.mixed = self.mixed or judge.world.handles[op.handle].session is not self.session
            return
        if self.mixed or not kind or not isinstance(outcome, Returned) or self.kind not in ("", kind):
            self.mixed = True
            return
        session = _session_of(judge, op)
        moved = op.events if isinstance(op, Append) else outcome.value if isinstance(op, Read) else []
        if (session is None and kind != "list") or not isinstance(moved, list):
            self.mixed = True
            return
        self.sessions = len(judge.world.stored) + len(judge.world.pending)
        self.length = len(session.log) if session is not None else _length_of_all(judge)
        if not self.calls:
            self.kind, self.session, self.events = kind, session, len(moved)
            self.before = self.length - (len(moved) if kind == "append" else 0)
        self.mixed = session is not self.session or len(moved) != self.events
        self.calls += 1
        self.payload += len(repr(moved)) if moved else 0

    def is_like(self, other: Window) -> bool:
        """Whether the same was done in both: the same call, of the same size."""
        mine, theirs = self.payload * other.calls, other.payload * self.calls
        return (self.kind, self.events) == (other.kind, other.events) and abs(mine - theirs) * 4 <= max(mine, theirs)

    @property
    def is_amortised(self) -> bool:
        """Whether the log doubled at least, so that what is done once in a while was paid for in full."""
        return self.length >= 2 * self.before


def _kind_of(op: Operation) -> str:
    match op:
        case OpenSession(access="read" | "write"):
            return f"open for {'reading' if op.access == 'read' else 'writing'}"
        case Read(length=length) if length is None:
            return ""
        case Append() | Stat() | ListSessions() | Read():
            return op.kind
    return ""


def _session_of(judge: Judge, op: Any) -> Session | None:
    if isinstance(op, Append | Read):
        return judge.world.handles[op.handle].session
    if isinstance(op, Stat | OpenSession):
        return judge.world.visible(op.instance, op.session)[0]
    return None


def _length_of_all(judge: Judge) -> int:
    return sum(len(each.log) for each in (*judge.world.stored.values(), *judge.world.pending.values()))


Counted = tuple[Window, Usage]
"""What was done, and what it used."""


@dataclass(slots=True)
class CostBook:
    """The windows of one history.

    Attributes:
        window: the one that is open; None while nothing is counted.
        closed: those that are evidence, with what was used in them.
        recorded, process: bytes that either counter saw in all windows, mixed ones too; ``process`` is None until the
            operating system told one, and leaves out what the recorder accounts for.
        doubted: the recorder noticed something that no counter can follow.
    """

    window: Window | None = None
    closed: list[Counted] = field(default_factory=list)
    recorded: int = 0
    process: int | None = None
    doubted: bool = False

    def note(self, judge: Judge, op: Operation, outcome: Outcome) -> None:
        """A call ended, and nothing is wrong with its answer."""
        if self.window is not None and not isinstance(op, StartCounting | ReadCounters):
            self.window.add(judge, op, outcome)

    def spoil(self) -> None:
        """A call ended of which nothing can be told."""
        if self.window is not None:
            self.window.mixed = True

    def total(self, usage: Usage) -> None:
        """Add up what either counter saw."""
        self.recorded += usage.recorded.moved
        self.doubted = self.doubted or bool(usage.doubt)
        if usage.process is not None:
            # What was recorded in windows that the operating system tells nothing of must not make up for others.
            self.process = (self.process or 0) + max(0, usage.process.moved - FACTOR * usage.recorded.moved)

    @property
    def is_blind(self) -> bool:
        """Whether the recorder misses input and output: then the operating system's count is the one to use."""
        return self.process is not None and self.process > NOISE

    @property
    def is_in_doubt(self) -> bool:
        """Whether no count of input and output means anything: neither counter saw a byte, or both miss some."""
        return self.doubted or (not self.recorded and not self.is_blind)


def start_counting(judge: Judge, call: Call, op: StartCounting, outcome: Outcome) -> None:
    """Nothing can be wrong with it."""
    judge.costs.window = Window()


def read_counters(judge: Judge, call: Call, op: ReadCounters, outcome: Outcome) -> None:
    """SEQ-10, SVC-10 and READ-05."""
    book = judge.costs
    window = book.window
    if window is None or not isinstance(outcome, Returned) or not isinstance(outcome.value, Usage):
        return
    usage, book.window = outcome.value, Window()
    book.total(usage)
    if window.mixed or not window.calls:
        return
    for earlier, used in book.closed:
        if window.is_like(earlier):
            _compare(judge, (earlier, used), (window, usage))
    book.closed.append((window, usage))


def _compare(judge: Judge, one: Counted, two: Counted) -> None:
    """Judge two windows of the same calls, where their worlds differ in one way only."""
    for size, other in (("length", "sessions"), ("sessions", "length")):
        small, large = (one, two) if getattr(one[0], size) < getattr(two[0], size) else (two, one)
        grown = getattr(large[0], size) >= LEAST_RATIO * max(1, getattr(small[0], size))
        if not grown or getattr(small[0], other) != getattr(large[0], other):
            continue
        clause = _clause(large[0].kind, size)
        amortised = small[0].is_amortised and large[0].is_amortised
        if clause and (clause != "SEQ-10" or amortised):
            _judge(judge, clause, size, small, large)


def _clause(kind: str, size: str) -> str:
    """The clause about how the cost of that call depends on that size, or ""."""
    if size == "sessions":
        return "" if kind in ("list", "read") else "SVC-10"
    # What a write open costs is bound by no clause: it may look at the whole log before anything is added to it.
    return {"append": "SEQ-10", "read": "READ-05", "open for writing": ""}.get(kind, "SVC-10")


def _judge(judge: Judge, clause: str, size: str, small: Counted, large: Counted) -> None:
    judged = False
    for measure in _measures(judge, clause):
        before, after = measure.of(*small), measure.of(*large)
        if before is None or after is None:
            continue
        judged = True
        limit = FACTOR * before + measure.slack
        if after > limit:
            what = f"{measure.name} for each {large[0].kind}"
            judge.fail(
                clause,
                f"{what} that do not grow with {_SIZES[size]}: at most {limit:,.0f}"
                f" ({FACTOR} times what the smaller one took, and {measure.slack:,})",
                f"{what}: {before:,.0f} {_place(small[0], size)}, {after:,.0f} {_place(large[0], size)}",
            )
    if judged:
        judge.witness(clause)


_SIZES = {"length": "the length of the log", "sessions": "the number of sessions"}


def _place(window: Window, size: str) -> str:
    if size == "length":
        return f"at length {window.length:,}"
    return "with 1 session" if window.sessions == 1 else f"with {window.sessions:,} sessions"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number that is compared: its name, how much of it is no sign of growth, and what it is for each call."""

    name: str
    slack: int
    of: Callable[[Window, Usage], float | None]


def _measures(judge: Judge, clause: str) -> tuple[Measure, ...]:
    in_memory = judge.capabilities.storage == "memory"
    if clause == "READ-05":
        slack = SLACK_ALLOCATED if in_memory else SLACK_MEMORY
        return (Measure("bytes of memory", slack, lambda window, usage: usage.peak),)
    if in_memory:
        return (Measure("bytes of memory", SLACK_ALLOCATED, lambda window, usage: _share(window, usage.allocated)),)
    book = judge.costs
    if book.is_in_doubt:
        return ()

    def counted(usage: Usage) -> InputOutput | None:
        return usage.process if book.is_blind else usage.recorded

    def moved(window: Window, usage: Usage) -> float | None:
        found = counted(usage)
        return None if found is None else _share(window, found.moved)

    def accesses(window: Window, usage: Usage) -> float | None:
        found = counted(usage)
        return None if found is None else _share(window, found.accesses)

    measure = Measure("bytes read and written", SLACK_BYTES, moved)
    return (measure, Measure("accesses to files", SLACK_ACCESSES, accesses)) if clause == "SVC-10" else (measure,)


def _share(window: Window, whole: int | None) -> float | None:
    return None if whole is None else whole / window.calls
