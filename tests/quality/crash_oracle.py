"""A second judge of crashes, slow and dead simple: it holds the stores, and the kit, against hand-written rules.

It shares the recorder and the enumeration of states with the kit, and nothing else: no model, no driver, no machine.
A short program is performed and recorded; at every operation of the recording, for every state that a preset leaves
there, the files are written out and a fresh instance is asked what it sees. With *second lives*, the storage that a
crash left is opened again for writing and written to under the recorder, and that is crashed too.

The rules, for each session: what a barrier covered is there; what is there is a beginning of what was appended, under
the header it was created with; the same whoever looks, without a byte changed by looking; one can write behind it, and
then the log is what it was and that. A session that nothing covered may be absent, and can be created then.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.contract import Backend, SessionHeader, SessionPersistenceError, SessionPersistenceNotFoundError
from conformance.sim.disk import FileSystem, Recorder, Tree, ops
from conformance.sim.disk.materialise import clear, materialise
from conformance.sim.disk.presets import PAGE, PRESETS
from conformance.sim.disk.states import Disk, key_of
from conformance.sim.disk.trace import Trace

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One call: create, append, flush, close or open a session, or flush or close the service (no session).

    Attributes:
        widths: characters in each event of a batch. may_fail: it may be refused, or fail with the storage.
    """

    do: str
    session: str = ""
    widths: tuple[int, ...] = ()
    may_fail: bool = False


def program(text: str) -> tuple[Step, ...]:
    """A program from words such as ``create:a append:a:20,9000 flush?:a close``; with "?" a call may fail."""
    steps = []
    for word in text.split():
        do, session, widths, *_ = *word.split(":"), "", ""
        sizes = tuple(map(int, widths.split(","))) if widths else ()
        steps.append(Step(do.rstrip("?"), session, sizes, do.endswith("?")))
    return tuple(steps)


def event(session: str, seq: int, width: int) -> Event:
    """The event at that seq: so many characters that no compressor makes go, then some of three bytes each."""
    digits = "".join(random.Random(f"{session} {seq}").choices("0123456789abcdef", k=width))
    return {"type": "user/message", "seq": seq, "time": 0, "data": {"text": digits + "\u20ac" * 20}}


def another(lost: Event) -> Event:
    """Another event as long as that one, so that it ends where old bytes may go on."""
    return {**lost, "data": {"text": lost["data"]["text"][::-1]}}


def header_of(session: str) -> SessionHeader:
    """The header that a session of that id is created with."""
    return SessionHeader(session, 1_700_000_000_000, cwd="/work", is_seeded=True)


INHERITED = 1


@dataclass(frozen=True, slots=True)
class Promise:
    """What must be there of a session: at least ``covered`` of the events ``called``; ``must``: itself."""

    called: tuple[Event, ...] = ()
    covered: int = 0
    must: bool = False


Promises = dict[str, Promise]


@dataclass
class Life:
    """A recorded run.

    Attributes:
        start: how many operations were done in earlier lives.
        marks: from which operation on which promises hold.
        dropped: from which operation on syncs of which inode save nothing, because one of it failed.
    """

    trace: Trace
    start: int
    marks: list[tuple[int, Promises]]
    dropped: tuple[int, int] | None = None

    def at(self, index: int) -> Promises:
        """What is promised where so many operations were done."""
        return [promises for since, promises in self.marks if since <= index][-1]


@dataclass(frozen=True)
class Left:
    """What a crash left after so many operations; ``carried``: what it left unsynced, where it was a kill."""

    index: int
    tree: Tree
    promises: Promises
    carried: Trace | None

    @property
    def key(self) -> Any:
        """What a second life in it depends on."""
        return self.carried and len(self.carried.ops), key_of(self.tree), repr(self.promises)


