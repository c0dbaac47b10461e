"""The table of hand-written histories: for each built clause at least one right and one wrong answer to the same call.

``Case(clause, steps, right, wrong)``: after ``steps`` the answer ``right`` witnesses the clause, and ``wrong`` breaks
that very clause and no other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.contract import Capabilities
from conformance.model.history import HandleView, Returned
from tests.unit.model.cases import Case, case
from tests.unit.model.cost_histories import appends, opens, reads, stats, used
from tests.unit.model.histories import (
    CLOSED,
    CONTIGUITY,
    EXISTS,
    LOST,
    NOT_FOUND,
    OWNED,
    READ_ONLY,
    Step,
    append,
    close,
    create,
    discard,
    down,
    events,
    flush,
    group,
    header,
    leave,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    sweep,
    up,
)
from tests.unit.model.value_cases import ROWS

MEMORY = Capabilities(durability="none", storage="memory")
EAGER = Capabilities(materialization="eager")


def _view(step: Step, **fields: Any) -> Step:
    """The same step with something else on the handle it returned."""
    outcome = step.outcome
    if not isinstance(outcome, Returned) or not isinstance(outcome.value, HandleView):
        raise TypeError(f"step={step!r} returns no handle")
    return step.gives(replace(outcome.value, **fields))


ALONE = (up(), create(1))
WRITTEN = (*ALONE, append(1, events(0, 2)))
CLOSED_ONCE = (*WRITTEN, close(1))
READ_BACK = (*WRITTEN, read(1, events(0, 2)))
FLUSHED = (*WRITTEN, flush(1), up(2))
RIVALS = (up(), up(2), create(1), create(2, on=2), append(1, events(0)), flush(1))
OVERTAKEN = (*FLUSHED, owned(2, on=2), append(2, events(2)), flush(2))
TWICE = events(0, 2)
ONE_LOST = events(0)
CHANGED = [*events(0), *events(1, mark="changed ")]

SERVICE = (
    case("SVC-01", up(), create(1), wrong=_view(create(1), access="read")),
    case("SVC-01", up(), create(1, cwd="/a"), wrong=_view(create(1, cwd="/a"), header=header())),
    case("SVC-01", *CLOSED_ONCE, opened(2), wrong=_view(opened(2), header=header(is_seeded=1))),
    case("SVC-02", *ALONE, create(2).raises(EXISTS), wrong=create(2)),
    case("SVC-02", *CLOSED_ONCE, create(2).raises(EXISTS), wrong=create(2).raises(OWNED)),
    case(
        "SVC-02", *CLOSED_ONCE, create(2).raises(EXISTS), opened(3), read(3, TWICE), wrong=read(3, [*TWICE, *events(2)])
    ),
    case("SVC-04", up(), opened(1).raises(NOT_FOUND), wrong=opened(1)),
    case("SVC-04", up(), owned(1).raises(NOT_FOUND), wrong=owned(1).raises("KeyError")),
    case("SVC-05", up(), stat(None), wrong=stat(snap(0, 0))),
    case("SVC-05", *READ_BACK, stat(snap(2, 0)), read(1, TWICE), wrong=read(1, CHANGED)),
    case("SVC-06", *WRITTEN, listed(snap(2, 0)), wrong=listed(snap(2, 0), snap(2, 0))),
    case("SVC-06", *WRITTEN, stat(snap(2, 0)), listed(snap(2, 0)), wrong=listed()),
    case("SVC-06", *WRITTEN, listed(snap(2, 0)), wrong=listed(snap(2, 0), snap(0, 1, "other"))),
    case("SVC-08", up(), create(1, version=2).raises("ValueError"), wrong=create(1, version=2)),
    case("SVC-08", up(), create(1, "").raises("TypeError"), wrong=create(1, "").raises(EXISTS)),
    case("SVC-08", up(), create(1, created_at=True).raises("TypeError"), stat(None), wrong=stat(snap(0, 0))),
    case("SVC-09", up(), create(1, inherited=0).raises("ValueError"), wrong=create(1, inherited=0)),
    case(
        "SVC-09",
        up(),
        create(1, is_seeded=True, inherited=2),
        wrong=_view(create(1, is_seeded=True, inherited=2), inherited=None),
    ),
    case("SVC-11", *READ_BACK, close(1), owned(2), close(2), opened(3), read(3, TWICE), wrong=read(3, [])),
    case("SVC-11", *READ_BACK, flush(1), listed(snap(2, 0)), read(1, TWICE), wrong=read(1, ONE_LOST)),
    case("SVC-11", up(), create(1), flush(1), close(1), stat(snap(0, 0)), wrong=stat(None), capabilities=MEMORY),
    case("SVC-12", *RIVALS, append(2, events(0)).raises(EXISTS), wrong=append(2, events(0))),
    case(
        "SVC-12",
        *RIVALS,
        append(2, [{**events(0)[0], "data": 1 << 70}]).raises("ValueError"),
        append(2, events(0)).raises(EXISTS),
        wrong=append(2, events(0)),
    ),
    case("SVC-12", *RIVALS, flush(2).raises(OWNED), wrong=flush(2).raises("OSError")),
    case("SVC-12", *RIVALS, flush(2).raises(OWNED), read(1, events(0)), wrong=read(1, TWICE)),
    case("SVC-13", up(), stat(None), create(1), wrong=create(1).raises(EXISTS)),
    case("SVC-13", *ALONE, close(1), stat(None), opened(2).raises(NOT_FOUND), wrong=opened(2), capabilities=EAGER),
)

OWNERSHIP = (
    case("OWN-01", *ALONE, owned(2).raises(OWNED), wrong=owned(2)),
    case("OWN-01", *CLOSED_ONCE, owned(2), owned(3).raises(OWNED), wrong=owned(3).hangs()),
    case("OWN-02", *CLOSED_ONCE, owned(2), wrong=owned(2).raises(OWNED)),
    case("OWN-02", *CLOSED_ONCE, owned(2), append(2, events(2)), wrong=append(2, events(2)).raises(CONTIGUITY)),
    case(
        "OWN-02",
        *FLUSHED,
        close(1),
        owned(2, on=2),
        append(2, events(2)),
        close(2),
        owned(3),
        append(3, events(2, mark="again ")).raises(CONTIGUITY, expected=3, got=2),
        wrong=append(3, events(2, mark="again ")),
    ),
    case("OWN-03", *ALONE, opened(2), wrong=opened(2).raises(OWNED)),
    case("OWN-03", *CLOSED_ONCE, opened(2), owned(3), wrong=owned(3).raises(OWNED)),
    case("OWN-03", *WRITTEN, opened(2), close(2), append(1, events(2)), wrong=append(1, events(2)).raises(LOST)),
    case("OWN-03", *WRITTEN, opened(2), close(2), wrong=close(2).raises("OSError")),
    case("OWN-04", up(), owned(1).raises(NOT_FOUND), create(1), wrong=create(1).raises(EXISTS)),
    case("OWN-04", *WRITTEN, owned(2).raises(OWNED), close(1), owned(3), wrong=owned(3).raises(OWNED)),
    case("OWN-04", up(), *[create(1, version=2).raises("ValueError")] * 2, wrong=create(1, version=2).raises(EXISTS)),
    case("OWN-06", *WRITTEN, opened(2), append(2, []).raises(READ_ONLY), wrong=append(2, [])),
    case("OWN-06", *WRITTEN, opened(2), flush(2).raises(READ_ONLY), wrong=flush(2)),
    case(
        "OWN-06",
        *WRITTEN,
        opened(2),
        append(2, events(2)).raises(READ_ONLY),
        read(2, TWICE),
        wrong=read(2, events(0, 3)),
    ),
    case("OWN-11", *WRITTEN, append(1, events(2)), wrong=append(1, events(2)).raises(LOST)),
    case("OWN-11", *WRITTEN, flush(1), wrong=flush(1).raises(OWNED)),
    case("OWN-12", *CLOSED_ONCE, owned(2), close(1), append(2, events(2)), wrong=append(2, events(2)).raises(LOST)),
    case("OWN-12", *CLOSED_ONCE, owned(2), discard(1), owned(3).raises(OWNED), wrong=owned(3)),
    case("OWN-14", *OVERTAKEN, append(1, events(2)).raises(CONTIGUITY, expected=3, got=2), wrong=append(1, events(2))),
    case("OWN-14", *OVERTAKEN, append(1, events(3)).raises(LOST), wrong=append(1, events(3))),
    case("OWN-14", *OVERTAKEN, append(1, events(2)).raises(LOST), read(2, events(0, 3)), wrong=read(2, events(0, 4))),
)

_AT_2: dict[str, Any] = {"expected": 2, "got": 3}

APPENDING = (
    case("SEQ-01", *ALONE, append(1, events(0)), wrong=append(1, events(0)).raises(CONTIGUITY)),
    case("SEQ-01", *WRITTEN, read(1, TWICE), wrong=read(1, [*events(0), {**events(1)[0], "type": "step/start"}])),
    case("SEQ-01", *WRITTEN, read(1, TWICE), wrong=read(1, events(0, 3))),
    case("SEQ-02", *WRITTEN, append(1, events(3)).raises(CONTIGUITY, **_AT_2), wrong=append(1, events(3))),
    case(
        "SEQ-02",
        *WRITTEN,
        append(1, events(3)).raises(CONTIGUITY, **_AT_2),
        wrong=append(1, events(3)).raises(CONTIGUITY, expected=3, got=2),
    ),
    case(
        "SEQ-02",
        *WRITTEN,
        append(1, [*events(2), *events(4)]).raises(CONTIGUITY, expected=3, got=4),
        read(1, TWICE),
        wrong=read(1, events(0, 3)),
    ),
    case("SEQ-03", *ALONE, append(1, []), wrong=append(1, []).raises("ValueError")),
    case("SEQ-03", *ALONE, append(1, []), up(2), stat(None, on=2), wrong=stat(snap(0, 0), on=2)),
    case("SEQ-03", *ALONE, append(1, []), close(1), stat(None), wrong=stat(snap(0, 0)), capabilities=MEMORY),
    case("SEQ-03", *WRITTEN, stat(snap(2, 0)), append(1, []), stat(snap(2, 0)), wrong=stat(snap(2, 1))),
    case("SEQ-04", *WRITTEN, opened(2), read(1, TWICE), read(2, TWICE), wrong=read(2, CHANGED)),
    case("SEQ-06", *ALONE, append(1, TWICE, scribble=True), read(1, TWICE), wrong=read(1, CHANGED)),
    case("SEQ-06", *ALONE, append(1, TWICE, scribble=True), wrong=append(1, TWICE, scribble=True).raises("TypeError")),
    case("SEQ-07", *WRITTEN, read(1, TWICE, scribble=True), read(1, TWICE), wrong=read(1, CHANGED)),
    case(
        "SEQ-09",
        *WRITTEN,
        append(1, events(9)).raises(CONTIGUITY, expected=2, got=9),
        append(1, events(2)),
        wrong=append(1, events(2)).raises(CONTIGUITY, expected=10, got=2),
    ),
    case(
        "SEQ-09",
        *WRITTEN,
        create(2, "t"),
        append(1, []),
        append(1, "x").raises("TypeError"),
        append(2, events(0)),
        wrong=append(2, events(0)).raises("TimeoutError"),
    ),
    case("SEQ-11", *WRITTEN, append(1, (1,)).raises("TypeError"), wrong=append(1, (1,))),
    case(
        "SEQ-11",
        *WRITTEN,
        append(1, [{**events(2)[0], "time": True}]).raises("ValueError"),
        wrong=append(1, [{**events(2)[0], "time": True}]),
    ),
    case(
        "SEQ-11", *WRITTEN, append(1, [*events(2), 5]).raises("ValueError"), read(1, TWICE), wrong=read(1, events(0, 3))
    ),
)

READING = (
    case("READ-01", *READ_BACK, read(1, events(1), 1, 1), wrong=read(1, events(0), 1, 1)),
    case("READ-01", *READ_BACK, read(1, [], 2), wrong=read(1, events(1), 2)),
    case("READ-01", *READ_BACK, read(1, [], 2), wrong=read(1, [], 2).raises("IndexError")),
    case("READ-01", *READ_BACK, read(1, events(0), 0, 1), wrong=read(1, TWICE, 0, 1)),
    case("READ-02", *WRITTEN, read(1, [], -1).raises("ValueError"), wrong=read(1, events(1), -1)),
    case("READ-02", *CLOSED_ONCE, read(1, [], -1).raises(CLOSED), wrong=read(1, [], -1).raises("ValueError")),
    case("READ-03", *READ_BACK, read(1, TWICE), wrong=read(1, ONE_LOST)),
    case("READ-03", *READ_BACK, read(1, TWICE), wrong=read(1, CHANGED)),
    case("READ-04", *WRITTEN, read(1, TWICE), wrong=read(1, ONE_LOST)),
    case("FRESH-01", *WRITTEN, opened(2), read(2, TWICE), wrong=read(2, ONE_LOST)),
    case("FRESH-01", *ALONE, opened(2), append(1, TWICE), read(1, TWICE), read(2, TWICE), wrong=read(2, [])),
    case("FRESH-02", *WRITTEN, stat(snap(2, 0)), wrong=stat(None)),
    case("FRESH-02", *WRITTEN, stat(snap(2, 0)), append(1, events(2)), listed(snap(3, 1)), wrong=listed(snap(2, 0))),
    case("FRESH-04", *FLUSHED, opened(2, on=2), read(2, TWICE), wrong=read(2, [])),
    case("FRESH-04", *FLUSHED, stat(snap(2, 0), on=2), wrong=stat(None, on=2)),
    case("FRESH-04", *FLUSHED, opened(2, on=2), read(2, TWICE), append(1, events(2)), close(1), read(2, events(0, 3)),
         wrong=read(2, TWICE)),
    case("REV-01", *WRITTEN, stat(snap(2, 0)), listed(snap(2, 0)), wrong=listed(snap(2, 1))),
    case("REV-02", *WRITTEN, stat(snap(2, 0)), append(1, events(2)), stat(snap(3, 1)), wrong=stat(snap(3, 0))),
    case("REV-03", *CLOSED_ONCE, stat(snap(2, 0)), owned(2), stat(snap(2, 0)), wrong=stat(snap(2, 1))),
    case("REV-03", *READ_BACK, stat(snap(2, 0)), read(1, TWICE), stat(snap(2, 0)), wrong=stat(snap(2, 1))),
    case("REV-04", *FLUSHED, stat(snap(2, 0), on=2), append(1, events(2)), flush(1), stat(snap(3, 1), on=2),
         wrong=stat(snap(3, 0), on=2)),
    case("REV-04", *ALONE, stat(snap(0, 0)), append(1, events(0)), stat(snap(1, 1)), append(1, events(1)),
         stat(snap(2, 2)), wrong=stat(snap(2, 0))),
    case("REV-05", *WRITTEN, stat(snap(2, 0)), wrong=stat(snap(3, 0))),
    case("REV-05", *WRITTEN, stat(snap(None, 0, size_bytes=7, artifact_size=7)),
         wrong=stat(snap(None, 0, size_bytes=8, artifact_size=7))),
)  # fmt: skip

LIFETIME = (
    case("MAT-01", *ALONE, stat(snap(0, 0)), wrong=stat(None)),
    case("MAT-01", *ALONE, listed(snap(0, 0)), wrong=listed()),
    case("MAT-01", *ALONE, opened(2), read(2, []), wrong=read(2, []).raises(NOT_FOUND)),
    case("MAT-02", *ALONE, up(2), stat(None, on=2), wrong=stat(snap(0, 0), on=2)),
    case("MAT-02", *ALONE, up(2), listed(on=2), wrong=listed(snap(0, 0), on=2)),
    case("MAT-02", *ALONE, up(2), opened(2, on=2).raises(NOT_FOUND), wrong=opened(2, on=2)),
    case("MAT-03", *ALONE, close(1), stat(None), wrong=stat(snap(0, 0))),
    case("MAT-03", *ALONE, close(1), create(2), wrong=create(2).raises(EXISTS)),
    case("MAT-03", *ALONE, append(1, events(1)).raises(CONTIGUITY, expected=0, got=1), close(1), listed(),
         wrong=listed(snap(0, 0))),
    case("MAT-04", *ALONE, flush(1), up(2), stat(snap(0, 0), on=2), wrong=stat(None, on=2)),
    case("MAT-04", *ALONE, flush(1), wrong=flush(1).raises("OSError")),
    case("MAT-05", *CLOSED_ONCE, up(2), stat(snap(2, 0), on=2), wrong=stat(None, on=2)),
    case("MAT-05", *CLOSED_ONCE, up(2), opened(2, on=2), read(2, TWICE), wrong=read(2, ONE_LOST)),
    case("CLOSE-01", *CLOSED_ONCE, close(1), wrong=close(1).raises(CLOSED)),
    case("CLOSE-02", *CLOSED_ONCE, append(1, None).raises(CLOSED), wrong=append(1, None).raises("TypeError")),
    case("CLOSE-02", *WRITTEN, opened(2), close(2), flush(2).raises(CLOSED), wrong=flush(2).raises(READ_ONLY)),
    case("CLOSE-03", *CLOSED_ONCE, opened(2), read(2, TWICE), wrong=read(2, ONE_LOST)),
    case("CLOSE-03", *WRITTEN, up(2), close(1), opened(2, on=2), wrong=opened(2, on=2).raises(NOT_FOUND)),
    case("CLOSE-05", *WRITTEN, leave(1, raising=True), wrong=replace(leave(1, raising=True), outcome=flush(1).outcome)),
    case("CLOSE-05", *WRITTEN, leave(1), append(1, events(2)).raises(CLOSED), wrong=append(1, events(2))),
    case("CLOSE-07", *WRITTEN, down(), read(1, []).raises(CLOSED), wrong=read(1, TWICE)),
    case("CLOSE-07", *WRITTEN, up(2), down(), stat(snap(2, 0), on=2), wrong=stat(None, on=2)),
    case("CLOSE-08", up(), down(), stat(None).raises("RuntimeError"), wrong=stat(None)),
    case("CLOSE-08", up(), down(), listed().raises("RuntimeError"), wrong=listed().hangs()),
    case("CLOSE-08", up(), down(), down(), wrong=down().raises("RuntimeError")),
    case("FLUSH-01", *WRITTEN, sweep(), wrong=sweep().raises("OSError")),
    case("FLUSH-01", *WRITTEN, sweep(), up(2), opened(2, on=2), read(2, TWICE), wrong=read(2, [])),
    case("FLUSH-01", *ALONE, sweep(), close(1), stat(snap(0, 0)), wrong=stat(None), capabilities=MEMORY),
    case("FLUSH-02", *RIVALS, sweep(2).raises("ExceptionGroup", **group("s")), wrong=sweep(2)),
    case("FLUSH-02", *RIVALS, sweep(2).raises("ExceptionGroup", **group("s")),
         wrong=sweep(2).raises("ExceptionGroup", **group("t"))),
    case("FLUSH-02", *RIVALS, create(3, "t", on=2), sweep(2).raises("ExceptionGroup", **group("s")),
         stat(snap(0, 0, "t"), "t"), wrong=stat(None, "t")),
    case("FLUSH-04", *WRITTEN, opened(2), sweep(), read(2, TWICE), wrong=read(2, TWICE).raises(CLOSED)),
)  # fmt: skip

COST = (
    case("SEQ-10", *appends(used(200)), used(1_600), wrong=used(160_000)),
    case("SEQ-10", *appends(used(0, allocated=900)), used(0, allocated=8_000), wrong=used(0, allocated=160_000),
         capabilities=MEMORY),
    case("SVC-10", *stats(used(1_000)), used(2_000), wrong=used(50_000)),
    case("SVC-10", *opens(used(100, 6)), used(100, 12), wrong=used(100, 200)),
    case("READ-05", *reads(used(900, peak=4_000)), used(9_000, peak=5_000), wrong=used(9_000, peak=9_000_000)),
)  # fmt: skip

VALUES = tuple(Case(*each) for each in ROWS)

CASES = VALUES + SERVICE + OWNERSHIP + APPENDING + READING + LIFETIME + COST
