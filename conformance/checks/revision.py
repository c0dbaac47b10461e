"""Named scenarios for REV: when a session's revision must stay, when it must change, and the sizes beside it."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event
from conformance.clauses import Need


def _look(s: Script, instance: int) -> None:
    s.stat(instance)
    s.list(instance)
    s.stat(instance)
    s.list(instance)


@scenario("REV-01")
def stat_and_list_agree_on_the_revision(s: Script) -> None:
    """While nothing happens, any number of ``stat`` and ``list`` calls give one revision: pending, written, closed."""
    a = s.instance()
    w = s.create(a)
    _look(s, a)
    s.append(w, batch(0, 2))
    _look(s, a)
    s.flush(w)
    _look(s, a)
    s.close(w)
    _look(s, a)


@scenario("REV-01", needs=(Need.FRESH,))
def fresh_instance_agrees_with_itself_on_the_revision(s: Script) -> None:
    """A fresh instance gives one revision for a session that nobody writes."""
    w = s.create(s.instance())
    s.append(w, batch(0, 2))
    s.close(w)
    b = s.instance()
    s.list(b)
    s.stat(b)
    s.stat(b)
    s.list(b)


@scenario("REV-02")
def every_append_changes_the_revision(s: Script) -> None:
    """Each append of one event changes the revision, the first of a new session and same-sized ones too."""
    a = s.instance()
    w = s.create(a)
    s.stat(a)
    for seq in range(4):
        s.append(w, [event(seq, data="same size")])
        s.stat(a)
    s.flush(w)
    s.stat(a)
    s.append(w, batch(4, 3))
    s.stat(a)


@scenario("REV-02")
def appends_of_the_next_owner_change_the_revision(s: Script) -> None:
    """A second owner's append changes the revision as the first one's did."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    s.stat(a)
    v = s.open(a, access="write")
    s.append(v, batch(1, 1))
    s.stat(a)


@scenario("REV-03")
def looking_changes_no_revision(s: Script) -> None:
    """Opening for reading, reading, and closing a reader leave the revision, beside a writer and without one."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.stat(a)
    r = s.open(a)
    s.stat(a)
    s.read(r)
    s.stat(a)
    s.close(r)
    s.stat(a)
    s.close(w)
    s.stat(a)
    s.read(s.open(a))
    s.stat(a)


@scenario("REV-03")
def owning_changes_no_revision(s: Script) -> None:
    """Opening for writing and closing with nothing written leave the revision."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    s.stat(a)
    v = s.open(a, access="write")
    s.stat(a)
    s.close(v)
    s.stat(a)
    s.list(a)


@scenario("REV-03")
def close_after_flush_changes_no_revision(s: Script) -> None:
    """``close`` after a flush that covered everything leaves the revision, of an empty session too."""
    a = s.instance()
    w, v = s.create(a, "s1"), s.create(a, "s2")
    s.append(w, batch(0, 2))
    for handle, name in ((w, "s1"), (v, "s2")):
        s.flush(handle)
        s.stat(a, name)
        s.close(handle)
        s.stat(a, name)


@scenario("REV-03", needs=(Need.FRESH,))
def looking_in_another_instance_changes_no_revision(s: Script) -> None:
    """Opens, reads and closes in another instance leave the revision in each of the two."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.close(w)
    b = s.instance()
    s.stat(a)
    s.stat(b)
    r = s.open(b)
    s.read(r)
    s.close(r)
    s.close(s.open(b, access="write"))
    s.stat(a)
    s.stat(b)


@scenario("REV-04")
def no_revision_comes_back(s: Script) -> None:
    """No later state of the log repeats the revision of an earlier one, across owners."""
    a = s.instance()
    w = s.create(a)
    for seq in range(3):
        s.append(w, [event(seq, data="same size")])
        s.stat(a)
    s.close(w)
    v = s.open(a, access="write")
    for seq in range(3, 6):
        s.append(v, [event(seq, data="same size")])
        s.stat(a)


@scenario("REV-04")
def revision_tells_a_new_session_of_an_old_id(s: Script) -> None:
    """A session that never was and its successor under the same id share no revision for different logs."""
    a = s.instance()
    w = s.create(a)
    s.stat(a)
    s.close(w)
    v = s.create(a)
    s.append(v, batch(0, 1))
    s.stat(a)
    s.append(v, batch(1, 1))
    s.stat(a)


@scenario("REV-04", needs=(Need.FRESH,))
def event_of_the_same_size_from_another_instance_changes_the_revision(s: Script) -> None:
    """An instance that only looks gets another revision after each same-sized event that another one wrote."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, [event(0, data="same size")])
    s.flush(w)
    s.stat(b)
    for seq in (1, 2):
        s.append(w, [event(seq, data="same size")])
        s.flush(w)
        s.stat(b)
        s.list(b)
    s.close(w)
    s.stat(b)


@scenario("REV-04", needs=(Need.FRESH,))
def revision_follows_owners_in_turn(s: Script) -> None:
    """Where two instances write in turn, neither repeats a revision for a log it did not stand for."""
    a, b = s.instance(), s.instance()
    w = s.create(a)
    s.append(w, [event(0, data="same size")])
    s.close(w)
    for instance, seq in ((b, 1), (a, 2), (b, 3)):
        s.stat(a)
        s.stat(b)
        v = s.open(instance, access="write")
        s.append(v, [event(seq, data="same size")])
        s.close(v)
    s.stat(a)
    s.stat(b)


@scenario("REV-05")
def event_count_is_right_where_given(s: Script) -> None:
    """``event_count`` follows the log: empty, after batches, after a refused one, after close."""
    a = s.instance()
    w = s.create(a)
    s.stat(a)
    s.append(w, batch(0, 3))
    s.stat(a)
    s.append(w, batch(9, 1))
    s.stat(a)
    s.append(w, batch(3, 1))
    s.list(a)
    s.close(w)
    s.stat(a)


@scenario("REV-05", needs=(Need.FRESH,))
def counts_and_sizes_are_right_in_a_fresh_instance(s: Script) -> None:
    """A fresh instance gives the right count, and the right size of the artifact where it can be seen."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 3))
    s.flush(w)
    b = s.instance()
    s.stat(b)
    s.append(w, batch(3, 50))
    s.close(w)
    s.stat(b)
    s.stat(s.instance())
    s.list(b)
