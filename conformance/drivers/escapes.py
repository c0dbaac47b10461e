"""What of all that can be raised is a backend's answer, and what passes through it only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.drivers.watchdog import WallHang

PASSING = (KeyboardInterrupt, GeneratorExit, WallHang)
"""The user's interrupt, the end of a coroutine, and the watchdog's own."""


def is_answer(error: BaseException) -> bool:
    """Whether the backend raised it, so that it is judged: ``sys.exit`` in a method is an error like any other.

    It must end no run: an exit code of 0 would pass for a verdict.
    """
    return not isinstance(error, PASSING)


@contextmanager
def unheeded() -> Iterator[None]:
    """For what is over and judged: what a broken backend raises on its way out is no observation."""
    try:
        yield
    except BaseException as error:
        if not is_answer(error):
            raise
