"""``[tool.torntail]``: what is read, what is refused, and how budgets are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.configuration import parse_budget, read_configuration, split_patterns
from conformance.drivers.errors import UsageError


def project(directory: Path, body: str) -> Path:
    """A directory whose pyproject.toml holds this table of Torntail's."""
    (directory / "pyproject.toml").write_text(f"[tool.torntail]\n{body}\n", "utf-8")
    return directory


def test_without_a_file_there_are_no_settings(tmp_path: Path) -> None:
    """A directory without pyproject.toml changes nothing."""
    assert read_configuration(tmp_path) == {}


def test_without_a_table_there_are_no_settings(tmp_path: Path) -> None:
    """A pyproject.toml of somebody else's tools changes nothing."""
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nkey = 1\n", "utf-8")
    assert read_configuration(tmp_path) == {}


def test_keys_become_parameters(tmp_path: Path) -> None:
    """Each key is the default of the option of that name; one pattern may stand without its list."""
    body = 'backend = "mine"\nmax-examples = 5\nrequire-measured = true\nclause = "SEQ"\nbudget = "5m"\nseed = 0'
    assert read_configuration(project(tmp_path, body)) == {
        "backend": "mine",
        "max_examples": 5,
        "require_measured": True,
        "clause": ["SEQ"],
        "budget": "5m",
        "seed": 0,
    }


def test_parents_are_not_searched(tmp_path: Path) -> None:
    """Only the directory in which the command was started is looked at."""
    project(tmp_path, 'backend = "mine"')
    below = tmp_path / "below"
    below.mkdir()
    assert read_configuration(below) == {}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('profil = "ci"', "did you mean 'profile'"),
        ('zzz = "ci"', "known are backend, profile"),
        ("profile = 3", "profile=3 of type int"),
        ("seed = true", "seed=True of type bool"),
        ('strict = "yes"', "strict='yes' of type str"),
        ("clause = [1]", "expected a list of strings"),
        ("preset = [1]", "expected a list of strings"),
        ("backend = ", "Invalid value"),
    ],
)
def test_what_nobody_knows_is_refused(tmp_path: Path, body: str, told: str) -> None:
    """A key or value that would be ignored is an error that names the file and the way out."""
    with pytest.raises(UsageError) as caught:
        read_configuration(project(tmp_path, body))
    assert told in str(caught.value)
    assert "pyproject.toml" in str(caught.value)


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    """``torntail = 1`` under [tool] is told, not skipped."""
    (tmp_path / "pyproject.toml").write_text("[tool]\ntorntail = 1\n", "utf-8")
    with pytest.raises(UsageError, match="must be a table"):
        read_configuration(tmp_path)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5h", 5400), (" 2h ", 7200), ("0.5", 0.5)]
)
def test_budgets_have_units(text: str, seconds: float) -> None:
    """A plain number is seconds; s, m and h are known."""
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "5d", "five", "1e3", "nan", "inf", "5 minutes"])
def test_what_is_no_time_is_no_budget(text: str) -> None:
    """Anything else, zero included, is refused with an example of the right spelling."""
    with pytest.raises(ValueError, match="2h"):
        parse_budget(text)


def test_patterns_may_share_an_option() -> None:
    """Commas and repetition come to the same; empty parts are nothing."""
    assert split_patterns(("SEQ-01, SEQ-02", "OWN", ",")) == ("SEQ-01", "SEQ-02", "OWN")
