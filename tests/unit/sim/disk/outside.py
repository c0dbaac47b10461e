"""A program for ``strace``: every ordinary Python way to files, and some that are not, with the recorder on.

Called with a root that is there, and with the place where what the recorder saw is written down.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from conformance.sim.disk import Recorder
from conformance.sim.disk.ops import Write
from tests.unit.sim.disk.test_routes import ROUTES


def threads(root: Path) -> None:
    """Four threads append to one descriptor and sync it."""
    fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def work(number: int) -> None:
        for count in range(20):
            os.write(fd, bytes([65 + number]) * (number + count))
            os.fsync(fd)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    os.close(fd)


def relative(root: Path) -> None:
    """Names from the working directory, from a descriptor of a directory, and with dots in them."""
    before = os.getcwd()
    os.chdir(root)
    try:
        os.mkdir("d")
        Path("d/f").write_bytes(b"first")
        os.rename("d/f", "./d/../g")
        at = os.open("d", os.O_RDONLY)
        os.close(os.open("in d", os.O_WRONLY | os.O_CREAT, dir_fd=at))
        os.chdir("d")
        os.unlink("in d")
        os.fsync(at)
        os.close(at)
    finally:
        os.chdir(before)


def awkward(root: Path) -> None:
    """Names with quotes, brackets, commas, line ends and bytes that are no text."""
    for name in (b'a"b', b"a>b, (c", b"a\nb", b"a\\x41", b"\xff\xfe", "ä€".encode()):
        with open(os.path.join(os.fsencode(root), name), "wb") as file:
            file.write(name)


def main(root: Path, told: Path) -> None:
    """Do it all, each way in a directory of its own."""
    with Recorder(root) as recorder:
        for name, way in {**ROUTES, "threads": threads, "relative": relative, "awkward": awkward}.items():
            (root / name).mkdir()
            way(root / name)
        # A child has files of its own, and changes none of the root's.
        subprocess.run([sys.executable, "-c", "import os; os.dup2(0, 9)"], stdin=subprocess.DEVNULL, check=True)
        recorded = "\n".join(shape(op) for op in recorder.ops)
        assert recorder.doubts() == ()
    told.write_text(recorded, "utf-8", "surrogateescape")


def shape(op: object) -> str:
    """An operation; of a write the length alone."""
    return f"Write({op.ino}, {op.offset}, {len(op.data)})" if isinstance(op, Write) else repr(op)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
