"""The result stream: every event fits the schema, reads back equal, and a cut stream says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from conformance.model.history import Completion, ErrorView, HandleView, Hung, Odd, Outcome, Raised, Returned, Skipped
from conformance.model.history_forms import event_to_json as history_form
from conformance.model.operations import OPERATIONS
from conformance.report.events import (
    EVENTS,
    FailureFound,
    ItemFinished,
    ItemStarted,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    RunStarted,
    WarningRaised,
)
from conformance.report.lines import FORMAT, LinesWriter, ResultsError, event_line, parse_lines, read_lines, schema

SCHEMA = schema()


def problems(value: Any, rule: Any, path: str = "$") -> list[str]:
    """What is wrong with a value by the part of JSON Schema that the schema uses; an unknown keyword raises."""
    if isinstance(rule, bool):
        return [] if rule else [f"{path} may not be there"]
    found: list[str] = []
    for keyword, given in rule.items():
        match keyword:
            case "$ref":
                found += problems(value, SCHEMA["$defs"][given.removeprefix("#/$defs/")], path)
            case "oneOf":
                fitting = [each for each in given if not problems(value, each, path)]
                found += [] if len(fitting) == 1 else [f"{path} fits {len(fitting)} of {len(given)}"]
            case "type":
                kinds = given if isinstance(given, list) else [given]
                found += [] if any(_is(value, kind) for kind in kinds) else [f"{path} is no {given}"]
            case "const":
                found += [] if value == given and type(value) is type(given) else [f"{path} is not {given!r}"]
            case "enum":
                found += [] if value in given else [f"{path} is not among {given}"]
            case "pattern":
                found += [] if re.search(given, value) else [f"{path} does not match {given}"]
            case "minimum":
                found += [f"{path} is below {given}"] if _is(value, "number") and value < given else []
            case "minItems":
                found += [f"{path} is too short"] if len(value) < given else []
            case "minProperties":
                found += [f"{path} is too small"] if len(value) < given else []
            case "maxProperties":
                found += [f"{path} is too large"] if len(value) > given else []
            case "required":
                found += [f"{path}.{key} is missing" for key in given if key not in value]
            case "properties" | "additionalProperties" | "items" | "prefixItems":
                continue
            case "$schema" | "$id" | "title" | "description" | "$defs":
                continue
            case _:
                raise NotImplementedError(keyword)
    return found + _inner(value, rule, path)


def _inner(value: Any, rule: dict[str, Any], path: str) -> list[str]:
    found: list[str] = []
    if isinstance(value, dict):
        known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        for key, item in value.items():
            found += problems(item, known.get(key, others), f"{path}.{key}")
    if isinstance(value, list):
        first = rule.get("prefixItems", [])
        for index, item in enumerate(value):
            found += problems(item, first[index] if index < len(first) else rule.get("items", True), f"{path}[{index}]")
    return found


def _is(value: Any, kind: str) -> bool:
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kinds[kind]) and (kind != "integer" or not isinstance(value, bool))


@pytest.fixture
def events(started: Callable[..., RunStarted], gap_failure: FailureFound) -> list[ReportEvent]:
    """One run with every kind of event."""
    return [
        started("SEQ-01", "SEQ-02", rulings={"SEQ-01": ("not measured", "no strace")}),
        ItemStarted(item="conformance::seq::one"),
        gap_failure,
        KitErrorFound(item="conformance::seq::one", message="boom \ud800 \u2028", traceback="Traceback\n  line"),
        ItemFinished(item="conformance::seq::one", outcome="error", seconds=0.5, witnesses={"SEQ-02": 2}),
        WarningRaised(text="careful"),
        RunFinished(seconds=1.25, interrupted=True),
    ]


def test_every_event_fits_the_schema_and_reads_back_equal(events: list[ReportEvent], tmp_path: Path) -> None:
    """What the writer wrote is valid line by line, complete, and equal to what was said."""
    assert {type(each) for each in events} == set(EVENTS.values())
    path = tmp_path / "deep" / "results.jsonl"
    with LinesWriter(path) as sink:
        for each in events:
            sink(each)
    lines = path.read_text(encoding="ascii").splitlines()
    assert [problems(json.loads(line), SCHEMA) for line in lines] == [[]] * len(events)
    found = read_lines(path)
    assert found.complete
    assert list(found) == events


def test_the_schema_has_exactly_the_fields_of_the_events() -> None:
    """A field added to an event without the schema, or the other way round, is noticed here."""
    for name, cls in EVENTS.items():
        rule = SCHEMA["$defs"][name]
        wanted = {"event", *(each.name for each in fields(cls))} | ({"format"} if cls is RunStarted else set())
        assert set(rule["properties"]) == set(rule["required"]) == wanted
        assert rule["additionalProperties"] is False
    assert SCHEMA["$defs"]["operation"]["properties"]["do"]["enum"] == list(OPERATIONS)


@pytest.mark.parametrize(
    "outcome",
    [
        Returned(),
        Returned([{"seq": 2**80, "data": float("nan")}]),
        Returned(HandleView("s", "no header", "read", None)),
        Returned(Odd("<thing>")),
        Raised(
            ErrorView("ExceptionGroup", "EG", "two", members=(ErrorView("OSError", "OSError", "full"),), notes=("n",))
        ),
        Hung("waits"),
        Skipped(),
    ],
)
def test_every_outcome_fits_the_schema(outcome: Outcome) -> None:
    """Whatever a call came to, its form is one the schema describes, and reads back equal through a line."""
    form = history_form(Completion(0, outcome))
    event = FailureFound(item="i", clause="SEQ-01", expected="", observed="", history=(form,))
    line = event_line(event)
    assert problems(json.loads(line), SCHEMA) == []
    first = event_line(RunFinished(seconds=0.0))
    header = json.loads(first) | {"format": FORMAT}
    assert parse_lines([json.dumps(header), line]).events[1] == event


@pytest.mark.parametrize(
    "change",
    [
        {"event": "unheard_of"},
        {"clause": "seq-2"},
        {"call": -1},
        {"call": "4"},
        {"program": [{"do": "unheard_of"}]},
        {"history": [{"event": "complete", "call": 0, "at": 0, "outcome": {"returned": None, "hung": "both"}}]},
        {"colour": "red"},
    ],
)
def test_the_schema_refuses_what_is_no_event(gap_failure: FailureFound, change: dict[str, Any]) -> None:
    """The schema is no blank cheque: a failure with one thing wrong does not fit."""
    assert problems({**gap_failure.to_json(), **change}, SCHEMA)


def test_a_cut_stream_reads_as_not_complete(events: list[ReportEvent], tmp_path: Path) -> None:
    """Cut at any byte, the whole lines are read, and only the whole file is complete."""
    path = tmp_path / "results.jsonl"
    whole = "".join(event_line(each) + "\n" for each in events)
    first = whole.index("\n") + 1
    for cut in [*range(first, len(whole), 97), len(whole) - 1]:
        path.write_text(whole[:cut], encoding="ascii")
        found = read_lines(path)
        assert not found.complete
        assert list(found) == events[: whole[:cut].count("\n")]


def test_a_run_that_dies_leaves_what_it_said(started: Callable[..., RunStarted], tmp_path: Path) -> None:
    """Each event is in the file when the sink returns."""
    sink = LinesWriter(tmp_path / "results.jsonl")
    sink(started("SEQ-01"))
    found = read_lines(sink.path)
    sink.close()
    assert not found.complete
    assert list(found) == [started("SEQ-01")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ('{"event": "warning", "text": "a"}\n', "format=None, expected 'torntail-results/1'"),
        ('{"event": "warning", "text": "a", "format": "torntail-results/2"}\n', "format='torntail-results/2'"),
        ("[]\n", "line 1: is list"),
        ('{"event": "warning", "text": "a", "format": "torntail-results/1"}\nnonsense\n', "line 2: is no JSON"),
        ('{"event": "warning", "text": "a", "format": "torntail-results/1"}\n{"event": "x"}\n', "line 2: event='x'"),
    ],
)
def test_what_is_no_stream_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file, the line and what is wrong there."""
    path = tmp_path / "results.jsonl"
    path.write_text(text, encoding="ascii")
    with pytest.raises(ResultsError, match=re.escape(message)) as caught:
        read_lines(path)
    assert str(path) in str(caught.value)


def test_an_absent_file_is_refused_by_name(tmp_path: Path) -> None:
    """A missing stream is told as such."""
    with pytest.raises(ResultsError, match="cannot be read"):
        read_lines(tmp_path / "absent.jsonl")
