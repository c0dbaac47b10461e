"""What a run came to is in the exit status, in the summary at the end, and in the report folder."""

from __future__ import annotations

import pytest

from conformance.report.lines import read_lines
from conformance.report.summary import summarise
from tests.plugin.conftest import IDS, Project

GAP = "conformance::seq::gap_is_refused_whole"


def test_a_violation_is_shown_last_with_its_command(project: Project) -> None:
    """The clause, what was expected and seen, and the command stand at the end, once, whatever --tb says."""
    ran = project.pytest("--backend=mine.py:violates", "--tb=no", "-q", "-r", "N", "--torntail-seed=3")
    assert ran.code == 1
    *before, command, counts = ran.out.strip().splitlines()
    assert command == "  reproduce  torntail replay a-case --seed 3"
    assert counts.startswith("1 failed, 3 passed, 1 skipped")
    assert sum("FAILED  SEQ-02 (must)" in line for line in before) == 1
    assert any("3/4 must" in line for line in before)


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "worker"])
@pytest.mark.parametrize(
    ("backend", "code", "words"),
    [
        ("lazy", 1, "not exercised, and so not passed: SEQ-02"),
        ("confused", 3, f"ERROR OF THE KIT in {GAP}"),
        ("mild", 0, "is violated and does not gate"),
        ("leaves", 4, "backend 'leaves' could not start"),
    ],
)
def test_the_exit_status_says_what_pytest_cannot_know(
    project: Project, backend: str, code: int, words: str, workers: tuple[str, ...]
) -> None:
    """Nothing exercised is 1, an error of the kit 3, a backend that is gone 4, a violated should clause none."""
    ran = project.pytest(f"--backend=mine.py:{backend}", *workers)
    assert words in ran.out
    assert ran.code == code


def test_a_should_clause_gates_where_strict(project: Project) -> None:
    """The same violation is a pytest warning, and a failure under --torntail-strict."""
    mild = project.pytest("--backend=mine.py:mild", "-v")
    assert mild.outcomes()[GAP] == "PASSED"
    assert "ConformanceWarning" in mild.out
    strict = project.pytest("--backend=mine.py:mild", "-v", "--torntail-strict")
    assert strict.outcomes()[GAP] == "FAILED"
    assert strict.code == 1


def test_a_part_of_a_run_is_not_asked_for_the_rest(project: Project) -> None:
    """Selecting one check leaves the clauses of the others out, so that a lazy item elsewhere fails nothing."""
    ran = project.pytest("--backend=mine.py:lazy", "conformance::rev")
    assert "1 of 5 checks ran; only the clauses of those selected are counted" in ran.out
    assert "1/1 must · 0 not exercised · 0 failed" in ran.out
    assert ran.code == 0


def test_an_interruption_is_pytest_s_interruption(project: Project) -> None:
    """Ctrl-C inside a check ends the run with 2, and what was known until then is summed up."""
    ran = project.pytest("--backend=mine.py:interrupted")
    assert ran.code == 2
    assert "interrupted" in ran.out
    assert "0 of 5 checks" in ran.out


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_the_report_folder_holds_the_stream_and_the_summary(project: Project, workers: tuple[str, ...]) -> None:
    """results.jsonl reads back to the same summary that was printed."""
    ran = project.pytest("--backend=mine.py:violates", "--torntail-report=out/deep", *workers)
    lines = read_lines(project.root / "out/deep/results.jsonl")
    summary = summarise(lines)
    assert lines.complete
    assert summary.exit_code() == 1
    assert {item.item for item in summary.items} == set(IDS)
    assert summary.headline() in ran.out
    assert "FAILED  SEQ-02" in (project.root / "out/deep/summary.txt").read_text("utf-8")


def test_a_report_folder_that_cannot_be_made_is_a_usage_error(project: Project) -> None:
    """A file in the way is named before anything runs."""
    ran = project.pytest("--backend=mine.py:conforms", "--torntail-report=mine.py")
    assert "--torntail-report=mine.py" in ran.out
    assert ran.code == 4


def test_nothing_is_summed_up_where_nothing_of_the_kit_ran(project: Project) -> None:
    """With every check deselected, or only a plan asked for, the kit has nothing to say."""
    ran = project.pytest("--backend=mine.py:conforms", "-k", "nothing_at_all")
    assert ran.code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "must" not in ran.out
    planned = project.pytest("--backend=mine.py:conforms", "--setup-plan")
    assert planned.code == pytest.ExitCode.OK
    assert "must" not in planned.out
