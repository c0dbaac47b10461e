"""What each call becomes: the exact operations, in order, for the call they belong to."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from conformance.sim.disk import IoCount, Recorder, real
from conformance.sim.disk.ops import (
    Ack,
    CallBegin,
    Create,
    CreateUnnamed,
    Fallocate,
    Fdatasync,
    Fsync,
    FsyncDirectory,
    Link,
    Mkdir,
    Rename,
    Rmdir,
    Symlink,
    SyncAll,
    Truncate,
    Unlink,
    Write,
)
from conformance.sim.disk.session import SLOT

TOP, ROOT = 0, 1


def sync_directory(path: Path) -> None:
    """Make a directory's entries durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


def test_a_file_is_written_and_made_durable_by_the_book(recorder: Recorder, root: Path) -> None:
    """Temporary file, fsync, rename over the old one, fsync of the directory: one operation each, in that order."""
    (root / "f").write_bytes(b"old")
    with open(root / "tmp", "wb") as stream:
        stream.write(b"new")
        stream.flush()
        os.fsync(stream)
    os.replace(root / "tmp", root / "f")
    sync_directory(root)
    assert list(recorder.ops) == [
        Create(ROOT, "f", 2),
        Write(2, 0, b"old"),
        Create(ROOT, "tmp", 3),
        Write(3, 0, b"new"),
        Fsync(3),
        Rename(ROOT, "tmp", ROOT, "f", 3, 2),
        FsyncDirectory(ROOT),
    ]


def test_every_kind_of_operation_has_its_record(recorder: Recorder, root: Path) -> None:
    """Names, sizes and barriers of every kind are told apart."""
    fd = os.open(root / "f", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, 8)
    os.fdatasync(fd)
    os.ftruncate(fd, 3)
    os.close(fd)
    os.close(os.open(root / "f", os.O_RDWR | os.O_TRUNC))
    os.mkdir(root / "d")
    os.link(root / "f", root / "d" / "g")
    os.symlink("f", root / "s")
    os.sync()
    os.remove(root / "f")
    os.unlink(root / "d" / "g")
    os.rmdir(root / "d")
    assert list(recorder.ops) == [
        Create(ROOT, "f", 2),
        Fallocate(2, 0, 8, False),
        Fdatasync(2),
        Truncate(2, 8, 3),
        Truncate(2, 3, 0),
        Mkdir(ROOT, "d", 3),
        Link(3, "g", 2),
        Symlink(ROOT, "s", 4, "f"),
        SyncAll(),
        Unlink(ROOT, "f", 2),
        Unlink(3, "g", 2),
        Rmdir(ROOT, "d", 3),
    ]


def test_a_buffer_is_written_when_it_is_flushed(recorder: Recorder, root: Path) -> None:
    """What a file object holds back is not on the disk, and closing is no barrier."""
    stream = open(root / "f", "w", encoding="utf-8")  # noqa: SIM115
    stream.write("held back")
    assert list(recorder.ops) == [Create(ROOT, "f", 2)]
    stream.close()
    assert list(recorder.ops) == [Create(ROOT, "f", 2), Write(2, 0, b"held back")]


@pytest.mark.parametrize(("flag", "barrier"), [(os.O_SYNC, Fsync(2)), (os.O_DSYNC, Fdatasync(2)), (0, None)])
def test_a_synchronous_write_is_a_write_and_a_barrier(
    recorder: Recorder, root: Path, flag: int, barrier: object
) -> None:
    """O_SYNC and O_DSYNC add the barrier that they are."""
    fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT | flag)
    os.write(fd, b"x")
    os.close(fd)
    assert list(recorder.ops) == [Create(ROOT, "f", 2), Write(2, 0, b"x"), *([barrier] if barrier else [])]
    assert recorder.total().syncs == (1 if barrier else 0)


def test_a_single_write_may_ask_to_be_synchronous(recorder: Recorder, root: Path) -> None:
    """`RWF_SYNC` and `RWF_DSYNC` of one `pwritev` are barriers too."""
    fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT)
    os.pwritev(fd, [b"x"], 0, os.RWF_DSYNC)
    os.pwritev(fd, [b"y"], 1, os.RWF_SYNC)
    os.close(fd)
    assert list(recorder.ops)[1:] == [Write(2, 0, b"x"), Fdatasync(2), Write(2, 1, b"y"), Fsync(2)]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this platform has no unnamed files")
def test_an_unnamed_file_is_an_inode_without_an_entry(recorder: Recorder, root: Path) -> None:
    """A file opened with O_TMPFILE is recorded, and readers do not see it."""
    fd = os.open(root, os.O_TMPFILE | os.O_RDWR)
    os.write(fd, b"x")
    os.close(fd)
    assert list(recorder.ops) == [CreateUnnamed(2), Write(2, 0, b"x")]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this platform has no unnamed files")
