"""Standard streams that are closed, or cannot be written: no result that nobody was told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli.app import torntail
from conformance.drivers.errors import UsageError
from tests.cli.conftest import Command

TORNTAIL = "from conformance.cli import main; main()"
# A shell has what it runs in the background ignore interrupts.
HEARING = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {TORNTAIL}"
RUN = ("run", "memory", "--profile", "smoke", "--max-examples", "1", "--clause", "SEQ-04", "--seed", "1")


def with_streams(redirection: str, *arguments: str, here: Path, program: str = TORNTAIL) -> tuple[int, str, str]:
    """Exit code, output and errors of the command behind such a redirection of a shell."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirection}', sys.executable, "-c", program, *arguments],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirection", "told"),
    [
        (">&-", "the standard output is closed, so that no result could be told"),
        pytest.param(
            ">/dev/full",
            "the standard output cannot be written: No space left on device",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here"),
        ),
    ],
)
def test_a_verdict_that_cannot_be_told_is_none(here: Path, redirection: str, told: str) -> None:
    """One line says why, and the exit code is that of a run that could not begin."""
    assert with_streams(redirection, *RUN, here=here) == (2, "", f"torntail: {told}\n")


def test_a_report_tells_the_verdict_too(here: Path) -> None:
    """With a folder to write it to, nothing else is needed: no stream at all."""
    code, out, err = with_streams("<&- >&- 2>&-", *RUN, "--report", "out", here=here)
    assert (code, out, err) == (0, "", "")
    assert "1/1 must" in (here / "out" / "summary.txt").read_text("utf-8")


def test_no_file_gets_the_number_of_a_stream(here: Path) -> None:
    """What is written to a stream that was closed would land in it, and what a child writes too."""
    program = (
        "import os, subprocess, sys; from conformance.drivers.leaving import fill_streams\n"
        "missing = fill_streams()\n"
        "with open('told', 'w') as told:\n"
        "    print(told.fileno() > 2, sorted(missing), file=told, flush=True)\n"
        "    print('lost'); print('lost', file=sys.stderr)\n"
        "    done = subprocess.run(['sh', '-c', 'echo lost'], check=False)\n"
        "    print(done.returncode, repr(sys.stdin.read()), file=told)\n"
    )
    assert with_streams("<&- >&- 2>&-", here=here, program=program) == (0, "", "")
    assert (here / "told").read_text("utf-8") == "True ['stderr', 'stdin', 'stdout']\n0 ''\n"


def test_streams_that_are_there_stay(here: Path) -> None:
    """What the command was started with is nobody's to replace."""
    program = "import sys; from conformance.drivers.leaving import fill_streams\nprint(sorted(fill_streams()))"
    assert with_streams("</dev/null", here=here, program=program) == (0, "[]\n", "")


@pytest.mark.parametrize("arguments", [("doctor", "memory"), ("replay", "case.json"), ("run", "memory")])
def test_whatever_has_a_verdict_asks_first(here: Path, arguments: tuple[str, ...]) -> None:
    """Each command whose exit code says something about a backend."""
    found = CliRunner().invoke(torntail, arguments, obj=frozenset({"stdout"}))
    assert found.exit_code == 2
    assert found.output == "torntail: the standard output is closed, so that no result could be told\n"


LEAVING = """
import subprocess
from conformance import Backend
from reference_backend.memory import MemoryPersistence, memory


class Service(MemoryPersistence):
    async def create(self, *args, **kwargs):
        if not STARTED:
            STARTED.append(subprocess.Popen(["sleep", "60"]))
        return await super().create(*args, **kwargs)


STARTED = []
leaving = Backend(name="leaving", open=lambda root: Service(), capabilities=memory.capabilities)
"""


@pytest.mark.skipif(not list(Path("/proc/self/task").glob("*/children")), reason="nothing here lists children")
@pytest.mark.parametrize("door", ["command", "pytest"])
def test_whoever_reads_the_output_waits_for_no_process_of_the_backend(here: Path, door: str) -> None:
    """It is told and ended when the run is, which it fails at neither door: no clause is about it."""
    (here / "leaving.py").write_text(LEAVING, "utf-8")
    words = ("leaving.py:leaving", *RUN[2:])
    program, given = TORNTAIL, ["run", *words]
    if door == "pytest":
        program = "import sys, pytest; sys.exit(pytest.main())"
        given = [f"--backend={words[0]}", "-s", "-q", "conformance::seq::batches_are_read_back_exactly"]
    code, out, err = with_streams("", *given, here=here, program=program)
    assert code == 0, out + err
    assert "torntail: the backend left processes running, which were ended" in err
    assert ": sleep 60 (pid " in err


DEAF = """
import signal
from conformance import Backend
from reference_backend.memory import MemoryPersistence, memory


class Interrupting:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


class Service(MemoryPersistence):
    async def create(self, *args, **kwargs):
        while INTERRUPTS:
            INTERRUPTS.pop()
        return await super().create(*args, **kwargs)


INTERRUPTS = [Interrupting()]
deaf = Backend(name="deaf", open=lambda root: Service(), capabilities=memory.capabilities)
"""


def test_an_interrupt_that_python_drops_ends_the_run(here: Path) -> None:
    """It came while an object was collected, where nothing can be raised."""
    (here / "deaf.py").write_text(DEAF, "utf-8")
    code, out, err = with_streams("", "run", "deaf.py:deaf", *RUN[2:], here=here, program=HEARING)
    assert code == 130, out + err
    assert "interrupted" in out
    assert "KeyboardInterrupt" in err


def test_a_report_tells_the_verdict_of_a_run_whose_output_was_lost(
    command: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may be full behind the header of the run; without a report that is no verdict."""

    def lost(*_: object, **__: object) -> None:
        raise UsageError("the standard output cannot be written: full")

    monkeypatch.setattr("conformance.cli.run.render_terminal", lost)
    told = command(*RUN, "--report", "out")
    assert told.exit_code == 0
    assert told.output.endswith("torntail: the standard output cannot be written: full; the results are in out\n")
    assert command(*RUN).exit_code == 2
