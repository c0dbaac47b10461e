"""Batches that end at the edges of sectors and pages: exactly as long as asked, accepted, characters across edges."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.contract import Capabilities
from conformance.model.batches import batch_refusals
from strategies.sized_batches import SHORTEST
from strategies.sizes import PAGE, SECTOR, UNITS, filled, noise

Minimal = Callable[..., Any]


def lines_of(batch: list[dict[str, Any]]) -> bytes:
    """The batch as compact JSON lines in UTF-8."""
    return b"".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for each in batch)


@settings(deadline=None)
@given(st.integers(SHORTEST, 3 * PAGE), st.sampled_from([0, 9, 10_000, 2**53 - 9]), st.data())
def test_sized_batches_are_as_long_as_asked(target: int, first_seq: int, data: st.DataObject) -> None:
    """To the byte, whatever the seq, the padding and the number of events; and the batch is good."""
    batch = data.draw(strategies.sized_batches(target, first_seq))
    assert len(lines_of(batch)) == target
    assert sum(map(strategies.line_bytes, batch)) == target
    found = batch_refusals(batch, first_seq, Capabilities())
    assert not found.must
    assert not found.may


@settings(deadline=None)
@given(st.integers(0, 3 * PAGE), st.data())
def test_boundary_batches_end_at_an_edge(start: int, data: st.DataObject) -> None:
    """At a sector edge of the file or one byte beside it, wherever the batch begins."""
    batch = data.draw(strategies.boundary_batches(3, start=start))
    assert (start + len(lines_of(batch)) + 1) % SECTOR <= 2
    assert [event["seq"] for event in batch] == list(range(3, 3 + len(batch)))


def test_every_kind_of_edge_comes_up(examples: Callable[..., list[Any]]) -> None:
    """Sectors and pages, at, before and behind them; records over two pages; several events; text that is dense."""
    drawn = examples(strategies.boundary_batches(), 250)
    sizes = {len(lines_of(batch)) for batch in drawn}
    for edge in (SECTOR, 3 * SECTOR, PAGE, 2 * PAGE):
        assert {edge - 1, edge, edge + 1} <= sizes
    assert max(sizes) > 7 * PAGE
    assert {len(batch) for batch in drawn} == {1, 2, 3}
    dense = [batch for batch in drawn if len(zlib.compress(lines_of(batch))) > len(lines_of(batch)) // 2]
    assert len(dense) > 60


@settings(deadline=None)
@given(st.integers(0, 2 * PAGE), st.integers(SHORTEST + 2 * SECTOR, 3 * PAGE), st.data())
def test_characters_lie_across_the_last_edge(start: int, target: int, data: st.DataObject) -> None:
    """Where text has characters of several bytes, the last page or sector edge in the record falls inside one."""
    batch = data.draw(strategies.sized_batches(target, start=start).filter(lambda batch: len(batch) == 1))
    text = batch[0]["data"]["text"]
    if text.isascii():
        return
    line = lines_of(batch)
    begin, end = start + line.index(text.encode()), start + len(line) - len('"}}\n')
    edge = end - end % PAGE if end - end % PAGE > begin else end - end % SECTOR
    # Only a character's first byte is no continuation byte; the pad behind the last whole character may hold the edge.
    padded = end - edge < len(UNITS[-1].encode())
    assert padded or line[edge - start] & 0xC0 == 0x80


def test_sized_batches_shrink_to_plain_text(minimal: Minimal) -> None:
    """One event, padded with one letter; the first sector edge."""
    (event,) = minimal(strategies.sized_batches(PAGE))
    assert set(event["data"]["text"]) == {"x"}
    (event,) = minimal(strategies.boundary_batches())
    assert strategies.line_bytes(event) == SECTOR
    assert set(event["data"]["text"]) == {"x"}
    assert minimal(strategies.boundary_sizes()) == SECTOR
    assert minimal(strategies.boundary_sizes(), lambda size: size % SECTOR > 1) == SECTOR - 1


def test_a_target_that_is_too_small_is_refused() -> None:
    """No event has so short a line."""
    with pytest.raises(ValueError, match="target_bytes=10: expected at least 96"):
        strategies.sized_batches(10)


@given(st.integers(0, 300), st.sampled_from(UNITS), st.integers(0, 5), st.integers(0, 9))
def test_padding_has_its_size(size: int, unit: str, lead: int, seed: int) -> None:
    """Filled text and noise are as many bytes as asked; noise is the same for the same seed only."""
    assert len(filled(size, unit, lead=lead).encode()) == size
    assert len(noise(size, seed)) == size
    assert noise(size, seed) == noise(size, seed)
    assert size < 20 or noise(size, seed) != noise(size, seed + 1)
