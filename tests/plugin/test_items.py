"""The kit's items are ordinary pytest items: everything that selects, shares, repeats or reports works on their ids."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.plugin.conftest import IDS, Project

GAP = "conformance::seq::gap_is_refused_whole"


def test_collect_only_counts_the_items_and_shows_a_tree(project: Project) -> None:
    """--co lists every id and counts them, in words and in a tree."""
    ran = project.pytest("--backend=mine.py:conforms", "--co", "-q")
    assert ran.code == 0
    assert ran.out.splitlines()[: len(IDS)] == IDS
    assert "5 tests collected" in ran.out
    tree = project.pytest("--backend=mine.py:conforms", "--co")
    assert "collected 5 items" in tree.out
    assert "<Conformance conformance>\n  <Area seq>\n    <Check gap_is_refused_whole>" in tree.out
    assert "no tests" not in ran.out + tree.out


def test_ids_are_the_same_with_and_without_workers(project: Project) -> None:
    """One process and two workers run the same ids to the same ends, on one seed, with the same summary."""
    args = ("--backend", "mine.py:violates", "--torntail-seed=7", "-v", "-rP")
    alone, shared = project.pytest(*args), project.pytest(*args, "-n", "2")
    assert (alone.code, shared.code) == (1, 1)
    assert list(alone.outcomes()) == IDS
    assert alone.outcomes() == shared.outcomes()
    assert alone.outcomes()[GAP] == "FAILED"
    start = "torntail: violates, default, seed 7"
    assert summary_after(start, alone.out) == summary_after(start, shared.out)
    assert "--torntail-seed=7" in alone.out
    assert "seed=7 workers=1" in alone.out


def summary_after(start: str, out: str) -> str:
    """The kit's own part of the terminal summary."""
    return out.partition(start)[2].partition("\n===")[0].strip(" =\n")


