"""The garbage collector while a backend is under test: it leaves alone what was there before.

The dead of every crash want full collections. These go through every object of the process, the modules and the tests
of its user above all, of which no check makes garbage. What is made from now on is collected as always. It pays for
what runs long: when the old objects are given back, the collector soon goes through all of them.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from typing import Any

_RESTING: list[None] = []
"""One entry where this module has frozen them. The collector would count them all to say whether there are any."""


@contextlib.contextmanager
def old_objects_at_rest() -> Iterator[None]:
    """Freeze what is there, and give it back to the collector at the end; nothing where somebody has frozen it."""
    if _RESTING or gc.get_freeze_count():
        # It is theirs to undo.
        yield
        return
    _RESTING.append(None)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        _RESTING.clear()


@contextlib.contextmanager
def exhaustion_unheard() -> Iterator[None]:
    """Say nothing of a finaliser, or a callback of the collector, that found no room left on the stack.

    A value that is nested too deeply takes a backend to the end of the stack, and it refuses it there. What the
    interpreter happens to run at that very depth fails: that is nobody's error, and a test runner that hears of it
    takes it for one, or fails itself while it writes it down.
    """
    before = sys.unraisablehook

    def heard(unraisable: Any) -> None:
        if unraisable.exc_type is not RecursionError:
            before(unraisable)

    sys.unraisablehook = heard
    try:
        yield
    finally:
        sys.unraisablehook = before
