"""Torn logs met through the service: what readers see, what a repair leaves, and a crash inside it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.contract import Backend, SessionEvent, SessionPersistenceCorruptionError
from reference_backend import JsonlPersistence, disk, jsonl, jsonl_raw
from tests.unit.reference_backend.logs import batch, event
from tests.unit.reference_backend.loops import on_a_loop
from tests.unit.reference_backend.test_service import stored

both = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)


async def torn_log(backend: Backend, root: Path) -> tuple[Path, list[SessionEvent]]:
    """A stored log whose last batch is torn in its middle, and the events that are left of it."""
    path = await stored(backend, root, batch(0, 2), [event(2 + n, os.urandom(9000).hex()) for n in range(20)])
    os.truncate(path, path.stat().st_size - 30_000)
    service: JsonlPersistence = backend.open(root)
    async with await service.open("s", "read") as reader:
        events = await reader.read()
    await service.close()
    assert 2 < len(events) < 22
    return path, events


@both
@on_a_loop
async def test_reading_and_owning_a_torn_log_changes_no_byte(backend: Backend, tmp_path: Path) -> None:
    """DUR-05, REV-03, TORN-01: reads, stat, a write open, flush and close show one log and leave its bytes alone."""
    path, events = await torn_log(backend, tmp_path)
    before = path.read_bytes()
    service: JsonlPersistence = backend.open(tmp_path)
    snapshot = await service.stat("s")
    assert snapshot is not None
    assert snapshot.event_count == len(events)
    writer = await service.open("s", "write")
    assert await writer.read(1, 2) == events[1:3]
    await writer.flush()
    await writer.close()
    assert path.read_bytes() == before
    assert await backend.open(tmp_path).stat("s") == snapshot
    await service.close()


@both
@on_a_loop
async def test_the_first_append_keeps_what_readers_were_shown(backend: Backend, tmp_path: Path) -> None:
    """TORN-02, TORN-03, TORN-05: handles opened before the repair, here and elsewhere, read on after it."""
    _, events = await torn_log(backend, tmp_path)
    service, elsewhere = backend.open(tmp_path), backend.open(tmp_path)
    readers = [await service.open("s", "read"), await elsewhere.open("s", "read")]
    unread = await elsewhere.open("s", "read")
    for reader in readers:
        assert await reader.read() == events
    writer = await service.open("s", "write")
    await writer.append(batch(len(events), 2))
    for reader in [*readers, unread, writer]:
        assert await reader.read() == events + batch(len(events), 2)
    await service.close()
    await elsewhere.close()
    assert await (await backend.open(tmp_path).open("s", "read")).read() == events + batch(len(events), 2)


@both
@on_a_loop
async def test_a_crash_at_every_step_of_a_repair_loses_nothing(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DUR-06: the directory as it is before each storage call of the first append recovers to what was shown."""
    _, events = await torn_log(backend, tmp_path / "root")
    images: list[Path] = []

    def spy(name: str) -> None:
        real = getattr(os, name)

        def call(*args: object, **kwargs: object) -> object:
            images.append(tmp_path / f"image{len(images)}")
            shutil.copytree(tmp_path / "root", images[-1])
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, call)

    service: JsonlPersistence = backend.open(tmp_path / "root")
    writer = await service.open("s", "write")
    with monkeypatch.context():
        for name in ("pwrite", "fsync", "fdatasync", "ftruncate", "rename", "unlink"):
            spy(name)
        await writer.append(batch(len(events), 1))
    monkeypatch.undo()
    await service.close()
    assert len(images) > 5
    for image in images:
        fresh: JsonlPersistence = backend.open(image)
        assert (await (await fresh.open("s", "read")).read())[: len(events)] == events
        again = await fresh.open("s", "write")
        count = len(await again.read())
        await again.append(batch(count, 1))
        assert (await again.read())[: len(events)] == events
        await fresh.close()


@both
@on_a_loop
async def test_a_write_open_syncs_what_a_killed_predecessor_left(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DUR-11: the first barrier of a handle syncs the log, then its directory; a second has nothing left."""
    path = await stored(backend, tmp_path, batch(0, 2), batch(2, 1))
    synced: list[int] = []
    real = os.fsync

    def watch(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        real(fd)

    monkeypatch.setattr(os, "fsync", watch)
    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.open("s", "write")
    assert not synced
    await handle.flush()
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino]
    await handle.flush()
    assert len(synced) == 2
    await service.close()


@on_a_loop
async def test_directories_are_durable_before_what_lies_in_them(tmp_path: Path) -> None:
    """DUR-02: each directory that is made, and the lowest that was there already, has its entry synced, top down."""
    synced: list[str] = []
    real = disk.sync_directory

    def watch(path: str) -> None:
        synced.append(path)
        real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "sync_directory", watch)
        disk.make_directories(str(tmp_path / "a" / "b"))
        assert synced == [str(path) for path in (tmp_path.parent, tmp_path, tmp_path / "a")]
        synced.clear()
        disk.make_directories(str(tmp_path / "a" / "b"))
        assert synced == [str(tmp_path / "a")]


@both
@on_a_loop
async def test_damage_further_up_is_refused_by_reads_and_write_opens(backend: Backend, tmp_path: Path) -> None:
    """FMT-04, FMT-05: a hole in an earlier batch is corruption, with its location; a write open leaves it alone."""
    path = await stored(backend, tmp_path, batch(0, 2), batch(2, 2), batch(4, 2))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle - 20 : middle + 20] = bytes(40)
    path.write_bytes(bytes(data))
    service: JsonlPersistence = backend.open(tmp_path)
    reader = await service.open("s", "read")
    for call in (reader.read(), service.open("s", "write")):
        with pytest.raises(SessionPersistenceCorruptionError) as refusal:
            await call
        assert refusal.value.location == str(path)
    assert path.read_bytes() == bytes(data)
    await service.close()


@on_a_loop
async def test_any_standard_decoder_reads_the_framed_log_as_lines(tmp_path: Path) -> None:
    """The framed artifact decompresses to the header line and the event lines, nothing else."""
    command = shutil.which("zstd")
    if command is None:
        pytest.skip("no zstd command on this machine")
    framed = await stored(jsonl, tmp_path / "framed", batch(0, 3), batch(3, 2))
    plain = await stored(jsonl_raw, tmp_path / "plain", batch(0, 3), batch(3, 2))
    ran = await asyncio.to_thread(subprocess.run, [command, "-dc", str(framed)], capture_output=True, check=True)
    assert ran.stdout == plain.read_bytes().replace(b"\n ", b"\n")


@on_a_loop
async def test_stat_and_bounded_reads_of_a_long_log_touch_little_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SVC-10, READ-05: on 100,000 events stat decodes no event; a read of the end reads the end."""
    path = await stored(jsonl, tmp_path, *(batch(first, 1000) for first in range(0, 100_000, 1000)))
    service: JsonlPersistence = jsonl.open(tmp_path)
    reader = await service.open("s", "read")
    fetched: list[int] = []
    real = os.pread

    def watch(fd: int, length: int, at: int) -> bytes:
        fetched.append(length)
        return real(fd, length, at)

    monkeypatch.setattr(os, "pread", watch)
    with monkeypatch.context() as patch:
        patch.setattr("reference_backend.zstd_codec.decode_frame", lambda frame: pytest.fail("an event was decoded"))
        snapshot = await service.stat("s")
    assert snapshot is not None
    assert snapshot.event_count == 100_000
    assert sum(fetched) < 50_000
    fetched.clear()
    assert await reader.read(99_990, 5) == batch(99_990, 5)
    assert sum(fetched) < path.stat().st_size / 4
    await service.close()
