"""Named scenarios for JSON-01 to JSON-03: values that come back as they went, and values that must not go at all.

Each ugly corner stands in a row of its own, so that a failure names it. Every batch begins with a plain event and ends
with one, so that a value which swallows its neighbours is seen. Text of 32 MiB is not tried here.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import Script, event, header
from conformance.clauses import Need
from conformance.contract import MAX_SAFE_INTEGER
from conformance.model.samples import (
    SampleEnum,
    SampleFloat,
    SampleInt,
    SampleIntEnum,
    SampleObject,
    SampleText,
    SampleTextEnum,
    make_cycle,
    make_dict_cycle,
    make_long_cycle,
    sample_function,
    sample_generator,
)

CHARACTERS = {
    "NUL": "a\x00b",
    "a control character": "\x01\x1b[31m\x7f",
    "a next line": "a\x85b",
    "a vertical tab and a form feed": "a\x0bb\x0cc",
    "file, group and record separators": "a\x1cb\x1dc\x1ed",
    "a line separator": "a\u2028b",
    "a paragraph separator": "a\u2029b",
    "a byte-order mark": "\ufeffa\ufeff",
    "non-characters": "\ufffe\uffff\ufdd0\U0001fffe\U0010ffff",
    "astral characters": "\U0001f600\U0001f469\u200d\U0001f467 \U0002f800",
    "composed and decomposed": "é e\u0301 Å \u212b A\u030a",
    "a replacement character": "\ufffd",
    "escapes in writing": '\\u0000 \\n \\" \\ud83d \\x41 %00 &#0;',
    "quotes and backslashes": '"\'\\"\\\\',
    "line ends": "a\nb\r\nc\rd\n",
    "a record of its own": '{"type":"user/message","seq":0}\n',
    "empty": "",
    "spaces at the ends": " a\t",
    "words of other languages": "null true NaN Infinity undefined None",
    "numbers in writing": "9007199254740993",
}

KEYS: tuple[dict[str, Any], ...] = (
    {"": "an empty key", "a": {"": {"": 0}}},
    {"\x00": 0, "\u2028": 1, "\U0001f600": 2, "\uffff": 3},
    {"a": 0, "A": 1, "a ": 2, " a": 3},
    {"é": 0, "e\u0301": 1, "Å": 2, "\u212b": 3},
    {"1": 0, "01": 1, "1.0": 2, "-1": 3},
    {"a.b": 0, "a": {"b": 1}, "$ref": 2, "$py": 3, "__proto__": 4, "constructor": 5},
    {"type": "data", "seq": -1, "time": None, "data": {"data": []}, "ignorable": "no"},
    {"b": 0, "a": 1},
)

INTEGERS = [0, -1, 127, 128, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**52, MAX_SAFE_INTEGER - 1, MAX_SAFE_INTEGER]
INTEGERS += [-MAX_SAFE_INTEGER, 1 - MAX_SAFE_INTEGER]

FLOATS = [0.1 + 0.2, 1 / 3, 1e-7, 4.35, 123456789.125, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308]
FLOATS += [1e308, -1.7976931348623157e308, 1e21, 1e22, 0.1, 1.5]

WHOLE = [1, 1.0, 0, 0.0, -1, -1.0, 2**52, 2.0**52, 100, 1e2, 9007199254740992.0]

BEYOND: dict[str, Any] = {
    "an integer past 2**53-1": MAX_SAFE_INTEGER + 2,
    "an integer below -(2**53-1)": -MAX_SAFE_INTEGER - 2,
    "an integer of 64 bits": 2**63 - 1,
    "an integer of more than 64 bits": 2**64 + 1,
    "an integer of 30 digits": 10**30 + 1,
    "minus zero": -0.0,
    "minus zero inside": {"a": [-0.0, 0.0]},
    "half a character": "cut \ud83d",
    "the other half": "\ude00 rest",
    "both halves in a row": "\ud83d\ude00",
    "halves in keys": {"\ud800": 0, "a\udfff": 1},
    "nesting of 300 levels": None,
}

PYTHON_BEYOND: dict[str, Any] = {
    "a tuple": (1, "a", None),
    "tuples inside": [(1,), {"a": ()}],
    "text of a class of its own": SampleText("text"),
    "an integer of a class of its own": SampleInt(7),
    "a float of a class of its own": SampleFloat(0.5),
}

OUTSIDE: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "bytes": b"bytes",
    "a bytearray": bytearray(b"bytes"),
    "a set": {1, 2},
    "a frozenset": frozenset({"a"}),
    "a function": sample_function,
    "an object": SampleObject(),
    "a date": datetime.date(2024, 1, 31),
    "a time with its date": datetime.datetime(2024, 1, 31, 12, 30, tzinfo=datetime.UTC),
    "an enum": SampleEnum.MEMBER,
    "an enum that is text": SampleTextEnum.MEMBER,
    "an enum that is an integer": SampleIntEnum.MEMBER,
    "a decimal": decimal.Decimal("1.5"),
    "a complex number": complex(1, 2),
    "a path": PurePosixPath("/home/dev"),
    "a key that is an integer": {1: "a"},
    "a key that is null": {None: "a"},
    "a key that is a bool": {True: "a"},
    "a key that is a tuple": {(1, 2): "a"},
}


def _nested(levels: int, *, objects: bool) -> Any:
    """The text ``deep`` inside that many lists, or lists and objects in turn."""
    value: Any = "deep"
    for level in range(levels):
        value = {"a": value} if objects and level % 2 else [value]
    return value


BEYOND["nesting of 300 levels"] = _nested(300, objects=False)


def _kept(s: Script, values: Iterable[Any]) -> tuple[int, int]:
    """Each value goes out between two plain events, and comes back to its own handle and another one."""
    a = s.instance()
    w = s.create(a)
    seq = 0
    for value in values:
        s.append(w, [event(seq), event(seq + 1, data=value), event(seq + 2)])
        s.read(w, seq)
        seq += 3
    s.read(s.open(a))
    return a, w


def _stored(s: Script, values: Iterable[Any]) -> None:
    """The same, and a fresh instance reads it all."""
    _, w = _kept(s, values)
    s.close(w)
    b = s.instance()
    s.stat(b)
    s.read(s.open(b))
    s.read(s.open(b, access="write"))


@scenario("JSON-01")
def characters_come_back(s: Script) -> None:
    """Text with NUL, separators of every kind, escapes, astral and non-characters comes back to every handle."""
    _kept(s, CHARACTERS.values())


@scenario("JSON-01", needs=(Need.FRESH,))
def characters_are_stored(s: Script) -> None:
    """The same text is read back by a fresh instance."""
    _stored(s, CHARACTERS.values())


@scenario("JSON-01")
def keys_come_back(s: Script) -> None:
    """Empty keys, keys that look alike, and keys with a meaning elsewhere come back, inside data and beside it."""
    _, w = _kept(s, KEYS)
    seq = 3 * len(KEYS)
    s.append(w, [event(seq, **{"": 1, "\u2028": {"": None}, "id": "x", "a.b": [{}], "surfaceOp": {"": 0}})])
    s.read(w)


@scenario("JSON-01", needs=(Need.FRESH,))
def keys_are_stored(s: Script) -> None:
    """The same keys are read back by a fresh instance."""
    _stored(s, KEYS)


@scenario("JSON-01")
def numbers_come_back(s: Script) -> None:
    """Integers to ±(2**53-1) come back, and finite floats to the bit: subnormal, 1e308, 0.1+0.2."""
    _kept(s, [*INTEGERS, *FLOATS, [INTEGERS, FLOATS]])


@scenario("JSON-01", needs=(Need.FRESH,))
def numbers_are_stored(s: Script) -> None:
    """The same numbers are read back by a fresh instance."""
    _stored(s, [*INTEGERS, *FLOATS, [INTEGERS, FLOATS]])


@scenario("JSON-01", needs=(Need.FRESH,))
def true_is_no_one(s: Script) -> None:
    """``true`` and ``false`` are never 1 and 0, nor 1 and 1.0 each other where numbers are exact; null stays null."""
    _stored(s, [True, False, [True, 1, False, 0, None], {"a": True, "b": 1, "c": None}, None, [], {}, *WHOLE, WHOLE])


@scenario("JSON-01", needs=(Need.FRESH,))
def a_hundred_levels_are_stored(s: Script) -> None:
    """Lists and objects nested a hundred levels deep come back."""
    _stored(s, [_nested(100, objects=False), _nested(100, objects=True), {"a": [_nested(90, objects=True)] * 3}])


@scenario("JSON-01", needs=(Need.FRESH,))
def long_text_is_stored(s: Script) -> None:
    """Text around 64 KiB and 1 MiB comes back, also where each character is a line separator or needs an escape."""
    units = ("x", "\u2028", "\n", "\x00", '"', "\U0001f600")
    _stored(s, [*(unit * 65_537 for unit in units), "ab\n" * 350_000])


@scenario("JSON-01", needs=(Need.FRESH,))
def four_mebibytes_are_stored(s: Script) -> None:
    """One string of 4 MiB between two small events comes back, and the small ones too."""
    _stored(s, ["line of text\n" * ((1 << 22) // 13 + 1)])


@scenario("JSON-01", needs=(Need.FRESH,))
def header_values_are_stored(s: Script) -> None:
    """The same corners in the fields of a header are shown again by ``create``, ``stat``, ``list`` and ``open``."""
    a = s.instance()
    ugly = {
        **CHARACTERS,
        "keys": [*KEYS],
        "numbers": [INTEGERS, FLOATS, True, 1, 1.0],
        "deep": _nested(90, objects=True),
    }
    given = [
        header("text", cwd="/a\u2028b/\U0001f600", parent_session="p\x00q", extra={"": 0, "\u2028": {"": "\ufeff"}}),
        header("values", origin=ugly, agent_preset=[ugly], extra={"ugly": ugly}),
    ]
    for each in given:
        w = s.create(a, header=each)
        s.append(w, [event(0)])
        s.stat(a, each.id)
        s.close(w)
    b = s.instance()
    s.list(b)
    for each in given:
        s.open(b, each.id)


@scenario("JSON-02", needs=(Need.PYTHON_VALUES,))
def values_outside_json_are_refused(s: Script) -> None:
    """What JSON has no word for is refused at the top of data; nothing is stored, and the seq is free."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0)])
    for value in OUTSIDE.values():
        s.append(w, [event(1, data=value)])
    s.append(w, [event(1, data=sample_generator())])
    s.read(w)
    s.append(w, [event(1)])
    s.read(s.open(a))


