"""What a clause or a scenario needs before it can be exercised at all: a closed list.

A need names something the backend, the route to it or the machine must offer. Whether it is there is decided by
the table in ``conformance.clauses.applicability`` alone. A clause lists only what it cannot do without: where a part of
it needs more, that part is left out on backends without it, and the clause's ``reading`` says so.
"""

from __future__ import annotations

from enum import StrEnum


class Need(StrEnum):
    """One thing that must be there; the value is its name in reports, ``meaning`` one sentence for readers."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Need:
        """Make a member that is its own name and carries its meaning; ``Need("fresh")`` looks one up."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    FRESH = "fresh", "A second instance over the same storage, as another process would open it."
    CRASH = "crash", "An instance that ends without warning, and the storage a crash of the claimed kind leaves."
    FILES = "files", "Files under the root, whose names and modes the kit may look at."
    LOCATION = "location", "The one artifact of a session on disk, told by the backend or known to the kit."
    FAULTS = "faults", "Storage calls that the kit can make fail."
    DAMAGE = "damage", "Stored bytes that the kit may change, cut, replace or remove behind the backend's back."
    CANCEL = "cancel", "A call that is cancelled at a chosen point inside it."
    CALLER_MEMORY = "caller-memory", "Arguments and results that caller and backend share as objects."
    PYTHON_VALUES = "python-values", "What only Python can express: NaN, bytes, sets, cycles, an ``async with`` block."
    IO_COUNT = (
        "io-count",
        "A count of what the backend uses: bytes read and written, memory, descriptors, tasks, threads.",
    )
    CLOCK = "clock", "Time that the kit moves, so that a deadline is met exactly and never waited for."
    SECOND_PROCESS = "second-process", "Another operating-system process over the same storage, which can be killed."
    CRAFTED_FORMAT = (
        "crafted-format",
        "A stored artifact of another format version, made by the backend's ``craft`` or the kit.",
    )
    STORE = "store", "The ``store`` seam: a session store with turns (S0)."
    ENTRIES = "entries", "The ``entries`` seam: the parent-linked log of entries."
    STORAGE_KEY = "storage-key", "The ``storage_key`` seam: the function that makes storage keys."
    SESSION_ID = "session-id", "The ``session_id_for`` seam: the function that resolves a request to a session id."
    LIVE = "live", "The ``live`` seam: the subscription to the session hub."
    RESUME = "resume", "The ``resume`` seam: closing an interrupted turn."
