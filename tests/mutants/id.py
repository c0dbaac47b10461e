"""Mutants of ID: ids that meet in one place, that lead away, and files that others can read."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import zstandard
from planting import (
    FILES,
    FRAMES,
    Draft,
    JsonlPersistence,
    PlainFiles,
    PlainHandle,
    Stored,
    WriteHandle,
    damaged,
    load,
    path_of,
    planted,
)

from conformance.contract import SessionEvent, SessionFormatUnsupportedError, SessionPersistenceCorruptionError
from reference_backend.positions import Codec, HeaderBlock
from reference_backend.ranges import ByteRange
from reference_backend.zstd_codec import ZstdCodec


class _Renaming(PlainFiles):
    """Files under other names; which session a file holds is told by its header."""

    def name(self, session_id: str) -> str:
        """The name of a session's file, without its ending."""
        raise NotImplementedError

    def place(self, session_id: str) -> Path:
        """Under that name."""
        return self.root / f"{self.name(session_id)}.jsonl"

    def stored(self, session_id: str) -> Stored | None:
        """Whatever session lies there, as far as names tell sessions apart."""
        path = self.place(session_id)
        stored = load(path, checked=False)
        if stored is not None and self.name(stored.header.id) != self.name(session_id):
            raise damaged(path, f"it holds session {stored.header.id!r}")
        return stored

    def stored_ids(self) -> list[str]:
        """The ids in the headers; what is damaged has none."""
        found = map(_stored_in, self.root.rglob("*.jsonl"))
        return [stored.header.id for stored in found if stored is not None]


def _stored_in(path: Path) -> Stored | None:
    with suppress(SessionPersistenceCorruptionError, SessionFormatUnsupportedError):
        return load(path, checked=False)
    return None


@planted(FILES, breaks="ID-01", sentinel=True, report="R249")
class every_other_character_becomes_underscore(_Renaming):
    """File names hold letters and digits, and an underscore for anything else."""

    def name(self, session_id: str) -> str:
        """Replace."""
        return re.sub(r"[^A-Za-z0-9]", "_", session_id)[:200]


@planted(FILES, breaks="ID-01", report="R250")
class case_folded(_Renaming):
    """Names are made lower case, to be safe on every system."""

    def name(self, session_id: str) -> str:
        """Fold, then escape."""
        return path_of(self.root, session_id.lower()).name.removesuffix(".jsonl")


@planted(FILES, breaks="ID-01", report="R255")
class long_id_truncated(_Renaming):
    """A name that would be too long is cut."""

    def name(self, session_id: str) -> str:
        """Escape, then cut."""
        return path_of(self.root, session_id).name.removesuffix(".jsonl")[:120]


@planted(FILES, breaks="ID-01")
class nfc_normalised(_Renaming):
    """Names are composed first, as some systems want them."""

    def name(self, session_id: str) -> str:
        """Compose, then escape."""
        composed = unicodedata.normalize("NFC", session_id)
        return path_of(self.root, composed).name.removesuffix(".jsonl")


@planted(FILES, breaks="ID-01", report="R254")
class long_id_fails_when_it_is_written(PlainFiles):
    """Nobody counts the length of a name before the file is made."""

    def is_stored(self, session_id: str) -> bool:
        """A name that no file has is not taken."""
        return len(self.place(session_id).name) <= 255 and super().is_stored(session_id)


@planted(FILES, breaks="ID-01", report="R251")
class last_writer_of_a_name_takes_the_file(_Renaming):
    """Colons and dots become dashes, and the file is replaced where it exists."""

    def name(self, session_id: str) -> str:
        """Replace the two."""
        return path_of(self.root, re.sub("[.:]", "-", session_id)).name.removesuffix(".jsonl")

    def stored(self, session_id: str) -> Stored | None:
        """None where the file is another session's."""
        found = super().stored(session_id)
        return found if found is None or found.header.id == session_id else None


@planted(FILES, breaks="ID-02", also=("ID-01", "SVC-06"), report="R259")
class path_traversal(_Renaming):
    """Slashes and dots stay in the name, for they are legal in paths."""

    def name(self, session_id: str) -> str:
        """Escape the rest."""
        escaped = path_of(self.root, session_id).name.removesuffix(".jsonl")
        return escaped.replace("%2f", "/").replace("%2e", ".")

    def place(self, session_id: str) -> Path:
        """Join, and make the directories on the way."""
        path = super().place(session_id)
        if self.root.exists() and session_id in self.drafts:
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def stored(self, session_id: str) -> Stored | None:
        """None where another session leads to the same file."""
        path = self.place(session_id)
        found = load(path, checked=False)
        if found is not None and found.header.id != session_id:
            return None if self.place(found.header.id).resolve() == path.resolve() else super().stored(session_id)
        return found


@planted(FILES, breaks="ID-03")
class files_world_readable(PlainHandle):
    """A new file gets the mode that most files have."""

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Open it to everybody."""
        super().materialise(draft, data)
        self.path.chmod(0o644)


@planted(FILES, breaks="ID-05", report="R249")
class names_differ_by_case_only(_Renaming):
    """Letters stay as they are in the name, whatever the file system makes of them."""

    def name(self, session_id: str) -> str:
        """Escape what is no letter or digit."""
        return quote(session_id, safe="")


@planted(FILES, breaks="ID-02", report="R260")
class working_directory_is_made(PlainHandle):
    """The session keeps a note beside the directory that its header names."""

    def materialise(self, draft: Draft, data: bytes) -> None:
        """Make it."""
        super().materialise(draft, data)
        if draft.header.cwd and draft.header.cwd.startswith("../"):
            (self.service.root / draft.header.cwd).mkdir(parents=True, exist_ok=True)


@planted(FILES, breaks="ID-04", also=("SVC-07",), report="R181")
class nesting_past_the_parser_s_limit_escapes(PlainFiles):
    """The parser's own error for what is nested too deep reaches the caller."""

    def stored(self, session_id: str) -> Stored | None:
        """Let it through."""
        try:
            return super().stored(session_id)
        except SessionPersistenceCorruptionError as problem:
            if isinstance(problem.__cause__, RecursionError):
                raise problem.__cause__ from None
            raise


@planted(FILES, breaks="ID-04")
class parser_s_error_reaches_who_reads_on(PlainHandle):
    """Whoever opens a file that nests too deep is refused; whoever has it open meets the parser's own error."""

    def stored_events(self) -> list[SessionEvent]:
        """Let it through."""
        try:
            return super().stored_events()
        except SessionPersistenceCorruptionError as problem:
            if isinstance(problem.__cause__, RecursionError):
                raise problem.__cause__ from None
            raise


class _Trusting(ZstdCodec):
    """Decodes whatever is there, however large it says that it is."""

    def read_header(self, source: ByteRange) -> HeaderBlock | None:
        """Decode the whole file first."""
        with suppress(zstandard.ZstdError):
            zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(source.at(0, source.size))
        return super().read_header(source)


@planted(FRAMES, breaks="ID-04", report="R273")
class bomb_is_decoded_whole(JsonlPersistence):
    """All frames of a file are decoded before anybody looks at one."""

    def __init__(self, root: str, codec: Codec) -> None:
        super().__init__(root, _Trusting())


@planted(FRAMES, breaks="ID-04", report="R273")
class writer_decodes_all_that_it_stands_on(WriteHandle):
    """Before a batch goes behind the others the writer decodes its file, whatever has come there meanwhile."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Decode it at one go."""
        path = Path(self.writer.place.path)
        data = path.read_bytes() if path.is_file() else b""
        with suppress(zstandard.ZstdError):
            zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(data)
        await super().append(events)
