"""The table of hand-written histories of the live path: for each clause right answers, and wrong ones to the same call.

As in ``clause_cases``: after the steps but the last, the last witnesses the clause, and ``wrong`` breaks that very
clause and no other. Time passes only where a step says so, in virtual microseconds.
"""

from __future__ import annotations

from typing import Any

from conformance.contract import Capabilities
from conformance.model.history import ErrorView, FaultView, FloodView, Raised, Returned, WarningsView
from conformance.model.operations import (
    Dispose,
    Fail,
    Flood,
    Heal,
    HubCreate,
    HubFlush,
    Publish,
    ReadWarnings,
    Wait,
)
from tests.unit.model.cases import Case
from tests.unit.model.histories import (
    CLOSED,
    CONTIGUITY,
    NOT_FOUND,
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

WINDOW = 200_000
LIVE = Capabilities(live_window=WINDOW / 1_000_000)
WRITE = FaultView("write", "EIO", "refused", "s")
NOBODY = FaultView("write", "EIO", "refused", None)
SYNC = FaultView("sync", "EIO", "refused", "s")
DOWN = Step(Fail(["write", "sync"], sticky=True))
ONCE = Step(Fail(["write"]))
HEAL = Step(Heal())
UNSTORABLE = {**events(1)[0], "data": {1, 2}}


def case(clause: str, *steps: Step, wrong: Step) -> Case:
    """The last step is the right answer; ``wrong`` is the wrong one to the same call."""
    return Case(clause, steps[:-1], steps[-1], wrong, LIVE)


def passes(microseconds: int) -> Step:
    """So much time, in which nobody calls anything."""
    return Step(Wait(microseconds / 1_000_000))


def on_hub(*seed: Any, session: str = "s", on: int = 1) -> Step:
    """The session is published."""
    return Step(HubCreate(on, session, list(seed)))


def publish(*given: Any, session: str = "s", scribble: bool = False) -> tuple[Step, ...]:
    """``session/event`` for each of them, taken."""
    return tuple(Step(Publish(1, session, each, scribble)) for each in given)


def hub_flush(session: str = "s") -> Step:
    """``session/flush``, resolved."""
    return Step(HubFlush(1, session))


def dispose(session: str = "s") -> Step:
    """``session/disposed``, of which nobody heard that it failed."""
    return Step(Dispose(1, session))


def warned(*messages: str) -> Step:
    """What was logged."""
    return Step(ReadWarnings(), Returned(WarningsView(messages)))


def flood(taken: int, grown: int, error: str = "") -> Step:
    """Very many events from seq 1 on."""
    return Step(Flood(1, "s", 1, taken, 1_000), Returned(FloodView(taken, grown, error)))


def names(step: Step, seq: int, kind: str = "ValueError") -> Step:
    """The call is rejected because of an event that cannot be stored."""
    return step.raises(kind, f"the event published with seq {seq} cannot be stored")


def gap(step: Step, seq: int, expected: int) -> Step:
    """The call is rejected because an event does not continue the log."""
    return step.raises(CONTIGUITY, f"the event published with seq {seq}", expected=expected, got=seq)


def group_gap(step: Step, seq: int, expected: int) -> Step:
    """A call of the service that is rejected because an event of one session does not continue its log."""
    return step.raises("ExceptionGroup", members=(misfit("s", seq, expected),))


def misfit(session: str, seq: int, expected: int) -> ErrorView:
    """What a barrier says of an event that does not continue the log of that session."""
    told = f"the event published with seq {seq}"
    return ErrorView(CONTIGUITY, CONTIGUITY, told, session_id=session, expected=expected, got=seq)


def failing(step: Step) -> Step:
    """A call of the service that is rejected because storage fails, and names the session."""
    member = ErrorView("OSError", "OSError", "", session_id="s", fault=True)
    return Step(
        step.operation,
        Raised(ErrorView("ExceptionGroup", "ExceptionGroup", "", members=(member,), fault=True)),
        (WRITE,),
    )


BEGUN = (up(), create(1), on_hub())
SEEDED = (up(), create(1), append(1, events(0, 2)), on_hub(*events(0, 2)))
ONE = (*BEGUN, *publish(*events(0)))
TWO = (*BEGUN, *publish(*events(0, 2)))
STORED = (up(), create(1), append(1, events(0)), flush(1), on_hub())
LATE = passes(WINDOW + 1)
FAILED = (*STORED, DOWN, *publish(*events(1, 2)), LATE.beside(WRITE))
AGAIN = (*ONE, close(1), owned(2))
LOST = (*STORED, DOWN, *publish(*events(1, 2)), close(1).meets(WRITE), HEAL, owned(2), read(2, events(0)))
REFUSED_LATER = (*BEGUN, *publish(*events(0), UNSTORABLE))
GAP = (*BEGUN, *publish(*events(0), *events(3)))

WINDOWS = (
    case("LIVE-01", *ONE, LATE, read(1, events(0)), wrong=read(1, [])),
    case("LIVE-01", *ONE, LATE, stat(snap(1, 0)), wrong=stat(snap(0, 0))),
    case("LIVE-01", *ONE, LATE, listed(snap(1, 0)), wrong=listed(snap(0, 0))),
    case("LIVE-01", *ONE, LATE, opened(2), read(2, events(0)), wrong=read(2, events(0, mark="other "))),
    case("LIVE-01", *ONE, LATE, *publish(*events(1)), LATE, read(1, events(0, 2)), wrong=read(1, events(0))),
    case("LIVE-01", *ONE, LATE, read(1, events(0)), *publish(*events(1)), LATE, read(1, events(0, 2)),
         wrong=read(1, events(0) + events(0) + events(1))),
    # The first one that waits decides, and others only join it.
    case("LIVE-02", *TWO, LATE, read(1, events(0, 2)), wrong=read(1, events(0))),
    case("LIVE-02", *ONE, passes(WINDOW // 2), *publish(*events(1)), passes(WINDOW // 2 + 1), read(1, events(0, 2)),
         wrong=read(1, [])),
    case("LIVE-02", *ONE, passes(WINDOW - 1), *publish(*events(1)), passes(2), read(1, events(0, 2)),
         wrong=read(1, [])),
    case("LIVE-02", *ONE, passes(WINDOW // 2), *publish(*events(1)), passes(1), read(1, []), passes(WINDOW // 2),
         read(1, events(0, 2)), wrong=read(1, events(0))),
    case("LIVE-02", *TWO, LATE, read(1, events(0, 2)), wrong=read(1, [*events(1), *events(0)])),
)  # fmt: skip

BARRIERS = (
    case("LIVE-03", *ONE, hub_flush(), read(1, events(0)), wrong=read(1, [])),
    case("LIVE-03", *ONE, hub_flush(), wrong=hub_flush().raises("OSError")),
    case("LIVE-03", *ONE, hub_flush(), wrong=hub_flush().hangs()),
    case("LIVE-03", *ONE, hub_flush(), up(2), opened(2, on=2), read(2, events(0)), wrong=read(2, [])),
    case("LIVE-03", *ONE, hub_flush(), stat(snap(1, 0)), wrong=stat(snap(0, 0))),
    case("LIVE-13", *ONE, flush(1), read(1, events(0)), wrong=read(1, [])),
    case("LIVE-13", *ONE, flush(1), wrong=flush(1).raises("OSError")),
    case("LIVE-13", *ONE, sweep(), up(2), opened(2, on=2), read(2, events(0)), wrong=read(2, [])),
    case("LIVE-13", *ONE, close(1), opened(2), read(2, events(0)), wrong=read(2, [])),
    case("LIVE-13", *ONE, down(), up(2), stat(snap(1, 0), on=2), wrong=stat(snap(0, 0), on=2)),
    case("LIVE-06", *ONE, dispose(), wrong=dispose().raises("OSError")),
    case("LIVE-06", *ONE, dispose(), wrong=dispose().hangs()),
    case("LIVE-06", *ONE, dispose(), opened(2), read(2, events(0)), wrong=read(2, [])),
    case("LIVE-06", *ONE, DOWN, dispose().beside(WRITE), close(1).meets(), warned("WARNING: 's' was not stored"),
         wrong=warned("WARNING: a drain failed")),
    case("LIVE-06", *ONE, close(1), dispose(), wrong=dispose().raises("KeyError")),
    case("LIVE-06", *ONE, dispose(), owned(2), wrong=owned(2).raises("SessionAlreadyOwnedError")),
)  # fmt: skip

FAILURES = (
    case("LIVE-04", *FAILED, warned("WARNING: session 's': 2 events wait"), wrong=warned()),
    case("LIVE-04", *FAILED, warned("WARNING: session 's': 2 events wait"), wrong=warned("WARNING: a drain failed")),
    case("LIVE-04", *STORED, ONCE, *publish(*events(1, 2)), LATE.beside(WRITE), HEAL, read(1, events(0, 3)),
         wrong=read(1, [*events(0), *events(2), *events(1)])),
    case("LIVE-05", *FAILED, hub_flush().meets(WRITE), wrong=hub_flush().raises("ValueError").beside(WRITE)),
    case("LIVE-05", *FAILED, HEAL, hub_flush(), wrong=hub_flush().raises("OSError")),
    case("LIVE-05", *FAILED, HEAL, flush(1), read(1, events(0, 3)), wrong=read(1, events(0))),
    case("LIVE-05", *FAILED, hub_flush().meets(WRITE), HEAL, hub_flush(), read(1, events(0, 3)),
         wrong=read(1, events(0))),
    case("LIVE-11", *STORED, DOWN, flood(60_000, 90_000_000, "SessionPersistenceError"), wrong=flood(60_000, 9 << 20)),
    case("LIVE-11", *STORED, DOWN, flood(60_000, 1 << 20), wrong=flood(60_000, 90_000_000)),
)  # fmt: skip

ROUTES = (
    case("LIVE-07", up(), on_hub(), *publish(*events(0)), wrong=publish(*events(0))[0].raises("KeyError")),
    case("LIVE-07", up(), on_hub(), *publish(*events(0)), hub_flush(), wrong=hub_flush().raises("KeyError")),
    case("LIVE-07", *STORED, close(1), *publish(*events(1)), LATE, opened(2), read(2, events(0)),
         wrong=read(2, events(0, 2))),
    case("LIVE-07", *STORED, close(1), *publish(*events(1)), owned(2), flush(2), read(2, events(0)),
         wrong=read(2, events(0, 2))),
    case("LIVE-08", *BEGUN, *publish(*events(0), scribble=True), hub_flush(), read(1, events(0)),
         wrong=read(1, [{**events(0)[0], "data": "scribbled"}])),
    case("LIVE-08", *BEGUN, *publish(*events(0), scribble=True), LATE, read(1, events(0)),
         wrong=read(1, events(7))),
    case("LIVE-09", *SEEDED, hub_flush(), wrong=hub_flush().raises(CONTIGUITY, expected=2, got=0)),
    case("LIVE-09", *SEEDED, flush(1), wrong=flush(1).raises(CONTIGUITY, expected=2, got=0)),
    case("LIVE-09", *SEEDED, hub_flush(), read(1, events(0, 2)), wrong=read(1, events(0, 2) + events(0, 2))),
    case("LIVE-10", *AGAIN, *publish(*events(1)), hub_flush(), read(2, events(0, 2)), wrong=read(2, events(0))),
    case("LIVE-10", *AGAIN, *publish(*events(1)), LATE, read(2, events(0, 2)), wrong=read(2, events(0))),
    case("LIVE-10", *AGAIN, *publish(*events(1)), hub_flush(), wrong=hub_flush().raises(CONTIGUITY)),
    case("LIVE-10", *LOST, *publish(*events(3)), gap(hub_flush(), 3, 1), wrong=hub_flush()),
    case("LIVE-10", *LOST, *publish(*events(3)), gap(flush(2), 3, 1), wrong=flush(2).raises("OSError")),
)  # fmt: skip

MISFITS = (
    case("LIVE-12", *TWO, append(1, events(2)), wrong=append(1, events(2)).raises("OSError")),
    case("LIVE-12", *TWO, append(1, events(2)), wrong=append(1, events(2)).hangs()),
    case("LIVE-12", *TWO, append(1, events(2)), read(1, events(0, 3)), wrong=read(1, [])),
    case("LIVE-12", *TWO, append(1, events(0)).raises(CONTIGUITY, expected=2, got=0), wrong=append(1, events(0))),
    case("LIVE-12", *TWO, append(1, events(3)).raises(CONTIGUITY, expected=2, got=3), wrong=append(1, events(3))),
    case("LIVE-12", *TWO, append(1, events(0, mark="x")).raises(CONTIGUITY, expected=2, got=0), hub_flush(),
         read(1, events(0, 2)), wrong=read(1, events(0, mark="x") + events(1))),
    case("LIVE-14", *REFUSED_LATER[:-1], names(REFUSED_LATER[-1], 1),
         wrong=REFUSED_LATER[-1].raises("ValueError", "not JSON")),
    case("LIVE-14", *REFUSED_LATER, names(hub_flush(), 1), wrong=hub_flush()),
    case("LIVE-14", *REFUSED_LATER, names(hub_flush(), 1), names(flush(1), 1), wrong=flush(1)),
    case("LIVE-14", *REFUSED_LATER, names(close(1), 1), wrong=close(1)),
    case("LIVE-14", *GAP, gap(hub_flush(), 3, 1), wrong=hub_flush()),
    case("FLUSH-02", *GAP, create(2, "t"), group_gap(sweep(), 3, 1), wrong=gap(sweep(), 3, 1)),
    case("CLOSE-07", *GAP, create(2, "t"), group_gap(down(), 3, 1), wrong=gap(down(), 3, 1)),
    case("LIVE-14", *GAP, gap(hub_flush(), 3, 1), read(1, events(0)), wrong=read(1, events(0) + events(3))),
    case("LIVE-14", *GAP, gap(hub_flush(), 3, 1), wrong=hub_flush().raises("ValueError", "no")),
)  # fmt: skip

CASES = WINDOWS + BARRIERS + FAILURES + ROUTES + MISFITS

BOTH_FAIL = (
    sweep()
    .raises(
        "ExceptionGroup",
        members=(misfit("s", 3, 0), ErrorView("OSError", "OSError", "", session_id="t", fault=True)),
        fault=True,
    )
    .beside(NOBODY)
)
"""A service flush that fails for one session because of its event, and for another because storage fails."""

ALLOWED: dict[str, tuple[Step, ...]] = {
    "it is stored at once": (*ONE, read(1, events(0)), stat(snap(1, 0)), *publish(*events(1)), read(1, events(0, 2))),
    "it is stored in smaller batches, each in time": (
        *(*BEGUN, *publish(*events(0, 4)), passes(WINDOW // 4), read(1, events(0, 1)), passes(WINDOW // 4)),
        *(read(1, events(0, 3)), stat(snap(3, 0)), passes(WINDOW // 2 + 1), read(1, events(0, 4))),
    ),
    "it is stored before its window ends, and the next one has a window of its own": (
        *(*ONE, passes(WINDOW // 2), *publish(*events(1)), passes(WINDOW // 2 + 1), read(1, events(0))),
        *(passes(WINDOW // 2), read(1, events(0, 2))),
    ),
    "what joined a window has one of its own": (
        *(*ONE, passes(WINDOW // 2), *publish(*events(1)), passes(WINDOW // 2 + 1), read(1, events(0, 2))),
        *(*publish(*events(2)), passes(WINDOW), read(1, events(0, 2)), passes(1), read(1, events(0, 3))),
    ),
    "what is published in the very moment in which a window ends may have one of its own": (
        *(*ONE, passes(WINDOW), *publish(*events(1)), passes(1), read(1, events(0)), passes(WINDOW)),
        read(1, events(0, 2)),
    ),
    "an append is refused by contiguity while others wait": (
        *(*TWO, append(1, events(2)).raises(CONTIGUITY, expected=0, got=2), hub_flush(), append(1, events(2))),
        read(1, events(0, 3)),
    ),
    "an append is refused by contiguity behind what is being stored": (
        *(*TWO, append(1, events(2)).raises(CONTIGUITY, expected=1, got=2), hub_flush(), read(1, events(0, 2))),
    ),
    "what cannot be stored is told at publication, and the next event has its seq": (
        *(*REFUSED_LATER[:-1], names(REFUSED_LATER[-1], 1), *publish(*events(1)), hub_flush(), read(1, events(0, 2))),
        close(1),
    ),
    "what cannot be stored is told by every barrier": (
        *(*REFUSED_LATER, names(hub_flush(), 1), names(flush(1), 1), read(1, events(0)), names(close(1), 1)),
        *(opened(2), read(2, events(0))),
    ),
    "an append fills the gap in front of what could not be stored": (
        *(*GAP, gap(hub_flush(), 3, 1), append(1, events(1, 2)), hub_flush(), read(1, events(0, 4)), close(1)),
    ),
    "the close of the service tells of what cannot be stored": (*GAP, group_gap(down(), 3, 1)),
    "storage failed another session too, and then in the background, of which nobody knows for whom": (
        *(*BEGUN, create(2, "t"), on_hub(session="t"), DOWN, *publish(*events(3)), BOTH_FAIL),
        *(*publish(*events(0), session="t"), LATE.beside(NOBODY), warned("t")),
    ),
    "an append fails behind what waited, and another instance sees both": (
        *(*ONE, up(2), DOWN, append(1, events(1)).meets(WRITE), opened(4, on=2), read(4, events(0, 2))),
    ),
    "the same once what waited is known to be stored": (
        *(*ONE, up(2), DOWN, append(1, events(1)).meets(WRITE), read(1, events(0))),
        *(opened(4, on=2), read(4, events(0, 2))),
    ),
    "a service flush that tells of it materialises the others": (
        *(*GAP, create(2, "t"), group_gap(sweep(), 3, 1), close(2), opened(4, "t"), read(4, [])),
    ),
    "and stores what waits for them": (
        *(*GAP, create(2, "t"), on_hub(session="t"), *publish(*events(0), session="t"), group_gap(sweep(), 3, 1)),
        *(up(2), opened(4, "t", on=2), read(4, events(0))),
    ),
    "so does the close of the service, which closes them": (
        *(*GAP, create(2, "t"), on_hub(session="t"), *publish(*events(0), session="t"), group_gap(down(), 3, 1)),
        *(append(2, events(1)).raises(CLOSED), up(2), opened(4, "t", on=2), read(4, events(0))),
    ),
    "one failed write is made up for inside": (
        *(*STORED, ONCE, *publish(*events(1, 2)), LATE.beside(WRITE), read(1, events(0, 3)), warned()),
        *(HEAL, hub_flush(), read(1, events(0, 3))),
    ),
    "storage fails in the background and less is read meanwhile": (
        *(*FAILED, read(1, events(0)), *publish(*events(3)), LATE, read(1, events(0)), stat(snap(1, 0)), HEAL),
        *(LATE, read(1, events(0)), hub_flush(), read(1, events(0, 4))),
    ),
    "a failed write is tried again in a later window": (
        *(*FAILED, read(1, events(0)), LATE.beside(WRITE), HEAL, LATE, read(1, events(0, 3)), hub_flush()),
        read(1, events(0, 3)),
    ),
    "the write of another session failed, and nobody can tell": (
        *(*STORED, create(2, "t"), on_hub(session="t"), DOWN, *publish(*events(1)), *publish(*events(0), session="t")),
        *(LATE.beside(NOBODY), warned("WARNING: 't' was not stored"), HEAL, hub_flush(), read(1, events(0, 2))),
    ),
    "what fails again is not logged again": (
        *(*FAILED, warned("WARNING: 's'"), LATE.beside(WRITE), warned(), HEAL, hub_flush(), read(1, events(0, 3))),
    ),
    "a flush rejects, and the next one stores": (
        *(*FAILED, warned("WARNING: 's'"), hub_flush().meets(WRITE), flush(1).meets(WRITE), HEAL, hub_flush()),
        *(read(1, events(0, 3)), *publish(*events(3)), LATE, read(1, events(0, 4))),
    ),
    "a flush rejects because of its sync, and the events are there": (
        *(*STORED, DOWN, *publish(*events(1)), hub_flush().meets(SYNC), read(1, events(0, 2)), HEAL, hub_flush()),
        read(1, events(0, 2)),
    ),
    "a disposal drains in vain, and its close says nothing": (
        *(*STORED, DOWN, *publish(*events(1)), dispose().beside(WRITE), close(1), warned(), HEAL, owned(2)),
        read(2, events(0)),
    ),
    "a disposal stores nothing though its close resolves": (
        *(*STORED, DOWN, *publish(*events(1)), dispose().beside(WRITE), HEAL, owned(2), read(2, events(0, 2))),
    ),
    "a close fails and stored a part": (
        *(*LOST[:-1], read(2, events(0, 2)), *publish(*events(3)), gap(hub_flush(), 3, 2), read(2, events(0, 2))),
    ),
    "a close fails, and what is published next continues what is there": (
        *(*LOST, *publish(*events(1, mark="x")), hub_flush(), read(2, events(0) + events(1, mark="x")), close(2)),
    ),
    "the service fails to flush and to close": (
        *(*FAILED, failing(sweep()), failing(down()), HEAL, up(2), opened(2, on=2), read(2, events(0))),
    ),
    "producers are told while storage is down": (
        *(*FAILED, publish(*events(3))[0].raises("SessionPersistenceError"), HEAL, hub_flush(), read(1, events(0, 3))),
    ),
    "a disposed session is closed, and published again": (
        *(*ONE, dispose(), append(1, events(1)).raises("SessionHandleClosedError"), close(1), owned(2), on_hub()),
        *(*publish(*events(1)), hub_flush(), read(2, events(0, 2))),
    ),
    "the hub refuses what is about a session that is not published": (
        *(up(), create(1), publish(*events(0))[0].raises("ValueError"), hub_flush().raises("ValueError")),
        *(dispose().raises("ValueError"), on_hub(), dispose(), dispose().raises("ValueError")),
    ),
    "a disposal that failed took the session off the hub": (
        *(*STORED, DOWN, *publish(*events(1)), dispose().beside(WRITE), dispose().raises("ValueError")),
    ),
    "a seeded session whose own events wait": (
        *(*SEEDED, *publish(*events(2)), hub_flush(), append(1, events(3)), flush(1), read(1, events(0, 4))),
    ),
}
"""Right answers that surprise, in words -> a history of them."""

BLAMED: dict[str, tuple[str, tuple[Step, ...]]] = {
    "a service flush stops where something cannot be stored": (
        "FLUSH-02",
        (
            *(*GAP, create(2, "t"), append(2, events(0)), group_gap(sweep(), 3, 1)),
            *(up(2), opened(4, "t", on=2), read(4, [])),
        ),
    ),
    "a service flush leaves what was published for the others": (
        "LIVE-13",
        (
            *(*GAP, create(2, "t"), append(2, events(0)), on_hub(*events(0), session="t")),
            *(*publish(*events(1), session="t"), group_gap(sweep(), 3, 1), read(2, events(0))),
        ),
    ),
    "the close of the service stops there": (
        "CLOSE-07",
        (*GAP, create(2, "t"), append(2, events(0)), group_gap(down(), 3, 1), append(2, events(1))),
    ),
    "an event that fits is not taken": ("LIVE-01", (*BEGUN, publish(*events(0))[0].raises("OSError"))),
    "an event is put behind a newer one once its write failed": (
        "LIVE-04",
        (
            *(*STORED, ONCE, *publish(*events(1)), LATE.beside(WRITE), HEAL, *publish(*events(2))),
            hub_flush().raises(CONTIGUITY, expected=1, got=2),
        ),
    ),
    "events are gone behind a flush that rejected": (
        "LIVE-04",
        (*FAILED, hub_flush().meets(WRITE), HEAL, hub_flush().raises(CONTIGUITY, expected=1, got=3)),
    ),
    "they are stored twice behind a flush that rejected": (
        "LIVE-04",
        (*FAILED, hub_flush().meets(WRITE), HEAL, hub_flush(), read(1, events(0, 3) + events(1, 2))),
    ),
    "a flush resolves while storage is down, and stored nothing": (
        "LIVE-05",
        (*FAILED, hub_flush(), read(1, events(0))),
    ),
    "the gap that a failed close left is closed": (
        "LIVE-10",
        (*LOST, *publish(*events(3)), gap(hub_flush(), 3, 1), read(2, events(0) + events(3))),
    ),
    "a later event is given the seq of one that cannot be stored": (
        "LIVE-14",
        (*GAP, gap(hub_flush(), 3, 1), read(1, [*events(0), {**events(3)[0], "seq": 1}])),
    ),
    "a handle whose session has ended goes on taking events": (
        "LIVE-06",
        (*ONE, dispose(), append(1, events(1))),
    ),
    "what a producer overwrote cannot be read": (
        "LIVE-08",
        (
            *(*BEGUN, *publish(*events(0, 2), scribble=True), append(1, events(2))),
            read(1, []).raises("SessionPersistenceCorruptionError"),
        ),
    ),
    "what a producer overwrote cannot be stored": (
        "LIVE-08",
        (*BEGUN, *publish(*events(0), scribble=True), hub_flush().raises("ValueError")),
    ),
    "an event that nobody was to keep is in the way": (
        "LIVE-07",
        (*STORED, close(1), *publish(*events(1)), owned(2), flush(2).raises(CONTIGUITY, expected=2, got=1)),
    ),
    "what was appended by hand is queued too": (
        "LIVE-09",
        (*STORED, *publish(*events(1)), hub_flush().raises(CONTIGUITY, expected=1, got=0)),
    ),
    "a session that exists by what it published is gone": (
        "LIVE-13",
        (*ONE, close(1), owned(2).raises(NOT_FOUND)),
    ),
    "an empty session that has ended is there": (
        "LIVE-06",
        (up(), create(1), on_hub(), dispose(), stat(snap(0, 0))),
    ),
    "what failed is tried again at every event": (
        "LIVE-04",
        (*FAILED, *publish(*events(3)), passes(1).beside(*[WRITE] * 20)),
    ),
    "events are dropped by a failure, and the close is fine": (
        "LIVE-05",
        (*FAILED, HEAL, close(1), opened(2), read(2, events(0))),
    ),
    "an append goes ahead of what waits": (
        "LIVE-12",
        (*TWO, append(1, events(2)), read(1, [*events(2), *events(0, 2)])),
    ),
}
"""A mistake in words -> the clause that it breaks, and a history that ends with it."""
