"""Makes a failing program short by performing shorter ones: what Hypothesis had no time for, and what it cannot do.

Hypothesis shrinks towards a smaller example of the *same* clause. Which clause is blamed may depend on a bystander: a
``stat`` between two reads makes a vanished event look like its doing, and a value that is odd makes it look like the
value's. So operations are also removed, and values and ids made plain, where another clause is blamed without them: a
program that contains another failing program is no evidence of a second bug.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from conformance.drivers.execution import ProgramResult
from conformance.machines.job import Finding
from conformance.model.operations import Append, Create, OpenSession, Operation, Program, Stat

Perform = Callable[[Program], ProgramResult]


def reduce_finding(finding: Finding, perform: Perform, *, seconds: float) -> tuple[Finding, ProgramResult] | None:
    """The finding with a program from which no operation can be left out, and what that program came to.

    Returns None where the program does not fail again. Ends after ``seconds`` with what it has.
    """
    until = time.monotonic() + seconds
    result = perform(finding.program)
    if result.violation is None:
        return None
    best = _Best(perform, result, until)
    best.narrow(lambda clause: clause == best.clause)
    best.narrow(_any)
    best.make_plain()
    best.shorten_batches()
    violation = best.result.violation
    if violation is None:
        raise RuntimeError("a reduced program has to fail")
    return Finding(violation.clause, best.result.program, violation), best.result


def _any(clause: str) -> bool:
    return True


class _Best:
    """The shortest failing program so far."""

    def __init__(self, perform: Perform, result: ProgramResult, until: float) -> None:
        self._perform = perform
        self._until = until
        self.result = result

    @property
    def clause(self) -> str:
        """The clause it breaks."""
        return self.result.violation.clause if self.result.violation is not None else ""

    def _try(self, operations: list[Operation], accept: Callable[[str], bool]) -> bool:
        if time.monotonic() > self._until:
            return False
        result = self._perform(Program(tuple(operations)))
        if result.violation is None or not accept(result.violation.clause):
            return False
        self.result = result
        return True

    def narrow(self, accept: Callable[[str], bool]) -> None:
        """Leave out runs of operations, longest first, then single ones, until none can be spared."""
        size = max(1, len(self.result.program.operations) // 2)
        while size:
            start = len(self.result.program.operations) - size
            removed = False
            while start >= 0:
                operations = list(self.result.program.operations)
                del operations[start : start + size]
                if self._try(operations, accept):
                    removed = True
                    start = min(start, len(self.result.program.operations)) - size
                else:
                    start -= 1
            if not (removed and size == 1):
                size //= 2

    def make_plain(self) -> None:
        """Give batches plain events, one batch after the other, and sessions plain ids, all at once."""
        for place, operation in enumerate(self.result.program.operations):
            plain = _plain_batch(operation)
            if plain is not None:
                operations = list(self.result.program.operations)
                operations[place] = plain
                self._try(operations, _any)
        renamed = _plain_ids(self.result.program)
        if renamed is not None:
            self._try(renamed, _any)

    def shorten_batches(self) -> None:
        """Leave out trailing events of batches."""
        for place in range(len(self.result.program.operations)):
            while place < len(self.result.program.operations):
                operation = self.result.program.operations[place]
                if not isinstance(operation, Append) or not isinstance(operation.events, list):
                    break
                if len(operation.events) < 2:
                    break
                operations = list(self.result.program.operations)
                operations[place] = replace(operation, events=operation.events[:-1])
                if not self._try(operations, lambda clause: clause == self.clause):
                    break


def _plain_batch(operation: Operation) -> Append | None:
    """The append with events that hold nothing but their seqs, or None where it has none or is plain already."""
    if not isinstance(operation, Append) or not isinstance(operation.events, list):
        return None
    if not all(isinstance(event, dict) and type(event.get("seq")) is int for event in operation.events):
        return None
    events = [{"type": "user/message", "seq": event["seq"], "time": 0, "data": None} for event in operation.events]
    return replace(operation, events=events) if events != operation.events else None


def _plain_ids(program: Program) -> list[Operation] | None:
    """The program with its sessions called ``s1``, ``s2``, …, or None where one has no text for an id."""
    names: dict[str, str] = {}
    renamed: list[Operation] = []
    for operation in program.operations:
        given = operation.header.id if isinstance(operation, Create) else getattr(operation, "session", "")
        if not isinstance(given, str):
            return None
        name = names.setdefault(given, f"s{len(names) + 1}") if given else given
        if isinstance(operation, Create):
            renamed.append(replace(operation, header=replace(operation.header, id=name)))
        elif isinstance(operation, OpenSession | Stat):
            renamed.append(replace(operation, session=name))
        else:
            renamed.append(operation)
    return renamed if renamed != list(program.operations) else None
