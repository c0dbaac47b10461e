"""Named scenarios for JSON-01 to JSON-03: values that come back as they went, and values that must not go at all.

Each ugly corner has a log of its own, in which it stands between two plain events: so a failure names it, and a value
that swallows its neighbours is seen. Text of 32 MiB is not tried here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.checks.registry import scenario
from conformance.checks.script import Script, event, header
from conformance.checks.value_tables import (
    BEYOND,
    CHARACTERS,
    DEEP,
    FLOATS,
    FOUR_MEBIBYTES,
    INTEGERS,
    KEYS,
    LONG,
    OUTSIDE,
    PYTHON_BEYOND,
    STORE_KEYS,
    TRUTHS,
    nested,
)
from conformance.clauses import Need
from conformance.contract import RESERVED_HEADER_KEYS, SessionHeader
from conformance.model.samples import make_cycle, make_dict_cycle, make_long_cycle, sample_generator


def _write(s: Script, a: int, values: Iterable[Any]) -> list[tuple[str, int]]:
    """Each value goes into a log of its own between two plain events, and comes back to its own handle."""
    written = []
    for number, value in enumerate(values):
        name = f"v{number}"
        w = s.create(a, name)
        s.append(w, [event(0), event(1, data=value), event(2)])
        s.read(w)
        written.append((name, w))
    return written


def _kept(s: Script, values: Iterable[Any]) -> None:
    """It comes back to another handle of the instance too."""
    a = s.instance()
    for name, _ in _write(s, a, values):
        s.read(s.open(a, name))


def _stored(s: Script, values: Iterable[Any]) -> None:
    """A fresh instance reads it, for reading and for writing."""
    a = s.instance()
    written = _write(s, a, values)
    for _, w in written:
        s.close(w)
    b = s.instance()
    for name, _ in written:
        s.read(s.open(b, name))
        s.read(s.open(b, name, "write"))
        s.stat(b, name)
    s.list(b)


@scenario("JSON-01", "SEQ-01")
def keys_come_back(s: Script) -> None:
    """Empty keys, keys that look alike, and keys with a meaning elsewhere come back, inside data and beside it."""
    _kept(s, KEYS)
    w = s.create(1, "beside")
    s.append(w, [event(0, **{"": 1, "\u2028": {"": None}, "id": "x", "a.b": [{}], "surfaceOp": {"": 0}})])
    s.append(w, _events_with_keys_of_stores(1))
    s.read(w)


def _events_with_keys_of_stores(first: int) -> list[dict[str, Any]]:
    """An event with all of them, whose values are the caller's, and a plain one."""
    return [event(first, **dict.fromkeys(STORE_KEYS, "the caller's")), event(first + 1)]


@scenario("JSON-01", needs=(Need.FRESH,))
def keys_are_stored(s: Script) -> None:
    """The same keys are read back by a fresh instance."""
    _stored(s, KEYS)
    w = s.create(1, "beside")
    s.append(w, _events_with_keys_of_stores(0))
    s.close(w)
    s.read(s.open(s.instance(), "beside"))


@scenario("JSON-01")
def characters_come_back(s: Script) -> None:
    """Text with NUL, separators of every kind, escapes, astral and non-characters comes back to every handle."""
    _kept(s, CHARACTERS.values())


@scenario("JSON-01", needs=(Need.FRESH,))
def characters_are_stored(s: Script) -> None:
    """The same text is read back by a fresh instance."""
    _stored(s, CHARACTERS.values())


@scenario("JSON-01")
def numbers_come_back(s: Script) -> None:
    """Integers to ±(2**53-1) come back, and finite floats to the bit: subnormal, 1e308, 0.1+0.2."""
    _kept(s, [*INTEGERS, *FLOATS, [INTEGERS, FLOATS]])


@scenario("JSON-01", needs=(Need.FRESH,))
def numbers_are_stored(s: Script) -> None:
    """The same numbers are read back by a fresh instance."""
    _stored(s, [*INTEGERS, *FLOATS, [INTEGERS, FLOATS]])


@scenario("JSON-01")
def truth_values_come_back(s: Script) -> None:
    """``true`` is never 1 and ``false`` never 0, and 1 is never 1.0 where numbers are exact; null stays null."""
    _kept(s, TRUTHS)


