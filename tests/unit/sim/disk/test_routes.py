"""Every ordinary Python way to files is seen: the image equals the directory, and no byte is missed."""

from __future__ import annotations

import array
import fcntl
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.sim.disk import Recorder, ops

Route = Callable[[Path], object]
ROUTES: dict[str, Route] = {}


def route(body: Route) -> Route:
    """Enter a route under its name."""
    ROUTES[body.__name__] = body
    return body


def opened(path: Path, flags: int) -> int:
    """A descriptor of a file that is made where it is absent."""
    return os.open(path, flags | os.O_CREAT, 0o600)


@route
def write(root: Path) -> None:
    """`os.write` of every kind of buffer, past the end too."""
    fd = opened(root / "f", os.O_WRONLY)
    assert os.write(fd, b"abc") == 3
    os.lseek(fd, 10, os.SEEK_SET)
    os.write(fd, memoryview(b"far"))
    os.write(fd, array.array("I", [1, 2]))
    os.close(fd)


@route
def pwrite(root: Path) -> None:
    """`os.pwrite`, past the end and back."""
    fd = opened(root / "f", os.O_RDWR)
    os.pwrite(fd, b"0123456789", 4)
    os.pwrite(fd, b"XY", 0)
    assert os.pread(fd, 20, 0) == b"XY\0\x000123456789"
    os.close(fd)


@route
def vectors(root: Path) -> None:
    """`os.writev`, `os.pwritev`, and its appending flag."""
    fd = opened(root / "f", os.O_RDWR)
    os.writev(fd, [b"ab", bytearray(b"cd")])
    os.pwritev(fd, [b"12", b"3"], 1)
    os.pwritev(fd, [b"end"], 0, os.RWF_APPEND)
    os.close(fd)


@route
def append_with_two_descriptors(root: Path) -> None:
    """Appending descriptors meet each other's ends."""
    one, other = opened(root / "f", os.O_WRONLY | os.O_APPEND), opened(root / "f", os.O_WRONLY | os.O_APPEND)
    os.write(one, b"one")
    os.write(other, b"other")
    os.write(one, b"three")
    os.pwrite(one, b"lands at the end", 0)
    os.close(one)
    os.close(other)


@route
def append_set_later(root: Path) -> None:
    """A descriptor that learns to append."""
    fd = opened(root / "f", os.O_RDWR)
    os.write(fd, b"abc")
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    os.pwrite(fd, b"def", 0)
    os.close(fd)


@route
def truncate(root: Path) -> None:
    """Every way of setting a size."""
    (root / "f").write_bytes(b"0123456789")
    os.truncate(root / "f", 4)
    fd = os.open(root / "f", os.O_RDWR)
    os.ftruncate(fd, 8)
    os.truncate(fd, 6)
    os.close(fd)
    os.close(os.open(root / "f", os.O_WRONLY | os.O_TRUNC))
    with open(root / "f", "r+b") as stream:
        stream.write(b"abcdef")
        stream.truncate(3)
        stream.seek(5)
        stream.truncate()


@route
def fallocate(root: Path) -> None:
    """Reserved blocks make the size follow."""
    fd = opened(root / "f", os.O_WRONLY)
    os.posix_fallocate(fd, 2, 5)
    os.posix_fallocate(fd, 0, 3)
    os.close(fd)


@route
def duplicates(root: Path) -> None:
    """`dup`, `dup2` and `F_DUPFD` share a file, and `dup2` lets one go."""
    fd = opened(root / "f", os.O_WRONLY)
    os.write(fd, b"a")
    twin = os.dup(fd)
    os.write(twin, b"b")
    third = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(fd)
    os.write(third, b"c")
    other = opened(root / "g", os.O_WRONLY)
    os.dup2(other, twin)
    os.write(twin, b"into g")
    for one in (twin, third, other):
        os.close(one)


@route
def closed_by_range(root: Path) -> None:
    """A number that `closerange` freed belongs to somebody else."""
    fd = fcntl.fcntl(opened(root / "f", os.O_WRONLY), fcntl.F_DUPFD, 200)
    # Opened before the number is free, or it might get that number itself.
    null = os.open(os.devnull, os.O_WRONLY)
    os.closerange(fd, fd + 1)
    other = fcntl.fcntl(null, fcntl.F_DUPFD, fd)
    os.close(null)
    assert other == fd
    os.write(other, b"not under the root")
    os.close(other)


