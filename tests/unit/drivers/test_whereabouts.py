"""Every program begins in one working directory, wherever the one before it left the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionHeader
from conformance.drivers.execution import Execution
from conformance.drivers.probe import Prober
from conformance.drivers.whereabouts import Whereabouts, staying
from conformance.drivers.workspace import Workspace
from conformance.model.operations import Append, Crash, Create, Flush, OpenInstance
from reference_backend import jsonl

BEGUN_IN: list[str] = []
"""The working directories in which instances were opened."""


def going_along(root: Path) -> Any:
    """An instance that works in its root, by a short path."""
    BEGUN_IN.append(os.getcwd())
    root.mkdir(exist_ok=True)
    os.chdir(root)
    return jsonl.open(Path("."))


GOING = Backend(name="going-along", open=going_along, capabilities=jsonl.capabilities)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A working directory; nothing was opened yet."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    BEGUN_IN.clear()
    return os.getcwd()


def test_a_program_ends_where_it_began(tmp_path: Path, here: str) -> None:
    """And says that it was elsewhere."""
    execution = Execution(GOING, tmp_path / "root")
    try:
        execution.do(OpenInstance(0))
        assert os.getcwd() != here
    finally:
        execution.finish()
    assert (os.getcwd(), execution.moved) == (here, True)


def test_what_lives_on_after_a_crash_begins_there_too(tmp_path: Path, here: str) -> None:
    """A crash ends the process, whose working directory goes with it; what was written by short paths is found."""
    execution = Execution(GOING, tmp_path / "root", crashes=True)
    events = [{"type": "turn/start", "seq": 0, "time": 0, "data": {"turn": 1}}]
    header = SessionHeader(id="s", created_at=0)
    try:
        for each in (OpenInstance(0), Create(0, 0, header), Append(0, events), Flush(0), Crash("ext4")):
            execution.do(each)
        assert os.getcwd() == here
        execution.do(OpenInstance(1))
    finally:
        execution.finish()
    assert [here, here] == BEGUN_IN


def test_a_quick_look_ends_where_it_began(tmp_path: Path, here: str) -> None:
    """Instances of one look share a process, and the next look has one of its own."""
    Prober(GOING).look(tmp_path / "root", ["s"])
    assert os.getcwd() == here
    assert BEGUN_IN[0] == here


def test_nobody_is_left_in_a_workspace_that_is_gone(here: str) -> None:
    """The directory is put back before the workspace is removed."""
    with Workspace() as workspace:
        os.chdir(workspace.directory)
    assert os.getcwd() == here


def test_it_is_put_back_also_from_where_nothing_is_any_more(tmp_path: Path, here: str) -> None:
    """A working directory that was removed has no path."""
    (tmp_path / "gone").mkdir()
    with staying(str(tmp_path / "gone")) as before:
        (tmp_path / "gone").rmdir()
        assert Whereabouts().directory == ""
    assert (os.getcwd(), before.moved) == (here, True)
