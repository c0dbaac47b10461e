"""The installed plugin costs its users two modules, and touches nothing that is theirs."""

from __future__ import annotations

import ast
from pathlib import Path

import conformance
from tests.plugin.conftest import Project

LISTS = """
    import sys

    def pytest_sessionfinish():
        print("\\nMODULES", *sorted(sys.modules))
"""


def modules(project: Project, *args: str) -> set[str]:
    """What is in memory at the end of a pytest run."""
    ran = project.pytest(*args, stand_in=False)
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


def test_a_run_of_the_kit_loads_no_global_profile(project: Project) -> None:
    """Hypothesis still has its own default profile when the kit has run, and no private part of pytest is imported."""
    project.write(
        "conftest.py",
        """
        import sys

        def pytest_sessionfinish():
            hypothesis = sys.modules.get("hypothesis")
            print("\\nPROFILE", hypothesis and hypothesis.settings._current_profile)
        """,
    )
    ran = project.pytest("--backend=mine.py:conforms", "-s")
    assert "PROFILE default" in ran.out or "PROFILE None" in ran.out


def test_nothing_private_of_pytest_is_imported() -> None:
    """The door uses pytest's public names only."""
    for path in Path(conformance.__file__).parent.glob("pytest_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not any(name.startswith("_pytest") for name in (*names, module)), path
