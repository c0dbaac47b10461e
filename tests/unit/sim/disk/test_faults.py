"""Storage calls fail as a fault says, exactly where it says, and what was done all the same is recorded."""

from __future__ import annotations

import builtins
import errno
import fcntl
import gc
import io
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from conformance.sim.disk import Fault, Fired, Recorder, RecorderError, ops
from conformance.sim.disk.faults import KINDS

Call = Callable[[Path, int], object]
CALLS: dict[tuple[str, str], Call] = {}
"""(kind, name) -> one storage call, given the root and a descriptor of its file f that holds ten bytes."""


def call(kind: str) -> Callable[[Call], Call]:
    """Enter a call under its kind and name."""

    def enter(body: Call) -> Call:
        CALLS[kind, body.__name__] = body
        return body

    return enter


def simple(kind: str, **bodies: Call) -> None:
    """Enter calls under their names."""
    CALLS.update({(kind, name): body for name, body in bodies.items()})


simple(
    "open",
    os_open=lambda root, fd: os.close(os.open(root / "f", os.O_RDONLY)),
    os_open_directory=lambda root, fd: os.close(os.open(root, os.O_RDONLY)),
    builtins_open=lambda root, fd: builtins.open(root / "f", "rb").close(),
    io_open=lambda root, fd: io.open(root / "f", "ab").close(),  # noqa: UP020
    raw=lambda root, fd: io.FileIO(root / "f").close(),
    pathlib_touch=lambda root, fd: (root / "new").touch(),
    opener=lambda root, fd: open(root / "f", "rb", opener=os.open).close(),
)
simple(
    "read",
    os_read=lambda root, fd: os.read(fd, 3),
    readv=lambda root, fd: os.readv(fd, [bytearray(3)]),
    pread=lambda root, fd: os.pread(fd, 3, 0),
    preadv=lambda root, fd: os.preadv(fd, [bytearray(3)], 0),
    raw_read=lambda root, fd: io.FileIO(fd, closefd=False).read(3),
    raw_readall=lambda root, fd: io.FileIO(fd, closefd=False).readall(),
    raw_readinto=lambda root, fd: io.FileIO(fd, closefd=False).readinto(bytearray(3)),
    buffered=lambda root, fd: open(fd, "rb", closefd=False).read(3),  # noqa: SIM115
)
simple(
    "write",
    os_write=lambda root, fd: os.write(fd, b"abc"),
    writev=lambda root, fd: os.writev(fd, [b"ab", bytearray(b"c")]),
    pwrite=lambda root, fd: os.pwrite(fd, b"abc", 20),
    pwritev=lambda root, fd: os.pwritev(fd, [b"ab", b"c"], 20),
    raw_write=lambda root, fd: io.FileIO(fd, "r+", closefd=False).write(b"abc"),
)
simple(
    "truncate",
    ftruncate=lambda root, fd: os.ftruncate(fd, 5),
    truncate=lambda root, fd: os.truncate(root / "f", 6),
    truncate_descriptor=lambda root, fd: os.truncate(fd, 7),
    fallocate=lambda root, fd: os.posix_fallocate(fd, 0, 30),
    raw_truncate=lambda root, fd: io.FileIO(fd, "r+", closefd=False).truncate(4),
)
simple(
    "sync",
    fsync=lambda root, fd: os.fsync(fd),
    fdatasync=lambda root, fd: os.fdatasync(fd),
    sync=lambda root, fd: os.sync(),
)
simple(
    "rename",
    os_rename=lambda root, fd: os.rename(root / "f", root / "g"),
    os_replace=lambda root, fd: os.replace(root / "f", root / "other"),
)
simple(
    "link",
    os_link=lambda root, fd: os.link(root / "f", root / "g"),
    os_symlink=lambda root, fd: os.symlink("f", root / "g"),
)
simple(
    "unlink",
    os_unlink=lambda root, fd: os.unlink(root / "f"),
    os_remove=lambda root, fd: os.remove(root / "f"),
    os_rmdir=lambda root, fd: os.rmdir(root / "d"),
)
simple("mkdir", os_mkdir=lambda root, fd: os.mkdir(root / "new"))
simple(
    "look",
    os_stat=lambda root, fd: os.stat(root / "f"),
    os_lstat=lambda root, fd: os.lstat(root / "f"),
    os_listdir=lambda root, fd: os.listdir(root),
    os_scandir=lambda root, fd: os.scandir(root).close(),
    os_chmod=lambda root, fd: os.chmod(root / "f", 0o600),
    size=lambda root, fd: os.path.getsize(root / "f"),
    iterdir=lambda root, fd: list(root.iterdir()),
)


