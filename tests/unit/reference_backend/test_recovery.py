"""Recovery as a pure function of bytes: every cut, every NUL run a crash leaves, every changed byte of small logs."""

from __future__ import annotations

import os
import random
import tracemalloc

import pytest

from conformance.contract import SessionFormatUnsupportedError, SessionPersistenceCorruptionError
from reference_backend.frames import FOOTER_HEAD, FOOTER_SIZE, encode_frame, seal
from reference_backend.positions import Codec
from reference_backend.ranges import PAGE, BytesRange, Damage, crash_left, first_nul_run, nul_runs
from reference_backend.recovery import last_sound_batch
from tests.unit.reference_backend.logs import CODECS, RAW, ZSTD, Image, batch, event, image, recover, repaired

REFUSALS = (Damage, SessionPersistenceCorruptionError, SessionFormatUnsupportedError)
both = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())


def noise(length: int, seed: int) -> str:
    """Text that does not compress."""
    return random.Random(seed).randbytes(length).hex()


def small(codec: Codec) -> Image:
    """Three batches, all in one page."""
    return image(codec, batch(0, 2), batch(2, 3), batch(5, 2))


def large(codec: Codec) -> Image:
    """Three batches, the last one over several pages and several zstd blocks."""
    last = [event(5 + n, noise(9000, n)) for n in range(20)]
    return image(codec, batch(0, 2), batch(2, 3), last)


def check_prefix(codec: Codec, whole: Image, data: bytes, *, least: int) -> int | None:
    """The image recovers to a prefix of at least ``least`` events, and its repair shows the same; gives the length."""
    found = recover(codec, data)
    if found is None:
        assert least == 0
        return None
    log, events = found
    assert events == whole.events[: len(events)]
    assert len(events) == log.total >= least
    again = recover(codec, repaired(codec, data))
    assert again is not None
    assert again[1] == events
    assert not again[0].kept
    assert again[0].end == len(repaired(codec, data))
    return len(events)


@both
def test_a_whole_log_ends_where_it_ends(codec: Codec) -> None:
    """Nothing of a sound log is torn."""
    whole = small(codec)
    for end, count in zip(whole.ends, whole.counts, strict=True):
        found = recover(codec, whole.data[:end])
        assert found is not None
        assert found[0].end == end
        assert found[0].total == count
        assert found[1] == whole.events[:count]


@both
def test_a_cut_at_every_byte_loses_at_most_the_batch_it_is_in(codec: Codec) -> None:
    """TORN-01: everything before the batch that was cut is there, nothing else is."""
    whole = small(codec)
    for cut in range(len(whole.data)):
        least = max((count for end, count in zip(whole.ends, whole.counts, strict=True) if end <= cut), default=0)
        check_prefix(codec, whole, whole.data[:cut], least=least)


@both
@pytest.mark.parametrize("zeros", [1, 7, 100, PAGE])
def test_a_cut_of_the_last_batch_extended_with_zeros_is_a_torn_tail(codec: Codec, zeros: int) -> None:
    """TORN-01: the file's size may run ahead of its data."""
    whole = small(codec)
    for cut in range(whole.ends[2], whole.ends[3] + 1):
        check_prefix(codec, whole, whole.data[:cut] + bytes(zeros), least=whole.counts[2])


@both
def test_a_cut_of_the_header_is_a_torn_creation(codec: Codec) -> None:
    """TORN-04: half a header is no session, with or without zeros behind it."""
    whole = image(codec)
    for cut in range(len(whole.data)):
        for zeros in (0, 3, PAGE):
            assert recover(codec, whole.data[:cut] + bytes(zeros)) is None


@both
def test_every_changed_byte_is_noticed_or_harmless(codec: Codec) -> None:
    """FMT-10: with checksums no changed byte gives another log or a shorter one; without, never a reordered one."""
    whole = small(codec)
    for at in range(len(whole.data)):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(whole.data)
            data[at] ^= change
            try:
                found = recover(codec, bytes(data))
            except REFUSALS:
                continue
            if codec is ZSTD:
                assert found is not None, at
                assert found[1] == whole.events, at
            elif found is not None:
                assert [one["seq"] for one in found[1]] == list(range(len(found[1])))
                assert len(found[1]) >= whole.counts[2]


