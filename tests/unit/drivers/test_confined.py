"""A look from another process: what it comes to is told, and memory past the limit is not to be had there."""

from __future__ import annotations

import os
import signal

import pytest

from conformance.drivers import confined as module
from conformance.drivers.confined import can_confine, confined
from conformance.model.history import ErrorView, Hung, Outcome, Raised, Returned, Skipped

pytestmark = pytest.mark.skipif(not can_confine(), reason="this system cannot limit the memory of a copied process")

ROOM = 64 << 20


def test_what_it_comes_to_is_told() -> None:
    """A value and an error come back as they are, a long one too."""
    assert confined(lambda: Returned([{"seq": 0}] * 50_000), ROOM) == Returned([{"seq": 0}] * 50_000)
    raised = Raised(ErrorView("KeyError", "KeyError", "text"))
    assert confined(lambda: raised, ROOM) == raised


@pytest.mark.parametrize(("size", "kind"), [(ROOM // 4, ""), (ROOM * 2, "MemoryError")])
def test_memory_is_limited(size: int, kind: str) -> None:
    """What fits into the room is had, and what does not is a MemoryError there and nothing here."""

    def look() -> Outcome:
        return Returned([len(bytearray(size))])

    outcome = confined(look, ROOM)
    assert (outcome.error.kind if isinstance(outcome, Raised) else "") == kind
    assert bytearray(ROOM * 2)


def test_death_is_an_outcome() -> None:
    """A process that dies without a word is told as one."""

    def die() -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        return Returned()

    outcome = confined(die, ROOM)
    assert isinstance(outcome, Raised)
    assert (outcome.error.kind, outcome.error.message) == ("Died", "the process ended with -9 and said nothing")


def test_silence_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that never answers is ended, and that is a hang."""
    monkeypatch.setattr(module, "LONGEST", 0.05)

    def wait() -> Outcome:
        signal.pause()
        return Returned()

    assert isinstance(confined(wait, ROOM), Hung)


def test_where_it_cannot_be_done_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without limits of the system's own the look is not made."""
    monkeypatch.setattr(module, "resource", None)
    assert confined(lambda: Returned(), ROOM) == Skipped()
