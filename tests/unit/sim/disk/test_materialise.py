"""Trees become plain files again, with links, modes and times, and can be taken away."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conformance.sim.disk import FileSystem, Recorder, Tree
from conformance.sim.disk.materialise import attributes_at, attributes_of, clear, materialise


@pytest.fixture
def furnished(root: Path) -> Path:
    """A root with everything that a backend may make of files."""
    (root / "d" / "deep").mkdir(parents=True)
    (root / "d" / "deep" / "f").write_bytes(b"content")
    os.link(root / "d" / "deep" / "f", root / "twin")
    (root / "empty").touch()
    (root / "s").symlink_to("d/deep")
    (root / "dangling").symlink_to("nowhere")
    return root


def loaded(root: Path) -> FileSystem:
    """The image of what is there."""
    return FileSystem.load(str(root.parent), (root.name,))


def test_tree_is_written_as_it_is(furnished: Path, tmp_path: Path) -> None:
    """What was read is what stands there after it was written, and two names of one file are one file."""
    tree = loaded(furnished).tree()
    copy = tmp_path / "copy"
    materialise(tree, copy)
    assert loaded(copy).tree() == tree
    assert (copy / "twin").samefile(copy / "d" / "deep" / "f")
    assert not (copy / "empty").samefile(copy / "twin")


def test_paths_without_inodes_are_files_of_their_own(tmp_path: Path) -> None:
    """Where a tree does not know its inodes nothing is linked."""
    materialise(Tree({"a": b"x", "b": b"x"}, frozenset({"."})), tmp_path / "copy")
    assert not (tmp_path / "copy" / "a").samefile(tmp_path / "copy" / "b")


def test_absent_tree_writes_nothing(tmp_path: Path) -> None:
    """Where the root itself is gone, nothing is there afterwards."""
    materialise(Tree(), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("name", ["%2e%2e", "!", "-", "a"])
def test_names_that_sort_before_the_root(tmp_path: Path, name: str) -> None:
    """A directory is made before what is in it and removed after it, whatever it is called."""
    tree = Tree({f"{name}/deep/f": b"x"}, frozenset({".", name, f"{name}/deep"}))
    materialise(tree, tmp_path / "copy", {})
    assert (tmp_path / "copy" / name / "deep" / "f").read_bytes() == b"x"
    clear(tmp_path / "copy", tree)
    assert not (tmp_path / "copy").exists()


def test_what_is_there_is_not_overwritten(root: Path) -> None:
    """A root that is there is refused, and left alone."""
    with pytest.raises(FileExistsError):
        materialise(Tree({}, frozenset({"."})), root)


def test_pipes_are_refused(tmp_path: Path) -> None:
    """What is no file cannot be written."""
    with pytest.raises(ValueError, match=r"\['p'\]"):
        materialise(Tree({}, frozenset({"."}), {}, frozenset({"p"})), tmp_path / "copy")


def test_modes_and_times_come_back(furnished: Path, tmp_path: Path) -> None:
    """Each path gets the mode and time that its inode had, wherever it lies in the tree that is written."""
    (furnished / "empty").chmod(0o640)
    (furnished / "d").chmod(0o2750)
    for number, path in enumerate(("d/deep/f", "empty", "d/deep", "d", ".")):
        os.utime(furnished / path, ns=(number + 1, 1_000 + number))
    image = loaded(furnished)
    attributes = attributes_of(image, furnished)
    moved = Tree(
        {"x": b"content"},
        frozenset({".", "d"}),
        {},
        frozenset(),
        {"x": image.tree().inodes["empty"]},
    )
    copy = tmp_path / "copy"
    materialise(image.tree(), copy, attributes_at(image.tree(), image.tree(), attributes))
    for path in ("d/deep/f", "empty", "d/deep", "d", "."):
        was, now = (furnished / path).stat(), (copy / path).stat()
        assert (now.st_mode, now.st_mtime_ns) == (was.st_mode, was.st_mtime_ns)
    other = tmp_path / "other"
    materialise(moved, other, attributes_at(moved, image.tree(), attributes))
    assert stat.S_IMODE((other / "x").stat().st_mode) == 0o640
    assert (other / "x").stat().st_mtime_ns == 1_001
    assert stat.S_IMODE((other / "d").stat().st_mode) == 0o2750


def test_unseen_files_are_private(tmp_path: Path) -> None:
    """A path of which no attributes are known gets none that are open to others."""
    copy = tmp_path / "copy"
    materialise(Tree({"d/f": b""}, frozenset({".", "d"})), copy, {})
    assert stat.S_IMODE((copy / "d" / "f").stat().st_mode) == 0o600
    assert stat.S_IMODE((copy / "d").stat().st_mode) == 0o700


def test_nothing_of_it_is_recorded(patching: object, root: Path, tmp_path: Path) -> None:
    """Writing and removing trees goes past a recording."""
    with Recorder(tmp_path / "copy") as recorder:
        materialise(Tree({"f": b"x"}, frozenset({"."})), tmp_path / "copy", {})
        clear(tmp_path / "copy")
        assert recorder.ops == []


def test_clear_takes_everything_and_follows_nothing(furnished: Path, tmp_path: Path) -> None:
    """A tree, a file and a link are gone afterwards; what a link led to stays, and nothing at all is no error."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").touch()
    (furnished / "way").symlink_to(tmp_path / "outside")
    clear(furnished)
    assert not furnished.exists()
    clear(furnished)
    (tmp_path / "file").touch()
    clear(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    clear(tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]
    assert (tmp_path / "outside" / "kept").exists()


def test_clear_takes_more_and_less_than_was_expected(furnished: Path) -> None:
    """What is expected is a hint: a tree that is exactly that goes, and so do one with other files, and none at all."""
    tree = loaded(furnished).tree()
    clear(furnished, tree)
    assert not furnished.exists()
    clear(furnished, tree)
    materialise(tree, furnished)
    (furnished / "d" / "more").touch()
    clear(furnished, tree)
    assert not furnished.exists()
    materialise(tree, furnished)
    (furnished / "empty").unlink()
    clear(furnished, tree)
    assert not furnished.exists()
    furnished.touch()
    clear(furnished, Tree())
    assert not furnished.exists()
