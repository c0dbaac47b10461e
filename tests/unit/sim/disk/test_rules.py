"""The rules of the presets, each in the smallest program that shows it."""

from __future__ import annotations

import random

import pytest

from conformance.sim.disk import ops
from conformance.sim.disk.image import FileSystem, Tree
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import Disk
from tests.unit.sim.disk.programs import base_disk, random_ops
from tests.unit.sim.disk.small import (
    ROOT,
    D,
    Done,
    E,
    F,
    G,
    N,
    T,
    base_of,
    contents,
    enumerated,
    left,
    replacing,
    unrelated,
)

LOGS = ("ext4", "xfs")
LOSSY = sorted(name for name, preset in PRESETS.items() if preset.is_power_loss and not preset.lies)


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("preset", LOSSY)
def test_what_was_possible_stays_so_until_a_sync(preset: str, failing: bool) -> None:
    """An operation takes no state away that a crash could leave before it, a sync adds none, a failed one does neither.

    But for btrfs, where a sync saves later names past earlier ones.
    """
    for seed in range(60):
        rng = random.Random(seed)
        base = base_disk(rng)
        done = list(random_ops(rng, base.copy(), 8, failing=failing))
        disk = Disk(base, preset)
        before = disk.states(20_000)
        for index, op in enumerate(done):
            disk.feed(op)
            after = disk.states(20_000)
            keys = {state.key for state in before.states}, {state.key for state in after.states}
            is_sync = isinstance(op, ops.Sync)
            if before.is_exhaustive and after.is_exhaustive and not (is_sync and preset == "btrfs"):
                assert keys[1] <= keys[0] if is_sync else keys[0] <= keys[1], (seed, index, op)
                assert keys[0] == keys[1] or not isinstance(op, ops.SyncFailed), (seed, index, op)
            before = after


@pytest.mark.parametrize("preset", LOGS)
def test_truncation_keeps_new_data_or_nul(preset: str) -> None:
    """A durable truncation of blocks that never were on the disk may leave NUL, and never more than the new data."""
    done: Done = [
        ops.Create(ROOT, "f", F),
        ops.Write(F, 0, b"A" * 5000),
        ops.Truncate(F, 5000, 4500),
        *unrelated(),
    ]
    found = contents(preset, *done)
    assert found == {a + b for a in (b"A" * 4096, bytes(4096)) for b in (b"A" * 404, bytes(404))}


@pytest.mark.parametrize("preset", LOGS)
def test_no_old_bytes_behind_a_cut(preset: str) -> None:
    """What grows again over a durable cut shows new data or NUL, whatever wrote the page and whenever."""
    repaired: Done = [ops.Truncate(F, 1100, 1000), *unrelated(), ops.Write(F, 1000, b"N" * 100)]
    tails = {(data or b"")[1000:] for data in contents(preset, *repaired, f=b"o" * 1100)}
    assert tails == {b"", b"N" * 100} | ({bytes(100)} if preset == "ext4" else set())
    regrown: Done = [ops.Truncate(F, 3000, 1000), ops.Truncate(F, 1000, 2000), *unrelated()]
    assert contents(preset, *regrown, f=b"o" * 3000) == {b"o" * 1000 + bytes(1000)}
    undone: Done = [
        ops.Write(F, 1000, b"A" * 200),
        ops.Truncate(F, 1200, 1000),
        ops.Write(F, 1000, b"B" * 100),
    ]
    assert all(b"A" not in (data or b"")[:1100] for data in contents(preset, *undone, *unrelated(), f=b"o" * 1000))


@pytest.mark.parametrize("preset", LOGS)
def test_truncation_does_not_save_an_overwrite(preset: str) -> None:
    """What was overwritten before the cut is old or new where the truncation survives."""
    done: Done = [ops.Write(F, 0, b"A" * 1000), ops.Truncate(F, 2000, 1500), *unrelated()]
    assert contents(preset, *done, f=b"o" * 2000) == {b"A" * 1000 + b"o" * 500, b"o" * 1500}


