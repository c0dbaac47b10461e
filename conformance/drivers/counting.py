"""What a backend uses, counted while its calls are under way and at no other time.

Three counters, none of which knows the others: the recorder sees input and output of Python under the root; the
operating system counts the bytes and calls of the whole process, of C extensions too (Linux); ``tracemalloc`` sees
memory that Python objects take. What the kit, the partner and the checks do between calls is in none of them: the
recorder knows one root, and the other two are read right before and right after each call.

It counts; what the counts mean is the model's to say.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conformance.model.operations import Operation, Read
from conformance.model.usage import InputOutput, Usage
from conformance.sim.disk import IoCount, Recorder

PROCESS_COUNTS = Path("/proc/self/io")
"""Where Linux tells what a process has read and written."""

_FIELDS = re.compile(rb"rchar: (\d+)\nwchar: (\d+)\nsyscr: (\d+)\nsyscw: (\d+)\n")


Reading = tuple[bytes, ...]
"""What the operating system tells of the whole process, then of each thread that is left out."""


class ProcessCounter:
    """The operating system's count of this process, the threads that were there before apart.

    Whoever runs the kit may have threads of their own, such as the one in which pytest-xdist's workers receive: what
    those read and write while a call is under way is none of the backend's.

    Args:
        path: by default ``PROCESS_COUNTS``.
    """

    def __init__(self, path: Path | None = None) -> None:
        counts = path or PROCESS_COUNTS
        self._files: list[int] = []
        # What cannot be told apart cannot be counted: either all of these files open, or none is read.
        try:
            self._open(counts)
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and thread.native_id is not None:
                    self._open(counts.parent / "task" / str(thread.native_id) / counts.name)
        except OSError:
            self.close()

    def _open(self, path: Path) -> None:
        self._files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def read(self, *, last: bool = False) -> Reading | None:
        """The counts as text, to be understood later: reading them must cost next to nothing.

        Args:
            last: it ends what an earlier reading began. The threads are read outermost, so that what they do between
                one file and the next is taken off rather than put on.
        """
        files = self._files if last else self._files[::-1]
        try:
            texts = [os.pread(file, 512, 0) for file in files]
        except OSError:
            return None
        return tuple(texts if last else texts[::-1]) or None

    def close(self) -> None:
        """Let the files go."""
        for file in self._files:
            os.close(file)
        self._files.clear()

    @staticmethod
    def between(before: Reading | None, after: Reading | None) -> InputOutput | None:
        """What was done between two readings, the first reading apart, which counts itself."""
        if before is None or after is None:
            return None
        spans = [_span(*texts) for texts in zip(before, after, strict=True)]
        if None in spans:
            return None
        (read, written, accesses), *threads = (span for span in spans if span is not None)
        # The text of the whole process was the last of the first reading, and is the one that was counted in it.
        read, accesses = read - len(before[0]), accesses - 1
        for others in threads:
            read, written, accesses = read - others[0], written - others[1], accesses - others[2]
        return InputOutput(max(0, read), max(0, written), max(0, accesses))


def _span(before: bytes, after: bytes) -> tuple[int, int, int] | None:
    first, second = _FIELDS.match(before), _FIELDS.match(after)
    if first is None or second is None:
        return None
    read, written, reads, writes = (int(second[n]) - int(first[n]) for n in range(1, 5))
    return read, written, reads + writes


@dataclass(slots=True)
class _Sums:
    """What the calls since the latest reading used."""

    process: InputOutput | None = field(default_factory=InputOutput)
    peak: int | None = None
    allocated: int | None = None


class Counters:
    """Counts what one backend uses over one root, from ``start`` to ``close``.

    Args:
        root: may be absent so far.
        in_memory: the backend stores in memory only, so that what its calls take of it is their cost. Otherwise
            memory is traced in reads alone, for tracing makes every call slower.
    """

    def __init__(self, root: Path, *, in_memory: bool) -> None:
        self._in_memory = in_memory
        self._recorder = Recorder(root, record=False)
        self._process = ProcessCounter()
        self._seen = IoCount()
        self._sums = _Sums()

    def start(self) -> None:
        """Begin.

        Raises:
            RecorderError: something else is being recorded in this process.
        """
        self._recorder.__enter__()

    @contextlib.contextmanager
    def call(self, operation: Operation) -> Iterator[None]:
        """Count what is done inside: one call of the backend."""
        traced = self._in_memory or isinstance(operation, Read)
        modules = len(sys.modules)
        with _Peak(self._sums) if traced else contextlib.nullcontext():
            before = self._process.read()
            try:
                yield
            finally:
                self._add(ProcessCounter.between(before, self._process.read(last=True)), modules)

    def _add(self, used: InputOutput | None, modules: int) -> None:
        known = self._sums.process
        # Modules that are imported by the way are read from their files, once and never again.
        if known is not None:
            self._sums.process = None if used is None or len(sys.modules) != modules else known + used

    def take(self) -> Usage:
        """What the calls since the start, or the latest taking, used."""
        total, seen, sums = self._recorder.total(), self._seen, self._sums
        self._seen, self._sums = total, _Sums()
        recorded = InputOutput(
            total.bytes_read - seen.bytes_read,
            total.bytes_written - seen.bytes_written,
            _accesses(total) - _accesses(seen),
        )
        return Usage(recorded, sums.process, sums.peak, sums.allocated, self._recorder.blind)

    def close(self) -> None:
        """End."""
        self._process.close()
        self._recorder.__exit__()


def _accesses(count: IoCount) -> int:
    return count.reads + count.writes + count.opens + count.syncs + count.metadata + count.listed


class _Peak:
    """Traces memory for one call and adds its peak to the sums; whoever traces already goes on tracing."""

    def __init__(self, sums: _Sums) -> None:
        self._sums = sums

    def __enter__(self) -> None:
        self._was_tracing = tracemalloc.is_tracing()
        if not self._was_tracing:
            tracemalloc.start()
        tracemalloc.reset_peak()
        self._begin = tracemalloc.get_traced_memory()[0]

    def __exit__(self, *_: object) -> None:
        peak = max(0, tracemalloc.get_traced_memory()[1] - self._begin)
        if not self._was_tracing:
            tracemalloc.stop()
        self._sums.peak = max(self._sums.peak or 0, peak)
        self._sums.allocated = (self._sums.allocated or 0) + peak
