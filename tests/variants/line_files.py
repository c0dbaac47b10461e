"""One session as a file of JSON lines: the header's line, then one line for each event. Plain reading, no caching.

A line without its end is what a killed writer left; it is not part of the log. Anything else that is no log is refused.
Lines may be *sealed*: each with a checksum, and the first of a batch with a mark, so that a batch is found again behind
damage.

The other half are the steps on storage that are easy to get wrong where it fails: a write may take a part only, and a
call may report failure and have done its work all the same.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

from conformance.contract import (
    SessionEvent,
    SessionHeader,
    SessionPersistenceCorruptionError,
    assert_version,
    header_from_json,
    validate_stored_events,
)

SUFFIX = ".jsonl"
PLAIN = b"abcdefghijklmnopqrstuvwxyz0123456789-_"
LONGEST_NAME = 255
"""Bytes of a file name, on most file systems."""
BEGIN, NEXT = b"\x1e", b" "
"""What the first sealed line of a batch begins with, and every other; no JSON text holds the first."""

logger = logging.getLogger(__name__)


BORN = "$born"
"""Key in the first line, beside the header, that holds a number which no other log has."""
HEADER = "header"


class Stored(NamedTuple):
    """What a file says: its session, the bytes of its complete lines, and its whole size.

    ``line`` is the one with the header, which no other log under the same id has; b"" where nobody tells.
    """

    header: SessionHeader
    inherited: int | None
    events: list[SessionEvent]
    end: int
    size: int
    digest: str
    line: bytes = b""


def path_of(root: Path, session_id: str) -> Path:
    """The one place of a session; every byte but ``a-z 0-9 - _`` is escaped, so no two ids share it in any case."""
    raw = session_id.encode("utf-8", "surrogatepass")
    return root / ("".join(chr(byte) if byte in PLAIN else f"%{byte:02x}" for byte in raw) + SUFFIX)


def id_of(path: Path) -> str:
    """The session whose place this is."""
    return unquote(path.name.removesuffix(SUFFIX), errors="surrogatepass")


def lines_of(values: list[Any]) -> bytes:
    """The values as JSON lines."""
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)


def sealed(values: list[Any]) -> bytes:
    """The values as the sealed lines of one batch, in UTF-8."""
    texts = [json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() for value in values]
    return BEGIN + NEXT.join(b"%08x%b\n" % (zlib.crc32(text), text) for text in texts) if texts else b""


def unsealed(line: bytes) -> bytes | None:
    """The text of a sealed line without its end, or None where it is not sound."""
    text = line[9:]
    return text if line[:1] in (BEGIN, NEXT) and line[1:9] == b"%08x" % zlib.crc32(text) else None


def has_sealed_batch(data: bytes, start: int) -> bool:
    """Whether a sound line begins a batch anywhere from `start` on."""
    begin = data.find(BEGIN, start)
    while begin >= 0:
        newline = data.find(b"\n", begin)
        if newline >= 0 and unsealed(data[begin:newline]) is not None:
            return True
        begin = data.find(BEGIN, begin + 1)
    return False


class SyncFailedError(OSError):
    """A sync failed: the system may have dropped what it was to make durable, and will not say so again."""


def sync(path: Path) -> None:
    """Let what a file or directory holds outlive a power loss.

    Raises:
        SyncFailedError: the sync itself failed. OSError: it was not tried.
    """
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as failure:
        raise SyncFailedError(*failure.args) from failure
    finally:
        try:
            os.close(number)
        except OSError:
            # Nothing was written through it: what the sync said holds.
            logger.warning("a descriptor of %s was not closed as it should", path, exc_info=True)


def write_all(file: BinaryIO, data: bytes) -> None:
    """Write all of it to an unbuffered file; what takes a part only is given the rest.

    Raises:
        OSError: the storage refused; any part may have been written.
    """
    rest = memoryview(data)
    while rest:
        written = file.write(rest)
        if not written:
            raise OSError(errno.EIO, "the storage takes no more bytes and gives no reason")
        rest = rest[written:]


def write_again(path: Path, start: int) -> None:
    """Write what stands from `start` on once more, so that the next sync saves it.

    One that failed before, perhaps in another process, may have dropped it.
    """
    data = path.read_bytes()[start:]
    with path.open("r+b", buffering=0) as file:
        file.seek(start)
        write_all(file, data)


def mark_of(path: Path) -> tuple[int, int, int] | None:
    """Which file stands there, whatever its name, and its size; None where there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_size


