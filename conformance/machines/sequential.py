"""The sequential machine: long random histories of calls that do not overlap.

Several instances, sessions and handles are alive at once; fresh instances come and go; refused calls stand between good
ones. A rule only draws an operation and performs it; the model judges it, and the reference takes the same step.
What a rule may draw is read off the model's state, so that no example is thrown away.

Each program begins by drawing which kinds of values and sizes it is about and which ids it uses (swarm testing;
Hypothesis itself switches whole rules off), so that some programs are full of one thing that others never see.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any, ClassVar

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import strategies
from conformance.clauses import BUILT, Violation
from conformance.contract import SessionHeader
from conformance.drivers.errors import KitError, SetupError
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    FlushInstance,
    Leave,
    ListSessions,
    OpenInstance,
    OpenSession,
    Operation,
    Read,
    Stat,
)
from conformance.model.state import Handle

STEPS = 40
"""Operations in one program, at most."""

MAX_INSTANCES = 3

KINDS = ("rich", "many", "refused", "beyond", "unknown", "ignorable")
"""Kinds of batches that a program may be about besides small ordinary ones."""

_INDEX = st.integers(0, 5)
_SMALL = st.integers(0, 4)
_SESSION = st.integers(0, 2)
_LENGTH = st.none() | st.integers(0, 4)
_BAD_RANGE = st.sampled_from([(-1, None), (0, -1), (1.5, None), ("0", None), (0, 2.0), (None, None), (0, "1")])


def _about(kind: str) -> Callable[[SequentialMachine], bool]:
    """A precondition: the program is about this kind of batch, and there is a writer to take one."""
    return lambda machine: kind in machine.kinds and machine.has_writer()


class SequentialMachine(RuleBasedStateMachine):
    """Draws operations for one job. A subclass for each backend is made by ``machine_for``."""

    job: ClassVar[Job]

    def __init__(self) -> None:
        super().__init__()
        self._execution = self.job.begin()
        self._instances = 0
        self._handles = 0
        self._over = False
        self.kinds: frozenset[str] = frozenset()
        self._ids: tuple[str, ...] = strategies.ID_POOLS[0]
        self._shares = self.job.backend.capabilities.storage != "memory"
        self._perform(self._next_instance())

    # -- performing ------------------------------------------------------------------------------

    def _perform(self, operation: Operation) -> None:
        if self._over:
            return
        self.job.check_budget()
        try:
            self._execution.do(operation)
        except Violation as violation:
            self._over = True
            if self.job.found(violation, self._execution):
                raise
        except KitError as error:
            if self.job.kit_error is None or len(self._execution.operations) < len(self.job.kit_error[1].operations):
                self.job.kit_error = (error, self._execution.program)
            raise

    def teardown(self) -> None:
        """End the program's world."""
        self.job.end(self._execution)

    def _next_instance(self) -> OpenInstance:
        self._instances += 1
        return OpenInstance(self._instances)

    def _next_handle(self) -> int:
        self._handles += 1
        return self._handles

    # -- what there is ---------------------------------------------------------------------------

    def _live(self) -> list[int]:
        return [each.number for each in self._execution.judge.world.instances.values() if not each.closed]

    def _open_handles(self, access: str = "") -> list[Handle]:
        handles = self._execution.judge.world.handles.values()
        return [each for each in handles if not each.closed and access in ("", each.access)]

    def _closed_handles(self) -> list[Handle]:
        return [each for each in self._execution.judge.world.handles.values() if each.closed]

    def has_writer(self) -> bool:
        """Whether a write handle is open."""
        return bool(self._open_handles("write"))

    def _has_reader(self) -> bool:
        return bool(self._open_handles("read"))

    def _has_handle(self) -> bool:
        return bool(self._open_handles())

    def _has_closed(self) -> bool:
        return bool(self._closed_handles())

    def _has_live(self) -> bool:
        return bool(self._live())

    def _may_open_instance(self) -> bool:
        return len(self._live()) < MAX_INSTANCES if self._shares else not self._instances

    def _may_close_instance(self) -> bool:
        return self._shares and bool(self._live())

    def _owned_elsewhere(self, instance: int, session: str) -> bool:
        stored = self._execution.judge.world.stored.get(session)
        return stored is not None and stored.owner is not None and stored.owner.instance != instance

    @initialize(kinds=strategies.swarm(("plain", *KINDS)), pool=st.sampled_from(strategies.ID_POOLS))
    def begin(self, kinds: frozenset[str], pool: tuple[str, ...]) -> None:
        """What this program is about."""
        self.kinds, self._ids = kinds, pool

    # -- rules: the service ----------------------------------------------------------------------

    @precondition(_may_open_instance)
    @rule()
    def open_instance(self) -> None:
        """A fresh instance over the same storage."""
        self._perform(self._next_instance())

    @precondition(_may_close_instance)
    @rule(which=_INDEX)
    def close_instance(self, which: int) -> None:
        """The service's close, and another instance if none is left."""
        live = self._live()
        self._perform(CloseInstance(live[which % len(live)]))
        if len(live) == 1:
            self._perform(self._next_instance())

    @precondition(_has_live)
    @rule(which=_INDEX, session=_SESSION, given=strategies.small_headers())
    def create(self, which: int, session: int, given: tuple[SessionHeader, int | None]) -> None:
        """A new session, or a refusal where the id is occupied."""
        live = self._live()
        header = with_id(given[0], self._ids[session])
        self._perform(Create(live[which % len(live)], self._next_handle(), header, given[1]))

    @precondition(_has_live)
    @rule(which=_INDEX, given=strategies.refused_headers())
    def create_refused(self, which: int, given: tuple[SessionHeader, Any]) -> None:
        """A header that must be refused."""
        live = self._live()
        self._perform(Create(live[which % len(live)], self._next_handle(), *given))

    @precondition(_has_live)
    @rule(which=_INDEX, session=_SESSION, write=st.booleans())
    def open_session(self, which: int, session: int, write: bool) -> None:
        """A handle for reading or writing, or a refusal."""
        live = self._live()
        instance = live[which % len(live)]
        name = self._ids[session]
        claimed = self.job.backend.capabilities.cross_process_ownership
        if write and not claimed and self._owned_elsewhere(instance, name):
            # Two writers without the claim are outside what the contract promises here.
            write = False
        access = "write" if write else "read"
        self._perform(OpenSession(instance, self._next_handle(), name, access))  # type: ignore[arg-type]

    @precondition(_has_live)
    @rule(which=_INDEX, session=_SESSION)
    def stat(self, which: int, session: int) -> None:
        """One session from outside."""
        live = self._live()
        self._perform(Stat(live[which % len(live)], self._ids[session]))

    @precondition(_has_live)
    @rule(which=_INDEX)
    def list_sessions(self, which: int) -> None:
        """All sessions from outside."""
        live = self._live()
        self._perform(ListSessions(live[which % len(live)]))

    @precondition(_has_live)
    @rule(which=_INDEX)
    def flush_instance(self, which: int) -> None:
        """The service's flush."""
        live = self._live()
        self._perform(FlushInstance(live[which % len(live)]))

    # -- rules: handles --------------------------------------------------------------------------

    def _append(self, which: int, bodies: list[dict[str, Any]], seqs: list[int], *, scribble: bool = False) -> None:
        writers = self._open_handles("write")
        handle = writers[which % len(writers)]
        first = len(handle.session.log)
        events = [{**bodies[place % len(bodies)], "seq": first + seq} for place, seq in enumerate(seqs)]
        self._perform(Append(handle.number, events, scribble))

    @precondition(has_writer)
    @rule(which=_INDEX, bodies=strategies.small_bodies(), scribble=st.booleans())
    def append(self, which: int, bodies: list[dict[str, Any]], scribble: bool) -> None:
        """A batch that continues the log."""
        self._append(which, bodies, list(range(len(bodies))), scribble=scribble)

    @precondition(_about("rich"))
    @rule(which=_INDEX, bodies=strategies.event_bodies())
    def append_rich(self, which: int, bodies: list[dict[str, Any]]) -> None:
        """A batch of any JSON that must be stored exactly."""
        self._append(which, bodies, list(range(len(bodies))))

    @precondition(_about("many"))
    @rule(which=_INDEX, bodies=strategies.small_bodies(), count=st.sampled_from([33, 7, 300]))
    def append_many(self, which: int, bodies: list[dict[str, Any]], count: int) -> None:
        """A batch of many events."""
        self._append(which, bodies, list(range(count)))

    @precondition(_about("refused"))
    @rule(which=_INDEX, bodies=strategies.refused_bodies())
    def append_refused(self, which: int, bodies: list[dict[str, Any]]) -> None:
        """A batch with a value that is no JSON."""
        self._append(which, bodies, list(range(len(bodies))))

    @precondition(_about("beyond"))
    @rule(which=_INDEX, bodies=strategies.beyond_common_bodies())
    def append_beyond(self, which: int, bodies: list[dict[str, Any]]) -> None:
        """A batch with a value that a backend may refuse, and may not alter."""
        self._append(which, bodies, list(range(len(bodies))))

    @precondition(_about("unknown"))
    @rule(which=_INDEX, bodies=strategies.unknown_bodies())
    def append_unknown(self, which: int, bodies: list[dict[str, Any]]) -> None:
        """A batch with an event type that a closed vocabulary does not have."""
        self._append(which, bodies, list(range(len(bodies))))

    @precondition(_about("ignorable"))
    @rule(which=_INDEX, bodies=strategies.ignorable_bodies())
    def append_ignorable(self, which: int, bodies: list[dict[str, Any]]) -> None:
        """The same, marked so that it must be kept."""
        self._append(which, bodies, list(range(len(bodies))))

    @precondition(has_writer)
    @rule(which=_INDEX, bodies=strategies.small_bodies(), seqs=strategies.misplaced_seqs())
    def append_misplaced(self, which: int, bodies: list[dict[str, Any]], seqs: list[int]) -> None:
        """A batch that does not."""
        self._append(which, bodies, seqs)

    @precondition(has_writer)
    @rule(which=_INDEX, events=strategies.broken_batches() | st.just([]))
    def append_broken(self, which: int, events: Any) -> None:
        """What is no batch, or an empty one."""
        writers = self._open_handles("write")
        self._perform(Append(writers[which % len(writers)].number, events))

    @precondition(_has_reader)
    @rule(which=_INDEX, empty=st.booleans(), flush=st.booleans())
    def write_on_reader(self, which: int, empty: bool, flush: bool) -> None:
        """A mutation on a handle for reading."""
        readers = self._open_handles("read")
        handle = readers[which % len(readers)]
        seq = len(handle.session.log)
        events = [] if empty else [{"type": "user/message", "seq": seq, "time": 0, "data": None}]
        self._perform(Flush(handle.number) if flush else Append(handle.number, events))

    @precondition(_has_handle)
    @rule(which=_INDEX, offset=_SMALL, length=_LENGTH, scribble=st.booleans())
    def read(self, which: int, offset: int, length: int | None, scribble: bool) -> None:
        """A slice of a log; half of the time all of it."""
        handles = self._open_handles()
        start = max(0, offset - 2)
        self._perform(Read(handles[which % len(handles)].number, start, length, scribble))

    @precondition(_has_handle)
    @rule(which=_INDEX, bounds=_BAD_RANGE)
    def read_badly(self, which: int, bounds: tuple[Any, Any]) -> None:
        """A range that must be refused."""
        handles = self._open_handles()
        self._perform(Read(handles[which % len(handles)].number, *bounds))

    @precondition(has_writer)
    @rule(which=_INDEX)
    def flush(self, which: int) -> None:
        """A barrier."""
        writers = self._open_handles("write")
        self._perform(Flush(writers[which % len(writers)].number))

    @precondition(_has_handle)
    @rule(which=_INDEX, leave=st.booleans(), raising=st.booleans())
    def close(self, which: int, leave: bool, raising: bool) -> None:
        """The end of a handle, by ``close`` or by leaving its context."""
        handles = self._open_handles()
        number = handles[which % len(handles)].number
        self._perform(Leave(number, raising) if leave else Close(number))

    @precondition(_has_closed)
    @rule(which=_INDEX, kind=_SMALL)
    def use_closed(self, which: int, kind: int) -> None:
        """Any operation on a closed handle."""
        handles = self._closed_handles()
        number = handles[which % len(handles)].number
        choices: list[Operation] = [
            Close(number),
            Read(number),
            Flush(number),
            Append(number, []),
            Read(number, -1),
        ]
        self._perform(choices[kind % len(choices)])


