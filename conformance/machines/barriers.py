"""The barrier that is missing: which single sync, added at which place, leaves no failing state.

Promises: a barrier is offered only where it was tried: with it in the recording, every crash point of the program is
walked again, under the preset in which it failed and under ``posix``, and no state may fail, old or new. Candidates are
the files and directories of which an effect was lost. Where no single one does it pairs are tried. Where none does,
those are offered that do it under the preset alone, and it is said that a laxer disk needs more. Where none does even
that, nothing is.

Does not: change the backend. A sync changes no image, so that the recording of the faulty run is enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from conformance.machines.points import Point, Recorded, points
from conformance.sim.disk import ops
from conformance.sim.disk.fates import name_at, texts
from conformance.sim.disk.states import Disk, State
from conformance.sim.disk.trace import Trace

Conforms = Callable[[Recorded, Point, State], bool]
"""Whether the backend keeps its promises in a state, asked the quick way."""

STATES = 1024
"""States for each crash point that a candidate is tried on."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """A sync that is not there: of an inode, before the operation of that index."""

    ino: int
    directory: bool
    at: int

    @property
    def op(self) -> ops.Sync:
        """The operation that it would be."""
        return ops.FsyncDirectory(self.ino) if self.directory else ops.Fsync(self.ino)

    def text(self, trace: Trace) -> str:
        """``fsync(path) before ...``, in the words of the recording."""
        what = f"fsync({'directory ' if self.directory else ''}{name_at(trace, self.at, self.ino)})"
        following = trace.ops[self.at]
        if isinstance(following, ops.Marker):
            return f"{what} before call {following.call} returns"
        return f"{what} before: {texts(trace)[self.at]}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """The barriers, alone or in pairs, each of which leaves no failing state; the latest place of each comes first.

    Attributes:
        is_partial: they do so in the preset in which it failed, and not under ``posix``.
    """

    barriers: tuple[tuple[Barrier, ...], ...] = ()
    is_partial: bool = False


def missing_barriers(
    recorded: Recorded, preset: str, lost: Sequence[int], conforms: Conforms, *, seconds: float
) -> Remedy:
    """What would mend it, as far as one or two syncs do.

    Args:
        lost: indexes of the operations of which the failing state lacks something.
        seconds: how long to try.
    """
    deadline = time.monotonic() + seconds
    trace = recorded.frozen.trace
    candidates = list(_candidates(trace, lost))
    partial: dict[tuple[tuple[int, bool], ...], tuple[Barrier, ...]] = {}
    for together in (1, 2):
        found: list[tuple[Barrier, ...]] = []
        settled: set[tuple[tuple[int, bool], ...]] = set()
        for barriers in combinations(candidates, together):
            subject = tuple((each.ino, each.directory) for each in barriers)
            if subject in settled or (together == 2 and subject[0] == subject[1]):
                continue
            if time.monotonic() > deadline:
                break
            if not _holds(recorded, preset, barriers, conforms, deadline):
                continue
            if preset == "posix" or _holds(recorded, "posix", barriers, conforms, deadline):
                found.append(barriers)
                settled.add(subject)
            elif together == 1 and time.monotonic() <= deadline:
                # It was seen to fail, and not only left untried.
                partial.setdefault(subject, barriers)
        if found:
            return Remedy(tuple(found))
    return Remedy(tuple(partial.values()), is_partial=bool(partial))


def _candidates(trace: Trace, lost: Sequence[int]) -> Iterator[Barrier]:
    """Syncs of what was lost, at every place after it; the latest place first."""
    subjects: dict[tuple[int, bool], int] = {}
    for index in lost:
        for subject in subjects_of(trace.ops[index]):
            subjects[subject] = min(index, subjects.get(subject, index))
    for (ino, directory), first in subjects.items():
        for at in range(len(trace.ops) - 1, first, -1):
            if not isinstance(trace.ops[at], ops.CallBegin):
                yield Barrier(ino, directory, at)


def subjects_of(op: ops.DiskOp) -> tuple[tuple[int, bool], ...]:
    """The inodes whose sync saves what an operation did: (inode, whether it is a directory)."""
    match op:
        case ops.Write() | ops.Truncate() | ops.Fallocate():
            return ((op.ino, False),)
        case ops.Rename():
            return tuple(dict.fromkeys(((op.to_directory, True), (op.directory, True))))
        case ops.Create() | ops.Link() | ops.Symlink() | ops.Unlink() | ops.Mkdir() | ops.Rmdir():
            return ((op.directory, True),)
    return ()


def _holds(recorded: Recorded, preset: str, barriers: tuple[Barrier, ...], conforms: Conforms, deadline: float) -> bool:
    disk = Disk(recorded.frozen.trace.base, preset)
    for point, moment in points(recorded, disk, cuts=False, extra={each.at: each.op for each in barriers}):
        for state in moment.states(STATES).states:
            if time.monotonic() > deadline or not conforms(recorded, point, state):
                return False
    return True
