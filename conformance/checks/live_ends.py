"""Named scenarios of published events where handles are closed and services swept beside them."""

from __future__ import annotations

from conformance.checks.live import DRAINS, LIVE, publish
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, step
from conformance.clauses import Need
from conformance.model.operations import Close, Dispose, HubFlush, Read


@scenario("LIVE-06", "LIVE-13", needs=LIVE)
def signals_wait_for_the_close_under_way(s: Script) -> None:
    """``session/flush`` and ``session/disposed`` come while the owner is being closed: they resolve with that."""
    a = s.instance()
    for number, signal in enumerate((HubFlush, Dispose)):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        r = s.open(a, name)
        s.hub_create(a, name, batch(0, 1))
        publish(s, a, 1, 1, session=name)
        s.overlap([step(Close(w), waits=False), step(signal(a, name)), step(Read(r))], jobs=DRAINS)
        s.read(s.open(a, name, "write"))


@scenario("FLUSH-02", "CLOSE-07", needs=(*LIVE, Need.FRESH))
def a_sweep_goes_on_behind_what_cannot_be_stored(s: Script) -> None:
    """Of three sessions one has an event that can never be stored: flush and close of the service serve the others."""
    a = s.instance()
    names = ("before", "stuck", "after")
    owners = [s.create(a, name) for name in names]
    for name in names:
        s.hub_create(a, name)
        publish(s, a, 3 if name == "stuck" else 0, 1, session=name)
    s.flush_all(a)
    s.append(s.create(a, "alone"), batch(0, 1))
    for first, sweep in ((1, s.flush_all), (3, s.close_all)):
        for name, owner in zip(names[::2], owners[::2], strict=True):
            s.append(owner, batch(first, 1))
            publish(s, a, first + 1, 1, session=name)
        sweep(a)
        b = s.instance()
        for name in (*names[::2], "alone"):
            s.read(s.open(b, name))
    for owner in owners:
        s.append(owner, batch(5, 1))
