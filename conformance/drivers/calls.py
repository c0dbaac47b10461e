"""The calls themselves: one operation of a program in, what the backend returned out, as data.

Arguments are fresh copies, so that neither side can change what the program or the history holds. Nothing here runs a
loop or records; ``InProcessDriver`` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from conformance.contract import Backend
from conformance.drivers.factory import Instance, enter_instance
from conformance.drivers.live import Hubs
from conformance.drivers.loops import Host
from conformance.drivers.outcomes import CallerError, Observer, fresh_header, scribble
from conformance.drivers.premises import Premises
from conformance.model.history import Odd, Value
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Discard,
    Dispose,
    Flood,
    Flush,
    FlushInstance,
    HubCreate,
    HubFlush,
    Inspect,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Publish,
    Read,
    Stat,
)
from conformance.model.tree import TreeView
from conformance.model.values import clone


class Absent(Exception):
    """The program names an instance or a handle that was never returned."""


class Calls:
    """The instances and handles of one backend, under the numbers that a program gave them."""

    backend: Backend
    root: Path
    _premises: Premises | None
    _host: Host
    _observer: Observer
    _instances: dict[int, Instance]
    _handles: dict[int, Any]
    _hubs: Hubs
    _crashes: bool
    _opened: bool

    def _instance(self, number: int) -> Any:
        try:
            return self._instances[number].persistence
        except KeyError:
            raise Absent from None

    def _handle(self, number: int) -> Any:
        try:
            return self._handles[number]
        except KeyError:
            raise Absent from None

    def artifact_size(self, session_id: Any) -> int | None:
        """Bytes of the session's artifact now; None where there is none, or the backend does not tell where."""
        if self.backend.location is None or not isinstance(session_id, str):
            return None
        with self._unfailing():
            path = self.backend.location(self.root, session_id)
            if path is None:
                return None
            try:
                return path.stat().st_size
            except FileNotFoundError:
                return None

    def _unfailing(self) -> contextlib.AbstractContextManager[Any]:
        """Storage does not fail meanwhile: what is done is not the backend's doing."""
        return contextlib.nullcontext()

    async def _open_instance(self, op: OpenInstance) -> Value:
        if self._premises is not None and not self._crashes and not self._opened:
            self._premises.prepare()
        self._instances[op.instance] = instance = await enter_instance(self.backend, self.root, self._host.env)
        self._opened = True
        self._hubs.attach(op.instance, instance.persistence)
        return None

    async def _on_hub(self, op: HubCreate | Publish | HubFlush | Dispose | Flood) -> Value:
        if op.instance not in self._hubs:
            raise Absent
        return await self._hubs.perform(op)

    async def _close_instance(self, op: CloseInstance) -> Value:
        await self._instance(op.instance).close()
        return None

    async def _flush_instance(self, op: FlushInstance) -> Value:
        await self._instance(op.instance).flush()
        return None

    async def _create(self, op: Create) -> Value:
        service = self._instance(op.instance)
        header = fresh_header(op.header)
        if op.named:
            handle = await service.create(header=header, inherited_event_count=op.inherited)
        elif op.inherited is None:
            handle = await service.create(header)
        else:
            handle = await service.create(header, op.inherited)
        self._handles[op.handle] = handle
        if op.scribble:
            scribble([header.extra, header.origin, header.agent_preset])
        return self._observer.handle(handle)

    async def _open_session(self, op: OpenSession) -> Value:
        service = self._instance(op.instance)
        if op.named:
            handle = await service.open(session_id=op.session, access=op.access)
        else:
            handle = await service.open(op.session, op.access)
        self._handles[op.handle] = handle
        return self._observer.handle(handle)

    async def _stat(self, op: Stat) -> Value:
        snapshot = await self._instance(op.instance).stat(op.session)
        if snapshot is None:
            return None
        return self._observer.snapshot(op.instance, snapshot, self.artifact_size(op.session))

    async def _list(self, op: ListSessions) -> Value:
        snapshots = await self._instance(op.instance).list()
        if type(snapshots) is not list and (not isinstance(snapshots, Sequence) or isinstance(snapshots, str | bytes)):
            return self._observer.events(snapshots)
        return [
            self._observer.snapshot(
                op.instance, snapshot, self.artifact_size(getattr(getattr(snapshot, "header", None), "id", None))
            )
            for snapshot in snapshots
        ]

    async def _read(self, op: Read) -> Value:
        handle = self._handle(op.handle)
        if op.named:
            value = await handle.read(offset=op.offset, length=op.length)
        elif op.length is None:
            value = await (handle.read() if op.offset == 0 and type(op.offset) is int else handle.read(op.offset))
        else:
            value = await handle.read(op.offset, op.length)
        copied = self._observer.events(value)
        if op.scribble:
            scribble(value)
        return copied

    async def _append_given(self, op: Append, events: Any) -> Value:
        """An append of a batch that the caller keeps, and may change."""
        await self._handle(op.handle).append(events)
        return None

    async def _append(self, op: Append) -> Value:
        handle = self._handle(op.handle)
        events = clone(op.events)
        if not op.scribble:
            await (handle.append(events=events) if op.named else handle.append(events))
            return None
        if self.backend.sync:
            # A plain function has taken its arguments only once its job ran.
            await handle.append(events)
            scribble(events)
            return None
        # "Called" is the first suspension: one turn of the loop after the task was made.
        task = asyncio.ensure_future(handle.append(events))
        await asyncio.sleep(0)
        scribble(events)
        await task
        return None

    async def _flush(self, op: Flush) -> Value:
        await self._handle(op.handle).flush()
        return None

    async def _close(self, op: Close) -> Value:
        await self._handle(op.handle).close()
        return None

    async def _leave(self, op: Leave) -> Value:
        handle = self._handle(op.handle)
        async with handle as entered:
            if op.raising:
                raise CallerError("raised by the caller inside the context")
            if op.cancelled:
                raise asyncio.CancelledError
            if entered is not handle:
                return Odd(f"entered {entered!r:.200}, which is not the handle")
            inside = self._observer.handle(handle)
        closed = self._observer.handle(handle)
        return inside if inside == closed else closed

    async def _discard(self, op: Discard) -> Value:
        self._handle(op.handle)
        del self._handles[op.handle]
        # Objects of a program this short are young: a full collection would look at the whole process.
        gc.collect(1)
        return None

    async def _inspect(self, op: Inspect) -> Value:
        if self._premises is None:
            return TreeView()
        return self._premises.look(self.backend.location, op.sessions, bytes_only=op.bytes_only)


PERFORM: dict[type[Operation], Callable[[Calls, Any], Coroutine[Any, Any, Value]]] = {
    OpenInstance: Calls._open_instance,
    CloseInstance: Calls._close_instance,
    FlushInstance: Calls._flush_instance,
    Create: Calls._create,
    OpenSession: Calls._open_session,
    Stat: Calls._stat,
    ListSessions: Calls._list,
    Read: Calls._read,
    Append: Calls._append,
    Flush: Calls._flush,
    Close: Calls._close,
    Leave: Calls._leave,
    Discard: Calls._discard,
    Inspect: Calls._inspect,
    HubCreate: Calls._on_hub,
    Publish: Calls._on_hub,
    HubFlush: Calls._on_hub,
    Dispose: Calls._on_hub,
    Flood: Calls._on_hub,
}
