"""Named scenarios for READ and FRESH: slices, bad ranges, and how soon every handle and view sees what was written."""

from __future__ import annotations

from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, header
from conformance.clauses import Need
from conformance.model.operations import Append, Create, OpenSession, Read


def _writer(s: Script, length: int = 5) -> int:
    """A write handle of a new session in a new instance, with that many events in its log."""
    w = s.create(s.instance())
    if length:
        s.append(w, batch(0, length))
    return w


@scenario("READ-01")
def read_is_a_slice_of_the_log(s: Script) -> None:
    """``read(offset, length)`` gives the slice at the start, inside, up to the end, and of length 0."""
    w = _writer(s)
    s.read(w)
    for offset, length in ((0, 2), (0, 5), (1, 3), (2, 1), (4, 1), (0, 0), (3, 0), (1, None), (4, None)):
        s.read(w, offset, length)


@scenario("READ-01")
def slice_past_the_end_is_cut_or_empty(s: Script) -> None:
    """A length past the end gives what is there; an offset at or past the end gives nothing."""
    r = s.open(1) if _writer(s) else 0
    for offset, length in ((0, 6), (3, 100), (4, 2), (5, 1), (5, None), (6, None), (6, 3), (10**9, 10**9)):
        s.read(r, offset, length)
    s.read(r)


@scenario("READ-01")
def slices_of_an_empty_log_are_empty(s: Script) -> None:
    """Every slice of an empty log is empty, and the slices follow as the log grows."""
    w = _writer(s, 0)
    s.read(w)
    s.read(w, 0, 3)
    s.read(w, 2)
    s.append(w, batch(0, 2))
    s.read(w, 1, 5)
    s.read(w, 2, 5)
    s.append(w, batch(2, 2))
    s.read(w, 1, 2)
    s.read(w, 2, 5)


@scenario("READ-01")
def slices_cross_batches(s: Script) -> None:
    """A slice is cut at any event, wherever the batches that wrote it began and ended."""
    w = _writer(s, 3)
    s.append(w, batch(3, 1))
    s.append(w, batch(4, 4))
    s.flush(w)
    r = s.open(1)
    for offset in range(9):
        s.read(r, offset, 3)
    s.read(r, 7)


@scenario("READ-01", needs=(Need.FRESH,))
def slices_are_cut_by_a_fresh_instance_too(s: Script) -> None:
    """A fresh instance that has read nothing yet gives the right slice at once."""
    w = _writer(s, 4)
    s.append(w, batch(4, 4))
    s.close(w)
    b = s.instance()
    s.read(s.open(b), 3, 3)
    s.read(s.open(b), 7)
    s.read(s.open(b), 8)
    s.read(s.open(b, access="write"), 2, 5)


def _bad_ranges(s: Script, handle: int, *bad: tuple[Any, Any]) -> None:
    for offset, length in bad:
        s.read(handle, offset, length)
    s.read(handle)


@scenario("READ-02")
def negative_range_is_refused(s: Script) -> None:
    """A negative offset or length is refused, on write and on read handles, also of an empty log."""
    w = _writer(s, 0)
    _bad_ranges(s, w, (-1, None), (0, -1))
    s.append(w, batch(0, 3))
    _bad_ranges(s, w, (-1, None), (-2, 1), (0, -1), (1, -2))
    _bad_ranges(s, s.open(1), (-1, None), (-3, 3), (0, -1), (10, -1))


@scenario("READ-02")
def range_that_is_no_integer_is_refused(s: Script) -> None:
    """An offset or length that is a float, text or a list is refused; an offset of null too."""
    w = _writer(s)
    _bad_ranges(s, w, (1.0, None), ("1", None), ([1], None), (None, None), (0, 2.0), (0, "2"), (0, [2]))


@scenario("READ-02", "CLOSE-02")
def closed_comes_before_a_bad_range(s: Script) -> None:
    """On a closed handle a bad range is refused as closed."""
    w = _writer(s)
    r = s.open(1)
    s.close(r)
    s.close(w)
    for offset, length in ((-1, None), (0, -1), ("1", None), (0, 1.5), (0, None)):
        s.read(r, offset, length)
        s.read(w, offset, length)


@scenario("READ-03")
def reads_on_one_handle_never_go_back(s: Script) -> None:
    """A handle that was read shows the same prefix in every later read, while the log grows."""
    w = _writer(s, 2)
    r = s.open(1)
    s.read(r)
    s.read(r)
    s.append(w, batch(2, 2))
    s.read(r)
    s.flush(w)
    s.read(r)
    s.close(w)
    s.read(r)
    s.read(r, 1)


@scenario("READ-03", needs=(Need.FRESH,))
def reads_in_another_instance_never_go_back(s: Script) -> None:
    """A reader in another instance shows the same prefix again, whatever the writer does meanwhile."""
    w = _writer(s, 2)
    s.flush(w)
    r = s.open(s.instance())
    s.read(r)
    s.read(r)
    s.append(w, batch(2, 1))
    s.read(r)
    s.close(w)
    s.read(r)
    s.read(r)


