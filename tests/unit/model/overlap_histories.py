"""The table of hand-written histories with calls in flight at once: for each clause right answers, and wrong ones.

``together("a+ b+ a- b-", a=..., b=...)`` is an overlap of two calls: ``a`` begins, then ``b``, then they end in that
order. Each name is a client of its own, which does not wait. ``looks`` are the calls that the kit makes at the end.

As in ``crash_histories``: after the steps but the last, the last witnesses the clause, and ``wrong`` breaks that very
clause and no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from conformance.model.history import Cancelled, Completion, Event, Invocation, Returned
from conformance.model.operations import Fail, Overlap
from conformance.model.overlap import LOOKS
from conformance.model.overlap import Step as Call
from tests.unit.model.cases import Case, case
from tests.unit.model.fault_histories import BROKEN, HEAL, SYNC, WRITE
from tests.unit.model.fault_histories import group as failing
from tests.unit.model.histories import (
    CLOSED,
    CONTIGUITY,
    EXISTS,
    NOT_FOUND,
    OWNED,
    Step,
    append,
    close,
    create,
    down,
    events,
    flush,
    group,
    history,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    sweep,
    up,
)


@dataclass(frozen=True)
class Together(Step):
    """An overlap; ``told`` holds the begins (True) and ends of its calls as (client, number, step, begins)."""

    told: tuple[tuple[int, int, Step, bool], ...] = ()


def together(order: str, *looks: Step, late: str = "", **calls: Step) -> Together:
    """An overlap in which the calls begin (``a+``) and end (``a-``) in this order.

    Args:
        late: names of calls whose caller cancelled them when they had ended already.
    """
    clients = {name: number for number, name in enumerate(calls, 1)}
    gives_up = ((0, 0),)
    rows = tuple(
        (Call(step.operation, waits=False, cancels=gives_up if is_cancelled(step) or name in late else ()),)
        for name, step in calls.items()
    )
    told = [(clients[each[:-1]], 0, calls[each[:-1]], each[-1] == "+") for each in order.split()]
    for number, look in enumerate(looks, 1):
        told += [(0, number, look, True), (0, number, look, False)]
    return Together(Overlap(rows), Returned(), (), tuple(told))


def is_cancelled(step: Step) -> bool:
    """Whether the caller gave the call up."""
    return isinstance(step.outcome, Cancelled)


def cancelled(step: Step) -> Step:
    """The same call, given up by its caller, and ended so."""
    return replace(step, outcome=Cancelled())


def look(found: list[dict[str, object]], session: str = "s", handle: int = LOOKS) -> tuple[Step, Step, Step]:
    """The kit's own look at a session, when all calls have ended: it holds these events."""
    return opened(handle, session), read(handle, found), close(handle)


def told_history(steps: Iterable[Step]) -> list[Event]:
    """The steps one after the other, as events; of an overlap its calls too."""
    found: list[Event] = []
    for number, step in enumerate(steps):
        begun, ended = history((step,))
        found.append(begun._replace(call=number))
        for place, (client, at, call, begins) in enumerate(step.told if isinstance(step, Together) else ()):
            if begins:
                found.append(Invocation(number, call.operation, client, place, at))
            else:
                found.append(Completion(number, call.outcome, place, call.faults, client, at))
        found.append(ended._replace(call=number, at=len(found)))
    return found


FAIL = Step(Fail(["write"], sticky=True))
ALONE = (up(), create(1))
WRITTEN = (*ALONE, append(1, events(0)))
FREE = (*WRITTEN, close(1))
SEEN = (*WRITTEN, opened(2))
PAIR = (*WRITTEN, flush(1), up(2), opened(2, on=2))

FIRST, SECOND = append(1, events(1, 2)), append(1, events(3, 2))
OTHER = append(1, events(1, 2, "other "))
FULL = read(2, events(0, 3))
FAILED_CLOSE, FAILED_SWEEP = close(1).meets(WRITE), failing(sweep(), "s")
GAP = append(1, events(2)).raises(CONTIGUITY, expected=1, got=2)

