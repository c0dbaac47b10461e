"""A crash ends every instance, and the next one finds what the disk kept and nothing that the dead still do."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import mmap
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from io import BufferedWriter
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, Capabilities, SessionHeader
from conformance.drivers.crashes import WAY_OUT
from conformance.drivers.errors import NotMeasured, UsageError
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.workspace import Workspace
from conformance.model.history import CrashView, Outcome, Raised, Returned, Skipped
from conformance.model.operations import (
    Append,
    Close,
    Crash,
    Create,
    Fill,
    Flush,
    OpenInstance,
    OpenSession,
    Operation,
    Program,
    Read,
    ReadCounters,
    StartCounting,
)
from conformance.sim.disk import RecorderError
from conformance.sim.disk.remains import release_numbers
from reference_backend import jsonl
from reference_backend.memory import memory

pytestmark = pytest.mark.usefixtures("patched")

HEADER = SessionHeader(id="s", created_at=0)


def event(seq: int) -> dict[str, Any]:
    """An event of that number."""
    return {"type": "user/message", "seq": seq, "time": 0, "data": None}


class Planted:
    """One session in one file of JSON lines, written as it comes; whatever is wrong with it is in a subclass."""

    def __init__(self, root: Path, env: Any = None) -> None:
        self.env = env
        self.header: SessionHeader | None = None
        self.inherited_event_count: int | None = None
        self.id, self.access = "s", "write"
        self.path = root / "log"
        root.mkdir(exist_ok=True)

    async def create(self, header: SessionHeader) -> Planted:
        """Begin the file."""
        self.header = header
        self.path.touch()
        return self

    async def open(self, session_id: str, access: str) -> Planted:
        """The instance is its only handle."""
        self.header = HEADER
        return self

    async def append(self, events: list[Any]) -> None:
        """Write the lines at the end."""
        with self.path.open("ab", buffering=0) as file:
            file.write(b"".join(json.dumps(each).encode() + b"\n" for each in events))

    async def read(self, offset: int = 0, length: int | None = None) -> list[Any]:
        """The whole lines."""
        data = self.path.read_bytes()
        return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]

    async def flush(self) -> None:
        """Make the file and its name durable."""
        for path in (self.path, self.path.parent, self.path.parent.parent):
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)

    async def close(self) -> None:
        """Nothing is open."""

    async def stat(self, session_id: str) -> None:
        """Nobody asks."""

    async def list(self) -> list[Any]:
        """Nobody asks."""
        return []


def planted(kind: Callable[..., Any] = Planted, **capabilities: Any) -> Backend:
    """A backend of that kind."""
    return Backend(name="planted", open=kind, capabilities=Capabilities(durability="power-loss", **capabilities))


WRITTEN: tuple[Operation, ...] = (
    OpenInstance(1),
    Create(1, 1, HEADER),
    Append(1, [event(0)]),
    Flush(1),
    Append(1, [event(1)]),
    Append(1, [event(2)]),
)


class Lives:
    """A driver, and what it was asked so far."""

    def __init__(self, backend: Backend, place: Path) -> None:
        self.driver = InProcessDriver(backend, place / "r", crashes=True)
        self.calls = 0
        self.instances = 100

    def do(self, *operations: Operation) -> Outcome:
        """Perform them under the next numbers; the outcome of the last."""
        outcome: Outcome = Skipped()
        for operation in operations:
            outcome = self.driver.perform(operation, self.calls)
            self.calls += 1
        return outcome

    def crash(self, preset: str, **options: Any) -> CrashView:
        """Crash, and what that took."""
        outcome = self.do(Crash(preset, **options))
        assert isinstance(outcome, Returned)
        assert isinstance(outcome.value, CrashView)
        return outcome.value

    def found(self) -> int:
        """How many events a fresh instance reads."""
        self.instances += 1
        outcome = self.do(
            OpenInstance(self.instances),
            OpenSession(self.instances, self.instances, "s", "write"),
            Read(self.instances),
        )
        assert isinstance(outcome, Returned), outcome
        assert isinstance(outcome.value, list)
        assert [each["seq"] for each in outcome.value] == list(range(len(outcome.value)))
        return len(outcome.value)


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Callable[..., Lives]]:
    """Makes drivers, one after the other, and ends them."""
    made: list[Lives] = []

    def make(backend: Backend | None = None) -> Lives:
        made.append(Lives(backend or planted(), tmp_path / str(len(made))))
        return made[-1]

    yield make
    for each in made:
        each.driver.finish()


@pytest.mark.parametrize("backend", [planted(), jsonl], ids=["planted", "jsonl"])
def test_kill_loses_nothing_that_was_written(lives: Callable[..., Lives], backend: Backend) -> None:
    """A process kill between two calls leaves every event, and takes nothing of any call."""
    one = lives(backend)
    one.do(*WRITTEN)
    assert one.crash("kill").lost_calls == ()
    assert one.found() == 3


@pytest.mark.parametrize("preset", ["ordered", "ext4", "xfs", "posix"])
def test_power_loss_may_take_what_was_not_synced(lives: Callable[..., Lives], preset: str) -> None:
    """The first write after the barrier is lost, with what follows it, and the calls of these writes are named."""
    one = lives()
    one.do(*WRITTEN)
    recorder = one.driver.recorder
    assert recorder is not None
    writes = [index for index, op in enumerate(recorder.ops) if type(op).__name__ == "Write"]
    lost = ((writes[1], "page", 0), (writes[1], "size", 0))
    view = one.crash(preset, lost=lost)
    assert view.lost_calls == (4, 5)
    assert [line.rpartition(": ")[2] for line in view.lines] == ["lost", "lost"]
    assert view.lines[0].startswith("call 4: write ")
    assert " of log" in view.lines[0]
    assert one.found() == 1


@pytest.mark.parametrize("preset", ["kill", "ext4", "xfs", "posix"])
def test_nothing_lost_is_nothing_lost(lives: Callable[..., Lives], preset: str) -> None:
    """Where the crash takes nothing, everything is there, synced or not."""
    one = lives()
    one.do(*WRITTEN)
    view = one.crash(preset)
    assert view.lost_calls == ()
    assert [line.rpartition(": ")[2] for line in view.lines] == ["survived", "survived"]
    assert one.found() == 3


def test_crash_inside_a_call(lives: Callable[..., Lives]) -> None:
    """Of a call under way as many operations were done as the crash says; the rest, and its end, never came."""
    for after, there in ((0, 3), (1, 4), (None, 4)):
        one = lives()
        one.do(*WRITTEN)
        one.crash("kill", during=Append(1, [event(3)]), after=after)
        assert one.found() == there
        one.driver.finish()


def test_write_in_flight_is_cut(lives: Callable[..., Lives]) -> None:
    """A write that was in flight arrives up to the cut, and what follows a torn line is not read as an event."""
    one = lives()
    one.do(*WRITTEN)
    size = one.driver.root.joinpath("log").stat().st_size
    one.crash("kill", during=Append(1, [event(3)]), after=0, cut=7)
    assert one.driver.root.joinpath("log").stat().st_size == size + 7
    assert one.found() == 3


def test_kill_is_no_flush(lives: Callable[..., Lives]) -> None:
    """What a kill left unsynced is still at stake in the power loss after it, on the same trace."""
    one = lives()
    one.do(*WRITTEN)
    one.crash("kill")
    assert one.found() == 3
    recorder = one.driver.recorder
    assert recorder is not None
    writes = [index for index, op in enumerate(recorder.ops) if type(op).__name__ == "Write"]
    view = one.crash("ext4", lost=((writes[1], "page", 0), (writes[1], "size", 0)))
    assert view.lost_calls == (4, 5)
    assert one.found() == 1


def test_flush_after_a_kill_covers_what_was_found(lives: Callable[..., Lives]) -> None:
    """A sync in the next life makes durable what the dead one wrote."""
    one = lives()
    one.do(*WRITTEN)
    one.crash("kill")
    assert one.found() == 3
    one.do(Flush(one.instances))
    assert one.crash("posix").lines == ()
    assert one.found() == 3


def test_power_loss_leaves_a_durable_world(lives: Callable[..., Lives]) -> None:
    """What survived a power loss cannot be lost in the next one."""
    one = lives()
    one.do(*WRITTEN)
    one.crash("posix")
    assert one.driver.recorder is not None
    assert list(one.driver.recorder.ops) == []
    assert one.crash("posix").lines == ()
    assert one.found() == 3


def test_root_itself_may_be_gone(lives: Callable[..., Lives]) -> None:
    """The root is an entry too: a crash before anything was synced may take it with all that is in it."""
    one = lives()
    one.do(OpenInstance(1), Create(1, 1, HEADER))
    view = one.crash("posix", lost=((1, "entry", 0),))
    assert not one.driver.root.exists()
    assert view.lost_calls == (0,)
    assert view.lines[0] == "call 0: make the directory the root: lost"
    assert isinstance(one.do(OpenInstance(2), Create(2, 2, HEADER)), Returned)


def test_every_instance_and_handle_is_gone(lives: Callable[..., Lives]) -> None:
    """Calls on what was opened before the crash are not made."""
    one = lives()
    one.do(*WRITTEN)
    one.crash("kill")
    assert one.do(Read(1)) == Skipped()
    assert one.do(Create(1, 2, HEADER)) == Skipped()


class Locking(Planted):
    """Holds a lock by a bare number, and by a file that it never closes."""

    def __init__(self, root: Path, env: Any = None) -> None:
        super().__init__(root, env)
        self.lock = os.open(root / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.stream: BufferedWriter = (root / "log").open("ab")
        fcntl.flock(self.stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.itself = self

    async def append(self, events: list[Any]) -> None:
        """Leave it in the buffer."""
        self.stream.write(b"".join(json.dumps(each).encode() + b"\n" for each in events))

    async def flush(self) -> None:
        """Empty the buffer."""
        self.stream.flush()
        await super().flush()

    async def close(self) -> None:
        """Close both."""
        self.stream.close()
        os.close(self.lock)


def test_locks_of_the_dead_hold_nobody_up(lives: Callable[..., Lives]) -> None:
    """A lock that a dead instance held is free, and what was in its buffer is nowhere."""
    one = lives(planted(Locking))
    one.do(*WRITTEN)
    old = one.driver.root
    one.crash("kill")
    assert one.found() == 1
    gc.collect()
    assert len((old / "log").read_bytes().splitlines()) == 1
    with (old / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_descriptors_do_not_pile_up(lives: Callable[..., Lives]) -> None:
    """Fifty crashes of an instance that closes nothing leave no more open than wait for a collection."""
    one = lives(planted(Locking))
    one.do(OpenInstance(1))
    one.crash("kill")
    release_numbers()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(2, 52):
        one.do(OpenInstance(number))
        one.crash("kill")
    one.driver.finish()
    release_numbers()
    assert len(os.listdir("/proc/self/fd")) <= before


class Lingering(Planted):
    """Writes in the ``finally`` of a task that never ends, and of its own context."""

    async def create(self, header: SessionHeader) -> Planted:
        """Start the task."""
        self.task = asyncio.ensure_future(self.linger())
        await asyncio.sleep(0)
        return await super().create(header)

    async def linger(self) -> None:
        """Wait for ever."""
        file = self.path.open("ab", buffering=0)
        try:
            await asyncio.Event().wait()
        finally:
            self.path.with_name("last words").write_bytes(b"x")
            file.write(b"written by the dead\n")


@asynccontextmanager
async def lingering(root: Path) -> AsyncIterator[Lingering]:
    """An instance whose context writes when it is left."""
    try:
        yield Lingering(root)
    finally:
        (root / "left").write_bytes(b"x")


def test_last_words_of_the_dead_are_not_heard(lives: Callable[..., Lives]) -> None:
    """What a ``finally`` of a dropped task writes is in no operation and not in the next world."""
    one = lives(planted(lingering))
    one.do(*WRITTEN)
    old = one.driver.root
    one.crash("kill")
    assert sorted(os.listdir(one.driver.root)) == ["log"]
    assert one.found() == 3
    assert (old / "last words").exists()
    recorder = one.driver.recorder
    assert recorder is not None
    assert recorder.doubts() == ()
    assert "last words" not in str(recorder.ops)
    assert recorder.trace().image.tree().files.keys() == {"log"}


def test_time_and_tokens_go_on(lives: Callable[..., Lives]) -> None:
    """After a crash no time is told a second time, and no token is given twice."""
    seen: list[tuple[float, str]] = []

    class Timed(Planted):
        async def append(self, events: list[Any]) -> None:
            """Let time pass."""
            await asyncio.sleep(1)
            seen.append((self.env.monotonic(), self.env.token(4)))

    def make(root: Path, env: Any) -> Timed:
        return Timed(root, env)

    one = lives(planted(make))
    for number in range(1, 5):
        one.do(OpenInstance(number), OpenSession(number, number, "s", "write"), Append(number, []))
        one.crash("kill")
    assert [time - seen[0][0] for time, _ in seen] == [0, 1, 2, 3]
    assert len({token for _, token in seen}) == 4
    assert one.driver.now_us() == 4_000_000


class Mapped(Planted):
    """Writes through a memory mapping."""

    async def append(self, events: list[Any]) -> None:
        """Map a file that is long enough."""
        self.path.write_bytes(bytes(100))
        with self.path.open("r+b") as file, mmap.mmap(file.fileno(), 100) as mapping:
            mapping[:5] = b"event"


class Hidden(Planted):
    """Writes in a way that nobody sees."""

    async def append(self, events: list[Any]) -> None:
        """Let a shell do it."""
        os.system(f"echo event > {self.path}")


@pytest.mark.parametrize(
    ("kind", "reason"), [(Mapped, "mapped into memory for writing"), (Hidden, "'log': 0 bytes are")]
)
def test_doubtful_recordings_are_not_measured(
    lives: Callable[..., Lives], kind: Callable[..., Any], reason: str
) -> None:
    """Where something was not seen no state is made, and the reason names the way out."""
    one = lives(planted(kind))
    one.do(*WRITTEN[:3])
    with pytest.raises(NotMeasured, match=reason) as caught:
        one.crash("kill")
    assert WAY_OUT in str(caught.value)


def test_modes_and_times_are_those_of_the_dead(lives: Callable[..., Lives]) -> None:
    """The next life finds the modes and times that the files had."""
    one = lives()
    one.do(*WRITTEN)
    for name, mode, changed in (("log", 0o640, 5), (".", 0o711, 7)):
        os.chmod(one.driver.root / name, mode)
        os.utime(one.driver.root / name, ns=(1, changed))
    one.crash("posix")
    for name, mode, changed in (("log", 0o640, 5), (".", 0o711, 7)):
        status = (one.driver.root / name).stat()
        assert (status.st_mode & 0o7777, status.st_mtime_ns) == (mode, changed)


def test_world_of_the_next_life_is_watched_too(lives: Callable[..., Lives]) -> None:
    """The root of each life lies at the same names in a directory of its own."""
    one = lives()
    one.do(*WRITTEN)
    first = one.driver.root
    one.crash("kill")
    one.crash("kill")
    assert one.driver.root.relative_to(first.parents[3]).parts == ("r-life3", *first.parts[-3:])


@pytest.mark.parametrize("real", [True, False])
def test_crashes_on_both_loops(lives: Callable[..., Lives], real: bool) -> None:
    """On a real loop the tasks of the dead end in the old world, and a new loop goes on."""
    backend = planted(Lingering)
    one = lives(replace(backend, capabilities=replace(backend.capabilities, loop="real" if real else "simulated")))
    one.do(*WRITTEN)
    before = one.driver.now_us()
    one.crash("kill")
    assert one.found() == 3
    assert one.driver.now_us() >= before


def test_call_that_fails_may_crash_too(lives: Callable[..., Lives]) -> None:
    """What the call under way came to is nobody's business any more."""
    one = lives()
    one.do(*WRITTEN)
    one.crash("kill", during=Close(77))
    one.do(OpenInstance(2), OpenSession(2, 2, "s", "write"))
    one.crash("kill", during=Append(2, [object()]))
    assert one.found() == 3


