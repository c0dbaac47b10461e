"""One fault of the storage as a line of a timeline."""

from __future__ import annotations

from conformance.model.operations import Fail

_PLACES = {
    "page": "the edge of a page",
    "record": "the end of a line",
    "character": "the inside of a character",
    "middle": "its middle",
    "byte": "a byte",
}
"""What the places of short writes are called."""


def fault_text(fail: Fail) -> str:
    """One fault as a mark in a timeline: ``---- storage fails: the 2nd write meets ENOSPC``."""
    where = "directory" if fail.around else "artifact"
    about = f" in the {where} of {fail.session!r:.60}" if fail.session else ""
    which = f"call {fail.nth} of {' or '.join(fail.calls)}{about}"
    later = ", and every one after it" if fail.sticky else ""
    if fail.how == "short":
        met = f", and the next meets {fail.error}" if fail.error else ""
        if fail.place:
            where = f"{_PLACES.get(fail.place, fail.place)}, number {fail.nth}"
            return f"---- storage fails: a write ends at {where}{met}{later}"
        return f"---- storage fails: {which} takes {fail.taken:,} bytes at most{met}{later}"
    met = f"is done and reports {fail.error}" if fail.how == "landed" else f"meets {fail.error}"
    return f"---- storage fails: {which} {met}{later}"