def test_emptied_file_has_no_block() -> None:
    """After a synced truncation to nothing a size grows with its data, for there is no block that it could grow in."""
    for synced in ([ops.Fsync(F)], unrelated()):
        done = [ops.Truncate(F, 4096, 0), *synced, ops.Write(F, 0, b"n" * 100)]
        assert contents("ext4", *done, f=b"o" * 4096) == {b"", b"n" * 100}


def test_blocks_are_those_of_their_time() -> None:
    """A size that grew within its block keeps its NUL tail as an outcome where the file is emptied later."""
    done: Done = [ops.Write(F, 1000, b"A" * 100), ops.Truncate(F, 1100, 0)]
    assert b"o" * 1000 + bytes(100) in contents("ext4", *done, f=b"o" * 1000)
    reserved: Done = [
        ops.Create(ROOT, "f", F),
        ops.Write(F, 0, b"A" * 100),
        ops.Fallocate(F, 0, 4096, keep_size=True),
    ]
    assert contents("ext4", *reserved, *unrelated()) == {b"", b"A" * 100}


def test_rewriting_in_place_may_leave_nothing() -> None:
    """An emptied and rewritten file may be old, empty, or new, and the new length never shows the old bytes."""
    for preset in LOGS:
        found = contents(preset, ops.Truncate(F, 5000, 0), ops.Write(F, 0, b"n" * 100), *unrelated(), f=b"o" * 5000)
        assert found == {b"", b"n" * 100}


def test_replacing_writes_what_has_no_blocks_yet() -> None:
    """On ext4 a new file that replaces another is whole; a fresh name, and XFS, get no such help."""
    new: Done = [ops.Create(ROOT, "t", T), ops.Write(T, 0, b"n" * 5000)]
    assert contents("ext4", *replacing(*new), f=b"o") == {b"n" * 5000}
    assert b"" in contents("xfs", *replacing(*new), f=b"o")
    fresh: Done = [*new, ops.Rename(ROOT, "t", ROOT, "f", T, None), *unrelated()]
    assert b"" in contents("ext4", *fresh)


def test_replacing_does_not_write_what_has_blocks() -> None:
    """Bytes appended within a block, reserved, or rewritten in place are not written by the rename, nor twice."""
    durable: Done = [ops.Create(ROOT, "t", T), ops.Write(T, 0, b"n" * 100), ops.Fsync(T)]
    assert b"n" * 100 in contents("ext4", *replacing(*durable, ops.Write(T, 100, b"m" * 50)), f=b"o")
    reserved: Done = [
        ops.Create(ROOT, "t", T),
        ops.Fallocate(T, 0, 4096, keep_size=True),
        ops.Write(T, 0, b"n" * 100),
    ]
    assert bytes(100) in contents("ext4", *replacing(*reserved), f=b"o")
    emptied: Done = [*durable, ops.Truncate(T, 100, 0), ops.Fsync(T), ops.Write(T, 0, b"m" * 50)]
    assert contents("ext4", *replacing(*emptied), f=b"o") == {b"m" * 50}
    new: Done = [
        ops.Create(ROOT, "t", T),
        ops.Write(T, 0, b"n" * 100),
        ops.Rename(ROOT, "t", ROOT, "f", T, F),
    ]
    again: Done = [*new, ops.Write(T, 100, b"m" * 50), ops.Rename(ROOT, "f", ROOT, "g", T, G), *unrelated()]
    assert b"n" * 100 in {files.get("g") for files in left("ext4", *again, f=b"o", g=b"o")}


def is_saved(preset: str, *done: ops.DiskOp, **durable: bytes) -> bool:
    """Whether the directory e/new, made before these operations, is there in every state."""
    states = enumerated(preset, [ops.Mkdir(E, "new", N), *done], base_of(**durable)).states
    return all("e/new" in state.tree.directories for state in states)