def test_macros_are_one_call(lives: Callable[..., Lives]) -> None:
    """The appends of a macro are recorded under its number, and a crash inside the next call finds its place."""
    one = lives()
    one.do(*WRITTEN[:2])
    for each in Fill(1, 0, 3, size=2, width=8).expand():
        one.driver.perform(each, 2)
    one.calls = 3
    one.crash("kill", during=Append(1, [event(6)]), after=0)
    assert one.found() == 6


def test_program_with_a_crash_is_performed_as_one(tmp_path: Path) -> None:
    """A whole program with a crash is judged, and its history holds what the crash took."""
    program = Program((*WRITTEN, Crash("ext4"), OpenInstance(2), OpenSession(2, 2, "s", "write"), Read(2)))
    result = run_program(jsonl, program, tmp_path / "r", partner=memory)
    assert result.violation is None
    assert result.history[-1].outcome == Returned([event(0), event(1), event(2)])  # type: ignore[union-attr]
    assert Program.from_json(program.to_json()) == program


@pytest.mark.parametrize("partner", [memory, jsonl], ids=["memory", "jsonl"])
def test_partner_stands_aside_until_the_recovery_has_told(tmp_path: Path, partner: Backend) -> None:
    """From a crash on the reference says nothing, until every log is known again; then it takes every step."""
    other = replace(HEADER, id="t")
    told = (OpenInstance(2), OpenSession(2, 3, "s", "write"), Read(3), OpenSession(2, 4, "t", "read"))
    capabilities = replace(jsonl.capabilities, append_durability="flush")
    execution = Execution(replace(jsonl, capabilities=capabilities), tmp_path / "r", partner=partner, crashes=True)
    reference = execution._partner
    assert reference is not None
    try:
        for operation in (*WRITTEN, Create(1, 2, other), Append(2, [event(0)])):
            execution.do(operation)
        assert reference.answer(Read(1)) != ""
        for operation in (Crash("kill"), *told):
            assert isinstance(execution.do(operation), Returned)
            assert reference.answer(Read(3)) == ""
        for operation in (Read(4), Append(3, [event(3)]), Read(3)):
            assert isinstance(execution.do(operation), Returned)
            assert reference.answer(Read(3)) == reference.answer(Read(3, 0)) != ""
    finally:
        execution.finish()


