"""The fault sweep: silent where nothing is wrong, loud where something is, honest about what it tried."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from conformance.clauses import Violation
from conformance.clauses.levels import presets_of
from conformance.drivers.execution import Execution
from conformance.drivers.registry import load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.machines.fault_modes import ABOUT_ONE, ALL_BUT_ONE, BYTE_BY_BYTE, GROUPS, Mode, more_modes
from conformance.machines.faulting import FaultSweep
from conformance.machines.job import BudgetSpent, Job
from conformance.model.operations import Crash, Fail, Program
from tests.unit.machines.laboratories import FAULT, ROOT

pytestmark = pytest.mark.usefixtures("patched")

SMALL = (Mode(("rename", "unlink"), "EBUSY"), Mode(("write",), "", "short", ALL_BUT_ONE, once=True))
"""Few calls are hit by these: twice the first kind, once the second."""


class Watched(Job):
    """Keeps every program, ends with the first finding where it is to, and may be out of time at any look."""

    programs_seen: list[Program]
    ends: bool
    looks: int | None

    def end(self, execution: Execution, *, counted: bool = True) -> None:
        """Keep its program."""
        self.programs_seen.append(execution.program)
        super().end(execution, counted=counted)

    def found(self, violation: Violation, execution: Execution) -> bool:
        """Keep it, and let nothing follow."""
        if super().found(violation, execution) and self.ends:
            self.spent = True
            raise BudgetSpent
        return False

    def check_budget(self) -> None:
        """Count the looks."""
        if self.looks is not None:
            self.looks -= 1
            if self.looks < 0:
                self.spent = True
                raise BudgetSpent


@contextlib.contextmanager
def watched(spec: str = "jsonl", *, ends: bool = False, looks: int | None = None) -> Iterator[Watched]:
    """A job over a backend; ``looks``: after how many looks at the clock its time is over."""
    with Workspace() as workspace, Watchdog() as watchdog:
        backend = load_backend(spec, ROOT)
        presets = presets_of(backend.capabilities.durability)
        job = Watched(backend, None, workspace, None, watchdog, "item", 0, 100, presets=presets)
        job.programs_seen, job.ends, job.looks = [], ends, looks
        yield job


def swept(job: Job, name: str) -> FaultSweep:
    """A sweep that has run."""
    sweep = FaultSweep(job, name)
    sweep.run()
    return sweep


def faults_in(job: Watched) -> list[Fail]:
    """The fault of each life, in order."""
    found = [[each for each in program.operations if isinstance(each, Fail)] for program in job.programs_seen]
    assert all(len(each) == 1 for each in found)
    return [each[0] for each in found]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of few faults beside the others."""
    monkeypatch.setitem(GROUPS, "small", SMALL)


@pytest.mark.usefixtures("small")
def test_reference_withstands_every_call_that_fails() -> None:
    """Nothing is found, every call of the kinds was hit once, and the clauses about faults are witnessed."""
    with watched() as job:
        sweep = swept(job, "small")
        assert job.findings == {}
        assert (sweep.coverage.modes, sweep.coverage.of_modes) == (3, 3)
        assert sweep.coverage.lives == sweep.coverage.calls + 3 == len(job.programs_seen)
        assert sweep.coverage.calls > 5
        assert {"FAULT-01", "FAULT-06", "FAULT-08"} <= set(job.witnesses)
        for sticky in (False, True):
            hit = [each.nth for each in faults_in(job) if each.calls[0] == "rename" and each.sticky == sticky]
            assert hit == list(range(1, len(hit) + 1))
        assert f"small: 3 of 3 kinds of faults, {sweep.coverage.calls} calls that failed" in job.coverage
        assert "(exhaustive)" in job.coverage
        assert "none lost its power" in job.coverage


@pytest.mark.usefixtures("small")
def test_the_same_sweep_performs_the_same_programs() -> None:
    """Nothing is drawn: two sweeps of one backend perform the same operations and witness the same."""
    found = []
    for _ in range(2):
        with watched() as job:
            swept(job, "small")
            found.append(([program.to_json() for program in job.programs_seen], dict(job.witnesses)))
    assert found[0] == found[1]


