"""Drives a Python backend in this process: one operation in, one outcome out.

The driver keeps the real instances and handles under the numbers that the program gave them. Arguments are fresh
copies, so that neither side can change what the program or the history holds. It opens, calls and observes; it judges
nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from conformance.contract import Backend
from conformance.drivers.calls import PERFORM, Absent, Calls
from conformance.drivers.confined import Confined, can_confine
from conformance.drivers.counting import Counters
from conformance.drivers.crash_plans import AsWritten, CrashPlan
from conformance.drivers.crashes import Frozen, Left, Recording, unheard
from conformance.drivers.damage import Artifacts, watch
from conformance.drivers.errors import SetupError, UsageError
from conformance.drivers.escapes import is_answer, unheeded
from conformance.drivers.factory import Instance
from conformance.drivers.leftovers import Baseline
from conformance.drivers.live import Hubs, Warnings
from conformance.drivers.loops import NeverEnded, host_for
from conformance.drivers.outcomes import Observer
from conformance.drivers.overlapping import Clients, Deaf, Ears, making
from conformance.drivers.premises import Premises
from conformance.drivers.storage_faults import StorageFaults
from conformance.drivers.watchdog import Watchdog
from conformance.model.history import Hung, Outcome, Raised, Returned, Skipped, Value, WarningsView
from conformance.model.operations import (
    Append,
    CloseInstance,
    Confine,
    CountLeft,
    Crash,
    Damage,
    Fail,
    Heal,
    MakeRoot,
    OpenInstance,
    Operation,
    Overlap,
    ReadCounters,
    ReadWarnings,
    StartCounting,
    Wait,
)
from conformance.model.overlap import REST_US
from conformance.sim import Choices, SimRefused
from conformance.sim.disk import Patching, Recorder, RecorderError

_NOBODY = contextlib.nullcontext()
"""Watches and counts nothing."""

LONGEST_SLEEP = 30.0
"""Virtual seconds that pass in one piece."""


class InProcessDriver(StorageFaults, Calls):
    """One backend over one root, driven call by call on its own loop.

    Args:
        root: absent; the worlds after a crash lie beside it, as ``<root>-life2`` and so on.
        watchdog: told of each call, where one is running.
        crashes: the program may hold a ``Crash``: what the backend does to its files is recorded from the first call
            on. It costs little where a ``Patching`` is entered around it, and the backend's module was imported inside.
        damages: the program may hold a ``Damage``: what artifacts hold is noted after each call.
        counts_left: the program may hold a ``CountLeft``: what the process has before the first call is noted.

    Raises:
        UsageError: crashes of a backend that stores nothing in files; damage of one that does not tell where its
            artifacts are; both.
    """

    def __init__(
        self,
        backend: Backend,
        root: Path,
        *,
        choices: Choices | None = None,
        watchdog: Watchdog | None = None,
        crashes: bool = False,
        damages: bool = False,
        counts_left: bool = True,
    ) -> None:
        self.backend = backend
        if crashes and damages:
            raise UsageError("a program crashes or damages its storage: what is recorded has to be all that is done")
        self._artifacts = watch(backend.location, backend.name) if damages else None
        if crashes and backend.capabilities.storage != "files":
            raise UsageError(
                f"backend {backend.name!r}: a crash takes files, and it has storage={backend.capabilities.storage!r}"
            )
        self._place = root
        self._lives = 0
        super().__init__()
        self._premises = Premises(root) if backend.capabilities.storage == "files" else None
        self.root = root if self._premises is None else self._premises.root
        self._crashes = crashes
        self._patched = contextlib.ExitStack()
        self._recording: Recording | None = None
        self._host = host_for(backend.capabilities, choices)
        # Gives the time of the history, in microseconds.
        self.now_us = self._host.now_us
        self._watchdog = watchdog
        self._observer = Observer(backend)
        self._instances: dict[int, Instance] = {}
        self._handles: dict[int, Any] = {}
        self._opened = False
        self._confined: Confined | None = None
        self._counters: Counters | None = None
        self._counts_left = counts_left
        self._baseline: Baseline | None = None
        self._hubs = Hubs(backend)
        self._warnings = Warnings() if backend.live is not None else None
        if self._warnings is not None:
            self._warnings.begin()

    @property
    def recorder(self) -> Recorder | None:
        """What was done to the files, with ``crashes`` and from the first call on."""
        return None if self._recording is None else self._recording.recorder

    def perform(self, operation: Operation, call: int | None = None) -> Outcome:
        """Perform one operation to its end.

        Args:
            call: its number in the history; what is recorded meanwhile belongs to that call.

        Raises:
            SetupError: the first instance could not be opened, or the backend needs a real loop.
            RecorderError: it counts or crashes, and this driver, or another one of this process, does the other.
            NotMeasured: it is a ``Crash``, and something may have been done that was not seen.
        """
        if isinstance(operation, Confine):
            return self._confine(operation.room)
        if self._confined is not None:
            return self._confined.perform(operation, call)
        if isinstance(operation, StartCounting | ReadCounters):
            return self._count(operation)
        if isinstance(operation, MakeRoot):
            return self._make_root()
        if isinstance(operation, CountLeft):
            return self._count_left()
        if isinstance(operation, ReadWarnings):
            return Skipped() if self._warnings is None else Returned(WarningsView(tuple(self._warnings.take())))
        if self._baseline is None and self._counts_left:
            self._baseline = Baseline()
        if isinstance(operation, Wait):
            return self._wait(operation.seconds)
        if self._crashes and self._lives == 0:
            self._begin_life(None)
        if isinstance(operation, Crash):
            return Returned(self.crash(operation, call, AsWritten(operation)).view)
        if isinstance(operation, Fail | Heal):
            return self._disturb(operation)
        if isinstance(operation, Damage):
            return self._damage(operation)
        if self._artifacts is None or call is None:
            return self._perform(operation, call, acknowledged=True)
        self._artifacts.meet(operation)
        try:
            return self._perform(operation, call, acknowledged=True)
        finally:
            self._artifacts.note(self.root, call)

    def storage(self) -> tuple[Path, Path, Artifacts]:
        """The directory that another driver is made with to find the same storage, the root, and the artifacts in it.

        Raises:
            UsageError: artifacts are not watched.
        """
        if self._artifacts is None:
            raise UsageError("artifacts have to be watched from the first call on: make the driver with damages=True")
        return self._place, self.root, self._artifacts

    def _confine(self, room: int) -> Outcome:
        """Let another process do what comes, as long as nothing was done here."""
        if self._opened or self._crashes or self._confined is not None or not can_confine():
            return Skipped()
        watched = self._artifacts is not None
        self._confined = Confined(lambda: InProcessDriver(self.backend, self._place, damages=watched), room)
        self.now_us = self._confined.now_us
        return Returned()

    def _damage(self, operation: Damage) -> Outcome:
        _, root, artifacts = self.storage()
        return Returned(artifacts.damage(root, operation))

    def _wait(self, seconds: float) -> Outcome:
        """Let virtual time pass, piece by piece, for no call may take this long."""
        claims = self.backend.capabilities
        if claims.loop == "real" or claims.lease is not None:
            return Skipped()
        while seconds > 0:
            self._host.run(asyncio.sleep(min(seconds, LONGEST_SLEEP)))
            seconds -= LONGEST_SLEEP
        return Returned()

    def _count_left(self) -> Outcome:
        """What the backend has left; for that the contexts of the instances that were closed are left too."""
        if not self._counts_left:
            raise RecorderError("what is left is told by what there was: make the driver with counts_left=True")
        if self._baseline is None or not self._baseline.is_told:
            return Skipped()
        for number in [each for each in self._instances if each in self._closed]:
            with unheeded():
                self._host.run(self._instances.pop(number).leave())
        self._handles.clear()
        for _ in range(3):
            # What was cancelled ends in its next turn.
            self._host.run(asyncio.sleep(0))
        return Returned(self._baseline.left(self.root, self._host.tasks(), world=self._place.parent))

    def _make_root(self) -> Outcome:
        """Make the root, which is durable because nothing is recorded yet."""
        if self._opened or self._lives or self._premises is None:
            return Skipped()
        self._premises.prepare()
        self.root.mkdir(mode=0o700)
        return Returned()

    def _perform(self, operation: Operation, call: int | None, *, acknowledged: bool) -> Outcome:
        self._note_name(operation)
        try:
            performed = PERFORM[type(operation)](self, operation)
            return Returned(self._run(operation, performed, call, acknowledged=acknowledged))
        except Absent:
            return Skipped()
        except NeverEnded as error:
            if isinstance(operation, OpenInstance) and not self._opened:
                raise SetupError(f"backend {self.backend.name!r}: opening an instance {error}") from error
            if self._watchdog is not None and self.backend.capabilities.loop == "real":
                self._watchdog.hangs += 1
            return Hung(str(error))
        except SimRefused as error:
            raise SetupError(f"backend {self.backend.name!r} at {operation.kind}: {error}") from error
        except SetupError as error:
            if not self._opened:
                raise
            return self.observed(error.__cause__ or error)
        except BaseException as error:
            # Whatever a backend raises is an observation, and the model's to judge.
            if not is_answer(error):
                raise
            return self.observed(error)

    def overlap(self, operation: Overlap, call: int, ears: Ears, *, acknowledged: bool = True) -> None:
        """Perform an overlap until all its calls have ended and the backend is at rest.

        Raises:
            SetupError: the backend needs a real loop. UsageError: another process was to do everything.
        """
        if self._confined is not None:
            raise UsageError("calls overlap in this process only: take away what confines the program")
        self._note_names(operation)
        clients = Clients(operation, self, ears, at_once=not self.backend.sync)
        try:
            with self._host.answering(() if self.backend.sync else operation.jobs):
                self._run(operation, clients.run(), call, acknowledged=acknowledged)
                self._host.rest(REST_US)
        except NeverEnded as error:
            clients.break_off(str(error), getattr(error.__cause__, "inside", ""))
        except SimRefused as error:
            raise SetupError(f"backend {self.backend.name!r} at {operation.kind}: {error}") from error

    def call(self, operation: Operation) -> Coroutine[Any, Any, Value]:
        """One call of an overlap; see ``overlapping.Caller``."""
        return PERFORM[type(operation)](self, operation)

    def append(self, operation: Append, events: Any) -> Coroutine[Any, Any, Value]:
        """See ``overlapping.Caller``."""
        return self._append_given(operation, events)

    def observed(self, error: BaseException) -> Outcome:
        """What a call raised, as data."""
        return Skipped() if isinstance(error, Absent) else Raised(self._observer.error(error))

    def _count(self, operation: StartCounting | ReadCounters) -> Outcome:
        if isinstance(operation, ReadCounters):
            return Skipped() if self._counters is None else Returned(self._counters.take())
        if self._crashes:
            raise RecorderError("one recording for each program: it counts what calls use, or it crashes, not both")
        if self._counters is None:
            counters = Counters(self.root, in_memory=self.backend.capabilities.storage == "memory")
            counters.start()
            self._counters = counters
        self._counters.take()
        return Returned()

    def _run(
        self, operation: Operation, performed: Coroutine[Any, Any, Value], call: int | None, *, acknowledged: bool
    ) -> Value:
        seen: contextlib.AbstractContextManager[None] = _NOBODY
        if self._counters is not None:
            seen = self._counters.call(operation)
        elif self._recording is not None and call is not None:
            performed = self._recording.around(performed, call, acknowledged=acknowledged)
        with self._watched(operation.kind), seen:
            return self._host.run(performed)

    def _watched(self, what: str) -> contextlib.AbstractContextManager[None]:
        dog = self._watchdog
        if dog is None:
            return _NOBODY
        return dog.watching(f"backend {self.backend.name!r}: {what}", self._host.remember, making)

    def _begin_life(self, left: Left | None) -> None:
        """Begin to record: at first with everything above the root in place, and later in what a crash left."""
        self._lives += 1
        if left is None:
            self._patched.enter_context(Patching())
        else:
            self._premises = Premises(self._place.with_name(f"{self._place.name}-life{self._lives}"))
            self.root = self._premises.root
        if self._premises is not None:
            self._premises.prepare()
        if left is not None:
            left.write(self.root)
        self._recording = Recording(self.root, None if left is None else left.carried)
        recorder = self._recording.recorder
        self._observer.injected = lambda: recorder.raised
        self._baseline = Baseline() if self._counts_left else None

    def crash(self, crash: Crash, call: int | None, plan: CrashPlan) -> Left:
        """End every instance, and go on in the world that the crash leaves, as the plan says.

        Raises:
            As ``perform``; ValueError: the call under way is none of the backend, or has no number.
        """
        if self._crashes and self._lives == 0:
            self._begin_life(None)
        if self._recording is None:
            raise RecorderError("a crash has to be recorded from the first call on: make the driver with crashes=True")
        if crash.during is not None:
            if call is None or not isinstance(crash.during, (Overlap, *PERFORM)):
                raise ValueError(f"a crash comes during a call of the backend that has a number: {call=}, {crash!r}")
            if isinstance(crash.during, Overlap):
                self.overlap(crash.during, call, Deaf(), acknowledged=False)
            else:
                self._perform(crash.during, call, acknowledged=False)
        self._note_faults()
        left = self._recording.crash(crash, call, plan)
        self._recording = None
        self._told = 0
        self._end_life(left)
        self._begin_life(left)
        return left

    def _end_life(self, left: Left) -> None:
        """Take the dead instances away. Nothing is recorded, and what they still do is done to the old directory."""
        self._host.drop()
        left.remains.close()
        with unheard(), self._watched("after a crash"):
            self._instances.clear()
            self._handles.clear()
            self._hubs.clear()
            self._host.renew()
            gc.collect(1)

    def frozen(self) -> Frozen:
        """What was done to the files so far; see ``Recording.frozen``."""
        if self._recording is None:
            raise RecorderError("nothing is recorded: make the driver with crashes=True and perform something")
        return self._recording.frozen()

    def finish(self) -> None:
        """End every instance that is still open, as a user of it would, and drop the loop; errors no longer count."""
        if self._confined is not None:
            self._confined.finish()
        try:
            if self._recording is not None:
                self._recording.recorder.lift()
            self._end_instances()
        finally:
            if self._warnings is not None:
                self._warnings.end()
            self._handles.clear()
            self._host.close()
            if self._counters is not None:
                self._counters.close()
                self._counters = None
            if self._recording is not None:
                self._recording.close()
                self._recording = None
            self._patched.close()

    def _end_instances(self) -> None:
        for number in list(self._instances):
            self.perform(CloseInstance(number))
            with unheeded():
                self._host.run(self._instances.pop(number).leave())
