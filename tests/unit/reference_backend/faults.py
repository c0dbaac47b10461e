"""Storage faults for the tests of this folder: the n-th call of some ``os`` functions fails, once or from then on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WRITING = ("open", "pwrite", "fdatasync", "fsync", "ftruncate", "link", "unlink", "rename", "mkdir", "close")
READING = ("open", "pread", "fstat", "listdir", "stat")


class Faults:
    """Counts the calls, whichever thread makes them, and breaks the n-th."""

    def __init__(self, at: int, *, sticky: bool, lands: bool, code: int) -> None:
        self.at = at
        self.sticky = sticky
        self.lands = lands
        self.code = code
        self.calls = 0
        self.fired = False
        self.healed = False
        self._watching = True

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While this lasts nothing fails and nothing is counted."""
        self._watching = False
        try:
            yield
        finally:
            self._watching = True

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """``os.<name>``, watched."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.healed or not self._watching:
                return real(*args, **kwargs)
            self.calls += 1
            if self.calls == self.at or (self.sticky and self.calls > self.at):
                self.fired = True
                if name == "pwrite":
                    real(args[0], bytes(args[1])[: len(args[1]) if self.lands else 5], args[2])
                elif name == "close" or (self.lands and name != "open"):
                    real(*args, **kwargs)
                raise OSError(self.code, os.strerror(self.code))
            return real(*args, **kwargs)

        return call


@contextmanager
def faults(
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    at: int,
    *,
    sticky: bool = False,
    lands: bool = False,
    code: int = errno.EIO,
) -> Iterator[Faults]:
    """While this lasts, the ``at``-th call (from 1) of the named functions fails."""
    plan = Faults(at, sticky=sticky, lands=lands, code=code)
    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(os, name, plan.wrap(name, getattr(os, name)))
        yield plan