@pytest.mark.parametrize("preset", LOGS)
def test_clean_inodes_commit_nothing(preset: str) -> None:
    """A sync of what has no change of metadata commits nothing of the log, as often as it is asked for."""
    assert not is_saved(preset, ops.Fsync(F), ops.Fdatasync(F), f=b"o" * 100)
    assert not is_saved(preset, ops.Write(F, 0, b"n" * 100), ops.Fdatasync(F), ops.Fsync(F), f=b"o" * 100)
    assert not is_saved(preset, ops.FsyncDirectory(D), f=b"")
    assert is_saved(preset, ops.FsyncDirectory(E), f=b"")
    assert is_saved(preset, ops.Write(F, 100, b"n"), ops.Fdatasync(F), f=b"o" * 100)
    assert is_saved(preset, ops.SyncAll())


@pytest.mark.parametrize("preset", LOGS)
def test_changes_that_are_committed_are_clean(preset: str) -> None:
    """A change that an earlier commit took along does not commit a second time."""
    touched: Done = [ops.Create(D, "a", F), ops.Create(ROOT, "b", T), ops.Fsync(T), ops.Mkdir(E, "late", G)]
    for sync in (ops.Fsync(F), ops.FsyncDirectory(D)):
        found = enumerated(preset, [*touched, sync], base_of()).states
        assert {"e/late" in state.tree.directories for state in found} == {True, False}


def test_data_without_blocks_commits() -> None:
    """On ext4 a sync whose data need blocks, or are the first in reserved ones, commits the log at that moment."""
    appended: Done = [ops.Write(F, 4096, b"n"), ops.Create(ROOT, "b", T), ops.Fsync(T)]
    late: Done = [*appended, ops.Mkdir(E, "late", N), ops.Fdatasync(F)]
    found = enumerated("ext4", late, base_of(f=b"o" * 4096)).states
    assert all("e/late" in state.tree.directories for state in found)
    reserved: Done = [
        ops.Fallocate(F, 4096, 4096, keep_size=False),
        ops.SyncAll(),
        ops.Write(F, 4096, b"n"),
    ]
    found = enumerated("ext4", [*reserved, ops.Mkdir(E, "late", N), ops.Fdatasync(F)], base_of(f=b"o" * 4096)).states
    assert all("e/late" in state.tree.directories for state in found)


@pytest.mark.parametrize("preset", LOGS)
def test_data_sync_commits_no_names(preset: str) -> None:
    """A new name or place of a file is saved by fsync of it and not by fdatasync."""
    renamed = ops.Rename(ROOT, "f", ROOT, "h", F, None)
    for change, name in ((renamed, "h"), (ops.Link(ROOT, "l", F), "l"), (ops.Unlink(ROOT, "f", F), None)):
        for sync, saved in ((ops.Fdatasync(F), {True, False}), (ops.Fsync(F), {True})):
            found = left(preset, change, sync, f=b"o")
            assert {(name in files) if name else "f" not in files for files in found} == saved


def test_log_up_to_the_last_change() -> None:
    """XFS commits what came before the last change of what is synced, ext4 what came after it too."""
    done: Done = [ops.Mkdir(D, "before", T), ops.Write(F, 1, b"n"), ops.Mkdir(D, "after", N), ops.Fsync(F)]
    for preset, saved in (("ext4", {2}), ("xfs", {1, 2})):
        states = enumerated(preset, done, base_of(f=b"o")).states
        assert {len(state.tree.directories & {"d/before", "d/after"}) for state in states} == saved


@pytest.mark.parametrize("preset", LOGS)
def test_commit_takes_the_sizes_of_others_along(preset: str) -> None:
    """A committed log holds the truncations and reservations of other files, and not what was written to them."""
    cut: Done = [ops.Truncate(F, 5000, 10), *unrelated()]
    assert contents(preset, *cut, f=b"o" * 5000) == {b"o" * 10}
    grown: Done = [ops.Fallocate(F, 0, 5000, keep_size=False), ops.Write(F, 100, b"n"), *unrelated()]
    assert contents(preset, *grown, f=b"o" * 100) == {b"o" * 100 + tail + bytes(4899) for tail in (b"n", b"\0")}


