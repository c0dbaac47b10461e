"""``torntail init``: what it writes, what it leaves alone, and that the skeleton is worth starting from."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conformance.clauses import Verdict
from conformance.drivers.registry import load_backend
from conformance.report.lines import read_lines
from conformance.report.summary import summarise
from tests.cli.conftest import Command


def test_a_newcomer_gets_a_backend_a_registration_and_ci(command: Command, here: Path) -> None:
    """The three files are there, and the backend is found by the name of its file."""
    found = command("init", "new", "--name", "my-log")
    assert found.exit_code == 0
    assert (here / "new" / ".github" / "workflows" / "conformance.yml").is_file()
    project = tomllib.loads((here / "new" / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["torntail.backends"] == {"my-log": "my_log:backend"}
    assert project["tool"]["torntail"] == {"backend": "my_log.py:backend"}
    assert load_backend("new/my_log.py:backend").name == "my-log"
    assert "cd new && torntail run my_log.py:backend --profile smoke" in found.output


def test_the_skeleton_starts_keeps_some_clauses_and_breaks_others(command: Command, here: Path) -> None:
    """The first run is a run: red lines to mend beside green ones, and no error of ours."""
    command("init")
    chosen = ("--clause", "SEQ-02,OWN-01,READ-01", "--max-examples", "5", "--seed", "1")
    found = command("run", "--profile", "smoke", *chosen, "--report", "out")
    assert found.exit_code == 1, found.output
    summary = summarise(read_lines(here / "out" / "results.jsonl"))
    verdicts = {clause: each.verdict for clause, each in summary.verdicts.items()}
    assert verdicts["SEQ-02"] is Verdict.FAIL
    assert verdicts["OWN-01"] is Verdict.FAIL
    assert verdicts["READ-01"] is Verdict.PASS
    assert not summary.kit_errors


def test_nothing_is_overwritten(command: Command, here: Path) -> None:
    """Where one of the files exists none is written, and the command says which."""
    (here / "mine.py").write_text("precious = True\n", "utf-8")
    found = command("init")
    assert found.exit_code == 2
    assert "mine.py" in found.output
    assert sorted(path.name for path in here.iterdir()) == ["mine.py"]
    assert (here / "mine.py").read_text("utf-8") == "precious = True\n"


def test_a_project_file_is_left_alone_and_the_lines_are_printed(command: Command, here: Path) -> None:
    """A project that exists is not edited: its author gets the lines to add."""
    (here / "pyproject.toml").write_text('[project]\nname = "theirs"\n', "utf-8")
    found = command("init", "--name", "store")
    assert found.exit_code == 0
    assert (here / "pyproject.toml").read_text("utf-8") == '[project]\nname = "theirs"\n'
    assert tomllib.loads(found.output.partition("add to it:")[2].partition("Next:")[0]) == {
        "project": {"entry-points": {"torntail.backends": {"store": "store:backend"}}},
        "tool": {"torntail": {"backend": "store.py:backend"}},
    }


@pytest.mark.parametrize("name", ["", "1st", "a b", "../up", "class", "strategies", "über/x"])
def test_names_that_cannot_be_modules_are_refused(command: Command, here: Path, name: str) -> None:
    """The name becomes a module and a path: what cannot be both is refused before anything is written."""
    found = command("init", "--name", name)
    assert found.exit_code == 2
    assert list(here.iterdir()) == []
