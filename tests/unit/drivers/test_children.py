"""Processes that were left are told and ended, and those of nobody else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not list(Path("/proc/self/task").glob("*/children")), reason="the system does not list the children of a process"
)

PROGRAM = """
import atexit, os, subprocess, sys
from conformance.drivers import children

children.GRACE_S = 0.2
LONG = ["sleep", "60"]
before = subprocess.Popen(LONG, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
children.end_at_exit()
with children.noting():
{during}
print(before.pid, flush=True)
sys.exit(3)
"""
LEFT = "subprocess.Popen(LONG)"
ABOVE = "subprocess.Popen(['sh', '-c', 'sleep 60; true'])"
STOPPED = "atexit.register(subprocess.Popen(LONG).kill)"
OVER = "os.posix_spawnp('true', ['true'], {})"
COPY = f"{LEFT}\n    if os.fork() == 0: sys.exit()\n    os.wait()"


def end(during: str) -> tuple[int, str]:
    """Exit code and errors of a process that starts this; one that it had before must live on."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(during=f"    {during}")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    # Nobody kills the one that was there before: it goes with this.
    assert subprocess.run(["kill", "-9", done.stdout.split()[-1]], check=False).returncode == 0
    return done.returncode, done.stderr


@pytest.mark.parametrize(("during", "name"), [(LEFT, "sleep 60"), (ABOVE, "sh -c sleep 60; true"), (COPY, "sleep 60")])
def test_what_is_left_is_told_and_ended(during: str, name: str) -> None:
    """With what it started itself; the output of the run ends, for whoever reads it, with the run."""
    code, err = end(during)
    assert code == 3
    assert err.startswith("torntail: the backend left processes running")
    assert f": {name} (pid " in err
    assert err.count("torntail") == 1


@pytest.mark.parametrize("during", ["pass", STOPPED, OVER])
def test_what_ends_by_itself_is_not_spoken_of(during: str) -> None:
    """Nor what the backend stops at the end of Python, as one that is shared by all instances."""
    assert end(during) == (3, "")
