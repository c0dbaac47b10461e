"""Processes that a backend starts and leaves running: told, and ended, when the run's own process ends.

They have the standard streams of the run, and whoever reads those would wait for them. No clause is about them, and a
backend may well keep one for all of its instances and stop it at the end of Python: so this is a notice, and the last
thing that happens. Only what was started while a backend was loaded or checked is meant, with what it started itself.

Does not: see what a process left to the system when it ended, or anything where the system lists no children.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from conformance.sim.disk import real

GRACE_S = 1.0
"""Wall seconds in which a process may end by itself that was asked to."""

NAMED = 5
"""How many are told."""

_LOOK_S = 0.01
_LONGEST_NAME = 60


class _Child(NamedTuple):
    """A process, which no later one of the same number equals."""

    number: int
    started: int


class _Status(NamedTuple):
    parent: int
    started: int
    is_over: bool


_noted: dict[_Child, int] = {}
"""What was started meanwhile -> by which process."""


@contextmanager
def noting() -> Iterator[None]:
    """Note the processes that are started meanwhile and still run at the end."""
    before = _children(os.getpid())
    try:
        yield
    finally:
        _noted.update(dict.fromkeys(_children(os.getpid()) - before, os.getpid()))


def end_at_exit() -> None:
    """Have what was noted ended behind everything that is registered for the end of Python from here on."""
    atexit.register(end_left)


def end_left() -> None:
    """Tell on the standard error stream what of it still runs, and end it."""
    until = time.monotonic() + GRACE_S
    while (left := _left()) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    if not left:
        return
    named = [f"{_command(each.number)} (pid {each.number})" for each in left[:NAMED]]
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    family = [each for child in left for each in _family(child)]
    for each in family:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each.number, signal.SIGKILL)
    _noted.clear()
    if sys.stderr is not None:
        sys.stderr.write(
            "torntail: the backend left processes running, which were ended (no clause is about them):"
            f" {', '.join(named)}{more}\n"
        )
        sys.stderr.flush()


def _left() -> list[_Child]:
    """What was noted and runs; a number whose process ended may be another one's by now."""
    return sorted(each for each, by in _noted.items() if by == os.getpid() and _runs(each, by))


def _runs(child: _Child, parent: int) -> bool:
    status = _status(child.number)
    return status == _Status(parent, child.started, is_over=False)


def _family(child: _Child) -> list[_Child]:
    """A process, and what descends from it, the eldest first."""
    found = [child]
    for each in found:
        found += sorted(_children(each.number) - set(found))
    return found


def _children(number: int) -> set[_Child]:
    """The processes that run and that one started; none where the system does not list them."""
    numbers: set[int] = set()
    with suppress(OSError):
        for thread in real.listdir(f"/proc/{number}/task"):
            with suppress(OSError), real.io_open(f"/proc/{number}/task/{thread}/children", encoding="ascii") as listed:
                numbers.update(map(int, listed.read().split()))
    found = {each: _status(each) for each in numbers}
    return {_Child(each, status.started) for each, status in found.items() if status and not status.is_over}


def _status(number: int) -> _Status | None:
    """What the system says of a process; None where there is none, or nobody tells."""
    try:
        with real.io_open(f"/proc/{number}/stat", "rb") as told:
            # The name comes before, in parentheses, and may hold anything.
            fields = told.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return _Status(int(fields[1]), int(fields[19]), fields[0] in (b"Z", b"X"))


def _command(number: int) -> str:
    try:
        with real.io_open(f"/proc/{number}/cmdline", "rb") as told:
            command = told.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        command = ""
    return command if len(command) <= _LONGEST_NAME else f"{command[: _LONGEST_NAME - 1]}…"
