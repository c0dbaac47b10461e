"""The door on the real runner: a backend that cannot start is a usage error of pytest, one that can is checked."""

from __future__ import annotations

import textwrap

import pytest

from tests.plugin.conftest import Project

FACTORIES = """
    import asyncio
    from contextlib import asynccontextmanager
    from conformance import Backend

    def refuse(root):
        raise PermissionError("not allowed here")

    async def wait(root):
        await asyncio.Event().wait()

    @asynccontextmanager
    async def quarrel(root):
        raise ConnectionRefusedError("nobody listens")
        yield

    raises = Backend(name="raises", open=refuse)
    wrong = Backend(name="wrong", open=lambda root: {"a": "dict"})
    blocks = Backend(name="blocks", open=wait)
    quarrels = Backend(name="quarrels", open=quarrel)
"""


@pytest.mark.parametrize(
    ("backend", "cause"),
    [
        ("raises", "PermissionError: not allowed here"),
        ("wrong", "of type dict; expected a service with create"),
        ("blocks", "opening an instance"),
        ("quarrels", "ConnectionRefusedError: nobody listens"),
    ],
)
def test_a_backend_that_cannot_start_is_a_usage_error(project: Project, backend: str, cause: str) -> None:
    """Whatever keeps it from starting, backend and cause are named and nothing runs."""
    project.write("factories.py", FACTORIES)
    ran = project.pytest(f"--backend=factories.py:{backend}", stand_in=False)
    assert ran.code == 4
    assert f"backend '{backend}'" in ran.out
    assert cause in ran.out
    assert "Traceback" not in ran.out


MUTANT = """
    from conformance import Backend
    from reference_backend.memory import MemoryHandle, MemoryPersistence, memory

    class Forgetful(MemoryHandle):
        __slots__ = ()

        async def append(self, events):
            await super().append(events[:-1] if len(events) > 1 else events)

    class Service(MemoryPersistence):
        async def create(self, *args, **kwargs):
            handle = await super().create(*args, **kwargs)
            handle.__class__ = Forgetful
            return handle

    forgetful = Backend(name="forgetful", open=lambda root: Service(), capabilities=memory.capabilities)
"""


def test_a_good_backend_passes_a_check_and_a_bad_one_fails_it(project: Project) -> None:
    """The same selector is green on the reference and red on a backend that drops the end of each batch."""
    project.write("mutant.py", MUTANT)
    size = ("--torntail-budget=9s", "--torntail-max-examples=10", "--torntail-seed=1")
    args = (*size, "-q", "conformance::machine::sequential")
    good = project.pytest("--backend=memory", *args, stand_in=False)
    assert good.code == 0
    assert "0 failed" in good.out
    bad = project.pytest("--backend=mutant.py:forgetful", *args, stand_in=False)
    assert bad.code == 1
    assert "FAILED  SEQ-" in bad.out
    assert "reproduce  torntail replay .torntail/cases/" in bad.out


def test_the_project_file_holds_settings_of_this_door_too(project: Project) -> None:
    """Keys of ``[tool.torntail]`` stand for the options of their names; an option that is given wins."""
    project.write("pyproject.toml", '[tool.torntail]\nclause = "SEQ-02"\nbudget = "1s"\n')
    ran = project.pytest("--backend=memory", "--co", "-q", stand_in=False)
    assert ran.code == 0
    assert "conformance::seq::gap_is_refused_whole" in ran.out
    assert "conformance::read::" not in ran.out
    other = project.pytest("--backend=memory", "--torntail-clause=READ-02", "--co", "-q", stand_in=False)
    assert "conformance::read::" in other.out


def test_a_misspelt_setting_is_a_usage_error(project: Project) -> None:
    """A key that nobody knows is not ignored."""
    project.write("pyproject.toml", '[tool.torntail]\nprofil = "ci"\n')
    ran = project.pytest("--backend=memory", stand_in=False)
    assert ran.code == 4
    assert "did you mean 'profile'" in ran.out


def test_a_backend_that_changes_the_working_directory_takes_nobody_along(project: Project) -> None:
    """The user's own tests are where they were, and so is what the kit keeps."""
    project.write("moving.py", "import os\nos.chdir('/')\n\n" + textwrap.dedent(MUTANT))
    project.write("test_mine.py", "import os\n\ndef test_it():\n    assert os.getcwd() == os.path.dirname(__file__)\n")
    args = ("--torntail-report=out", "-q", "test_mine.py", "conformance::seq::batches_are_read_back_exactly")
    ran = project.pytest("--backend=moving.py:forgetful", *args, stand_in=False)
    assert ran.code == 1
    assert "the backend changes the working directory" in ran.out
    assert "test_mine" not in ran.out.partition("short test summary")[2]
    assert {each.name for each in project.root.iterdir()} >= {"out", ".torntail"}
    assert list((project.root / ".torntail" / "cases").glob("SEQ-01-*.json"))
