"""The two loops a backend can be driven on: the simulated one, and asyncio's own for ``loop="real"``.

Both run one coroutine to its end under a deadline, any number of times, and say in one way that it never ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from conformance.contract import Capabilities
from conformance.drivers.descriptors import PREFIX, Orphans
from conformance.drivers.watchdog import WallHang
from conformance.drivers.workspace import scratch_parent
from conformance.sim import BlockingJob, Choices, Env, RecordedChoices, SimLoop, Stuck, VirtualClock
from conformance.sim.env import Clock

_T = TypeVar("_T")

CALL_DEADLINE_US = 60_000_000
"""Virtual microseconds that one call may take."""

REAL_DEADLINE_S = 20.0
"""Wall seconds that one call may take on a real loop."""


REAL_CLOSE_S = 5.0
"""Wall seconds that jobs of a real loop are given to end once it is closed."""

REAL_REST_S = 0.02
"""Wall seconds that a real loop is given to come to rest."""


class NeverEnded(Exception):
    """The call did not end within its deadline; the message says where it waits."""


class Host(Protocol):
    """A loop that runs calls one after the other."""

    env: Env

    def run(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Run to completion.

        Raises:
            NeverEnded: the deadline passed, or nothing can ever happen again.
        """

    def answering(self, jobs: Sequence[int]) -> contextlib.AbstractContextManager[None]:
        """Meanwhile these are the answers to what the loop asks about its jobs, and then 0."""

    def rest(self, longest_us: int) -> None:
        """Go on until nothing is ready or due within that time; a real loop is given a moment.

        Raises:
            NeverEnded: something goes on and on while no time passes.
        """

    def is_quiet(self) -> bool:
        """Whether it is certain that a turn of the loop now would do nothing: no callback is ready, no timer is set."""

    def now_us(self) -> int:
        """The time of the history, in microseconds."""

    def tasks(self) -> tuple[str, ...]:
        """What the tasks run that are not done, in the order in which they were made."""

    def remember(self, error: BaseException) -> None:
        """End the call under way with this error, even where a task of the backend swallows it."""

    def drop(self) -> None:
        """The instances on the loop are dead: none of their tasks goes on in the world of the next ones."""

    def renew(self) -> None:
        """Put the dropped loop away, and go on with a fresh one. Time goes on, and no token is given twice."""

    def close(self) -> None:
        """Drop what is left on the loop."""


class SimHost:
    """Virtual time: a deadline costs nothing and a deadlock is seen at once."""

    def __init__(self, choices: Choices | None = None) -> None:
        self._choices = choices
        self._clock = VirtualClock()
        self._loop = SimLoop(choices, self._clock)
        self.env = Env(self._clock)

    def run(self, call: Coroutine[Any, Any, _T]) -> _T:
        """See ``Host``."""
        try:
            return self._loop.run(call, deadline_us=CALL_DEADLINE_US)
        except (Stuck, BlockingJob) as error:
            raise NeverEnded(str(error)) from error
        except WallHang as error:
            raise NeverEnded(str(error)) from error

    @contextlib.contextmanager
    def answering(self, jobs: Sequence[int]) -> Iterator[None]:
        """See ``Host``."""
        usual, self._loop.choices = self._loop.choices, RecordedChoices(jobs)
        try:
            yield
        finally:
            self._loop.choices = usual

    def rest(self, longest_us: int) -> None:
        """See ``Host``."""
        try:
            self._loop.run_until_idle(longest_us)
        except (Stuck, BlockingJob, WallHang) as error:
            raise NeverEnded(str(error)) from error

    def is_quiet(self) -> bool:
        """See ``Host``."""
        return self._loop.is_quiet()

    def now_us(self) -> int:
        """See ``Host``."""
        return self._clock.now_us

    def tasks(self) -> tuple[str, ...]:
        """See ``Host``."""
        return tuple(map(_coroutine_name, self._loop.pending_tasks()))

    def remember(self, error: BaseException) -> None:
        """See ``Host``."""
        self._loop.remember(error)

    def drop(self) -> None:
        """See ``Host``. Nothing is resumed."""
        self._loop.drop()

    def renew(self) -> None:
        """See ``Host``. Suspended coroutines are closed here, quietly: their ``finally`` blocks run now."""
        self._loop.bury()
        self._loop = SimLoop(self._choices, self._clock)

    def close(self) -> None:
        """See ``Host``. Suspended coroutines are closed here, quietly, and not by the garbage collector."""
        self._loop.drop()
        self._loop.bury()


