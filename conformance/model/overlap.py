"""Calls that overlap, as data: a row of steps for each client, and how long the backend's jobs take meanwhile.

An ``Overlap`` is one operation of a program. Its clients begin together; each makes its calls one after the other, lets
time pass between them, need not wait for one to end before it makes the next, and may cancel one at any point inside
it. Histories hold the calls with their begin and their end, under the number of the operation, the client (from 1) and
the step. When all of them have ended the kit lets the backend come to rest, and looks once at each session of which a
cancelled append or the end of a sweep leaves open what it holds (client 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.model.operation import Operation

REST_US = 1_000_000
"""Virtual microseconds that the backend has to come to rest when all calls of an overlap have ended."""

LOOKS = 1_000_000
"""The handles of the looks afterwards are numbered from here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of one client.

    Attributes:
        call: what is called.
        after: virtual microseconds that the client lets pass before.
        waits: the client makes its next step when this call has ended; else one turn of the loop after it began.
        cancels: the call is cancelled, once for each (microseconds, turns of the loop) that pass since it began, or
            since it was cancelled before; where it has ended by then nothing is.
    """

    call: Operation
    after: int = 0
    waits: bool = True
    cancels: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The call's form, with what differs from a plain step in ``step``."""
        more: dict[str, Any] = {}
        if self.after:
            more["after"] = self.after
        if not self.waits:
            more["waits"] = False
        if self.cancels:
            more["cancels"] = [list(each) for each in self.cancels]
        return {**self.call.to_json(), **({"step": more} if more else {})}


@dataclass(frozen=True, slots=True)
class Overlap(Operation):
    """Several clients with calls in flight at once.

    Attributes:
        rows: for each client its steps.
        jobs: the answers to what is asked while they run, in order: how long an executor job takes and whether one had
            begun when its await was cancelled (``conformance.sim.jobs``). Past their end the answer is 0.
    """

    kind: ClassVar[str] = "overlap"
    rows: tuple[tuple[Step, ...], ...]
    jobs: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{"do": "overlap", "rows": [[step, ...], ...], "jobs": [...]}``."""
        found: dict[str, Any] = {"do": self.kind, "rows": [[step.to_json() for step in row] for row in self.rows]}
        return {**found, "jobs": list(self.jobs)} if self.jobs else found

    def steps(self) -> Iterator[tuple[int, int, Step]]:
        """(client, number, step) for each step, client by client."""
        for client, row in enumerate(self.rows, 1):
            for number, step in enumerate(row):
                yield client, number, step
