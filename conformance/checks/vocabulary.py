"""Named scenarios for FMT-02 and FMT-03: event types that this build does not know."""

from __future__ import annotations

from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import Script, event
from conformance.clauses import Need

STRANGE = ("x-vendor/event", "user/message ", "USER/MESSAGE", "session", "\x00", " ", "日本/語", "__proto__", "x" * 300)
"""Foreign types, and known ones but for a space or their case."""

NO_MARKS: tuple[Any, ...] = (False, "true", 1, None, [], "yes")
"""What is not ``ignorable: true``."""


@scenario("FMT-02", "SEQ-01")
def unknown_types_are_refused_or_never_served(s: Script) -> None:
    """An unknown type is refused with nothing stored, or stored and refused to readers; never dropped, never served."""
    a = s.instance()
    for number, kind in enumerate(STRANGE):
        name = f"v{number}"
        w = s.create(a, name)
        s.append(w, [event(0)])
        s.read(w)
        s.append(w, [event(1, kind)])
        s.read(w)
        s.stat(a, name)
        s.open(a, name)
        s.close(w)
        s.open(a, name, "write")
    s.list(a)
    plain = s.create(a, "plain")
    s.append(plain, [event(0)])
    s.read(plain)


@scenario("FMT-02")
def one_unknown_type_spoils_its_batch(s: Script) -> None:
    """A batch with an unknown type among known ones goes in whole or not at all, whatever stands before it."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0), event(1), event(2, "x-vendor/event")])
    s.read(w)
    s.read(s.open(a))
    s.stat(a)


@scenario("FMT-02")
def only_true_marks_an_event_ignorable(s: Script) -> None:
    """``ignorable`` that is false, null, 1 or text does not make an unknown type one to keep."""
    a = s.instance()
    for number, mark in enumerate(NO_MARKS):
        w = s.create(a, f"v{number}")
        s.append(w, [event(0, "x-vendor/event", ignorable=mark)])
        s.read(w)
        s.stat(a, f"v{number}")


@scenario("FMT-02", needs=(Need.FRESH,))
def other_instances_are_not_served_an_unknown_type_either(s: Script) -> None:
    """A fresh instance sees what the first one left: nothing of the event, or a refusal that names it."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0)])
    s.append(w, [event(1, "x-vendor/event")])
    s.close(w)
    other = s.create(a, "other")
    s.append(other, [event(0)])
    s.close(other)
    b = s.instance()
    s.read(s.open(b))
    s.open(b, access="write")
    s.read(s.open(b, "other"))
    s.stat(b)
    s.list(b)


@scenario("FMT-03")
def ignorable_events_come_back(s: Script) -> None:
    """An unknown type with ``ignorable: true`` is kept with all its keys, alone and among known ones."""
    a = s.instance()
    w = s.create(a)
    seq = 0
    for kind in STRANGE:
        s.append(
            w,
            [
                event(seq),
                event(seq + 1, kind, ignorable=True, extra={"": [1, None]}, surfaceOp={"a": 1}, sourceEventSeqs=[0]),
                event(seq + 2),
            ],
        )
        s.read(w, seq)
        seq += 3
    s.append(w, [event(seq, "x-vendor/event", ignorable=True, data=None)])
    s.read(s.open(a))


@scenario("FMT-03", needs=(Need.FRESH,))
def ignorable_events_are_stored(s: Script) -> None:
    """A fresh instance reads the same events, and can continue the log."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0), *(event(seq, kind, ignorable=True, more=seq) for seq, kind in enumerate(STRANGE, 1))])
    s.close(w)
    b = s.instance()
    s.read(s.open(b))
    v = s.open(b, access="write")
    s.append(v, [event(len(STRANGE) + 1), event(len(STRANGE) + 2, "x-vendor/event", ignorable=True)])
    s.read(v)
