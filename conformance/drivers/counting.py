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


class ProcessCounter:
    """The operating system's count of this process; ``read`` gives None where there is none.

    Args:
        path: by default ``PROCESS_COUNTS``.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._fd: int | None = None
        with contextlib.suppress(OSError):
            self._fd = os.open(path or PROCESS_COUNTS, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes | None:
        """The count as text, to be understood later: reading it must cost next to nothing."""
        if self._fd is None:
            return None
        try:
            return os.pread(self._fd, 512, 0)
        except OSError:
            return None

    def close(self) -> None:
        """Let the file go."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @staticmethod
    def between(before: bytes | None, after: bytes | None) -> InputOutput | None:
        """What was done between two readings, the first reading apart, which counts itself."""
        first, second = (None if text is None else _FIELDS.match(text) for text in (before, after))
        if before is None or first is None or second is None:
            return None
        read, written, reads, writes = (int(second[n]) - int(first[n]) for n in range(1, 5))
        return InputOutput(read - len(before), written, reads - 1 + writes)


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
                self._add(ProcessCounter.between(before, self._process.read()), modules)

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
