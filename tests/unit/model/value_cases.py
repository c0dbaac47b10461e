"""Hand-written histories for JSON, ID and FMT: values on their way, ids that meet, types that nobody knows.

The same form as in ``clause_cases``, which takes these in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.contract import Capabilities
from conformance.model.history import HandleView, Returned
from conformance.model.operations import Inspect
from conformance.model.tree import TreeView
from tests.unit.model.histories import (
    CONTIGUITY,
    EXISTS,
    NOT_FOUND,
    OWNED,
    Step,
    append,
    close,
    create,
    flush,
    header,
    listed,
    opened,
    owned,
    read,
    snap,
    stat,
    up,
)

UNSUPPORTED = "SessionFormatUnsupportedError"
CORRUPTION = "SessionPersistenceCorruptionError"
STORES = Capabilities(unknown_types="store")
DOUBLES = Capabilities(numbers="double")
PLAIN = Capabilities()

Row = tuple[str, tuple[Step, ...], Step, Step, Capabilities]


def row(clause: str, *steps: Step, wrong: Step, capabilities: Capabilities = PLAIN) -> Row:
    """The last step is the right answer; ``wrong`` is the wrong one to the same call."""
    return clause, steps[:-1], steps[-1], wrong, capabilities


def event(data: Any, seq: int = 0, **more: Any) -> dict[str, Any]:
    """One event with this data."""
    return {"type": "user/message", "seq": seq, "time": 0, "data": data, **more}


def value(given: Any, seen: Any, clause: str, capabilities: Capabilities = PLAIN, right: Any = None) -> Row:
    """The value is appended and read back; ``right`` where that is not the value itself."""
    kept = [event(given if right is None else right)]
    return row(
        clause, up(), create(1), append(1, [event(given)]), read(1, kept), wrong=read(1, [event(seen)]),
        capabilities=capabilities,
    )  # fmt: skip


def refused(data: Any, kind: str = "TypeError") -> Row:
    """The value must be refused at the call."""
    call = append(1, [event(data)])
    return row("JSON-02", up(), create(1), call.raises(kind), wrong=call)


def look(*outside: str, modes: tuple[tuple[str, int], ...] = (), artifacts: tuple[str, ...] = ()) -> Step:
    """A look at the files."""
    return Step(Inspect(["s"]), Returned(TreeView(outside, modes, artifacts)))


def of_other(step: Step, session: str) -> Step:
    """The same call, answered with the header of another session."""
    outcome = step.outcome
    if not isinstance(outcome, Returned) or not isinstance(outcome.value, HandleView):
        raise TypeError(f"step={step!r} returns no handle")
    return step.gives(replace(outcome.value, header=header(session)))


UGLY = [event("ab"), event("a\u2028b", 1), event("ab", 2)]
ROUNDED = 2**53 + 1
BATCH = (up(), create(1), append(1, UGLY))
TUPLE = append(1, [event((1, 2))])
DEEP: Any = 1
for _ in range(110):
    DEEP = [DEEP]

VALUES = (
    value("a\x00b", "a", "JSON-01"),
    value({"": 1}, {}, "JSON-01"),
    value(True, 1, "JSON-01"),
    value(0.1 + 0.2, 0.3, "JSON-01"),
    value(1, 1.0, "JSON-01"),
    value(1, 2.0, "JSON-01", DOUBLES, right=1.0),
    row("JSON-01", *BATCH, read(1, UGLY), wrong=read(1, [UGLY[0], UGLY[2]])),
    row("JSON-01", *BATCH, read(1, UGLY), wrong=read(1, UGLY[:1])),
    row("JSON-01", *BATCH, read(1, UGLY), wrong=read(1, UGLY).raises(CORRUPTION)),
    row("JSON-01", up(), create(1, origin={"a": "é"}), wrong=create(1, origin={"a": "é"}).gives(
        HandleView("s", header(origin={"a": "e\u0301"}), "write", None))),
    refused(float("nan")),
    refused(b"x", "ValueError"),
    refused({1: 2}),
    row("JSON-02", up(), create(1), append(1, [event(set())]).raises("TypeError"), read(1, []),
        wrong=read(1, [event([])])),
    value(ROUNDED, float(ROUNDED), "JSON-03"),
    value(-0.0, 0.0, "JSON-03"),
    value("\ud800", "\ufffd", "JSON-03"),
    value({"\ud800": 1}, {"?": 1}, "JSON-03"),
    value((1, 2), "(1, 2)", "JSON-03", right=[1, 2]),
    value((1, "2"), [1, 2], "JSON-03", right=[1, "2"]),
    row("JSON-03", up(), create(1), TUPLE.raises("TypeError"), wrong=TUPLE.raises("OverflowError")),
    row("JSON-03", up(), create(1), TUPLE.raises("TypeError"), read(1, []), wrong=read(1, [event([1, 2])])),
    row("JSON-03", up(), create(1), append(1, [event(DEEP)]).raises("ValueError"),
        wrong=append(1, [event(DEEP)]).raises("RecursionError")),
)  # fmt: skip

ONE, OTHER = [event("one")], [event("other")]
TWO = (up(), create(1, "a/b"), append(1, ONE))
BOTH = (*TWO, create(2, "a:b"), append(2, OTHER))

IDENTITY = (
    row("ID-01", *TWO, create(2, "a:b"), wrong=create(2, "a:b").raises(EXISTS)),
    row("ID-01", up(), create(1, "a/b"), wrong=create(1, "a/b").raises("OSError")),
    row("ID-01", up(), create(1, "S1"), append(1, ONE), create(2, "s1"), wrong=create(2, "s1").raises(OWNED)),
    row("ID-01", *TWO, stat(None, "a:b"), wrong=stat(snap(1, 0, "a/b"), "a:b")),
    row("ID-01", *TWO, opened(2, "a:b").raises(NOT_FOUND), wrong=of_other(opened(2, "a:b"), "a/b")),
    row("ID-01", *BOTH, opened(3, "a/b"), wrong=of_other(opened(3, "a/b"), "a:b")),
    row("ID-01", *BOTH, read(1, ONE), wrong=read(1, OTHER)),
    row("ID-01", *BOTH, read(1, ONE), wrong=read(1, ONE).raises(CORRUPTION)),
    row("ID-01", *TWO, read(1, ONE), create(2, "a:b"), append(2, OTHER), read(1, ONE), wrong=read(1, OTHER)),
    row("ID-01", *TWO, stat(snap(1, 0, "a/b"), "a/b"), create(2, "a:b"), stat(snap(1, 0, "a/b"), "a/b"),
        wrong=stat(snap(1, 1, "a/b"), "a/b")),
    row("ID-01", *BOTH, close(1), owned(3, "a/b"), wrong=owned(3, "a/b").raises(OWNED)),
    row("ID-02", *TWO, look(), wrong=look("../s")),
    row("ID-03", *TWO, look(modes=(("./", 0o755), ("s", 0o600)), artifacts=("s",)),
        wrong=look(modes=(("./", 0o755), ("s", 0o644)), artifacts=("s",))),
    row("ID-03", *TWO, look(modes=(("./", 0o755), ("d/", 0o700), ("d/s", 0o644)), artifacts=("d/s",)),
        wrong=look(modes=(("./", 0o755), ("d/", 0o710), ("d/s", 0o640)), artifacts=("d/s",))),
    row("ID-05", up(), create(1, "s1"), flush(1), create(2, "S1"), flush(2), look(modes=(("s1", 0), ("%531", 0))),
        wrong=look(modes=(("s1", 0), ("S1", 0)))),
)  # fmt: skip

STRANGE = event("kept", type="x/new")
MARKED = event("kept", 1, type="x/new", ignorable=True, extra=[1])
NAMED = "event type 'x/new' at seq 0"
STORED = (up(), create(1), append(1, [STRANGE]))
LEFT = (*STORED, close(1))
KEPT = (up(), create(1), append(1, [event("ab"), MARKED, event("cd", 2)]))

VOCABULARY = (
    row("FMT-02", up(), create(1), append(1, [STRANGE]).raises(UNSUPPORTED), wrong=append(1, [STRANGE])),
    row("FMT-02", up(), create(1), append(1, [STRANGE]).raises(UNSUPPORTED), read(1, []), wrong=read(1, [STRANGE])),
    row("FMT-02", up(), create(1), append(1, [{**STRANGE, "ignorable": "true"}]).raises(UNSUPPORTED),
        wrong=append(1, [{**STRANGE, "ignorable": "true"}]).raises(CONTIGUITY)),
    row("FMT-02", *STORED, read(1, []).raises(UNSUPPORTED, NAMED), wrong=read(1, [STRANGE]), capabilities=STORES),
    row("FMT-02", *STORED, read(1, []).raises(UNSUPPORTED, NAMED), wrong=read(1, []), capabilities=STORES),
    row("FMT-02", *STORED, read(1, []).raises(UNSUPPORTED, NAMED), wrong=read(1, []).raises(UNSUPPORTED, "new type"),
        capabilities=STORES),
    row("FMT-02", *LEFT, owned(2).raises(UNSUPPORTED, NAMED), wrong=owned(2), capabilities=STORES),
    row("FMT-02", *LEFT, opened(2), read(2, []).raises(UNSUPPORTED, NAMED), wrong=read(2, []), capabilities=STORES),
    row("FMT-03", *KEPT, read(1, [event("ab"), MARKED, event("cd", 2)]), wrong=read(1, [event("ab"), event("cd", 2)])),
    row("FMT-03", *KEPT, read(1, [event("ab"), MARKED, event("cd", 2)]),
        wrong=read(1, [event("ab"), event("kept", 1, type="x/new", ignorable=True), event("cd", 2)])),
    row("FMT-03", *KEPT, read(1, [event("ab"), MARKED, event("cd", 2)]), wrong=read(1, []).raises(UNSUPPORTED)),
    row("FMT-03", up(), create(1), append(1, [event("ab"), MARKED]), read(1, [event("ab"), MARKED]),
        wrong=read(1, [event("ab"), {**MARKED, "type": "x/NEW"}])),
)  # fmt: skip

ROWS = VALUES + IDENTITY + VOCABULARY
"""(clause, steps, right, wrong, capabilities) of each."""

ALLOWED = (
    (*LEFT, opened(2).raises(UNSUPPORTED, NAMED), stat(snap(1, 0)), listed(snap(1, 0))),
    (*STORED, append(1, [event("more", 1)]).raises(UNSUPPORTED, NAMED), stat(snap(1, 0))),
    (*STORED, append(1, [event("more", 1)]), stat(snap(2, 0)), read(1, [], 0, 5).raises(UNSUPPORTED, NAMED)),
    (up(), create(1), append(1, [event("a"), {**STRANGE, "seq": 1}]), read(1, [event("a")], 0, 1)),
    (up(), create(1), append(1, [event("a"), {**STRANGE, "seq": 1}]), read(1, [], 0, 1).raises(
        UNSUPPORTED, "type 'x/new' at seq 1")),
)  # fmt: skip
"""Histories of a backend that stores unknown types, in which nothing is wrong."""
