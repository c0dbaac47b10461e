"""Failing storage: the n-th call breaks, for every n until none does; nothing is lost, doubled or shown early."""

from __future__ import annotations

import errno
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.contract import (
    Backend,
    SessionContiguityError,
    SessionEvent,
    SessionHeader,
    SessionPersistenceCorruptionError,
    SessionPersistenceNotFoundError,
)
from reference_backend import JsonlPersistence, jsonl, jsonl_raw
from reference_backend.handle import WriteHandle
from tests.unit.reference_backend.faults import READING, WRITING, Faults, faults
from tests.unit.reference_backend.logs import HEADER, batch, event
from tests.unit.reference_backend.loops import on_a_loop
from tests.unit.reference_backend.test_service import descriptors, stored

both = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)
kinds = pytest.mark.parametrize(
    ("sticky", "lands"), [(False, False), (False, True), (True, False)], ids=["once", "landed", "sticky"]
)


async def shows(service: JsonlPersistence, handle: WriteHandle, events: list[SessionEvent]) -> None:
    """The instance shows exactly these events, on the writer, on a new reader and through stat."""
    assert await handle.read() == events
    async with await service.open("s", "read") as reader:
        assert await reader.read() == events
    snapshot = await service.stat("s")
    assert snapshot is not None
    assert snapshot.event_count == len(events)


async def insist(
    plan: Faults, service: JsonlPersistence, handle: WriteHandle, before: list[SessionEvent], events: list[SessionEvent]
) -> list[SessionEvent]:
    """Append; where the fault breaks that, the log is as before and the same append succeeds once storage heals."""
    try:
        await handle.append(events)
    except OSError:
        assert plan.fired
        plan.healed = True
        await shows(service, handle, before)
        await handle.append(events)
    with plan.aside():
        await shows(service, handle, before + events)
    return before + events


async def one_life(backend: Backend, root: Path, plan: Faults) -> None:
    """Create, append, flush and close, insisting where a fault strikes."""
    service: JsonlPersistence = backend.open(root)
    try:
        handle = await service.create(HEADER)
    except OSError:
        plan.healed = True
        handle = await service.create(HEADER)
    log = await insist(plan, service, handle, [], batch(0, 2))
    await insist(plan, service, handle, log, batch(2, 3))
    await service.flush()
    await service.close()


