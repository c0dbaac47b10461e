"""The class of cause of a failing crash state: one word that says where to look.

Promises: exactly one of `CAUSES`, read off what the crash took and what the files then hold. The classes are the
field's own: what reports call a NUL tail or a lost rename.

Does not: judge; a class is told beside the clause, never in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from conformance.clauses import Violation
from conformance.sim.disk import ops
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import State
from conformance.sim.disk.trace import Trace

Cause = Literal[
    "NUL tail",
    "torn record",
    "fused record",
    "lost rename",
    "zero-length replacement",
    "missing entry",
    "reordered files",
    "stranded buffer",
    "none of these",
]

FUSING = "TORN-02"
"""The clause about what the first append after recovery meets."""


LOSSES = ("DUR-01", "DUR-02", "DUR-04", "DUR-08", "DUR-09", "DUR-11")
"""Clauses about something that is not there."""


def cause_of(
    trace: Trace,
    following: ops.DiskOp | None,
    preset: str,
    state: State,
    violation: Violation,
    *,
    covered: bool,
) -> Cause:
    """The class of a failing state.

    Args:
        trace: up to the crash. following: what would have been done next, or None.
        covered: the crash took something that a barrier had covered.
    """
    if violation.clause == FUSING and not covered:
        return "fused record"
    lost = [trace.ops[effect[0]] for effect in state.lost if 0 <= effect[0] < len(trace.ops)]
    if not lost and state.tear is None:
        return _of_nothing_lost(trace, following, preset, state, violation)
    entries = [op for op in lost if isinstance(op, ops.Create | ops.Mkdir | ops.Link | ops.Symlink | ops.Rename)]
    contents = [op for op in lost if isinstance(op, ops.Write | ops.Truncate | ops.Fallocate)]
    if any(isinstance(op, ops.Rename) for op in entries):
        return "lost rename"
    if entries:
        return "missing entry"
    if _emptied(state, contents) or _named_too_soon(trace, state):
        return "zero-length replacement"
    if _has_nul(trace, state):
        return "NUL tail"
    if covered and _later_elsewhere(trace, state, contents):
        return "reordered files"
    return "torn record"


def _of_nothing_lost(
    trace: Trace, following: ops.DiskOp | None, preset: str, state: State, violation: Violation
) -> Cause:
    """Everything that was written is there: the call was cut short, or the bytes never left the process."""
    latest = next((op for op in reversed(trace.ops) if isinstance(op, ops.Change)), None)
    if isinstance(trace.ops[-1], ops.Marker) and not PRESETS[preset].is_power_loss:
        # Nothing was lost and no call was cut short: what is missing was never written.
        return "stranded buffer" if violation.clause in LOSSES else "none of these"
    filled = following.replaced if isinstance(following, ops.Rename) else getattr(following, "ino", None)
    paths = [path for path, ino in state.tree.inodes.items() if ino == filled]
    if any(not state.tree.files.get(path, b"x") for path in paths):
        return "zero-length replacement"
    if isinstance(following, ops.Write) and isinstance(latest, ops.Write | ops.Rename) and latest.ino != following.ino:
        return "reordered files"
    return "torn record" if isinstance(latest, ops.Write | ops.Truncate) else "missing entry"


def _emptied(state: State, contents: Iterable[ops.DiskOp]) -> bool:
    """Whether a file that has its name lost its content to the last byte."""
    emptied = {ino for path, ino in state.tree.inodes.items() if not state.tree.files.get(path, b"x").strip(b"\0")}
    return any(getattr(op, "ino", None) in emptied for op in contents)


def _named_too_soon(trace: Trace, state: State) -> bool:
    """Whether content was lost that had been written before the file got its name."""
    named = {op.ino: index for index, op in enumerate(trace.ops) if isinstance(op, ops.Rename | ops.Link)}
    return any(
        effect[1] != "entry" and effect[0] < named.get(getattr(trace.ops[effect[0]], "ino", -1), -1)
        for effect in state.lost
        if 0 <= effect[0] < len(trace.ops)
    )


def _has_nul(trace: Trace, state: State) -> bool:
    """Whether a file holds NUL where readers saw other bytes."""
    live = trace.image.tree()
    by_inode = {ino: live.files[path] for path, ino in live.inodes.items() if path in live.files}
    for path, data in state.tree.files.items():
        seen = by_inode.get(state.tree.inodes.get(path, -1))
        if seen is not None and any(mine == 0 and other != 0 for mine, other in zip(data, seen, strict=False)):
            return True
    return False


def _later_elsewhere(trace: Trace, state: State, contents: Iterable[ops.DiskOp]) -> bool:
    """Whether a later write to another file survived what an earlier one did not."""
    gone = {effect[0] for effect in state.lost}
    first = min((effect[0] for effect in state.lost), default=0)
    files = {getattr(op, "ino", None) for op in contents}
    return any(
        isinstance(op, ops.Write) and index > first and index not in gone and op.ino not in files
        for index, op in enumerate(trace.ops)
    )
