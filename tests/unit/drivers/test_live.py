"""The hubs of a driver's instances, what it hears of what a backend logs, and how events are handed over."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionHeader, SessionHub
from conformance.drivers.execution import Execution
from conformance.drivers.live import MOST_WARNINGS, Warnings
from conformance.drivers.loading import load_file
from conformance.drivers.workspace import Workspace
from conformance.model.history import FloodView, Outcome, Raised, Returned, Skipped, WarningsView
from conformance.model.operations import (
    Create,
    Dispose,
    Flood,
    HubCreate,
    HubFlush,
    OpenInstance,
    Operation,
    Publish,
    ReadWarnings,
)
from reference_backend.memory import memory

EVENT = {"type": "user/message", "seq": 0, "time": 0, "data": {"text": "first"}}
VARIANTS = Path(__file__).resolve().parents[2] / "variants"
logger = logging.getLogger("somebody's backend")


class Heard:
    """A live path that only listens."""

    def __init__(self, refused_from: int = 10**9) -> None:
        self.services: list[Any] = []
        self.events: list[Any] = []
        self.calls: list[str] = []
        self._refused_from = refused_from

    def attach(self, service: Any, hub: SessionHub) -> None:
        """What a backend gives as ``live``."""
        self.services.append(service)
        hub.subscribe(on_event=self._event, on_flush=self._flush, on_disposed=self._disposed)

    def _event(self, session_id: str, event: Any) -> None:
        if event.get("seq", 0) >= self._refused_from:
            raise BufferError(f"not seq {event['seq']}")
        self.events.append(event)

    async def _flush(self, session_id: str) -> None:
        self.calls.append(f"flush {session_id}")

    def _disposed(self, session_id: str) -> None:
        self.calls.append(f"dispose {session_id}")


def with_live(live: Callable[[Any, Any], None] | None, backend: Backend = memory) -> Backend:
    """The backend with this live path; what is judged of it does not matter here."""
    return replace(backend, live=live)


@pytest.fixture
def done() -> Iterator[Callable[..., list[Outcome]]]:
    """Performs operations on a backend, as a program."""
    with Workspace() as workspace:

        def perform(backend: Backend, *operations: Operation) -> list[Outcome]:
            execution = Execution(backend, workspace.fresh_root())
            try:
                return [execution.do(each) for each in operations]
            finally:
                execution.finish()

        yield perform


def test_signals_come_to_the_subscriber_of_their_instance(done: Callable[..., list[Outcome]]) -> None:
    """Each instance has a hub of its own, to which the backend subscribes once, when it is opened."""
    heard = Heard()
    found = done(
        with_live(heard.attach),
        OpenInstance(1),
        HubCreate(1, "s", [EVENT]),
        Publish(1, "s", EVENT),
        HubFlush(1, "s"),
        Dispose(1, "s"),
    )
    assert found[1:] == [Returned()] * 4
    assert heard.events == [EVENT]
    assert heard.calls == ["flush s", "dispose s"]
    assert len(heard.services) == 1


def test_producer_keeps_the_event_and_overwrites_it(done: Callable[..., list[Outcome]]) -> None:
    """The backend is handed a copy of the program's event; with ``scribble`` that copy is overwritten at once."""
    heard = Heard()
    done(
        with_live(heard.attach),
        OpenInstance(1),
        HubCreate(1, "s"),
        Publish(1, "s", EVENT),
        Publish(1, "s", EVENT, True),
    )
    assert heard.events[0] == EVENT
    assert heard.events[0] is not EVENT
    assert heard.events[1]["data"] == {"text": "scribbled", "scribbled": True}
    assert EVENT["data"] == {"text": "first"}


def test_without_a_live_path_there_is_no_hub(done: Callable[..., list[Outcome]]) -> None:
    """What a program does on a hub is skipped where the backend has none, as are the warnings."""
    found = done(with_live(None), OpenInstance(1), HubCreate(1, "s"), Publish(1, "s", EVENT), ReadWarnings())
    assert found[1:] == [Skipped()] * 3


