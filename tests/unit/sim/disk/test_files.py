"""The file objects under the root are like those outside it: same types, attributes, errors and warnings."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.sim.disk import Recorder

CONTENT = "first\nsecond ü\r\nthird\n".encode()


def described(function: Callable[[], Any]) -> tuple[object, ...]:
    """What a call gives: its result's text or its error, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = repr(function())
        except Exception as error:  # noqa: BLE001
            # Errors are what is compared here.
            outcome = f"{type(error).__name__}: {error}"
    return outcome, [(warning.category, str(warning.message)) for warning in caught]


def look(path: Path, mode: str, options: dict[str, Any]) -> list[tuple[object, ...]]:
    """Open a file, use it in every way, and tell what came of each."""
    seen: list[Any] = []
    stream: Any = None

    def opened() -> str:
        nonlocal stream
        stream = open(path, mode, **options)  # noqa: SIM115
        return type(stream).__name__

    seen.append(described(opened))
    if stream is not None:
        data: Any = b"data" if "b" in mode else "data"
        for use in (
            lambda: (stream.mode, stream.closed, stream.fileno() > 2, Path(stream.name).name),
            lambda: (stream.readable(), stream.writable(), stream.seekable(), stream.isatty()),
            lambda: (getattr(stream, "encoding", None), getattr(stream, "errors", None), stream.tell()),
            lambda: (getattr(stream, "line_buffering", None), getattr(stream, "newlines", None)),
            lambda: type(getattr(stream, "buffer", stream)).__name__,
            lambda: stream.read(3),
            lambda: stream.readline(),
            lambda: stream.read(),
            lambda: stream.read(),
            lambda: stream.write(data),
            lambda: stream.flush(),
            lambda: stream.seek(0),
            lambda: stream.readlines(),
            lambda: stream.truncate(7),
            lambda: stream.readinto(bytearray(4)),
            lambda: stream.close(),
            lambda: stream.closed,
            lambda: stream.read(1),
            lambda: stream.write(data),
            lambda: stream.truncate(),
            lambda: stream.fileno(),
            lambda: stream.close(),
        ):
            seen.append(described(use))
    seen.append((path.read_bytes() if path.exists() else None,))
    return seen


CASES: list[tuple[str, dict[str, Any]]] = [
    *((mode, {}) for mode in ("r", "w", "a", "x", "r+", "w+", "a+", "rt", "rb", "wb", "ab", "rb+", "wb+", "ab+")),
    *((mode, {"buffering": 0}) for mode in ("r", "w", "rb", "wb", "ab", "rb+")),
    *((mode, {"buffering": 1}) for mode in ("w", "r", "wb", "rb+")),
    *((mode, {"buffering": 5}) for mode in ("w", "rb", "wb", "rb+")),
    ("r", {"encoding": "utf-8", "newline": ""}),
    ("w", {"encoding": "utf-16", "errors": "replace", "newline": "\r\n"}),
    ("r", {"encoding": "ascii", "errors": "strict"}),
    ("w", {"encoding": "no such"}),
    ("w", {"newline": "wrong"}),
    ("wb", {"encoding": "utf-8"}),
    ("rb", {"errors": "strict"}),
    ("rb", {"newline": ""}),
    *((mode, {}) for mode in ("", "b", "rw", "rr", "rbt", "U", "z")),
    ("r", {"closefd": False}),
    ("rb", {"opener": os.open}),
    ("wb", {"opener": lambda path, flags: -1}),
]


@pytest.mark.parametrize("there", [True, False], ids=["present", "absent"])
def test_a_file_object_behaves_as_the_real_one(patching: object, tmp_path: Path, there: bool) -> None:
    """Every mode and option gives what it gives outside the root: results, errors, warnings and bytes."""
    root, outside = tmp_path / "root", tmp_path / "outs"
    root.mkdir()
    outside.mkdir()
    with Recorder(root) as recorder:
        for number, (mode, options) in enumerate(CASES):
            seen = []
            for place in (root, outside):
                file = place / str(number)
                if there:
                    file.write_bytes(CONTENT)
                seen.append([str(item).replace(str(place), "") for item in look(file, mode, options)])
            assert seen[0] == seen[1], (mode, options)
        assert recorder.check_image() == ""


def test_a_directory_cannot_be_opened_as_a_file(recorder: Recorder, root: Path) -> None:
    """The error is the real one, and the descriptor that was open for a moment is not taken for one of the root's."""
    with pytest.raises(IsADirectoryError):
        open(root)  # noqa: SIM115
    with pytest.raises(IsADirectoryError):
        io.FileIO(root)
    fd = os.open(os.devnull, os.O_WRONLY)
    os.write(fd, b"x")
    os.close(fd)
    assert recorder.total().writes == 0


def test_files_are_made_with_the_usual_mode(recorder: Recorder, root: Path, tmp_path: Path) -> None:
    """A new file's permissions follow the umask, and its descriptor is not inherited."""
    with open(root / "f", "w") as stream, open(tmp_path / "f", "w") as other:
        assert os.fstat(stream.fileno()).st_mode == os.fstat(other.fileno()).st_mode
        assert not os.get_inheritable(stream.fileno())


def test_a_partial_write_is_recorded_as_far_as_it_went(
    recorder: Recorder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A raw file whose disk takes a part of the data gives one operation for what was taken."""
    with open(root / "f", "wb", buffering=0) as stream:
        assert stream.write(memoryview(b"abcdef")[::1]) == 6
        assert stream.write(b"") == 0
    assert recorder.total().writes == 2
    assert dict(recorder.image().files) == {"f": b"abcdef"}


def test_reads_are_counted_by_what_they_gave(recorder: Recorder, root: Path) -> None:
    """Raw, buffered and text reads count their bytes once, and the read at the end counts as a read of none."""
    (root / "f").write_bytes(b"x" * 100)
    recorder.mark_begin(1)
    with open(root / "f", "rb", buffering=0) as raw:
        assert len(raw.read(10)) == 10
        assert len(raw.read()) == 90
        assert raw.readall() == b""
    recorder.mark_end(1)
    recorder.mark_begin(2)
    with open(root / "f", encoding="ascii") as text:
        assert len(text.read()) == 100
    recorder.mark_end(2)
    recorder.mark_begin(3)
    fd = os.open(root / "f", os.O_RDONLY)
    os.readv(fd, [bytearray(3), bytearray(4)])
    os.preadv(fd, [bytearray(5)], 0)
    os.read(fd, 6)
    os.close(fd)
    recorder.mark_end(3)
    one, two, three = (recorder.counts(call) for call in (1, 2, 3))
    assert (one.reads, one.bytes_read) == (3, 100)
    assert (two.bytes_read, two.opens) == (100, 1)
    assert (three.reads, three.bytes_read) == (3, 18)


def test_a_file_object_outlives_its_recording(root: Path) -> None:
    """A file opened during a recording goes on unrecorded afterwards, and in the next recording is a doubt."""
    with Recorder(root) as recorder:
        stream = open(root / "f", "w+b")  # noqa: SIM115
        stream.write(b"held back")
    stream.flush()
    stream.seek(0)
    assert stream.read() == b"held back"
    assert stream.truncate(4) == 4
    assert recorder.check_image().startswith("'f': 0 bytes are recorded, 4 are on the disk")
    with Recorder(root) as following:
        stream.write(b"!")
        stream.close()
    assert "was open before the recording began" in following.blind
    assert stream.closed
