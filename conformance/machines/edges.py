"""Workloads whose records end at the edge of a page or a sector, or one byte beside it.

Promises: where a session's artifact grows by one byte for each character more, the last record of a workload ends one
byte before, at and one byte behind an edge, so that a tear at the edge leaves a record without its terminator, whole,
or with nothing behind it. Where it does not (a compressed log, no `location`), there are none.

Does not: know any format; it tries three records and looks at the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.clauses import Violation
from conformance.contract import SessionHeader
from conformance.machines.job import Job
from conformance.machines.workloads import Workload, session_name
from conformance.model.history import Returned, SnapshotView
from conformance.model.operations import FILLED_AT, Append, Create, Flush, OpenInstance, Operation, Stat
from conformance.sim.disk.presets import PAGE, SECTOR

WIDTH = 40
"""Characters of text in the records that are tried."""

BESIDE = (-1, 0, 1)
"""Bytes from an edge to the end of the record."""

NAME = session_name(1)
BEGIN: tuple[Operation, ...] = (
    OpenInstance(1),
    Create(1, 1, SessionHeader(id=NAME, created_at=FILLED_AT, cwd="/work")),
)


def plain_event(seq: int, width: int) -> dict[str, Any]:
    """An event whose text has so many characters of one byte each."""
    return {"type": "user/message", "seq": seq, "time": FILLED_AT + seq, "data": {"text": "x" * width}}


def edge_workloads(job: Job) -> Iterator[Workload]:
    """The workloads for the job's backend; none where its artifact does not grow by the byte."""
    sizes = _sizes(job)
    if sizes is None:
        return
    first, second = sizes
    for beside in BESIDE:
        width = WIDTH + PAGE + beside - first
        if width > 0:
            yield Workload((*BEGIN, Append(1, [plain_event(0, width)]), Flush(1)), 3, 2)
        for edge in (PAGE, (second // SECTOR + 1) * SECTOR):
            width = WIDTH + edge + beside - second
            if width > 0:
                added = (Append(1, [plain_event(0, WIDTH)]), Append(1, [plain_event(1, width)]), Flush(1))
                yield Workload((*BEGIN, *added), 4, 2)


def _sizes(job: Job) -> tuple[int, int] | None:
    """The artifact's size with one record and with two of them; None where it does not grow by the byte."""
    if job.backend.location is None:
        return None
    execution = job.begin()
    try:
        found: list[int] = []
        for operation in BEGIN:
            execution.do(operation)
        for seq, width in enumerate((WIDTH, WIDTH, WIDTH + 1)):
            execution.do(Append(1, [plain_event(seq, width)]))
            execution.do(Flush(1))
            execution.do(Stat(1, NAME))
            stat = execution.latest.value if isinstance(execution.latest, Returned) else None
            size = stat.artifact_size if isinstance(stat, SnapshotView) else None
            if size is None:
                return None
            found.append(size)
    except Violation:
        # It breaks a clause without any crash, and other checks tell of it.
        return None
    finally:
        job.end(execution)
    return (found[0], found[1]) if found[2] - found[1] == found[1] - found[0] + 1 else None
