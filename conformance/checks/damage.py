"""Named scenarios for FMT, TORN and ID-04: bytes of an artifact that rotted, got lost, moved, or came from elsewhere.

Every session is stored by ``store``: its header is flushed first, and each batch after that, so that edge 1 is where
the header ends and edge k + 1 where batch k does, whatever the format. A backend that keeps something else at these
places is judged by no more than can be told of it.
"""

from __future__ import annotations

from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch, event, header
from conformance.clauses import Need
from conformance.model.adversities import END
from conformance.model.history import Returned

DAMAGED = (Need.FRESH, Need.LOCATION, Need.DAMAGE)

FOREIGN = "This is a note that somebody put here.\nIt is no session.\n"

LARGE = "0123456789abcdef" * 400
"""Text of an event that covers a page edge."""

ROOM = 192 << 20
"""Bytes of memory that a reader of a hostile artifact may use; less than a bomb expands to."""


def store(s: Script, name: str, *, batches: int = 3) -> None:
    """A session of so many batches of two events, each flushed, and closed."""
    w = s.create(s.instance(), name)
    s.flush(w)
    for number in range(batches):
        s.append(w, batch(2 * number, 2, mark=name))
        s.flush(w)
    s.close(w)


def look(s: Script, name: str) -> None:
    """A fresh instance asks about the session in every way, and another one opens it for writing."""
    a = s.instance()
    s.list(a)
    s.stat(a, name)
    r = s.open(a, name)
    s.read(r)
    s.read(r, 1, 2)
    b = s.instance()
    w = s.open(b, name, "write")
    s.read(w)
    s.close(w)


def go_on(s: Script, name: str) -> None:
    """A fresh instance owns the session, appends behind what it reads, and another one reads that."""
    w = s.open(s.instance(), name, "write")
    log = s.read(w)
    if isinstance(log, Returned) and isinstance(log.value, list):
        s.append(w, batch(len(log.value), 2, mark="after"))
        s.flush(w)
        s.close(w)
        s.read(s.open(s.instance(), name))


def each_way(s: Script, *ways: dict[str, Any], batches: int = 3) -> None:
    """Damage one session in each of these ways, and look at it."""
    for number, way in enumerate(ways):
        name = f"s{number}"
        store(s, name, batches=batches)
        s.damage(session=name, **way)
        look(s, name)


@scenario("FMT-04", needs=DAMAGED)
def a_lost_batch_is_no_shorter_log(s: Script) -> None:
    """A flushed batch is taken out before an intact later one: the log is refused, or right all the same."""
    each_way(
        s,
        {"how": "drop", "start": (1, 0), "end": (2, 0)},
        {"how": "drop", "start": (2, 0), "end": (3, 0)},
        {"how": "drop", "start": (1, 0), "end": (3, 0)},
    )


@scenario("FMT-04", needs=DAMAGED)
def batches_keep_their_places(s: Script) -> None:
    """Flushed batches that stand twice, or in each other's place, are not served like that."""
    each_way(
        s,
        {"how": "repeat", "start": (1, 0), "end": (2, 0)},
        {"how": "repeat", "start": (2, 0), "end": (3, 0)},
        {"how": "swap", "start": (1, 0), "end": (2, 0), "to": (3, 0)},
        {"how": "insert", "start": (2, 0), "data": '{"type":"user/message"}\n'},
    )


@scenario("FMT-04", needs=DAMAGED)
def a_hole_in_the_middle_is_noticed(s: Script) -> None:
    """A run of NUL over a flushed batch, a part of it or an edge, with an intact batch behind, ends no log early."""
    each_way(
        s,
        {"how": "nul", "start": (2, 0), "end": (3, 0)},
        {"how": "nul", "start": (2, 3), "end": (2, 40)},
        {"how": "nul", "start": (2, -4), "end": (2, 4)},
        {"how": "nul", "start": (3, -1), "end": (3, 0)},
    )


