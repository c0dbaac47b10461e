"""Runs pytest itself, in a process of its own and a project of its own, the way a user does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STAND_IN = ("-p", "stand_in", "-p", "conformance.pytest_plugin", "-p", "xdist.plugin")
ENDS = ("conforms", "violates", "mild", "lazy", "confused", "moody", "broken", "leaves", "interrupted")
IDS = [
    "conformance::seq::gap_is_refused_whole",
    "conformance::seq::numbers_go_on",
    "conformance::rev::revisions_differ",
    "conformance::own::lease_runs_out",
    "conformance::sweep::crash[ext4]",
]


@dataclass(frozen=True)
class Ran:
    """What one pytest process left.

    Attributes:
        code: its exit status. out: standard output and error, as written.
    """

    code: int
    out: str

    def outcomes(self) -> dict[str, str]:
        """Node id -> PASSED, FAILED, ...; from ``-v`` lines, with and without pytest-xdist."""
        plain = re.findall(r"^(\S+::\S+) (PASSED|FAILED|SKIPPED|ERROR)", self.out, flags=re.MULTILINE)
        shared = re.findall(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|SKIPPED|ERROR) (\S+)", self.out, flags=re.MULTILINE)
        return dict(plain) | {item: outcome for outcome, item in shared}


class Forker:
    """Runs pytest in forks of one process that has loaded everything (``forking.py``), started when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, args: list[str], cwd: Path, environment: dict[str, str], out: Path) -> Ran:
        """One run."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "forking.py")],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        request = {"args": args, "cwd": str(cwd), "environment": environment, "out": str(out)}
        print(json.dumps(request), file=asked, flush=True)
        return Ran(int(answered.readline()), out.read_text("utf-8"))

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.communicate()


class Project:
    """A user's project in a directory of its own."""

    def __init__(self, root: Path, forker: Forker) -> None:
        self.root = root
        self._forker = forker
        lines = [f"{name} = Backend(name='{name}', open=lambda root: None)" for name in ENDS]
        self.write("mine.py", "\n".join(["from conformance import Backend", *lines]))

    def write(self, name: str, source: str) -> Path:
        """A file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    def pytest(self, *args: str, cwd: str = ".", stand_in: bool = True, fresh: bool = False, **environment: str) -> Ran:
        """Run pytest there; with ``stand_in`` on the runner of ``stand_in.py``, and without the installed plugins.

        Args:
            fresh: in a process that has loaded nothing before, for what ``forking.py`` says cannot be seen in a fork.
        """
        args = (*STAND_IN, *args) if stand_in else args
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON", "COV_"))}
        given = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment if stand_in else environment
        whole = {**kept, "PYTHONPATH": str(HERE), "COLUMNS": "100", **given}
        if not fresh and "PYTHONPATH" not in environment and hasattr(os, "fork"):
            with tempfile.TemporaryDirectory() as elsewhere:
                return self._forker.run([*args], self.root / cwd, whole, Path(elsewhere, "out"))
        done = subprocess.run(
            [str(Path(sys.executable).with_name("pytest")), *args],
            cwd=self.root / cwd,
            env=whole,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout)


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """The process that runs of pytest are forked from."""
    forker = Forker()
    yield forker
    forker.close()


@pytest.fixture
def project(tmp_path: Path, forker: Forker) -> Project:
    """An empty project with a backend for each kind of end."""
    return Project(tmp_path, forker)
