"""What a backend is: records, errors, Protocols, and validation that any backend may share.

Standard library only: a backend imports this package and drags nothing else of the kit along. It promises that
the records are plain data and that the validation neither writes nor keeps anything; it does not run, judge or
load a backend. The session hub only passes on what is published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.contract.backend import SEAMS, Backend, Capabilities, Durability
from conformance.contract.errors import (
    CONTRACT_ERRORS,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionContiguityError,
    SessionFormatUnsupportedError,
    SessionHandleClosedError,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
)
from conformance.contract.headers import check_session_id, copy_header, materialize_create_header
from conformance.contract.json_values import MAX_DEPTH, copy_json, snapshot_json
from conformance.contract.protocols import SessionHandle, SessionPersistence
from conformance.contract.records import (
    CURRENT_VERSION,
    HEADER_KEYS,
    MAX_SAFE_INTEGER,
    RESERVED_HEADER_KEYS,
    Access,
    SessionEvent,
    SessionHeader,
    SessionSnapshot,
    header_from_json,
    header_to_json,
)
from conformance.contract.validation import (
    assert_contiguous,
    assert_understood,
    assert_version,
    check_read_range,
    materialize_append_batch,
    validate_stored_events,
)
from conformance.contract.vocabulary import KNOWN_EVENT_TYPES, is_understood

if TYPE_CHECKING:
    from conformance.contract.hub import SessionHub

__all__ = [
    "CONTRACT_ERRORS",
    "CURRENT_VERSION",
    "HEADER_KEYS",
    "KNOWN_EVENT_TYPES",
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "RESERVED_HEADER_KEYS",
    "SEAMS",
    "Access",
    "Backend",
    "Capabilities",
    "Durability",
    "SessionAlreadyExistsError",
    "SessionAlreadyOwnedError",
    "SessionContiguityError",
    "SessionEvent",
    "SessionFormatUnsupportedError",
    "SessionHandle",
    "SessionHandleClosedError",
    "SessionHeader",
    "SessionHub",
    "SessionOwnershipLostError",
    "SessionPersistence",
    "SessionPersistenceCorruptionError",
    "SessionPersistenceError",
    "SessionPersistenceNotFoundError",
    "SessionReadOnlyError",
    "SessionSnapshot",
    "assert_contiguous",
    "assert_understood",
    "assert_version",
    "check_read_range",
    "check_session_id",
    "copy_header",
    "copy_json",
    "header_from_json",
    "header_to_json",
    "is_understood",
    "materialize_append_batch",
    "materialize_create_header",
    "snapshot_json",
    "validate_stored_events",
]


def __getattr__(name: str) -> Any:
    """The hub is the only thing here that runs, and brings asyncio with it: whoever judges does without."""
    if name == "SessionHub":
        from conformance.contract.hub import SessionHub

        return SessionHub
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
