"""Programs with calls in flight at once: drawn from choices, kept as JSON, and made shorter and plainer as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conformance.contract import Capabilities
from conformance.machines.live_overlaps import live_overlapping_program
from conformance.machines.overlap_reduce import fewer_calls, one_after_the_other, plainer_calls
from conformance.machines.overlaps import overlapping_program
from conformance.machines.publishing import failing_program
from conformance.model.operations import (
    Append,
    Close,
    Dispose,
    Fail,
    Flush,
    Heal,
    Operation,
    Overlap,
    Program,
    Read,
    ReadWarnings,
    Stat,
    Step,
)
from conformance.sim import Choices, SeededChoices

Make = Callable[[Choices, Capabilities], list[Operation]]

FILES = Capabilities()
MEMORY = Capabilities(durability="none", storage="memory")

OVERLAP = Overlap(
    (
        (Step(Append(1, []), 100, waits=False), Step(Flush(1), cancels=((0, 1), (5, 0))), Step(Close(1))),
        (Step(Read(2, scribble=True), waits=False), Step(Stat(1, "s1"), cancels=((0, 0),))),
    ),
    jobs=(3, 0, 7),
)


MAKERS = pytest.mark.parametrize("make", [overlapping_program, live_overlapping_program])


@MAKERS
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("capabilities", [FILES, MEMORY], ids=["files", "memory"])
def test_same_choices_make_the_same_program(seed: int, capabilities: Capabilities, make: Make) -> None:
    """A program follows from its choices alone, and holds an overlap."""
    first = make(SeededChoices(seed), capabilities)
    assert first == make(SeededChoices(seed), capabilities)
    assert any(isinstance(each, Overlap) for each in first)


@MAKERS
def test_other_choices_make_other_programs(make: Make) -> None:
    """Hardly two seeds make the same program."""
    assert len({repr(make(SeededChoices(seed), FILES)) for seed in range(50)}) > 45


@MAKERS
@pytest.mark.parametrize("seed", range(20))
def test_program_is_read_back_equal(seed: int, make: Make) -> None:
    """A drawn program comes back equal from its JSON form."""
    program = Program(tuple(make(SeededChoices(seed), FILES)))
    assert Program.from_json(program.to_json()) == program


def test_failing_storage_meets_cancelled_calls_and_other_instances() -> None:
    """Among programs on failing storage are those that cancel, and those in which another instance reads."""
    programs = [overlapping_program(SeededChoices(seed), FILES, fails=True) for seed in range(60)]
    assert all(any(isinstance(each, Fail) for each in program) for program in programs)
    cancelling = [program for program in programs if any(step.cancels for step in steps_of(program))]
    assert 5 < len(cancelling) < 40
    assert {
        step.call.instance for program in programs for step in steps_of(program) if isinstance(step.call, Stat)
    } == {1, 2}


def test_a_disposal_may_be_cancelled() -> None:
    """Among programs about the live path are those that cancel a disposal in flight."""
    programs = [live_overlapping_program(SeededChoices(seed), FILES) for seed in range(300)]
    assert any(isinstance(step.call, Dispose) and step.cancels for each in programs for step in steps_of(each))


def test_storage_fails_beside_published_events_in_flight() -> None:
    """One of three programs about failing storage and the live path has calls in flight, and storage heals behind."""
    programs = [failing_program(SeededChoices(seed), FILES) for seed in range(60)]
    overlapping = [each for each in programs if any(isinstance(step, Overlap) for step in each)]
    assert 10 < len(overlapping) < 30
    for program in overlapping:
        place = next(number for number, each in enumerate(program) if isinstance(each, Overlap))
        before, _, *behind = program[place - 1 :]
        assert isinstance(before, Fail)
        assert [type(each) for each in behind[:2]] == [ReadWarnings, Heal]


def steps_of(program: list[Operation]) -> Iterator[Step]:
    """What is called in the overlaps of a program."""
    for each in program:
        if isinstance(each, Overlap):
            for row in each.rows:
                yield from row


def calls_of(overlap: Overlap) -> int:
    """How many calls it holds."""
    return sum(len(row) for row in overlap.rows)


def test_fewer_calls_are_fewer() -> None:
    """Each form lacks a call, and keeps the order of the others; in the end no client has none."""
    forms = list(fewer_calls(OVERLAP))
    assert forms
    for form in forms:
        assert calls_of(form) < calls_of(OVERLAP)
        assert all(form.rows)
        rows = iter(OVERLAP.rows)
        for row in form.rows:
            assert any(is_part(row, whole) for whole in rows)


def is_part(row: tuple[Step, ...], whole: tuple[Step, ...]) -> bool:
    """Whether the row holds steps of the whole one, in its order."""
    rest: Iterator[Step] = iter(whole)
    return all(step in rest for step in row)


def test_plainer_forms_come_to_an_end() -> None:
    """No form is the overlap itself, and taking the first again and again ends at the plainest of all."""
    now, seen = OVERLAP, [OVERLAP]
    while (form := next(plainer_calls(now), None)) is not None:
        assert form not in seen
        seen.append(form)
        now = form
    assert now.jobs == ()
    assert all(step == Step(step.call) for row in now.rows for step in row)
    assert not any(getattr(step.call, "scribble", False) for row in now.rows for step in row)


@pytest.mark.parametrize("stubborn", ["jobs", "cancels", "after", "waits"])
def test_plainer_forms_end_where_something_has_to_stay(stubborn: str) -> None:
    """Also where a form counts only if something is left of it, no overlap comes up twice."""

    def is_left(form: Overlap) -> bool:
        if stubborn == "jobs":
            return bool(form.jobs)
        plain = getattr(Step(Flush(1)), stubborn)
        return any(getattr(step, stubborn) != plain for row in form.rows for step in row)

    now, seen = OVERLAP, [OVERLAP]
    while (form := next(filter(is_left, plainer_calls(now)), None)) is not None:
        assert form not in seen
        seen.append(form)
        now = form
    assert is_left(now)


def test_calls_are_made_alone_in_several_orders() -> None:
    """Client by client, the other way round, and in turn; each has every call once."""
    orders = list(one_after_the_other(OVERLAP))
    calls = [step.call for _, _, step in OVERLAP.steps()]
    assert orders[0] == calls
    assert all(sorted(map(repr, order)) == sorted(map(repr, calls)) for order in orders)
    assert [type(call).__name__ for call in orders[2]] == ["Append", "Read", "Flush", "Stat", "Close"]
