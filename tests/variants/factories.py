"""Right-but-different ways to open a backend: context managers of both kinds, and a factory that takes ``env``.

Each is an example for authors whose service needs something that must be given back, or that wants its time and tokens
from outside. The kit enters what comes out of a factory and leaves it at the end; an instance that is left is closed.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol

from buffered_files import BufferedFiles, buffered_files
from plain_files import PlainFiles, plain_files
from sqlite_rows import RowsStore, sqlite_rows

from conformance.contract import SessionSnapshot


@contextmanager
def opened_rows(root: Path) -> Iterator[RowsStore]:
    """A store whose database is closed whatever happened. Its methods are plain functions, so ``sync=True`` stays."""
    store = RowsStore(root)
    try:
        yield store
    finally:
        store.close()


@asynccontextmanager
async def opened_files(root: Path) -> AsyncIterator[BufferedFiles]:
    """A service that writes what still waits when it is left."""
    service = BufferedFiles(root)
    try:
        yield service
    finally:
        await service.close()


class Env(Protocol):
    """The part of ``env`` that is used here; there is ``monotonic()`` besides."""

    def now_ms(self) -> int:
        """Unix milliseconds."""

    def token(self, length: int) -> str:
        """So many characters that nobody else gets."""


class TokenFiles(PlainFiles):
    """Names its temporary files and marks its revisions with tokens and times of its ``env``, not with its own."""

    def __init__(self, root: Path, env: Env) -> None:
        super().__init__(root)
        self.env = env
        self.mark = f"{env.now_ms()} {env.token(8)}"

    def new_file(self, directory: Path) -> tuple[BinaryIO, Path]:
        """Under a name that only this instance can have made."""
        path = directory / f".{self.env.token(16)}.tmp"
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0), path

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Revisions of two instances are never alike."""
        found = super().snapshot(session_id)
        return found and replace(found, revision=f"{self.mark} {found.revision}")


def with_env(root: Path, env: Env) -> TokenFiles:
    """Called with the simulated world's clock and tokens, because it has a parameter of that name."""
    return TokenFiles(root, env)


managed_rows = replace(sqlite_rows, name="managed-rows", open=opened_rows)
"""The factory is a context manager."""

managed_files = replace(buffered_files, name="managed-files", open=opened_files)
"""The factory is an async context manager."""

token_files = replace(plain_files, name="token-files", open=with_env)
"""The factory takes ``env``."""