@pytest.mark.parametrize("seed", range(3))
def test_a_changed_byte_in_a_last_batch_over_pages_is_corruption(seed: int) -> None:
    """FMT-10: NUL bytes of the compressor's own at a page edge do not turn a changed byte into a torn tail."""
    whole = large(ZSTD)
    rnd = random.Random(seed)
    for _ in range(60):
        at = rnd.randrange(whole.ends[2], whole.ends[3])
        data = bytearray(whole.data)
        data[at] ^= 1 << rnd.randrange(8)
        try:
            found = recover(ZSTD, bytes(data))
        except REFUSALS:
            continue
        assert found is not None
        assert found[1] == whole.events


@both
def test_lost_pages_of_the_last_batch_are_a_torn_tail(codec: Codec) -> None:
    """TORN-01, TORN-03: any page, or the sectors at its end, may read NUL; what is kept is unaltered."""
    whole = large(codec)
    start = whole.ends[2]
    kept = set()
    for page in range(start - start % PAGE, len(whole.data), PAGE):
        for sector in (0, 2560):
            begin, end = max(page + sector, start), min(page + PAGE, len(whole.data))
            if begin >= end:
                continue
            data = whole.data[:begin] + bytes(end - begin) + whole.data[end:]
            kept.add(check_prefix(codec, whole, data, least=whole.counts[2]))
    assert max(count for count in kept if count is not None) > whole.counts[2]


@both
def test_several_lost_pages_and_a_cut_are_a_torn_tail(codec: Codec) -> None:
    """TORN-01: any subset of the pages of the last batch may be missing."""
    whole = large(codec)
    start = whole.ends[2]
    rnd = random.Random(4)
    for _ in range(40):
        data = bytearray(whole.data[: rnd.choice([len(whole.data), rnd.randrange(start + 1, len(whole.data))])])
        for page in range(start - start % PAGE, len(data), PAGE):
            if rnd.random() < 0.4:
                begin, end = max(page, start), min(page + PAGE, len(data))
                data[begin:end] = bytes(end - begin)
        check_prefix(codec, whole, bytes(data), least=whole.counts[2])


