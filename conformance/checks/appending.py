"""Named scenarios for SEQ: what a batch must be, what a refused one leaves behind, and whose memory a batch is."""

from __future__ import annotations

from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import CREATED_AT, Script, batch, event
from conformance.clauses import Need
from conformance.model.values import SampleObject


def _writer(s: Script, length: int = 2) -> int:
    """A write handle of a new session whose log has that many events."""
    w = s.create(s.instance())
    if length:
        s.append(w, batch(0, length))
    return w


@scenario("SEQ-04", "REV-01", "READ-03", needs=(Need.CLOCK,))
def nothing_changes_while_nobody_acts(s: Script) -> None:
    """Seconds, minutes and a day go by without a call: the log, its snapshot and its revision stay as they were."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 3))
    s.flush(w)
    r = s.open(a)
    s.read(r)
    s.stat(a)
    for pause in (1, 120, 86_400):
        s.wait(pause)
        s.stat(a)
        s.list(a)
        s.read(r)
        s.read(w)
        s.read(s.open(a))


@scenario("SEQ-01", "READ-04")
def batches_are_read_back_exactly(s: Script) -> None:
    """Batches of one and of many, each continuing the log, are read back as they were given."""
    w = _writer(s, 1)
    s.read(w)
    s.append(w, batch(1, 9))
    s.append(w, [event(10, "tool/call", data={"id": "c1", "input": [1, 2.5, None, True, {"": "empty key"}]})])
    s.append(w, [event(11, data=None), event(12, data=[]), event(13, data="§ € 😀\n\t\u0000")])
    s.read(w)
    s.close(w)


@scenario("SEQ-01")
def unknown_keys_and_optional_keys_are_kept(s: Script) -> None:
    """``ignorable``, ``surfaceOp``, ``sourceEventSeqs`` and keys nobody knows are stored verbatim."""
    w = _writer(s, 1)
    s.append(w, [event(1, ignorable=False, surfaceOp={"op": "replace"}, sourceEventSeqs=[0])])
    s.append(w, [event(2, unknownKey={"kept": [1]}, seq_="near", Type="other"), event(3, surfaceOp=None)])
    s.read(w)


@scenario("SEQ-01")
def equal_events_and_old_times_are_no_reason_to_refuse(s: Script) -> None:
    """Events alike in all but their seq, and times that stand still or go back, are stored as given."""
    w = _writer(s, 0)
    s.append(w, [event(seq, data="same") | {"time": CREATED_AT} for seq in range(3)])
    s.append(w, [event(3, data="same") | {"time": 0}])
    s.read(w)


@scenario("SEQ-01", needs=(Need.FRESH,))
def batches_are_read_back_by_a_fresh_instance(s: Script) -> None:
    """What was appended in several batches is one log to a fresh instance."""
    w = _writer(s, 2)
    s.append(w, batch(2, 1))
    s.append(w, batch(3, 4))
    s.close(w)
    s.read(s.open(s.instance()))


@scenario("SEQ-02")
def gap_is_refused_whole(s: Script) -> None:
    """A batch that starts past the next seq is refused, and nothing of it is stored."""
    w = _writer(s)
    s.append(w, batch(3, 1))
    s.read(w)
    s.append(w, batch(100, 2))
    s.read(w)


@scenario("SEQ-02")
def overlap_is_refused_whole(s: Script) -> None:
    """A batch that starts before the next seq is refused, though its later events would fit."""
    w = _writer(s)
    s.append(w, batch(1, 3, mark="overlap"))
    s.read(w)
    s.append(w, batch(0, 2))
    s.read(w)


@scenario("SEQ-02")
def repeated_batch_is_refused_whole(s: Script) -> None:
    """The batch that was just stored, given again, is refused and not stored twice."""
    w = _writer(s, 0)
    s.append(w, batch(0, 2))
    s.append(w, batch(0, 2))
    s.read(w)


@scenario("SEQ-02")
def gap_inside_is_refused_whole(s: Script) -> None:
    """A gap in the middle of a batch refuses its first events too; the error names the place of the gap."""
    w = _writer(s)
    s.append(w, [*batch(2, 2), *batch(5, 2)])
    s.read(w)


@scenario("SEQ-02")
def repeat_inside_is_refused_whole(s: Script) -> None:
    """One seq twice in a batch refuses all of it."""
    w = _writer(s)
    s.append(w, [*batch(2, 2), event(3, data="again"), event(4)])
    s.read(w)


@scenario("SEQ-02")
def descent_inside_is_refused_whole(s: Script) -> None:
    """A batch with a descending seq is refused, also where its seqs are all there."""
    w = _writer(s)
    s.append(w, [event(2), event(4), event(3)])
    s.read(w)
    s.append(w, batch(2, 3)[::-1])
    s.read(w)


@scenario("SEQ-02")
def first_offending_place_is_the_one_named(s: Script) -> None:
    """Of several wrong places the error names the first: the seq due there and the seq found."""
    w = _writer(s)
    s.append(w, [event(2), event(2), event(9)])
    s.append(w, [event(2), event(3), event(5), event(5)])
    s.append(w, [event(3), event(9), event(2)])
    s.read(w)


@scenario("SEQ-02")
def new_log_starts_at_seq_0(s: Script) -> None:
    """The first batch of a new session is refused at any other seq than 0."""
    w = _writer(s, 0)
    s.append(w, batch(1, 2))
    s.read(w)
    s.append(w, batch(0, 1))
    s.read(w)


@scenario("SEQ-02")
def last_event_out_of_place_refuses_a_long_batch(s: Script) -> None:
    """One wrong seq at the end of a long batch stores none of it."""
    w = _writer(s)
    s.append(w, [*batch(2, 40), event(43)])
    s.read(w)
    s.stat(1)


@scenario("SEQ-02", needs=(Need.FRESH,))
def refused_batch_is_not_stored_for_others_either(s: Script) -> None:
    """After a refused batch and a flush a fresh instance sees the log without it."""
    w = _writer(s)
    s.append(w, [*batch(2, 2), event(9)])
    s.flush(w)
    s.read(s.open(s.instance()))
    s.append(w, batch(5, 1))
    s.close(w)
    s.read(s.open(s.instance()))


@scenario("SEQ-03")
def empty_batch_changes_nothing(s: Script) -> None:
    """An empty batch on a log with events stores nothing and leaves the revision."""
    w = _writer(s)
    s.stat(1)
    s.append(w, [])
    s.stat(1)
    s.append(w, [])
    s.read(w)
    s.append(w, batch(2, 1))


@scenario("SEQ-03")
def empty_batch_materialises_nothing(s: Script) -> None:
    """A new session to which only an empty batch was appended never was, once it is closed."""
    w = _writer(s, 0)
    s.append(w, [])
    s.stat(1)
    s.close(w)
    s.stat(1)
    s.list(1)
    s.create(1)


@scenario("SEQ-03", needs=(Need.FRESH,))
def empty_batch_shows_nothing_to_others(s: Script) -> None:
    """A fresh instance does not see a new session to which only an empty batch was appended."""
    w = _writer(s, 0)
    s.append(w, [])
    b = s.instance()
    s.stat(b)
    s.list(b)
    s.open(b)
    s.append(w, batch(0, 1))


@scenario("SEQ-04")
def what_was_read_is_read_again(s: Script) -> None:
    """Events that one read showed are the same to later handles, after appends, flushes and closes."""
    w = _writer(s, 3)
    first, second = s.open(1), s.open(1)
    s.read(first)
    s.read(second)
    s.flush(w)
    s.append(w, batch(3, 2))
    s.read(w)
    s.read(second)
    s.close(w)
    s.read(first)
    s.read(s.open(1, access="write"))


@scenario("SEQ-04", needs=(Need.FRESH,))
def what_a_barrier_covered_stays_in_every_instance(s: Script) -> None:
    """Events that were flushed are the same to every instance, later ones and writing ones too."""
    w = _writer(s, 3)
    s.flush(w)
    b = s.instance()
    first, second = s.open(b), s.open(b)
    s.read(first)
    s.read(second)
    s.append(w, batch(3, 1))
    s.close(w)
    third = s.open(s.instance(), access="write")
    s.read(third)
    s.read(first)


@scenario("SEQ-06", needs=(Need.CALLER_MEMORY,))
def batch_is_captured_when_append_is_called(s: Script) -> None:
    """What the caller does to a batch after the call, deep inside it too, changes nothing stored."""
    w = _writer(s, 1)
    s.append(w, [event(1, data={"deep": [{"text": "kept"}]}), event(2)], scribble=True)
    s.read(w)
    s.append(w, batch(3, 1), scribble=True)
    s.append(w, batch(4, 1))
    s.flush(w)
    s.read(s.open(1))


@scenario("SEQ-06", needs=(Need.CALLER_MEMORY, Need.FRESH))
def captured_batch_is_what_is_stored(s: Script) -> None:
    """A fresh instance reads the batch as it was when ``append`` was called."""
    w = _writer(s, 0)
    s.append(w, batch(0, 3), scribble=True)
    s.close(w)
    s.read(s.open(s.instance()))


@scenario("SEQ-07", needs=(Need.CALLER_MEMORY,))
def result_of_read_is_the_callers(s: Script) -> None:
    """What the caller does to what ``read`` returned changes no later read, on that handle or another."""
    w = _writer(s, 0)
    s.append(w, [event(0, data={"deep": [{"text": "kept"}]}), event(1)])
    s.read(w, scribble=True)
    s.read(w)
    r = s.open(1)
    s.read(r, scribble=True)
    s.read(r)
    s.append(w, batch(2, 1))
    s.read(w, 0, 2, scribble=True)
    s.read(s.open(1))


@scenario("SEQ-09")
def refused_batch_leaves_the_seq_free(s: Script) -> None:
    """After a refusal the same handle appends the right batch at the seq that was due."""
    w = _writer(s)
    s.append(w, batch(4, 2))
    s.append(w, batch(2, 2))
    s.append(w, [*batch(4, 1), event(4)])
    s.append(w, batch(4, 1))
    s.append(w, [{"type": "user/message"}])
    s.append(w, batch(5, 1))
    s.read(w)


@scenario("SEQ-09")
def other_sessions_write_at_once_after_a_refusal(s: Script) -> None:
    """A refusal in one session holds up neither an append nor a create in another."""
    a = s.instance()
    w, v = s.create(a, "s1"), s.create(a, "s2")
    s.append(w, batch(1, 1))
    s.append(v, batch(0, 2))
    s.append(w, batch(7, 1))
    u = s.create(a, "s3")
    s.append(u, batch(0, 1))
    s.append(w, batch(0, 1))
    s.flush(v)
    s.read(w)


@scenario("SEQ-09", needs=(Need.FRESH,))
def other_instances_write_at_once_after_a_refusal(s: Script) -> None:
    """A refusal in one instance leaves no lock that another instance meets on another session."""
    a, b = s.instance(), s.instance()
    w, v = s.create(a, "s1"), s.create(b, "s2")
    s.append(w, batch(0, 1))
    s.append(w, batch(5, 1))
    s.append(v, batch(0, 2))
    s.flush(v)
    s.append(w, batch(1, 1))
    s.flush(w)


def _malformed(s: Script, *bad: Any) -> None:
    """Each batch is refused, alone and behind a good event; the log stays, and the right batch is accepted."""
    w = _writer(s)
    for each in bad:
        s.append(w, each)
        s.read(w)
        if isinstance(each, list):
            s.append(w, [event(2), *each])
    s.read(w)
    s.append(w, batch(2, 1))
    s.read(w)


def _without(key: str) -> dict[str, Any]:
    return {name: value for name, value in event(2).items() if name != key}


@scenario("SEQ-11")
def batch_that_is_no_list_is_refused(s: Script) -> None:
    """A single event, text, a number or null in place of the list is refused."""
    _malformed(s, event(2), "events", 2, None, True)


@scenario("SEQ-11", needs=(Need.PYTHON_VALUES,))
def batch_of_another_python_type_is_refused(s: Script) -> None:
    """A tuple, a set or an object in place of the list is refused."""
    _malformed(s, tuple(batch(2, 1)), frozenset(), SampleObject(), b"[]")


@scenario("SEQ-11")
def event_that_is_no_dict_is_refused(s: Script) -> None:
    """A list with text, a number, null or a list in place of an event is refused."""
    _malformed(s, ["event"], [2], [None], [[event(2)]], [{}])


@scenario("SEQ-11")
def event_without_a_required_key_is_refused(s: Script) -> None:
    """An event without ``type``, ``seq``, ``time`` or ``data`` is refused."""
    _malformed(s, *([_without(key)] for key in ("type", "seq", "time", "data")))


@scenario("SEQ-11")
def seq_that_is_no_integer_is_refused(s: Script) -> None:
    """A ``seq`` that is a bool, negative, a float, text or null is refused."""
    _malformed(s, *([{**event(2), "seq": bad}] for bad in (-1, 2.0, "2", None, [2])))
    w = s.create(1, "s2")
    s.append(w, [{**event(0), "seq": False}])
    s.append(w, batch(0, 1))
    s.append(w, [{**event(1), "seq": True}])
    s.read(w)


@scenario("SEQ-11")
def time_that_is_no_integer_is_refused(s: Script) -> None:
    """A ``time`` that is a bool, a float, text or null is refused."""
    _malformed(s, *([{**event(2), "time": bad}] for bad in (True, float(CREATED_AT), "now", None)))


@scenario("SEQ-11")
def type_that_is_no_text_is_refused(s: Script) -> None:
    """A ``type`` that is empty, a number, a bool or null is refused."""
    _malformed(s, *([{**event(2), "type": bad}] for bad in ("", 1, True, None, ["user/message"])))


@scenario("SEQ-11", "MAT-03")
def malformed_batch_materialises_nothing(s: Script) -> None:
    """A new session whose only batch was malformed never was, once it is closed."""
    w = _writer(s, 0)
    s.append(w, [_without("data")])
    s.append(w, "events")
    s.close(w)
    s.stat(1)
    s.list(1)
