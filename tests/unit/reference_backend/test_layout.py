"""What lies under the root, asked for through the services: foreign files, torn creations, awkward ids, exact JSON."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from conformance.contract import (
    Backend,
    SessionAlreadyExistsError,
    SessionFormatUnsupportedError,
    SessionHeader,
    SessionPersistenceCorruptionError,
    SessionPersistenceNotFoundError,
)
from reference_backend import jsonl, jsonl_raw
from tests.unit.reference_backend.logs import HEADER, batch, event
from tests.unit.reference_backend.loops import on_a_loop
from tests.unit.reference_backend.test_service import both, stored

HEADER_NAMES = {"jsonl": "session.v1.jsonl.zstd", "jsonl-raw": "session.v1.jsonl"}


@both
@on_a_loop
async def test_list_leaves_out_what_it_cannot_describe(
    backend: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SVC-07, FMT-08, FMT-09: the healthy sessions are listed, the rest is logged and refused by name."""
    other = jsonl_raw if backend is jsonl else jsonl
    await stored(backend, tmp_path, batch(0, 1))
    foreign = await stored(other, tmp_path, batch(0, 1), header=SessionHeader("other-encoding", 1))
    newer = tmp_path / "newer" / "session.v2.jsonl.zstd"
    older = tmp_path / "older" / "session.jsonl"
    junk = tmp_path / "junk" / HEADER_NAMES[backend.name]
    for path in (newer, older, junk):
        path.parent.mkdir()
        path.write_bytes(b"something else\n")
    (tmp_path / "stray file").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    service = backend.open(tmp_path)
    assert [snapshot.header.id for snapshot in await service.list()] == ["s"]
    assert len([record for record in caplog.records if record.name == "torntail.reference"]) == 5
    for path, kind in (
        (foreign, SessionFormatUnsupportedError),
        (newer, SessionFormatUnsupportedError),
        (older, SessionFormatUnsupportedError),
        (junk, SessionPersistenceCorruptionError),
    ):
        name = path.parent.name
        for call in (service.stat(name), service.open(name, "read"), service.open(name, "write")):
            with pytest.raises(kind) as refusal:
                await call
            assert refusal.value.session_id == name
            assert refusal.value.location == str(path)
        with pytest.raises(SessionAlreadyExistsError):
            await service.create(SessionHeader(name, 1))
    assert junk.read_bytes() == b"something else\n"
    assert await service.stat("empty") is None
    await service.close()


@both
@on_a_loop
async def test_an_artifact_of_another_id_is_refused(backend: Backend, tmp_path: Path) -> None:
    """FMT-06, FMT-11: a directory copied to another name is no other session."""
    path = await stored(backend, tmp_path, batch(0, 1))
    shutil.copytree(path.parent, tmp_path / "t")
    service = backend.open(tmp_path)
    with pytest.raises(SessionPersistenceCorruptionError):
        await service.open("t", "read")
    assert [snapshot.header.id for snapshot in await service.list()] == ["s"]
    await service.close()


@both
@on_a_loop
async def test_a_torn_creation_is_absent_and_its_id_is_free(backend: Backend, tmp_path: Path) -> None:
    """TORN-04: what a creation can leave blocks nobody, and the new log starts empty."""
    whole = (await stored(backend, tmp_path, batch(0, 1), header=SessionHeader("whole", 1))).read_bytes()
    leavings = [b"", whole[:20], bytes(4096), whole[:30] + bytes(4066)]
    for number, leaving in enumerate(leavings):
        directory = tmp_path / str(number)
        directory.mkdir()
        (directory / HEADER_NAMES[backend.name]).write_bytes(leaving)
        (directory / (HEADER_NAMES[backend.name] + ".tmp")).write_bytes(whole)
        (directory / "session.lock").write_bytes(b"")
        service = backend.open(tmp_path)
        assert await service.stat(str(number)) is None
        for access in ("read", "write"):
            with pytest.raises(SessionPersistenceNotFoundError):
                await service.open(str(number), access)
        handle = await service.create(SessionHeader(str(number), 1))
        await handle.append(batch(0, 1))
        await service.close()
        assert sorted(os.listdir(directory)) == sorted([HEADER_NAMES[backend.name], "session.lock"])
        assert await (await backend.open(tmp_path).open(str(number), "read")).read() == batch(0, 1)


@both
@on_a_loop
async def test_files_are_private_and_ids_stay_under_the_root(backend: Backend, tmp_path: Path) -> None:
    """ID-02, ID-03: whatever the id, everything lies in one directory under the root, readable by its owner only."""
    root = tmp_path / "root"
    ids = ["../up", "a/b", ".", "..", "\0", "x" * 1024, "界" * 300, "CON", "con", "e\u0301", "é", " ", "A", "a"]
    for session_id in ids:
        await stored(backend, root, [event(0, session_id)], header=SessionHeader(session_id, 1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]
    assert len(list(root.iterdir())) == len(ids)
    for path in [root, *root.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    service = backend.open(root)
    assert [snapshot.header.id for snapshot in await service.list()] == sorted(ids)
    for session_id in ids:
        assert await (await service.open(session_id, "read")).read() == [event(0, session_id)]
    await service.close()


@both
@on_a_loop
async def test_json_round_trips_to_the_bit(backend: Backend, tmp_path: Path) -> None:
    """JSON-01, numbers="exact": integers, floats, booleans and every kind of text come back as they were."""
    values: list[object] = [1, 1.0, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 2**53 - 1, -(2**53 - 1)]
    values += [True, None, 1e16, 0.1]
    values += ['\0\u2028\U0001f600\ufffe\n\r"\\', {"": {}}, [[]], "x" * 5_000_000]
    nested: object = 0
    for _ in range(150):
        nested = [nested]
    events = [{**event(0), "data": [*values, nested], "surfaceOp": "append", "odd": -0.0}]
    await stored(backend, tmp_path, events)
    service = backend.open(tmp_path)
    (found,) = await (await service.open("s", "read")).read()
    assert repr(found) == repr(events[0])
    await service.close()


@both
@on_a_loop
async def test_unknown_types_are_refused_unless_ignorable(backend: Backend, tmp_path: Path) -> None:
    """FMT-02, FMT-03: refused by append with nothing stored; kept verbatim where marked."""
    service = backend.open(tmp_path)
    handle = await service.create(HEADER)
    with pytest.raises(SessionFormatUnsupportedError) as refusal:
        await handle.append([{**event(0), "type": "no/such"}])
    assert refusal.value.location is not None
    kept = [{**event(0), "type": "no/such", "ignorable": True}]
    await handle.append(kept)
    assert await handle.read() == kept
    await service.close()
