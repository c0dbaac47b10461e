"""Workloads whose records end at the edge of a page or a sector, or one byte beside it, and one batch over many pages.

Promises: where a session's artifact grows by one byte for each character more, a record of the last batch ends one
byte before, at and one byte behind an edge, so that a tear at the edge leaves a record without its terminator, whole,
or with nothing behind it; it is the last one, or one more follows that lies behind the edge as a whole. Where the
artifact does not (a compressed log, no `location`), there are none of these. The wide batch is for every backend: it
covers so many pages, compressed too, that one in the middle of it may be missing.

Does not: know any format; it tries three records and looks at the sizes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from conformance.clauses import Violation
from conformance.contract import SessionHeader
from conformance.machines.job import Job
from conformance.machines.workloads import Workload, session_name, sweep_event
from conformance.model.history import Returned, SnapshotView
from conformance.model.operations import FILLED_AT, Append, Create, Flush, OpenInstance, Operation, Stat
from conformance.sim.disk.presets import PAGE, SECTOR

WIDTH = 40
"""Characters of text in the records that are tried."""

BESIDE = (-1, 0, 1)
"""Bytes from an edge to the end of the record."""

MANY_PAGES = 18_000
"""Hexadecimal digits of the wide event: three pages however well they are compressed, and five as they are."""

NEVER = 1_000
"""What a workload counts for that has too many states to be gone on with from each of them."""

NAME = session_name(1)
BEGIN: tuple[Operation, ...] = (
    OpenInstance(1),
    Create(1, 1, SessionHeader(id=NAME, created_at=FILLED_AT, cwd="/work")),
)


def plain_event(seq: int, width: int) -> dict[str, Any]:
    """An event whose text has so many characters of one byte each."""
    return {"type": "user/message", "seq": seq, "time": FILLED_AT + seq, "data": {"text": "x" * width}}


def wide_workload() -> Workload:
    """A batch of a wide record and a small one behind another batch, which a barrier covers."""
    digits = hashlib.shake_128(NAME.encode()).hexdigest(MANY_PAGES // 2)
    wide = [{**sweep_event(NAME, 1), "data": {"text": digits}}, sweep_event(NAME, 2)]
    return Workload((*BEGIN, Append(1, [sweep_event(NAME, 0)]), Flush(1), Append(1, wide)), 4, counts_for=NEVER)


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
        width = WIDTH + PAGE + beside - second
        if width > 0:
            batch = [plain_event(1, width), plain_event(2, WIDTH)]
            yield Workload((*BEGIN, Append(1, [plain_event(0, WIDTH)]), Flush(1), Append(1, batch)), 4, counts_for=3)


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