@dataclass
class Oracle:
    """Crashes one backend. What it performed and looked at once, it knows for every preset.

    Args:
        scratch: a directory of its own, best in memory.
        skipped: syncs that are answered and not done, by the number of the life and the place of the sync in it, as
            ``syncs`` tells them.
        failing: the place of a sync of the first life that fails, and that the disk drops the data of.
        known: what looks at storage came to, for oracles of one backend to share.

    Attributes:
        syncs: for every life of that number the syncs that were asked for, told by what asked and what was synced.
    """

    backend: Backend
    scratch: Path
    skipped: Callable[[int, int, str], bool] = lambda life, place, what: False
    failing: int | None = None
    known: dict[Any, str] = field(default_factory=dict)
    syncs: dict[int, list[list[str]]] = field(default_factory=lambda: {1: [], 2: []})
    looks: int = 0
    _worlds: int = 0
    _lives: dict[Any, Life | str] = field(default_factory=dict)
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def alarms(
        self, steps: tuple[Step, ...], preset: str, *, second_lives: bool = True, barrier: str = ""
    ) -> Iterator[str]:
        """What is wrong after crashes of that preset anywhere in the program; nothing where all is well.

        Args:
            barrier: this file or directory, as a mutant names it, is synced after every operation of the life that the
                crash ends.
        """
        if steps not in self._lives:
            self._lives[steps] = self._live(steps)
        life = self._lives[steps]
        assert isinstance(life, Life)
        walked: dict[Any, Left] = {}
        for left in crashed(life, preset, barrier):
            yield from self._judged(left, f"{preset} at {told(life, left.index)}")
            walked.setdefault(left.key, left)
        if not second_lives:
            return
        is_power_loss = PRESETS[preset].is_power_loss
        if is_power_loss:
            # A kill is no sync: what it leaves is as unsynced as it was.
            walked.update((left.key, left) for left in crashed(life, "kill"))
        for key, left in walked.items():
            for appends in (True, False) if is_power_loss and left.carried else (True,):
                if (steps, key, appends) not in self._lives:
                    self._lives[steps, key, appends] = self._live_on(left, appends=appends)
                again = self._lives[steps, key, appends]
                if isinstance(again, str):
                    yield f"second life: {again}"
                    continue
                for each in crashed(again, preset, barrier):
                    yield from self._judged(each, f"{preset} in a second life at {told(again, each.index)}")

    def _judged(self, left: Left, where: str) -> Iterator[str]:
        key = key_of(left.tree), repr(left.promises)
        if key not in self.known:
            self.known[key] = self._look(left.tree, left.promises)
        if self.known[key]:
            yield f"{where}: {self.known[key]}"

    # -- living -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _world(self, tree: Tree | None = None) -> Iterator[Path]:
        self._worlds += 1
        place = self.scratch / f"w{self._worlds}"
        place.mkdir()
        try:
            if tree is not None:
                materialise(tree, place / "root")
            yield place / "root"
        finally:
            clear(place)

    def _live(self, steps: tuple[Step, ...]) -> Life:
        """Perform and record a program in an absent root."""
        with self._world() as root, Recorder(root, untouched=True) as recorder, self._syncs(1, recorder) as dropped:
            run = _Run(self.backend, root, recorder, {}, {})
            self._runner.run(run.all(steps))
            return Life(recorder.trace(), 0, run.marks, dropped[0] if dropped else None)

    def _live_on(self, left: Left, *, appends: bool) -> Life | str:
        """Open what a crash left for writing, append or not, and flush; or what is wrong without another crash."""
        with self._world(left.tree) as root, ExitStack() as stack:
            recorder = stack.enter_context(Recorder(root, carried=left.carried, untouched=True))
            stack.enter_context(self._syncs(2, recorder))
            run = _Run(self.backend, root, recorder, left.promises, {})
            start = len(recorder.ops)
            try:
                self._runner.run(run.again(appends=appends))
            except Exception as problem:  # noqa: BLE001
                return f"{type(problem).__name__}: {problem}"
            return Life(recorder.trace(), start, run.marks)

    @contextmanager
    def _syncs(self, life: int, recorder: Recorder) -> Iterator[list[tuple[int, int]]]:
        """Count the syncs of a life; yields where the failing one was, and of which inode."""
        real, seen, dropped = os.fsync, list[str](), list[tuple[int, int]]()
        self.syncs[life].append(seen)
        top = os.path.dirname(recorder.root)

        def sync(number: int) -> None:
            path = os.readlink(f"/proc/self/fd/{number}")
            if path != top and not path.startswith(f"{top}/"):
                # Above all that is recorded, or may be lost.
                return
            seen.append(f"{_asker()} {_kind(path.removeprefix(top))}")
            if life == 1 and self.failing == len(seen) - 1:
                inside = os.path.relpath(path, recorder.root)
                dropped.append((len(recorder.ops), recorder.image().inodes[inside]))
                raise OSError(errno.EIO, "the disk did not take it")
            if not self.skipped(life, len(seen) - 1, seen[-1]):
                real(number)

        os.fsync = sync  # type: ignore[assignment]
        try:
            yield dropped
        finally:
            os.fsync = real

    # -- looking ------------------------------------------------------------------------------------------------------

    def _look(self, tree: Tree, promises: Promises) -> str:
        self.looks += 1
        with self._world(tree) as root:
            try:
                self._runner.run(_look(self.backend, root, promises))
            except Wrong as problem:
                return str(problem)
            except Exception as problem:  # noqa: BLE001
                # Whatever a backend raises on storage that a crash may leave is wrong.
                return f"{type(problem).__name__}: {problem}"
        return ""