@call("read")
def sendfile_from(root: Path, fd: int) -> None:
    """A copy by the kernel out of the root."""
    with open(root.parent / "outside", "wb", buffering=0) as target:
        os.sendfile(target.fileno(), fd, 0, 5)


@call("write")
def copy_file_range(root: Path, fd: int) -> None:
    """A copy by the kernel into the root, from the root: a write as far as faults of writes go."""
    os.copy_file_range(fd, fd, 3, 0, 20)


@call("write")
def splice(root: Path, fd: int) -> None:
    """A copy by the kernel into the root, from a pipe."""
    end, start = os.pipe()
    try:
        os.write(start, b"abc")
        os.splice(end, fd, 3, offset_dst=20)
    finally:
        os.close(end)
        os.close(start)


@call("close")
def os_close(root: Path, fd: int) -> None:
    """`os.close` of a duplicate."""
    os.close(os.dup(fd))


@call("close")
def raw_close(root: Path, fd: int) -> None:
    """`io.FileIO.close`."""
    io.FileIO(root / "f").close()


@call("close")
def text_close(root: Path, fd: int) -> None:
    """The end of a `with` over three layers."""
    with open(root / "f", "r+", encoding="utf-8") as stream:
        stream.write("x")


ALL = [pytest.param(kind, body, id=f"{kind}-{name}") for (kind, name), body in CALLS.items()]


@pytest.fixture
def fd(recorder: Recorder, root: Path) -> Iterator[int]:
    """A descriptor of a file of ten bytes, beside another file and a directory."""
    (root / "f").write_bytes(b"0123456789")
    (root / "other").write_bytes(b"old")
    (root / "d").mkdir()
    found = os.open(root / "f", os.O_RDWR)
    os.fsync(found)
    yield found
    recorder.lift()
    os.close(found)


