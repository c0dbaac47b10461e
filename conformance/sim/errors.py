"""How a simulated run ends when it cannot end with a result.

Promises: every error here says what happened, what was being awaited where that is known, and the
way out. They are raised to the caller of the loop (the driver); of them only `SimRefused` is also
raised inside the code under test, at the call that was refused.

Does not: judge. Whether a hang is a violation, and of which clause, is for the driver and the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.sim.stacks import StuckTask, describe

REAL_LOOP = 'register loop="real" to run this backend on the ordinary asyncio loop'


class SimError(Exception):
    """Base of everything the simulated loop raises to its caller."""


class SimRefused(SimError, NotImplementedError):
    """Something was asked that the simulated world does not have.

    It is a `NotImplementedError` too, which is what code that probes a loop expects.
    `asked` names the call.
    """

    def __init__(self, asked: str, why: str) -> None:
        self.asked = asked
        super().__init__(f"{asked}: {why}; {REAL_LOOP}")


class BlockingJob(SimError):
    """An executor job held the thread for longer than its wall limit.

    `job` names the function, `seconds` is the wall time it took, `limit` what was allowed.
    """

    def __init__(self, job: str, seconds: float, limit: float) -> None:
        self.job = job
        self.seconds = seconds
        self.limit = limit
        super().__init__(
            f"{job} blocks inside an executor job: it took {seconds:.1f} s of wall time, "
            f"limit={limit:.1f} s; jobs run inline on the simulated loop, so one that waits for "
            f"another thread or for real time stops the world; {REAL_LOOP}"
        )


class Stuck(SimError):
    """The awaited thing did not finish. `tasks` holds every pending task, in creation order."""

    def __init__(self, reason: str, tasks: Sequence[StuckTask]) -> None:
        self.reason = reason
        self.tasks = tuple(tasks)
        super().__init__(reason + "".join(f"\n\n{block}" for block in map(describe, self.tasks)))


class Deadlock(Stuck):
    """Nothing is ready and nothing is scheduled, so nothing can ever happen again."""


class Hang(Stuck):
    """The virtual deadline passed, or the loop turned without end while time stood still."""
