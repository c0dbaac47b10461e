"""Ids: all valid, every hostile kind among them, groups that careless mappings make one, ways out of the root."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.contract.headers import check_session_id
from strategies.ids import DEVICE_NAMES, OWN_NAMES

Examples = Callable[..., list[Any]]


def is_valid(session_id: str) -> bool:
    """Whether the shared validation takes the id."""
    return check_session_id(session_id) == session_id


@given(strategies.ordinary_ids())
def test_ordinary_ids_are_plain(session_id: str) -> None:
    """Letters, digits, dashes and underscores, short enough for any name."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,36}", session_id)


@settings(deadline=None, max_examples=200)
@given(strategies.hostile_ids())
def test_hostile_ids_are_valid_ids(session_id: str) -> None:
    """Not empty, no lone surrogate, at most 1,024 characters, and no absolute path on any system that has ``/``."""
    assert is_valid(session_id)
    assert len(session_id) <= 1_024
    assert not session_id.startswith("/")


KINDS: dict[str, Callable[[str], bool]] = {
    "separator": lambda text: "/" in text,
    "backslash": lambda text: "\\" in text,
    "climbing": lambda text: text == "..",
    "dot": lambda text: text == ".",
    "colon": lambda text: ":" in text,
    "percent sign": lambda text: "%" in text,
    "escape": lambda text: "%2e" in text.lower(),
    "upper case": lambda text: text != text.lower(),
    "decomposed": lambda text: text != unicodedata.normalize("NFC", text),
    "composed": lambda text: text != unicodedata.normalize("NFD", text),
    "trailing dot": lambda text: len(text) > 1 and text.endswith("."),
    "trailing space": lambda text: text.endswith(" "),
    "leading dash": lambda text: text.startswith("-"),
    "leading dot": lambda text: text.startswith("."),
    "device": lambda text: text in DEVICE_NAMES and "." not in text,
    "device with extension": lambda text: text in ("NUL.txt", "COM9.jsonl"),
    "control character": lambda text: "\x01" in text,
    "NUL": lambda text: "\x00" in text,
    "newline": lambda text: "\n" in text,
    "one character": lambda text: len(text) == 1,
    "255 characters": lambda text: len(text) == 255,
    "1,024 characters": lambda text: len(text) == 1_024,
    "bytes past 255": lambda text: len(text) < 255 < len(text.encode()),
    "own name": lambda text: text in OWN_NAMES,
    "placeholder": lambda text: text in ("None", "null", "undefined", "default"),
    "astral": lambda text: any(ord(character) > 0xFFFF for character in text),
}


def test_every_hostile_kind_comes_up(examples: Examples) -> None:
    """Each kind that the contract names, within a run of ordinary length."""
    drawn = examples(strategies.hostile_ids(), 1_000)
    assert [kind for kind, matches in KINDS.items() if not any(map(matches, drawn))] == []


@settings(deadline=None, max_examples=100)
@given(strategies.colliding_ids())
def test_colliding_ids_are_distinct_and_valid(group: tuple[str, ...]) -> None:
    """Two or more ids, each of them valid and none twice."""
    assert len(group) >= 2
    assert len(set(group)) == len(group)
    assert all(map(is_valid, group))
    assert not any(session_id.startswith("/") for session_id in group)


