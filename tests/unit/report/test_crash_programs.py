"""Programs with crashes, as they are printed: a newcomer sees what happened, and what a plain program cannot do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from conformance.contract import SessionHeader
from conformance.model.history import CrashView, Returned
from conformance.model.operations import (
    Append,
    Crash,
    Create,
    Flush,
    OpenInstance,
    OpenSession,
    Operation,
    Program,
    Read,
)
from conformance.report.abbreviate import call_text, handle_names, outcome_text
from conformance.report.fingerprints import fingerprint
from conformance.report.program_text import render_program

pytestmark = pytest.mark.usefixtures("patched")

EVENT = {"type": "user/message", "seq": 0, "time": 1, "data": "first"}
CRASH = Crash("ext4", Flush(1), after=2, lost=((3, "size", 0), (4, "page", 1)), tear=(4, 1, 3))


def crashing(crash: Crash = CRASH) -> Program:
    """A session, a crash, and a look at what is left."""
    return Program(
        (
            OpenInstance(1),
            Create(1, 1, SessionHeader("s", 1)),
            Append(1, [EVENT]),
            crash,
            OpenInstance(2),
            OpenSession(2, 2, "s", "read"),
            Read(2),
        )
    )


@pytest.mark.parametrize(
    ("crash", "text"),
    [
        (Crash("kill"), "--- crash: the process is killed"),
        (Crash("posix", lost=((1, "entry", 0),)), "--- crash: power is lost (posix); 1 effect on the disk is lost"),
        (
            Crash("kill", Append(1, [EVENT]), after=1, cut=4096),
            "--- crash: the process is killed during w1.append([seq 0 user/message]); after 1 disk operation of that"
            " call; 4,096 bytes of the next write reached the disk",
        ),
        (
            CRASH,
            "--- crash: power is lost (ext4) during w1.flush(); after 2 disk operations of that call; 2 effects on the"
            " disk are lost; one page is torn",
        ),
        (
            Crash("kill", OpenSession(1, 5, "s", "write")),
            '--- crash: the process is killed during w5 = instance1.open("s", "write")',
        ),
    ],
)
def test_a_crash_is_told_in_plain_words(crash: Crash, text: str) -> None:
    """One line says who died, during which call, and what became of the disk."""
    assert call_text(crash, handle_names(crashing(crash))) == text


def test_what_a_crash_took_is_told() -> None:
    """The calls of which something is lost stand behind the crash."""
    assert outcome_text(CRASH, Returned(CrashView())) == "nothing is lost"
    assert outcome_text(CRASH, Returned(CrashView((2,)))) == "something of call 2 is lost"
    assert outcome_text(CRASH, Returned(CrashView((2, 5)))) == "something of calls 2, 5 is lost"


def test_program_with_a_crash_is_printed(snapshot: SnapshotAssertion) -> None:
    """The script makes the calls before the crash, tells the crash, and lists the calls after it."""
    text = render_program(
        crashing(), backend_spec="jsonl", clause="DUR-01", call=6, expected="1 event, seq 0", observed="no event"
    )
    ast.parse(text)
    assert text == snapshot


@pytest.mark.parametrize("program", [crashing(), Program((Crash("kill"), OpenInstance(1)))])
def test_printed_program_runs_up_to_the_crash(program: Program, tmp_path: Path) -> None:
    """The script runs to its end without an error, and names the command that goes further."""
    script = tmp_path / "script.py"
    script.write_text(render_program(program, backend_spec="jsonl", clause="DUR-01", call=6), encoding="utf-8")
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert "--- crash: " in found.stdout
    assert "torntail replay" in found.stdout


def test_fingerprint_tells_crashes_apart_by_what_they_are() -> None:
    """Which effects were lost counts, and not at which place of the trace; the call cut short counts, too."""

    def of(*operations: Operation) -> str:
        return fingerprint("DUR-01", Program(operations))

    assert of(Crash("ext4", lost=((1, "size", 0),))) == of(Crash("ext4", lost=((7, "size", 512),)))
    assert of(Crash("ext4")) != of(Crash("kill"))
    assert of(Crash("ext4")) != of(Crash("ext4", lost=((1, "size", 0),)))
    assert of(Crash("kill", Flush(1))) != of(Crash("kill", Append(1, [])))
