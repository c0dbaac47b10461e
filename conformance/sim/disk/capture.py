"""The in-process recorder: what a backend's ordinary Python input and output does to the files under one root.

Promises: while a `Recorder` is entered, every call through `os`, `open`, `io.FileIO`, `pathlib`, `tempfile` and
`shutil` that touches the root is counted, and with `record` kept as an operation, in order, without a change to the
backend. Errors pass through unchanged, and a call that failed is no operation. Nothing outside the root is kept.
Calls fail only as storage makes them, or as a `Fault` that was armed says.

Does not: see C extensions that do their own input and output, memory mappings, or other processes. `check_image`
finds writes that were missed that way; `doubts` tells what else was noticed. A *sync* that was missed leaves no trace
in the image.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager

from conformance.sim.disk.counts import IoCount
from conformance.sim.disk.faults import Fault, Fired
from conformance.sim.disk.image import FileSystem, Tree, difference
from conformance.sim.disk.journal import Journal
from conformance.sim.disk.materialise import Attributes, attributes_of
from conformance.sim.disk.ops import DiskOp
from conformance.sim.disk.patching import Patching
from conformance.sim.disk.remains import Remains
from conformance.sim.disk.session import SLOT, Session
from conformance.sim.disk.trace import Trace

_WAY_OUT = "something writes that is not seen here (a C extension, a memory mapping, another process)"


class RecorderError(RuntimeError):
    """The recorder was used in a way that cannot work; the message says what to do instead."""


class Recorder:
    """Records what happens under a root, from `with` to its end. What it recorded stays readable afterwards.

    Entering it is cheap inside a `Patching`, and takes tens of milliseconds without one.

    Args:
        root: a directory, which may be absent so far; its own creation is recorded then.
        record: keep the operations and their data, and what was there before; otherwise input and output is counted
            only, and nothing is kept.
        carried: go on with this trace. The root is that of the trace, at the same names below another directory, and
            holds now what the trace's image holds. Operations are appended, and inodes keep their numbers.
        untouched: the caller knows that nobody has anything under the root open, and saves the search for it.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        record: bool = True,
        carried: Trace | None = None,
        untouched: bool = False,
    ) -> None:
        if carried is not None and not record:
            raise ValueError("a trace is carried on by a recorder that records: leave out record=False")
        self.root = root
        self.record = record
        self._carried = carried
        self._untouched = untouched
        self._session: Session | None = None
        self._patching = Patching()
        self._unseen: tuple[str, ...] = ()
        self._is_entered = False

    def __enter__(self) -> Recorder:
        """Start recording.

        Raises:
            RecorderError: another recorder is entered, or this one was before, or the root does not lie where the
                carried trace had it.
        """
        if SLOT.session is not None:
            raise RecorderError(
                f"one recorder at a time: leave the one of {SLOT.session.locator.root!r} before that of {self.root!r}"
            )
        if self._session is not None:
            raise RecorderError(f"the recorder of {self.root!r} has been used; make a new one")
        self._patching.__enter__()
        try:
            self._session = self._begin()
        except BaseException:
            self._patching.__exit__()
            raise
        self._unseen = self._patching.unseen_holders
        SLOT.session = self._session
        self._is_entered = True
        return self

    def _begin(self) -> Session:
        session = Session(self.root, record=self.record, carried=self._carried, untouched=self._untouched)
        if self._carried is not None and self._carried.image.above != session.locator.above:
            raise RecorderError(
                f"{self.root!r} lies at {session.locator.above!r} below the nearest directory that is there, and the"
                f" carried trace has its root at {self._carried.image.above!r}: make the directories above it first"
            )
        return session

    def __exit__(self, *_: object) -> None:
        # Left twice, as by a driver that is ended while it crashes, it must not take another one's patching away.
        if self._is_entered:
            self._is_entered = False
            SLOT.empty()
            self._patching.__exit__()

    def mark_begin(self, call: int) -> None:
        """An API call begins. Input and output of this context, and of tasks started from it, is that call's.

        Raises:
            ValueError: a call of that number is under way.
        """
        self._entered().begin(call)

    def mark_end(self, call: int, *, resolved: bool = True) -> None:
        """An API call is over; with `resolved` it is acknowledged, and what it promised holds from here on.

        Raises:
            ValueError: no such call is under way.
        """
        self._entered().end(call, resolved=resolved)

    def counts(self, call: int) -> IoCount:
        """The input and output of one call, so far. Raises `ValueError` where no such call began."""
        return self._entered().calls.counts(call)

    def total(self) -> IoCount:
        """All input and output so far, that of no call included."""
        return self._entered().calls.total()

    def arm(self, fault: Fault) -> None:
        """Let this fault, and no earlier one, meet storage calls from now on."""
        self._entered().arm(fault)

    def lift(self) -> None:
        """Let storage work again."""
        self._entered().lift()

    def still(self) -> AbstractContextManager[object]:
        """A context in which no other thread makes a call that is recorded: it waits until this one leaves it."""
        return self._entered().lock

    def held(self) -> AbstractContextManager[None]:
        """A context for looks of one's own: no call that is made in it is met by a fault, or counted for one."""
        return self._entered().faults.held()

    @property
    def fired(self) -> Sequence[Fired]:
        """The calls that were met by faults, in order, those of earlier faults too."""
        return tuple(self._entered().faults.fired)

    @property
    def raised(self) -> Sequence[OSError]:
        """The very errors that were made for them; a short write and a look that is answered with no have none."""
        return tuple(self._entered().faults.raised)

    @property
    def ops(self) -> Sequence[DiskOp]:
        """The operations and markers so far, in order."""
        return self._journal().ops

    @property
    def op_calls(self) -> Sequence[int | None]:
        """For each of `ops` the call it belongs to, or None."""
        return self._journal().calls

    def base(self) -> FileSystem:
        """What was there before the first operation, as an image of its own; taken to be durable."""
        return self._journal().base.copy()

    def image(self) -> Tree:
        """The tree that the base and the recorded operations add up to."""
        return self._journal().image.tree()

    def trace(self) -> Trace:
        """Everything recorded so far, of earlier lives too; it stays as it is while the recording goes on."""
        return self._journal().trace()

    def left_open(self) -> Remains:
        """The descriptors under the root that are open now."""
        session = self._entered()
        return Remains(session.files, session.owners)

    def attributes(self) -> dict[int, Attributes]:
        """Inode -> mode and time, of everything that is in the root now."""
        locator = self._entered().locator
        return attributes_of(self._journal().image, locator.root)

    def check_image(self) -> str:
        """ "" where the image equals the real directory, and otherwise how they differ."""
        locator = self._entered().locator
        text = difference(self.image(), FileSystem.load(locator.top, locator.above).tree())
        return f"{text}: {_WAY_OUT}" if text else ""

    @property
    def blind(self) -> str:
        """Why the recording, or the counts, may lack something, as far as was noticed; "" where nothing was."""
        return "; ".join(self._entered().reasons)

    @property
    def unseen_holders(self) -> tuple[str, ...]:
        """What held a real function when the patching began, and could not be changed: a sync may go unseen there."""
        return self._unseen

    def doubts(self) -> tuple[str, ...]:
        """Every reason not to trust the recording: unseen holders, blind spots and, with `record`, a wrong image."""
        found = [f"a barrier may be unseen: {holder}" for holder in self._unseen]
        found += self._entered().reasons
        wrong = self.check_image() if self.record else ""
        return (*found, wrong) if wrong else tuple(found)

    def _entered(self) -> Session:
        if self._session is None:
            raise RecorderError(f"the recorder of {self.root!r} was not entered yet")
        return self._session

    def _journal(self) -> Journal:
        journal = self._entered().journal
        if journal is None:
            raise RecorderError("only counts were kept: make the recorder with record=True")
        return journal
