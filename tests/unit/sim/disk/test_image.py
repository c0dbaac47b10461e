"""The image does what operations say, copies are apart, and differences are told in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.sim.disk import FileSystem, Tree, difference
from conformance.sim.disk.ops import (
    Ack,
    CallBegin,
    Create,
    DiskOp,
    Fallocate,
    Fsync,
    Link,
    Mkdir,
    Rename,
    Rmdir,
    Symlink,
    SyncAll,
    Truncate,
    Unlink,
    Write,
)

ROOT = 1


def built(*operations: DiskOp) -> FileSystem:
    """An image of a root after some operations."""
    image = FileSystem(("root",))
    image.apply(Mkdir(0, "root", ROOT))
    for op in operations:
        image.apply(op)
    return image


def test_content_follows_the_inode() -> None:
    """A file keeps its content through renaming, a second name, and the loss of the first."""
    image = built(
        Create(ROOT, "f", 2),
        Write(2, 3, b"abc"),
        Link(ROOT, "g", 2),
        Mkdir(ROOT, "d", 3),
        Rename(ROOT, "f", 3, "h", 2, None),
        Unlink(ROOT, "g", 2),
        Write(2, 4, b"XYZ"),
    )
    assert image.tree() == Tree({"d/h": b"\0\0\0aXYZ"}, frozenset({".", "d"}))


def test_sizes_change_as_they_should() -> None:
    """A cut loses, growth adds zeros, and reserved blocks count only without `keep_size`."""
    image = built(Create(ROOT, "f", 2), Write(2, 0, b"abcdef"), Truncate(2, 6, 2), Truncate(2, 2, 4))
    assert image.file(2).data == b"ab\0\0"
    image.apply(Fallocate(2, 0, 9, True))
    assert len(image.file(2).data) == 4
    image.apply(Fallocate(2, 3, 3, False))
    assert image.file(2).data == b"ab\0\0\0\0"


def test_barriers_and_markers_change_nothing() -> None:
    """What is durable is not the image's matter."""
    image = built(Create(ROOT, "f", 2))
    before = image.tree()
    for op in (CallBegin(1), Fsync(2), SyncAll(), Ack(1)):
        image.apply(op)
    assert image.tree() == before


def test_a_copy_is_apart() -> None:
    """What is done to a copy leaves the original, and its hard links stay links."""
    image = built(Create(ROOT, "f", 2), Link(ROOT, "g", 2), Mkdir(ROOT, "d", 3), Symlink(3, "s", 4, "../f"))
    copy = image.copy()
    for op in (Write(2, 0, b"x"), Unlink(3, "s", 4), Rmdir(ROOT, "d", 3)):
        copy.apply(op)
    assert copy.tree() == Tree({"f": b"x", "g": b"x"}, frozenset({"."}))
    assert image.tree() == Tree({"f": b"", "g": b""}, frozenset({".", "d"}), {"d/s": "../f"})


def test_wrong_kinds_are_refused() -> None:
    """An operation on an inode of another kind says which it is."""
    image = built(Create(ROOT, "f", 2))
    with pytest.raises(ValueError, match="inode 1 is no file but a directory"):
        image.apply(Write(ROOT, 0, b"x"))
    with pytest.raises(ValueError, match="inode 2 is no directory but a file"):
        image.apply(Mkdir(2, "d", 3))


def test_a_tree_is_read_from_the_disk(tmp_path: Path) -> None:
    """Files, directories, links and pipes are read as they are; hard links share an inode; numbers follow the paths."""
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "f").write_bytes(b"content")
    os.link(root / "f", root / "d" / "g")
    (root / "s").symlink_to("nowhere")
    os.mkfifo(root / "p")
    image = FileSystem.load(str(tmp_path), ("root",))
    assert image.tree() == Tree(
        {"f": b"content", "d/g": b"content"}, frozenset({".", "d"}), {"s": "nowhere"}, frozenset({"p"})
    )
    assert image.directory(1).entries["f"] is image.directory(2).entries["g"]
    assert FileSystem.load(str(tmp_path), ("absent", "root")).tree() == Tree()


def test_differences_are_told_in_words() -> None:
    """Each kind of difference has its sentence, and many are cut short."""
    one = Tree({"a": b"abc", "b": b"", "k": b""}, frozenset({".", "d"}), {"s": "x"})
    other = Tree({"a": b"abd", "e": b""}, frozenset({".", "k"}), {"s": "y"})
    assert difference(one, one) == ""
    assert difference(one, other, most=9).split("; ") == [
        "'a': 3 bytes are recorded, 3 are on the disk, and they differ from byte 2 on",
        "'b': a file is recorded and none on the disk",
        "'d': a directory is recorded and none on the disk",
        "'e': a file is on the disk and none recorded",
        "'k': a file is recorded, a directory is on the disk",
        "'s': points to 'x' as recorded, to 'y' on the disk",
    ]
    assert difference(one, other, most=1).endswith("on; and 5 more")