@scenario("JSON-01", needs=(Need.FRESH,))
def truth_values_are_stored(s: Script) -> None:
    """The same truth values and numbers are read back by a fresh instance."""
    _stored(s, TRUTHS)


@scenario("JSON-01")
def a_hundred_levels_come_back(s: Script) -> None:
    """Lists and objects nested a hundred levels deep come back."""
    _kept(s, DEEP)


@scenario("JSON-01", needs=(Need.FRESH,))
def a_hundred_levels_are_stored(s: Script) -> None:
    """The same nested values are read back by a fresh instance."""
    _stored(s, DEEP)


@scenario("JSON-01")
def long_texts_come_back(s: Script) -> None:
    """Text around 64 KiB comes back, also where each character ends a line or needs an escape; of 1 MiB too."""
    _kept(s, LONG)


@scenario("JSON-01", needs=(Need.FRESH,))
def long_texts_are_stored(s: Script) -> None:
    """The same text is read back by a fresh instance."""
    _stored(s, LONG)


@scenario("JSON-01")
def four_mebibytes_come_back(s: Script) -> None:
    """One string of 4 MiB between two small events comes back, and the small ones too."""
    _kept(s, [FOUR_MEBIBYTES])


@scenario("JSON-01", needs=(Need.FRESH,))
def four_mebibytes_are_stored(s: Script) -> None:
    """The same string is read back by a fresh instance."""
    _stored(s, [FOUR_MEBIBYTES])


@scenario("JSON-01", needs=(Need.FRESH,), thorough=True)
def thirty_two_mebibytes_are_stored(s: Script) -> None:
    """One string of 32 MiB between two small events is read back by a fresh instance."""
    # Made here, for most runs never need it.
    _stored(s, [FOUR_MEBIBYTES * 8])


def _ugly_headers() -> list[SessionHeader]:
    """The corners in the fields of headers."""
    texts = {"cwd": "/a\u2028b/e\u0301", "parent_session": "p\x00q"}
    values = [*CHARACTERS.values(), *KEYS, [INTEGERS, FLOATS, True, 1, 1.0], nested(90, objects=True)]
    return [
        header("text", **texts, extra={"": 0, "\u2028": {"": "\ufeff"}}),
        header("keys", extra={key: "the caller's" for key in STORE_KEYS if key not in RESERVED_HEADER_KEYS}),
        *(
            header(f"v{number}", origin=value, agent_preset=[value], extra={"x": value})
            for number, value in enumerate(values)
        ),
    ]


@scenario("JSON-01")
def header_values_are_shown(s: Script) -> None:
    """The same corners in the fields of a header are shown by ``create``, ``stat``, ``list`` and ``open``."""
    a = s.instance()
    for given in _ugly_headers():
        s.create(a, header=given)
        s.stat(a, given.id)
        s.open(a, given.id)
    s.list(a)


@scenario("JSON-01", "SVC-01", needs=(Need.FRESH,))
def header_values_are_stored(s: Script) -> None:
    """A fresh instance shows them too."""
    a = s.instance()
    given = _ugly_headers()
    for each in given:
        s.flush(s.create(a, header=each))
    s.close_all(a)
    b = s.instance()
    for each in given:
        s.stat(b, each.id)
        s.open(b, each.id)
    s.list(b)


