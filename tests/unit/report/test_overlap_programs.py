"""Printed programs with calls in flight at once: they run on a real loop, end by themselves and tell every answer."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from conformance import SessionHeader
from conformance.contract import SessionEvent
from conformance.model.history import Event, Hung, Outcome, Returned, Skipped
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Crash,
    Create,
    Flush,
    FlushInstance,
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
from conformance.report.events import FailureFound
from conformance.report.program_text import render_failure_program, render_program

Lines = Callable[[str], list[str]]
HEADER = SessionHeader("s0", 1)
START: tuple[Operation, ...] = (OpenInstance(0), Create(0, 0, HEADER))
BEGUN: tuple[tuple[Operation, Outcome], ...] = tuple((each, Returned()) for each in START)

SLOW = '''
"""In memory, but an append takes some turns of the loop before it does anything; that of a seq 9 never ends."""

import asyncio
from dataclasses import replace

from reference_backend.memory import MemoryHandle, MemoryPersistence, memory


class Handle(MemoryHandle):
    __slots__ = ()

    async def append(self, events):
        for _ in range(3):
            await asyncio.sleep(0)
        if events[0]["seq"] == 9:
            await asyncio.Event().wait()
        await super().append(events)


class Service(MemoryPersistence):
    async def create(self, header, inherited_event_count=None):
        handle = await super().create(header, inherited_event_count)
        handle.__class__ = Handle
        return handle


backend = replace(memory, name="slow", open=lambda root: Service())
'''


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """The spec of a backend whose appends wait."""
    path = tmp_path / "slow.py"
    path.write_text(SLOW, encoding="utf-8")
    return f"{path}:backend"


@pytest.fixture
def lines_of(capsys: pytest.CaptureFixture[str]) -> Lines:
    """Run a script in this process: the lines that it prints."""

    def lines_of(source: str) -> list[str]:
        # What never ends, or comes to rest, is not waited for as long as a person would.
        quick = source.replace("timeout=10", "timeout=0.1").replace("asyncio.sleep(0.5)", "asyncio.sleep(0)")
        exec(compile(quick, "<program>", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out.splitlines()

    return lines_of


def _script(operations: tuple[Operation, ...], spec: str = "memory", **more: Any) -> str:
    return render_program(Program(operations), backend_spec=spec, clause="SEQ-05", **more)


def test_the_program_of_an_overlap(queue_failure: FailureFound, snapshot: SnapshotAssertion) -> None:
    """The text as a person would have written it: a coroutine for each client, a cancellation, the looks."""
    assert render_failure_program(queue_failure, backend_spec="memory") == snapshot


def test_it_runs_and_tells_the_answer_of_the_call_inside(queue_failure: FailureFound, lines_of: Lines) -> None:
    """Each call says what it came to; the last lines are what was expected, and what the offending one returned."""
    lines = lines_of(render_failure_program(queue_failure, backend_spec="memory"))
    assert "client 1: w0.append([seq 0..1]) -> None" in lines
    assert "client 1: w0.append([seq 2]) -> None" in lines
    assert any(line.startswith('client 2: r1 = instance0.open("s0", "read") -> <') for line in lines)
    assert any(line.startswith("look: [{") for line in lines)
    assert lines[-3:-1] == [
        "expected: a prefix of the log, of 0 to 2 events, from seq 0 on",
        "in the run: returned 1 event, seq 0",
    ]
    assert lines[-1].startswith("observed: [{'type': 'user/message', 'seq': 0")


def test_what_is_known_of_no_call_inside_is_not_observed(queue_failure: FailureFound, lines_of: Lines) -> None:
    """Where the overlap as a whole offends no single answer is shown as the offending one."""
    lines = lines_of(render_failure_program(replace(queue_failure, client=0, step=0), backend_spec="memory"))
    assert not any(line.startswith("observed") for line in lines)
    assert lines[-1].startswith("in the run")


def test_a_look_may_be_the_offending_call(queue_failure: FailureFound, lines_of: Lines) -> None:
    """The script makes the kit's looks up to that one, and shows its answer."""
    script = render_failure_program(replace(queue_failure, client=0, step=2), backend_spec="memory")
    assert lines_of(script)[-1].startswith("observed: [{")
    assert "look1.close()" not in script


EVERY: tuple[Operation, ...] = (
    *START,
    Overlap(
        (
            (
                Step(Append(0, [{"type": "user/message", "seq": 0, "time": 1, "data": "x" * 90}], scribble=True)),
                Step(Append(0, []), waits=False),
                Step(Flush(0), cancels=((0, 0), (5, 1))),
                Step(Create(0, 1, SessionHeader("s1", 1), 2)),
                Step(Append(1, [{"type": "user/message", "seq": 0, "time": 1, "data": {"a": [1]}}] * 2)),
                Step(Close(1), waits=False),
            ),
            (
                Step(OpenSession(0, 2, "s0", "read"), after=10),
                Step(Read(2, 0, 1, scribble=True)),
                Step(Read(2)),
                Step(OpenSession(0, 3, "s0", "write")),
                Step(Stat(0, "nowhere")),
            ),
            (Step(ListSessions(0)), Step(FlushInstance(0))),
        )
    ),
    Overlap(((Step(CloseInstance(0)),),)),
    Read(2),
    Append(3, []),
)


