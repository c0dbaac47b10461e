"""The live machines: sessions that publish, in virtual time, with appends by hand, barriers, owners that come and go,
storage that fails and heals, or all of it in flight at once (``live_overlaps``).

A program is made from seeded choices and performed step by step. Time passes between its calls by parts of the declared
window, to the microsecond before and behind its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.clauses import Need
from conformance.contract import Capabilities, SessionHeader
from conformance.drivers.execution import Execution
from conformance.machines.job import Job, MachineSpec
from conformance.machines.live_making import MODES, SECOND, LiveMaker, window_of
from conformance.machines.live_overlaps import live_overlapping_program
from conformance.machines.seeded import hunt_by_seed, perform_all
from conformance.model.operations import (
    FILLED_AT,
    Append,
    Close,
    CloseInstance,
    Create,
    Dispose,
    Fail,
    Flush,
    FlushInstance,
    Heal,
    HubCreate,
    HubFlush,
    OpenInstance,
    OpenSession,
    Operation,
    Publish,
    Read,
    ReadWarnings,
    Stat,
    Wait,
)
from conformance.sim import Choices, SeededChoices

STEPS = 16
"""Steps of one program, at most; some are a few calls."""

BUSY = (0, 2, 5, 12)
"""How often a session publishes in a row while nothing can be stored."""


@dataclass(slots=True)
class _Producer:
    """A session as its producer sees it.

    Attributes:
        writer: the handle that owns it, or None. length: the seq of the event that comes next.
    """

    name: str
    writer: int | None = None
    length: int = 0


@dataclass(slots=True)
class _Maker(LiveMaker):
    fails: bool
    instance: int = 1
    failing: bool = False
    producers: list[_Producer] = field(default_factory=list)

    def make(self) -> list[Operation]:
        choices = self.choices
        self.operations.append(OpenInstance(1))
        for number in range(1 + choices.draw(2, "sessions")):
            producer = _Producer(f"s{number + 1}")
            self.producers.append(producer)
            self.own(producer, new=True)
            self.operations.append(HubCreate(self.instance, producer.name))
        for _ in range(3 + choices.draw(STEPS - 2, "steps")):
            self.step(choices.pick(self.producers, "session"))
        self.end()
        return self.operations

    def own(self, producer: _Producer, *, new: bool = False) -> None:
        number = self.handle()
        if new:
            header = SessionHeader(id=producer.name, created_at=FILLED_AT)
            self.operations.append(Create(self.instance, number, header))
        else:
            self.operations.append(OpenSession(self.instance, number, producer.name, "write"))
        producer.writer = number

    def step(self, producer: _Producer) -> None:
        what = self.choices.draw(12 if self.fails else 11, "step")
        if what < 4:
            self.publish(producer)
        elif what < 7:
            self.wait()
        elif what == 7:
            self.look(producer)
        elif what == 8:
            self.append(producer)
        elif what == 9:
            self.barrier(producer)
        elif what == 10:
            self.change_owner(producer)
        else:
            self.storage(producer)

    def publish(self, producer: _Producer) -> None:
        for _ in range(1 + self.choices.draw(3, "events")):
            event = self.event(producer.length)
            scribble = self.choices.draw(4, "overwritten") == 3
            self.operations.append(Publish(self.instance, producer.name, event, scribble))
            if producer.writer is not None:
                producer.length += 1

    def wait(self) -> None:
        window = self.window_us
        pauses = (window + 1, window, max(window - 1, 0), window // 2, window // 3, 1, 3 * window, 10 * window)
        self.operations.append(Wait(self.choices.pick(pauses, "pause") / SECOND))

    def look(self, producer: _Producer) -> None:
        if producer.writer is not None and not self.choices.flag("other handle"):
            self.operations.append(Read(producer.writer))
        else:
            reader = self.handle()
            self.operations += [
                OpenSession(self.instance, reader, producer.name, "read"),
                Read(reader),
                Close(reader),
            ]
        if self.choices.flag("stat"):
            self.operations.append(Stat(self.instance, producer.name))

    def append(self, producer: _Producer) -> None:
        """By hand: behind what was published, or at a seq that may be taken already."""
        if producer.writer is None:
            return
        back = self.choices.draw(4, "back")
        first = max(0, producer.length - (back - 1 if back > 1 else 0))
        count = 1 + self.choices.draw(2, "events")
        self.operations.append(Append(producer.writer, [self.event(first + each) for each in range(count)]))
        if first == producer.length:
            producer.length += count

    def barrier(self, producer: _Producer) -> None:
        calls: list[Operation] = [HubFlush(self.instance, producer.name), FlushInstance(self.instance)]
        if producer.writer is not None:
            calls.insert(1, Flush(producer.writer))
        self.operations.append(self.choices.pick(calls, "barrier"))

    def change_owner(self, producer: _Producer) -> None:
        """Close or dispose; the next owner reads first, so that its producer goes on where the log ends."""
        if producer.writer is None:
            self.own(producer)
            return
        if self.choices.draw(3, "disposed") == 2:
            self.operations += [Dispose(self.instance, producer.name), Close(producer.writer)]
            self.operations.append(HubCreate(self.instance, producer.name))
        else:
            self.operations.append(Close(producer.writer))
        producer.writer = None
        if not self.choices.flag("nobody for a while"):
            self.own(producer)
            if producer.writer is not None:
                self.operations.append(Read(producer.writer))

    def storage(self, producer: _Producer) -> None:
        if self.failing:
            self.operations += [ReadWarnings(), Heal()]
            if self.choices.flag("and on"):
                # Behind a barrier everything is as it was before: what is published next is stored in time.
                self.barrier(producer)
                self.publish(producer)
                self.operations.append(Wait((self.window_us + 1) / SECOND))
                self.look(producer)
        elif self.choices.flag("outage"):
            self.outage(producer)
        else:
            calls = list(self.choices.pick(MODES, "fails"))
            self.operations.append(Fail(calls, 1 + self.choices.draw(3, "nth"), sticky=self.choices.flag("sticky")))
        self.failing = not self.failing

    def outage(self, producer: _Producer) -> None:
        """Nothing can be stored for some windows, and the session goes on publishing in one of them."""
        self.operations.append(Fail(list(self.choices.pick(MODES, "fails")), sticky=True))
        self.publish(producer)
        self.operations.append(Wait((self.window_us + 1) / SECOND))
        for _ in range(self.choices.pick(BUSY, "busy")):
            self.publish(producer)
            self.operations.append(Wait(1 / SECOND))
        self.wait()
        self.operations.append(ReadWarnings())

    def end(self) -> None:
        """Storage works, everything is flushed and closed, and another instance reads it."""
        if self.failing:
            self.operations += [ReadWarnings(), Heal()]
        for producer in self.producers:
            self.operations.append(HubFlush(self.instance, producer.name))
            self.look(producer)
        self.operations += [CloseInstance(self.instance), OpenInstance(2)]
        for producer in self.producers:
            reader = self.handle()
            self.operations += [OpenSession(2, reader, producer.name, "read"), Read(reader)]


def publishing_program(choices: Choices, capabilities: Capabilities, *, fails: bool = False) -> list[Operation]:
    """The operations of one program; the same choices make the same program. ``fails``: storage may fail in it."""
    maker = _Maker(choices, window_of(capabilities), fails)
    operations = maker.make()
    if capabilities.storage == "memory":
        return [each for each in operations[: operations.index(OpenInstance(2))] if not isinstance(each, CloseInstance)]
    return operations


def failing_program(choices: Choices, capabilities: Capabilities) -> list[Operation]:
    """One on storage that fails and heals; in one of three the calls are in flight at once."""
    make = live_overlapping_program if choices.draw(3, "overlaps") == 2 else publishing_program
    return make(choices, capabilities, fails=True)


Make = Callable[[Choices, Capabilities], list[Operation]]


def hunt(job: Job, make: Make, *, fails: bool = False) -> None:
    """Sessions that publish, program after program (``hunt_by_seed``).

    Args:
        make: makes one. fails: storage may fail in them.
    """

    def perform(execution: Execution, choices: SeededChoices) -> None:
        perform_all(job, execution, make(choices, job.backend.capabilities))

    hunt_by_seed(job, perform, crashes=fails)


PUBLISHING = MachineSpec(
    name="live",
    clauses=tuple(f"LIVE-{number:02}" for number in (1, 2, 3, 6, 7, 8, 10, 12, 13)),
    needs=frozenset({Need.LIVE, Need.CLOCK}),
    title="what sessions publish is stored in order and in time, whatever else is called",
    hunt=lambda job: hunt(job, publishing_program),
)

PUBLISHING_FAULTS = MachineSpec(
    name="live-faults",
    clauses=("LIVE-04", "LIVE-05", "LIVE-10", "LIVE-13"),
    needs=frozenset({Need.LIVE, Need.CLOCK, Need.FAULTS}),
    title="what sessions publish while storage fails is kept in order, told and stored once",
    hunt=lambda job: hunt(job, failing_program, fails=True),
)

PUBLISHING_OVERLAPS = MachineSpec(
    name="live-overlap",
    clauses=("LIVE-12", "LIVE-03", "LIVE-13", "LIVE-06", "LIVE-07", "LIVE-08", "LIVE-10", "SEQ-08", "FRESH-03"),
    needs=frozenset({Need.LIVE, Need.CLOCK}),
    title="what sessions publish beside calls in flight, cancelled ones too, is stored in order, and once",
    hunt=lambda job: hunt(job, live_overlapping_program),
)
