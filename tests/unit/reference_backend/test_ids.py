"""Directory names of session ids: injective, one safe path segment each."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference_backend.ids import MAX_NAME, directory_name, is_digest, session_id_of

IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
AWKWARD = st.text(st.sampled_from("aA./\\:% \0=-_ée\u0301ﬁcon1\n\u212a~*"), min_size=1, max_size=6)


def folded(name: str) -> str:
    """What a file system that folds case and normalises would compare."""
    return unicodedata.normalize("NFC", name.casefold())


@given(st.one_of(IDS, AWKWARD), st.one_of(IDS, AWKWARD))
@example("a", "A")
@example("é", "e\u0301")
@example("k", "\u212a")
@example("con", "%63on")
@example("x", "x ")
def test_distinct_ids_have_names_that_stay_distinct_without_case_and_under_nfc(one: str, other: str) -> None:
    """Two ids share a folded name only where they are one id."""
    assert (folded(directory_name(one)) == folded(directory_name(other))) == (one == other)


@given(st.one_of(IDS, AWKWARD, st.text(st.characters(codec="utf-8"), min_size=200, max_size=1024)))
def test_a_name_is_one_short_safe_path_segment(session_id: str) -> None:
    """No separator, dot, space or upper-case letter; never longer than a path segment may be."""
    name = directory_name(session_id)
    assert 1 <= len(name.encode()) <= MAX_NAME
    assert name.isascii()
    assert name == name.lower()
    assert not set(name) & set("/\\. :\0")
    assert os.path.basename(name) == name


@given(st.one_of(IDS, AWKWARD))
def test_a_short_name_gives_its_id_back(session_id: str) -> None:
    """Escaping loses nothing; only a digest needs the header."""
    name = directory_name(session_id)
    assert session_id_of(name) == (None if is_digest(name) else session_id)


@pytest.mark.parametrize("session_id", ["con", "nul", "aux", "prn", "com1", "lpt9"])
def test_reserved_device_names_are_escaped(session_id: str) -> None:
    """A name that some systems take for a device is never made."""
    assert directory_name(session_id) != session_id
    assert session_id_of(directory_name(session_id)) == session_id


@pytest.mark.parametrize(
    "name",
    ["A", "a.b", "%61", "%ff", "con", "%4", "=" + "0" * 64, "=0", "lost+found", ".hidden", "%C3%A9"],
)
def test_names_no_id_makes_have_no_id(name: str) -> None:
    """A directory that was not made for an id is never taken for one's."""
    assert session_id_of(name) is None


def test_long_ids_have_distinct_digests() -> None:
    """Past the limit the whole id still decides the name."""
    names = {directory_name("x" * 1023 + last) for last in "abc"} | {directory_name("界" * 400)}
    assert len(names) == 4
    assert all(is_digest(name) for name in names)


def test_lone_surrogates_are_refused() -> None:
    """An id that is no Unicode text has no name."""
    with pytest.raises(ValueError, match="surrogates"):
        directory_name("\ud800")
