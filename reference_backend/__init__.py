"""The reference backends: JSONL logs with one directory for each session, framed (``jsonl``) and plain (``jsonl-raw``).

The oracle of the kit, and an example to copy. It needs a POSIX system: ``flock``, hard links and directory syncs.
From the top: ``service`` (who owns what), ``handle`` (what a call does), ``turns`` (order of calls), ``live``
(published events), ``reader`` and ``writer`` (one handle's blocking work), ``store`` and ``opening`` (what this
instance sees and owns), ``artifact``, ``place``, ``locks`` and ``disk`` (files), ``zstd_codec`` and ``raw_codec`` with
``frames``, ``recovery`` and ``records`` (bytes).
``reference_backend.memory`` is a third one, without storage.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from conformance.contract import Backend, Capabilities
from reference_backend.live import WINDOW, subscribe
from reference_backend.place import Place
from reference_backend.positions import Codec
from reference_backend.raw_codec import RawCodec
from reference_backend.service import JsonlPersistence
from reference_backend.zstd_codec import ZstdCodec

__all__ = ["JsonlPersistence", "jsonl", "jsonl_raw"]

_CLAIMS = Capabilities(
    durability="power-loss-strict",
    append_durability="append",
    cross_process_ownership=True,
    checksums=True,
    encodings=("jsonl.zstd", "jsonl"),
    live_window=WINDOW,
)


_ZSTD: Codec = ZstdCodec()
_RAW: Codec = RawCodec()


# Nothing here asks for the time or for chance. Taking `env` says so: what an instance does depends on the files alone,
# and whoever tries many of them need not try equal ones twice.
def _open_zstd(root: Path, env: object = None) -> JsonlPersistence:
    return JsonlPersistence(root, _ZSTD)


def _open_raw(root: Path, env: object = None) -> JsonlPersistence:
    return JsonlPersistence(root, _RAW)


def _artifact(codec: Codec, root: Path, session_id: str) -> Path | None:
    place = Place(os.fspath(root), codec, session_id)
    return place.path if os.path.exists(place.file) else None


jsonl = Backend(
    name="jsonl",
    open=_open_zstd,
    capabilities=_CLAIMS,
    location=lambda root, session_id: _artifact(_ZSTD, root, session_id),
    live=subscribe,
)

jsonl_raw = Backend(
    name="jsonl-raw",
    open=_open_raw,
    # Plain lines have no checksum: a changed byte inside a value goes unnoticed.
    capabilities=replace(_CLAIMS, checksums=False),
    location=lambda root, session_id: _artifact(_RAW, root, session_id),
    live=subscribe,
)
