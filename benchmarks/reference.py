"""The reference backend against the bare work it cannot avoid, and how its costs grow.

Appending: append and flush on a disk file system, against a bare loop that writes the same bytes and calls fdatasync,
and against SQLite (WAL, synchronous=FULL, one transaction for each batch). Reading: a log of batches of ten, against
bare decompression and orjson over the same frames. Growth: the same calls on logs of 10^2 to 10^6 events, and among
10 and 10^4 sessions.

Contenders take turns in one run; see README.md for what the figures mean.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sqlite3
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson
import zstandard
from timing import each, ratio, take_turns

from conformance.contract import Backend, SessionEvent, SessionHeader
from reference_backend import JsonlPersistence, jsonl, jsonl_raw
from reference_backend.artifact import header_line
from reference_backend.frames import FOOTER_HEAD, FOOTER_SIZE, FRAME_MAGIC
from reference_backend.ids import directory_name
from reference_backend.positions import Codec
from reference_backend.raw_codec import RawCodec
from reference_backend.records import encode_lines
from reference_backend.zstd_codec import ZstdCodec

BACKENDS: dict[str, tuple[Backend, Codec]] = {"jsonl": (jsonl, ZstdCodec()), "jsonl-raw": (jsonl_raw, RawCodec())}
APPENDS = 50
"""Appends in one round."""

WORDS = "the quick session kept every event it was given and told nobody which of them came first again".split()


def event(seq: int) -> SessionEvent:
    """A message of a few dozen words, different for each seq."""
    text = " ".join(WORDS[(seq * 7 + n * n) % len(WORDS)] for n in range(40))
    content = [{"type": "text", "text": f"{seq}: {text}"}]
    data: dict[str, Any] = {"id": f"m{seq}", "role": "user", "content": content, "source": {"kind": "user"}}
    return {"type": "user/message", "seq": seq, "time": 1_700_000_000_000 + seq, "data": data}


def batches(first: int, total: int, size: int) -> Iterator[list[SessionEvent]]:
    """The events from ``first`` on in batches of ``size``."""
    for start in range(first, first + total, size):
        yield [event(seq) for seq in range(start, min(start + size, first + total))]


def write_log(root: Path, codec: Codec, session_id: str, total: int, size: int) -> Path:
    """A stored session, made by the codec alone: appending 10^6 events durably takes a while."""
    directory = root / directory_name(session_id)
    directory.mkdir(parents=True)
    path = directory / codec.file_name
    with path.open("wb") as file:
        data, log = codec.encode_header(header_line(SessionHeader(session_id, 1000), None))
        file.write(data)
        for events in batches(0, total, size):
            data, log = codec.encode_batch(encode_lines(events), len(events), log)
            file.write(data)
    return path


# -- appending ----------------------------------------------------------------------------------------------------


class BackendAppends:
    """Appends of one session, each flushed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, backend: Backend, root: Path) -> None:
        self._loop = loop
        self.service: JsonlPersistence = backend.open(root)
        self._handle = loop.run_until_complete(self.service.create(SessionHeader("s", 1000)))
        self._seqs = count()
        # What a first append does besides, making directories and the file, is not what is compared.
        self.round()

    def round(self) -> float:
        """Seconds of a round."""
        prepared = [[event(next(self._seqs))] for _ in range(APPENDS)]
        return self._loop.run_until_complete(self._append(prepared))

    async def _append(self, prepared: list[list[SessionEvent]]) -> float:
        begin = perf_counter()
        for events in prepared:
            await self._handle.append(events)
            await self._handle.flush()
        return perf_counter() - begin


class BareAppends:
    """The bytes of such appends, written and synced with nothing around it."""

    def __init__(self, path: Path, codec: Codec) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._codec = codec
        self._seqs = count()
        data, self._log = codec.encode_header(header_line(SessionHeader("s", 1000), None))
        os.write(self._fd, data)
        self.round()

    def round(self) -> float:
        """Seconds of a round; encoding is not among them."""
        prepared = []
        for _ in range(APPENDS):
            data, self._log = self._codec.encode_batch(encode_lines([event(next(self._seqs))]), 1, self._log)
            prepared.append(data)
        fd = self._fd
        begin = perf_counter()
        for data in prepared:
            os.write(fd, data)
            os.fdatasync(fd)
        return perf_counter() - begin


