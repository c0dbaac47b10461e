"""A right-but-different backend: what ``read`` returns cannot be mutated.

Lists and dicts come back as subclasses that refuse every change, all the way down; everything that only looks at them
takes them for lists and dicts. Everything else is as in ``plain_files``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NoReturn

from plain_files import PlainFiles, PlainHandle, plain_files

from conformance.contract import SessionEvent


def refused(self: object, *args: object, **kwargs: object) -> NoReturn:
    """Stands in the place of every method that would change something."""
    raise TypeError("what read returned cannot be changed")


class FrozenList(list[Any]):
    """A list as it was made."""

    append = extend = insert = remove = clear = sort = reverse = pop = refused
    __setitem__ = __delitem__ = __iadd__ = __imul__ = refused


class FrozenDict(dict[str, Any]):
    """A dict as it was made."""

    update = setdefault = pop = popitem = clear = refused
    __setitem__ = __delitem__ = __ior__ = refused


def frozen(value: Any) -> Any:
    """The value with lists and dicts that refuse to change."""
    if isinstance(value, dict):
        return FrozenDict({key: frozen(item) for key, item in value.items()})
    return FrozenList(map(frozen, value)) if isinstance(value, list) else value


class FrozenHandle(PlainHandle):
    """Freezes what it hands out."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """The same events, frozen."""
        events: list[SessionEvent] = frozen(await super().read(offset, length))
        return events


class FrozenResults(PlainFiles):
    """The service; its handles are frozen ones."""

    handle_type: ClassVar[type[PlainHandle]] = FrozenHandle


frozen_results = replace(plain_files, name="frozen-results", open=FrozenResults)
"""Reads return frozen lists of frozen dicts."""
