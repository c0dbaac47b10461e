"""A tail is cut off in place: every state that a power loss leaves on the way, by the kit's own disk, is the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.contract import Backend
from conformance.sim.disk import Disk, Fault, Recorder, Trace
from reference_backend import JsonlPersistence, disk, jsonl, jsonl_raw
from reference_backend.positions import Codec
from reference_backend.ranges import PAGE, SECTOR
from tests.unit.reference_backend.logs import CODECS, Image, batch, event, image, recover
from tests.unit.reference_backend.loops import on_a_loop
from tests.unit.reference_backend.test_service import stored
from tests.unit.reference_backend.test_torn_states import noise

pytestmark = pytest.mark.usefixtures("patched")
both = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)
presets = pytest.mark.parametrize("preset", ["kill", "ext4", "xfs", "posix"])


def images(trace: Trace, preset: str, path: str) -> Iterator[bytes]:
    """What a crash may leave of a file, before the first operation and after each; every content once."""
    seen: set[bytes] = set()
    disk = Disk(trace.base, preset)
    for op in [None, *trace.ops]:
        if op is not None:
            disk.feed(op)
        found = disk.states()
        assert found.is_exhaustive
        for data in [state.tree.files[path] for state in found.states]:
            if data not in seen:
                seen.add(data)
                yield data


def log_and_batch(codec: Codec, end: int) -> Image:
    """A log of one event that ends there, and behind it a batch that holds one long record and a short one."""
    for seed in range(1000):
        length = max(end - 250, 0)
        while (begun := image(codec, [event(0, noise(length, seed)[:length])])).ends[1] < end:
            length += max((end - begun.ends[1]) // 2, 1)
        if begun.ends[1] == end:
            return image(codec, begun.events, [event(1, noise(PAGE + SECTOR, 1)), event(2)])
    raise AssertionError(f"no log ends at {end}")


@pytest.mark.parametrize("end", [300, SECTOR - 7, SECTOR, PAGE - SECTOR - 1, PAGE - SECTOR, PAGE - 3, PAGE])
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_every_state_of_a_cut_has_the_log_and_nothing_wrong_behind_it(codec: Codec, end: int, tmp_path: Path) -> None:
    """DUR-01, DUR-06, FMT-10: wherever a log ends and however far its tail goes, also to the end of a whole batch."""
    whole = log_and_batch(codec, end)
    most = len(whole.data) - end
    for length in {1, SECTOR - end % SECTOR, SECTOR + 1, PAGE - end % PAGE, PAGE, PAGE + SECTOR, most - 100, most}:
        path = tmp_path / str(length) / "log"
        path.parent.mkdir()
        path.write_bytes(whole.data[: end + length])
        with Recorder(path.parent) as recorder:
            fd = os.open(path, os.O_RDWR)
            disk.cut(fd, end)
            os.close(fd)
        assert path.read_bytes() == whole.data[:end]
        for data in images(recorder.trace(), "posix", "log"):
            found = recover(codec, data)
            assert found is not None
            assert len(found[1]) >= 1
            assert found[1] == whole.events[: len(found[1])]


@both
@presets
@on_a_loop
async def test_a_power_loss_while_a_torn_tail_is_cut_off_leaves_the_log(
    backend: Backend, preset: str, tmp_path: Path
) -> None:
    """DUR-06, TORN-04: a torn last batch over sectors and pages, before and during the next append."""
    path = await stored(backend, tmp_path, [], [event(0, noise(3 * PAGE, 1))])
    os.truncate(path, 2 * PAGE + 100)
    with Recorder(tmp_path) as recorder:
        service: JsonlPersistence = backend.open(tmp_path)
        writer = await service.open("s", "write")
        assert await writer.read() == []
        await writer.append(batch(0, 2))
        await service.close()
    for data in images(recorder.trace(), preset, f"s/{path.name}"):
        found = recover(CODECS[backend.name], data)
        assert found is not None
        assert found[1] == batch(0, 2)[: len(found[1])]


@both
@presets
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
@on_a_loop
async def test_a_power_loss_while_a_failed_append_is_undone_leaves_the_log(
    backend: Backend, preset: str, sticky: bool, tmp_path: Path
) -> None:
    """DUR-01, FAULT-03: its sync fails, perhaps that of what undoes it too; then another batch is stored."""
    path = await stored(backend, tmp_path, batch(0, 2))
    failing = [event(2, noise(2 * PAGE, 1))]
    with Recorder(tmp_path) as recorder:
        service: JsonlPersistence = backend.open(tmp_path)
        writer = await service.open("s", "write")
        await writer.flush()
        recorder.arm(Fault(frozenset({"sync"}), sticky=sticky))
        with pytest.raises(OSError, match="error"):
            await writer.append(failing)
        recorder.lift()
        await writer.append(batch(2, 2))
        await service.close()
    for data in images(recorder.trace(), preset, f"s/{path.name}"):
        found = recover(CODECS[backend.name], data)
        assert found is not None
        assert len(found[1]) >= 2
        events = batch(0, 2) + failing if found[1][2:3] == failing else batch(0, 4)
        assert found[1] == events[: len(found[1])]
