"""The table of hand-written histories with crashes: for each clause right answers, and wrong ones to the same call.

``case(clause, *steps, wrong=...)``: after the steps but the last, the last witnesses the clause, and ``wrong`` breaks
that very clause and no other. The calls are numbered from 0, so that ``crash(lost=(2,))`` took something of the third.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.contract import Capabilities
from conformance.model.history import CrashView, HandleView, Returned
from conformance.model.operations import (
    Append,
    Close,
    Crash,
    Create,
    Flush,
    FlushInstance,
    Inspect,
    OpenSession,
    Operation,
)
from conformance.model.tree import TreeView
from tests.unit.model.cases import case
from tests.unit.model.histories import (
    CONTIGUITY,
    EXISTS,
    NOT_FOUND,
    OWNED,
    Step,
    append,
    close,
    create,
    events,
    flush,
    header,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    up,
)

CORRUPT = "SessionPersistenceCorruptionError"
AT_ONCE = Capabilities(append_durability="append")
EAGER = Capabilities(materialization="eager")


def crash(
    during: Operation | None = None, *, lost: tuple[int, ...] = (), preset: str = "ext4", after: int | None = None
) -> Step:
    """A crash that took something of these calls."""
    return Step(Crash(preset, during, after), Returned(CrashView(lost)))


def kill(during: Operation | None = None, *, lost: tuple[int, ...] = ()) -> Step:
    """The process dies, and what it gave to the disk stays."""
    return crash(during, lost=lost, preset="kill")


def looked(digest: str) -> Step:
    """A look at the files, by which the session's artifact has this digest."""
    return Step(Inspect(["s"]), Returned(TreeView(digests=(("s", digest),))))


def view(step: Step, **fields: Any) -> Step:
    """The same step with something else on the handle it returned."""
    outcome = step.outcome
    if not isinstance(outcome, Returned) or not isinstance(outcome.value, HandleView):
        raise TypeError(f"step={step!r} returns no handle")
    return step.gives(replace(outcome.value, **fields))


TWO = events(0, 2)
THREE = events(0, 3)
GARBLED = [*TWO, *events(2, mark="torn ")]
FUSED = [{**events(1)[0], "seq": 1, "data": "0\x00\x00"}]
# Calls 0 to 3: an instance, a session, two events, a barrier; then call 4: one more event that nothing covers.
COVERED = (up(), create(1), append(1, TWO), flush(1))
GROWN = (*COVERED, append(1, events(2)))
BARE = (up(), create(1), append(1, TWO))
# A look after the crash: instance 2 reads with handle 2, instance 3 with 3.
LOOK = (up(2), opened(2, on=2))
AGAIN = (up(3), opened(3, on=3))
BESIDE = (*COVERED, create(2, "t"), append(2, events(0)))
# What nothing covered is found after a kill by handle 3, whose flush covers it (calls 3 to 7).
TAKEN_OVER = (*BARE, kill(), up(2), owned(2, on=2), read(2, TWO), flush(2))
MORE = Append(1, events(2))