def test_every_call_runs_without_a_history(lines_of: Lines) -> None:
    """All calls that may overlap, and calls afterwards on handles that were opened meanwhile or never were."""
    lines = lines_of(_script(EVERY))
    steps = [step for each in EVERY if isinstance(each, Overlap) for step in each.steps()]
    assert sum(line.startswith("client ") for line in lines) == len(steps)
    assert 'client 2: instance0.stat("nowhere") -> None' in lines
    read = next(line for line in lines if line.startswith("client 2: r2.read(0, 1), then overwrite"))
    assert "scribbled" not in read
    assert any(line.startswith("client 2: w3 = ") and "SessionAlreadyOwnedError" in line for line in lines)
    assert lines[-2].startswith("call 4: SessionHandleClosedError")
    assert lines[-1].startswith("call 5: AttributeError")


def test_a_batch_is_whole_when_its_call_begins(lines_of: Lines) -> None:
    """The caller overwrites its batch once the call is under way, and what it read when it was shown."""
    last = Read(0)
    lines = lines_of(_script((*EVERY[:2], Overlap((EVERY[2].rows[0][:1],)), last)))  # type: ignore[attr-defined]
    assert "scribbled" not in lines[-1]
    assert "x" * 90 in lines[-1]


def test_a_call_is_cancelled(slow: str, event: Callable[..., SessionEvent], lines_of: Lines) -> None:
    """A cancellation reaches a call that waits; the others go on."""
    first, second = Append(0, [event(0, x=1)]), Append(0, [event(0, x=2)])
    overlap = Overlap(((Step(first, cancels=((0, 1),)), Step(second)),))
    lines = lines_of(_script((*START, overlap, Read(0)), slow))
    assert lines[0] == "client 1: w0.append([seq 0]) -> CancelledError()"
    assert lines[1] == "client 1: w0.append([seq 0]) -> None"
    assert "'x': 2" in lines[-1]


def test_a_script_of_a_hang_ends(
    slow: str,
    event: Callable[..., SessionEvent],
    happened: Callable[..., list[Event]],
    overlapped: Callable[..., list[Event]],
    lines_of: Lines,
) -> None:
    """What never ends is cancelled after a while, and said to have hung; clients that wait for it end too."""
    overlap = Overlap(((Step(Append(0, [event(9)])), Step(Stat(0, "s0"))), (Step(Append(0, [event(9)]), waits=False),)))
    answers = {(1, 0): Hung("for ever"), (2, 0): Hung("for ever")}
    history = [*happened(*BEGUN), *overlapped(2, overlap, [(1, 0, 0), (2, 0, 0), (1, 0, 9), (2, 0, 9)], answers)]
    script = _script((*START, overlap), slow, history=history, call=2, place=(1, 0), observed="never returned")
    assert "timeout=10" in script
    lines = lines_of(script)
    assert "something has not ended after 10 s, and is cancelled" in lines
    assert lines[-1] == "observed: CancelledError()"


def test_calls_that_were_not_made_stay_unmade(
    happened: Callable[..., list[Event]], overlapped: Callable[..., list[Event]], lines_of: Lines
) -> None:
    """A call inside whose handle was never returned is a comment."""
    overlap = Overlap(((Step(Read(7), after=20),),))
    history = [*happened(*BEGUN), *overlapped(2, overlap, [(1, 0, 0), (1, 0, 0)], {(1, 0): Skipped()})]
    script = _script((*START, overlap), history=history)
    assert "# h7.read() was not made: what it needs was never returned." in script
    assert lines_of(script) == []


def test_it_says_that_a_real_loop_is_another_world(queue_failure: FailureFound) -> None:
    """A comment tells that times are not those of the run, and what performs the very same."""
    script = render_failure_program(queue_failure, backend_spec="memory")
    comments = " ".join(line.strip().removeprefix("# ") for line in script.splitlines() if line.strip().startswith("#"))
    assert "take as long as they take, not as long as in the run" in comments
    assert "torntail replay performs the very same" in comments
    assert comments.count("This is the call that breaks it.") == 1


def test_behind_a_crash_the_calls_are_listed(lines_of: Lines) -> None:
    """What no script can perform it names, the calls of an overlap too."""
    script = _script((*START, Crash("kill"), OpenInstance(1), Overlap(((Step(Stat(1, "s0")),), (Step(Read(4)),)))))
    assert 'client 1: instance1.stat("s0")' in script
    assert "client 2: h4.read()" in script
    ast.parse(script)
    assert lines_of(script)[-1].startswith("the calls after it need the crash")
