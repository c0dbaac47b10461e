"""Explanations: the weakest preset, the class of cause and the missing barrier of stores with one known fault."""

from __future__ import annotations

import pytest

from conformance.contract import SessionHeader
from conformance.drivers.execution import run_program
from conformance.machines.barriers import Barrier
from conformance.machines.explaining import Explained, Explainer
from conformance.machines.faulting import FaultSweep
from conformance.machines.job import Finding
from conformance.model.operations import (
    Crash,
    Create,
    Flush,
    ListSessions,
    OpenInstance,
    OpenSession,
    Program,
)
from conformance.report.crash_text import CrashStory, hexdump
from tests.unit.machines.laboratories import DUR, FAULT, TORN, first_finding, job_for

pytestmark = pytest.mark.usefixtures("patched")

PRESETS = ("kill", "ext4", "xfs", "posix")


def explained(spec: str, preset: str, clause: str) -> Explained:
    """The explanation of what a sweep finds."""
    finding = first_finding(spec, preset, clause)
    with job_for(spec) as job:
        found = Explainer(job, PRESETS).explain(finding)
    assert found is not None
    return found


def test_a_missing_sync_is_named() -> None:
    """Replacing by rename without a sync: XFS is the weakest that shows it, and the sync before the rename mends it."""
    story = explained(f"{DUR}:replaces_without_fsync", "xfs", "DUR-11").story
    assert (story.preset, story.cause, story.is_recovery) == ("xfs", "zero-length replacement", False)
    assert story.barriers
    assert all(each.startswith("fsync(") and ".tmp)" in each and "before: rename" in each for each in story.barriers)


def test_a_recovery_that_fuses_is_told_as_such() -> None:
    """No repair of the tail: recovery is at fault, the class is a fused record, and no barrier is offered."""
    story = explained(f"{TORN}:no_tail_repair", "ext4", "TORN-02").story
    assert (story.cause, story.is_recovery, story.barriers) == ("fused record", True, ())
    assert any(line.startswith("recovery:") for line in story.lines())


def test_after_a_failed_sync_no_barrier_is_offered() -> None:
    """What a failed sync dropped has to be written again: the file is named, and no sync is said to be missing."""
    with job_for(f"{FAULT}:retries_failed_fsync") as job:
        job.presets = ("ext4",)
        job.wanted = {"FAULT-03"}.__contains__
        FaultSweep(job, "sync").run()
        found = Explainer(job, PRESETS).explain(job.findings["FAULT-03"])
    assert found is not None
    assert (found.story.preset, found.story.is_recovery, found.story.barriers) == ("ext4", False, ())
    assert found.story.dropped == ("a/a.jsonl",)
    text = "\n".join(found.lines)
    assert "missing write: after a sync that failed the data has to be written again" in text
    assert "missing barrier" not in text


def test_the_crash_that_is_told_is_small() -> None:
    """The program that is told ends like the finding, loses one effect, and names the clause again."""
    found = explained(f"{TORN}:no_tail_repair", "posix", "TORN-02")
    crash = [each for each in found.finding.program.operations if isinstance(each, Crash)][-1]
    assert len(crash.lost) <= 1
    assert crash.preset == found.story.preset
    assert found.finding.violation.clause == "TORN-02"


def test_without_a_crash_there_is_nothing_to_explain() -> None:
    """A finding whose program has no crash has no story."""
    finding = first_finding(f"{TORN}:no_tail_repair", "ext4", "TORN-02")
    with job_for(f"{TORN}:no_tail_repair") as job:
        plain = tuple(each for each in finding.program.operations if not isinstance(each, Crash))
        without = Finding(finding.clause, type(finding.program)(plain), finding.violation)
        assert Explainer(job, PRESETS).explain(without) is None


def test_a_story_tells_files_and_bytes() -> None:
    """Files that differ are marked, and the bytes are shown from where they differ."""
    before: dict[str, bytes | str] = {"s/log": b"x" * 40, "s/other": b"y", "s/": b"", "link": "s/log"}
    after: dict[str, bytes | str] = {"s/log": b"x" * 20 + bytes(20), "s/other": b"y", "s/": b""}
    story = CrashStory(
        "ext4", "NUL tail", False, ("fsync(s/log) before call 2 returns",), ("call 1: write",), before, after
    )
    text = "\n".join(story.lines())
    assert "weakest preset: ext4 · cause class: NUL tail" in text
    assert "missing barrier: fsync(s/log) before call 2 returns" in text
    assert "* s/log" in text
    assert "  s/other" in text
    assert "* link" in text
    assert "from byte 20 on" in text
    assert "00000010  78 78 78 78 00" in text


