"""Saved cases come back equal, a bad file says what is wrong, and a fingerprint is the shape of a bug."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import Completion, Invocation, Outcome
from conformance.model.operations import (
    Append,
    Close,
    Create,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Program,
    Read,
    Step,
)
from conformance.report.cases import Case, CaseError, fingerprint, load_case
from conformance.report.events import FailureFound


@pytest.fixture
def case(gap_failure: FailureFound) -> Case:
    """The case of the gap."""
    return Case.of(gap_failure, kit_version="0.1.0", backend="mine.py:backend", seed=7)


def test_a_saved_case_loads_equal(
    case: Case, gap_run: tuple[tuple[Operation, Outcome], ...], happened: Callable[..., Any], tmp_path: Path
) -> None:
    """Save, load, equal; program and history are the operations and events of the run."""
    path = case.save(tmp_path / "new" / "cases")
    found = load_case(path)
    assert found == case
    assert found.operations() == Program(tuple(operation for operation, _ in gap_run))
    history: list[Invocation | Completion] = happened(*gap_run)
    assert found.events() == history


def test_a_case_names_a_call_of_an_overlap(case: Case, queue_failure: FailureFound, tmp_path: Path) -> None:
    """Client and step are kept where there are any; other cases are those that older kits read too."""
    inside = Case.of(queue_failure, kit_version="0.1.0", backend="memory", seed=7)
    found = load_case(inside.save(tmp_path))
    assert (found, found.client, found.step) == (inside, 2, 1)
    assert not {"client", "step"} & set(case.to_json())
    path = tmp_path / "bad.json"
    path.write_text(_spoil(json.dumps(inside.to_json()), client="two"))
    with pytest.raises(CaseError, match="field client is of the wrong type"):
        load_case(path)


def test_a_case_is_named_after_clause_and_fingerprint(case: Case, tmp_path: Path) -> None:
    """The same bug found twice is one file, with nothing left beside it."""
    case.save(tmp_path)
    path = replace(case, seed=8).save(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["SEQ-02-abababababab.json"]
    assert load_case(path).seed == 8


def test_a_case_that_cannot_be_written_leaves_nothing(case: Case, tmp_path: Path) -> None:
    """Where the last step fails no half file stays behind."""
    (tmp_path / case.file_name).mkdir()
    with pytest.raises(OSError, match=case.file_name):
        case.save(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [case.file_name]


def _spoil(text: str, **changes: Any) -> str:
    return json.dumps({**json.loads(text), **changes})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text[:-20], "is no JSON"),
        (lambda text: "[]", "format=None, expected 'torntail-case/1'"),
        (lambda text: _spoil(text, format="torntail-case/2"), "format='torntail-case/2'"),
        (lambda text: _spoil(text, colour="red"), "has not the fields"),
        (lambda text: _spoil(text, seed="7"), "field seed is of the wrong type"),
        (lambda text: _spoil(text, call="4"), "of the wrong type"),
        (lambda text: _spoil(text, program="create"), "field program is of the wrong type"),
        (lambda text: _spoil(text, program=[{"do": "unheard_of"}]), "program holds a form that this kit does not know"),
        (lambda text: _spoil(text, history=[1]), "history holds a form that this kit does not know"),
    ],
)
def test_a_bad_case_says_what_is_wrong(case: Case, tmp_path: Path, spoil: Callable[[str], str], message: str) -> None:
    """Each way to be no case has a message of its own that names the file."""
    path = case.save(tmp_path)
    path.write_text(spoil(path.read_text(encoding="ascii")), encoding="ascii")
    with pytest.raises(CaseError, match=re.escape(message)) as caught:
        load_case(path)
    assert str(path) in str(caught.value)


def test_an_absent_case_says_so(tmp_path: Path) -> None:
    """A missing file is told as such, by name."""
    with pytest.raises(CaseError, match=r"absent\.json: cannot be read as a case: No such file"):
        load_case(tmp_path / "absent.json")


def _gap(id: str, number: int, texts: list[str], *, step: int) -> Program:
    """Two appends, the second of which leaves out ``step`` seqs."""
    batch: list[SessionEvent] = [
        {"type": "user/message", "seq": seq, "time": seq, "data": text} for seq, text in enumerate(texts)
    ]
    wrong = {"type": "step/start", "seq": len(texts) + step, "time": 0, "data": None}
    return Program(
        (
            OpenInstance(number),
            Create(number, number + 3, SessionHeader(id, number)),
            Append(number + 3, batch),
            Append(number + 3, [wrong]),
        )
    )


@given(
    id=st.text(min_size=1, alphabet="abc/é"),
    number=st.integers(0, 9),
    texts=st.lists(st.text(alphabet="xyz"), min_size=1),
    step=st.integers(1, 50),
)
def test_a_fingerprint_stays_over_ids_numbers_and_payloads(id: str, number: int, texts: list[str], step: int) -> None:
    """A gap is a gap, whatever was drawn around it; a repeat and another clause are other bugs."""
    found = fingerprint("SEQ-02", _gap(id, number, texts, step=step))
    assert found == fingerprint("SEQ-02", _gap("s0", 0, ["a"], step=1))
    assert found != fingerprint("SEQ-02", _gap("s0", 0, ["a"], step=0))
    assert found != fingerprint("SEQ-02", _gap("s0", 0, ["a"], step=-1))
    assert found != fingerprint("SEQ-01", _gap("s0", 0, ["a"], step=1))
    assert re.fullmatch("[0-9a-f]{64}", found)


def test_a_fingerprint_tells_shapes_apart(event: Callable[..., SessionEvent]) -> None:
    """Access, odd values, odd arguments, another session and another handle each make another shape."""
    start = (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1)))
    programs = [
        (*start, OpenSession(0, 1, "s0", "read")),
        (*start, OpenSession(0, 1, "s0", "write")),
        (*start, OpenSession(0, 1, "s1", "write")),
        (*start, OpenSession(0, 1, "", "write")),
        (*start, Append(0, [event(0)])),
        (*start, Append(0, [event(0)], scribble=True)),
        (*start, Append(0, [])),
        (*start, Append(0, ())),
        (*start, Append(0, [event(True)])),
        (*start, Append(0, [event(0, x=float("nan"))])),
        (*start, Append(0, [event(0, x={1, 2})])),
        (*start, Append(0, [{"type": "user/message", "seq": 0, "time": 0}])),
        (*start, Read(0, 0)),
        (*start, Read(0, 1)),
        (*start, Read(0, -1)),
        (*start, Close(0)),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1, is_seeded=True), 2)),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1))),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", True))),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", -1))),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1, version=2))),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1, origin=float("nan")))),
        (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1, extra={"x": b"bytes"}))),
    ]
    assert len({fingerprint("SEQ-01", Program(each)) for each in programs}) == len(programs)


def test_a_fingerprint_sees_into_an_overlap() -> None:
    """Which calls which client makes, what waits and what is cancelled is the shape; pauses and job times are not."""
    start = (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1)))
    read, close = Step(Read(0)), Step(Close(0))
    rows = [
        ((read, close),),
        ((close, read),),
        ((read,), (close,)),
        ((replace(read, waits=False), close),),
        ((replace(read, cancels=((0, 0),)), close),),
    ]
    assert len({fingerprint("SEQ-05", Program((*start, Overlap(each)))) for each in rows}) == len(rows)
    drawn = Overlap(((replace(read, after=150), close),), jobs=(3, 4))
    assert fingerprint("SEQ-05", Program((*start, drawn))) == fingerprint("SEQ-05", Program((*start, Overlap(rows[0]))))


def test_a_fingerprint_ends_at_the_offending_call(event: Callable[..., SessionEvent]) -> None:
    """What a program did after the call that broke the clause does not count."""
    start = (OpenInstance(0), Create(0, 0, SessionHeader("s0", 1)), Append(0, [event(3)]))
    assert fingerprint("SEQ-02", Program((*start, Close(0))), call=2) == fingerprint("SEQ-02", Program(start))
