"""Torntail's kit: checks a session-log backend against the contract, clause by clause.

Everything public is exported from here *lazily*: this module is loaded in every pytest run of every
project that has the kit installed, so importing it must load nothing else. The names and where they
live are in ``_EXPORTS``; ``from conformance import SessionHeader`` loads ``conformance.contract`` only.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "Backend": "conformance.contract",
    "Capabilities": "conformance.contract",
    "SessionAlreadyExistsError": "conformance.contract",
    "SessionAlreadyOwnedError": "conformance.contract",
    "SessionContiguityError": "conformance.contract",
    "SessionFormatUnsupportedError": "conformance.contract",
    "SessionHandle": "conformance.contract",
    "SessionHandleClosedError": "conformance.contract",
    "SessionHeader": "conformance.contract",
    "SessionHub": "conformance.contract",
    "SessionOwnershipLostError": "conformance.contract",
    "SessionPersistence": "conformance.contract",
    "SessionPersistenceCorruptionError": "conformance.contract",
    "SessionPersistenceError": "conformance.contract",
    "SessionPersistenceNotFoundError": "conformance.contract",
    "SessionReadOnlyError": "conformance.contract",
    "SessionSnapshot": "conformance.contract",
    "load_backend": "conformance.drivers.registry",
    "open_backend": "conformance.drivers.registry",
    "suite_for": "conformance.suite",
    "verify": "conformance.suite",
}

__all__ = ["__version__", *sorted(_EXPORTS)]


def __getattr__(name: str) -> Any:
    module_name = _EXPORTS.get(name)
    if module_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module_name), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