@pytest.mark.parametrize("synced", [D, E])
@pytest.mark.parametrize("preset", [*LOGS, "btrfs", "posix"])
def test_rename_between_directories(preset: str, synced: int) -> None:
    """A sync of either directory saves both names, and what stood before them in their chains."""
    before: Done = [
        ops.Create(E, "x", T),
        ops.Unlink(E, "x", T),
        ops.Create(D, "x", N),
        ops.Fsync(N),
        ops.Create(D, "y", G),
    ]
    found = left(preset, *before, ops.Rename(D, "x", E, "x", N, None), ops.FsyncDirectory(synced))
    assert {tuple(sorted(files)) for files in found} <= {("d/y", "e/x"), ("e/x",)}
    # In posix the other directory's own names are still at stake.
    assert (("e/x",) in {tuple(sorted(files)) for files in found}) == (preset in ("btrfs", "posix") and synced == E)


def test_publishing_by_link() -> None:
    """A file linked to its name and unlinked from the temporary one may be at either, at both, and at none in posix."""
    published: Done = [
        ops.Create(ROOT, "t", T),
        ops.Write(T, 0, b"n"),
        ops.Fsync(T),
        ops.FsyncDirectory(ROOT),
    ]
    published += [ops.Link(ROOT, "f", T), ops.Unlink(ROOT, "t", T)]
    for preset in (*LOGS, "posix"):
        names = {tuple(sorted(files)) for files in left(preset, *published)}
        assert names == {("f",), ("f", "t"), ("t",)} | ({()} if preset == "posix" else set())
        safe = [*published[:-1], ops.FsyncDirectory(ROOT), published[-1]]
        assert {tuple(sorted(files)) for files in left(preset, *safe)} == {("f",), ("f", "t")}


def test_linked_names_are_told_from_equal_files() -> None:
    """Two names of one file and two files that are equal are two images, for an append tells them apart."""
    copied: Done = [ops.Create(ROOT, "g", G), ops.Write(G, 0, b"n"), ops.SyncAll()]
    linked = enumerated("ext4", [ops.Link(ROOT, "g", F), ops.SyncAll()], base_of(f=b"n")).states[0]
    equal = enumerated("ext4", copied, base_of(f=b"n")).states[0]
    assert linked.tree == equal.tree
    assert linked.key != equal.key


@pytest.mark.parametrize("preset", [*LOGS, "posix"])
def test_file_without_a_name(preset: str) -> None:
    """What is written to a removed file is seen where the removal is lost, and nowhere else."""
    found = contents(preset, ops.Unlink(ROOT, "f", F), ops.Write(F, 0, b"n"), f=b"o")
    assert found == {None, b"o", b"n"}
    unnamed: Done = [ops.CreateUnnamed(T), ops.Write(T, 0, b"n"), ops.Fsync(T), ops.Link(ROOT, "f", T)]
    assert contents(preset, *unnamed) == {None, b"n"}


def test_absent_root() -> None:
    """The root's own name is saved by its parent's sync, and everything in it is gone where it is."""
    made: Done = [
        ops.Mkdir(0, "root", ROOT),
        ops.Mkdir(ROOT, "d", D),
        ops.Create(D, "f", F),
        ops.Write(F, 0, b"n"),
    ]
    made += [ops.Fsync(F), ops.FsyncDirectory(D)]
    safe: Done = [*made, ops.FsyncDirectory(ROOT), ops.FsyncDirectory(0)]

    def trees(preset: str, done: Done) -> list[Tree]:
        return [state.tree for state in enumerated(preset, done, FileSystem(("root",))).states]

    assert [len(tree.files) for tree in trees("ext4", made)] == [1]
    assert [len(tree.files) for tree in trees("posix", safe)] == [1]
    assert {(tree.directories, *tree.files) for tree in trees("posix", made)} == {
        (frozenset(),),
        (frozenset({"."}),),
        (frozenset({".", "d"}), "d/f"),
    }


def test_reserved_blocks_show_nothing() -> None:
    """A reservation past the end keeps the size, and data in it may come after the size (ext4) or with it (XFS)."""
    done: Done = [ops.Fallocate(F, 0, 8192, keep_size=True), ops.Fsync(F), ops.Write(F, 10, b"n" * 5000)]
    old = b"o" * 10
    assert contents("ext4", ops.Fallocate(F, 0, 8192, keep_size=True), f=old) == {old}
    assert old + bytes(5000) in contents("ext4", *done, f=old)
    assert {len(data or b"") for data in contents("xfs", *done, f=old)} == {10, 4096, 5010}
    assert old + bytes(5000) not in contents("xfs", *done, f=old)


