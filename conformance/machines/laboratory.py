"""Where crash states are opened: each image once, each question once, and the slow way for what does not conform.

Promises: `Laboratory.conforms` is quick and errs in one direction only: what it lets pass the model would let pass.
What it does not is performed again as a whole program (`Laboratory.confirm`), and there the model alone says whether a
clause is broken, and which. Images are told apart by their bytes; one in a hundred that was seen before is opened
again, and a recovery that then shows something else is a finding too.

Does not: choose states, or explain them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields

from conformance.clauses import Violation
from conformance.drivers.crashes import Frozen
from conformance.drivers.factory import takes_env
from conformance.drivers.images import Stage
from conformance.drivers.probe import Prober
from conformance.machines.job import Job
from conformance.machines.recovering import recover
from conformance.model.history import ErrorView
from conformance.model.operations import Crash, Operation, Program
from conformance.model.recovery import Promise, RecoverySeen, SessionSeen, fits
from conformance.model.recovery_witness import witnessed
from conformance.sim.disk.image import Tree
from conformance.sim.disk.states import State

REOPEN_EVERY = 100
"""Of the images that were seen before, one in so many is opened again."""

MOST_IMAGES = 20_000
"""Images that are remembered; past that the oldest half is forgotten."""


@dataclass(slots=True)
class Tally:
    """What the laboratory did.

    Attributes:
        judged: states that were compared with what was promised. opened: images reopened through the backend.
        again: of these, images that had been opened before.
    """

    judged: int = 0
    opened: int = 0
    again: int = 0


class Laboratory:
    """Opens crash states of one backend.

    Args:
        job: the backend, its scratch space, and where witnesses are counted.
        thorough: each image is looked at in full, or only opened, appended to and read.

    Attributes:
        deduplicates: an image is opened once. Off where the backend's factory takes no ``env``: then nobody knows that
            its recovery depends on the image alone.
        latest: what the latest state showed; None where it showed something else when it was asked again.
    """

    def __init__(self, job: Job, *, thorough: bool = True) -> None:
        self._job = job
        prober = Prober(job.backend, job.watchdog, thorough=thorough)
        self._stage = Stage(prober, job.workspace.directory / "images")
        self._seen: dict[Hashable, RecoverySeen] = {}
        self._witnessed: dict[Hashable, tuple[str, ...]] = {}
        self.deduplicates = takes_env(job.backend)
        self.tally = Tally()
        self.latest: RecoverySeen | None = None

    def conforms(
        self,
        state: State,
        promises: tuple[Promise, ...],
        lost_calls: frozenset[int],
        frozen: Frozen,
        *,
        kill: bool,
    ) -> bool:
        """Whether the backend certainly keeps what was promised when it is opened over this state.

        Args:
            lost_calls: numbers of the calls of which the state lacks something.
        """
        if not self.fits(state, promises, frozen):
            return False
        if self.latest is not None:
            self._job.witnesses.update(witnessed(promises, self.latest, lost_calls, kill=kill))
        return True

    def fits(self, state: State, promises: tuple[Promise, ...], frozen: Frozen) -> bool:
        """The same without counting what it witnessed."""
        self.tally.judged += 1
        self.latest = seen = self._look(state, tuple(each.session for each in promises), frozen)
        return seen is not None and fits(promises, seen)

    def _look(self, state: State, ids: tuple[str, ...], frozen: Frozen) -> RecoverySeen | None:
        """What the backend shows of a state; None where it showed something else when it was asked again."""
        key = (state.key, ids)
        known = self._seen.get(key) if self.deduplicates else None
        if known is not None and self.tally.judged % REOPEN_EVERY:
            return known
        seen = self._open(state.tree, ids, frozen)
        if known is not None:
            self.tally.again += 1
            return seen if _told(seen) == _told(known) else None
        if self.deduplicates:
            if len(self._seen) >= MOST_IMAGES:
                for each in list(self._seen)[: MOST_IMAGES // 2]:
                    del self._seen[each]
            self._seen[key] = seen
        return seen

    def _open(self, tree: Tree, ids: tuple[str, ...], frozen: Frozen) -> RecoverySeen:
        self.tally.opened += 1
        return self._stage.look(tree, frozen.attributes_at(tree), ids)

    @property
    def images(self) -> int:
        """How many distinct images were opened, where that is known."""
        return len(self._seen) if self.deduplicates else self.tally.opened

    def confirm(self, before: Sequence[Operation], crash: Crash) -> Confirmed:
        """Perform the program, the crash and a recovery, all judged by the model."""
        seen = self.latest.sessions if self.latest is not None else []
        inspects = any(each.before_looks != each.after_looks for each in seen)
        execution = self._job.begin(crashes=True, counts_left=False)
        found: Violation | None = None
        try:
            for operation in (*before, crash):
                execution.do(operation)
            recover(execution, inspects=inspects)
        except Violation as violation:
            found = violation
        finally:
            program = execution.program
            self._job.end(execution, counted=False)
        return Confirmed(program, found)


def _told(seen: RecoverySeen) -> tuple[object, ...]:
    """What was seen, errors by their kind alone: their texts name the place of the image."""
    looks = [getattr(each, name) for each in seen.sessions for name in _LOOKS]
    return tuple(each.kind if isinstance(each, ErrorView) else each for each in (seen.failed, seen.listed, *looks))


_LOOKS = tuple(each.name for each in fields(SessionSeen))


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the model said of a program that ends in a crash and a recovery."""

    program: Program
    violation: Violation | None = field(default=None)
