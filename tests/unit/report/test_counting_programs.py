"""Programs that count, as people see them: a line for each call, and a script that counts by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.contract import SessionHeader
from conformance.drivers.counting import PROCESS_COUNTS
from conformance.drivers.execution import run_program
from conformance.model.history import Returned
from conformance.model.operations import (
    Append,
    Create,
    Fill,
    ListSessions,
    OpenInstance,
    Operation,
    Populate,
    Program,
    Read,
    ReadCounters,
    StartCounting,
    filler,
)
from conformance.model.usage import InputOutput, Usage
from conformance.report.abbreviate import call_text, handle_names, outcome_text
from conformance.report.program_text import render_program
from reference_backend import jsonl

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Program(
    (
        StartCounting(),
        OpenInstance(1),
        Create(1, 1, SessionHeader(id="s", created_at=0)),
        Fill(1, 0, 4, 2, 9),
        ReadCounters(),
        Append(1, [filler(8)]),
        Populate(1, 2, 7, 2),
        ListSessions(1),
        Read(1, 7, 2),
        ReadCounters(),
    )
)


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (PROGRAM.operations[0], "start counting"),
        (PROGRAM.operations[3], "w1: 4 appends of 2 events of 9 characters, from seq 0"),
        (Fill(1, 3, 1), "w1: 1 append of 1 event of 40 characters, from seq 3"),
        (PROGRAM.operations[4], "read the counters"),
        (PROGRAM.operations[6], "instance1: 2 more sessions, of one event each"),
    ],
)
def test_operations_that_count_on_one_line(operation: Operation, text: str) -> None:
    """Macros tell how much they do, and counting says what it is."""
    assert call_text(operation, handle_names(PROGRAM)) == text


def test_usage_on_one_line() -> None:
    """What was used is told in whole numbers, memory only where it was traced."""
    bytes_only = Usage(InputOutput(1_000, 234, 7))
    assert outcome_text(ReadCounters(), Returned(bytes_only)) == "1,234 bytes read and written, 7 accesses"
    traced = Usage(InputOutput(0, 0, 0), peak=5_000)
    assert outcome_text(ReadCounters(), Returned(traced)).endswith("0 accesses, 5,000 bytes of memory at most")


@pytest.mark.parametrize("known", [True, False])
def test_script_makes_the_same_calls_and_counts(known: bool, tmp_path: Path) -> None:
    """The script fills, populates and counts, ends at the offending reading, and prints what was used."""
    history = run_program(jsonl, PROGRAM, tmp_path / "r").told_history() if known else ()
    text = render_program(
        PROGRAM, backend_spec="jsonl", clause="READ-05", call=9, history=history, expected="little", observed="much"
    )
    script = tmp_path / "program.py"
    script.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r});"
         f" runpy.run_path({str(script)!r}, run_name='__main__')"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("call 4:") and line.endswith("bytes of memory at most")]
    assert any(line.startswith("call 7:") and line.count("id='crowd-") == 2 and "crowd-8" in line for line in lines)
    assert any(line.startswith("call 8:") and "'seq': 8" in line for line in lines)
    assert lines[-3:-1] == ["expected: little", "in the run: much"]
    assert lines[-1].startswith("observed: '")
    assert ("bytes read and written" in lines[-1]) == PROCESS_COUNTS.exists()
