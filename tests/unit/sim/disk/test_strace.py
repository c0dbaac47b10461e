"""The recorder from outside: lines of ``strace`` become the operations that the recorder in the process makes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.sim.disk import ops
from conformance.sim.disk.strace import Replay
from conformance.sim.disk.strace_lines import (
    SystemCall,
    command,
    data_of,
    descriptor_of,
    flags_of,
    hexed,
    path_of,
    system_calls,
)
from tests.unit.sim.disk.outside import shape

TOP = Path(__file__).resolve().parents[4]


def may_trace() -> str:
    """Why nothing can be traced here; "" where it can."""
    if shutil.which("strace") is None:
        return "strace is not on this machine"
    tried = subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else f"strace may not trace here: {tried.stderr.decode(errors='replace')[:80]}"


NO_STRACE = may_trace()
needs_strace = pytest.mark.skipif(bool(NO_STRACE), reason=NO_STRACE or "it is there")


def strung(text: str, root: Path) -> list[str]:
    """Lines as ``strace`` writes them; between double quotes or after ``<`` stands what it writes in hexadecimal."""
    lines = []
    for line in text.replace("~", str(root)).splitlines():
        parts = line.strip().split('"')
        parts[1::2] = [f'"{hexed(part)}"' for part in parts[1::2]]
        pieces = "".join(parts).split("<")
        for number, piece in enumerate(pieces):
            inside, end, rest = piece.partition(">")
            if number and end and inside.startswith("/"):
                pieces[number] = f"{hexed(inside)}>{rest}"
        lines.append("<".join(pieces))
    return [line for line in lines if line]


def operations(text: str, root: Path, *, reasons: tuple[str, ...] = ()) -> list[ops.DiskOp]:
    """What the lines come to, with the root there and empty."""
    root.mkdir(exist_ok=True)
    replay = Replay(root, "/somewhere")
    replay.feed(strung(text, root))
    assert tuple(replay.reasons) == reasons
    return list(replay.trace().ops)


ROOT, FILE = 1, 2
"""The inodes of the root and of the first file that is made in it."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where it all happens."""
    return tmp_path / "root"


def test_a_call_is_taken_apart() -> None:
    """Arguments are split at commas outside brackets, and the result is a number."""
    (call,) = system_calls(['12 writev(3<\\x2f>, [{iov_base="\\x61", iov_len=1}, {iov_len=0}], 2) = 1'])
    assert call == SystemCall(12, "writev", ("3<\\x2f>", '[{iov_base="\\x61", iov_len=1}, {iov_len=0}]', "2"), "1")
    assert call.number == 1


@pytest.mark.parametrize(
    ("result", "number"),
    [
        ("0", 0),
        ("7<\\x2f>", 7),
        ("-1 ENOENT (No such file or directory)", -1),
        ("0x1f", 31),
        ("?", -1),
        ("? ERESTARTSYS (Restart)", -1),
    ],
)
def test_a_result_is_a_number(result: str, number: int) -> None:
    """A failure and a call that never returned are below zero."""
    assert SystemCall(1, "open", (), result).number == number


def test_an_interrupted_call_stands_where_it_ended() -> None:
    """Calls of several threads are put together by thread, in the order of their ends."""
    lines = [
        "1 fsync(3 <unfinished ...>",
        "2 fdatasync(4 <unfinished ...>",
        "1 <... fsync resumed>)              = 0",
        "3 +++ exited with 0 +++",
        "2 <... fdatasync resumed>) = 0",
        "1 read(5,  <unfinished ...>",
        "1 <... read resumed>0x10, 0x20) = 0x3",
        "4 fsync(6 <unfinished ...>",
    ]
    found = [(call.thread, call.name, call.args, call.number) for call in system_calls(lines)]
    assert found == [(1, "fsync", ("3",), 0), (2, "fdatasync", ("4",), 0), (1, "read", ("5", "0x10", "0x20"), 3)]


def test_words_become_values() -> None:
    """Strings, descriptors and flags, as the one format that is asked for writes them."""
    assert path_of('"\\x2f\\xff"') == "/\udcff"
    assert path_of("NULL") == ""
    assert data_of('"\\x61\\x62"...', 4) == b"ab\0\0"
    assert data_of('[{iov_base="\\x61\\x62", iov_len=2}, {iov_base="\\x63", iov_len=1}]', 2) == b"ab"
    assert descriptor_of("3<\\x2f\\x61>(deleted)").path == "/a"
    assert descriptor_of("AT_FDCWD<\\x2f>").number is None
    assert not descriptor_of("4<pipe:[17]>").is_file
    assert flags_of("O_RDWR|O_APPEND|0x40") == os.O_RDWR | os.O_APPEND | 0x40
    with pytest.raises(ValueError, match="no descriptor"):
        descriptor_of("NULL")