RACES = (
    case(
        "SVC-03",
        *(up(), together("a+ b+ a- b-", a=create(1), b=create(2).raises(EXISTS))),
        wrong=together("a+ b+ a- b-", a=create(1), b=create(2)),
    ),
    case(
        "SVC-03",
        *(up(), together("a+ b+ b- a-", a=create(1).raises(EXISTS), b=create(2))),
        wrong=together("a+ b+ b- a-", a=create(1).raises(EXISTS), b=create(2).raises(EXISTS)),
    ),
    case(
        "SVC-03",
        *(up(), together("a+ b+ b- a-", a=create(1).raises(EXISTS), b=create(2))),
        wrong=together("a+ b+ b- a-", a=create(1).raises(OWNED), b=create(2)),
    ),
    case(
        "OWN-05",
        *(*FREE, together("a+ b+ c+ a- b- c-", a=owned(2).raises(OWNED), b=owned(3), c=owned(4).raises(OWNED))),
        wrong=together("a+ b+ c+ a- b- c-", a=owned(2).raises(OWNED), b=owned(3), c=owned(4)),
    ),
    case(
        "OWN-05",
        *(*FREE, together("a+ b+ a- b-", a=owned(2), b=owned(3).raises(OWNED))),
        wrong=together("a+ b+ a- b-", a=owned(2).raises(OWNED), b=owned(3).raises(OWNED)),
    ),
    case(
        "OWN-05",
        *(*FREE, together("a+ b+ a- b-", a=owned(2), b=owned(3).raises(OWNED))),
        wrong=together("a+ b+ a- b-", a=owned(2), b=owned(3).raises(NOT_FOUND)),
    ),
)

QUEUES = (
    case(
        "SEQ-05",
        *(*SEEN, together("a+ b+ a- b-", a=FIRST, b=SECOND)),
        wrong=together("a+ b+ a- b-", a=FIRST, b=SECOND.raises(CONTIGUITY, expected=1, got=3)),
    ),
    case(
        "SEQ-05",
        *(*SEEN, together("a+ b+ a- b-", a=FIRST, b=SECOND)),
        wrong=together("a+ b+ b- a-", a=FIRST.raises(CONTIGUITY, expected=5, got=1), b=SECOND),
    ),
    case(
        "SEQ-05",
        *(*SEEN, together("a+ b+ a- b-", a=GAP, b=append(1, events(1)))),
        wrong=together("a+ b+ a- b-", a=GAP, b=append(1, events(1)).raises("RuntimeError")),
    ),
    case(
        "FRESH-03",
        *(*PAIR, FAIL, FIRST.meets(WRITE), HEAL, together("a+ r+ r- a-", a=OTHER, r=FULL)),
        wrong=together("a+ r+ r- a-", a=OTHER, r=read(2, [*events(0, 2), *events(2, 1, "other ")])),
    ),
    case(
        "FRESH-03",
        *(*SEEN, together("a+ r+ r- a-", a=FIRST, r=read(2, events(0)))),
        wrong=together("a+ r+ r- a-", a=FIRST, r=read(2, [])),
    ),
    case(
        "FRESH-03",
        *(*SEEN, together("a+ r+ r- a- b+ b-", a=FIRST, b=SECOND, r=FULL)),
        wrong=together("a+ r+ r- a- b+ b-", a=FIRST, b=SECOND, r=read(2, events(0, 5))),
    ),
    case(
        "SEQ-05",
        *(*SEEN, together("a+ b+ r+ r- a- b-", a=FIRST, b=SECOND, r=FULL)),
        wrong=together("a+ b+ r+ r- a- b-", a=FIRST, b=SECOND, r=read(2, events(0, 2))),
    ),
    case(
        "FRESH-03",
        *(*PAIR, together("a+ b+ a- r+ b- r-", a=FIRST, b=flush(1), r=read(2, events(0)))),
        wrong=together("a+ b+ a- b- c+ r+ r- c-", a=FIRST, b=flush(1), c=SECOND, r=read(2, events(0))),
    ),
    case(
        "FRESH-02",
        *(*SEEN, together("a+ t+ t- a-", a=FIRST, t=stat(snap(1, 0)))),
        wrong=together("a+ t+ t- a-", a=FIRST, t=stat(snap(0, 0))),
    ),
    case(
        "READ-06",
        *(*SEEN, FAIL, together("a+ r+ r- a-", a=FIRST.meets(WRITE), r=read(2, events(0)))),
        wrong=together("a+ r+ r- a-", a=FIRST.meets(WRITE), r=FULL),
    ),
)

