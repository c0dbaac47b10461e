"""``torntail replay``: a saved failure performed again, or printed as a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.contract import SessionHeader
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    OpenInstance,
    OpenSession,
    Overlap,
    Program,
    Step,
)
from conformance.report.cases import Case
from tests.cli.conftest import Command

MUTANT = f"{Path(__file__).parents[1] / 'mutants' / 'seq.py'}:gap_accepted"


@pytest.fixture
def case(here: Path) -> str:
    """A saved failure of SEQ-02: the first event of an empty log has seq 3."""
    events = [{"type": "turn/start", "seq": 3, "time": 0, "data": {"turn": 1}}]
    header = SessionHeader(id="s", created_at=0)
    program = Program((OpenInstance(0), Create(0, 0, header), Append(0, events), Close(0), CloseInstance(0)))
    saved = Case(
        kit_version="0.1.0",
        backend=MUTANT,
        clause="SEQ-02",
        item="conformance::seq::gap",
        seed=1,
        program=tuple(program.to_json()),
        call=2,
        expected="a refusal",
        observed="nothing",
        fingerprint="abc",
    )
    return str(saved.save(here / "cases"))


def test_a_failure_that_is_still_there_fails_again(command: Command, case: str) -> None:
    """The same program breaks the same clause, exit 1, and the report ends with the command."""
    found = command("replay", case)
    assert found.exit_code == 1, found.output
    assert "FAILED  SEQ-02 (must)" in found.output
    assert found.output.rstrip().endswith(f"torntail replay {case}")


def test_a_failure_that_is_mended_is_told(command: Command, case: str) -> None:
    """On a backend that conforms the program goes through, exit 0."""
    found = command("replay", case, "--backend", "memory")
    assert found.exit_code == 0, found.output
    assert "SEQ-02 holds now" in found.output


def test_a_case_can_be_printed_as_a_program(command: Command, case: str, here: Path) -> None:
    """The program runs on its own and shows what the backend answers."""
    found = command("replay", case, "--program")
    assert found.exit_code == 0
    (here / "shown.py").write_text(found.output, "utf-8")
    shown = subprocess.run([sys.executable, "shown.py"], cwd=here, capture_output=True, text=True, check=True)
    assert "observed: None" in shown.stdout


RACE = '''
"""In memory, but whether a session has an owner is asked a turn of the loop before it gets one."""

import asyncio
from dataclasses import replace

from reference_backend.memory import MemoryHandle, MemoryPersistence, memory


class Service(MemoryPersistence):
    async def open(self, session_id, access):
        handle = await super().open(session_id, access)
        if access == "write":
            session = self._sessions[session_id]
            session.writer = None
            await asyncio.sleep(0)
            session.writer = handle
        return handle


backend = replace(memory, name="race", open=lambda root: Service())
'''


def test_a_failure_between_clients_is_shown_on_a_timeline(command: Command, here: Path) -> None:
    """The call that the model names is marked below the overlap, and the printed program shows both owners."""
    (here / "race.py").write_text(RACE, "utf-8")
    rows = tuple((Step(OpenSession(0, handle, "s", "write")),) for handle in (1, 2))
    start = (OpenInstance(0), Create(0, 0, SessionHeader(id="s", created_at=0)), Flush(0), Close(0))
    saved = Case(
        kit_version="0.1.0",
        backend="race.py:backend",
        clause="OWN-05",
        item="conformance::own::of_racing_write_opens_one_wins",
        seed=1,
        program=tuple(Program((*start, Overlap(rows))).to_json()),
        call=4,
        client=2,
        fingerprint="abc",
    )
    case = str(saved.save(here / "cases"))
    found = command("replay", case)
    assert found.exit_code == 1, found.output
    marked = [" ".join(line.split()) for line in found.output.splitlines() if line.lstrip().startswith(">")]
    assert marked[0] == "> 4 2 calls of 2 clients, overlapping"
    assert [line.endswith('w2 = instance0.open("s", "write") → write handle "s"') for line in marked[1:]] == [True]
    (here / "shown.py").write_text(command("replay", case, "--program").output, "utf-8")
    shown = subprocess.run([sys.executable, "shown.py"], cwd=here, capture_output=True, text=True, check=True)
    assert shown.stdout.count("-> <reference_backend.memory.MemoryHandle") == 2
    assert shown.stdout.splitlines()[-1].startswith("observed: <reference_backend.memory.MemoryHandle")


@pytest.mark.parametrize(("text", "told"), [("", "no JSON"), ('{"format": "other/1"}', "torntail-case/1")])
def test_what_is_no_case_is_a_usage_error(command: Command, here: Path, text: str, told: str) -> None:
    """A file that is no case is told with the reason, exit 2."""
    (here / "x.json").write_text(text, "utf-8")
    found = command("replay", "x.json")
    assert found.exit_code == 2
    assert told in found.output


def test_a_case_that_is_not_there_is_a_usage_error(command: Command) -> None:
    """A path that leads nowhere is exit 2."""
    assert command("replay", "nowhere.json").exit_code == 2
