"""``--backend`` is ours only where it is nobody else's, and every setting says what is wrong with it."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import IDS, Project

PRINTS = "def test_mine(pytestconfig): print('theirs is', pytestconfig.getoption('--backend'))\n"


def option(**more: str) -> str:
    """Source that defines ``--backend``, in a conftest or a plugin."""
    extra = "".join(f", {key}={value}" for key, value in more.items())
    return f"def pytest_addoption(parser):\n    parser.addoption('--backend'{extra})\n"


@pytest.mark.parametrize("spelled", [["--backend=x"], ["--backend", "x"]], ids=["one word", "two words"])
@pytest.mark.parametrize("more", [{}, {"choices": "['x', 'y', 'django']"}, {"action": "'append'"}], ids=str)
def test_a_conftest_keeps_its_own_option(project: Project, more: dict[str, str], spelled: list[str]) -> None:
    """A project whose conftest defines --backend goes on as before, and the kit does not run."""
    project.write("conftest.py", option(**more))
    project.write("test_own.py", PRINTS)
    ran = project.pytest(*spelled, "-v", "-rP")
    assert list(ran.outcomes()) == ["test_own.py::test_mine"]
    assert "theirs is" in ran.out
    assert ran.code == 0


def test_a_plugin_keeps_its_own_option(project: Project) -> None:
    """So does another plugin, with an option that takes no value; ours is then spelled --torntail-backend."""
    project.write("theirs.py", option(action="'store_true'"))
    project.write("test_own.py", PRINTS)
    theirs = project.pytest("-p", "theirs", "--backend", "-v", "-rP", PYTHONPATH=path_with(project))
    assert list(theirs.outcomes()) == ["test_own.py::test_mine"]
    assert "theirs is True" in theirs.out
    both = ("-p", "theirs", "--backend", "--torntail-backend=mine.py:conforms", "-v", "-n1")
    ours = project.pytest(*both, PYTHONPATH=path_with(project))
    assert list(ours.outcomes()) == IDS


def path_with(project: Project) -> str:
    """A PYTHONPATH that also has the project's own modules."""
    return f"{project.root}:{__file__.rpartition('/')[0]}"


def test_a_project_without_a_backend_is_left_alone(project: Project) -> None:
    """Without a backend testpaths decides, nothing is added, and an unknown option is still pytest's to refuse."""
    project.write("pytest.ini", "[pytest]\ntestpaths = checks\n")
    project.write("checks/test_own.py", "def test_mine(): pass")
    project.write("test_elsewhere.py", "raise RuntimeError('not in testpaths')")
    ran = project.pytest("-v", stand_in=False)
    assert list(ran.outcomes()) == ["checks/test_own.py::test_mine"]
    assert "torntail:" not in ran.out
    refused = project.pytest("--backends=x", stand_in=False)
    assert "unrecognized arguments: --backends=x" in refused.out


def test_the_option_may_stand_in_the_project_s_addopts(project: Project) -> None:
    """addopts and PYTEST_ADDOPTS are rewritten too; the command line wins, and paths in addopts are not wishes."""
    project.write("pytest.ini", "[pytest]\naddopts = --backend=mine.py:violates --torntail-seed=5 checks\n")
    project.write("checks/test_own.py", "def test_mine(): pass")
    ran = project.pytest("-v", "--backend=mine.py:conforms")
    assert list(ran.outcomes()) == IDS
    assert "mine.py:conforms, profile default, --torntail-seed=5" in ran.out
    by_environment = project.pytest("-v", "-n1", PYTEST_ADDOPTS="--backend mine.py:conforms")
    assert list(by_environment.outcomes()) == IDS


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--backend=jsonl-rwa"], "unknown backend 'jsonl-rwa'. Did you mean 'jsonl-raw'"),
        (["--backend=mine.py:conform"], "Did you mean 'conforms'"),
        (["--backend=mine.py:broken"], "backend 'broken' could not start: OSError: no such device"),
        (["--backend=mine.py:broken", "-n1"], "backend 'broken' could not start: OSError: no such device"),
        (["--backend"], "--torntail-backend: expected one argument"),
        (["--backend=mine.py:conforms", "--torntail-clause=SEQ-0Z"], "SEQ-0Z"),
        (["--backend=mine.py:conforms", "--torntail-profile=fast"], "expected one of smoke, default"),
        (["--backend=mine.py:conforms", "--torntail-durability=best"], "expected one of none, process-kill"),
        (["--backend=mine.py:conforms", "--torntail-budget=soon"], "expected a time above zero such as 90"),
        (["--backend=mine.py:conforms", "--torntail-max-examples=0"], "expected at least 1"),
        (["--backend=mine.py:conforms", "--torntail-seed=-1"], "expected at least 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_setting_is_a_usage_error(project: Project, args: list[str], words: str) -> None:
    """Nothing runs, the message says what was expected, and the exit status is pytest's 4."""
    ran = project.pytest(*args)
    assert words in ran.out
    assert "Traceback" not in ran.out
    assert "INTERNALERROR" not in ran.out
    assert ran.code == 4


@pytest.mark.parametrize("name", ["strategies", "reference_backend"])
def test_a_shadowed_name_is_told_plainly(project: Project, name: str) -> None:
    """A module of the user in front of ours is named, but only once a backend is asked for."""
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    taken = project.write(f"{name}.py", "")
    project.write("test_own.py", "def test_mine(): pass")
    ran = project.pytest("--backend=memory", stand_in=False, fresh=True)
    assert ran.code == 4
    assert f"the name {name!r} is taken: {taken} shadows the kit's own package" in ran.out
    assert project.pytest("-q", stand_in=False, fresh=True).code == 0
