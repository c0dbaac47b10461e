"""The garbage collector while a backend is under test."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from conformance.drivers.resting import exhaustion_unheard


@pytest.mark.parametrize(("error", "heard"), [(RecursionError, 0), (ValueError, 1)])
def test_what_fails_at_the_end_of_the_stack_is_not_heard(
    error: type[Exception], heard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the interpreter runs there fails, and is nobody's error; any other error is told as before."""
    told: list[Any] = []

    def hook(unraisable: Any) -> None:
        told.append(unraisable.exc_type)

    def raises(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            raise error

    monkeypatch.setattr(sys, "unraisablehook", hook)
    gc.callbacks.append(raises)
    try:
        with exhaustion_unheard():
            gc.collect()
        assert len(told) == heard
        gc.collect()
        assert len(told) == heard + 1
    finally:
        gc.callbacks.remove(raises)
    assert sys.unraisablehook is hook
