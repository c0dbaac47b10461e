"""One session's artifact: what is there, and its header in words.

``open_artifact`` answers the one question existence hangs on: absent (no directory, or what a torn creation leaves),
a log of this encoding with a valid header, or a refusal that names the file. It changes nothing.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import stat
from typing import Any, NamedTuple

import orjson

from conformance.contract import (
    CURRENT_VERSION,
    MAX_SAFE_INTEGER,
    SessionFormatUnsupportedError,
    SessionHeader,
    assert_version,
    header_from_json,
    header_to_json,
    materialize_create_header,
)
from reference_backend.disk import Identity
from reference_backend.ids import directory_name
from reference_backend.place import Place
from reference_backend.positions import Codec, HeaderBlock
from reference_backend.ranges import PAGE, SMALL, ByteRange, BytesRange, Damage, range_of

_GENERATION = re.compile(r"session(?:\.v(\d+))?\.jsonl(?:\.zstd)?")
_CURRENT = 1
_REQUIRED = ("version", "id", "createdAt", "delegationDepth")
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_OPTIONAL = ("cwd", "parentSession", "origin", "agentPreset")


class Artifact(NamedTuple):
    """An open artifact with a valid header, and its bytes as they were when it was looked at.

    Whoever opened it closes ``fd``.
    """

    fd: int
    identity: Identity
    source: ByteRange
    block: HeaderBlock
    header: SessionHeader
    inherited: int | None

    def again(self, size: int) -> Artifact | None:
        """The same file, ``size`` bytes long by now; None where it does not begin with the same header any more."""
        fd, identity, before, block, header, inherited = self
        if size < block.end:
            return None
        source = range_of(fd, size)
        if isinstance(source, BytesRange) and isinstance(before, BytesRange) and source.data == before.data:
            return self
        if source.at(0, block.end) != block.stored:
            return None
        return Artifact(fd, identity, source, block, header, inherited)


class LongLogError(Exception):
    """The log is too long to be read at once. Never leaves here as itself: a thread reads it then."""


def header_line(header: SessionHeader, inherited: int | None) -> bytes:
    """The header as it is stored, without its newline."""
    return orjson.dumps(header_to_json(header, inherited))


def open_artifact(place: Place, *, flags: int = os.O_RDONLY, at_once: bool = False) -> Artifact | None:
    """Open the artifact, or None where the session is absent.

    Args:
        at_once: refuse a log that is too long to be read at once.

    Raises:
        SessionPersistenceCorruptionError: something else stands there, or the header is damaged or names another id.
        SessionFormatUnsupportedError: another generation or encoding of the session is there.
        LongLogError: with ``at_once`` only.
        OSError: the storage refused.
    """
    own = open_own(place, flags, at_once=at_once)
    try:
        refuse_others(place, names_in(place), alone=own is None)
    except BaseException:
        if own is not None:
            os.close(own.fd)
        raise
    return own


def still_there(place: Place, seen: Artifact, *, at_once: bool) -> Artifact | None:
    """The open file as it is now; None where another has its place, or it begins with another header.

    Raises:
        LongLogError: with ``at_once`` only.
    """
    try:
        status = os.stat(place.file, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if (status.st_dev, status.st_ino) != seen.identity:
        return None
    if at_once and status.st_size > SMALL:
        raise LongLogError
    try:
        return seen.again(status.st_size)
    except Damage as error:
        raise place.corruption(str(error)) from error


def names_in(place: Place) -> list[str]:
    """What the session's directory holds."""
    try:
        return os.listdir(place.directory)
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise place.corruption("its directory is no directory") from error


def refuse_others(place: Place, names: list[str], *, alone: bool) -> None:
    """Refuse where one of these names is a log of another generation or encoding.

    Args:
        alone: without a log of this encoding beside it an older generation is refused too.

    Raises:
        SessionFormatUnsupportedError: names the file.
    """
    own = {"session.lock", place.codec.file_name}
    if own.issuperset(names):
        return
    found = {name: _GENERATION.fullmatch(name) for name in names if name not in own}
    generations = {name: int(match[1] or 0) for name, match in found.items() if match is not None}
    for name, generation in sorted(generations.items(), key=lambda entry: -entry[1]):
        if generation < _CURRENT and not alone:
            continue
        if generation > _CURRENT:
            problem = f"is of the newer generation {generation}: upgrade this build to open it"
        elif generation < _CURRENT:
            problem = f"is of the older generation {generation}: there is no upgrade path from it"
        else:
            problem = f"is of another encoding than {place.codec.file_name}: open it with the backend of that encoding"
        location = f"{place.directory}/{name}"
        raise SessionFormatUnsupportedError(
            f"session {place.session_id!r}: {location} {problem}", session_id=place.session_id, location=location
        )


