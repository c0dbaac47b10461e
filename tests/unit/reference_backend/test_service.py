"""The JSONL services asked directly: visibility, ownership, order, closing, and what lies on the disk afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from conformance.contract import (
    Backend,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionContiguityError,
    SessionEvent,
    SessionHandleClosedError,
    SessionHeader,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
)
from reference_backend import JsonlPersistence, jsonl, jsonl_raw
from tests.unit.reference_backend.logs import HEADER, batch
from tests.unit.reference_backend.loops import on_a_loop

both = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)


def descriptors(root: Path) -> list[str]:
    """What this process has open under ``root``."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            continue
    return [target for target in found if target.startswith(str(root))]


async def stored(backend: Backend, root: Path, *batches: list[SessionEvent], header: SessionHeader = HEADER) -> Path:
    """A closed session of these batches; gives its artifact."""
    service: JsonlPersistence = backend.open(root)
    handle = await service.create(header)
    for events in batches:
        await handle.append(events)
    await handle.flush()
    await service.close()
    path = (backend.location or (lambda *_: None))(root, header.id)
    assert path is not None
    return path


@both
@on_a_loop
async def test_create_touches_nothing_until_the_first_append(backend: Backend, tmp_path: Path) -> None:
    """MAT-01 to MAT-04: pending here, absent elsewhere, gone without a trace where nothing was appended."""
    root = tmp_path / "missing" / "root"
    service = backend.open(root)
    handle = await service.create(HEADER)
    assert (await service.list()) == [await service.stat("s")]
    reader = await service.open("s", "read")
    assert await reader.read() == []
    assert await backend.open(root).stat("s") is None
    assert await backend.open(root).list() == []
    with pytest.raises(SessionPersistenceNotFoundError):
        await backend.open(root).open("s", "write")
    await handle.append([])
    await handle.close()
    assert not root.exists()
    with pytest.raises(SessionPersistenceNotFoundError):
        await reader.read()
    again = await service.create(HEADER)
    await again.flush()
    assert (await backend.open(root).stat("s")).event_count == 0
    with pytest.raises(SessionPersistenceNotFoundError):
        await reader.read()
    await service.close()


@both
@on_a_loop
async def test_two_instances_that_hold_one_id_pending(backend: Backend, tmp_path: Path) -> None:
    """SVC-12, FRESH-04: the first to append has it; the other's calls are refused and it sees the winner's log."""
    one, other = backend.open(tmp_path), backend.open(tmp_path)
    won, lost = await one.create(HEADER), await other.create(SessionHeader("s", 2))
    reader = await other.open("s", "read")
    await won.append(batch(0, 2))
    for _ in range(2):
        with pytest.raises(SessionAlreadyOwnedError):
            await lost.append(batch(0, 1))
    await won.close()
    with pytest.raises(SessionAlreadyExistsError):
        await lost.flush()
    with pytest.raises(SessionAlreadyExistsError):
        await lost.read()
    with pytest.raises(SessionPersistenceNotFoundError):
        await reader.read()
    assert (await other.stat("s")).header == HEADER
    assert await (await other.open("s", "read")).read() == batch(0, 2)
    await lost.close()
    await (await other.open("s", "write")).append(batch(2, 1))
    assert await (await one.open("s", "read")).read() == batch(0, 3)
    await one.close()
    await other.close()
    assert not descriptors(tmp_path)


@both
@on_a_loop
async def test_ownership_is_exclusive_and_given_up_by_close(backend: Backend, tmp_path: Path) -> None:
    """OWN-01, OWN-02, OWN-05, OWN-09: in one instance and across instances, racing opens included."""
    await stored(backend, tmp_path, batch(0, 1))
    one, other = backend.open(tmp_path), backend.open(tmp_path)
    outcomes = await asyncio.gather(*(one.open("s", "write") for _ in range(4)), return_exceptions=True)
    winners = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(winners) == 1
    assert all(isinstance(outcome, SessionAlreadyOwnedError) for outcome in outcomes if outcome not in winners)
    with pytest.raises(SessionAlreadyOwnedError):
        await other.open("s", "write")
    await winners[0].append(batch(1, 1))
    await winners[0].close()
    successor = await other.open("s", "write")
    with pytest.raises(SessionContiguityError) as refusal:
        await successor.append(batch(1, 1))
    assert (refusal.value.expected, refusal.value.got) == (2, 1)
    await successor.append(batch(2, 1))
    await one.close()
    await other.close()