PLANTED = {
    "write": ("bytes_of_a_failed_write_stay", "FAULT-01"),
    "short": ("write_that_ends_a_line_counts_as_whole", "FAULT-01"),
    "sync": ("dirty_mark_is_cleared_before_the_sync", "FAULT-03"),
    "names": ("failed_mkdir_is_found_out_later", "FAULT-01"),
    "read": ("read_error_is_absence", "FAULT-04"),
}
"""Group -> a mutant that it finds, and the clause that is blamed."""


def test_each_group_has_something_to_find() -> None:
    """No group of faults is left out of the next test."""
    assert PLANTED.keys() == GROUPS.keys()


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name: str) -> None:
    """Each group finds what is planted for it, where a call failed; for a failed sync the power has to be lost."""
    mutant, clause = PLANTED[name]
    with watched(f"{FAULT}:{mutant}", ends=True) as job:
        job.wanted = {clause}.__contains__
        swept(job, name)
        assert set(job.findings) == {clause}
        kinds = [type(each) for each in job.findings[clause].program.operations]
        assert Fail in kinds
        assert (Crash in kinds) == (clause == "FAULT-03")
        assert "not exhaustive" in job.coverage


def test_every_place_of_a_write_is_counted_through() -> None:
    """For each kind of place the first, the second and so on, until there is none; a line has two of them."""
    with watched("jsonl-raw") as job:
        sweep = swept(job, "short")
        assert job.findings == {}
        assert (sweep.coverage.modes, sweep.coverage.of_modes) == (12, 12)
        assert f"short: 12 of 12 kinds of faults, {sweep.coverage.calls} places at which a write ended" in job.coverage
        for place in ("page", "record", "character", "middle"):
            hit = [each.nth for each in faults_in(job) if each.place == place and not each.error]
            assert hit == list(range(1, len(hit) + 1))
            # The last one was there no more.
            assert len(hit) > (3 if place != "page" else 1)


def test_deep_runs_look_at_every_byte() -> None:
    """What is added to the short writes of a deep sweep ends them at bytes, and nothing else is added."""
    assert {mode.place for mode in BYTE_BY_BYTE} == {"byte"}
    with watched(looks=30) as job:
        FaultSweep(job, "short", more=BYTE_BY_BYTE).run()
        hit = [each.nth for each in faults_in(job) if each.place == "byte" and not each.error]
        assert hit == list(range(1, len(hit) + 1))
        assert len(hit) >= 2


def test_thorough_runs_meet_every_error() -> None:
    """Each error of the disk model comes of each kind of call that it belongs to; ordinary runs have likely ones."""
    assert all(more_modes(name, 4) == () for name in GROUPS)
    assert more_modes("read", 5) == ABOUT_ONE
    assert more_modes("short", 5) == ()
    assert more_modes("short", 6) == BYTE_BY_BYTE
    modes = [mode for name in GROUPS for mode in (*GROUPS[name], *more_modes(name, 5))]
    every = {(call, mode.error) for mode in modes for call in mode.calls}
    named = {(call, error) for call in ("open", "rename", "link", "unlink") for error in ("EPERM", "EBUSY", "EACCES")}
    written = {("write", error) for error in ("EIO", "ENOSPC", "EDQUOT", "EFBIG")}
    assert named | written | {("open", "EMFILE"), ("close", "EIO"), ("sync", "EIO"), ("read", "EIO")} <= every
    assert len(set(modes)) == len(modes)


def test_only_failed_syncs_are_followed_by_a_loss_of_power() -> None:
    """A life of the group about syncs ends in peace and in a crash; one of another group never crashes."""
    for name, crashed in (("sync", [False, True]), ("names", [False, False])):
        with watched(looks=2) as job:
            sweep = swept(job, name)
            assert sweep.coverage.lives == 2
            ends = [any(isinstance(each, Crash) for each in program.operations) for program in job.programs_seen]
            assert ends == crashed


def test_a_sweep_that_runs_out_of_time_says_so() -> None:
    """Nothing is called exhaustive that was not, and what was tried is told."""
    for looks in (0, 3):
        with watched(looks=looks) as job:
            sweep = swept(job, "names")
            assert job.spent
            assert sweep.coverage.lives == looks
            assert f"names: 0 of 16 kinds of faults, {looks} calls that failed" in job.coverage
            assert "(not exhaustive)" in job.coverage
