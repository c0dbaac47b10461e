"""Named scenarios for ID-01, ID-02, ID-03 and ID-05: ids that careless backends put in one place, or let lead away.

None of the ids leads further than the watched directory around the root, or to a place where nothing can be made.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from conformance.checks.registry import scenario
from conformance.checks.script import CREATED_AT, Script, event, header
from conformance.clauses import Need

SEPARATED = ("a/b", "a_b", "a:b", "a.b", "a b", "a-b", "a\\b", "a|b", "a%b", "ab", "a\nb", "a\tb")
ESCAPED = ("a/b", "a%2Fb", "a%2fb", "a%252Fb", "a=2Fb", "a\\u002fb", "a+2Fb", "a&#47;b", "a__b", "a_2f_b")
CASES = ("s1", "S1", "Session", "session", "SESSION", "Straße", "STRASSE", "straße", "İ", "i", "I", "ı", "i\u0307")
COMPOSED = ("é", "e\u0301", "Å", "\u212b", "A\u030a", "각", "\u1100\u1161\u11a8", "ﬁ", "fi", "Ａ", "A")
TRIMMED = (
    "s1",
    "s1.",
    "s1..",
    "s1 ",
    " s1",
    "s1\t",
    "s1\n",
    "s1\x00",
    "s1\x00x",
    "s1::$DATA",
    ".s1",
    "\ufeffs1",
    "s1~1",
)
PATHS = ("s1", "./s1", "s1/", "s1/.", "x/../s1", ".//s1", "s1//", "\\s1", ".", "..", "...", "%2e%2e", "~", "-rf")
DEVICES = ("con", "CON", "con.txt", "_con", "nul", "NUL.txt", "aux", "com1", "COM1", "lpt1", "com¹", "prn.jsonl")
CONTROLS = ("\x00", "\x01", "\x1b", "\x7f", "\n", "\r\n", "\x85", "\u2028", "\u200b", "\ufeff", "\ufffe", "\U0010ffff")
PATTERNS = ("s1", "s?", "s*", "s_", "s%", "s[1]", "*", "%", "_", "?")
PLACEHOLDERS = ("None", "null", "undefined", "0", "00", "0.0", "-0", "true", "{}", "[]", "default", "'", "''", '"')
OWN_NAMES = (
    "s1",
    "s1.lock",
    "s1.jsonl",
    "s1.json",
    "s1/session.lock",
    "lock",
    "tmp",
    "index.json",
    "sessions.db",
    ".tmp",
)

LONG = "x" * 255
LENGTHS = ("x", LONG, LONG + "x", "x" * 254, "x" * 1_023, "x" * 1_024, "x" * 1_023 + "y", "x" * 255 + "y")
WIDE = ("日" * 85, "日" * 86, "日" * 90, "日" * 91, "日" * 255, "😀" * 64, "😀" * 256, "é" * 128, "é" * 1_024)
DIGESTS = ("x" * 1_024, *(f(hashlib.sha256(b"x" * 1_024).hexdigest()) for f in (str, "={}".format, lambda x: x[:32])))

AWAY = (
    "../escaped",
    "..",
    "../",
    "../../escaped",
    "./../escaped",
    "s1/../../escaped",
    "a/../../../escaped",
    "..\\escaped",
    "%2e%2e/escaped",
    "..%2fescaped",
    "..;/escaped",
    "....//escaped",
    "../escaped\x00",
    "\x00/../escaped",
    f"{os.devnull}/escaped",
    f"/{os.devnull}/escaped",
    f"file://{os.devnull}/escaped",
    "C:escaped",
)
"""Ids that name a path outside the root where they are joined to it unchecked."""


def _write(s: Script, a: int, group: Sequence[str]) -> None:
    """A log for each id that tells of its own, written by turns."""
    writers = []
    for number, name in enumerate(group):
        w = s.create(a, header=header(name, created_at=CREATED_AT + number))
        s.append(w, [event(0, data=f"{number} of {len(group)}"), event(1, data=[number])])
        writers.append(w)
    for number, w in enumerate(writers):
        s.append(w, [event(2, data=f"{number} again")])
        s.flush(w)


def _stored_apart(s: Script, group: Sequence[str]) -> None:
    """The same, read back and continued by a fresh instance."""
    a = s.instance()
    _write(s, a, group)
    s.close_all(a)
    b = s.instance()
    s.list(b)
    for name in group:
        s.stat(b, name)
        s.read(s.open(b, name))
    for number, name in enumerate(group):
        w = s.open(b, name, "write")
        s.append(w, [event(3, data=f"{number} once more")])
        s.close(w)
    for name in group:
        s.read(s.open(b, name))
    s.list(b)


@scenario("ID-01")
def ids_do_not_meet(s: Script) -> None:
    """Ids that differ in separators, case, composition, ends and controls are sessions of their own in one instance."""
    a = s.instance()
    groups = (SEPARATED[:6], CASES[:6], COMPOSED[:5], TRIMMED[1:6], PATHS[1:4], CONTROLS[:3], LENGTHS[:3], WIDE[2:4])
    names = [name for group in groups for name in group]
    _write(s, a, names)
    for name in names:
        s.stat(a, name)
        s.read(s.open(a, name))
    s.list(a)


@scenario("ID-01")
def absent_ids_are_not_their_neighbours(s: Script) -> None:
    """An id that was never created is absent, whatever sessions with ids like it there are."""
    a = s.instance()
    for name in ("a/b", "s1", "é", LONG):
        s.append(s.create(a, name), [event(0)])
    for name in ("a_b", "a:b", "a%2Fb", "S1", "s1.", "s1 ", "./s1", "s1\x00", "e\u0301", LONG + "x", LONG[:-1], "*"):
        s.stat(a, name)
        s.open(a, name)
        s.open(a, name, "write")
    s.list(a)


@scenario("ID-01", needs=(Need.FRESH,))
def separators_are_stored_apart(s: Script) -> None:
    """Slashes, colons, dots, spaces and percent signs tell ids apart in storage."""
    _stored_apart(s, SEPARATED)


@scenario("ID-01", needs=(Need.FRESH,))
def escapes_are_stored_apart(s: Script) -> None:
    """An id that looks like the escaped form of another one is not that one."""
    _stored_apart(s, ESCAPED)


@scenario("ID-01", needs=(Need.FRESH,))
def case_are_stored_apart(s: Script) -> None:
    """Ids that differ in case alone, or in characters that fold alike, are stored apart."""
    _stored_apart(s, CASES)


@scenario("ID-01", needs=(Need.FRESH,))
def composition_are_stored_apart(s: Script) -> None:
    """Ids in NFC and NFD, and ones that compatibility makes alike, are stored apart."""
    _stored_apart(s, COMPOSED)


@scenario("ID-01", needs=(Need.FRESH,))
def ends_are_stored_apart(s: Script) -> None:
    """Dots, spaces, NUL and control characters at the ends of an id count."""
    _stored_apart(s, TRIMMED)


@scenario("ID-01", needs=(Need.FRESH,))
def paths_are_stored_apart(s: Script) -> None:
    """Ids that mean one path, or none, are stored apart."""
    _stored_apart(s, PATHS)


@scenario("ID-01", needs=(Need.FRESH,))
def devices_are_stored_apart(s: Script) -> None:
    """Names that a system reserves for devices are ids like others."""
    _stored_apart(s, DEVICES)


@scenario("ID-01", needs=(Need.FRESH,))
def controls_are_stored_apart(s: Script) -> None:
    """An id of one control character, non-character or separator is stored under itself."""
    _stored_apart(s, CONTROLS)


@scenario("ID-01", needs=(Need.FRESH,))
def patterns_are_stored_apart(s: Script) -> None:
    """Ids that match others as patterns, and placeholders for no id, are stored apart."""
    _stored_apart(s, (*PATTERNS, *PLACEHOLDERS))


@scenario("ID-01", needs=(Need.FRESH,))
def own_names_are_stored_apart(s: Script) -> None:
    """Names that a backend gives to files of its own are ids like others."""
    _stored_apart(s, OWN_NAMES)


@scenario("ID-01", needs=(Need.FRESH,))
def lengths_are_stored_apart(s: Script) -> None:
    """Ids of 1, 255 and 1,024 characters that begin alike are stored apart."""
    _stored_apart(s, LENGTHS)


@scenario("ID-01", needs=(Need.FRESH,))
def wide_lengths_are_stored_apart(s: Script) -> None:
    """Ids of multi-byte text past 255 bytes are stored apart."""
    _stored_apart(s, WIDE)


@scenario("ID-01", needs=(Need.FRESH,))
def digests_are_stored_apart(s: Script) -> None:
    """An id that is the digest of another one is stored apart from it."""
    _stored_apart(s, DIGESTS)


@scenario("ID-02", needs=(Need.FILES,))
def ids_do_not_lead_out_of_the_root(s: Script) -> None:
    """Ids that climb, are absolute or hide either leave everything outside the root as it was."""
    a = s.instance()
    for name in AWAY:
        w = s.create(a, name)
        s.append(w, [event(0)])
        s.flush(w)
        s.inspect()
        s.read(s.open(a, name))
        s.close(w)
        s.open(a, name, "write")
    s.list(a)
    s.inspect()


@scenario("ID-02", needs=(Need.FILES,))
def looking_for_an_id_does_not_lead_out_of_the_root(s: Script) -> None:
    """``stat`` and ``open`` of such ids, never created, make nothing anywhere."""
    a = s.instance()
    s.append(s.create(a), [event(0)])
    for name in AWAY:
        s.stat(a, name)
        s.open(a, name)
        s.open(a, name, "write")
    s.inspect()


@scenario("ID-02", needs=(Need.FILES,))
def header_fields_do_not_lead_out_of_the_root(s: Script) -> None:
    """Paths in ``cwd``, ``parent_session``, ``origin``, ``agent_preset`` and ``extra`` are no paths to the backend."""
    a = s.instance()
    for number, away in enumerate(("../escaped", "../../escaped", "x/../../escaped")):
        text = {"cwd": away, "parent_session": away}
        values = {"origin": {"path": away}, "agent_preset": away, "extra": {"path": away, away: away, "file": [away]}}
        w = s.create(a, header=header(f"v{number}", **text, **values))  # type: ignore[arg-type]
        s.append(w, [event(0, data={"path": away}, path=away)])
        s.flush(w)
        s.close(w)
        s.inspect()


@scenario("ID-03", needs=(Need.FILES, Need.LOCATION))
def artifacts_are_for_their_owner_only(s: Script) -> None:
    """Nobody but the owner can read an artifact: new, appended to, closed, and opened again."""
    a = s.instance()
    w = s.create(a)
    s.append(w, [event(0)])
    s.inspect("s1")
    s.flush(w)
    s.append(w, [event(1)])
    s.close(w)
    s.inspect("s1")
    v = s.open(a, access="write")
    s.append(v, [event(2)])
    s.flush(v)
    s.flush(s.create(a, "a/b"))
    s.inspect("s1", "a/b")


@scenario("ID-05", needs=(Need.FILES,))
def names_differ_in_more_than_case(s: Script) -> None:
    """Ids that differ in case or composition alone get names that a forgetful file system tells apart too."""
    a = s.instance()
    for name in (*CASES, *COMPOSED):
        s.flush(s.create(a, name))
    s.inspect()
