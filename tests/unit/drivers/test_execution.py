"""One program in one world: the journal, the partner, what a broken backend does to them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.clauses import Violation
from conformance.contract import Backend, SessionHeader
from conformance.drivers.errors import KitError, SetupError
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.journal import Journal
from conformance.drivers.partner import Partner
from conformance.drivers.watchdog import Watchdog
from conformance.model.history import Completion, ErrorView, Hung, LeftView, Raised, Returned
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    CountLeft,
    Create,
    Heal,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Program,
    Read,
    Stat,
    Step,
)
from conformance.sim.disk import RecorderError
from reference_backend import jsonl
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory

pytestmark = pytest.mark.usefixtures("patched")

HEADER = SessionHeader(id="s1", created_at=0)
EVENT = {"type": "user/message", "seq": 0, "time": 0, "data": None}
WRITE = (OpenInstance(1), Create(1, 1, HEADER), Append(1, [EVENT]), Read(1))


def backend_with(handle: type[MemoryHandle]) -> Backend:
    """The memory backend with handles of another class."""

    class Persistence(MemoryPersistence):
        async def create(self, header: SessionHeader, inherited_event_count: int | None = None) -> Any:
            made = await super().create(header, inherited_event_count)
            made.__class__ = handle
            return made

    return replace(memory, name="other", open=lambda root: Persistence())


class Sleepy(MemoryHandle):
    """Holds the thread in a read."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[dict[str, Any]]:
        """Never comes back by itself."""
        while True:
            time.sleep(1)


class Blunt(MemoryHandle):
    """Refuses with the wrong error."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[dict[str, Any]]:
        """One event too many."""
        return [*await super().read(offset, length), {"extra": True}]


class Picky(MemoryHandle):
    """Refuses minus zero, as a backend may."""

    __slots__ = ()

    async def append(self, events: list[dict[str, Any]]) -> None:
        """Look for it in data alone."""
        if any(repr(event.get("data")) == "-0.0" for event in events):
            raise ValueError("minus zero")
        await super().append(events)


def test_the_journal_keeps_the_program_of_a_process_that_died(tmp_path: Path) -> None:
    """What was begun is there for the next run; what ended well leaves nothing to report."""
    journal = Journal(tmp_path)
    journal.begin("conformance::x", "memory")
    for operation in WRITE[:3]:
        journal.note(operation)
    dead = tmp_path / "journal-main-999999999"
    dead.write_bytes(journal.path.read_bytes())
    journal.end()
    ended = tmp_path / "journal-main-999999998"
    ended.write_bytes(journal.path.read_bytes())
    found, _ = Journal.unfinished(tmp_path)
    journal.close()
    assert [(left.item, left.backend, left.program) for left in found] == [
        ("conformance::x", "memory", Program(WRITE[:3]))
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_cannot_be_read_is_put_aside(tmp_path: Path) -> None:
    """Damaged, of another kit, or no file: it is kept for whoever wants to look, and in nobody's way any more."""
    (tmp_path / "journal-main-999999999").write_bytes(b"+{bad}\n{}\n\0")
    (tmp_path / "journal-main-999999998").write_bytes(b'+{"item":"i","backend":"b"}\n{"do":"unheard of"}\n\0')
    (tmp_path / "journal-main-999999997").mkdir()
    found, aside = Journal.unfinished(tmp_path)
    assert found == []
    assert sorted(tmp_path.iterdir()) == sorted(aside)
    assert len(aside) == 3
    assert Journal.unfinished(tmp_path) == ([], [])


def test_the_reference_says_what_the_answer_should_have_been(tmp_path: Path) -> None:
    """Beside a violation stands what the partner answered to the same call."""
    result = run_program(backend_with(Blunt), Program(WRITE), tmp_path / "root", partner=jsonl)
    assert result.violation is not None
    assert result.violation.call == 3
    assert result.reference_answer == "returned 1 event, seq 0"


class Torn(MemoryHandle):
    """Shows a batch piece by piece while its append is under way."""

    __slots__ = ()

    async def append(self, events: list[dict[str, Any]]) -> None:
        """One event, a turn of the loop, the next."""
        for event in events:
            await super().append([event])
            await asyncio.sleep(0)


def test_a_violation_names_the_call_of_an_overlap(tmp_path: Path) -> None:
    """Client and step of the call that is at fault; of an overlap the partner is not asked."""
    batch = [EVENT, {**EVENT, "seq": 1}]
    rows = ((Step(Append(1, batch)),), (Step(Stat(1, "nowhere")), Step(OpenSession(1, 2, "s1", "read"), waits=False)))
    readers = (Step(Read(1)),)
    program = Program((*WRITE[:2], Overlap((*rows, readers))))
    result = run_program(backend_with(Torn), program, tmp_path / "root", partner=jsonl)
    found = result.violation
    assert found is not None
    assert (found.clause, found.call, found.client, found.step) == ("SEQ-05", 2, 3, 0)
    assert result.reference_answer == ""
    alone = run_program(backend_with(Blunt), Program(WRITE), tmp_path / "alone")
    assert alone.violation is not None
    assert (alone.violation.client, alone.violation.step) == (0, 0)