CANCELS = (
    case(
        "SEQ-08",
        *(*SEEN, together("a+ a-", *look(events(0)), a=cancelled(FIRST)), append(1, events(1))),
        wrong=append(1, events(1)).raises(CONTIGUITY, expected=3, got=1),
    ),
    case(
        "SEQ-08",
        *(*SEEN, together("a+ a-", *look(events(0, 3)), a=cancelled(FIRST)), append(1, events(3))),
        wrong=append(1, events(3)).raises("RuntimeError"),
    ),
    case(
        "SEQ-08",
        *(*SEEN, together("a+ a-", *look(events(0, 3)), a=cancelled(FIRST))),
        wrong=together("a+ a-", *look(events(0, 2)), a=cancelled(FIRST)),
    ),
    case(
        "SEQ-08",
        *(*SEEN, together("a+ a- r+ r-", *look(events(0)), a=cancelled(FIRST), r=read(2, events(0)))),
        wrong=together("a+ a- r+ r-", *look(events(0, 3)), a=cancelled(FIRST), r=read(2, events(0))),
    ),
    case(
        "SEQ-08",
        *(*SEEN, together("a+ b+ a- b-", *look(events(0, 3)), a=cancelled(OTHER), b=FIRST)),
        wrong=together("a+ b+ a- b-", *look(events(0)), a=cancelled(OTHER), b=FIRST.hangs()),
    ),
    case(
        "SEQ-08",
        *(*SEEN, together("a+ b+ a- b-", a=cancelled(flush(1)), b=FIRST)),
        wrong=together("a+ b+ a- b-", a=cancelled(flush(1)), b=FIRST.hangs()),
    ),
    case("OWN-04", up(), together("a+ a-", a=cancelled(create(1))), create(2), wrong=create(2).raises(EXISTS)),
    case("OWN-04", up(), together("a+ a-", a=cancelled(create(1))), stat(None), wrong=stat(snap(0, 0))),
    case("OWN-04", *FREE, together("a+ a-", a=cancelled(owned(2))), owned(3), wrong=owned(3).raises(OWNED)),
    case(
        "SVC-11",
        *(*SEEN, read(2, events(0)), together("a+ a-", a=cancelled(opened(3))), read(2, events(0))),
        wrong=read(2, []),
    ),
)

