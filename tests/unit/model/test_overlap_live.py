"""What sessions publish beside calls in flight: hand-written histories of right and wrong answers."""

from __future__ import annotations

import pytest

from conformance.model.judgement import judge_history
from tests.unit.model.histories import (
    CLOSED,
    CONTIGUITY,
    NOT_FOUND,
    OWNED,
    Step,
    append,
    close,
    create,
    events,
    flush,
    opened,
    owned,
    read,
    snap,
    stat,
    sweep,
    up,
)
from tests.unit.model.live_histories import (
    DOWN,
    GAP,
    LIVE,
    ONE,
    STORED,
    TWO,
    dispose,
    gap,
    group_gap,
    hub_flush,
    misfit,
    on_hub,
    publish,
)
from tests.unit.model.overlap_histories import cancelled, look, together, told_history

(LATER,) = publish(*events(1))
(NEXT,) = publish(*events(2))
(MISFIT,) = publish(*events(7))
THIRD = append(1, events(2))


ALLOWED = {
    "what waits is shown beside a flush, or not": (
        *(*TWO, opened(2), together("f+ r+ q+ r- f- q-", f=hub_flush(), r=read(2, []), q=read(2, events(0, 2)))),
        read(2, events(0, 2)),
    ),
    "an event that is stored at once is shown to a read under way": (
        *(*ONE, opened(2), together("r+ p+ p- r-", r=read(2, events(0, 2)), p=LATER)),
        read(2, events(0, 2)),
    ),
    "one look shows what waits, and another that began before it does not": (
        *ONE,
        opened(2),
        together("s+ r+ r- s-", s=stat(snap(1, 0)), r=read(2, [])),
    ),
    "an append fills the gap before what waited, and a read beside the flush shows both": (
        *(*ONE, hub_flush(), *publish(*events(2)), opened(2)),
        together("a+ f+ a- r+ f- r-", a=append(1, events(1)), f=hub_flush(), r=read(2, events(0, 3))),
    ),
    "a refused append was told of what came while it was in line": (
        *TWO,
        together("a+ p+ p- a-", a=append(1, events(5)).raises(CONTIGUITY, expected=3, got=5), p=NEXT),
    ),
    "so was one with a flush behind it in line": (
        *TWO,
        together(
            *("a+ f+ p+ p- a- f-",),
            a=append(1, events(1)).raises(CONTIGUITY, expected=3, got=1),
            f=flush(1),
            p=NEXT,
        ),
    ),
    "or it was told of what waited when it was called, or of less": (
        *TWO,
        together("a+ p+ p- a-", a=append(1, events(5)).raises(CONTIGUITY, expected=2, got=5), p=NEXT),
        together("a+ p+ p- a-", a=append(1, events(5)).raises(CONTIGUITY, expected=1, got=5), p=publish(*events(3))[0]),
    ),
    "an append that is beaten to its seq by what came while it was in line": (
        *STORED,
        together("a+ p+ p- a-", a=append(1, events(1)).raises(CONTIGUITY, expected=2, got=1), p=LATER),
    ),
    "a batch with a gap is told of its gap, behind what came while it was in line": (
        *STORED,
        together(
            *("a+ p+ p- a-",),
            a=append(1, [*events(2), *events(4)]).raises(CONTIGUITY, expected=3, got=4),
            p=LATER,
        ),
    ),
    "an append is taken for its place behind what came while it was in line": (
        *STORED,
        together("a+ p+ p- a-", a=append(1, events(2)), p=LATER),
        *(opened(2), read(2, events(0, 3))),
    ),
    "a refused append of an owner that closes, and of whom another one asks": (
        *TWO,
        together(
            *("a+ f+ b+ p+ p- c+ w+ w- f- a- b- c-",),
            a=append(1, events(2)),
            f=flush(1),
            b=append(1, events(2)).raises(CONTIGUITY, expected=4, got=2),
            p=publish(*events(3))[0],
            c=close(1),
            w=owned(2).raises(OWNED),
        ),
    ),
    "a flush rejects for a misfit that came while it was under way": (
        *ONE,
        together("f+ p+ p- f-", f=gap(flush(1), 7, 1), p=MISFIT),
    ),
    "a sweep rejects for a misfit: what would have led to it was published while nobody owned the session": (
        *ONE,
        together(
            *("c+ c- p+ p- w+ w- s+ q+ q- s-",),
            c=close(1),
            p=LATER,
            w=owned(2),
            s=group_gap(sweep(), 2, 1),
            q=NEXT,
        ),
    ),
    "a sweep tells of what a session's end beside it could not store, and the hub did not hear of": (
        *(*ONE, hub_flush(), *publish(*events(3))),
        together("d+ s+ s- d-", d=dispose(), s=group_gap(sweep(), 3, 1)),
        *(owned(3), read(3, events(0))),
    ),
    "a sweep tells of what came while it was under way, and of another session's event that never fits": (
        *(*GAP, create(2, "t"), on_hub(session="t")),
        together(
            *("s+ p+ p- s- f+ f-",),
            s=sweep().raises("ExceptionGroup", members=(misfit("s", 3, 1), misfit("t", 8, 0))),
            p=publish(*events(8), session="t")[0],
            f=gap(hub_flush(), 3, 1),
        ),
    ),
    "a sweep leaves an empty session alone whose end is called beside it": (
        *(up(), create(1), on_hub()),
        together("s+ d+ d- s- w+ w-", s=sweep(), d=dispose(), w=owned(3).raises(NOT_FOUND)),
    ),
    "or one whose end was called before": (
        *(up(), create(1), on_hub()),
        together("d+ s+ d- s- w+ w-", s=sweep(), d=dispose(), w=owned(3).raises(NOT_FOUND)),
    ),
    "or stores it": (
        *(up(), create(1), on_hub()),
        together("s+ d+ d- s- w+ w-", s=sweep(), d=dispose(), w=owned(3)),
        *(read(3, []),),
    ),
    "a session's end beside a close resolves with it": (
        *(*ONE, together("c+ d+ c- d-", c=close(1), d=dispose()), owned(2), read(2, events(0))),
    ),
    "an empty session is stored by the close that another owner is refused beside, for an event waits": (
        *(
            *ONE,
            DOWN,
            together("c+ w+ w- c- o+ o-", c=close(1), w=owned(2).raises(OWNED), o=opened(3)),
            read(3, events(0)),
        ),
    ),
    "whom an event goes to beside a close nobody can say": (
        *(*ONE, together("c+ p+ p- c-", c=close(1), p=LATER), opened(2), read(2, events(0))),
    ),
    "a flush beside a close is told that the handle is closed": (
        *(*ONE, together("f+ c+ f- c-", f=hub_flush().raises(CLOSED), c=close(1)), opened(2), read(2, events(0))),
    ),
    "what is called on a handle beside its session's end is refused": (
        *ONE,
        together("d+ a+ r+ a- r- d-", d=dispose(), a=append(1, events(1)).raises(CLOSED), r=read(1, []).raises(CLOSED)),
        *(opened(2), read(2, events(0))),
    ),
    "beside a cancelled close, and the flush behind it, the session is owned still": (
        *ONE,
        together("c+ c- f+ f- w+ w-", c=cancelled(close(1)), f=cancelled(hub_flush()), w=owned(2).raises(OWNED)),
        *(owned(3), read(3, events(0))),
    ),
    "a cancelled flush stores or does not": (
        *(*ONE, together("f+ f-", f=cancelled(hub_flush())), opened(2), read(2, [])),
        *(read(2, events(0)), flush(1)),
    ),
    "an append behind what waits is cancelled and is not there": (
        *(*TWO, together("a+ a-", *look([]), a=cancelled(THIRD)), *publish(*events(2)), hub_flush()),
        *(opened(2), read(2, events(0, 3))),
    ),
}
"""What publishing beside calls in flight may come to, in words -> a history of it."""

