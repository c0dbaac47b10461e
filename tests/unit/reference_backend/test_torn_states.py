"""Every state a crash may leave of small logs: cuts, sizes that ran ahead, lost and torn pages, kills on the way."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionEvent, SessionHeader, SessionPersistenceNotFoundError
from reference_backend import JsonlPersistence, jsonl, jsonl_raw
from reference_backend.artifact import header_line
from reference_backend.positions import Codec
from reference_backend.ranges import PAGE, SECTOR, BytesRange, Damage
from reference_backend.raw_codec import RawCodec
from tests.unit.reference_backend.logs import CODECS, HEADER, Image, batch, event, image, recover, repaired
from tests.unit.reference_backend.loops import on_a_loop
from tests.unit.reference_backend.test_service import descriptors, stored

backends = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)
codecs = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A directory in memory where there is one, for tests that sync thousands of times."""
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None) as path:
        yield Path(path)


def noise(length: int, seed: int) -> str:
    """Text that does not compress."""
    return random.Random(seed).randbytes(length).hex()


async def continued(backend: Backend, root: Path) -> list[SessionEvent] | None:
    """What a fresh instance shows; it appends one event, and another instance must show both. None where absent."""
    first: JsonlPersistence = backend.open(root)
    try:
        writer = await first.open("s", "write")
    except SessionPersistenceNotFoundError:
        assert await first.stat("s") is None
        writer = await first.create(HEADER)
        await writer.append(batch(0, 1, "anew"))
        await first.close()
        assert await _shown(backend, root) == batch(0, 1, "anew")
        return None
    events = await writer.read()
    assert await _shown(backend, root) == events
    await writer.append([event(len(events), "more")])
    await first.close()
    assert await _shown(backend, root) == [*events, event(len(events), "more")]
    return events


async def _shown(backend: Backend, root: Path) -> list[SessionEvent]:
    service: JsonlPersistence = backend.open(root)
    async with await service.open("s", "read") as reader:
        events = await reader.read()
    await service.close()
    return events


def place(root: Path, name: str, data: bytes) -> Path:
    """A session's directory with nothing but its artifact and its lock file."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "s").mkdir(parents=True)
    (root / "s" / "session.lock").touch()
    (root / "s" / name).write_bytes(data)
    return root / "s" / name


# -- cuts and sizes that ran ahead --------------------------------------------------------------------------------


@backends
@on_a_loop
async def test_a_log_cut_at_any_byte_is_read_and_continued(backend: Backend, memory_path: Path) -> None:
    """TORN-01, TORN-02, TORN-04: also through the services, from the empty file to the whole one."""
    whole = image(CODECS[backend.name], batch(0, 1), batch(1, 2), batch(3, 2))
    name = CODECS[backend.name].file_name
    for cut in range(len(whole.data) + 1):
        place(memory_path / "root", name, whole.data[:cut])
        events = await continued(backend, memory_path / "root")
        least = max((count for end, count in zip(whole.ends, whole.counts, strict=True) if end <= cut), default=0)
        if events is None:
            assert cut < whole.ends[0]
        else:
            assert least <= len(events)
            assert events == whole.events[: len(events)]


@backends
@pytest.mark.parametrize("to", ["size", "page"])
@on_a_loop
async def test_a_last_batch_that_ends_in_nul_from_any_byte_is_read_and_continued(
    backend: Backend, to: str, memory_path: Path
) -> None:
    """TORN-01: the size came through, or the block's end, and of the data only what stands before that byte."""
    whole = image(CODECS[backend.name], batch(0, 1), batch(1, 2), batch(3, 2))
    size = len(whole.data) if to == "size" else PAGE
    for start in range(whole.ends[2], len(whole.data)):
        place(memory_path / "root", CODECS[backend.name].file_name, whole.data[:start].ljust(size, b"\0"))
        events = await continued(backend, memory_path / "root")
        assert events is not None
        assert len(events) >= whole.counts[2]
        assert events == whole.events[: len(events)]


@codecs
@pytest.mark.parametrize("agent", ["", noise(200, 1), noise(3000, 2)], ids=["plain", "noise", "pages"])
def test_a_header_torn_anywhere_is_no_session(codec: Codec, agent: str) -> None:
    """TORN-04: cut at any byte, with zeros to the size or to the page, also where a header does not compress."""
    data, _ = codec.encode_header(header_line(SessionHeader("s", 1000, agent_preset=agent), None))
    for cut in range(len(data)):
        sizes = {cut, len(data), cut + PAGE - cut % PAGE}
        for size in sizes:
            torn = data[:cut].ljust(size, b"\0")
            assert torn == data or codec.read_header(BytesRange(torn)) is None, (cut, size)