CLOSES = (
    case(
        "CLOSE-04",
        *(*WRITTEN, together("c+ c- w+ w- d+ d-", c=cancelled(close(1)), w=owned(2).raises(OWNED), d=close(1))),
        wrong=together("c+ c- w+ w- d+ d-", c=cancelled(close(1)), w=owned(2).raises(OWNED), d=close(1).hangs()),
    ),
    case(
        "CLOSE-04",
        *(*WRITTEN, together("c+ c-", c=cancelled(close(1))), owned(2)),
        wrong=owned(2).raises(OWNED),
    ),
    case(
        "CLOSE-04",
        *(*WRITTEN, together("c+ c- d+ d-", c=cancelled(close(1)), d=close(1)), owned(2)),
        wrong=owned(2).raises(OWNED),
    ),
    case(
        "CLOSE-06",
        *(*WRITTEN, together("a+ c+ a- c-", a=FIRST, c=close(1)), opened(2), FULL),
        wrong=read(2, events(0)),
    ),
    case(
        "CLOSE-06",
        *(*WRITTEN, together("a+ c+ a- c-", a=FIRST.raises(CLOSED), c=close(1)), opened(2), read(2, events(0))),
        wrong=FULL,
    ),
    case(
        "CLOSE-06",
        *(*SEEN, together("a+ b+ c+ a- c- b-", a=FIRST, b=SECOND.raises(CLOSED), c=close(1)), FULL),
        wrong=read(2, events(0)),
    ),
    case(
        "CLOSE-02",
        *(*WRITTEN, together("c+ a+ a- c-", c=close(1), a=FIRST.raises(CLOSED))),
        wrong=together("c+ a+ a- c-", c=close(1), a=FIRST),
    ),
    case(
        "FLUSH-03",
        *(*WRITTEN, together("c+ s+ c- s-", c=close(1), s=sweep())),
        wrong=together("c+ s+ s- c-", c=close(1), s=sweep()),
    ),
    case(
        "FLUSH-03",
        *(*ALONE, create(2, "t"), together("c+ s+ c- s-", c=close(2), s=sweep())),
        wrong=together("c+ s+ c- s-", c=close(2), s=sweep().raises("ExceptionGroup", **group("t"))),
    ),
    case(
        "FLUSH-03",
        *(*WRITTEN, FAIL, together("a+ c+ s+ a- c- s-", a=FIRST.meets(WRITE), c=FAILED_CLOSE, s=FAILED_SWEEP)),
        wrong=together("a+ c+ s+ a- c- s-", a=FIRST.meets(WRITE), c=FAILED_CLOSE, s=sweep()),
    ),
    case(
        "CLOSE-08",
        *(*WRITTEN, down(), down()),
        wrong=down().raises("RuntimeError"),
    ),
)

CASES: tuple[Case, ...] = (*RACES, *QUEUES, *CANCELS, *CLOSES)

