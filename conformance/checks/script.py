"""The vocabulary in which named scenarios are written: one method for each operation, and short ways to make arguments.

A scenario only *does* things. It asserts nothing and decides nothing: the model judges each step, and the table says
which scenarios run. Instances and handles are the small numbers that stand for them in programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from conformance.contract import SessionHeader
from conformance.drivers.execution import Execution
from conformance.model.history import Outcome
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Confine,
    CountLeft,
    Crash,
    Create,
    Damage,
    Discard,
    Dispose,
    Fail,
    Fill,
    Flood,
    Flush,
    FlushInstance,
    Heal,
    HubCreate,
    HubFlush,
    Inspect,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Populate,
    Publish,
    Read,
    ReadCounters,
    ReadWarnings,
    StartCounting,
    Stat,
    Step,
    Wait,
)
from conformance.sim import Choices, SeededChoices
from conformance.sim.disk.states import WHAT_A_CRASH_TAKES

CREATED_AT = 1_700_000_000_000
"""Unix ms of the sessions that scenarios create."""

_UNSET: Any = object()


def event(seq: Any, type: Any = "user/message", *, data: Any = _UNSET, **more: Any) -> dict[str, Any]:
    """One event; its data says its seq, so that no two events of a log are alike."""
    return {
        "type": type,
        "seq": seq,
        "time": CREATED_AT + seq if isinstance(seq, int) else CREATED_AT,
        "data": {"text": f"event {seq}"} if data is _UNSET else data,
        **more,
    }


def batch(first: int, count: int, *, mark: str = "event") -> list[dict[str, Any]]:
    """A contiguous batch of ``count`` events from seq ``first``; ``mark`` tells batches at the same seqs apart."""
    return [event(seq, data={"text": f"{mark} {seq}"}) for seq in range(first, first + count)]


def header(session_id: Any = "s1", *, extra: Mapping[str, Any] | None = None, **fields: Any) -> SessionHeader:
    """A header; ``extra`` and the other fields as given."""
    values = {"created_at": CREATED_AT, **fields}
    return SessionHeader(id=session_id, extra=MappingProxyType(dict(extra or {})), **values)


class _Takes(Choices):
    """Chooses a crash that takes nothing, or everything that it may."""

    def __init__(self, *, everything: bool) -> None:
        super().__init__()
        self._everything = everything

    def _choose(self, n: int, label: str) -> int:
        return int(self._everything and label == WHAT_A_CRASH_TAKES)


def step(call: Operation, *, after: int = 0, waits: bool = True, cancels: Sequence[tuple[int, int]] = ()) -> Step:
    """One call of a client in an overlap; see ``Step``."""
    return Step(call, after, waits, tuple(cancels))


class Script:
    """Performs a scenario's steps through one execution. Methods that make something return its number."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._instances = 0
        self._handles = 0
        self._crowd = 0

    def instance(self) -> int:
        """A fresh instance over the same storage."""
        self._instances += 1
        self._execution.do(OpenInstance(self._instances))
        return self._instances

    def create(
        self,
        instance: int,
        session: Any = "s1",
        *,
        header: SessionHeader | None = None,
        inherited: Any = None,
        scribble: bool = False,
    ) -> int:
        """``create``; the number names the handle, where one was returned. ``header`` replaces the plain one."""
        self._handles += 1
        given = header if header is not None else SessionHeader(id=session, created_at=CREATED_AT)
        self._execution.do(Create(instance, self._handles, given, inherited, scribble))
        return self._handles

    def open(self, instance: int, session: Any = "s1", access: Literal["read", "write"] = "read") -> int:
        """``open``; the number names the handle, where one was returned."""
        self._handles += 1
        self._execution.do(OpenSession(instance, self._handles, session, access))
        return self._handles

    def stat(self, instance: int, session: Any = "s1") -> Outcome:
        """``stat``."""
        return self._execution.do(Stat(instance, session))

    def list(self, instance: int) -> Outcome:
        """``list``."""
        return self._execution.do(ListSessions(instance))

    def flush_all(self, instance: int) -> Outcome:
        """The service's ``flush``."""
        return self._execution.do(FlushInstance(instance))

    def close_all(self, instance: int) -> Outcome:
        """The service's ``close``."""
        return self._execution.do(CloseInstance(instance))

    def read(self, handle: int, offset: Any = 0, length: Any = None, *, scribble: bool = False) -> Outcome:
        """``read``; with ``scribble`` the caller overwrites what it got."""
        return self._execution.do(Read(handle, offset, length, scribble))

    def append(self, handle: int, events: Any, *, scribble: bool = False) -> Outcome:
        """``append``; with ``scribble`` the caller overwrites the batch once the call is under way."""
        return self._execution.do(Append(handle, events, scribble))

    def flush(self, handle: int) -> Outcome:
        """``flush``."""
        return self._execution.do(Flush(handle))

    def close(self, handle: int) -> Outcome:
        """``close``."""
        return self._execution.do(Close(handle))

    def leave(self, handle: int, *, raising: bool = False, cancelled: bool = False) -> Outcome:
        """Enter and leave the handle's context."""
        return self._execution.do(Leave(handle, raising, cancelled))

    def do(self, operation: Operation) -> Outcome:
        """An operation as it stands, for what has no method of its own here."""
        return self._execution.do(operation)

    def inspect(self, *sessions: str) -> Outcome:
        """A look at the files in and around the root, and at the modes of these sessions' artifacts."""
        return self._execution.do(Inspect(list(sessions)))

    def inspect_bytes(self, *sessions: str) -> Outcome:
        """A look at the bytes of these sessions' artifacts."""
        return self._execution.do(Inspect(list(sessions), bytes_only=True))

    def wait(self, seconds: float) -> Outcome:
        """So many seconds pass in which nobody calls anything."""
        return self._execution.do(Wait(seconds))

    def fail(
        self,
        *calls: str,
        nth: int = 1,
        error: str = "EIO",
        sticky: bool = False,
        how: Literal["refused", "landed", "short"] = "refused",
        taken: int = 0,
        place: str = "",
        session: str = "",
        around: bool = False,
    ) -> None:
        """Storage calls of these kinds fail from here on: the ``nth``, and with ``sticky`` all that follow.

        A short write takes ``taken`` bytes, or ends at the ``nth`` place of a kind. With a ``session`` only calls about
        its artifact fail, ``around`` that too.
        """
        self._execution.do(Fail(list(calls), nth, error, sticky, how, taken, place, session, around))

    def heal(self) -> None:
        """Storage works again."""
        self._execution.do(Heal())

    def has(self, handle: int) -> bool:
        """Whether the handle of that number was returned."""
        return handle in self._execution.judge.world.handles

    def log_length(self, handle: int) -> int:
        """How many events the session of a handle holds by all that has resolved; 0 where there is no such handle."""
        found = self._execution.judge.world.handles.get(handle)
        return 0 if found is None else len(found.session.log)

    def length_shown(self, handle: int) -> int:
        """How many events a read of all shows."""
        value = getattr(self._execution.do(Read(handle)), "value", None)
        return len(value) if isinstance(value, list) else 0

    def count_left(self) -> Outcome:
        """A look at the descriptors, tasks and threads that are left."""
        return self._execution.do(CountLeft())

    def discard(self, handle: int) -> Outcome:
        """Forget the handle without closing it, and collect it."""
        return self._execution.do(Discard(handle))

    def fill(self, handle: int, first: int, count: int, *, size: int = 1, width: int = 40) -> Outcome:
        """``count`` appends of ``size`` events each, from seq ``first``; ``width`` characters in each event."""
        return self._execution.do(Fill(handle, first, count, size, width))

    def populate(self, instance: int, count: int) -> None:
        """So many more sessions of one event each, all closed."""
        self._execution.do(Populate(instance, self._handles + 1, self._crowd, count))
        self._handles += count
        self._crowd += count

    def next_handle(self) -> int:
        """A number that no handle has had: for a call that a crash comes inside of."""
        self._handles += 1
        return self._handles

    def crash(
        self,
        preset: str,
        *,
        during: Operation | None = None,
        takes: Literal["nothing", "everything"] = "nothing",
        seed: int | None = None,
        at_once: bool = False,
        after: int | None = None,
    ) -> Outcome:
        """Every instance dies, after the latest call or inside ``during``.

        Args:
            takes: of what was not durable. seed: draws where inside the call it dies and what is lost, instead.
            at_once: nothing that was done since the latest call returned has been done; nothing else is lost.
            after: so many disk operations of ``during`` have been done, and nothing is lost.
        """
        if after is not None:
            return self._execution.do(Crash(preset, during, after))
        if at_once:
            return self._execution.do(Crash(preset, after=0))
        choices: Choices = _Takes(everything=takes == "everything") if seed is None else SeededChoices(seed)
        return self._execution.crash(preset, choices, during)

    def overlap(self, *rows: Sequence[Step], jobs: Sequence[int] = ()) -> Outcome:
        """Clients make the calls of a row each, beside each other; see ``Overlap``."""
        return self._execution.do(Overlap(tuple(map(tuple, rows)), tuple(jobs)))

    def hub_create(self, instance: int, session: str = "s1", events: Sequence[Any] = ()) -> Outcome:
        """Publish a session on the hub; ``events`` are its seed."""
        return self._execution.do(HubCreate(instance, session, list(events)))

    def publish(self, instance: int, event: Any, session: str = "s1", *, scribble: bool = False) -> Outcome:
        """``session/event``."""
        return self._execution.do(Publish(instance, session, event, scribble))

    def hub_flush(self, instance: int, session: str = "s1") -> Outcome:
        """``session/flush``."""
        return self._execution.do(HubFlush(instance, session))

    def hub_dispose(self, instance: int, session: str = "s1") -> Outcome:
        """``session/disposed``."""
        return self._execution.do(Dispose(instance, session))

    def flood(self, instance: int, session: str = "s1", *, first: int, count: int, width: int = 100) -> Outcome:
        """Publish many events, until one is not taken."""
        return self._execution.do(Flood(instance, session, first, count, width))

    def read_warnings(self) -> Outcome:
        """What was logged as a warning since the last time."""
        return self._execution.do(ReadWarnings())

    @property
    def window_us(self) -> int:
        """The declared window of the live path, in microseconds; a second where none is declared."""
        window = self._execution.backend.capabilities.live_window
        return round((1.0 if window is None else window) * 1_000_000)

    def window(self, *, part: float = 1.0, past: int = 0) -> None:
        """Let that part of a window pass, and so many microseconds."""
        self._execution.do(Wait((round(self.window_us * part) + past) / 1_000_000))

    def damage(self, how: str, session: str = "s1", **places: Any) -> Outcome:
        """Something else than the backend changes the session's artifact; ``places`` are fields of ``Damage``."""
        return self._execution.do(Damage(session, how, **places))

    def confine(self, room: int) -> Outcome:
        """From here on another process, with so many more bytes of memory, does everything."""
        return self._execution.do(Confine(room))

    def start_counting(self) -> None:
        """From here on what the backend uses is counted; to be called before the first instance is opened."""
        self._execution.do(StartCounting())

    def read_counters(self) -> None:
        """The calls since the counters were read last are one window, to be compared with others."""
        self._execution.do(ReadCounters())
