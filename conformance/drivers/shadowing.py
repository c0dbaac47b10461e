"""Notices when another package answers to one of the kit's three names.

``conformance``, ``strategies`` and ``reference_backend`` are common words: a user's ``tests/strategies.py`` on
``sys.path`` would be imported in place of ours, and what follows would be an unreadable ``ImportError``. Nothing is
imported or changed here.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from conformance.drivers.errors import UsageError

OUR_PACKAGES = ("conformance", "strategies", "reference_backend")

_HOME = Path(__file__).resolve().parents[2]
"""The directory that holds the three packages: site-packages, or a checkout."""


def check_not_shadowed() -> None:
    """Look at what each of the kit's package names would import now.

    Raises:
        UsageError: one of them is not the kit's; names both files and the way out.
    """
    for name in OUR_PACKAGES:
        found = _imported_from(name)
        ours = _HOME / name
        if found is not None and not _same_place(found, ours):
            raise UsageError(shadowed_message(name, found))


def shadowed_message(name: str, found: Path) -> str:
    """The plain words for ``name`` being taken by the module at ``found``."""
    return (
        f"the name {name!r} is taken: {found} shadows the kit's own package {_HOME / name}. "
        f"Rename it, or keep its directory off sys.path (under pytest: --import-mode=importlib)."
    )


def other_on_path(name: str) -> Path | None:
    """A package called ``name`` on ``sys.path`` that is not the kit's, even where ours was imported first."""
    found = _on_path(name)
    return None if found is None or _same_place(found, _HOME / name) else found


def _imported_from(name: str) -> Path | None:
    """Where ``import name`` leads: a module that is loaded already wins over the path."""
    module = sys.modules.get(name)
    return _on_path(name) if module is None else _place(module.__spec__) or _file_of(module)


def _on_path(name: str) -> Path | None:
    # An editable install may be served by a finder of its own and be on no path: then None, and nothing shadows it.
    return _place(PathFinder.find_spec(name))


def _place(spec: ModuleSpec | None) -> Path | None:
    if spec is None:
        return None
    if spec.origin is not None and spec.has_location:
        return Path(spec.origin)
    locations = list(spec.submodule_search_locations or ())
    return Path(locations[0]) if locations else None


def _file_of(module: object) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) else None


def _same_place(found: Path, package: Path) -> bool:
    """Whether ``found`` is that package's directory or its ``__init__``."""
    place = found.resolve()
    return place == package or place.parent == package
