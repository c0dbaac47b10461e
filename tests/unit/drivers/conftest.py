"""The drivers record with the patched functions, which are put in place once for all tests of a module."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _patched_once(request: pytest.FixtureRequest) -> None:
    """A module may say that it has them put in place itself."""
    if not getattr(request.module, "PATCHES_ITSELF", False):
        request.getfixturevalue("patched")