def test_error_of_a_subscriber_is_an_outcome(done: Callable[..., list[Outcome]]) -> None:
    """What is raised at publication is seen like the error of a call."""
    misfit = Publish(1, "s", {**EVENT, "seq": 7})
    owned = (OpenInstance(1), Create(1, 1, SessionHeader("s", 0)), HubCreate(1, "s"))
    found = done(with_live(Heard(refused_from=0).attach), *owned, misfit)
    assert isinstance(found[-1], Raised)
    assert found[-1].error.kind == "BufferError"


def test_synchronous_backend_subscribes_the_authors_own_object(done: Callable[..., list[Outcome]]) -> None:
    """A seam is not given the adapter that makes plain functions awaitable."""
    rows = load_file(VARIANTS / "sqlite_rows.py")
    heard = Heard()
    done(with_live(heard.attach, rows.sqlite_rows), OpenInstance(1))
    assert type(heard.services[0]).__name__ == rows.RowsStore.__name__


@pytest.mark.parametrize("traced", [False, True])
def test_flood_ends_where_an_event_is_not_taken(done: Callable[..., list[Outcome]], *, traced: bool) -> None:
    """It tells how many were taken, why no more, and what memory grew by; whoever traces memory goes on tracing."""
    if traced:
        tracemalloc.start()
    try:
        heard = Heard(refused_from=150)
        found = done(with_live(heard.attach), OpenInstance(1), HubCreate(1, "s"), Flood(1, "s", 100, 1_000, 2_000))[-1]
        assert tracemalloc.is_tracing() == traced
    finally:
        tracemalloc.stop()
    assert isinstance(found, Returned)
    assert isinstance(found.value, FloodView)
    assert (found.value.taken, found.value.error) == (50, "BufferError")
    assert [each["seq"] for each in heard.events] == list(range(100, 150))
    assert found.value.grown > 50 * 2_000


def test_flood_that_nobody_keeps_takes_no_memory(done: Callable[..., list[Outcome]]) -> None:
    """What is not kept is not counted."""

    def forgetful(service: Any, hub: SessionHub) -> None:
        heard = Heard()
        hub.subscribe(on_event=lambda name, event: None, on_flush=heard._flush, on_disposed=heard._disposed)

    found = done(with_live(forgetful), OpenInstance(1), HubCreate(1, "s"), Flood(1, "s", 0, 1_000, 1_000))[-1]
    assert isinstance(found, Returned)
    assert isinstance(found.value, FloodView)
    assert found.value.taken == 1_000
    assert found.value.error == ""
    assert found.value.grown < 100_000


def test_warnings_are_those_of_the_program(done: Callable[..., list[Outcome]]) -> None:
    """What is logged while a program runs is told once, what was logged before or after it never, nor what is less."""

    def talkative(service: Any, hub: SessionHub) -> None:
        logger.info("all is well")
        logger.warning("session %r: %d events wait", "s", 3)
        logger.error("this is worse")

    before = list(logging.getLogger().handlers)
    logger.warning("before")
    first = done(with_live(talkative), OpenInstance(1), ReadWarnings(), ReadWarnings())
    assert first[1] == Returned(WarningsView(("WARNING: session 's': 3 events wait", "ERROR: this is worse")))
    assert first[2] == Returned(WarningsView(()))
    logger.warning("between")
    assert done(with_live(Heard().attach), OpenInstance(1), ReadWarnings())[-1] == Returned(WarningsView(()))
    assert logging.getLogger().handlers == before


def test_warnings_are_cut() -> None:
    """A backend that logs on and on fills no memory, and what is read makes room again."""
    warnings = Warnings()
    warnings.begin()
    try:
        for number in range(MOST_WARNINGS + 50):
            logger.warning("number %d", number)
        assert len(warnings.take()) == MOST_WARNINGS
        logger.warning("another")
        assert warnings.take() == ["WARNING: another"]
    finally:
        warnings.end()
    logger.warning("unheard")
    assert warnings.take() == []


def test_message_that_cannot_be_formatted_is_kept() -> None:
    """A warning with the wrong arguments is told as it was given."""
    warnings = Warnings()
    warnings.handle(logging.LogRecord("x", logging.WARNING, __file__, 1, "%d of %s", ("three",), None))
    assert warnings.take() == ["WARNING: %d of %s"]
