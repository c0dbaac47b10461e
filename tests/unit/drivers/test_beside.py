"""Files that are no session's artifact: which are there, and what they held."""

from __future__ import annotations

from pathlib import Path

from conformance.drivers.beside import Beside


def contents(beside: Beside) -> list[bytes | None]:
    """What the files hold that are there, in the order of their names."""
    return [each.content for each in beside.files()]


def test_files_at_any_depth_are_known_by_name_and_artifacts_are_not(tmp_path: Path) -> None:
    """Before there is a root there is nothing; then every file counts that is not a session's own."""
    root = tmp_path / "root"
    beside = Beside()
    beside.note(root, 0, ())
    assert beside.files() == []
    (root / "b").mkdir(parents=True)
    for name in ("b/index", "a.log", "c.lock"):
        (root / name).write_text(name)
    beside.note(root, 1, {root / "a.log"})
    assert contents(beside) == [b"b/index", b"c.lock"]


def test_a_file_that_is_gone_is_not_there(tmp_path: Path) -> None:
    """What it held is remembered, for an older copy can be put back."""
    beside = Beside()
    (tmp_path / "count").write_text("1")
    beside.note(tmp_path, 1, ())
    (tmp_path / "count").unlink()
    beside.note(tmp_path, 2, ())
    assert contents(beside) == []
    (tmp_path / "count").write_text("2")
    beside.note(tmp_path, 3, ())
    (found,) = beside.files()
    assert found.versions == [(1, b"1"), (3, b"2")]


def test_links_that_lead_round_in_a_circle_are_no_files(tmp_path: Path) -> None:
    """A link to a file is one, and what leads nowhere is looked at without an error."""
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "nowhere").symlink_to("nothing")
    (tmp_path / "target").write_text("text")
    (tmp_path / "link").symlink_to("target")
    beside = Beside()
    beside.note(tmp_path, 1, ())
    assert contents(beside) == [b"text", b"text"]
