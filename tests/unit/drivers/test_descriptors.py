"""Descriptors that a backend leaves open are in nobody's way."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.drivers import descriptors
from conformance.drivers.descriptors import LIVES, Orphans, make_room
from tests.unit.sim.disk.test_remains import is_open

resource = pytest.importorskip("resource")

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="nothing here lists a process's descriptors")


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """The limits of open files, which are put back."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def lives(orphans: Orphans, count: int = LIVES) -> None:
    """So many lives begin."""
    for _ in range(count):
        orphans.life_begins()


@pytest.fixture
def left(tmp_path: Path) -> Iterator[tuple[int, io.FileIO]]:
    """A descriptor and a file object that stay open, on files that are gone."""
    path = tmp_path / "w-1" / "log"
    path.parent.mkdir()
    number, kept = os.open(path, os.O_RDWR | os.O_CREAT), io.FileIO(path)
    path.unlink()
    yield number, kept
    if is_open(number):
        os.close(number)
    kept.close()


def test_what_outlived_many_lives_is_closed(
    tmp_path: Path, left: tuple[int, io.FileIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain descriptors are, and objects that own one; nothing younger, and nothing elsewhere."""
    monkeypatch.setattr(descriptors, "_is_scarce", lambda: True)
    orphans = Orphans(f"{tmp_path}/w-")
    lives(orphans)
    number, kept = left
    assert is_open(number)
    with open(tmp_path / "w-2", "wb") as young, open(tmp_path / "elsewhere", "wb") as elsewhere:
        lives(orphans)
        assert not is_open(number)
        assert kept.closed
        assert not young.closed
        lives(orphans, LIVES * 3)
        assert young.raw.closed
        assert is_open(elsewhere.fileno())


def test_nothing_is_closed_while_there_is_room(tmp_path: Path, left: tuple[int, io.FileIO]) -> None:
    """A backend that keeps some files open for good meets nothing."""
    orphans = Orphans(f"{tmp_path}/w-")
    lives(orphans, LIVES * 4)
    assert is_open(left[0])
    assert not left[1].closed


def test_half_of_the_limit_is_scarce(limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """With that many open files, and not with fewer."""
    used = len(os.listdir("/proc/self/fd")) - 1
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used * 2 + 40, limits[1]))
    assert not descriptors._is_scarce()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used * 2 - 4, limits[1]))
    assert descriptors._is_scarce()


def test_the_limit_is_raised_as_far_as_it_may_be(limits: tuple[int, int]) -> None:
    """From what it is to the hard limit, and never down."""
    soft, hard = limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 500), hard))
    make_room()
    wanted = descriptors.MOST if hard == resource.RLIM_INFINITY else min(hard, descriptors.MOST)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wanted, hard)
    make_room()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wanted, hard)
