"""Session ids: ordinary, hostile, in groups that careless backends put in one place, and climbing out of the root.

Any text that is not empty and holds no lone surrogate is an id (SVC-08). A backend keeps it apart from every other one,
or refuses it at ``create`` with ``ValueError`` (ID-01); it never lets one name a path outside its root (ID-02).

A backend that joins an id to its root unchecked must not do harm on the machine that finds it out: none of these ids
is an absolute path, but for those of ``escaping_ids``, which lead to a place where nothing can be made.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from functools import cache
from urllib.parse import quote

from hypothesis import strategies as st

OWN_NAMES = (
    "session.lock",
    "session.v1.jsonl.zstd",
    "session.v1.jsonl",
    "session.jsonl.zstd",
    "session.jsonl",
    "session.json",
    "session",
    "sessions",
    "header.json",
    "meta.json",
    "manifest.json",
    "index.json",
    "index",
    "lock",
    ".lock",
    "tmp",
    ".tmp",
    "wal",
    "journal",
    "sessions.db",
    "sessions.db-wal",
    "sessions.db-journal",
    "sqlite_master",
    ".git",
    ".DS_Store",
    "lost+found",
)
"""Names that backends give to files, tables or keys of their own."""

DEVICE_NAMES = ("con", "CON", "nul", "NUL.txt", "aux", "prn", "com1", "COM9.jsonl", "lpt1", "com¹", "CONIN$", "clock$")
"""Names that Windows reserves, whatever their case and extension."""

_PLACEHOLDERS = ("None", "null", "undefined", "NaN", "true", "0", "-1", "{}", "[]", "*", "default")
_INSERTS = (
    *"/\\:.%_-+ *?|<>\"'`;&=#@,~^$!(){}[]",
    "..",
    "../",
    "//",
    "::",
    "%2f",
    "%2F",
    "%2e",
    "%252f",
    "%00",
    "__",
    "\\u002f",
    "&#47;",
    "\x00",
    "\x01",
    "\x1b",
    "\x7f",
    "\t",
    "\n",
    "\r\n",
    "\x85",
    "\u2028",
    "\u200b",
    "\u202e",
    "\ufeff",
    "\uffff",
    "\u2215",
    "／",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "日",
    "😀",
)
"""What stands inside, before or behind a hostile id."""


def session_ids(pool: Sequence[str] = ("s1", "s2", "s3")) -> st.SearchStrategy[str]:
    """One of a few ordinary ids, so that sessions meet; shrinks to the first."""
    return st.sampled_from(list(pool))


ID_POOLS = (
    ("s1", "s2", "s3"),
    ("a.b", "a:b", "a/b"),
    ("Session", "session", "SESSION"),
    ("caf\u00e9", "cafe\u0301", "cafe"),
    ("s1", "s1.", "s1 "),
    ("a%2fb", "a/b", "a%252fb"),
    ("x" * 255, "x" * 256, "x" * 1024),
    ("..", ".", "../s1"),
    ("session.v1.jsonl", "session.lock", "s1"),
    ("\u65e5" * 90, "\u65e5" * 91, "\u0000"),
)
"""Triples of ids for one program: ordinary ones first, then distinct ids that careless backends put in one place."""


@cache
def ordinary_ids() -> st.SearchStrategy[str]:
    """Ids as programs make them: numbered, UUIDs, ULIDs, dated ones; shrinks to ``s0``.

    ASCII letters, digits, ``-`` and ``_``, at most 36 characters.
    """
    number = st.integers(0, 2**128 - 1)
    return st.one_of(
        st.integers(0, 999).map(lambda n: f"s{n}"),
        number.map(lambda n: f"{n:032x}"),
        number.map(lambda n: str(uuid.UUID(int=n, version=4))),
        number.map(lambda n: "".join(_ULID_DIGITS[n >> 5 * place & 31] for place in reversed(range(26)))),
        st.integers(0, 86_399).map(lambda n: f"2024-01-31_{n // 3600:02d}{n // 60 % 60:02d}{n % 60:02d}"),
    )


_ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@cache
def hostile_ids(own_names: tuple[str, ...] = OWN_NAMES) -> st.SearchStrategy[str]:
    """Ids that need care (ID-01): valid, not empty, without lone surrogates, at most 1,024 characters.

    Separators, dots, percent signs, escapes, case and composition, trailing dots and spaces, device names, control
    characters and NUL, names a backend uses itself, very short and very long ids, any text at all. Ids that climb out
    of the root by one level are among them; ``escaping_ids`` has more. Shrinks to ``a/``.

    Args:
        own_names: names that the backend under test gives to what it stores.
    """
    return st.one_of(
        # First, because what shrinks to the fewest draws ends here.
        st.sampled_from(["a/", ".", "..", "../s", "a/../s", "./s", "s/.", "-rf", "--help", "~", "a", "A", "S1", "1"]),
        st.sampled_from([*own_names, *DEVICE_NAMES, *_PLACEHOLDERS]),
        st.sampled_from(["Straße", "STRASSE", "ıI", "ﬁ", "Å", "\u212b", "A\u030a", "각", "\u1100\u1161\u11a8"]),
        st.builds(lambda insert, before, after: before + insert + after, st.sampled_from(_INSERTS), _WORDS, _AFTER),
        st.builds(lambda insert, after: insert + after, st.sampled_from(_LEADS), _AFTER),
        long_ids(),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).map(_relative),
    )


_WORDS = st.sampled_from(["a", "session", "s1"])
_AFTER = st.sampled_from(["", "b", "s1", "."])
_LEADS = tuple(insert for insert in _INSERTS if not insert.startswith("/"))


def _relative(text: str) -> str:
    return "x" + text if text.startswith("/") else text


@cache
def long_ids() -> st.SearchStrategy[str]:
    """Ids at the length limits of names, in characters and in bytes.

    Lengths are 255 or 1,024 characters and what lies beside them, and ones whose UTF-8 passes 255 bytes
    while they are much shorter. Shrinks to 255 times ``a``.
    """
    return st.builds(
        lambda size, unit, end: _relative(unit * size)[: size - len(end)] + end,
        st.sampled_from([255, 254, 256, 240, 241, 128, 86, 64, 200, 1_024, 1_023]),
        st.sampled_from(["a", "é", "日", "😀", "A", "/", ".", "%", "\n"]),
        st.sampled_from(["", "b", ".", " "]),
    )


@cache
def colliding_ids(own_names: tuple[str, ...] = OWN_NAMES) -> st.SearchStrategy[tuple[str, ...]]:
    """Two or more distinct ids that some careless mapping to names makes one (ID-01).

    Folded case, composed and decomposed text, a lossy replacement or an escape of a separator, trimmed ends, cut
    lengths, C strings, patterns, paths that mean the same, a digest given as an id. Shrinks to ``("s1", "S1")``.

    Args:
        own_names: names that the backend under test gives to what it stores; such a group is an id, and that id
            followed by one of the names.
    """
    words = st.sampled_from(["s1", "session", "a1b"])
    return st.one_of(
        st.sampled_from(_FIXED_GROUPS),
        st.builds(lambda make, word: _distinct(make(word)), st.sampled_from(_GROUPS), words),
        st.builds(
            lambda word, name, joint: _distinct((word, word + joint + name, name)),
            words,
            st.sampled_from(own_names),
            st.sampled_from(["/", ".", "-", "_", ":", ""]),
        ),
        st.builds(
            _common_start, st.sampled_from([255, 240, 200, 128, 64, 1_000]), st.sampled_from(["a", "é", "日", "😀"])
        ),
    )


def _distinct(group: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group))


def _common_start(size: int, unit: str) -> tuple[str, ...]:
    """Ids that a cut makes equal, and what a backend could put in the place of one too long for a name."""
    long = unit * size
    digest = hashlib.sha256((long + "b").encode("utf-8")).hexdigest()
    return long, long + "a", long + "b", "=" + digest, digest, digest[:32], digest[:16]


def _separated(word: str) -> tuple[str, ...]:
    return tuple(f"{word}{separator}x" for separator in ("/", "_", "-", ":", ".", " ", "\\", "|", "%", "é", "", "\n"))


def _escaped(word: str) -> tuple[str, ...]:
    plain = f"{word}/x"
    escapes = ("%2F", "%2f", "%252F", "%252f", "=2F", "_2F", "_x2F_", "\\u002f", "\\x2f", "&#47;", "+2F", "~2f", "__")
    return plain, *(plain.replace("/", escape) for escape in escapes)


def _trimmed(word: str) -> tuple[str, ...]:
    ends = (".", " ", "..", "\t", "\n", "\r\n", "\x00", "\x00x", "\u00a0", "\u200b", "::$DATA", "~1")
    return (word, *(word + end for end in ends), " " + word, "." + word, "\ufeff" + word, "-" + word)


def _paths(word: str) -> tuple[str, ...]:
    return (
        word,
        f"./{word}",
        f"{word}/",
        f"{word}/.",
        f"x/../{word}",
        f".//{word}",
        f"{word}//",
        f"{word}\\",
        f"\\{word}",
    )


def _patterns(word: str) -> tuple[str, ...]:
    return (
        word,
        f"{word[:-1]}?",
        f"{word[:-1]}*",
        f"{word[:-1]}_",
        f"{word[:-1]}%",
        f"{word[:-1]}[{word[-1]}]",
        "*",
        "%",
    )


def _spaces(word: str) -> tuple[str, ...]:
    return tuple(f"{word}{space}x" for space in (" ", "+", "%20", "%2B", "\u00a0", "  ", "\u3000"))


def _marks(word: str) -> tuple[str, ...]:
    both = f"{word}é각"
    return unicodedata.normalize("NFC", both), unicodedata.normalize("NFD", both), f"{word}%C3%A9각", f"{word}e각"


def _quoted(word: str) -> tuple[str, ...]:
    once = quote(f"{word} é/", safe="")
    return f"{word} é/", once, quote(once, safe=""), once.lower()


_GROUPS: tuple[Callable[[str], tuple[str, ...]], ...] = (
    lambda word: (word, word.upper(), word.title(), word[:1] + word[1:].upper()),
    _separated,
    _escaped,
    _trimmed,
    _paths,
    _patterns,
    _spaces,
    _marks,
    _quoted,
    lambda word: (f"{word}:a:b", f"{word}:a", f"{word}", f"{word}::a:b", f"{word}a:b", f"a:b:{word}"),
)

_FIXED_GROUPS: tuple[tuple[str, ...], ...] = (
    ("s1", "S1"),
    ("é", "e\u0301"),
    ("Å", "\u212b", "A\u030a"),
    ("각", "\u1100\u1161\u11a8"),
    ("ﬁ", "fi"),
    ("s", "ſ", "S"),
    ("k", "\u212a", "K"),
    ("ß", "ss", "ẞ", "SS"),
    ("i", "I", "ı", "İ", "i\u0307"),
    ("σ", "ς", "Σ"),
    ("ａ", "a"),
    ("1", "01", "1.0", "+1", "1e0", "１", "٣", "3"),
    ("None", "null", "undefined", "none", "nil"),
    ("con", "CON", "con.txt", "con ", "_con"),
    (".", "..", "...", "%2e", "%2E%2E", "_"),
    ("\x00", "\x00\x00", "\\0", "%00", "\ufffd"),
    ("a", "a\x00b", "a\x00c"),
    ("\ufffd", "\ufffe", "\uffff", "?"),
    ("a\u202eb", "ab", "a\u200bb", "a\u00adb"),
)


def escaping_ids(name: str = "escaped", *, levels: int = 2, outside: str = os.devnull) -> st.SearchStrategy[str]:
    """Ids that name a path outside the root where they are joined to it unchecked (ID-02).

    Climbing, absolute, in the spelling of Windows, escaped once or twice, hidden behind NUL or a harmless first part;
    or the directory above itself. Shrinks to ``../escaped``.

    Args:
        name: last part of the path, which the caller looks for where it must not be.
        levels: climbs at most that many directories up from the root; the caller owns and watches those.
        outside: directory for absolute paths. By default one that nothing can be made in, so that a backend
            that falls for it fails and harms nothing; a caller who watches a real one gives it here.

    Raises:
        ValueError: ``levels`` is less than 1.
    """
    if levels < 1:
        raise ValueError(f"levels={levels!r}: expected at least 1")
    up = st.integers(1, levels)
    return st.one_of(
        # First, because what shrinks to the fewest draws ends here.
        st.sampled_from([f"../{name}", "..", "../", f"../{name}/", f"../{name}\x00.jsonl", f"..\x00/{name}"]),
        st.builds(lambda up, climb, first: first + climb * up + name, up, _CLIMBS, st.sampled_from(["", "./", "\x00"])),
        # The first part is one more level to climb, so that as many as before lead out of the root.
        st.builds(lambda up, first: first + "/.." * (up + 1) + "/" + name, up, st.sampled_from(["s1", "a"])),
        st.sampled_from([f"\uff0e\uff0e/{name}", f"..\u2215{name}", f"..;/{name}", f".\x00./{name}", f"../{name}\n"]),
        st.sampled_from([f"{outside}/{name}", f"/{outside}/{name}", f"file://{outside}/{name}", f"C:{outside}/{name}"]),
    )


_CLIMBS = st.sampled_from(
    ["../", "..\\", ".././", "..//", "%2e%2e/", "..%2f", "..%5c", "%2e%2e%2f", "%252e%252e%252f", "....//"]
)
