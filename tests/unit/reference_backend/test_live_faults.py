"""The live write path on failing storage, and under drawn schedules: every event once, in order, and errors told."""

from __future__ import annotations

import asyncio
import errno
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from conformance.contract import Backend, SessionAlreadyExistsError, SessionContiguityError
from conformance.sim import SeededChoices
from reference_backend import jsonl, jsonl_raw
from reference_backend.handle import WriteHandle
from tests.unit.reference_backend.faults import WRITING, Faults, faults
from tests.unit.reference_backend.logs import HEADER, batch, event
from tests.unit.reference_backend.worlds import JOB, SlowJobs, World, in_virtual_time, run_in_virtual_time, turns

both = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)

WINDOW = 0.2


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the reference warned of a live path since the last look."""
    found = [record.getMessage() for record in caplog.records if "published" in record.getMessage()]
    assert all(record.levelname == "WARNING" and record.name == "torntail.reference" for record in caplog.records)
    caplog.clear()
    return found


@both
@pytest.mark.parametrize("stored", [0, 2])
def test_a_failed_background_write_is_told_once_and_left_to_the_next_flush(
    backend: Backend, stored: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """LIVE-04, LIVE-05: one warning, silence, loud flushes while storage fails, everything once when it heals."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        if stored:
            await handle.append(batch(0, stored))
        with faults(monkeypatch, ("pwrite",), 1, sticky=True, code=errno.ENOSPC) as plan:
            world.publish(stored, stored + 1)
            await world.until(1)
            assert len(found := warnings(caplog)) == 1
            assert "'s'" in found[0]
            tries = plan.calls
            assert tries >= 1
            world.publish(stored + 2)
            await world.until(100)
            assert plan.calls == tries
            for flush in (world.hub.flush, lambda _: handle.flush()):
                with pytest.raises(OSError, match="space"):
                    await flush("s")
            with pytest.raises(ExceptionGroup):
                await world.service.flush()
            assert plan.calls > tries
            with pytest.raises(OSError, match="space"):
                await handle.append(batch(stored + 3, 1))
            assert warnings(caplog) == []
            plan.healed = True
            assert await handle.read() == batch(0, stored)
            await world.hub.flush("s")
            assert await world.log() == batch(0, stored + 3)
        world.publish(stored + 3)
        await world.until(101)
        assert await world.log() == batch(0, stored + 4)

    program(backend, tmp_path, monkeypatch)


