"""What a crash may leave: the measured images, the rules by brute force, and what holds between presets."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Hashable
from pathlib import Path

import pytest

from conformance.sim.choices import FixedChoices, SeededChoices
from conformance.sim.disk import ops
from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.presets import PRESETS, presets_of
from conformance.sim.disk.states import Disk, key_of
from tests.unit.sim.disk.measured import Measured, measured_cases
from tests.unit.sim.disk.programs import base_disk, random_ops

CASES = list(measured_cases())
LOSSY = ("ext4", "xfs", "posix")
HONEST = sorted(name for name, preset in PRESETS.items() if not preset.lies)


def disk_after(base: FileSystem, done: list[ops.DiskOp], preset: str) -> Disk:
    """A disk that was told of these operations."""
    disk = Disk(base, preset)
    for op in done:
        disk.feed(op)
    return disk


def random_disk(seed: int, preset: str, *, count: int = 7) -> tuple[Disk, FileSystem]:
    """A disk after a random program, and the image that readers see then. In odd ones syncs fail."""
    rng = random.Random(seed)
    base = base_disk(rng)
    image = base.copy()
    return disk_after(base, list(random_ops(rng, image, count, failing=seed % 2 == 1)), preset), image


def keys(disk: Disk, **how: int) -> set[Hashable]:
    """The keys of all states."""
    return {state.key for state in disk.states(**how).states}


@pytest.mark.parametrize("preset", LOSSY)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_measured_outcomes_are_legal(case: Measured, preset: str) -> None:
    """What a real file system left is a state of its preset and of posix."""
    observed = [tree for system, tree in case.observed.items() if preset in (system, "posix") and system != "btrfs"]
    assert observed or preset not in case.observed
    found = [dict(state.tree.files) for state in disk_after(case.base, case.ops, preset).states().states]
    for tree in observed:
        assert dict(tree) in found


@pytest.mark.parametrize("case", [case for case in CASES if "btrfs" in case.observed], ids=lambda case: case.id)
def test_measured_btrfs_is_told_of(case: Measured) -> None:
    """What btrfs left gates nothing, and is known to lie within its preset and within posix in every case."""
    for preset in ("btrfs", "posix"):
        found = [dict(state.tree.files) for state in disk_after(case.base, case.ops, preset).states().states]
        assert dict(case.observed["btrfs"]) in found


def test_measured_cases_are_all_there() -> None:
    """The data hold each case once, with an outcome of both gating file systems."""
    assert len({case.id for case in CASES}) == len(CASES) == 26
    assert all({"ext4", "xfs"} <= case.observed.keys() for case in CASES)


@pytest.mark.parametrize("preset", ["ext4", "xfs", "btrfs", "posix"])
def test_enumeration_is_what_the_rules_allow(preset: str) -> None:
    """The factored enumeration has the states that trying every subset of effects against the rules has."""
    compared = 0
    for seed in range(60):
        disk, _ = random_disk(seed, preset)
        rules = disk.graph()
        effects = list(rules.needs)
        found = disk.states(budget=100_000)
        if len(effects) > 8 or not found.is_exhaustive:
            continue
        by_hand = {
            disk.state(lost).key
            for count in range(len(effects) + 1)
            for lost in itertools.combinations(effects, count)
            if rules.is_legal(frozenset(lost))
        }
        assert {state.key for state in found.states if state.tear is None} == by_hand, seed
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_states_can_be_named_again(preset: str) -> None:
    """The lost effects and the tear of each state lead back to it."""
    for seed in range(25):
        disk, _ = random_disk(seed, preset)
        for state in disk.states(budget=100).states[:60]:
            assert disk.state(state.lost, state.tear).key == state.key, (seed, state.lost, state.tear)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_nothing_lost_comes_first_and_is_the_choice_of_zeros(preset: str) -> None:
    """The first state, and the one that zeros choose, is what readers saw."""
    for seed in range(40):
        disk, image = random_disk(seed, preset)
        seen = key_of(image.tree())
        assert disk.states(budget=50_000).states[0].key == seen == disk.choose(FixedChoices()).key


@pytest.mark.parametrize("preset", HONEST)
def test_chosen_states_are_legal(preset: str) -> None:
    """Whatever is chosen is among the states that are listed."""
    for seed in range(40):
        disk, _ = random_disk(seed, preset)
        found = disk.states(budget=50_000)
        if found.is_exhaustive:
            listed = {state.key for state in found.states}
            choices = SeededChoices(seed)
            assert {disk.choose(choices).key for _ in range(20)} <= listed


@pytest.mark.parametrize("preset", ["ext4", "xfs", "btrfs"])
def test_posix_allows_what_a_file_system_does(preset: str) -> None:
    """Every state of a file system is one of posix."""
    for seed in range(40):
        disk, _ = random_disk(seed, preset, count=6)
        strictest, _ = random_disk(seed, "posix", count=6)
        wider = strictest.states(budget=100_000)
        if wider.is_exhaustive:
            assert keys(disk) <= {state.key for state in wider.states}, seed


@pytest.mark.parametrize("preset", HONEST)
def test_everything_synced_leaves_one_state(preset: str) -> None:
    """After a sync of every file and directory nothing is left to a crash but what readers saw."""
    for seed in range(40):
        rng = random.Random(seed)
        base = base_disk(rng)
        image = base.copy()
        done = list(random_ops(rng, image, 8))
        # The top is no directory of the recording; a root that was made is an entry of it.
        done += [ops.Fsync(ino) for ino in image.nodes if type(image.nodes[ino]).__name__ == "File"]
        done += [ops.FsyncDirectory(ino) for ino in image.nodes if type(image.nodes[ino]).__name__ == "Directory"]
        assert keys(disk_after(base, done, preset)) == {key_of(image.tree())}


def test_sampling_is_told_and_repeatable() -> None:
    """Past the budget the states are some of all, said to be so, never more than it, and the same for the same seed."""
    base = FileSystem(("root",))
    done: list[ops.DiskOp] = [ops.Mkdir(0, "root", 1), ops.Create(1, "f", 2)]
    done += [ops.Write(2, 4096 * page, b"x" * 4096) for page in range(14)]
    disk = disk_after(base, done, "posix")
    found = disk.states(budget=500, seed=3)
    assert not found.is_exhaustive
    assert found.legal > 16_000
    assert 250 < len(found.states) <= 500
    assert [state.key for state in found.states] == [state.key for state in disk.states(budget=500, seed=3).states]
    assert len({state.key for state in found.states}) == len(found.states)


LISTING = """
import hashlib, random
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import Disk
from tests.unit.sim.disk.programs import base_disk, random_ops
told = hashlib.sha256()
for seed in range(12):
    for preset in PRESETS:
        rng = random.Random(seed)
        base = base_disk(rng)
        disk = Disk(base, preset)
        for op in random_ops(rng, base.copy(), 9):
            disk.feed(op)
        for budget in (12, 4096):
            for state in disk.states(budget, seed).states:
                tree = state.tree
                files = list(tree.files.items()), sorted(tree.directories), list(tree.symlinks.items())
                told.update(repr((state.lost, state.tear, *files)).encode())
print(told.hexdigest())
"""


def test_the_same_states_in_every_process() -> None:
    """Listed, deviating and sampled states, and their order, depend on no hash seed."""
    repository = Path(__file__).parents[4]
    told = {
        subprocess.run(
            [sys.executable, "-c", LISTING],
            cwd=repository,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(repository)},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert len(told) == 1


def test_kill_loses_nothing() -> None:
    """A process kill leaves every completed operation."""
    disk, image = random_disk(5, "kill")
    assert keys(disk) == {key_of(image.tree())}


def test_levels_name_presets() -> None:
    """Each durability level has the presets of the one before it and some more."""
    levels = [presets_of(level) for level in ("none", "process-kill", "power-loss", "power-loss-strict")]
    assert [len(level) for level in levels] == [0, 1, 3, 4]
    assert all(set(one) < set(other) for one, other in itertools.pairwise(levels))
    with pytest.raises(KeyError):
        presets_of("never")  # type: ignore[arg-type]