def is_there(path: Path) -> bool:
    """Whether something stands there; that it cannot be told is an error, and no absence."""
    return mark_of(path) is not None


def names_in(directory: Path) -> list[str]:
    """What a directory holds; nothing where there is none."""
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def link_new(source: Path, target: Path) -> None:
    """Give a file a second name, never in place of another file.

    Raises:
        OSError: it has not got that name, or it cannot be told.
    """
    try:
        os.link(source, target)
    except OSError:
        if mark_of(target) != mark_of(source):
            raise


def discard(temporary: Path) -> None:
    """Take a temporary name away where it is still there; one that stays is in nobody's way."""
    try:
        temporary.unlink(missing_ok=True)
    except OSError:
        logger.warning("%s could not be removed", temporary, exc_info=True)


def make_directories(directory: Path, sync_names: Callable[[Path], None]) -> None:
    """Make a directory and what is missing above it, each durable before the next.

    The lowest one that is there may be one that somebody made and could not sync, so its name is made durable too.
    """
    path = [directory, *directory.parents]
    there = next(place for place, each in enumerate(path) if is_there(each))
    sync_names(path[there].parent)
    for each in reversed(path[:there]):
        each.mkdir(exist_ok=True)
        sync_names(each.parent)


def load(path: Path, *, checked: bool = True, closed_vocabulary: bool = True, upto: int | None = None) -> Stored | None:
    """Read a session's file; None where there is none.

    Args:
        checked: the file must hold the session whose place it is.
        closed_vocabulary: an event of unknown type is refused.
        upto: where its writer knows that the log ends, or None; what stands behind that is not part of it.

    Raises:
        SessionPersistenceCorruptionError, SessionFormatUnsupportedError: it cannot be trusted or read.
    """
    data = bytes_in(path)
    if data is None:
        return None
    end = data.rfind(b"\n", 0, upto) + 1
    line, *rest = data[:end].splitlines() or [b""]
    header, inherited = header_in(path, line, checked=checked)
    session_id = id_of(path)
    events = values_in(path, rest)
    validate_stored_events(events, closed_vocabulary=closed_vocabulary, session_id=session_id, location=str(path))
    return Stored(header, inherited, events, end, len(data), hashlib.sha256(data[:end]).hexdigest(), line)


def bytes_in(path: Path) -> bytes | None:
    """All bytes of a session's file; None where there is none.

    Raises:
        SessionPersistenceCorruptionError: something else stands there.
    """
    if len(path.name) > LONGEST_NAME:
        # Such an id is refused at create, so there is no such session.
        return None
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError as cause:
        raise damaged(path, "it is a directory") from cause


def header_in(path: Path, line: bytes, *, checked: bool = True) -> tuple[SessionHeader, int | None]:
    """The header and inherited count that the first line of a file holds.

    Raises:
        SessionPersistenceCorruptionError, SessionFormatUnsupportedError: as ``load``.
    """
    session_id = id_of(path)
    try:
        found = json.loads(line)
        if found.keys() == {BORN, HEADER}:
            found = found[HEADER]
        assert_version(found.get("version"), session_id=session_id, location=str(path))
        header, inherited = header_from_json(found)
    except (ValueError, KeyError, AttributeError, RecursionError) as cause:
        raise damaged(path, cause) from cause
    if checked and header.id != session_id:
        raise damaged(path, f"it holds session {header.id!r}")
    return header, inherited


def values_in(path: Path, lines: list[bytes]) -> list[Any]:
    """What JSON lines of a file hold.

    Raises:
        SessionPersistenceCorruptionError: one of them is no JSON.
    """
    try:
        return [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as cause:
        raise damaged(path, cause) from cause


def damaged(path: Path, problem: object) -> SessionPersistenceCorruptionError:
    """The refusal of a file that cannot be trusted."""
    session_id = id_of(path)
    return SessionPersistenceCorruptionError(
        f"session {session_id!r}: {path} is damaged: {problem}", session_id=session_id, location=str(path)
    )