@scenario("READ-04")
def writer_reads_its_own_appends(s: Script) -> None:
    """A write handle sees each append as soon as it resolved, before any flush and after reopening."""
    w = _writer(s, 1)
    s.read(w)
    s.append(w, batch(1, 3))
    s.read(w)
    s.close(w)
    v = s.open(1, access="write")
    s.append(v, batch(4, 1))
    s.read(v)


@scenario("FRESH-01")
def every_handle_of_the_instance_sees_an_append(s: Script) -> None:
    """After an append, readers that were opened before it and after it see it, flushed or not."""
    w = _writer(s, 0)
    old = s.open(1)
    s.read(old)
    s.append(w, batch(0, 2))
    s.read(old)
    s.append(w, batch(2, 1))
    s.read(s.open(1))
    s.read(old)
    s.flush(w)
    s.append(w, batch(3, 1))
    s.read(old, 3)


@scenario("FRESH-01")
def reader_outlives_its_writers(s: Script) -> None:
    """A reader opened beside the first writer sees what the next writer appends."""
    w = _writer(s, 1)
    r = s.open(1)
    s.read(r)
    s.close(w)
    v = s.open(1, access="write")
    s.append(v, batch(1, 2))
    s.read(r)


@scenario("FRESH-02", "REV-05")
def stat_and_list_see_an_append_at_once(s: Script) -> None:
    """After each append ``stat`` and ``list`` give the new count and another revision."""
    w = _writer(s, 1)
    s.stat(1)
    for first in (1, 3, 5):
        s.append(w, batch(first, 2))
        s.stat(1)
        s.list(1)
    s.append(w, batch(7, 1))
    s.list(1)
    s.stat(1)


@scenario("FRESH-02")
def stat_and_list_see_a_reopened_session_grow(s: Script) -> None:
    """What a second writer appends is in ``stat`` and ``list`` at once, beside another session."""
    w = _writer(s, 1)
    s.append(s.create(1, "s2"), batch(0, 1))
    s.close(w)
    v = s.open(1, access="write")
    s.append(v, batch(1, 1))
    s.list(1)
    s.stat(1)
    s.append(v, batch(2, 1))
    s.stat(1)


@scenario("FRESH-04", needs=(Need.FRESH,))
def older_reader_in_another_instance_sees_a_flush(s: Script) -> None:
    """A reader that another instance opened before a flush sees what the flush covered."""
    w = _writer(s, 1)
    s.flush(w)
    b = s.instance()
    r = s.open(b)
    s.read(r)
    s.append(w, batch(1, 2))
    s.flush(w)
    s.read(r)
    s.read(s.open(b))
    s.append(w, batch(3, 1))
    s.flush(w)
    s.read(r, 3)


@scenario("FRESH-04", needs=(Need.FRESH,))
def stat_and_list_in_another_instance_see_a_flush(s: Script) -> None:
    """``stat`` and ``list`` of an instance opened before a flush give the new count and another revision."""
    w = _writer(s, 1)
    s.flush(w)
    b = s.instance()
    s.stat(b)
    s.list(b)
    for first in (1, 3):
        s.append(w, batch(first, 2))
        s.flush(w)
        s.list(b)
        s.stat(b)


@scenario("FRESH-04", needs=(Need.FRESH,))
def older_instance_that_saw_nothing_sees_a_flush(s: Script) -> None:
    """An instance opened before the session existed, and one opened after the flush, see what it covered."""
    b = s.instance()
    s.list(b)
    w = s.create(s.instance())
    s.append(w, batch(0, 2))
    s.flush(w)
    s.list(b)
    s.stat(b)
    s.read(s.open(b))
    s.read(s.open(s.instance()))


@scenario("FRESH-04", needs=(Need.FRESH,))
def former_owner_sees_what_the_next_owner_flushed(s: Script) -> None:
    """A reader in the former owner's instance sees what an owner elsewhere flushed."""
    w = _writer(s, 2)
    r = s.open(1)
    s.read(r)
    s.close(w)
    v = s.open(s.instance(), access="write")
    s.append(v, batch(2, 2))
    s.flush(v)
    s.read(r)
    s.stat(1)
    s.list(1)


@scenario("SVC-01", "SEQ-01", "READ-01", needs=(Need.PYTHON_VALUES,))
def arguments_may_be_given_by_name(s: Script) -> None:
    """The contract's methods take their arguments under the names that it gives them."""
    a = s.instance()
    w, r, v = (s.next_handle() for _ in range(3))
    s.do(Create(a, w, header(is_seeded=True), 1, named=True))
    s.do(Append(w, batch(0, 3), named=True))
    s.do(OpenSession(a, r, "s1", "read", named=True))
    s.do(Read(r, 1, 1, named=True))
    s.do(Read(w, named=True))
    s.close(w)
    s.do(OpenSession(a, v, "s1", "write", named=True))
    s.read(v)
