"""A program in virtual time for the tests of the live path: one service, one hub, and what is stored meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionEvent, SessionHub
from conformance.sim import Choices, SimLoop
from conformance.sim.choices import FixedChoices
from reference_backend import JsonlPersistence
from reference_backend.handle import WriteHandle
from tests.unit.reference_backend.logs import HEADER, event

JOB = 0.01
"""Seconds that a job takes with ``SlowJobs``, until its effect and until its result."""


class SlowJobs(FixedChoices):
    """Every executor job takes effect, and is over, after 10 ms."""

    def draw(self, n: int, label: str = "") -> int:
        """The fourth of the times that jobs may take; else the simplest."""
        return 3 if label == "job times" else super().draw(n, label)


class World:
    """One instance of a backend that is subscribed to a hub on which the session ``s`` is published."""

    def __init__(self, backend: Backend, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert backend.live is not None
        self.backend = backend
        self.root = root
        self.monkeypatch = monkeypatch
        self.hub = SessionHub()
        self.hub.create("s")
        self.service: JsonlPersistence = backend.open(root)
        backend.live(self.service, self.hub)
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()

    async def writer(self) -> WriteHandle:
        """A new session ``s`` and its write handle."""
        return await self.service.create(HEADER)

    def publish(self, *seqs: int, session_id: str = "s") -> None:
        """Publish the plain events of these seqs."""
        for seq in seqs:
            self.hub.append(session_id, event(seq))

    async def until(self, seconds: float) -> None:
        """Let virtual time pass up to so many seconds after the world began, and what is due then be done."""
        await asyncio.sleep(self._start + seconds - self._loop.time())
        await turns()

    async def log(self, session_id: str = "s") -> list[SessionEvent]:
        """What a fresh instance finds stored; no time passes."""
        fresh = self.backend.open(self.root)
        if await fresh.stat(session_id) is None:
            return []
        reader = await fresh.open(session_id, "read")
        try:
            found: list[SessionEvent] = await reader.read()
        finally:
            await reader.close()
        return found

    async def seqs(self, session_id: str = "s") -> list[int]:
        """The seqs that a fresh instance finds stored."""
        return [found["seq"] for found in await self.log(session_id)]


async def turns() -> None:
    """Some turns of the loop; time stands still."""
    for _ in range(20):
        await asyncio.sleep(0)


def in_virtual_time(
    program: Callable[..., Coroutine[Any, Any, None]],
) -> Callable[[Backend, Path, pytest.MonkeyPatch], None]:
    """A program over a ``World`` as a case for one backend: jobs take 10 ms, and nothing is unhandled or left over."""

    @wraps(program)
    def run(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run_in_virtual_time(program, backend, tmp_path / "root", monkeypatch, SlowJobs())

    # What pytest asks for is what ``run`` takes, not what the program takes.
    del run.__wrapped__
    return run


def run_in_virtual_time(
    program: Callable[..., Coroutine[Any, Any, None]],
    backend: Backend,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    choices: Choices,
) -> None:
    """Run a program over a new world, close what it left open, and look that no task or timer survives that."""
    loop = SimLoop(choices=choices)
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))

    async def whole() -> None:
        world = World(backend, root, monkeypatch)
        await program(world)
        await world.service.close()

    loop.run(whole(), deadline_us=3_600_000_000)
    assert loop.turn() == 0
    assert loop.pending_tasks() == []
    assert [timer for _, _, timer in loop._timers if not timer.cancelled()] == []
    assert complaints == []