DURABILITY = (
    case("DUR-01", *COVERED, crash(), *LOOK, read(2, TWO), wrong=read(2, events(0))),
    case("DUR-01", *COVERED, crash(), *LOOK, read(2, TWO), wrong=read(2, [*events(0), {**TWO[1],
         "type": "step/start"}])),
    case("DUR-01", *COVERED, crash(), *LOOK, read(2, TWO), wrong=read(2, THREE)),
    case("DUR-01", *COVERED, crash(), up(2), opened(2, on=2), wrong=opened(2, on=2).raises(CORRUPT)),
    case("DUR-01", *COVERED, crash(), up(2), wrong=up(2).raises("OSError")),
    case("DUR-01", *COVERED, crash(), up(2), listed(snap(2, 0), on=2), wrong=listed(on=2).raises(CORRUPT)),
    case("DUR-01", *COVERED, crash(), up(2), listed(snap(2, 0), on=2), wrong=listed(snap(1, 0), on=2)),
    case("DUR-01", *COVERED, crash(MORE, lost=(4,)), *LOOK, read(2, TWO), wrong=read(2, events(0)), located=False),
    case("DUR-01", *COVERED, crash(MORE), *LOOK, read(2, TWO), wrong=read(2, GARBLED), located=False),
    case("DUR-02", *COVERED, crash(), up(2), stat(snap(2, 0), on=2), wrong=stat(None, on=2)),
    case("DUR-02", *COVERED, crash(), up(2), listed(snap(2, 0), on=2), wrong=listed(on=2)),
    case("DUR-02", *COVERED, crash(), up(2), opened(2, on=2), wrong=opened(2, on=2).raises(NOT_FOUND)),
    case("DUR-02", up(), create(1), flush(1), crash(), up(2), create(2, on=2).raises(EXISTS), wrong=create(2, on=2)),
    case("DUR-03", up(), create(1), crash(), up(2), stat(None, on=2), wrong=stat(snap(0, 0), on=2)),
    case("DUR-03", up(), create(1), crash(), up(2), create(2, on=2), wrong=create(2, on=2).raises(EXISTS)),
    case("DUR-03", up(), create(1), crash(), up(2), opened(2, on=2).raises(NOT_FOUND), wrong=opened(2, on=2)),
    case("DUR-03", up(), create(1), crash(), up(2), opened(2, on=2).raises(NOT_FOUND),
         wrong=opened(2, on=2).raises(CORRUPT)),
    case("DUR-03", up(), kill(Create(1, 1, header())), up(2), stat(None, on=2), wrong=stat(snap(0, 0), on=2)),
    case("DUR-04", *COVERED, crash(), up(2), opened(2, on=2), wrong=view(opened(2, on=2), header=header(cwd="/b"))),
    case("DUR-04", *COVERED, crash(), up(2), opened(2, on=2), wrong=view(opened(2, on=2), inherited=3)),
    case("DUR-04", *COVERED, crash(), up(2), stat(snap(2, 0), on=2),
         wrong=stat(replace(snap(2, 0), header=header(created_at=2)), on=2)),
    case("DUR-04", up(), create(1), kill(Flush(1)), up(2), stat(None, on=2), create(2, on=2),
         wrong=create(2, on=2).raises(EXISTS), located=False),
    case("DUR-05", *GROWN, kill(), *LOOK, read(2, THREE), *AGAIN, read(3, THREE), wrong=read(3, TWO)),
    case("DUR-05", *GROWN, kill(), *LOOK, read(2, TWO), *AGAIN, read(3, TWO), wrong=read(3, THREE)),
    case("DUR-05", *GROWN, kill(), *LOOK, read(2, THREE), *AGAIN, read(3, THREE), wrong=read(3, GARBLED)),
    case("DUR-05", *BARE, kill(), *LOOK, read(2, TWO), up(3), stat(snap(2, 0), on=3), wrong=stat(None, on=3)),
    case("DUR-05", *COVERED, kill(), *LOOK, read(2, TWO), *AGAIN,
         wrong=opened(3, on=3).raises(CORRUPT)),
    case("DUR-05", *COVERED, kill(), up(2), stat(snap(2, 0), on=2), opened(2, on=2), stat(snap(2, 0), on=2),
         wrong=stat(snap(2, 1), on=2)),
    case("DUR-05", *COVERED, kill(), up(2), looked("a1"), opened(2, on=2), read(2, TWO), looked("a1"),
         wrong=looked("b2")),
    case("DUR-06", *COVERED, kill(), up(2), crash(OpenSession(2, 2, "s", "write")), up(3), opened(3, on=3), read(3,
         TWO),
         wrong=read(3, [])),
    case("DUR-06", *TAKEN_OVER, kill(), up(3), opened(3, on=3), read(3, TWO), wrong=read(3, events(0))),
    case("DUR-07", *COVERED, kill(), up(2), owned(2, on=2), append(2, events(2)),
         wrong=append(2, events(2)).raises("OSError")),
    case("DUR-07", *COVERED, kill(), up(2), owned(2, on=2), append(2, events(2)), flush(2), *AGAIN, read(3, THREE),
         wrong=read(3, TWO)),
    case("DUR-07", *GROWN, kill(), up(2), owned(2, on=2), read(2, TWO), append(2, events(2, mark="b")), close(2),
         *AGAIN,
         read(3, [*TWO, *events(2, mark="b")]), wrong=read(3, [*TWO, *events(2)]), located=False),
    case("DUR-07", *COVERED, kill(), *LOOK, read(2, TWO), owned(3, on=2), wrong=owned(3, on=2).raises("OSError")),
    case("DUR-08", *BESIDE, crash(lost=(5,)), *LOOK, read(2, TWO), wrong=read(2, events(0))),
    case("DUR-08", *BESIDE, crash(Append(2, events(1))), up(2), stat(snap(2, 0), on=2), wrong=stat(None, on=2)),
    case("DUR-09", *BARE, crash(), *LOOK, read(2, TWO), wrong=read(2, events(0)), capabilities=AT_ONCE),
    case("DUR-09", *BARE, crash(), up(2), stat(snap(2, 0), on=2), wrong=stat(None, on=2), capabilities=AT_ONCE),
    case("DUR-11", *TAKEN_OVER, crash(), up(3), opened(3, on=3), read(3, TWO), wrong=read(3, events(0))),
    case("DUR-11", *TAKEN_OVER, crash(), up(3), opened(3, on=3), wrong=opened(3, on=3).raises(NOT_FOUND)),
    case("OWN-08", *COVERED, kill(), up(2), owned(2, on=2), wrong=owned(2, on=2).raises(OWNED)),
)  # fmt: skip