def code_of(action: Callable[[], object]) -> str:
    """The name of the error that it raises; "" for none."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def tree_of(root: Path) -> dict[str, bytes | None]:
    """Path -> content, None for directories and links."""
    found = {path: path.lstat().st_mode for path in root.rglob("*")}
    return {path.name: path.read_bytes() if stat.S_ISREG(mode) else None for path, mode in found.items()}


def test_every_kind_is_tried() -> None:
    """The table of calls has each kind."""
    assert {kind for kind, _ in CALLS} == set(KINDS)


@pytest.mark.parametrize(("kind", "body"), ALL)
def test_a_refused_call_is_the_nth_and_does_nothing(
    kind: str, body: Call, recorder: Recorder, root: Path, fd: int
) -> None:
    """The first call of the kind is refused, and leaves no trace, but for what a refused sync may have lost."""
    before, done = tree_of(root), len(recorder.ops)
    recorder.arm(Fault(frozenset({kind}), error="ENOSPC"))
    assert len(recorder.fired) == 0
    assert code_of(lambda: body(root, fd)) == "ENOSPC"
    recorder.lift()
    assert [(met.kind, met.error, met.how) for met in recorder.fired] == [(kind, "ENOSPC", "refused")]
    assert len(recorder.raised) == 1
    new = [type(op) for op in list(recorder.ops)[done:]]
    if kind == "close":
        assert set(new) <= {ops.Write}
    else:
        assert set(new) <= ({ops.SyncFailed} if kind == "sync" else set())
        assert tree_of(root) == before
    assert recorder.check_image() == ""


@pytest.mark.parametrize("name", sorted({f"{kind} {name}" for kind, name in CALLS}))
def test_other_kinds_are_not_met(name: str, recorder: Recorder, root: Path, fd: int) -> None:
    """A sticky fault of every kind that a call does not use leaves it alone; what opens closes, and so on."""
    kind = name.split()[0]
    used = {"open": {"close", "look"}, "close": {"open", "write"}, "write": {"read"}}.get(kind, set()) | {kind}
    recorder.arm(Fault(frozenset(KINDS) - used, sticky=True))
    assert code_of(lambda: CALLS[kind, name.split()[1]](root, fd)) == ""
    assert len(recorder.fired) == 0


@pytest.mark.parametrize(("kind", "body"), ALL)
@pytest.mark.parametrize("how", ["refused", "landed"])
def test_the_third_call_is_met_and_no_other(
    kind: str, body: Call, how: str, recorder: Recorder, root: Path, fd: int
) -> None:
    """Of several calls exactly the third is met, or all from the third on where the fault is sticky."""
    if kind in ("rename", "link", "unlink", "mkdir") or body is CALLS["open", "pathlib_touch"]:
        return once_more(kind, body, how, recorder, root, fd)
    recorder.arm(Fault(frozenset({kind}), nth=3, how=how))
    assert [code_of(lambda: body(root, fd)) for _ in range(5)] == ["", "", "EIO", "", ""]
    recorder.arm(Fault(frozenset({kind}), nth=3, how=how, sticky=True))
    assert [code_of(lambda: body(root, fd)) for _ in range(5)] == ["", "", "EIO", "EIO", "EIO"]
    recorder.lift()
    assert code_of(lambda: body(root, fd)) == ""
    assert len(recorder.fired) == len(recorder.raised) == 4
    assert recorder.check_image() == ""
    return None


def once_more(kind: str, body: Call, how: str, recorder: Recorder, root: Path, fd: int) -> None:
    """The same for what cannot be done twice: what is refused can be done afterwards, what has landed is done."""
    recorder.arm(Fault(frozenset({kind}), nth=2, how=how))
    os.mkdir(root / "extra")
    os.rename(root / "extra", root / "extra2")
    os.link(root / "other", root / "extra3")
    os.unlink(root / "extra3")
    with open(root / "other", "rb"):
        assert len(recorder.fired) == 0
    before = tree_of_held(recorder, root)
    assert code_of(lambda: body(root, fd)) == "EIO"
    assert (tree_of_held(recorder, root) == before) == (how == "refused")
    if how == "refused":
        assert code_of(lambda: body(root, fd)) == ""
        assert tree_of_held(recorder, root) != before
    assert [(met.kind, met.how) for met in recorder.fired] == [(kind, how)]
    assert recorder.check_image() == ""


def tree_of_held(recorder: Recorder, root: Path) -> dict[str, bytes | None]:
    """The tree, looked at without being met by a fault."""
    with recorder.held():
        return tree_of(root)


def test_what_landed_is_recorded(recorder: Recorder, root: Path, fd: int) -> None:
    """A write, a sync, a rename and a new file that landed are operations, and there."""
    done = len(recorder.ops)
    for kind, action in (
        ("write", lambda: os.write(fd, b"abc")),
        ("sync", lambda: os.fsync(fd)),
        ("rename", lambda: os.rename(root / "f", root / "g")),
        ("open", lambda: os.open(root / "new", os.O_CREAT | os.O_RDWR)),
    ):
        recorder.arm(Fault(frozenset({kind}), how="landed"))
        assert code_of(action) == "EIO"
    assert [type(op) for op in list(recorder.ops)[done:]] == [ops.Write, ops.Fsync, ops.Rename, ops.Create]
    assert os.lseek(fd, 0, os.SEEK_CUR) == 3
    assert (root / "new").exists()


def test_the_error_is_the_one_that_the_real_function_raises(recorder: Recorder, root: Path, fd: int) -> None:
    """It has the class of its number, the paths as they were given, and is the very object that is kept."""
    recorder.arm(Fault(frozenset({"open", "rename", "sync"}), error="EACCES", sticky=True))
    with pytest.raises(PermissionError) as opening:
        os.open(root / "f", os.O_RDONLY)
    with pytest.raises(PermissionError) as moving:
        os.rename(root / "f", root / "g")
    with pytest.raises(PermissionError, match=r"^\[Errno 13\] Permission denied$") as syncing:
        os.fsync(fd)
    assert recorder.raised == (opening.value, moving.value, syncing.value)
    assert recorder.raised[0] is opening.value
    assert opening.value.filename == root / "f"
    assert (moving.value.filename, moving.value.filename2) == (root / "f", root / "g")
    assert syncing.value.filename is None


def test_paths_are_those_of_now(recorder: Recorder, root: Path, fd: int) -> None:
    """What was met is told with the path that the file has now, however it was reached, and "" where it has none."""
    recorder.arm(Fault(frozenset({"write", "rename", "mkdir", "sync"}), sticky=True))
    directory = os.open(root, os.O_RDONLY)
    below = os.open("d", os.O_RDONLY, dir_fd=directory)
    for action in (
        lambda: os.write(fd, b"x"),
        lambda: os.rename("f", "g", src_dir_fd=directory, dst_dir_fd=directory),
        lambda: os.mkdir("new", dir_fd=below),
        lambda: os.fsync(below),
    ):
        assert code_of(action) == "EIO"
    recorder.lift()
    os.rename(root / "f", root / "d" / "g")
    recorder.arm(Fault(frozenset({"write"}), sticky=True))
    assert code_of(lambda: os.write(fd, b"x")) == "EIO"
    os.unlink(root / "d" / "g")
    assert code_of(lambda: os.write(fd, b"x")) == "EIO"
    for each in (directory, below):
        os.close(each)
    paths = ["f", "f", "d/new", "d", "d/g"]
    assert [each.path for each in recorder.fired] == [*(str(root / path) for path in paths), ""]


def test_counting_alone_has_faults_too(patching: object, root: Path) -> None:
    """Without `record` calls are met as well, and the path is the one that the file was opened by."""
    with Recorder(root, record=False) as recorder:
        with open(root / "f", "wb", buffering=0) as stream:
            recorder.arm(Fault(frozenset({"write", "sync"}), sticky=True))
            assert code_of(lambda: stream.write(b"x")) == "EIO"
            assert code_of(lambda: os.fsync(stream)) == "EIO"
        assert recorder.fired == tuple(Fired(kind, "EIO", "refused", str(root / "f")) for kind in ("write", "sync"))
        assert recorder.total().bytes_written == 0


def test_nothing_outside_is_met(recorder: Recorder, root: Path, tmp_path: Path) -> None:
    """The same calls beside the root neither fail nor count."""
    recorder.arm(Fault(frozenset(KINDS), nth=2))
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "f").write_bytes(b"0123456789")
    os.rename(tmp_path / "beside" / "f", tmp_path / "g")
    os.close(os.open(os.devnull, os.O_RDONLY))
    os.mkdir(root / "first")
    assert code_of(lambda: os.mkdir(root / "second")) == "EIO"


def test_a_fault_at_a_path_meets_what_lies_there_alone(recorder: Recorder, root: Path, fd: int) -> None:
    """Calls about the path, and about what lies below it, are met and counted; none about a name that goes on."""
    (root / "f2").write_bytes(b"x")
    recorder.arm(Fault(frozenset({"open", "read", "write"}), nth=2, sticky=True, at=str(root / "f")))
    (root / "f2").read_bytes()
    assert code_of(lambda: os.read(fd, 1)) == ""
    assert (root / "f2").write_bytes(b"y") == 1
    assert [code_of(lambda: os.write(fd, b"z")), code_of((root / "f").read_bytes)] == ["EIO", "EIO"]
    (root / "e").mkdir()
    (root / "e" / "g").write_bytes(b"x")
    recorder.arm(Fault(frozenset({"open", "look", "rename"}), sticky=True, error="EACCES", at=str(root / "e")))
    assert code_of((root / "e" / "g").read_bytes) == "EACCES"
    assert code_of(lambda: os.listdir(root / "e")) == "EACCES"
    assert code_of(lambda: os.rename(root / "e" / "g", root / "g")) == "EACCES"
    assert {"e", "f", "f2"} <= set(os.listdir(root))
    assert {each.path for each in recorder.fired[2:]} == {str(root / "e"), str(root / "e" / "g")}


def test_held_calls_are_not_met_and_not_counted(recorder: Recorder, root: Path) -> None:
    """What is done while the plan is held, nested too, does not move the count; other threads are met meanwhile."""
    recorder.arm(Fault(frozenset({"mkdir"}), nth=2, sticky=True))
    with recorder.held():
        with recorder.held():
            os.mkdir(root / "a")
        os.mkdir(root / "b")
        codes: list[str] = []

        def elsewhere() -> None:
            codes.extend(code_of(partial(os.mkdir, root / name)) for name in "cde")

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert codes == ["", "EIO", "EIO"]
    assert code_of(lambda: os.mkdir(root / "f")) == "EIO"


def test_a_later_fault_takes_the_place_of_an_earlier_one(recorder: Recorder, root: Path) -> None:
    """Calls count from 1 again, and what was met before stays told."""
    recorder.arm(Fault(frozenset({"mkdir"}), nth=2))
    os.mkdir(root / "a")
    recorder.arm(Fault(frozenset({"mkdir"}), nth=2, error="ENOSPC"))
    os.mkdir(root / "b")
    assert code_of(lambda: os.mkdir(root / "c")) == "ENOSPC"
    recorder.arm(Fault(frozenset({"mkdir"})))
    assert code_of(lambda: os.mkdir(root / "c")) == "EIO"
    assert [each.error for each in recorder.fired] == ["ENOSPC", "EIO"]


def test_looks_that_never_raise_say_no(recorder: Recorder, root: Path, fd: int) -> None:
    """`os.access` and the questions of `os.path` and `pathlib` are answered with no; they all are looks."""
    recorder.arm(Fault(frozenset({"look"}), error="ENOENT", sticky=True))
    path = root / "f"
    answers = [os.access(path, os.R_OK), os.path.exists(path), os.path.isfile(path), os.path.lexists(path)]
    answers += [path.exists(), path.is_file(), os.path.isdir(root), os.path.islink(path)]
    assert answers == [False] * 8
    recorder.lift()
    assert [each.kind for each in recorder.fired] == ["look"] * 8
    assert len(recorder.raised) == 7
    assert os.access(path, os.R_OK)


def test_a_short_write_takes_a_part_and_the_next_meets_the_error(recorder: Recorder, root: Path, fd: int) -> None:
    """The count is that of the part, the error comes at the next write, once or for ever; other kinds are not met."""
    recorder.arm(Fault(frozenset({"write"}), nth=2, error="ENOSPC", how="short", taken=4))
    assert os.write(fd, b"ABC") == 3
    assert os.write(fd, b"abcdefgh") == 4
    os.fsync(fd)
    assert code_of(lambda: os.write(fd, b"efgh")) == "ENOSPC"
    assert os.write(fd, b"efgh") == 4
    recorder.arm(Fault(frozenset({"write"}), error="ENOSPC", how="short", taken=1, sticky=True))
    assert os.pwrite(fd, b"xyz", 0) == 1
    assert [code_of(lambda: os.write(fd, b"!")) for _ in range(3)] == ["ENOSPC"] * 3
    recorder.lift()
    assert (root / "f").read_bytes() == b"xBCabcdefgh"
    found = [(each.error, each.how) for each in recorder.fired]
    assert found == [("", "short"), ("ENOSPC", "refused"), ("", "short"), *[("ENOSPC", "refused")] * 3]


@pytest.mark.parametrize(
    ("put", "taken"),
    [
        (lambda fd: os.writev(fd, [b"ab", b"cdef", b"g"]), 4),
        (lambda fd: os.pwritev(fd, [b"ab", b"cdef", b"g"], 0), 4),
        (lambda fd: os.pwrite(fd, memoryview(b"abcdefgh").cast("I"), 0), 4),
        (lambda fd: io.FileIO(fd, "r+", closefd=False).write(b"abcdefgh"), 4),
        (lambda fd: os.write(fd, b"abc"), 2),
        (lambda fd: os.write(fd, b"a"), 0),
        (lambda fd: os.write(fd, b""), 0),
        (lambda fd: os.copy_file_range(fd, fd, 8, 0, 20), 4),
    ],
    ids=["writev", "pwritev", "items", "raw", "all but one", "of one", "of none", "copy"],
)
def test_how_much_a_short_write_takes(
    put: Callable[[int], int], taken: int, recorder: Recorder, root: Path, fd: int
) -> None:
    """Bytes are counted over all buffers, at most all but one, and a write that takes none returns 0."""
    recorder.arm(Fault(frozenset({"write"}), error="", how="short", taken=4))
    assert put(fd) == taken
    written = [op for op in list(recorder.ops) if isinstance(op, ops.Write)][2:]
    assert [len(op.data) for op in written] == ([taken] if taken else [])
    assert recorder.check_image() == ""


def test_a_short_write_ends_at_the_nth_place(recorder: Recorder, root: Path, fd: int) -> None:
    """Places are counted over all writes, whatever their number; the one that is met ends there, and the next fails."""
    os.ftruncate(fd, 0)
    recorder.arm(Fault(frozenset({"write", "sync"}), nth=4, error="ENOSPC", how="short", place="record"))
    assert os.pwrite(fd, b"no line", 0) == 7
    assert os.pwrite(fd, b"a\nbc\n", 0) == 5
    os.fsync(fd)
    assert os.writev(fd, [b"de", b"\nf\n", b"g"]) == 2
    assert code_of(lambda: os.write(fd, b"\nf\ng")) == "ENOSPC"
    assert os.write(fd, b"\nf\ng") == 4
    assert [(each.error, each.how) for each in recorder.fired] == [("", "short"), ("ENOSPC", "refused")]
    assert recorder.check_image() == ""


def test_every_later_write_ends_at_its_first_place(recorder: Recorder, root: Path, fd: int) -> None:
    """Where every one is met and none fails, whoever goes on writing comes to an end."""
    recorder.arm(Fault(frozenset({"write"}), nth=2, error="", how="short", place="middle", sticky=True))
    sizes = [os.write(fd, data) for data in (b"abcdefgh", b"abcdefgh", b"abcdefgh", b"abc", b"abcde")]
    assert sizes == [8, 4, 4, 3, 2]
    recorder.lift()
    assert os.write(fd, b"abcdefgh") == 8


def test_edges_of_pages_are_those_of_the_file(recorder: Recorder, root: Path, fd: int) -> None:
    """By the position, by an offset, by the end in append mode, and of copies too."""
    os.ftruncate(fd, 4000)
    page = partial(Fault, frozenset({"write"}), error="", how="short", place="page")
    puts: list[Callable[[], int]] = [
        lambda: os.lseek(fd, 4000, os.SEEK_SET) and os.write(fd, b"x" * 300),
        lambda: os.pwrite(fd, b"x" * 300, 8192 - 96),
        lambda: os.copy_file_range(fd, fd, 300, 0, 4096 * 3 - 96),
    ]
    for put in puts:
        recorder.arm(page())
        assert put() == 96
    os.truncate(root / "f", 4095)
    appending = os.open(root / "f", os.O_WRONLY | os.O_APPEND)
    for taken in (1, 4096):
        recorder.arm(page())
        assert os.write(appending, b"x" * 5000) == taken
    os.close(appending)
    assert recorder.check_image() == ""


@pytest.mark.parametrize("taken", [0, 1, 100, 50_000])
@pytest.mark.parametrize("sticky", [False, True])
def test_buffers_go_on_after_a_short_write(taken: int, sticky: bool, recorder: Recorder, root: Path) -> None:
    """Where nothing fails a buffered file and `write_bytes` write the rest by themselves, and come to an end."""
    data = bytes(range(256)) * (1 if sticky else 100)
    recorder.arm(Fault(frozenset({"write"}), error="", how="short", taken=taken, sticky=sticky))
    with open(root / "f", "wb", buffering=16) as stream:
        stream.write(data[:7])
        stream.write(data[7:])
    (root / "g").write_bytes(data)
    recorder.lift()
    assert (root / "f").read_bytes() == (root / "g").read_bytes() == data
    assert {each.how for each in recorder.fired} == {"short"}
    assert recorder.raised == ()


def test_a_buffer_meets_a_full_disk(recorder: Recorder, root: Path) -> None:
    """With an error to follow, the part is there and the buffered file says so when it flushes."""
    recorder.arm(Fault(frozenset({"write"}), error="ENOSPC", how="short", taken=3, sticky=True))
    with pytest.raises(OSError, match="No space left"):
        (root / "f").write_bytes(b"abcdef")
    recorder.lift()
    assert (root / "f").read_bytes() == b"abc"


def test_a_failed_close_closes(recorder: Recorder, root: Path, fd: int) -> None:
    """The descriptor is gone and its number is free, the file object is closed, and what was buffered is written."""
    recorder.arm(Fault(frozenset({"close"}), sticky=True))
    twin = os.dup(fd)
    assert code_of(lambda: os.close(twin)) == "EIO"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(twin)
    stream = open(root / "g", "wb")  # noqa: SIM115
    number = stream.fileno()
    stream.write(b"buffered")
    assert code_of(stream.close) == "EIO"
    assert (stream.closed, stream.raw.closed) == (True, True)
    stream.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        fcntl.fcntl(number, fcntl.F_GETFD)
    recorder.lift()
    assert (root / "g").read_bytes() == b"buffered"
    assert len(recorder.fired) == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("buffering", [0, -1])
def test_a_close_of_garbage_harms_nobody(buffering: int, recorder: Recorder, root: Path) -> None:
    """A file that is collected while closes fail is closed, and nothing is raised; Python 3.13 prints a warning."""
    recorder.arm(Fault(frozenset({"close", "write"}), sticky=True))
    stream = open(root / "f", "wb", buffering)  # noqa: SIM115
    number = stream.fileno()
    if buffering:
        stream.write(b"lost")
    cycle: list[object] = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        fcntl.fcntl(number, fcntl.F_GETFD)
    assert "close" in {each.kind for each in recorder.fired}


def test_a_landed_open_leaves_no_descriptor(recorder: Recorder, root: Path, fd: int) -> None:
    """The file is emptied or made, the number is free, and the next open is given it."""
    expected = os.dup(fd)
    os.close(expected)
    recorder.arm(Fault(frozenset({"open"}), how="landed", sticky=True))
    assert code_of(lambda: open(root / "f", "wb")) == "EIO"  # noqa: SIM115
    assert code_of(lambda: io.FileIO(root / "g", "x")) == "EIO"
    recorder.lift()
    assert ((root / "f").read_bytes(), (root / "g").exists()) == (b"", True)
    found = os.dup(fd)
    os.close(found)
    assert found == expected


def test_failed_syncs_are_told_of_files_alone(recorder: Recorder, root: Path, fd: int) -> None:
    """A refused sync of a file is an operation of its own, that of a directory none; a landed one is a sync."""
    recorder.arm(Fault(frozenset({"sync"}), sticky=True))
    recorder.mark_begin(7)
    for each in (os.fsync, os.fdatasync):
        assert code_of(partial(each, fd)) == "EIO"
    directory = os.open(root, os.O_RDONLY)
    assert code_of(lambda: os.fsync(directory)) == "EIO"
    os.close(directory)
    recorder.mark_end(7)
    found = [(op, call) for op, call in zip(recorder.ops, recorder.op_calls, strict=True) if call == 7]
    assert found[1:-1] == [(ops.SyncFailed(2), 7)] * 2
    assert recorder.counts(7).syncs == 0
    assert code_of(os.sync) == "EIO"
    assert [op for op in list(recorder.ops)[-2:] if isinstance(op, ops.SyncFailed)] == [
        ops.SyncFailed(2),
        ops.SyncFailed(3),
    ]


def test_tools_of_the_library_meet_faults(recorder: Recorder, root: Path, fd: int) -> None:
    """`shutil` fails where the call beneath it does, and leaves what it had done; it has a second way to copy."""
    recorder.arm(Fault(frozenset({"write"}), error="EDQUOT", sticky=True))
    with pytest.raises(OSError, match="quota"):
        shutil.copyfile(root / "f", root / "g")
    recorder.arm(Fault(frozenset({"unlink"}), error="EBUSY"))
    with pytest.raises(OSError, match="busy"):
        shutil.rmtree(root / "d")
    recorder.lift()
    assert ((root / "g").read_bytes(), (root / "d").is_dir()) == (b"", True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calls": frozenset({"flush"})}, "unknown kinds of storage calls: .*'flush'"),
        ({"how": "half"}, "how='half'"),
        ({"error": ""}, "only a short write"),
        ({"error": "EWHAT"}, "error='EWHAT'"),
        ({"nth": 0}, "nth=0"),
        ({"taken": -1, "how": "short"}, "taken=-1"),
        ({"place": "line", "how": "short"}, "place='line'"),
        ({"place": "record"}, "place='record'"),
        ({"place": "record", "how": "short", "taken": 3}, "taken=3"),
    ],
)
def test_senseless_faults_are_refused(options: dict[str, object], message: str) -> None:
    """A fault that could never be understood is refused when it is made, with what there is instead."""
    with pytest.raises(ValueError, match=message):
        Fault(**{"calls": frozenset({"write"}), **options})  # type: ignore[arg-type]


def test_a_recorder_that_was_not_entered_has_no_faults(root: Path) -> None:
    """Asking it says so."""
    with pytest.raises(RecorderError, match="not entered"):
        Recorder(root).arm(Fault(frozenset({"write"})))


def test_faults_end_with_the_recording(patching: object, root: Path) -> None:
    """The next recording knows nothing of a fault that was never lifted."""
    with Recorder(root) as recorder:
        recorder.arm(Fault(frozenset({"mkdir"}), sticky=True))
        assert code_of(lambda: os.mkdir(root / "a")) == "EIO"
    os.mkdir(root / "a")
    with Recorder(root, carried=None) as second:
        os.mkdir(root / "b")
        assert second.fired == ()
    assert len(recorder.fired) == 1
