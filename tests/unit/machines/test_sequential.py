"""What the sequential machine draws, and what ends its search."""

from __future__ import annotations

import gc
import json
import os
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import strategies
from conformance.contract import Backend, SessionEvent
from conformance.drivers.execution import Execution, ProgramResult, run_program
from conformance.drivers.fitting import NO_FIT, Fit
from conformance.drivers.loading import load_file
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines import MACHINES, Job
from conformance.machines import job as job_module
from conformance.machines.reduce import reduce_finding
from conformance.model.operations import Create, Inspect, Operation, Program
from strategies.headers import SMALL_HEADERS

PLAIN = load_file(Path(__file__).parents[2] / "variants" / "plain_files.py")


class Recording(Job):
    """A hunt that keeps every program it performed."""

    seen: list[tuple[Operation, ...]]

    def end(self, execution: Execution, *, counted: bool = True) -> None:
        """Keep the program."""
        self.seen.append(tuple(execution.operations))
        super().end(execution, counted=counted)


@pytest.fixture
def world() -> Iterator[tuple[Workspace, Watchdog]]:
    """Scratch space and a watchdog."""
    with Workspace() as workspace, Watchdog() as watchdog:
        yield workspace, watchdog


def hunted(backend: Backend, world: tuple[Workspace, Watchdog], examples: int, seed: int = 5) -> Recording:
    """The job of a hunt without the reference."""
    job = Recording(backend, None, world[0], None, world[1], "item", seed, examples)
    job.seen, job.shrink_seconds = [], 0.0
    MACHINES[0].hunt(job)
    return job


def test_programs_hold_rich_headers_hostile_ids_and_looks(world: tuple[Workspace, Watchdog]) -> None:
    """Headers, ids and looks beyond the few of every program come up, each in some programs and not in others."""
    programs = hunted(PLAIN.plain_files, world, 40).seen
    known = {name for pool in strategies.ID_POOLS for name in pool}
    small = {tuple(given[0].extra) for given in SMALL_HEADERS}
    created = [[each.header for each in one if isinstance(each, Create)] for one in programs]
    about = {
        # Headers that must be refused may hold anything.
        "ids": [any(isinstance(each.id, str) and each.id not in known for each in one) for one in created],
        "headers": [
            any(isinstance(each.extra, Mapping) and tuple(each.extra) not in small for each in one) for one in created
        ],
        "looks": [any(isinstance(each, Inspect) for each in one) for one in programs],
    }
    assert {what: (any(found), all(found)) for what, found in about.items()} == dict.fromkeys(about, (True, False))


def test_programs_on_memory_look_at_no_files(world: tuple[Workspace, Watchdog]) -> None:
    """Where there are no files nothing is inspected."""
    memory = replace(PLAIN.plain_files, capabilities=replace(PLAIN.plain_files.capabilities, storage="service"))
    assert not any(isinstance(each, Inspect) for program in hunted(memory, world, 20).seen for each in program)


class OpenHandle(PLAIN.PlainHandle):  # type: ignore[misc, name-defined]
    """Lets everybody read the file, and forgets what is past the eighteenth event."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Write, and let everybody read."""
        super().write(batch)
        os.chmod(self.path, 0o644)

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Eighteen events at most."""
        found: list[SessionEvent] = await super().read(offset, length)
        return [event for event in found if event["seq"] < 18]


class OpenFiles(PLAIN.PlainFiles):  # type: ignore[misc, name-defined]
    """Breaks a should clause in every program with a look at the files, and a must clause in few."""

    handle_type = OpenHandle

    def place(self, session_id: str) -> Path:
        """A file below directories that keep nobody out."""
        self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
        path: Path = super().place(session_id)
        return path


def test_a_should_clause_does_not_end_the_search(world: tuple[Workspace, Watchdog]) -> None:
    """A backend that breaks a should clause everywhere is told what else it breaks, in the same hunt."""
    job = hunted(replace(PLAIN.plain_files, open=OpenFiles), world, 100)
    levels = {clause.partition("-")[0] for clause in job.findings}
    assert "ID-03" in job.findings
    assert levels - {"ID"}
    assert not job.is_searching


class ShortHandle(PLAIN.PlainHandle):  # type: ignore[misc, name-defined]
    """Never returns the last event of three or more."""

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """All but the last."""
        found: list[SessionEvent] = await super().read(offset, length)
        return found[:-1] if len(found) > 2 else found


class ShortFiles(PLAIN.PlainFiles):  # type: ignore[misc, name-defined]
    """Opens such handles."""

    handle_type = ShortHandle


def test_what_no_longer_becomes_shorter_is_left(
    world: tuple[Workspace, Watchdog], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much time there is, shrinking ends when many programs in a row brought nothing, and keeps what it has."""
    monkeypatch.setattr(job_module, "PATIENCE", 10)
    job = Recording(replace(PLAIN.plain_files, open=ShortFiles), None, world[0], None, world[1], "item", 3, 200)
    job.seen, job.shrink_seconds = [], 600.0
    MACHINES[0].hunt(job)
    assert job.spent
    assert not job.is_searching
    # The one before the last ten was the last that was kept; an eleventh was begun, and performed nothing.
    assert job.programs == len(job.seen) + 1
    assert job.seen[-11] in [finding.program.operations for finding in job.findings.values()]


def test_a_hunt_that_is_over_is_let_go(world: tuple[Workspace, Watchdog]) -> None:
    """Neither the machine's class nor what was raised keeps a hunt, or what was drawn for it, in memory."""
    job = hunted(replace(PLAIN.plain_files, open=ShortFiles), world, 60)
    found = list(job.findings.values())
    gone = weakref.ref(job)
    del job
    gc.collect()
    assert found
    assert gone() is None


def test_no_shortened_program_is_tried_twice(world: tuple[Workspace, Watchdog]) -> None:
    """What was left out in vain is not left out again when any clause will do."""
    backend = replace(PLAIN.plain_files, open=ShortFiles)
    finding = next(iter(hunted(backend, world, 60).findings.values()))
    tried: Counter[str] = Counter()

    def perform(program: Program, fit: Fit = NO_FIT, /) -> ProgramResult:
        tried[json.dumps(program.to_json())] += 1
        return run_program(backend, program, world[0].fresh_root(), fit=fit)

    assert reduce_finding(finding, perform, seconds=60.0) is not None
    assert len(tried) > 10
    assert set(tried.values()) == {1}
