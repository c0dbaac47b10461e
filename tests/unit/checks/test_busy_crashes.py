"""What a thousand events were rewritten into, and nobody synced the name of, is found to be lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from conformance.checks import SCENARIOS
from conformance.checks.script import Script
from conformance.clauses import Violation
from conformance.contract import Backend
from conformance.drivers.execution import Execution
from conformance.drivers.workspace import Workspace

VARIANTS = Path(__file__).resolve().parents[2] / "variants"
sys.path.append(str(VARIANTS))
try:
    from good_store import GoodFiles, GoodHandle, good_store
finally:
    sys.path.remove(str(VARIANTS))

(CHECK,) = [check for check in SCENARIOS if check.name == "a_log_of_a_thousand_events_was_covered"]


class _Compacting(GoodHandle):
    """Every 256 events the log is written anew and put in the place of the old one."""

    def write_behind(self, data: bytes) -> None:
        super().write_behind(data)
        if (self.next_seq + data.count(b"\n")) // 256 > self.next_seq // 256:
            os.replace(self.service.write_temporary(self.path, self.path.read_bytes()), self.path)


class _Compacted(GoodFiles):
    handle_type = _Compacting


COMPACTED = Backend(name="compacted", open=_Compacted, capabilities=good_store.capabilities)


@pytest.mark.parametrize(("backend", "clause"), [(good_store, None), (COMPACTED, "DUR-01")], ids=["good", "compacted"])
def test_a_replacement_that_is_not_synced_is_found(backend: Backend, clause: str | None) -> None:
    """The sync of the file alone covers nothing under another name."""
    with Workspace() as workspace:
        execution = Execution(backend, workspace.fresh_root(), crashes=True)
        found = None
        try:
            CHECK.body(Script(execution))
        except Violation as violation:
            found = violation.clause
        finally:
            execution.finish()
    assert found == clause
