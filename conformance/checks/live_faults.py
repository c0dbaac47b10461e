"""Named scenarios of the live write path on failing storage: what failed in the background is not lost, nor hidden."""

from __future__ import annotations

from conformance.checks.live import begin, publish
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch
from conformance.clauses import Need

FAILING = (Need.LIVE, Need.FAULTS, Need.CLOCK)

AT_ONCE = (Need.LIVE, Need.FAULTS)
"""For what waits for no window: where time cannot be moved it is tried all the same."""

WRITING = ("write", "sync")


def _published_on_failing_storage(s: Script, instance: int, name: str, calls: tuple[str, ...]) -> int:
    """A session of one event, and two more published once these storage calls fail; its owner."""
    w = s.create(instance, name)
    s.append(w, batch(0, 1))
    s.flush(w)
    s.hub_create(instance, name)
    s.fail(*calls, error="EIO", sticky=True)
    publish(s, instance, 1, 2, session=name)
    return w


@scenario("LIVE-04", "LIVE-05", needs=(*FAILING, Need.FRESH))
def a_failed_background_write_is_kept_and_told(s: Script) -> None:
    """Storage is down when the window ends: it is logged, nothing is lost, and a flush stores all when it is back."""
    for number, calls in enumerate((WRITING, ("sync",), ("write",))):
        a = s.instance()
        name = f"s{number}"
        w = _published_on_failing_storage(s, a, name, calls)
        s.wait(1)
        s.read_warnings()
        s.read(w)
        publish(s, a, 3, 1, session=name)
        s.hub_flush(a, name)
        s.flush(w)
        s.heal()
        publish(s, a, 4, 1, session=name)
        s.hub_flush(a, name)
        s.read(w)
        publish(s, a, 5, 1, session=name)
        s.flush(w)
        s.close(w)
        s.close_all(a)
        b = s.instance()
        s.read(s.open(b, name))
        s.close_all(b)


@scenario("LIVE-05", needs=AT_ONCE)
def a_flush_of_published_events_fails_loudly(s: Script) -> None:
    """Storage is down when events are flushed: each flush says so, and the first one after it stores all once."""
    a = s.instance()
    for number, calls in enumerate((WRITING, ("sync",), ("write",))):
        name = f"s{number}"
        w = _published_on_failing_storage(s, a, name, calls)
        s.hub_flush(a, name)
        publish(s, a, 3, 1, session=name)
        s.hub_flush(a, name)
        s.flush(w)
        s.heal()
        publish(s, a, 4, 1, session=name)
        s.hub_flush(a, name)
        s.read(w)
        s.close(w)
        s.read(s.open(a, name))


@scenario("LIVE-04", "LIVE-06", needs=FAILING)
def a_warning_names_the_very_session(s: Script) -> None:
    """Sessions whose ids are parts of each other are open; what fails of one is told of that one, and no other."""
    a = s.instance()
    for name, other in (("one", "one-more"), ("two-more", "two")):
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.hub_create(a, name)
        s.append(s.create(a, other), batch(0, 1))
        s.fail("write", error="EIO", sticky=True)
        publish(s, a, 1, 1, session=name)
        s.wait(1)
        s.read_warnings()
        s.hub_dispose(a, name)
        s.close(w)
        s.read_warnings()
        s.heal()


@scenario("LIVE-04", needs=FAILING)
def newer_events_do_not_make_it_try_again(s: Script) -> None:
    """Storage is down and many events come at once: what failed is not tried again for each of them."""
    a, w = begin(s, events=1)
    s.flush(w)
    s.fail(*WRITING, error="ENOSPC", sticky=True)
    publish(s, a, 1, 1)
    s.wait(1)
    s.flood(a, first=2, count=200)
    s.window(part=0.1)
    s.read_warnings()
    s.heal()
    s.hub_flush(a)
    s.read(w, 0, 3)


