"""Faults that are aimed at the artifact of one session: which calls they meet, and where nothing can be armed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionHeader
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.loading import load_file
from conformance.model.history import FaultView, Outcome, Raised, Returned, Skipped
from conformance.model.operations import Append, Create, Fail, Heal, ListSessions, OpenInstance, OpenSession, Read
from reference_backend import jsonl

ROOT = Path(__file__).resolve().parents[3]
PLAIN: Backend = load_file(ROOT / "tests" / "variants" / "plain_files.py").plain_files
ONE_FILE: Backend = load_file(ROOT / "tests" / "variants" / "one_file.py").one_file

STICKY: dict[str, Any] = {"error": "EACCES", "sticky": True}


def stored(backend: Backend, root: Path) -> InProcessDriver:
    """Two sessions, one of which has a name that begins with the other's."""
    driver = InProcessDriver(backend, root, crashes=True)
    driver.perform(OpenInstance(1), 0)
    for handle, name in enumerate(("a", "ab"), 1):
        driver.perform(Create(1, handle, SessionHeader(name, 0)), handle)
        driver.perform(Append(handle, [{"type": "user/message", "seq": 0, "time": 0, "data": 1}]), 2 + handle)
    driver.perform(OpenInstance(2), 5)
    return driver


@pytest.fixture(params=[jsonl, PLAIN], ids=lambda each: each.name)
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessDriver]:
    """Over a backend with a directory for each session, and over one with none."""
    made = stored(request.param, tmp_path / "r")
    yield made
    made.finish()


def read(driver: InProcessDriver, handle: int, name: str) -> Outcome:
    """Open the session in the second instance and read it."""
    found = driver.perform(OpenSession(2, handle, name, "read"), 10)
    return driver.perform(Read(handle), 11) if isinstance(found, Returned) else found


def test_one_session_cannot_be_read_and_the_other_can(driver: InProcessDriver) -> None:
    """The fault is told of that session, until storage works again."""
    assert driver.perform(Fail(["open"], session="a", **STICKY)) == Returned()
    assert isinstance(read(driver, 3, "a"), Raised)
    assert driver.take_faults() == (FaultView("open", "EACCES", "refused", "a"),)
    assert isinstance(read(driver, 4, "ab"), Returned)
    assert isinstance(driver.perform(ListSessions(2), 12), Returned)
    assert {each.session for each in driver.take_faults()} == {"a"}
    driver.perform(Heal())
    assert isinstance(read(driver, 5, "a"), Returned)


def test_a_directory_is_hit_where_a_session_has_one(driver: InProcessDriver) -> None:
    """All that is in it meets errors; a backend that keeps its files in one place has none to be hit."""
    armed = driver.perform(Fail(["look"], session="ab", around=True, **STICKY))
    assert armed == (Returned() if driver.backend is jsonl else Skipped())
    assert isinstance(read(driver, 3, "a"), Returned)
    read(driver, 4, "ab")
    assert {each.session for each in driver.take_faults()} <= {"ab"}


def test_nothing_is_armed_for_what_has_no_artifact(driver: InProcessDriver) -> None:
    """A session that is not stored; then no earlier fault lasts either."""
    driver.perform(Fail(["open"], **STICKY))
    assert driver.perform(Fail(["open"], session="b", **STICKY)) == Skipped()
    assert isinstance(read(driver, 3, "a"), Returned)


def test_nothing_is_armed_for_what_has_no_artifact_of_its_own(tmp_path: Path) -> None:
    """A backend that tells of none, or of one that several sessions share."""
    shared = Backend(name="shared", open=PLAIN.open, location=lambda root, session: root / "a.jsonl")
    for number, backend in enumerate((ONE_FILE, shared)):
        driver = stored(backend, tmp_path / f"{number}")
        assert driver.perform(Fail(["open"], session="a", **STICKY)) == Skipped()
        driver.finish()