def test_counting_and_crashing_exclude_each_other(tmp_path: Path, lives: Callable[..., Lives]) -> None:
    """One recording cannot do both, and says so before anything is performed."""
    with pytest.raises(UsageError, match="counts what calls use, or it crashes"):
        run_program(jsonl, Program((StartCounting(), OpenInstance(1), Crash("kill"))), tmp_path / "x")
    one = lives()
    with pytest.raises(RecorderError, match="not both"):
        one.do(StartCounting())
    assert one.do(ReadCounters()) == Skipped()
    driver = InProcessDriver(jsonl, tmp_path / "y")
    with pytest.raises(RecorderError, match="crashes=True"):
        driver.perform(Crash("kill"))


def test_memory_cannot_crash(tmp_path: Path) -> None:
    """A backend without files is refused, with its reason."""
    with pytest.raises(UsageError, match="storage='memory'"):
        run_program(memory, Program((OpenInstance(1), Crash("kill"))), tmp_path / "x")


def test_crash_during_nothing_is_refused(lives: Callable[..., Lives]) -> None:
    """Only a call of the backend, with a number, can be under way."""
    one = lives()
    one.do(*WRITTEN)
    with pytest.raises(ValueError, match="has a number"):
        one.do(Crash("kill", during=Crash("kill")))
    with pytest.raises(ValueError, match="has a number"):
        one.driver.perform(Crash("kill", during=Flush(1)))


def test_opening_that_fails_after_a_crash_is_an_observation(lives: Callable[..., Lives]) -> None:
    """A backend that cannot start in what a crash left is not the user's mistake."""

    class Refusing(Planted):
        def __init__(self, root: Path, env: Any = None) -> None:
            if (root / "log").exists():
                raise OSError("refused")
            super().__init__(root, env)

    one = lives(planted(Refusing))
    one.do(*WRITTEN)
    one.crash("kill")
    outcome = one.do(OpenInstance(2))
    assert isinstance(outcome, Raised)
    assert outcome.error.message == "refused"


def test_worlds_go_with_their_family() -> None:
    """What a crash left beside the root is removed with it, and nothing of another root."""
    with Workspace() as workspace:
        roots = [workspace.fresh_root() for _ in range(12)]
        for root in (roots[0], roots[11]):
            driver = InProcessDriver(planted(), root, crashes=True)
            driver.perform(OpenInstance(1))
            driver.perform(Crash("kill"))
            driver.finish()
        workspace.drop_family(roots[0])
        assert sorted(path.name for path in workspace.directory.glob("r*")) == ["r12", "r12-life2"]
