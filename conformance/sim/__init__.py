"""The simulated world: choices, clock, event loop, and the environment a backend is given.

Simulated: the scheduling of asyncio tasks, callbacks and timers in virtual time; executor jobs
(`asyncio.to_thread`), which run inline and take effect and return at drawn moments, or never where
their await was cancelled before they began; the wall and monotonic clock and unique tokens, for
backends that take them from `env`; the crash of an instance, whose tasks are dropped unresumed.
The order of ready callbacks is never permuted, because asyncio promises it.

Not simulated, and refused with a clear error: sockets, pipes, subprocesses, file-descriptor
watching, signal handlers, other threads that call into the loop, executors other than thread pools.
Not simulated, and not noticed: `time.time()` and `time.monotonic()`, `random` and `uuid`, threads that keep
to themselves, a job being interrupted in its middle, thread identity and thread-local data inside
jobs, and sets of objects that hash by address: also the coroutines that `asyncio.as_completed` puts
into a set, and the future that `asyncio.gather` returns.

The storage underneath is in `conformance.sim.disk`.
"""

from __future__ import annotations

from conformance.sim.choices import (
    NO_CHOICES,
    Choices,
    ChoicesDiverged,
    Exhaustive,
    ExhaustiveChoices,
    FixedChoices,
    RecordedChoices,
    SeededChoices,
    exhaustive,
)
from conformance.sim.clock import VirtualClock
from conformance.sim.env import Clock, Env
from conformance.sim.errors import BlockingJob, Deadlock, Hang, SimError, SimRefused, Stuck
from conformance.sim.loop import SimLoop
from conformance.sim.stacks import StuckTask

__all__ = [
    "NO_CHOICES",
    "BlockingJob",
    "Choices",
    "ChoicesDiverged",
    "Clock",
    "Deadlock",
    "Env",
    "Exhaustive",
    "ExhaustiveChoices",
    "FixedChoices",
    "Hang",
    "RecordedChoices",
    "SeededChoices",
    "SimError",
    "SimLoop",
    "SimRefused",
    "Stuck",
    "StuckTask",
    "VirtualClock",
    "exhaustive",
]
