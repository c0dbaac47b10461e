"""The records that cross the seam: headers, snapshots, and the shape of an event.

They are plain data. Building one checks nothing: a wrong header must be able to reach ``create``, which is
where the contract wants it refused (SVC-08). ``conformance.contract.validation`` does the checking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

SessionEvent = dict[str, Any]
"""``type: str`` (not empty), ``seq: int >= 0``, ``time: int`` (Unix ms), ``data``: JSON; optional ``ignorable: bool``,
``surfaceOp``, ``sourceEventSeqs: list[int]``; unknown keys are kept verbatim."""

Access = Literal["read", "write"]

CURRENT_VERSION = 1
MAX_SAFE_INTEGER = 2**53 - 1

NO_EXTRA: Mapping[str, Any] = MappingProxyType({})
"""The ``extra`` of a header that has none; nobody holds the mapping behind it, so it can be shared."""


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """What is known of a session besides its events; fixed at ``create``.

    Attributes:
        id: the session's id, any non-empty text without lone surrogates.
        created_at: Unix milliseconds, 0 to 2**53 - 1.
        version: logical format, always 1.
        cwd, parent_session: text, or None where absent.
        is_seeded: whether the first events came from a parent (SVC-09).
        origin, agent_preset: any JSON, or None where absent.
        delegation_depth: 0 or more.
        extra: further JSON keys, kept verbatim; none of them may be a key of the header itself.
    """

    id: str
    created_at: int
    version: int = CURRENT_VERSION
    cwd: str | None = None
    parent_session: str | None = None
    is_seeded: bool = False
    origin: Any = None
    delegation_depth: int = 0
    agent_preset: Any = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NO_EXTRA)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and deep-copy by fields: the read-only view that ``extra`` often is can do neither itself."""
        values = {name: getattr(self, name) for name in SessionHeader.__slots__}
        is_view = isinstance(self.extra, MappingProxyType)
        if is_view:
            values["extra"] = dict(self.extra)
        return _restore_header, (type(self), values, is_view)


def _restore_header(cls: type[SessionHeader], values: dict[str, Any], is_view: bool) -> SessionHeader:
    if is_view:
        values = {**values, "extra": MappingProxyType(values["extra"])}
    return cls(**values)


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """What ``stat`` and ``list`` tell of a session without reading its log.

    Attributes:
        header: as given at ``create``.
        revision: opaque token, equal only for equal logs (REV-04); compared for equality within one instance.
        event_count: number of events, or None where the backend does not know it cheaply.
        size_bytes: size of the stored artifact, or None.
    """

    header: SessionHeader
    revision: Any
    event_count: int | None = None
    size_bytes: int | None = None


HEADER_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "version": "version",
        "id": "id",
        "created_at": "createdAt",
        "cwd": "cwd",
        "parent_session": "parentSession",
        "is_seeded": "isSeeded",
        "origin": "origin",
        "delegation_depth": "delegationDepth",
        "agent_preset": "agentPreset",
    }
)
"""Field of ``SessionHeader`` -> its key on disk and wire."""

RESERVED_HEADER_KEYS = frozenset({"type", "inheritedEventCount", *HEADER_KEYS.values()})
"""Keys that ``extra`` may not hold."""


def header_to_json(header: SessionHeader, inherited_event_count: int | None = None) -> dict[str, Any]:
    """The header as its JSON object (``type: "session"`` first); optional fields only where present.

    The values are the header's own, not copies. ``extra`` is taken to hold no key of the header itself, as
    ``materialize_create_header`` makes sure.
    """
    found: dict[str, Any] = {
        "type": "session",
        "version": header.version,
        "id": header.id,
        "createdAt": header.created_at,
        "isSeeded": header.is_seeded,
        "delegationDepth": header.delegation_depth,
    }
    for name in ("cwd", "parent_session", "origin", "agent_preset"):
        value = getattr(header, name)
        if value is not None:
            found[HEADER_KEYS[name]] = value
    if header.is_seeded:
        found["inheritedEventCount"] = inherited_event_count
    found.update(header.extra)
    return found


def header_from_json(found: Mapping[str, Any]) -> tuple[SessionHeader, int | None]:
    """The inverse of ``header_to_json``: (header, inherited count or None). Checks nothing but presence.

    The values are those found, not copies; call ``assert_version`` before, ``materialize_create_header`` after it
    where the source is not trusted. Optional keys may be absent or null.

    Raises:
        KeyError: ``id`` or ``createdAt`` is missing.
    """
    values = {name: found[key] for name, key in HEADER_KEYS.items() if key in found}
    values["id"], values["created_at"] = found["id"], found["createdAt"]
    extra = {key: value for key, value in found.items() if key not in RESERVED_HEADER_KEYS}
    header = SessionHeader(**values, extra=MappingProxyType(extra))
    return header, found.get("inheritedEventCount")
