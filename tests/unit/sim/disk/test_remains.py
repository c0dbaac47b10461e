"""Descriptors that a dead instance left open are closed, and their numbers harm nobody."""

from __future__ import annotations

import fcntl
import gc
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.sim.disk import Recorder
from conformance.sim.disk import remains as remains_module
from conformance.sim.disk.remains import MOST_KEPT, Remains, release_numbers


@pytest.fixture(autouse=True)
def freed() -> Iterator[None]:
    """No number is held back by an earlier test, nor left to a later one."""
    release_numbers()
    yield
    release_numbers()


def is_open(fd: int) -> bool:
    """Whether the number leads anywhere."""
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def left_open(root: Path) -> tuple[Remains, list[io.BufferedWriter], int]:
    """A buffered file with something in its buffer, and a number with a lock on its file."""
    with Recorder(root) as recorder:
        stream = open(root / "f", "wb")  # noqa: SIM115
        stream.write(b"in the buffer")
        fd = os.open(root / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.close(os.open(root / "closed", os.O_CREAT))
        return recorder.left_open(), [stream], fd


def test_locks_are_released(patching: object, root: Path) -> None:
    """A lock that a bare number held can be taken after it, though nobody closed the number."""
    remains, _streams, fd = left_open(root)
    with open(root / "lock") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remains.close()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert is_open(fd)
    release_numbers()
    assert not is_open(fd)


def test_dead_buffers_reach_nobody(patching: object, root: Path, tmp_path: Path) -> None:
    """A buffer that is flushed late writes nothing, and nothing into the file that has its number now."""
    remains, streams, _ = left_open(root)
    number = streams[0].fileno()
    remains.close()
    with open(tmp_path / "living", "wb") as living:
        assert living.fileno() == number
        with pytest.raises(ValueError, match="closed file"):
            streams[0].flush()
        streams.clear()
        gc.collect()
        assert is_open(number)
    assert (tmp_path / "living").read_bytes() == b""
    assert (root / "f").read_bytes() == b""


def test_dead_numbers_reach_nobody(patching: object, root: Path, tmp_path: Path) -> None:
    """What is written to a bare number afterwards goes nowhere, and closing it closes nobody's file."""
    remains, _streams, fd = left_open(root)
    remains.close()
    with open(tmp_path / "living", "wb") as living:
        assert living.fileno() != fd
        os.write(fd, b"late")
    os.close(fd)
    with open(tmp_path / "living", "rb") as living:
        assert living.fileno() == min(fd, living.fileno())
        release_numbers()
        assert living.read() == b""
    assert (root / "lock").read_bytes() == b""


def test_what_was_closed_since_is_left_alone(patching: object, root: Path, tmp_path: Path) -> None:
    """A number that went to somebody else in between stays with them."""
    remains, streams, fd = left_open(root)
    streams[0].close()
    os.close(fd)
    with open(tmp_path / "one", "wb") as one, open(tmp_path / "two", "wb") as two:
        remains.close()
        one.write(b"1")
        two.write(b"2")
    assert (tmp_path / "one").read_bytes() == b"1"
    assert (tmp_path / "two").read_bytes() == b"2"


def test_numbers_are_not_held_back_for_ever(patching: object, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many were left open, only so many wait for their owners to be collected."""
    monkeypatch.setattr(remains_module, "MOST_KEPT", 8)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        remains, _streams, _ = left_open(root)
        remains.close()
    assert len(os.listdir("/proc/self/fd")) <= before + 8 + 2
    assert MOST_KEPT == 200
