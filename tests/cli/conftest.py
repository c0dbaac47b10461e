"""Shared by the tests of the command line: a place of their own to run in, and the command as a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cli.app import torntail

Command = Callable[..., Result]


@pytest.fixture(scope="module", autouse=True)
def once_patched(patched: None) -> None:
    """Each command that runs a backend would look through this whole process for itself."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def torntail_command(*arguments: str) -> Result:
    """The ``torntail`` command within this process."""
    return CliRunner().invoke(torntail, arguments, prog_name="torntail", catch_exceptions=False)


@pytest.fixture
def command(here: Path) -> Command:
    """The command, started in an empty directory."""
    return torntail_command
