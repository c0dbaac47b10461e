"""Shorter and plainer forms of an overlap, each a small step, the largest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from conformance.model.operations import Append, Operation, Overlap, Read, Step


def one_after_the_other(overlap: Overlap) -> Iterator[list[Operation]]:
    """Its calls made alone: client by client, forwards and backwards, and a call of each in turn."""
    rows = [[step.call for step in row] for row in overlap.rows]
    yield [call for row in rows for call in row]
    if len(rows) > 1:
        yield [call for row in reversed(rows) for call in row]
        yield [call for calls in zip_longest(*rows) for call in calls if call is not None]


def fewer_calls(overlap: Overlap) -> Iterator[Overlap]:
    """Without one client, without the later half of one, without one call."""
    for place in range(len(overlap.rows)):
        if len(overlap.rows) > 1:
            yield _with_rows(overlap, [*overlap.rows[:place], *overlap.rows[place + 1 :]])
    for place, row in enumerate(overlap.rows):
        if len(row) > 2:
            yield _with_row(overlap, place, row[: len(row) // 2])
    for place, row in enumerate(overlap.rows):
        for number in reversed(range(len(row))):
            if len(row) > 1 or len(overlap.rows) > 1:
                yield _with_row(overlap, place, (*row[:number], *row[number + 1 :]))


def plainer_calls(overlap: Overlap) -> Iterator[Overlap]:
    """With jobs that take no time, without a cancellation, without a pause, with clients that wait."""
    if overlap.jobs:
        yield replace(overlap, jobs=())
        yield replace(overlap, jobs=overlap.jobs[: len(overlap.jobs) // 2])
        yield replace(overlap, jobs=overlap.jobs[:-1])
        for place, answer in enumerate(overlap.jobs):
            if answer:
                yield replace(overlap, jobs=(*overlap.jobs[:place], 0, *overlap.jobs[place + 1 :]))
    for place, row in enumerate(overlap.rows):
        for number, step in enumerate(row):
            # A form that is no plainer would be found to fail again, for ever.
            for plainer in (each for each in _plainer(step) if each != step):
                yield _with_row(overlap, place, (*row[:number], plainer, *row[number + 1 :]))


def _plainer(step: Step) -> Iterator[Step]:
    if step.cancels:
        yield replace(step, cancels=())
        yield replace(step, cancels=step.cancels[:1])
        yield replace(step, cancels=((0, 0),))
    if step.after:
        yield replace(step, after=0)
    if not step.waits:
        yield replace(step, waits=True)
    call = step.call
    if isinstance(call, Append | Read) and call.scribble:
        yield replace(step, call=replace(call, scribble=False))


def _with_row(overlap: Overlap, place: int, row: tuple[Step, ...]) -> Overlap:
    rows = [*overlap.rows[:place], *([row] if row else []), *overlap.rows[place + 1 :]]
    return _with_rows(overlap, rows)


def _with_rows(overlap: Overlap, rows: list[tuple[Step, ...]]) -> Overlap:
    return replace(overlap, rows=tuple(rows))
