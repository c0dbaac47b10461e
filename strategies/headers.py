"""Session ids and headers: ordinary ones, and ones that ``create`` must refuse."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from conformance.contract import MAX_SAFE_INTEGER, SessionHeader
from strategies.json_values import json_values

CREATED_AT = 1_700_000_000_000
"""Unix ms that creation times shrink to."""


def session_ids(pool: Sequence[str] = ("s1", "s2", "s3")) -> st.SearchStrategy[str]:
    """One of a few ordinary ids, so that sessions meet; shrinks to the first."""
    return st.sampled_from(list(pool))


@cache
def headers() -> st.SearchStrategy[tuple[SessionHeader, int | None]]:
    """A good header with the inherited count that belongs to it; the id is a placeholder to be replaced.

    Shrinks to a header with nothing but the two fields that it must have.
    """
    return st.builds(_header, st.booleans(), st.integers(0, 5), _OPTIONAL, _EXTRA)


_OPTIONAL = st.fixed_dictionaries(
    {},
    optional={
        "created_at": st.integers(0, MAX_SAFE_INTEGER),
        "cwd": st.sampled_from(["/home/dev/project", ""]),
        "parent_session": st.just("parent"),
        "origin": json_values(3),
        "agent_preset": json_values(3),
        "delegation_depth": st.integers(0, 3),
    },
)
_EXTRA = st.dictionaries(st.sampled_from(["theme", "nested", "x-trace"]), json_values(3), max_size=2)


def _header(
    seeded: bool, inherited: int, optional: dict[str, Any], extra: dict[str, Any]
) -> tuple[SessionHeader, int | None]:
    values = {"created_at": CREATED_AT, **optional}
    header = SessionHeader(id="s1", is_seeded=seeded, extra=MappingProxyType(extra), **values)
    return header, inherited if seeded else None


@cache
def small_headers() -> st.SearchStrategy[tuple[SessionHeader, int | None]]:
    """One of a few good headers with its inherited count, from one draw; for machines. Shrinks to a bare one."""
    return st.sampled_from(
        [
            (SessionHeader("s1", CREATED_AT), None),
            (SessionHeader("s1", CREATED_AT, is_seeded=True), 0),
            (SessionHeader("s1", 0, cwd="/home/dev/project", parent_session="parent", delegation_depth=2), None),
            (SessionHeader("s1", MAX_SAFE_INTEGER, origin={"kind": "fork"}, agent_preset="plan", is_seeded=True), 3),
            (SessionHeader("s1", CREATED_AT, extra=MappingProxyType({"x": [1, None, {"y": "\u00e9"}]})), None),
        ]
    )


@cache
def refused_headers() -> st.SearchStrategy[tuple[SessionHeader, Any]]:
    """A header, or an inherited count, that ``create`` must refuse (SVC-08, SVC-09); shrinks to a wrong version."""
    return st.sampled_from(
        [
            (SessionHeader("s1", CREATED_AT, version=2), None),
            (SessionHeader("s1", CREATED_AT, version=True), None),
            (SessionHeader("s1", -1), None),
            (SessionHeader("s1", MAX_SAFE_INTEGER + 1), None),
            (SessionHeader("s1", 1.5), None),  # type: ignore[arg-type]
            (SessionHeader("s1", True), None),
            (SessionHeader("", CREATED_AT), None),
            (SessionHeader("\ud800", CREATED_AT), None),
            (SessionHeader(7, CREATED_AT), None),  # type: ignore[arg-type]
            (SessionHeader("s1", CREATED_AT, extra=MappingProxyType({"a": float("nan")})), None),
            (SessionHeader("s1", CREATED_AT, origin={1, 2}), None),
            (SessionHeader("s1", CREATED_AT, is_seeded=True), None),
            (SessionHeader("s1", CREATED_AT), 3),
            (SessionHeader("s1", CREATED_AT, is_seeded=True), -1),
        ]
    )
