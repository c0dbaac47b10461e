"""The table of hand-written histories on storage that fails: for each clause right answers, and wrong ones.

As in ``crash_histories``: after the steps but the last, the last witnesses the clause, and ``wrong`` breaks that very
clause and no other.
"""

from __future__ import annotations

from conformance.model.history import CrashView, ErrorView, FaultView, LeftView, Returned
from conformance.model.operations import CountLeft, Crash, Fail, Heal
from tests.unit.model.cases import Case, case
from tests.unit.model.histories import (
    CONTIGUITY,
    EXISTS,
    LOST,
    NOT_FOUND,
    OWNED,
    Step,
    append,
    close,
    create,
    down,
    events,
    flush,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    sweep,
    up,
)

WRITE = FaultView("write", "EIO", "refused", "s")
LANDED = FaultView("write", "EIO", "landed", "s")
SYNC = FaultView("sync", "EIO", "refused", "s")
UNHEARD = FaultView("sync", "EIO", "landed", "s")
SHORT = FaultView("write", "", "short", "s")
READ = FaultView("read", "EIO", "refused", "s")

FAIL = Step(Fail(["write"]))
HEAL = Step(Heal())
LEFT = Step(CountLeft(), Returned(LeftView()))
KILLED = Step(Crash("kill"), Returned(CrashView()))


def gone(*lost: int) -> Step:
    """The power is lost, and with it something of these calls."""
    return Step(Crash("ext4"), Returned(CrashView(lost)))


def again(step: Step, *sessions: str) -> Step:
    """The call rejects with one member for each of these sessions, because storage failed earlier."""
    members = tuple(ErrorView("OSError", "OSError", "", session_id=each, fault=True) for each in sessions)
    return step.raises("ExceptionGroup", members=members, fault=True)


def group(step: Step, *sessions: str) -> Step:
    """The same, because storage fails."""
    return again(step, *sessions).beside(WRITE)


STORED = (up(), create(1), append(1, events(0)), flush(1), FAIL)
FAILED = (*STORED, append(1, events(1)).meets(LANDED))
ONE = (
    *(up(), create(1), append(1, events(0)), create(2, "t"), append(2, events(0)), flush(1), flush(2)),
    Step(Fail(["read"], session="s")),
)
TWO = (up(), create(1), create(2, "t"), append(1, events(0)), append(2, events(0)), FAIL)
BROKEN = "SessionPersistenceCorruptionError"
BESIDE = (*FAILED, HEAL, up(2), owned(2, on=2))
ELSEWHERE = (up(3), opened(3, on=3))