class _WallClock:
    """The clock of a real loop's environment, which all its loops share."""

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic()


class RealHost:
    """Wall time, for backends with sockets or threads of their own."""

    def __init__(self) -> None:
        self._loop, self._executor = _real_loop()
        clock: Clock = _WallClock()
        # Two processes over one service must not give out the same tokens.
        self.env = Env(clock, seed=secrets.randbits(64))
        self._start = clock.monotonic()

    def run(self, call: Coroutine[Any, Any, _T]) -> _T:
        """See ``Host``."""
        task = self._loop.create_task(call)
        try:
            done, _ = self._loop.run_until_complete(asyncio.wait({task}, timeout=REAL_DEADLINE_S))
        except WallHang as error:
            raise NeverEnded(str(error)) from error
        if not done:
            task.cancel()
            raise NeverEnded(f"no answer within {REAL_DEADLINE_S:.0f} s of wall time")
        return task.result()

    def answering(self, jobs: Sequence[int]) -> contextlib.AbstractContextManager[None]:
        """See ``Host``. Jobs of a real loop take the time they take."""
        return contextlib.nullcontext()

    def rest(self, longest_us: int) -> None:
        """See ``Host``."""
        self.run(asyncio.sleep(min(longest_us / 1_000_000, REAL_REST_S)))

    def is_quiet(self) -> bool:
        """See ``Host``. What threads and sockets are about to bring is not known."""
        return False

    def now_us(self) -> int:
        """See ``Host``."""
        return int((time.monotonic() - self._start) * 1_000_000)

    def tasks(self) -> tuple[str, ...]:
        """See ``Host``."""
        return tuple(sorted(map(_coroutine_name, asyncio.all_tasks(self._loop))))

    def remember(self, error: BaseException) -> None:
        """See ``Host``; on a real loop the interrupt itself is all there is."""

    def drop(self) -> None:
        """See ``Host``. Threads cannot be dropped: tasks are cancelled and jobs awaited, in the old world."""
        self.close()

    def renew(self) -> None:
        """See ``Host``."""
        self._loop, self._executor = _real_loop()

    def close(self) -> None:
        """See ``Host``."""
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        if pending:
            with contextlib.suppress(asyncio.CancelledError):
                self._loop.run_until_complete(asyncio.wait(pending, timeout=REAL_DEADLINE_S))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        # A job that never ends keeps its thread; nobody can take it from there, and nobody waits for it for ever.
        self._executor.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + REAL_CLOSE_S
        for thread in self._executor._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._loop.close()


def _real_loop() -> tuple[asyncio.AbstractEventLoop, ThreadPoolExecutor]:
    """A loop, and its default executor."""
    loop, executor = asyncio.new_event_loop(), ThreadPoolExecutor(thread_name_prefix="asyncio")
    loop.set_default_executor(executor)
    return loop, executor


def _coroutine_name(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return str(getattr(coroutine, "__qualname__", coroutine))


_orphans = Orphans(f"{scratch_parent()}/{PREFIX}")
"""Of this process: descriptors are all of one kind."""


def host_for(capabilities: Capabilities, choices: Choices | None = None) -> Host:
    """The loop that the backend registered for; the life of a backend begins with it."""
    _orphans.life_begins()
    return RealHost() if capabilities.loop == "real" else SimHost(choices)