@scenario("JSON-02", needs=(Need.PYTHON_VALUES,))
def values_outside_json_are_refused_anywhere(s: Script) -> None:
    """The same deep inside data, in a key beside it, and in the last event of a batch: the whole batch is refused."""
    a = s.instance()
    w = s.create(a)
    for value in OUTSIDE.values():
        s.append(w, [event(0, data={"deep": [[{"a": value}], 1]})])
        s.append(w, [event(0, extra=value)])
        s.append(w, [event(0), event(1), event(2, data=[value])])
    s.append(w, [event(0), {**event(1), 7: "a key of the event that is no text"}])
    s.read(w)
    s.append(w, [event(0), event(1)])
    s.read(s.open(a))


@scenario("JSON-02", needs=(Need.PYTHON_VALUES,))
def cycles_are_refused(s: Script) -> None:
    """A list in itself, a dict in itself and a longer circle are refused; nothing is stored, and the seq is free."""
    a = s.instance()
    w = s.create(a)
    for make in (make_cycle, make_dict_cycle, make_long_cycle):
        s.append(w, [event(0, data=make())])
        s.append(w, [event(0), event(1, data={"deep": [make()]})])
        s.append(w, [event(0, extra=make())])
    s.read(w)
    s.append(w, [event(0)])
    s.read(w)


