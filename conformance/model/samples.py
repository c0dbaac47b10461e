"""Python values that JSON has no word for, in kinds of which one sample stands for all, and their forms as data.

``conformance.model.values`` turns any argument into JSON and back; what is rare among arguments is told apart here.
Each kind has a tag, a way to write its content as JSON, and a way to make it again. Nothing here judges anything.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import uuid
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from types import FunctionType, GeneratorType
from typing import Any, NamedTuple


class SampleEnum(enum.Enum):
    """An enum member that stands for every enum a caller might pass by mistake."""

    MEMBER = "member"


class SampleTextEnum(enum.StrEnum):
    """An enum member that is text too, so that an encoder takes it for text."""

    MEMBER = "member"


class SampleIntEnum(enum.IntEnum):
    """An enum member that is an integer too."""

    MEMBER = 7


class SampleText(str):
    """Text of a class of its own."""

    __slots__ = ()


class SampleInt(int):
    """An integer of a class of its own."""


class SampleFloat(float):
    """A float of a class of its own."""


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


def sample_generator() -> Iterator[int]:
    """A fresh generator of 1 and 2; what reads it leaves it empty."""
    yield from (1, 2)


def make_cycle() -> list[Any]:
    """A list that holds itself."""
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def make_dict_cycle() -> dict[str, Any]:
    """A dict that holds itself."""
    cycle: dict[str, Any] = {"before": 1}
    cycle["self"] = cycle
    return cycle


def make_long_cycle() -> list[Any]:
    """A list that holds a dict that holds a list that holds the first."""
    cycle: list[Any] = [0]
    cycle.append({"a": [cycle, 1]})
    return cycle


class Kind(NamedTuple):
    """One kind of rarity: its tag, its class, its content as JSON, and how it is made of that again."""

    tag: str
    cls: type[Any]
    content: Callable[[Any], Any]
    make: Callable[[Any], Any]


def _nothing(value: Any) -> None:
    """All of them are alike."""
    del value


def _text_of(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


KINDS: tuple[Kind, ...] = (
    # The more special class first, where one is made of another.
    Kind("text enum", SampleTextEnum, _nothing, lambda _: SampleTextEnum.MEMBER),
    Kind("int enum", SampleIntEnum, _nothing, lambda _: SampleIntEnum.MEMBER),
    Kind("enum", SampleEnum, _nothing, lambda _: SampleEnum.MEMBER),
    Kind(
        "text of a class",
        SampleText,
        lambda value: _text_of(value.encode("utf-8", "surrogatepass")),
        lambda text: SampleText(scalar_text(text)),
    ),
    Kind("int of a class", SampleInt, int.__repr__, SampleInt),
    Kind("float of a class", SampleFloat, float.__repr__, SampleFloat),
    Kind("bytes", bytes, _text_of, base64.b64decode),
    Kind("bytearray", bytearray, _text_of, lambda text: bytearray(base64.b64decode(text))),
    Kind("datetime", datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    Kind("date", datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    Kind("time", datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    Kind(
        "timedelta",
        datetime.timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: datetime.timedelta(*parts),
    ),
    Kind("decimal", decimal.Decimal, str, decimal.Decimal),
    Kind("complex", complex, repr, complex),
    Kind("uuid", uuid.UUID, str, uuid.UUID),
    Kind("path", PurePosixPath, str, PurePosixPath),
    Kind("object", SampleObject, _nothing, lambda _: SampleObject()),
    Kind("function", FunctionType, _nothing, lambda _: sample_function),
    Kind("generator", GeneratorType, _nothing, lambda _: sample_generator()),
)
"""Every kind that has content of its own; containers are in ``conformance.model.values``."""


def scalar_text(content: str) -> str:
    """The text of this base64, surrogates included."""
    return base64.b64decode(content).decode("utf-8", "surrogatepass")


def kind_of(value: Any) -> Kind:
    """The kind of a rarity.

    Raises:
        TypeError: it is of a kind that no program may hold.
    """
    for kind in KINDS:
        if isinstance(value, kind.cls):
            return kind
    raise TypeError(f"value={value!r:.80} of type {type(value).__name__} has no form in a program")
