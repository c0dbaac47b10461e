"""What a mishap is made of: which calls are likely to meet a fault, what comes before it, and what makes up for it.

Tables alone, from which the fault machine (``machines.failing``) draws. Their order is the order in which choices
shrink, and what tells more comes more than once.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.machines.fault_modes import ABOUT_ONE, GROUPS, Mode

MEETS: Mapping[str, tuple[str, ...]] = {
    "sync": ("append", "flush", "append", "close", "service flush", "service close", "new session"),
    "write": ("append", "flush", "append", "close", "service flush", "service close", "new session"),
    "short": ("append", "append", "flush", "close", "new session"),
    "names": ("new session", "append", "own", "open", "close", "look"),
    "read": ("look", "read", "open", "own"),
}
"""Group of faults -> the calls that are likely to meet one of it, the likelier ones more than once."""

UNTIL_IT_COMES = ("append", "flush", "new session", "look", "close", "own", "read")
"""What is called where nothing has met the fault yet."""

NTH = (1, 2, 1, 3, 1, 2, 1, 5)
"""Which call is met; mostly one that comes soon."""

BEFORE = ("covered", "appended", "nothing", "reopened")
"""How a session is brought to a mishap."""

AFTER = (
    *("again", "lose everything", "neighbour", "again", "other batch", "kill", "elsewhere", "end"),
    *("again", "lose everything", "lose power", "flush", "close", "beside"),
)
"""What comes when storage works again."""

BESIDE = ("append", "first closes", "append", "again", "flush", "close")
"""What two owners of one session do, where nobody keeps them apart."""

FIRST = {
    "sync": ("lose everything", "again", "kill"),
    "write": ("kill", "other batch", "again", "kill", "beside"),
    "short": ("again", "kill"),
}
"""What shows best what a fault of that group did, as long as nothing else came; every other time it comes first."""

DRAWN = ("sync", "sync", "read", *MEETS, "short", "write")
"""The groups of faults, those that show least by themselves more than once."""

MODES: Mapping[str, tuple[Mode, ...]] = {
    **GROUPS,
    "write": (
        *GROUPS["write"],
        Mode(("write",), "EIO", "landed"),
        Mode(("write", "truncate", "sync", "unlink"), "EIO"),
    ),
    "short": (*GROUPS["short"], *(mode for mode in GROUPS["short"] if mode.place == "record")),
    "read": (*GROUPS["read"], *GROUPS["read"], Mode(("open",), "EBUSY"), *ABOUT_ONE),
}
"""Group of faults -> what is drawn of it; where a mode is about one session it is that of the mishap."""
