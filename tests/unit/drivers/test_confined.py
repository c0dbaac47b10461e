"""A driver in another process: what it comes to is told, and memory past the limit is not to be had there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from conformance.contract import SessionHeader
from conformance.drivers import confined as module
from conformance.drivers.confined import Confined, can_confine
from conformance.drivers.errors import KitError, SetupError, UsageError
from conformance.drivers.execution import run_program
from conformance.drivers.inprocess import InProcessDriver
from conformance.model.history import ErrorView, HandleView, Hung, Outcome, Raised, Returned, Skipped
from conformance.model.operations import (
    Append,
    Close,
    Confine,
    Create,
    Damage,
    Inspect,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Program,
    Read,
    Step,
)
from reference_backend import jsonl

resource = pytest.importorskip("resource")

pytestmark = pytest.mark.skipif(not can_confine(), reason="this system cannot limit the memory of a copied process")

ROOM = 64 << 20
CALL = OpenInstance(1)
Answer = Callable[[Operation], Outcome]


class Driver:
    """Answers as it is told to."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._asked = 0

    def perform(self, operation: Operation, call: int | None = None) -> Outcome:
        """Answer."""
        self._asked += 1
        return self._answer(operation)

    def now_us(self) -> int:
        """How often it was asked."""
        return self._asked


@pytest.fixture
def confine() -> Iterator[Callable[[Answer], Confined]]:
    """Makes confined drivers, and ends them."""
    made: list[Confined] = []

    def make(answer: Answer) -> Confined:
        made.append(Confined(lambda: Driver(answer), ROOM))
        return made[-1]

    yield make
    for each in made:
        each.finish()


Make = Callable[[Answer], Confined]


def test_what_it_comes_to_is_told(confine: Make) -> None:
    """A long value and an error come back as they are, one for each call, and the time with them."""
    raised = Raised(ErrorView("KeyError", "KeyError", "text"))
    there = confine(lambda asked: Returned([{"seq": 0}] * 50_000) if asked == CALL else raised)
    assert there.perform(CALL, 0) == Returned([{"seq": 0}] * 50_000)
    assert there.perform(Read(1), 1) == raised
    assert there.now_us() == 2


