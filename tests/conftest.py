"""What every folder of tests may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.sim.disk import Patching
from conformance.sim.disk.remains import release_numbers


@pytest.fixture(scope="module")
def patched() -> Iterator[None]:
    """The functions of ``os`` are patched for the whole module; a test that records would do it for itself, slowly."""
    with Patching():
        yield
    release_numbers()
