"""JSON values within the ground common to every codec: what a backend must store exactly (JSON-01).

Ordinary values mixed with the ones that codecs, databases and file formats are known to change. Values past that ground
are in ``strategies.hostile_values``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from conformance.contract import MAX_SAFE_INTEGER
from strategies.sizes import MEBIBYTE, PAGE, PIPE, SECTOR, UNITS, filled

ODD_TEXTS = (
    "",
    "\x00",
    "a\x00b",
    "\n",
    "\r\n",
    "a\nb\n",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b\x0c\x1c\x1e",
    "\x7f",
    "\x1b[31m",
    "\ufeff",
    "\ufffd",
    "\ufffe",
    "\uffff",
    "\ufdd0",
    "\U0001fffe",
    "\U0010ffff",
    "\U0001f600",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "é",
    "e\u0301",
    "\u212b",
    "\u202eabc",
    "\u200b",
    "\\",
    '"',
    '\\"',
    "\\n",
    "\\u0000",
    "\\ud83d",
    "\\x41",
    "%00",
    "</script>",
    "'; --",
    "{}",
    "[1]",
    '{"type":"session"}\n',
    " x ",
    "x\t",
    "null",
    "true",
    "NaN",
    "Infinity",
    "0",
    "1",
    "1.0",
    "-0",
    "01",
    "1e5",
    "0x10",
    "9007199254740993",
    "2024-01-01T00:00:00Z",
)
"""Text that a careless layer changes, cuts, splits or takes for something else."""

ODD_KEYS = (
    "",
    "\x00",
    " ",
    ".",
    "a.b",
    "$ref",
    "$py",
    "$where",
    "@type",
    "__proto__",
    "constructor",
    "prototype",
    "hasOwnProperty",
    "toString",
    "toJSON",
    "__class__",
    "__dict__",
    "length",
    "0",
    "-1",
    "1e3",
    "null",
    "type",
    "seq",
    "time",
    "data",
    "id",
    "\u2028",
    "\U0001f600",
    "\uffff",
    "é",
    "e\u0301",
)
"""Keys that some language, query dialect or mapper gives a meaning of its own."""

TWIN_KEYS = (
    ("a", "A"),
    ("é", "e\u0301"),
    ("Å", "\u212b"),
    ("ﬁ", "fi"),
    ("a", "a "),
    ("a", "a\x00"),
    ("1", "1.0"),
    ("1", "01"),
    ("", " "),
    ("a.b", "a"),
    ("ß", "ss"),
    ("\ufeffa", "a"),
)
"""Two distinct keys that fold, trim, normalise or parse into one."""

EDGE_INTEGERS = tuple(
    sign * value
    for value in (0, 1, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**52, 2**53 - 2, MAX_SAFE_INTEGER)
    for sign in ((1, -1) if value else (1,))
)

EDGE_FLOATS = (
    0.0,
    1.0,
    -1.0,
    0.5,
    0.1 + 0.2,
    1 / 3,
    1e-7,
    1e16,
    1e21,
    1e22,
    123456789.0,
    4.35,
    9007199254740992.0,
    5e-324,
    -5e-324,
    2.225073858507201e-308,
    2.2250738585072014e-308,
    1e-300,
    1e308,
    -1.7976931348623157e308,
)
"""Doubles at the ends of the range, whole ones, and ones that a printer with too few digits alters."""

VALUE_KINDS = (
    "null",
    "boolean",
    "text",
    "integer",
    "float",
    "list",
    "object",
    "odd text",
    "page text",
    "odd keys",
    "twin keys",
)
"""What ``json_values`` can be restricted to, as swarm testing wants."""


@cache
def texts(max_size: int = 12) -> st.SearchStrategy[str]:
    """Text of any Unicode scalars: random ones, and the odd ones that layers trip over.

    Shrinks to the empty text, then to short text of ``0``.

    Args:
        max_size: characters in the random ones.
    """
    return st.text(_SCALARS, max_size=max_size) | st.sampled_from(ODD_TEXTS)


_SCALARS = st.characters(exclude_categories=["Cs"])


@cache
def integers() -> st.SearchStrategy[int]:
    """Integers to ±(2**53-1), edges often; shrinks to 0."""
    return st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.sampled_from(EDGE_INTEGERS)


@cache
def floats() -> st.SearchStrategy[float]:
    """Finite doubles but minus zero, edges often, subnormal ones too; shrinks to 0.0."""
    # Minus zero is beyond the common ground; adding plus zero turns it into plus zero and changes nothing else.
    drawn = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
    return drawn | st.sampled_from(EDGE_FLOATS)


@cache
def page_texts() -> st.SearchStrategy[str]:
    """Text whose UTF-8 is a sector or a page long, or one byte beside that; shrinks to a sector of ``x``."""
    return st.builds(
        lambda size, beside, unit: filled(size + beside, unit),
        st.sampled_from([SECTOR, PAGE]),
        st.sampled_from([0, -1, 1]),
        st.sampled_from(UNITS),
    )


@cache
def keys() -> st.SearchStrategy[str]:
    """Keys of objects: random text, and names with a meaning somewhere; shrinks to the empty key."""
    return st.text(_SCALARS, max_size=8) | st.sampled_from(ODD_KEYS)


@cache
def json_values(max_leaves: int = 6, kinds: frozenset[str] = frozenset(VALUE_KINDS)) -> st.SearchStrategy[Any]:
    """Any JSON value that must be stored exactly.

    Text of every Unicode scalar, up to about a page; integers to ±(2**53-1); finite floats but minus zero; booleans,
    null, lists, and objects with odd keys and with keys that look alike. Shrinks towards null, then short
    text, then small containers. Longer text is in ``long_texts``, deeper nesting in ``deep_values``.

    Args:
        max_leaves: roughly how many scalars one value holds at most.
        kinds: names out of ``VALUE_KINDS`` to draw from; null is always possible.

    Raises:
        ValueError: a name that is no kind.
    """
    if unknown := kinds - set(VALUE_KINDS):
        raise ValueError(f"kinds={sorted(unknown)!r}: expected names out of {VALUE_KINDS}")
    by_kind: dict[str, st.SearchStrategy[Any]] = {
        "boolean": st.booleans(),
        "integer": integers(),
        "float": floats(),
        "text": st.text(_SCALARS, max_size=12),
        "odd text": st.sampled_from(ODD_TEXTS),
        "page text": page_texts(),
    }
    scalars = st.one_of(st.none(), *(drawn for kind, drawn in by_kind.items() if kind in kinds))

    def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        found: list[st.SearchStrategy[Any]] = []
        if "list" in kinds:
            found.append(st.lists(inner, max_size=4))
        if "object" in kinds:
            names = keys() if "odd keys" in kinds else st.text("abc", max_size=3)
            found.append(st.dictionaries(names, inner, max_size=4))
        if "twin keys" in kinds:
            found.append(st.builds(_twins, st.sampled_from(TWIN_KEYS), inner, inner))
        return st.one_of(found)

    if kinds.isdisjoint({"list", "object", "twin keys"}):
        return scalars
    return st.recursive(scalars, containers, max_leaves=max_leaves)


def _twins(pair: tuple[str, str], first: Any, second: Any) -> dict[str, Any]:
    return {pair[0]: first, pair[1]: second}


@cache
def deep_values(depth: int = 100) -> st.SearchStrategy[Any]:
    """A scalar inside exactly ``depth`` lists and objects, one in the other.

    Shrinks to lists around null. The contract asks for 100 levels at least; the shared validation refuses an event of
    more than ``conformance.contract.MAX_DEPTH``, where the event itself counts as one.

    Args:
        depth: levels of nesting, 0 or more.
    """
    return st.builds(
        _nest,
        st.just(depth),
        st.sampled_from(["lists", "objects", "in turn", "beside others"]),
        st.none() | st.booleans() | integers() | texts(4),
    )


def _nest(depth: int, style: str, leaf: Any) -> Any:
    value = leaf
    for level in range(depth):
        if style == "lists" or (style == "in turn" and level % 2):
            value = [value]
        elif style == "beside others":
            value = {"before": level, "in": value, "after": []} if level % 2 else [level, value, None]
        else:
            value = {"a": value}
    return value


LONG_SIZES = (PAGE, 2 * PAGE, PIPE, 2 * PIPE, MEBIBYTE)
"""Bytes around which ``long_texts`` lie."""

_LONG_UNITS = (*UNITS, "\n", "\x00", '"', "\u2028", "ab\n")


@cache
def long_texts(max_size: int = 2 * PIPE) -> st.SearchStrategy[str]:
    """Text of a size around the limits of pages, pipes and line readers, in bytes of UTF-8 before any escaping.

    One character over and over: of one to four bytes, or one that JSON escapes. Shrinks to a page of ``x``.

    Args:
        max_size: takes the sizes of ``LONG_SIZES`` up to this one, and one byte more; at least a page.

    Raises:
        ValueError: ``max_size`` is less than a page.
    """
    if max_size < PAGE:
        raise ValueError(f"max_size={max_size!r}: expected at least {PAGE}")
    return st.builds(
        lambda size, beside, unit: filled(size + beside, unit),
        st.sampled_from([size for size in LONG_SIZES if size <= max_size]),
        st.sampled_from([0, -1, 1]),
        st.sampled_from(_LONG_UNITS),
    )


@cache
def huge_texts(size: int = 4 * MEBIBYTE) -> st.SearchStrategy[str]:
    """Text of ``size`` bytes or one beside that; for single cases, not for machines. Shrinks to ``x`` over and over.

    Args:
        size: bytes of UTF-8 before any escaping; the contract asks for 4 MiB at least.
    """
    return st.builds(
        lambda beside, unit: filled(size + beside, unit), st.sampled_from([0, -1, 1]), st.sampled_from(_LONG_UNITS)
    )
