"""Named scenarios for FAULT: appends, barriers and looks on storage that fails and heals.

The fault sweeps let single calls fail, one by one; here each rule is met once in a program that reads like its
sentence. What concerns closing, owning and ending is in ``fault_ends``.
"""

from __future__ import annotations

from typing import Any

from conformance.checks.failing import FAILING, READING, STORING, again, end, see, store
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event
from conformance.clauses import Need
from conformance.model.history import Raised


def _begun(s: Script, name: str) -> tuple[int, int]:
    """A fresh instance, and the owner of a session of one durable event in it."""
    a = s.instance()
    w = s.create(a, name)
    s.append(w, batch(0, 1))
    s.flush(w)
    return a, w


def _made_good(s: Script, instance: int, w: int, events: list[dict[str, Any]], name: str) -> None:
    """Storage works again: what was rejected is stored once, and shown to everybody."""
    w = again(s, w, events, instance, name)
    see(s, w, instance=instance, session=name)
    end(s, instance, name)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def a_full_disk_leaves_the_log_as_it_was(s: Script) -> None:
    """While no write is taken readers see the log without the batch; then the same batch is stored once."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.flush(w)
    r = s.open(a)
    s.read(r)
    s.fail("write", error="ENOSPC", sticky=True)
    store(s, w, batch(2, 2))
    see(s, r, w, instance=a)
    store(s, w, batch(2, 2)) if s.log_length(w) == 2 else s.flush(w)
    s.heal()
    see(s, r, w, instance=a)
    w = again(s, w, batch(2, 2), a)
    see(s, r, w, instance=a)
    end(s, a)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def bytes_that_land_though_the_write_failed_are_no_events(s: Script) -> None:
    """A write reports an error after it was done: the batch is not there, and is stored once when it is given again."""
    for how, taken in (("landed", 0), ("short", 1), ("short", 1 << 40)):
        a = s.instance()
        name = f"{how}-{taken}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.fail("write", error="EIO", how=how, taken=taken)  # type: ignore[arg-type]
        store(s, w, batch(1, 2))
        see(s, w, s.open(a, name), instance=a, session=name)
        s.heal()
        _made_good(s, a, w, batch(1, 2), name)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def a_name_that_came_though_the_call_failed_is_no_other_s(s: Script) -> None:
    """A new session gets its name or directory by a call that reports an error: it is stored, once, then or later."""
    a = s.instance()
    for call in ("link", "rename", "mkdir"):
        name = f"by-{call}"
        w = s.create(a, name)
        s.fail(call, error="EIO", how="landed")
        store(s, w, batch(0, 2))
        s.heal()
        w = again(s, w, batch(0, 2), a, name)
        see(s, w, instance=a, session=name)
    end(s, a, "by-link", "by-rename", "by-mkdir")


@scenario("FAULT-01", needs=FAILING)
def a_short_write_is_continued(s: Script) -> None:
    """A write takes a part of what it was given and reports no error: nothing is lost, doubled or refused."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    for seq, taken in ((1, 1), (2, 300), (3, 1 << 40)):
        s.fail("write", error="", how="short", taken=taken)
        s.append(w, [event(seq, data={"text": "é" * 300})])
        s.flush(w)
        s.heal()
    see(s, w, instance=a)
    end(s, a)


@scenario("FAULT-01", needs=FAILING)
def a_write_is_continued_wherever_it_ended(s: Script) -> None:
    """A write ends at the edge of a page, at one of a record, inside a character or in its middle, and is continued."""
    for place in ("page", "record", "character", "middle"):
        a = s.instance()
        w = s.create(a, place)
        s.append(w, batch(0, 1))
        for nth in (1, 2):
            first = s.log_length(w)
            s.fail("write", nth=nth, error="", how="short", place=place)
            s.append(w, [event(first, data={"text": "é" * 2_500}), event(first + 1, data={"text": "ž"})])
            s.flush(w)
            s.heal()
            see(s, w, instance=a, session=place)
        end(s, a, place)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def a_write_that_meets_a_full_disk_leaves_nothing(s: Script) -> None:
    """The disk is full in the middle of a write, behind a whole record or a part of one: the batch is not there."""
    for place in ("page", "record", "character", "middle"):
        a, w = _begun(s, place)
        events = [event(1, data={"text": "é" * 2_500}), event(2, data={"text": "ž"})]
        for nth in (1, 2):
            s.fail("write", nth=nth, error="ENOSPC", how="short", place=place, sticky=True)
            store(s, w, events) if s.log_length(w) == 1 else s.flush(w)
            see(s, w, s.open(a, place), instance=a, session=place)
            s.heal()
        _made_good(s, a, w, events, place)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def a_batch_too_long_for_one_write_leaves_nothing(s: Script) -> None:
    """A batch of many events, and of many bytes, fails behind its first writes: none of it is there, then all of it."""
    for nth in (1, 2, 3):
        for count, width in ((250, 1), (60, 6_000)):
            name = f"{count}-{nth}"
            a, w = _begun(s, name)
            events = [event(seq, data={"text": "x" * width}) for seq in range(1, 1 + count)]
            s.fail("write", nth=nth, error="ENOSPC")
            store(s, w, events)
            see(s, w, s.open(a, name), instance=a, session=name)
            s.heal()
            _made_good(s, a, w, events, name)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def remains_that_cannot_be_cut_off_are_not_written_behind(s: Script) -> None:
    """A write fails half-way, and when writes work again nothing can be cut off yet: the batch is not there twice."""
    for taken in (1, 40):
        name = f"taken-{taken}"
        a, w = _begun(s, name)
        s.fail("write", "truncate", error="EIO", how="short", taken=taken, sticky=True)
        store(s, w, batch(1, 2))
        see(s, w, s.open(a, name), instance=a, session=name)
        s.heal()
        s.fail("truncate", error="EIO", sticky=True)
        store(s, w, batch(1, 2)) if s.log_length(w) == 1 else s.flush(w)
        see(s, w, s.open(a, name), instance=a, session=name)
        s.heal()
        _made_good(s, a, w, batch(1, 2), name)


