"""The presets that gate at no level: btrfs, as far as it was measured, and the disk that lies."""

from __future__ import annotations

from conformance.sim.choices import FixedChoices, RecordedChoices, SeededChoices
from conformance.sim.disk import ops
from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.presets import PRESETS, presets_of
from conformance.sim.disk.states import Disk, State
from tests.unit.sim.disk.small import (
    ROOT,
    D,
    Done,
    E,
    F,
    N,
    T,
    base_of,
    contents,
    enumerated,
    left,
    replacing,
    unrelated,
)


def test_they_stand_where_they_belong() -> None:
    """Presets are named from the weakest adversary to the strongest, and no level has these two."""
    assert list(PRESETS) == ["kill", "ordered", "ext4", "xfs", "btrfs", "posix", "paranoid"]
    assert not {"btrfs", "paranoid"} & set(presets_of("power-loss-strict"))


def test_btrfs_saves_names_out_of_order() -> None:
    """A synced file is there with its new directories, and what was made before it may be missing."""
    done: Done = [
        ops.Create(D, "a", F),
        ops.Mkdir(E, "new", N),
        ops.Create(N, "b", T),
        ops.Write(T, 0, b"b"),
        ops.Fsync(T),
    ]
    assert {tuple(sorted(files)) for files in left("btrfs", *done)} == {("e/new/b",), ("d/a", "e/new/b")}
    assert {tuple(sorted(files)) for files in left("xfs", *done)} == {("d/a", "e/new/b")}
    linked: Done = [ops.Link(D, "l", F), ops.Mkdir(E, "new", N), ops.Unlink(ROOT, "f", F), ops.Fsync(F)]
    states = enumerated("btrfs", linked, base_of(f=b"o")).states
    assert {(*state.tree.files, "e/new" in state.tree.directories) for state in states} == {
        ("d/l", True),
        ("d/l", False),
    }


def test_btrfs_as_told_by_others() -> None:
    """What was seen on btrfs beyond the recorded images is legal: old sizes, nothing of a new name, an empty file."""
    new: Done = [ops.Create(ROOT, "f", F), ops.Write(F, 0, b"n" * 300), *unrelated()]
    assert None in contents("btrfs", *new)
    assert b"o" * 1000 in contents("btrfs", ops.Write(F, 1000, b"n" * 300), *unrelated(), f=b"o" * 1000)
    temporary: Done = [ops.Create(ROOT, "t", T), ops.Write(T, 0, b"n" * 4096)]
    moved = left("btrfs", *temporary, ops.Rename(ROOT, "t", ROOT, "f", T, None), *unrelated())
    assert {tuple(files) for files in moved} >= {("other",)}
    assert b"" in contents("btrfs", *replacing(*temporary), f=b"o")
    emptied: Done = [ops.Truncate(F, 100, 0), ops.Write(F, 0, b"n" * 10), *unrelated()]
    assert b"o" * 100 in contents("btrfs", *emptied, f=b"o" * 100)


def test_btrfs_keeps_a_prefix_of_the_data() -> None:
    """A size passes no page that is lost, but for a NUL tail within its last block."""
    found = contents("btrfs", ops.Write(F, 3000, b"n" * 9000), f=b"o" * 3000)
    assert found == {
        b"o" * 3000,
        b"o" * 3000 + bytes(1096),
        *(b"o" * 3000 + b"n" * (size - 3000) for size in (4096, 8192, 12000)),
    }


def paranoid_states(*done: ops.DiskOp, budget: int = 4096, **durable: bytes) -> tuple[State, ...]:
    """Samples of what a lying disk may leave."""
    disk = Disk(base_of(**durable), "paranoid")
    for op in done:
        disk.feed(op)
    found = disk.states(budget, seed=1)
    assert not found.is_exhaustive
    assert found.legal >= len(found.states)
    assert len(found.states) <= budget
    return found.states


def test_a_rename_may_split() -> None:
    """A renamed file may be at both of its names or at none; in posix it is at one."""
    renamed = ops.Rename(ROOT, "f", ROOT, "h", F, None)
    assert {tuple(files) for files in left("posix", renamed, f=b"o")} == {("f",), ("h",)}
    states = paranoid_states(renamed, f=b"o")
    assert {tuple(state.tree.files) for state in states} == {(), ("f",), ("f", "h"), ("h",)}
    assert {effect for state in states for effect in state.lost} == {(0, "entry", 0), (0, "entry", 1)}


def test_half_renamed_directories_are_found_once() -> None:
    """A directory that is half moved into itself, or at two places, is found at one of them."""
    moved: Done = [ops.Rename(ROOT, "d", E, "d", D, None), ops.Rename(ROOT, "e", D, "e", E, None)]
    for state in paranoid_states(*moved):
        assert all(path.count("d") < 2 and path.count("e") < 2 for path in state.tree.directories)


def test_a_sync_may_have_saved_nothing() -> None:
    """What was synced may be gone, and is there where no sync lied."""
    synced: Done = [
        ops.Create(ROOT, "f", F),
        ops.Write(F, 0, b"n" * 10),
        ops.Fsync(F),
        ops.FsyncDirectory(ROOT),
    ]
    assert {state.tree.files.get("f") for state in paranoid_states(*synced)} >= {None, b"", b"n" * 10}
    disk = Disk(base_of(), "paranoid")
    for op in synced:
        disk.feed(op)
    # Everything that it may is lost, and no sync lied.
    assert disk.choose(RecordedChoices([1, 0])).tree.files["f"] == b"n" * 10


def test_any_sectors_may_be_old() -> None:
    """A torn page may be new behind what is old."""
    found = {state.tree.files["f"] for state in paranoid_states(ops.Write(F, 0, b"n" * 4096), f=b"o" * 4096)}
    sectors = {tuple(data[at * 512] for at in range(8)) for data in found if set(data) <= set(b"no")}
    assert any(ord("o") in each[: each.index(ord("n"))] for each in sectors if ord("n") in each)
    assert len(sectors) > 20


def test_garbage_may_stand_for_nul() -> None:
    """Where a page is lost below the size there may be garbage behind what was there, the same for the same state."""
    done: Done = [ops.Write(F, 100, b"n" * 900)]
    found = [
        state for state in paranoid_states(*done, f=b"o" * 100) if any(part == "garbage" for _, part, _ in state.lost)
    ]
    assert found
    for state in found:
        data = state.tree.files["f"]
        assert data[:100] == b"o" * 100
        assert bytes(8) not in data
    disk = Disk(base_of(f=b"o" * 100), "paranoid")
    disk.feed(done[0])
    assert all(disk.state(state.lost, state.tear).key == state.key for state in found)


def test_samples_are_repeatable_and_bounded() -> None:
    """The same seed gives the same states, zeros lose nothing, and there are no more than asked for."""
    disk = Disk(FileSystem(("root",)), "paranoid")
    disk.feed(ops.Mkdir(0, "root", ROOT))
    disk.feed(ops.Create(ROOT, "f", F))
    for number in range(300):
        disk.feed(ops.Write(F, number * 100, b"x" * 100))
        disk.feed(ops.Fsync(F))
    states = disk.states(50, seed=3).states
    again = disk.states(50, seed=4).states
    assert all(10 < len(each) <= 50 for each in (states, again))
    assert [state.key for state in states] != [state.key for state in again]
    assert [state.key for state in states] == [state.key for state in disk.states(50, seed=3).states]
    assert disk.choose(FixedChoices()).lost == ()
    assert disk.state(disk.choose(SeededChoices(2)).lost).tree.directories <= {"."}
