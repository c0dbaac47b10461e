"""What can be done to a disk, as records: the operations, and the markers of the calls that caused them.

Promises: plain frozen data. An inode is a number of the recording's own, given once and never used again; a directory
is the inode of that directory, and 0 is the directory above the root. Offsets and lengths are bytes. The records hold
what was really done: a short write holds the bytes that were taken, an appending write the offset where they landed.

Does not: hold reads, which change nothing on a disk (they are counted, see `counts`), nor modes, owners and times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Create:
    """The new, empty file `ino` got the name `name` in `directory`."""

    directory: int
    name: str
    ino: int


@dataclass(frozen=True, slots=True)
class CreateUnnamed:
    """The new, empty file `ino` exists without a name (O_TMPFILE)."""

    ino: int


@dataclass(frozen=True, slots=True)
class Write:
    """`data` was put into the file at `offset`, which may lie past its end."""

    ino: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """The size was set from `old` to `new`: a cut, or a growth by zeros."""

    ino: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Fallocate:
    """Blocks for `length` bytes at `offset` were reserved; the size follows unless `keep_size`."""

    ino: int
    offset: int
    length: int
    keep_size: bool


@dataclass(frozen=True, slots=True)
class Rename:
    """The entry `name` moved; `replaced` is the inode whose entry it took the place of, if there was one."""

    directory: int
    name: str
    to_directory: int
    to_name: str
    ino: int
    replaced: int | None


@dataclass(frozen=True, slots=True)
class Link:
    """The inode got one more name."""

    directory: int
    name: str
    ino: int


@dataclass(frozen=True, slots=True)
class Symlink:
    """A new symbolic link `ino` that holds `target`."""

    directory: int
    name: str
    ino: int
    target: str


@dataclass(frozen=True, slots=True)
class Unlink:
    """A name went; the content lives on while it has another name or an open descriptor."""

    directory: int
    name: str
    ino: int


@dataclass(frozen=True, slots=True)
class Mkdir:
    """The new, empty directory `ino` got its name."""

    directory: int
    name: str
    ino: int


@dataclass(frozen=True, slots=True)
class Rmdir:
    """The empty directory `ino` went."""

    directory: int
    name: str
    ino: int


@dataclass(frozen=True, slots=True)
class Fsync:
    """The data and metadata of a file were asked to be made durable, and that was reported done."""

    ino: int


@dataclass(frozen=True, slots=True)
class Fdatasync:
    """The data of a file, and the metadata needed to read it back."""

    ino: int


@dataclass(frozen=True, slots=True)
class FsyncDirectory:
    """The entries of a directory."""

    ino: int


@dataclass(frozen=True, slots=True)
class SyncAll:
    """Everything (`sync`, `syncfs`)."""


@dataclass(frozen=True, slots=True)
class SyncFailed:
    """The sync of a file was refused: its pages are clean in memory, and what was not durable is written no more."""

    ino: int


@dataclass(frozen=True, slots=True)
class CallBegin:
    """Marker: the API call of that number was made. What follows may belong to it."""

    call: int


@dataclass(frozen=True, slots=True)
class Ack:
    """Marker: that call resolved. What it promised holds from here on."""

    call: int


Change: TypeAlias = (
    Create | CreateUnnamed | Write | Truncate | Fallocate | Rename | Link | Symlink | Unlink | Mkdir | Rmdir
)
"""What changes the tree or its content at once, as any reader sees it."""

Sync: TypeAlias = Fsync | Fdatasync | FsyncDirectory | SyncAll
"""What changes nothing that a reader sees, and makes earlier changes durable."""

Marker: TypeAlias = CallBegin | Ack

DiskOp: TypeAlias = Change | Sync | SyncFailed | Marker
"""One line of a recording."""
