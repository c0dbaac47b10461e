"""The calls of an overlap as rows: who was in flight with whom, when, what came of it, and which one offends."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import Cancelled, Completion, Event, Hung, Invocation, Outcome, Returned
from conformance.model.history_forms import event_to_json as history_form
from conformance.model.operations import (
    Append,
    Create,
    ListSessions,
    OpenInstance,
    Operation,
    Overlap,
    Program,
    Read,
    Stat,
    Step,
)
from conformance.report.events import FailureFound
from conformance.report.text import ansi, plain, render_failure
from conformance.report.timeline import SHOWN_ROWS, brief_call, duration_text, subject_of, timeline

Overlapped = Callable[..., list[Event]]
NAMES = {0: "w0"}
BAR = "├─┤│×…"


@pytest.mark.parametrize("width", [80, 100])
def test_a_failure_inside_an_overlap(queue_failure: FailureFound, snapshot: SnapshotAssertion, width: int) -> None:
    """The whole block as it is printed: rows by client, bars, the cancellation, the offending call, the looks."""
    assert render_failure(queue_failure, width=width) == snapshot


@pytest.mark.parametrize("width", [80, 90, 100, 140])
def test_a_timeline_keeps_to_the_width(queue_failure: FailureFound, width: int) -> None:
    """No line but the command, which is there to be copied, is wider than asked."""
    assert max(map(len, render_failure(queue_failure, width=width).splitlines()[:-1])) <= width


def test_the_offending_call_is_marked_alone(queue_failure: FailureFound) -> None:
    """The overlap and the call in it that offends have the mark; colour adds nothing but colour."""
    lines = render_failure(queue_failure).splitlines()
    marked = [line for line in lines if line.lstrip().startswith(">")]
    assert ["overlapping" in line for line in marked] == [True, False]
    assert marked[1].split()[-4:] == ["r1.read()", "→", "[seq", "0]"]
    coloured = render_failure(queue_failure, style=ansi)
    assert coloured.count("\x1b[1m") == 3
    unmarked = render_failure(replace(queue_failure, client=0, step=0), style=plain)
    assert [line.lstrip()[0] for line in unmarked.splitlines() if line.lstrip().startswith(">")] == [">"]


@pytest.mark.parametrize(
    ("us", "text"),
    [
        *((0, "0"), (1, "1 µs"), (150, "150 µs"), (1_000, "1 ms"), (10_050, "10.05 ms")),
        *((999_999, "999.999 ms"), (1_000_000, "1 s"), (61_500_000, "61.5 s"), (1_000_001, "1 s")),
    ],
)
def test_a_time_reads_well(us: int, text: str) -> None:
    """Virtual microseconds in the unit that needs the fewest digits, exact to three places."""
    assert duration_text(us) == text


def _bars(lines: list[str]) -> list[tuple[int, int]]:
    """First and last column of each bar."""
    found = []
    for line in lines:
        columns = [at for at, each in enumerate(line) if each in BAR]
        assert columns == list(range(columns[0], columns[-1] + 1))
        found.append((columns[0], columns[-1]))
    return found


@given(st.integers(1, SHOWN_ROWS).flatmap(lambda count: st.permutations([*range(count), *range(count)])))
def test_bars_meet_where_calls_were_in_flight_at_once(moments: list[int]) -> None:
    """Two bars share a column if and only if neither call had ended when the other began, however many there are."""
    count = len(moments) // 2
    overlap = Overlap(tuple((Step(Stat(0, "s0")),) for _ in range(count)))
    begun: set[int] = set()
    history: list[Event] = []
    for client in moments:
        if client in begun:
            history.append(Completion(0, Returned(), client=client + 1))
        else:
            history.append(Invocation(0, Stat(0, "s0"), client + 1))
            begun.add(client)
    lines = [each.text for each in timeline(0, overlap, history, {}) if "stat" in each.text]
    bars = _bars([line.partition("instance0")[0] for line in lines])
    assert len(bars) == count
    places = {client: [at for at, each in enumerate(moments) if each == client] for client in range(count)}
    for one, other in itertools.combinations(range(count), 2):
        at_once = places[one][0] < places[other][1] and places[other][0] < places[one][1]
        assert (bars[one][0] <= bars[other][1] and bars[other][0] <= bars[one][1]) == at_once


def test_what_came_of_a_cancellation_is_said(overlapped: Overlapped) -> None:
    """A call that ended before it, one that it did not stop, one that it ended, one that was cancelled twice."""
    calls = [
        Step(Stat(0, "early"), cancels=((5_000, 0),)),
        Step(Stat(0, "deaf"), cancels=((0, 0),)),
        Step(Stat(0, "ended"), cancels=((0, 2),)),
        Step(Stat(0, "twice"), cancels=((100, 0), (50, 1))),
    ]
    overlap = Overlap(tuple((call,) for call in calls))
    order = [(client, 0, 0) for client in (1, 2, 3, 4)] + [(1, 0, 10), (2, 0, 10), (3, 0, 10), (4, 0, 160)]
    gone = dict.fromkeys(((3, 0), (4, 0)), Cancelled())
    lines = timeline(0, overlap, overlapped(0, overlap, order, gone), {}, width=200)
    told = [each.text.partition("→ ")[2] for each in lines if "→" in each.text]
    assert told == [
        "None; too late for its cancel 5 ms after it began",
        "None; its cancel at once did not stop it",
        "cancelled 2 turns of the loop after it began",
        "cancelled 100 µs after it began, and again 50 µs and 1 turn of the loop after that",
    ]
    assert lines[-1].text.strip() == "× its caller cancelled it there"


def test_what_did_not_end_and_what_was_not_made(overlapped: Overlapped) -> None:
    """A bar that goes on to the edge, ``never`` for its end, and no bar for a call that was not made."""
    overlap = Overlap(((Step(Stat(0, "hangs")), Step(Stat(0, "after"))), (Step(Stat(0, "open")),)))
    order = [(1, 0, 0), (2, 0, 0), (1, 0, 70)]
    history = overlapped(0, overlap, order, {(1, 0): Hung("deadlock (see there)\n  File x")})
    lines = [each.text.rstrip() for each in timeline(0, overlap, history, {})]
    hangs, after, waits = (next(line for line in lines if f'"{name}"' in line) for name in ("hangs", "after", "open"))
    assert "never  ├" in hangs
    assert hangs.endswith("→ hung: deadlock")
    assert after.split(maxsplit=1)[0].startswith("instance0")
    assert after.endswith("→ was not made")
    assert "never" in waits
    assert waits.endswith("→ had not ended")
    assert lines[-1].strip() == "… it never ended"


def _crowd(count: int) -> Overlap:
    """A row of calls about two sessions in turn, and one about all of them."""
    calls: list[Operation] = [Stat(0, f"s{number % 2}") for number in range(count)]
    return Overlap((tuple(map(Step, [*calls, ListSessions(0)])),))


def test_a_long_overlap_keeps_what_concerns_the_session(overlapped: Overlapped) -> None:
    """Of more calls than are shown, those about the failure's session nearest to the offending one."""
    overlap = _crowd(100)
    order = [(1, step, step) for step in range(101) for _ in "be"]
    history = overlapped(3, overlap, order, {})
    found = [each.text for each in timeline(3, overlap, history, {}, offending=(1, 81), subject="s1")]
    shown = [line for line in found if ".stat(" in line or ".list(" in line]
    assert len(shown) == SHOWN_ROWS
    assert all('"s1"' in line or "list" in line for line in shown)
    assert sum(">" in line for line in shown) == 1
    assert any("77 calls that concern this less are not shown" in line for line in found)
    whole = [each.text for each in timeline(3, _crowd(23), overlapped(3, _crowd(23), order[:48], {}), {}, subject="s1")]
    assert sum("instance0" in line for line in whole) == 24


