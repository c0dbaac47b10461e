"""One line for an operation, a value, an outcome: short, printable, and telling where something is odd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import ErrorView, HandleView, Hung, Odd, Outcome, Raised, Returned, Skipped, SnapshotView
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Discard,
    Flush,
    FlushInstance,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Program,
    Read,
    Stat,
    Step,
)
from conformance.model.overlap import LOOKS
from conformance.report.abbreviate import (
    call_text,
    event_text,
    events_text,
    handle_name,
    handle_names,
    odd_places,
    outcome_text,
    printable,
    quoted,
    short,
)

HEADER = SessionHeader("s0", 1)
NAMES = {0: "w0", 1: "r1"}


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (OpenInstance(1), "instance1 = open_backend()"),
        (CloseInstance(1), "instance1.close()"),
        (FlushInstance(0), "instance0.flush()"),
        (ListSessions(0), "instance0.list()"),
        (Stat(0, "s0"), 'instance0.stat("s0")'),
        (Create(0, 0, HEADER), 'w0 = instance0.create("s0")'),
        (
            Create(0, 0, SessionHeader("s0", -1, is_seeded=True, extra={"k": 1}), 2),
            "w0 = instance0.create(SessionHeader(\"s0\", created_at=-1, is_seeded=True, extra={'k': 1}), "
            "inherited_event_count=2)",
        ),
        (Create(0, 0, HEADER, named=True), 'w0 = instance0.create(header="s0")'),
        (
            Create(0, 0, HEADER, scribble=True),
            'w0 = instance0.create("s0"), then overwrite what the header holds',
        ),
        (OpenSession(0, 1, "s0", "read"), 'r1 = instance0.open("s0", "read")'),
        (OpenSession(0, 1, "s0", "read", named=True), 'r1 = instance0.open(session_id="s0", access="read")'),
        (Read(1, 2, named=True), "r1.read(offset=2, length=None)"),
        (Append(0, [], named=True), "w0.append(events=[])"),
        (Read(1), "r1.read()"),
        (Read(1, 2), "r1.read(2)"),
        (Read(1, 0, 3, scribble=True), "r1.read(0, 3), then overwrite what it returned"),
        (Read(1, True), "r1.read(True)"),
        (Append(0, []), "w0.append([])"),
        (Append(0, None), "w0.append(None)"),
        (Append(0, [], scribble=True), "w0.append([]), batch overwritten meanwhile"),
        (Flush(0), "w0.flush()"),
        (Close(1), "r1.close()"),
        (Leave(0), "async with w0: pass"),
        (Leave(0, raising=True), "async with w0: raise an error of the caller's"),
        (Leave(0, cancelled=True), "async with w0: be cancelled"),
        (Discard(0), "del w0  (never closed)"),
    ],
)
def test_an_operation_on_one_line(operation: Operation, text: str) -> None:
    """Every kind of operation reads like the call that it is."""
    assert call_text(operation, NAMES) == text


def test_handles_go_by_their_access() -> None:
    """w for who may write, r for readers, h where the program never says."""
    program = Program(
        (Create(0, 0, HEADER), OpenSession(0, 1, "s0", "read"), OpenSession(0, 2, "s0", "write"), Read(3))
    )
    assert handle_names(program) == {0: "w0", 1: "r1", 2: "w2", 3: "h3"}


def test_handles_of_an_overlap_and_of_the_looks_after_it_have_names() -> None:
    """What clients open goes by its access too; what the kit itself opens to look is no handle without a name."""
    overlap = Overlap(((Step(OpenSession(0, 4, "s0", "read")), Step(Read(5))), (Step(Create(0, 6, HEADER)),)))
    names = handle_names(Program((OpenInstance(0), overlap)))
    assert names == {4: "r4", 5: "h5", 6: "w6"}
    assert call_text(OpenSession(0, LOOKS, "s0", "read"), names) == 'look1 = instance0.open("s0", "read")'
    assert call_text(Read(LOOKS + 1), names) == "look2.read()"
    assert handle_name(7, names) == ""


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"type": "user/message", "seq": 3, "time": 1, "data": {"text": "…"}}, "seq 3 user/message"),
        ({"type": "x", "seq": 3, "time": 1, "data": None, "ignorable": True}, "seq 3 x ignorable=True"),
        ({"type": "", "seq": True, "time": -1, "data": 0}, 'seq True type "" time=-1'),
        ({}, "no seq no type no time no data"),
        ({"type": "x", "seq": 0, "time": 0, "data": {"a": [1, {"b c": float("nan")}]}}, 'seq 0 x data.a[1]["b c"]=nan'),
        ({"type": "x", "seq": 0, "time": 0, "data": {1: 2}}, "seq 0 x data.key=1"),
        (17, "17"),
    ],
)
def test_an_event_shows_what_is_odd(event: Any, text: str) -> None:
    """Seq and type stand for an ordinary event; anything else in it is named with its place."""
    assert event_text(event) == text


def test_a_long_batch_loses_its_middle(event: Callable[..., SessionEvent]) -> None:
    """The ends of a batch are what tells; of a short one all events are shown."""
    batch = [event(seq, "a") for seq in range(1200)]
    assert events_text(batch) == "[seq 0 a, seq 1 a, seq 2 a, … 1,196 more …, seq 1199 a]"
    assert events_text(tuple(batch[:2])) == "(seq 0 a, seq 1 a)"


@pytest.mark.parametrize(
    ("operation", "outcome", "text"),
    [
        (Append(0, []), Returned(), "ok"),
        (Stat(0, "s0"), Returned(), "None"),
        (Create(0, 0, HEADER), Returned(HandleView("s0", HEADER, "write", 2)), 'write handle "s0", inherited 2'),
        (Stat(0, "s0"), Returned(SnapshotView(HEADER, 3, 2, 10)), 'snapshot "s0", revision #3, event_count 2'),
        (ListSessions(0), Returned([SnapshotView(HEADER, 3, None, None)]), '[snapshot "s0", revision #3]'),
        (ListSessions(0), Returned([]), "[]"),
        (Read(0), Returned(Odd("<a\x1b[31m thing>")), "<a\\x1b[31m thing>"),
        (Read(0), Hung("a lock"), "hung: a lock"),
        (Read(0), Skipped(), "not made: what it needs was never returned"),
        (Read(0), None, ""),
        (Append(0, []), Raised(ErrorView("OSError", "Full", "no\nspace")), "OSError (Full): no space"),
        (
            FlushInstance(0),
            Raised(
                ErrorView("ExceptionGroup", "ExceptionGroup", "two", members=(ErrorView("OSError", "OSError", "s0"),))
            ),
            "ExceptionGroup: two [OSError: s0]",
        ),
    ],
)
def test_an_outcome_on_one_line(operation: Operation, outcome: Outcome | None, text: str) -> None:
    """What a call came to, whatever it was."""
    assert outcome_text(operation, outcome) == text


def test_long_values_are_cut() -> None:
    """Text is cut with its length; containers, huge ints and deep nesting are named by size."""
    assert short("x" * 100) == '"' + "x" * 60 + '…" (100 characters)'
    assert short(list(range(1000))) == "list of 1,000"
    assert short(2**400) == "an int of 401 bits"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert short(deep) == "deeply nested list"


@given(st.text(st.characters(codec=None)))
def test_text_for_a_terminal_is_printable(text: str) -> None:
    """No control character and no lone surrogate comes through, and quoting is exact for short text."""
    shown = printable(text)
    assert all(each.isprintable() or each == "\n" for each in shown)
    shown.encode("utf-8")
    literal = quoted(text, 10_000)
    assert literal.isprintable()
    assert eval(literal) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0, 2**53, -(2**53), "\ud800", b"", (), {1}, object()])
def test_odd_values_are_found_with_their_path(value: Any) -> None:
    """Whatever some JSON reader would refuse or change is found inside other values."""
    assert [path for path, _ in odd_places({"a": [0, value]})] == [".a[1]"]
    assert list(odd_places({"a": [0, {1: 2}]})) == [(".a[1].key", 1)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(0.5, 9),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=9,
    )
)
def test_plain_json_has_nothing_odd(value: Any) -> None:
    """JSON's common ground is left alone."""
    assert list(odd_places(value)) == []


def test_a_list_that_holds_itself_is_said_to() -> None:
    """A cycle ends."""
    cycle: list[Any] = []
    cycle.append(cycle)
    assert list(odd_places(cycle)) == [("[0]", "the list itself")]
    assert events_text(cycle) == "[a list that holds itself]"