class Wrong(Exception):
    """A rule is broken."""


def _asker() -> str:
    """The steps of the store that led to a sync, with their lines."""
    steps: list[str] = []
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if os.path.basename(os.path.dirname(code.co_filename)) == "variants":
            steps.append(f"{code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return ">".join(reversed(steps))


def _kind(path: str) -> str:
    """What a path below the directory above the root is, whatever it is called."""
    depth, suffix = path.count("/"), os.path.splitext(path)[1]
    if depth < len(DIRECTORIES):
        return DIRECTORIES[depth]
    return next((kind for kind, each in SUFFIXES.items() if each == suffix), os.path.basename(path))


@dataclass
class _Run:
    """One life under the recorder, and the promises that it makes."""

    backend: Backend
    root: Path
    recorder: Recorder
    promises: Promises
    handles: dict[str, Any]
    marks: list[tuple[int, Promises]] = field(default_factory=list)

    def _promise(self, session: str, **changes: Any) -> None:
        self.promises = {**self.promises, session: replace(self.promises.get(session, Promise()), **changes)}
        self._mark()

    def _mark(self) -> None:
        self.marks.append((len(self.recorder.ops), self.promises))

    def _cover(self, session: str, *, must: bool) -> None:
        known = self.promises[session]
        self._promise(session, covered=len(known.called), must=known.must or must or bool(known.called))

    async def all(self, steps: Iterable[Step]) -> None:
        self._mark()
        service = self.backend.open(self.root)
        for step in steps:
            with suppress(*(OSError, SessionPersistenceError) if step.may_fail else ()):
                await self._do(service, step)
            # What a backend left to the loop's next turn is done now, and a crash may come before it.
            await asyncio.sleep(0)

    async def _do(self, service: Any, step: Step) -> None:
        session = step.session
        match step.do:
            case "create":
                self._promise(session)
                self.handles[session] = await service.create(header_of(session), INHERITED)
            case "open":
                self.handles[session] = await service.open(session, "write")
            case "append":
                called = self.promises[session].called
                batch = [event(session, len(called) + place, width) for place, width in enumerate(step.widths)]
                self._promise(session, called=(*called, *batch))
                await self.handles[session].append(batch)
            case "flush" | "close" if session:
                await getattr(self.handles[session], step.do)()
                self._cover(session, must=step.do == "flush")
            case _:
                await getattr(service, step.do)()
                for each in self.handles:
                    self._cover(each, must=step.do == "flush")

    async def again(self, *, appends: bool) -> None:
        self._mark()
        service = self.backend.open(self.root)
        for session, known in list(self.promises.items()):
            try:
                handle = await service.open(session, "write")
            except SessionPersistenceNotFoundError:
                handle = await service.create(header_of(session), INHERITED)
            log = await handle.read()
            _check_log(session, log, known)
            self._promise(session, called=tuple(log))
            if appends:
                new = another(known.called[len(log)] if len(log) < len(known.called) else event(session, len(log), 9))
                self._promise(session, called=(*log, new))
                await handle.append([new])
                await asyncio.sleep(0)
            self._mark()
            await handle.flush()
            self._cover(session, must=True)
            await asyncio.sleep(0)


def crashed(life: Life, preset: str, barrier: str = "") -> Iterator[Left]:
    """Everything that a crash of that preset may leave after each operation of a life."""
    trace, disk = life.trace, Disk(life.trace.base, preset)
    for index in range(len(trace.ops) + 1):
        if index >= life.start:
            for sync in _syncs_of(barrier, trace.base, trace.ops[:index]):
                disk.feed(sync)
            if index > life.start or index == len(trace.ops):
                found = disk.states()
                assert found.is_exhaustive, f"{found.legal} states at operation {index}: make the program smaller"
                carried = trace.until(index) if preset == "kill" else None
                yield from (Left(index, state.tree, life.at(index), carried) for state in found.states)
        if index == len(trace.ops):
            return
        op = trace.ops[index]
        if preset == "kill" and index >= life.start and isinstance(op, ops.Write):
            # The write may be in flight, and stops at a page edge then.
            for edge in range((op.offset // PAGE + 1) * PAGE, op.offset + len(op.data), PAGE):
                torn = trace.until(index).with_part_of(op, edge - op.offset, None)
                yield Left(index, torn.image.tree(), life.at(index), torn)
        is_dropped = life.dropped is not None and index >= life.dropped[0] and op == ops.Fsync(life.dropped[1])
        if not is_dropped:
            disk.feed(op)


SUFFIXES = {"temporary file": ".tmp", "log": ".jsonl", "index": ".index", "header file": ".header"}
DIRECTORIES = ("directory above the root", "root", "session directory")
"""What mutants call files and directories; a directory by how deep it lies."""


def _syncs_of(barrier: str, base: FileSystem, done: Sequence[ops.DiskOp]) -> list[ops.DiskOp]:
    """Syncs of everything that is called so and was made by now."""
    if barrier == DIRECTORIES[0]:
        return [ops.FsyncDirectory(0)]
    there = base.tree()
    found: set[int] = set()
    if barrier in SUFFIXES:
        found.update(there.inodes[path] for path in there.files if path.endswith(SUFFIXES[barrier]))
        for op in done:
            name = op.to_name if isinstance(op, ops.Rename) else getattr(op, "name", "")
            if isinstance(op, ops.Create | ops.Link | ops.Rename) and name.endswith(SUFFIXES[barrier]):
                found.add(op.ino)
        return [ops.Fsync(ino) for ino in sorted(found)]
    found.update(there.inodes[path] for path in there.directories if (path == ".") == (barrier == "root"))
    found.update(op.ino for op in done if isinstance(op, ops.Mkdir) and (op.name == "root") == (barrier == "root"))
    return [ops.FsyncDirectory(ino) for ino in sorted(found)] if barrier else []


def told(life: Life, index: int) -> str:
    """The last operations before a crash, for people."""
    return f"{index}: " + ", ".join(repr(op)[:60] for op in life.trace.ops[max(0, index - 2) : index])


def _check_log(session: str, log: list[Event], known: Promise) -> None:
    shown = json.dumps(log, sort_keys=True)
    if shown != json.dumps(list(known.called[: len(log)]), sort_keys=True):
        raise Wrong(f"{session}: no beginning of what was appended: {shown:.300}")
    if len(log) < known.covered:
        raise Wrong(f"{session}: {len(log)} events, and {known.covered} were covered")


async def _look(backend: Backend, root: Path, promises: Promises) -> None:
    """Raise where the storage under a root, left by a crash, breaks a rule."""
    before = _artifacts(backend, root, promises)
    logs = await _read_all(backend, root, promises)
    service = backend.open(root)
    again = {session: await (await service.open(session, "read")).read() for session in logs}
    if logs != again:
        raise Wrong(f"two instances see different logs: {json.dumps([logs, again]):.300}")
    if before != _artifacts(backend, root, promises):
        raise Wrong("looking changed an artifact")
    await _write_behind(backend, root, promises, logs)


def _artifacts(backend: Backend, root: Path, promises: Promises) -> dict[str, bytes]:
    assert backend.location is not None
    paths = {each: backend.location(root, each) for each in promises}
    return {session: path.read_bytes() for session, path in paths.items() if path is not None}


async def _read_all(backend: Backend, root: Path, promises: Promises) -> dict[str, list[Event]]:
    """What a fresh instance shows of each session that is there."""
    service = backend.open(root)
    listed = {each.header.id: each for each in await service.list()}
    logs = {}
    for session, known in promises.items():
        snapshot = await service.stat(session)
        try:
            handle = await service.open(session, "read")
        except SessionPersistenceNotFoundError:
            handle = None
        if not (session in listed) == (snapshot is not None) == (handle is not None):
            raise Wrong(f"{session}: {session in listed=}, {snapshot=}, {handle=}")
        if handle is None or snapshot is None:
            if known.must:
                raise Wrong(f"{session}: missing, and it was covered")
            continue
        for shown in (handle.header, snapshot.header, listed[session].header):
            if shown != header_of(session) or handle.inherited_event_count != INHERITED:
                raise Wrong(f"{session}: the header is {shown}, inherited {handle.inherited_event_count}")
        log = await handle.read()
        _check_log(session, log, known)
        if snapshot.event_count not in (None, len(log)):
            raise Wrong(f"{session}: {snapshot.event_count=}, and the log has {len(log)}")
        logs[session] = log
    if not listed.keys() <= promises.keys():
        raise Wrong(f"sessions nobody created: {listed.keys() - promises.keys()}")
    await service.close()
    return logs


async def _write_behind(backend: Backend, root: Path, promises: Promises, logs: dict[str, list[Event]]) -> None:
    """Own every session, or create it, and append an event; readers of the same instance look on meanwhile."""
    service = backend.open(root)
    for session in promises:
        log = logs.get(session, [])
        if session in logs:
            reader = await service.open(session, "read")
            if await reader.read() != log:
                raise Wrong(f"{session}: a third instance sees another log")
            opening = asyncio.ensure_future(service.open(session, "write"))
            try:
                await asyncio.sleep(0)
                if await reader.read() != log:
                    raise Wrong(f"{session}: a reader sees another log while a writer is let in")
            finally:
                await asyncio.wait([opening])
            handle = await opening
            if await reader.read() != log:
                raise Wrong(f"{session}: a reader sees another log once a writer is let in")
        else:
            handle = await service.create(header_of(session), INHERITED)
        if await handle.read() != log:
            raise Wrong(f"{session}: a writer sees another log than a reader")
        new = another(event(session, len(log), 9))
        await handle.append([new])
        await handle.close()
        fresh = backend.open(root)
        after = await (await fresh.open(session, "read")).read()
        if after != [*log, new]:
            raise Wrong(f"{session}: {len(log)} events and a new one gave {json.dumps(after):.300}")
    await service.close()
