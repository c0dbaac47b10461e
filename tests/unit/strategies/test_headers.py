"""Headers: good ones with everything in them, ones to refuse in every way, one thing wrong in each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

import strategies
from conformance.contract import MAX_SAFE_INTEGER, RESERVED_HEADER_KEYS, SessionHeader, materialize_create_header
from conformance.model.batches import BAD_ARGUMENT, header_refusals
from conformance.model.operations import Create, operation_from_json
from strategies.headers import CREATED_AT, DEBATABLE_WAYS, EXTRA_HEADER_KEYS, REFUSED_WAYS, SMALL_HEADERS, spoiled

Given = tuple[SessionHeader, Any]


@settings(deadline=None, max_examples=100)
@given(strategies.headers())
def test_headers_are_accepted(given: tuple[SessionHeader, int | None]) -> None:
    """The model allows no refusal, and the shared validation takes the header as it is."""
    found = header_refusals(*given)
    assert not found.must
    assert not found.may
    assert materialize_create_header(*given) == given


@settings(deadline=None)
@given(strategies.headers(strategies.hostile_ids()))
def test_headers_take_ids_from_elsewhere(given: tuple[SessionHeader, int | None]) -> None:
    """A hostile id is no reason to refuse a header at the shared validation."""
    assert materialize_create_header(*given)[0].id == given[0].id


def test_headers_have_everything(examples: Callable[..., list[Any]]) -> None:
    """Each field absent and present, edges of the numbers, hostile extra keys, text of many scripts."""
    drawn = examples(strategies.headers(), 250)
    for name in ("cwd", "parent_session", "origin", "agent_preset"):
        assert {getattr(header, name) is None for header, _ in drawn} == {True, False}
    for value in (0, CREATED_AT, MAX_SAFE_INTEGER):
        assert any(header.created_at == value for header, _ in drawn)
    assert any(header.delegation_depth == MAX_SAFE_INTEGER for header, _ in drawn)
    assert {inherited for _, inherited in drawn} == {None, 0, 1, 3, MAX_SAFE_INTEGER}
    assert len({key for header, _ in drawn for key in header.extra} & set(EXTRA_HEADER_KEYS)) > 10
    assert any(not str(header.extra).isascii() for header, _ in drawn)


def test_extra_keys_are_free() -> None:
    """No extra key is one of the header's own."""
    assert not RESERVED_HEADER_KEYS & set(EXTRA_HEADER_KEYS)


def test_headers_shrink_to_a_bare_one(minimal: Callable[..., Any]) -> None:
    """An id, a time, nothing else."""
    bare = SessionHeader("s1", CREATED_AT)
    assert minimal(strategies.headers()) == (bare, None)
    assert minimal(strategies.small_headers()) == (bare, None)
    assert minimal(strategies.refused_headers()) == (SessionHeader("s1", CREATED_AT, version=2), None)
    seeded = minimal(strategies.headers(), lambda given: given[0].is_seeded)
    assert seeded == (SessionHeader("s1", CREATED_AT, is_seeded=True), 0)


@pytest.mark.parametrize("given", SMALL_HEADERS, ids=range(len(SMALL_HEADERS)))
def test_every_way_spoils_every_good_header(given: tuple[SessionHeader, int | None]) -> None:
    """SVC-08 or SVC-09, and only one of them, forbids the header; the shared validation refuses it too."""
    assert not header_refusals(*given).must
    for way in REFUSED_WAYS:
        header, inherited = spoiled(way, given)
        assert len(header_refusals(header, inherited).must) == 1
        with pytest.raises((TypeError, ValueError)):
            materialize_create_header(header, inherited)


@pytest.mark.parametrize("given", SMALL_HEADERS, ids=range(len(SMALL_HEADERS)))
def test_debatable_headers_may_be_refused(given: tuple[SessionHeader, int | None]) -> None:
    """Nothing forbids the header, a refusal for its arguments is allowed, and the shared validation refuses it."""
    for way in DEBATABLE_WAYS:
        header, inherited = spoiled(way, given)
        found = header_refusals(header, inherited)
        assert not found.must
        assert found.may == BAD_ARGUMENT
        with pytest.raises((TypeError, ValueError)):
            materialize_create_header(header, inherited)


def test_every_field_is_spoiled() -> None:
    """There is a way for each field of a header, and for the inherited count both with and without a seed."""
    assert {field for way in REFUSED_WAYS for field in way} == {*SessionHeader.__slots__, "inherited"}
    seeds = {(way["is_seeded"], way["inherited"] is None) for way in REFUSED_WAYS if type(way.get("is_seeded")) is bool}
    assert seeds == {(True, True), (True, False), (False, False)}


def test_every_way_can_be_saved() -> None:
    """A refused ``create`` is kept as data, and comes back as one that is refused for the same clause."""
    for way in (*REFUSED_WAYS, *DEBATABLE_WAYS):
        header, inherited = spoiled(way, SMALL_HEADERS[0])
        back = operation_from_json(json.loads(json.dumps(Create(1, 1, header, inherited).to_json(), allow_nan=False)))
        assert isinstance(back, Create)
        assert header_refusals(back.header, back.inherited) == header_refusals(header, inherited)


@settings(deadline=None)
@given(strategies.beyond_common_headers())
def test_beyond_common_headers_may_be_refused(given: tuple[SessionHeader, int | None]) -> None:
    """Nothing forbids the header, and a refusal for its arguments is allowed."""
    found = header_refusals(*given)
    assert not found.must
    assert found.may == BAD_ARGUMENT
