"""Faults of the storage as lines of a timeline."""

from __future__ import annotations

import pytest

from conformance.model.operations import Fail
from conformance.report.fault_text import fault_text
from conformance.sim.disk.places import PLACES

TOLD: dict[str, Fail] = {
    "---- storage fails: call 2 of write or sync meets EIO, and every one after it": Fail(
        ["write", "sync"], 2, sticky=True
    ),
    "---- storage fails: call 1 of write is done and reports EIO": Fail(["write"], how="landed"),
    "---- storage fails: call 1 of open in the artifact of 's' meets EIO": Fail(["open"], session="s"),
    "---- storage fails: call 1 of look in the directory of 's' meets EACCES": Fail(
        ["look"], error="EACCES", session="s", around=True
    ),
    "---- storage fails: call 1 of write takes 7 bytes at most": Fail(["write"], 1, "", how="short", taken=7),
    "---- storage fails: a write ends at the end of a line, number 3, and the next meets ENOSPC": Fail(
        ["write"], 3, "ENOSPC", how="short", place="record"
    ),
}


@pytest.mark.parametrize("told", TOLD)
def test_faults_are_told(told: str) -> None:
    """Which call it is, what becomes of it, and whether later ones meet the same."""
    assert fault_text(TOLD[told]) == told


def test_every_kind_of_place_has_words() -> None:
    """None is told by its bare name."""
    for place in PLACES:
        words = fault_text(Fail(["write"], error="", how="short", place=place))
        assert f"ends at {place}," not in words
