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
from conformance.model.adversities import END, HOW_DAMAGED, Position
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

NAME, NEIGHBOURS = "s1", ("s0", "s2")
"""Whoever goes through sessions by name meets the damaged one first, or last."""

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

ANYTHING = (*HOW_DAMAGED, "bom", "crlf")
"""Every kind of damage; what editors do goes to no place, and is drawn as often as what does."""

BATCHES = (2, 3, 1, 4, 3)
"""How many there are; damage to one that others follow tells the most."""

OF_BATCHES = ("drop", "swap", "drop", "repeat", "nul", "drop", "cut")
"""What may become of whole batches."""

UNDER_AN_OWNER = ("unlink", "replace", "unlink", "cut", "unlink", "directory", "copy", "unlink", "symlink", "plant")
"""What an owner has to notice."""

INSIDE = 80
"""As many bytes behind an edge one byte may change; what is less behind the last one counts from its end."""

BESIDE = ("put_back", "unlink", "put_back", "replace", "cut", "put_back", "directory")
"""What may become of a file that is no artifact."""

MEETS = ("owner", "look", "own", "readers", "look", "create", "own", "owner")
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
        self._neighbour = choices.pick(NEIGHBOURS, "neighbour")
        self._readers: list[int] = []

    def perform(self) -> None:
        """Store, damage, and meet what is left.

        Raises:
            Violation: the clause that the backend broke. BudgetSpent: the time is used up.
        """
        choices = self._choices
        self._fresh()
        batches = self._store()
        if choices.draw(3, "closes") == 2:
            self._do(Close(self._owner))
            self._owner = 0
        if choices.flag("look before"):
            self._look()
        self._do(self._damage(batches))
        self._do(Inspect([NAME], bytes_only=True))
        if self._owner and choices.draw(4, "owner first"):
            self._meet("owner")
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
        self._do(Create(1, other, SessionHeader(self._neighbour, FILLED_AT)))
        self._do(Append(other, strategies.numbered(strategies.palette_bodies(2), 0)))
        self._do(Close(other))
        self._do(Create(1, self._owner, SessionHeader(NAME, FILLED_AT)))
        if choices.draw(4, "header alone"):
            self._do(Flush(self._owner))
        batches = choices.pick(BATCHES, "batches")
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

    def _places(self, batches: int, *, whole: bool) -> tuple[Position, ...]:
        """Three places: edges one behind the other, or anywhere."""
        choices = self._choices
        if whole:
            first = choices.between(0, batches, "first")
            second = first + 1 + choices.draw(2, "more")
            return (first, 0), (second, 0), (second + 1, 0)
        return tuple((choices.between(0, batches + 1, "edge"), choices.pick(DELTAS, "delta")) for _ in range(3))

    def _how(self, batches: int) -> tuple[str, int | None, tuple[Position, ...]]:
        """What happens, to which file that is no artifact, and at which places."""
        choices, files = self._choices, self._execution.storage()[2].count_beside()
        kind = choices.draw(9, "kind")
        if kind in (7, 8) and files:
            return choices.pick(BESIDE, "how"), choices.draw(files, "number"), self._places(batches, whole=False)
        if kind in (5, 6):
            return choices.pick(OF_BATCHES, "how"), None, self._places(batches, whole=True)
        if kind in (3, 4) and self._owner:
            return choices.pick(UNDER_AN_OWNER, "how"), None, self._places(batches, whole=choices.flag("whole"))
        if kind == 2:
            edge, delta = choices.between(0, batches + 1, "edge"), choices.draw(INSIDE, "delta")
            return "flip", None, (((edge, delta) if edge <= batches else (-1, -1 - delta)), END, END)
        return choices.pick(ANYTHING, "how"), None, self._places(batches, whole=choices.flag("whole"))

    def _damage(self, batches: int) -> Damage:
        choices = self._choices
        how, beside, (start, end, to) = self._how(batches)
        data: str | bytes = "nested" if how in ("hostile", "plant") else choices.pick(FOREIGN, "data")
        return Damage(
            NAME,
            how,
            start=start,
            end=end,
            to=to,
            data=data,
            other=self._neighbour,
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
        what = self._choices.pick(("append", "flush", "close", "append", "close"), "owner does")
        if what == "append" and isinstance(self._do(Append(self._owner, batch)), Returned):
            self._length += len(batch)
        elif what == "flush":
            self._do(Flush(self._owner))
        elif what == "close":
            self._do(Close(self._owner))
            self._owner = 0
        self._do(Inspect([NAME], bytes_only=True))

    def _look(self) -> None:
        """A fresh instance asks about both sessions."""
        instance = self._fresh()
        self._do(ListSessions(instance))
        self._do(Stat(instance, NAME))
        for name in (NAME, self._neighbour):
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
        "FMT-05",
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