@both
def test_damage_before_an_intact_later_batch_is_never_a_shorter_log(codec: Codec) -> None:
    """FMT-04: removing, repeating or swapping batches or records, NUL runs and cuts further up are refused."""
    whole = small(codec)
    header, one, two, three = (
        whole.data[begin:end] for begin, end in zip([0, *whole.ends[:-1]], whole.ends, strict=True)
    )
    damaged = [
        header + two + three,
        header + one + three,
        header + one + one + two + three,
        header + two + one + three,
        header + one + two[: len(two) // 2] + three,
        header + one + bytes(len(two)) + three,
        header + one + two + b"\n" + three,
        header + one[:-1] + two + three,
        header + one + image(codec, batch(0, 2), batch(2, 3, "other")).data[whole.ends[1] :] + three,
    ]
    for number, data in enumerate(damaged):
        if codec is RAW and number in (6, 8):
            continue
        with pytest.raises(REFUSALS):
            recover(codec, data)


def test_a_record_removed_before_the_last_batch_of_plain_lines_is_corruption() -> None:
    """FMT-04: the last batch then begins with another seq than the one expected, which no crash does."""
    lines = small(RAW).data.splitlines(keepends=True)
    for number in range(1, 6):
        with pytest.raises(REFUSALS):
            recover(RAW, b"".join(lines[:number] + lines[number + 1 :]))


def test_plain_lines_with_carriage_returns_are_all_read_and_a_byte_order_mark_is_refused() -> None:
    """FMT-12: an editor's doing gives all records or a refusal."""
    whole = small(RAW)
    found = recover(RAW, whole.data.replace(b"\n", b"\r\n"))
    assert found is not None
    assert found[1] == whole.events
    with pytest.raises(REFUSALS):
        recover(RAW, b"\xef\xbb\xbf" + whole.data)


@both
@pytest.mark.parametrize("foreign", [b"hello", b"hello\n", b"\x89PNG\r\n\x1a\n" + bytes(20), b"{}", b"abc\0", b"\0abc"])
def test_foreign_bytes_are_no_torn_creation(codec: Codec, foreign: bytes) -> None:
    """FMT-09: what this backend cannot have begun to write is refused, not replaced."""
    with pytest.raises(REFUSALS):
        recover(codec, foreign)


@both
def test_a_first_page_of_nul_is_a_torn_creation_unless_a_later_batch_stands_behind(codec: Codec) -> None:
    """TORN-04, FMT-04: a creation writes one batch at most."""
    created = image(codec, [event(0, noise(6000, 1))])
    assert recover(codec, bytes(PAGE) + created.data[PAGE:]) is None
    later = image(codec, [event(0, noise(6000, 1))], batch(1, 2))
    with pytest.raises(REFUSALS):
        recover(codec, bytes(PAGE) + later.data[PAGE:])


@pytest.mark.parametrize("text", [bytes(300 << 20), b"[" * 5000 + b"]" * 5000 + b"\n"], ids=["bomb", "nesting"])
def test_hostile_frames_are_refused(text: bytes) -> None:
    """ID-04: text past the limit and nesting past the parser's are refused, as header, batch and torn tail."""
    whole = small(ZSTD)
    frame = encode_frame(text)
    sealed, _ = seal(frame, 7, 1, 0)
    tracemalloc.start()
    for data in (frame, whole.data + sealed):
        with pytest.raises(REFUSALS):
            recover(ZSTD, data)
    # Without its footer the nested one is a whole frame that holds no record; the bomb is none that was ever written.
    try:
        found = recover(ZSTD, whole.data + frame)
    except Damage:
        found = None
    assert found is None or found[1] == whole.events
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@both
@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"type": "no/such"}, SessionFormatUnsupportedError),
        ({"seq": 3}, SessionPersistenceCorruptionError),
        ({"seq": None}, SessionPersistenceCorruptionError),
        ({"type": ["list"]}, SessionPersistenceCorruptionError),
    ],
)
def test_what_was_stored_is_checked_again_when_it_is_read(
    codec: Codec, wrong: dict[str, object], refusal: type[Exception]
) -> None:
    """FMT-02, FMT-04: an event that this build may not serve is refused though every checksum is right."""
    for bad in ({**event(1), **wrong}, {**event(1), **wrong, "surfaceOp": "append"}):
        with pytest.raises((refusal, Damage)):
            recover(codec, image(codec, [event(0), bad, event(2)], batch(3, 1)).data)
    kept = [event(0), {**event(1), "type": "no/such", "ignorable": True}]
    found = recover(codec, image(codec, kept).data)
    assert found is not None
    assert found[1] == kept


def test_hostile_lines_are_refused() -> None:
    """ID-04: a line nested past the parser's limit is corruption, not a torn tail."""
    with pytest.raises(REFUSALS):
        recover(RAW, small(RAW).data + b" " + b"[" * 5000 + b"]" * 5000 + b"\n")


def test_a_batch_is_found_behind_a_hole_by_magic_and_both_checksums() -> None:
    """A footer's magic alone, or a footer whose frame is damaged, is no batch."""
    whole = small(ZSTD)
    junk = os.urandom(300) + FOOTER_HEAD + bytes(FOOTER_SIZE)
    found = last_sound_batch(BytesRange(whole.data + junk), 0)
    assert found is not None
    assert found[0] == whole.ends[3]
    assert found[1].next_seq == 7
    data = bytearray(whole.data)
    data[whole.ends[2] + 20] ^= 1
    found = last_sound_batch(BytesRange(bytes(data)), 0)
    assert found is not None
    assert found[0] == whole.ends[2]


def test_nul_runs_are_those_that_end_at_an_edge_of_the_file() -> None:
    """Positions count in the file, not in the piece that is looked at."""
    data = b"a" + bytes(3) + b"b" + bytes(5)
    assert list(nul_runs(data, PAGE - 4, 10_000)) == [(1, 4)]
    assert list(nul_runs(data, 0, len(data))) == [(5, 10)]
    assert first_nul_run(data, 100, 10_000) == len(data)
    assert not crash_left(b"a" + bytes(3) + b"b", PAGE - 4, 10_000)
    assert crash_left(bytes(3) + b"b", PAGE - 3, 10_000)
    assert crash_left(b"abcd" + bytes(512) + b"b", PAGE - 516, 10_000)
