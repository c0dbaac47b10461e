"""Mutants of TORN: what recovery makes of the remains of a write, and of the remains of a creation."""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from pathlib import Path

from planting import BEGIN, GOOD, NEXT, Crashes, GoodFiles, GoodHandle, PlainHandle, damaged, planted, unsealed

from conformance.contract import Access


@planted(GOOD, breaks="TORN-01", report="R166", crash=Crashes("ext4", "NUL tail"))
class nul_is_corruption(GoodFiles):
    """No text of ours holds a NUL, so a log that has one is damaged."""

    def content(self, path: Path) -> bytes | None:
        """Refuse one with a NUL."""
        data = super().content(path)
        if data is not None and b"\0" in data:
            raise damaged(path, "it holds NUL")
        return data


@planted(GOOD, breaks="TORN-01", report="R153", sentinel=True, crash=Crashes("kill", "torn record"))
class unterminated_line_is_corruption(GoodFiles):
    """Every line is written with its end, so a log whose last line has none is damaged."""

    def content(self, path: Path) -> bytes | None:
        """Refuse one without a newline at its end."""
        data = super().content(path)
        if data is not None and data[-1:] != b"\n":
            raise damaged(path, "its last line does not end")
        return data


@planted(GOOD, breaks="TORN-01", crash=Crashes("kill", "torn record"))
class log_is_read_as_text(GoodFiles):
    """A log is text and is decoded as a whole, before anybody looks for a torn line; the cut may be in a character."""

    def content(self, path: Path) -> bytes | None:
        """Decode strictly."""
        data = super().content(path)
        return data and data.decode("utf-8").encode("utf-8")


@planted(GOOD, breaks="TORN-01", also=("DUR-01",), report="R163", crash=Crashes("ext4", "torn record"))
class skips_over_the_tail(GoodFiles):
    """A torn tail is ended with a newline and stays; readers skip every line that is not sound, and go on behind it."""

    def cut_tail(self, path: Path, end: int) -> None:
        """End it in a way that makes no line of it sound."""
        with path.open("ab") as file:
            file.write(b"~\n")

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """The sound ones of all lines that have an end."""
        whole = data[: data.rfind(b"\n") + 1]
        texts = [unsealed(line) for line in whole.split(b"\n")]
        return [text for text in texts if text is not None], len(whole)


@planted(GOOD, breaks="TORN-01", also=("DUR-01",), crash=Crashes("ext4", "torn record"))
class batches_are_not_synced_between(GoodHandle):
    """Only a barrier syncs, so several batches lie unsynced behind one another, and one with a hole looks damaged."""

    def write_behind(self, data: bytes) -> None:
        """Write on."""
        self.unsynced = False
        super().write_behind(data)


@planted(GOOD, breaks="TORN-01", also=("DUR-01",), crash=Crashes("ext4", "torn record"))
class batch_behind_an_inherited_one(GoodHandle):
    """What a dead writer left is synced by the first barrier, and written behind before that."""

    found = False

    def take_over(self) -> None:
        """Cut the tail off, and keep in mind to sync."""
        self.found = self.unsynced = True
        if self.size > self.end:
            super().take_over()
        self.service.sync_entry(self.path)

    def write_behind(self, data: bytes) -> None:
        """Sync one's own batches alone."""
        self.unsynced = self.unsynced and not self.found
        self.found = False
        super().write_behind(data)


