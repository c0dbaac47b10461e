"""The drivers record with the patched functions, which are put in place once for all tests of a module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from conformance.sim.disk import Patching


@pytest.fixture(scope="module", autouse=True)
def patched(request: pytest.FixtureRequest) -> Iterator[None]:
    """To put them in place takes the longer, the more the process holds. A module may say that it does so itself."""
    with contextlib.nullcontext() if getattr(request.module, "PATCHES_ITSELF", False) else Patching():
        yield
