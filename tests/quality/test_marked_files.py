"""What the variant with the durable mark makes of damaged files: a prefix where a crash may do that, else a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.contract import SessionEvent, SessionHeader, SessionPersistenceCorruptionError
from conformance.drivers.loading import load_file

pytestmark = pytest.mark.usefixtures("patched")

MARKED = load_file(Path(__file__).parents[1] / "variants" / "marked_files.py")
SIZES = (2, 1, 3, 2)
SYNCED = 2
"""Batches that a flush covered; the others are in the page cache."""


def event(seq: int) -> SessionEvent:
    """An event that is told from the others."""
    return {"type": "user/message", "seq": seq, "time": 0, "data": f"number {seq}, é"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a session with four batches."""

    async def body() -> None:
        service = MARKED.MarkedFiles(tmp_path / "root")
        handle = await service.create(SessionHeader("s", 0))
        seq = 0
        for number, size in enumerate(SIZES):
            await handle.append([event(seq + place) for place in range(size)])
            seq += size
            if number < SYNCED:
                await handle.flush()

    asyncio.run(body())
    return MARKED.MarkedFiles(tmp_path / "root").place("s")  # type: ignore[no-any-return]


def log_of(path: Path, data: bytes) -> list[SessionEvent] | None:
    """The log that these bytes hold, or None where they are refused."""
    path.write_bytes(data)
    try:
        return MARKED.load_marked(path).events  # type: ignore[no-any-return]
    except SessionPersistenceCorruptionError:
        return None


def ends(data: bytes) -> list[int]:
    """Where the header and each batch end."""
    pieces = data.split(MARKED.BEGIN)
    return [len(MARKED.BEGIN.join(pieces[:count])) for count in range(1, len(pieces) + 1)]


ALL = [event(seq) for seq in range(sum(SIZES))]
KEPT = sum(SIZES[:SYNCED])


def whole(batches: int) -> list[SessionEvent]:
    """The events of the first batches."""
    return ALL[: sum(SIZES[:batches])]


@pytest.mark.parametrize("spoil", [lambda rest: b"", lambda rest: bytes(len(rest)), lambda rest: bytes(8192)])
def test_a_torn_tail_ends_the_log_before_it(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Cut at any byte behind what was synced, or NUL from there on, the log is its complete batches."""
    data = path.read_bytes()
    borders = ends(data)
    for place in range(borders[SYNCED], len(data)):
        complete = sum(border <= place for border in borders) - 1
        assert log_of(path, data[:place] + spoil(data[place:])) == whole(complete)


def test_a_hole_ends_the_log_though_batches_behind_it_are_intact(path: Path) -> None:
    """Of several unsynced batches one in the middle may be missing: what lies behind it is dropped."""
    data = path.read_bytes()
    _, _, begin, end, _ = ends(data)
    assert log_of(path, data[:begin] + bytes(end - begin) + data[end:]) == whole(SYNCED)


def test_damage_below_the_mark_is_refused(path: Path) -> None:
    """Any changed byte of a batch that was synced before a later, intact one was written refuses the log."""
    data = path.read_bytes()
    borders = ends(data)
    for place in range(borders[0], borders[SYNCED]):
        assert log_of(path, data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]) in (None, ALL)
    for change in (
        data[: borders[0]] + data[borders[1] :],
        data[: borders[1]] + data[borders[0] :],
        data[: borders[0]] + data[borders[1] : borders[2]] + data[borders[0] : borders[1]] + data[borders[2] :],
    ):
        assert log_of(path, change) is None


def test_the_first_new_append_cuts_a_tail_off(path: Path) -> None:
    """A log with a torn tail goes on where a reader saw its end, and nothing of the tail comes back."""
    data = path.read_bytes()
    path.write_bytes(data[:-5])

    async def body() -> list[SessionEvent]:
        handle = await MARKED.MarkedFiles(path.parent).open("s", "write")
        await handle.append([event(len(whole(3)))])
        await handle.close()
        return await (await MARKED.MarkedFiles(path.parent).open("s", "read")).read()  # type: ignore[no-any-return]

    assert asyncio.run(body()) == ALL[: len(whole(3)) + 1]
    assert path.read_bytes()[: ends(data)[3]] == data[: ends(data)[3]]


def test_a_failed_sync_spends_the_handle_and_the_next_writer_writes_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No later barrier relies on what a failed sync may have dropped."""
    service = MARKED.MarkedFiles(path.parent)

    def fail(number: int) -> None:
        raise OSError("the disk is gone")

    async def body() -> int:
        handle = await service.open("s", "write")
        await handle.append([event(sum(SIZES))])
        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", fail)
            for call in (handle.flush, handle.close):
                with pytest.raises(OSError, match="the disk is gone"):
                    await call()
        before = path.stat().st_ino
        again = await service.open("s", "write")
        await again.append([event(sum(SIZES) + 1)])
        await again.flush()
        return before

    assert asyncio.run(body()) != path.stat().st_ino
    assert MARKED.load_marked(path).events == [*ALL, event(sum(SIZES)), event(sum(SIZES) + 1)]
