"""The terminal summary: areas first, failures last, and the command that repeats a failure on the last line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import Event, HandleView, Returned
from conformance.model.history_forms import event_to_json as history_form
from conformance.model.operations import Append, Create, OpenInstance, Program, Read
from conformance.report.events import (
    FailureFound,
    ItemFinished,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    RunStarted,
    WarningRaised,
)
from conformance.report.summary import Summary, summarise
from conformance.report.text import ansi, render_failure, render_terminal

Started = Callable[..., RunStarted]
ITEM = "conformance::seq::gap_is_refused_whole"


def _summary(header: RunStarted, *events: ReportEvent, **more: Any) -> Summary:
    witnesses = more.pop("witnesses", dict.fromkeys(header.clauses, 1))
    end = ItemFinished(item=ITEM, outcome="failed" if events else "passed", witnesses=witnesses)
    return summarise([header, *events, end, RunFinished(seconds=1.0)], **more)


def test_the_whole_summary(started: Started, gap_failure: FailureFound, snapshot: SnapshotAssertion) -> None:
    """Areas, warnings, headline, the failure that does not gate, and last the one that does."""
    header = started(
        *("SEQ-01", "SEQ-02", "SEQ-05", "SVC-07", "DUR-01", "LIVE-01"),
        rulings={"SEQ-05": ("not built yet", ""), "DUR-01": ("not applicable", "m"), "LIVE-01": ("not claimed", "l")},
    )
    mild = replace(gap_failure, clause="SVC-07", fingerprint="cd" * 32, note="it hides the others", reference_answer="")
    text = render_terminal(_summary(header, gap_failure, mild, WarningRaised(text="The clock is not simulated.")))
    assert text == snapshot


def test_the_failures_come_last_and_end_with_the_command(started: Started, gap_failure: FailureFound) -> None:
    """However many failures and errors there are, the last line is the command of a gating one."""
    mild = replace(gap_failure, clause="SVC-07", fingerprint="cd" * 32, reproduce="another command")
    events = KitErrorFound(item="x", message="boom", traceback="Traceback\n  here"), gap_failure, mild
    text = render_terminal(_summary(started("SEQ-02", "SVC-07"), *events))
    assert text.splitlines()[-1].endswith(gap_failure.reproduce)
    order = ["ERROR OF THE KIT", "2 failed", "VIOLATED, NOT GATING", "FAILED  SEQ-02"]
    assert sorted(order, key=text.index) == order


def test_one_bug_found_twice_is_one_block(started: Started, gap_failure: FailureFound) -> None:
    """Failures of one fingerprint are folded into the shortest, which names every item that found it."""
    long = replace(gap_failure, item="conformance::machine::sequential", program=gap_failure.program * 3)
    text = render_terminal(_summary(started("SEQ-02"), long, gap_failure))
    assert text.count("FAILED") == 1
    assert re.search(rf"found by +{ITEM}, +conformance::machine::sequential", text)
    other = replace(long, fingerprint="ef" * 32)
    assert render_terminal(_summary(started("SEQ-02"), other, gap_failure)).count("FAILED") == 2


def test_a_green_run_is_short(started: Started) -> None:
    """Without failures the headline ends the output."""
    assert render_terminal(_summary(started("SEQ-01"))) == (
        "SEQ  Appending  1 pass\n\n1/1 must · 0 not exercised · 0 failed\n"
    )


def test_what_was_not_exercised_is_named(started: Started) -> None:
    """Exit code 3 is explained by the clauses that cause it."""
    summary = _summary(started("SEQ-01", "SVC-07"), witnesses={})
    assert summary.exit_code() == 3
    assert "not exercised, and so not passed: SEQ-01\n" in render_terminal(summary)


def test_why_a_failure_does_not_gate(started: Started, gap_failure: FailureFound) -> None:
    """Known, should without strict, not claimed: each says so."""
    header = started("SEQ-02", "SVC-07", "OWN-09", rulings={"OWN-09": ("not claimed", "")})
    others = [replace(gap_failure, clause=clause, fingerprint=clause) for clause in ("SVC-07", "OWN-09")]
    text = render_terminal(_summary(header, gap_failure, *others, known={"SEQ-02": "issue 12"}), width=200)
    assert "SEQ-02 is violated and does not gate: known, issue 12" in text
    assert "SVC-07 is violated and does not gate: a should clause gates only under --strict" in text
    assert "OWN-09 is violated and does not gate: it is not claimed" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_but_the_command_is_wider_than_asked(gap_failure: FailureFound, width: int) -> None:
    """Sentences, calls and answers are wrapped; the command is not, so that it can be copied."""
    long = replace(gap_failure, note="word " * 100, observed="x" * 500)
    *lines, command = render_failure(long, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert command == f"  reproduce  {gap_failure.reproduce}"


def test_colour_only_adds_colour(started: Started, gap_failure: FailureFound) -> None:
    """With every escape taken out, the coloured text is the plain one."""
    summary = _summary(started("SEQ-02"), gap_failure)
    coloured = render_terminal(summary, style=ansi)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == render_terminal(summary)


def test_a_difference_inside_a_value_is_pointed_at(
    gap_failure: FailureFound, event: Callable[..., SessionEvent], happened: Callable[..., list[Event]]
) -> None:
    """Where the note does not show it already, the block names the path and both values."""
    header = SessionHeader("s0", 1)
    wrong, right = "x" * 299 + "y", "x" * 300
    run = (
        (OpenInstance(0), Returned()),
        (Create(0, 0, header), Returned(HandleView("s0", header, "write", None))),
        (Append(0, [event(0, text=right)]), Returned()),
        (Read(0), Returned([event(0, text=wrong)])),
    )
    failure = replace(
        gap_failure,
        program=tuple(Program(tuple(operation for operation, _ in run)).to_json()),
        history=tuple(history_form(each) for each in happened(*run)),
        call=3,
    )
    text = " ".join(render_failure(failure).split())
    assert 'at [0].data.text: appended "xxxxxxxxxxx" from character 289 of 300' in text
    assert 'read "xxxxxxxxxxy" from character 289 of 300' in text
    told = replace(failure, note=f"event.data.text: expected {right!r}, got {wrong!r}")
    assert "difference" not in render_failure(told)


def test_a_long_program_keeps_its_end(gap_failure: FailureFound) -> None:
    """The calls next to the offending one are shown, and how many were left out."""
    start = OpenInstance(0), Create(0, 0, SessionHeader("s0", 1))
    operations = Program((*start, *(Read(0, number) for number in range(100)))).to_json()
    failure = replace(gap_failure, program=tuple(operations), history=(), call=90)
    lines = render_failure(failure).splitlines()
    assert sum(".read(" in line for line in lines) == 40
    assert any("51 calls before these" in line for line in lines)
    assert any(line.startswith("  > 90  ") for line in lines)


def test_a_failure_without_a_program_and_of_an_unknown_clause_is_shown() -> None:
    """Nothing is needed but what was expected and observed."""
    failure = FailureFound(item="i", clause="NEW-01", expected="a\x1b[0m", observed="b\nc", reproduce="torntail run x")
    assert render_failure(failure).splitlines() == [
        "FAILED  NEW-01 (unknown clause)",
        "",
        "  found by   i",
        "",
        "  expected   a\\x1b[0m",
        "  observed   b",
        "             c",
        "  reproduce  torntail run x",
    ]
