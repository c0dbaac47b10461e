"""Crashes whose state is drawn: what goes into the program is what happened, and comes to the same again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import SessionHeader
from conformance.drivers.crash_plans import Place, Placement, edges_in
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.fitting import Fit
from conformance.drivers.journal import Journal
from conformance.drivers.loading import load_file
from conformance.model.history import Completion, CrashView, Event, Outcome, Returned
from conformance.model.history_forms import event_to_json
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
    filler,
)
from conformance.sim import NO_CHOICES, RecordedChoices, SeededChoices
from conformance.sim.disk.ops import Write

pytestmark = pytest.mark.usefixtures("patched")

MARKED = load_file(Path(__file__).parents[2] / "variants" / "marked_files.py").marked_files
TEMPORARY = re.compile(r"\.\w+\.tmp")
BORN = re.compile(rb'"\$born":"\w+"')
"""The number that each log of the variant has for itself."""
PRESETS = ("kill", "ext4", "xfs", "posix")

WRITTEN: tuple[Operation, ...] = (
    OpenInstance(1),
    Create(1, 1, SessionHeader("s", 0)),
    Append(1, [filler(0, 3000), filler(1, 3000)]),
    Flush(1),
    Append(1, [filler(2, 6000)]),
)
MORE = Append(1, [filler(3, 9000), filler(4)])
LOOK: tuple[Operation, ...] = (OpenInstance(2), OpenSession(2, 2, "s", "read"), Read(2))


@contextmanager
def performed(place: Path, *operations: Operation, **options: Any) -> Iterator[Execution]:
    """A store that syncs its files at flush, and what was done to it."""
    execution = Execution(MARKED, place, crashes=True, **options)
    try:
        for operation in operations:
            execution.do(operation)
        yield execution
    finally:
        execution.finish()


def crash_of(execution: Execution) -> Crash:
    """The crash as it stands in the program."""
    found = execution.operations[len(WRITTEN)]
    assert isinstance(found, Crash)
    return found


def _told_alike(data: bytes) -> bytes:
    return BORN.sub(lambda found: bytes(len(found[0])), data)


def files_of(execution: Execution) -> dict[str, bytes]:
    """What the next life finds."""
    root = execution._driver.root
    return {
        TEMPORARY.sub("temporary", path.relative_to(root).as_posix()): BORN.sub(
            lambda found: bytes(len(found[0])), path.read_bytes()
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def told(event: Event) -> str:
    """The event as text; what the backend calls its temporary files is its own affair."""
    return TEMPORARY.sub("temporary", repr(event_to_json(event)))


def log_of(execution: Execution) -> bytes:
    """What the next life finds in the file of the session."""
    (log,) = (data for name, data in files_of(execution).items() if name != "temporary")
    return log


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("during", [None, MORE], ids=["between", "inside"])
def test_zeros_lose_nothing(tmp_path: Path, preset: str, during: Operation | None) -> None:
    """Where every choice is 0 the call under way was done to its end, and everything is there."""
    with performed(tmp_path / "r", *WRITTEN) as execution:
        execution.crash(preset, NO_CHOICES, during)
        assert crash_of(execution) == Crash(preset, during)
        assert execution.fit.placements == {len(WRITTEN): Placement()}
        assert log_of(execution).count(b"user/message") == (3 if during is None else 5)


@pytest.mark.parametrize("preset", PRESETS)
def test_what_was_drawn_comes_to_the_same_again(tmp_path: Path, preset: str) -> None:
    """The resolved crash, through its JSON form, leaves the same files, and makes the same history."""
    crashes = set()
    for seed in range(25):
        with performed(tmp_path / f"a{seed}", *WRITTEN) as first:
            first.crash(preset, SeededChoices(seed), MORE if seed % 2 else None)
            left = files_of(first)
        program = Program.from_json(json.loads(json.dumps(first.program.to_json())))
        with performed(tmp_path / f"b{seed}", *program.operations) as again:
            assert files_of(again) == left
        assert list(map(told, again.history)) == list(map(told, first.history))
        assert again.program == first.program
        assert again.fit == first.fit
        crashes.add(repr(crash_of(first).to_json()))
    assert len(crashes) > (2 if preset == "kill" else 8)
    assert any("'after'" in each for each in crashes)
    assert any("'lost'" in each for each in crashes) == (preset != "kill")
    if preset != "kill":
        assert not any("'cut'" in each for each in crashes)


def test_a_killed_write_is_cut_at_page_edges_of_its_file(tmp_path: Path) -> None:
    """Of a write in flight the pages before an edge are there, and each edge can be drawn."""
    kept = set()
    for seed in range(40):
        with performed(tmp_path / str(seed), *WRITTEN) as execution:
            execution.crash("kill", SeededChoices(seed), MORE)
            cut = crash_of(execution).cut
            if cut:
                assert len(log_of(execution)) % 4096 == 0
                kept.add(cut)
    assert len(kept) > 1


def test_edges_are_counted_in_the_file() -> None:
    """A write has the page edges of its file strictly inside it."""
    assert edges_in(Write(1, 0, bytes(4096))) == ()
    assert edges_in(Write(1, 4096, bytes(8192))) == (4096,)
    assert edges_in(Write(1, 4095, bytes(4099))) == (1, 4097)


def test_the_journal_holds_what_happened(tmp_path: Path) -> None:
    """A process that dies after a drawn crash leaves a program with the crash as it was."""
    journal = Journal(tmp_path / "state")
    journal.begin("item", "backend")
    with performed(tmp_path / "r", *WRITTEN, journal=journal) as execution:
        execution.crash("ext4", SeededChoices(3), MORE)
        execution.do(OpenInstance(2))
        dead = tmp_path / "dead" / "journal-main-999999999"
        dead.parent.mkdir()
        dead.write_bytes(journal.path.read_bytes())
    ((left,), _) = Journal.unfinished(dead.parent)
    assert left.program == execution.program
    assert crash_of(execution) != Crash("ext4", MORE)
    journal.close()


def taken(outcome: Outcome) -> tuple[int, ...]:
    """Numbers of the calls of which a crash took something."""
    assert isinstance(outcome, Returned)
    assert isinstance(outcome.value, CrashView)
    return outcome.value.lost_calls


def test_what_a_crash_took_is_taken_again_from_a_shorter_program(tmp_path: Path) -> None:
    """With the calls before it left out, the same operations of the same calls are lost."""
    extra = (OpenInstance(7), Create(7, 7, SessionHeader("other", 0)), Append(7, [filler(0)]))
    number = len(extra) + len(WRITTEN)
    with performed(tmp_path / "a", *extra, *WRITTEN) as longer:
        # Everything since the barrier is lost: case 1 of what a crash takes.
        longer.crash("posix", RecordedChoices([1]))
    placement = longer.fit.placements[number].renumbered(
        {old: old - len(extra) for old in range(len(extra), number + 1)}
    )
    # The name of a temporary file of the first append is not synced, and neither is the latest append.
    assert {place[0] for place in placement.lost} == {2, len(WRITTEN) - 1}
    result = run_program(
        MARKED,
        Program((*WRITTEN, Crash("posix"), *LOOK)),
        tmp_path / "b",
        fit=Fit({len(WRITTEN): placement}),
    )
    shorter = result.program.operations[len(WRITTEN)]
    assert isinstance(shorter, Crash)
    assert shorter.lost
    assert shorter.lost != longer.operations[number].lost  # type: ignore[attr-defined]
    assert result.fit.placements[len(WRITTEN)] == placement


def test_a_placement_of_calls_that_are_gone_takes_nothing(tmp_path: Path) -> None:
    """What belongs to a call that was left out is left out, and what is no longer there is not taken."""
    first, second = Place(4, "Write", 0, "page", 0), Place(9, "Write", 0, "page", 0)
    placement = Placement((first, second), (first, second), second, 1)
    moved = (Place(1, "Write", 0, "page", 0),)
    assert placement.renumbered({4: 1}) == Placement(moved, moved)
    with performed(tmp_path / "r", *WRITTEN[:3]) as execution:
        assert taken(execution.crash_as(Crash("posix"), Placement((), (Place(2, "Write", 40, "page", 0),)))) == ()


def test_appends_go_on_where_the_log_ends_now(tmp_path: Path) -> None:
    """With an earlier append left out a later one continues the log all the same, also one that a crash comes into."""
    refused = Append(1, [filler(9)])
    with performed(tmp_path / "a", *WRITTEN, refused) as longer:
        longer.crash("kill", NO_CHOICES, MORE)
        fit = longer.fit
    crash = len(WRITTEN) + 1
    assert fit.continuing == {2, 4, crash}
    kept = [number for number in range(crash + 1) if number != 2]
    fit = fit.renumbered({old: new for new, old in enumerate(kept)})
    program = Program((*(longer.operations[old] for old in kept), *LOOK))
    result = run_program(MARKED, program, tmp_path / "b", fit=fit)
    assert [each["seq"] for each in result.program.operations[3].events] == [0]  # type: ignore[attr-defined]
    assert result.program.operations[4] == refused
    during = result.program.operations[5].during  # type: ignore[attr-defined]
    assert [each["seq"] for each in during.events] == [1, 2]
    (outcome,) = [event.outcome for event in result.history if isinstance(event, Completion) and event.call == 8]
    assert isinstance(outcome, Returned)
    assert isinstance(outcome.value, list)
    assert [each["seq"] for each in outcome.value] == [0, 1, 2]
