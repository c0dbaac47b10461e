"""One session's artifact: what is there, and its header in words.

``open_artifact`` answers the one question existence hangs on: absent (no directory, or what a torn creation leaves),
a log of this encoding with a valid header, or a refusal that names the file. It changes nothing.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from conformance.contract import (
    SessionFormatUnsupportedError,
    SessionHeader,
    assert_version,
    header_from_json,
    header_to_json,
    materialize_create_header,
)
from reference_backend.disk import Identity, identity_of
from reference_backend.ids import directory_name
from reference_backend.place import Place
from reference_backend.positions import Codec, HeaderBlock
from reference_backend.ranges import Damage, FileRange

_GENERATION = re.compile(r"session(?:\.v(\d+))?\.jsonl(?:\.zstd)?")
_CURRENT = 1


@dataclass(frozen=True, slots=True)
class Artifact:
    """An open artifact with a valid header; whoever opened it closes ``fd``."""

    fd: int
    identity: Identity
    size: int
    block: HeaderBlock
    header: SessionHeader
    inherited: int | None

    @property
    def source(self) -> FileRange:
        """Its bytes as they were when it was opened."""
        return FileRange(self.fd, self.size)


def header_line(header: SessionHeader, inherited: int | None) -> bytes:
    """The header as it is stored, without its newline."""
    return orjson.dumps(header_to_json(header, inherited))


def open_artifact(place: Place, *, flags: int = os.O_RDONLY) -> Artifact | None:
    """Open the artifact, or None where the session is absent.

    Raises:
        SessionPersistenceCorruptionError: something else stands there, or the header is damaged or names another id.
        SessionFormatUnsupportedError: another generation or encoding of the session is there.
        OSError: the storage refused.
    """
    generations = _generations(place)
    own = _open_own(place, flags) if place.codec.file_name in generations else None
    try:
        _refuse_others(place, generations, own)
    except BaseException:
        if own is not None:
            os.close(own.fd)
        raise
    return own


def _generations(place: Place) -> dict[str, int]:
    """File names in the directory that are logs of some generation, with the generation."""
    try:
        names = os.listdir(place.directory)
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise place.corruption("its directory is no directory") from error
    found = {name: _GENERATION.fullmatch(name) for name in names}
    return {name: int(match[1] or 0) for name, match in found.items() if match is not None}


def _refuse_others(place: Place, generations: dict[str, int], own: Artifact | None) -> None:
    for name, generation in sorted(generations.items(), key=lambda entry: -entry[1]):
        if name == place.codec.file_name or (generation < _CURRENT and own is not None):
            continue
        if generation > _CURRENT:
            problem = f"is of the newer generation {generation}: upgrade this build to open it"
        elif generation < _CURRENT:
            problem = f"is of the older generation {generation}: there is no upgrade path from it"
        else:
            problem = f"is of another encoding than {place.codec.file_name}: open it with the backend of that encoding"
        location = str(place.directory / name)
        raise SessionFormatUnsupportedError(
            f"session {place.session_id!r}: {location} {problem}", session_id=place.session_id, location=location
        )


def _open_own(place: Place, flags: int) -> Artifact | None:
    try:
        # A pipe or a device planted there must not block the call: O_NONBLOCK means nothing to a regular file.
        fd = os.open(place.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise place.corruption("it is no regular file") from error
        raise
    try:
        found = _read_header(place, fd)
    except BaseException:
        os.close(fd)
        raise
    if found is None:
        os.close(fd)
    return found


def _read_header(place: Place, fd: int) -> Artifact | None:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise place.corruption("it is no regular file")
    with place.damage_told():
        block = place.codec.read_header(FileRange(fd, status.st_size))
    if block is None:
        return None
    header, inherited = _understand_header(place, block.line)
    return Artifact(fd, identity_of(status), status.st_size, block, header, inherited)


def _understand_header(place: Place, line: bytes) -> tuple[SessionHeader, int | None]:
    try:
        found: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise place.corruption(f"its header is no JSON: {error}") from error
    if type(found) is not dict or found.get("type") != "session":
        raise place.corruption("its first line is no session header")
    assert_version(found.get("version"), session_id=place.session_id, location=str(place.path))
    try:
        header, inherited = materialize_create_header(*header_from_json(found))
    except (KeyError, TypeError, ValueError) as error:
        raise place.corruption(f"its header is not valid: {error}") from error
    if header.id != place.session_id:
        raise place.corruption(f"its header names the session {header.id!r}")
    return header, inherited


def id_in_header(root: Path, codec: Codec, name: str) -> str | None:
    """The id that the header in the directory ``name`` gives, where that directory is its own; else None.

    For names that only the header can translate. Damage is told by opening the session under its id.
    """
    try:
        fd = os.open(root / name / codec.file_name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        block = codec.read_header(FileRange(fd, os.fstat(fd).st_size))
        found = None if block is None else orjson.loads(block.line)
    except (Damage, orjson.JSONDecodeError):
        return None
    finally:
        os.close(fd)
    session_id = found.get("id") if type(found) is dict else None
    return session_id if type(session_id) is str and session_id and directory_name(session_id) == name else None
