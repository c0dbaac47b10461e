"""What ``strace`` wrote, line by line, as system calls: names, arguments and results, with what they name decoded.

Promises: `command` asks for the one format that is read here: every string and every path in hexadecimal, so that no
byte of a name can be taken for a bracket, a quote or the end of a line, and each descriptor with the path behind it. A
call that was interrupted by those of other threads stands where it ended, because that is when it was done.

Does not: know what a call means (``strace`` does), and reads no other format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MOST_DATA = 1 << 20
"""Bytes of one buffer that are written down; of a longer one only so many are known."""

TRACED = (
    "open openat openat2 creat close close_range dup dup2 dup3 fcntl lseek read readv write writev pwrite64 pwritev "
    "pwritev2 sendfile copy_file_range splice truncate ftruncate fallocate fsync fdatasync sync syncfs rename renameat "
    "renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat rmdir mknod mknodat chdir fchdir clone "
    "clone3 fork vfork mmap ioctl io_uring_setup io_submit"
).split()
"""The calls that are asked for, as far as the machine has them. Of reads only the position matters."""

_UNREAD = "read,readv"

_BEGUN = re.compile(r"(\d+) +(\w+)\((.*)")
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)")
_ENDED = re.compile(r"(.*)\) += (\S.*)")
_UNFINISHED = " <unfinished ...>"
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_DESCRIPTOR = re.compile(r"(-?\d+|AT_FDCWD)(?:<([^>]*)>)?")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A descriptor that a call was given, or gave.

    Attributes:
        number: None for the working directory.
        path: what it is open on, as the kernel spells it, or "" where that was not told; no path of a file where it is
            a pipe, a socket or the like.
    """

    number: int | None
    path: str

    @property
    def is_file(self) -> bool:
        """Whether it may be open on a file or directory."""
        return not self.path or self.path.startswith("/")


@dataclass(frozen=True, slots=True)
class SystemCall:
    """One call that ended.

    Attributes:
        thread: the number of the thread that made it.
        args: as they were written, in order. result: the same.
    """

    thread: int
    name: str
    args: tuple[str, ...]
    result: str

    @property
    def number(self) -> int:
        """The result as a number; -1 where it failed, or never returned."""
        found = re.match(r"-?(0x[0-9a-f]+|\d+)", self.result)
        return -1 if found is None else int(found[0], 0)


def command(program: Sequence[str], output: str) -> list[str]:
    """The command line that runs a program and writes its calls, and those of all it starts, to a file."""
    traced = ",".join(f"?{name}" for name in TRACED)
    return [
        *("strace", "-f", "-qq", "-y", "-xx", "-s", str(MOST_DATA), "-e", "signal=none", "-e", f"raw={_UNREAD}"),
        *("-e", f"trace={traced}", "-o", output, "--"),
        *program,
    ]


def system_calls(lines: Iterable[str]) -> Iterator[SystemCall]:
    """The calls that the lines tell of, in the order in which they ended; one that never ended is left out."""
    begun: dict[int, str] = {}
    for line in lines:
        line = line.rstrip("\n")
        resumed = _RESUMED.fullmatch(line)
        if resumed is not None:
            thread, name, rest = int(resumed[1]), resumed[2], begun.pop(int(resumed[1]), "") + resumed[3]
        else:
            found = _BEGUN.fullmatch(line)
            if found is None:
                # The end of a thread.
                continue
            thread, name, rest = int(found[1]), found[2], found[3]
            if rest.endswith(_UNFINISHED):
                begun[thread] = rest.removesuffix(_UNFINISHED)
                continue
        ended = _ENDED.fullmatch(rest)
        if ended is not None:
            yield SystemCall(thread, name, _split(ended[1]), ended[2])


def _split(text: str) -> tuple[str, ...]:
    """The arguments between the commas that lie in no bracket."""
    parts: list[str] = []
    depth = begin = 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return (*parts, last) if last else tuple(parts)


def data_of(text: str, count: int) -> bytes:
    """The first so many bytes of the buffers in an argument; NUL where they were not written down."""
    data = b"".join(_bytes(found[1]) for found in _STRING.finditer(text))
    return data[:count].ljust(count, b"\0")


def path_of(text: str) -> str:
    """A path that was given as an argument; "" where it could not be read."""
    found = _STRING.fullmatch(text)
    return "" if found is None else os.fsdecode(_bytes(found[1]))


def descriptor_of(text: str) -> Descriptor:
    """A descriptor that was given as an argument, or as a result.

    Raises:
        ValueError: the text is none.
    """
    found = _DESCRIPTOR.match(text)
    if found is None:
        raise ValueError(f"no descriptor: {text!r}")
    number = None if found[1] == "AT_FDCWD" else int(found[1])
    path = found[2] or ""
    return Descriptor(number, os.fsdecode(_bytes(path)) if path.startswith("\\x") else path)


def flags_of(text: str) -> int:
    """Flags as a number, by their names in `os`; one that has no name there counts as none."""
    value = 0
    for word in text.split("|"):
        value |= int(word, 0) if word[:1].isdigit() else getattr(os, word.lstrip("_"), 0)
    return value


def hexed(path: str) -> str:
    """How a path that is given to a call stands in a line."""
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(path))


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
