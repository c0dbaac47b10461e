"""Operations written down before they are performed, so that a crash of the process keeps its program.

One preallocated file for each worker, mapped into memory and never synced: what was written survives the death of the
process, which is all that is asked of it. A file whose run ended well says so in its first byte; any other one holds
the program of a run that a native crash, an out-of-memory kill or a hang cut short.
"""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import orjson

from conformance.model.operations import Operation, Program, operation_from_json

SIZE = 1 << 22
_IDLE, _RUNNING = b"-", b"+"
_PREFIX = "journal-"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A program that was cut short: the item it belonged to, what it had begun, and the file that holds it."""

    item: str
    backend: str
    program: Program
    path: Path


class Journal:
    """The journal of one worker; a program that outgrows the file keeps its beginning."""

    def __init__(self, directory: Path, worker: str = "main") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        # The process id keeps two runs in one directory apart.
        self.path = directory / f"{_PREFIX}{worker}-{os.getpid()}"
        with open(self.path, "wb") as file:
            if hasattr(os, "posix_fallocate"):
                # On a full disk this says so; a page of the mapping that is not there would end the process.
                os.posix_fallocate(file.fileno(), 0, SIZE)
            else:
                file.truncate(SIZE)
        self._file = open(self.path, "r+b")  # noqa: SIM115
        self._map = mmap.mmap(self._file.fileno(), SIZE)
        if hasattr(mmap, "MADV_RANDOM"):
            # Most programs fill a page or two. Without a word the system makes megabytes ready for the first byte.
            self._map.madvise(mmap.MADV_RANDOM)
        self._end = self._latest = 0
        self._map[0:1] = _IDLE

    def begin(self, item: str, backend: str) -> None:
        """A program begins: forget the one before."""
        self._map[0:1] = _RUNNING
        self._end = 1
        self._write({"item": item, "backend": backend})

    def note(self, operation: Operation) -> None:
        """The operation is about to be performed."""
        self._write(operation.to_json())

    def amend(self, operation: Operation) -> None:
        """The operation noted last turned out to be this one."""
        self._end = self._latest
        self._write(operation.to_json())

    def end(self) -> None:
        """The program ended, in whatever way, with the process alive."""
        self._map[0:1] = _IDLE

    def close(self) -> None:
        """The run ended: nothing is left to report."""
        self._map.close()
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, form: object) -> None:
        line = _line(form)
        self._latest = self._end
        end = self._end + len(line)
        if end < SIZE:
            self._map[self._end : end] = line
            self._map[end : end + 1] = b"\0"
            self._end = end

    @staticmethod
    def unfinished(directory: Path) -> tuple[list[Unfinished], list[Path]]:
        """The programs of dead processes in this directory, and remove the files of those that ended well.

        Beside them what could not be read, of another version of the kit or damaged, where it stands now.
        """
        found, unreadable = [], []
        for path in sorted(directory.glob(f"{_PREFIX}*")):
            if _is_alive(path):
                continue
            try:
                left = _read_unfinished(path)
            except (OSError, ValueError, KeyError, TypeError):
                aside = path.with_name(f"unreadable-{path.name}")
                path.rename(aside)
                unreadable.append(aside)
                continue
            if left is not None:
                found.append(left)
            path.unlink(missing_ok=True)
        return found, unreadable


def _line(form: object) -> bytes:
    try:
        return orjson.dumps(form, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # It takes no integer beyond 64 bits, and no text that is not Unicode.
        return json.dumps(form, separators=(",", ":")).encode() + b"\n"


def _is_alive(path: Path) -> bool:
    pid = path.name.rpartition("-")[2]
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read_unfinished(path: Path) -> Unfinished | None:
    content = path.read_bytes()
    if not content.startswith(_RUNNING):
        return None
    lines = content[1:].partition(b"\0")[0].split(b"\n")
    if len(lines) < 2:
        return None
    header = json.loads(lines[0])
    operations = tuple(operation_from_json(json.loads(line)) for line in lines[1:-1])
    return Unfinished(header["item"], header["backend"], Program(operations), path)
