"""What the reference costs the crash laboratory: the minimum check of a small log, over and over, on one core.

One check: a fresh instance, write open, read, append of one event, no close; another fresh instance, read open, read.
It runs on the simulated loop, where jobs for threads run in line. Putting the image there and letting the dead
instance go is the laboratory's own work, and is not timed. Beside it, in the same rounds: the bare system calls of
such a check, and the bare decoding and encoding, which no backend can do without.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

import orjson
import zstandard
from timing import each, take_turns

from conformance.contract import Backend, SessionHeader
from conformance.sim import SimLoop
from reference_backend import JsonlPersistence, jsonl, jsonl_raw
from reference_backend.frames import FOOTER_HEAD, FOOTER_SIZE, FRAME_MAGIC

ROUNDS = 40
CHECKS = 50
"""Checks in one round."""


def event(seq: int) -> dict[str, Any]:
    """A user's message."""
    data = {
        "id": f"m{seq}",
        "role": "user",
        "content": [{"type": "text", "text": f"hello {seq}"}],
        "source": {"kind": "user"},
    }
    return {"type": "user/message", "seq": seq, "time": 1000 + seq, "data": data}


class Bench:
    """One backend over one small log of eight events in four batches."""

    def __init__(self, backend: Backend, root: Path, *, torn: int = 0) -> None:
        self._backend = backend
        self._root = root
        SimLoop().run(self._write())
        self.path = next(path for path in (root / "s").iterdir() if path.name != "session.lock")
        data = self.path.read_bytes()
        self.image = data[: len(data) - torn]

    async def _write(self) -> None:
        service: JsonlPersistence = self._backend.open(self._root)
        handle = await service.create(SessionHeader("s", 1000, cwd="/c"))
        seq = 0
        for count in (2, 1, 3, 2):
            await handle.append([event(seq + n) for n in range(count)])
            seq += count
        await service.close()

    def checks(self) -> float:
        """Seconds of one check, the mean of a round."""
        return sum(self._check() for _ in range(CHECKS)) / CHECKS

    def _check(self) -> float:
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(self.image)
        loop = SimLoop()
        seconds, *services = loop.run(self._minimum())
        for service in services:
            loop.run(service.close())
        return seconds

    async def _minimum(self) -> tuple[float, JsonlPersistence, JsonlPersistence]:
        begin = thread_time()
        first: JsonlPersistence = self._backend.open(self._root)
        writer = await first.open("s", "write")
        events = await writer.read()
        await writer.append([event(len(events))])
        second: JsonlPersistence = self._backend.open(self._root)
        reader = await second.open("s", "read")
        again = await reader.read()
        seconds = thread_time() - begin
        if len(again) != len(events) + 1:
            raise RuntimeError(f"{len(events)} events and one more were {len(again)} when they were read again")
        return seconds, first, second

    def system_calls(self) -> float:
        """Seconds of the bare system calls of one check, the mean of a round."""
        return sum(self._bare_calls() for _ in range(CHECKS)) / CHECKS

    def _bare_calls(self) -> float:
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(self.image)
        path, directory, size = str(self.path), str(self.path.parent), len(self.image)
        begin = thread_time()
        log = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        os.fstat(log)
        os.pread(log, size, 0)
        lock = os.open(f"{directory}/session.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(path)
        os.listdir(directory)
        os.pread(log, size, 0)
        os.pwrite(log, self.image[size // 2 :], size // 2)
        os.fsync(log)
        above = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(above)
        os.close(above)
        os.pwrite(log, bytes(170), size)
        os.fdatasync(log)
        other = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        os.fstat(other)
        os.listdir(directory)
        os.pread(other, size + 170, 0)
        seconds = thread_time() - begin
        for fd in (log, lock, other):
            os.close(fd)
        return seconds


def bare_codec(image: bytes) -> Callable[[], float]:
    """Decodes the framed log twice and encodes a batch: what a check has to do at least."""
    decompress, compress = zstandard.ZstdDecompressor().decompress, zstandard.ZstdCompressor().compress
    frames: list[bytes] = []
    at = image.find(FRAME_MAGIC, 4)
    while at < len(image):
        foot = image.find(FOOTER_HEAD, at)
        frames.append(image[at:foot])
        at = foot + FOOTER_SIZE
    last = event(8)

    def run() -> float:
        begin = thread_time()
        for _ in range(CHECKS):
            for _ in range(2):
                text = b"".join([decompress(frame) for frame in frames])
                orjson.loads(b"[%b]" % text[:-1].replace(b"\n", b","))
            compress(orjson.dumps(last))
        return (thread_time() - begin) / CHECKS

    return run


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    options.add_argument("--directory", default=in_memory, help="a directory in memory (default: %(default)s)")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as path:
        root = Path(path)
        framed = Bench(jsonl, root / "framed")
        contenders = {
            "jsonl": framed.checks,
            "jsonl, torn footer": Bench(jsonl, root / "torn", torn=20).checks,
            "jsonl, torn frame": Bench(jsonl, root / "cut", torn=150).checks,
            "jsonl-raw": Bench(jsonl_raw, root / "raw").checks,
            "jsonl-raw, torn line": Bench(jsonl_raw, root / "raw-torn", torn=20).checks,
            "bare system calls": framed.system_calls,
            "bare codec": bare_codec(framed.image),
        }
        seconds = take_turns(contenders, given.rounds)
    for name, rounds in seconds.items():
        print(f"{name:22} {each(rounds):>32}   {1 / min(rounds):>8,.0f} a second at best")


if __name__ == "__main__":
    main()
