"""Named scenarios for SVC-08 and SVC-09: headers and inherited counts that ``create`` refuses, and those it keeps."""

from __future__ import annotations

from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import CREATED_AT, Script, batch, header
from conformance.clauses import Need
from conformance.model.values import SampleEnum, SampleObject, make_cycle, sample_function


def _refused_then_created(s: Script, *bad: Any) -> None:
    """Each header is refused; its id, where it is usable, stays absent and free."""
    a = s.instance()
    for given in bad:
        s.create(a, header=given)
        s.list(a)
    s.stat(a, "s1")
    s.open(a, "s1", "write")
    w = s.create(a, "s1")
    s.append(w, batch(0, 1))
    s.list(a)


@scenario("SVC-08", "OWN-04")
def unusable_created_at_is_refused(s: Script) -> None:
    """``created_at`` that is negative, past 2**53-1, a float, a bool, text or null is refused; nothing is created."""
    _refused_then_created(
        s, *(header(created_at=bad) for bad in (-1, 2**53, 1.5, float(CREATED_AT), True, "now", None))
    )


@scenario("SVC-08")
def created_at_at_its_bounds_is_kept(s: Script) -> None:
    """``created_at`` of 0 and of 2**53-1 is accepted and shown again."""
    a = s.instance()
    for name, at in (("first", 0), ("last", 2**53 - 1)):
        s.create(a, header=header(name, created_at=at))
        s.stat(a, name)
    s.create(a, header=header("past", created_at=2**53))


@scenario("SVC-08")
def another_version_is_refused(s: Script) -> None:
    """A header of a version other than 1, or of one that is no integer, is refused; nothing is created."""
    _refused_then_created(s, *(header(version=bad) for bad in (0, 2, -1, 1.0, True, "1", None)))


@scenario("SVC-08")
def id_that_is_no_usable_text_is_refused(s: Script) -> None:
    """An id that is no text, empty, or holds a lone surrogate is refused; nothing is created."""
    _refused_then_created(s, *(header(bad) for bad in ("", None, 7, ["s1"], "\ud800", "s1\udfff")))


@scenario("SVC-08", needs=(Need.PYTHON_VALUES,))
def metadata_outside_json_is_refused(s: Script) -> None:
    """Metadata that JSON cannot hold is refused in ``extra``, ``origin`` and ``agent_preset``; nothing is created."""
    outside = (float("nan"), float("inf"), b"x", {1, 2}, SampleEnum.MEMBER, SampleObject(), sample_function)
    _refused_then_created(
        s,
        *(header(extra={"key": {"deep": [bad]}}) for bad in outside),
        *(header(origin=bad) for bad in outside),
        *(header(origin={"deep": bad}) for bad in outside),
        *(header(agent_preset=[bad]) for bad in outside),
        header(origin={1: "a key that is no text"}),
        header(extra={"cycle": make_cycle()}),
    )


@scenario("SVC-08", needs=(Need.FRESH,))
def refused_header_leaves_nothing_for_a_fresh_instance(s: Script) -> None:
    """After a refused ``create`` another instance finds nothing either, and can create the id."""
    a = s.instance()
    s.create(a, header=header(version=2))
    s.create(a, header=header(created_at=-1))
    b = s.instance()
    s.list(b)
    s.stat(b)
    w = s.create(b)
    s.append(w, batch(0, 1))
    s.flush(w)
    s.stat(a)


@scenario("SVC-09")
def inherited_count_is_given_exactly_when_seeded(s: Script) -> None:
    """A count without ``is_seeded``, none with it, and a count that is no count are refused; nothing is created."""
    a = s.instance()
    for count in (0, 3):
        s.create(a, inherited=count)
    seeded = header(is_seeded=True, parent_session="parent")
    for bad in (None, -1, 1.0, True, "2"):
        s.create(a, header=seeded, inherited=bad)
    s.list(a)
    s.create(a, header=seeded, inherited=0)
    s.create(a, "plain")
    s.open(a, "plain")


@scenario("SVC-09")
def inherited_count_survives_reopening(s: Script) -> None:
    """The count stands on every later handle as it was given, whatever was appended since."""
    a = s.instance()
    w = s.create(a, header=header(is_seeded=True, parent_session="parent"), inherited=2)
    s.open(a)
    s.append(w, batch(0, 5))
    s.close(w)
    s.open(a)
    s.open(a, access="write")


@scenario("SVC-09", needs=(Need.FRESH,))
def inherited_count_is_read_back_from_storage(s: Script) -> None:
    """A fresh instance reads the count of a seeded session, and none of a plain one."""
    a = s.instance()
    for name, given, count in (("seeded", True, 3), ("zero", True, 0), ("plain", False, None)):
        w = s.create(a, header=header(name, is_seeded=given), inherited=count)
        s.append(w, batch(0, 3))
        s.close(w)
    b = s.instance()
    for name in ("seeded", "zero", "plain"):
        s.open(b, name)
        s.open(b, name, "write")


@scenario("SVC-09")
def inherited_count_is_not_compared_with_the_log(s: Script) -> None:
    """A count far past the end of the log changes neither appending nor reading nor reopening."""
    a = s.instance()
    w = s.create(a, header=header(is_seeded=True), inherited=1000)
    s.append(w, batch(0, 2))
    s.append(w, batch(2, 1))
    s.read(w)
    s.flush(w)
    s.close(w)
    v = s.open(a, access="write")
    s.append(v, batch(3, 1))
    s.read(v)
