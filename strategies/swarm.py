"""Swarm testing: whole kinds of operations, values or sizes switched off for a run.

A run that may do everything seldom does one thing often enough. With some kinds off, the others fill the run: logs grow
where nothing closes, and queues fill where nothing flushes.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

# A draw of 0 is off whatever the level, so that a failing run never needs to keep on what it does not need.
_MOST = 15
_LEAST_DRAW_BY_LEVEL = (12, 8, 4, 1)


def swarm(kinds: Sequence[str]) -> st.SearchStrategy[frozenset[str]]:
    """The kinds that are on in this run: never none.

    Each is on with one chance, drawn for the run: a quarter, half, three quarters or nearly always, so that all of
    them together come up too. Shrinks to the first kind alone, or to the kinds that the failure needs. Ask it with
    ``in``, and go through ``kinds`` itself for an order: that of a frozenset of text differs between processes.

    Args:
        kinds: names, distinct, at least one.

    Raises:
        ValueError: no kinds, or one of them twice.
    """
    names = tuple(kinds)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"kinds={names!r}: expected distinct names, at least one")

    def chosen(least: int, draws: tuple[int, ...]) -> frozenset[str]:
        return frozenset([name for name, drawn in zip(names, draws, strict=True) if drawn >= least] or names[:1])

    each = st.integers(0, _MOST)
    return st.builds(chosen, st.sampled_from(_LEAST_DRAW_BY_LEVEL), st.tuples(*(each for _ in names)))
