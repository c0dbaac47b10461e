"""Turns ``module:attribute`` and ``path/to/file.py:attribute`` into objects, and says plainly why where it cannot.

A file is executed once in a process, under a module name made of its place, and ``sys.path`` is left as it was. What
the attribute is good for is decided by the registry.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.drivers.errors import UsageError
from conformance.drivers.shadowing import OUR_PACKAGES, other_on_path, shadowed_message


def load_module(name: str) -> ModuleType:
    """Import the module ``name``.

    Raises:
        UsageError: it is not there, or raises while it is imported; the cause is shown.
    """
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as cause:
        raise UsageError(f"cannot import module {name!r}: {_told(cause)}{_shadow_hint(cause)}") from cause


def load_file(path: Path) -> ModuleType:
    """Execute the Python file at ``path`` as a module, or give the module that an earlier call made of it.

    Raises:
        UsageError: no such file, or it raises while it is executed; the cause is shown.
    """
    place = path.resolve()
    if not place.is_file():
        kind = "is a directory" if place.is_dir() else "does not exist"
        raise UsageError(f"backend file {str(path)!r} {kind} (looked for {place})")
    name = module_name_of(place)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise UsageError(f"backend file {str(path)!r} is no Python file; write path/to/file.py:attribute")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up while it is still being executed.
    sys.modules[name] = module
    # A backend kept in one file of several imports its neighbours; last on the path, they shadow nothing.
    neighbours = str(place.parent)
    sys.path.append(neighbours)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as cause:
        del sys.modules[name]
        raise UsageError(f"cannot load backend file {str(path)!r}: {_told(cause)}{_shadow_hint(cause)}") from cause
    finally:
        sys.path.remove(neighbours)
    return module


def module_name_of(place: Path) -> str:
    """The module name of a file that is loaded by its place: readable, unique and the same in every process."""
    digest = hashlib.sha256(str(place).encode()).hexdigest()[:12]
    stem = "".join(letter if letter.isalnum() else "_" for letter in place.stem)
    return f"_torntail_file_{stem}_{digest}"


def find_attribute(module: ModuleType, attribute: str, missing: Callable[[ModuleType], str]) -> Any:
    """``module.attribute``, where the attribute may be dotted; ``missing`` writes the message where it is not there.

    Raises:
        UsageError: there is no such attribute.
    """
    value: Any = module
    for part in attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError as cause:
            raise UsageError(missing(module)) from cause
    return value


def _told(cause: BaseException) -> str:
    return f"{type(cause).__name__}: {cause}"


def _shadow_hint(cause: BaseException) -> str:
    """One more sentence where the module that is missing belongs to a package of the user that has one of our names."""
    if not isinstance(cause, ModuleNotFoundError) or cause.name is None:
        return ""
    package = cause.name.partition(".")[0]
    other = other_on_path(package) if package in OUR_PACKAGES else None
    return "" if other is None else f"; {shadowed_message(package, other)}"