@planted(GOOD, breaks="TORN-01", also=("DUR-01",), report="R118", crash=Crashes("kill", "reordered files"))
class index_is_written_first(GoodFiles):
    """An index tells where the log ends; it is made durable before the batch, and a log that ends sooner is refused."""

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Write where the batch will end, then the batch."""
        number = os.open(path.with_suffix(".index"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(number, b"%012d" % (end + len(data)))
        os.fsync(number)
        os.close(number)
        super().write_batch(path, end, data)

    def content(self, path: Path) -> bytes | None:
        """The log, where it is long enough."""
        data, index = super().content(path), path.with_suffix(".index")
        if data is not None and index.exists() and len(data) < int(index.read_bytes().strip(b"\0") or 0):
            raise damaged(path, "it is shorter than its index says")
        return data


@planted(GOOD, breaks="TORN-01", also=("DUR-01",), crash=Crashes("ext4", "torn record"))
class header_counts_the_lines(GoodFiles):
    """The header tells how many lines there are, is rewritten in place behind each batch, and is believed."""

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Put the count first."""
        return super().write_temporary(path, b"%08d" % data.count(b"\n") + data)

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Write the batch, then the count."""
        super().write_batch(path, end, data)
        super().write_batch(path, 0, b"%08d" % path.read_bytes().count(b"\n"))

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """All lines, where there are as many as there should be."""
        texts, end = super().sound_lines(data[8:])
        return (texts, end + 8) if len(texts) >= int(data[:8]) else ([], 0)


@planted(GOOD, breaks="TORN-02", report="R155", sentinel=False, crash=Crashes("kill", "fused record"))
class no_tail_repair(GoodFiles):
    """Readers leave a torn line out, and nothing takes it away: the next batch is glued to it."""

    def cut_tail(self, path: Path, end: int) -> None:
        """Leave it there."""


@planted(GOOD, breaks="TORN-02", report="R166", crash=Crashes("ext4", "NUL tail"))
class writes_behind_nul(GoodFiles):
    """A tail of NUL is taken for space that was reserved, and left there: the next batch stands where nobody reads."""

    def cut_tail(self, path: Path, end: int) -> None:
        """Cut off anything else."""
        if path.read_bytes()[end:].strip(b"\0"):
            super().cut_tail(path, end)


@planted(GOOD, breaks="TORN-03", crash=Crashes("kill", "torn record"))
class torn_record_is_completed(GoodFiles):
    """A record that lacks its end gets the quotes and braces that make it JSON again."""

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """Add the last line where it can be helped."""
        texts, end = super().sound_lines(data)
        completed = data[end:][9:].decode("utf-8", "ignore").encode() + b'"}}'
        try:
            json.loads(completed)
        except ValueError:
            return texts, end
        return [*texts, completed], end


def _framed(data: bytes) -> bytes:
    """A batch, compressed, behind its length."""
    coder = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
    frame = coder.compress(data) + coder.flush()
    return b"%08d" % len(frame) + frame


def _unframed(frame: bytes) -> tuple[bytes, bool]:
    """What a decoder gives out of a frame that it does not check, and whether that is all of it."""
    decoder, text = zlib.decompressobj(wbits=-15), b""
    for place in range(2, len(frame), 64):
        try:
            text += decoder.decompress(frame[place : place + 64])
        except zlib.error:
            break
    return text, decoder.eof and decoder.unused_data == zlib.adler32(text).to_bytes(4, "big")


def _lines_of_frames(data: bytes) -> tuple[list[bytes], int]:
    texts: list[bytes] = []
    end, whole = 0, True
    while whole and data[end : end + 8].isdigit():
        stop = end + 8 + int(data[end : end + 8])
        text, whole = _unframed(data[end + 8 : stop])
        texts += [line[9:] for line in text.split(b"\n")[:-1]]
        end = stop if whole else end
    return texts, end


@planted(GOOD, breaks="TORN-03", crash=Crashes("ext4", "NUL tail"))
class frame_is_decoded_over_nul(GoodFiles):
    """Batches are compressed; of a torn one every line is kept that its decoder gives out, over a page of NUL too."""

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Compress the beginning."""
        return super().write_temporary(path, _framed(data))

    def write_batch(self, path: Path, end: int, data: bytes) -> None:
        """Compress a batch."""
        super().write_batch(path, end, _framed(data))

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """The lines of every frame, and where the whole ones end."""
        return _lines_of_frames(data)

    def begins_with(self, path: Path, head: bytes) -> bool:
        """Look into the first frame."""
        return head in self.sound_lines(path.read_bytes())[0]

    def cut_tail(self, path: Path, end: int) -> None:
        """Put what was kept of the torn frame in its place."""
        text, _ = _unframed(path.read_bytes()[end + 8 :])
        super().cut_tail(path, end)
        self.write_batch(path, end, text[: text.rfind(b"\n") + 1])


@planted(GOOD, breaks="TORN-03", also=("DUR-05", "TORN-02"), report="R159", crash=Crashes("kill", "torn record"))
class line_without_its_end_is_shown_and_cut(GoodFiles):
    """Readers take a last line whose text is whole; the repair takes away whatever has no newline."""

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """Add the last line where only its end is missing."""
        texts, end = super().sound_lines(data)
        last = unsealed(data[end:])
        return (texts if last is None else [*texts, last]), end


