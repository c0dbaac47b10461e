"""``torntail doctor``: the machine's facts, how a backend is found, and that it starts."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from conformance.contract import SEAMS
from conformance.drivers.outside import Comparison
from conformance.drivers.workspace import scratch_parent
from tests.cli.conftest import Command
from tests.unit.sim.disk.test_strace import needs_strace

BROKEN = """
from conformance import Backend, Capabilities

def explode(root):
    raise RuntimeError("no such volume")

backend = Backend(name="broken", open=explode)
"""

FORGETFUL = """
from conformance import Backend
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory

class ForgetfulHandle(MemoryHandle):
    __slots__ = ()

    async def read(self, offset=0, length=None):
        return []

class ForgetfulPersistence(MemoryPersistence):
    async def open(self, session_id, access):
        handle = await super().open(session_id, access)
        handle.__class__ = ForgetfulHandle
        return handle

backend = Backend(name="forgetful", open=lambda root: ForgetfulPersistence(), capabilities=memory.capabilities)
"""


def test_the_machine_is_described(command: Command) -> None:
    """Without a backend the facts of the machine and the registered names are shown."""
    found = command("doctor")
    assert found.exit_code == 0
    assert platform.python_version() in found.output
    assert str(scratch_parent()) in found.output
    for name in ("jsonl", "jsonl-raw", "memory"):
        assert f"  {name} " in found.output


def test_a_backend_is_described_and_started(command: Command) -> None:
    """Claims, seams, rulings and one round trip are shown for a backend that works."""
    found = command("doctor", "memory")
    assert found.exit_code == 0
    assert "reference_backend.memory:memory" in found.output
    assert "storage = 'memory'   (not the default)" in found.output
    assert all(seam in found.output for seam in SEAMS)
    assert "not built yet" in found.output
    assert found.output.rstrip().endswith("open, create, append, flush, close, open again, read: ok")


def test_a_backend_that_cannot_start_is_named_with_its_cause(command: Command, here: Path) -> None:
    """A factory that raises is a set-up error, exit 2."""
    (here / "broken.py").write_text(BROKEN, "utf-8")
    found = command("doctor", "broken.py:backend")
    assert found.exit_code == 2
    assert "broken" in found.output
    assert "no such volume" in found.output


def test_a_round_trip_that_breaks_a_clause_names_it(command: Command, here: Path) -> None:
    """A backend that starts and loses what it was given is told so, exit 1."""
    (here / "forgetful.py").write_text(FORGETFUL, "utf-8")
    found = command("doctor", "forgetful.py:backend")
    assert found.exit_code == 1, found.output
    assert "round trip       breaks " in found.output


def test_the_settings_name_the_backend(command: Command, here: Path) -> None:
    """``backend`` in [tool.torntail] is the one that is looked at."""
    (here / "pyproject.toml").write_text('[tool.torntail]\nbackend = "memory"\n', "utf-8")
    assert "Backend memory" in command("doctor").output


def test_the_level_to_try_changes_the_rulings(command: Command) -> None:
    """``--durability`` rules the clauses as if that level were claimed."""
    assert command("doctor", "jsonl", "--durability", "none").output != command("doctor", "jsonl").output


def test_an_unknown_backend_is_met_with_its_neighbour(command: Command) -> None:
    """A misspelt name lists what is known, exit 2."""
    found = command("doctor", "memry")
    assert found.exit_code == 2
    assert "Did you mean 'memory'?" in found.output


def test_it_says_whether_crashes_can_be_made(command: Command) -> None:
    """Of the reference they can; of a backend in memory there are none."""
    assert "can be recorded; equal states are opened once" in command("doctor", "jsonl").output
    assert 'storage="memory" keeps no files' in command("doctor", "memory").output


@needs_strace
def test_it_says_whether_the_recorders_agree(command: Command) -> None:
    """The reference is recorded from outside too, and that found the same; in memory there is nothing to compare."""
    found = command("doctor", "jsonl").output
    assert "barriers         strace saw the same" in found
    assert " of them syncs" in found
    assert "barriers" not in command("doctor", "memory").output


@pytest.mark.parametrize(
    ("came", "words"),
    [
        (Comparison(gap="strace is not there"), "seen in process only: strace is not there"),
        (Comparison("it differs"), "crashes are not measured: a barrier may be unseen: it differs"),
    ],
)
def test_it_says_why_barriers_are_not_known(
    command: Command, monkeypatch: pytest.MonkeyPatch, came: Comparison, words: str
) -> None:
    """Without strace, and where the recorders differ, the line says so."""
    monkeypatch.setattr("conformance.cli.doctor.compare", lambda spec, base, home: came)
    assert f"barriers         {words}" in command("doctor", "jsonl").output
