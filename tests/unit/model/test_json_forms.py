"""Programs and histories as JSON: whatever was performed and seen is read back equal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks import SCENARIOS
from conformance.checks.registry import Scenario
from conformance.checks.script import Script
from conformance.contract import SessionHeader
from conformance.drivers.execution import Execution
from conformance.drivers.workspace import Workspace
from conformance.model import history as seen
from conformance.model.history_forms import event_from_json, event_to_json, outcome_from_json, outcome_to_json
from conformance.model.operations import (
    OPERATIONS,
    Crash,
    Create,
    Operation,
    Overlap,
    Program,
    Read,
    Step,
    operation_from_json,
)
from conformance.model.tree import TreeView
from conformance.model.usage import InputOutput, Usage
from reference_backend.memory import memory

NUMBERS = st.integers(0, 9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = JSON | st.binary(max_size=3) | st.tuples(NUMBERS) | st.sampled_from([float("inf"), "\ud800", {1: 2}])
HEADERS = st.builds(
    SessionHeader,
    id=st.text(max_size=4) | st.none(),
    created_at=st.integers() | st.booleans() | st.floats(allow_nan=False),
    version=st.sampled_from([1, 2, True, "1"]),
    cwd=st.none() | st.text(max_size=4),
    is_seeded=st.booleans(),
    origin=ARGUMENTS,
    agent_preset=ARGUMENTS,
    extra=st.dictionaries(st.text(max_size=3), ARGUMENTS, max_size=2),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "instance": NUMBERS,
    "handle": NUMBERS,
    "session": st.text(max_size=4) | st.none(),
    "header": HEADERS,
    "inherited": ARGUMENTS,
    "access": st.sampled_from(["read", "write"]),
    "offset": ARGUMENTS,
    "length": ARGUMENTS,
    "events": ARGUMENTS,
    "event": ARGUMENTS,
    "scribble": st.booleans(),
    "named": st.booleans(),
    "cancelled": st.booleans(),
    "raising": st.booleans(),
    "first": NUMBERS,
    "count": NUMBERS,
    "size": NUMBERS,
    "width": NUMBERS,
    "sessions": st.lists(st.text(max_size=4), max_size=2),
    "seconds": st.floats(0, 10),
    "bytes_only": st.booleans(),
    "calls": st.lists(st.sampled_from(["write", "sync"]), max_size=2),
    "nth": NUMBERS,
    "error": st.sampled_from(["", "EIO"]),
    "sticky": st.booleans(),
    "how": st.sampled_from(["refused", "landed", "short"]),
    "taken": NUMBERS,
    "place": st.sampled_from(["", "record", "page"]),
    "start": st.tuples(st.integers(-3, 3), st.integers(-9, 9)),
    "end": st.tuples(st.integers(-3, 3), st.integers(-9, 9)),
    "to": st.tuples(st.integers(-3, 3), st.integers(-9, 9)),
    "data": st.text(max_size=3) | st.binary(max_size=3),
    "other": st.text(max_size=4),
    "mask": NUMBERS,
    "version": st.integers(-3, 3),
    "beside": st.none() | st.integers(0, 3),
    "room": NUMBERS,
    "around": st.booleans(),
}
CALLS = st.one_of(
    [
        st.builds(kind, **{name: FIELDS[name] for name in kind.__dataclass_fields__ if name != "kind"})
        for kind in OPERATIONS.values()
        if kind not in (Crash, Overlap)
    ]
)
CRASHES = st.builds(
    Crash,
    preset=st.sampled_from(["kill", "ext4"]),
    during=st.none() | CALLS,
    after=st.none() | NUMBERS,
    cut=NUMBERS,
    lost=st.lists(st.tuples(NUMBERS, st.sampled_from(["entry", "size", "page"]), NUMBERS), max_size=3).map(tuple),
    tear=st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS),
)
STEPS = st.builds(
    Step,
    call=CALLS,
    after=NUMBERS,
    waits=st.booleans(),
    cancels=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=2).map(tuple),
)
OVERLAPS = st.builds(
    Overlap,
    rows=st.lists(st.lists(STEPS, max_size=2).map(tuple), max_size=2).map(tuple),
    jobs=st.lists(NUMBERS, max_size=3).map(tuple),
)
PROGRAM_OPERATIONS = CALLS | CRASHES | OVERLAPS
ERRORS: st.SearchStrategy[seen.ErrorView] = st.recursive(
    st.builds(
        seen.ErrorView,
        kind=st.text(max_size=5),
        type_name=st.text(max_size=5),
        message=st.text(max_size=9),
        session_id=st.none() | st.text(max_size=3),
        expected=st.none() | NUMBERS,
        got=st.none() | NUMBERS,
        location=st.none() | st.text(max_size=3),
        notes=st.lists(st.text(max_size=3), max_size=2).map(tuple),
        fault=st.booleans(),
    ),
    lambda inner: st.builds(
        seen.ErrorView,
        kind=st.just("ExceptionGroup"),
        type_name=st.just("ExceptionGroup"),
        message=st.text(max_size=3),
        members=st.lists(inner, max_size=2).map(tuple),
    ),
    max_leaves=4,
)
SNAPSHOTS = st.builds(
    seen.SnapshotView,
    header=HEADERS | st.text(max_size=5),
    revision=st.integers(),
    event_count=JSON,
    size_bytes=JSON,
    artifact_size=st.none() | NUMBERS,
)
PATHS = st.text(st.characters() | st.just("\udcff"), max_size=4)
COUNTS = st.builds(InputOutput, NUMBERS, NUMBERS, NUMBERS)
VALUES = (
    st.none()
    | SNAPSHOTS
    | st.lists(SNAPSHOTS, max_size=2)
    | st.lists(JSON, max_size=3)
    | st.builds(seen.Odd, st.text(max_size=9))
    | st.builds(
        TreeView,
        st.lists(PATHS, max_size=2).map(tuple),
        st.lists(st.tuples(PATHS, NUMBERS), max_size=2).map(tuple),
        st.lists(PATHS, max_size=2).map(tuple),
        st.lists(st.tuples(PATHS, st.text(max_size=2)), max_size=2).map(tuple),
    )
    | st.builds(
        Usage,
        recorded=COUNTS,
        process=st.none() | COUNTS,
        peak=st.none() | NUMBERS,
        allocated=st.none() | NUMBERS,
        doubt=st.text(max_size=3),
    )
    | st.builds(seen.CrashView, st.lists(NUMBERS, max_size=3).map(tuple), st.lists(PATHS, max_size=2).map(tuple))
    | st.builds(
        seen.DamageView,
        path=PATHS,
        before=st.none() | NUMBERS,
        after=st.none() | NUMBERS,
        edges=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=2).map(tuple),
        in_place=st.booleans(),
        low=NUMBERS,
        torn=st.sampled_from(["", "cut", "nul"]),
        version=st.none() | NUMBERS,
        digest=st.text(max_size=2),
        changed=st.booleans(),
    )
    | st.builds(seen.FloodView, NUMBERS, NUMBERS, st.text(max_size=3))
    | st.builds(seen.WarningsView, st.lists(st.text(max_size=5), max_size=2).map(tuple))
    | st.builds(seen.LeftView, *[st.lists(st.text(max_size=3), max_size=2).map(tuple)] * 3)
    | st.builds(seen.HandleView, id=JSON, header=HEADERS | st.text(max_size=5), access=JSON, inherited=JSON)
)
OUTCOMES = (
    st.builds(seen.Returned, VALUES)
    | st.builds(seen.Raised, ERRORS)
    | st.builds(seen.Hung, st.text(max_size=5))
    | st.just(seen.Skipped())
)


def through_text(form: Any) -> Any:
    """The form after it was written and read as strict JSON text."""
    return json.loads(json.dumps(form, allow_nan=False))


@given(PROGRAM_OPERATIONS)
def test_operation_is_read_back_equal(operation: Operation) -> None:
    """Each operation with any arguments, wrong ones included, survives its JSON form."""
    back = operation_from_json(through_text(operation.to_json()))
    assert back == operation
    assert repr(back.to_json()) == repr(operation.to_json())


def test_defaults_are_left_out_and_near_defaults_are_not() -> None:
    """A form holds only what differs from the default, and False is not taken for 0."""
    assert Read(1).to_json() == {"do": "read", "handle": 1}
    assert Read(1, offset=False).to_json() == {"do": "read", "handle": 1, "offset": False}
    assert Create(1, 1, SessionHeader("s", 0)).to_json()["header"] == {"id": "s", "created_at": 0}


@pytest.mark.parametrize("form", [{"do": "nothing"}, {}])
def test_unknown_operation_is_refused(form: dict[str, Any]) -> None:
    """A form without a known ``do`` is a KeyError."""
    with pytest.raises(KeyError):
        operation_from_json(form)


def test_form_with_other_fields_is_refused() -> None:
    """Missing and unknown fields are a TypeError."""
    with pytest.raises(TypeError):
        operation_from_json({"do": "read"})
    with pytest.raises(TypeError):
        operation_from_json({"do": "flush", "handle": 1, "hard": True})


@given(OUTCOMES)
def test_outcome_is_read_back_equal(outcome: seen.Outcome) -> None:
    """Each outcome survives its JSON form."""
    assert outcome_from_json(through_text(outcome_to_json(outcome))) == outcome


@given(PROGRAM_OPERATIONS, OUTCOMES, NUMBERS, NUMBERS)
def test_event_is_read_back_equal(operation: Operation, outcome: seen.Outcome, call: int, at: int) -> None:
    """Invocations and completions survive their JSON forms."""
    fault = seen.FaultView("write", "EIO", "landed", "a")
    for event in (
        seen.Invocation(call, operation, 2, at),
        seen.Completion(call, outcome, at),
        seen.Completion(call, outcome, at, (fault,)),
    ):
        assert event_from_json(through_text(event_to_json(event))) == event


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if not each.needs], ids=lambda each: each.name)
def test_whole_program_and_history_are_read_back_equal(scenario: Scenario) -> None:
    """What a scenario did, and what it saw, survive their JSON forms."""
    with Workspace() as workspace:
        execution = Execution(memory, workspace.fresh_root())
        scenario.body(Script(execution))
        execution.finish()
    assert Program.from_json(through_text(execution.program.to_json())) == execution.program
    forms = through_text([event_to_json(event) for event in execution.history])
    assert [event_from_json(form) for form in forms] == execution.history
