"""Programs that damage an artifact, as they are printed: they run on their own and meet what the run met."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import SessionHeader
from conformance.drivers.confined import can_confine
from conformance.drivers.execution import run_program
from conformance.model.history import Completion, DamageView, Raised, Returned, SnapshotView
from conformance.model.operations import (
    Append,
    Close,
    Confine,
    Create,
    Damage,
    Flush,
    OpenInstance,
    OpenSession,
    Program,
    Read,
    Stat,
)
from conformance.report.abbreviate import call_text, handle_names, outcome_text
from conformance.report.fingerprints import fingerprint
from conformance.report.program_text import render_program
from reference_backend import jsonl_raw

ROOT = Path(__file__).resolve().parents[3]


def event(seq: int) -> dict[str, Any]:
    """One event."""
    return {"type": "user/message", "seq": seq, "time": 1, "data": f"event {seq}"}


def damaging(damage: Damage) -> Program:
    """Three flushed batches, damage, and a read in another instance."""
    stored = [each for seq in range(3) for each in (Append(1, [event(seq)]), Flush(1))]
    created = (OpenInstance(1), Create(1, 1, SessionHeader("s", 1)), Flush(1), *stored, Close(1))
    other = (Create(1, 2, SessionHeader("t", 1)), Append(2, [event(0)]), Close(2))
    return Program((*created, *other, damage, OpenInstance(2), Stat(2, "s"), OpenSession(2, 3, "s", "read"), Read(3)))


WAYS = [
    Damage("s", "cut", start=(-2, 4)),
    Damage("s", "nul", start=(2, 0), end=(2, 9)),
    Damage("s", "flip", start=(2, 5), mask=4),
    Damage("s", "drop", start=(2, 0), end=(3, 0)),
    Damage("s", "repeat", start=(2, 0), end=(3, 0)),
    Damage("s", "swap", start=(1, 0), end=(2, 0), to=(3, 0)),
    Damage("s", "insert", start=(2, 0), data="\n\n"),
    Damage("s", "replace", data=b"foreign"),
    Damage("s", "copy", other="t"),
    Damage("s", "put_back", version=-2),
    Damage("s", "unlink"),
    Damage("s", "directory"),
    Damage("s", "symlink"),
    Damage("s", "symlink", data="foreign"),
    Damage("s", "bom"),
    Damage("s", "crlf"),
    Damage("s", "hostile", start=(1, 0), data="nested"),
    Damage("s", "plant", data="endless"),
    Damage("s", "directory", beside=0),
]


@pytest.mark.parametrize("damage", WAYS, ids=lambda each: f"{each.how}-{bool(each.data)}-{each.beside}")
def test_script_does_the_same_damage(damage: Damage, tmp_path: Path) -> None:
    """The script does to the file what the run did, and its last call answers as the run's did."""
    program = damaging(damage)
    result = run_program(jsonl_raw, program, tmp_path / "r")
    text = render_program(program, backend_spec="jsonl-raw", clause="FMT-04", call=15, history=result.told_history())
    script = tmp_path / "script.py"
    script.write_text(text, "utf-8")
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + text
    outcome = {event.call: event.outcome for event in result.history if isinstance(event, Completion)}[15]
    shown = done.stdout.rpartition("observed:")[2]
    match outcome:
        case Raised(error):
            assert error.type_name in shown
        case Returned(SnapshotView() as snapshot):
            assert f"event_count={snapshot.event_count}, size_bytes={snapshot.size_bytes}" in shown
        case _:
            assert shown.strip() == "None"


@pytest.mark.skipif(not can_confine(), reason="this system does not tell how much memory a process has")
def test_a_confined_script_has_as_much_memory_as_the_run(tmp_path: Path) -> None:
    """What is too large for the run is too large for the script."""
    whole = damaging(Damage("s", "hostile", start=(0, 0), data="nested"))
    program = Program((Confine(96 << 20), *whole.operations))
    result = run_program(jsonl_raw, program, tmp_path / "r")
    assert result.violation is None
    told = result.told_history()
    text = render_program(program, backend_spec="jsonl-raw", clause="ID-04", call=16, history=told)
    last = "\n\nbytearray(128 << 20)\n"
    for name, end, code in (("script.py", "", 0), ("greedy.py", last, 1)):
        (tmp_path / name).write_text(text + end, "utf-8")
        done = subprocess.run(
            [sys.executable, str(tmp_path / name)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, "MemoryError" in done.stderr) == (code, bool(code)), done.stderr + text


def test_damage_on_one_line() -> None:
    """It is told what became of the artifact, and how large it was and is."""
    damage = Damage("s", "flip", start=(1, 0))
    assert call_text(damage, handle_names(Program())) == '--- damage: the artifact of "s": one byte of it changes'
    beside = Damage("s", "unlink", beside=2)
    told = "--- damage: file 2 of those beside the artifacts: it is removed"
    assert call_text(beside, handle_names(Program())) == told
    view = DamageView("s", 1_200, 1_200, changed=True)
    assert outcome_text(damage, Returned(view)) == "1,200 bytes before, 1,200 bytes now"
    assert outcome_text(damage, Returned(DamageView("s", 9, None, changed=True))) == "9 bytes before, no file now"
    assert outcome_text(damage, Returned(DamageView())) == "nothing changed"


def test_where_it_was_damaged_makes_no_other_bug() -> None:
    """Two programs that differ in the place of the damage only are one bug; in its kind, two."""
    one, other = damaging(Damage("s", "flip", start=(1, 0))), damaging(Damage("s", "flip", start=(2, 7)))
    assert fingerprint("FMT-10", one) == fingerprint("FMT-10", other)
    assert fingerprint("FMT-10", one) != fingerprint("FMT-10", damaging(Damage("s", "cut")))
    beside = damaging(Damage("s", "flip", beside=0))
    assert fingerprint("FMT-10", one) != fingerprint("FMT-10", beside)
