"""One program recorded both ways: where the recorders agree barriers are known, and where not nothing is judged."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from conformance import planning
from conformance.clauses import Need, Standing
from conformance.drivers import outside
from conformance.drivers.outside import Comparison, compare, difference
from conformance.drivers.registry import hold_backend, load_backend
from conformance.planning import Item, Plan, Settings, make_plan
from conformance.report.events import FailureFound, ItemFinished
from conformance.runner import run_item
from tests.unit.sim.disk.test_strace import needs_strace

ROOT = Path(__file__).resolve().parents[3]
HIDDEN = "tests/unit/drivers/out_of_sight.py"


@needs_strace
@pytest.mark.parametrize(
    "spec", ["jsonl", "tests/variants/good_store.py:good_store", "tests/variants/queued_files.py:queued_files"]
)
def test_ordinary_backends_do_nothing_out_of_sight(spec: str) -> None:
    """Both recorders see the same of plain Python, of compressed frames, and of calls in threads."""
    found = compare(spec, ROOT, ROOT)
    assert found.agrees, found
    assert found.operations > 5
    assert found.reason == ""


@needs_strace
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("extension_syncs", '"fsync '),
        ("child_syncs", '"fsync '),
        ("log_is_mapped", "was mapped into memory for writing"),
    ],
)
def test_what_happens_out_of_sight_is_named(name: str, what: str) -> None:
    """A sync by a C extension or by a child, and a mapping, are differences, and the first is told."""
    found = compare(f"{HIDDEN}:{name}", ROOT, ROOT)
    assert not found.agrees
    assert what in found.difference
    assert found.reason == f"a barrier may be unseen: {found.difference}"


@needs_strace
def test_writes_of_an_extension_are_a_difference() -> None:
    """SQLite's writes are seen from outside alone."""
    assert (
        "a file is on the disk and none recorded"
        in compare("tests/variants/sqlite_rows.py:sqlite_rows", ROOT, ROOT).reason
    )


def test_the_first_difference_is_told() -> None:
    """Of two lists the first place where they differ, also where one of them ends."""
    assert difference(["a", "b"], ["a", "b"]) == ""
    assert difference(["a", "b"], ["a"]).startswith('the 2. disk operation is "b" as strace saw it, and none')
    assert 'is none as strace saw it, and "b" as' in difference(["a"], ["a", "b"])


def test_without_strace_nothing_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No strace, one that may not trace, one that hangs, a backend that nobody else can load: each says so."""
    held = hold_backend(load_backend("jsonl"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compare("jsonl", ROOT, ROOT) == Comparison(gap="strace is not there")
    fake = tmp_path / "strace"
    fake.write_text("#!/bin/sh\necho 'strace: ptrace: Operation not permitted' >&2\nexit 1\n", "utf-8")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    assert compare("jsonl", ROOT, ROOT).gap.endswith("(strace: ptrace: Operation not permitted)")
    fake.write_text("#!/bin/sh\nwhile :; do :; done\n", "utf-8")
    monkeypatch.setattr(outside, "LONGEST", 0.01)
    assert compare("jsonl", ROOT, ROOT).gap.endswith("(nothing within 0.01 s)")
    found = compare(held, ROOT, ROOT)
    assert found.gap.startswith("the backend was given as an object")
    assert (found.agrees, found.reason) == (False, "")


def crash_of(plan: Plan) -> Item:
    """A scenario in which the power fails behind each kind of barrier: quicker than a sweep, and explained like one."""
    name = "conformance::dur::each_kind_of_barrier_survives_where_renames_flush_nothing"
    return next(each for each in plan.items if each.id == name)


@needs_strace
@pytest.mark.parametrize("profile", ["ci", "default"])
def test_a_right_store_with_hidden_barriers_is_not_measured(tmp_path: Path, profile: str) -> None:
    """Neither red nor green: thorough runs say so in the plan, others as soon as something was found after a crash."""
    settings = Settings(
        backend=f"{HIDDEN}:extension_syncs", profile=profile, base=ROOT, state=tmp_path, clauses=("DUR-01",)
    )
    plan = make_plan(settings)
    item = crash_of(plan)
    *found, ended = run_item(plan, item, share=600.0)
    assert isinstance(ended, ItemFinished)
    assert not any(isinstance(each, FailureFound) for each in found)
    assert ended.reason.startswith("a barrier may be unseen: ")
    if profile == "ci":
        assert plan.rulings["DUR-01"].standing is Standing.NOT_MEASURED
        assert (plan.rulings["DUR-01"].reason, ended.outcome) == (plan.route.cannot[Need.CRASH], "skipped")
    else:
        assert plan.rulings["DUR-01"].applies
        assert (ended.outcome, ended.unmeasured) == ("not measured", item.clauses)


@pytest.mark.parametrize(
    ("comparison", "is_told"),
    [(Comparison(operations=9), False), (Comparison(gap="strace is not there"), True)],
    ids=["agreed", "not compared"],
)
def test_a_missing_barrier_says_who_saw_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comparison: Comparison, is_told: bool
) -> None:
    """A red line that a missing barrier explains says *in process only*, unless the recorders were compared."""
    asked: list[str] = []

    def compared(spec: str, base: Path, home: Path) -> Comparison:
        asked.append(spec)
        return comparison

    monkeypatch.setattr(planning, "compare", compared)
    spec = "tests/mutants/dur.py:flush_syncs_nothing"
    plan = make_plan(Settings(backend=spec, base=ROOT, state=tmp_path, clauses=("DUR-01",)))
    assert asked == []
    item = crash_of(plan)
    failure = next(each for each in run_item(plan, item, share=600.0) if isinstance(each, FailureFound))
    assert any(line.startswith("missing barrier: fsync(") for line in failure.explanation)
    assert any("barriers seen in process only" in line for line in failure.explanation) is is_told
    assert asked == [spec]


def test_quick_runs_do_not_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is made in thorough runs, once, where crashes are asked for at all."""
    asked: list[str] = []

    def compared(spec: str, base: Path, home: Path) -> Comparison:
        asked.append(spec)
        return Comparison()

    monkeypatch.setattr(planning, "compare", compared)
    settings = Settings(backend="jsonl", clauses=("DUR-01",), state=tmp_path)
    make_plan(settings)
    make_plan(replace(settings, clauses=("SEQ-01",), profile="ci"))
    make_plan(replace(settings, backend="memory", profile="ci"))
    assert asked == []
    plan = make_plan(replace(settings, profile="ci"))
    assert plan.compared() == Comparison()
    assert asked == ["jsonl"]