@pytest.mark.parametrize("preset", [*LOGS, "posix"])
def test_writing_past_the_end(preset: str) -> None:
    """The bytes on the way read as NUL, and nothing is there of a page that nobody wrote."""
    found = contents(preset, ops.Write(F, 9000, b"n"), f=b"o" * 10)
    whole = b"o" * 10 + bytes(8990) + b"n"
    assert {b"o" * 10, whole} <= found
    assert all(data == whole[: len(data)] or data == whole[:-1] + b"\0" for data in map(bytes, filter(None, found)))
    assert {len(data or b"") for data in found} == {
        "ext4": {10, 4096, 9001},
        "xfs": {10, 9001},
        "posix": {10, 4096, 8192, 9001},
    }[preset]
    # A later write into the gap gives the size a block to end in.
    filled = contents(preset, ops.Write(F, 9000, b"n"), ops.Write(F, 5000, b"m"), f=b"o" * 10)
    assert b"o" * 10 + bytes(4990) + b"m" + bytes(3191) in filled


@pytest.mark.parametrize(("preset", "sizes"), [("ext4", {3000, 4096, 8192, 9000}), ("xfs", {3000, 4096, 8192, 9000})])
def test_size_steps_of_a_long_write(preset: str, sizes: set[int]) -> None:
    """A size may stop at each page edge of a write, and past the first one only with the page that it ends in."""
    found = contents(preset, ops.Write(F, 3000, b"n" * 6000), f=b"o" * 3000)
    assert {len(data or b"") for data in found} == sizes
    assert all((data or b"").endswith(b"n") for data in found if data and len(data) > 4096)
    assert any(data and len(data) == 9000 and bytes(4096) in data for data in found)


def test_torn_pages() -> None:
    """One page holds some sectors of a later version and the rest of an earlier one, as far as the size shows it."""
    found = contents("posix", ops.Write(F, 0, b"a" * 4096), ops.Write(F, 0, b"b" * 4096), f=b"o" * 4096)
    for old, new in (("o", "a"), ("o", "b"), ("a", "b")):
        assert {(new * 512 * at + old * 512 * (8 - at)).encode() for at in range(9)} <= found
    assert len(found) == 3 + 3 * 7
    grown = contents("posix", ops.Write(F, 1000, b"a" * 1000), f=b"o" * 1000)
    assert {b"o" * 1000 + b"a" * 24 + bytes(976), b"o" * 1000 + b"a" * 536 + bytes(464)} <= grown
    both = left("posix", ops.Write(F, 0, b"a" * 1024), ops.Write(G, 0, b"a" * 1024), f=b"o" * 1024, g=b"o" * 1024)
    assert not any(b"ao" in files["f"] and b"ao" in files["g"] for files in both)


def test_nothing_is_written_by_a_write_of_nothing() -> None:
    """A write of no bytes past the end does not move it."""
    assert contents("posix", ops.Write(F, 5000, b""), f=b"o") == {b"o"}


def test_budget_of_one_question_does_not_bind_the_next() -> None:
    """What was counted within a small budget is counted anew within a larger one."""
    disk = Disk(base_of(), "posix")
    for number in range(8):
        disk.feed(ops.Create(ROOT, str(number), 10 + number))
    small = disk.states(10)
    assert (small.is_exhaustive, len(small.states) <= 10) == (False, True)
    assert disk.count() == 256
    assert len(disk.states().states) == 256


def test_many_names_are_no_trouble() -> None:
    """However many names are at stake, some of the states are given, and the list says that it lacks others."""
    disk = Disk(base_of(), "posix")
    for number in range(1500):
        disk.feed(ops.Create(ROOT, str(number), 10 + number))
    found = disk.states(20)
    assert (found.is_exhaustive, 1 < len(found.states) <= 20, found.legal > 20) == (False, True, True)
