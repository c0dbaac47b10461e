"""The clients of an overlap: what is told of calls in flight, cancelled, overwritten, or never answered."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionHeader
from conformance.drivers.execution import ProgramResult, run_program
from conformance.drivers.watchdog import Watchdog
from conformance.machines.overlaps import overlapping_program
from conformance.model.history import Cancelled, Completion, Hung, Outcome, Raised, Returned
from conformance.model.history_forms import event_to_json
from conformance.model.operations import Append, Create, Flush, OpenInstance, Overlap, Program, Read, Step
from conformance.sim import SeededChoices
from reference_backend import jsonl
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory

pytestmark = pytest.mark.usefixtures("patched")

ROOT = Path(__file__).parents[3]
HEADER = SessionHeader(id="s1", created_at=0)
EVENT = {"type": "user/message", "seq": 0, "time": 0, "data": None}
BEGIN = (OpenInstance(1), Create(1, 1, HEADER))


def flushing(flush: Callable[[], Awaitable[None]]) -> Backend:
    """The memory backend with another flush."""

    class Handle(MemoryHandle):
        __slots__ = ()

        async def flush(self) -> None:
            await flush()

    class Persistence(MemoryPersistence):
        async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> Any:
            made = await super().create(header, inherited_event_count)
            made.__class__ = Handle
            return made

    return replace(memory, name="flushing", open=lambda root: Persistence())


def performed(backend: Backend, root: Path, *rows: tuple[Step, ...], jobs: tuple[int, ...] = ()) -> ProgramResult:
    """What an overlap of these rows on a new session comes to."""
    return run_program(backend, Program((*BEGIN, Overlap(rows, jobs))), root / "root")


def ends(result: ProgramResult) -> dict[tuple[int, int], Outcome]:
    """(client, step) -> what its call came to."""
    return {(each.client, each.step): each.outcome for each in result.history if isinstance(each, Completion)}


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_call_is_cancelled_after_so_many_turns(turns: int, tmp_path: Path) -> None:
    """A cancellation at turn k comes when the call has waited so many turns, and not before."""
    seen: list[int] = []

    async def flush() -> None:
        for turn in range(100):
            seen.append(turn)
            await asyncio.sleep(0)

    result = performed(flushing(flush), tmp_path, (Step(Flush(1), cancels=((0, turns),)),))
    assert ends(result)[1, 0] == Cancelled()
    assert seen[-1] == turns


def test_call_is_cancelled_at_a_microsecond(tmp_path: Path) -> None:
    """A cancellation after so many microseconds ends the call at that moment."""
    result = performed(flushing(lambda: asyncio.sleep(1)), tmp_path, (Step(Flush(1), cancels=((250, 0),)),))
    (end,) = (each for each in result.history if isinstance(each, Completion) and each.client)
    assert (end.outcome, end.at) == (Cancelled(), 250)


def test_call_is_cancelled_twice(tmp_path: Path) -> None:
    """Each cancellation reaches the call, the second so long after the first."""
    met: list[float] = []

    async def flush() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(2):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                met.append(round(loop.time() * 1_000_000))
        raise asyncio.CancelledError

    result = performed(flushing(flush), tmp_path, (Step(Flush(1), cancels=((100, 0), (30, 0))),))
    assert ends(result)[1, 0] == Cancelled()
    assert met[1] - met[0] == 30


def test_what_has_ended_is_not_cancelled(tmp_path: Path) -> None:
    """A cancellation that comes too late changes nothing."""
    result = performed(memory, tmp_path, (Step(Append(1, [EVENT]), cancels=((5, 0),)), Step(Read(1))))
    assert ends(result)[1, 0] == Returned()
    assert result.violation is None


def test_cancellation_that_nobody_asked_for_is_an_error(tmp_path: Path) -> None:
    """A ``CancelledError`` of the backend's own is something that the call raised."""

    async def flush() -> None:
        raise asyncio.CancelledError

    found = ends(performed(flushing(flush), tmp_path, (Step(Flush(1)),)))[1, 0]
    assert isinstance(found, Raised)
    assert found.error.kind == "CancelledError"


def test_call_that_never_ends_is_told_by_name(tmp_path: Path) -> None:
    """Where a call waits for ever it is told as hung, with where it waits; the others have ended."""

    async def wait_for_nobody() -> None:
        await asyncio.get_running_loop().create_future()

    result = performed(flushing(wait_for_nobody), tmp_path, (Step(Flush(1)),), (Step(Append(1, [EVENT])),))
    found = ends(result)
    assert isinstance(found[1, 0], Hung)
    assert "wait_for_nobody" in found[1, 0].detail
    assert found[2, 0] == Returned()
    assert result.violation is not None


def test_caller_overwrites_its_batch_when_the_call_is_under_way(tmp_path: Path) -> None:
    """An append whose caller overwrites the batch stores what was given, on a backend that copies at the call."""
    row = (Step(Append(1, [EVENT], scribble=True), waits=False), Step(Read(1)))
    result = performed(jsonl, tmp_path, row, jobs=(3,) * 4)
    assert result.violation is None
    assert ends(result)[1, 0] == Returned()
    assert result.witnesses["SEQ-06"] or result.witnesses["SEQ-05"]


def test_client_that_does_not_wait_has_two_calls_in_flight(tmp_path: Path) -> None:
    """The next call begins before the one before has ended, and their begins are told in order."""
    row = (Step(Append(1, [EVENT]), waits=False), Step(Flush(1)))
    inside = [each for each in performed(jsonl, tmp_path, row, jobs=(3,) * 4).history if each.client]
    told = [(each.step, isinstance(each, Completion)) for each in inside]
    assert told == [(0, False), (1, False), (0, True), (1, True)]


def told(seed: int, root: Path) -> str:
    """The history of a drawn program on the reference, as JSON; nothing is left of it."""
    program = Program(tuple(overlapping_program(SeededChoices(seed), jsonl.capabilities)))
    result = run_program(jsonl, program, root)
    shutil.rmtree(root)
    return json.dumps([event_to_json(each) for each in result.history])


def test_same_program_gives_the_same_history(tmp_path: Path) -> None:
    """Performed twice in the same place a program gives the same history, byte for byte."""
    assert told(7, tmp_path / "root") == told(7, tmp_path / "root")


def test_history_does_not_hang_on_the_seed_of_hashes(tmp_path: Path) -> None:
    """Another process, with another seed for hashes, gives the same history."""
    script = (
        "import sys; from pathlib import Path; from tests.unit.drivers.test_overlapping import told; "
        "print(told(7, Path(sys.argv[1])))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "root")],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 1_000


def test_call_that_holds_the_thread_is_named(tmp_path: Path) -> None:
    """Of several calls in flight the one is told to have hung whose code held the thread, in a task of its own too."""
    watchdog = Watchdog(0.0)

    async def flush() -> None:
        async def hold() -> None:
            for _ in range(2):
                watchdog._tick(signal.SIGALRM, None)

        await asyncio.ensure_future(hold())

    waits = (Step(Append(1, [EVENT]), waits=False), Step(Read(1), after=10))
    rows = (waits, (Step(Flush(1)),))
    result = run_program(flushing(flush), Program((*BEGIN, Overlap(rows))), tmp_path / "root", watchdog=watchdog)
    found = ends(result)
    assert isinstance(found[2, 0], Hung)
    assert "flush of client 2, its step 1" in found[2, 0].detail
    assert [at for at, outcome in found.items() if isinstance(outcome, Hung)] == [(2, 0)]
