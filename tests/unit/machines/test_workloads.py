"""Canonical workloads: every short program once, the short ones first, none of it refused."""

from __future__ import annotations

from pathlib import Path

from conformance.drivers.execution import run_program
from conformance.machines.workloads import Workload, workloads
from conformance.model.history import Completion, Returned
from conformance.model.operations import MakeRoot, OpenInstance, Program
from reference_backend import jsonl


def programs(most: int) -> list[Workload]:
    """All of them."""
    return list(workloads(most))


def test_no_two_are_the_same() -> None:
    """Each program stands once."""
    forms = [repr(each.operations) for each in programs(4)]
    assert len(set(forms)) == len(forms)


def test_every_prefix_came_before() -> None:
    """What is new in a workload is its last call: without it, it is one that came earlier."""
    seen = {repr((OpenInstance(1),))}
    for each in programs(4):
        assert repr(each.operations[: -each.new]) in seen
        seen.add(repr(each.operations))


def test_short_ones_come_first() -> None:
    """They are sorted by their number of calls."""
    calls = [each.calls for each in programs(4)]
    assert calls == sorted(calls)
    assert set(calls) == {1, 2, 3, 4}


def test_nothing_in_them_is_refused(tmp_path: Path) -> None:
    """Performed on the reference every call of every workload resolves."""
    for number, each in enumerate(programs(3)):
        result = run_program(jsonl, Program(each.operations), tmp_path / str(number))
        assert result.violation is None
        assert all(isinstance(event.outcome, Returned) for event in result.history if isinstance(event, Completion))


def test_some_begin_on_a_root_that_is_there() -> None:
    """Asked for, the shortest come again with the root made beforehand."""
    made = [each for each in workloads(3, on_a_root=2) if isinstance(each.operations[0], MakeRoot)]
    assert len(made) == len(programs(2))
    assert [repr(each.operations[1:]) for each in made] == [repr(each.operations) for each in programs(2)]