def test_workers_draw_from_the_controller_s_random_seed(project: Project) -> None:
    """Without --torntail-seed the controller chooses one, prints it, and every worker uses it."""
    ran = project.pytest("--backend=mine.py:conforms", "-n", "2", "-rP")
    chosen = re.findall(r"--torntail-seed=(\d+)", ran.out)
    assert len(chosen) == 1
    assert set(re.findall(r"stand-in: seed=(\d+) workers=2", ran.out)) == set(chosen)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-k", "gap or revisions"], [IDS[0], IDS[2]]),
        (["-k", "REV-01"], [IDS[2]]),
        (["--deselect", "conformance::seq"], IDS[2:]),
        (["conformance::seq"], IDS[:2]),
        (["conformance::sweep::crash"], [IDS[4]]),
        ([IDS[4], f"../elsewhere/{IDS[2]}"], [IDS[2], IDS[4]]),
        (["conformance"], IDS),
        (["--torntail-clause=SEQ-01,REV-01", "--torntail-clause", "MAT"], [IDS[1], IDS[2], IDS[4]]),
        (["-m", "not slow"], IDS),
        (["-n1", "conformance::seq", "-k", "gap"], [IDS[0]]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_way_of_selecting_selects(project: Project, args: list[str], expected: list[str]) -> None:
    """-k, --deselect, selectors, clause patterns and -m choose among the kit's items; a part of a run can be green."""
    ran = project.pytest("--backend=mine.py:conforms", "-v", *args)
    assert list(ran.outcomes()) == expected
    assert ran.code == 0
    assert "0 not exercised · 0 failed" in ran.out


def test_the_last_failed_are_run_again(project: Project) -> None:
    """--lf runs what failed, also an id with brackets beside it, and forgets it once it passes."""
    args = ("--backend=mine.py:moody", "-v", "--lf")
    assert project.pytest(*args).outcomes()[GAP] == "FAILED"
    assert project.pytest(*args).outcomes() == {GAP: "FAILED"}
    project.write("mended", "")
    assert project.pytest(*args).outcomes() == {GAP: "PASSED"}
    assert len(project.pytest(*args).outcomes()) == len(IDS)


def test_the_first_failure_ends_a_run_with_x(project: Project) -> None:
    """-x stops there, and the summary says that the run was cut short."""
    ran = project.pytest("--backend=mine.py:violates", "-v", "-x")
    assert ran.outcomes() == {GAP: "FAILED"}
    assert "1 of 5 checks" in ran.out
    assert "interrupted" in ran.out
    assert ran.code == 1


def test_junit_has_the_ids_and_the_whole_failure(project: Project) -> None:
    """The XML names class and check of each id, and holds the failure as rendered, with the reason of the skip."""
    ran = project.pytest("--backend=mine.py:violates", "--junitxml=out.xml", "-n1")
    cases = ElementTree.parse(project.root / "out.xml").getroot().findall(".//testcase")
    found = {f"{case.get('classname')}::{case.get('name')}".replace(".", "::") for case in cases}
    assert found == set(IDS)
    texts = {case.get("name"): "".join(case.itertext()) for case in cases}
    assert "reproduce  torntail replay a-case" in texts["gap_is_refused_whole"]
    assert "gap \\udcff" in texts["gap_is_refused_whole"]
    assert "not claimed: no lease" in texts["lease_runs_out"]
    assert ran.code == 1


def test_a_selector_from_another_directory_is_understood(project: Project) -> None:
    """The id that pytest prints outside the rootdir selects the same check when it is pasted back."""
    project.write("pytest.ini", "[pytest]\n")
    project.write("deep/nothing.txt", "")
    failed = project.pytest("--backend=../mine.py:violates", cwd="deep")
    printed = re.findall(r"^FAILED (\S+)", failed.out, flags=re.MULTILINE)
    assert printed == [f"../{GAP}"]
    again = project.pytest("--backend=../mine.py:violates", "-v", *printed, cwd="deep")
    assert "1 failed in" in again.out
    assert again.code == 1


def test_a_selector_that_matches_nothing_is_a_usage_error(project: Project) -> None:
    """A slip in a selector runs nothing and names what comes near, in one process and with workers."""
    for more in ((), ("-n1",)):
        ran = project.pytest("--backend=mine.py:conforms", "conformance::seq::gap_is_refused_hole", *more)
        assert ran.code == 4
        assert "no check of the kit matches 'conformance::seq::gap_is_refused_hole'" in ran.out
        assert f"did you mean {GAP}?" in ran.out


TREE = """
    import pytest

    @pytest.fixture(autouse=True)
    def spoil():
        raise RuntimeError("a fixture of the user was used")
"""


def test_only_the_kit_runs_where_no_path_is_given(project: Project) -> None:
    """testpaths and the working directory are not collected: no fixture is used and no test module imported."""
    project.write("pytest.ini", "[pytest]\ntestpaths = checks\n")
    project.write("conftest.py", TREE)
    project.write("checks/test_own.py", "raise RuntimeError('imported')")
    ran = project.pytest("--backend=mine.py:conforms", "-v")
    assert list(ran.outcomes()) == IDS
    assert ran.code == 0
    assert "testpaths:" not in ran.out


def test_both_run_where_a_path_is_given(project: Project) -> None:
    """Paths among the arguments are collected beside the kit, and a selector narrows the kit only."""
    project.write("checks/test_own.py", "def test_mine(): pass")
    own = "checks/test_own.py::test_mine"
    both = project.pytest("--backend=mine.py:conforms", "-v", "checks")
    assert list(both.outcomes()) == [own, *IDS]
    narrowed = project.pytest("--backend=mine.py:conforms", "-v", own, "conformance::rev")
    assert list(narrowed.outcomes()) == [own, IDS[2]]


def test_a_folder_called_conformance_stays_a_path(project: Project) -> None:
    """A user's directory of that name is collected when it is named, and selected into with ::."""
    project.write("tests/conformance/test_own.py", "def test_mine(): pass")
    ran = project.pytest("--backend=mine.py:conforms", "-v", "tests/conformance")
    assert list(ran.outcomes()) == ["tests/conformance/test_own.py::test_mine", *IDS]
    into = project.pytest("--backend=mine.py:conforms", "-v", "tests/conformance::rev")
    assert list(into.outcomes()) == [IDS[2]]