TORN = (
    case("TORN-01", *COVERED, crash(MORE, lost=(4,)), *LOOK, read(2, TWO), wrong=read(2, events(0))),
    case("TORN-01", *COVERED, crash(MORE), *LOOK, read(2, THREE), wrong=read(2, THREE).raises(CORRUPT)),
    case("TORN-01", *GROWN, crash(lost=(4,)), *LOOK, read(2, TWO), wrong=read(2, [*THREE, *events(3)])),
    case("TORN-01", *GROWN, crash(lost=(4,)), *LOOK, read(2, THREE), wrong=read(2, [*TWO, {"half": 1}])),
    case("TORN-01", *GROWN, crash(lost=(4,)), up(2), opened(2, on=2), wrong=opened(2, on=2).raises(CORRUPT)),
    case("TORN-02", *GROWN, crash(lost=(4,)), up(2), owned(2, on=2), read(2, TWO), append(2, events(2, mark="b")),
         close(2), *AGAIN, read(3, [*TWO, *events(2, mark="b")]), wrong=read(3, TWO)),
    case("TORN-02", *GROWN, crash(lost=(4,)), up(2), owned(2, on=2), read(2, TWO), append(2, events(2)),
         close(2), *AGAIN, read(3, THREE), wrong=read(3, [*TWO, *FUSED])),
    case("TORN-02", *GROWN, crash(lost=(4,)), up(2), owned(2, on=2), append(2, events(2)), close(2), up(3),
         opened(3, on=3), wrong=opened(3, on=3).raises(CORRUPT)),
    case("TORN-03", *GROWN, crash(lost=(4,)), *LOOK, read(2, THREE), wrong=read(2, GARBLED)),
    case("TORN-03", *GROWN, kill(lost=(4,)), *LOOK, read(2, THREE), owned(3, on=2), append(3, events(3)), close(3),
         up(3),
         opened(4, on=3), read(4, events(0, 4)), wrong=read(4, [*TWO, *events(3)])),
    case("TORN-04", up(), create(1), kill(Append(1, TWO)), up(2), stat(None, on=2), create(2, on=2),
         wrong=create(2, on=2).raises(EXISTS)),
    case("TORN-04", up(), create(1), kill(Append(1, TWO)), up(2), stat(None, on=2), opened(2, on=2).raises(NOT_FOUND),
         wrong=opened(2, on=2).raises(CORRUPT)),
    case("TORN-04", up(), create(1), kill(Append(1, TWO)), up(2), stat(None, on=2), create(2, on=2),
         append(2, events(0)), wrong=append(2, events(0)).raises(CONTIGUITY, expected=2, got=0)),
    case("TORN-04", up(), create(1), kill(Append(1, TWO)), up(2), stat(None, on=2), create(2, on=2),
         append(2, events(0)), read(2, events(0)), wrong=read(2, THREE)),
    case("TORN-04", up(), create(1), crash(Flush(1)), up(2), listed(on=2), wrong=listed(on=2).raises(CORRUPT)),
    case("TORN-05", *GROWN, crash(lost=(4,)), *LOOK, read(2, THREE), owned(3, on=2), read(2, THREE), wrong=read(2,
         TWO)),
)  # fmt: skip

CASES = DURABILITY + TORN

