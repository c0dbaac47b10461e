"""Operations as data: what a program does to a backend, one frozen record for each call.

The same records are drawn by a machine, written by a scenario, sent over a driver protocol, saved as a case, replayed
and printed. Instances and handles are small numbers chosen by the program, so that a program needs no results to be
written down. Arguments are held as given, wrong ones included; nothing here checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from conformance.contract import SessionHeader
from conformance.model.values import decode, encode


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


@dataclass(frozen=True, slots=True)
class OpenInstance(Operation):
    """A fresh instance over the same root."""

    kind: ClassVar[str] = "open_instance"
    instance: int


@dataclass(frozen=True, slots=True)
class CloseInstance(Operation):
    """The service's ``close``."""

    kind: ClassVar[str] = "close_instance"
    instance: int


@dataclass(frozen=True, slots=True)
class FlushInstance(Operation):
    """The service's ``flush``."""

    kind: ClassVar[str] = "flush_instance"
    instance: int


@dataclass(frozen=True, slots=True)
class Stat(Operation):
    """The service's ``stat``."""

    kind: ClassVar[str] = "stat"
    instance: int
    session: Any


@dataclass(frozen=True, slots=True)
class ListSessions(Operation):
    """The service's ``list``."""

    kind: ClassVar[str] = "list"
    instance: int


@dataclass(frozen=True, slots=True)
class Create(Operation):
    """The service's ``create``; the handle gets the number ``handle``."""

    kind: ClassVar[str] = "create"
    instance: int
    handle: int
    header: SessionHeader
    inherited: Any = None


@dataclass(frozen=True, slots=True)
class OpenSession(Operation):
    """The service's ``open``; the handle gets the number ``handle``."""

    kind: ClassVar[str] = "open"
    instance: int
    handle: int
    session: Any
    access: Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Read(Operation):
    """``read`` on a handle. With ``scribble`` the caller then overwrites what it got (SEQ-07)."""

    kind: ClassVar[str] = "read"
    handle: int
    offset: Any = 0
    length: Any = None
    scribble: bool = False


@dataclass(frozen=True, slots=True)
class Append(Operation):
    """``append`` on a handle. With ``scribble`` the caller overwrites the batch once the call is under way (SEQ-06)."""

    kind: ClassVar[str] = "append"
    handle: int
    events: Any
    scribble: bool = False


@dataclass(frozen=True, slots=True)
class Flush(Operation):
    """``flush`` on a handle."""

    kind: ClassVar[str] = "flush"
    handle: int


@dataclass(frozen=True, slots=True)
class Close(Operation):
    """``close`` on a handle."""

    kind: ClassVar[str] = "close"
    handle: int


@dataclass(frozen=True, slots=True)
class Leave(Operation):
    """Enter the handle as a context manager and leave it; ``raising`` by an exception of the caller's (CLOSE-05)."""

    kind: ClassVar[str] = "leave"
    handle: int
    raising: bool = False


@dataclass(frozen=True, slots=True)
class Discard(Operation):
    """Forget the handle without closing it and let it be collected (OWN-12)."""

    kind: ClassVar[str] = "discard"
    handle: int


@dataclass(frozen=True, slots=True)
class Inspect(Operation):
    """Look at the files in and around the root: the driver does, and the backend is not called (ID-02, ID-03, ID-05).

    ``sessions`` are the ids whose artifacts are to be told.
    """

    kind: ClassVar[str] = "inspect"
    sessions: list[str]


OPERATIONS: dict[str, type[Operation]] = {
    cls.kind: cls
    for cls in (
        OpenInstance,
        CloseInstance,
        FlushInstance,
        Stat,
        ListSessions,
        Create,
        OpenSession,
        Read,
        Append,
        Flush,
        Close,
        Leave,
        Discard,
        Inspect,
    )
}


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


def operation_from_json(form: dict[str, Any]) -> Operation:
    """The operation of this JSON form.

    Raises:
        KeyError: an unknown ``do``. TypeError: missing or unknown fields.
    """
    values = {key: value for key, value in form.items() if key != "do"}
    cls = OPERATIONS[form["do"]]
    if "header" in values:
        values["header"] = SessionHeader(**{k: decode(v) for k, v in values["header"].items()})
    return cls(**{key: value if key == "header" else decode(value) for key, value in values.items()})


@dataclass(frozen=True, slots=True)
class Program:
    """A sequence of operations, performed one after the other.

    Overlap comes in as one more operation that holds a row of operations for each client and the choices that
    interleave them; crashes and faults as operations of their own (``ARCHITECTURE.md``).
    """

    operations: tuple[Operation, ...] = field(default=())

    def to_json(self) -> list[dict[str, Any]]:
        """The JSON forms of the operations, in order."""
        return [operation.to_json() for operation in self.operations]

    @classmethod
    def from_json(cls, form: list[dict[str, Any]]) -> Program:
        """The inverse of ``to_json``."""
        return cls(tuple(operation_from_json(item) for item in form))
