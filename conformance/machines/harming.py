"""The damage machine: a session is stored and damaged somewhere in some way, and everybody looks and goes on.

Each program stores a session of a few batches, whose owner may be there still, and its neighbour. Then one thing
happens to its artifact, or to a file beside, at a place that is drawn by where batches end and how far from there. The
owner, readers from before, fresh instances, a new owner and a ``create`` meet what is left, in an order that is drawn.

Promises: seeded choices make each program, so that the same seed makes the same ones; everything goes into the program
as operations, so that it alone comes to the same again.

Does not: try every place (``machines.damaging`` does), judge, damage twice, or make a failing program short.
"""

from __future__ import annotations

from typing import Any

import strategies
from conformance.clauses import Need
from conformance.contract import SessionHeader
from conformance.drivers.execution import Execution
from conformance.machines.job import Job, MachineSpec
from conformance.machines.seeded import hunt_by_seed
from conformance.machines.workloads import batch_for
from conformance.model.adversities import HOW_DAMAGED, Position
from conformance.model.history import Outcome, Returned
from conformance.model.operations import (
    FILLED_AT,
    Append,
    Close,
    CloseInstance,
    Create,
    Damage,
    Flush,
    Inspect,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.sim import Choices

NAME, NEIGHBOUR = "s1", "s2"

FOREIGN: tuple[str | bytes, ...] = (
    "This is a note that somebody put here.\n",
    "",
    "{}\n[]\n",
    b"\x89PNG\r\n\x1a\n\x00\xff",
    "\n\n",
)
"""What comes in, or in the place of the artifact."""

DELTAS = (0, 0, 1, -1, 5, -5, 20, -20, 300)
"""Bytes from an edge."""

MEETS = ("owner", "look", "own", "readers", "look", "create", "own")
"""Who meets what is left."""


class _Program:
    """One program, performed as the choices make it."""

    def __init__(self, job: Job, execution: Execution, choices: Choices) -> None:
        self._job = job
        self._execution = execution
        self._choices = choices
        self._instances = 0
        self._handles = 0
        self._owner = 0
        self._length = 0
        self._readers: list[int] = []

    def perform(self) -> None:
        """Store, damage, and meet what is left.

        Raises:
            Violation: the clause that the backend broke. BudgetSpent: the time is used up.
        """
        choices = self._choices
        self._fresh()
        batches = self._store()
        if choices.flag("closes"):
            self._do(Close(self._owner))
            self._owner = 0
        self._do(self._damage(batches))
        self._do(Inspect([NAME], bytes_only=True))
        for _ in range(choices.between(1, 4, "meetings")):
            self._meet(choices.pick(MEETS, "who"))
        self._meet("look")

    def _do(self, operation: Operation) -> Outcome:
        self._job.check_budget()
        return self._execution.do(operation)

    def _fresh(self) -> int:
        self._instances += 1
        self._do(OpenInstance(self._instances))
        return self._instances

    def _handle(self) -> int:
        self._handles += 1
        return self._handles

    def _batch(self, first: int) -> list[dict[str, Any]]:
        if self._choices.draw(4, "wide") == 3:
            return batch_for(NAME, first, large=True)
        bodies = strategies.palette_bodies(self._choices.between(1, 3, "events"), self._choices.draw(4, "data"))
        return strategies.numbered(bodies, first)

    def _store(self) -> int:
        """The two sessions and, it may be, a reader of the first; how many batches that has."""
        choices = self._choices
        self._owner, other = self._handle(), self._handle()
        self._do(Create(1, other, SessionHeader(NEIGHBOUR, FILLED_AT)))
        self._do(Append(other, strategies.numbered(strategies.palette_bodies(2), 0)))
        self._do(Close(other))
        self._do(Create(1, self._owner, SessionHeader(NAME, FILLED_AT)))
        if choices.draw(4, "header alone"):
            self._do(Flush(self._owner))
        batches = choices.between(1, 4, "batches")
        for number in range(batches):
            batch = self._batch(self._length)
            self._do(Append(self._owner, batch))
            self._length += len(batch)
            if number + 1 < batches or choices.draw(4, "flush"):
                self._do(Flush(self._owner))
        if choices.flag("reader"):
            reader = self._handle()
            self._do(OpenSession(1, reader, NAME, "read"))
            self._do(Read(reader))
            self._readers.append(reader)
        return batches

    def _place(self, batches: int) -> Position:
        return self._choices.between(0, batches + 1, "edge"), self._choices.pick(DELTAS, "delta")

    def _damage(self, batches: int) -> Damage:
        choices = self._choices
        how = choices.pick(HOW_DAMAGED, "how")
        beside = choices.draw(3, "number") if choices.draw(6, "beside") == 5 else None
        data: str | bytes = "nested" if how in ("hostile", "plant") else choices.pick(FOREIGN, "data")
        start, end, to = (self._place(batches) for _ in range(3))
        return Damage(
            NAME,
            how,
            start=start,
            end=end,
            to=to,
            data=data,
            other=NEIGHBOUR,
            mask=1 << choices.draw(8, "bit"),
            version=choices.between(-4, 3, "version"),
            beside=beside,
        )

    def _meet(self, who: str) -> None:
        if who == "owner" and self._owner:
            self._by_owner()
        elif who == "readers":
            for reader in self._readers:
                self._do(Read(reader))
        elif who == "own":
            self._own()
        elif who == "create":
            self._do(Create(self._fresh(), self._handle(), SessionHeader(NAME, FILLED_AT)))
        else:
            self._look()

    def _by_owner(self) -> None:
        """Who owned it before appends, flushes or closes."""
        batch = self._batch(self._length)
        what = self._choices.draw(3, "owner does")
        if what == 0 and isinstance(self._do(Append(self._owner, batch)), Returned):
            self._length += len(batch)
        elif what == 1:
            self._do(Flush(self._owner))
        elif what == 2:
            self._do(Close(self._owner))
            self._owner = 0
        self._do(Inspect([NAME], bytes_only=True))

    def _look(self) -> None:
        """A fresh instance asks about both sessions."""
        instance = self._fresh()
        self._do(ListSessions(instance))
        self._do(Stat(instance, NAME))
        for name in (NAME, NEIGHBOUR):
            reader = self._handle()
            self._do(OpenSession(instance, reader, name, "read"))
            if self._is_open(reader):
                self._do(Read(reader))
                self._do(Read(reader, 1, 2))
        self._do(CloseInstance(instance))

    def _own(self) -> None:
        """A fresh instance owns it, appends behind what it reads, and another one reads that."""
        instance, writer = self._fresh(), self._handle()
        self._do(OpenSession(instance, writer, NAME, "write"))
        if not self._is_open(writer):
            return
        log = self._do(Read(writer))
        if isinstance(log, Returned) and isinstance(log.value, list):
            self._do(Append(writer, strategies.numbered(strategies.palette_bodies(1), len(log.value))))
            self._do(Flush(writer))
        self._do(Close(writer))
        self._do(CloseInstance(instance))
        self._look()

    def _is_open(self, handle: int) -> bool:
        found = self._execution.judge.world.handles.get(handle)
        return found is not None and not found.closed


def hunt(job: Job) -> None:
    """One damage in each program, program after program (``hunt_by_seed``)."""
    hunt_by_seed(job, lambda execution, choices: _Program(job, execution, choices).perform(), damages=True)


HARMING = MachineSpec(
    name="damage",
    clauses=(
        "FMT-04",
        "FMT-06",
        "FMT-09",
        "FMT-10",
        "FMT-11",
        "FMT-12",
        "SVC-07",
        "SVC-14",
        "DUR-10",
        "TORN-01",
        "TORN-02",
    ),
    needs=frozenset({Need.FRESH, Need.LOCATION, Need.DAMAGE}),
    title="one damage anywhere in a stored session is refused, or hides nothing of it and of its neighbour",
    hunt=hunt,
    weight=0.5,
)
