"""What scenarios about failing storage share: which calls fail, and how a caller goes on.

Storage fails in a way that no store gets around: every call of its kind, until it heals. A backend may notice at the
append or at the barrier behind it, so a caller goes on to the barrier where the append was taken.
"""

from __future__ import annotations

from typing import Any

from conformance.checks.script import Script, batch
from conformance.clauses import Need
from conformance.model.history import Raised

FAILING = (Need.FRESH, Need.FAULTS)

STORING = ("write", "sync", "truncate")
"""Kinds of storage calls without which nothing can be stored."""

NAMING = ("open", "link", "rename", "mkdir")
"""Those without which nothing gets a name."""

READING = ("read", "open")
"""Those without which nothing can be read."""


def store(s: Script, w: int, events: list[dict[str, Any]]) -> bool:
    """Append, and flush where that was taken; whether something rejected."""
    if isinstance(s.append(w, events), Raised):
        return True
    return isinstance(s.flush(w), Raised)


def again(s: Script, w: int, events: list[dict[str, Any]], instance: int, session: str = "s1") -> int:
    """What was rejected once more: the batch, where the log lacks it, then a flush.

    A handle that ended itself, as it may after a failed sync, is replaced. Returns the handle that owns now.
    """
    for _ in range(2):
        taken = s.log_length(w) > events[-1]["seq"]
        outcome = s.flush(w) if taken else s.append(w, events)
        if isinstance(outcome, Raised) and outcome.error.kind == "SessionOwnershipLostError":
            s.close(w)
            w = s.open(instance, session, "write")
            s.read(w)
            continue
        break
    s.flush(w)
    return w


def see(s: Script, *handles: int, instance: int, session: str = "s1") -> None:
    """Read by each handle, and ask the service."""
    for handle in handles:
        s.read(handle)
    s.stat(instance, session)
    s.list(instance)


def own_again(s: Script, instance: int, session: str) -> None:
    """The next owner, where there is a session: it shows what is stored, and goes on."""
    w = s.open(instance, session, "write")
    if s.has(w):
        s.read(w)
        s.append(w, batch(s.log_length(w), 1, mark="after"))
        s.close(w)


def end(s: Script, instance: int, *sessions: str) -> None:
    """Close the service, see that nothing is left of it, and read everything by a fresh one."""
    s.close_all(instance)
    s.count_left()
    b = s.instance()
    s.list(b)
    for session in sessions or ("s1",):
        s.stat(b, session)
        s.read(s.open(b, session))
