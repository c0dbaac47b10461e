"""What faults of the storage leave open, as plain state: of each session, of each handle, and altogether.

A fault takes nothing back that was promised. It lets a call reject that would have had to resolve, and what that call
would have stored may be found by a later life, or by another instance, until something settles it. Nothing here judges;
``conformance.model.fault_rules`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conformance.model.history import FaultView

Batch = list[dict[str, Any]]

Moment = tuple[int, int]
"""A place in the history, which is finer than its times: the model's step, and within an overlap the phase's time."""

Span = tuple[Moment, Moment]
"""When a call began, and when it had ended."""


class Haunting(NamedTuple):
    """From when to when storage may have held what an append of this instance failed to store; None: to this day."""

    ghost: Batch
    instance: int
    since: Moment
    until: Moment | None = None

    def meets(self, span: Span) -> bool:
        """Whether a call may have met it."""
        return self.since <= span[1] and (self.until is None or span[0] <= self.until)


@dataclass(slots=True)
class Contest:
    """A second owner was let in while an append that failed in another instance is not made up for.

    Attributes:
        by: that instance. seen: the log as the second owner last read it, where nothing was called in ``by`` since.
    """

    by: int
    seen: Batch | None = None


@dataclass(slots=True)
class Mishap:
    """What faults did to one session.

    Attributes:
        ghosts: batches of appends that failed since the log last grew; each would begin where the log ends.
        hidden: ghosts that a failed close left behind; its instance may hide them until a later owner undid them.
        replaced: the same of those whose seqs another append took.
        swapped: another batch was taken at the seqs of one that failed, and nobody has read it yet.
        hits: faults in calls about it since the log last grew; a repair that met one too may not have been possible.
        hit_at, sync_hit_at: the model's step of the latest fault, and of the latest failed sync.
        barrier_hit_at: the step of the latest barrier that resolved in spite of a fault.
        owing: the clause that the latest call which wrote and met a fault broke, where what resolved is not there.
        close_failed: its owner's close raised, and nobody owned it since.
        residue: ghosts of which a crash may have left something, though one fault only came between.
        residue_at: the seq at which they would begin.
        hauntings: when ghosts, these and all before them, may have been in storage.
        contest: another instance has an owner while ghosts are about, and whether they count is not settled.
    """

    ghosts: list[Batch] = field(default_factory=list)
    hidden: list[Batch] = field(default_factory=list)
    replaced: list[Batch] = field(default_factory=list)
    swapped: bool = False
    hits: int = 0
    hit_at: int = -1
    sync_hit_at: int = -1
    barrier_hit_at: int = -1
    owing: str = ""
    close_failed: bool = False
    residue: list[Batch] = field(default_factory=list)
    residue_at: int = 0
    hauntings: list[Haunting] = field(default_factory=list)
    contest: Contest | None = None

    def haunt(self, ghost: Batch, instance: int, since: Moment) -> None:
        """An append of that instance failed, which had begun then."""
        self.ghosts.append(ghost)
        self.hauntings.append(Haunting(ghost, instance, since))

    def linger(self, batch: Batch, instance: int) -> None:
        """What was published there, and may have failed to be stored, may be seen by others at any time."""
        known = (each.ghost for each in self.hauntings if each.until is None)
        if batch and batch not in known:
            self.hauntings.append(Haunting(batch, instance, (0, 0)))

    def lay(self, now: Moment, end: int | None = None) -> None:
        """Another append took the place of every ghost.

        Args:
            end: only of those that begin before it, where what was published made the log that long.
        """
        self.hauntings = [
            each._replace(until=now) if each.until is None and (end is None or each.ghost[0]["seq"] < end) else each
            for each in self.hauntings
        ]


@dataclass(slots=True)
class Grip:
    """What faults left of the trust in one write handle.

    Attributes:
        owed: a call resolved although storage failed in it; a later flush or close, or an append, may still say so.
        rejected: a call rejected because of a fault, and nothing has succeeded since.
        spendable: a sync failed, so that the handle may end itself.
    """

    owed: bool = False
    rejected: bool = False
    spendable: bool = False


@dataclass(slots=True)
class Trouble:
    """All of it.

    Attributes:
        now: the faults that came during the call that is judged. fired: how many came so far.
        listed: serial of the session that a listing is judged about, -1 for none.
        aim: id of the session whose artifact alone meets faults; "" where anything may.
        mishaps: serial of a session -> what happened to it. grips: number of a handle -> what is left of it.
        looks: number of a handle -> its opens and reads that gave something.
    """

    now: tuple[FaultView, ...] = ()
    fired: int = 0
    listed: int = -1
    aim: str = ""
    mishaps: dict[int, Mishap] = field(default_factory=dict)
    grips: dict[int, Grip] = field(default_factory=dict)
    looks: dict[int, list[Span]] = field(default_factory=dict)

    @property
    def fails_now(self) -> bool:
        """Whether a storage call failed during the call that is judged; one that took a part only did not."""
        return any(each.error for each in self.now)

    @property
    def spared(self) -> str:
        """Id of the session that a listing may leave out, because its artifact met a fault just now; or ""."""
        return self.aim if self.now else ""

    def mishap(self, serial: int) -> Mishap:
        """That of a session."""
        return self.mishaps.setdefault(serial, Mishap())

    def grip(self, handle: int) -> Grip:
        """That of a handle."""
        return self.grips.setdefault(handle, Grip())

    def look(self, handle: int, span: Span, *, opens: bool) -> None:
        """A read of that handle gave something, or an open gave the handle."""
        if opens:
            # The number may have meant another one before.
            self.looks[handle] = []
        self.looks.setdefault(handle, []).append(span)

    def met_a_ghost(self, handle: int, instance: int, serial: int) -> bool:
        """Whether a handle may have seen of this session what another instance failed to store."""
        mishap = self.mishaps.get(serial)
        if mishap is None:
            return False
        hauntings = [each for each in mishap.hauntings if each.instance != instance]
        return any(each.meets(span) for span in self.looks.get(handle, ()) for each in hauntings)

    def forget(self, handle: int) -> None:
        """The handle has a new meaning, or none."""
        self.grips.pop(handle, None)
