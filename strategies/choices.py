"""Choices drawn by Hypothesis, so that what the simulated world decides shrinks with the rest of a failing example."""

from __future__ import annotations

from hypothesis import strategies as st

from conformance.sim import Choices


class DrawnChoices(Choices):
    """The drawn engine of ``conformance.sim.Choices``; shrinks towards 0, the simplest choice.

    Args:
        data: the ``st.data()`` object of the example.
    """

    def __init__(self, data: st.DataObject) -> None:
        super().__init__()
        self._data = data

    def _choose(self, n: int, label: str) -> int:
        return self._data.draw(st.integers(0, n - 1), label=label or None)
