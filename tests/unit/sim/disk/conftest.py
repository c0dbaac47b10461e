"""A root to record under, inside one patching for each module, so that entering a recorder is cheap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.sim.disk import Patching, Recorder


@pytest.fixture(scope="module")
def patching(patched: None) -> Iterator[Patching]:
    """The patched functions, in place for a whole module of tests."""
    with Patching() as entered:
        yield entered


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A present, empty root."""
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def recorder(patching: Patching, root: Path) -> Iterator[Recorder]:
    """A recorder of the root, entered; its image is checked at the end."""
    with Recorder(root) as entered:
        yield entered
        assert entered.check_image() == ""
        assert entered.blind == ""
