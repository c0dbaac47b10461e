"""Putting the patched functions in the real ones' place, everywhere, and back.

Promises: while a `Patching` is entered, every module (and class, instance, closure cell and default argument) that
held a real function holds its patched twin; after it is left, each holds the real one again, whatever was imported
or raised in between. Entering it again inside costs nothing. What holds a real function in a way that nobody can
change, such as a partial or a tuple, is named in `unseen_holders`.

Does not: record. Without a `Recorder` the patched functions pass everything on.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any, ClassVar
from weakref import ref

from conformance.sim.disk import real
from conformance.sim.disk.routes_descriptors import DESCRIPTOR_ROUTES
from conformance.sim.disk.routes_files import FILE_ROUTES, RecordedFileIO, RecordedMmap
from conformance.sim.disk.routes_names import METADATA, NAME_ROUTES, metadata_route

_OWN = __name__.rpartition(".")[0]


def _twins() -> tuple[list[Any], list[Any]]:
    """The real functions that this platform has, and their patched twins, in the same order."""
    pairs: list[tuple[Any, Any]] = [
        (real.io_open, FILE_ROUTES.open),
        (real.open_code, FILE_ROUTES.open_code),
        (real.FileIO, RecordedFileIO),
        (real.mmap, RecordedMmap),
        (real.fcntl, DESCRIPTOR_ROUTES.fcntl),
    ]
    pairs += [(getattr(real, name), getattr(DESCRIPTOR_ROUTES, name)) for name in DESCRIPTOR_ROUTES.NAMES]
    pairs += [(getattr(real, name), getattr(NAME_ROUTES, name)) for name in NAME_ROUTES.NAMES]
    pairs += [(getattr(real, name), metadata_route(name)) for name in METADATA]
    present = [pair for pair in pairs if pair[0] is not None]
    return [pair[0] for pair in present], [pair[1] for pair in present]


_REAL, _PATCHED = _twins()
_OWN_CELLS = frozenset(
    id(cell) for method in vars(RecordedFileIO).values() for cell in getattr(method, "__closure__", None) or ()
)
"""Where the methods of the twin class keep the class itself, for `super()`."""
_HAVES = tuple(
    getattr(os, name)
    for name in ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")
)
"""The sets in which `os` says what its functions can do. They are asked at run time, so the twins stand in them too."""
_READS_ONLY = frozenset({"_zoneinfo"})
"""Modules in C that keep `io.open` where nobody can change it, and only ever read the system's own files with it."""
_COUNTS_REFERENCES: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether Python tells how many references an object has; without the global lock it does not count all of them."""
_Changed = dict[Any, Any] | type | CellType | FunctionType | staticmethod | ref[Any]  # type: ignore[type-arg]
"""What can be changed, and changed back without being looked for; an instance may be gone by then."""


class Patching:
    """A context in which the patched functions stand in the real ones' place.

    Entering it takes tens of milliseconds, because every object of the process is looked at. Whoever records often
    enters it once, around everything. Leaving it takes as long only where somebody captured a patched function
    meanwhile, which the number of references to it tells.
    """

    _entered = 0
    _unseen: tuple[str, ...] = ()
    _changed: ClassVar[list[_Changed]] = []
    _alone: tuple[int, ...] = ()

    def __enter__(self) -> Patching:
        if not Patching._entered:
            with _nothing_frozen():
                try:
                    _install()
                except BaseException:
                    _uninstall()
                    raise
        Patching._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        Patching._entered -= 1
        if not Patching._entered:
            with _nothing_frozen():
                _uninstall()

    @property
    def unseen_holders(self) -> tuple[str, ...]:
        """What still holds a real function while this is entered: input and output through it is not seen."""
        return Patching._unseen


@contextlib.contextmanager
def _nothing_frozen() -> Iterator[None]:
    """The collector tells nothing of frozen objects, and one of them may hold a real function."""
    is_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    try:
        yield
    finally:
        if is_frozen:
            gc.freeze()


def _install() -> None:
    Patching._alone = Patching._alone or _references()
    Patching._unseen = (*_swap(_REAL, _PATCHED, Patching._changed), *_subclasses())
    for have in _HAVES:
        have.update([new for old, new in zip(_REAL, _PATCHED, strict=True) if old in have])


def _uninstall() -> None:
    for have in _HAVES:
        have.difference_update(_PATCHED)
    changed, Patching._changed = Patching._changed, []
    twins = {id(one): other for one, other in zip(_PATCHED, _REAL, strict=True)}
    for holder in changed:
        _replace_in(holder, twins)
    # Whoever captured a twin meanwhile is looked for only where somebody did, for that takes long in a large process.
    is_clean = _COUNTS_REFERENCES and _references() == Patching._alone
    if not is_clean and not _swap(_PATCHED, _REAL, []):
        Patching._alone = _references()
    Patching._unseen = ()


def _references() -> tuple[int, ...]:
    """How many references to each twin there are."""
    return tuple(sys.getrefcount(one) for one in _PATCHED)


def _subclasses() -> list[str]:
    return [
        f"class {kind.__module__}.{kind.__qualname__}: a subclass of {base.__module__}.{base.__qualname__}"
        for base in (real.FileIO, real.mmap)
        for kind in base.__subclasses__()
        if kind is not RecordedFileIO and kind is not RecordedMmap
    ]


def _swap(old: list[Any], new: list[Any], changed: list[_Changed]) -> list[str]:
    """Put the new objects wherever the old ones are held, and tell what could not be changed.

    Args:
        changed: takes the namespaces of modules and the classes, functions and cells that were changed.
    """
    twins = {id(one): other for one, other in zip(old, new, strict=True)}
    modules = {id(vars(module)): module for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    own = {id(names) for names in (_REAL, _PATCHED, *_HAVES)} | _OWN_CELLS
    own.update(key for key, module in modules.items() if module.__name__.startswith(_OWN))
    for key, module in modules.items():
        # Not left to the collector, which does not tell of what somebody has frozen.
        if key not in own and _replace_values(vars(module), twins):
            changed.append(vars(module))
    # A tuple of our own, because some versions of Python tell of the one that they are handed, and of no other.
    asked = tuple(old)
    rest = [
        holder
        for holder in gc.get_referrers(*asked)
        if holder is not asked and id(holder) not in own and id(holder) not in modules and _matters(holder, twins)
    ]
    owners = _owners(rest)
    return [
        _describe(holder, owners[id(holder)], modules, twins)
        for holder in rest
        if not _replace(holder, owners[id(holder)], twins, changed)
    ]


def _matters(holder: Any, twins: dict[int, Any]) -> bool:
    if isinstance(holder, FrameType):
        # The caller's own frame, or one of whoever entered the patching; it holds them for no other use.
        return False
    if all(isinstance(held, type) for held in gc.get_referents(holder) if id(held) in twins):
        # A class is held by its own methods, its instances and its subclasses too.
        return isinstance(holder, dict | CellType | partial)
    # What a module holds besides its namespace.
    return not isinstance(holder, ModuleType) or holder.__name__ not in _READS_ONLY


def _owners(holders: Sequence[Any]) -> dict[int, list[Any]]:
    """Who holds each of the holders."""
    owners: dict[int, list[Any]] = {id(holder): [] for holder in holders}
    for owner in gc.get_referrers(*holders) if holders else ():
        if owner is not holders and not isinstance(owner, FrameType):
            for held in gc.get_referents(owner):
                if id(held) in owners:
                    owners[id(held)].append(owner)
    return owners


def _replace(holder: Any, owners: Iterable[Any], twins: dict[int, Any], changed: list[_Changed]) -> bool:
    """Change what one holder holds; False where that cannot be done."""
    if isinstance(holder, CellType | staticmethod):
        return _replace_in(holder, twins, changed)
    if isinstance(holder, dict | tuple):
        known = [owner for owner in owners if isinstance(owner, type) or _has_defaults(owner, holder)]
        if known:
            return all(_replace_in(owner, twins, changed) for owner in known)
        instances: list[_Changed] = [ref(owner) for owner in owners if _has_attributes(owner, holder)]
        changed += instances or ([holder] if isinstance(holder, dict) else [])
        return isinstance(holder, dict) and _replace_values(holder, twins)
    if _has_attributes(holder, getattr(holder, "__dict__", None)):
        _replace_in(ref(holder), twins, changed)
    # A wrapper may hold the function a second time, out of reach.
    return not any(id(held) in twins for held in gc.get_referents(holder))


def _has_defaults(owner: Any, holder: Any) -> bool:
    return isinstance(owner, FunctionType) and (owner.__defaults__ is holder or owner.__kwdefaults__ is holder)


def _has_attributes(owner: Any, namespace: Any) -> bool:
    """Whether it is an instance with these attributes, which may be let go before the way back."""
    is_instance = isinstance(namespace, dict) and not isinstance(owner, type | ModuleType)
    return is_instance and getattr(owner, "__dict__", None) is namespace and type(owner).__weakrefoffset__ != 0


def _replace_in(holder: _Changed, twins: dict[int, Any], changed: list[_Changed] | None = None) -> bool:
    """Change a namespace, class, cell or the defaults of a function, and note it; False where that cannot be done."""
    match holder:
        case ref():
            done = _replace_values(getattr(holder(), "__dict__", {}), twins)
        case dict():
            done = _replace_values(holder, twins)
        case type():
            done = _replace_attributes(holder, twins)
        case CellType():
            held = holder.cell_contents
            holder.cell_contents = twins.get(id(held), held)
            done = True
        case staticmethod():
            # It is not made anew, because the class and whoever took it from there hold this one.
            holder.__init__(twins.get(id(holder.__func__), holder.__func__))  # type: ignore[misc]
            done = True
        case _:
            held = holder.__defaults__ or ()
            if any(id(value) in twins for value in held):
                holder.__defaults__ = tuple(twins.get(id(value), value) for value in held)
            _replace_values(holder.__kwdefaults__ or {}, twins)
            done = True
    if changed is not None:
        changed.append(holder)
    return done


def _replace_values(holder: dict[Any, Any], twins: dict[int, Any]) -> bool:
    found = [(key, twins[id(value)]) for key, value in list(holder.items()) if id(value) in twins]
    for key, twin in found:
        holder[key] = twin
    return bool(found)


def _replace_attributes(kind: type, twins: dict[int, Any]) -> bool:
    for name, value in list(vars(kind).items()):
        if id(value) in twins:
            try:
                type.__setattr__(kind, name, twins[id(value)])
            except TypeError:
                # A class made in C, which lets nobody change it.
                return False
    return True


def _describe(holder: Any, owners: Iterable[Any], modules: dict[int, ModuleType], twins: dict[int, Any]) -> str:
    held = sorted({_name(one) for one in gc.get_referents(holder) if id(one) in twins})
    kind = f"{type(holder).__module__}.{type(holder).__qualname__}".removeprefix("builtins.")
    names = sorted(
        f"{modules[id(owner)].__name__}.{name}"
        for owner in owners
        if id(owner) in modules
        for name, value in owner.items()
        if value is holder
    )
    return f"{', '.join(names) or 'somewhere'}: a {kind} that holds {', '.join(held)}"


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None) or ""
    return f"{'os' if module == 'posix' else module}.{getattr(function, '__name__', function)}".lstrip(".")
