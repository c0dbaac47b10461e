"""What is installed at users: the three packages with their data, and nothing of the tests."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ("conformance", "reference_backend", "strategies")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel built from a copy of the tree by the build backend itself, without a network."""
    build = pytest.importorskip("hatchling.builders.wheel", reason="hatchling comes with the dev extra")
    copy = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy / name)
    for name in (*SHIPPED, "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    builder = build.WheelBuilder(str(copy))
    (path,) = builder.build(directory=str(tmp_path_factory.mktemp("dist")), versions=["standard"])
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_three_packages_and_no_other(wheel: zipfile.ZipFile) -> None:
    """Nothing but the shipped packages and the wheel's own metadata is installed."""
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(SHIPPED)


def test_the_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    """Data files travel with the code: the schema, the templates, the typing markers."""
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in SHIPPED
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected <= set(wheel.namelist())
    assert "conformance/report/schema.json" in expected


def test_the_wheel_announces_its_doors(wheel: zipfile.ZipFile) -> None:
    """The command, the pytest plugin and the built-in backends are found through the wheel's entry points."""
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    for line in ("torntail = conformance.cli:main", "torntail = conformance.pytest_plugin", "[torntail.backends]"):
        assert line in text


def test_the_wheel_carries_its_licence(wheel: zipfile.ZipFile) -> None:
    """The licence travels with the code."""
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