def test_a_hole_in_a_header_line_is_no_torn_creation() -> None:
    """FMT-09: NUL in the middle of a page, with more of the line behind it, is nothing that a crash leaves."""
    line, _ = RawCodec("log").encode_header(header_line(SessionHeader("s", 1000, agent_preset="x" * PAGE), None))
    for start, end, is_torn in ((20, 60, False), (20, PAGE - 1, False), (20, PAGE, True), (20, len(line), True)):
        data = line[:start] + bytes(end - start) + line[end:]
        if is_torn:
            assert RawCodec("log").read_header(BytesRange(data)) is None
        else:
            with pytest.raises(Damage):
                RawCodec("log").read_header(BytesRange(data))


# -- pages --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A log whose last batch was under way: everything before ``start`` was durable."""

    whole: Image
    start: int

    @property
    def pages(self) -> list[int]:
        """The pages that the last batch touches."""
        return list(range(self.start // PAGE, (len(self.whole.data) - 1) // PAGE + 1))

    def states(self) -> Iterator[bytes]:
        """The images of a power loss: any page lost, any size step, and one page torn at any sector."""
        for size in [self.start, *(page * PAGE for page in self.pages if page * PAGE > self.start), self.end]:
            there = [page for page in self.pages if max(page * PAGE, self.start) < size]
            for lost in itertools.chain.from_iterable(itertools.combinations(there, n) for n in range(len(there) + 1)):
                yield self._image(size, [(page, 0) for page in lost])
                for torn in set(there) - set(lost):
                    for sector in range(SECTOR, PAGE, SECTOR):
                        yield self._image(size, [*((page, 0) for page in lost), (torn, sector)])

    @property
    def end(self) -> int:
        """The size of the whole log."""
        return len(self.whole.data)

    def _image(self, size: int, blanks: list[tuple[int, int]]) -> bytes:
        data = bytearray(self.whole.data[:size])
        for page, sector in blanks:
            begin, end = max(page * PAGE + sector, self.start), min((page + 1) * PAGE, size)
            if begin < end:
                data[begin:end] = bytes(end - begin)
        return bytes(data)


def written(codec: Codec, before: int, *sizes: int) -> Written:
    """A log with a batch that ends near ``before``, and a last one of records of these many characters."""
    first = image(codec, [event(0, noise(max(before - 400, 0) // 2, 5))])
    gap = max(before - len(first.data), 0)
    head = [[event(0, noise((max(before - 400, 0) + gap) // 2, 5))], [event(1)]]
    last = [event(2 + n, noise(size // 2, n)) for n, size in enumerate(sizes)]
    whole = image(codec, *head, last)
    return Written(whole, whole.ends[2])


SHAPES = {
    "in one page": (0, 300, 300),
    "over an edge": (3800, 300, 300, 300),
    "of many records": (2000, *([900] * 10)),
    "of one long record": (3000, 9000),
    "of several blocks": (1000, *([3000] * 4)),
}


@codecs
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_every_state_of_the_pages_of_a_last_batch_is_a_torn_tail(codec: Codec, shape: tuple[int, ...]) -> None:
    """TORN-01, TORN-02, TORN-03: what is kept is unaltered, nothing durable is lost, and a repair keeps it."""
    log = written(codec, *shape)
    states = set(log.states())
    assert log.whole.data in states
    for data in states:
        found = recover(codec, data)
        assert found is not None
        end, events = found
        assert end.total >= log.whole.counts[2]
        assert events == log.whole.events[: len(events)]
        again = recover(codec, repaired(codec, data))
        assert again is not None
        assert again[1] == events
        assert again[0].total == end.total
        assert not again[0].kept


@codecs
def test_of_the_pages_of_a_last_batch_what_came_through_is_kept(codec: Codec) -> None:
    """TORN-03: recovery does not just drop the last batch: records before the first lost page stay."""
    # A record that does not compress fills a zstd block of its own: those before the lost page decode.
    log = written(codec, 1000, *([150_000] * 3))
    lost = log.end - 2 * PAGE
    data = log.whole.data[: lost - lost % PAGE].ljust(log.end, b"\0")
    found = recover(codec, data)
    assert found is not None
    assert log.whole.counts[2] < found[0].total < log.whole.counts[3]


# -- several batches ----------------------------------------------------------------------------------------------


@backends
@on_a_loop
async def test_what_was_found_is_durable_before_the_first_new_byte(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DUR-11, TORN-01: so of two batches, the second written by another process, only the second can have a hole."""
    path = await stored(backend, tmp_path, batch(0, 2), batch(2, 1))
    size = path.stat().st_size
    done: list[str] = []
    new: list[str] = []

    def watch(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **options: Any) -> Any:
            if name == "pwrite":
                new.append("past the end" if args[2] >= size else "again")
                done.append(new[-1])
            else:
                done.append("directory" if os.fstat(args[0]).st_ino == path.parent.stat().st_ino else "file")
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)

    service: JsonlPersistence = backend.open(tmp_path)
    writer = await service.open("s", "write")
    with monkeypatch.context():
        for name in ("pwrite", "fsync", "fdatasync"):
            watch(name)
        await writer.append(batch(3, 1))
    monkeypatch.undo()
    assert done == ["again", "file", "directory", "past the end", "file"]
    await service.close()


@backends
@on_a_loop
async def test_a_kill_at_every_step_of_a_life_loses_nothing(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DUR-01, DUR-02, DUR-04, DUR-07, TORN-04: the tree as it is before each storage call, with what had resolved."""
    root = tmp_path / "root"
    images: list[tuple[Path, int]] = []
    resolved = 0
    copying = False

    def spy(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **options: Any) -> Any:
            nonlocal copying
            if not copying:
                copying = True
                images.append((tmp_path / f"image{len(images)}", resolved))
                if root.exists():
                    shutil.copytree(root, images[-1][0])
                copying = False
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)

    service: JsonlPersistence = backend.open(root)
    with monkeypatch.context():
        for name in ("mkdir", "pwrite", "fsync", "fdatasync", "link", "unlink", "rename", "ftruncate"):
            spy(name)
        writer = await service.create(HEADER)
        for first in (0, 2, 4):
            await writer.append(batch(first, 2))
            resolved = first + 2
        await service.close()
        service = backend.open(root)
        again = await service.open("s", "write")
        await again.append(batch(6, 1))
        resolved = 7
        await service.close()
    monkeypatch.undo()
    assert len(images) > 15
    for image_root, least in images:
        events = await continued(backend, image_root)
        assert len(events or []) >= least
        assert events is None or events == batch(0, 7)[: len(events)]


# -- strays -------------------------------------------------------------------------------------------------------


@backends
@pytest.mark.parametrize("torn", [False, True])
@on_a_loop
async def test_a_second_name_of_the_log_that_a_kill_left_is_taken_away(
    backend: Backend, torn: bool, tmp_path: Path
) -> None:
    """TORN-04: a kill between giving a log its name and taking its temporary one away; a repair writes into neither."""
    path = await stored(backend, tmp_path, batch(0, 1), [event(1 + n, noise(9000, n)) for n in range(20)])
    if torn:
        os.truncate(path, path.stat().st_size - 30_000)
    kept = await _shown(backend, tmp_path)
    os.link(path, path.with_name(path.name + ".tmp"))
    assert await continued(backend, tmp_path) == kept
    assert sorted(os.listdir(path.parent)) == ["session.lock", path.name]
    assert path.stat().st_nlink == 1
    assert not descriptors(tmp_path)


@backends
@on_a_loop
async def test_an_empty_file_a_stray_temporary_and_an_empty_directory_are_no_session(
    backend: Backend, tmp_path: Path
) -> None:
    """TORN-04: none is listed, none is in the way, and a look makes nothing."""
    whole = image(CODECS[backend.name], batch(0, 2)).data
    name = CODECS[backend.name].file_name
    for files in ({name: b""}, {f"{name}.tmp": whole}, {f"{name}.tmp": b"", "session.lock": b""}, {}):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        (root / "s").mkdir(parents=True)
        for file, data in files.items():
            (root / "s" / file).write_bytes(data)
        service: JsonlPersistence = backend.open(root)
        assert await service.list() == []
        for access in ("read", "write"):
            with pytest.raises(SessionPersistenceNotFoundError):
                await service.open("s", access)
        assert sorted(os.listdir(root / "s")) == sorted(files)
        assert await continued(backend, root) is None


@backends
@on_a_loop
async def test_each_look_finds_the_end_of_what_is_there_now(backend: Backend, tmp_path: Path) -> None:
    """Looks of one instance at the same torn bytes agree, and one at other bytes, or in another log, sees those."""
    codec = CODECS[backend.name]
    made = image(codec, batch(0, 2), batch(2, 3))
    torn = made.data[: made.ends[2] - 20]
    recovered = recover(codec, torn)
    assert recovered is not None
    path = tmp_path / "s" / codec.file_name
    path.parent.mkdir()
    service: JsonlPersistence = backend.open(tmp_path)
    for data, events in ((torn, recovered[1]), (made.data, made.events), (made.data[: made.ends[1]], batch(0, 2))):
        path.write_bytes(data)
        for _ in range(2):
            handle = await service.open("s", "read")
            assert await handle.read() == await handle.read() == events
            snapshot = await service.stat("s")
            assert snapshot is not None
            assert [each.event_count for each in (snapshot, *await service.list())] == [len(events)] * 2
            await handle.close()
    await service.close()
