"""A Python that drops asserts and docstrings (``-OO``) comes to the same verdicts, at both doors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BACKENDS = """
from conformance import Backend
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory


class Forgetful(MemoryHandle):
    __slots__ = ()

    async def append(self, events):
        assert False, "gone with -O"
        await super().append(events[:-1] if len(events) > 1 else events)


class Service(MemoryPersistence):
    async def create(self, *args, **kwargs):
        handle = await super().create(*args, **kwargs)
        handle.__class__ = Forgetful
        return handle


good = Backend(name="good", open=memory.open, capabilities=memory.capabilities)
bad = Backend(name="bad", open=lambda root: Service(), capabilities=memory.capabilities)
"""
SIZE = ("--profile", "smoke", "--max-examples", "1", "--seed", "1", "--clause", "READ-01")
PROGRAM = f"""
import sys
import pytest
from conformance.cli.app import torntail

given = {SIZE!r}
codes = [torntail(["run", f"backends.py:{{name}}", *given], standalone_mode=False) for name in ("good", "bad")]
codes.append(int(pytest.main(["--backend=backends.py:bad", "-q", "conformance::seq::batches_are_read_back_exactly"])))
print("exit codes", codes, file=sys.stderr)
"""


def test_the_verdicts_are_the_same_without_asserts_and_docstrings(tmp_path: Path) -> None:
    """What conforms exits with 0, and what breaks a clause with 1."""
    (tmp_path / "backends.py").write_text(BACKENDS, "utf-8")
    done = subprocess.run(
        [sys.executable, "-OO", "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "exit codes [0, 1, 1]" in done.stderr.splitlines(), done.stdout + done.stderr
