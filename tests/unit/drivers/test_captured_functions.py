"""What a backend captured before any recording, out of reach, is a reason not to measure."""

from __future__ import annotations

import functools
import os
import sys
import types
from pathlib import Path

import pytest

from conformance.drivers.calibration import recording_gap
from conformance.drivers.registry import load_backend

ROOT = Path(__file__).resolve().parents[3]
PATCHES_ITSELF = True


def test_captured_functions_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that captured a sync before the patching, out of reach, may sync unseen."""
    captured = types.ModuleType("captured_early")
    captured.sync = functools.partial(os.fsync)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "captured_early", captured)
    gap = recording_gap(load_backend("jsonl", ROOT))
    assert gap.startswith("a barrier may be unseen: captured_early.sync")