@scenario("FMT-04", needs=DAMAGED)
def broken_framing_is_noticed(s: Script) -> None:
    """Bytes around the edge of two flushed batches are gone, or others came in: no record is skipped in silence."""
    each_way(
        s,
        {"how": "drop", "start": (2, -7), "end": (2, 9)},
        {"how": "drop", "start": (2, -1), "end": (2, 0)},
        {"how": "insert", "start": (2, -5), "data": "\n\n"},
        {"how": "insert", "start": (2, 5), "data": b"\xff\xfe\n"},
    )


@scenario("FMT-04", needs=DAMAGED)
def a_lost_page_of_a_long_log_is_noticed(s: Script) -> None:
    """A whole page in the middle of a log of several pages reads NUL, and batches stand before and behind it."""
    name = "s1"
    w = s.create(s.instance(), name)
    s.flush(w)
    for seq in range(12):
        s.append(w, [event(seq, data={"text": LARGE[seq:] if seq % 2 else f"short {seq}"})])
        s.flush(w)
    s.close(w)
    s.damage("nul", name, start=(6, 0), end=(8, 0))
    look(s, name)


@scenario("FMT-05", needs=DAMAGED)
def refusals_say_where_the_artifact_is(s: Script) -> None:
    """Whoever is refused learns which file is damaged."""
    each_way(
        s,
        {"how": "replace", "data": FOREIGN},
        {"how": "drop", "start": (2, 0), "end": (3, 0)},
        {"how": "nul", "start": (1, 0), "end": (2, 0)},
    )


@scenario("FMT-09", needs=DAMAGED)
def a_log_without_its_header_is_refused(s: Script) -> None:
    """The header is gone, and flushed batches remain: neither an empty session nor none."""
    each_way(
        s,
        {"how": "drop", "start": (0, 0), "end": (1, 0)},
        {"how": "drop", "start": (0, 0), "end": (0, 9)},
        {"how": "nul", "start": (0, 2), "end": (0, 30)},
    )
    s.create(s.instance(), "s0")


@scenario("FMT-10", needs=DAMAGED)
def a_changed_byte_is_noticed(s: Script) -> None:
    """One bit of a header, of an event, or of the last batch changes: refused, or the right log, never a wrong one."""
    places = [(0, 1), (0, 20), (1, -2), (1, 5), (-3, 30), (-2, -10), (-2, 12), (-1, -30), (-1, -1)]
    each_way(s, *({"how": "flip", "start": place, "mask": 1 << number % 8} for number, place in enumerate(places)))


@scenario("FMT-12", needs=DAMAGED)
def what_an_editor_adds_loses_nothing(s: Script) -> None:
    """A byte-order mark in front, or carriage returns at line ends: all records are there, or the log is refused."""
    each_way(s, {"how": "bom"}, {"how": "crlf"})
    store(s, "one", batches=1)
    s.damage("bom", "one")
    look(s, "one")


@scenario("TORN-01", needs=DAMAGED)
def a_tail_cut_at_any_byte_is_dropped(s: Script) -> None:
    """A batch that was not flushed is cut anywhere: what was flushed is served, and nobody sees the fragment."""
    for number, at in enumerate([(-1, -1), (-1, -2), (-1, -9), (-2, 1), (-2, 5), (-2, 60), (-2, 4100)]):
        name = f"s{number}"
        w = s.create(s.instance(), name)
        for seq in range(2):
            s.append(w, batch(seq, 1))
            s.flush(w)
        s.append(w, [event(2, data={"text": LARGE}), event(3, data={"text": "žluťoučký kůň 🐎"})])
        s.damage("cut", name, start=at)
        a = s.instance()
        s.stat(a, name)
        s.read(s.open(a, name))


@scenario("TORN-01", "TORN-02", needs=DAMAGED, preset="ext4")
def zeros_behind_the_log_are_no_records(s: Script) -> None:
    """The file grew by zeros that no data followed: the log is as it was, and goes on behind them."""
    for number, count in enumerate([1, 24, 4096, 5000]):
        name = f"s{number}"
        store(s, name)
        s.damage("insert", name, start=END, data=bytes(count))
        look(s, name)
        go_on(s, name)


@scenario("TORN-02", needs=DAMAGED)
def the_log_goes_on_behind_a_cut_tail(s: Script) -> None:
    """The last batch is cut: where the rest is served, the next batch stands behind that, and all readers see it."""
    for number, at in enumerate([(-1, -1), (-1, -20), (-2, 1), (-2, 0)]):
        name = f"s{number}"
        store(s, name)
        s.damage("cut", name, start=at)
        look(s, name)
        go_on(s, name)


