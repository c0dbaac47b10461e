"""Small programs on a disk with a few files, and what a crash may leave of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from conformance.sim.disk import ops
from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.state import Enumeration
from conformance.sim.disk.states import Disk

ROOT, D, E, F, G, T, N = range(1, 8)
"""Inodes: the root, two directories, two files that may be there, a temporary and another new file."""


Files: TypeAlias = dict[str, bytes]
Done: TypeAlias = list[ops.DiskOp]


def base_of(**durable: bytes) -> FileSystem:
    """A root with the directories d and e, and files f and g where they are given, all of it durable."""
    base = FileSystem(("root",))
    base.apply(ops.Mkdir(0, "root", ROOT))
    base.apply(ops.Mkdir(ROOT, "d", D))
    base.apply(ops.Mkdir(ROOT, "e", E))
    for name, ino in (("f", F), ("g", G)):
        if name in durable:
            base.apply(ops.Create(ROOT, name, ino))
            base.apply(ops.Write(ino, 0, durable[name]))
    return base


def enumerated(preset: str, done: Sequence[ops.DiskOp], base: FileSystem) -> Enumeration:
    """What a crash may leave after these operations."""
    disk = Disk(base, preset)
    for op in done:
        disk.feed(op)
    found = disk.states(100_000)
    assert found.is_exhaustive
    return found


def left(preset: str, *done: ops.DiskOp, **durable: bytes) -> list[Files]:
    """The files of every state."""
    return [dict(state.tree.files) for state in enumerated(preset, done, base_of(**durable)).states]


def contents(preset: str, *done: ops.DiskOp, **durable: bytes) -> set[bytes | None]:
    """What f may hold; None where it is not there."""
    return {files.get("f") for files in left(preset, *done, **durable)}


def unrelated() -> Done:
    """A new file is made and synced, which commits a log so far."""
    return [ops.Create(ROOT, "other", N), ops.Fsync(N)]


def replacing(*before: ops.DiskOp) -> Done:
    """T takes the place of f after these operations, and the log is committed."""
    return [*before, ops.Rename(ROOT, "t", ROOT, "f", T, F), *unrelated()]