@scenario("JSON-02", needs=(Need.FRESH, Need.PYTHON_VALUES))
def refused_values_leave_nothing_behind(s: Script) -> None:
    """A refused batch with a NaN or a set leaves no trace: another instance sees none, another session can write."""
    a = s.instance()
    w, other = s.create(a), s.create(a, "s2")
    s.append(w, [event(0)])
    s.flush(w)
    s.append(w, [event(1), event(2, data=float("nan"))])
    s.append(other, [event(0)])
    s.append(w, [event(1), event(2, data={"set": {1}})])
    b = s.instance()
    s.read(s.open(b))
    s.append(w, [event(1)])
    s.close(w)
    s.read(s.open(b))


def _tried(s: Script, values: Iterable[Any], *, fresh: bool) -> None:
    """Each value is refused at the call or comes back equal, to this instance and where asked to a fresh one."""
    a = s.instance()
    handles = []
    for number, value in enumerate(values):
        name = f"v{number}"
        w = s.create(a, name)
        s.append(w, [event(0)])
        s.append(w, [event(1, data=value)])
        s.read(w)
        s.append(w, [{**event(2), "extra": {"deep": [value]}}])
        s.read(w)
        s.read(s.open(a, name))
        handles.append((name, w))
    if fresh:
        for _, w in handles:
            s.close(w)
        b = s.instance()
        for name, _ in handles:
            s.stat(b, name)
            s.read(s.open(b, name))


@scenario("JSON-03")
def values_beyond_common_json_are_never_altered(s: Script) -> None:
    """Integers past ±(2**53-1), minus zero, halves of characters: each refused at the call, or returned equal."""
    _tried(s, BEYOND.values(), fresh=False)


@scenario("JSON-03", needs=(Need.FRESH,))
def values_beyond_common_json_are_never_altered_in_storage(s: Script) -> None:
    """The same values, where they are accepted, are read back equal by a fresh instance."""
    _tried(s, BEYOND.values(), fresh=True)


@scenario("JSON-03", needs=(Need.PYTHON_VALUES,))
def tuples_are_refused_or_lists(s: Script) -> None:
    """A tuple is refused or comes back as a list; text and numbers of classes of their own likewise."""
    _tried(s, PYTHON_BEYOND.values(), fresh=False)


@scenario("JSON-03", needs=(Need.FRESH, Need.PYTHON_VALUES))
def tuples_are_refused_or_stored_as_lists(s: Script) -> None:
    """The same where a fresh instance reads."""
    _tried(s, PYTHON_BEYOND.values(), fresh=True)


@scenario("JSON-03", "SVC-08", needs=(Need.PYTHON_VALUES,))
def header_values_beyond_common_json_are_never_altered(s: Script) -> None:
    """The same values in the fields of a header: ``create`` refuses, or every view shows them equal."""
    a = s.instance()
    for number, value in enumerate((*BEYOND.values(), *PYTHON_BEYOND.values())):
        for field in ("origin", "agent_preset", "extra"):
            name = f"{field}-{number}"
            given = {field: {"key": value} if field == "extra" else value}
            s.create(a, header=header(name, **given))
            s.stat(a, name)
    s.create(a, header=header("half", cwd="/home/\udcff"))
    s.stat(a, "half")
    s.create(a, header=header("nan", origin=[float("nan")]))
    s.list(a)
