"""Python values as data: a JSON form for anything a program may hand to a backend, copies, and equality.

Programs are saved, sent and replayed, so an argument that is *not* JSON (a set, NaN, an object) needs a JSON form too:
a tagged object ``{"$py": kind, ...}``. Equality here is the contract's: equal as JSON, ``true`` never ``1``, floats
compared to the bit. Nothing here judges anything.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import marshal
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

TAG = "$py"


class SampleEnum(enum.Enum):
    """An enum member that stands for every enum a caller might pass by mistake."""

    MEMBER = "member"


class SampleObject:
    """An object without a JSON form; all of them are alike."""

    def __repr__(self) -> str:
        return "SampleObject()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SampleObject)

    def __hash__(self) -> int:
        return hash(SampleObject)


def sample_function() -> None:
    """A function that stands for every function a caller might pass by mistake."""


def make_cycle() -> list[Any]:
    """A list that holds itself."""
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "bytes": lambda text: base64.b64decode(text),
    "tuple": lambda items: tuple(decode(item) for item in items),
    "set": lambda items: {decode(item) for item in items},
    "frozenset": lambda items: frozenset(decode(item) for item in items),
    "pairs": lambda pairs: {decode(key): decode(value) for key, value in pairs},
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "decimal": decimal.Decimal,
    "enum": lambda _: SampleEnum.MEMBER,
    "object": lambda _: SampleObject(),
    "function": lambda _: sample_function,
    "cycle": lambda _: make_cycle(),
    "seen": str,
}


def encode(value: Any) -> Any:
    """The JSON form of a value; plain JSON stays as it is.

    Raises:
        TypeError: the value is of a kind that no program may hold.
    """
    kind = type(value)
    if value is None or kind is str or kind is bool or kind is int:
        return value
    if kind is float:
        # json would write NaN and infinities as bare words, which most readers refuse.
        return value if math.isfinite(value) else {TAG: "float", "of": repr(value)}
    if kind is list:
        if any(item is value for item in value):
            return {TAG: "cycle", "of": None}
        return [encode(item) for item in value]
    if kind is dict:
        if TAG in value or not all(type(key) is str for key in value):
            return {TAG: "pairs", "of": [[encode(k), encode(v)] for k, v in value.items()]}
        return {key: encode(item) for key, item in value.items()}
    return {TAG: _tag_of(value), "of": _content_of(value)}


def encode_seen(value: Any) -> Any:
    """The JSON form of what a backend returned, which may be anything: where there is no form, the text of its repr."""
    kind = type(value)
    if kind is list:
        return [encode_seen(item) for item in value]
    if kind is dict and all(type(key) is str for key in value) and TAG not in value:
        return {key: encode_seen(item) for key, item in value.items()}
    try:
        return encode(value)
    except (TypeError, RecursionError):
        return {TAG: "seen", "of": f"{value!r:.200}"}


def _tag_of(value: Any) -> str:
    for kind, tag in (
        (bytes, "bytes"),
        (tuple, "tuple"),
        (set, "set"),
        (frozenset, "frozenset"),
        (datetime.datetime, "datetime"),
        (datetime.date, "date"),
        (decimal.Decimal, "decimal"),
        (SampleEnum, "enum"),
        (SampleObject, "object"),
        (type(sample_function), "function"),
    ):
        if isinstance(value, kind):
            return tag
    raise TypeError(f"value={value!r:.80} of type {type(value).__name__} has no form in a program")


def _content_of(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((encode(item) for item in value), key=repr)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return None


def decode(form: Any) -> Any:
    """The value that ``encode`` gave this form for."""
    if isinstance(form, list):
        return [decode(item) for item in form]
    if isinstance(form, dict):
        if TAG in form:
            return _MAKERS[form[TAG]](form["of"])
        return {key: decode(item) for key, item in form.items()}
    return form


def clone(value: Any) -> Any:
    """A copy with fresh dicts and lists down to the leaves; what is neither is shared; a cycle stays a cycle."""
    kind = type(value)
    if kind is dict:
        return {key: clone(item) if type(item) in _CONTAINERS else item for key, item in value.items()}
    if kind is list:
        if any(item is value for item in value):
            return make_cycle()
        return [clone(item) if type(item) in _CONTAINERS else item for item in value]
    return value


_CONTAINERS = frozenset({dict, list})


def plain(value: Any) -> Any:
    """What a backend returned, as plain dicts and lists of our own: frozen mappings and tuples are accepted results."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    # The plain types first: asking the abstract ones costs more than everything else here.
    if kind is dict:
        return {key: item if type(item) in _SCALARS else plain(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _SCALARS else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [plain(item) for item in value]
    return value


_SCALARS = frozenset({str, int, float, bool, type(None)})


def same(left: Any, right: Any, *, exact: bool = True) -> bool:
    """Whether two plain values are equal as JSON: ``true`` is not ``1``; floats to the bit; key order does not count.

    Args:
        exact: ``1`` and ``1.0`` differ (``numbers="exact"``); otherwise numbers are compared as doubles.
    """
    if left is right:
        return True
    # Comparing and marshalling run in C; the slow walk only serves what they cannot settle. Equal bytes mean equal
    # types and bits; unequal ones may come from another order of keys, or from 1 beside 1.0.
    if left != right:
        return False
    try:
        if marshal.dumps(left, _NO_REFERENCES) == marshal.dumps(right, _NO_REFERENCES):
            return True
    except ValueError:
        # Something that is no JSON, or nested past what marshal goes to.
        pass
    return _same(left, right, exact)


_NO_REFERENCES = 2
"""Version of the marshal format in which equal values give equal bytes, whoever else refers to them."""


def _same(left: Any, right: Any, exact: bool) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    # Loops and no generators: a frame less for each level of nesting.
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return False
        for key, item in left.items():  # noqa: SIM110
            if not _same(item, right[key], exact):
                return False
        return True
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        for place, item in enumerate(left):  # noqa: SIM110
            if not _same(item, right[place], exact):
                return False
        return True
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("<d", left) == struct.pack("<d", right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return bool(left == right) and (not exact or type(left) is type(right))
    return type(left) is type(right) and bool(left == right)
