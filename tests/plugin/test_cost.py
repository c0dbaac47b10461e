"""The installed plugin costs its users two modules, and touches nothing that is theirs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import conformance
from tests.plugin.conftest import Project

LISTS = """
    import sys

    def pytest_sessionfinish():
        print("\\nMODULES", *sorted(sys.modules))
"""


def modules(project: Project, *args: str) -> set[str]:
    """What is in memory at the end of a pytest run."""
    ran = project.pytest(*args, stand_in=False, fresh=True)
    return set(next(line for line in ran.out.splitlines() if line.startswith("MODULES")).split()[1:])


def test_the_plugin_adds_two_modules_to_a_run_without_a_backend(project: Project) -> None:
    """The same pytest run with and without it differs by the package and the plugin, and by nothing else."""
    project.write("conftest.py", LISTS)
    project.write("test_own.py", "def test_mine(): pass")
    with_it, without = modules(project, "-s"), modules(project, "-s", "-p", "no:torntail")
    assert with_it - without == {"conformance", "conformance.pytest_plugin"}
    assert not without - with_it


def test_it_costs_no_module_of_pytest_s_own_plugins_either(project: Project) -> None:
    """Also where no other plugin is installed, and so fewer modules are there to lean on."""
    project.write("conftest.py", LISTS)
    alone = ("-s", "--disable-plugin-autoload")
    with_it, without = modules(project, *alone, "-p", "conformance.pytest_plugin"), modules(project, *alone)
    assert with_it - without == {"conformance", "conformance.pytest_plugin"}


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_run_of_the_kit_loads_no_global_profile(project: Project, ci: str) -> None:
    """When the kit has run, Hypothesis has the profile it chooses for itself, which is another one in CI."""
    asks = "hypothesis.settings().max_examples, hypothesis.settings().derandomize)"
    alone = subprocess.run(
        [sys.executable, "-c", f"import hypothesis; print('PROFILE', {asks}"],
        env=os.environ | {"CI": ci},
        capture_output=True,
        text=True,
        check=True,
    )
    project.write("conftest.py", f"import hypothesis\n\ndef pytest_sessionfinish():\n    print('\\nPROFILE', {asks}\n")
    ran = project.pytest("--backend=mine.py:conforms", "-s", fresh=True, CI=ci)
    assert re.findall("PROFILE.*", ran.out) == alone.stdout.splitlines()


def test_nothing_private_of_pytest_is_imported() -> None:
    """The door uses pytest's public names only."""
    for path in Path(conformance.__file__).parent.glob("pytest_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not any(name.startswith("_pytest") for name in (*names, module)), path