@pytest.mark.parametrize(("size", "kind"), [(ROOM // 4, ""), (ROOM * 2, "MemoryError")])
def test_memory_is_limited(confine: Make, size: int, kind: str) -> None:
    """What fits into the room is had, and what does not is a MemoryError there and nothing here."""
    outcome = confine(lambda _: Returned([len(bytearray(size))])).perform(CALL)
    assert (outcome.error.kind if isinstance(outcome, Raised) else "") == kind
    assert bytearray(ROOM * 2)


def test_what_there_is_no_memory_left_for_is_told(confine: Make) -> None:
    """The limit is the backend's alone: an answer that does not fit beside what it keeps is told all the same."""
    kept: list[object] = []
    answer = Returned([{"seq": each} for each in range(10_000)])

    def fill(_: Operation) -> Outcome:
        for size in (1 << 20, 1 << 16, 1 << 12, 64):
            with suppress(MemoryError):
                while True:
                    kept.append(bytearray(size))
        return answer

    there = confine(fill)
    assert there.perform(CALL) == answer
    assert there.perform(CALL) == answer


def test_files_that_a_backend_leaves_open_are_in_nobodys_way(confine: Make) -> None:
    """Past a thousand open descriptors the process is asked as before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 2_000:
        pytest.skip(f"no more than {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_000), hard))
    first = os.open("/dev/null", os.O_RDONLY)
    others = [os.dup(first) for _ in range(1_100)]
    try:
        assert confine(lambda _: Returned([1])).perform(CALL) == Returned([1])
    finally:
        for each in (first, *others):
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_a_dead_owner_closes_in_the_copy_is_not_its_line(confine: Make) -> None:
    """A library that closes, in each forked child, numbers that were its own once: somebody else may have them now."""
    numbers = [os.dup(0) for _ in range(8)]
    for each in numbers:
        os.close(each)
    stale = list(numbers)
    os.register_at_fork(after_in_child=lambda: _close(stale))
    try:
        assert confine(lambda _: Returned([1])).perform(CALL) == Returned([1])
    finally:
        stale.clear()


def _close(numbers: list[int]) -> None:
    for each in numbers:
        with suppress(OSError):
            os.close(each)


def test_death_is_an_outcome(confine: Make) -> None:
    """A process that dies without a word is told as one, and nothing more is made of it."""

    def die(_: Operation) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        return Returned()

    there = confine(die)
    outcome = there.perform(CALL)
    assert isinstance(outcome, Raised)
    assert (outcome.error.kind, outcome.error.message) == ("Died", "the process ended with -9 and said nothing")
    assert there.perform(CALL) == Skipped()


def test_silence_is_ended(confine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that never answers is ended, and that is a hang."""
    monkeypatch.setattr(module, "LONGEST", 0.05)

    def wait(_: Operation) -> Outcome:
        signal.pause()
        return Returned()

    there = confine(wait)
    assert isinstance(there.perform(CALL), Hung)
    assert there.perform(CALL) == Skipped()


def test_a_driver_that_is_not_made_is_a_problem_of_the_kit() -> None:
    """What goes wrong before the first call is told like what goes wrong in one, and never taken for a death."""

    def make() -> Driver:
        raise KeyboardInterrupt

    there = Confined(make, ROOM)
    with pytest.raises(KitError, match="KeyboardInterrupt"):
        there.perform(CALL)
    there.finish()


def test_an_instance_that_does_not_come_up_is_an_answer(confine: Make) -> None:
    """There it is the backend's, with the kind of what went wrong; an error of the kit is one of the kit."""

    def fail(asked: Operation) -> Outcome:
        if asked == CALL:
            raise SetupError("no") from MemoryError("none left")
        raise UsageError("nothing of the backend's")

    there = confine(fail)
    outcome = there.perform(CALL)
    assert isinstance(outcome, Raised)
    assert outcome.error.kind == "MemoryError"
    with pytest.raises(KitError, match="nothing of the backend's"):
        there.perform(Read(1))


PROGRAM = Program(
    (
        Confine(ROOM),
        OpenInstance(1),
        Create(1, 1, SessionHeader("s", 0)),
        Append(1, [{"type": "user/message", "seq": 0, "time": 0, "data": 1}]),
        Damage("s", "plant", data="bomb"),
        Inspect(["s"], bytes_only=True),
        OpenInstance(2),
        OpenSession(2, 2, "s", "write"),
        Close(1),
    )
)


def test_a_program_goes_on_there(tmp_path: Path) -> None:
    """Everything behind ``Confine`` comes to the same as here, a writer that goes on included."""
    there = run_program(jsonl, PROGRAM, tmp_path / "there")
    here = run_program(jsonl, Program(PROGRAM.operations[1:]), tmp_path / "here")
    assert there.violation is None
    assert [type(each) for each in there.history[2:]] == [type(each) for each in here.history]
    assert there.witnesses == here.witnesses
    assert there.witnesses["ID-04"]


def test_it_comes_before_everything_else(tmp_path: Path) -> None:
    """Behind an instance, and a second time, it is not done; calls that overlap are not made there."""
    driver = InProcessDriver(jsonl, tmp_path / "late")
    assert driver.perform(OpenInstance(1)) == Returned()
    assert driver.perform(Confine(ROOM)) == Skipped()
    driver.finish()
    driver = InProcessDriver(jsonl, tmp_path / "twice")
    assert driver.perform(Confine(ROOM)) == Returned()
    assert driver.perform(Confine(ROOM)) == Skipped()
    assert driver.perform(OpenInstance(1)) == Returned()
    created = driver.perform(Create(1, 1, SessionHeader("s", 0)))
    assert isinstance(created, Returned)
    assert isinstance(created.value, HandleView)
    with pytest.raises(UsageError, match="in this process only"):
        driver.overlap(Overlap(((Step(Read(1)),),)), 3, None)  # type: ignore[arg-type]
    driver.finish()


def test_where_it_cannot_be_done_the_program_goes_on_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without limits of the system's own everything is done in this process."""
    monkeypatch.setattr(module, "resource", None)
    driver = InProcessDriver(jsonl, tmp_path / "r")
    assert driver.perform(Confine(ROOM)) == Skipped()
    assert driver.perform(OpenInstance(1)) == Returned()
    driver.finish()
