"""A file under the root is found by every spelling of its path, and nothing outside is taken for one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.sim.disk import Recorder
from conformance.sim.disk.ops import Create, Mkdir, Symlink, Write


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A root with a file and a directory; beside it a link to it, to its file and to its directory."""
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "f").write_bytes(b"")
    (root / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "to-root").symlink_to("root")
    (tmp_path / "to-file").symlink_to(root / "f")
    (tmp_path / "to-directory").symlink_to("to-root/d")
    return tmp_path


SPELLINGS: dict[str, Callable[[Path], object]] = {
    "plain": lambda world: str(world / "root" / "f"),
    "bytes": lambda world: os.fsencode(world / "root" / "f"),
    "path object": lambda world: world / "root" / "f",
    "doubled slashes": lambda world: f"{world}//root///f",
    "dots": lambda world: f"{world}/root/./d/../f",
    "out and in": lambda world: f"{world}/root/../root/f",
    "from outside": lambda world: f"{world}/outside/../root/f",
    "relative": lambda world: "root/f",
    "relative with dots": lambda world: "outside/../root/f",
    "link to the root": lambda world: world / "to-root" / "f",
    "link to the file": lambda world: world / "to-file",
    "link to a directory": lambda world: world / "to-directory" / ".." / "f",
    "link out of the root": lambda world: world / "root" / "out" / ".." / "root" / "f",
}


@pytest.fixture
def inside(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world as working directory."""
    monkeypatch.chdir(world)
    return world


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_found(patching: object, inside: Path, spelling: str) -> None:
    """One write by any spelling is one write of the file."""
    path = SPELLINGS[spelling](inside)
    with Recorder(inside / "root") as recorder:
        fd = os.open(path, os.O_WRONLY)  # type: ignore[arg-type]
        os.write(fd, b"x")
        os.close(fd)
    assert [type(op) for op in recorder.ops] == [Write]
    assert recorder.check_image() == ""
    assert recorder.total().opens == 1


@pytest.mark.parametrize("spelling", ["to-root", "root/../root", "root/"])
def test_the_root_itself_may_be_spelled_otherwise(patching: object, inside: Path, spelling: str) -> None:
    """A recorder of a root given through a link, or in a roundabout way, sees the plain paths too."""
    with Recorder(spelling) as recorder:
        (inside / "root" / "new").write_bytes(b"x")
        (inside / "to-root" / "new").write_bytes(b"yz")
    assert recorder.total().bytes_written == 3
    assert recorder.check_image() == ""


@pytest.mark.parametrize("record", [True, False])
def test_what_leads_out_of_the_root_is_outside(patching: object, inside: Path, record: bool) -> None:
    """A sibling whose name begins alike, `..` out of the root, and the directory above are not recorded."""
    with Recorder(inside / "root", record=record) as recorder:
        (inside / "root2").mkdir()
        (inside / "root2" / "f").write_bytes(b"x")
        Path(f"{inside}/root/../outside/f").write_bytes(b"x")
        os.stat(inside)
        os.listdir(inside / "outside")
    total = recorder.total()
    assert (total.bytes_written, total.opens, total.listed) == (0, 0, 0)
    assert recorder.doubts() == ()


def test_what_a_link_leads_out_to_is_not_recorded(patching: object, inside: Path) -> None:
    """A file reached through a link that leaves the root is not one of the root's."""
    with Recorder(inside / "root") as recorder:
        (inside / "root" / "out" / "f").write_bytes(b"x")
        (inside / "root" / "inwards").symlink_to("d")
        (inside / "root" / "inwards" / "g").write_bytes(b"x")
        (inside / "root" / "around").symlink_to(inside / "to-root" / "d")
        (inside / "root" / "around" / "h").write_bytes(b"x")
        (inside / "root" / "up").symlink_to("../../up")
        os.mkdir(inside.parent / "up")
        (inside / "root" / "up" / "f").write_bytes(b"x")
    assert [type(op) for op in recorder.ops] == [Symlink, Create, Write, Symlink, Create, Write, Symlink]
    assert recorder.doubts() == ()


def test_a_link_outside_is_not_the_file_it_leads_to(patching: object, inside: Path) -> None:
    """Removing and moving a link that leads into the root changes nothing in it."""
    with Recorder(inside / "root") as recorder:
        os.rename(inside / "to-file", inside / "renamed")
        os.unlink(inside / "renamed")
    assert list(recorder.ops) == []
    assert recorder.check_image() == ""


def test_a_link_made_later_is_noticed(patching: object, inside: Path) -> None:
    """A path that led elsewhere when it was first used leads into the root once a link was made or moved there."""
    with Recorder(inside / "root") as recorder:
        late = inside / "late"
        late.mkdir()
        (late / "f").write_bytes(b"outside")
        (late / "f").unlink()
        late.rmdir()
        late.symlink_to("root")
        (late / "f").write_bytes(b"1")
        late.unlink()
        late.mkdir()
        (inside / "moved").symlink_to("root")
        assert not (late / "f").exists()
        late.rmdir()
        os.rename(inside / "moved", late)
        (late / "f").write_bytes(b"2")
        assert recorder.total().bytes_written == 2
        assert recorder.check_image() == ""


def test_a_descriptor_of_the_directory_above_reaches_the_root(patching: object, inside: Path) -> None:
    """`dir_fd` may be any directory above, or a link's."""
    with Recorder(inside / "root") as recorder:
        for start, path in (
            (inside, "root/a"),
            (inside.parent, f"{inside.name}/root/b"),
            (inside / "outside", "../root/c"),
        ):
            fd = os.open(start, os.O_RDONLY)
            os.mkdir(path, dir_fd=fd)
            os.mkdir("root2", dir_fd=fd)
            os.rmdir("root2", dir_fd=fd)
            os.close(fd)
    assert [op.name for op in recorder.ops if isinstance(op, Mkdir)] == ["a", "b", "c"]
    assert recorder.check_image() == ""


def test_paths_that_cannot_be_are_refused_as_usual(recorder: Recorder, root: Path) -> None:
    """NUL bytes, lone surrogates and wrong types raise what the real functions raise."""
    wrong: list[tuple[Any, type[Exception]]] = [
        ("a\0b", ValueError),
        ("\ud800", UnicodeEncodeError),
        (1.5, TypeError),
        (None, TypeError),
    ]
    calls: list[Callable[[Any], object]] = [os.mkdir, os.unlink, lambda path: os.open(path, 0)]
    for path, error in wrong:
        for call in calls:
            with pytest.raises(error):
                call(path)
    with pytest.raises(ValueError, match="null"):
        os.mkdir(f"{root}/a\0b")
    with pytest.raises(FileNotFoundError):
        os.mkdir("")
    assert list(recorder.ops) == []
