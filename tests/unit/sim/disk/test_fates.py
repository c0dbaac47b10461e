"""What became of each operation is told in names, by the rules that make the states."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.sim.choices import SeededChoices
from conformance.sim.disk import Recorder, ops
from conformance.sim.disk import fates as fates_module
from conformance.sim.disk.fates import TAKEN, Fate, fates_of, lost_calls, shorter_side, told
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import Disk
from conformance.sim.disk.trace import Trace


@pytest.fixture
def trace(patching: object, root: Path) -> Trace:
    """A log that is durable, a write to it that is not, and a file that takes another one's place."""
    with Recorder(root) as recorder:
        recorder.mark_begin(0)
        (root / "log").write_bytes(b"x" * 5_000)
        for path in (root / "log", root):
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        recorder.mark_end(0)
        recorder.mark_begin(1)
        with open(root / "log", "ab", buffering=0) as stream:
            stream.write(b"y" * 5_000)
        recorder.mark_end(1)
        (root / "d").mkdir()
        recorder.mark_begin(2)
        (root / "d" / "tmp").write_bytes(b"z")
        os.rename(root / "d" / "tmp", root / "log")
        recorder.mark_end(2)
        return recorder.trace()


def disk(trace: Trace, preset: str) -> Disk:
    """The disk after all of it."""
    made = Disk(trace.base, preset)
    for op in trace.ops:
        made.feed(op)
    return made


@pytest.mark.parametrize("preset", list(PRESETS))
def test_nothing_lost_takes_nothing(trace: Trace, preset: str) -> None:
    """Where no effect is lost every operation is durable, done, or survived, and no call is named."""
    fates = fates_of(trace, preset, disk(trace, preset).state())
    # Where a sync may have saved nothing, nothing is durable.
    assert set(fates) == {"done", "survived"} if PRESETS[preset].lies else {"durable", "done", "survived"}
    assert lost_calls(trace, fates) == ()


@pytest.mark.parametrize("preset", list(PRESETS))
def test_calls_are_named_exactly_where_something_was_taken(trace: Trace, preset: str) -> None:
    """In every state, the effects that are lost are of operations told as lost or torn, and nothing else is."""
    states = disk(trace, preset).states().states
    assert len(states) > 2 or preset == "kill"
    for state in states:
        fates = fates_of(trace, preset, state)
        taken = {index for index, fate in enumerate(fates) if fate in ("lost", "torn", "lost in part")}
        assert {effect[0] for effect in state.lost} <= taken
        assert bool(state.lost) == bool(taken)
        assert "durable" not in {fates[effect[0]] for effect in state.lost}
        calls = {trace.calls[index] for index in taken}
        assert lost_calls(trace, fates) == tuple(sorted(call for call in calls if call is not None))


def test_every_line_has_its_call_and_names(trace: Trace) -> None:
    """What is told begins with the first operation that was not durable, and names paths as they were then."""
    rename = len(trace.ops) - 2
    lost = [(index, "page", 1) for index, call in enumerate(trace.calls) if call == 1]
    state = disk(trace, "posix").state([*lost, (rename, "entry", 0)])
    assert told(trace, fates_of(trace, "posix", state)) == (
        "call 1: write 5000 bytes at 5000 of log: lost in part",
        "no call: make the directory d: survived",
        "call 2: create d/tmp: survived",
        "call 2: write 1 bytes at 0 of d/tmp: survived",
        "call 2: rename d/tmp to log, replacing it: lost",
    )


def test_every_kind_of_operation_is_told(patching: object, root: Path) -> None:
    """Links, removals, sizes and syncs have their words, and the directories above the root theirs."""
    with Recorder(root.parent / "absent" / "root") as recorder:
        base = root.parent / "absent" / "root"
        base.mkdir(parents=True)
        (base / "f").touch()
        (base / "s").symlink_to("f")
        os.link(base / "f", base / "g")
        os.truncate(base / "f", 3)
        fd = os.open(base / "f", os.O_RDWR)
        os.posix_fallocate(fd, 0, 10)
        os.fdatasync(fd)
        os.close(fd)
        above = os.open(base.parent, os.O_RDONLY)
        os.fsync(above)
        os.close(above)
        os.sync()
        (base / "d").mkdir()
        (base / "d").rmdir()
        (base / "s").unlink()
        trace = recorder.trace()
    lines = told(trace.until(9), fates_of(trace.until(9), "posix", disk(trace.until(9), "posix").state()))
    assert lines == (
        "no call: make the directory a directory above the root: survived",
        "no call: make the directory the root: durable",
        "no call: create f: survived",
        "no call: make the symbolic link s: survived",
        "no call: link f as g: survived",
        "no call: set the size of g from 0 to 3: durable",
        "no call: reserve 10 bytes at 0 of g: durable",
        "no call: fdatasync g",
        "no call: fsync the directory a directory above the root",
    )
    rest = told(trace, fates_of(trace, "posix", disk(trace, "posix").state()))
    assert rest == (
        "no call: make the directory d: survived",
        "no call: remove the directory d: survived",
        "no call: remove s: survived",
    )


def test_long_stories_are_cut(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the latest operations are told, and how many came before them."""
    monkeypatch.setattr(fates_module, "MOST_LINES", 2)
    lines = told(trace, fates_of(trace, "posix", disk(trace, "posix").state()))
    assert lines[0] == "3 operations before these"
    assert len(lines) == 3


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_shorter_side_is_told(trace: Trace, preset: str) -> None:
    """In every state the side that is named is the shorter one, and both make up what was at stake."""
    sides = set()
    after = disk(trace, preset)
    chosen = (after.choose(SeededChoices(seed)) for seed in range(100))
    for state in (*after.states(100, seed=1).states, *chosen):
        fates = fates_of(trace, preset, state)
        side = shorter_side(trace, fates)
        partly = sum(fate in ("torn", "lost in part") for fate in fates)
        lost = sum(fate in TAKEN for fate in fates)
        survived = sum(fate == "survived" for fate in fates) + partly
        assert side.at_stake == lost + survived - partly
        assert len(side.lines) == min(lost, survived)
        assert side.survived == (survived < lost)
        sides.add(side.survived)
    # A kill takes nothing.
    assert sides == ({False} if preset == "kill" else {False, True})


def test_each_side_names_its_operations(trace: Trace) -> None:
    """What is on both sides says so on either, and a tie is told by what was lost."""
    kinds = ops.Mkdir | ops.Create | ops.Write | ops.Rename
    write, mkdir, create, content, rename = [index for index, op in enumerate(trace.ops) if isinstance(op, kinds)][-5:]
    made: list[Fate] = ["done"] * len(trace.ops)
    for index in (write, mkdir, create, content, rename):
        made[index] = "lost"
    assert shorter_side(trace, made).lines == ()
    made[write], made[rename] = "lost in part", "torn"
    side = shorter_side(trace, made)
    assert (side.survived, side.at_stake) == (True, 5)
    assert side.lines == (
        "call 1: write 5000 bytes at 5000 of log (in part)",
        "call 2: rename d/tmp to log, replacing it (torn)",
    )
    made[mkdir] = made[create] = "survived"
    side = shorter_side(trace, made)
    assert (side.survived, side.at_stake) == (False, 5)
    assert side.lines[1] == "call 2: write 1 bytes at 0 of d/tmp"
    assert len(side.lines) == 3