def test_a_later_failure_shows_how_the_overlap_before_it_ended(
    event: Callable[..., SessionEvent], happened: Callable[..., list[Event]], overlapped: Overlapped
) -> None:
    """The offending call is not in the overlap: its session says what is shown, and nothing inside is marked."""
    header = SessionHeader("s1", 1)
    crowd = _crowd(60)
    order = [(1, step, step) for step in range(61) for _ in "be"]
    start: tuple[tuple[Operation, Outcome], ...] = ((OpenInstance(0), Returned()), (Create(0, 0, header), Returned()))
    end: list[Event] = [Invocation(3, Read(0), at=100), Completion(3, Returned([event(7)]), at=100)]
    history = [*happened(*start), *overlapped(2, crowd, order, {}), *end]
    assert subject_of(history, 3) == "s1"
    failure = FailureFound(
        item="i",
        clause="SEQ-01",
        expected="nothing",
        observed="one event",
        program=tuple(Program((OpenInstance(0), Create(0, 0, header), crowd, Read(0))).to_json()),
        history=tuple(map(history_form, history)),
        call=3,
        reproduce="x",
    )
    lines = render_failure(failure).splitlines()
    assert [line.split()[:3] for line in lines if line.lstrip().startswith(">")] == [[">", "3", "w0.read()"]]
    assert not any('stat("s0")' in line for line in lines)
    # The nearest are the last ones.
    assert sum('stat("s1")' in line for line in lines) == SHOWN_ROWS - 1
    assert any("59 µs" in line for line in lines)


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([0], "w0.append([seq 0])"),
        ([3, 4, 5], "w0.append([seq 3..5])"),
        ([3, 5], "w0.append([seq 3 user/message, seq 5 user/message])"),
        ([], "w0.append([])"),
        ([True], "w0.append([seq True user/message])"),
    ],
)
def test_a_usual_batch_is_told_by_its_seqs(event: Callable[..., Any], events: list[Any], text: str) -> None:
    """Seqs alone stand for contiguous events without anything odd; else the batch is told as everywhere."""
    assert brief_call(Append(0, [event(seq) for seq in events]), NAMES) == text
    odd = [event(seq, x=float("nan")) for seq in events]
    assert events == [] or ".." not in brief_call(Append(0, odd), NAMES)