CASES: tuple[Case, ...] = (
    # A fault shows as itself, and never as something that it is not.
    case("FAULT-01", *FAILED, wrong=append(1, events(1)).raises(CONTIGUITY).beside(WRITE)),
    case("FAULT-01", *FAILED, wrong=append(1, events(1)).raises(BROKEN, fault=True).beside(WRITE)),
    case("FAULT-01", *FAILED, wrong=append(1, events(1)).hangs().beside(WRITE)),
    case("FAULT-01", *STORED, flush(1).meets(SYNC), wrong=flush(1).raises("ValueError").beside(SYNC)),
    case("FAULT-01", *STORED, create(2, "t").meets(WRITE), wrong=create(2, "t").raises(EXISTS).beside(WRITE)),
    # Until it is stored nobody in the instance sees it.
    case("FAULT-01", *FAILED, read(1, events(0)), wrong=read(1, events(0, 2))),
    case("FAULT-01", *FAILED, HEAL, opened(2), read(2, events(0)), wrong=read(2, events(0, 2))),
    # Storage works again: the same batch is taken, once.
    case("FAULT-02", *FAILED, HEAL, append(1, events(1)), wrong=append(1, events(1)).raises("OSError", fault=True)),
    case("FAULT-02", *FAILED, HEAL, append(1, events(1)), wrong=append(1, events(1)).raises(CONTIGUITY)),
    case("FAULT-02", *FAILED, HEAL, append(1, events(1)), wrong=append(1, events(1)).raises(LOST)),
    case("FAULT-02", *STORED, flush(1).meets(SYNC), HEAL, flush(1), wrong=flush(1).raises("OSError", fault=True)),
    # A sync failed, a later barrier resolved, and the power was lost.
    case(
        "FAULT-03",
        *(up(), create(1), append(1, events(0)), FAIL, append(1, events(1)), flush(1).meets(SYNC)),
        *(HEAL, flush(1), gone(4, 7), up(2), opened(2, on=2), read(2, events(0, 2))),
        wrong=read(2, events(0)),
    ),
    # A look that fails is no absence.
    case("FAULT-04", *STORED, read(1, []).meets(READ), wrong=read(1, []).beside(READ)),
    case("FAULT-04", *STORED, read(1, events(0)).beside(READ), wrong=read(1, []).raises(NOT_FOUND).beside(READ)),
    case("FAULT-04", *STORED, opened(2).meets(READ), wrong=opened(2).raises(NOT_FOUND).beside(READ)),
    case("FAULT-04", *STORED, stat(None).meets(READ), wrong=stat(None).beside(READ)),
    case("FAULT-04", *STORED, listed().meets(READ), wrong=listed().raises(NOT_FOUND).beside(READ)),
    # A close that cannot store.
    case("FAULT-05", *TWO, close(1).meets(WRITE), wrong=close(1).raises("ValueError").beside(WRITE)),
    case("OWN-07", *TWO, close(1).meets(WRITE), HEAL, owned(3), wrong=owned(3).raises(OWNED)),
    # What is left in the end.
    case("FAULT-06", up(), down(), LEFT, wrong=LEFT.gives(LeftView(("<root>/a",)))),
    case("FAULT-06", up(), down(), LEFT, wrong=LEFT.gives(LeftView((), ("tick",)))),
    case("FAULT-06", up(), down(), LEFT, wrong=LEFT.gives(LeftView((), (), ("worker",)))),
    # What a failed append left, what comes in its place, and everybody else.
    case("FAULT-07", *FAILED, KILLED, up(2), opened(2, on=2), read(2, events(0)), wrong=read(2, events(0, 2))),
    case(
        "FAULT-10",
        *(*FAILED, HEAL, append(1, events(1, mark="x")), read(1, events(0) + events(1, mark="x"))),
        wrong=read(1, events(0, 2)),
    ),
    case(
        "FAULT-08",
        *(*TWO, append(1, events(1)).meets(WRITE), HEAL, append(2, events(1))),
        wrong=append(2, events(1)).raises("OSError", fault=True),
    ),
    case(
        "FAULT-08",
        *(*TWO, append(1, events(1)).meets(WRITE), HEAL, opened(3, "t")),
        wrong=opened(3, "t").raises("OSError", fault=True),
    ),
    # One session's file alone cannot be read.
    case("SVC-07", *ONE, listed(snap(1, 1, "t")).beside(READ), wrong=listed().beside(READ)),
    case("SVC-07", *ONE, listed(snap(1, 0), snap(1, 1, "t")).beside(READ), wrong=listed(snap(1, 0)).beside(READ)),
    case("SVC-07", *ONE, listed(snap(1, 1, "t")).beside(READ), wrong=listed().meets(READ)),
    case("SVC-07", *ONE, listed(snap(1, 1, "t")).beside(READ), wrong=listed().raises("ValueError").beside(READ)),
    case("FAULT-04", *ONE, stat(None).meets(READ), wrong=stat(None).beside(READ)),
    case(
        "FAULT-04",
        *ONE,
        stat(None).meets(READ),
        listed(snap(1, 1, "t")).beside(READ),
        opened(3).meets(READ),
        wrong=opened(3).raises(NOT_FOUND).beside(READ),
    ),
    case(
        "FAULT-08",
        *ONE,
        append(1, events(1)).meets(WRITE),
        HEAL,
        opened(3, "t"),
        wrong=opened(3, "t").raises("OSError", fault=True),
    ),
    # A second owner was let in: what it made of the log stays, whatever the first one does.
    case(
        "FRESH-04",
        *(*BESIDE, append(2, events(1, mark="x")), flush(2), close(1), *ELSEWHERE),
        read(3, events(0) + events(1, mark="x")),
        wrong=read(3, events(0)),
    ),
    case(
        "FRESH-04",
        *(*BESIDE, read(2, events(0, 2)), append(2, events(2)), flush(2), close(1), *ELSEWHERE),
        read(3, events(0, 3)),
        wrong=read(3, events(0)),
    ),
    case(
        "FRESH-04",
        *(*BESIDE, read(2, events(0, 2)), flush(2), close(1), *ELSEWHERE),
        read(3, events(0, 2)),
        wrong=read(3, events(0)),
    ),
    # A group names who failed.
    case("FLUSH-02", *TWO, group(sweep(), "s"), wrong=group(sweep())),
    case("CLOSE-07", *TWO, group(down(), "s"), wrong=down().meets(WRITE)),
)

