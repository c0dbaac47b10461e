"""Named scenarios for DUR, TORN and OWN-08: one crash at a time, each followed by a recovery that looks at everything.

A scenario says when the instance dies and how much the crash takes: nothing but the process, everything that was not
durable, or what a fixed seed draws. The sweeps try every state of every short workload; here each rule is met once
before anything is random, in a program that reads like its sentence. Where power is lost it is lost as on ext4, the
weakest preset that every backend which claims to survive it has to withstand.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event, header
from conformance.clauses import Need
from conformance.model.history import Returned
from conformance.model.operations import Append, Create, Flush, OpenSession

CRASHING = (Need.FRESH, Need.CRASH)

SEEDS = range(6)
"""Draws of what a crash takes, where one state would not say much."""

LARGE = "0123456789abcdef" * 400
"""Text of an event that covers a page edge."""


def recover(s: Script, *sessions: str, go_on: bool = True) -> None:
    """A fresh instance looks at everything, a second one has to show the same, a third owns it and goes on."""
    for _ in range(2):
        a = s.instance()
        s.list(a)
        for session in sessions:
            s.stat(a, session)
            s.read(s.open(a, session))
    if go_on:
        b = s.instance()
        for session in sessions:
            w = s.open(b, session, "write")
            log = s.read(w)
            if isinstance(log, Returned) and isinstance(log.value, list):
                s.append(w, batch(len(log.value), 1, mark="after"))
                s.close(w)
        c = s.instance()
        for session in sessions:
            s.read(s.open(c, session))


def die_inside_a_batch(s: Script, w: int, events: list[dict[str, Any]], seed: int) -> None:
    """Kill the process inside the append, or inside the flush behind it where a backend may only write then."""
    if seed % 2:
        s.append(w, events)
        s.crash("kill", during=Flush(w), seed=seed)
    else:
        s.crash("kill", during=Append(w, events), seed=seed)


def flush_every_way(s: Script) -> None:
    """Three sessions: one flushed while empty, one with two batches under a service flush, one with two closed."""
    a = s.instance()
    s.flush(s.create(a, "empty"))
    w = s.create(a, "swept")
    s.append(w, batch(0, 1))
    s.append(w, batch(1, 1))
    s.flush_all(a)
    c = s.create(a, "closed")
    s.append(c, batch(0, 2))
    s.append(c, batch(2, 1))
    s.close(c)


@scenario("DUR-02", needs=CRASHING, preset="posix")
def each_kind_of_barrier_survives_whatever_posix_allows(s: Script) -> None:
    """The same where a sync of a file saves no name of it, and every directory on the way has to be synced too."""
    flush_every_way(s)
    s.crash("posix", takes="everything")
    recover(s, "empty", "swept", "closed")


@scenario("DUR-01", "DUR-04", needs=CRASHING)
def what_was_flushed_survives_a_kill(s: Script) -> None:
    """After a process kill the flushed events are there, and of the later ones at most a prefix."""
    w = s.create(s.instance())
    s.append(w, batch(0, 3))
    s.flush(w)
    s.append(w, batch(3, 2))
    s.crash("kill")
    recover(s, "s1")


@scenario("DUR-01", needs=CRASHING)
def nothing_is_left_to_the_loop(s: Script) -> None:
    """The process dies in the very moment in which a flush, a close or a service flush has returned."""
    for ends in ("flush", "close", "service"):
        a = s.instance()
        w = s.create(a, ends)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.append(w, batch(1, 1))
        if ends == "flush":
            s.flush(w)
        elif ends == "close":
            s.close(w)
        else:
            s.flush_all(a)
        s.crash("kill", at_once=True)
        recover(s, ends)


@scenario("DUR-01", "DUR-02", needs=CRASHING, preset="ext4")
def what_was_flushed_survives_a_power_loss(s: Script) -> None:
    """The power fails, and everything is lost that no barrier covered: the flushed events are there."""
    w = s.create(s.instance())
    s.append(w, batch(0, 3))
    s.flush(w)
    s.append(w, batch(3, 2))
    s.crash("ext4", takes="everything")
    recover(s, "s1")


@scenario("DUR-02", needs=CRASHING, preset="ext4")
def each_kind_of_barrier_survives_a_power_loss(s: Script) -> None:
    """A flush of an empty session, a service flush and a close are each worth as much as a flush of events."""
    flush_every_way(s)
    s.crash("ext4", takes="everything")
    recover(s, "empty", "swept", "closed")


@scenario("DUR-01", "DUR-02", needs=CRASHING, preset="xfs")
def each_kind_of_barrier_survives_where_renames_flush_nothing(s: Script) -> None:
    """The same on XFS, where a file that replaces another may lose all it holds unless it was synced before."""
    flush_every_way(s)
    s.crash("xfs", takes="everything")
    recover(s, "empty", "swept", "closed")


@scenario("DUR-03", needs=CRASHING)
def a_session_never_written_is_gone(s: Script) -> None:
    """A session on which neither append nor flush was called does not come back, and its id is free."""
    s.create(s.instance())
    s.crash("kill")
    a = s.instance()
    s.list(a)
    s.stat(a)
    s.open(a)
    w = s.create(a, header=header("s1", cwd="/other"))
    s.append(w, batch(0, 1))
    s.close(w)
    s.read(s.open(s.instance()))


@scenario("DUR-04", needs=CRASHING)
def header_and_inherited_count_survive(s: Script) -> None:
    """A recovered session has every field of its header, and the count of events that its parent gave it."""
    a = s.instance()
    given = header("s1", cwd="/w", parent_session="p", is_seeded=True, delegation_depth=2, extra={"unit": "é"})
    w = s.create(a, header=given, inherited=2)
    s.append(w, batch(0, 3))
    s.flush(w)
    s.crash("kill")
    recover(s, "s1")


@scenario("DUR-01", "CLOSE-05", needs=CRASHING, preset="ext4")
def every_end_of_a_handle_survives_a_power_loss(s: Script) -> None:
    """What its context closed, left in peace, by an exception or by a cancellation, is durable; so is a service's."""
    for ends in ("peace", "exception", "cancellation", "service"):
        a = s.instance()
        w = s.create(a, ends)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.append(w, batch(1, 2))
        if ends == "service":
            s.close_all(a)
        else:
            s.leave(w, raising=ends == "exception", cancelled=ends == "cancellation")
        s.crash("ext4", takes="everything")
        recover(s, ends)