def test_an_unnamed_file_that_gets_a_name_is_the_same_inode(recorder: Recorder, root: Path) -> None:
    """The way of linking an open file by `/proc` is followed back to the descriptor."""
    fd = os.open(root, os.O_TMPFILE | os.O_RDWR)
    directory = os.open(root, os.O_RDONLY)
    os.write(fd, b"x")
    os.link(f"/proc/self/fd/{fd}", "f", dst_dir_fd=directory, follow_symlinks=True)
    os.close(directory)
    os.close(fd)
    assert list(recorder.ops)[-1] == Link(ROOT, "f", 2)


def test_a_link_gets_its_name_or_what_it_leads_to(recorder: Recorder, root: Path) -> None:
    """Whether `os.link` looks through a symbolic link is taken from what it did."""
    (root / "f").touch()
    (root / "s").symlink_to("f")
    directory = os.open(root, os.O_RDONLY)
    os.link("s", "itself", src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.link("s", "target", src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=True)
    os.close(directory)
    assert list(recorder.ops)[-2:] == [Link(ROOT, "itself", 3), Link(ROOT, "target", 2)]


def test_the_way_up_follows_a_moved_directory(recorder: Recorder, root: Path) -> None:
    """`..` of a directory that was moved is where it is now."""
    (root / "d").mkdir()
    (root / "e").mkdir()
    directory = os.open(root / "d", os.O_RDONLY)
    os.rename(root / "d", root / "e" / "d")
    os.close(os.open("../f", os.O_WRONLY | os.O_CREAT, dir_fd=directory))
    os.close(directory)
    assert list(recorder.ops)[-1] == Create(3, "f", 4)


def test_the_making_of_the_root_is_recorded(patching: object, tmp_path: Path) -> None:
    """An absent root is made by operations on the directories above it, and synced by a sync of those."""
    root = tmp_path / "a" / "root"
    with Recorder(root) as recorder:
        assert recorder.image().directories == frozenset()
        os.makedirs(root)
        sync_directory(root.parent)
        sync_directory(tmp_path)
        (tmp_path / "other").mkdir()
        (tmp_path / "a" / "other").mkdir()
        (root / "f").touch()
    assert list(recorder.ops) == [
        Mkdir(TOP, "a", 1),
        Mkdir(1, "root", 2),
        FsyncDirectory(1),
        FsyncDirectory(TOP),
        Create(2, "f", 3),
    ]
    assert recorder.check_image() == ""


def test_the_root_may_go_again(recorder: Recorder, root: Path) -> None:
    """The removal of the root is an operation too."""
    root.rmdir()
    assert list(recorder.ops) == [Rmdir(TOP, "root", ROOT)]
    assert recorder.check_image() == ""
    root.mkdir()


def test_what_was_there_before_is_the_base(patching: object, root: Path) -> None:
    """Files from before the recording are its base, with their content and their common inodes."""
    (root / "d").mkdir()
    (root / "d" / "f").write_bytes(b"before")
    os.link(root / "d" / "f", root / "g")
    with Recorder(root) as recorder, open(root / "g", "ab") as stream:
        stream.write(b", after")
    assert list(recorder.ops) == [Write(3, 6, b", after")]
    assert dict(recorder.image().files) == {"d/f": b"before, after", "g": b"before, after"}
    assert dict(recorder.base().tree().files) == {"d/f": b"before", "g": b"before"}


def test_a_failed_call_is_no_operation(recorder: Recorder, root: Path) -> None:
    """Errors pass through, and leave neither an operation nor a count."""
    (root / "f").write_bytes(b"x")
    fd = os.open(root, os.O_RDONLY)
    before = len(recorder.ops), recorder.total()
    for call in (
        lambda: os.open(root / "absent", os.O_RDONLY),
        lambda: os.open(root / "f", os.O_CREAT | os.O_EXCL),
        lambda: open(root / "f", "x"),  # noqa: SIM115
        lambda: os.mkdir(root / "f"),
        lambda: os.rmdir(root / "f"),
        lambda: os.unlink(root / "absent"),
        lambda: os.rename(root / "absent", root / "g"),
        lambda: os.link(root / "f", root / "f"),
        lambda: os.symlink("x", root / "f"),
        lambda: os.truncate(root / "absent", 0),
        lambda: os.write(fd, b"x"),
        lambda: os.stat(root / "absent"),
        lambda: os.listdir(root / "absent"),
    ):
        with pytest.raises(OSError, match=r"\[Errno"):
            call()
    assert (len(recorder.ops), recorder.total()) == before
    os.close(fd)


def test_counts_are_kept_for_each_call(recorder: Recorder, root: Path) -> None:
    """Input and output belong to the call under way, and to none between calls."""
    recorder.mark_begin(7)
    with open(root / "f", "wb") as stream:
        stream.write(b"12345")
        stream.flush()
        os.fsync(stream.fileno())
    recorder.mark_end(7)
    os.stat(root / "f")
    recorder.mark_begin(8)
    assert (root / "f").read_bytes() == b"12345"
    assert os.listdir(root) == ["f"]
    recorder.mark_end(8, resolved=False)
    assert recorder.counts(7) == IoCount(bytes_written=5, writes=1, opens=1, syncs=1)
    assert recorder.counts(8) == IoCount(bytes_read=5, reads=1, opens=1, metadata=1, listed=1)
    assert recorder.total() == recorder.counts(7) + recorder.counts(8) + IoCount(metadata=1)
    assert list(zip(recorder.ops, recorder.op_calls, strict=True)) == [
        (CallBegin(7), 7),
        (Create(ROOT, "f", 2), 7),
        (Write(2, 0, b"12345"), 7),
        (Fsync(2), 7),
        (Ack(7), 7),
        (CallBegin(8), 8),
    ]


def test_listings_count_the_entries_they_give(recorder: Recorder, root: Path) -> None:
    """`scandir` counts what was taken from it, `listdir`, `walk` and `glob` what they found."""
    for name in "abc":
        (root / name).touch()
    recorder.mark_begin(1)
    with os.scandir(root) as entries:
        assert next(entries).is_file()
    recorder.mark_end(1)
    recorder.mark_begin(2)
    assert len(list(os.walk(root))) == 1
    recorder.mark_end(2)
    recorder.mark_begin(3)
    assert len(list(root.glob("*"))) == 3
    recorder.mark_end(3)
    assert recorder.counts(1).listed == 1
    assert recorder.counts(2).listed == 3
    assert recorder.counts(3).listed == 3


def test_overlapping_calls_are_told_apart(recorder: Recorder, root: Path) -> None:
    """Tasks that overlap, and the jobs they hand to threads, count for the call that they were started for."""

    async def call(number: int, size: int) -> None:
        recorder.mark_begin(number)
        for _ in range(3):
            await asyncio.sleep(0)
            with open(root / str(number), "ab") as stream:
                stream.write(b"x" * size)
            await asyncio.to_thread((root / f"job {number}").write_bytes, b"y" * size)
        recorder.mark_end(number)

    async def both() -> None:
        await asyncio.gather(call(1, 10), call(2, 100))

    asyncio.run(both())
    assert recorder.counts(1).bytes_written == 60
    assert recorder.counts(2).bytes_written == 600
    for op, number in zip(recorder.ops, recorder.op_calls, strict=True):
        if isinstance(op, Write):
            assert len(op.data) == {1: 10, 2: 100}[number or 0]


def test_a_task_that_outlives_its_call_counts_for_none(recorder: Recorder, root: Path) -> None:
    """What a call left running is not that call's any more, and is the next one's while that is alone under way."""

    async def calls() -> None:
        go = asyncio.Event()

        async def late() -> None:
            await go.wait()
            (root / "late").write_bytes(b"123")

        recorder.mark_begin(1)
        task = asyncio.create_task(late())
        recorder.mark_end(1)
        go.set()
        await task

    asyncio.run(calls())
    assert recorder.counts(1) == IoCount()
    assert recorder.total().bytes_written == 3


def test_wrong_marks_are_refused(recorder: Recorder) -> None:
    """A call begins once and ends once, and has no counts before."""
    recorder.mark_begin(1)
    with pytest.raises(ValueError, match="call=1"):
        recorder.mark_begin(1)
    recorder.mark_end(1)
    with pytest.raises(ValueError, match="call=1"):
        recorder.mark_end(1)
    with pytest.raises(ValueError, match="call=2"):
        recorder.counts(2)


def test_threads_write_in_the_order_that_is_recorded(recorder: Recorder, root: Path) -> None:
    """Threads that append to one file, through one descriptor and several, leave what was recorded."""
    shared = os.open(root / "f", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def work(number: int) -> None:
        own = os.open(root / "f", os.O_WRONLY | os.O_APPEND)
        for turn in range(100):
            os.write(shared, b"%d:%d\n" % (number, turn))
            os.write(own, b"%d.%d\n" % (number, turn))
            os.pwrite(own, b"%d;%d\n" % (number, turn), 0)
        os.close(own)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(shared)
    assert recorder.check_image() == ""
    assert recorder.total().writes == 1200


def test_what_is_written_during_a_sync_stands_behind_it(
    recorder: Recorder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that may be too late for a sync of everything is never told as durable by it."""
    entered: list[bool] = []
    fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT)
    late = threading.Thread(target=lambda: os.write(fd, b"late"))

    def syncing() -> None:
        late.start()
        assert SLOT.session is not None
        lock = SLOT.session.lock

        def probing() -> None:
            entered.append(lock.acquire(blocking=False))
            if entered[0]:
                lock.release()

        probe = threading.Thread(target=probing)
        probe.start()
        probe.join()

    monkeypatch.setattr(real, "sync", syncing)
    os.sync()
    late.join()
    os.close(fd)
    assert entered == [False]
    assert list(recorder.ops) == [Create(ROOT, "f", 2), SyncAll(), Write(2, 0, b"late")]