def test_a_life_of_a_file(root: Path) -> None:
    """Made, written, synced, renamed; what failed is no operation, and closing is none."""
    found = operations(
        """
        1 openat(AT_FDCWD</somewhere>, "~/none", O_RDONLY) = -1 ENOENT (No such file or directory)
        1 openat(AT_FDCWD</somewhere>, "~/f", O_WRONLY|O_CREAT|O_CLOEXEC, 0666) = 3<~/f>
        1 write(3<~/f>, "abc", 3) = 3
        1 pwrite64(3<~/f>, "xy", 2, 1) = 1
        1 write(3<~/f>, "d", 1) = 1
        1 fdatasync(3<~/f>) = 0
        1 fsync(3<~/f>) = -1 EIO (Input/output error)
        1 close(3<~/f>) = 0
        1 rename("~/f", "~/g") = 0
        1 openat(AT_FDCWD</somewhere>, "~", O_RDONLY|O_DIRECTORY) = 3<~>
        1 fsync(3<~>) = 0
        1 unlinkat(3<~>, "g", 0) = 0
        1 sync() = 0
        """,
        root,
    )
    assert found == [
        ops.Create(ROOT, "f", FILE),
        ops.Write(FILE, 0, b"abc"),
        ops.Write(FILE, 1, b"x"),
        ops.Write(FILE, 3, b"d"),
        ops.Fdatasync(FILE),
        ops.Rename(ROOT, "f", ROOT, "g", FILE, None),
        ops.FsyncDirectory(ROOT),
        ops.Unlink(ROOT, "g", FILE),
        ops.SyncAll(),
    ]


def test_writes_land_where_the_descriptor_stands(root: Path) -> None:
    """Reads, seeks and duplicates move the position; appending goes to the end; O_DSYNC and RWF_SYNC sync."""
    found = operations(
        """
        1 open("~/f", O_RDWR|O_CREAT, 0666) = 3<~/f>
        1 write(3<~/f>, "abcdef", 6) = 6
        1 lseek(3<~/f>, 1, SEEK_SET) = 1
        1 read(0x3, 0x7f00, 0x2) = 0x2
        1 fcntl(3<~/f>, F_DUPFD_CLOEXEC, 0) = 7<~/f>
        1 write(7<~/f>, "D", 1) = 1
        1 fcntl(3<~/f>, F_SETFL, O_RDWR|O_APPEND) = 0
        1 pwritev2(3<~/f>, [{iov_base="g", iov_len=1}], 1, 0, RWF_SYNC) = 1
        1 open("~/f", O_WRONLY|O_DSYNC|O_TRUNC) = 4<~/f>
        1 write(4<~/f>, "new", 3) = 3
        1 sendfile(4<~/f>, 3<~/f>, [0] => [2], 2) = 2
        """,
        root,
    )
    assert found == [
        ops.Create(ROOT, "f", FILE),
        ops.Write(FILE, 0, b"abcdef"),
        ops.Write(FILE, 3, b"D"),
        ops.Write(FILE, 6, b"g"),
        ops.Fsync(FILE),
        ops.Truncate(FILE, 7, 0),
        ops.Write(FILE, 0, b"new"),
        ops.Fdatasync(FILE),
        ops.Write(FILE, 3, b"\0\0"),
        ops.Fdatasync(FILE),
    ]


def test_names_and_sizes(root: Path) -> None:
    """Directories, links, symbolic links, sizes and reserved blocks, by every spelling."""
    found = operations(
        """
        1 chdir("~") = 0
        1 mkdir("d", 0777) = 0
        1 creat("d/f", 0666) = 3<~/d/f>
        1 ftruncate(3<~/d/f>, 10) = 0
        1 truncate("d/f", 4) = 0
        1 fallocate(3<~/d/f>, 0, 0, 20) = 0
        1 fallocate(3<~/d/f>, FALLOC_FL_KEEP_SIZE, 0, 40) = 0
        1 linkat(AT_FDCWD<~>, "/proc/self/fd/3", AT_FDCWD<~>, "l", AT_SYMLINK_FOLLOW) = 0
        1 symlink("d/f", "s") = 0
        1 unlink("l") = 0
        1 renameat2(AT_FDCWD<~>, "s", AT_FDCWD<~>, "t", RENAME_NOREPLACE) = 0
        1 unlink("d/f") = 0
        1 rmdir("d") = 0
        """,
        root,
    )
    directory, file, link = 2, 3, 4
    assert found == [
        ops.Mkdir(ROOT, "d", directory),
        ops.Create(directory, "f", file),
        ops.Truncate(file, 0, 10),
        ops.Truncate(file, 10, 4),
        ops.Fallocate(file, 0, 20, False),
        ops.Fallocate(file, 0, 40, True),
        ops.Link(ROOT, "l", file),
        ops.Symlink(ROOT, "s", link, "d/f"),
        ops.Unlink(ROOT, "l", file),
        ops.Rename(ROOT, "s", ROOT, "t", link, None),
        ops.Unlink(directory, "f", file),
        ops.Rmdir(ROOT, "d", directory),
    ]


