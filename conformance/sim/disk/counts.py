"""Input and output counted, call by call.

Promises: whatever the recorder sees under its root is counted exactly once, for one API call or for none. It is that
of the context it was done in (a task keeps the call that it was started for, and so does a job given to
`asyncio.to_thread`) while that call is under way; otherwise the only call under way; otherwise none.

Does not: count what the recorder cannot see, nor the system calls beneath one Python call: reading a whole file is
one read, however many pieces the operating system was asked for.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class IoCount:
    """Input and output under one root.

    Attributes:
        bytes_read: bytes given by reads; a memory mapping counts as a read of its whole length.
        bytes_written: bytes taken by writes.
        reads: reading calls, those that met the end of the file too.
        writes: writing calls.
        opens: files and directories opened.
        syncs: fsync, fdatasync and sync, and one for each synchronous write (O_SYNC, O_DSYNC).
        metadata: calls that look at or change names, attributes or sizes: stat, rename, mkdir, truncate, one for each
            listing, and so on.
        listed: directory entries given out by listings.
    """

    bytes_read: int = 0
    bytes_written: int = 0
    reads: int = 0
    writes: int = 0
    opens: int = 0
    syncs: int = 0
    metadata: int = 0
    listed: int = 0

    def __add__(self, other: IoCount) -> IoCount:
        return IoCount(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(IoCount)))


class Tally:
    """The running counts of one call, or of what belongs to none (`call` is None)."""

    __slots__ = (
        "bytes_read",
        "bytes_written",
        "call",
        "listed",
        "metadata",
        "opens",
        "owner",
        "reads",
        "syncs",
        "under_way",
        "writes",
    )

    def __init__(self, owner: object, call: int | None) -> None:
        self.owner = owner
        self.call = call
        self.under_way = True
        self.bytes_read = self.bytes_written = self.reads = self.writes = 0
        self.opens = self.syncs = self.metadata = self.listed = 0

    def snapshot(self) -> IoCount:
        """What has been counted so far."""
        return IoCount(
            self.bytes_read,
            self.bytes_written,
            self.reads,
            self.writes,
            self.opens,
            self.syncs,
            self.metadata,
            self.listed,
        )


_STARTED_FOR: ContextVar[Tally | None] = ContextVar("torntail_call_under_way", default=None)


class Calls:
    """Which API calls are under way, and what was counted for each."""

    def __init__(self) -> None:
        # The context outlives the recording, so what it holds names the recording without holding it.
        self._token = object()
        self._none = Tally(self._token, None)
        self._tallies: dict[int, Tally] = {}
        self._under_way: dict[int, Tally] = {}
        self._otherwise = self._none

    def current(self) -> Tally:
        """Where something that happens now, in this context, is to be counted."""
        tally = _STARTED_FOR.get()
        if tally is not None and tally.under_way and tally.owner is self._token:
            return tally
        return self._otherwise

    def begin(self, call: int) -> None:
        """The call is under way from now on, in this context and in what is started from it.

        A number that was begun and ended before goes on counting: what a macro stands for is one call to its caller.

        Raises:
            ValueError: a call of that number is under way.
        """
        if call in self._under_way:
            raise ValueError(f"each call under way has a number of its own: {call=}")
        tally = self._tallies.setdefault(call, Tally(self._token, call))
        tally.under_way = True
        self._under_way[call] = tally
        _STARTED_FOR.set(tally)
        self._settle()

    def end(self, call: int) -> None:
        """The call is over.

        Raises:
            ValueError: no such call is under way.
        """
        try:
            tally = self._under_way.pop(call)
        except KeyError:
            raise ValueError(f"no such call is under way: {call=}, under way: {sorted(self._under_way)}") from None
        tally.under_way = False
        self._settle()

    def counts(self, call: int) -> IoCount:
        """What was counted for that call.

        Raises:
            ValueError: no such call was begun.
        """
        try:
            return self._tallies[call].snapshot()
        except KeyError:
            raise ValueError(f"no such call was begun: {call=}") from None

    def total(self) -> IoCount:
        """Everything, what belongs to no call included."""
        return sum((tally.snapshot() for tally in self._tallies.values()), self._none.snapshot())

    def _settle(self) -> None:
        alone = len(self._under_way) == 1
        self._otherwise = next(iter(self._under_way.values())) if alone else self._none
