"""``torntail clauses``: the table, one clause in full, and how clauses stand for a backend."""

from __future__ import annotations

from conformance.checks import SCENARIOS
from conformance.clauses import AREAS, CLAUSES
from tests.cli.conftest import Command


def words(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


def test_the_table_holds_the_whole_catalogue(command: Command) -> None:
    """Without a pattern every clause is there with its level and its sentence, area by area."""
    found = command("clauses")
    assert found.exit_code == 0
    for clause in CLAUSES.values():
        assert words(f"{clause.id} {clause.level} {clause.statement}") in words(found.output)
    for area, title in AREAS.items():
        assert f"{area} · {title}" in found.output
    assert f"{len(CLAUSES)} clauses" in found.output


def test_patterns_choose(command: Command) -> None:
    """Areas, ids and commas choose what is shown, and nothing else is."""
    found = command("clauses", "SEQ-01,SEQ-02", "KNIT").output
    shown = [line.split()[0] for line in found.splitlines() if line.startswith("  ") and line[2] != " "]
    assert shown == ["SEQ-01", "SEQ-02", "KNIT-01", "KNIT-02", "KNIT-03"]


def test_one_clause_is_shown_in_full(command: Command) -> None:
    """A single clause comes with its sentence, its checks with what they state, and the commands that run it."""
    found = words(command("clauses", "SEQ-02").output)
    assert words(CLAUSES["SEQ-02"].statement) in found
    assert words(CLAUSES["SEQ-02"].source) in found
    (first, *_) = [each for each in SCENARIOS if "SEQ-02" in each.clauses]
    assert f"{first.item_id}: {first.title}" in found
    assert "torntail run BACKEND --clause SEQ-02" in found
    assert "pytest --backend=BACKEND --torntail-clause=SEQ-02" in found


def test_a_clause_without_a_check_says_so(command: Command) -> None:
    """What is not built yet does not look as if it were."""
    assert "none yet" in command("clauses", "RES-01").output


def test_a_backend_gives_each_clause_its_standing(command: Command) -> None:
    """With a backend the table says what applies to it and why the rest does not."""
    found = words(command("clauses", "MAT-01", "MAT-02", "--backend", "memory").output)
    assert "MAT-01 must [applies]" in found
    assert "MAT-02 must [not applicable: " in found


def test_a_pattern_that_matches_nothing_is_an_error(command: Command) -> None:
    """A misspelt id is a usage error that names its neighbours."""
    found = command("clauses", "SEQQ")
    assert found.exit_code == 2
    assert "did you mean SEQ" in found.output
