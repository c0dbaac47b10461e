"""The header at the seam: refuse it or copy it at ``create``, and hand out copies that nobody can reach the store by.

Like the validation of batches this reads each field of the caller's once, writes nothing, and knows no storage
format (``header_to_json`` and ``header_from_json`` in ``conformance.contract.records`` do).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.contract.json_values import copy_json, shown, snapshot_json
from conformance.contract.records import (
    CURRENT_VERSION,
    MAX_SAFE_INTEGER,
    NO_EXTRA,
    RESERVED_HEADER_KEYS,
    SessionHeader,
)

_CONTAINERS = frozenset({dict, list})


def materialize_create_header(header: object, inherited_event_count: object = None) -> tuple[SessionHeader, int | None]:
    """Validate a header and return an independent copy, with the inherited count (SVC-08, SVC-09).

    A subclass of ``SessionHeader`` comes back as a plain one.

    Raises:
        TypeError, ValueError: the message names the field, what it held and what was expected.
    """
    if not isinstance(header, SessionHeader):
        raise TypeError(f"header: {shown(header)}; expected a SessionHeader")
    version, is_seeded = header.version, header.is_seeded
    if type(version) is not int or version != CURRENT_VERSION:
        raise ValueError(f"version: {shown(version)}; expected {CURRENT_VERSION}")
    if type(is_seeded) is not bool:
        raise TypeError(f"is_seeded: {shown(is_seeded)}; expected a bool")
    snapshot = SessionHeader(
        id=check_session_id(header.id),
        created_at=_count(header.created_at, "created_at"),
        version=CURRENT_VERSION,
        cwd=_optional_text(header.cwd, "cwd"),
        parent_session=_optional_text(header.parent_session, "parent_session"),
        is_seeded=is_seeded,
        origin=_optional_json(header.origin, "origin"),
        delegation_depth=_count(header.delegation_depth, "delegation_depth"),
        agent_preset=_optional_json(header.agent_preset, "agent_preset"),
        extra=_materialize_extra(header.extra),
    )
    return snapshot, _check_inherited(inherited_event_count, is_seeded=is_seeded)


def copy_header(header: SessionHeader) -> SessionHeader:
    """A header that shares nothing mutable with this one, which must be valid; itself where it holds nothing mutable.

    For what a backend hands out: whoever changes ``handle.header.origin`` must not change the stored session.
    """
    extra = header.extra
    if not extra and type(header.origin) not in _CONTAINERS and type(header.agent_preset) not in _CONTAINERS:
        return header
    return SessionHeader(
        id=header.id,
        created_at=header.created_at,
        version=header.version,
        cwd=header.cwd,
        parent_session=header.parent_session,
        is_seeded=header.is_seeded,
        origin=copy_json(header.origin),
        delegation_depth=header.delegation_depth,
        agent_preset=copy_json(header.agent_preset),
        extra=MappingProxyType(copy_json(dict(extra))),
    )


def check_session_id(session_id: object) -> str:
    """The id itself where it is usable text, else a refusal (SVC-08).

    Raises:
        TypeError: no text. ValueError: empty, or with lone surrogates.
    """
    text = _text(session_id, "id")
    if not text:
        raise ValueError("id: ''; expected text that is not empty")
    return text


def _text(value: object, name: str) -> str:
    if type(value) is not str:
        raise TypeError(f"{name}: {shown(value)}; expected text")
    if not value.isascii():
        snapshot_json(value, where=name)
    return value


def _optional_text(value: object, name: str) -> str | None:
    return None if value is None else _text(value, name)


def _optional_json(value: object, name: str) -> Any:
    return None if value is None else snapshot_json(value, where=name)


def _count(value: object, name: str) -> int:
    if type(value) is not int:
        raise TypeError(f"{name}: {shown(value)}; expected an integer")
    if not 0 <= value <= MAX_SAFE_INTEGER:
        raise ValueError(f"{name}: {shown(value)}; expected 0 to 2**53-1")
    return value


def _materialize_extra(extra: object) -> Mapping[str, Any]:
    if not isinstance(extra, Mapping):
        raise TypeError(f"extra: {shown(extra)}; expected a mapping of JSON keys")
    if extra is NO_EXTRA:
        return NO_EXTRA
    copy: dict[str, Any] = snapshot_json(extra if isinstance(extra, dict) else dict(extra), where="extra")
    clash = sorted(RESERVED_HEADER_KEYS & copy.keys())
    if clash:
        raise ValueError(f"extra: {clash} are keys of the header itself")
    return MappingProxyType(copy)


def _check_inherited(count: object, *, is_seeded: bool) -> int | None:
    if is_seeded:
        return _count(count, "inherited_event_count of a seeded session")
    if count is not None:
        raise ValueError(f"inherited_event_count: {shown(count)}; expected None, the session is not seeded")
    return None
