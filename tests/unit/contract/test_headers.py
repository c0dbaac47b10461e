"""Headers at ``create``: what is refused, what is copied, and their JSON form."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.contract import (
    HEADER_KEYS,
    MAX_SAFE_INTEGER,
    RESERVED_HEADER_KEYS,
    SessionHeader,
    check_session_id,
    copy_header,
    header_from_json,
    header_to_json,
    materialize_create_header,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
HEADERS = st.builds(
    SessionHeader,
    id=TEXT.filter(bool),
    created_at=st.integers(0, MAX_SAFE_INTEGER),
    cwd=st.none() | TEXT,
    parent_session=st.none() | TEXT,
    is_seeded=st.booleans(),
    origin=JSON_VALUES,
    delegation_depth=st.integers(0, MAX_SAFE_INTEGER),
    agent_preset=JSON_VALUES,
    extra=st.dictionaries(TEXT.filter(lambda key: key not in RESERVED_HEADER_KEYS), JSON_VALUES, max_size=3),
)
GOOD = SessionHeader("s", 1)


class Name(str):
    """Text of a class of its own."""


@given(HEADERS, st.integers(0, MAX_SAFE_INTEGER))
def test_a_good_header_is_taken_and_its_json_form_reads_back(header: SessionHeader, count: int) -> None:
    """Every valid header is copied equal, and survives its JSON form with the inherited count."""
    inherited = count if header.is_seeded else None
    snapshot, taken = materialize_create_header(header, inherited)
    assert (snapshot, taken) == (header, inherited)
    assert header_from_json(header_to_json(snapshot, taken)) == (snapshot, taken)


@given(HEADERS)
def test_copies_of_a_header_are_equal(header: SessionHeader) -> None:
    """A header can be pickled, deep-copied and handed out as a copy, with a plain or a read-only ``extra``."""
    snapshot, _ = materialize_create_header(header, 0 if header.is_seeded else None)
    assert copy_header(snapshot) == snapshot
    for each in (header, snapshot):
        assert copy.deepcopy(each) == pickle.loads(pickle.dumps(each)) == each
        assert type(copy.deepcopy(each).extra) is type(each.extra)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("id", value) for value in (None, 1, b"s", "", "\ud800", "a\udc00b", ["s"], Name("s"))),
        *(("created_at", value) for value in (None, -1, 2**53, 1.0, True, "1", float("nan"), 10**6000)),
        *(("version", value) for value in (None, 0, 2, 1.0, True, "1")),
        *(("is_seeded", value) for value in (None, 0, 1, "yes")),
        *(("delegation_depth", value) for value in (None, -1, 2**53, 1.0, False)),
        *((name, value) for name in ("cwd", "parent_session") for value in (1, b"x", "\ud800", ["x"], Name("x"))),
        *(
            (name, value)
            for name in ("origin", "agent_preset")
            for value in ({1}, (1,), b"x", float("nan"), {1: 2}, "\ud800", [object()], print)
        ),
        *(("extra", value) for value in (None, [], [("a", 1)], "a", 1, {1: 2}, {"a": {1}}, {"a\ud800": 1})),
        *(("extra", MappingProxyType(value)) for value in ({1: 2}, {"a": float("inf")})),
        *(("extra", {key: 1}) for key in sorted(RESERVED_HEADER_KEYS)),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else type(value).__name__,
)
def test_a_bad_field_refuses_the_header(field: str, value: Any) -> None:
    """Each field of another type, out of range or outside JSON is refused with a message that names it."""
    with pytest.raises((TypeError, ValueError), match=f"^(a key of )?{field}"):
        materialize_create_header(replace(GOOD, **{field: value}))


@pytest.mark.parametrize("header", [None, "s", {"id": "s", "createdAt": 1}, SessionHeader, ("s", 1)], ids=repr)
def test_what_is_no_header_is_refused(header: Any) -> None:
    """Only a ``SessionHeader`` is one."""
    with pytest.raises(TypeError, match="expected a SessionHeader"):
        materialize_create_header(header)


@pytest.mark.parametrize("count", [0, 1, MAX_SAFE_INTEGER])
def test_a_seeded_header_needs_its_count(count: int) -> None:
    """The inherited count is given exactly when the session is seeded."""
    assert materialize_create_header(replace(GOOD, is_seeded=True), count)[1] == count
    assert materialize_create_header(GOOD)[1] is None
    with pytest.raises(ValueError, match="not seeded"):
        materialize_create_header(GOOD, count)


@pytest.mark.parametrize("count", [None, -1, 2**53, 1.0, True, "1"], ids=repr)
def test_a_bad_inherited_count_is_refused(count: Any) -> None:
    """A seeded session takes an integer of 0 or more and nothing else."""
    with pytest.raises((TypeError, ValueError), match=r"^inherited_event_count"):
        materialize_create_header(replace(GOOD, is_seeded=True), count)


def test_the_smallest_and_largest_times_are_taken() -> None:
    """``created_at`` may be 0 and 2**53 - 1."""
    for created_at in (0, MAX_SAFE_INTEGER):
        assert materialize_create_header(replace(GOOD, created_at=created_at))[0].created_at == created_at


def test_a_header_is_captured() -> None:
    """Changing what the caller passed changes nothing in the copy."""
    origin: dict[str, Any] = {"a": [1]}
    preset: list[Any] = [{}]
    extra: dict[str, Any] = {"x": {"y": 1}}
    snapshot, _ = materialize_create_header(
        replace(GOOD, origin=origin, agent_preset=preset, extra=MappingProxyType(extra))
    )
    origin["a"].append(2)
    preset.append(1)
    extra["x"]["y"] = 2
    extra["z"] = 1
    assert (snapshot.origin, snapshot.agent_preset, dict(snapshot.extra)) == ({"a": [1]}, [{}], {"x": {"y": 1}})
    with pytest.raises(TypeError):
        snapshot.extra["z"] = 1  # type: ignore[index]


def test_an_empty_view_of_the_callers_mapping_is_captured_too() -> None:
    """A read-only view that is empty now may fill later; the copy stays empty."""
    behind: dict[str, Any] = {}
    snapshot, _ = materialize_create_header(replace(GOOD, extra=MappingProxyType(behind)))
    behind["later"] = 1
    assert dict(snapshot.extra) == {}


class OwnMapping(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> Any:
        return {"of": key}

    def __iter__(self) -> Iterator[str]:
        return iter(["b", "a"])

    def __len__(self) -> int:
        return 2


def test_extra_may_be_any_mapping() -> None:
    """A mapping of any class is read into a plain one, in its order."""
    assert list(materialize_create_header(replace(GOOD, extra=OwnMapping()))[0].extra.items()) == [
        ("b", {"of": "b"}),
        ("a", {"of": "a"}),
    ]
    ordered = OrderedDict(z=OrderedDict(q=1))
    taken = materialize_create_header(replace(GOOD, extra=ordered))[0].extra["z"]
    assert type(taken) is dict


class Shifty(SessionHeader):
    """A header whose version and seeding differ each time they are asked for."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("version", "is_seeded", "created_at", "delegation_depth", "id", "extra"):
            asked = SHIFTY_READS.setdefault(name, [])
            asked.append(name)
            good = {"version": 1, "is_seeded": False, "created_at": 1, "delegation_depth": 0, "id": "s", "extra": {}}
            return good[name] if len(asked) == 1 else object()
        return super().__getattribute__(name)