class SqliteAppends:
    """The same events as rows, one durable transaction each."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE events (session TEXT, seq INTEGER, body TEXT, PRIMARY KEY (session, seq))")
        self._seqs = count()
        self.round()

    def round(self) -> float:
        """Seconds of a round; encoding is among them, as it is for the backends."""
        prepared = [event(next(self._seqs)) for _ in range(APPENDS)]
        execute = self._db.execute
        begin = perf_counter()
        for one in prepared:
            execute("BEGIN IMMEDIATE")
            execute("INSERT INTO events VALUES (?, ?, ?)", ("s", one["seq"], orjson.dumps(one).decode()))
            execute("COMMIT")
        return perf_counter() - begin


def appending(root: Path, rounds: int) -> None:
    """Print the ratios of append + flush."""
    loop = asyncio.new_event_loop()
    appends = {name: BackendAppends(loop, backend, root / name) for name, (backend, _) in BACKENDS.items()}
    bare = {f"bare {name}": BareAppends(root / f"bare-{name}", codec) for name, (_, codec) in BACKENDS.items()}
    contenders: dict[str, Callable[[], float]] = {name: one.round for name, one in appends.items()}
    contenders.update({name: one.round for name, one in bare.items()})
    contenders["sqlite"] = SqliteAppends(root / "events.db").round
    seconds = take_turns(contenders, rounds)
    print(f"append + flush of one event, {rounds} rounds of {APPENDS}")
    for name, times in seconds.items():
        print(f"  {name:16} {each(times, APPENDS)}")
    for name in BACKENDS:
        against = f"{ratio(seconds, name, f'bare {name}'):.2f} x bare, {ratio(seconds, name, 'sqlite'):.2f} x SQLite"
        print(f"  {name:16} {against}")
    for name in BACKENDS:
        loop.run_until_complete(appends[name].service.close())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


# -- reading ------------------------------------------------------------------------------------------------------


def reading(root: Path, rounds: int, events: int = 10_000) -> None:
    """Print the ratio of reading a whole log in batches of ten."""
    path = write_log(root / "read", ZstdCodec(), "s", events, 10)
    loop = asyncio.new_event_loop()
    service: JsonlPersistence = jsonl.open(root / "read")
    reader = loop.run_until_complete(service.open("s", "read"))
    frames = list(frames_of(path.read_bytes()))
    decompress = zstandard.ZstdDecompressor().decompress

    def bare() -> None:
        found: list[Any] = []
        for frame in frames:
            found += orjson.loads(b"[%b]" % decompress(frame)[:-1].replace(b"\n", b","))

    seconds = take_turns({"jsonl": lambda: loop.run_until_complete(reader.read()), "bare": bare}, rounds)
    print(f"reading {events:,} events in batches of 10, {rounds} rounds")
    for name, times in seconds.items():
        print(f"  {name:16} {each(times, events)} for each event")
    print(f"  {'jsonl':16} {ratio(seconds, 'jsonl', 'bare'):.2f} x bare")
    loop.run_until_complete(service.close())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def frames_of(data: bytes) -> Iterator[bytes]:
    """The frames of the batches of a framed log."""
    at = data.find(FRAME_MAGIC, len(FRAME_MAGIC))
    while at < len(data):
        foot = data.find(FOOTER_HEAD, at)
        yield data[at:foot]
        at = foot + FOOTER_SIZE


# -- growth -------------------------------------------------------------------------------------------------------


async def timed(work: Callable[[], Awaitable[Any]], times: int) -> float:
    """The median of some calls, in microseconds."""
    found = []
    for _ in range(times):
        begin = perf_counter()
        await work()
        found.append(perf_counter() - begin)
    return statistics.median(found) * 1e6


async def calls_on(backend: Backend, root: Path, session_id: str, events: int) -> dict[str, float]:
    """Microseconds of each call on one stored session, whose log grows by a few events."""
    service: JsonlPersistence = backend.open(root)
    found = {"stat": await timed(lambda: service.stat(session_id), 15)}

    async def opened() -> None:
        await (await service.open(session_id, "read")).close()

    found["open"] = await timed(opened, 15)
    reader = await service.open(session_id, "read")
    for name, offset in (("first 4", 0), ("middle 4", events // 2), ("last 4", events - 4)):
        found[name] = await timed(lambda offset=offset: reader.read(offset, 4), 9)  # type: ignore[misc]
    found["read / event"] = await timed(reader.read, 3 if events <= 10_000 else 1) / events
    begin = perf_counter()
    writer = await service.open(session_id, "write")
    found["write open"] = (perf_counter() - begin) * 1e6
    seqs = count(events)
    await writer.append([event(next(seqs))])
    found["append + flush"] = await timed(lambda: _append(writer, next(seqs)), 15)
    await service.close()
    return found


async def _append(writer: Any, seq: int) -> None:
    await writer.append([event(seq)])
    await writer.flush()


def growth(root: Path, *, most: int) -> None:
    """Print what each call costs as logs grow, and as sessions multiply."""
    for name, (backend, codec) in BACKENDS.items():
        columns: dict[str, dict[str, float]] = {}
        for events in (size for size in (100, 10_000, 1_000_000) if size <= most):
            where = root / f"growth-{name}-{events}"
            write_log(where, codec, "s", events, 10)
            columns[f"{events:,}"] = asyncio.run(calls_on(backend, where, "s", events))
            shutil.rmtree(where)
        table(f"{name}: us by events in the log", columns)
        columns = {}
        for sessions in (10, 10_000):
            where = root / f"sessions-{name}-{sessions}"
            for number in range(sessions):
                write_log(where, codec, f"s{number}", 10, 10)
            columns[f"{sessions:,}"] = asyncio.run(calls_among(backend, where, sessions))
            shutil.rmtree(where)
        table(f"{name}: us by sessions", columns)


async def calls_among(backend: Backend, root: Path, sessions: int) -> dict[str, float]:
    """Microseconds of each call on one session among many."""
    found = await calls_on(backend, root, f"s{sessions // 2}", 10)
    service: JsonlPersistence = backend.open(root)
    found["list / session"] = await timed(service.list, 1) / sessions
    await service.close()
    return found


def table(title: str, columns: dict[str, dict[str, float]]) -> None:
    """Print figures by row and column."""
    print(title)
    print(f"  {'':16}" + "".join(f"{name:>14}" for name in columns))
    for row in next(iter(columns.values())):
        print(f"  {row:16}" + "".join(f"{column[row]:>14,.1f}" for column in columns.values()))


def main() -> None:
    """Print what was asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", nargs="*", default=["append", "read", "growth"], metavar="append|read|growth")
    options.add_argument("--directory", default=".", help="a directory on a disk file system (default: this one)")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--most", type=int, default=1_000_000, help="the longest log that growth makes, in events")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="torntail-benchmark-") as path:
        root = Path(path)
        if "append" in given.what:
            appending(root, given.rounds)
        if "read" in given.what:
            reading(root, given.rounds)
        if "growth" in given.what:
            growth(root, most=given.most)


if __name__ == "__main__":
    main()
