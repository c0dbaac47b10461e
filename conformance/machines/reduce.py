"""Makes a failing program short by performing shorter ones: what Hypothesis had no time for, and what it cannot do.

Hypothesis shrinks towards a smaller example of the *same* clause. Which clause is blamed may depend on a bystander: a
``stat`` between two reads makes a vanished event look like its doing, and a value that is odd makes it look like the
value's. So operations are also removed, and values and ids made plain, where another clause is blamed without them: a
program that contains another failing program is no evidence of a second bug.

What a crash takes is told by calls while the program changes around it, so that a crash in a shorter program takes the
same of the calls that are left. Crashes themselves are made mild: between two calls and not inside one, under a weaker
adversary, with less of it lost.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from conformance.clauses.levels import GATING
from conformance.drivers.crash_plans import Place, Placement
from conformance.drivers.execution import ProgramResult
from conformance.drivers.fitting import Fit
from conformance.machines.job import Finding
from conformance.machines.overlap_reduce import fewer_calls, one_after_the_other, plainer_calls
from conformance.machines.plainer import in_call, not_overwritten, plain_batch, plain_ids, shorter_batch
from conformance.model.operations import (
    Crash,
    Create,
    ListSessions,
    OpenSession,
    Operation,
    Overlap,
    Program,
    Read,
    Stat,
)

Numbers = Mapping[int, int]
"""Number of an operation in one program -> its number in another that lacks some."""


PATIENCE = 4
"""Wall seconds that making a program shorter may take for each second of processor time."""


class Perform(Protocol):
    """Performs a whole program in a world of its own."""

    def __call__(self, program: Program, fit: Fit = ..., /) -> ProgramResult:
        """``fit`` as in ``run_program``."""


def reduce_finding(finding: Finding, perform: Perform, *, seconds: float) -> tuple[Finding, ProgramResult] | None:
    """The finding with a program from which no operation can be left out, and what that program came to.

    Returns None where the program does not fail again. Ends with what it has after ``seconds`` of this process's own
    time, so that a busy computer does not make programs longer, and of ``PATIENCE`` times as much on the wall.
    """
    until = _Limit(seconds)
    result = perform(finding.program)
    if result.violation is None:
        return None
    best = _Best(perform, result, until)
    best.leave_out_groups()
    best.narrow(best.is_same)
    best.unfold_overlaps()
    best.simplify_overlaps(fewer_calls)
    best.narrow(best.is_same)
    best.simplify_overlaps(plainer_calls)
    best.unfold_overlaps()
    best.make_crashes_mild()
    best.narrow(_any)
    best.make_plain()
    best.shorten_batches()
    best.make_crashes_mild()
    violation = best.result.violation
    if violation is None:
        raise RuntimeError("a reduced program has to fail")
    return Finding(violation.clause, best.result.program, violation), best.result


def _any(clause: str) -> bool:
    return True


class _Limit:
    """A limit of processor time, and a wider one on the wall for what waits."""

    def __init__(self, seconds: float) -> None:
        self._processor = time.process_time() + seconds
        self._wall = time.monotonic() + seconds * PATIENCE

    @property
    def is_over(self) -> bool:
        """Whether one of the two is reached."""
        return time.process_time() > self._processor or time.monotonic() > self._wall


class _Best:
    """The shortest failing program so far."""

    def __init__(self, perform: Perform, result: ProgramResult, until: _Limit) -> None:
        self._perform = perform
        self._until = until
        self._tried: dict[object, tuple[list[Operation], str]] = {}
        self.result = result

    @property
    def clause(self) -> str:
        """The clause it breaks."""
        return self.result.violation.clause if self.result.violation is not None else ""

    def is_same(self, clause: str) -> bool:
        """Whether it is the clause that the shortest program so far breaks."""
        return clause == self.clause

    def _try(
        self,
        operations: list[Operation],
        accept: Callable[[str], bool],
        numbers: Numbers | None = None,
        placements: Mapping[int, Placement] | None = None,
    ) -> bool:
        """Take the program if it fails as it should.

        Args:
            numbers: where some operations were left out. placements: of crashes that are to take something else than
                they took, by their new numbers.
        """
        if self._until.is_over:
            return False
        moved = {number: number for number in range(len(operations))} if numbers is None else numbers
        fit = self.result.fit.renumbered(moved)
        if placements:
            fit = replace(fit, placements={**fit.placements, **placements})
        # What is left out in vain for one clause is left out again for any: it comes to the same. The operations are
        # kept, so that none of them is another one in the same place of memory.
        key = (*map(id, operations), fit.continuing)
        if not fit.placements and key in self._tried:
            _, clause = self._tried[key]
            if not clause or not accept(clause):
                return False
        result = self._perform(Program(tuple(operations)), fit)
        clause = "" if result.violation is None else result.violation.clause
        self._tried[key] = operations, clause
        if not clause or not accept(clause):
            return False
        self.result = result
        return True

    def leave_out_groups(self) -> None:
        """Leave out what belongs together: a session, all looks, all between two crashes, a handle."""
        tried: set[tuple[int, ...]] = set()
        found = True
        while found:
            operations = list(self.result.program.operations)
            found = False
            for group in groups_of(operations):
                kept = tuple(place for place in range(len(operations)) if place not in group)
                if kept in tried:
                    continue
                tried.add(kept)
                numbers = {old: new for new, old in enumerate(kept)}
                if self._try([operations[old] for old in kept], self.is_same, numbers):
                    tried.clear()
                    found = True
                    break

    def narrow(self, accept: Callable[[str], bool]) -> None:
        """Leave out runs of operations, longest first, then single ones, until none can be spared."""
        size = max(1, len(self.result.program.operations) // 2)
        while size:
            start = len(self.result.program.operations) - size
            removed = False
            while start >= 0:
                operations = list(self.result.program.operations)
                kept = [*range(start), *range(start + size, len(operations))]
                if self._try([operations[old] for old in kept], accept, {old: new for new, old in enumerate(kept)}):
                    removed = True
                    start = min(start, len(self.result.program.operations)) - size
                else:
                    # Long runs overlap by half only: a long program would be performed too often.
                    start -= max(1, size // 2)
            if not (removed and size == 1):
                size //= 2

    def _try_at(self, place: int, operation: Operation, accept: Callable[[str], bool]) -> bool:
        operations = list(self.result.program.operations)
        operations[place] = operation
        return self._try(operations, accept)

    def make_crashes_mild(self) -> None:
        """Let each crash take less, the latest first."""
        for place in reversed(range(len(self.result.program.operations))):
            if place < len(self.result.program.operations):
                _Mildness(self, place).make()

    def unfold_overlaps(self) -> None:
        """Make the calls of each overlap one after the other, where that breaks any clause: then it is no race."""
        place = 0
        while place < len(self.result.program.operations):
            overlap = self.result.program.operations[place]
            if not isinstance(overlap, Overlap) or not any(
                self._try_instead(place, calls) for calls in one_after_the_other(overlap)
            ):
                place += 1

    def _try_instead(self, place: int, calls: list[Operation]) -> bool:
        operations = list(self.result.program.operations)
        more = len(calls) - 1
        moved = {
            number: number + (more if number > place else 0) for number in range(len(operations)) if number != place
        }
        return self._try([*operations[:place], *calls, *operations[place + 1 :]], _any, moved)

    def simplify_overlaps(self, forms: Callable[[Overlap], Iterator[Overlap]]) -> None:
        """Put the first of these forms that still fails in the place of each overlap, as often as that goes."""
        place = 0
        while place < len(self.result.program.operations):
            overlap = self.result.program.operations[place]
            if not isinstance(overlap, Overlap) or not any(
                self._try_at(place, form, self.is_same) for form in forms(overlap)
            ):
                place += 1

    def try_crash(self, place: int, crash: Crash, placement: Placement) -> bool:
        """Take the program with another crash there, where it breaks the same clause."""
        operations = list(self.result.program.operations)
        operations[place] = crash
        return self._try(operations, self.is_same, placements={place: placement})

    def make_plain(self) -> None:
        """Give batches plain events, one after the other, let callers overwrite nothing, give sessions plain ids."""
        for place in range(len(self.result.program.operations)):
            for change in (plain_batch, not_overwritten):
                plain = in_call(self.result.program.operations[place], change)
                if plain is not None:
                    self._try_at(place, plain, _any)
        renamed = plain_ids(self.result.program)
        if renamed is not None:
            self._try(renamed, _any)

    def shorten_batches(self) -> None:
        """Leave out trailing events of batches."""
        for place in range(len(self.result.program.operations)):
            while place < len(self.result.program.operations):
                shorter = in_call(self.result.program.operations[place], shorter_batch)
                if shorter is None or not self._try_at(place, shorter, self.is_same):
                    break


_LOOKS = (ListSessions, Read, Stat)


def groups_of(operations: Sequence[Operation]) -> list[frozenset[int]]:
    """Places of operations that can only be spared together, the largest groups first; never the last operation."""
    sessions: dict[object, set[int]] = defaultdict(set)
    handles: dict[int, set[int]] = defaultdict(set)
    lives: dict[int, set[int]] = defaultdict(set)
    looks: set[int] = set()
    opened: dict[int, object] = {}
    readers: set[int] = set()
    life = 0
    for place, operation in enumerate(operations):
        inner = operation.during if isinstance(operation, Crash) else operation
        handle = getattr(inner, "handle", None)
        if isinstance(inner, Create | OpenSession):
            opened[inner.handle] = inner.header.id if isinstance(inner, Create) else inner.session
            if isinstance(inner, OpenSession) and inner.access == "read":
                readers.add(inner.handle)
        name = getattr(inner, "session", opened.get(handle) if isinstance(handle, int) else None)
        lives[life].add(place)
        if isinstance(operation, Crash):
            life += 1
            continue
        if isinstance(inner, _LOOKS) or handle in readers:
            looks.add(place)
        if isinstance(handle, int):
            handles[handle].add(place)
        if isinstance(name, str):
            sessions[name].add(place)
    found = [frozenset(each) for each in (*sessions.values(), looks, *lives.values(), *handles.values())]
    found = [each for each in dict.fromkeys(found) if each and len(operations) - 1 not in each]
    return sorted(found, key=len, reverse=True)


class _Mildness:
    """Makes one crash of the shortest program so far as mild as it can be."""

    def __init__(self, best: _Best, place: int) -> None:
        self._best = best
        self._place = place

    def make(self) -> None:
        """Between two calls, under the weakest adversary, with as little lost as possible."""
        crash = self._crash
        if crash is None:
            return
        if crash.during is not None and not self._try(replace(crash, during=None, after=None, cut=0)):
            self._try(replace(crash, after=None, cut=0))
            self._try(replace(crash, cut=0))
        self._lose_less()
        for preset in GATING[: GATING.index(crash.preset)] if crash.preset in GATING else ():
            if self._try(replace(self._now, preset=preset)):
                self._lose_less()
                break

    @property
    def _crash(self) -> Crash | None:
        operations = self._best.result.program.operations
        found = operations[self._place] if self._place < len(operations) else None
        return found if isinstance(found, Crash) else None

    @property
    def _now(self) -> Crash:
        if self._crash is None:
            raise RuntimeError("a crash stays where it is while it is made mild")
        return self._crash

    @property
    def _placement(self) -> Placement:
        return self._best.result.fit.placements[self._place]

    def _try(self, crash: Crash, placement: Placement | None = None) -> bool:
        taken = self._placement if placement is None else placement
        if crash == self._now and taken == self._placement:
            return False
        return self._best.try_crash(self._place, crash, taken)

    def _lose_less(self) -> None:
        """Nothing, one effect, or one effect less as often as that goes; then without a tear."""
        heads = self._placement.heads
        if not heads or self._try(self._now, Placement()):
            return
        if len(heads) > 1 and any(self._try(self._now, Placement(lost=(each,))) for each in heads):
            return
        spared = True
        while spared and len(self._placement.heads) > 2:
            found = self._placement.heads
            spared = any(self._loses_less(found, left) for left in range(len(found)))
        self._try(self._now, replace(self._placement, tear=None, sectors=0))

    def _loses_less(self, heads: tuple[Place, ...], left: int) -> bool:
        fewer = Placement(lost=(*heads[:left], *heads[left + 1 :]))
        return self._try(self._now, fewer) and len(self._placement.heads) < len(heads)
