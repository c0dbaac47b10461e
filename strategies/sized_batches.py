"""Batches whose records end where storage tears: at the edges of sectors and pages, and one byte beside them.

A *line* is an event as compact JSON in UTF-8 with one newline behind it. A backend that stores something else stores
other sizes; there these batches are merely long ones. Half of them hold text that no compressor shortens, for
backends that compress.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from strategies.sizes import PAGE, SECTOR, UNITS, boundary_sizes, filled, noise

SHORTEST = 96
"""Bytes of the shortest line that a sized event can have, whatever its seq."""

MAX_EVENTS = 3

_NOISE = len(UNITS)


def line_bytes(event: dict[str, Any]) -> int:
    """Bytes of the event's line, newline included."""
    return len(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8")) + 1


def sized_batches(target_bytes: int, first_seq: int = 0, *, start: int = 0) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Batches whose lines together are exactly ``target_bytes`` long.

    One to three events, padded with plain text, text that does not compress, or multi-byte text placed so that the
    last page edge inside a record (or sector edge, where it meets no page edge) falls inside a character. Shrinks to
    one event padded with ``x``.

    Args:
        target_bytes: at least ``SHORTEST``.
        first_seq: of the first event.
        start: bytes that lie before the batch in its file; edges are counted from there.

    Raises:
        ValueError: ``target_bytes`` is too small.
    """
    if target_bytes < SHORTEST:
        raise ValueError(f"target_bytes={target_bytes!r}: expected at least {SHORTEST}")
    return st.builds(
        _sized,
        st.just(target_bytes),
        st.just(first_seq),
        st.just(start),
        st.lists(st.integers(0, 2 * SECTOR), max_size=min(MAX_EVENTS, target_bytes // SHORTEST) - 1),
        st.sampled_from([*range(_NOISE), *[_NOISE] * _NOISE]),
        st.integers(0, 2),
    )


def boundary_batches(first_seq: int = 0, *, start: int = 0) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Batches that end at or one byte beside a sector or page edge of their file, up to eight pages on.

    Every edge that lies at least ``SHORTEST`` bytes behind ``start`` can come up; records over two pages are
    common. Shrinks to one event that ends at the first sector edge.

    Args:
        first_seq: of the first event.
        start: bytes that lie before the batch in its file.
    """
    # What is too short for a record is put off by whole pages, which keeps its place beside the edge.
    base = start - start % PAGE
    return boundary_sizes().flatmap(
        lambda size: sized_batches(_at_least(base + size - start, SHORTEST), first_seq, start=start)
    )


def _at_least(size: int, least: int) -> int:
    return size if size >= least else size + -(-(least - size) // PAGE) * PAGE


def _sized(target: int, first_seq: int, start: int, cuts: list[int], kind: int, inside: int) -> list[dict[str, Any]]:
    """Each event but the last is as long as its cut says, as far as room for those behind it is left."""
    events = []
    for place in range(len(cuts) + 1):
        behind = len(cuts) - place
        size = target if not behind else min(SHORTEST + cuts[place], target - behind * SHORTEST)
        events.append(_event(first_seq + place, size, start, kind, inside))
        target -= size
        start += size
    return events


def _event(seq: int, size: int, start: int, kind: int, inside: int) -> dict[str, Any]:
    event: dict[str, Any] = {
        "type": "user/message",
        "seq": seq,
        "time": 1_700_000_000_000,
        "data": {"text": ""},
    }
    room = size - line_bytes(event)
    # The line's own tail is what stands behind the text: the end of the string, two braces and the newline.
    head = start + size - room - len('"}}\n')
    event["data"]["text"] = noise(room, seq) if kind == _NOISE else _across(room, head, UNITS[kind], inside)
    return event


def _across(room: int, head: int, unit: str, inside: int) -> str:
    """Text of ``room`` bytes that begins at byte ``head`` of the file, with a character across the last edge in it."""
    width = len(unit.encode("utf-8"))
    if width == 1:
        return filled(room)
    end = head + room
    edge = end - end % PAGE
    if edge <= head:
        edge = end - end % SECTOR
    before = 1 + inside % (width - 1)
    return filled(room, unit, lead=(edge - before - head) % width if edge > head else 0)
