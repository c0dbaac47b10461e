"""The kinds of faults that are tried, in groups: what the fault sweeps count through, and the machines draw from.

A mode is a fault without its number: which calls it may hit, with which error, and what becomes of them. Each group is
a sweep of its own. Nothing here performs anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.model.operations import Fail

ALL_BUT_ONE = 1 << 40
"""More bytes than any write has: a short write takes all but one of them."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One kind of fault; see ``Fail``.

    Attributes:
        once: it is not tried with every later call. around: where it is about one session, its directory too.
    """

    calls: tuple[str, ...]
    error: str
    how: str = "refused"
    taken: int = 0
    once: bool = False
    place: str = ""
    session: str = ""
    around: bool = False

    def at(self, nth: int, *, sticky: bool) -> Fail:
        """The operation that makes the n-th call fail, or a write end at the n-th place."""
        how = (self.error, sticky, self.how, self.taken, self.place)
        return Fail(list(self.calls), nth, *how, self.session, self.around)


def _short_at(place: str) -> tuple[Mode, ...]:
    """A full disk in the middle of a write, and a write that is to be continued."""
    return (
        Mode(("write",), "ENOSPC", "short", place=place),
        Mode(("write",), "", "short", place=place, once=True),
    )


GROUPS: dict[str, tuple[Mode, ...]] = {
    "write": (
        Mode(("write",), "ENOSPC"),
        Mode(("write",), "EIO", "landed"),
        Mode(("write",), "ENOSPC", "short", 1),
        Mode(("write",), "EDQUOT", "short", ALL_BUT_ONE),
        Mode(("write",), "", "short", 1, once=True),
        Mode(("write",), "", "short", ALL_BUT_ONE, once=True),
        Mode(("write", "truncate", "open", "mkdir", "link", "rename", "sync"), "ENOSPC"),
    ),
    "short": tuple(mode for place in ("record", "page", "character", "middle") for mode in _short_at(place)),
    "sync": (
        Mode(("sync",), "EIO"),
        Mode(("sync",), "EIO", "landed"),
        Mode(("sync", "truncate", "unlink"), "EIO"),
    ),
    "names": (
        Mode(("open",), "EMFILE"),
        Mode(("open",), "EACCES"),
        Mode(("rename",), "EBUSY"),
        Mode(("link",), "EPERM"),
        Mode(("unlink",), "EACCES"),
        Mode(("mkdir",), "ENOSPC"),
        Mode(("truncate",), "EFBIG"),
        Mode(("close",), "EIO"),
    ),
    "read": (
        Mode(("read",), "EIO"),
        Mode(("look",), "EACCES"),
        Mode(("open", "read", "look"), "EIO"),
    ),
}
"""Name of a sweep -> the kinds of faults in it."""

OTHER_ERRORS: dict[str, tuple[Mode, ...]] = {
    "write": (Mode(("write",), "EFBIG"), Mode(("write",), "EDQUOT"), Mode(("truncate",), "EIO", "landed")),
    "names": (
        *(Mode((call,), "EIO", "landed") for call in ("rename", "link", "unlink", "mkdir")),
        *(
            Mode((call,), error)
            for call in ("open", "rename", "link", "unlink")
            for error in ("EPERM", "EBUSY", "EACCES")
        ),
    ),
}
"""Name of a sweep -> what thorough runs add: each error that a call of these kinds may meet, beside the likely ones,
and names that change though the call reports that they did not."""

ABOUT_ONE: tuple[Mode, ...] = (
    Mode(("open",), "EACCES", session="b"),
    Mode(("read",), "EIO", session="b"),
    Mode(("open", "look"), "EACCES", session="b", around=True),
)
"""One session cannot be read, and the other one can; added to the sweep over reads in thorough runs."""

BYTE_BY_BYTE = _short_at("byte")
"""Added to the short writes where a sweep has the time for every byte."""


def more_modes(name: str, calls: int) -> tuple[Mode, ...]:
    """What a run whose workloads have so many calls adds to a group."""
    more = tuple(mode for mode in OTHER_ERRORS.get(name, ()) if mode not in GROUPS[name]) if calls > 4 else ()
    more += ABOUT_ONE if name == "read" and calls > 4 else ()
    return (*more, *(BYTE_BY_BYTE if name == "short" and calls > 5 else ()))
