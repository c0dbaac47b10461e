"""The wall watchdog: a call that blocks the thread is interrupted and named.

Virtual time cannot pass while code blocks, so a real timer looks after each call. It uses SIGALRM, and only in the main
thread of a process where nobody else does; elsewhere a blocking call is left to the journal, which names it afterwards.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Self

LIMIT_S = 20.0
"""Wall seconds that one call may hold the thread, those left out in which the thread waited for a processor."""

_TICK_S = 1.0

_SCHEDULING = "/proc/self/schedstat"
"""Linux tells here, of the main thread, the nanoseconds on a processor and those spent waiting for one."""


class WallHang(BaseException):
    """A call held the thread past its limit.

    Not an ``Exception``: a backend's own ``except Exception`` must not take it for a fault of its storage.

    Attributes:
        inside: which of several calls at once it was, or "".
    """

    def __init__(self, told: str, inside: str = "") -> None:
        super().__init__(told)
        self.inside = inside


def _waited_s() -> float:
    """Seconds for which the main thread was ready to run and other processes had the processors; 0 where not told."""
    try:
        with open(_SCHEDULING, encoding="ascii") as told:
            return int(told.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _nothing() -> str:
    return ""


def _forget(error: BaseException) -> None:
    """There is no call that could remember it."""


class Watchdog:
    """Watches the calls made between ``__enter__`` and ``__exit__``; ``hangs`` is how many it interrupted.

    The timer ticks once a second and only looks at a time stamp, so that a call costs one assignment.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.hangs = 0
        self._limit_s = limit_s
        self._call = ""
        self._inside: Callable[[], str] = _nothing
        self._remember: Callable[[BaseException], None] = _forget
        self._since: float | None = None
        self._seen: float | None = None
        self._waited = 0.0
        self._armed = False

    def watch(self, call: str, remember: Callable[[BaseException], None], inside: Callable[[], str] = _nothing) -> None:
        """A call begins; ``remember`` is told of the interrupt too, for a task of the backend may swallow it.

        Args:
            inside: asked in the code that holds the thread: which of several calls at once that is, or "".
        """
        self._call, self._remember, self._inside, self._since = call, remember, inside, time.monotonic()

    def rest(self) -> None:
        """No call is under way."""
        self._since = None

    @contextlib.contextmanager
    def watching(
        self, call: str, remember: Callable[[BaseException], None], inside: Callable[[], str] = _nothing
    ) -> Iterator[None]:
        """From begin to end of a call; as ``watch``."""
        self.watch(call, remember, inside)
        try:
            yield
        finally:
            self.rest()

    def _tick(self, signum: int, frame: FrameType | None) -> None:
        since = self._since
        if since is None:
            return
        if since != self._seen:
            # The first look at this call: what the thread waited from here on is not the backend's time.
            self._seen, self._waited = since, _waited_s()
        if time.monotonic() - since - (_waited_s() - self._waited) > self._limit_s:
            self._since = None
            inside = self._inside()
            call = f"{self._call}, {inside}," if inside else self._call
            hang = WallHang(f"{call} held the thread for more than {self._limit_s:.0f} s of wall time", inside)
            self._remember(hang)
            self.hangs += 1
            raise hang

    def __enter__(self) -> Self:
        usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if usable and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
            self._armed = True
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            self._armed = False
