"""Python values as data: a JSON form for anything a program may hand to a backend, copies, and equality.

Programs are saved, sent and replayed, so an argument that is *not* JSON (a set, NaN, an object) needs a JSON form too:
a tagged object ``{"$py": kind, ...}``. Equality here is the contract's: equal as JSON, ``true`` never ``1``, floats
compared to the bit. Nothing here judges anything.
"""

from __future__ import annotations

import base64
import enum
import marshal
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.model.samples import KINDS, kind_of, scalar_text
from conformance.model.samples import SampleEnum as SampleEnum
from conformance.model.samples import SampleObject as SampleObject
from conformance.model.samples import make_cycle as make_cycle
from conformance.model.samples import sample_function as sample_function

TAG = "$py"

_MAKERS: dict[str, Callable[[Any], Any]] = {
    **{kind.tag: kind.make for kind in KINDS},
    "float": float,
    "text": scalar_text,
    "tuple": lambda items: tuple(decode(item) for item in items),
    "set": lambda items: {decode(item) for item in items},
    "frozenset": lambda items: frozenset(decode(item) for item in items),
    "pairs": lambda pairs: {decode(key): decode(value) for key, value in pairs},
    "cycle": lambda _: make_cycle(),
    "knot": lambda form: _untie(form, ()),
    "seen": str,
}

_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> Any:
    """The JSON form of a value; plain JSON stays as it is.

    Raises:
        TypeError: the value is of a kind that no program may hold.
    """
    try:
        return _encode(value)
    except RecursionError:
        # Something holds itself.
        return {TAG: "knot", "of": _tie(value, ())}


def _encode(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        # Two halves in a row would be one character after a turn through JSON text.
        return value if value.isascii() or not _SURROGATE.search(value) else _tagged_text(value)
    if kind is float:
        # json would write NaN and infinities as bare words, which most readers refuse.
        return value if math.isfinite(value) else {TAG: "float", "of": repr(value)}
    if kind is list:
        if len(value) == 1 and value[0] is value:
            return {TAG: "cycle", "of": None}
        return [_encode(item) for item in value]
    if kind is dict:
        if TAG in value or not all(type(key) is str and (key.isascii() or not _SURROGATE.search(key)) for key in value):
            return {TAG: "pairs", "of": [[_encode(k), _encode(v)] for k, v in value.items()]}
        return {key: _encode(item) for key, item in value.items()}
    if kind is tuple:
        return {TAG: "tuple", "of": [_encode(item) for item in value]}
    if kind is set or kind is frozenset:
        return {TAG: kind.__name__, "of": sorted((_encode(item) for item in value), key=repr)}
    found = kind_of(value)
    return {TAG: found.tag, "of": found.content(value)}


def _tagged_text(value: str) -> dict[str, Any]:
    return {TAG: "text", "of": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")}


def _tie(value: Any, above: tuple[Any, ...]) -> Any:
    """The form of something that holds itself: where a container stands inside itself, how many levels up it is."""
    if type(value) is not list and type(value) is not dict:
        return _encode(value)
    for levels, container in enumerate(reversed(above), start=1):
        if container is value:
            return {TAG: "up", "of": levels}
    inside = (*above, value)
    if isinstance(value, list):
        return [_tie(item, inside) for item in value]
    return {TAG: "pairs", "of": [[_encode(key), _tie(item, inside)] for key, item in value.items()]}


def _untie(form: Any, above: tuple[Any, ...]) -> Any:
    """The inverse of ``_tie``."""
    if isinstance(form, list):
        items: list[Any] = []
        items.extend([_untie(item, (*above, items)) for item in form])
        return items
    tag = form.get(TAG) if isinstance(form, dict) else None
    if tag == "up":
        return above[-form["of"]]
    if tag == "pairs":
        pairs: dict[Any, Any] = {}
        pairs.update([(decode(key), _untie(item, (*above, pairs))) for key, item in form["of"]])
        return pairs
    return decode(form)


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
    if type(value) not in _CONTAINERS:
        return value
    try:
        return _clone(value)
    except RecursionError:
        return _clone_knot(value, {})


def _clone(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _clone(item) if type(item) in _CONTAINERS else item for key, item in value.items()}
    if kind is list:
        return [_clone(item) if type(item) in _CONTAINERS else item for item in value]
    return value


def _clone_knot(value: Any, made: dict[int, Any]) -> Any:
    """The same for something that holds itself; ``made`` holds the copies of containers by their ids."""
    if type(value) not in _CONTAINERS:
        return value
    if id(value) not in made:
        copy = made[id(value)] = type(value)()
        if type(value) is dict:
            copy.update([(key, _clone_knot(item, made)) for key, item in value.items()])
        else:
            copy.extend([_clone_knot(item, made) for item in value])
    return made[id(value)]


_CONTAINERS = frozenset({dict, list})


def plain(value: Any) -> Any:
    """What a backend returned, as plain dicts and lists of our own: frozen mappings and tuples are accepted results."""
    kind = type(value)
    if kind in SCALARS:
        return value
    # The plain types first: asking the abstract ones costs more than everything else here.
    if kind is dict:
        return {key: item if type(item) in SCALARS else plain(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in SCALARS else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [plain(item) for item in value]
    return _bare(value)


def _bare(value: Any) -> Any:
    """Text and numbers of a class of their own as what they say; enums are none of them."""
    if isinstance(value, enum.Enum):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


SCALARS = frozenset({str, int, float, bool, type(None)})
"""The classes of JSON values that hold no others."""


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