@scenario("JSON-02", needs=(Need.PYTHON_VALUES,))
def values_outside_json_are_refused(s: Script) -> None:
    """What JSON has no word for is refused at the top of data; nothing is stored, and the seq is free."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0)])
    for value in OUTSIDE.values():
        s.append(w, [event(1, data=value)])
    s.append(w, [event(1, data=sample_generator())])
    s.read(w)
    s.append(w, [event(1)])
    s.read(s.open(a))


@scenario("JSON-02", needs=(Need.PYTHON_VALUES,))
def values_outside_json_are_refused_anywhere(s: Script) -> None:
    """The same deep inside data, in a key beside it, and in the last event of a batch: the whole batch is refused."""
    a = s.instance()
    w = s.create(a)
    for value in OUTSIDE.values():
        s.append(w, [event(0, data={"deep": [[{"a": value}], 1]})])
        s.append(w, [event(0, extra=value)])
        s.append(w, [event(0), event(1), event(2, data=[value])])
    s.append(w, [event(0), {**event(1), 7: "a key of the event that is no text"}])
    s.read(w)
    s.append(w, [event(0), event(1)])
    s.read(s.open(a))


@scenario("JSON-02", needs=(Need.PYTHON_VALUES,))
def cycles_are_refused(s: Script) -> None:
    """A list in itself, a dict in itself and a longer circle are refused; nothing is stored, and the seq is free."""
    a = s.instance()
    w = s.create(a)
    for make in (make_cycle, make_dict_cycle, make_long_cycle):
        s.append(w, [event(0, data=make())])
        s.append(w, [event(0), event(1, data={"deep": [make()]})])
        s.append(w, [event(0, extra=make())])
    s.read(w)
    s.append(w, [event(0)])
    s.read(w)


@scenario("JSON-02", needs=(Need.FRESH, Need.PYTHON_VALUES))
def refused_values_leave_nothing_behind(s: Script) -> None:
    """A refused batch with a NaN or a set leaves no trace: another instance sees none, another session can write."""
    a = s.instance()
    w, other = s.create(a), s.create(a, "s2")
    s.append(w, [event(0)])
    s.flush(w)
    s.append(w, [event(1), event(2, data=float("nan"))])
    s.append(other, [event(0)])
    s.append(w, [event(1), event(2, data={"set": {1}})])
    b = s.instance()
    s.read(s.open(b))
    s.append(w, [event(1)])
    s.close(w)
    s.read(s.open(b))


def _tried(s: Script, values: Iterable[Any], *, fresh: bool) -> None:
    """Each value is refused at the call or comes back equal, to this instance and where asked to a fresh one."""
    a = s.instance()
    handles = []
    for number, value in enumerate(values):
        name = f"v{number}"
        w = s.create(a, name)
        s.append(w, [event(0)])
        s.append(w, [event(1, data=value)])
        s.read(w)
        s.append(w, [{**event(2), "extra": {"deep": [value]}}])
        s.read(w)
        s.read(s.open(a, name))
        handles.append((name, w))
    if fresh:
        for _, w in handles:
            s.close(w)
        b = s.instance()
        for name, _ in handles:
            s.read(s.open(b, name))
            s.stat(b, name)


@scenario("JSON-03")
def values_beyond_common_json_are_never_altered(s: Script) -> None:
    """Integers past ±(2**53-1), minus zero, halves of characters: each refused at the call, or returned equal."""
    _tried(s, BEYOND.values(), fresh=False)


@scenario("JSON-03", needs=(Need.FRESH,))
def values_beyond_common_json_are_never_altered_in_storage(s: Script) -> None:
    """The same values, where they are accepted, are read back equal by a fresh instance."""
    _tried(s, BEYOND.values(), fresh=True)


@scenario("JSON-03", needs=(Need.PYTHON_VALUES,))
def tuples_are_refused_or_lists(s: Script) -> None:
    """A tuple is refused or comes back as a list; text and numbers of classes of their own likewise."""
    _tried(s, PYTHON_BEYOND.values(), fresh=False)


@scenario("JSON-03", needs=(Need.FRESH, Need.PYTHON_VALUES))
def tuples_are_refused_or_stored_as_lists(s: Script) -> None:
    """The same where a fresh instance reads."""
    _tried(s, PYTHON_BEYOND.values(), fresh=True)


@scenario("JSON-03", "SVC-08", needs=(Need.PYTHON_VALUES,))
def header_values_beyond_common_json_are_never_altered(s: Script) -> None:
    """The same values in the fields of a header: ``create`` refuses, or every view shows them equal."""
    a = s.instance()
    for number, value in enumerate((*BEYOND.values(), *PYTHON_BEYOND.values())):
        for field in ("origin", "agent_preset", "extra"):
            name = f"{field}-{number}"
            given = {field: {"key": value} if field == "extra" else value}
            s.create(a, header=header(name, **given))
            s.stat(a, name)
    s.create(a, header=header("half", cwd="/home/\udcff"))
    s.stat(a, "half")
    s.create(a, header=header("nan", origin=[float("nan")]))
    s.list(a)
