"""Finds a backend by what the user wrote: a registered name, ``module:attribute`` or ``path/to/file.py:attribute``.

Registered names are the entry points of the group ``torntail.backends``; the built-in ones are known by a table too,
because the metadata of an installed distribution may be older than its code. Every failure is a ``UsageError`` that
says the way out. Nothing is opened here but by ``open_backend``, which printed programs use.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from conformance.contract import Backend, Capabilities, SessionPersistence
from conformance.drivers.errors import UsageError
from conformance.drivers.factory import enter_instance
from conformance.drivers.loading import find_attribute, load_file, load_module
from conformance.drivers.shadowing import check_not_shadowed

__all__ = [
    "check_not_shadowed",
    "hold_backend",
    "is_held",
    "known_backends",
    "load_backend",
    "open_backend",
    "partner_for",
]

GROUP = "torntail.backends"

BUILT_IN = {
    "jsonl": "reference_backend:jsonl",
    "jsonl-raw": "reference_backend:jsonl_raw",
    "memory": "reference_backend.memory:memory",
}
"""Name -> dotted path of the backends that come with the kit; no other distribution can take these names."""

_EXPECTED = "expected a conformance.Backend, or a callable without arguments that returns one"

_HELD_PREFIX = "held:"
_held: dict[str, Backend] = {}


def known_backends() -> dict[str, str]:
    """Registered name -> dotted path ``module:attribute``, sorted; two distributions' claims are joined by `` or ``."""
    claims = {name: [path] for name, path in BUILT_IN.items()}
    for entry in entry_points(group=GROUP):
        if entry.name not in BUILT_IN and entry.value not in claims.setdefault(entry.name, []):
            claims[entry.name].append(entry.value)
    return {name: " or ".join(sorted(claims[name])) for name in sorted(claims)}


def load_backend(spec: str, base: Path | None = None) -> Backend:
    """The backend that ``spec`` names.

    Args:
        spec: ``jsonl``, ``package.module:attribute`` or ``path/to/file.py:attribute``. The attribute is a ``Backend``,
            or a callable without arguments that returns one.
        base: the directory from which a relative path is found; None is the working directory.

    Raises:
        UsageError: it cannot be found or loaded, or is no ``Backend``; says what is known and what comes near.
    """
    if spec.startswith("exec:"):
        raise UsageError(
            f"backend {spec!r}: drivers in other processes (exec:COMMAND) are not built yet; "
            f"register a Python backend: {_forms()}"
        )
    if is_held(spec):
        return _held_backend(spec)
    place, colon, attribute = spec.rpartition(":")
    if not colon:
        return _load_registered(spec, base)
    if not place or not attribute:
        raise UsageError(f"backend {spec!r} lacks the part {'before' if attribute else 'behind'} the colon; {_forms()}")
    return _load_attribute(spec, place, attribute, base)


def hold_backend(backend: Backend) -> str:
    """A spec by which this process finds a ``Backend`` that is in its hands already (for ``conformance.verify``)."""
    spec = f"{_HELD_PREFIX}{backend.name}"
    count = 1
    while _held.get(spec, backend) is not backend:
        count += 1
        spec = f"{_HELD_PREFIX}{backend.name}#{count}"
    _held[spec] = backend
    return spec


def is_held(spec: str) -> bool:
    """Whether a spec names an object of this process, which no other one can find."""
    return spec.startswith(_HELD_PREFIX)


def partner_for(backend: Backend) -> Backend:
    """The reference that runs beside ``backend``, never itself: ``memory`` beside the JSONL ones, else ``jsonl``."""
    name = "memory" if backend.name in ("jsonl", "jsonl-raw") else "jsonl"
    return load_backend(BUILT_IN[name])


@asynccontextmanager
async def open_backend(backend: str | Backend, root: str | Path) -> AsyncIterator[SessionPersistence]:
    """One fresh instance of a backend over ``root``; what its factory entered is left at the end.

    Args:
        backend: a ``Backend``, or a spec as ``load_backend`` takes it.
        root: the storage directory. Methods of a ``sync=True`` backend run in threads, so that it looks like any other.

    Raises:
        UsageError: no such backend. SetupError: it could not start.

    Example:
        >>> async with open_backend("memory", "root") as persistence:  # doctest: +SKIP
        ...     handle = await persistence.create(SessionHeader(id="s", created_at=0))
    """
    found = load_backend(backend) if isinstance(backend, str) else backend
    instance = await enter_instance(found, Path(root))
    try:
        yield instance.persistence
    except BaseException as error:
        # The body's own exception goes on in any case: a factory's context manager may not swallow it.
        await instance.leave(error)
        raise
    else:
        await instance.leave(None)


