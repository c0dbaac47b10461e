"""Workspaces of dead runs are taken away, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conformance.drivers import workspace
from conformance.drivers.descriptors import MARK, Orphans
from conformance.drivers.workspace import Workspace
from conformance.drivers.workspace_locks import take_dead_away
from conformance.planning import Settings, make_plan
from tests.unit.drivers.test_descriptors import lives

pytest.importorskip("fcntl")

OWNER = """
import os, signal, sys
from pathlib import Path
from conformance.drivers.workspace import Workspace

for _ in range(2):
    made = Workspace(Path(sys.argv[1]))
    root = made.fresh_root()
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "log").write_bytes(b"x")
{forked}
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(parent: Path) -> None:
    """A process that made two workspaces there was killed."""
    done = subprocess.run([sys.executable, "-c", OWNER.format(forked=""), str(parent)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(parent.glob(f"torntail-*/{MARK}"))) == 2


def test_what_a_killed_process_made_is_taken_away(tmp_path: Path) -> None:
    """With everything in it; what a living one made stays, until that is closed."""
    killed(tmp_path)
    with Workspace(tmp_path) as living:
        take_dead_away([tmp_path])
        assert list(tmp_path.iterdir()) == [living.directory]
        assert (living.directory / MARK).is_file()
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_the_owner_holds_what_that_made(tmp_path: Path) -> None:
    """What was forked may go on there, and when it ends nobody holds it."""
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER.format(forked="os.fork() or (os.read(0, 1), os._exit(0))"), str(tmp_path)],
        stdin=read,
    ) as owner:
        os.close(read)
        assert owner.wait(60) == -signal.SIGKILL
    take_dead_away([tmp_path])
    kept = len(list(tmp_path.iterdir()))
    os.close(write)
    assert kept == 2


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A directory with things that look like workspaces of dead runs, and are none."""
    (tmp_path / "dead").mkdir()
    killed(tmp_path / "dead")
    mine = next((tmp_path / "dead").iterdir())
    place = tmp_path / "place"
    for name in ("torntail-unmarked", "torntail-saysmore", "torntail-isalink_", "torntail-mine-x", "other-abcdefgh"):
        (place / name).mkdir(parents=True)
        (place / name / "data").write_bytes(b"x")
    said = (mine / MARK).read_bytes()
    (place / "torntail-saysmore" / MARK).write_bytes(said + b"and more")
    (place / "torntail-isalink_" / MARK).symlink_to(mine / MARK)
    for name in ("torntail-mine-x", "other-abcdefgh"):
        (place / name / MARK).write_bytes(said)
    (place / "torntail-linked__").symlink_to(mine)
    return place


def test_nothing_else_is_touched(foreign: Path) -> None:
    """Neither another name nor another content, and nothing behind a link."""
    before = sorted(map(str, foreign.parent.rglob("*")))
    take_dead_away([foreign, foreign / "absent"])
    assert sorted(map(str, foreign.parent.rglob("*"))) == before


def test_what_another_user_made_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two users of one machine do not clean up for each other."""
    killed(tmp_path)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    take_dead_away([tmp_path])
    assert len(list(tmp_path.iterdir())) == 2


def test_a_run_begins_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where runs of this user make theirs: on the memory file system, and in the temporary directory."""
    monkeypatch.setattr(workspace, "MEMORY_FILE_SYSTEM", tmp_path / "memory")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for name in ("memory", "temporary"):
        (tmp_path / name).mkdir()
        killed(tmp_path / name)
    make_plan(Settings(backend="memory", clauses=("SEQ-02",), state=tmp_path / "state"))
    assert [each.parent.name for each in tmp_path.glob("*/torntail-*")] == []


def test_the_lock_is_no_orphan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is open for longer than many lives, and stays so where descriptors are scarce."""
    monkeypatch.setattr("conformance.drivers.descriptors._is_scarce", lambda: True)
    with Workspace(tmp_path) as living:
        lives(Orphans(f"{tmp_path}/torntail-"), 40)
        take_dead_away([tmp_path])
        assert living.directory.is_dir()


def test_a_number_that_is_somebody_elses_by_now_is_not_closed(tmp_path: Path) -> None:
    """A backend may have closed the lock, and opened something else under its number."""
    made = Workspace(tmp_path)
    assert made._hold._held is not None
    number = made._hold._held[0]
    with open(tmp_path / "other", "wb") as other:
        os.dup2(other.fileno(), number)
        made.close()
        os.write(number, b"x")
    os.close(number)
    assert (tmp_path / "other").read_bytes() == b"x"
