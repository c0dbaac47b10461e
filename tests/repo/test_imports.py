"""Who imports whom: the contracts of import-linter, and the rules it cannot express."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def imported_names(path: Path) -> set[str]:
    """The full names of the modules that a file imports, at any depth of nesting."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in memory after a statement, in a fresh and isolated interpreter."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(found.stdout))


def test_the_import_contracts_hold() -> None:
    """The layering written down in pyproject.toml is the layering of the code."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "conformance" / "contract").glob("*.py")), ids=lambda path: path.name)
def test_the_contract_is_standard_library_only(path: Path) -> None:
    """A backend that imports the contract drags nothing along."""
    foreign = {
        name
        for name in imported_names(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("conformance.contract")
    }
    assert foreign == set()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "reference_backend").rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_reference_backend_is_an_example_to_copy(path: Path) -> None:
    """It takes the contract, orjson, zstandard and the standard library, and nothing else."""
    allowed = {*sys.stdlib_module_names, "orjson", "zstandard", "reference_backend"}
    foreign = {
        name
        for name in imported_names(path)
        if name.split(".")[0] not in allowed and not name.startswith("conformance.contract")
    }
    assert foreign == set()


def test_importing_the_kit_loads_nothing() -> None:
    """``import conformance`` happens in every pytest run of every user, so it costs one module."""
    assert loaded_by("import conformance") - loaded_by("import __future__") == {"conformance"}


@pytest.mark.parametrize("module", ["clauses", "model", "sim", "report", "drivers"])
def test_what_lies_below_strategies_does_not_load_hypothesis(module: str) -> None:
    """Whoever reads histories, or writes a report, does not need Hypothesis, pytest or click in memory."""
    assert not loaded_by(f"import conformance.{module}") & {"hypothesis", "pytest", "click", "faker"}


def test_relative_imports_are_not_used() -> None:
    """An import names its module in full, so that a reader sees which layer it is in."""
    found = [
        path.relative_to(ROOT).as_posix()
        for package in ("conformance", "reference_backend", "strategies")
        for path in (ROOT / package).rglob("*.py")
        if any(name.startswith(".") for name in imported_names(path))
    ]
    assert found == []
