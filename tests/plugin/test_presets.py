"""``--torntail-preset`` against a real backend: a sweep that is asked for, reported, and gates what its level has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MUTANT = f"{Path(__file__).resolve().parents[1]}/mutants/dur.py:parents_are_not_synced"


def ran(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """The exit status and the output of pytest with that backend, in an empty project."""
    settings = ("--torntail-profile=smoke", "--torntail-seed=1", "--torntail-budget=1h", "--torntail-clause=DUR-02")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--backend={MUTANT}", *settings, *arguments]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    return found.returncode, " ".join((found.stdout + found.stderr).split())


@pytest.mark.parametrize(
    ("level", "preset", "code"),
    [("power-loss", "btrfs", 0), ("power-loss-strict", "posix", 1)],
)
def test_a_preset_gates_where_the_level_has_it(tmp_path: Path, level: str, preset: str, code: int) -> None:
    """A finding beyond the level is a warning and passes; one of the level's own fails its item."""
    item = f"conformance::sweep::crash[{preset}]"
    status, out = ran(tmp_path, f"--torntail-durability={level}", f"--torntail-preset={preset}", item, "-v")
    assert status == code, out
    assert f"{item} {'FAILED' if code else 'PASSED'}" in out
    assert ("ConformanceWarning: DUR-02 is violated and does not gate" in out) == (code == 0)
    assert ("VIOLATED, NOT GATING DUR-02" in out) == (code == 0)


def test_a_preset_is_there_where_it_is_asked_for(tmp_path: Path) -> None:
    """Without the option there is no such item; an unknown name is a usage error that lists the known ones."""
    status, out = ran(tmp_path, "conformance::sweep::crash[btrfs]")
    assert (status, "no check of the kit matches" in out) == (4, True)
    status, out = ran(tmp_path, "--torntail-preset=xfs,btrfs", "conformance::sweep", "--collect-only", "-q")
    assert status == 0
    assert out.count("crash[xfs]") == out.count("crash[btrfs]") == 1
    status, out = ran(tmp_path, "--torntail-preset=btrfz")
    assert (status, "expected one of kill, ordered, ext4, xfs, btrfs, posix, paranoid" in out) == (4, True)
