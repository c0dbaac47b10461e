"""A package of the user that has one of the kit's names is named, whether it is loaded already or only comes first."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conformance.drivers.errors import UsageError
from conformance.drivers.registry import load_backend
from conformance.drivers.shadowing import OUR_PACKAGES, check_not_shadowed


def test_nothing_is_shadowed_here() -> None:
    """In the kit's own environment its names are its own."""
    check_not_shadowed()


@pytest.mark.parametrize("name", ["strategies", "reference_backend"])
@pytest.mark.parametrize("shape", ["{}.py", "{}/__init__.py"])
def test_a_module_that_comes_first_on_the_path_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shape: str
) -> None:
    """The message names the file that is in the way and the package behind it."""
    taken = tmp_path / shape.format(name)
    taken.parent.mkdir(exist_ok=True)
    taken.write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for module in [key for key in sys.modules if key.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(UsageError) as caught:
        check_not_shadowed()
    assert str(taken) in str(caught.value)
    assert f"shadows the kit's own package {Path(__file__).parents[3] / name}" in str(caught.value)


def test_a_module_that_is_loaded_already_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sys.modules holds is what an import would give."""
    other = ModuleType("strategies")
    other.__file__ = "/elsewhere/strategies.py"
    monkeypatch.setitem(sys.modules, "strategies", other)
    with pytest.raises(UsageError, match=r"'strategies' is taken: /elsewhere/strategies\.py"):
        check_not_shadowed()


def test_a_folder_without_code_shadows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that only has the name gives way to the real package, as Python imports it."""
    for name in OUR_PACKAGES:
        (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    check_not_shadowed()


def test_a_backend_inside_a_shadowed_package_is_told_why_it_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit's conformance came first, so a module of the user's cannot be imported: the message says so."""
    package = tmp_path / "conformance"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "mine.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(UsageError, match=r"No module named 'conformance.mine'; the name 'conformance' is taken"):
        load_backend("conformance.mine:backend")