ALLOWED: dict[str, tuple[Step, ...]] = {
    "what nothing covered may be gone": (*BARE, crash(lost=(1, 2)), up(2), stat(None, on=2), create(2, on=2)),
    "or there": (*BARE, crash(), up(2), stat(snap(2, 0), on=2)),
    "or there in part": (*BARE, crash(lost=(2,)), up(2), listed(snap(1, 0), on=2), opened(2, on=2), read(2, events(0))),
    "or there without an event": (*BARE, crash(lost=(2,)), *LOOK, read(2, [])),
    "a batch under way may survive in part": (*COVERED, kill(Append(1, events(2, 3))), *LOOK, read(2, events(0, 4))),
    "or not at all": (*COVERED, kill(Append(1, events(2, 3))), *LOOK, read(2, TWO)),
    "of a refused batch under way nothing is there": (*COVERED, kill(Append(1, events(7))), *LOOK, read(2, TWO)),
    "a flush under way may have stored the session": (up(), create(1), kill(Flush(1)), up(2), stat(snap(0, 0), on=2)),
    "or not": (up(), create(1), kill(Flush(1)), up(2), stat(None, on=2)),
    "a service flush too": (up(), create(1), kill(FlushInstance(1)), up(2), listed(snap(0, 0), on=2)),
    "a close under way covers what was appended, or not": (*BARE, crash(Close(1), lost=(2,)), *LOOK, read(2, [])),
    "an eager create under way": (up(), kill(Create(1, 1, header())), up(2), stat(snap(0, 0), on=2)),
    "an eager session may go": (up(), create(1), crash(lost=(1,)), up(2), stat(None, on=2)),
    "an unread log goes on where the append is taken": (
        *GROWN,
        kill(),
        up(2),
        owned(2, on=2),
        append(2, events(2, mark="b")),
        close(2),
        *AGAIN,
        read(3, [*TWO, *events(2, mark="b")]),
    ),
    "or where the refusal says": (
        *GROWN,
        kill(),
        up(2),
        owned(2, on=2),
        append(2, events(2)).raises(CONTIGUITY, expected=3, got=2),
        append(2, events(3)),
        read(2, events(0, 4)),
    ),
    "two batches under way, one chain or either alone": (
        *COVERED,
        kill(Append(1, events(2, 2, mark="a"))),
        up(2),
        owned(2, on=2),
        kill(Append(2, events(3, 2, mark="b"))),
        *AGAIN,
        read(3, [*TWO, *events(2, mark="a"), *events(3, mark="b")]),
    ),
    "the first of them alone": (
        *COVERED,
        kill(Append(1, events(2, 2, mark="a"))),
        up(2),
        owned(2, on=2),
        kill(Append(2, events(3, 2, mark="b"))),
        *AGAIN,
        read(3, [*TWO, *events(2, 2, mark="a")]),
    ),
    "what was recovered and never covered may go in the next crash": (*BARE, kill(), *LOOK, read(2, TWO),
        crash(lost=(2,)), up(3), stat(None, on=3)),
    "a session that a flush covered unread": (*BARE, kill(), up(2), owned(2, on=2), flush(2), read(2, TWO),
        crash(), *AGAIN, read(3, TWO)),
    "a write open may repair the tail": (*GROWN, kill(), up(2), looked("a1"), owned(2, on=2), looked("b2")),
    "a read in pieces": (*GROWN, kill(), *LOOK, read(2, events(1), 1, 1), read(2, events(1, 2), 1, 5), read(2, THREE)),
    "a clean close, then an ordinary life": (*GROWN, kill(), up(2), owned(2, on=2), read(2, THREE), append(2,
         events(3)),
        close(2), *AGAIN, read(3, events(0, 4)), owned(4, on=3), append(4, events(4)), close(4)),
    "an id denied and made anew": (up(), create(1), kill(Flush(1)), up(2), create(2, on=2), append(2, TWO), close(2),
        up(3), opened(3, on=3), read(3, TWO)),
    "an id that create found": (up(), create(1), kill(Flush(1)), up(2), create(2, on=2).raises(EXISTS),
        stat(snap(0, 0), on=2)),
    "an eager id that is refused for what it is": (up(), kill(Create(1, 1, header("s/" * 200))), up(2),
        create(2, "s/" * 200, on=2).raises("ValueError"), listed(on=2), stat(None, "s/" * 200, on=2)),
    "three crashes": (*COVERED, kill(), *LOOK, read(2, TWO), kill(), up(3), owned(3, on=3), append(3, events(2)),
        close(3), crash(), up(4), opened(4, on=4), read(4, THREE)),
}  # fmt: skip
