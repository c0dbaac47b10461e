"""Turns what a backend returned or raised into the data that a history holds.

Everything is copied at this moment: nothing in a history is shared with the backend. Nothing here judges.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter, is_
from types import MappingProxyType
from typing import Any

from conformance.contract import CONTRACT_ERRORS, Backend, SessionHeader, SessionPersistenceError
from conformance.contract.records import NO_EXTRA
from conformance.model.history import ErrorView, HandleView, Odd, SnapshotView
from conformance.model.values import SCALARS, clone, plain

_HEADER_FIELDS = tuple(SessionHeader.__dataclass_fields__)
_VALUES = attrgetter(*_HEADER_FIELDS)
"""The values of a header, the extra ones last."""
_SHOWN = 200


class CallerError(SessionPersistenceError):
    """What the caller raises inside a handle's context; one of the contract's own, for those are swallowed easiest."""


class Observer:
    """Looks at results of one backend; numbers revisions by first use within their instance.

    Attributes:
        injected: gives the errors that the kit made storage calls raise.
    """

    def __init__(self, backend: Backend) -> None:
        self._errors = backend.errors
        self.injected: Callable[[], Sequence[OSError]] = tuple
        self._revisions: dict[tuple[int, Any], int] = {}
        self._unhashable: list[tuple[int, Any]] = []
        self._headers: dict[str, SessionHeader] = {}

    def handle(self, value: Any) -> HandleView | Odd:
        """What a handle says of itself."""
        try:
            return HandleView(
                clone(value.id), self._header(value.header), clone(value.access), clone(value.inherited_event_count)
            )
        except AttributeError as error:
            return Odd(f"{value!r:.{_SHOWN}} ({error})")

    def snapshot(self, instance: int, value: Any, artifact_size: int | None) -> SnapshotView | Odd:
        """A snapshot with its revision numbered."""
        try:
            return SnapshotView(
                self._header(value.header),
                self._revision(instance, value.revision),
                clone(getattr(value, "event_count", None)),
                clone(getattr(value, "size_bytes", None)),
                artifact_size,
            )
        except AttributeError as error:
            return Odd(f"{value!r:.{_SHOWN}} ({error})")

    def _header(self, header: Any) -> Any:
        """The header copied; where it holds the very values of one before, and none can change, that copy serves."""
        name = getattr(header, "id", None)
        known = self._headers.get(name) if type(name) is str else None
        if known is not None and type(header) is SessionHeader and all(map(is_, _VALUES(known), _VALUES(header))):
            return known
        copied = header_view(header)
        if type(name) is str and isinstance(copied, SessionHeader) and _is_flat(copied):
            self._headers[name] = copied
        return copied

    def _revision(self, instance: int, token: Any) -> int:
        try:
            return self._revisions.setdefault((instance, token), len(self._revisions) + len(self._unhashable))
        except TypeError:
            for number, known in enumerate(self._unhashable):
                if known == (instance, token):
                    return -1 - number
            self._unhashable.append((instance, token))
            return -len(self._unhashable)

    def events(self, value: Any) -> list[Any] | Odd:
        """What ``read`` returned, as plain dicts and lists of our own."""
        if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
            copied: list[Any] = plain(value)
            return copied
        return Odd(f"{value!r:.{_SHOWN}} of type {type(value).__name__}")

    def error(self, error: BaseException) -> ErrorView:
        """An exception as data, under the contract's name for it."""
        members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        return ErrorView(
            self._kind(error),
            type(error).__name__,
            _text(error),
            _field(error, "session_id", str),
            _field(error, "expected", int),
            _field(error, "got", int),
            _location(error),
            tuple(self.error(member) for member in members),
            tuple(_notes(error)),
            _shows(error, self.injected()),
        )

    def _kind(self, error: BaseException) -> str:
        mapped = [(own, theirs) for own, theirs in self._errors.items() if isinstance(error, own)]
        if mapped:
            # The most specific of the classes that match: the one latest in the error's own line of ancestors.
            line = type(error).__mro__
            return min(mapped, key=lambda pair: line.index(pair[0]) if pair[0] in line else len(line))[1].__name__
        if isinstance(error, BaseExceptionGroup):
            return "ExceptionGroup"
        for kind in (*CONTRACT_ERRORS.values(), TypeError, ValueError):
            if isinstance(error, kind):
                return kind.__name__
        return type(error).__name__


def fresh_header(header: Any) -> Any:
    """The header with containers of its own, so that a backend that writes into it changes nothing of the program."""
    if not isinstance(header, SessionHeader):
        return header
    if type(header) is SessionHeader and _is_flat(header):
        return SessionHeader(*_VALUES(header))
    extra = header.extra
    if type(extra) is MappingProxyType:
        extra = MappingProxyType(clone(dict(extra)))
    return replace(header, origin=clone(header.origin), agent_preset=clone(header.agent_preset), extra=clone(extra))


def _is_flat(header: SessionHeader) -> bool:
    """Whether it holds text, numbers and nothing else, so that its own fields make a copy of it."""
    return header.extra is NO_EXTRA and SCALARS.issuperset(map(type, _VALUES(header)[:-1]))


def header_view(header: Any) -> Any:
    """The header as a record of ours where it has every field, else its repr."""
    try:
        found = _VALUES(header)
    except AttributeError as error:
        return f"{header!r:.{_SHOWN}} ({error})"
    *_, extra = found
    if extra is NO_EXTRA and SCALARS.issuperset(map(type, found[:-1])):
        return SessionHeader(*found)
    values = {name: plain(value) for name, value in zip(_HEADER_FIELDS, found, strict=True)}
    if isinstance(extra, Mapping):
        values["extra"] = MappingProxyType(values["extra"])
    return SessionHeader(**values)


def _text(error: BaseException) -> str:
    return str(error)[:2000]


def _field(error: BaseException, name: str, kind: type) -> Any:
    value = getattr(error, name, None)
    return value if type(value) is kind else None


def _location(error: BaseException) -> str | None:
    location = getattr(error, "location", None)
    return None if location is None else str(location)


def _notes(error: BaseException) -> list[str]:
    found = [str(note) for note in getattr(error, "__notes__", ())]
    return found + [f"{type(cause).__name__}: {_text(cause)}" for cause in _causes(error)]


def _causes(error: BaseException) -> list[BaseException]:
    """What stands behind an error: causes, or where there is none the contexts."""
    found: list[BaseException] = []
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found


def _shows(error: BaseException, injected: Sequence[OSError]) -> bool:
    """Whether one of the errors that storage was made to raise stands in it, or one that says the same."""
    if not injected:
        return False
    numbers = {each.errno for each in injected}
    chain = (error, *_causes(error))
    if any(isinstance(each, OSError) and each.errno in numbers for each in chain):
        return True
    members = [each for link in chain if isinstance(link, BaseExceptionGroup) for each in link.exceptions]
    return any(_shows(member, injected) for member in members)


def scribble(value: Any) -> None:
    """Overwrite what the caller holds, as deep as it can be: what cannot be mutated is left (SEQ-06, SEQ-07)."""
    if isinstance(value, list):
        for item in value:
            scribble(item)
        with contextlib.suppress(Exception):
            value.append({"type": "user/message", "seq": 10**6, "time": 0, "data": "scribbled"})
    elif isinstance(value, dict):
        for item in value.values():
            scribble(item)
        for key in list(value):
            if not isinstance(value[key], dict | list):
                with contextlib.suppress(Exception):
                    value[key] = "scribbled"
        with contextlib.suppress(Exception):
            value["scribbled"] = True
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            scribble(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            scribble(item)
