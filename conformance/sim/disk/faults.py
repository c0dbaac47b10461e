"""Faults of the living storage: which call of the backend fails, how, and what was done all the same.

The fault model. Storage goes on living, and one of its calls does not do what it should. *Refused*: the call fails and
has done nothing; a file whose sync is refused may have lost what was to be made durable (`ops.SyncFailed`), a directory
has not. *Landed*: the call was really done, and is reported as failed. *Short*: a write takes a part of what it was
given and says so, and the next one meets the error, as on a disk that is full; or nothing fails at all. It takes so
many bytes, or those before a *place* of some kind (`places`): then places are counted, and not calls. A failed close
has closed the descriptor, whatever it says. A fault meets the n-th matching call since it was armed, once or from there
on (*sticky*), until it is lifted or another takes its place. What is on the disk is never touched by a fault: what a
refused call would have done is not there, what a landed one did is there, and the image stays that of the directory.

Promises: calls under the root of the recording alone are met and counted, in the order in which they were made, and
none that is made while the plan is `held`. The error is the one that the real function would raise: of the class that
belongs to its number, with the paths as the caller gave them, and with none from functions that were given a
descriptor. `os.access` raises nothing, and says no.

Does not: meet what the recorder cannot see: memory mappings, C extensions, other processes, the looks of the entries
that `os.scandir` gave out. What `dup`, `fstat` and other calls on descriptors do belongs to no kind. An error that is
reported on another descriptor than the one whose data was lost is not simulated: nobody can do anything about it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from conformance.sim.disk.places import PLACES, places_in

Content = Callable[[], tuple[bytes | None, int]]
"""Tells what a write holds (None where nobody does), and the offset at which it begins."""

KINDS: tuple[str, ...] = (
    "open",
    "read",
    "write",
    "truncate",
    "sync",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "close",
    "look",
)
"""The kinds of storage calls.

