"""The sequential machine: long random histories of calls that do not overlap.

Several instances, sessions and handles are alive at once; fresh instances come and go; refused calls stand between good
ones. A rule only draws an operation and performs it; the model judges it, and the reference takes the same step.
What a rule may draw is read off the model's state, so that no example is thrown away.

Each program begins by drawing which kinds of values, sizes and looks it is about and which ids it uses (swarm testing;
Hypothesis itself switches whole rules off), so that some programs are full of one thing that others never see.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

import strategies
from conformance.clauses import BUILT, CLAUSES, Need
from conformance.contract import SessionHeader
from conformance.drivers.errors import SetupError
from conformance.machines.calling import STEPS, CallingMachine
from conformance.machines.draws import (
    BAD_RANGE,
    HEADERS,
    INDEX,
    SESSION,
    SMALL,
    call_of,
    with_id,
)
from conformance.machines.job import BudgetSpent, Job, MachineSpec
from conformance.model.operations import (
    Append,
    Close,
    Create,
    Flush,
    Inspect,
    Operation,
    Read,
)


class SequentialMachine(CallingMachine):
    """Draws calls that must be refused too, and looks at the files."""

    def _is_about_headers(self) -> bool:
        return self._has_live() and not self._kinds.isdisjoint(HEADERS)

    def _may_inspect(self) -> bool:
        return "inspect" in self._kinds and self.job.backend.capabilities.storage == "files"

    def _ended(self) -> list[int]:
        return [each.number for each in self._execution.judge.world.instances.values() if each.closed]

    def _has_ended(self) -> bool:
        return bool(self._ended())

    def _has_closed(self) -> bool:
        return bool(self._closed_handles())

    # -- rules: what is special, and what must be refused --------------------------------------

    @precondition(_is_about_headers)
    @rule(which=INDEX, session=SESSION, kind=INDEX, data=st.data())
    def create_special(self, which: int, session: int, kind: int, data: st.DataObject) -> None:
        """The same with everything in the header that one may hold, and with what is beyond it."""
        kinds = [name for name in HEADERS if name in self._kinds]
        header, inherited = data.draw(HEADERS[kinds[kind % len(kinds)]])
        header = with_id(header, self._ids[session])
        self._perform(Create(self._pick_instance(which), self._next_handle(), header, inherited))

    @precondition(_may_inspect)
    @rule()
    def inspect(self) -> None:
        """A look at the files in and around the root."""
        self._perform(Inspect(list(self._ids)))

    @precondition(CallingMachine._has_writer)
    @rule(which=INDEX, bodies=strategies.small_bodies(), seqs=strategies.misplaced_seqs())
    def append_misplaced(self, which: int, bodies: list[dict[str, Any]], seqs: list[int]) -> None:
        """A batch that does not continue the log."""
        self._append(which, bodies, seqs)

    @precondition(CallingMachine._has_live)
    @rule(which=INDEX, given=strategies.refused_headers())
    def create_refused(self, which: int, given: tuple[SessionHeader, Any]) -> None:
        """A header that must be refused."""
        self._perform(Create(self._pick_instance(which), self._next_handle(), *given))

    @precondition(CallingMachine._has_handle)
    @rule(which=INDEX, events=strategies.broken_batches() | st.just([]), bounds=BAD_RANGE, kind=SMALL)
    def misuse(self, which: int, events: Any, bounds: tuple[Any, Any], kind: int) -> None:
        """What is no batch, a range that is none, a mutation through a reader, or an empty batch."""
        handle = self._pick(self._open_handles(), which)
        seq = len(handle.session.log)
        good = [{"type": "user/message", "seq": seq, "time": 0, "data": None}]
        choices: list[Operation] = [Append(handle.number, events), Read(handle.number, *bounds)]
        if not handle.is_writer:
            choices = [Append(handle.number, good), Flush(handle.number), Append(handle.number, []), *choices]
        self._perform(choices[kind % len(choices)])

    @precondition(_has_closed)
    @rule(which=INDEX, kind=SMALL)
    def use_closed(self, which: int, kind: int) -> None:
        """Any operation on a closed handle."""
        number = self._pick(self._closed_handles(), which).number
        choices: list[Operation] = [Close(number), Read(number), Flush(number), Append(number, []), Read(number, -1)]
        self._perform(choices[kind])

    @precondition(_has_ended)
    @rule(which=INDEX, session=SESSION, kind=INDEX)
    def use_ended(self, which: int, session: int, kind: int) -> None:
        """Any operation of a closed instance."""
        ended = self._ended()
        self._perform(call_of(kind, ended[which % len(ended)], self._next_handle(), self._ids[session]))


def machine_for(job: Job, kind: type[CallingMachine] = SequentialMachine) -> type[CallingMachine]:
    """A machine of the job's own, named after its backend, so that no two share a key of an example database."""
    name = "".join(part.capitalize() for part in job.backend.name.replace("_", "-").split("-"))
    return type(f"{kind.__name__.removesuffix('Machine')}{name}Machine", (kind,), {"job": job})


def hunt(job: Job, kind: type[CallingMachine] = SequentialMachine, *, steps: int = STEPS) -> None:
    """Run random programs until the job's examples or time are used up; findings are left in the job.

    Args:
        kind: of machine. steps: operations in one program, at most, but for those that a rule performs at once.

    Raises:
        SetupError: the backend could not be opened.
        NotMeasured: something may have been done that the kit cannot see.
    """
    machine = hypothesis.seed(job.seed)(machine_for(job, kind))
    settings = hypothesis.settings(
        max_examples=job.max_examples,
        stateful_step_count=steps,
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
        if job.doubt is not None:
            raise job.doubt from None
        if not job.spent:
            raise
    except SetupError:
        raise
    except Exception:
        # Each failing program was kept as data when it failed, and a run that the budget ended in its middle looks
        # flaky to Hypothesis; anything else is an error of the kit's own.
        if job.is_searching and job.kit_error is None and not job.spent:
            raise
    finally:
        # Hypothesis keeps every class of machines for good, and an exception the frames that it was raised through:
        # all that was drawn and performed would stay in memory with them.
        del machine.job
        job.forget_frames()


AT_ONCE = frozenset("SVC-03 OWN-05 SEQ-05 SEQ-08 READ-06 FRESH-03 CLOSE-04 CLOSE-06 FLUSH-03".split())
"""Clauses about calls that are made at the same time."""

NOT_HERE = frozenset({Need.IO_COUNT, Need.LIVE})

SEQUENTIAL = MachineSpec(
    name="sequential",
    # What calls cost shows in a small world and a large one that are alike in all else; no random history makes them.
    clauses=tuple(sorted(each for each in BUILT if CLAUSES[each].needs.isdisjoint(NOT_HERE) and each not in AT_ONCE)),
    needs=frozenset(),
    title="long random histories of calls that do not overlap keep the contract",
    hunt=hunt,
    weight=3.0,
)
