"""A quick look at crashed storage: every question of a recovery in one coroutine, the answers as plain data.

Promises: the looks of ``conformance.model.recovery`` in their order, each instance closed again, under the same
deadlines as any call. It costs a fraction of the same operations performed one by one, which is what lets a sweep open
thousands of states each second.

Does not: judge, record, or keep anything from one look to the next but what the backend itself keeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conformance.contract import HEADER_KEYS, Backend, SessionHeader
from conformance.drivers.escapes import is_answer
from conformance.drivers.factory import Instance, enter_instance
from conformance.drivers.loops import Host, NeverEnded, host_for
from conformance.drivers.outcomes import Observer
from conformance.drivers.premises import artifact_bytes
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.whereabouts import Whereabouts
from conformance.model.history import ErrorView, HandleView, SnapshotView
from conformance.model.recovery import ABSENT, NOT_FOUND, RecoverySeen, SessionSeen, marker, newcomer
from conformance.model.values import clone

HUNG = "Hung"
"""Kind of the error that stands for a look that never ended."""


class Prober:
    """Looks at crashed storage of one backend.

    Args:
        thorough: every look; otherwise ownership, an append, and what a fresh instance then reads.
    """

    def __init__(self, backend: Backend, watchdog: Watchdog | None = None, *, thorough: bool = True) -> None:
        self._backend = backend
        self._watchdog = watchdog
        self._thorough = thorough
        self._whereabouts = Whereabouts()
        self._watched = f"backend {backend.name!r}: recovery after a crash"

    def look(self, root: Path, sessions: Sequence[str]) -> RecoverySeen:
        """What the backend shows of these sessions. The storage is not as it was afterwards."""
        seen = RecoverySeen([SessionSeen(each) for each in sessions])
        host = host_for(self._backend.capabilities)
        looker = _Looker(self._backend, root, host, seen)
        if self._watchdog is not None:
            self._watchdog.watch(self._watched, host.remember)
        try:
            host.run(looker.all() if self._thorough else looker.least())
        except NeverEnded as error:
            seen.failed = ErrorView(HUNG, HUNG, f"{looker.at} {error}")
        except BaseException as error:
            # Whatever a backend raises is an observation, and the model's to judge.
            if not is_answer(error):
                raise
            seen.failed = looker.observer.error(error)
        finally:
            if self._watchdog is not None:
                self._watchdog.rest()
            host.close()
            self._whereabouts.put_back()
        return seen


class _Looker:
    """One look; ``at`` is the call under way, for what hangs."""

    def __init__(self, backend: Backend, root: Path, host: Host, seen: RecoverySeen) -> None:
        self._backend = backend
        self._root = root
        self._host = host
        self._seen = seen
        self._number = 0
        self.observer = Observer(backend)
        self.at = "open_instance"

    async def all(self) -> None:
        """Every look."""
        for seen in self._seen.sessions:
            seen.before_looks = self._artifact(seen.session)
        first = await self._open()
        await self._describe(first.persistence)
        for seen in self._seen.sessions:
            seen.handle, seen.log = await self._read_open(first.persistence, seen.session, shown=True)
        await self._close(first)
        second = await self._open()
        for seen in self._seen.sessions:
            _, seen.again = await self._read_open(second.persistence, seen.session)
        await self._close(second)
        for seen in self._seen.sessions:
            seen.after_looks = self._artifact(seen.session)
        await self.least()

    async def least(self) -> None:
        """Ownership, an append, and what a fresh instance then reads."""
        owner = await self._open()
        for seen in self._seen.sessions:
            await self._go_on(owner.persistence, seen)
        await self._close(owner)
        last = await self._open()
        for seen in self._seen.sessions:
            if seen.failed is None:
                _, seen.after = await self._read_open(last.persistence, seen.session)
        await self._close(last)

    def _artifact(self, session: str) -> bytes | None:
        return artifact_bytes(self._backend.location, self._root, session)

    async def _open(self) -> Instance:
        self.at = "open_instance"
        self._number += 1
        return await enter_instance(self._backend, self._root, self._host.env)

    async def _close(self, instance: Instance) -> None:
        self.at = "close_instance"
        await instance.persistence.close()
        await instance.leave()
        # Between two calls of a program the loop has its turns, and what a backend left to it is done.
        if not self._host.is_quiet():
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def _ask(self, what: str, call: Coroutine[Any, Any, Any]) -> Any:
        """What a call returned; an ``ErrorView`` where it raised."""
        self.at = what
        try:
            return await call
        except BaseException as error:
            if not is_answer(error):
                raise
            return self.observer.error(error)

    async def _describe(self, service: Any) -> None:
        listed = await self._ask("list", service.list())
        if listed.__class__ is ErrorView:
            self._seen.listed = listed
        else:
            self._seen.listed = [self._snapshot(each) for each in listed]
        for seen in self._seen.sessions:
            stat = await self._ask("stat", service.stat(seen.session))
            seen.stat = ABSENT if stat is None else stat if stat.__class__ is ErrorView else self._snapshot(stat)

    def _snapshot(self, value: Any) -> Any:
        found = self.observer.snapshot(self._number, value, None)
        return found if isinstance(found, SnapshotView) else ErrorView("Odd", "Odd", found.text)

    async def _read_open(self, service: Any, session: str, *, shown: bool = False) -> tuple[HandleView | None, Any]:
        """What a read handle says of itself, where that is ``shown``, and what reading it gave."""
        handle = await self._ask("open for reading", service.open(session, "read"))
        if handle.__class__ is ErrorView:
            return None, handle
        view = self._handle(handle) if shown else None
        log = await self._log(handle)
        await handle.close()
        return (None, view) if isinstance(view, ErrorView) else (view, log)

    def _handle(self, handle: Any) -> HandleView | ErrorView:
        view = _view_of_plain(handle)
        if view is not None:
            return view
        found = self.observer.handle(handle)
        return found if isinstance(found, HandleView) else ErrorView("Odd", "Odd", found.text)

    async def _log(self, handle: Any) -> Any:
        log = await self._ask("read", handle.read())
        if log.__class__ is list:
            # Its events are compared before anybody could change them; the list itself may be the backend's own.
            return log.copy()
        if log.__class__ is ErrorView:
            return log
        events = self.observer.events(log)
        return events if isinstance(events, list) else ErrorView("Odd", "Odd", events.text)

    async def _go_on(self, service: Any, seen: SessionSeen) -> None:
        """Own the session, or make it anew, and append one event."""
        handle = await self._ask("open for writing", service.open(seen.session, "write"))
        if handle.__class__ is ErrorView:
            if handle.kind != NOT_FOUND:
                seen.failed = handle
                return
            seen.owned, seen.made = handle, newcomer(seen.session)
            handle = await self._ask("create", service.create(seen.made))
            if handle.__class__ is ErrorView:
                seen.failed = handle
                return
            seen.batch = marker(0)
        view = self._handle(handle)
        seen.owner = view if isinstance(view, HandleView) else None
        if seen.batch is None:
            seen.owned = await self._log(handle)
            if not isinstance(seen.owned, list):
                seen.failed = seen.owned
                return
            seen.batch = marker(len(seen.owned))
        for what, call in (("append", handle.append(clone(seen.batch))), ("close", handle.close())):
            answer = await self._ask(what, call)
            if answer.__class__ is ErrorView and seen.failed is None:
                seen.failed = answer


def _view_of_plain(handle: Any) -> HandleView | None:
    """What the observer says of a handle that holds nothing but text and numbers, which is nearly every one; else None.

    Values that nobody can change need no copy, and of equal ones one header will do.
    """
    try:
        session, header = handle.id, handle.header
        access, inherited = handle.access, handle.inherited_event_count
    except AttributeError:
        return None
    if type(header) is not SessionHeader or type(header.extra) not in _MAPPINGS or header.extra:
        return None
    values = _of_header(header)
    if not _FIXED.issuperset(map(type, (session, access, inherited, *values))):
        return None
    return HandleView(session, _header_of(*values), access, inherited)


_of_header = attrgetter(*HEADER_KEYS)
_FIXED = frozenset({str, int, bool, type(None)})
_MAPPINGS = frozenset({dict, MappingProxyType})


@lru_cache(maxsize=4096, typed=True)
def _header_of(*values: Any) -> SessionHeader:
    return SessionHeader(**dict(zip(HEADER_KEYS, values, strict=True)))