CARELESS: dict[str, Callable[[str], str]] = {
    "lower case": str.lower,
    "casefold": str.casefold,
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "compatible": lambda text: unicodedata.normalize("NFKC", text),
    "safe characters": lambda text: re.sub(r"[^A-Za-z0-9.-]", "_", text),
    "letters": lambda text: re.sub(r"[^A-Za-z0-9]", "", text),
    "colon for a slash": lambda text: text.replace("/", ":"),
    "escaped slash": lambda text: text.replace("/", "%2F"),
    "escaped, case lost": lambda text: text.replace("/", "%2F").lower(),
    "unescaped": lambda text: text.replace("%2F", "/"),
    "trimmed": str.strip,
    "Windows": lambda text: text.rstrip(". "),
    "255": lambda text: text[:255],
    "255 bytes": lambda text: text.encode()[:255].decode(errors="ignore"),
    "C string": lambda text: text.split("\x00")[0],
    "path": normpath,
    "last part": lambda text: PurePosixPath(text).name,
    "ASCII": lambda text: text.encode("ascii", "ignore").decode(),
    "form": lambda text: text.replace("+", " ").replace("%20", " "),
    "key parts": lambda text: text.replace("::", ":"),
    "stem": lambda text: text.split(".")[0],
    "number": lambda text: str(int(text)) if text.isdecimal() else text,
}


def test_every_careless_mapping_is_caught(examples: Examples) -> None:
    """For each way to make names that loses something, a group comes up of which two ids get one name."""
    groups = examples(strategies.colliding_ids(), 400)
    for name, mapping in CARELESS.items():
        assert any(len(set(map(mapping, group))) < len(group) for group in groups), name


def test_own_names_can_be_given(examples: Examples) -> None:
    """The names of the backend under test take the place of the usual ones."""
    groups = examples(strategies.colliding_ids(own_names=("mine.log",)), 300)
    assert any("mine.log" in group for group in groups)
    drawn = examples(strategies.hostile_ids(own_names=("mine.log",)), 300)
    assert "mine.log" in drawn
    assert "session.lock" not in drawn


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 4), st.data())
def test_escaping_ids_climb_no_higher_than_allowed(levels: int, data: st.DataObject) -> None:
    """Joined to a root and resolved, an id ends where the caller watches, or where nothing can be made."""
    session_id = data.draw(strategies.escaping_ids(levels=levels))
    assert is_valid(session_id)
    for spelling in (session_id, session_id.replace("\\", "/"), session_id.replace("%2e", ".").replace("%2f", "/")):
        path = normpath(PurePosixPath("/watched/" + "in/" * levels + "root") / spelling)
        there = PurePosixPath("/" + path.lstrip("/"))
        assert there.is_relative_to("/watched") or there.is_relative_to("/dev/null")


def test_escaping_ids_escape(examples: Examples, tmp_path: Path) -> None:
    """Most of them leave the root where they are joined to it; absolute ones lead where the caller watches."""
    drawn = examples(strategies.escaping_ids("out", levels=3, outside=str(tmp_path)), 400)
    root = PurePosixPath("/a/b/c/root")
    places = [PurePosixPath(normpath(root / session_id)) for session_id in drawn]
    for expected in (PurePosixPath("/a/b/c/out"), PurePosixPath("/a/b/out"), PurePosixPath("/a/out"), root.parent):
        assert expected in places
    assert any(place.is_relative_to(str(tmp_path)) for place in places)
    assert sum(not place.is_relative_to(root) for place in places) > len(places) // 5
    with pytest.raises(ValueError, match="levels=0: expected at least 1"):
        strategies.escaping_ids(levels=0)


def test_ids_shrink_to_plain_ones(minimal: Callable[..., Any]) -> None:
    """The plainest of each kind."""
    assert minimal(strategies.session_ids()) == "s1"
    assert minimal(strategies.ordinary_ids()) == "s0"
    assert minimal(strategies.hostile_ids()) == "a/"
    assert minimal(strategies.colliding_ids()) == ("s1", "S1")
    assert minimal(strategies.hostile_ids(), lambda session_id: "/" not in session_id) == "."
    assert minimal(strategies.escaping_ids()) == "../escaped"
    assert minimal(strategies.long_ids()) == "a" * 255


@settings(deadline=None)
@given(strategies.long_ids())
def test_long_ids_are_long(session_id: str) -> None:
    """At least a name's length in characters, or near it in bytes."""
    assert is_valid(session_id)
    assert 64 <= len(session_id) <= 1_024
