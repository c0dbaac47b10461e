"""Mutants of FMT: what becomes of event types that this build does not know, and of artifacts that were damaged."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from planting import (
    FILES,
    FRAMES,
    MEMORY,
    ROWS,
    JsonlPersistence,
    MemoryHandle,
    PlainFiles,
    PlainHandle,
    RowsHandle,
    Stored,
    bytes_in,
    header_in,
    lines_of,
    load,
    planted,
    values_in,
)

from conformance.contract import (
    KNOWN_EVENT_TYPES,
    Access,
    SessionEvent,
    SessionFormatUnsupportedError,
    SessionHeader,
    SessionPersistenceCorruptionError,
    SessionSnapshot,
    assert_contiguous,
    header_to_json,
    materialize_append_batch,
)
from reference_backend.positions import Codec, HeaderBlock, LogEnd
from reference_backend.ranges import ByteRange, Damage
from reference_backend.raw_codec import RawCodec
from reference_backend.recovery import last_sound_batch, tail_of
from reference_backend.zstd_codec import ZstdCodec


def _is_known(event: Any) -> bool:
    return not isinstance(event, dict) or event.get("type") in KNOWN_EVENT_TYPES


@planted(MEMORY, breaks="FMT-02", sentinel=True, report="R187")
class unknown_type_is_served(MemoryHandle):
    """Nobody asks for the type when a batch comes in."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Check shape and seqs only."""
        self._check_writable()
        batch = materialize_append_batch(events)
        assert_contiguous(batch, len(self._session.events), session_id=self.id)
        if batch:
            self._session.events += batch
            self._session.pending = False


@planted(MEMORY, breaks="FMT-02")
class unknown_type_is_dropped(MemoryHandle):
    """What the build does not know it leaves out, and says nothing."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Keep the rest of the batch."""
        with suppress(SessionFormatUnsupportedError):
            return await super().append(events)
        await super().append([event for event in events if _is_known(event) or event.get("ignorable") is True])


@planted(MEMORY, breaks="FMT-02")
class any_mark_makes_ignorable(MemoryHandle):
    """The mark is tested for its truth."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Make true of what is truthy."""
        if isinstance(events, list):
            events = [{**each, "ignorable": True} if _is_marked(each) else each for each in events]
        await super().append(events)


def _is_marked(event: Any) -> bool:
    return isinstance(event, dict) and not _is_known(event) and bool(event.get("ignorable"))


@planted(MEMORY, breaks="FMT-02")
class types_are_trimmed_first(MemoryHandle):
    """Types are compared without spaces and case, and the normal form is stored."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Normalise."""
        if isinstance(events, list):
            events = [{**each, "type": _trimmed(each)} if not _is_known(each) else each for each in events]
        await super().append(events)


def _trimmed(event: Any) -> Any:
    kind = event.get("type")
    if not isinstance(kind, str) or event.get("ignorable") is True:
        return kind
    return kind.strip().lower() or kind


@planted(ROWS, breaks="FMT-02", report="R190")
class refused_type_leaves_the_events_before_it(RowsHandle):
    """The type is looked at when the event is stored, and those before it are stored by then."""

    def append(self, events: list[SessionEvent]) -> None:
        """Refuse, and keep what came before."""
        try:
            super().append(events)
        except SessionFormatUnsupportedError:
            super().append(list(takewhile(_is_known, events)))
            raise


@planted(MEMORY, breaks="FMT-03", report="R186")
class ignorable_event_is_dropped(MemoryHandle):
    """A reader that does not know the type skips the event."""

    __slots__ = ()

    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        """Skip."""
        return [event for event in await super().read(offset, length) if _is_known(event)]


@planted(MEMORY, breaks="FMT-03")
class ignorable_event_loses_its_keys(MemoryHandle):
    """Of an event that it does not know it keeps what every event has."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Store, then keep the known keys."""
        await super().append(events)
        for event in self._session.events[-len(events) :] if events else ():
            if not _is_known(event):
                for key in event.keys() - {"type", "seq", "time", "data", "ignorable"}:
                    del event[key]


@planted(MEMORY, breaks="FMT-03")
class ignorable_event_is_refused(MemoryHandle):
    """The mark is not looked at."""

    __slots__ = ()

    async def append(self, events: list[SessionEvent]) -> None:
        """Refuse any unknown type."""
        self._check_writable()
        batch = materialize_append_batch(events)
        assert_contiguous(batch, len(self._session.events), session_id=self.id)
        if not all(map(_is_known, batch)):
            raise SessionFormatUnsupportedError("an unknown event type", session_id=self.id)
        await super().append(events)


