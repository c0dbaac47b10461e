"""The shape of the repository: where things may lie, how long they may get, and that each says what it is."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conformance import __version__

ROOT = Path(__file__).parents[2]
SHIPPED = ("conformance", "reference_backend", "strategies")
TOP_LEVEL = {
    "benchmarks",
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "conformance",
    "pyproject.toml",
    "reference_backend",
    "strategies",
    "tests",
}
TEST_FOLDERS = {"data", "cli", "differential", "mutants", "plugin", "quality", "repo", "snapshots", "unit", "variants"}
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 70
SUITE_FILES = sorted(path for folder in (*SHIPPED, "tests") for path in (ROOT / folder).rglob("*.py"))
SHIPPED_FILES = [path for path in SUITE_FILES if path.relative_to(ROOT).parts[0] in SHIPPED]


def named(path: Path) -> str:
    """The path as messages show it: from the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a source file."""
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a source file, methods and nested ones too."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def committed_files() -> list[str]:
    """The files that git tracks; what only lies about does not count."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode != 0:
        pytest.skip("this tree is no git work tree, so what is committed cannot be asked")
    return [name for name in found.stdout.decode().split("\0") if name]


def test_only_known_names_lie_at_the_top() -> None:
    """The layout is the explanation: nothing lands at the top of the repository by accident."""
    assert {name.split("/")[0] for name in committed_files()} <= TOP_LEVEL


def test_tests_lie_in_the_folders_that_are_named() -> None:
    """Every test lives in one of the known folders, so that its kind can be told from its place."""
    folders = {name.split("/")[1] for name in committed_files() if name.startswith("tests/") and name.count("/") > 1}
    assert folders <= TEST_FOLDERS


def test_unit_tests_mirror_the_packages() -> None:
    """A folder under tests/unit names a package or a module that exists."""
    known = {path.stem for place in (ROOT, ROOT / "conformance") for path in place.iterdir()}
    places = [name.split("/") for name in committed_files() if name.startswith("tests/unit/")]
    assert {place[2] for place in places if len(place) > 3} <= known


def test_no_module_grows_past_its_length() -> None:
    """A shipped module past 400 lines has usually two ideas in it; a list of tests may be as long as its subject."""
    long = {named(path): lines for path in SHIPPED_FILES if (lines := line_count(path)) > MAX_MODULE_LINES}
    assert long == {}


def line_count(path: Path) -> int:
    """How many lines a source file has."""
    return len(path.read_text("utf-8").splitlines())


def test_no_function_grows_past_its_length() -> None:
    """A function past 70 lines has usually two ideas in it."""
    long = {
        f"{named(path)}:{node.lineno} {node.name}": length
        for path in SUITE_FILES
        for node in functions(path)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert long == {}


def test_every_module_says_what_it_is() -> None:
    """Every module opens with a docstring; only the markers of test packages may be empty."""
    silent = [named(path) for path in SUITE_FILES if path.stat().st_size and ast.get_docstring(parsed(path)) is None]
    assert silent == []


def test_nothing_shipped_is_called_test() -> None:
    """pytest owns the word: no shipped module, class or function is named after it."""
    taken = [named(path) for path in SHIPPED_FILES if re.match(r"tests?(_|\.|$)", path.name)]
    taken += [
        f"{named(path)}:{node.lineno} {node.name}"
        for path in SHIPPED_FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and re.match(r"tests?(_|$)|Test", node.name)
    ]
    assert taken == []


def test_shipped_code_does_not_lean_on_assert() -> None:
    """A bare assert is empty outside pytest and gone under -O; shipped code raises what it means."""
    found = [
        f"{named(path)}:{node.lineno}"
        for path in SHIPPED_FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Assert)
    ]
    assert found == []


def test_nothing_is_left_to_do_later() -> None:
    """No marker of unfinished work is committed."""
    words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    found = [named(path) for path in SUITE_FILES if words.search(path.read_text("utf-8"))]
    assert found == []


def test_type_ignores_name_their_code() -> None:
    """An ignore without a code hides the next error too."""
    bare = re.compile(r"#\s*type:\s*" + r"ignore(?!\[)")
    found = [
        f"{named(path)}:{number}"
        for path in SUITE_FILES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if bare.search(line)
    ]
    assert found == []


def test_the_changelog_knows_this_version() -> None:
    """The version of the package is the newest one in the changelog, under which everything unreleased is listed."""
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    assert headings[:2] == ["Unreleased", __version__]


@pytest.mark.parametrize("package", SHIPPED)
def test_packages_are_marked_as_typed(package: str) -> None:
    """Type checkers of users see the annotations of every package."""
    assert (ROOT / package / "py.typed").is_file()
