"""The fast filter over recoveries: it accepts what conforms, never what the fold would reject."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.contract import Capabilities
from conformance.model.history import CrashView, ErrorView, HandleView, Raised, Returned, SnapshotView
from conformance.model.judge import Judge
from conformance.model.judgement import judge_history
from conformance.model.operations import (
    Append,
    Close,
    Crash,
    Create,
    Flush,
    FlushInstance,
    ListSessions,
    OpenSession,
    Operation,
    Stat,
)
from conformance.model.recovery import (
    ABSENT,
    Answer,
    Promise,
    RecoverySeen,
    SessionSeen,
    fits,
    marker,
    newcomer,
    promises,
)
from conformance.model.recovery_witness import witnessed
from tests.unit.model.cases import PLAIN
from tests.unit.model.crash_histories import AT_ONCE, CORRUPT, EAGER, kill
from tests.unit.model.histories import (
    NOT_FOUND,
    Step,
    append,
    close,
    create,
    events,
    flush,
    header,
    history,
    opened,
    owned,
    read,
    up,
)

ABSENCE = ErrorView(NOT_FOUND, NOT_FOUND, "")
DOUBLE = Capabilities(numbers="double")
NUMBERS = [{"type": "user/message", "seq": 0, "time": 1, "data": {"count": 1, "on": True, "zero": 0.0, "none": None}}]

BEGINNINGS: dict[str, tuple[Step, ...]] = {
    "nothing": (up(),),
    "created": (up(), create(1)),
    "flushed empty": (up(), create(1), flush(1)),
    "seeded": (
        up(),
        create(1, is_seeded=True, inherited=1, cwd="/a", extra={"k": [1]}),
        append(1, events(0)),
        flush(1),
    ),
    "uncovered": (up(), create(1), append(1, events(0, 3))),
    "covered in part": (up(), create(1), append(1, events(0, 2)), flush(1), append(1, events(2))),
    "numbers": (up(), create(1), append(1, NUMBERS), close(1)),
    "two": (up(), create(1), append(1, events(0, 2)), flush(1), create(2, "t"), append(2, events(0))),
    "unread since a kill": (
        up(),
        create(1),
        append(1, events(0)),
        flush(1),
        kill(Append(1, events(1, 2, mark="a"))),
        up(2),
        owned(1, on=2),
    ),
    "read since a kill": (
        up(),
        create(1),
        append(1, events(0, 2)),
        kill(),
        up(2),
        owned(1, on=2),
        read(1, events(0, 2)),
        flush(1),
    ),
    "denied since a kill": (up(), create(1), kill(Flush(1)), up(2), opened(1, on=2).raises(NOT_FOUND)),
}
DURING: tuple[Operation | None, ...] = (
    None,
    Append(1, events(0, 2, mark="new ")),
    Append(1, events(2, 2, mark="new ")),
    Append(1, events(3)),
    Flush(1),
    Close(1),
    FlushInstance(1),
    Create(1, 9, header("u")),
    OpenSession(1, 9, "s", "write"),
)


def asked(found: tuple[Promise, ...], seen: RecoverySeen) -> Iterator[Step]:
    """The calls of a probe, with the answers it got; a handle that it did not keep is as it should be."""
    of = {each.session: each for each in found}
    number = 100

    def look(instance: int, session: str, answer: Answer, handle: HandleView | None, access: Any) -> Iterator[Step]:
        opening = Step(OpenSession(instance, number, session, access))
        if isinstance(answer, ErrorView):
            yield _answered(opening, answer)
        elif answer is not None:
            promise = of[session]
            usual = HandleView(session, promise.header, access, promise.inherited)
            yield opening.gives(handle or usual)
            yield read(number, answer)

    yield up(11) if seen.failed is None else _answered(up(11), seen.failed)
    if seen.listed is not None:
        yield _answered(Step(ListSessions(11)), seen.listed)
    for each in seen.sessions:
        if each.stat is not None:
            yield _answered(Step(Stat(11, each.session)), None if each.stat is ABSENT else each.stat)
        number += 1
        yield from look(11, each.session, each.log, each.handle, "read")
    yield up(12)
    for each in seen.sessions:
        number += 1
        yield from look(12, each.session, each.again, None, "read")
    yield up(13)
    for each in seen.sessions:
        number += 1
        yield from look(13, each.session, each.owned, each.owner, "write")
        if each.made is not None:
            yield Step(Create(13, number, each.made), Returned(each.owner))
            of[each.session] = replace(of[each.session], header=each.made, inherited=None)
        if each.batch is not None:
            yield _answered(Step(Append(number, each.batch)), each.failed)
            yield Step(Close(number))
    yield up(14)
    for each in seen.sessions:
        number += 1
        yield from look(14, each.session, each.after, None, "read")


def _answered(step: Step, answer: Any) -> Step:
    return replace(step, outcome=Raised(answer) if isinstance(answer, ErrorView) else Returned(answer))


def judged(beginning: str, capabilities: Capabilities, *, located: bool = True) -> Judge:
    """A judge that has seen a beginning."""
    judge = Judge(capabilities, located=located)
    for event in history(BEGINNINGS[beginning]):
        judge.feed(event)
    return judge


@st.composite
def conforming(draw: st.DrawFn, found: tuple[Promise, ...]) -> RecoverySeen:
    """A recovery that keeps the promises."""
    sessions, listed = [], []
    asks = {name: draw(st.booleans()) for name in ("list", "stat", "log", "again", "owned")}
    for promise in found:
        there = promise.must or (promise.may and draw(st.booleans()))
        each = SessionSeen(promise.session)
        appends = asks["owned"] and draw(st.booleans())
        if there:
            log = draw(st.sampled_from(promise.logs))
            shown = log[: draw(st.integers(min(promise.covered, len(log)), len(log)))]
            counts = asks["log"] or asks["owned"]
            view = SnapshotView(promise.header, 0, draw(st.sampled_from([None, len(shown)])) if counts else None, None)
            listed.append(view)
            each.stat = view if asks["stat"] else None
            each.log, each.again, each.owned = (
                copy.deepcopy(shown) if asks[name] else None for name in ("log", "again", "owned")
            )
            each.handle = (
                HandleView(promise.session, promise.header, "read", promise.inherited) if asks["log"] else None
            )
            if asks["owned"]:
                each.owner = HandleView(promise.session, promise.header, "write", promise.inherited)
            batch = marker(len(shown))
        else:
            shown, batch = [], marker(0)
            each.stat = ABSENT if asks["stat"] else None
            each.log, each.again = (ABSENCE if asks[name] else None for name in ("log", "again"))
            if appends:
                each.made = newcomer(promise.session)
                each.owner = HandleView(promise.session, each.made, "write", None)
                each.owned = ABSENCE if draw(st.booleans()) else None
        if appends:
            each.batch = batch
        if appends and draw(st.booleans()):
            each.after = copy.deepcopy([*shown, *batch])
        sessions.append(each)
    return RecoverySeen(sessions, listed=listed if asks["list"] else None)


def _some_log(draw: st.DrawFn, each: SessionSeen) -> list[Any] | None:
    logs = [log for log in (each.log, each.again, each.owned, each.after) if isinstance(log, list)]
    return draw(st.sampled_from(logs)) if logs else None


@st.composite
def spoiled(draw: st.DrawFn, seen: RecoverySeen) -> None:
    """Change one thing in what was seen."""
    each = draw(st.sampled_from(seen.sessions))
    log = _some_log(draw, each)
    kind = draw(
        st.sampled_from(["drop", "add", "alter", "number", "error", "vanish", "header", "list", "count", "made"])
    )
    if kind == "drop" and log:
        del log[draw(st.integers(0, len(log) - 1))]
    elif kind == "add" and log is not None:
        log.append(draw(st.sampled_from([*events(len(log)), {"half": 1}, *copy.deepcopy(log)])))
    elif kind == "alter" and log:
        log[-1]["data"] = draw(st.sampled_from(["other", None, {"count": True, "on": 1, "zero": -0.0, "none": None}]))
    elif kind == "number" and log:
        event = draw(st.sampled_from(log))
        key = draw(st.sampled_from(sorted({"seq", "time"} & event.keys()) or ["seq"]))
        event.setdefault(key, 0)
        event[key] = draw(st.sampled_from([float(event[key]), bool(event[key]), event[key] + 1]))
    elif kind == "error":
        answer = ErrorView(draw(st.sampled_from([CORRUPT, NOT_FOUND])), "E", "")
        setattr(each, draw(st.sampled_from(["stat", "log", "again", "owned", "after", "failed"])), answer)
    elif kind == "vanish":
        each.stat = ABSENT
    elif kind == "header":
        other = header(each.session, created_at=draw(st.sampled_from([1, 1.0, True, 2])))
        if isinstance(each.stat, SnapshotView):
            each.stat = replace(each.stat, header=other)
        elif each.handle is not None:
            each.handle = replace(each.handle, header=other)
        elif each.owner is not None:
            each.owner = replace(each.owner, inherited=draw(st.sampled_from([0, False, 1, True, 2])))
    elif kind == "list" and isinstance(seen.listed, list):
        views: list[Any] = list(seen.listed)
        seen.listed = [*views[1:], *([SnapshotView(header("other"), 0, None, None)] if draw(st.booleans()) else [])]
    elif kind == "count" and isinstance(each.stat, SnapshotView):
        each.stat = replace(each.stat, event_count=draw(st.sampled_from([0, 1, 2, True, 3.0, -1])))
    elif kind == "made":
        each.made = None if each.made is not None else newcomer(each.session)


@given(data=st.data())
@settings(max_examples=500, deadline=None)
def test_what_fits_the_fold_allows_too(data: st.DataObject) -> None:
    """Whatever is seen, in whatever situation: where the filter accepts, the fold finds nothing wrong.

    And it counts at least the clauses that the filter says were exercised.
    """
    beginning = data.draw(st.sampled_from(list(BEGINNINGS)))
    during = data.draw(st.sampled_from(DURING))
    capabilities = data.draw(st.sampled_from([PLAIN, EAGER, AT_ONCE, DOUBLE]))
    located = data.draw(st.booleans())
    found = promises(judged(beginning, capabilities, located=located), during)
    seen = data.draw(conforming(found))
    if found:
        for _ in range(data.draw(st.integers(0, 2))):
            data.draw(spoiled(seen))
    if not fits(found, seen):
        return
    calls = st.sampled_from(range(len(BEGINNINGS[beginning])))
    lost = data.draw(st.lists(calls, unique=True, max_size=2).map(tuple))
    crash = Step(Crash(data.draw(st.sampled_from(["kill", "ext4"])), during), Returned(CrashView(lost)))
    before = history(BEGINNINGS[beginning])
    told = history((*BEGINNINGS[beginning], crash, *asked(found, seen)))
    result = judge_history(told, capabilities, located=located)
    assert result.violation is None
    counted = result.witnesses - judge_history(before, capabilities, located=located).witnesses
    kill = isinstance(crash.operation, Crash) and crash.operation.preset == "kill"
    assert witnessed(found, seen, lost, kill=kill) <= set(counted)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_keeps_the_promises_fits(data: st.DataObject) -> None:
    """The filter is of use: it accepts every recovery that keeps the promises, whatever was looked at."""
    beginning = data.draw(st.sampled_from(list(BEGINNINGS)))
    during = data.draw(st.sampled_from(DURING))
    found = promises(judged(beginning, data.draw(st.sampled_from([PLAIN, EAGER, AT_ONCE, DOUBLE]))), during)
    assert fits(found, data.draw(conforming(found)))


def looked_at(beginning: str, log: Answer, **fields: Any) -> tuple[tuple[Promise, ...], RecoverySeen]:
    """The promises for a session "s", and a recovery of which one read and these fields were seen."""
    found = promises(judged(beginning, fields.pop("capabilities", PLAIN)))
    return found, RecoverySeen([SessionSeen("s", log=log, **fields)])


@pytest.mark.parametrize(
    ("given_as", "wrong"),
    [
        ({"seq": 0}, {"seq": False}),
        ({"seq": 0}, {"seq": 0.0}),
        ({"time": 1}, {"time": True}),
        ({}, {"data": {"count": True, "on": True, "zero": 0.0, "none": None}}),
        ({}, {"data": {"count": 1, "on": 1, "zero": 0.0, "none": None}}),
        ({}, {"data": {"count": 1, "on": True, "zero": -0.0, "none": None}}),
        ({}, {"data": {"count": 1.0, "on": True, "zero": 0.0, "none": None}}),
    ],
)
def test_equal_to_python_is_not_equal_as_json(given_as: dict[str, Any], wrong: dict[str, Any]) -> None:
    """``True``, 1 and 1.0 are three values, and so are 0.0 and -0.0."""
    assert fits(*looked_at("numbers", [{**NUMBERS[0], **given_as}]))
    assert not fits(*looked_at("numbers", [{**NUMBERS[0], **wrong}]))


def test_a_backend_of_doubles_may_widen_integers() -> None:
    """With ``numbers="double"`` 1 and 1.0 are one value; a bool is neither."""
    assert fits(*looked_at("covered in part", [{**each, "time": 0.0} for each in events(0, 2)], capabilities=DOUBLE))
    assert not fits(
        *looked_at("covered in part", [{**each, "time": False} for each in events(0, 2)], capabilities=DOUBLE)
    )


def test_bytes_of_an_artifact_that_readers_changed_do_not_fit() -> None:
    """Looks that only read leave the artifact's bytes as they were."""
    assert fits(*looked_at("covered in part", events(0, 2), before_looks=b"a", after_looks=b"a"))
    assert not fits(*looked_at("covered in part", events(0, 2), before_looks=b"a", after_looks=b"ab"))