SHIFTY_READS: dict[str, list[str]] = {}


def test_each_field_is_read_once_and_a_subclass_comes_back_plain() -> None:
    """A header of a class of its own is taken for what its fields said when asked once."""
    SHIFTY_READS.clear()
    snapshot, _ = materialize_create_header(Shifty("s", 1))
    assert type(snapshot) is SessionHeader
    assert snapshot == GOOD
    assert {name: len(reads) for name, reads in SHIFTY_READS.items()} == dict.fromkeys(SHIFTY_READS, 1)
    assert len(SHIFTY_READS) == 6


def test_handed_out_headers_are_independent() -> None:
    """Whoever changes a copy's metadata does not reach the header it was copied from."""
    header, _ = materialize_create_header(replace(GOOD, origin={"a": []}, agent_preset=[[]], extra={"x": [1]}))
    given_out = copy_header(header)
    given_out.origin["a"].append(1)
    given_out.agent_preset[0].append(1)
    given_out.extra["x"].append(2)
    assert header == replace(GOOD, origin={"a": []}, agent_preset=[[]], extra={"x": [1]})
    plain, _ = materialize_create_header(GOOD)
    assert copy_header(plain) is plain


@pytest.mark.parametrize("text", ["s", "a/b\\..:%", "\x00", "é", "\U0010ffff", "x" * 1024, " ", "."], ids=ascii)
def test_ids_are_any_text(text: str) -> None:
    """Whatever text a backend may be able to store is a usable id."""
    assert check_session_id(text) is text


def test_json_form_of_a_header() -> None:
    """Keys are camelCase, ``type`` first, optional fields only where present, the count exactly when seeded."""
    assert header_to_json(GOOD) == {
        "type": "session",
        "version": 1,
        "id": "s",
        "createdAt": 1,
        "isSeeded": False,
        "delegationDepth": 0,
    }
    full = SessionHeader("s", 1, 1, "/c", "p", True, {"k": 0}, 2, False, {"more": None})
    found = header_to_json(full, 3)
    assert list(found) == [
        "type",
        *(key for key in found if key in HEADER_KEYS.values()),
        "inheritedEventCount",
        "more",
    ]
    assert set(found) == RESERVED_HEADER_KEYS | {"more"}
    assert (found["origin"], found["agentPreset"], found["inheritedEventCount"]) == ({"k": 0}, False, 3)
    assert header_from_json(found) == (full, 3)


def test_json_form_needs_id_and_time() -> None:
    """A header object without id or creation time is a KeyError; null and absent optional fields mean the same."""
    with pytest.raises(KeyError, match="id"):
        header_from_json({"createdAt": 1})
    with pytest.raises(KeyError, match="createdAt"):
        header_from_json({"id": "s"})
    assert header_from_json({"id": "s", "createdAt": 1, "cwd": None, "origin": None}) == (GOOD, None)