@both
@on_a_loop
async def test_racing_creates_of_one_id_have_one_winner(backend: Backend, tmp_path: Path) -> None:
    """SVC-03: the losers are told that it exists."""
    service = backend.open(tmp_path)
    outcomes = await asyncio.gather(*(service.create(HEADER) for _ in range(4)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["SessionAlreadyExistsError"] * 3 + ["WriteHandle"]
    await service.close()


@both
@on_a_loop
async def test_calls_take_effect_in_call_order(backend: Backend, tmp_path: Path) -> None:
    """SEQ-05, SEQ-06, CLOSE-06: appends that were called before close are stored, as they were when called."""
    service = backend.open(tmp_path)
    handle = await service.create(HEADER)
    batches = [batch(n * 2, 2) for n in range(10)]
    calls = [asyncio.ensure_future(handle.append(events)) for events in batches]
    await asyncio.sleep(0)
    for events in batches:
        events[0]["data"]["text"] = "changed by the caller"
    close = asyncio.ensure_future(handle.close())
    await asyncio.sleep(0)
    with pytest.raises(SessionHandleClosedError):
        await handle.read("nonsense")
    await asyncio.gather(*calls, close)
    assert await (await service.open("s", "read")).read() == batch(0, 20)
    await service.close()


@both
@on_a_loop
async def test_a_read_handle_refuses_mutations(backend: Backend, tmp_path: Path) -> None:
    """OWN-06: an empty append too; closed comes first."""
    await stored(backend, tmp_path, batch(0, 1))
    service = backend.open(tmp_path)
    reader = await service.open("s", "read")
    for call in (lambda: reader.append([]), reader.flush):
        with pytest.raises(SessionReadOnlyError):
            await call()
    async with reader:
        assert reader.access == "read"
    with pytest.raises(SessionHandleClosedError):
        await reader.append([])
    await service.close()


@both
@on_a_loop
async def test_slices_and_caller_ownership(backend: Backend, tmp_path: Path) -> None:
    """READ-01, SEQ-07: every slice of a log of several batches, each result the caller's own."""
    await stored(backend, tmp_path, batch(0, 3), batch(3, 1), batch(4, 5))
    service = backend.open(tmp_path)
    reader = await service.open("s", "read")
    whole = batch(0, 9)
    for offset in range(11):
        for length in [None, *range(11)]:
            end = None if length is None else offset + length
            assert await reader.read(offset, length) == whole[offset:end]
    (await reader.read())[0]["data"].clear()
    assert await reader.read() == whole
    await service.close()


@both
@on_a_loop
async def test_a_closed_service_refuses_and_holds_nothing(backend: Backend, tmp_path: Path) -> None:
    """CLOSE-07, CLOSE-08, FAULT-06: every handle is drained, no descriptor is left, nothing hangs."""
    service = backend.open(tmp_path)
    handles = [await service.create(SessionHeader(name, 1)) for name in "abc"]
    append = asyncio.ensure_future(handles[0].append(batch(0, 1)))
    reader = await service.open("a", "read")
    opening = asyncio.ensure_future(service.open("b", "read"))
    await asyncio.sleep(0)
    await asyncio.gather(service.close(), service.close())
    await append
    await asyncio.gather(opening, return_exceptions=True)
    await service.close()
    for handle in [*handles, reader]:
        with pytest.raises(SessionHandleClosedError):
            await handle.read()
    calls = [service.list(), service.flush(), service.stat("a"), service.open("a", "read"), service.create(HEADER)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(outcome, SessionPersistenceError) for outcome in outcomes)
    assert not descriptors(tmp_path)
    assert [snapshot.header.id for snapshot in await backend.open(tmp_path).list()] == ["a"]


@both
@on_a_loop
async def test_the_service_flush_materialises_each_session_and_leaves_closing_ones_alone(
    backend: Backend, tmp_path: Path
) -> None:
    """FLUSH-01, FLUSH-02, FLUSH-03: failures come as one group whose members name their session."""
    service = backend.open(tmp_path)
    kept, closed, doomed = [await service.create(SessionHeader(name, 1)) for name in ("kept", "closed", "doomed")]
    await doomed.append(batch(0, 1))
    shutil.rmtree(tmp_path / "doomed")
    close = asyncio.ensure_future(closed.close())
    await asyncio.sleep(0)
    with pytest.raises(ExceptionGroup) as group:
        await service.flush()
    assert [(type(error), getattr(error, "session_id", None)) for error in group.value.exceptions] == [
        (SessionOwnershipLostError, "doomed")
    ]
    await close
    assert [snapshot.header.id for snapshot in await backend.open(tmp_path).list()] == ["kept"]
    with pytest.raises(ExceptionGroup):
        await service.close()
    assert kept.is_closing


@both
@on_a_loop
async def test_a_write_handle_notices_what_was_done_to_its_artifact(backend: Backend, tmp_path: Path) -> None:
    """SVC-14, DUR-10: removed, replaced, cut, extended or changed: every call rejects, and nothing is made."""

    def remove(path: Path) -> None:
        path.unlink()

    def replace(path: Path) -> None:
        path.rename(path.with_name("aside"))
        path.write_bytes(path.with_name("aside").read_bytes())

    def cut(path: Path) -> None:
        os.truncate(path, path.stat().st_size - 3)

    def extend(path: Path) -> None:
        path.write_bytes(path.read_bytes() + b"x")

    def change(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[-2] ^= 1
        path.write_bytes(bytes(data))

    for number, harm in enumerate((remove, replace, cut, extend, change)):
        root = tmp_path / str(number)
        await stored(backend, root, batch(0, 2))
        service = backend.open(root)
        handle = await service.open("s", "write")
        await handle.append(batch(2, 1))
        path = root / "s" / ("session.v1.jsonl.zstd" if backend is jsonl else "session.v1.jsonl")
        harm(path)
        before = path.read_bytes() if path.exists() else None
        for call in (lambda handle=handle: handle.append(batch(3, 1)), handle.flush, handle.close, handle.close):
            with pytest.raises((SessionOwnershipLostError, SessionPersistenceCorruptionError)):
                await call()
        assert (path.read_bytes() if path.exists() else None) == before
        await service.close()
        assert not descriptors(root)


@both
@on_a_loop
async def test_a_read_handle_serves_its_own_session_or_none(backend: Backend, tmp_path: Path) -> None:
    """MAT-06, READ-03: erased is NotFound, also where the id is taken again; a log that went back raises."""
    path = await stored(backend, tmp_path, batch(0, 2))
    older = path.read_bytes()
    service = backend.open(tmp_path)
    writer = await service.open("s", "write")
    await writer.append(batch(2, 1))
    await writer.close()
    reader = await service.open("s", "read")
    assert await reader.read() == batch(0, 3)
    path.write_bytes(older)
    with pytest.raises(SessionPersistenceCorruptionError):
        await reader.read()
    shutil.rmtree(path.parent)
    with pytest.raises(SessionPersistenceNotFoundError):
        await reader.read()
    await stored(backend, tmp_path, batch(0, 3))
    fresh = await service.open("s", "read")
    assert await fresh.read() == batch(0, 3)
    await service.close()
    assert not descriptors(tmp_path)


@both
@on_a_loop
async def test_revisions_tell_equal_sized_logs_apart(backend: Backend, tmp_path: Path) -> None:
    """REV-01 to REV-04: a copy put back has its old revision; another first batch shows at equal size and end."""
    path = await stored(backend, tmp_path, batch(0, 1, "k3x9"), batch(1, 1))
    service = backend.open(tmp_path)
    first = (await service.stat("s")).revision
    times = path.stat()
    kept = path.read_bytes()
    shutil.rmtree(path.parent)
    await stored(backend, tmp_path, batch(0, 1, "m7w2"), batch(1, 1))
    other = path.read_bytes()
    path.write_bytes(kept)
    assert (await service.stat("s")).revision == first
    path.write_bytes(other)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert len(other) == len(kept)
    assert (await service.stat("s")).revision != first
    handle = await service.open("s", "write")
    before = (await service.stat("s")).revision
    await handle.flush()
    assert [snapshot.revision for snapshot in await service.list()] == [before] == [(await service.stat("s")).revision]
    await service.close()