@both
@pytest.mark.parametrize("way", ["append", "handle.flush", "flush", "handle.close", "session/disposed"])
def test_whatever_is_explicit_tries_again(
    backend: Backend, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIVE-05, LIVE-12, LIVE-13: the events that failed are stored ahead of everything newer; the windows run again."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        with faults(monkeypatch, ("pwrite",), 1, sticky=True):
            world.publish(0, 1)
            await world.until(1)
            world.publish(2)
        if way == "append":
            await handle.append(batch(3, 1))
            world.publish(4)
            await world.until(1 + JOB + WINDOW + JOB)
            assert await world.log() == batch(0, 5)
            return
        ways: dict[str, Callable[[], Awaitable[None]]] = {
            "handle.flush": handle.flush,
            "flush": world.service.flush,
            "handle.close": handle.close,
            "session/disposed": lambda: world.hub.dispose("s"),
        }
        await ways[way]()
        assert await world.log() == batch(0, 3)

    program(backend, tmp_path, monkeypatch)


@both
def test_a_batch_that_landed_although_its_write_failed_is_stored_once(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIVE-04, FAULT-02: what the failed write left behind is undone before the events are written again."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        await handle.append(batch(0, 1))
        for names, first in ((("pwrite",), 1), (("fdatasync",), 3), (("fdatasync", "ftruncate"), 5)):
            with faults(monkeypatch, names, 1, sticky=True, lands=True) as plan:
                world.publish(first, first + 1)
                await asyncio.sleep(1)
                assert plan.fired
                assert await handle.read() == batch(0, first)
            await world.hub.flush("s")
            assert await world.log() == batch(0, first + 2)

    program(backend, tmp_path, monkeypatch)


@both
def test_events_published_while_a_drain_fails_stay_behind_it(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIVE-04: newer events start no window of their own past those that failed."""

    @in_virtual_time
    async def program(world: World) -> None:
        await world.writer()
        with faults(monkeypatch, ("pwrite",), 1) as plan:
            world.publish(0)
            await world.until(WINDOW + JOB / 2)
            world.publish(1)
            await world.until(10)
            assert plan.fired
            assert await world.seqs() == []
        await world.hub.flush("s")
        assert await world.log() == batch(0, 2)

    program(backend, tmp_path, monkeypatch)


@both
@pytest.mark.parametrize("way", ["session/disposed", "handle.close", "close"])
def test_a_last_drain_that_fails_gives_ownership_up_and_leaves_no_gap(
    backend: Backend,
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """LIVE-06, LIVE-10, OWN-07: a disposal logs it, a close raises it; the lost seqs are missed by the next flush."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        await handle.append(batch(0, 1))
        world.publish(1)
        with faults(monkeypatch, ("pwrite",), 1, sticky=True):
            if way == "session/disposed":
                await world.hub.dispose("s")
                assert any("'s'" in record.getMessage() for record in caplog.records)
                world.hub.create("s")
            elif way == "handle.close":
                with pytest.raises(OSError, match="error"):
                    await handle.close()
            else:
                with pytest.raises(ExceptionGroup):
                    await world.service.close()
        assert await world.log() == batch(0, 1)
        if way == "close":
            return
        successor = await world.service.open("s", "write")
        world.publish(2)
        for _ in range(2):
            with pytest.raises(SessionContiguityError) as refusal:
                await world.hub.flush("s")
            assert (refusal.value.expected, refusal.value.got) == (1, 2)
        await successor.append(batch(1, 1))
        await world.hub.flush("s")
        assert await world.log() == batch(0, 3)

    program(backend, tmp_path, monkeypatch)


@both
def test_a_cancelled_disposal_tells_of_its_failure_all_the_same(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """LIVE-06: where nobody waits any more, the log says that the last drain failed."""

    @in_virtual_time
    async def program(world: World) -> None:
        await world.writer()
        world.publish(0)
        with faults(monkeypatch, ("pwrite",), 1, sticky=True):
            disposal = asyncio.ensure_future(world.hub.dispose("s"))
            await turns()
            disposal.cancel()
            await asyncio.wait([disposal])
            assert disposal.cancelled()
            await world.until(1)
        assert ["'s'" in record.getMessage() for record in caplog.records] == [True]

    program(backend, tmp_path, monkeypatch)


@both
def test_a_session_that_another_instance_stored_first_is_not_joined(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SVC-12, LIVE-05: the loser's events are refused by every flush and its close, and the winner's log is whole."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        world.publish(0)
        other = world.backend.open(world.root)
        await (await other.create(HEADER)).append([event(0, "other")])
        await other.close()
        await world.until(1)
        for call in (handle.flush, handle.close):
            with pytest.raises(SessionAlreadyExistsError):
                await call()
        assert await world.log() == [event(0, "other")]

    program(backend, tmp_path, monkeypatch)


@both
@pytest.mark.parametrize(
    ("sticky", "lands"), [(False, False), (False, True), (True, False)], ids=["once", "landed", "sticky"]
)
def test_every_failing_call_of_a_live_life(
    backend: Backend, sticky: bool, lands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIVE-04, LIVE-05, FAULT-02: one broken call after the other; each event is in the log once, in order."""
    fired = True
    at = 0
    while fired:
        at += 1

        async def program(world: World, at: int = at) -> None:
            with faults(monkeypatch, WRITING, at, sticky=sticky, lands=lands) as plan:
                nonlocal fired
                await live_life(world, plan)
                fired = plan.fired
            assert await world.log() == batch(0, 7)

        run_in_virtual_time(program, backend, tmp_path / "root", monkeypatch, SlowJobs())
        shutil.rmtree(tmp_path / "root")
    assert at > 15


async def live_life(world: World, plan: Faults) -> None:
    """Windows, a flush and an append, each tried again where a fault struck; storage heals before the last flush."""
    with plan.aside():
        handle = await world.writer()
    world.publish(0, 1)
    await asyncio.sleep(1)
    world.publish(2)
    await asyncio.sleep(1)
    with plan.aside():
        stored = await handle.read()
        assert stored == batch(0, len(stored))
    world.publish(3)
    try:
        await world.hub.flush("s")
    except OSError:
        assert plan.fired
        plan.healed = True
        await world.hub.flush("s")
    world.publish(4)
    try:
        await handle.append(batch(5, 1))
    except OSError:
        assert plan.fired
        plan.healed = True
        await handle.append(batch(5, 1))
    world.publish(6)
    await asyncio.sleep(1)
    plan.healed = True
    await world.hub.flush("s")


@pytest.mark.parametrize("seed", range(60))
def test_any_schedule_stores_every_event_once_and_in_order(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIVE-01 to LIVE-05, LIVE-12: drawn publications, appends, flushes, faults, cancellations, times of jobs."""
    backend = (jsonl, jsonl_raw)[seed % 2]
    drawn = random.Random(seed)

    async def program(world: World) -> None:
        handle = await world.writer()
        next_seq = 0
        flushes: list[asyncio.Task[None]] = []
        for _ in range(60):
            step = drawn.randrange(8)
            if step < 3:
                world.publish(next_seq)
                next_seq += 1
            elif step == 3:
                next_seq += await appended(handle, next_seq)
            elif step == 4:
                flushes.append(asyncio.ensure_future(world.hub.flush("s")))
                if drawn.random() < 0.5:
                    await asyncio.sleep(drawn.choice([0, 0.005]))
                    flushes[-1].cancel()
            elif step == 5:
                await asyncio.sleep(drawn.choice([0, 0.005, 0.1, WINDOW, 0.3]))
            elif step == 6:
                with faults(monkeypatch, ("pwrite", "fdatasync"), 1, lands=drawn.random() < 0.5):
                    await asyncio.sleep(drawn.choice([0, 0.01, 0.25]))
            else:
                await turns()
        await asyncio.gather(*flushes, return_exceptions=True)
        await world.hub.flush("s")
        assert await world.log() == batch(0, next_seq)
        world.publish(next_seq)
        await asyncio.sleep(WINDOW + 0.05)
        assert await world.log() == batch(0, next_seq + 1)

    run_in_virtual_time(program, backend, tmp_path / "root", monkeypatch, SeededChoices(seed))


async def appended(handle: WriteHandle, seq: int) -> int:
    """How many events an append of two added: two, or none where storage failed."""
    try:
        await handle.append(batch(seq, 2))
    except OSError:
        return 0
    return 2