BLAMED: dict[str, tuple[str, tuple[Step, ...]]] = {
    "an append takes the seq of an event that waits": (
        "LIVE-12",
        (*TWO, together("a+ f+ a- f-", a=append(1, events(1)), f=hub_flush())),
    ),
    "a flush is refused for an event that stands behind an append in line": (
        "LIVE-03",
        (
            *STORED,
            together("f+ a+ p+ p- f- a-", f=gap(hub_flush(), 2, 1), a=append(1, events(1)), p=NEXT),
        ),
    ),
    "a second flush resolves, and what it covers is not there": (
        "LIVE-03",
        (
            *(*ONE, opened(2)),
            together("f+ p+ p- g+ f- g- r+ r-", f=hub_flush(), p=LATER, g=hub_flush(), r=read(2, events(0))),
        ),
    ),
    "a sweep resolves, and what waited before it is not there": (
        "LIVE-13",
        (*TWO, opened(2), together("s+ s- r+ c+ c- r-", s=sweep(), r=read(2, []), c=append(1, events(2)))),
    ),
    "a cancelled close drops what waited": (
        "CLOSE-04",
        (*ONE, together("c+ c-", c=cancelled(close(1))), owned(2), read(2, [])),
    ),
    "a read shows what nobody has published yet": (
        "FRESH-03",
        (*ONE, opened(2), together("r+ f+ r- f- p+ p-", r=read(2, events(0, 2)), f=hub_flush(), p=LATER)),
    ),
    "an append is told of more than was published while it was in line": (
        "LIVE-12",
        (*TWO, together("a+ p+ p- a-", a=append(1, events(5)).raises(CONTIGUITY, expected=4, got=5), p=NEXT)),
    ),
    "an append is told of an event that was refused while it was in line": (
        "LIVE-12",
        (
            *TWO,
            together(
                *("a+ p+ p- a-",),
                a=append(1, events(5)).raises(CONTIGUITY, expected=3, got=5),
                p=NEXT.raises("ValueError", "the event with seq 2 cannot be stored"),
            ),
        ),
    ),
    "an append is taken that leaves a gap behind what came while it was in line": (
        "SEQ-02",
        (*STORED, together("a+ p+ p- a-", a=append(1, events(3)), p=LATER)),
    ),
    "an append that fits is refused for what was published when it had ended": (
        "SEQ-01",
        (*STORED, together("a+ a- p+ p-", a=append(1, events(1)).raises(CONTIGUITY, expected=2, got=1), p=LATER)),
    ),
    "a sweep rejects for what came meanwhile and has its place": (
        "FLUSH-01",
        (*TWO, together("s+ q+ q- s-", s=group_gap(sweep(), 2, 1), q=NEXT)),
    ),
    "a session's end does not wait for the close under way": (
        "LIVE-06",
        (*ONE, together("c+ d+ d- c-", c=close(1), d=dispose())),
    ),
    "a signal beside a close never ends": (
        "LIVE-03",
        (*ONE, together("c+ f+ c- f-", c=close(1), f=hub_flush().hangs())),
    ),
}
"""A mistake in words -> the clause that it breaks, and a history that ends with it."""


@pytest.mark.parametrize("told", ALLOWED)
def test_what_surprises_and_is_right(told: str) -> None:
    """None of these histories is called wrong."""
    found = judge_history(told_history(ALLOWED[told]), LIVE).violation
    assert found is None, found


@pytest.mark.parametrize("told", BLAMED)
def test_mistake_is_blamed_on_its_clause(told: str) -> None:
    """What was done wrong is blamed where it shows."""
    clause, steps = BLAMED[told]
    assert judge_history(told_history(steps[:-1]), LIVE).violation is None
    found = judge_history(told_history(steps), LIVE).violation
    assert found is not None
    assert found.clause == clause