@route
def copies_by_the_kernel(root: Path) -> None:
    """`sendfile`, `copy_file_range` and `splice`."""
    (root / "source").write_bytes(b"0123456789" * 500)
    source = os.open(root / "source", os.O_RDONLY)
    target = opened(root / "f", os.O_WRONLY)
    os.sendfile(target, source, 10, 1000)
    os.copy_file_range(source, target, 100, 5, 2000)
    os.copy_file_range(source, target, 7)
    end, start = os.pipe()
    os.write(start, b"through a pipe")
    os.splice(end, target, 14, offset_dst=3000)
    for fd in (source, target, end, start):
        os.close(fd)


@route
def text(root: Path) -> None:
    """Text files in several encodings and line ends."""
    with open(root / "f", "w", encoding="utf-8") as stream:
        stream.write("hällo\n")
        stream.flush()
        print("printed", file=stream)
    with open(root / "f", "a", encoding="utf-16-le") as stream:
        stream.write("x")
    with open(root / "f", "r+", encoding="utf-8", newline="\r\n") as stream:
        assert stream.readline() == "hällo\nprinted\nx\0"
        stream.seek(0)
        stream.write("first\n")


@route
def binary(root: Path) -> None:
    """Buffered and unbuffered binary files in every mode."""
    with open(root / "f", "xb") as stream:
        stream.write(b"x" * 20_000)
        stream.write(b"tail")
    with open(root / "f", "r+b", buffering=0) as stream:
        stream.seek(5)
        stream.write(b"unbuffered")
    with open(root / "f", "ab+") as stream:
        stream.write(b"at the end")
        stream.seek(0)
        assert stream.read(3) == b"xxx"
    with open(root / "f", "rb+") as stream:
        stream.seek(-3, os.SEEK_END)
        stream.writelines([b"1", b"2"])
    with open(root / "f", "w+b", buffering=7) as stream:
        stream.write(b"more than seven bytes")


@route
def over_a_descriptor(root: Path) -> None:
    """File objects over a descriptor, which they close or leave open."""
    fd = opened(root / "f", os.O_RDWR)
    with os.fdopen(fd, "wb", closefd=False) as stream:
        stream.write(b"kept open")
    os.write(fd, b", and used")
    with open(fd, "r+b") as stream:
        stream.write(b"KEPT")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(fd, b"closed")


@route
def raw_file(root: Path) -> None:
    """`io.FileIO` by itself and by a subclass."""
    with io.FileIO(root / "f", "w") as stream:
        stream.write(b"raw")
        assert isinstance(stream, io.FileIO)

    class Own(io.FileIO):
        pass

    with Own(root / "f", "a") as own:
        own.write(b", and a subclass")


@route
def dropped_without_close(root: Path) -> None:
    """A buffer that the collector flushes."""
    stream = open(root / "f", "wb")  # noqa: SIM115
    stream.write(b"flushed when collected")
    with pytest.warns(ResourceWarning):
        del stream


@route
def with_pathlib(root: Path) -> None:
    """The methods of path objects."""
    (root / "a").mkdir()
    (root / "a" / "b" / "c").mkdir(parents=True)
    file = root / "a" / "f"
    file.write_text("text", encoding="utf-8")
    file.touch()
    (root / "empty").touch()
    assert file.read_bytes() == b"text"
    file.rename(root / "g").replace(root / "a" / "b" / "g")
    (root / "empty").unlink()
    (root / "a" / "b" / "c").rmdir()
    (root / "link").symlink_to("a/b/g")
    (root / "link").write_bytes(b"through the link")
    (root / "hard").hardlink_to(root / "a" / "b" / "g")
    with (root / "hard").open("ab") as stream:
        stream.write(b"!")


@route
def with_tempfile(root: Path) -> None:
    """Temporary files of every kind."""
    with tempfile.NamedTemporaryFile(dir=root) as stream:
        stream.write(b"gone with its name")
        stream.flush()
    with tempfile.NamedTemporaryFile("w", dir=root, delete=False) as kept:
        kept.write("kept")
    os.replace(kept.name, root / "f")
    fd, name = tempfile.mkstemp(dir=root)
    os.write(fd, b"by mkstemp")
    os.close(fd)
    with tempfile.TemporaryFile(dir=root) as stream:
        stream.write(b"never had a name")
    with tempfile.TemporaryDirectory(dir=root) as directory:
        Path(directory, "f").write_bytes(b"1")
    with tempfile.SpooledTemporaryFile(max_size=3, dir=str(root)) as spool:
        spool.write(b"rolls over to the disk")
    assert Path(name).exists()