ALLOWED: dict[str, tuple[Step, ...]] = {
    "a close that had failed before fails again beside a sweep, which is not about it": (
        *(*WRITTEN, FAIL, FAILED_CLOSE, together("s+ c+ c- s-", s=sweep(), c=FAILED_CLOSE)),
    ),
    "a close that failed leaves the next owner what nobody can tell": (
        *(*SEEN, FAIL, together("a+ c+ a- c- w+ w- r+ r-", a=FIRST.meets(WRITE), c=FAILED_CLOSE, w=owned(3), r=FULL)),
        *(HEAL, read(3, events(0))),
    ),
    "a service's close names an owner whose own close failed beside it": (
        *(*WRITTEN, create(3, "t"), FAIL, together("c+ d+ c- d-", c=FAILED_CLOSE, d=failing(down(), "s"))),
    ),
    "a service flush fails for an empty session, which goes with its close, beside another one": (
        *(*ALONE, create(3, "t"), append(3, events(0)), FAIL),
        together(
            *("s+ c+ o+ o- c- s- d+ d- m+ m-",),
            s=FAILED_SWEEP,
            c=close(3),
            o=owned(4, "t").raises(OWNED),
            d=close(1).meets(WRITE),
            m=owned(5).raises(NOT_FOUND),
        ),
    ),
    "a service flush that fails for a close alone, which it waited for, is right about the others": (
        *(*WRITTEN, create(3, "t"), FAIL),
        together("c+ s+ c- s-", c=close(1).meets(WRITE), s=sweep().raises("ExceptionGroup", **group("s"))),
    ),
    "a session that never was behind an append that failed, and a reader that was opened beside its close": (
        *(*ALONE, FAIL, append(1, events(0)).meets(WRITE), HEAL, opened(2)),
        *(together("c+ r+ c- r-", c=close(1), r=read(2, []).raises(NOT_FOUND)),),
    ),
    "a flush fails, and somebody opens the session beside it and the close with which it never was": (
        *(*ALONE, FAIL, together("f+ c+ r+ r- f- c-", f=flush(1).meets(WRITE), c=close(1), r=opened(2)), HEAL),
        *(read(2, []).raises(NOT_FOUND), stat(None)),
    ),
    "a first append failed, and somebody opens the session beside the close with which it never was": (
        *(*ALONE, FAIL, append(1, events(0)).meets(WRITE), HEAL, together("c+ r+ c- r-", c=close(1), r=opened(2))),
        *(read(2, []).raises(NOT_FOUND), stat(None)),
    ),
    "a cancelled close that is under way refuses opens, and then no more": (
        *(*WRITTEN, together("c+ c- w+ w-", c=cancelled(close(1)), w=owned(2).raises(OWNED)), owned(3)),
        *(read(3, events(0)), append(3, events(1)), close(3)),
    ),
    "a sweep beside a create stores the new session or not": (
        *(up(), together("s+ c+ c- s-", s=sweep(), c=create(1)), close(1), opened(2).raises(NOT_FOUND)),
    ),
    "the service is closed during a sweep, which leaves an empty session to that": (
        *(*ALONE, together("s+ d+ s- d-", s=sweep(), d=down()), up(2), opened(2, on=2).raises(NOT_FOUND)),
    ),
    "another instance looks while a cancelled append comes to its end": (
        *(*PAIR, together("a+ a- t+ t-", *look(events(0, 3)), a=cancelled(FIRST), t=stat(snap(1, 0), on=2))),
        *(stat(snap(3, 1), on=2), append(1, events(3)), read(1, events(0, 4))),
    ),
    "what was over before is over, also for looks beside a change": (
        *(*SEEN, close(2), together("a+ r+ r- a-", a=FIRST, r=read(2, []).raises(CLOSED)), down()),
        together("c+ l+ l- c-", c=create(3, "t").raises(CLOSED), l=listed().raises(CLOSED)),
    ),
    "a sweep beside a create stores the new session": (
        *(up(), together("s+ c+ c- s-", s=sweep(), c=create(1)), close(1), opened(2), read(2, [])),
    ),
    "a read ends between two appends": (
        *(*SEEN, together("a+ b+ r+ a- b- r-", a=FIRST, b=SECOND, r=FULL), read(2, events(0, 5))),
    ),
    "a page ends inside a batch": (*(*SEEN, together("a+ r+ r- a-", a=FIRST, r=read(2, events(1), 1, 1))),),
    "an append is refused because a close overtook it": (
        *(*WRITTEN, together("a+ b+ c+ a- b- c-", a=FIRST, b=SECOND.raises(CLOSED), c=close(1))),
        *(owned(2), read(2, events(0, 3)), append(2, events(3))),
    ),
    "two cancelled batches at the same seqs, the first of which is there": (
        *(*WRITTEN, together("a+ a- b+ b-", *look(events(0, 3)), a=cancelled(FIRST), b=cancelled(OTHER))),
        *(append(1, events(3)), read(1, events(0, 4))),
    ),
    "two cancelled batches at the same seqs, the second of which is there": (
        *(
            *WRITTEN,
            together("a+ b+ a- b-", *look(events(0) + events(1, 2, "other ")), a=cancelled(FIRST), b=cancelled(OTHER)),
        ),
        append(1, events(3)),
    ),
    "two cancelled batches at the same seqs, none of which is there": (
        *(*WRITTEN, together("a+ b+ a- b-", *look(events(0)), a=cancelled(FIRST), b=cancelled(OTHER))),
        append(1, events(1)),
    ),
    "another instance sees less than the writer's own": (
        *(
            *PAIR,
            opened(3),
            together("a+ a- b+ r+ q+ r- q- b-", a=FIRST, b=SECOND, r=read(2, events(0)), q=read(3, events(0, 3))),
        ),
        read(2, events(0)),
    ),
    "another instance sees more than is covered, and never goes back": (
        *(*PAIR, together("a+ r+ r- a-", a=FIRST, r=FULL), FULL),
    ),
    "a create that comes second in call wins": (
        *(up(), together("a+ b+ b- a-", a=create(1).raises(EXISTS), b=create(2)), append(2, events(0))),
    ),
    "an open beside a close is refused or owns": (
        *(*WRITTEN, together("c+ w+ c- w-", c=close(1), w=owned(2)), append(2, events(1))),
    ),
    "an open beside a close that was called later owns": (
        *(*WRITTEN, together("w+ c+ c- w-", w=owned(2), c=close(1)), append(2, events(1))),
    ),
    "a create beside the close of an empty session finds it, or not": (
        *(*ALONE, together("c+ n+ c- n-", c=close(1), n=create(2)), append(2, events(0))),
    ),
    "a create beside the close of an empty session is refused": (
        *(*ALONE, together("c+ n+ c- n-", c=close(1), n=create(2).raises(EXISTS)), create(3)),
    ),
    "an open in another instance beside the flush that shows the session": (
        *(*ALONE, up(2), together("f+ o+ o- f-", f=flush(1), o=opened(2, on=2).raises(NOT_FOUND)), opened(3, on=2)),
    ),
    "a list beside a create shows the session or not": (
        *(up(), together("c+ l+ l- c-", c=create(1), l=listed(snap(0, 0))), listed(snap(0, 0))),
    ),
    "what comes beside the service's close is refused": (
        *(*WRITTEN, together("a+ d+ n+ a- n- d-", a=FIRST.raises(CLOSED), d=down(), n=create(2, "t").raises(CLOSED))),
        *(up(2), opened(3, on=2), read(3, events(0))),
    ),
    "a cancelled close without events leaves nothing": (
        *(*ALONE, together("c+ c- d+ d-", c=cancelled(close(1)), d=close(1)), create(2)),
    ),
    "a cancel that came too late changes nothing": (
        *(*SEEN, together("a+ b+ a- b-", late="ab", a=FIRST, b=flush(1)), FULL),
    ),
    "a cancelled sweep may have stored an empty session": (
        *(*ALONE, together("s+ s-", s=cancelled(sweep())), close(1), opened(2), read(2, [])),
    ),
    "another instance sees what a failed append left, and then no more": (
        *(*PAIR, FAIL, together("a+ l+ r+ l- r- a-", a=FIRST.meets(WRITE), l=listed(snap(3, 1), on=2), r=FULL), HEAL),
        together("f+ l+ l- f-", f=flush(1), l=listed(snap(3, 1), on=2)),
        *(together("f+ l+ l- f-", f=flush(1), l=listed(snap(1, 2), on=2)), read(2, []).raises(BROKEN)),
    ),
    "what another instance's reader met of a failed append goes beside the next one": (
        *(*PAIR, FAIL, together("a+ r+ r- a-", a=FIRST.meets(WRITE), r=FULL), HEAL),
        together("a+ r+ r- a-", a=OTHER, r=read(2, []).raises(BROKEN)),
    ),
    "another instance sees what a failed append left beside the one that takes its place": (
        *(*PAIR, FAIL, FIRST.meets(WRITE), HEAL, together("a+ r+ r- a-", a=OTHER, r=FULL)),
        read(2, [*events(0), *events(1, 2, "other ")]),
    ),
    "what failed ends inside the batch that takes its place": (
        *(*PAIR, FAIL, append(1, events(1)).meets(WRITE), HEAL),
        together("a+ r+ r- a-", a=OTHER, r=read(2, events(0, 2))),
    ),
    "another instance sees what a cancelled append left that failed, and it is not there": (
        *(*PAIR, FAIL),
        together("a+ r+ r- a-", *look(events(0)), a=replace(cancelled(FIRST), faults=(WRITE,)), r=FULL),
    ),
    "what failed in a cancelled append the close says": (
        *(*WRITTEN, FAIL),
        together("a+ b+ a- b-", *look(events(0, 3)), a=FIRST, b=replace(cancelled(SECOND), faults=(SYNC,))),
        *(HEAL, close(1).meets()),
    ),
    "what failed in a cancelled flush ends the handle": (
        *(*WRITTEN, FAIL, together("f+ f-", f=replace(cancelled(flush(1)), faults=(SYNC,))), HEAL),
        append(1, events(1)).raises("SessionOwnershipLostError"),
    ),
    "behind a failing append the next one fails too, and storage heals": (
        *(*SEEN, FAIL, together("a+ b+ a- b-", a=FIRST.meets(WRITE), b=SECOND.meets(WRITE)), HEAL),
        *(append(1, events(1, 2)), FULL),
    ),
}
"""What calls in flight at once may come to, in words -> a history of it."""
