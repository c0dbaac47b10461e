"""What a program does on the session hub, beside the calls of the backend: publish, flush, dispose (LIVE).

Each instance has a hub of its own, to which the backend subscribed when the instance was opened. Everybody imports the
operations from ``conformance.model.operations``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from conformance.model.operation import Operation


@dataclass(frozen=True, slots=True)
class HubCreate(Operation):
    """Publish a session on the hub of an instance; ``events`` are its seed, which the hub never emits (LIVE-09)."""

    kind: ClassVar[str] = "hub_create"
    instance: int
    session: str
    events: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Publish(Operation):
    """``session/event``. With ``scribble`` the producer overwrites the event once it is published (LIVE-08)."""

    kind: ClassVar[str] = "publish"
    instance: int
    session: str
    event: Any
    scribble: bool = False


@dataclass(frozen=True, slots=True)
class HubFlush(Operation):
    """``session/flush``, and waiting for it."""

    kind: ClassVar[str] = "hub_flush"
    instance: int
    session: str


@dataclass(frozen=True, slots=True)
class Dispose(Operation):
    """``session/disposed``, and waiting for what the backend still does about it."""

    kind: ClassVar[str] = "hub_dispose"
    instance: int
    session: str


@dataclass(frozen=True, slots=True)
class ReadWarnings(Operation):
    """What was logged as a warning or worse since the program began, or since it was read last (LIVE-04, LIVE-06)."""

    kind: ClassVar[str] = "read_warnings"


@dataclass(frozen=True, slots=True)
class Flood(Operation):
    """Publish ``count`` events from seq ``first``, ``width`` characters in each, until one is not taken (LIVE-11).

    It tells how many were taken, and by how many bytes what the process holds has grown.
    """

    kind: ClassVar[str] = "flood"
    instance: int
    session: str
    first: int
    count: int
    width: int = 100
