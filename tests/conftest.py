"""What every folder of tests may use."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from conformance.sim.disk import Patching
from conformance.sim.disk.remains import release_numbers

_HELD: list[Patching] = []
"""The patching that modules in a row share: each change of the functions looks through the whole process."""


@pytest.fixture(scope="module")
def patched() -> None:
    """The functions of ``os`` are patched for the whole module; a test that records would do it for itself, slowly."""
    if not _HELD:
        _HELD.append(Patching().__enter__())


def pytest_collection_finish() -> None:
    """Take modules and items out of what the collector goes through: executions collect hundreds of times."""
    _rest()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Give the real functions back where the next module does not want the patched ones."""
    try:
        return (yield)
    finally:
        goes_on = nextitem is not None and (nextitem.path == item.path or "patched" in _fixtures_of(nextitem))
        if _HELD and not goes_on:
            _HELD.pop().__exit__()
            release_numbers()
        if nextitem is not None and nextitem.path != item.path:
            _rest()


def _fixtures_of(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def _rest() -> None:
    # Garbage that is frozen would stay for good.
    gc.collect()
    gc.freeze()
