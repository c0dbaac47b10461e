"""Headers: few good ones for machines, good ones with everything in them, and ones that ``create`` must refuse.

A header comes with the inherited count that belongs to it, because ``create`` judges the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from conformance.contract import MAX_SAFE_INTEGER, RESERVED_HEADER_KEYS, SessionHeader
from conformance.model.values import SampleEnum, SampleObject
from strategies.hostile_values import BAD_KEYS, REFUSED_MAKERS, beyond_common_values, wrap
from strategies.ids import hostile_ids, ordinary_ids
from strategies.json_values import ODD_KEYS, json_values, keys, texts
from strategies.optional import some_of
from strategies.world_text import world_texts

CREATED_AT = 1_700_000_000_000
"""Unix ms that creation times shrink to."""

EXTRA_HEADER_KEYS = (
    "x",
    *(key for key in ODD_KEYS if key not in RESERVED_HEADER_KEYS),
    "created_at",
    "is_seeded",
    "parent_session",
    "inherited_event_count",
    "extra",
    "Version",
    "ID",
    "createdat",
    "seedLength",
    "sandboxMode",
    "revision",
    "eventCount",
)
"""Keys for ``extra``: ones with a meaning somewhere, and near misses of the header's own."""

CWDS = (
    "/home/dev/project",
    "",
    "/",
    ".",
    "..",
    "../../escaped",
    "/tmp/a b/ü/日本",
    "C:\\Users\\dev",
    "\\\\server\\share",
    "~",
    "/a\nb",
    "/a\x00b",
    "/" + "long/" * 300,
)
"""Working directories; a backend that makes paths of them must stay inside its root (ID-02)."""

Given = tuple[SessionHeader, int | None]
"""A header and its inherited count."""


def headers(ids: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Given]:
    """A good header with the inherited count that belongs to it.

    Every optional field present or absent, any JSON in those that take it, creation times and counts to 2**53-1,
    hostile extra keys. Shrinks to a header with nothing but the two fields that it must have.

    Args:
        ids: where its id comes from; ``s1`` by default, to be replaced.
    """
    return st.builds(_header, st.just("s1") if ids is None else ids, st.none() | _COUNTS, _optional(), _extra())


_COUNTS = st.sampled_from([0, 1, 3, MAX_SAFE_INTEGER])


@cache
def _optional() -> st.SearchStrategy[dict[str, Any]]:
    return some_of(
        {
            "created_at": st.integers(0, MAX_SAFE_INTEGER) | st.sampled_from([0, MAX_SAFE_INTEGER]),
            "cwd": st.sampled_from(CWDS) | world_texts() | texts(),
            "parent_session": ordinary_ids() | hostile_ids(),
            "origin": json_values(3),
            "agent_preset": json_values(3),
            "delegation_depth": st.sampled_from([0, 1, 3, MAX_SAFE_INTEGER]),
        }
    )


@cache
def _extra() -> st.SearchStrategy[dict[str, Any]]:
    # A colon in front keeps a drawn key apart from the header's own.
    names = st.sampled_from(EXTRA_HEADER_KEYS) | keys().map(lambda key: ":" + key)
    return st.dictionaries(names, json_values(3) | world_texts(), max_size=3)


def _header(id: str, inherited: int | None, optional: dict[str, Any], extra: dict[str, Any]) -> Given:
    values = {"created_at": CREATED_AT, **optional}
    header = SessionHeader(id=id, is_seeded=inherited is not None, extra=MappingProxyType(extra), **values)
    return header, inherited


SMALL_HEADERS: tuple[Given, ...] = (
    (SessionHeader("s1", CREATED_AT), None),
    (SessionHeader("s1", CREATED_AT, is_seeded=True), 0),
    (SessionHeader("s1", 0, cwd="/home/dev/project", parent_session="parent", delegation_depth=2), None),
    (SessionHeader("s1", MAX_SAFE_INTEGER, origin={"kind": "fork"}, agent_preset="plan", is_seeded=True), 3),
    (SessionHeader("s1", CREATED_AT, extra=MappingProxyType({"x": [1, None, {"y": "\u00e9"}]})), None),
)


@cache
def small_headers() -> st.SearchStrategy[Given]:
    """One of a few good headers with its inherited count, from one draw; for machines. Shrinks to a bare one."""
    return st.sampled_from(SMALL_HEADERS)


