"""Headers, failures and programs that the tests of reports share; what a test does not care for is filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import Completion, ErrorView, HandleView, Invocation, Outcome, Raised, Returned
from conformance.model.history_forms import event_to_json as history_form
from conformance.model.operations import Append, Create, OpenInstance, OpenSession, Operation, Program
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