def test_what_was_lost_is_named_or_what_survived() -> None:
    """The shorter of the two is told, its operations by name up to a dozen; a state that lost nothing says so."""

    def told(named: int, at_stake: int, *, survivors: bool) -> list[str]:
        lines = tuple(f"call {number}: write" for number in range(named))
        story = CrashStory("ext4", "torn record", True, (), (), {}, {}, (), False, False, lines, survivors, at_stake)
        return [line for line in story.lines() if "write" in line or "durable yet" in line or "more" in line]

    assert told(1, 9, survivors=False) == ["lost: 1 of 9 disk operations that were not durable yet", "  call 0: write"]
    assert told(2, 14, survivors=True)[0] == "survived: only 2 of 14 disk operations that were not durable yet"
    assert told(0, 1, survivors=True) == ["survived: nothing of 1 disk operation that was not durable yet"]
    assert told(0, 5, survivors=False) == ["lost: nothing of 5 disk operations that were not durable yet"]
    assert told(0, 0, survivors=False) == []
    assert told(15, 40, survivors=False)[-2:] == ["  call 11: write", "  … and 3 more, see the table"]


def test_the_explanation_names_what_was_lost() -> None:
    """What is lost of one write is named, and its mark stands in the table as well."""
    story = explained(f"{TORN}:no_tail_repair", "ext4", "TORN-02").story
    assert not story.are_survivors
    assert len(story.named) == story.at_stake == 1
    text = "\n".join(story.lines())
    assert f"lost: {len(story.named)} of {story.at_stake} disk operation" in text
    bare = story.named[0].removesuffix(" (in part)").removesuffix(" (torn)")
    assert any(line.startswith(bare) for line in story.table)


def test_the_explanation_names_what_survived() -> None:
    """An entry is lost, and with it all of the log behind it: nothing survived is said in fewer words."""
    story = explained(f"{DUR}:directory_is_not_synced", "ext4", "DUR-02").story
    assert (story.are_survivors, story.named, story.at_stake) == (True, (), 2)
    assert "survived: nothing of 2 disk operations that were not durable yet" in story.lines()
    assert sum(line.endswith(": lost") for line in story.table) == 2


def test_a_barrier_that_mends_the_preset_alone_is_offered_as_such() -> None:
    """The log's name is never synced, and in a second life nor is that of its directory, which ext4 forgives."""
    header = SessionHeader(id="s", created_at=0)
    program = Program(
        (
            *(OpenInstance(1), Create(1, 1, header), Crash("kill")),
            *(OpenInstance(2), OpenSession(2, 2, "s", "write"), Create(2, 3, header), Flush(3)),
            *(Crash("ext4", lost=((18, "entry", 0),)), OpenInstance(3), ListSessions(3)),
        )
    )
    with job_for(f"{DUR}:lock_file_is_synced_for_the_directory") as job:
        violation = run_program(job.backend, program, job.workspace.fresh_root()).violation
        assert violation is not None
        found = Explainer(job, PRESETS).explain(Finding(violation.clause, program, violation))
    assert found is not None
    assert (found.story.preset, found.story.is_partial) == ("ext4", True)
    assert any("fsync(directory s)" in each for each in found.story.barriers)
    assert any("it mends every state under ext4; under posix more is missing" in line for line in found.lines)


def test_where_syncs_lie_no_barrier_is_missing() -> None:
    """A disk that reports syncs it did not make is not mended by one more."""
    story = CrashStory("paranoid", "torn record", False, (), (), {}, {}, lies=True)
    assert "no barrier helps: in paranoid a sync may save nothing, and be reported done" in story.lines()
    assert not any(line.startswith("missing barrier") for line in story.lines())


def test_rows_of_nul_are_told_once() -> None:
    """A long run of NUL takes two rows and a word, not a screen."""
    rows = list(hexdump(b"a" * 16 + bytes(4096), 16))
    assert len(rows) == 3
    assert rows[-1].endswith("all NUL")


@pytest.mark.parametrize(("directory", "kind"), [(False, "Fsync"), (True, "FsyncDirectory")])
def test_a_barrier_is_a_sync(directory: bool, kind: str) -> None:
    """A barrier of a file is its fsync, one of a directory the directory's."""
    assert type(Barrier(3, directory, 1).op).__name__ == kind
