"""One session as a file of JSON lines: the header's line, then one line for each event. Plain reading, no caching.

A line without its end is what a killed writer left; it is not part of the log. Anything else that is no log is refused.
Lines may be *sealed*: each with a checksum, and the first of a batch with a mark, so that a batch is found again behind
damage.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple
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


class Stored(NamedTuple):
    """What a file says: its session, the bytes of its complete lines, and its whole size."""

    header: SessionHeader
    inherited: int | None
    events: list[SessionEvent]
    end: int
    size: int
    digest: str


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


def sync(path: Path) -> None:
    """Let what a file or directory holds outlive a power loss."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def load(path: Path, *, checked: bool = True, closed_vocabulary: bool = True) -> Stored | None:
    """Read a session's file; None where there is none.

    Args:
        checked: the file must hold the session whose place it is.
        closed_vocabulary: an event of unknown type is refused.

    Raises:
        SessionPersistenceCorruptionError, SessionFormatUnsupportedError: it cannot be trusted or read.
    """
    data = bytes_in(path)
    if data is None:
        return None
    end = data.rfind(b"\n") + 1
    line, *rest = data[:end].splitlines() or [b""]
    header, inherited = header_in(path, line, checked=checked)
    session_id = id_of(path)
    events = values_in(path, rest)
    validate_stored_events(events, closed_vocabulary=closed_vocabulary, session_id=session_id, location=str(path))
    return Stored(header, inherited, events, end, len(data), hashlib.sha256(data[:end]).hexdigest())


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
