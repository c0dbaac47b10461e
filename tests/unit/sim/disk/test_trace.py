"""A recording goes on in another directory, and can be looked at as it was earlier."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.sim.disk import Recorder, RecorderError, ops
from conformance.sim.disk.materialise import materialise
from conformance.sim.disk.trace import Trace


def recorded(root: Path) -> Trace:
    """Two calls: a file is made and written, then written again and moved."""
    with Recorder(root) as recorder:
        recorder.mark_begin(0)
        (root / "f").write_bytes(b"one")
        recorder.mark_end(0)
        recorder.mark_begin(1)
        with open(root / "f", "ab", buffering=0) as stream:
            stream.write(b"two")
        os.rename(root / "f", root / "g")
        recorder.mark_end(1, resolved=False)
        return recorder.trace()


def test_trace_stays_as_it_was_taken(patching: object, root: Path) -> None:
    """What is recorded later is not in a trace that was taken before."""
    with Recorder(root) as recorder:
        (root / "f").write_bytes(b"x")
        trace = recorder.trace()
        (root / "f").write_bytes(b"yy")
        (root / "g").touch()
        assert trace.image.tree().files == {"f": b"x"}
        assert len(trace.ops) == 2
        assert len(recorder.trace().ops) == 5


def test_trace_until_is_the_trace_at_that_operation(patching: object, root: Path) -> None:
    """Every earlier moment has the operations before it, and the image they add up to."""
    trace = recorded(root)
    assert [type(op) for op in trace.ops] == [
        ops.CallBegin,
        ops.Create,
        ops.Write,
        ops.Ack,
        ops.CallBegin,
        ops.Write,
        ops.Rename,
    ]
    assert list(trace.calls) == [0, 0, 0, 0, 1, 1, 1]
    seen = [trace.until(index).image.tree().files for index in range(8)]
    assert seen == [{}, {}, {"f": b""}, {"f": b"one"}, {"f": b"one"}, {"f": b"one"}, {"f": b"onetwo"}, {"g": b"onetwo"}]
    assert trace.until(3).ops == trace.ops[:3]
    assert trace.until(3).calls == trace.calls[:3]
    assert trace.until(7) is trace


def test_places_in_a_call_are_counted_without_markers(patching: object, root: Path) -> None:
    """The operations of the latest begin of a call are counted; more than it did means all."""
    trace = recorded(root)
    assert [trace.place_of(1, after) for after in (0, 1, 2, 3, None)] == [5, 6, 7, 7, 7]
    assert trace.place_of(0, 1) == 2
    with pytest.raises(ValueError, match="no such call began: call=7"):
        trace.place_of(7, 0)


def test_write_in_flight_arrives_in_part(patching: object, root: Path) -> None:
    """The first bytes of the next write are one more operation; of anything else nothing arrives in part."""
    trace = recorded(root)
    before = trace.until(5)
    part = before.with_part_of(trace.ops[5], 2, 1)
    assert part.image.tree().files == {"f": b"onetw"}
    assert part.ops[-1] == ops.Write(trace.image.tree().inodes["g"], 3, b"tw")
    assert part.calls[-1] == 1
    assert before.image.tree().files == {"f": b"one"}
    assert trace.with_part_of(trace.ops[6], 2, 1) is trace
    assert before.with_part_of(trace.ops[5], 0, 1) is before


def test_next_life_goes_on_with_the_same_inodes(patching: object, root: Path, tmp_path: Path) -> None:
    """Operations in another directory are appended to the trace, on the inodes that it knows."""
    trace = recorded(root)
    other = tmp_path / "other" / "root"
    other.parent.mkdir()
    materialise(trace.image.tree(), other)
    with Recorder(other, carried=trace) as recorder:
        with open(other / "g", "ab", buffering=0) as stream:
            stream.write(b"3")
        (other / "h").touch()
        assert recorder.check_image() == ""
        whole = recorder.trace()
    assert list(whole.ops[: len(trace.ops)]) == list(trace.ops)
    ino = trace.image.tree().inodes["g"]
    assert whole.ops[len(trace.ops) :] == [
        ops.Write(ino, 6, b"3"),
        ops.Create(trace.image.tree().inodes["."], "h", trace.next_ino),
    ]
    assert len(trace.ops) == 7
    assert whole.until(3).image.tree().files == {"f": b"one"}


def test_absent_root_is_carried_too(patching: object, tmp_path: Path) -> None:
    """A root that nobody made yet is made in the next life."""
    first, second = tmp_path / "one" / "root", tmp_path / "two" / "root"
    first.parent.mkdir()
    second.parent.mkdir()
    with Recorder(first) as recorder:
        trace = recorder.trace()
    with Recorder(second, carried=trace) as recorder:
        second.mkdir()
        assert recorder.ops == [ops.Mkdir(0, "root", 1)]
        assert recorder.check_image() == ""


def test_carried_trace_needs_its_place(patching: object, root: Path, tmp_path: Path) -> None:
    """A root at other names than in the trace is refused, and so is counting without recording."""
    trace = recorded(root)
    with pytest.raises(RecorderError, match="the carried trace has its root at"):
        Recorder(tmp_path / "absent" / "root", carried=trace).__enter__()
    with Recorder(root):
        pass
    with pytest.raises(ValueError, match="leave out record=False"):
        Recorder(root, record=False, carried=trace)
