"""Programs in which sessions publish while other calls are in flight, from choices: the live path under overlap.

Each session has one producer, who publishes and appends by hand in turn, mostly without waiting, so that its seqs fit
where nothing was given up; others flush in every way there is, close, dispose, own again and look meanwhile. Time
passes by parts of the declared window, so that windows end inside of calls. Storage may fail meanwhile, and heals
behind the overlap. The program ends with everything flushed, closed, and read by another instance. Every question's
answer 0 is the plainest there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.contract import Capabilities, SessionHeader
from conformance.machines.live_making import MODES, SECOND, LiveMaker, window_of
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
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Publish,
    Read,
    ReadWarnings,
    Stat,
    Step,
    Wait,
)
from conformance.sim import Choices

MOST_CALLS = 7
"""Calls of a producer, at most."""

JOBS = 14
"""How many questions about jobs are answered, at most."""


@dataclass(slots=True)
class _Producer:
    """A session as its producer means it to go.

    Attributes:
        writer: the handle that is to own it. length: the seq of the event that comes next.
    """

    name: str
    writer: int
    length: int = 0


@dataclass(slots=True)
class _Maker(LiveMaker):
    """Makes one program.

    Attributes:
        pauses: virtual microseconds that a client may let pass.
        instances: who looks; the first publishes.
        cancels, ends, flushes: what this program is about (swarm): calls are cancelled, owners go while calls are in
            flight, and producers flush before they append by hand, for a backend may refuse that while events wait.
        fails: storage fails in each overlap, once or from there on.
    """

    fails: bool = False
    pauses: tuple[int, ...] = ()
    instances: list[int] = field(default_factory=lambda: [1])
    cancels: bool = False
    ends: bool = False
    flushes: bool = False
    producers: list[_Producer] = field(default_factory=list)

    def step(self, call: Operation, *, waits: bool = True, pause: bool = True) -> Step:
        choices = self.choices
        after = choices.pick(self.pauses, "pause") if pause else 0
        cancels: tuple[tuple[int, int], ...] = ()
        may = self.cancels and isinstance(call, Append | Flush | FlushInstance | HubFlush | Close | Dispose | Read)
        if may and choices.draw(3, "cancelled") == 2:
            cancels = ((choices.pick((0, 0, 0, 50, 150, 9_999), "cancelled after"), choices.draw(4, "turns")),)
        return Step(call, after, waits, cancels)

    # -- the parts of clients ---------------------------------------------------------------------

    def produce(self, producer: _Producer) -> list[Step]:
        """Publish and append by hand in turn, each behind the other."""
        choices, steps = self.choices, list[Step]()
        for _ in range(1 + choices.draw(MOST_CALLS, "calls")):
            at_once = choices.flag("after a pause")
            if choices.draw(3, "by hand") < 2:
                event = self.event(producer.length)
                call: Operation = Publish(1, producer.name, event, choices.draw(4, "overwritten") == 3)
                producer.length += 1
                steps.append(self.step(call, waits=not choices.flag("a turn later"), pause=at_once))
                if choices.draw(4, "flushed") == 3:
                    steps += [Step(HubFlush(1, producer.name)), Step(Read(producer.writer))]
                continue
            if self.flushes:
                steps.append(Step(HubFlush(1, producer.name)))
            count = 1 + choices.draw(2, "events")
            # Now and then at a seq that was given to an event already, which must not be overtaken.
            back = choices.draw(5, "back")
            if back == 4 and producer.length:
                batch = [self.event(producer.length - 1 - choices.draw(min(2, producer.length), "seqs"))]
                steps.append(self.step(Append(producer.writer, batch), waits=choices.flag("waits"), pause=at_once))
                continue
            batch = [self.event(producer.length + each) for each in range(count)]
            made = self.step(Append(producer.writer, batch), waits=choices.flag("waits"), pause=at_once)
            steps.append(made)
            # Whether a cancelled append is there nobody knows: the producer goes on behind it, or tries again.
            if not made.cancels or choices.flag("counts as stored"):
                producer.length += count
        return steps

    def flush(self, producer: _Producer) -> list[Step]:
        """Barriers of every kind, with a look at once behind those that are waited for."""
        choices, steps = self.choices, list[Step]()
        for _ in range(1 + choices.draw(3, "barriers")):
            calls = (HubFlush(1, producer.name), Flush(producer.writer), FlushInstance(1))
            steps.append(self.step(choices.pick(calls, "barrier"), waits=not choices.flag("goes on")))
            if steps[-1].waits and not steps[-1].cancels:
                steps.append(Step(Read(producer.writer)))
        return steps

    def look(self, producer: _Producer) -> list[Step]:
        """Reads, whole or a page, asks and lists."""
        choices = self.choices
        reader, instance = self.handle(), choices.pick(self.instances, "instance")
        steps = [self.step(OpenSession(instance, reader, producer.name, "read"))]
        for _ in range(1 + choices.draw(4, "looks")):
            calls: tuple[Operation, ...] = (
                Read(reader),
                Read(producer.writer),
                Stat(instance, producer.name),
                Read(reader, choices.draw(3, "offset"), 1 + choices.draw(3, "length")),
                ListSessions(instance),
            )
            steps.append(self.step(choices.pick(calls, "look"), waits=choices.draw(4, "waits") != 3))
        return steps

    def end_owner(self, producer: _Producer) -> list[Step]:
        """Close the handle or dispose of the session, and mostly own it again; the next producer goes on there."""
        choices = self.choices
        if choices.draw(3, "disposed") == 2:
            steps = [self.step(Dispose(1, producer.name)), self.step(HubCreate(1, producer.name))]
        else:
            steps = [self.step(Close(producer.writer), waits=choices.flag("waits"))]
        owner = self.handle()
        steps += [self.step(OpenSession(1, owner, producer.name, "write")), self.step(Read(owner))]
        return steps

    # -- the whole --------------------------------------------------------------------------------

    def make(self, *, shared: bool) -> list[Operation]:
        choices, window = self.choices, self.window_us
        self.cancels = choices.flag("cancels")
        self.ends = choices.draw(3, "ends") == 2
        self.flushes = choices.flag("flushes first")
        around = (window // 2, max(window - 1, 0), window, window + 1, window + 5_000)
        self.pauses = (0, 0, 0, 1, 150, 10_050, *around)
        if shared and choices.draw(4, "two instances") == 3:
            self.instances.append(2)
        self.operations += map(OpenInstance, self.instances)
        for number in range(1 + choices.draw(2, "sessions")):
            self.begin(f"s{number + 1}")
        for _ in range(1 + choices.draw(2, "overlaps")):
            self.overlap()
            if self.ends:
                break
            if choices.flag("between"):
                self.operations.append(Wait((window + 1) / SECOND))
                self.operations += [Read(each.writer) for each in self.producers]
        self.end(shared=shared)
        return self.operations

    def begin(self, name: str) -> None:
        """A session with an owner, on the hub, empty or not; something may wait already."""
        choices = self.choices
        producer = _Producer(name, self.handle())
        self.producers.append(producer)
        self.operations.append(Create(1, producer.writer, SessionHeader(id=name, created_at=FILLED_AT)))
        seed = [self.event(seq) for seq in range(choices.draw(3, "seed"))]
        if seed:
            producer.length = len(seed)
            self.operations.append(Append(producer.writer, seed))
        self.operations.append(HubCreate(1, name, seed))
        if choices.flag("flushed"):
            self.operations.append(Flush(producer.writer))
        for _ in range(choices.draw(3, "waiting")):
            self.operations.append(Publish(1, name, self.event(producer.length)))
            producer.length += 1

    def overlap(self) -> None:
        choices = self.choices
        rows = [self.produce(each) for each in self.producers]
        for _ in range(1 + choices.draw(3, "others")):
            producer = choices.pick(self.producers, "session")
            rows.append(self.look(producer) if choices.flag("looks") else self.flush(producer))
        if self.ends:
            rows.append(self.end_owner(choices.pick(self.producers, "session")))
        jobs = tuple(choices.draw(8, "job") for _ in range(choices.draw(JOBS + 1, "jobs")))
        if self.fails:
            calls, nth = list(choices.pick(MODES, "fails")), 1 + choices.draw(4, "nth")
            self.operations.append(Fail(calls, nth, sticky=choices.flag("sticky")))
        self.operations.append(Overlap(tuple(map(tuple, rows)), jobs))
        if self.fails:
            self.operations += [ReadWarnings(), Heal()]

    def end(self, *, shared: bool) -> None:
        """What waits is due; then everything is flushed and closed, and another instance reads it."""
        self.operations.append(Wait((self.window_us + SECOND) / SECOND))
        for producer in self.producers:
            reader = self.handle()
            self.operations += [OpenSession(1, reader, producer.name, "read"), Read(reader)]
            self.operations += [HubFlush(1, producer.name), Read(reader), Stat(1, producer.name)]
        if not shared:
            return
        self.operations += [CloseInstance(1), OpenInstance(3)]
        for producer in self.producers:
            reader = self.handle()
            self.operations += [OpenSession(3, reader, producer.name, "read"), Read(reader)]


def live_overlapping_program(choices: Choices, capabilities: Capabilities, *, fails: bool = False) -> list[Operation]:
    """The operations of one program; the same choices make the same program. ``fails``: storage fails in it."""
    maker = _Maker(choices, window_of(capabilities), fails)
    return maker.make(shared=capabilities.storage != "memory")
