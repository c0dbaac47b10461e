"""Any mix of file operations, by any routes, leaves a directory that the recorder's image equals."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from conformance.sim.disk import Patching, Recorder
from conformance.sim.disk.ops import Write

NAMES = st.sampled_from(["a", "b", "d/a", "d/e/a", "s/a", "s"])
DIRECTORIES = st.sampled_from(["d", "e", "d/e", "s"])
DATA = st.binary(max_size=20)
WHICH = st.integers(0, 3)
OFFSETS = st.integers(0, 30)
MODES = st.sampled_from(["wb", "ab", "xb", "rb", "r+b", "w+b", "a+b"])
FLAGS = st.sampled_from(
    [
        os.O_RDWR | os.O_CREAT,
        os.O_RDWR | os.O_CREAT | os.O_APPEND,
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
        os.O_RDWR | os.O_CREAT | os.O_EXCL,
        os.O_RDWR | os.O_NOFOLLOW,
        os.O_WRONLY | os.O_DSYNC,
        os.O_RDONLY,
    ]
)


class Files(RuleBasedStateMachine):
    """Random file operations under one recorder, whose errors are part of the game."""

    def __init__(self) -> None:
        super().__init__()
        self.parent = Path(tempfile.mkdtemp())
        self.root = self.parent / "root"
        (self.root / "d" / "e").mkdir(parents=True)
        (self.root / "a").write_bytes(b"from before")
        (self.root / "s").symlink_to("d")
        self.refused: Exception | None = None
        self.recorder = Recorder(self.root).__enter__()
        self.descriptors = [os.open(self.path("a"), os.O_RDWR), os.open(self.path("a"), os.O_RDWR | os.O_APPEND)]
        self.streams: list[Any] = [open(self.path("d/a"), "w+b")]  # noqa: SIM115

    def teardown(self) -> None:
        """The end of one game: replay it, and leave nothing."""
        for stream in self.streams:
            stream.close()
        for fd in self.descriptors:
            os.close(fd)
        self.check()
        replayed = self.recorder.base()
        for op in self.recorder.ops:
            replayed.apply(op)
        assert replayed.tree() == self.recorder.image()
        written = sum(len(op.data) for op in self.recorder.ops if isinstance(op, Write))
        assert self.recorder.total().bytes_written == written
        self.recorder.__exit__()
        shutil.rmtree(self.parent)

    @invariant()
    def check(self) -> None:
        """The image equals the directory."""
        assert self.recorder.check_image() == ""
        assert self.recorder.blind == ""

    def attempt(self, call: Callable[[], object]) -> None:
        """Do it, whether or not the file system likes it: a refused call must leave no trace in the image."""
        try:
            call()
        except (OSError, shutil.Error, ValueError) as error:
            self.refused = error

    def path(self, name: str) -> str:
        """A path under the root."""
        return os.path.join(self.root, name)

    @rule(name=NAMES, flags=FLAGS)
    def open_descriptor(self, name: str, flags: int) -> None:
        """Open or make a file by `os.open`."""
        self.attempt(lambda: self.descriptors.append(os.open(self.path(name), flags)))

    @rule(name=NAMES, mode=MODES, buffering=st.sampled_from([-1, 0, 8]))
    def open_stream(self, name: str, mode: str, buffering: int) -> None:
        """Open or make a file by `open`."""
        self.attempt(lambda: self.streams.append(open(self.path(name), mode, buffering=buffering)))  # noqa: SIM115

    @rule(which=WHICH, data=DATA, at=st.none() | OFFSETS)
    def write_descriptor(self, which: int, data: bytes, at: int | None) -> None:
        """Write at the position or elsewhere."""
        if self.descriptors:
            fd = self.descriptors[which % len(self.descriptors)]
            self.attempt(lambda: os.write(fd, data) if at is None else os.pwrite(fd, data, at))

    @rule(which=WHICH, data=DATA, at=st.none() | OFFSETS)
    def write_stream(self, which: int, data: bytes, at: int | None) -> None:
        """Seek and write."""
        if self.streams:
            stream = self.streams[which % len(self.streams)]
            self.attempt(lambda: (at is not None and stream.seek(at), stream.write(data)))

    @rule(which=WHICH, size=st.none() | OFFSETS)
    def truncate_stream(self, which: int, size: int | None) -> None:
        """Cut or grow through a file object."""
        if self.streams:
            self.attempt(lambda: self.streams[which % len(self.streams)].truncate(size))

    @rule(which=WHICH)
    def use_stream(self, which: int) -> None:
        """Read and flush."""
        if self.streams:
            self.attempt(
                lambda: (
                    self.streams[which % len(self.streams)].read(3),
                    self.streams[which % len(self.streams)].flush(),
                )
            )

    @rule(which=WHICH, size=OFFSETS, reserve=st.booleans())
    def resize_descriptor(self, which: int, size: int, reserve: bool) -> None:
        """Cut, grow or reserve."""
        if self.descriptors:
            fd = self.descriptors[which % len(self.descriptors)]
            self.attempt(lambda: os.posix_fallocate(fd, 3, size) if reserve else os.ftruncate(fd, size))

    @rule(which=WHICH)
    def duplicate(self, which: int) -> None:
        """One more descriptor of an open file."""
        if self.descriptors:
            self.descriptors.append(os.dup(self.descriptors[which % len(self.descriptors)]))

    @rule(which=WHICH, other=WHICH)
    def duplicate_over(self, which: int, other: int) -> None:
        """One descriptor in another's place."""
        if self.descriptors:
            os.dup2(self.descriptors[which % len(self.descriptors)], self.descriptors[other % len(self.descriptors)])

    @rule(which=WHICH)
    def close_descriptor(self, which: int) -> None:
        """Close a descriptor."""
        if self.descriptors:
            os.close(self.descriptors.pop(which % len(self.descriptors)))

    @rule(which=WHICH)
    def close_stream(self, which: int) -> None:
        """Close a file object."""
        if self.streams:
            self.streams.pop(which % len(self.streams)).close()

    @rule(source=NAMES | DIRECTORIES, goal=NAMES | DIRECTORIES)
    def rename(self, source: str, goal: str) -> None:
        """Move a file, a link or a directory, over another or not."""
        self.attempt(lambda: os.replace(self.path(source), self.path(goal)))

    @rule(source=NAMES, goal=NAMES, follow=st.booleans())
    def link(self, source: str, goal: str, follow: bool) -> None:
        """Give a file or a link one more name."""
        self.attempt(lambda: os.link(self.path(source), self.path(goal), follow_symlinks=follow))

    @rule(name=NAMES, leads_to=st.sampled_from(["d", "a", "../a", "d/../a", "s", "nowhere"]))
    def symlink(self, name: str, leads_to: str) -> None:
        """Make a symbolic link, broken and looping ones too."""
        self.attempt(lambda: os.symlink(leads_to, self.path(name)))

    @rule(name=NAMES, data=DATA)
    def write_file(self, name: str, data: bytes) -> None:
        """Make or replace a file in one go."""
        self.attempt(lambda: Path(self.path(name)).write_bytes(data))

    @rule(name=NAMES)
    def unlink(self, name: str) -> None:
        """Remove a name."""
        self.attempt(lambda: os.unlink(self.path(name)))

    @rule(name=DIRECTORIES)
    def make_directory(self, name: str) -> None:
        """Make a directory."""
        self.attempt(lambda: os.mkdir(self.path(name)))

    @rule(name=DIRECTORIES, tree=st.booleans())
    def remove_directory(self, name: str, tree: bool) -> None:
        """Remove an empty directory, or a tree."""
        self.attempt(lambda: shutil.rmtree(self.path(name)) if tree else os.rmdir(self.path(name)))

    @rule(name=NAMES, size=OFFSETS)
    def truncate_path(self, name: str, size: int) -> None:
        """Cut or grow by path."""
        self.attempt(lambda: os.truncate(self.path(name), size))

    @rule(source=NAMES, goal=NAMES, move=st.booleans())
    def copy(self, source: str, goal: str, move: bool) -> None:
        """Copy or move by `shutil`."""
        work = shutil.move if move else shutil.copyfile
        self.attempt(lambda: work(self.path(source), self.path(goal)))


def test_the_image_equals_the_directory_after_any_operations(patching: Patching) -> None:
    """The recorder's image equals the directory after each of any operations, and a replay gives the same."""
    run_state_machine_as_test(
        Files,
        settings=settings(
            max_examples=70, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