@both
@kinds
@on_a_loop
async def test_every_failing_call_of_a_first_life(
    backend: Backend, sticky: bool, lands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULT-01, FAULT-02, FAULT-06, READ-06: materialising and appending, one broken call after the other."""
    fired = True
    at = 0
    while fired:
        at += 1
        root = tmp_path / str(at) / "root"
        with faults(monkeypatch, WRITING, at, sticky=sticky, lands=lands, code=errno.ENOSPC) as plan:
            try:
                await one_life(backend, root, plan)
            except ExceptionGroup:
                # What is left to fail is the close of a descriptor, after everything was durable.
                assert plan.fired
        fired = plan.fired
        assert await (await backend.open(root).open("s", "read")).read() == batch(0, 5)
        shutil.rmtree(root)
    assert at > 15


@both
@kinds
@on_a_loop
async def test_every_failing_call_of_a_later_life(
    backend: Backend, sticky: bool, lands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULT-02, OWN-04, OWN-07: reopening a torn log, repairing and appending, one broken call after the other."""
    noise = random.Random(1)
    tail = [event(2 + n, noise.randbytes(9000).hex()) for n in range(20)]
    path = await stored(backend, tmp_path / "whole", batch(0, 2), tail)
    torn = path.read_bytes()[:-30_000]
    kept = await (await _reader_of(backend, tmp_path / "torn", path.name, torn)).read()
    assert 2 < len(kept) < 22
    fired = True
    at = 0
    while fired:
        at += 1
        root = tmp_path / str(at)
        service: JsonlPersistence = backend.open(root)
        (root / "s").mkdir(parents=True)
        (root / "s" / path.name).write_bytes(torn)
        with faults(monkeypatch, WRITING, at, sticky=sticky, lands=lands) as plan:
            try:
                handle = await service.open("s", "write")
            except OSError:
                plan.healed = True
                handle = await service.open("s", "write")
            assert isinstance(handle, WriteHandle)
            await insist(plan, service, handle, kept, batch(len(kept), 2))
            try:
                await service.close()
            except ExceptionGroup:
                assert plan.fired
        fired = plan.fired
        fresh = backend.open(root)
        assert await (await fresh.open("s", "read")).read() == kept + batch(len(kept), 2)
        await (await fresh.open("s", "write")).append(batch(len(kept) + 2, 1))
        await fresh.close()
        assert not descriptors(root)
        shutil.rmtree(root)
    assert at > 5


async def _reader_of(backend: Backend, root: Path, name: str, data: bytes):  # type: ignore[no-untyped-def]
    (root / "s").mkdir(parents=True)
    (root / "s" / name).write_bytes(data)
    return await backend.open(root).open("s", "read")


@both
@on_a_loop
async def test_every_failing_call_of_reads(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """FAULT-04: an error while reading is an error, or the right answer; never absence, a shorter log or nothing.

    A listing leaves out what it cannot read, and says so.
    """
    await stored(backend, tmp_path, batch(0, 2), batch(2, 2))
    fired = True
    at = 0
    while fired:
        at += 1
        service: JsonlPersistence = backend.open(tmp_path)
        reader = await service.open("s", "read")
        with faults(monkeypatch, READING, at, code=errno.EACCES) as plan:
            for _ in range(2):
                try:
                    assert await reader.read() == batch(0, 4)
                    told = [snapshot.event_count for snapshot in await service.list()]
                    assert told == [4] or "'s' is left out of the list: [Errno 13]" in caplog.text
                    caplog.clear()
                    snapshot = await service.stat("s")
                    assert snapshot is not None
                    assert snapshot.event_count == 4
                    async with await service.open("s", "read") as other:
                        assert await other.read(1, 2) == batch(1, 2)
                except PermissionError:
                    assert plan.fired
        fired = plan.fired
        await service.close()
    assert at > 15
    assert not descriptors(tmp_path)


@both
@on_a_loop
async def test_a_file_that_cannot_be_read_hides_no_other(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SVC-07: the listing tells the others, also where the file alone knows its id; want of descriptors fails it."""
    ids = ["s", "t", "long" * 200]
    for session_id in ids:
        await stored(backend, tmp_path, batch(0, 1), header=replace(HEADER, id=session_id))
    service: JsonlPersistence = backend.open(tmp_path)
    unreadable = backend.location(tmp_path, ids[2]) if backend.location is not None else None
    real = os.open
    code = errno.EACCES

    def refusing(path: str, *args: int, **named: int) -> int:
        if str(path) == str(unreadable):
            raise OSError(code, "refused", path)
        return real(path, *args, **named)

    monkeypatch.setattr(os, "open", refusing)
    assert [each.header.id for each in await service.list()] == ids[:2]
    code = errno.EMFILE
    with pytest.raises(OSError, match="refused"):
        await service.list()
    unreadable = backend.location(tmp_path, "t") if backend.location is not None else None
    with pytest.raises(OSError, match="refused"):
        await service.list()
    code = errno.EIO
    assert [each.header.id for each in await service.list()] == [ids[2], "s"]
    await service.close()


@both
@on_a_loop
async def test_an_append_that_cannot_be_undone_stays_unseen(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULT-01, FAULT-02, FAULT-05: also after a close that could not undo it either, in this instance."""
    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.create(HEADER)
    await handle.append(batch(0, 2))
    with faults(monkeypatch, ("fdatasync", "ftruncate"), 1, sticky=True) as plan:
        with pytest.raises(OSError, match="error"):
            await handle.append(batch(2, 1, "failed"))
        await shows(service, handle, batch(0, 2))
        with pytest.raises(OSError, match="error"):
            await handle.close()
        assert plan.calls == 3
    reader = await service.open("s", "read")
    assert await reader.read() == batch(0, 2)
    again = await service.open("s", "write")
    await again.append(batch(2, 1, "another"))
    assert await reader.read() == batch(0, 2) + batch(2, 1, "another")
    await service.close()
    assert await (await backend.open(tmp_path).open("s", "read")).read() == batch(0, 2) + batch(2, 1, "another")


@both
@pytest.mark.parametrize("writes", [False, True], ids=["flushes", "appends"])
@on_a_loop
async def test_what_another_owner_found_is_there_for_everybody(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, writes: bool
) -> None:
    """FRESH-04, OWN-02: what a failed append left is hidden in its instance until somebody else owned the session."""
    service, elsewhere = backend.open(tmp_path), backend.open(tmp_path)
    handle = await service.create(HEADER)
    await handle.append(batch(0, 2))
    with faults(monkeypatch, ("fdatasync", "ftruncate"), 1, sticky=True):
        with pytest.raises(OSError, match="error"):
            await handle.append(batch(2, 1, "failed"))
        with pytest.raises(OSError, match="error"):
            await handle.close()
    reader = await service.open("s", "read")
    assert await reader.read() == batch(0, 2)
    owner = await elsewhere.open("s", "write")
    log = batch(0, 2) + batch(2, 1, "failed")
    assert await owner.read() == log
    if writes:
        await owner.append(batch(3, 1))
        log += batch(3, 1)
    await owner.flush()
    await owner.close()
    assert await reader.read() == log
    again = await service.open("s", "write")
    with pytest.raises(SessionContiguityError):
        await again.append(batch(2, 1, "another"))
    await again.append(batch(len(log), 1))
    await service.close()
    assert await (await elsewhere.open("s", "read")).read() == log + batch(len(log), 1)
    await elsewhere.close()


@both
@on_a_loop
async def test_another_instance_opened_beside_a_failed_append_reads_the_log(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FRESH-04, READ-03: what an open finds nobody was shown; that what a read showed is gone every later one says."""
    service, elsewhere = backend.open(tmp_path), backend.open(tmp_path)
    handle = await service.create(HEADER)
    await handle.append(batch(0, 2))
    with faults(monkeypatch, ("fdatasync", "ftruncate"), 1, sticky=True), pytest.raises(OSError, match="error"):
        await handle.append(batch(2, 1, "failed"))
    opened, shown = await elsewhere.open("s", "read"), await elsewhere.open("s", "read")
    assert await shown.read() == batch(0, 2) + batch(2, 1, "failed")
    await handle.flush()
    assert await opened.read() == batch(0, 2)
    with pytest.raises(SessionPersistenceCorruptionError, match="3 events that were read here"):
        await shown.read()
    await service.close()
    await elsewhere.close()


@both
@on_a_loop
async def test_a_failed_sync_is_never_made_good_by_another_sync(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULT-03: the bytes are written again, those of a batch that failed and those that a write open found."""
    await stored(backend, tmp_path, batch(0, 2))
    written: list[tuple[int, int]] = []
    real = os.pwrite

    def watch(fd: int, data: bytes, offset: int) -> int:
        written.append((offset, len(data)))
        return real(fd, data, offset)

    service: JsonlPersistence = backend.open(tmp_path)
    handle = await service.open("s", "write")
    monkeypatch.setattr(os, "pwrite", watch)
    with faults(monkeypatch, ("fsync",), 1), pytest.raises(OSError, match="error"):
        await handle.flush()
    await handle.flush()
    assert len(written) == 2
    assert written[0] == written[1]
    with faults(monkeypatch, ("fdatasync",), 1), pytest.raises(OSError, match="error"):
        await handle.append(batch(2, 1))
    await handle.append(batch(2, 1))
    assert written[2] == written[3]
    assert len(written) == 4
    await service.close()


@both
@on_a_loop
async def test_short_writes_are_continued(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAULT-01: a write that takes a few bytes at a time is no failure."""
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: real(fd, bytes(data)[:7], offset))
    await stored(backend, tmp_path, batch(0, 2), batch(2, 2))
    assert await (await backend.open(tmp_path).open("s", "read")).read() == batch(0, 4)


@both
@on_a_loop
async def test_a_create_whose_only_writes_failed_never_was(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MAT-03, FAULT-08: its id is free again, and other sessions go on."""
    service: JsonlPersistence = backend.open(tmp_path)
    other = await service.create(SessionHeader("other", 1))
    handle = await service.create(HEADER)
    with faults(monkeypatch, ("pwrite",), 1), pytest.raises(OSError, match="error"):
        await handle.append(batch(0, 1))
    await other.append(batch(0, 1))
    await handle.close()
    assert await service.stat("s") is None
    with pytest.raises(SessionPersistenceNotFoundError):
        await backend.open(tmp_path).open("s", "write")
    await (await service.create(HEADER)).append(batch(0, 1))
    await service.close()