def _forms() -> str:
    return "write a registered name, module:attribute or path/to/file.py:attribute"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _near(word: str, words: Iterable[str]) -> str:
    near = get_close_matches(word, list(words), n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""


def _load_registered(name: str, base: Path | None) -> Backend:
    # What is built in is nobody else's to register, and asking all distributions takes milliseconds.
    known = BUILT_IN if name in BUILT_IN else known_backends()
    dotted = known.get(name)
    if dotted is None:
        if name.endswith(".py"):
            backends = _listed(_backends_in(load_file((base or Path()) / name)))
            raise UsageError(f"backend {name!r} names a file; write {name}:attribute (Backends there: {backends})")
        raise UsageError(
            f"unknown backend {name!r}.{_near(name, known)} Known: {_listed(known)}; otherwise {_forms()}."
        )
    if " or " in dotted:
        raise UsageError(f"backend {name!r} is registered more than once: {dotted}; write the one you mean instead")
    place, _, attribute = dotted.partition(":")
    return _load_attribute(name, place, attribute, None)


def _load_attribute(spec: str, place: str, attribute: str, base: Path | None) -> Backend:
    if place.endswith(".py") or "/" in place or "\\" in place:
        module = load_file((base or Path()) / place)
    else:
        module = load_module(place)

    def missing(module: ModuleType) -> str:
        names = _backends_in(module)
        near = _near(attribute, names)
        return f"backend {spec!r}: {place} has no attribute {attribute!r}.{near} Backends there: {_listed(names)}"

    return _checked(spec, _called(spec, find_attribute(module, attribute, missing)))


def _backends_in(module: ModuleType) -> list[str]:
    return sorted(name for name, value in vars(module).items() if isinstance(value, Backend))


def _called(spec: str, value: Any) -> Any:
    """``value`` itself, or what it returns where it is a callable without arguments."""
    if isinstance(value, Backend) or not callable(value):
        return value
    try:
        inspect.signature(value).bind()
    except (TypeError, ValueError) as cause:
        raise UsageError(
            f"backend {spec!r} is {value!r}, which cannot be called without arguments ({cause}); {_EXPECTED}"
        ) from cause
    try:
        return value()
    except Exception as cause:
        raise UsageError(f"backend {spec!r}: calling it raised {type(cause).__name__}: {cause}") from cause


def _checked(spec: str, value: Any) -> Backend:
    if not isinstance(value, Backend):
        kind = type(value)
        raise UsageError(f"backend {spec!r} is {value!r} of type {kind.__module__}.{kind.__qualname__}; {_EXPECTED}")
    if not isinstance(value.name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]+", value.name):
        raise UsageError(f"backend {spec!r}: name={value.name!r}; expected letters, digits, '-', '_' and '.'")
    if not callable(value.open):
        raise UsageError(
            f"backend {spec!r}: open={value.open!r}; expected a callable open(root) or open(root, env=...)"
        )
    _check_claims(spec, value.capabilities)
    return value


def _check_claims(spec: str, capabilities: Any) -> None:
    """Refuse a word that no capability knows; the type checker of the author may not have been run."""
    if not isinstance(capabilities, Capabilities):
        raise UsageError(f"backend {spec!r}: capabilities={capabilities!r}; expected conformance.Capabilities(...)")
    for field, hint in _hints_of_capabilities().items():
        words = get_args(hint)
        value = getattr(capabilities, field)
        if get_origin(hint) is Literal and value not in words:
            raise UsageError(f"backend {spec!r}: {field}={value!r}; expected one of {_listed(map(repr, words))}")


@cache
def _hints_of_capabilities() -> dict[str, Any]:
    return get_type_hints(Capabilities)


def _held_backend(spec: str) -> Backend:
    backend = _held.get(spec)
    if backend is None:
        raise UsageError(f"backend {spec!r} was given as an object and lives in that process only; {_forms()}")
    return backend
