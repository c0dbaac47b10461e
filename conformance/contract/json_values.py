"""JSON values in a caller's hands: refuse them or copy them, reading each exactly once.

``snapshot_json`` first takes a shallow copy of a container, which nothing can change any more, and then looks only
at that copy: a value that would change between a check and a copy is checked as it was copied. The result shares
no container with the argument. ``copy_json`` copies what was snapshot before, without looking again. Nothing here
knows events, headers or a storage format, and no user code runs but that of subclasses of dict and list.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from conformance.contract.records import MAX_SAFE_INTEGER

MAX_DEPTH = 200
"""Levels of nesting that the shared validation accepts in one event or header field; common decoders stop near 250."""

_LOWEST = -MAX_SAFE_INTEGER
_HIGHEST = MAX_SAFE_INTEGER
_SHOWN_CHARACTERS = 60
_SHOWN_KEYS = 12


class _Refusal(Exception):
    """A refusal on its way up: each level adds the key it stood at, so that only refused values pay for a path."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.path: list[object] = []

    def raise_at(self, where: str) -> NoReturn:
        """Raise as the error that callers see, with the path below ``where`` spelled out."""
        keys = self.path[::-1]
        path = "".join(f"[{shown(key)}]" for key in keys[:_SHOWN_KEYS]) + "…" * (len(keys) > _SHOWN_KEYS)
        raise self.kind(f"{where}{path}: {self.text}") from None


def snapshot_json(value: object, *, where: str = "value", depth: int = 0) -> Any:
    """A deep copy of a JSON value made of fresh dicts and lists, or a refusal that names the place.

    Only what survives every JSON codec to the bit is taken: text without lone surrogates, integers to
    ±(2**53-1), finite floats, booleans, None, lists, dicts with text keys. Subclasses of dict and list come
    back plain, with what their ``items()`` or iterator gave when it was asked once.

    Args:
        value: anything.
        where: what the value is called in messages.
        depth: how many levels of nesting lie around the value already; they count towards ``MAX_DEPTH``.

    Raises:
        TypeError: a type outside JSON, tuples, enums and subclasses of the scalar types included.
        ValueError: NaN, infinities, integers past ±(2**53-1), lone surrogates, cycles, nesting past ``MAX_DEPTH``.
    """
    try:
        return _snapshot_other(value, depth)
    except _Refusal as refusal:
        refusal.raise_at(where)


def _snapshot_dict(value: Any, depth: int) -> dict[str, Any]:
    # The scalars are judged in line, here and for lists: a call for each value would double the cost of an append.
    if depth >= MAX_DEPTH:
        raise _Refusal(ValueError, f"nested more than {MAX_DEPTH} levels deep, or a cycle")
    copy: dict[str, Any] = value.copy() if type(value) is dict else dict(value.items())
    key: object = None
    try:
        for key, item in copy.items():
            if type(key) is not str:
                raise _Refusal(TypeError, f"a key of type {type(key).__name__}, JSON has only text as keys")
            if not key.isascii():
                _check_text(key)
            kind = type(item)
            if kind is str:
                if not item.isascii():
                    _check_text(item)
            elif kind is dict:
                copy[key] = _snapshot_dict(item, depth + 1)
            elif kind is int:
                if not _LOWEST <= item <= _HIGHEST:
                    _refuse_integer(item)
            elif kind is list:
                copy[key] = _snapshot_list(item, depth + 1)
            elif kind is not bool and item is not None:
                copy[key] = _snapshot_other(item, depth + 1)
    except _Refusal as refusal:
        refusal.path.append(key)
        raise
    return copy


def _snapshot_list(value: Any, depth: int) -> list[Any]:
    if depth >= MAX_DEPTH:
        raise _Refusal(ValueError, f"nested more than {MAX_DEPTH} levels deep, or a cycle")
    copy: list[Any] = list(value)
    index = 0
    try:
        for index, item in enumerate(copy):
            kind = type(item)
            if kind is dict:
                copy[index] = _snapshot_dict(item, depth + 1)
            elif kind is str:
                if not item.isascii():
                    _check_text(item)
            elif kind is int:
                if not _LOWEST <= item <= _HIGHEST:
                    _refuse_integer(item)
            elif kind is list:
                copy[index] = _snapshot_list(item, depth + 1)
            elif kind is not bool and item is not None:
                copy[index] = _snapshot_other(item, depth + 1)
    except _Refusal as refusal:
        refusal.path.append(index)
        raise
    return copy


def _snapshot_other(value: Any, depth: int) -> Any:
    """What the loops over containers do not judge in line: floats, subclasses, the value at the very top, refusals."""
    kind = type(value)
    if kind is float:
        if not math.isfinite(value):
            raise _Refusal(ValueError, f"{value!r} is no number of JSON")
        return value
    if kind is str:
        if not value.isascii():
            _check_text(value)
        return value
    if kind is int:
        if not _LOWEST <= value <= _HIGHEST:
            _refuse_integer(value)
        return value
    if kind is bool or value is None:
        return value
    # The class is asked, not the value: a stand-in may answer isinstance with whatever it imitates.
    if issubclass(kind, dict):
        return _snapshot_dict(value, depth)
    if issubclass(kind, list):
        return _snapshot_list(value, depth)
    raise _Refusal(TypeError, f"{shown(value)} is not JSON; expected text, a number, a bool, None, a list or a dict")


def _check_text(value: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _Refusal(ValueError, f"lone surrogate at character {error.start}, which no UTF-8 can hold") from None


def _refuse_integer(value: int) -> NoReturn:
    raise _Refusal(ValueError, f"{shown(value)} is past ±(2**53-1), where JSON numbers stop being exact")


def copy_json(value: Any) -> Any:
    """A deep copy of a value that ``snapshot_json`` made or a JSON decoder gave; nothing is checked."""
    if type(value) is dict:
        copy = value.copy()
        for key, item in copy.items():
            if type(item) is dict or type(item) is list:
                copy[key] = copy_json(item)
        return copy
    if type(value) is list:
        items = value.copy()
        for index, item in enumerate(items):
            if type(item) is dict or type(item) is list:
                items[index] = copy_json(item)
        return items
    return value


def shown(value: object) -> str:
    """A value as it stands in a message: short, the same in every run, and made without running code of the caller."""
    kind = type(value)
    if kind is str:
        text: str = value  # type: ignore[assignment]
        return repr(text) if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]!r}…"
    if kind is int and value.bit_length() > 64:  # type: ignore[attr-defined]
        return f"an integer of {value.bit_length()} bits"  # type: ignore[attr-defined]
    if value is None or kind in (int, float, bool):
        return repr(value)
    return f"a value of type {kind.__name__}"