@scenario("FAULT-01", "MAT-03", needs=FAILING)
def a_session_whose_only_writes_failed_never_was(s: Script) -> None:
    """The first append of a session fails and is not repeated: past its close the id is free, and takes another."""
    for nth in (1, 2):
        a = s.instance()
        name = f"s{nth}"
        w = s.create(a, name)
        s.fail("write", nth=nth, error="ENOSPC", sticky=True)
        failed = store(s, w, batch(0, 2, mark="lost"))
        s.heal()
        if failed and s.log_length(w) == 0:
            s.close(w)
            b = s.instance()
            s.stat(b, name)
            s.list(b)
            v = s.create(b, name)
            s.append(v, batch(0, 1))
            s.close(v)
        end(s, a, name)


@scenario("FAULT-01", "FAULT-02", needs=FAILING)
def a_name_that_cannot_be_made_is_made_later(s: Script) -> None:
    """The files of a session cannot be opened or named when it is stored first: the same batch is stored later."""
    refused = [(call, error) for call in ("open", "link", "rename", "unlink") for error in ("EPERM", "EBUSY", "EACCES")]
    for call, error in (*refused, ("open", "EMFILE"), ("mkdir", "EACCES"), ("mkdir", "EDQUOT")):
        a = s.instance()
        name = f"{call}-{error}"
        s.fail(call, error=error, sticky=True)
        w = s.create(a, name)
        store(s, w, batch(0, 1))
        s.heal()
        if not s.has(w):
            w = s.create(a, name)
        w = again(s, w, batch(0, 1), a, name)
        see(s, w, instance=a, session=name)
        end(s, a, name)


@scenario("FAULT-02", needs=FAILING)
def a_rejected_flush_is_made_up_for(s: Script) -> None:
    """A flush fails: what had resolved stays visible, the next flush covers it, and what came since comes behind it."""
    a = s.instance()
    w, n = s.create(a), s.create(a, "empty")
    s.append(w, batch(0, 2))
    r = s.open(a)
    s.read(r)
    s.fail("write", "sync", error="EIO", sticky=True)
    s.flush(w)
    s.flush(n)
    see(s, r, instance=a)
    s.heal()
    s.append(w, batch(s.log_length(w), 1, mark="newer"))
    w = again(s, w, batch(0, 2), a)
    s.flush(n)
    see(s, r, w, instance=a)
    end(s, a, "s1", "empty")


@scenario("FAULT-03", needs=(*FAILING, Need.CRASH), preset="ext4")
def a_failed_sync_is_made_up_for_by_writing_again(s: Script) -> None:
    """A sync fails and the page cache forgets; the next barrier that resolves has to hold through a loss of power."""
    for number, earlier in enumerate((0, 2)):
        a = s.instance()
        name = f"s{number}"
        w = s.create(a, name)
        if earlier:
            s.append(w, batch(0, earlier))
            s.flush(w)
        s.fail("sync", error="EIO")
        store(s, w, batch(earlier, 1))
        s.heal()
        w = again(s, w, batch(earlier, 1), a, name)
        s.crash("ext4", takes="everything")
        b = s.instance()
        s.list(b)
        s.stat(b, name)
        s.read(s.open(b, name))


