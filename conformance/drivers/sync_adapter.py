"""Makes a backend whose methods are plain functions look like any other: each call runs through ``asyncio.to_thread``.

The adapter adds no lock, no order and no check: what overlaps here overlaps in the backend. Attributes of handles are
read directly. ``inner`` is the author's own object, for the seams that want it.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self, cast

from conformance.contract import Access, SessionEvent, SessionHeader, SessionSnapshot


class SyncHandle:
    """A ``SessionHandle`` over the handle of a synchronous backend."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def id(self) -> str:
        """The inner handle's, read without a thread; so are the three below."""
        return cast(str, self.inner.id)

    @property
    def header(self) -> SessionHeader:
        """The session's header."""
        return cast(SessionHeader, self.inner.header)

    @property
    def inherited_event_count(self) -> int | None:
        """How many of the first events came from the parent."""
        return cast("int | None", self.inner.inherited_event_count)

    @property
    def access(self) -> Access:
        """``"read"`` or ``"write"``."""
        return cast(Access, self.inner.access)

    async def read(self, *args: Any, **kwargs: Any) -> list[SessionEvent]:
        """``inner.read`` in a thread."""
        return cast("list[SessionEvent]", await asyncio.to_thread(self.inner.read, *args, **kwargs))

    async def append(self, *args: Any, **kwargs: Any) -> None:
        """``inner.append`` in a thread."""
        return cast(None, await asyncio.to_thread(self.inner.append, *args, **kwargs))

    async def flush(self) -> None:
        """``inner.flush`` in a thread."""
        return cast(None, await asyncio.to_thread(self.inner.flush))

    async def close(self) -> None:
        """``inner.close`` in a thread."""
        return cast(None, await asyncio.to_thread(self.inner.close))

    async def __aenter__(self) -> Self:
        """Enter the inner handle's own context manager."""
        entered = await asyncio.to_thread(self.inner.__enter__)
        return self if entered is self.inner else type(self)(entered)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Leave it; what it answers about swallowing the exception is passed on, for CLOSE-05 judges it."""
        return cast("bool | None", await asyncio.to_thread(self.inner.__exit__, exc_type, exc, traceback))


class SyncPersistence:
    """A ``SessionPersistence`` over the service of a synchronous backend."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def create(self, *args: Any, **kwargs: Any) -> SyncHandle:
        """``inner.create`` in a thread; its handle comes wrapped."""
        return _wrapped(await asyncio.to_thread(self.inner.create, *args, **kwargs))

    async def open(self, *args: Any, **kwargs: Any) -> SyncHandle:
        """``inner.open`` in a thread; its handle comes wrapped."""
        return _wrapped(await asyncio.to_thread(self.inner.open, *args, **kwargs))

    async def stat(self, *args: Any, **kwargs: Any) -> SessionSnapshot | None:
        """``inner.stat`` in a thread."""
        return cast("SessionSnapshot | None", await asyncio.to_thread(self.inner.stat, *args, **kwargs))

    async def list(self) -> list[SessionSnapshot]:
        """``inner.list`` in a thread."""
        return cast("list[SessionSnapshot]", await asyncio.to_thread(self.inner.list))

    async def flush(self) -> None:
        """``inner.flush`` in a thread."""
        return cast(None, await asyncio.to_thread(self.inner.flush))

    async def close(self) -> None:
        """``inner.close`` in a thread."""
        return cast(None, await asyncio.to_thread(self.inner.close))


def _wrapped(handle: Any) -> SyncHandle:
    # Something that is no handle goes through as it came: the driver looks at it and says what is wrong.
    return SyncHandle(handle) if hasattr(handle, "read") else cast(SyncHandle, handle)
