"""Whatever a backend raises is its answer, and ends no run: also what Python does not count among the errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionHeader
from conformance.drivers.errors import SetupError
from conformance.drivers.execution import run_program
from conformance.model.history import Completion, Raised
from conformance.model.operations import Append, Create, OpenInstance, Overlap, Program, Step
from reference_backend.memory import MemoryPersistence, memory

CREATED = (OpenInstance(1), Create(1, 1, SessionHeader("s", 0)))
APPEND = Append(1, [{"type": "user/message", "seq": 0, "time": 0, "data": None}])


class Odd(BaseException):
    """No ``Exception``."""


def leaving(error: BaseException) -> Backend:
    """A backend whose append raises that."""

    class Handle:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        async def append(self, events: Any) -> None:
            raise error

    class Persistence(MemoryPersistence):
        async def create(self, *given: Any) -> Any:
            return Handle(await super().create(*given))

    return Backend(name="leaving", open=lambda root: Persistence(), capabilities=memory.capabilities)


@pytest.mark.parametrize("error", [SystemExit(0), Odd("odd")], ids=["exit", "own"])
@pytest.mark.parametrize(
    "operations", [(APPEND,), (Overlap(((Step(APPEND),), (Step(APPEND, 5),))),)], ids=["alone", "beside"]
)
def test_it_is_judged(error: BaseException, operations: tuple[Any, ...], tmp_path: Path) -> None:
    """Alone and in an overlap, by the clause that any other error would break there."""
    found = run_program(leaving(error), Program((*CREATED, *operations)), tmp_path / "root")
    outcomes = [event.outcome for event in found.history if isinstance(event, Completion)]
    assert type(error).__name__ in [each.error.kind for each in outcomes if isinstance(each, Raised)]
    assert found.violation is not None
    assert found.violation.clause == "SEQ-01"


def test_a_factory_that_leaves_could_not_start(tmp_path: Path) -> None:
    """It is an error of the set-up."""

    def leave(root: Path) -> Any:
        raise SystemExit(0)

    backend = Backend(name="leaving", open=leave, capabilities=memory.capabilities)
    with pytest.raises(SetupError, match="could not start: SystemExit: 0"):
        run_program(backend, Program(CREATED), tmp_path / "root")


def test_the_users_interrupt_passes(tmp_path: Path) -> None:
    """Nobody takes it for the backend's."""
    with pytest.raises(KeyboardInterrupt):
        run_program(leaving(KeyboardInterrupt()), Program((*CREATED, APPEND)), tmp_path / "root")