@scenario("DUR-05", needs=CRASHING)
def looking_changes_nothing(s: Script) -> None:
    """However many fresh instances look at crashed storage they see the same, and leave every byte as it was."""
    for seed in SEEDS:
        name = f"s{seed}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 2))
        s.flush(w)
        die_inside_a_batch(s, w, [event(2, data={"text": LARGE}), event(3)], seed)
        s.inspect_bytes(name)
        for _ in range(3):
            a = s.instance()
            s.list(a)
            s.stat(a, name)
            r = s.open(a, name)
            s.read(r)
            s.close(r)
            s.close_all(a)
        s.inspect_bytes(name)


@scenario("DUR-06", needs=CRASHING)
def a_crash_inside_recovery_does_no_more_harm(s: Script) -> None:
    """The process dies again while it opens the session for writing, and again right after: nothing more is lost."""
    for seed, after in product(range(3), range(1, 7)):
        name = f"s{seed}-{after}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 2))
        s.flush(w)
        s.crash("kill", during=Append(w, [event(2, data={"text": LARGE})]), seed=seed)
        a = s.instance()
        s.read(s.open(a, name))
        s.crash("kill", during=OpenSession(a, s.next_handle(), name, "write"), after=after)
        b = s.instance()
        s.read(s.open(b, name, "write"))
        s.crash("kill")
        recover(s, name)


@scenario("DUR-07", needs=CRASHING)
def a_recovered_session_lives_on(s: Script) -> None:
    """It can be owned, appended to, flushed, crashed and recovered, again and again."""
    w = s.create(s.instance())
    s.append(w, batch(0, 1))
    s.flush(w)
    for seed in SEEDS:
        s.crash("kill", during=Flush(w), seed=seed)
        a = s.instance()
        w = s.open(a, access="write")
        log = s.read(w)
        if not isinstance(log, Returned) or not isinstance(log.value, list):
            return
        s.append(w, batch(len(log.value), 2))
        s.flush(w)
        s.read(w)
    s.crash("kill")
    recover(s, "s1")


@scenario("DUR-08", needs=CRASHING)
def a_crash_while_one_is_written_harms_no_other(s: Script) -> None:
    """The instance dies inside an append to one session; the others have everything that they had."""
    for seed in SEEDS:
        a = s.instance()
        names = [f"{kind}{seed}" for kind in ("quiet", "busy", "new")]
        quiet, busy = s.create(a, names[0]), s.create(a, names[1])
        s.append(quiet, batch(0, 2))
        s.append(busy, batch(0, 2))
        s.close(quiet)
        s.flush(busy)
        s.create(a, names[2])
        s.crash("kill", during=Append(busy, [event(2, data={"text": LARGE})]), seed=seed)
        recover(s, *names[:2])


@scenario("DUR-09", needs=CRASHING, preset="ext4")
def a_resolved_append_is_durable_at_once(s: Script) -> None:
    """Where appends are claimed to be durable, a power loss right behind one takes nothing of it."""
    w = s.create(s.instance())
    s.append(w, batch(0, 2))
    s.append(w, batch(2, 1))
    s.crash("ext4", takes="everything")
    recover(s, "s1")