@scenario("LIVE-01", "LIVE-05", needs=FAILING)
def windows_begin_again_when_storage_is_back(s: Script) -> None:
    """A background write failed and a flush made up for it: later events are stored within their windows."""
    a, w = begin(s, events=1)
    s.flush(w)
    s.fail(*WRITING, error="EIO", sticky=True)
    publish(s, a, 1, 1)
    s.wait(1)
    s.heal()
    s.hub_flush(a)
    publish(s, a, 2, 1)
    s.window(past=1)
    s.read(w)
    publish(s, a, 3, 2)
    s.window(past=1)
    s.read(w)


@scenario("LIVE-04", needs=FAILING)
def one_failed_background_write_changes_no_order(s: Script) -> None:
    """The first write of a batch fails once, and newer events come: all are stored, in order, each once."""
    a = s.instance()
    for number, nth in enumerate((1, 2, 3)):
        name = f"s{number}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.hub_create(a, name)
        s.fail(*WRITING, error="ENOSPC", nth=nth)
        publish(s, a, 1, 2, session=name)
        s.wait(1)
        publish(s, a, 3, 2, session=name)
        s.wait(1)
        s.heal()
        publish(s, a, 5, 1, session=name)
        s.wait(1)
        s.hub_flush(a, name)
        s.read(w)
        s.close(w)
        s.read(s.open(a, name))


@scenario("LIVE-06", needs=FAILING)
def a_disposal_that_fails_is_logged(s: Script) -> None:
    """The last drain fails at a session's end: the hub hears nothing, the log of the program names the session."""
    a = s.instance()
    for number, sticky in enumerate((True, False)):
        name = f"s{number}"
        w = s.create(a, name)
        s.hub_create(a, name)
        s.flush(w)
        s.fail(*WRITING, error="EIO", sticky=sticky)
        publish(s, a, 0, 2, session=name)
        s.hub_dispose(a, name)
        s.close(w)
        s.read_warnings()
        s.heal()
        s.close(s.open(a, name, "write"))


@scenario("LIVE-10", needs=FAILING)
def what_a_failed_close_lost_is_no_gap(s: Script) -> None:
    """A close fails with events that wait; the next owner is sent what comes behind them: no log has a gap."""
    a, w = begin(s, events=1)
    _lose_in_a_close(s, a, w, "EIO")


@scenario("LIVE-10", needs=AT_ONCE)
def the_owner_after_a_failed_close_leaves_no_gap(s: Script) -> None:
    """The storage was full when the close lost events; what the owner after it leaves has no gap to the next one."""
    a, w = begin(s, events=1)
    _lose_in_a_close(s, a, w, "ENOSPC")
    u = s.open(a, "s1", "write")
    s.read(u)
    s.close(u)


def _lose_in_a_close(s: Script, instance: int, writer: int, error: str) -> None:
    """The writer's close fails with two events that wait, and the owner after it is sent the one behind them."""
    s.flush(writer)
    s.fail(*WRITING, error=error, sticky=True)
    publish(s, instance, 1, 2)
    s.close(writer)
    s.heal()
    v = s.open(instance, "s1", "write")
    s.read(v)
    publish(s, instance, 3, 1)
    s.hub_flush(instance)
    s.flush(v)
    s.read(v)
    s.close(v)


@scenario("LIVE-11", needs=FAILING)
def a_flood_does_not_fill_the_memory(s: Script) -> None:
    """Storage is down and events go on coming: memory stays bounded, or the producer is told."""
    a, w = begin(s, events=1)
    s.flush(w)
    s.fail(*WRITING, error="EIO", sticky=True)
    publish(s, a, 1, 1)
    s.wait(1)
    s.flood(a, first=2, count=3_000, width=5_000)
    s.heal()
    s.flush(w)
    s.read(w, 0, 3)


@scenario("LIVE-05", "DUR-01", needs=(*FAILING, Need.CRASH, Need.FRESH), preset="ext4")
def a_flush_of_published_events_withstands_a_crash(s: Script) -> None:
    """What was published and flushed, after a failure or without, is there when the power has failed."""
    a, w = begin(s)
    publish(s, a, 0, 2)
    s.hub_flush(a)
    s.fail("sync", error="EIO")
    publish(s, a, 2, 2)
    s.wait(1)
    s.heal()
    s.hub_flush(a)
    s.flush(w)
    s.crash("ext4", takes="everything")
    s.read(s.open(s.instance()))
