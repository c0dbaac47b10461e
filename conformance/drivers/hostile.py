"""Artifacts made to do harm, in a shape that the reader of an artifact is likely to follow.

The format is not known; what the artifact begins with says whether it is compressed, and how. Text is made for readers
of JSON lines, which most artifacts are in the end.
"""

from __future__ import annotations

import gzip
import zlib
from functools import cache

import zstandard

ZSTD = b"\x28\xb5\x2f\xfd"
GZIP = b"\x1f\x8b"

EXPANDED = 300 << 20
"""Bytes that a bomb expands to."""

LONG = 1 << 21
"""Bytes of a line without an end, where it is not compressed."""

DEEP = 200_000
"""How deep what is nested goes."""

_PIECE = 1 << 20


def hostile(kind: str, artifact: bytes) -> bytes:
    """Hostile bytes of that kind for an artifact that looks like this one.

    Raises:
        ValueError: an unknown kind.
    """
    if kind == "nested":
        text = b'{"type":"user/message","seq":0,"time":0,"data":' + b"[" * DEEP + b"]" * DEEP + b"}\n"
        return _packed(text, artifact)
    if kind == "endless":
        return _packed(b'{"type":"user/message","seq":0,"time":0,"data":"' + b"a" * LONG, artifact)
    if kind != "bomb":
        raise ValueError(f"kind={kind!r}: expected 'bomb', 'endless' or 'nested'")
    return _bomb(artifact)


def _packed(text: bytes, artifact: bytes) -> bytes:
    if artifact.startswith(ZSTD):
        return zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True).compress(text)
    if artifact.startswith(GZIP):
        return gzip.compress(text, mtime=0)
    return text


def _bomb(artifact: bytes) -> bytes:
    """Little that expands to ``EXPANDED`` bytes; where nothing is compressed, text of one repeated value."""
    return _bomb_like(artifact[:4])


@cache
def _bomb_like(artifact: bytes) -> bytes:
    if artifact.startswith(GZIP):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        return b"".join(packer.compress(b"a" * _PIECE) for _ in range(EXPANDED // _PIECE)) + packer.flush()
    if artifact.startswith(ZSTD):
        coder = zstandard.ZstdCompressor(level=1, write_checksum=True).compressobj(size=EXPANDED)
        return b"".join(coder.compress(b"a" * _PIECE) for _ in range(EXPANDED // _PIECE)) + coder.flush()
    return b"[" + b"[],[[]]," * (LONG // 16)