def open_own(place: Place, flags: int, *, at_once: bool) -> Artifact | None:
    """As ``open_artifact``, without a look at what else lies in the directory."""
    fd = open_file(place, flags)
    if fd is None:
        return None
    found: Artifact | None = None
    try:
        found = read_header(place, fd, os.fstat(fd), at_once=at_once)
    finally:
        if found is None:
            os.close(fd)
    return found


def open_file(place: Place, flags: int) -> int | None:
    """A descriptor of what stands where the artifact belongs, or None.

    Raises:
        SessionPersistenceCorruptionError: no file can stand there.
        OSError: the storage refused.
    """
    try:
        # A pipe or a device planted there must not block the call: O_NONBLOCK means nothing to a regular file.
        return os.open(place.file, flags | _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        # Which of the two it is decides who lists the directory.
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise place.corruption("it is no regular file") from error
        raise


def read_header(place: Place, fd: int, status: os.stat_result, *, at_once: bool) -> Artifact | None:
    """The artifact in an open file of that status, or None where it is what a torn creation leaves.

    Raises:
        SessionPersistenceCorruptionError: no regular file, or the header is damaged or names another id.
        SessionFormatUnsupportedError: the header is of another version.
        LongLogError: with ``at_once`` only.
        OSError: the storage refused.
    """
    size = status.st_size
    if not stat.S_ISREG(status.st_mode):
        raise place.corruption("it is no regular file")
    if at_once and size > SMALL:
        raise LongLogError
    try:
        source = range_of(fd, size)
        block = place.codec.read_header(source)
    except Damage as error:
        raise place.corruption(str(error)) from error
    if block is None:
        return None
    line = block.line
    header, inherited = (_plain_header(line) if len(line) <= PAGE else None) or _any_header(place, line)
    if header.id != place.session_id:
        raise place.corruption(f"its header names the session {header.id!r}")
    return Artifact(fd, (status.st_dev, status.st_ino), source, block, header, inherited)


def _any_header(place: Place, line: bytes) -> tuple[SessionHeader, int | None]:
    try:
        found: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise place.corruption(f"its header is no JSON: {error}") from error
    if type(found) is not dict or found.get("type") != "session":
        raise place.corruption("its first line is no session header")
    assert_version(found.get("version"), session_id=place.session_id, location=place.file)
    try:
        return materialize_create_header(*header_from_json(found))
    except (KeyError, TypeError, ValueError) as error:
        raise place.corruption(f"its header is not valid: {error}") from error


@functools.lru_cache(maxsize=256)
def _plain_header(line: bytes) -> tuple[SessionHeader, None] | None:
    """The header of a session that is not seeded, with text at most in its optional keys, read quickly; else None.

    There is little to check then (a decoder gives no lone surrogates), and nothing in it that could be changed: so the
    header of a line that was met before need not be made again.
    """
    try:
        found: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if type(found) is not dict:
        return None
    required: list[Any] = [found.get(key) for key in _REQUIRED]
    version, session_id, created_at, depth = required
    cwd, parent, origin, preset = (found.get(key) for key in _OPTIONAL)
    optional = [value for value in (cwd, parent, origin, preset) if value is not None]
    plain = (
        len(found) == 6 + len(optional)
        and found.get("type") == "session"
        and type(version) is int
        and version == CURRENT_VERSION
        and found.get("isSeeded") is False
        and type(session_id) is str
        and session_id != ""
        and type(created_at) is int
        and 0 <= created_at <= MAX_SAFE_INTEGER
        and type(depth) is int
        and 0 <= depth <= MAX_SAFE_INTEGER
        and all(type(value) is str for value in optional)
    )
    if not plain:
        return None
    return SessionHeader(session_id, created_at, version, cwd, parent, False, origin, depth, preset), None


def id_in_header(root: str, codec: Codec, name: str) -> str | None:
    """The id that the header in the directory ``name`` gives, where that directory is its own; else None.

    For names that only the header can translate. Damage is told by opening the session under its id.
    """
    try:
        fd = os.open(f"{root}/{name}/{codec.file_name}", os.O_RDONLY | _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        block = codec.read_header(range_of(fd, os.fstat(fd).st_size))
        found = None if block is None else orjson.loads(block.line)
    except (Damage, orjson.JSONDecodeError):
        return None
    finally:
        os.close(fd)
    session_id = found.get("id") if type(found) is dict else None
    return session_id if type(session_id) is str and session_id and directory_name(session_id) == name else None