@scenario("DUR-09", needs=CRASHING)
def a_resolved_append_survives_a_kill(s: Script) -> None:
    """Where appends are claimed to be durable, so they are when the process dies."""
    w = s.create(s.instance())
    s.append(w, batch(0, 2))
    s.append(w, batch(2, 1))
    s.crash("kill")
    recover(s, "s1")


@scenario("DUR-11", needs=CRASHING, preset="ext4")
def a_barrier_covers_what_the_handle_found(s: Script) -> None:
    """A killed process had not synced what it wrote; the first flush of the next one covers that too."""
    for seed, mark in enumerate(("plain", "added")):
        name = f"s{seed}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 1))
        s.append(w, batch(1, 1))
        s.crash("kill")
        b = s.instance()
        w = s.open(b, name, "write")
        log = s.read(w)
        if not isinstance(log, Returned) or not isinstance(log.value, list):
            continue
        if mark == "added":
            s.append(w, batch(len(log.value), 1, mark=mark))
        s.flush(w)
        s.crash("ext4", takes="everything")
        recover(s, name)


@scenario("TORN-01", "TORN-02", needs=CRASHING)
def a_torn_append_is_never_shown(s: Script) -> None:
    """The instance dies inside an append that covers several pages: no reader sees the fragment, nothing fuses with it.

    Only what was appended before is there, and perhaps the first events of the batch; then comes what is appended next.
    """
    for seed in SEEDS:
        name = f"s{seed}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 2))
        s.flush(w)
        die_inside_a_batch(s, w, [event(2, data={"text": LARGE}), event(3, data={"text": LARGE}), event(4)], seed)
        recover(s, name)


@scenario("TORN-01", "TORN-02", needs=CRASHING, preset="ext4")
def holes_and_nul_tails_are_never_shown(s: Script) -> None:
    """Several unflushed batches, and the power fails: the log ends before the first hole, whatever lies behind it."""
    for seed in range(16):
        name = f"s{seed}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 1))
        s.flush(w)
        s.append(w, [event(1, data={"text": LARGE})])
        s.append(w, batch(2, 2))
        s.crash("ext4", during=Append(w, [event(4, data={"text": LARGE})]), seed=seed)
        recover(s, name)


@scenario("TORN-03", needs=CRASHING)
def what_a_reader_was_shown_the_next_append_keeps(s: Script) -> None:
    """Complete records of a torn tail may be kept or dropped; once a reader saw them, the next append keeps them."""
    for seed in SEEDS:
        name = f"s{seed}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 1))
        s.flush(w)
        die_inside_a_batch(s, w, [event(1), event(2, data={"text": LARGE}), event(3)], seed)
        recover(s, name)


@scenario("TORN-04", needs=CRASHING)
def a_torn_creation_stands_in_nobody_s_way(s: Script) -> None:
    """The instance dies while a session is being stored: it is there whole or not at all, and its id is free."""
    for seed in SEEDS:
        name = f"s{seed}"
        a = s.instance()
        other = s.create(a, f"other{seed}")
        s.append(other, batch(0, 1))
        s.flush(other)
        w = s.create(a, name)
        s.crash("kill", during=Append(w, [event(0, data={"text": LARGE})]), seed=seed)
        recover(s, f"other{seed}", name)
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 1))
        s.close(w)


@scenario("TORN-05", needs=CRASHING)
def a_repair_takes_nothing_from_open_handles(s: Script) -> None:
    """While the tail is repaired, handles of that instance show what they showed, and other readers no less than F."""
    for seed in SEEDS:
        name = f"s{seed}"
        w = s.create(s.instance(), name)
        s.append(w, batch(0, 2))
        s.flush(w)
        die_inside_a_batch(s, w, [event(2), event(3, data={"text": LARGE})], seed)
        a, b = s.instance(), s.instance()
        r, elsewhere = s.open(a, name), s.open(b, name)
        s.read(r)
        s.read(elsewhere)
        w = s.open(a, name, "write")
        s.read(r)
        s.read(elsewhere)
        log = s.read(w)
        if isinstance(log, Returned) and isinstance(log.value, list):
            s.append(w, batch(len(log.value), 1, mark="after"))
        s.read(r)
        s.close(w)
        s.read(r)
        s.read(elsewhere)


@scenario("OWN-08", needs=CRASHING)
def a_crash_leaves_nothing_owned(s: Script) -> None:
    """After a crash a fresh instance can own every session at once."""
    a = s.instance()
    names = ("one", "two", "three")
    for name in names:
        w = s.create(a, name)
        s.append(w, batch(0, 1))
        s.flush(w)
    s.crash("kill", during=Create(a, s.next_handle(), header("four")))
    b = s.instance()
    for name in names:
        w = s.open(b, name, "write")
        s.append(w, batch(1, 1))
        s.flush(w)
