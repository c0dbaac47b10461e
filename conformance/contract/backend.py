"""How a backend registers itself: one ``Backend`` record with its ``Capabilities``.

The record is data and callables; nothing here opens or runs anything. What the capabilities mean for each
clause is decided by the table in ``conformance.clauses``, nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

Durability = Literal["none", "process-kill", "power-loss", "power-loss-strict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a backend claims; the defaults fit a file backend that survives power loss.

    Attributes:
        durability: the strongest adversary a barrier withstands.
        append_durability: ``"append"`` claims DUR-09, every resolved append is durable at once.
        storage: ``"files"`` under the root, a ``"service"`` reached over a connection, or ``"memory"`` of this process.
        loop: ``"simulated"`` runs in virtual time; ``"real"`` for sockets and foreign threads.
        materialization: ``"eager"`` makes ``create`` itself visible to other instances.
        create_scope: ``"storage"`` where ``create`` keeps the id from every other instance at once; ``"instance"``
            where another one may hold it pending too, until one of them stores it.
        vocabulary: ``"open"`` stores any event type; ``"closed"`` refuses unknown ones (FMT-02).
        unknown_types: what a closed vocabulary does with them at ``append``.
        numbers: ``"exact"`` keeps 1 and 1.0 apart.
        cross_process_ownership: a second instance or process is kept out while the owner lives (OWN-09, OWN-13).
        checksums: any changed byte is noticed (FMT-10).
        distributed: the session store's lock holds across instances and processes.
        lease: seconds after which ownership of a silent holder is lost; None for no lease (OWN-10).
        live_window: seconds within which published events are stored; None where there is no live path.
        migrates: historical formats that are converted on open (FMT-07).
        encodings: artifact encodings that are told apart (FMT-08).
    """

    durability: Durability = "power-loss"
    append_durability: Literal["flush", "append"] = "flush"
    storage: Literal["files", "service", "memory"] = "files"
    loop: Literal["simulated", "real"] = "simulated"
    materialization: Literal["lazy", "eager"] = "lazy"
    create_scope: Literal["instance", "storage"] = "instance"
    vocabulary: Literal["closed", "open"] = "closed"
    unknown_types: Literal["refuse", "store"] = "refuse"
    numbers: Literal["exact", "double"] = "exact"
    cross_process_ownership: bool = False
    checksums: bool = False
    distributed: bool = False
    lease: float | None = None
    live_window: float | None = None
    migrates: tuple[str, ...] = ()
    encodings: tuple[str, ...] = ()


SEAMS = (
    "events",
    "location",
    "craft",
    "live",
    "resume",
    "store",
    "entries",
    "storage_key",
    "session_id_for",
)
"""The optional seams of a ``Backend``, by attribute name."""

_NO_ERRORS: Mapping[type[BaseException], type[BaseException]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A backend as the kit sees it.

    Attributes:
        name: as it appears in reports; letters, digits, ``-``, ``_`` and ``.``.
        open: ``open(root: Path)`` or ``open(root, env=...)`` -> a ``SessionPersistence``, an awaitable of one, or an
            (async) context manager of one. Called again on the same root it gives a fresh instance.
        capabilities: what is claimed.
        errors: the backend's own exception classes -> the contract's; subclasses match too.
        sync: the methods are plain functions; the kit runs them through ``asyncio.to_thread``.
        events: a Hypothesis strategy of ``(type, data)`` where the vocabulary is not the default one.
        location: ``location(root, session_id)`` -> the one artifact of that session, or None before it is materialised.
        craft: ``craft(root, session_id, what)`` makes a stored artifact ``"newer"``, ``"older"``, ``"foreign-id"``,
            ``"unknown-type"`` or ``"v0"``.
        live: ``live(persistence, hub)`` subscribes to the session hub, once.
        resume: ``resume(persistence, session_id)`` -> awaitable of the list of closers appended.
        store: ``store(root)`` -> a session store (STORE).
        entries: ``entries(root)`` -> an entry log with ``append(session_id, entry)`` and
            ``chain(session_id, leaf=None)`` (KNIT).
        storage_key: ``storage_key(tenant, environment, agent, raw_id)`` -> str (NS-01).
        session_id_for: ``session_id_for(body)`` -> str, or None for a validation failure (NS-02).
    """

    name: str
    open: Callable[..., Any]
    capabilities: Capabilities = field(default_factory=Capabilities)
    errors: Mapping[type[BaseException], type[BaseException]] = field(default_factory=lambda: _NO_ERRORS)
    sync: bool = False
    events: Any = None
    location: Callable[[Path, str], Path | None] | None = None
    craft: Callable[[Path, str, str], None] | None = None
    live: Callable[[Any, Any], None] | None = None
    resume: Callable[[Any, str], Any] | None = None
    store: Callable[[Path], Any] | None = None
    entries: Callable[[Path], Any] | None = None
    storage_key: Callable[[str, str, str, str], str] | None = None
    session_id_for: Callable[[Mapping[str, Any]], str | None] | None = None

    def gives(self, seam: str) -> bool:
        """Whether the optional seam of that name is there (``SEAMS`` lists them)."""
        return getattr(self, seam) is not None
