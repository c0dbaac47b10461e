"""The class for the author's own tree behaves like test code that nobody can mute, and ``verify`` needs no pytest."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend
from conformance.drivers.errors import SetupError, UsageError
from conformance.report.events import ReportEvent
from conformance.suite import suite_for, verify
from tests.plugin import stand_in
from tests.plugin.conftest import Project

CHECKS = [
    "test_seq_gap_is_refused_whole",
    "test_seq_numbers_go_on",
    "test_rev_revisions_differ",
    "test_own_lease_runs_out",
    "test_sweep_crash_ext4",
    "test_every_gating_clause_was_exercised",
]


@pytest.fixture(autouse=True)
def _runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "conformance.runner", stand_in)


def a_backend(name: str) -> Backend:
    """A backend whose name says how its run ends."""
    return Backend(name=name, open=lambda root: None)


def tree(project: Project, backend: str) -> None:
    """A test module of the author with the suite in it."""
    source = f"import conformance\nTestMine = conformance.suite_for('mine.py:{backend}')\n"
    project.write("test_mine.py", source)


def test_the_class_is_collected_with_a_method_for_each_check(project: Project) -> None:
    """Every check is a test of the user's module, in order, with -k and skips as usual, and without any --backend."""
    tree(project, "conforms")
    ran = project.pytest("-v")
    expected = dict.fromkeys([f"test_mine.py::TestMine::{name}" for name in CHECKS], "PASSED")
    assert ran.outcomes() == expected | {f"test_mine.py::TestMine::{CHECKS[3]}": "SKIPPED"}
    assert list(ran.outcomes()) == list(expected)
    assert ran.code == 0
    part = project.pytest("-v", "-k", "numbers or every")
    assert list(part.outcomes().values()) == ["PASSED", "SKIPPED"]


@pytest.mark.parametrize(
    ("backend", "words", "failed"),
    [
        ("violates", "reproduce  torntail replay", CHECKS[0]),
        ("lazy", "not exercised, and so not passed: SEQ-02", CHECKS[5]),
    ],
)
def test_a_violation_and_a_clause_without_witness_fail_their_method(
    project: Project, backend: str, words: str, failed: str
) -> None:
    """The failure is rendered in full, and a suite that exercised nothing does not read as full marks."""
    tree(project, backend)
    ran = project.pytest("-v")
    assert [name for name, outcome in ran.outcomes().items() if outcome == "FAILED"] == [
        f"test_mine.py::TestMine::{failed}"
    ]
    assert words in ran.out
    assert "suite.py" not in ran.out
    assert ran.code == 1


def test_no_check_can_be_replaced() -> None:
    """Neither a subclass, nor a mixin in front, nor an assignment mutes a clause."""
    suite = suite_for(a_backend("conforms"))

    class Mixin:
        def test_seq_numbers_go_on(self) -> None: ...

    for bases, namespace in [((suite,), {CHECKS[0]: None}), ((Mixin, suite), {})]:
        with pytest.raises(TypeError, match=r"replaces test_seq_\w+: the checks of a conformance suite cannot be"):
            type(suite)("Mine", bases, namespace)
    with pytest.raises(TypeError, match=CHECKS[5]):
        setattr(suite, CHECKS[5], None)
    with pytest.raises(TypeError, match=CHECKS[0]):
        delattr(suite, CHECKS[0])
    assert type(suite)("Mine", (suite,), {"helper": 1}).helper == 1  # type: ignore[attr-defined]


def test_a_suite_for_an_unknown_backend_fails_while_it_is_made() -> None:
    """A slip in the name is told when the module is imported."""
    with pytest.raises(UsageError, match="Did you mean 'memory'"):
        suite_for("memroy")


@pytest.mark.parametrize(
    ("backend", "strict", "code"),
    [
        ("conforms", False, 0),
        ("violates", False, 1),
        ("lazy", False, 3),
        ("confused", False, 4),
        ("mild", False, 0),
        ("mild", True, 1),
    ],
)
def test_verify_returns_the_summary(backend: str, strict: bool, code: int) -> None:
    """No violation is raised; the exit code says what the run came to."""
    summary = asyncio.run(verify(a_backend(backend), strict=strict))
    assert summary.exit_code() == code


def test_verify_takes_a_spec_a_backend_or_a_factory() -> None:
    """All three reach the same door; anything else is a type error, and what cannot start is raised."""

    def conforming_factory(root: Path) -> None:
        """The stand-in never opens it."""

    names = []
    for given in ("memory", a_backend("b"), conforming_factory):
        summary = asyncio.run(verify(given, clauses=["REV-01"]))
        names.append(summary.header and summary.header.backend)
        assert list(summary.verdicts) == ["REV-01"]
    assert names[:2] == ["memory", "b"]
    assert str(names[2]).endswith("conforming_factory")
    with pytest.raises(TypeError, match="expected a spec, a Backend or a factory"):
        asyncio.run(verify(7))  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="'broken' could not start"):
        asyncio.run(verify(a_backend("broken")))


def test_a_cancelled_verify_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelling stops the thread behind its current event instead of leaving it to run to the end."""
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()
    items: list[str] = []

    def run(plan: Any, sink: Any) -> int:
        try:
            sink(plan.started())
            begun.set()
            go_on.wait(10)
            for item in plan.items:
                sink(ReportEvent())
                items.append(item.id)
        except KeyboardInterrupt:
            over.set()
        return 130

    monkeypatch.setattr(stand_in, "run", run)

    async def body() -> None:
        task = asyncio.ensure_future(verify(a_backend("conforms")))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    asyncio.run(body())
    assert over.is_set()
    assert items == []
