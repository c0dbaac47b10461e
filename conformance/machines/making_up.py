"""What makes up for a fault when storage works again: the same call once more, a barrier, another owner.

The part of the fault machine (``machines.failing``) that goes on with a session behind a call that failed. Nothing here
draws when that comes.
"""

from __future__ import annotations

from dataclasses import replace

import strategies
from conformance.machines.crashing import CrashingMachine
from conformance.machines.faulting import is_lost
from conformance.machines.mishaps import BESIDE
from conformance.model.operations import Append, Close, Create, Flush, OpenSession, Operation, Read, Stat
from conformance.model.state import Handle
from conformance.sim import Choices


class MakingUp(CrashingMachine):
    """Goes on with a session, in the instance that owns it or in another one."""

    def _owner(self, name: str) -> Handle | None:
        return next((each for each in self._open_handles("write") if each.session.id == name), None)

    def _repeat(self, name: str, failed: list[Operation]) -> None:
        """The calls that were rejected once more, as far as they mean something."""
        for call in failed:
            handle = self._owner(name)
            if isinstance(call, Create | OpenSession):
                self._perform(replace(call, handle=self._next_handle()))
            elif isinstance(call, Append) and handle is not None:
                if len(handle.session.log) == call.events[0]["seq"]:
                    self._perform(Append(handle.number, call.events))
                    self._replace_lost(name, handle, call)
                self._perform(Read(handle.number))
            elif isinstance(call, Flush) and handle is not None:
                self._perform(Flush(handle.number))

    def _replace_lost(self, name: str, handle: Handle, call: Append) -> None:
        """A handle ended itself, as it may after a failed sync: the next owner does it."""
        outcome = self._execution.latest
        if outcome is None or not is_lost(outcome):
            return
        self._perform(Close(handle.number))
        successor = self._open(handle.instance, name, writes=True)
        if successor is not None:
            self._perform(Read(successor.number))
            if len(successor.session.log) == call.events[0]["seq"]:
                self._perform(Append(successor.number, call.events))

    def _cover(self, name: str) -> None:
        """A barrier; where the owner is spent, one of the next owner."""
        handle = self._owner(name) or self._writer(name)
        if handle is None:
            return
        self._perform(Flush(handle.number))
        outcome = self._execution.latest
        if outcome is not None and is_lost(outcome):
            self._hand_over(name, handle)

    def _hand_over(self, name: str, handle: Handle | None) -> None:
        """The owner goes away, and one in another instance takes over and flushes."""
        if handle is not None:
            self._perform(Close(handle.number))
        successor = self._open(self._fresh(), name, writes=True)
        if successor is not None:
            self._perform(Read(successor.number))
            self._perform(Flush(successor.number))

    def _own_beside(self, name: str, handle: Handle, failed: list[Operation], choices: Choices) -> None:
        """Another instance owns too, where nothing keeps it out, and both go on as if they were alone."""
        other = self._open(self._fresh(), name, writes=True)
        if other is None:
            return
        shown = self._length_shown(other)
        for _ in range(choices.between(1, 4, "steps")):
            match choices.pick(BESIDE, "beside"):
                case "append" if shown is not None:
                    self._perform(Append(other.number, strategies.numbered(strategies.palette_bodies(1), shown)))
                    self._perform(Flush(other.number))
                    shown = self._length_shown(other)
                case "flush":
                    self._perform(Flush(other.number))
                case "close":
                    self._perform(Close(other.number))
                case "again":
                    self._repeat(name, [each for each in failed if isinstance(each, Append | Flush)])
                case "first closes":
                    self._perform(Close(handle.number))
        self._look_around(name)

    def _length_shown(self, handle: Handle) -> int | None:
        """How many events a read of all shows; None where it is refused."""
        self._perform(Read(handle.number))
        value = getattr(self._execution.latest, "value", None)
        return len(value) if isinstance(value, list) else None

    def _look_around(self, name: str) -> None:
        """Whoever has the session open reads it, and its instances tell of it."""
        for handle in [each for each in self._open_handles() if each.session.id == name]:
            self._perform(Read(handle.number))
        for instance in self._live():
            self._perform(Stat(instance, name))
