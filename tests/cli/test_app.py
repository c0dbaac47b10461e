"""The command itself: help, near misses, and which error leaves with which exit code."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from conformance import __version__
from conformance.cli import explain
from conformance.drivers.errors import KitError, SetupError, UsageError
from tests.cli.conftest import Command


def failing(monkeypatch: pytest.MonkeyPatch, command: Command, error: BaseException) -> Result:
    """The result of a command whose work raises this error."""

    def raising(patterns: tuple[str, ...]) -> None:
        raise error

    monkeypatch.setattr(explain, "select", raising)
    return command("clauses", "SEQ")


def test_help_lists_every_command(command: Command) -> None:
    """The help names each command and the exit codes."""
    found = command("--help")
    assert found.exit_code == 0
    for word in ("run", "doctor", "clauses", "replay", "init", "130 interrupted"):
        assert word in found.output


def test_version_is_that_of_the_package(command: Command) -> None:
    """``--version`` says which kit this is."""
    assert __version__ in command("--version").output


def test_a_misspelt_command_is_met_with_its_neighbour(command: Command) -> None:
    """An unknown command is a usage error that names the nearest one."""
    found = command("dcotor")
    assert found.exit_code == 2
    assert "Did you mean 'doctor'?" in found.output


def test_a_broken_project_file_is_told(command: Command, here: Path) -> None:
    """Settings that cannot be read stop the command before it does anything."""
    (here / "pyproject.toml").write_text("[tool.torntail]\nprofil = 'ci'\n", "utf-8")
    found = command("clauses", "SEQ")
    assert found.exit_code == 2
    assert "did you mean 'profile'?" in found.output


def test_a_working_directory_that_is_gone_is_told(command: Command, here: Path) -> None:
    """Nothing could be kept there."""
    here.rmdir()
    found = command("clauses", "SEQ")
    assert (found.exit_code, found.output.count("\n")) == (2, 1)
    assert "the working directory was removed" in found.output


@pytest.mark.parametrize("error", [UsageError("the way out"), SetupError("the way out")], ids=["usage", "set-up"])
def test_usage_and_set_up_errors_exit_with_2(
    monkeypatch: pytest.MonkeyPatch, command: Command, error: Exception
) -> None:
    """What the user can mend is told in one line, without a traceback."""
    found = failing(monkeypatch, command, error)
    assert (found.exit_code, found.output) == (2, "torntail: the way out\n")


@pytest.mark.parametrize("error", [KitError("at odds"), ZeroDivisionError("at odds")], ids=["told", "untold"])
def test_errors_of_the_kit_exit_with_4(monkeypatch: pytest.MonkeyPatch, command: Command, error: Exception) -> None:
    """A fault of ours never reads as a violation, whatever its type."""
    found = failing(monkeypatch, command, error)
    assert found.exit_code == 4
    assert "an error of the kit, not of the backend" in found.output
    assert "at odds" in found.output


def test_an_interruption_exits_with_130(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    """Ctrl-C is told apart from every verdict."""
    found = failing(monkeypatch, command, KeyboardInterrupt())
    assert found.exit_code == 130
    assert "interrupted" in found.output


def test_a_closed_pipe_is_no_error_of_the_kit(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    """``torntail clauses | head`` does not print a traceback of ours."""
    found = failing(monkeypatch, command, BrokenPipeError(errno.EPIPE, "gone"))
    assert "error of the kit" not in found.output


def test_the_catalogue_does_not_load_hypothesis(tmp_path: Path) -> None:
    """A table of clauses costs no engine."""
    code = "import sys; from conformance.cli import main; sys.argv = ['torntail', 'clauses', 'SEQ']\n"
    code += "try: main()\nexcept SystemExit: sys.exit('hypothesis' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr.decode()
