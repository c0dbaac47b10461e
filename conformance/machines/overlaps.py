"""Programs with calls in flight at once, from choices: who does what, how long jobs take, what is cancelled and where.

Each program begins with an instance or two and a few sessions, goes on with one overlap or two, and ends with looks
that show what is left: readers, a writer that owns and goes on, another instance. Clients have parts: the writer of a
session sends appends without waiting, flushes and closes; readers page, ask and list; rivals create, open and flush
what others hold. Every question's answer 0 is the plainest there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from conformance.contract import Capabilities, SessionHeader
from conformance.model.operations import (
    FILLED_AT,
    Append,
    Close,
    CloseInstance,
    Create,
    Fail,
    Flush,
    FlushInstance,
    Heal,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Read,
    Stat,
    Step,
)
from conformance.sim import Choices

PAUSES = (0, 0, 0, 0, 1, 99, 150, 1_000, 5_000, 10_050)
"""Virtual microseconds that a client may let pass; jobs take 0, 100, 1,000 or 10,000."""

MOST_STEPS = 6
"""Calls of one client, at most."""

JOBS = 14
"""How many questions about jobs are answered, at most."""


ALL = "all"
"""Every kind of call beside storage that fails."""


@dataclass(slots=True)
class _Plan:
    """A session as the program means it to go.

    Attributes:
        writer: the handle that is to own it. length: how many events its log is to have.
    """

    name: str
    instance: int
    writer: int | None = None
    length: int = 0


@dataclass(slots=True)
class _Maker:
    """Makes one program.

    Attributes:
        cancels, scribbles, ends: what this program is about (swarm): calls are cancelled, callers overwrite what they
            hand over and get, the service is closed among the rest.
        keeps: nothing is given up or taken over, so that what a crash leaves can be told.
        fails: storage fails in it. beside: what comes beside that: one kind, so that what is left by it can be told, or
            ``ALL`` of them.
    """

    choices: Choices
    shared: bool
    keeps: bool = False
    fails: bool = False
    beside: str = ""
    handles: int = 0
    serial: int = 0
    instances: list[int] = field(default_factory=list)
    plans: list[_Plan] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    cancels: bool = False
    scribbles: bool = False
    ends: bool = False

    # -- small things ----------------------------------------------------------------------------

    def handle(self) -> int:
        self.handles += 1
        return self.handles

    def batch(self, first: int) -> list[dict[str, Any]]:
        """One to three events from that seq; no two batches are alike."""
        self.serial += 1
        count = 1 + self.choices.draw(3, "events")
        mark = self.serial
        return [
            {"type": "user/message", "seq": seq, "time": FILLED_AT + seq, "data": {"batch": mark, "seq": seq}}
            for seq in range(first, first + count)
        ]

    def create(self, name: str, instance: int) -> Create:
        return Create(instance, self.handle(), SessionHeader(id=name, created_at=FILLED_AT))

    def step(self, call: Operation, *, waits: bool = True) -> Step:
        choices = self.choices
        after = choices.pick(PAUSES, "pause")
        cancels: tuple[tuple[int, int], ...] = ()
        if self.cancels and not isinstance(call, CloseInstance) and choices.draw(4, "cancelled") == 3:
            cancels = ((choices.pick(PAUSES, "cancelled after"), choices.draw(4, "turns")),)
            if choices.draw(4, "cancelled twice") == 3:
                cancels = (*cancels, (0, 1 + choices.draw(2, "turns")))
        if self.scribbles and isinstance(call, Append | Read) and choices.flag("overwritten"):
            call = replace(call, scribble=True)
        return Step(call, after, waits, cancels)

    # -- the parts of clients ---------------------------------------------------------------------

    def writer(self, plan: _Plan) -> list[Step]:
        """Appends one after the other, mostly without waiting, with barriers between; may close and open again."""
        choices, steps = self.choices, list[Step]()
        for _ in range(1 + choices.draw(MOST_STEPS, "steps")):
            if plan.writer is None:
                opened = OpenSession(plan.instance, self.handle(), plan.name, "write")
                plan.writer = opened.handle
                steps.append(self.step(opened))
                continue
            what = choices.draw(7 if self.keeps else 8, "writer's call")
            waits = what != 4 and choices.flag("waits")
            if what < 5:
                steps.append(self.append(plan, waits=waits))
            elif what == 5:
                steps.append(self.step(Flush(plan.writer), waits=waits))
            elif what == 6:
                call: Operation = FlushInstance(plan.instance) if self.has("sweeps") else Flush(plan.writer)
                steps.append(self.step(call, waits=waits))
            elif not self.has("closes"):
                steps.append(self.step(Flush(plan.writer), waits=waits))
            else:
                steps.append(self.step(Close(plan.writer), waits=waits))
                if not choices.flag("goes on with the closed handle"):
                    plan.writer = None
        return steps

    def append(self, plan: _Plan, *, waits: bool) -> Step:
        if plan.writer is None:
            raise RuntimeError("a writer opens before it appends")
        events = self.batch(plan.length)
        made = self.step(Append(plan.writer, events), waits=waits)
        # Whether a cancelled append is there nobody knows: the next one goes on behind it, or tries again.
        if not made.cancels or self.choices.flag("counts as stored"):
            plan.length += len(events)
        return made

    def reader(self, plan: _Plan) -> list[Step]:
        """Reads, whole or a page, asks and lists."""
        choices = self.choices
        instance = choices.pick(self.instances, "instance")
        opened = OpenSession(instance, self.handle(), plan.name, "read")
        steps = [self.step(opened)]
        for _ in range(1 + choices.draw(MOST_STEPS, "steps")):
            what = choices.draw(8, "reader's call")
            call: Operation
            if what < 4:
                call = Read(opened.handle)
            elif what == 4:
                call = Read(opened.handle, choices.draw(4, "offset"), choices.draw(4, "length"))
            elif what == 5:
                call = Stat(instance, plan.name)
            elif what == 6:
                call = ListSessions(instance)
            else:
                call = Close(opened.handle)
            steps.append(self.step(call, waits=choices.draw(4, "waits") != 3))
        return steps

    def rival(self, plan: _Plan) -> list[Step]:
        """Wants what another has, or does to all what the other does to one."""
        choices, steps = self.choices, list[Step]()
        for _ in range(1 + choices.draw(4, "steps")):
            what = choices.draw(8, "rival's call")
            instance = plan.instance
            call: Operation
            if what < 2:
                call = OpenSession(instance, self.handle(), plan.name, "write")
            elif what < 4:
                call = self.create(plan.name if choices.flag("same id") else f"new-{choices.draw(2, 'id')}", instance)
            elif what == 4 and self.has("sweeps"):
                call = FlushInstance(instance)
            elif what == 5 and self.has("closes"):
                call = Close(plan.writer if plan.writer is not None else 1)
            elif what == 6 and self.ends:
                call = CloseInstance(instance)
            else:
                call = Stat(instance, plan.name)
            steps.append(self.step(call, waits=choices.draw(3, "waits") != 2))
            if isinstance(call, Create | OpenSession) and choices.flag("gives it back"):
                steps.append(self.step(Close(call.handle)))
        return steps

    def has(self, kind: str) -> bool:
        """Whether calls of this kind come: all of them do where nothing fails, and nothing is to be told of a crash."""
        return self.beside in (kind, ALL) if self.fails else not self.keeps

    # -- the whole -------------------------------------------------------------------------------

    def begin(self) -> None:
        choices = self.choices
        # What was cancelled while storage failed is told less of, so that it is done less often.
        self.cancels = choices.draw(3, "cancels") == 2 if self.keeps or self.fails else choices.flag("cancels")
        if self.fails and not self.cancels:
            self.beside = choices.pick(("", "sweeps", "closes", "rivals", "ends", ALL), "beside")
        self.scribbles = choices.draw(4, "overwrites") == 3
        self.ends = choices.draw(4, "ends") == 3 and self.has("ends")
        self.instances = [1]
        self.operations.append(OpenInstance(1))
        if self.shared and choices.draw(4, "two instances") == 3:
            self.instances.append(2)
            self.operations.append(OpenInstance(2))
        for number in range(1 + choices.draw(3, "sessions")):
            plan = _Plan(f"s{number + 1}", 1)
            self.plans.append(plan)
            how = choices.draw(5, "begins")
            if how == 4:
                continue
            created = self.create(plan.name, 1)
            plan.writer = created.handle
            self.operations.append(created)
            if how in (1, 2):
                events = self.batch(0)
                plan.length = len(events)
                self.operations.append(Append(created.handle, events))
            if how in (2, 3):
                self.operations.append(Flush(created.handle))
            if how == 2 and choices.flag("closed"):
                self.operations.append(Close(created.handle))
                plan.writer = None

    def fail(self) -> None:
        choices = self.choices
        calls = choices.pick((["write"], ["sync"], ["write", "sync"], ["write", "sync", "truncate"]), "fails")
        error = choices.pick(("EIO", "ENOSPC"), "error")
        self.operations.append(Fail(calls, 1 + choices.draw(4, "nth"), error, sticky=choices.flag("sticky")))

    def overlap(self) -> None:
        choices = self.choices
        rows = [self.writer(plan) for plan in self.plans]
        for _ in range(1 + choices.draw(3, "others")):
            plan = choices.pick(self.plans, "session")
            rows.append(self.rival(plan) if choices.flag("rival") and self.has("rivals") else self.reader(plan))
        jobs = tuple(choices.draw(8, "job") for _ in range(choices.draw(JOBS + 1, "jobs")))
        self.operations.append(Overlap(tuple(map(tuple, rows)), jobs))

    def recover(self) -> list[Operation]:
        """Look, own, go on, and look again with another instance."""
        found: list[Operation] = [OpenInstance(10), ListSessions(10)]
        for plan in self.plans:
            reader, owner = self.handle(), self.handle()
            found += [OpenSession(10, reader, plan.name, "read"), Read(reader), Stat(10, plan.name)]
            found += [OpenSession(10, owner, plan.name, "write"), Read(owner), Flush(owner), Close(owner)]
        found += [CloseInstance(10), OpenInstance(11)]
        for plan in self.plans:
            reader = self.handle()
            found += [OpenSession(11, reader, plan.name, "read"), Read(reader)]
        return found

    def end(self) -> None:
        """Readers of the instance that was there, owners that go on, and another instance."""
        instance = self.instances[0]
        if self.ends and self.shared:
            instance = 3
            self.operations += [CloseInstance(1), OpenInstance(3)]
        for plan in self.plans:
            reader, owner = self.handle(), self.handle()
            self.operations += [OpenSession(instance, reader, plan.name, "read"), Read(reader)]
            if plan.writer is not None:
                self.operations.append(Close(plan.writer))
            self.operations += [
                OpenSession(instance, owner, plan.name, "write"),
                Append(owner, self.batch(plan.length)),
                Flush(owner),
                Read(reader),
                Stat(instance, plan.name),
            ]
        self.operations.append(ListSessions(instance))
        if self.shared:
            self.operations += [CloseInstance(instance), OpenInstance(4), ListSessions(4)]
            for plan in self.plans:
                reader = self.handle()
                self.operations += [OpenSession(4, reader, plan.name, "read"), Read(reader)]


def crashing_programs(choices: Choices, capabilities: Capabilities) -> tuple[list[Operation], Overlap, list[Operation]]:
    """What comes before a crash, the overlap that it comes into, and what a fresh instance does then."""
    maker = _Maker(choices, capabilities.storage != "memory", keeps=True)
    maker.begin()
    maker.overlap()
    if choices.flag("overlaps"):
        maker.overlap()
    overlap = maker.operations.pop()
    if not isinstance(overlap, Overlap):
        raise RuntimeError("the last thing that was made is an overlap")
    return maker.operations, overlap, maker.recover()


def overlapping_program(choices: Choices, capabilities: Capabilities, *, fails: bool = False) -> list[Operation]:
    """The operations of one program; the same choices make the same program.

    ``fails``: storage fails somewhere in its first overlap, once or from there on, and heals behind it.
    """
    maker = _Maker(choices, capabilities.storage != "memory", fails=fails)
    maker.begin()
    if fails:
        maker.fail()
    maker.overlap()
    if fails:
        maker.operations.append(Heal())
    if choices.draw(3, "overlaps") == 2:
        maker.overlap()
    maker.end()
    return maker.operations