ALLOWED: dict[str, tuple[Step, ...]] = {
    "elsewhere what an append left is counted while storage fails another session": (
        *(*FAILED, up(2), stat(snap(2, 0), on=2).beside(FaultView("write", "EIO", "refused", "t"))),
    ),
    "elsewhere what an append left is read while storage fails another session": (
        *(*FAILED, up(2), opened(2, on=2), read(2, events(0, 2)).beside(FaultView("write", "EIO", "refused", "t"))),
    ),
    "a handle ends itself after a failed sync": (
        *(*STORED, append(1, events(1)).meets(SYNC), HEAL, append(1, events(1)).raises(LOST)),
        *(close(1).raises(LOST), owned(2), read(2, events(0)), append(2, events(1)), close(2)),
    ),
    "a handle ends itself after a sync that was done, and reported a failure": (
        *(*STORED, append(1, events(1)).meets(UNHEARD), HEAL, append(1, events(1)).raises(LOST, fault=True)),
    ),
    "a spent handle has not stored what it took, and its close says so": (
        *(*STORED, append(1, events(1)), flush(1).meets(SYNC), HEAL, close(1).meets(), owned(2), read(2, events(0, 2))),
    ),
    "a spent handle has not stored what it took, and the service says so": (
        *(*TWO, flush(1).meets(SYNC), HEAL, again(sweep(), "s"), again(down(), "s"), up(2)),
        *(opened(3, "t", on=2), read(3, events(0))),
    ),
    "an append is taken and the flush behind it says that storage failed": (
        *(*STORED, append(1, events(1)).beside(WRITE), HEAL, flush(1).meets(), flush(1), read(1, events(0, 2))),
    ),
    "another instance may see what a failed append left, while nothing settled it": (
        *(*FAILED, up(2), opened(2, on=2), read(2, events(0, 2)), opened(3, on=2), read(3, events(0))),
    ),
    "another instance's reader that met what a failed append left says that it is gone": (
        *(*FAILED, up(2), opened(2, on=2), read(2, events(0, 2)), HEAL, append(1, events(1, mark="x")), flush(1)),
        *(read(2, []).raises(BROKEN), opened(3, on=2), read(3, [*events(0), *events(1, mark="x")])),
    ),
    "the same, though nobody read what was there when it was opened": (
        *(*FAILED, up(2), opened(2, on=2), HEAL, flush(1), read(2, []).raises(BROKEN), read(2, []).raises(BROKEN)),
    ),
    "the same in a listing, though the latest fault came to another session": (
        *(*TWO, append(1, events(1)).meets(LANDED), opened(3, "t").meets(READ), HEAL, up(2)),
        listed(snap(2, 1), snap(1, 2, "t"), on=2),
    ),
    "a second owner counts in what failed, and the first one takes it back": (
        *(*BESIDE, read(2, events(0, 2)), close(1), append(2, events(2)).raises(LOST), flush(2).raises(LOST)),
        *(*ELSEWHERE, read(3, events(0)), read(2, []).raises(BROKEN)),
    ),
    "a second owner counts in what failed and covers it, and so does the first one from then on": (
        *(*BESIDE, flush(2), *ELSEWHERE, read(3, events(0, 2)), opened(4), read(4, events(0, 2))),
        *(append(1, events(1)).raises(LOST), append(2, events(2)), close(1), read(3, events(0, 3))),
    ),
    "a second owner that looks at nothing goes on behind what failed": (
        *(*BESIDE, append(2, events(2)), close(2), *ELSEWHERE, read(3, events(0, 3)), close(1).raises(LOST)),
    ),
    "a second owner is told that the log ends elsewhere than it was known to": (
        *(*BESIDE, append(2, events(1)).raises(CONTIGUITY, expected=2, got=1), stat(snap(2, 2), on=2)),
    ),
    "a second owner cuts off what failed, and the first one is told": (
        *(*BESIDE, append(2, events(1, mark="x")), flush(2), append(1, events(1)).raises(LOST), close(1)),
        *(*ELSEWHERE, read(3, [*events(0), *events(1, mark="x")])),
    ),
    "a session whose first append failed is found elsewhere, and goes with it": (
        *(up(), create(1), FAIL, append(1, events(0)).meets(LANDED), up(2), stat(snap(1, 1), on=2), HEAL, close(1)),
        *(stat(None, on=2), opened(2, on=2).raises(NOT_FOUND)),
    ),
    "the next owner undoes what another instance saw of it behind a close that failed": (
        *(*FAILED, close(1).meets(WRITE), HEAL, up(2), opened(2, on=2), read(2, events(0, 2)), owned(3)),
        *(append(3, events(7)).raises(CONTIGUITY, expected=1, got=7), append(3, events(1, mark="x")), flush(3)),
        *(read(2, []).raises(BROKEN), opened(4, on=2), read(4, [*events(0), *events(1, mark="x")])),
    ),
    "the next owner keeps what another instance saw of it behind a close that failed": (
        *(*FAILED, close(1).meets(WRITE), HEAL, up(2), opened(2, on=2), read(2, events(0, 2)), owned(3)),
        *(append(3, events(2)), flush(3), read(2, events(0, 3))),
    ),
    "a crash comes in the second try of what failed": (
        *(*FAILED, HEAL, Step(Crash("kill", during=append(1, events(1)).operation), Returned(CrashView()))),
        *(up(2), opened(2, on=2), read(2, events(0, 2))),
    ),
    "a different batch may be refused": (*FAILED, HEAL, append(1, events(1, mark="x")).raises(CONTIGUITY)),
    "a close that failed leaves open how much is stored": (
        *(*STORED, append(1, events(1)), close(1).meets(WRITE), HEAL, opened(2), read(2, events(0))),
        *(owned(3), append(3, events(1, mark="x")), close(3), opened(4), read(4, events(0) + events(1, mark="x"))),
    ),
    "a reader that showed what a failed close may have lost says so": (
        *(*STORED, append(1, events(1)), opened(2), read(2, events(0, 2)), close(1).meets(WRITE), HEAL),
        *(read(2, []).raises(BROKEN), opened(3), read(3, events(0)), read(2, []).raises("OSError")),
    ),
    "a snapshot past a close that failed differs from the one before": (
        *(*STORED, append(1, events(1)), listed(snap(2, 1)), close(1).meets(WRITE), HEAL, stat(snap(1, 2))),
    ),
    "a close that failed may have stored what failed before": (
        *(*FAILED, append(1, events(1)).meets(WRITE), close(1).meets(WRITE), HEAL, owned(2), read(2, events(0, 2))),
        *(append(2, events(2)), close(2)),
    ),
    "a crash may bring back what failed, where the repair failed too": (
        *(*FAILED, append(1, events(1)).meets(LANDED), KILLED, up(2), opened(2, on=2), read(2, events(0, 2))),
    ),
    "a list may leave out what it cannot describe": (*TWO, listed(snap(1, 1, "t")).beside(READ)),
    "a service that fails names the session, and the others are covered": (
        *(*TWO, group(sweep(), "s"), HEAL, sweep(), gone(), up(2), opened(3, "t", on=2), read(3, events(0))),
    ),
    "a service whose reader could not be closed names its session": (
        *(*STORED, flush(1), down(), up(2), opened(2, on=2), create(3, "t", on=2), append(3, events(0))),
        *(group(down(2), "s"), HEAL, up(3), opened(4, "t", on=3), read(4, events(0))),
    ),
    "a session whose only append failed never was": (
        *(up(), create(1), FAIL, append(1, events(0)).meets(WRITE), HEAL, close(1)),
        *(up(2), stat(None, on=2), create(2, on=2)),
    ),
}
"""What storage that fails excuses, in words -> a history of it."""
