"""Where a root lies and what is seen around it: everything outside is noticed, and nothing inside is called outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.drivers.premises import Premises


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    """A prepared place with a root in which one file lies."""
    made = Premises(tmp_path / "watched")
    made.prepare()
    made.root.mkdir(mode=0o700)
    (made.root / "d").mkdir(mode=0o750)
    (made.root / "d" / "s.log").touch(mode=0o640)
    return made


def test_ordinary_work_is_inside(premises: Premises) -> None:
    """What the backend makes under its root is told with its modes, and nothing is outside."""
    view = premises.look(lambda root, session: root / "d" / f"{session}.log", ["s", "absent"])
    assert view.outside == ()
    assert dict(view.modes) == {"./": 0o700, "d/": 0o750, "d/s.log": 0o640}
    assert view.artifacts == ("d/s.log",)


def test_artifact_may_be_a_directory(premises: Premises) -> None:
    """Where ``location`` names a directory its files are the artifacts; without ``location`` there are none."""
    assert premises.look(lambda root, _: root / "d", ["s"]).artifacts == ("d/s.log",)
    assert premises.look(None, ["s"]).artifacts == ()


@pytest.mark.parametrize("path", ["../s", "../../s", "../../../s", "../s/deep/er"])
def test_what_lies_outside_is_told(premises: Premises, path: str) -> None:
    """A file or directory beside or above the root is told by its path from the root."""
    place = premises.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()
    assert path in premises.look(None, []).outside


@pytest.mark.parametrize("path", ["../../s", "../../../s"])
def test_what_came_and_went_is_told(premises: Premises, path: str) -> None:
    """Above the directory of the root a change is noticed though what was made there is gone."""
    (premises.root / path).touch()
    (premises.root / path).unlink()
    assert [told.partition(" ")[2] for told in premises.look(None, []).outside] == [
        "(something in it was made, moved or removed)"
    ]


def test_root_that_was_never_made(tmp_path: Path) -> None:
    """A look before the backend stored anything finds nothing."""
    made = Premises(tmp_path / "watched")
    made.prepare()
    view = made.look(None, [])
    assert (view.outside, view.modes) == ((), ())