@planted(GOOD, breaks="TORN-03", also=("TORN-05", "READ-03"), report="R149", crash=Crashes("kill", "torn record"))
class repair_cuts_the_whole_batch(GoodFiles):
    """Readers are shown the first records of a torn batch, and the repair takes all of it away."""

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Cut at the batch's beginning, then open."""
        path = self.place(session_id)
        found = self.stored(session_id) if access == "write" and session_id not in self.writers else None
        data = path.read_bytes() if found is not None else b""
        if found is not None and data[found.end : found.end + 1] == NEXT:
            self.cut_tail(path, data.rfind(BEGIN, 0, found.end))
        return await super().open(session_id, access)


@planted(GOOD, breaks="TORN-05", also=("READ-03",), report="R067", crash=Crashes("kill", "torn record"))
class readers_see_less_during_the_repair(GoodFiles):
    """While a writer is let in and the tail repaired, readers get the log up to the last whole batch."""

    repairing = False

    async def open(self, session_id: str, access: Access) -> PlainHandle:
        """Repair while others may read."""
        self.repairing = access == "write"
        await asyncio.sleep(0)
        self.repairing = False
        return await super().open(session_id, access)

    def sound_lines(self, data: bytes) -> tuple[list[bytes], int]:
        """All lines, or those of whole batches."""
        texts, end = super().sound_lines(data)
        is_torn = self.repairing and data[end : end + 1] == NEXT
        return super().sound_lines(data[: data.rfind(BEGIN, 0, end)]) if is_torn else (texts, end)


@planted(GOOD, breaks="TORN-04", report="R165", crash=Crashes("ext4", "zero-length replacement"))
class log_gets_its_name_before_its_data(GoodFiles):
    """A log is synced under its own name: before that, the name may be there and the data not."""

    def sync_temporary(self, temporary: Path) -> None:
        """Later."""

    def sync_entry(self, path: Path) -> None:
        """Sync the file, then the directory."""
        self.sync(path)
        super().sync_entry(path)


@planted(GOOD, breaks="TORN-04", report="R183", crash=Crashes("kill", "zero-length replacement"))
class empty_log_is_corruption(GoodFiles):
    """An empty file keeps the name of a new log free for it; one that stayed empty is taken for a damaged log."""

    def publish(self, temporary: Path, path: Path) -> None:
        """Take the name, then put the log there."""
        path.touch(0o600, exist_ok=False)
        os.replace(temporary, path)
        self.sync_entry(path)


@planted(GOOD, breaks="TORN-04", crash=Crashes("kill", "missing entry"))
class stray_temporary_blocks_the_id(GoodFiles):
    """The temporary file has a fixed name and must not be there yet; a dead writer's is there for good."""

    def write_temporary(self, path: Path, data: bytes) -> Path:
        """Make that very file."""
        temporary = path.with_suffix(".tmp")
        temporary.touch(0o600, exist_ok=False)
        temporary.write_bytes(data)
        return temporary


@planted(GOOD, breaks="TORN-04", report="R180", crash=Crashes("kill", "missing entry"))
class empty_directory_is_a_session(GoodFiles):
    """An id is taken where its directory is there, and the directory is made before the log."""

    def is_stored(self, session_id: str) -> bool:
        """Look for the directory."""
        return super().is_stored(session_id) or self.place(session_id).parent.is_dir()


@planted(GOOD, breaks="TORN-04", also=("DUR-08", "DUR-01"), report="R181", crash=Crashes("kill", "missing entry"))
class torn_creation_fails_the_list(GoodFiles):
    """The list reads the log in each directory, and one that has none fails it as a whole."""

    def stored_ids(self) -> list[str]:
        """Every directory has to have a log."""
        found = super().stored_ids()
        if self.root.is_dir() and len(found) < len(list(self.root.iterdir())):
            raise FileNotFoundError(f"a directory in {self.root} has no log")
        return found


@planted(GOOD, breaks="TORN-01", also=("DUR-06", "TORN-02"), crash=Crashes("ext4", "fused record"))
class syncs_before_it_repairs(GoodHandle):
    """What was found is synced with its torn tail, and the cut is not: old records may go on behind a new one."""

    def take_over(self) -> None:
        """Sync, then cut."""
        self.service.sync_found(self.path)
        if self.size > self.end:
            self.service.cut_tail(self.path, self.end)
            self.size = self.end
