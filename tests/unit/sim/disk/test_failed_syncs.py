"""What a failed sync of a file means for crashes: what it was to save is never saved, until it is written again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.sim.disk import Fault, Recorder, ops
from conformance.sim.disk.fates import SYNC_FAILED, fates_of, told
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import Disk
from conformance.sim.disk.trace import Trace
from tests.unit.sim.disk.small import ROOT, Done, F, G, N, T, base_of, contents, left, replacing, unrelated

GATING = ("ext4", "xfs", "posix")
LOSSY = ("ext4", "xfs", "btrfs", "posix", "paranoid")
OLD, NEW = b"o" * 100, b"n" * 100
OVERWRITTEN: Done = [ops.Write(F, 0, NEW), ops.SyncFailed(F)]


@pytest.mark.parametrize("sync", [ops.Fsync(F), ops.Fdatasync(F), ops.SyncAll(), ops.FsyncDirectory(ROOT)], ids=repr)
@pytest.mark.parametrize("preset", GATING)
def test_no_later_sync_saves_it(preset: str, sync: ops.DiskOp) -> None:
    """Write, failed sync, good sync: the old content may be there as well as the new one, as often as it is synced."""
    assert contents(preset, *OVERWRITTEN, sync, f=OLD) >= {OLD, NEW}
    assert contents(preset, *OVERWRITTEN, sync, sync, ops.SyncAll(), f=OLD) >= {OLD, NEW}


@pytest.mark.parametrize("preset", GATING)
def test_writing_again_before_the_sync_saves_it(preset: str) -> None:
    """A write to the same page, of any other byte, makes the whole page new: the next good sync saves all of it."""
    assert contents(preset, *OVERWRITTEN, ops.Write(F, 0, NEW), ops.Fsync(F), f=OLD) == {NEW}
    assert contents(preset, *OVERWRITTEN, ops.Write(F, 99, b"!"), ops.Fsync(F), f=OLD) == {NEW[:99] + b"!"}
    again: Done = [ops.Write(F, 0, b"m" * 100), ops.SyncFailed(F), ops.Fsync(F)]
    assert contents(preset, *OVERWRITTEN, *again, f=OLD) >= {OLD, NEW, b"m" * 100}
    assert contents(preset, ops.Write(F, 0, NEW), ops.Fsync(F), ops.SyncFailed(F), f=OLD) == {NEW}


@pytest.mark.parametrize("preset", GATING)
def test_a_sync_before_the_failed_one_saves_it(preset: str) -> None:
    """As a barrier that is tried at that place would."""
    assert contents(preset, ops.Write(F, 0, NEW), ops.Fsync(F), *OVERWRITTEN[1:], ops.Fsync(F), f=OLD) == {NEW}


@pytest.mark.parametrize("preset", GATING)
def test_other_pages_and_files_are_saved(preset: str) -> None:
    """What was written after the failure to another page is saved, and what another file holds."""
    done: Done = [ops.Write(F, 0, b"n" * 4096), ops.SyncFailed(F), ops.Write(F, 4096, b"m" * 4096), ops.Fsync(F)]
    found = contents(preset, *done, f=b"o" * 8192)
    assert {data[4096:] for data in found if data} == {b"m" * 4096}
    assert {data[:4096] for data in found if data} >= {b"o" * 4096, b"n" * 4096}
    both = left(preset, *OVERWRITTEN, ops.Write(G, 0, NEW), ops.Fsync(G), f=OLD, g=OLD)
    assert {files["g"] for files in both} == {NEW}


@pytest.mark.parametrize(
    ("preset", "sizes"), [("ext4", {200}), ("btrfs", {200}), ("xfs", {100, 200}), ("posix", {100, 200})]
)
def test_the_size_within_a_block(preset: str, sizes: set[int]) -> None:
    """Where a size may stand without its page it is saved, and shows NUL where nothing is; elsewhere it waits."""
    found = contents(preset, ops.Write(F, 100, NEW), ops.SyncFailed(F), ops.Fsync(F), f=OLD)
    assert {len(data or b"") for data in found} == sizes
    assert OLD + NEW in found
    assert (OLD + bytes(100) in found) == (preset != "xfs")


@pytest.mark.parametrize("preset", GATING)
def test_the_size_in_a_new_block(preset: str) -> None:
    """A new file whose sync failed may be empty after a later one, and is there with its name where that is saved."""
    new: Done = [ops.Create(ROOT, "f", F), ops.Write(F, 0, NEW), ops.SyncFailed(F)]
    found = contents(preset, *new, ops.Fsync(F), ops.FsyncDirectory(ROOT))
    assert found >= {b"", NEW}
    assert None not in found
    # A page that is written behind it takes the size along, over a hole.
    grown = contents(preset, *new, ops.Write(F, 4096, NEW), ops.Fsync(F), ops.FsyncDirectory(ROOT))
    assert grown >= {NEW + bytes(3996) + NEW, bytes(4096) + NEW}
    assert {len(data or b"") for data in grown} == {4196}


@pytest.mark.parametrize("preset", GATING)
def test_no_rename_and_no_log_saves_it(preset: str) -> None:
    """A new file whose sync failed may be empty in the place of the old one, whatever flushes and commits."""
    new: Done = [ops.Create(ROOT, "t", T), ops.Write(T, 0, NEW), ops.SyncFailed(T)]
    assert b"" in contents(preset, *replacing(*new), ops.FsyncDirectory(ROOT), f=OLD)
    more = [*new, ops.Write(T, 4096, NEW)]
    assert bytes(4096) + NEW in contents(preset, *replacing(*more), ops.Fsync(T), ops.FsyncDirectory(ROOT), f=OLD)


def test_what_a_rename_asked_for_before_the_failure_survives_with_it() -> None:
    """On ext4 the rename and the data that it had asked for are there together or not at all; XFS never asks."""
    done: Done = [
        ops.Create(ROOT, "t", T),
        ops.Write(T, 0, NEW),
        ops.Rename(ROOT, "t", ROOT, "f", T, F),
        ops.SyncFailed(T),
    ]
    assert contents("ext4", *done, f=OLD) == {OLD, NEW}
    assert contents("ext4", *done, *unrelated(), f=OLD) == {NEW}
    assert b"" in contents("xfs", *done, *unrelated(), f=OLD)


@pytest.mark.parametrize("preset", GATING)
def test_a_cut_is_a_newer_version(preset: str) -> None:
    """A file that is emptied after the failure, and written anew, is saved as usual."""
    done: Done = [*OVERWRITTEN, ops.Truncate(F, 100, 0), ops.Write(F, 0, b"m" * 50), ops.Fsync(F)]
    assert contents(preset, *done, f=OLD) == {b"m" * 50}


@pytest.mark.parametrize("preset", ["ext4", "xfs"])
def test_a_failed_sync_commits_nothing(preset: str) -> None:
    """The name of a new file may be lost after it, and a later sync that has nothing else to do saves that."""
    new: Done = [ops.Create(ROOT, "f", F), ops.Write(F, 0, NEW), ops.SyncFailed(F)]
    assert None in contents(preset, *new)
    assert None not in contents(preset, *new, ops.Fsync(F))


def test_dropped_pages_bring_no_log_along() -> None:
    """A sync that writes nothing, because the pages that need blocks were dropped, commits no name made since."""
    appended: Done = [ops.Write(F, 4096, b"n"), ops.SyncFailed(F), *unrelated()]
    late: Done = [*appended, ops.Mkdir(ROOT, "late", 9), ops.Fdatasync(F)]
    disk = Disk(base_of(f=b"o" * 4096), "ext4")
    for op in late:
        disk.feed(op)
    assert {"late" in state.tree.directories for state in disk.states().states} == {True, False}


@pytest.mark.parametrize("preset", ["kill", "ordered"])
def test_presets_without_effects_take_it_for_nothing(preset: str) -> None:
    """A killed process leaves the pages in memory, and the tidy disk saves everything with its next sync."""
    assert contents(preset, *OVERWRITTEN, ops.Fsync(F), f=OLD) == {NEW}
    assert contents(preset, *OVERWRITTEN, f=OLD) == ({NEW} if preset == "kill" else {OLD, NEW})


def test_a_disk_that_lies_drops_too() -> None:
    """Among its samples are the old content and the new one."""
    disk = Disk(base_of(f=OLD), "paranoid")
    done: Done = [*OVERWRITTEN, ops.Fsync(F)]
    for op in done:
        disk.feed(op)
    assert {state.tree.files["f"] for state in disk.states().states} >= {OLD, NEW}


@pytest.fixture
def fsyncgate(patching: object, root: Path) -> Trace:
    """A program that syncs again after a failed sync, recorded in two lives, with a kill between them."""
    (root / "f").write_bytes(OLD)
    with Recorder(root) as recorder:
        recorder.mark_begin(0)
        fd = os.open(root / "f", os.O_WRONLY)
        os.write(fd, NEW)
        recorder.arm(Fault(frozenset({"sync"})))
        with pytest.raises(OSError, match="Input/output error"):
            os.fsync(fd)
        os.close(fd)
        recorder.mark_end(0)
        carried = recorder.trace()
    with Recorder(root, carried=carried) as recorder:
        recorder.mark_begin(1)
        fd = os.open(root / "f", os.O_WRONLY)
        os.fsync(fd)
        os.close(fd)
        recorder.mark_end(1)
        assert recorder.check_image() == ""
        return recorder.trace()


@pytest.mark.parametrize("preset", GATING)
def test_it_goes_on_in_the_next_life(preset: str, fsyncgate: Trace) -> None:
    """A kill syncs nothing and heals nothing: the next process reads the new content, syncs, and may lose it."""
    disk = Disk(fsyncgate.base, preset)
    for op in fsyncgate.ops:
        disk.feed(op)
    assert {state.tree.files["f"] for state in disk.states().states} >= {OLD, NEW}


@pytest.mark.parametrize("preset", LOSSY)
def test_people_are_told_why(preset: str, fsyncgate: Trace) -> None:
    """The line of the write says that a sync failed and later ones did not help; without a later sync it does not."""
    disk = Disk(fsyncgate.base, preset)
    for op in fsyncgate.ops:
        disk.feed(op)
    write = next(index for index, op in enumerate(fsyncgate.ops) if isinstance(op, ops.Write))
    state = disk.state([(write, "page", 0)])
    assert told(fsyncgate, fates_of(fsyncgate, preset, state)) == (
        f"call 0: write 100 bytes at 0 of f: lost ({SYNC_FAILED})",
        "call 0: a sync of f fails",
        "call 1: fsync f",
    )
    early = fsyncgate.until(write + 2)
    lines = told(early, fates_of(early, preset, state))
    assert lines == ("call 0: write 100 bytes at 0 of f: lost", "call 0: a sync of f fails")
    whole = told(fsyncgate, fates_of(fsyncgate, preset, disk.state()))
    assert whole[0] == "call 0: write 100 bytes at 0 of f: survived"


def test_what_is_written_after_the_failure_is_lost_for_other_reasons() -> None:
    """The reason is given only for what came before the failed sync, and with a later sync of that file or of all."""
    written: Done = [ops.Write(F, 0, NEW), ops.SyncFailed(F), ops.Write(F, 0, NEW)]
    cases: list[tuple[ops.DiskOp, int]] = [(ops.Fsync(N), 0), (ops.SyncAll(), 1)]
    for later, reasons in cases:
        done: Done = [ops.Create(ROOT, "other", N), *written, later]
        base = base_of(f=OLD)
        image = base.copy()
        for op in done:
            image.apply(op)
        trace = Trace(base, done, [None] * len(done), image, 20)
        lines = told(trace, ["lost" if isinstance(op, ops.Write) else "done" for op in done])
        assert sum(SYNC_FAILED in line for line in lines) == reasons


def test_lossy_presets_are_all_there() -> None:
    """The list above has every preset with effects."""
    assert set(LOSSY) == {name for name, preset in PRESETS.items() if preset.names in ("log", "chains")}