@route
def with_shutil(root: Path) -> None:
    """Copies, moves and removals of files and trees."""
    (root / "f").write_bytes(b"0" * 100_000)
    shutil.copyfile(root / "f", root / "g")
    shutil.copy2(root / "f", root / "h")
    (root / "d").mkdir()
    shutil.move(root / "h", root / "d")
    shutil.copytree(root / "d", root / "e")
    shutil.rmtree(root / "d")
    with open(root / "g", "rb") as source, open(root / "i", "wb") as target:
        shutil.copyfileobj(source, target)


@route
def by_directory_descriptor(root: Path) -> None:
    """The `dir_fd` forms."""
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    os.mkdir("d", dir_fd=directory)
    below = os.open("d", os.O_RDONLY, dir_fd=directory)
    fd = os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=below)
    os.write(fd, b"abc")
    os.close(fd)
    os.rename("d", "e", src_dir_fd=directory, dst_dir_fd=directory)
    os.link("f", "g", src_dir_fd=below, dst_dir_fd=directory)
    os.symlink("g", "s", dir_fd=directory)
    os.replace("f", "../h", src_dir_fd=below, dst_dir_fd=below)
    os.unlink("g", dir_fd=directory)
    os.mkdir("sub", dir_fd=below)
    os.rmdir("sub", dir_fd=below)
    os.close(below)
    os.close(directory)


@route
def replaced_while_open(root: Path) -> None:
    """An open file keeps its content when its name goes to another."""
    (root / "f").write_bytes(b"old")
    with open(root / "f", "r+b") as old:
        (root / "g").write_bytes(b"new")
        os.replace(root / "g", root / "f")
        old.write(b"OLD")
        os.unlink(root / "f")
    (root / "f").write_bytes(b"again")


@route
def names_of_one_file(root: Path) -> None:
    """A rename between two names of one file does nothing."""
    (root / "f").write_bytes(b"1")
    os.link(root / "f", root / "g")
    os.rename(root / "f", root / "g")
    os.rename(root / "f", root / "f")
    assert sorted(os.listdir(root)) == ["f", "g"]


@route
def directories_moved(root: Path) -> None:
    """Directories move with what is below them."""
    os.makedirs(root / "a" / "b")
    (root / "a" / "b" / "f").write_bytes(b"1")
    (root / "c").mkdir()
    os.rename(root / "a" / "b", root / "c")
    with open(root / "c" / ".." / "c" / "f", "ab") as stream:
        stream.write(b"2")
    os.renames(root / "c" / "f", root / "x" / "y" / "f")


@route
def names_that_are_odd(root: Path) -> None:
    """Names beyond ASCII, beyond UTF-8, and with superfluous slashes and dots."""
    (root / "ü\udcff\n").write_bytes(b"1")
    with open(os.fsencode(root) + b"/\xfe", "wb") as stream:
        stream.write(b"2")
    os.mkdir(f"{root}//d/")
    Path(f"{root}/d/./e").write_bytes(b"3")


@pytest.mark.parametrize("name", ROUTES)
def test_what_a_route_writes_is_in_the_image(name: str, recorder: Recorder, root: Path) -> None:
    """After any route the recorder's image equals the directory, and something was recorded."""
    ROUTES[name](root)
    assert recorder.check_image() == ""
    assert recorder.blind == ""
    assert recorder.ops
    written = sum(len(op.data) for op in recorder.ops if isinstance(op, ops.Write))
    assert recorder.total().bytes_written == written


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_is_counted_the_same_without_recording(name: str, patching: object, tmp_path: Path) -> None:
    """Counting alone gives the counts that recording gives."""
    totals = []
    for record in (True, False):
        root = tmp_path / str(record)
        root.mkdir()
        with Recorder(root, record=record) as recorder:
            ROUTES[name](root)
        totals.append(recorder.total())
    assert totals[0] == totals[1]


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_outside_the_root_leaves_no_trace(name: str, recorder: Recorder, tmp_path: Path) -> None:
    """The same work in a directory beside the root is neither recorded nor counted."""
    outside = tmp_path / "beside"
    outside.mkdir()
    ROUTES[name](outside)
    assert list(recorder.ops) == []
    assert recorder.total() == type(recorder.total())()