def with_id(header: SessionHeader, session: str) -> SessionHeader:
    """The header under another id."""
    values = {name: getattr(header, name) for name in SessionHeader.__dataclass_fields__}
    return SessionHeader(**{**values, "id": session})


def machine_for(job: Job) -> type[SequentialMachine]:
    """A machine of the job's own, named after its backend, so that no two share a key of an example database."""
    name = "".join(part.capitalize() for part in job.backend.name.replace("_", "-").split("-"))
    return type(f"Sequential{name}Machine", (SequentialMachine,), {"job": job})


def hunt(job: Job) -> None:
    """Run random programs until the job's examples or time are used up; findings are left in the job.

    Raises:
        SetupError: the backend could not be opened.
    """
    machine = hypothesis.seed(job.seed)(machine_for(job))
    settings = hypothesis.settings(
        max_examples=job.max_examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    try:
        # What Hypothesis prints of a failing example is replaced by our own program.
        with contextlib.redirect_stdout(io.StringIO()):
            run_state_machine_as_test(machine, settings=settings)
    except BudgetSpent:
        if not job.spent:
            raise
    except SetupError:
        raise
    except Exception:
        # Each failing program was kept as data when it failed, and a run that the budget ended in its middle looks
        # flaky to Hypothesis; anything else is an error of the kit's own.
        if not job.findings and job.kit_error is None and not job.spent:
            raise


SEQUENTIAL = MachineSpec(
    name="sequential",
    clauses=tuple(sorted(BUILT)),
    needs=frozenset(),
    title="long random histories of calls that do not overlap keep the contract",
    hunt=hunt,
)
