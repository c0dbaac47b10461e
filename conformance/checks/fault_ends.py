"""Named scenarios on failing storage for FAULT and OWN, CLOSE and FLUSH: claims, closes, sweeps, and what is left."""

from __future__ import annotations

from conformance.checks.failing import FAILING, NAMING, READING, STORING, end, own_again, see, store
from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch
from conformance.clauses import Need


@scenario("FAULT-03", "FAULT-01", needs=(*FAILING, Need.CRASH), preset="ext4")
def a_close_after_a_failed_sync_tells_the_truth(s: Script) -> None:
    """A flush fails in its sync: where the close behind it resolves, power may fail and nothing is lost."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.flush(w)
    s.fail("sync", error="EIO")
    s.append(w, batch(1, 1))
    s.flush(w)
    s.heal()
    s.close(w)
    s.crash("ext4", takes="everything")
    s.read(s.open(s.instance()))


@scenario("OWN-04", needs=FAILING)
def a_failed_claim_takes_nothing(s: Script) -> None:
    """A create and a write open meet failing storage: neither leaves ownership or a session, and both work later."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 1))
    s.close(w)
    for calls in (READING, ("write", "sync", "truncate"), NAMING, ("look",)):
        b = s.instance()
        s.fail(*calls, error="EIO", sticky=True)
        w = s.open(b, "s1", "write")
        if s.has(w):
            s.close(w)
        n = s.create(b, "new")
        if s.has(n):
            s.close(n)
        s.heal()
        w = s.open(b, "s1", "write")
        s.read(w)
        s.close(w)
        n = s.create(b, "new")
        s.close(n)
        s.close_all(b)
    end(s, a)


@scenario("FAULT-05", "OWN-07", needs=FAILING)
def a_close_that_cannot_store_raises_and_gives_up_ownership(s: Script) -> None:
    """Nothing can be stored while a handle with unsaved events closes: it raises, and the next owner owns."""
    for name, covers, rejects in (("covered", True, False), ("new", False, False), ("behind a failure", True, True)):
        a = s.instance()
        w = s.create(a, name)
        if covers:
            s.append(w, batch(0, 1))
            s.flush(w)
        if rejects:
            s.fail(*STORING, error="EIO", sticky=True)
        s.append(w, batch(int(covers), 2))
        s.fail(*STORING, error="EIO", sticky=True)
        s.close(w)
        s.close(w)
        s.heal()
        own_again(s, a, name)
        end(s, a, name)


@scenario("FRESH-04", needs=FAILING)
def what_the_next_owner_covered_is_there_where_an_append_failed(s: Script) -> None:
    """An append and the close behind it fail; another instance owns, covers what it finds, and the first one looks."""
    for name, writes in (("found", False), ("written", True)):
        a, b = s.instance(), s.instance()
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.fail("sync", "truncate", error="EIO", sticky=True)
        s.append(w, batch(1, 1))
        s.close(w)
        s.heal()
        n = s.open(b, name, "write")
        s.read(n)
        if writes:
            s.append(n, batch(s.log_length(n), 1))
        s.flush(n)
        s.close(n)
        see(s, s.open(a, name), instance=a, session=name)
        own_again(s, a, name)
        end(s, a, name)


@scenario("FRESH-04", needs=FAILING)
def what_an_owner_elsewhere_covered_outlives_a_failed_append(s: Script) -> None:
    """An append fails and cannot be undone; another instance owns, writes and covers; then the first handle goes on."""
    for ends in ("close", "append", "flush", "service close"):
        a = s.instance()
        w = s.create(a, ends)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.fail(*STORING, error="EIO", sticky=True)
        s.append(w, batch(1, 3, mark="failed"))
        _go_on_on_both_sides(s, a, ends, w, ends)


@scenario("MAT-05", needs=FAILING)
def what_an_owner_elsewhere_covered_outlives_a_failed_first_append(s: Script) -> None:
    """The same with the first append of a session, which another instance may find stored and own."""
    for nth in range(1, 7):
        name = f"s{nth}"
        a = s.instance()
        w = s.create(a, name)
        s.fail("sync", "unlink", nth=nth, error="EIO", sticky=True)
        s.append(w, batch(0, 3, mark="failed"))
        _go_on_on_both_sides(s, a, name, w, ("close", "append")[nth % 2])


def _go_on_on_both_sides(s: Script, instance: int, name: str, w: int, ends: str) -> None:
    """Another instance owns and writes, where it may; then the owner whose append failed does something, or ends."""
    s.heal()
    n = s.open(s.instance(), name, "write")
    if s.has(n):
        s.append(n, batch(s.length_shown(n), 1, mark="elsewhere"))
        s.flush(n)
        s.close(n)
    else:
        s.append(w, batch(s.log_length(w), 1))
        s.flush(w)
        s.list(s.instance())
    if ends == "append":
        s.append(w, batch(s.log_length(w), 3, mark="failed"))
    elif ends == "flush":
        s.flush(w)
    elif ends == "close":
        s.close(w)
    end(s, instance, name)


