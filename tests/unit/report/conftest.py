"""Headers, failures and programs that the tests of reports share; what a test does not care for is filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import (
    Cancelled,
    Completion,
    ErrorView,
    Event,
    HandleView,
    Invocation,
    Outcome,
    Raised,
    Returned,
)
from conformance.model.history_forms import event_to_json as history_form
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
from conformance.report.events import FailureFound, RunStarted


def _event(seq: Any, type: str = "user/message", **data: Any) -> SessionEvent:
    return {"type": type, "seq": seq, "time": 1, "data": data}


@pytest.fixture(scope="session")
def event() -> Callable[..., SessionEvent]:
    """``event(seq, type="user/message", **data)``."""
    return _event


def _started(*clauses: str, rulings: dict[str, tuple[str, str]] | None = None, **settings: Any) -> RunStarted:
    return RunStarted(
        **{
            "kit_version": "0.1.0",
            "backend": "mine",
            "spec": "mine.py:backend",
            "capabilities": {"storage": "files", "encodings": ("zstd", "raw"), "lease": None},
            "profile": "default",
            "seed": 7,
            "strict": False,
            "require_measured": False,
            "durability": "power-loss",
            "python": "3.11.2",
            "platform": "Linux",
            "clauses": clauses,
            "rulings": {**dict.fromkeys(clauses, ("applies", "")), **(rulings or {})},
            "items": ("conformance::seq::one",),
            **settings,
        }
    )


@pytest.fixture(scope="session")
def started() -> Callable[..., RunStarted]:
    """``started(*clauses, rulings={}, **fields)``: a header; a clause without a ruling applies."""
    return _started


def _happened(*pairs: tuple[Operation, Outcome]) -> list[Invocation | Completion]:
    history: list[Invocation | Completion] = []
    for call, (operation, outcome) in enumerate(pairs):
        history += [Invocation(call, operation, at=call * 10), Completion(call, outcome, at=call * 10 + 5)]
    return history


@pytest.fixture(scope="session")
def happened() -> Callable[..., list[Invocation | Completion]]:
    """``happened((operation, outcome), …)``: the history of a sequential program."""
    return _happened


Moment = tuple[int, int, int]


def _overlapped(
    call: int,
    overlap: Overlap,
    moments: Iterable[Moment],
    answers: Mapping[tuple[int, int], Outcome],
    looks: Iterable[tuple[Operation, Outcome]] = (),
) -> list[Event]:
    steps = {(client, step): each.call for client, step, each in overlap.steps()}
    start = call * 10
    history: list[Event] = [Invocation(call, overlap, at=start)]
    for client, step, at in moments:
        if (operation := steps.pop((client, step), None)) is not None:
            history.append(Invocation(call, operation, client, start + at, step))
        else:
            outcome = answers.get((client, step), Returned())
            history.append(Completion(call, outcome, start + at, (), client, step))
    for number, (operation, outcome) in enumerate(looks, 1):
        history.append(Invocation(call, operation, 0, history[-1].at, number))
        history.append(Completion(call, outcome, history[-1].at, (), 0, number))
    return [*history, Completion(call, Returned(), history[-1].at)]


@pytest.fixture(scope="session")
def overlapped() -> Callable[..., list[Event]]:
    """``overlapped(call, overlap, [(client, step, at), …], {(client, step): outcome}, looks)``: its history.

    The first moment of a call is its begin, the second its end; ``at`` counts from the begin of the overlap.
    """
    return _overlapped


HEADER = SessionHeader("s0", 1)
OWNED = ErrorView("SessionAlreadyOwnedError", "Busy", "s0 is owned", session_id="s0")
GAP_RUN: tuple[tuple[Operation, Outcome], ...] = (
    (OpenInstance(0), Returned()),
    (Create(0, 0, HEADER), Returned(HandleView("s0", HEADER, "write", None))),
    (Append(0, [_event(0)]), Returned()),
    (OpenSession(0, 1, "s0", "write"), Raised(OWNED)),
    (Append(0, [_event(1, "step/start"), _event(3)]), Returned()),
)


@pytest.fixture(scope="session")
def gap_run() -> tuple[tuple[Operation, Outcome], ...]:
    """A backend that takes a gap: what was called and what it came to, the last call being the wrong one."""
    return GAP_RUN


@pytest.fixture(scope="session")
def gap_failure() -> FailureFound:
    """The failure of ``gap_run``, as the engine reports it."""
    return FailureFound(
        item="conformance::seq::gap_is_refused_whole",
        clause="SEQ-02",
        expected="refused with SessionContiguityError, and nothing stored",
        observed="returned None",
        program=tuple(Program(tuple(operation for operation, _ in GAP_RUN)).to_json()),
        history=tuple(history_form(each) for each in _happened(*GAP_RUN)),
        call=4,
        reference_answer="SessionContiguityError(expected=2, got=3)",
        fingerprint="ab" * 32,
        case=".torntail/cases/SEQ-02-abababababab.json",
        reproduce="torntail replay .torntail/cases/SEQ-02-abababababab.json",
    )


QUEUE = Overlap(
    (
        (
            Step(Append(0, [_event(0), _event(1)]), waits=False),
            Step(Append(0, [_event(2, "step/start")]), cancels=((150, 1),)),
            Step(Close(0)),
        ),
        (Step(OpenSession(0, 1, "s0", "read"), after=50), Step(Read(1)), Step(Read(1, scribble=True), after=9_000)),
    ),
    jobs=(3, 3),
)
ORDER = (
    *((1, 0, 0), (1, 1, 0), (2, 0, 50), (2, 0, 50), (2, 1, 50), (1, 1, 150), (1, 2, 150), (2, 1, 10_050)),
    *((1, 0, 10_050), (2, 2, 19_050), (2, 2, 19_050), (1, 2, 2_020_000)),
)
TORN_READ = [_event(0)]
LOOKED: tuple[tuple[Operation, Outcome], ...] = (
    (OpenSession(0, 1_000_000, "s0", "read"), Returned(HandleView("s0", HEADER, "read", None))),
    (Read(1_000_000), Returned([_event(0), _event(1)])),
    (Close(1_000_000), Returned()),
)


@pytest.fixture(scope="session")
def queue_failure() -> FailureFound:
    """A reader sees half of a batch beside its append; another append is cancelled, and looked for afterwards."""
    answers: dict[tuple[int, int], Outcome] = {
        (1, 1): Cancelled(),
        (2, 0): Returned(HandleView("s0", HEADER, "read", None)),
        (2, 1): Returned(TORN_READ),
        (2, 2): Returned([_event(0), _event(1)]),
    }
    operations = (OpenInstance(0), Create(0, 0, HEADER), QUEUE)
    history = [*_happened(*GAP_RUN[:2]), *_overlapped(2, QUEUE, ORDER, answers, LOOKED)]
    return FailureFound(
        item="conformance::seq::a_batch_is_seen_whole",
        clause="SEQ-05",
        expected="a prefix of the log, of 0 to 2 events, from seq 0 on",
        observed="returned 1 event, seq 0",
        program=tuple(Program(operations).to_json()),
        history=tuple(history_form(each) for each in history),
        call=2,
        client=2,
        step=1,
        fingerprint="cd" * 32,
        reproduce="torntail replay .torntail/cases/SEQ-05-cdcdcdcdcdcd.json",
    )
