"""Printed programs run on their own, make the same calls, and end with what was expected and what came."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from syrupy.assertion import SnapshotAssertion

import conformance
from conformance import SessionHeader
from conformance.contract import SessionAlreadyOwnedError, SessionEvent
from conformance.model.history import Event, Hung, Outcome, Returned, Skipped
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
    Program,
    Read,
    Stat,
)
from conformance.report.program_text import render_program

Run = tuple[tuple[Operation, Outcome], ...]
Happened = Callable[..., list[Event]]


class FakeHandle:
    """Answers every call and writes it down; appends land before the first suspension."""

    def __init__(self, name: str, calls: list[Any]) -> None:
        self.name, self.calls = name, calls

    async def append(self, events: Any) -> None:
        """Write down what the batch was when the call began."""
        self.calls.append((self.name, "append", repr(events)))

    async def read(self, *args: Any) -> list[SessionEvent]:
        """One event that the caller may scribble on."""
        self.calls.append((self.name, "read", *args))
        return [{"type": "user/message", "seq": 0, "time": 1, "data": {"x": 1}}]

    async def flush(self) -> None:
        """Fail, as a reader's flush would."""
        self.calls.append((self.name, "flush"))
        raise RuntimeError("flush is refused")

    async def close(self) -> None:
        """Nothing."""
        self.calls.append((self.name, "close"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class FakeInstance:
    """A service whose second opener of one session for writing is refused."""

    def __init__(self, number: int, calls: list[Any]) -> None:
        self.number, self.calls, self.handles = number, calls, 0

    def _handle(self) -> FakeHandle:
        self.handles += 1
        return FakeHandle(f"{self.number}.{self.handles}", self.calls)

    async def create(self, header: SessionHeader, inherited_event_count: Any = None) -> FakeHandle:
        """A handle."""
        self.calls.append((self.number, "create", header, inherited_event_count))
        return self._handle()

    async def open(self, id: Any, access: str) -> FakeHandle:
        """A handle for reading; a refusal for writing."""
        self.calls.append((self.number, "open", id, access))
        if access == "write":
            raise SessionAlreadyOwnedError("it is owned")
        return self._handle()

    async def stat(self, id: Any) -> None:
        """Nothing known."""
        self.calls.append((self.number, "stat", id))

    async def list(self) -> list[Any]:
        """Nothing stored."""
        self.calls.append((self.number, "list"))
        return []

    async def flush(self) -> None:
        """Nothing."""
        self.calls.append((self.number, "flush"))

    async def close(self) -> None:
        """Nothing."""
        self.calls.append((self.number, "close"))


@pytest.fixture
def perform(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[Any, ...]]:
    """Run a script against the fake backend: (calls made, lines printed)."""

    def perform(source: str) -> tuple[Any, ...]:
        calls: list[Any] = []
        opened = 0

        @asynccontextmanager
        async def open_backend(spec: str, root: Path) -> AsyncIterator[FakeInstance]:
            nonlocal opened
            calls.append(("open_backend", spec, root.exists()))
            opened += 1
            yield FakeInstance(opened - 1, calls)

        monkeypatch.setattr(conformance, "open_backend", open_backend, raising=False)
        exec(compile(source, "<program>", "exec"), {"__name__": "__main__"})
        return calls, capsys.readouterr().out.splitlines()

    return perform


def _script(operations: Iterable[Operation], **more: Any) -> str:
    return render_program(Program(tuple(operations)), backend_spec="mine.py:backend", clause="SEQ-02", **more)


def test_the_program_of_a_gap(gap_run: Run, happened: Happened, snapshot: SnapshotAssertion) -> None:
    """The text as a person would have written it."""
    script = _script(
        (operation for operation, _ in gap_run),
        call=4,
        history=happened(*gap_run),
        expected="refused with SessionContiguityError, and nothing stored",
        observed="returned None",
    )
    assert script == snapshot


def test_the_program_of_a_gap_runs(gap_run: Run, happened: Happened, perform: Callable[[str], Any]) -> None:
    """The calls are made in order, a refused one is printed and passed, and the last lines tell what came."""
    script = _script((operation for operation, _ in gap_run), call=4, history=happened(*gap_run), expected="a refusal")
    calls, lines = perform(script)
    assert calls[0] == ("open_backend", "mine.py:backend", False)
    assert [call[1] for call in calls[1:]] == ["create", "append", "open", "append"]
    assert "'seq': 3" in calls[-1][2]
    assert lines == ["call 3: SessionAlreadyOwnedError('it is owned')", "expected: a refusal", "observed: None"]


ALL: tuple[Operation, ...] = (
    OpenInstance(0),
    Create(0, 0, SessionHeader("s0", 1, is_seeded=True, extra={"k": [1]}), 2),
    OpenSession(0, 1, "s0", "read"),
    OpenSession(0, 2, "s0", "write"),
    Append(0, [{"type": "user/message", "seq": 0, "time": 1, "data": {"long": "x" * 90}}], scribble=True),
    Append(0, [{"type": "user/message", "seq": 1, "time": 1, "data": {1, 2}}, float("nan"), (b"\x00",)]),
    Read(1),
    Read(1, 2, None),
    Read(1, 0, 3, scribble=True),
    Flush(1),
    Stat(0, "s0"),
    ListSessions(0),
    FlushInstance(0),
    OpenInstance(7),
    Stat(7, "\ud800"),
    Leave(1),
    Leave(0, raising=True),
    Discard(0),
    CloseInstance(7),
    Close(1),
)
CALLS = [
    "open_backend",
    *("create", "open", "open", "append", "append", "read", "read", "read", "flush", "stat", "list", "flush"),
    *("open_backend", "stat", "close", "close", "close", "close"),
]


def _names(calls: Iterable[tuple[Any, ...]]) -> list[str]:
    return [call[0] if call[0] == "open_backend" else call[1] for call in calls]


def test_every_operation_runs_without_a_history(perform: Callable[[str], Any]) -> None:
    """Without a history every call is guarded, so that a program goes on past whatever is refused."""
    calls, lines = perform(_script(ALL))
    assert _names(calls) == CALLS
    assert "call 9: RuntimeError('flush is refused')" in lines
    assert ("1.1", "read", 2) not in calls
    assert ("0.2", "read", 2) in calls
    assert ("0.2", "read", 0, 3) in calls


def test_what_scribbling_programs_hand_over_is_what_the_call_began_with(perform: Callable[[str], Any]) -> None:
    """The batch is whole when the call begins, and overwritten afterwards."""
    calls, _ = perform(_script(ALL[:5]))
    assert ("x" * 90) in calls[-1][2]
    assert "scribbled" not in calls[-1][2]


@pytest.mark.parametrize("call", range(len(ALL)))
def test_every_operation_may_be_the_offending_one(call: int, perform: Callable[[str], Any]) -> None:
    """Whichever call offends, the script makes it last and prints its answer last."""
    calls, lines = perform(_script(ALL, call=call, expected="something else"))
    # A handle that is left or forgotten takes a call or none; the closing of instances belongs to no operation.
    done = CALLS[: call + 1] if call < 17 else CALLS[:17] if call == 17 else CALLS[:call]
    assert _names(calls) == done
    assert lines[-2] == "expected: something else"
    assert lines[-1].startswith("observed: ")


def test_the_answer_of_a_failing_call_is_its_error(perform: Callable[[str], Any]) -> None:
    """An offending call that raises prints the error it raised."""
    _, lines = perform(_script(ALL[:10], call=9))
    assert lines[-1] == "observed: RuntimeError('flush is refused')"


def test_calls_that_were_not_made_stay_unmade(happened: Happened, perform: Callable[[str], Any]) -> None:
    """A call whose handle was never returned is a comment."""
    run: Run = (
        (OpenInstance(0), Returned()),
        (Read(5), Skipped()),
        (Stat(0, "s"), Returned()),
    )
    script = _script((operation for operation, _ in run), history=happened(*run))
    assert "# Call 1 (read) was not made: what it needs was never returned." in script
    assert _names(perform(script)[0]) == ["open_backend", "stat"]


def test_a_call_that_hung_is_given_a_deadline(happened: Happened) -> None:
    """The script of a hang ends by itself."""
    run: Run = ((OpenInstance(0), Returned()), (FlushInstance(0), Hung("waits for a lock")))
    script = _script((operation for operation, _ in run), history=happened(*run), call=1)
    ast.parse(script)
    assert "async with asyncio.timeout(10):\n                answer = await instance0.flush()" in script


def test_an_empty_program_runs(perform: Callable[[str], Any]) -> None:
    """Nothing to do is no error."""
    assert perform(_script(())) == ([], [])


def test_hostile_names_do_not_break_out(perform: Callable[[str], Any]) -> None:
    """A spec with quotes, an unknown clause with line ends and unprintable expectations are only ever text."""
    script = render_program(
        Program((OpenInstance(0), Stat(0, '"\n'))),
        backend_spec='a"b\\',
        clause="X-1\nimport os",
        call=1,
        expected="\ud800\n'\"",
    )
    calls, lines = perform(script)
    assert calls == [("open_backend", 'a"b\\', False), (0, "stat", '"\n')]
    assert lines[-1] == "observed: None"


@pytest.mark.parametrize("call", [None, 4])
def test_the_script_runs_on_its_own(gap_run: Run, happened: Happened, tmp_path: Path, call: int | None) -> None:
    """In a process of its own, on a backend that is installed: what is expected comes out."""
    program = Program(tuple(operation for operation, _ in gap_run))
    path = tmp_path / "program.py"
    source = render_program(
        program, backend_spec="memory", clause="SEQ-02", call=call, history=happened(*gap_run), expected="a refusal"
    )
    # Where nothing is said to offend, the gap is a refusal like the one before it, which a history would have told.
    source = source if call else render_program(program, backend_spec="memory", clause="SEQ-02")
    path.write_text(source, encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "call 3: SessionAlreadyOwnedError" in done.stdout
    assert done.stdout.splitlines()[-1].partition(": ")[2].startswith("SessionContiguityError")