def test_promises_leave_the_judge_as_it_was() -> None:
    """Asking what a crash may leave changes nothing: the history goes on as if nobody had asked."""
    judge = judged("covered in part", PLAIN)
    before = repr(judge.world)
    for during in DURING:
        promises(judge, during)
    assert repr(judge.world) == before


def test_promises_say_what_a_call_under_way_may_add() -> None:
    """An append under way adds a batch that may be there in part, and takes nothing away."""
    judge = judged("covered in part", PLAIN)
    (calm,) = promises(judge)
    (under_way,) = promises(judge, Append(1, events(3, 2)))
    assert (calm.must, calm.covered, calm.logs) == (True, 2, (events(0, 3),))
    assert (under_way.must, under_way.covered, under_way.logs) == (True, 2, (events(0, 5),))
    (refused,) = promises(judge, Append(1, events(4)))
    assert refused.logs == calm.logs


def test_promises_of_a_session_that_nothing_was_written_to() -> None:
    """It must be absent; a flush under way may have stored it."""
    judge = judged("created", PLAIN)
    (promise,) = promises(judge)
    assert (promise.may, promise.trace) == (False, "DUR-03")
    (promise,) = promises(judge, Flush(1))
    assert (promise.must, promise.may, promise.logs) == (False, True, ([],))


def test_an_id_of_which_nothing_can_be_told_has_no_promise() -> None:
    """Where two instances wrote one session side by side, the fold judges nothing, and nothing is promised."""
    judge = Judge(PLAIN)
    for event in history((up(), create(1), append(1, events(0)), up(2), owned(2, on=2), append(2, events(1)))):
        judge.feed(event)
    assert promises(judge) == ()
