"""From session ids to directory names: injective, one path segment, safe on every file system.

A name is the id with everything but ``a-z 0-9 - _`` written as ``%xx``, the UTF-8 bytes in lower-case hex. So names
hold no separator, dot, space, upper-case letter or composed character, and stay distinct on file systems that fold
case or normalise Unicode. Reserved device names get their first letter escaped. An id whose name would be longer than
a path segment may be becomes ``=`` and the SHA-256 of the id; the stored header confirms which id it is.

Nothing here touches the disk.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

MAX_NAME = 240
"""Longest name made by escaping, in bytes; file systems stop at 255."""

_PLAIN = re.compile(r"[a-z0-9_-]*")
_UNSAFE = re.compile(rb"[^a-z0-9_-]")
_ESCAPE = re.compile(rb"%(..)")
_NAME = re.compile(r"(?:[a-z0-9_-]|%[0-9a-f]{2})+")
_DIGEST = re.compile(r"=[0-9a-f]{64}")
_DEVICES = frozenset({"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)})


@lru_cache(maxsize=1024)
def directory_name(session_id: str) -> str:
    """The path segment for an id: at most ``MAX_NAME`` bytes of ASCII.

    Raises:
        UnicodeEncodeError: the id holds lone surrogates (a ``ValueError``).
    """
    if _PLAIN.fullmatch(session_id):
        name = session_id
    else:
        raw = session_id.encode("utf-8")
        name = _UNSAFE.sub(lambda found: b"%%%02x" % found[0][0], raw).decode("ascii")
    if name in _DEVICES:
        name = f"%{ord(name[0]):02x}{name[1:]}"
    if not name or len(name) > MAX_NAME:
        return "=" + hashlib.sha256(session_id.encode("utf-8")).hexdigest()
    return name


def session_id_of(name: str) -> str | None:
    """The id that ``directory_name`` makes this name of; None for a digest, and for a name no id makes."""
    if not _NAME.fullmatch(name):
        return None
    raw = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), name.encode("ascii"))
    try:
        session_id = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return session_id if directory_name(session_id) == name else None


def is_digest(name: str) -> bool:
    """Whether the name stands for an id that only the stored header tells."""
    return bool(_DIGEST.fullmatch(name))