@scenario("FAULT-03", needs=(*FAILING, Need.CRASH), preset="ext4")
def a_failed_sync_is_made_up_for_by_the_next_instance(s: Script) -> None:
    """A sync fails, and its owner goes away: what the next one in another instance covers holds without it."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.flush(w)
    s.fail("sync", error="EIO")
    store(s, w, batch(1, 1))
    s.close(w)
    b = s.instance()
    v = s.open(b, "s1", "write")
    s.read(v)
    s.flush(v)
    s.crash("ext4", takes="everything")
    c = s.instance()
    s.stat(c)
    s.read(s.open(c))


@scenario("FAULT-04", needs=FAILING)
def an_error_while_reading_is_no_absence(s: Script) -> None:
    """Files cannot be opened or read: open, read, stat and list say so, or answer right from memory."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 3))
    s.close(w)
    s.close_all(a)
    opens = ((("open",), error) for error in ("EACCES", "EPERM", "EBUSY", "EMFILE"))
    kinds = ((("read",), "EIO"), *opens, (("look",), "EACCES"), (READING, "EIO"))
    for calls, error, nth in (*((*each, 1) for each in kinds), (("read",), "EIO", 3)):
        b = s.instance()
        r = s.open(b)
        s.fail(*calls, nth=nth, error=error, sticky=True)
        s.read(r)
        s.stat(b)
        s.list(b)
        n = s.open(b)
        if s.has(n):
            s.read(n)
        s.open(b, "absent")
        s.heal()
        s.read(r)
        see(s, s.open(b), instance=b)
        s.close_all(b)


@scenario("FAULT-07", needs=(*FAILING, Need.CRASH))
def a_failed_append_leaves_no_residue(s: Script) -> None:
    """An append fails once, in its sync or after its bytes landed, and the process dies: nothing of it comes back."""
    for kind, how in (("sync", "refused"), ("write", "landed")):
        a = s.instance()
        name = f"after-{kind}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.fail(kind, error="EIO", how=how)  # type: ignore[arg-type]
        s.append(w, batch(1, 1))
        s.crash("kill")
        s.read(s.open(s.instance(), name))


@scenario("FAULT-08", needs=FAILING)
def a_fault_stays_with_its_session(s: Script) -> None:
    """Storage fails while one session is written: the other ones go on, before it heals and after."""
    for kind in ("write", "sync"):
        a = s.instance()
        hit, other, new = (f"{each}-{kind}" for each in ("hit", "other", "new"))
        w, v = s.create(a, hit), s.create(a, other)
        for handle in (w, v):
            s.append(handle, batch(0, 1))
            s.flush(handle)
        s.fail(kind, error="EIO")
        store(s, w, batch(1, 1))
        s.heal()
        s.append(v, batch(1, 1))
        s.flush(v)
        see(s, v, instance=a, session=other)
        w = again(s, w, batch(1, 1), a, hit)
        n = s.create(a, new)
        s.append(n, batch(0, 1))
        s.flush(n)
        s.read(s.open(a, other))
        end(s, a, hit, other, new)


@scenario("FAULT-08", needs=FAILING)
def persistence_does_not_switch_itself_off(s: Script) -> None:
    """Storage fails again and again and heals: the next call of every kind works as if nothing had been."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    for number in range(1, 5):
        s.fail(*STORING, error="ENOSPC", sticky=True)
        for _ in range(number):
            store(s, w, batch(number, 1)) if s.log_length(w) == number else s.flush(w)
        s.heal()
        w = again(s, w, batch(number, 1), a)
    n = s.create(a, "new")
    s.append(n, batch(0, 1))
    s.close(n)
    see(s, w, instance=a)
    end(s, a, "s1", "new")


@scenario("FAULT-10", needs=FAILING)
def others_forget_what_they_saw_of_a_failed_append(s: Script) -> None:
    """Another instance looks at what a failed append left; another batch of the same length and end takes its place."""
    for number, (kind, how) in enumerate((("write", "landed"), ("sync", "refused"))):
        a, b, name = s.instance(), s.instance(), f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        see(s, s.open(b, name), instance=b, session=name)
        s.fail(kind, "truncate", error="EIO", how=how, sticky=True)  # type: ignore[arg-type]
        failed = isinstance(s.append(w, [_long_event("a")]), Raised)
        see(s, s.open(b, name), instance=b, session=name)
        s.heal()
        if failed:
            s.append(w, [_long_event("b")])
        s.flush(w)
        see(s, s.open(b, name), instance=b, session=name)
        end(s, a, name)


def _long_event(first: str) -> dict[str, Any]:
    """An event that differs in one early character only from what another one gives."""
    return event(1, data={"text": first + "x" * 300})


@scenario("FAULT-10", needs=FAILING)
def another_batch_takes_the_place_of_a_failed_one(s: Script) -> None:
    """An append fails after its bytes landed and a different batch comes at its seqs: that one is stored, as given."""
    for number, (kind, how) in enumerate((("write", "landed"), ("sync", "refused"))):
        a = s.instance()
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.fail(kind, error="EIO", how=how)  # type: ignore[arg-type]
        failed = isinstance(s.append(w, batch(1, 2, mark="first")), Raised)
        s.heal()
        if failed:
            s.append(w, batch(1, 2, mark="second"))
            see(s, w, instance=a, session=name)
        end(s, a, name)
