"""Any value a program may hold, as a Python expression that builds an equal one.

Hostile values are built as plainly as they can be; what has no short spelling (a cycle, an object without a JSON
form) comes from ``conformance.model.values``, as it did in the run. Long runs of one piece of text are written as a
product, and nesting that Python's own parser refuses is read from JSON text.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from types import FunctionType
from typing import Any

from conformance.contract import SessionHeader
from conformance.model.values import TAG, SampleEnum, SampleObject, encode

MAX_NESTING = 60
MAX_DIGITS = 4_000
_VALUES = "conformance.model.values"


class Expressions:
    """Renders values and remembers the imports that the text needs.

    Attributes:
        modules: names for ``import x``.
        names: module -> names for ``from module import …``.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.names: dict[str, set[str]] = {}

    def need(self, module: str, name: str) -> str:
        """Ask for ``from module import name``; returns the name."""
        self.names.setdefault(module, set()).add(name)
        return name

    def of(self, value: Any) -> str:
        """The expression, on one line.

        Raises:
            TypeError: the value is of a kind that no program may hold.
        """
        if isinstance(value, SessionHeader):
            return self._header(value)
        return self._from_json(value) if _nesting(value) > MAX_NESTING else self._of(value)

    def _of(self, value: Any) -> str:
        kind = type(value)
        if value is None or kind is bool or kind is bytes:
            return repr(value)
        if kind is str:
            return text_expression(value)
        if kind is int:
            # Python refuses to parse a decimal of more digits than its limit; hexadecimal has none.
            return repr(value) if value.bit_length() < MAX_DIGITS * 3 else hex(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f'float("{value!r}")'
        if kind is list:
            if any(item is value for item in value):
                return self.need(_VALUES, "make_cycle") + "()"
            return "[" + ", ".join(map(self._of, value)) + "]"
        if kind is dict:
            return "{" + ", ".join(f"{self._of(key)}: {self._of(item)}" for key, item in value.items()) + "}"
        return self._rarity(value)

    def _rarity(self, value: Any) -> str:
        match value:
            case tuple():
                return "(" + ", ".join(map(self._of, value)) + (",)" if len(value) == 1 else ")")
            case frozenset():
                return f"frozenset({self._members(value)})" if value else "frozenset()"
            case set():
                return self._members(value) if value else "set()"
            case datetime.date():
                self.modules.add("datetime")
                return repr(value)
            case decimal.Decimal():
                self.modules.add("decimal")
                return f"decimal.{value!r}"
            case SampleEnum():
                return self.need(_VALUES, "SampleEnum") + ".MEMBER"
            case SampleObject():
                return self.need(_VALUES, "SampleObject") + "()"
            case FunctionType():
                return self.need(_VALUES, "sample_function")
        # Whatever else has a form in a program is made of that form.
        return self._from_json(value)

    def _members(self, value: set[Any] | frozenset[Any]) -> str:
        # A set prints in hash order, which differs between processes.
        return "{" + ", ".join(sorted(map(self._of, value))) + "}"

    def _from_json(self, value: Any) -> str:
        self.modules.add("json")
        form = encode(value)
        text = json.dumps(form)
        # The tag can stand in the text only where some value needed it, or was written like it.
        return f"json.loads({text!r})" if TAG not in text else f"{self.need(_VALUES, 'decode')}(json.loads({text!r}))"

    def _header(self, header: SessionHeader) -> str:
        given = [f"id={self.of(header.id)}", f"created_at={self.of(header.created_at)}"]
        for each in fields(header)[2:]:
            value = getattr(header, each.name)
            if each.name == "extra":
                value = dict(value) if isinstance(value, Mapping) else value
                usual = value == {} and type(value) is dict
            else:
                usual = value == each.default and type(value) is type(each.default)
            if not usual:
                given.append(f"{each.name}={self.of(value)}")
        return f"SessionHeader({', '.join(given)})"


def text_expression(text: str) -> str:
    """A string literal in double quotes where that needs no escaping; a long run of one piece as ``"ab" * 1000``."""
    if len(text) > 200:
        for size in (1, 2, 3, 4, 5, 6, 7, 8):
            times, rest = divmod(len(text), size)
            if text == text[:size] * times + text[: len(text) % size]:
                return f"{_literal(text[:size])} * {times}" + (f" + {_literal(text[:rest])}" if rest else "")
    return _literal(text)


def _literal(text: str) -> str:
    found = repr(text)
    return f'"{found[1:-1]}"' if found[0] == "'" and '"' not in found and "\\'" not in found else found


def _nesting(value: Any) -> int:
    """How deep lists, dicts and tuples lie in one another, as far as it matters; a cycle counts as one."""
    deepest, waiting = 0, [(value, 1)]
    while waiting and deepest <= MAX_NESTING:
        each, depth = waiting.pop()
        if isinstance(each, list | dict | tuple):
            deepest = max(deepest, depth)
            items = each.values() if isinstance(each, dict) else each
            if not any(item is each for item in items):
                waiting.extend((item, depth + 1) for item in items)
    return deepest