open: of a file or directory, by any route. read, write: every form of them; a copy by the kernel is a write of its
target, and a read of its source. truncate: `posix_fallocate` too. sync: of a file, a directory, or everything.
rename: `os.replace` too. link: symbolic ones too. unlink: `os.rmdir` too. close: `io.FileIO.close` too. look: whatever
asks about a path or changes its attributes (`os.stat`, `os.access`, `os.listdir`, `os.scandir`, `os.chmod`, ...).
"""

HOWS: tuple[str, ...] = ("refused", "landed", "short")
"""What becomes of a call that is met."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        calls: the kinds that it may hit, of `KINDS`.
        nth: which of the matching calls since it was armed, from 1; with a `place` which of the places.
        error: the name of the error; "" only where `how` is "short": nothing fails, and writes alone match.
        sticky: every later matching call too.
        how: one of `HOWS`. A short write is met by its error at the next matching write, once, or from there on where
            the fault is sticky; calls of other kinds are refused.
        taken: bytes that a short write takes; at most all but one. Where every write is short and none fails, it takes
            at least one byte, so that those who go on writing come to an end.
        place: the kind of place, of `places.PLACES`, that a short write ends at, in place of a number of bytes; "" for
            none. A write without one is not met, and neither are calls of other kinds.
        at: an absolute path: calls on it, and on what lies below it, alone are met and counted; "" for all.

    Raises:
        ValueError: an unknown kind, error, `how` or place, no error where one is needed, a place where nothing is
            short, or a number that makes no sense.
    """

    calls: frozenset[str]
    nth: int = 1
    error: str = "EIO"
    sticky: bool = False
    how: str = "refused"
    taken: int = 0
    place: str = ""
    at: str = ""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.calls).difference(KINDS))
        if unknown:
            raise ValueError(f"unknown kinds of storage calls: {unknown}; there are {', '.join(KINDS)}")
        if self.how not in HOWS:
            raise ValueError(f"a call is met in one of these ways: {', '.join(HOWS)}; got how={self.how!r}")
        if not self.error and self.how != "short":
            raise ValueError(f"only a short write goes without an error; give its name to how={self.how!r}")
        if self.error and not isinstance(getattr(errno, self.error, None), int):
            raise ValueError(f"expected the name of an error such as 'EIO', got error={self.error!r}")
        if self.place and (self.how != "short" or self.taken or self.place not in PLACES):
            raise ValueError(f"a short write ends at one of {', '.join(PLACES)}, or takes bytes; got {self!r}")
        if self.nth < 1 or self.taken < 0:
            raise ValueError(f"calls count from 1 and bytes from 0, got nth={self.nth!r}, taken={self.taken!r}")

    def is_about(self, path: Callable[[], str]) -> bool:
        """Whether a call on that path may be met."""
        return not self.at or (path() + "/").startswith(self.at + "/")

    def part_of(self, size: int) -> int:
        """How many bytes a short write of that size takes."""
        least = 1 if self.sticky and not self.error else 0
        return min(max(self.taken, least), max(size - 1, min(size, least)))


@dataclass(frozen=True, slots=True)
class Fired:
    """One call that was met.

    Attributes:
        kind: of `KINDS`. how: what became of this call, of `HOWS`; a call that was to land and failed by itself is
            told of as landed. error: the name of the error; "" for a short write, which raises nothing by itself.
        path: the absolute path as the recording knows it, of a rename the old one; "" where there is none.
    """

    kind: str
    error: str
    how: str
    path: str


class _Hold:
    """Somebody who holds the plan. A context that outlives the holding must not go on with it."""

    __slots__ = ("active", "plan")

    def __init__(self, plan: Faults) -> None:
        self.active = True
        self.plan = plan


_HELD: ContextVar[_Hold | None] = ContextVar("torntail_faults_held", default=None)


class Faults:
    """The plan of one recording. Whoever asks it holds the lock of the recording.

    Attributes:
        fired: the calls that were met so far, in order, by any fault of this recording.
        raised: the errors that were made for them.
    """

    def __init__(self) -> None:
        self.fired: list[Fired] = []
        self.raised: list[OSError] = []
        self._fault: Fault | None = None
        self._seen = 0
        self._owed = False

    def arm(self, fault: Fault) -> None:
        """This fault, and no earlier one, from here on; calls count from 1 again."""
        self._fault = fault
        self._seen = 0
        self._owed = False

    def lift(self) -> None:
        """Storage works again."""
        self._fault = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """A context in which calls are neither met nor counted; other tasks and threads are as before."""
        hold = _Hold(self)
        token = _HELD.set(hold)
        try:
            yield
        finally:
            hold.active = False
            _HELD.reset(token)

    def which(self, kinds: tuple[str, ...]) -> str | None:
        """The first of these kinds that the fault may hit, for a call that is of several."""
        fault = self._fault
        return None if fault is None else next((kind for kind in kinds if kind in fault.calls), None)

    def meet(self, kind: str, path: Callable[[], str], *names: object) -> OSError | None:
        """Count a call that is no write; None where nothing meets it, or the error to raise once it is done.

        Args:
            path: tells its path, for `fired`. names: the paths that were given to the call.

        Raises:
            OSError: it is refused.
        """
        how = self._how(kind, path)
        if not how:
            return None
        error = self._error(kind, "landed" if how == "landed" else "refused", path, *names)
        if how == "landed" or kind == "close":
            return error
        raise error

    def denies(self, path: Callable[[], str]) -> bool:
        """Count a look that raises nothing, and is answered with no where it is met."""
        how = self._how("look", path)
        if how and self._fault is not None:
            self.fired.append(Fired("look", self._fault.error, "landed" if how == "landed" else "refused", path()))
        return bool(how)

    def meet_write(self, size: int, path: Callable[[], str], content: Content) -> tuple[int, OSError | None]:
        """Count a write of that many bytes: how many it may take, and the error to raise once it is done.

        Args:
            path: tells its path, for `fired`.
            content: is asked only where the places in it are counted.

        Raises:
            OSError: it is refused.
        """
        fault = self._fault
        places = [] if fault is None or not fault.place else places_in(fault.place, *_sized(content(), size))
        how = self._how("write", path, of=len(places))
        if how == "short" and fault is not None:
            self.fired.append(Fired("write", "", how, path()))
            if not fault.place:
                return fault.part_of(size), None
            # Of a later place than the n-th, where every one is met, it is the first in this write.
            return places[max(0, fault.nth - 1 - (self._seen - len(places)))], None
        if not how:
            return size, None
        error = self._error("write", how, path)
        if how == "landed":
            return size, error
        raise error

    def _how(self, kind: str, path: Callable[[], str], of: int = 0) -> str:
        """Count a call of that kind, and tell what becomes of it; "" where it is not met.

        Args:
            of: how many places there are in it, where they are counted.
        """
        fault = self._fault
        writes_only = fault is not None and (not fault.error or fault.place)
        if fault is None or kind not in fault.calls or (writes_only and kind != "write"):
            return ""
        hold = _HELD.get()
        if (hold is not None and hold.active and hold.plan is self) or not fault.is_about(path):
            return ""
        if self._owed and kind == "write":
            self._seen += 1
            self._owed = fault.sticky
            return "refused"
        before, self._seen = self._seen, self._seen + (of if fault.place else 1)
        if not before < fault.nth <= self._seen and not (fault.sticky and fault.nth <= before < self._seen):
            return ""
        if fault.how == "short" and kind == "write":
            self._owed = bool(fault.error)
        return fault.how

    def _error(self, kind: str, how: str, path: Callable[[], str], *names: object) -> OSError:
        name = "" if self._fault is None else self._fault.error
        number: int = getattr(errno, name)
        given = (names[0], None, names[1]) if len(names) == 2 else names
        error = OSError(number, os.strerror(number), *given)
        self.fired.append(Fired(kind, name, how, path()))
        self.raised.append(error)
        return error


def _sized(content: tuple[bytes | None, int], size: int) -> tuple[bytes | None, int, int]:
    data, offset = content
    return data, size, offset
