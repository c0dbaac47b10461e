"""The damage machine: silent where nothing is wrong, the same for the same seed, and it finds what is planted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from conformance.contract import SessionHeader
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.harming import HARMING, hunt
from conformance.machines.job import Job
from conformance.model.adversities import HOW_DAMAGED
from conformance.model.history import Completion, Returned
from conformance.model.operations import (
    Append,
    Close,
    Create,
    Damage,
    Flush,
    OpenInstance,
    OpenSession,
    Operation,
    Program,
    Read,
)
from tests.unit.machines.laboratories import ROOT

FMT = "tests/mutants/fmt.py"
PLAIN = load_backend("tests/variants/plain_files.py:plain_files", ROOT)


class Watched(Job):
    """Keeps the operations of every program."""

    seen: list[list[Operation]]

    def end(self, execution: Execution, *, counted: bool = True) -> None:
        """Keep them."""
        self.seen.append(list(execution.operations))
        super().end(execution, counted=counted)


@contextlib.contextmanager
def watched(spec: str = "jsonl", *, seed: int = 1, examples: int = 60) -> Iterator[Watched]:
    """A job over a backend."""
    with Workspace() as workspace, Watchdog() as watchdog:
        job = Watched(load_backend(spec, ROOT), None, workspace, None, watchdog, "item", seed, examples)
        job.seen = []
        yield job


@pytest.mark.parametrize("spec", ["jsonl", "jsonl-raw", "tests/variants/marked_files.py:marked_files"])
def test_conforming_backends_are_silent(spec: str) -> None:
    """Each program damages once, most kinds of damage come, and the clauses about them are witnessed."""
    with watched(spec) as job:
        hunt(job)
        assert job.findings == {}
        damages = [[each for each in operations if isinstance(each, Damage)] for operations in job.seen]
        assert [len(each) for each in damages] == [1] * 60
        kinds = {each[0].how for each in damages}
        assert kinds <= set(HOW_DAMAGED)
        assert len(kinds) > 12
        assert {"FMT-04", "FMT-09", "FMT-11", "FMT-12", "SVC-07", "SVC-14", "TORN-01"} <= set(job.witnesses)


def test_the_same_seed_makes_the_same_programs() -> None:
    """Seeded choices alone decide; another seed makes other programs."""
    found = []
    for seed in (1, 1, 2):
        with watched(seed=seed, examples=8) as job:
            hunt(job)
            found.append([[each.to_json() for each in operations] for operations in job.seen])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("mutant", "clause"),
    [
        ("skips_bad_line", "FMT-04"),
        ("header_of_another_id_is_accepted", "FMT-06"),
        ("marked_record_is_dropped", "FMT-12"),
    ],
)
def test_what_is_planted_is_found(mutant: str, clause: str) -> None:
    """The hunt ends with the first program that breaks a clause that gates, and keeps it."""
    with watched(f"{FMT}:{mutant}", examples=300) as job:
        job.wanted = {clause}.__contains__
        hunt(job)
        assert set(job.findings) == {clause}
        assert any(isinstance(each, Damage) for each in job.findings[clause].program.operations)


def test_time_is_up() -> None:
    """A hunt whose time is used up performs nothing more."""
    with watched() as job:
        job.deadline = time.monotonic() - 1
        HARMING.hunt(job)
        assert job.spent
        assert job.seen == []


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("is_read_first", [True, False], ids=["read before", "never read"])
def test_an_owner_goes_on_before_another_one_does(is_read_first: bool) -> None:
    """What a fresh instance read of a damaged log is outdated once its owner appended: the next one goes on behind."""
    events = [{"type": "user/message", "time": 1_700_000_000_000, "data": None, "seq": seq} for seq in range(7)]
    program: list[Operation] = [OpenInstance(1), Create(1, 1, SessionHeader(id="s", created_at=0))]
    for seq in range(4):
        program += [Append(1, [events[seq]]), Flush(1)]
    program += [Damage("s", "flip", (1, 40)), OpenInstance(2)]
    if is_read_first:
        program += [OpenSession(2, 2, "s", "read"), Read(2)]
    program += [Append(1, events[4:6]), OpenInstance(3), OpenSession(3, 3, "s", "write")]
    if is_read_first:
        program += [Read(3)]
    program += [Append(3, events[6:]), Flush(3), Close(3), OpenInstance(4), OpenSession(4, 4, "s", "read"), Read(4)]
    with Workspace() as workspace:
        done = run_program(PLAIN, Program(tuple(program)), workspace.fresh_root())
    assert done.violation is None
    read = done.history[-1]
    assert isinstance(read, Completion)
    assert isinstance(read.outcome, Returned)
    assert isinstance(read.outcome.value, list)
    assert len(read.outcome.value) == 7
