"""Images are looked at one at a time, each at a place of its own, and nothing of them stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend
from conformance.drivers.images import Stage
from conformance.drivers.probe import Prober
from conformance.drivers.registry import load_backend
from conformance.sim.disk import Tree

IMAGE = Tree({"d/f": b"content"}, frozenset({".", "d"}))


def watching(seen: list[tuple[Path, bool]]) -> Backend:
    """The reference, each root noted with whether the image stands there and nothing is beside it."""
    jsonl = load_backend("jsonl")

    def opened(root: Path, env: Any = None) -> Any:
        whole = [path.name for path in root.parent.iterdir()] == ["root"] and (root / "d" / "f").read_bytes()
        seen.append((root, whole == b"content"))
        (root.parent / "outside").touch()
        return jsonl.open(root)

    return replace(jsonl, open=opened)


def test_each_image_has_a_place_of_its_own(tmp_path: Path) -> None:
    """No path comes twice, no image meets what was left of another, and the stage is empty afterwards."""
    seen: list[tuple[Path, bool]] = []
    stage = Stage(Prober(watching(seen), thorough=False), tmp_path / "above" / "images")
    for _ in range(3):
        assert stage.look(IMAGE, {}, ["s"]).failed is None
    first_looks = seen[::2]
    assert len({root for root, _ in seen}) == 3
    assert all(whole for _, whole in first_looks)
    assert list((tmp_path / "above" / "images").iterdir()) == []


def test_image_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """An error on the way is the caller's to know, and the place is free again."""
    stage = Stage(Prober(load_backend("jsonl")), tmp_path)
    with pytest.raises(ValueError, match="no plain files"):
        stage.look(Tree({}, frozenset({"."}), {}, frozenset({"pipe"})), {}, [])
    assert list(tmp_path.iterdir()) == []
