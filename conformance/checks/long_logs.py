"""Named scenarios of calls in flight on a long log, which a backend may leave to a thread where a short one needs none.

What a create and an open owe when they are cancelled, or the service is closed beside them, does not depend on how long
the log is; the way in which a backend opens it may.
"""

from __future__ import annotations

from conformance.checks.cancelling import LATE, POINTS, SLOW
from conformance.checks.overlapping import PACES
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, step
from conformance.clauses import Need
from conformance.model.operations import CloseInstance, OpenSession

LENGTH = 320
"""Events of a long log; with their text they take more than 64 KiB, also compressed."""


def _long_log(s: Script, instance: int, name: str = "s1") -> None:
    """A session that nobody owns."""
    w = s.create(instance, name)
    s.fill(w, 0, 4, size=LENGTH // 4, width=500)
    s.close(w)


@scenario("OWN-04", "SVC-11", needs=(Need.CANCEL,))
def a_cancelled_open_of_a_long_log_takes_nothing(s: Script) -> None:
    """A write open of a long log is cancelled at every point, another behind it or not: the session can be owned."""
    a = s.instance()
    _long_log(s, a)
    length = LENGTH
    for number, point in enumerate(POINTS):
        first, second = (OpenSession(a, s.next_handle(), "s1", "write") for _ in range(2))
        rival = [step(second, after=12_000)] if number % 2 else []
        s.overlap([step(first, cancels=[point])], rival, jobs=SLOW if number % 4 < 2 else LATE)
        for each in (first, second):
            if s.has(each.handle):
                s.close(each.handle)
        v = s.open(a, access="write")
        s.append(v, batch(length, 1))
        s.close(v)
        length += 1
    s.read(s.open(a))


@scenario("FAULT-06", needs=(Need.CANCEL,))
def cancelled_opens_of_a_long_log_leave_nothing(s: Script) -> None:
    """Opens of a long log for reading are cancelled at every point: nothing of them is left behind the service."""
    a = s.instance()
    _long_log(s, a)
    for point in POINTS:
        opened = OpenSession(a, s.next_handle(), "s1", "read")
        s.overlap([step(opened, cancels=[point])], jobs=SLOW)
        if s.has(opened.handle):
            s.close(opened.handle)
    s.close_all(a)
    s.count_left()


@scenario("CLOSE-08", needs=(Need.FRESH,))
def the_service_closes_beside_opens_of_a_long_log(s: Script) -> None:
    """The service is closed while a long log is being opened: the opens reject, or are closed with the rest."""
    for number, jobs in enumerate(PACES):
        name = f"s{number}"
        a = s.instance()
        _long_log(s, a, name)
        reader, owner = (OpenSession(a, s.next_handle(), name, access) for access in ("read", "write"))
        s.overlap([step(reader, waits=False), step(owner, waits=False), step(CloseInstance(a))], jobs=jobs)
        s.read(reader.handle)
        s.read(owner.handle)
        s.stat(a, name)
        b = s.instance()
        v = s.open(b, name, "write")
        s.append(v, batch(LENGTH, 1))
        s.close_all(b)
