"""The README: its generated block is what the command prints, and what it points at is there."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.clauses import Verdict
from tests.repo import readme

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")


def test_the_planted_bug_is_found_as_the_readme_says() -> None:
    """The block between the markers is the mutant's source and the failure that a real run shows for it."""
    assert readme.with_block(TEXT, readme.block()) == TEXT


def test_links_lead_somewhere() -> None:
    """Every relative link of the README names a file or folder that exists."""
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_verdict_is_explained() -> None:
    """The table of verdicts has a row for each verdict and no other."""
    section = TEXT.partition("## What a verdict means")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z ]+?) \|", section, flags=re.MULTILINE)
    assert rows == ["verdict", *(verdict.value for verdict in Verdict)]


def test_the_two_commands_are_on_the_first_screen() -> None:
    """Whoever opens the README sees the two commands before the first heading of its body."""
    first = TEXT.partition("\n## ")[0]
    assert "$ make conform" in first
    assert "$ make test" in first
