"""Virtual time: an integer count of microseconds that moves only when it is told to.

Promises: time never goes back, and reading it never moves it. Integer arithmetic throughout, so
the same steps give the same times on every machine; floats are made only on the way out.

Does not: patch `time.time`, `time.monotonic` or `datetime`. Code that reads those sees the wall.
"""

from __future__ import annotations

EPOCH_MS = 1_700_000_000_000
"""What `VirtualClock.now_ms` gives at virtual time zero: a Unix time in ms, in November 2023."""

MONOTONIC_BASE_US = 1_000_000_000
"""What `VirtualClock.monotonic` gives at virtual time zero, in microseconds.

A machine's monotonic clock is never zero when a program starts, and programs take zero for "never".
"""


class VirtualClock:
    """A clock that stands still until `advance_to` moves it forward."""

    __slots__ = ("now_us",)

    now_us: int
    """Virtual microseconds since the start of the simulated world; a plain field, for nothing is read as often."""

    def __init__(self, now_us: int = 0) -> None:
        if now_us < 0:
            raise ValueError(f"virtual time starts at 0 or later, not at now_us={now_us!r}")
        self.now_us = now_us

    def now_ms(self) -> int:
        """The simulated wall clock: Unix time in whole milliseconds."""
        return EPOCH_MS + self.now_us // 1000

    def monotonic(self) -> float:
        """The simulated monotonic clock, in seconds."""
        return (MONOTONIC_BASE_US + self.now_us) / 1_000_000

    def advance_to(self, now_us: int) -> None:
        """Move time forward to `now_us` (or leave it there). Raises `ValueError` on going back."""
        if now_us < self.now_us:
            raise ValueError(f"virtual time cannot go back: it is {self.now_us} us, asked for {now_us!r} us")
        self.now_us = now_us

    def __repr__(self) -> str:
        return f"<VirtualClock at {self.now_us} us>"