@scenario("OWN-07", needs=FAILING)
def a_close_that_fails_to_close_a_file_gives_up_ownership(s: Script) -> None:
    """The operating system reports an error for a file that is closed: whatever the close says, the next owner owns."""
    for nth in (1, 2, 3):
        a = s.instance()
        name = f"s{nth}"
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.fail("close", nth=nth, error="EIO")
        s.close(w)
        s.heal()
        own_again(s, a, name)
        end(s, a, name)


@scenario("FAULT-06")
def nothing_is_left_past_the_close_of_the_service(s: Script) -> None:
    """Sessions made, written, read, refused and closed in every way: no descriptor, task or thread is left."""
    s.count_left()
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.append(w, batch(7, 1))
    s.read(s.open(a))
    s.open(a, "absent")
    s.create(a)
    s.stat(a)
    s.list(a)
    s.flush(w)
    s.close(w)
    s.leave(s.open(a, "s1", "write"))
    s.create(a, "never stored")
    s.append(s.create(a, "left open"), batch(0, 1))
    s.close_all(a)
    s.count_left()


@scenario("FAULT-06", needs=FAILING)
def faults_leave_nothing_open(s: Script) -> None:
    """Every kind of storage call fails for a while in a life of its own: no descriptor is left by any of them."""
    for call in ("write", "sync", "open", "read", "close", "link", "rename", "look", "truncate"):
        for nth in (1, 2, 3):
            a = s.instance()
            s.fail(call, nth=nth, error="EIO", sticky=True)
            w = s.create(a, f"{call}-{nth}")
            for _ in range(2):
                if s.has(w):
                    store(s, w, batch(s.log_length(w), 1))
            r = s.open(a, f"{call}-{nth}")
            if s.has(r):
                s.read(r)
            s.list(a)
            if s.has(w):
                s.close(w)
            s.heal()
            s.close_all(a)
            s.count_left()


@scenario("FLUSH-02", needs=FAILING)
def a_sweep_goes_on_past_a_handle_that_fails(s: Script) -> None:
    """Calls of storage fail in a service flush: one group names each session, and the others are covered."""
    for nth, sticky in ((1, False), (2, False), (3, False), (1, True)):
        a = s.instance()
        names = [f"{each}-{nth}-{sticky}" for each in "abc"]
        handles = [s.create(a, name) for name in names]
        s.append(handles[0], batch(0, 1))
        # One has events, and the others have to be stored by the sweep itself.
        s.fail("write", "sync", nth=nth, error="EIO", sticky=sticky)
        s.flush_all(a)
        s.heal()
        b = s.instance()
        for name in names:
            s.stat(b, name)
            s.read(s.open(b, name))
        s.flush_all(a)
        end(s, a, *names)


@scenario("CLOSE-07", needs=FAILING)
def the_service_closes_every_handle_though_one_fails(s: Script) -> None:
    """One call of storage fails while the service closes: its session is named in one group, the others are stored."""
    for nth in (1, 2, 3):
        a = s.instance()
        names = [f"{each}-{nth}" for each in "abc"]
        handles = [s.create(a, name) for name in names]
        for handle in handles:
            s.append(handle, batch(0, 1))
        s.fail("write", "sync", nth=nth, error="EIO")
        s.close_all(a)
        s.heal()
        for handle in handles:
            s.read(handle)
        s.count_left()
        b = s.instance()
        for name in names:
            s.read(s.open(b, name))


SICK: tuple[tuple[tuple[str, ...], str, bool], ...] = (
    (("open",), "EACCES", False),
    (("read",), "EIO", False),
    (("open", "look"), "EACCES", True),
)
"""How one session cannot be read: which calls meet what, and whether those about its directory do so too."""


@scenario("SVC-07", "FAULT-08", "FAULT-04", needs=(*FAILING, Need.LOCATION))
def one_unreadable_artifact_hides_no_other_session(s: Script) -> None:
    """Of several sessions one cannot be read: it says so, and the others are listed, read and written as before."""
    a = s.instance()
    for name in ("before", "sick", "well"):
        w = s.create(a, name)
        s.append(w, batch(0, 2))
        s.close(w)
    for number, (calls, error, around) in enumerate(SICK):
        b = s.instance()
        w = s.open(b, "before", "write")
        r = s.open(b, "sick")
        s.fail(*calls, error=error, sticky=True, session="sick", around=around)
        c = s.instance()
        for instance in (b, c):
            s.list(instance)
            s.stat(instance, "sick")
        s.read(s.open(c, "sick"))
        s.open(c, "sick", "write")
        s.create(c, "sick")
        s.read(s.open(c, "well"))
        s.read(r)
        s.append(w, batch(2 + number, 1))
        s.flush_all(b)
        n = s.create(b, f"new-{number}")
        s.append(n, batch(0, 1))
        s.close(n)
        s.heal()
        see(s, r, w, instance=b, session="sick")
        s.close_all(b)
    end(s, a, "before", "sick", "well")
