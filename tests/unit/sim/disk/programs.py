"""Random programs of disk operations, small enough that every state of them can be listed by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator

from conformance.sim.disk import ops
from conformance.sim.disk.image import Directory, File, FileSystem

SIZES = (0, 1, 511, 513, 4000, 4096, 4097, 8200)


def base_disk(rng: random.Random) -> FileSystem:
    """A root with one directory and one file in it, both durable; sometimes no root at all."""
    base = FileSystem(("root",))
    if rng.random() < 0.15:
        return base
    base.apply(ops.Mkdir(0, "root", 1))
    base.apply(ops.Mkdir(1, "d", 2))
    base.apply(ops.Create(1, "f", 3))
    base.apply(ops.Write(3, 0, b"o" * rng.choice(SIZES)))
    return base


def random_ops(rng: random.Random, image: FileSystem, count: int, *, failing: bool = False) -> Iterator[ops.DiskOp]:
    """So many operations that make sense one after the other; the image moves along.

    With `failing` every second sync of a file fails.
    """
    ino = 10
    made = 0
    while made < count:
        ino += 1
        op = _draw(rng, image, ino)
        if op is not None:
            if failing and isinstance(op, ops.Fsync | ops.Fdatasync) and rng.random() < 0.5:
                op = ops.SyncFailed(op.ino)
            image.apply(op)
            made += 1
            yield op


def _draw(rng: random.Random, image: FileSystem, ino: int) -> ops.DiskOp | None:
    directories = [node for node in image.nodes.values() if isinstance(node, Directory) and not node.above and node.ino]
    files = sorted({ino for ino, node in image.nodes.items() if isinstance(node, File)})
    if not directories:
        return ops.Mkdir(0, "root", ino) if "root" not in image.top.entries else None
    where = rng.choice(directories)
    name = rng.choice(("a", "b", "f"))
    present = where.entries.get(name)
    kind = rng.choice(
        ("create", "write", "write", "write", "truncate", "rename", "rename", "fsync", "fsyncdir", "other")
    )
    if kind == "create" and present is None:
        return ops.Create(where.ino, name, ino)
    if kind in ("write", "truncate", "fsync") and files:
        return _on_file(rng, image, kind, rng.choice(files))
    if kind == "fsyncdir":
        return ops.FsyncDirectory(where.ino)
    if kind == "rename" and isinstance(present, File):
        target, to_name = rng.choice(directories), rng.choice(("a", "b", "c"))
        replaced = target.entries.get(to_name)
        if not isinstance(replaced, Directory) and replaced is not present:
            gone = None if replaced is None else replaced.ino
            return ops.Rename(where.ino, name, target.ino, to_name, present.ino, gone)
    return _rarely(rng, where, name, ino)


def _on_file(rng: random.Random, image: FileSystem, kind: str, ino: int) -> ops.DiskOp | None:
    size = len(image.file(ino).data)
    if kind == "write":
        offset = rng.choice((size, size, size, 0, size // 2, size + 100))
        return ops.Write(ino, offset, bytes([rng.randrange(65, 90)]) * rng.choice((1, 100, 600, 5000)))
    if kind == "truncate":
        new = rng.choice((0, size // 2, size + 10))
        return ops.Truncate(ino, size, new) if new != size else None
    return rng.choice((ops.Fsync, ops.Fdatasync))(ino)


def _rarely(rng: random.Random, where: Directory, name: str, ino: int) -> ops.DiskOp | None:
    present = where.entries.get(name)
    match rng.randrange(4):
        case 0 if isinstance(present, File):
            return ops.Unlink(where.ino, name, present.ino)
        case 1 if isinstance(present, File) and "l" not in where.entries:
            return ops.Link(where.ino, "l", present.ino)
        case 2 if "e" not in where.entries:
            return ops.Mkdir(where.ino, "e", ino)
        case 3 if isinstance(present, File):
            return ops.Fallocate(present.ino, 0, 6000, keep_size=False)
    return None
