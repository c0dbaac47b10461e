"""The values that the scenarios of JSON try, by what is odd about them.

``CHARACTERS`` to ``LONG`` must come back (JSON-01), ``BEYOND`` may be refused (JSON-03), ``OUTSIDE`` must be (JSON-02).
Nothing here is done to a backend.
"""

from __future__ import annotations

import datetime
import decimal
from pathlib import PurePosixPath
from typing import Any

from conformance.contract import MAX_SAFE_INTEGER
from conformance.model.samples import (
    SampleEnum,
    SampleFloat,
    SampleInt,
    SampleIntEnum,
    SampleObject,
    SampleText,
    SampleTextEnum,
    sample_function,
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

STORE_KEYS: tuple[str, ...] = (
    *("session", "session_id", "sessionId", "sid", "id", "_id", "key", "kind", "event", "header", "events"),
    *("ts", "timestamp", "created", "$born", "owner", "writer", "epoch", "generation", "rev", "revision", "version"),
    *("crc", "checksum", "sha256", "hash", "len", "length", "size", "offset", "index", "batch", "count", "n", "v"),
    *("deleted", "tombstone", "committed", "durable", "meta", "payload", "__class__", "_type", "_seq", "$schema"),
)
"""Keys that stores keep beside what they are given, in the very object that holds it."""

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


def nested(levels: int, *, objects: bool) -> Any:
    """The text ``deep`` inside that many lists, or lists and objects in turn."""
    value: Any = "deep"
    for level in range(levels):
        value = {"a": value} if objects and level % 2 else [value]
    return value


TRUTHS = [True, False, [True, 1, False, 0, None], {"a": True, "b": 1, "c": None}, None, [], {}, *WHOLE, WHOLE]
DEEP = [nested(100, objects=False), nested(100, objects=True), {"a": [nested(90, objects=True)] * 3}]
LONG = [*(unit * 65_537 for unit in ("x", "\u2028", "\n", "\x00", '"', "\U0001f600")), "ab\n" * 350_000]
FOUR_MEBIBYTES = "line of text\n" * ((1 << 22) // 13 + 1)

BEYOND["nesting of 300 levels"] = nested(300, objects=False)