@cache
def beyond_common_headers() -> st.SearchStrategy[Given]:
    """A header with one thing beyond JSON's common ground: ``create`` may refuse it, or shows it unaltered (JSON-03).

    In ``origin``, ``agent_preset`` or ``extra``, or a lone surrogate in ``cwd`` or ``parent_session``. Shrinks to
    a bare header whose origin is 2**53.
    """

    def place(given: Given, field: str, value: Any, half: str) -> Given:
        if field == "extra":
            value = MappingProxyType({**given[0].extra, "beyond": value})
        changes: dict[str, Any] = {field: half if field in ("cwd", "parent_session") else value}
        return replace(given[0], **changes), given[1]

    return st.builds(
        place,
        small_headers(),
        st.sampled_from(["origin", "agent_preset", "extra", "cwd", "parent_session"]),
        beyond_common_values(),
        st.sampled_from(["\ud800", "/home/\udcff", "cut \ud83d"]),
    )


_NO_TEXTS: tuple[Any, ...] = (7, True, 1.5, ["s1"], {"id": "s1"})
_NO_DEPTHS: tuple[Any, ...] = (-1, -(2**53), True, 1.5, 0.0, "0", [0], {}, None)
_NO_MAPPINGS: tuple[Any, ...] = (None, 7, "extra", [["a", 1]], True)
_NO_JSON: tuple[Any, ...] = (b"s1", float("nan"), SampleEnum.MEMBER, SampleObject())
_NO_COUNTS: tuple[Any, ...] = (-1, -(2**53), True, 1.5, 0.0, float("nan"), float("inf"), "0", b"0", [0], {})


def _refused_ways() -> tuple[Mapping[str, Any], ...]:
    found: list[Mapping[str, Any]] = [
        *({"version": value} for value in (2, 0, -1, True, None, "1", 1.0, 1.5, 2**53)),
        *({"created_at": value} for value in (*_NO_COUNTS, None, MAX_SAFE_INTEGER + 1, float(CREATED_AT))),
        *({"id": value} for value in ("", "\ud800", "s\udfff", "\ude00\ud83d", None, *_NO_TEXTS, *_NO_JSON)),
        *({field: value} for field in ("cwd", "parent_session", "delegation_depth") for value in _NO_JSON),
        *({"extra": MappingProxyType({key: 0})} for key in BAD_KEYS),
        {"extra": b"extra"},
        {"is_seeded": b"yes"},
    ]
    for make in REFUSED_MAKERS:
        found += [{"origin": make()}, {"agent_preset": wrap(make(), [1, 2])}]
        found += [{"extra": MappingProxyType({"a": make()})}, {"extra": MappingProxyType({"a": wrap(make(), [0, 3])})}]
    found += [{"is_seeded": True, "inherited": count} for count in (None, *_NO_COUNTS)]
    found += [{"is_seeded": False, "inherited": count} for count in (0, 3, *_NO_COUNTS)]
    return tuple(found)


def _debatable_ways() -> tuple[Mapping[str, Any], ...]:
    return (
        *({field: value} for field in ("cwd", "parent_session") for value in _NO_TEXTS),
        *({"delegation_depth": value} for value in _NO_DEPTHS),
        *({"is_seeded": value, "inherited": count} for value, count in ((1, 0), ("yes", 0), (None, None), (0, None))),
        *({"extra": value} for value in _NO_MAPPINGS),
        *({"extra": MappingProxyType({key: 0})} for key in sorted(RESERVED_HEADER_KEYS)),
    )


REFUSED_WAYS = _refused_ways()
"""Changes that each make any good header one that must be refused; ``inherited`` stands for the inherited count."""

DEBATABLE_WAYS = _debatable_ways()
"""Changes that each make any good header one with a field of another JSON type, or an extra key of the header's own."""


@cache
def refused_headers() -> st.SearchStrategy[tuple[SessionHeader, Any]]:
    """A header with a count that ``create`` must refuse with ``TypeError`` or ``ValueError`` (SVC-08, SVC-09).

    One thing wrong in a header that is good otherwise: its version, time or id, metadata that is no JSON, a count
    without a seed or a seed without one. From two cheap draws. Shrinks to a bare header of version 2.
    """
    return st.builds(spoiled, st.sampled_from(REFUSED_WAYS), small_headers())


@cache
def debatable_headers() -> st.SearchStrategy[tuple[SessionHeader, Any]]:
    """A header of the wrong shape that the contract does not ask to refuse: ``create`` may, and nothing else breaks.

    Fields with JSON of another type, extra keys that are the header's own. Shrinks to a bare header with a number for
    its working directory.
    """
    return st.builds(spoiled, st.sampled_from(DEBATABLE_WAYS), small_headers())


def spoiled(way: Mapping[str, Any], given: Given) -> tuple[SessionHeader, Any]:
    """The header and count with one of ``REFUSED_WAYS`` or ``DEBATABLE_WAYS`` applied."""
    changes = dict(way)
    inherited = changes.pop("inherited", given[1])
    return replace(given[0], **changes), inherited