def test_a_partner_that_breaks_the_model_is_an_error_of_the_kit(tmp_path: Path) -> None:
    """A wrong reference is never blamed on the backend under test."""
    with pytest.raises(KitError, match="the reference 'other' breaks the model"):
        run_program(memory, Program(WRITE), tmp_path / "root", partner=backend_with(Blunt))


def test_a_partner_without_storage_stands_aside_and_comes_back(tmp_path: Path) -> None:
    """While several instances live memory says nothing; when one is left it knows what the model knows."""
    partner = Partner(memory, tmp_path / "root")
    execution = Execution(jsonl, tmp_path / "root")
    answers: list[object] = []

    def step(operation: Operation) -> None:
        outcome = execution.do(operation)
        answers.append(partner.follow(operation, outcome, execution.judge))

    operation: Operation
    for operation in (*WRITE, OpenInstance(2), OpenSession(2, 2, "s1", "read"), Stat(2, "s1")):
        step(operation)
    assert answers[-3:] == [None, None, None]
    for operation in (CloseInstance(1), Stat(2, "s1"), Read(2)):
        step(operation)
    assert isinstance(answers[-2], Returned)
    assert answers[-1] == Returned([EVENT])
    for operation in (CloseInstance(2), OpenInstance(3), OpenSession(3, 3, "s1", "write"), Read(3), Close(3)):
        step(operation)
    assert answers[-2] == Returned([EVENT])
    partner.finish()
    execution.finish()


def test_what_is_left_is_not_counted_without_a_baseline(tmp_path: Path) -> None:
    """An execution that noted nothing at its beginning says so where it is asked what is left, and never "nothing"."""
    execution = Execution(jsonl, tmp_path / "root", counts_left=False)
    execution.do(OpenInstance(1))
    with pytest.raises(RecorderError, match="counts_left=True"):
        execution.do(CountLeft())
    execution.finish()


def test_program_that_counts_what_is_left_is_given_a_baseline(tmp_path: Path) -> None:
    """``run_program`` looks for the operation itself: the descriptors of a handle that is open are counted."""
    last = run_program(jsonl, Program((*WRITE, CountLeft())), tmp_path / "root").history[-1]
    assert isinstance(last, Completion)
    assert isinstance(last.outcome, Returned)
    assert isinstance(last.outcome.value, LeftView)
    assert last.outcome.value.descriptors


def test_a_partner_that_took_another_allowed_answer_leaves(tmp_path: Path) -> None:
    """Where both answers are right but differ, what follows may differ too."""
    minus_zero = {**EVENT, "data": -0.0}
    refused = run_program(
        backend_with(Picky),
        Program((*WRITE[:2], Append(1, [minus_zero]), Read(1), Append(1, [EVENT]), Read(1))),
        tmp_path / "root",
        partner=jsonl,
    )
    assert refused.violation is None
    assert refused.history[5] == Completion(2, Raised(ErrorView("ValueError", "ValueError", "minus zero")))
    assert refused.history[-1] == Completion(5, Returned([EVENT]))


def test_storage_that_never_failed_may_heal(tmp_path: Path) -> None:
    """Whoever makes a program shorter may take the fault away first, and what heals it later."""
    result = run_program(jsonl, Program((*WRITE[:3], Heal(), WRITE[3])), tmp_path / "root")
    assert result.violation is None
    assert len(result.program.operations) == 5


def test_a_call_that_holds_the_thread_is_a_hang(tmp_path: Path) -> None:
    """The wall watchdog interrupts it and names the call."""
    with Watchdog(limit_s=0.2) as watchdog:
        execution = Execution(backend_with(Sleepy), tmp_path / "root", watchdog=watchdog)
        for operation in WRITE[:3]:
            execution.do(operation)
        with pytest.raises(Violation, match="never returned"):
            execution.do(WRITE[3])
        last = execution.history[-1]
        execution.finish()
    assert isinstance(getattr(last, "outcome", None), Hung)
    assert "read held the thread" in last.outcome.detail  # type: ignore[union-attr]


def test_a_backend_that_wants_sockets_is_told_to_register_for_a_real_loop(tmp_path: Path) -> None:
    """What the simulated loop refuses is a set-up error with the way out, not a verdict."""
    import asyncio

    async def connect(root: Path) -> MemoryPersistence:
        await asyncio.open_connection("127.0.0.1", 9)
        return MemoryPersistence()

    with pytest.raises(SetupError, match='loop="real"'):
        run_program(replace(memory, open=connect), Program(WRITE), tmp_path / "root")


def test_a_real_loop_gives_the_same_history(tmp_path: Path) -> None:
    """The same program on asyncio's own loop ends with the same outcomes."""
    real = replace(memory, capabilities=replace(memory.capabilities, loop="real"))
    one = run_program(memory, Program(WRITE), tmp_path / "a")
    two = run_program(real, Program(WRITE), tmp_path / "b")
    assert [getattr(event, "outcome", None) for event in one.history] == [
        getattr(event, "outcome", None) for event in two.history
    ]