def _read_by(path: Path, events_of: Callable[[list[bytes]], list[Any]]) -> Stored | None:
    """A log of which the lines of events are read in another way; nothing checks them afterwards."""
    data = bytes_in(path)
    if data is None:
        return None
    end = data.rfind(b"\n") + 1
    line, *rest = data[:end].splitlines() or [b""]
    events = events_of(rest)
    return Stored(*header_in(path, line), events, end, len(data), hashlib.sha256(data).hexdigest())


def _is_json(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        json.loads(line)
        return True
    return False


@planted(FILES, breaks="FMT-04", report="R169")
class skips_bad_line(PlainFiles):
    """A line that cannot be read is skipped, and the log goes on behind it."""

    def stored(self, session_id: str) -> Stored | None:
        """Take every line that is JSON."""
        return _read_by(self.place(session_id), lambda lines: [json.loads(line) for line in lines if _is_json(line)])


@planted(FILES, breaks="FMT-04", report="R149")
class ends_at_the_first_bad_line(PlainFiles):
    """Damage in the middle is taken for a torn tail: everything behind it is dropped."""

    def stored(self, session_id: str) -> Stored | None:
        """Take the lines before it."""
        return _read_by(self.place(session_id), lambda lines: [*map(json.loads, takewhile(_is_json, lines))])


@planted(FILES, breaks="FMT-04")
class seqs_are_not_compared(PlainFiles):
    """Every line is an event, and nobody looks whether it belongs there."""

    def stored(self, session_id: str) -> Stored | None:
        """Take them as they come."""
        path = self.place(session_id)
        return _read_by(path, lambda lines: values_in(path, lines))


@planted(FILES, breaks="FMT-04", report="R174")
class seqs_are_sorted(PlainFiles):
    """Of two events with one seq the first counts, and a gap is where the log ends."""

    def stored(self, session_id: str) -> Stored | None:
        """Put each event at its seq."""
        path = self.place(session_id)

        def sorted_events(lines: list[bytes]) -> list[Any]:
            events = [event for event in values_in(path, lines) if isinstance(event, dict)]
            found = {event.get("seq"): event for event in reversed(events)}
            return [found[seq] for seq in takewhile(found.__contains__, range(len(found)))]

        return _read_by(path, sorted_events)


@planted(FILES, breaks="FMT-04", also=("SVC-14",), report="R149")
class append_cuts_off_what_it_cannot_read(PlainHandle):
    """A writer that meets damage in its own log ends the log there, before it gives up."""

    def write_behind(self, data: bytes) -> None:
        """Look for it first."""
        lines = self.path.read_bytes()[: self.end].splitlines(keepends=True)
        sound = sum(map(len, takewhile(_is_json, lines)))
        if sound < self.end:
            os.truncate(self.path, sound)
        super().write_behind(data)


@planted(FILES, breaks="FMT-05", report="R081")
class location_is_left_out(PlainFiles):
    """A damaged file is refused by an error that does not say which one it is."""

    def stored(self, session_id: str) -> Stored | None:
        """Raise another error."""
        try:
            return super().stored(session_id)
        except SessionPersistenceCorruptionError as problem:
            raise SessionPersistenceCorruptionError("a log is damaged", session_id=session_id) from problem


@planted(FILES, breaks="FMT-06", report="R250")
class header_of_another_id_is_accepted(PlainFiles):
    """Whatever session a file holds, it is the one that was looked for."""

    def stored(self, session_id: str) -> Stored | None:
        """Do not compare."""
        return load(self.place(session_id), checked=False)


def _has_header(path: Path) -> bool:
    """Whether the first line is the header of some session."""
    with suppress(SessionPersistenceCorruptionError, IndexError):
        header_in(path, (bytes_in(path) or b"").splitlines()[0], checked=False)
        return True
    return False


@planted(FILES, breaks="FMT-09", also=("TORN-04", "ID-04"), report="R180")
class unreadable_file_is_no_session(PlainFiles):
    """What has no header that can be read is taken for what a torn creation left."""

    def stored(self, session_id: str) -> Stored | None:
        """Find nothing there."""
        return super().stored(session_id) if _has_header(self.place(session_id)) else None


@planted(FILES, breaks="FMT-09", also=("TORN-04", "ID-04"), report="R204")
class open_repairs_by_overwriting(PlainFiles):
    """A write open that finds no header begins a new log in the same file."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Leave a header there, and open that."""
        path = self.place(session_id)
        if access == "write" and bytes_in(path) is not None and not _has_header(path):
            path.write_bytes(lines_of([header_to_json(SessionHeader(id=session_id, created_at=0), None)]))
        return await super().open(session_id, access)


@planted(FILES, breaks="FMT-09", also=("TORN-04", "SVC-13"))
class create_replaces_what_it_cannot_read(PlainFiles):
    """An id is taken only where its file has a header; anything else makes way."""

    def is_stored(self, session_id: str) -> bool:
        """Ask the file."""
        return super().is_stored(session_id) and _has_header(self.place(session_id))


class _DropsTheLast(ZstdCodec):
    """Whatever is wrong with the last batch, it was torn."""

    def recover(self, source: ByteRange, header: HeaderBlock) -> LogEnd:
        """End the log before it."""
        try:
            return super().recover(source, header)
        except Damage:
            found = last_sound_batch(source, header.end)
            if found is None:
                return LogEnd(header.end, 0, header.checksum, 0, tail_of(source, header.end))
            end, footer = found
            return LogEnd(end, footer.next_seq, footer.chain, end, tail_of(source, end))


@planted(FRAMES, breaks="FMT-10", report="R170")
class last_batch_is_dropped_whatever_it_met(JsonlPersistence):
    """A changed byte in the last batch is taken for a torn tail."""

    def __init__(self, root: str, codec: Codec) -> None:
        super().__init__(root, _DropsTheLast())


@planted(FRAMES, breaks="FMT-10")
class checksum_is_not_kept(JsonlPersistence):
    """Checksums are claimed, and plain lines are stored."""

    def __init__(self, root: str, codec: Codec) -> None:
        super().__init__(root, RawCodec("session.v1.jsonl.zstd"))


class _ChecksItsHeader(RawCodec):
    """Lines, of which the first ends with its own checksum."""

    def encode_header(self, line: bytes) -> tuple[bytes, LogEnd]:
        """Put it there."""
        return super().encode_header(b"%b %08x" % (line, zlib.crc32(line)))

    def read_header(self, source: ByteRange) -> HeaderBlock | None:
        """Hold the line against it."""
        block = super().read_header(source)
        if block is not None and block.line[-8:] != b"%08x" % zlib.crc32(block.line[:-9]):
            raise Damage("its header does not have the checksum behind it")
        return None if block is None else block._replace(line=block.line[:-9])


@planted(FRAMES, breaks="FMT-10")
class checksum_is_of_the_header_only(JsonlPersistence):
    """The header has a checksum, and is held against it; of the events nobody notices what changed."""

    def __init__(self, root: str, codec: Codec) -> None:
        super().__init__(root, _ChecksItsHeader("session.v1.jsonl.zstd"))


@planted(FILES, breaks="FMT-11", report="R177")
class index_decides_what_exists(PlainFiles):
    """What a session's snapshot says comes from an index, and stays when the log is gone."""

    def index(self) -> dict[str, int]:
        """The ids in the index, and when they were created."""
        path = self.root / "index.json"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Ask the index where there is no log, and note in it what there is."""
        found, index = super().snapshot(session_id), self.index()
        if found is not None and session_id not in self.drafts:
            index[session_id] = found.header.created_at
            (self.root / "index.json").write_text(json.dumps(index))
        elif found is None and session_id in index:
            return SessionSnapshot(SessionHeader(id=session_id, created_at=index[session_id]), "gone", 0)
        return found


@planted(FILES, breaks="FMT-11", report="R144")
class count_beside_the_log_ends_it(PlainHandle):
    """How many events there are stands in a file of its own, and what the log holds beyond that is left out."""

    def write(self, batch: list[SessionEvent]) -> None:
        """Count them too."""
        super().write(batch)
        self.path.with_suffix(".count").write_text(str(self.next_seq))

    def stored_events(self) -> list[SessionEvent]:
        """Go by the count where there is one."""
        found, count = super().stored_events(), self.path.with_suffix(".count")
        text = count.read_text("utf-8", "replace") if count.is_file() else ""
        return found[: int(text)] if text.isdigit() else found


@planted(FILES, breaks="FMT-12", report="R205")
class marked_record_is_dropped(PlainFiles):
    """A line that an editor touched is no JSON to the reader, and lines like that are skipped."""

    def stored(self, session_id: str) -> Stored | None:
        """Skip what ends with a carriage return."""
        path = self.place(session_id)
        data = bytes_in(path) or b""
        if b"\r\n" not in data:
            return super().stored(session_id)
        return _read_by(path, lambda lines: [])
