"""A look at storage from another process that may use only so much more memory than it has.

The process is a copy of this one, so that any backend that is loaded here can be asked there. Its limit is the
operating system's own; what it comes to is sent back as data, and a process that dies or never answers is told as such.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from conformance.contract import CONTRACT_ERRORS
from conformance.drivers.errors import SetupError
from conformance.model.history import (
    ErrorView,
    Hung,
    Outcome,
    Raised,
    Returned,
    Skipped,
)
from conformance.model.history_forms import outcome_from_json, outcome_to_json
from conformance.model.operations import OpenInstance, OpenSession, Operation, Read

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

LONGEST = 60.0
"""Wall seconds after which the process is ended."""

_STATUS = Path("/proc/self/statm")


def can_confine() -> bool:
    """Whether this system copies processes, limits their memory and says how much they have."""
    return resource is not None and hasattr(os, "fork") and _STATUS.exists()


def confined(look: Callable[[], Outcome], room: int) -> Outcome:
    """What ``look`` comes to in a process with ``room`` more bytes of memory than this one has.

    Returns ``Skipped`` where this system cannot do it.
    """
    if not can_confine():
        return Skipped()
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        # The other threads of this process only wait; the copy asks nothing of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _in_child(look, room, writable)
    os.close(writable)
    try:
        sent, in_time = _all_of(readable, time.monotonic() + LONGEST)
        if not in_time:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(readable)
        _, status = os.waitpid(child, 0)
    if not in_time:
        return Hung(f"nothing within {LONGEST:g} s in a process of its own")
    if not sent:
        code = os.waitstatus_to_exitcode(status)
        return Raised(ErrorView("Died", "Died", f"the process ended with {code} and said nothing"))
    return outcome_from_json(json.loads(sent))


def read_anew(perform: Callable[[Operation], Outcome], session: str) -> Outcome:
    """Open an instance and the session by a driver that has done nothing yet, and read it; ends at the first error."""
    outcome: Outcome = Skipped()
    for operation in (OpenInstance(1), OpenSession(1, 1, session, "read"), Read(1)):
        outcome = perform(operation)
        if not isinstance(outcome, Returned):
            break
    return outcome


def _in_child(look: Callable[[], Outcome], room: int, writable: int) -> None:
    """Look, tell, and end; nothing of the copied process is cleaned up."""
    try:
        pages = int(_STATUS.read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + room
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            outcome = look()
        except MemoryError as error:
            outcome = Raised(ErrorView("MemoryError", "MemoryError", str(error)))
        except SetupError as error:
            # Here an instance that does not come up is an answer like any other.
            outcome = Raised(_view_of(error.__cause__ or error))
        data = json.dumps(outcome_to_json(outcome)).encode()
        while data:
            data = data[os.write(writable, data) :]
    finally:
        os._exit(0)


def _view_of(error: BaseException) -> ErrorView:
    kinds = (name for name, kind in CONTRACT_ERRORS.items() if isinstance(error, kind))
    name = type(error).__name__
    return ErrorView(next(kinds, name), name, str(error)[:2000])


def _all_of(readable: int, until: float) -> tuple[bytes, bool]:
    """Everything that is sent before the other side closes, and whether that came in time."""
    found = b""
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([readable], [], [], left)
        if ready:
            piece = os.read(readable, 1 << 16)
            if not piece:
                return found, True
            found += piece
    return found, False
