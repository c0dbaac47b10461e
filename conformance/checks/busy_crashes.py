"""Named scenarios for DUR where much had happened: logs long enough to be rewritten, and barriers beside appends.

Field stores that hold for a short log written call by call lose what they do now and then, or while something else is
under way: a compaction past a number of events, a flag that says that nothing is left to sync.
"""

from __future__ import annotations

from itertools import product

from conformance.checks.crashes import CRASHING, recover
from conformance.checks.overlapping import PACES
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, step
from conformance.model.operations import Append, Flush

OF_THREADS = (*PACES, (6, 0, 6, 0, 6), (0, 6, 0, 6, 0), (5, 6, 4, 6, 5), (4, 0, 0, 6, 0, 0))
"""How long the jobs of an overlap take, and how long after its effect each is heard of."""

PAUSES = ((0, 0), (50, 100), (10_050, 0), (500, 10_000))
"""Microseconds until the first append beside the flush, and from there to the second."""


@scenario("DUR-01", needs=CRASHING, preset="posix")
def a_log_of_a_thousand_events_was_covered(s: Script) -> None:
    """A thousand events in batches, then a flush: what is rewritten past any number on the way is synced by it too."""
    w = s.create(s.instance())
    s.fill(w, 0, 26, size=40)
    s.flush(w)
    s.crash("posix", takes="everything")
    recover(s, "s1")


@scenario("DUR-01", needs=CRASHING, preset="ext4")
def an_append_beside_a_flush_is_covered_by_the_next_one(s: Script) -> None:
    """Appends come while a flush is under way, in every pace; the flush behind them covers them, and power fails."""
    a = s.instance()
    names = [f"s{number}" for number in range(len(PAUSES) * len(OF_THREADS))]
    for name, (pauses, jobs) in zip(names, product(PAUSES, OF_THREADS), strict=True):
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.append(w, batch(1, 1))
        s.overlap(
            [step(Flush(w), waits=False), step(Append(w, batch(2, 1)), after=pauses[0], waits=False)],
            [step(Append(w, batch(3, 1)), after=sum(pauses))],
            jobs=jobs,
        )
        s.flush(w)
    s.crash("ext4", takes="everything")
    recover(s, *names, go_on=False)


@scenario("DUR-01", needs=CRASHING, preset="ext4")
def a_flush_beside_another_covers_what_came_between(s: Script) -> None:
    """An append and a flush behind it come while a flush is under way, in every pace; that is all, and power fails."""
    a = s.instance()
    ways = [(pause, waits, jobs) for pause, jobs in product((0, 50, 500), OF_THREADS) for waits in (True, False)]
    for number, (pause, waits, jobs) in enumerate(ways):
        w = s.create(a, f"s{number}")
        s.append(w, batch(0, 1))
        s.flush(w)
        s.append(w, batch(1, 1))
        between = step(Append(w, batch(2, 1)), after=pause, waits=waits)
        s.overlap([step(Flush(w), waits=False), between, step(Flush(w))], jobs=jobs)
    s.crash("ext4", takes="everything")
    recover(s, *(f"s{number}" for number in range(len(ways))), go_on=False)