def test_children_have_what_their_makers_had(root: Path) -> None:
    """A thread shares descriptors, a child has a copy; a child may be heard of before its maker's call ends."""
    found = operations(
        """
        1 openat(AT_FDCWD</somewhere>, "~/f", O_WRONLY|O_CREAT, 0666) = 3<~/f>
        1 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f}, 88 <unfinished ...>
        2 openat(AT_FDCWD</somewhere>, "~/g", O_WRONLY|O_CREAT, 0666) = 4<~/g>
        1 <... clone3 resumed>) = 2
        1 fsync(4<~/g>) = 0
        1 vfork( <unfinished ...>
        9 fsync(3<~/f>) = 0
        9 close(3<~/f>) = 0
        1 <... vfork resumed>) = 9
        1 fdatasync(3<~/f>) = 0
        """,
        root,
    )
    assert found == [
        ops.Create(ROOT, "f", FILE),
        ops.Create(ROOT, "g", FILE + 1),
        ops.Fsync(FILE + 1),
        ops.Fsync(FILE),
        ops.Fdatasync(FILE),
    ]


def test_numbers_are_used_again(root: Path) -> None:
    """A number that was closed, or belongs to a pipe by now, is no file of the root any more."""
    found = operations(
        """
        1 openat(AT_FDCWD</somewhere>, "~/f", O_WRONLY|O_CREAT, 0666) = 3<~/f>
        1 dup2(3<~/f>, 5) = 5<~/f>
        1 write(5<pipe:[8]>, "x", 1) = 1
        1 close_range(3, 4, 0) = 0
        1 openat(AT_FDCWD</somewhere>, "/etc/passwd", O_RDONLY) = 3</etc/passwd>
        1 write(3</etc/passwd>, "x", 1) = 1
        1 mkdir("/elsewhere", 0777) = 0
        1 openat(AT_FDCWD</somewhere>, "~/f", O_RDONLY) = 5<~/f>
        1 close(5<~/f>) = -1 EIO (Input/output error)
        1 fsync(5) = 0
        """,
        root,
    )
    assert found == [ops.Create(ROOT, "f", FILE)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 3<~/f>, 0) = 0x7f", "'root/f' was mapped into memory for"),
        ("io_uring_setup(8, {flags=0}) = 9", "io_uring_setup was called"),
        ("io_submit(0x7f, 1, [0x7f]) = 1", "io_submit was called"),
        ("ioctl(3<~/f>, FICLONE, 4) = 0", "a reflink"),
        ("fallocate(3<~/f>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 1) = 0", "FALLOC_FL_PUNCH_HOLE"),
        ('renameat2(AT_FDCWD</>, "~/f", AT_FDCWD</>, "~/g", RENAME_EXCHANGE) = 0', "RENAME_EXCHANGE"),
        ('mknodat(AT_FDCWD</>, "~/p", S_IFIFO|0666) = 0', "made by mknod"),
        ("fsync(8<~/f>) = 0", "was not seen opening it"),
        ('rename("/elsewhere", "~/x") = 0', "crossed the border"),
    ],
)
def test_what_cannot_be_followed_is_a_reason(root: Path, line: str, reason: str) -> None:
    """Mappings, rings, exchanges and strangers' descriptors are named, never taken for nothing."""
    root.mkdir()
    replay = Replay(root, "/")
    replay.feed(strung(f'1 open("~/f", O_RDWR|O_CREAT, 0666) = 3<~/f>\n1 {line}', root))
    assert len(replay.reasons) == 1
    assert reason in replay.reasons[0]


def test_a_private_mapping_is_none(root: Path) -> None:
    """What is mapped for reading, or privately, or belongs to no file of the root, changes nothing there."""
    operations(
        """
        1 open("~/f", O_RDWR|O_CREAT, 0666) = 3<~/f>
        1 mmap(NULL, 9, PROT_READ, MAP_SHARED, 3<~/f>, 0) = 0x7f
        1 mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3<~/f>, 0) = 0x7f
        1 mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0) = 0x7f
        """,
        root,
    )


@needs_strace
def test_both_recorders_see_the_same(tmp_path: Path) -> None:
    """Every way that the recorder knows comes out the same from outside: operation by operation, threads too."""
    root, told, lines = tmp_path / "root", tmp_path / "told", tmp_path / "lines"
    root.mkdir()
    replay = Replay(root, str(TOP))
    program = [sys.executable, "-m", "tests.unit.sim.disk.outside", str(root), str(told)]
    run = subprocess.run(command(program, str(lines)), cwd=TOP, capture_output=True, check=False)
    assert told.exists(), run.stderr.decode(errors="replace")
    replay.feed(lines.read_text("ascii").splitlines())
    assert replay.reasons == []
    seen = [shape(op) for op in replay.trace().ops]
    recorded = told.read_text("utf-8", "surrogateescape").split("\n")
    assert seen == recorded
    assert len(seen) > 300
