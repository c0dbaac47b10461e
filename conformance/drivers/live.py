"""The hubs of a driver's instances, and what a backend logs meanwhile: the part of a driver that LIVE is about."""

from __future__ import annotations

import logging
import tracemalloc
from typing import Any

from conformance.contract import Backend, SessionHub
from conformance.drivers.outcomes import scribble
from conformance.model.history import FloodView, Value
from conformance.model.operations import Dispose, Flood, HubCreate, HubFlush, Publish, filler
from conformance.model.values import clone

MOST_WARNINGS = 200
"""Messages that are kept until they are read; what a broken backend logs on and on is cut there."""


class Warnings(logging.Handler):
    """Keeps what is logged as a warning or worse, whoever logs it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message; one that cannot be formatted is kept as it was given."""
        if len(self._messages) >= MOST_WARNINGS:
            return
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = str(record.msg)
        self._messages.append(f"{record.levelname}: {message}")

    def begin(self) -> None:
        """Listen from now on."""
        logging.getLogger().addHandler(self)

    def end(self) -> None:
        """Listen no more."""
        logging.getLogger().removeHandler(self)

    def take(self) -> list[str]:
        """The messages since they were taken last."""
        found, self._messages = self._messages, []
        return found


class Hubs:
    """One hub for each instance of a backend that has a live path."""

    def __init__(self, backend: Backend) -> None:
        self._live = backend.live
        self._sync = backend.sync
        self._hubs: dict[int, SessionHub] = {}

    def attach(self, instance: int, persistence: Any) -> None:
        """Let the backend subscribe, once for this instance."""
        if self._live is not None:
            self._hubs[instance] = SessionHub()
            # A seam gets the author's own object.
            self._live(getattr(persistence, "inner", persistence) if self._sync else persistence, self._hubs[instance])

    def clear(self) -> None:
        """The instances are dead."""
        self._hubs.clear()

    def _hub(self, instance: int) -> SessionHub:
        return self._hubs[instance]

    def __contains__(self, instance: int) -> bool:
        return instance in self._hubs

    async def perform(self, op: HubCreate | Publish | HubFlush | Dispose | Flood) -> Value:
        """What the operation says, on the hub of its instance."""
        match op:
            case HubCreate():
                return await self.create(op)
            case Publish():
                return await self.publish(op)
            case HubFlush():
                return await self.flush(op)
            case Dispose():
                return await self.dispose(op)
        return await self.flood(op)

    async def create(self, op: HubCreate) -> Value:
        """See ``HubCreate``."""
        self._hub(op.instance).create(op.session, clone(op.events))
        return None

    async def publish(self, op: Publish) -> Value:
        """See ``Publish``."""
        event = clone(op.event)
        self._hub(op.instance).append(op.session, event)
        if op.scribble:
            scribble(event)
        return None

    async def flush(self, op: HubFlush) -> Value:
        """See ``HubFlush``."""
        await self._hub(op.instance).flush(op.session)
        return None

    async def dispose(self, op: Dispose) -> Value:
        """See ``Dispose``."""
        await self._hub(op.instance).dispose(op.session)
        return None

    async def flood(self, op: Flood) -> Value:
        """See ``Flood``."""
        hub, taken, error = self._hub(op.instance), 0, ""
        was_tracing = tracemalloc.is_tracing()
        if not was_tracing:
            tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        try:
            for seq in range(op.first, op.first + op.count):
                try:
                    hub.append(op.session, filler(seq, op.width))
                except Exception as refused:  # noqa: BLE001 - whatever a producer is told ends the flood.
                    error = type(refused).__name__
                    break
                taken += 1
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            if not was_tracing:
                tracemalloc.stop()
        return FloodView(taken, max(0, grown), error)
