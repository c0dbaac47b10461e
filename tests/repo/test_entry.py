"""The two commands and the CI script: what they run, and what they say where they cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "run"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def make(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make on a copy of the Makefile, without what a surrounding make hands down."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, directory / name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def stub(directory: Path, body: str) -> str:
    """A stand-in for a Python that is not up to it."""
    path = directory / "stub"
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_missing_python_is_told(tmp_path: Path) -> None:
    """Without an interpreter of that name make says which variable names another."""
    found = make(tmp_path, "conform", "PYTHON=no-such-python")
    assert found.returncode == 2
    assert "make PYTHON=python3.12" in found.stderr


def test_an_old_python_is_told(tmp_path: Path) -> None:
    """An interpreter that is too old is named with its version and the one that is needed."""
    old = stub(tmp_path, 'case "$1" in -V) echo Python 3.9.2;; *) exit 1;; esac')
    found = make(tmp_path, "test", f"PYTHON={old}")
    assert found.returncode == 2
    assert "Python 3.9.2; Torntail needs Python 3.11 or newer" in found.stderr


def test_a_python_without_venv_is_told(tmp_path: Path) -> None:
    """Debian's bare interpreter is met with the package that is missing."""
    bare = stub(tmp_path, 'case "$2" in *ensurepip*) exit 1;; *) exit 0;; esac')
    found = make(tmp_path, "test", f"PYTHON={bare}")
    assert found.returncode == 2
    assert "apt-get install python3-venv" in found.stderr
    assert not (tmp_path / ".venv").exists()


def test_conform_takes_any_backend(tmp_path: Path) -> None:
    """``make conform`` runs the reference, and with BACKEND any other."""
    assert '.venv/bin/pytest --backend="jsonl"' in make(tmp_path, "-n", "conform").stdout
    assert '.venv/bin/pytest --backend="mine.py:b"' in make(tmp_path, "-n", "conform", "BACKEND=mine.py:b").stdout


def test_test_checks_more_than_tests(tmp_path: Path) -> None:
    """``make test`` runs the linters, the types and the import contracts beside the tests."""
    found = make(tmp_path, "-n", "test").stdout
    commands = ["ruff check", "ruff format --check", "mypy", "lint-imports", "pytest"]
    places = [found.index(f".venv/bin/{command}") for command in commands]
    assert places == sorted(places)


def test_the_ci_script_runs_both_and_hides_nothing() -> None:
    """``.ci/run`` stops at the first failure, and runs make test before make conform."""
    text = SCRIPT.read_text("utf-8")
    assert os.access(SCRIPT, os.X_OK)
    assert "set -euo pipefail" in text
    assert 0 < text.index("make test") < text.index("make conform")
