"""Runs one program on the simulated loop and on the real one, and shows what each saw."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest

from conformance.sim import RecordedChoices, SimLoop

Log = list[Any]


class World:
    """What a program needs to know of the loop it runs on: how its executor jobs take their time.

    On the real loop a job `holds` its thread until the program lets it go; on the simulated one
    jobs run in no time, and the choices decide when they end.
    """

    def __init__(self, *, real: bool) -> None:
        self.real = real
        self._go = threading.Event()
        self._begun: list[threading.Event] = []
        self._ended: list[threading.Event] = []

    def job(self, body: Callable[[], Any]) -> Callable[[], Any]:
        """`body` as a job that does not end before `let_jobs_go`."""
        begun, ended = threading.Event(), threading.Event()
        self._begun.append(begun)
        self._ended.append(ended)

        def run() -> Any:
            begun.set()
            if self.real:
                self._go.wait(10)
            try:
                return body()
            finally:
                ended.set()

        return run

    async def begun(self, index: int) -> None:
        """Return when the job with that index holds its thread (simulated: after 1 ms)."""
        await self._await(self._begun[index])

    def let_jobs_go(self) -> None:
        """Let the jobs end."""
        self._go.set()

    async def settle(self, *indexes: int) -> None:
        """Return when those jobs have taken effect (simulated: after 20 ms)."""
        for index in indexes:
            await self._await(self._ended[index], steps=20)

    async def _await(self, event: threading.Event, *, steps: int = 1) -> None:
        if not self.real:
            await asyncio.sleep(0.001 * steps)
        while self.real and not event.is_set():
            await asyncio.sleep(0.001)


Program = Callable[[World, Log], Coroutine[Any, Any, None]]


def _log_of(program: Program, world: World, factory: Callable[[], asyncio.AbstractEventLoop]) -> Log:
    log: Log = []

    def heard(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # The first words only: the message goes on with the name of a callback inside asyncio.
        words = " ".join(context["message"].removeprefix("Sim").split()[:3])
        log.append(("unhandled", words, repr(context.get("exception"))))

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(heard)
        await program(world, log)

    with asyncio.Runner(loop_factory=factory) as runner:
        try:
            runner.run(main())
        except Exception as exc:  # noqa: BLE001 - how a program ends is part of what is compared
            log.append(("ended with", repr(exc)))
    return log


def _slow_loop(slowness: int) -> asyncio.AbstractEventLoop:
    """The ordinary loop, on which every delay lasts `slowness` times as long."""

    class SlowLoop(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return super().time() / slowness

    return SlowLoop()


@pytest.fixture
def logs_of() -> Callable[[Program, Iterable[int]], tuple[Log, Log]]:
    """A function of (program, job choices) giving (log on the simulated loop, log on the real one).

    On a busy machine a real timer can be late enough to change an order that it would otherwise
    keep. A difference counts only when it stays while the real delays grow.
    """

    def run(program: Program, trace: Iterable[int]) -> tuple[Log, Log]:
        simulated = _log_of(program, World(real=False), lambda: SimLoop(RecordedChoices(trace)))
        real: Log = []
        for slowness in (1, 4, 16, 64):
            real = _log_of(program, World(real=True), functools.partial(_slow_loop, slowness))
            if real == simulated:
                break
        return simulated, real

    return run
