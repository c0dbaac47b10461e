"""What the machines cost: concurrent histories a second, with and without Hypothesis, and the kit's share of a step.

A concurrent history is an overlap of four clients with five calls each, on the memory backend, from choices; performed,
kept and judged. Under Hypothesis the very same is done with choices that it draws. For the sequential machine the time
inside its steps stands against the time that Hypothesis takes to draw them: a machine with the same rules and values
and empty bodies would take the latter alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from conformance.contract import Backend, SessionHeader
from conformance.drivers.execution import Execution
from conformance.drivers.registry import load_backend
from conformance.drivers.workspace import Workspace
from conformance.machines.job import Job
from conformance.machines.sequential import hunt
from conformance.model.judgement import judge_history
from conformance.model.operations import (
    Append,
    Create,
    Flush,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Read,
    Stat,
    Step,
)
from conformance.sim import Choices, SeededChoices
from strategies import DrawnChoices

CLIENTS, CALLS = 4, 5
PAUSES = (0, 0, 0, 100, 1_000)

WITNESSES = Counter[str]()
"""What the histories witnessed, which a machine counts too."""


def history(choices: Choices) -> list[Operation]:
    """A program whose overlap has twenty calls: two writers, and two that look."""
    program: list[Operation] = [OpenInstance(1)]
    rows = []
    for client in (1, 2):
        program.append(Create(1, client, SessionHeader(id=f"s{client}", created_at=0)))
        rows.append(tuple(_writes(choices, client)))
    for client in (3, 4):
        rows.append(tuple(_looks(choices, client)))
    jobs = tuple(choices.draw(8, "job") for _ in range(8))
    return [*program, Overlap(tuple(rows), jobs)]


def _writes(choices: Choices, handle: int) -> list[Step]:
    steps, seq, flush = [], 0, Flush(handle)
    for _ in range(CALLS):
        call: Operation = flush
        if choices.draw(4, "call"):
            events = [{"type": "user/message", "seq": seq, "time": seq, "data": {"text": "x" * 20}}]
            call, seq = Append(handle, events), seq + 1
        steps.append(Step(call, choices.pick(PAUSES, "pause"), waits=choices.flag("waits")))
    return steps


def _looks(choices: Choices, client: int) -> list[Step]:
    name = f"s{client - 2}"
    steps = [Step(OpenSession(1, client, name, "read"))]
    calls = (Read(client), Read(client, 1, 1), Stat(1, name), ListSessions(1))
    for _ in range(CALLS - 1):
        steps.append(Step(choices.pick(calls, "look"), choices.pick(PAUSES, "pause"), waits=choices.flag("waits")))
    return steps


def perform(backend: Backend, root: Path, program: list[Operation]) -> Execution:
    """Perform, judge, and count what that witnessed."""
    execution = Execution(backend, root, counts_left=False)
    try:
        for operation in program:
            execution.do(operation)
    finally:
        execution.finish()
    WITNESSES.update(execution.witnesses)
    return execution


def concurrent(backend: Backend, root: Path, count: int) -> None:
    """Histories a second by seeded choices, and under Hypothesis."""

    def by_seed() -> None:
        for number in range(count):
            perform(backend, root, history(SeededChoices(number)))

    performing = 0.0

    @seeded(1)
    @settings(
        max_examples=count // 4,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def drawn(data: st.DataObject) -> None:
        nonlocal performing
        program = history(DrawnChoices(data))
        begun = process_time()
        perform(backend, root, program)
        performing += process_time() - begun

    by_seed()
    seconds = min(_timed(by_seed) for _ in range(3))
    print(f"concurrent histories of {CLIENTS * CALLS} calls on {backend.name}, one core, checks included")
    print(f"  seeded choices    {count / seconds:8,.0f}/s")
    total = _timed(drawn)
    print(f"  under Hypothesis  {count // 4 / total:8,.0f}/s, of which Hypothesis takes {1 - performing / total:.0%}")


def parts(backend: Backend, root: Path, count: int) -> None:
    """Where the time of a history goes; each part is measured by itself, so that they need not add up to the whole."""
    programs = [history(SeededChoices(number)) for number in range(count)]
    histories = [perform(backend, root, program).history for program in programs]
    located = backend.gives("location")

    def drawn() -> None:
        for number in range(count):
            history(SeededChoices(number))

    def set_up() -> None:
        for program in programs:
            perform(backend, root, program[:1])

    def judged() -> None:
        for each in histories:
            judge_history(each, backend.capabilities, located=located)

    def performed() -> None:
        for program in programs:
            perform(backend, root, program)

    draw, begin, judge, whole = (
        min(_timed(part) for _ in range(3)) / count * 1e6 for part in (drawn, set_up, judged, performed)
    )
    print(f"  of {draw + whole:,.0f} us       {draw:,.0f} draw the program, {begin:,.0f} set its world up and end it,")
    print(f"                    {judge:,.0f} judge, and {whole - begin - judge:,.0f} perform and keep the calls")


def overhead(backend: Backend, count: int) -> None:
    """Microseconds of a step of the sequential machine, and of the same machine with empty bodies."""
    inside, steps = 0.0, 0
    original = Execution.do

    def timed(self: Execution, operation: Operation) -> object:
        nonlocal inside, steps
        begun = process_time()
        try:
            return original(self, operation)
        finally:
            inside += process_time() - begun
            steps += 1

    with Workspace() as workspace:
        job = Job(backend, None, workspace, None, None, "benchmark", 1, count)
        Execution.do = timed  # type: ignore[method-assign, assignment]
        try:
            total = _timed(lambda: hunt(job))
        finally:
            Execution.do = original  # type: ignore[method-assign]
    empty = total - inside
    print(f"the sequential machine on {backend.name}, {steps:,} steps")
    print(f"  a step            {total / steps * 1e6:8,.0f} us")
    print(f"  with empty bodies {empty / steps * 1e6:8,.0f} us: {empty / total:.2f} of its rate (aim 0.5)")


def _timed(work: Callable[[], object]) -> float:
    begun = process_time()
    work()
    return process_time() - begun


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000)
    parser.add_argument("--examples", type=int, default=150)
    given_arguments = parser.parse_args()
    backend = load_backend("memory", Path())
    with tempfile.TemporaryDirectory() as directory:
        concurrent(backend, Path(directory) / "root", given_arguments.histories)
        parts(backend, Path(directory) / "root", given_arguments.histories // 8)
    overhead(backend, given_arguments.examples)


if __name__ == "__main__":
    main()