@scenario("TORN-04", needs=DAMAGED)
def a_torn_creation_is_no_session(s: Script) -> None:
    """An empty artifact, half a header, or a page of zeros: where it is called absent, its id can be created."""
    ways: list[dict[str, Any]] = [
        {"how": "replace", "data": ""},
        {"how": "cut", "start": (0, 0)},
        {"how": "cut", "start": (0, 7)},
        {"how": "cut", "start": (1, -1)},
        {"how": "nul", "start": (0, 0), "end": END},
    ]
    for number, way in enumerate(ways):
        name = f"s{number}"
        store(s, name, batches=1)
        s.damage(session=name, **way)
        a = s.instance()
        s.list(a)
        s.stat(a, name)
        s.open(a, name)
        w = s.create(a, header=header(name, cwd="/again"))
        s.append(w, batch(0, 1, mark="again"))
        s.close(w)
        s.read(s.open(s.instance(), name))


def read_what_is_hostile(s: Script, kind: str) -> None:
    """Alone in the artifact's place and behind a header, from a process with little memory."""
    s.confine(ROOM)
    for start in ((0, 0), (1, 0)):
        name = f"s{start[0]}"
        store(s, name, batches=1)
        s.damage("hostile", name, start=start, data=kind)
        a = s.instance()
        s.read(s.open(a, name))
        s.stat(a, name)
        s.list(a)


def go_on_above_what_is_hostile(s: Script, kind: str) -> None:
    """In another file in the artifact's place, behind its log and behind its header, while it is owned and read.

    Its owner, those who read it before and those who come now all go on, in a process with little memory.
    """
    s.confine(ROOM)
    for way in ({"how": "plant"}, {"how": "hostile", "start": END}, {"how": "hostile", "start": (1, 0)}):
        a, name = s.instance(), f"s{way['how']}{way.get('start', '')}"
        w = s.create(a, name)
        s.flush(w)
        s.append(w, batch(0, 2))
        s.flush(w)
        r = s.open(a, name)
        s.read(r)
        s.damage(session=name, data=kind, **way)
        s.read(r)
        s.read(w)
        s.stat(a, name)
        s.append(w, batch(2, 1))
        s.flush(w)
        s.inspect_bytes(name)
        b = s.instance()
        s.list(b)
        s.stat(b, name)
        s.read(s.open(b, name))
        s.read(r)
        s.list(a)
        s.close(w)
        s.close_all(a)
        s.open(b, name, "write")


@scenario("ID-04", needs=DAMAGED)
def nesting_without_end_is_refused(s: Script) -> None:
    """What nests past the limit of any parser is corruption, and not the parser's own error."""
    read_what_is_hostile(s, "nested")


@scenario("ID-04", needs=DAMAGED)
def a_line_without_end_is_refused(s: Script) -> None:
    """A line that never ends is corruption, or no record."""
    read_what_is_hostile(s, "endless")


@scenario("ID-04", needs=DAMAGED)
def a_decompression_bomb_is_refused(s: Script) -> None:
    """Little that expands to more than there is memory for is corruption, and is told without trying to hold it."""
    read_what_is_hostile(s, "bomb")


@scenario("ID-04", "SVC-14", "DUR-10", needs=DAMAGED)
def nesting_under_a_writer_is_noticed(s: Script) -> None:
    """What nests past the limit of any parser comes under an active writer and its readers."""
    go_on_above_what_is_hostile(s, "nested")


@scenario("ID-04", "SVC-14", "DUR-10", needs=DAMAGED)
def a_line_without_end_under_a_writer_is_noticed(s: Script) -> None:
    """A line that never ends comes under an active writer and its readers."""
    go_on_above_what_is_hostile(s, "endless")


@scenario("ID-04", "SVC-14", "DUR-10", needs=DAMAGED)
def a_bomb_under_a_writer_is_noticed(s: Script) -> None:
    """Little that expands to more than there is memory for comes under an active writer and its readers."""
    go_on_above_what_is_hostile(s, "bomb")
