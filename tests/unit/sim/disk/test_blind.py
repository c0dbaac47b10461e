"""What the recorder cannot see is told, with its reason; it is never taken for nothing."""

from __future__ import annotations

import mmap
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.sim.disk import Recorder


def test_a_writable_mapping_blinds(patching: object, root: Path) -> None:
    """A shared mapping for writing is told, and its writes are found by the image check."""
    (root / "f").write_bytes(b"before")
    with Recorder(root) as recorder:
        with open(root / "f", "r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapping:
            assert isinstance(mapping, mmap.mmap)
            mapping[:6] = b"behind"
        assert "'root/f' was mapped into memory for writing" in recorder.blind
        assert "differ from byte 2 on" in recorder.check_image()
        assert len(recorder.doubts()) == 2


@pytest.mark.parametrize(
    "options",
    [{"access": mmap.ACCESS_READ}, {"access": mmap.ACCESS_COPY}, {"prot": mmap.PROT_READ}, {"flags": mmap.MAP_PRIVATE}],
    ids=["read", "copy", "prot", "private"],
)
def test_a_mapping_that_writes_nothing_back_is_a_read(patching: object, root: Path, options: dict[str, int]) -> None:
    """Other mappings blind nothing, and count as a read of their length."""
    (root / "f").write_bytes(b"before")
    with Recorder(root) as recorder:
        with open(root / "f", "r+b") as stream, mmap.mmap(stream.fileno(), 0, **options) as mapping:
            assert mapping[:3] == b"bef"
        assert recorder.blind == ""
        assert recorder.total().bytes_read == 6


def by_subprocess(root: Path) -> None:
    """Another process makes a file."""
    subprocess.run([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').close()", root / "g"], check=True)


def by_extension(root: Path) -> None:
    """A C extension makes a file."""
    database = sqlite3.connect(root / "g")
    database.execute("create table t (x)")
    database.close()


@pytest.mark.parametrize("way", [by_subprocess, by_extension])
def test_an_unseen_writer_is_found_by_the_image(patching: object, root: Path, way: Callable[[Path], None]) -> None:
    """Another process and a C extension leave files that were never recorded, and the message says so."""
    with Recorder(root) as recorder:
        way(root)
    assert recorder.check_image().startswith("'g': a file is on the disk and none recorded: something writes that")


def test_a_file_that_appeared_unseen_blinds_where_it_is_used(patching: object, root: Path) -> None:
    """Opening, removing or moving what was never recorded is told."""
    with Recorder(root) as recorder:
        for name in "abc":
            subprocess.run(["touch", root / name], check=True)
        (root / "a").read_bytes()
        (root / "b").unlink()
        os.rename(root / "c", root / "d")
        assert recorder.doubts()[0] == "'root/a' was opened, and was not recorded being made"
        assert recorder.doubts()[1] == "'root/b' is there, and was not recorded being made"
        assert recorder.doubts()[2] == "'root/c' is there, and was not recorded being made"


def unseen(*command: str | Path) -> None:
    """Do something that the recorder cannot see."""
    subprocess.run(command, check=True)


def test_what_changed_unseen_blinds_where_names_no_longer_fit(patching: object, root: Path) -> None:
    """Names that lead through the unknown, and names that are made although they are known, are told."""
    for name in ("f", "g", "h"):
        (root / name).touch()
    with Recorder(root) as recorder:
        unseen("mkdir", root / "d")
        (root / "d" / "x").touch()
        unseen("rm", root / "f", root / "g", root / "h")
        (root / "f").mkdir()
        (root / "g").symlink_to("f")
        os.close(os.open(root / "h", os.O_CREAT | os.O_EXCL))
        (root / "f" / "x").mkdir()
        unseen("mkdir", root / "e")
        os.link(root / "h", root / "e" / "h")
    assert recorder.doubts()[:-1] == (
        "'root/d/x' leads through 'd', which was not recorded being made",
        "'root/f' was made, and was not recorded being removed",
        "'root/g' was made, and was not recorded being removed",
        "'root/h' was made, and was not recorded being removed",
        "'root/f/x' leads through something that is no directory as far as was recorded",
        "'root/e/h' leads through 'e', which was not recorded being made",
    )


def test_a_descriptor_from_before_blinds(patching: object, root: Path) -> None:
    """A file of the root that was open before the recording may be written unseen."""
    with open(root / "f", "wb") as stream, Recorder(root) as recorder:
        stream.write(b"x")
    assert "was open before the recording began" in recorder.blind
    assert recorder.check_image().startswith("'f': 0 bytes are recorded, 1 are on the disk")


@pytest.mark.parametrize("inwards", [True, False])
def test_a_move_over_the_border_blinds(patching: object, root: Path, tmp_path: Path, inwards: bool) -> None:
    """What comes from outside has an unknown past, and what goes there an unknown future."""
    ends = [root / "f", tmp_path / "f"]
    ends[inwards].write_bytes(b"x")
    with Recorder(root) as recorder:
        os.rename(ends[inwards], ends[not inwards])
    assert "a rename crossed the border of the root" in recorder.blind


def test_a_link_from_outside_blinds(patching: object, root: Path, tmp_path: Path) -> None:
    """A file that has a name outside may be changed there."""
    (tmp_path / "f").write_bytes(b"x")
    with Recorder(root) as recorder:
        os.link(tmp_path / "f", root / "f")
    assert "was linked to 'root/f'" in recorder.blind


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no pipes with names")
def test_a_pipe_blinds(patching: object, root: Path) -> None:
    """What is no file has no image."""
    with Recorder(root) as recorder:
        os.mkfifo(root / "p")
        fd = os.open(root / "p", os.O_RDWR)
        os.write(fd, b"into the pipe")
        os.close(fd)
    assert "'root/p' was made, which is no file" in recorder.blind


def test_a_quiet_recording_has_no_doubts(recorder: Recorder, root: Path) -> None:
    """Ordinary work gives no reason to doubt."""
    (root / "f").write_bytes(b"x")
    assert recorder.doubts() == ()
