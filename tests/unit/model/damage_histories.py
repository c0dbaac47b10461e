"""The table of hand-written histories with damage: for each clause right answers, and wrong ones to the same call.

``case(clause, *steps, wrong=...)`` as in ``crash_histories``. The artifact of the session that they tell of holds a
header in its first 10 bytes, and three batches of one event in 10 bytes each, every one of them flushed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.contract import Capabilities
from conformance.model.history import DamageView, Returned
from conformance.model.operations import Damage, Inspect
from conformance.model.tree import TreeView
from tests.unit.model.cases import Case
from tests.unit.model.crash_histories import CORRUPT, view
from tests.unit.model.histories import (
    EXISTS,
    LOST,
    NOT_FOUND,
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

SURE = Capabilities(checksums=True, durability="power-loss")
PLAIN = Capabilities(durability="power-loss")
KILLED = Capabilities(durability="process-kill")
UNSUPPORTED = "SessionFormatUnsupportedError"
PATH = "s/log"


def case(clause: str, *steps: Step, wrong: Step, capabilities: Capabilities = PLAIN) -> Case:
    """The last step is the right answer; ``wrong`` is the wrong one to the same call."""
    return Case(clause, steps[:-1], steps[-1], wrong, capabilities)


# Calls 0 to 8: an instance, a session, its header flushed, and three batches, each flushed; call 9 is the close.
OPEN = (up(), create(1), flush(1), *(step for seq in range(3) for step in (append(1, events(seq)), flush(1))))
STORED = (*OPEN, close(1))
EDGES = ((2, 10), (3, 20), (5, 30), (7, 40))
NEIGHBOUR = (create(9, "t"), append(9, events(0)), close(9))
THREE, TWO = events(0, 3), events(0, 2)


def damaged(how: str, low: int = 0, high: int = 40, *, after: int | None = 40, torn: str = "", **fields: Any) -> Step:
    """Damage that hit these bytes, and what it came to; fields of the view, and of the operation."""
    of_view = {key: fields.pop(key) for key in ("version", "edges", "in_place", "headless") if key in fields}
    seen = DamageView(PATH, 40, after, EDGES, low=low, high=high, torn=torn, digest="new", changed=True)
    return Step(Damage("s", how, **fields), Returned(replace(seen, **of_view)))


def refused(step: Step, kind: str = CORRUPT) -> Step:
    """The same call, refused by an error that says where the artifact is."""
    return step.raises(kind, location=f"/root/{PATH}")


def looked(digest: str) -> Step:
    """A look at the artifact."""
    return Step(Inspect(["s"], bytes_only=True), Returned(TreeView(digests=(("s", digest),))))


LOOK = (up(2), opened(2, on=2))
AGAIN = (up(3), opened(3, on=3))
BATCH_LOST = damaged("drop", 20, 30, after=30)
"""The second batch is gone, and the third intact."""
HOLE = damaged("nul", 20, 30)
ROTTEN = damaged("flip", 22, 23, start=(2, 2))
LAST_ROTTEN = damaged("flip", 32, 33, start=(3, 2))
CUT = damaged("cut", 35, 40, after=35, torn="cut")
FOREIGN = damaged("replace", 0, 40, after=7, data="foreign")
HOSTILE = damaged("hostile", 0, 40, after=60, data="bomb")
PLANTED = damaged("plant", 0, 40, after=60, data="bomb")
"""Another file that expands to more than there is room for."""
GONE = damaged("unlink", after=None)
BESIDE = damaged("unlink", after=None, beside=0)
"""A file that is no artifact is gone."""
# The last batch was not flushed.
UNFLUSHED = (*OPEN[:-1],)
UNDER = (*OPEN, GONE)

FORMATS = (
    case("FMT-04", *STORED, BATCH_LOST, *LOOK, refused(read(2, THREE)), wrong=read(2, [THREE[0], *events(2)])),
    case("FMT-04", *STORED, BATCH_LOST, *LOOK, read(2, THREE), wrong=read(2, events(0))),
    case("FMT-04", *STORED, HOLE, *LOOK, refused(read(2, THREE)), wrong=read(2, events(0))),
    case("FMT-04", *STORED, HOLE, up(2), refused(opened(2, on=2)), wrong=opened(2, on=2).raises(NOT_FOUND)),
    case("FMT-04", *STORED, ROTTEN, *LOOK, read(2, [THREE[0], *events(1, mark="x"), THREE[2]]), wrong=read(2, TWO)),
    case("FMT-04", *STORED, HOLE, *LOOK, refused(read(2, THREE)), wrong=read(2, THREE).raises("JSONDecodeError")),
    case("FMT-05", *STORED, HOLE, *LOOK, refused(read(2, THREE)), wrong=read(2, THREE).raises(CORRUPT)),
    case("FMT-05", *STORED, FOREIGN, up(2), refused(opened(2, on=2)),
         wrong=opened(2, on=2).raises(CORRUPT, location="/root/t/log")),
    case("FMT-06", *STORED, *NEIGHBOUR, damaged("copy", other="t"), up(2), refused(opened(2, on=2)),
         wrong=view(opened(2, on=2), id="t", header=header("t"))),
    case("FMT-06", *STORED, *NEIGHBOUR, damaged("copy", other="t"), up(2), create(2, on=2).raises(EXISTS),
         wrong=create(2, on=2)),
    case("FMT-09", *STORED, FOREIGN, up(2), refused(owned(2, on=2)), wrong=owned(2, on=2)),
    case("FMT-09", *STORED, FOREIGN, up(2), refused(opened(2, on=2)), wrong=opened(2, on=2).raises("IndexError")),
    case("FMT-09", *STORED, FOREIGN, up(2), refused(opened(2, on=2)), wrong=opened(2, on=2).raises(NOT_FOUND)),
    case("FMT-09", *STORED, FOREIGN, up(2), create(2, on=2).raises(EXISTS), wrong=create(2, on=2)),
    case("FMT-09", *UNFLUSHED, damaged("nul", 5, 35), up(2), create(2, on=2).raises(EXISTS), wrong=create(2, on=2)),
    case(
        "FMT-09", *STORED, damaged("nul", 5, 15, headless=True), up(2), create(2, on=2).raises(EXISTS),
        wrong=create(2, on=2),
    ),
    case("FMT-09", *STORED, FOREIGN, looked("new"), wrong=looked("other")),
    case("FMT-10", *STORED, LAST_ROTTEN, *LOOK, refused(read(2, THREE)), wrong=read(2, TWO), capabilities=SURE),
    case("FMT-10", *STORED, ROTTEN, *LOOK, read(2, THREE), wrong=read(2, [THREE[0], *events(1, mark="x"), THREE[2]]),
         capabilities=SURE),
    case("FMT-10", *STORED, damaged("flip", 3, 4), up(2), refused(opened(2, on=2)),
         wrong=view(opened(2, on=2), header=header(cwd="/x")), capabilities=SURE),
    case("FMT-11", *STORED, GONE, up(2), stat(None, on=2), wrong=stat(snap(3, 0), on=2)),
    case("FMT-11", *STORED, GONE, up(2), opened(2, on=2).raises(NOT_FOUND), wrong=owned(2, on=2)),
    case("FMT-11", *STORED, GONE, up(2), create(2, on=2), wrong=create(2, on=2).raises("OSError")),
    case("FMT-11", *STORED, damaged("put_back", version=5), *LOOK, read(2, TWO), wrong=read(2, [THREE[0], *events(2)])),
    case("FMT-11", *STORED, BESIDE, *LOOK, read(2, THREE), wrong=read(2, TWO)),
    case("FMT-11", *STORED, BESIDE, *LOOK, read(2, []).raises("OSError"), wrong=read(2, []).raises("IndexError")),
    case("FMT-11", *STORED, *NEIGHBOUR, BESIDE, up(2), opened(2, "t", on=2), read(2, events(0)), wrong=read(2, [])),
    case("FMT-11", *STORED, BESIDE, *LOOK, read(2, THREE), wrong=read(2, [THREE[0], *events(1, mark="x"), THREE[2]])),
    case("FMT-12", *STORED, damaged("bom", 0, 0, after=43), *LOOK, read(2, THREE), wrong=read(2, TWO)),
    case("FMT-12", *STORED, damaged("crlf", 5, 40, after=44), *LOOK, refused(read(2, THREE)), wrong=read(2, [])),
    case("ID-04", *STORED, damaged("hostile", data="nested"), up(2), refused(opened(2, on=2)),
         wrong=opened(2, on=2).raises("RecursionError")),
    case("ID-04", *STORED, HOSTILE, up(2), listed(on=2), stat(None, on=2).raises(CORRUPT),
         wrong=stat(None, on=2).raises("MemoryError")),
    case("ID-04", *OPEN, HOSTILE, append(1, events(3)).raises("OSError"),
         wrong=append(1, events(3)).raises("MemoryError")),
    case("ID-04", *OPEN, opened(2), read(2, THREE), HOSTILE, read(2, []).raises("OSError"),
         wrong=read(2, []).raises("RecursionError")),
    case("ID-04", *OPEN, PLANTED, close(1).raises("OSError"), wrong=close(1).raises("Died")),
    case("ID-04", *STORED, HOSTILE, up(2), refused(owned(2, on=2)), wrong=owned(2, on=2)),
)  # fmt: skip

OTHERS = (
    case("SVC-07", *STORED, *NEIGHBOUR, FOREIGN, up(2), listed(snap(1, 1, "t"), on=2), wrong=listed(on=2)),
    case("SVC-07", *STORED, *NEIGHBOUR, FOREIGN, up(2), listed(snap(1, 1, "t"), on=2),
         wrong=listed(on=2).raises(CORRUPT)),
    case("SVC-07", *STORED, *NEIGHBOUR, FOREIGN, up(2), listed(snap(1, 1, "t"), on=2),
         wrong=listed(snap(1, 1, "t"), snap(0, 2), on=2)),
    case("SVC-07", *STORED, FOREIGN, up(2), stat(None, on=2).raises(CORRUPT),
         wrong=stat(None, on=2).raises("KeyError")),
    case("SVC-07", *STORED, *NEIGHBOUR, FOREIGN, up(2), listed(snap(1, 1, "t"), on=2), wrong=listed(on=2).hangs()),
    case("SVC-14", *UNDER, append(1, events(3)), looked("made"), *LOOK, read(2, events(0, 4)),
         wrong=read(2, events(3))),
    case("SVC-14", *UNDER, append(1, events(3)), *LOOK, read(2, events(0, 4)), wrong=refused(read(2, []))),
    case("SVC-14", *OPEN, FOREIGN, append(1, events(3)).raises(LOST), looked("new"), wrong=looked("made")),
    case("SVC-14", *OPEN, PLANTED, append(1, events(3)).raises(LOST), looked("new"), wrong=looked("made")),
    case("SVC-14", *OPEN, CUT, append(1, events(3)).raises(LOST), looked("made"), *LOOK, read(2, TWO),
         wrong=read(2, events(0))),
    case("DUR-10", *OPEN, CUT, flush(1), looked("new"), *LOOK, read(2, THREE), wrong=read(2, TWO)),
    case("DUR-10", *UNFLUSHED, damaged("symlink"), append(1, events(3)), *LOOK, read(2, TWO), wrong=read(2, events(0))),
    case("MAT-06", *STORED, *LOOK, read(2, THREE), GONE, read(2, []).raises(NOT_FOUND), wrong=read(2, THREE)),
    case("MAT-06", *STORED, *LOOK, GONE, up(3), create(3, on=3), append(3, events(0, 4, "x")), read(2, []),
         wrong=read(2, events(0, 4, "x"))),
    case("REV-04", *STORED, up(2), stat(snap(3, 7), on=2), damaged("put_back", version=5), stat(snap(3, 7), on=2),
         opened(2, on=2), read(2, THREE), wrong=read(2, TWO)),
)  # fmt: skip

TORN = (
    case("TORN-01", *UNFLUSHED, CUT, *LOOK, read(2, TWO), wrong=refused(read(2, TWO))),
    case("TORN-01", *UNFLUSHED, CUT, *LOOK, read(2, TWO), wrong=read(2, events(0))),
    case("TORN-01", *STORED, damaged("insert", 40, 40, after=140, torn="nul"), *LOOK, read(2, THREE),
         wrong=refused(read(2, TWO))),
    case("TORN-03", *UNFLUSHED, CUT, *LOOK, read(2, THREE), wrong=read(2, [*TWO, *events(2, mark="x")])),
    case("TORN-02", *STORED, CUT, up(2), owned(2, on=2), read(2, TWO), append(2, events(2, mark="n")), *AGAIN,
         read(3, [*TWO, *events(2, mark="n")]), wrong=read(3, TWO)),
    case("TORN-04", *STORED, damaged("replace", after=0), up(2), create(2, on=2),
         wrong=create(2, on=2).raises("OSError")),
    case("TORN-04", *STORED, damaged("cut", 4, 40, after=4, torn="cut"), up(2), opened(2, on=2).raises(NOT_FOUND),
         create(2, on=2), wrong=create(2, on=2).raises(EXISTS)),
)  # fmt: skip

CASES = FORMATS + OTHERS + TORN

ALLOWED: dict[str, tuple[Step, ...]] = {
    "an older writer goes on beside a new one": (
        *UNFLUSHED, damaged("cut", 35, 40, after=35, torn="cut"), up(2), owned(2, on=2), read(2, TWO),
        append(2, events(2, 4, mark="new")), flush(1), *AGAIN, read(3, [*TWO, *events(2, 4, mark="new")]),
        append(1, events(3)), up(4), stat(snap(9, 1), on=4), opened(4, on=4), read(4, [*events(0), *events(9)]),
    ),
    "a damaged last batch is dropped without checksums": (*STORED, LAST_ROTTEN, *LOOK, read(2, TWO)),
    "so does what stands twice, or in another place, and makes another record of one": (
        *STORED, damaged("repeat", 22, 22, after=44, start=(2, 2)), *LOOK,
        read(2, [THREE[0], *events(1, mark="other "), THREE[2]]),
    ),
    "whole batches that stand twice are noticed without checksums": (
        *STORED, damaged("repeat", 20, 20, after=50), *LOOK, refused(read(2, THREE)),
    ),
    "a value that changed goes unnoticed without checksums": (
        *STORED, LAST_ROTTEN, *LOOK, read(2, [*TWO, *events(2, mark="x")]),
    ),
    "a hole in a batch behind which its writer went on is refused": (
        *UNFLUSHED, damaged("nul", 30, 40, torn="nul"), append(1, events(3)), *LOOK, refused(read(2, TWO)),
    ),
    "a batch that was flushed is cut, and refused": (*STORED, CUT, *LOOK, refused(read(2, TWO))),
    "zeros, where only a killed process is survived": (
        *STORED, damaged("insert", 40, 40, after=140, torn="nul"), *LOOK, refused(read(2, TWO)),
    ),
    "the sizes do not tell where batches end": (
        *STORED, damaged("drop", 5, 9, after=36, edges=((2, 40),)), *LOOK, read(2, events(0)),
    ),
    "the file was written anew": (*STORED, damaged("drop", 5, 9, after=36, in_place=False), *LOOK, read(2, [])),
    "an instance that was there before remembers": (*STORED, HOLE, opened(2), read(2, THREE), listed(snap(3, 0))),
    "two kinds of damage": (*STORED, HOLE, FOREIGN, up(2), opened(2, on=2), read(2, [])),
    "damage to what nobody stored": (up(), create(1), FOREIGN, up(2), stat(None, on=2)),
    "an artifact that was moved is followed": (*STORED, damaged("symlink"), *LOOK, read(2, THREE)),
    "a first page of zeros is a torn creation": (
        *STORED, damaged("nul", 0, 10, torn="nul"), up(2), opened(2, on=2).raises(NOT_FOUND), create(2, on=2),
    ),
    "a first page that reads NUL from its header on is one too, whatever stands on the next": (
        *STORED, damaged("nul", 5, 35, headless=True), up(2), opened(2, on=2).raises(NOT_FOUND), create(2, on=2),
    ),
    "what came in behind the batch before the last may be taken for a torn tail": (
        *(up(), create(1), flush(1), append(1, events(0)), flush(1), append(1, events(1)), flush(1), close(1)),
        damaged("insert", 20, 20, after=35, edges=((2, 10), (3, 20), (5, 30)), data="junk"), *LOOK, read(2, events(0)),
    ),
    "what was only appended need not be in a file that an editor touched": (
        *UNFLUSHED, damaged("crlf", 5, 30, after=33, edges=EDGES[:3]), *LOOK, read(2, TWO),
    ),
    "nor where a link leads to the right log": (*UNFLUSHED, damaged("symlink", edges=EDGES[:3]), *LOOK, read(2, TWO)),
    "an owner's append alone is known to its own instance, where its file was moved": (
        *OPEN, damaged("symlink"), append(1, events(3)), *LOOK, read(2, THREE),
    ),
    "though checksums are claimed, what was taken out of the last batch may leave a torn one": (
        *STORED, damaged("drop", 34, 39, after=35), *LOOK, read(2, TWO),
    ),
    "a reader goes on where a file beside is gone": (*STORED, opened(2), BESIDE, read(2, THREE)),
    "a writer that fails holds its session": (*STORED, HOLE, up(2), refused(owned(2, on=2)), read(2, THREE)),
}  # fmt: skip
"""Histories that are right, by what they tell."""
