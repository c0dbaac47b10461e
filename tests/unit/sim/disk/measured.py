"""The measured crash images, as operations on a simulated disk and the trees that real file systems left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.sim.disk import ops
from conformance.sim.disk.image import FileSystem

DATA = Path(__file__).parents[3] / "data" / "measured_crashes.json"


@dataclass(frozen=True)
class Measured:
    """One case: what was done, and file system -> path -> content that was found after the crash."""

    id: str
    base: FileSystem
    ops: list[ops.DiskOp]
    observed: Mapping[str, Mapping[str, bytes]]


def measured_cases() -> Iterator[Measured]:
    """Every case of the data."""
    for form in json.loads(DATA.read_text("utf-8"))["cases"]:
        base = FileSystem(("root",))
        base.apply(ops.Mkdir(0, "root", 1))
        observed = {
            system: {path: _content(runs) for path, runs in tree.items() if not _is_directory(runs)}
            for system, tree in form["observed"].items()
        }
        yield Measured(form["id"], base, [_operation(each) for each in form["ops"]], observed)


def _is_directory(form: Any) -> bool:
    return not (isinstance(form, dict) and "runs" in form)


def _content(form: Mapping[str, Any]) -> bytes:
    data = b"".join(run.encode("latin-1") if isinstance(run, str) else bytes([run[0]]) * run[1] for run in form["runs"])
    assert len(data) == form["len"]
    return data


def _directory(number: int) -> int:
    """Inodes: 1 is the root, directories and files get numbers apart."""
    return 1 if number == 0 else 1000 + number


def _file(number: int) -> int:
    return 2000 + number


def _operation(form: Mapping[str, Any]) -> ops.DiskOp:
    match form["op"]:
        case "create":
            return ops.Create(_directory(form["dir"]), form["name"], _file(form["inode"]))
        case "write":
            return ops.Write(_file(form["inode"]), form["offset"], _content(form["data"]))
        case "truncate":
            return ops.Truncate(_file(form["inode"]), form["old_size"], form["new_size"])
        case "fallocate":
            return ops.Fallocate(_file(form["inode"]), form["offset"], form["length"], form["keep_size"])
        case "rename":
            (source, name), (target, to_name) = form["from"], form["to"]
            replaced = form["replaced_inode"]
            return ops.Rename(
                _directory(source),
                name,
                _directory(target),
                to_name,
                _file(form["inode"]),
                None if replaced is None else _file(replaced),
            )
        case "link":
            return ops.Link(_directory(form["dir"]), form["name"], _file(form["inode"]))
        case "unlink":
            return ops.Unlink(_directory(form["dir"]), form["name"], _file(form["inode"]))
        case "mkdir":
            return ops.Mkdir(_directory(form["dir"]), form["name"], _directory(form["new_dir"]))
        case "fsync":
            return ops.Fsync(_file(form["inode"]))
        case "fdatasync":
            return ops.Fdatasync(_file(form["inode"]))
        case "fsync_dir":
            return ops.FsyncDirectory(_directory(form["dir"]))
        case other:
            raise ValueError(f"unknown operation {other!r}")
