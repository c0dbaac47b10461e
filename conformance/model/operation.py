"""What every operation of a program is: a frozen record with a JSON form.

The operations themselves are in ``conformance.model.operations``, from where everybody imports them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

from conformance.contract import SessionHeader
from conformance.model.values import encode


@dataclass(frozen=True, slots=True)
class Operation:
    """Base of all operations. ``kind`` is the name in the JSON form."""

    kind: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """``{"do": kind, field: value, ...}``; fields at their default are left out."""
        found: dict[str, Any] = {"do": self.kind}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default or type(value) is not type(each.default):
                found[each.name] = header_form(value) if isinstance(value, SessionHeader) else encode(value)
        return found


def header_form(header: SessionHeader, encoder: Callable[[Any], Any] = encode) -> dict[str, Any]:
    """A header as JSON, wrong values included; fields at their default are left out."""
    found = {}
    for each in fields(header):
        value = getattr(header, each.name)
        if each.name == "extra" and isinstance(value, MappingProxyType):
            value = dict(value)
            if not value:
                continue
        if value != each.default or type(value) is not type(each.default):
            found[each.name] = encoder(value)
    return found
