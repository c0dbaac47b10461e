"""Counting what a backend uses: the two counts of input and output agree, and nothing else is counted."""

from __future__ import annotations

import os
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from conformance.contract import Backend, Capabilities, SessionHeader
from conformance.drivers import counting
from conformance.drivers.counting import PROCESS_COUNTS, Counters, ProcessCounter
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.registry import load_backend
from conformance.model.history import Invocation, Returned, Skipped
from conformance.model.operations import (
    Append,
    Create,
    Fill,
    Flush,
    OpenInstance,
    Operation,
    Populate,
    Program,
    Read,
    ReadCounters,
    StartCounting,
    Stat,
    filler,
)
from conformance.model.usage import InputOutput, Usage
from conformance.sim.disk import RecorderError
from reference_backend import jsonl
from reference_backend.memory import MemoryPersistence, memory

pytestmark = pytest.mark.usefixtures("patched")

ROOT = Path(__file__).resolve().parents[3]
SQLITE = "tests/variants/sqlite_rows.py:sqlite_rows"
BEGIN = (StartCounting(), OpenInstance(1), Create(1, 1, SessionHeader(id="s", created_at=0)))
COUNTS = b"rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\n"

needs_process_counts = pytest.mark.skipif(
    not PROCESS_COUNTS.exists(), reason=f"this system has no {PROCESS_COUNTS}, so only the recorder counts"
)


def usages(backend: Backend, root: Path, *operations: Operation) -> list[Usage]:
    """What each reading of the counters gave."""
    found = run_program(backend, Program((*BEGIN, *operations)), root)
    assert found.violation is None
    returned = [event.outcome for event in found.history if not isinstance(event, Invocation)]
    return [each.value for each in returned if isinstance(each, Returned) and isinstance(each.value, Usage)]


@needs_process_counts
def test_both_counts_agree_for_plain_python(tmp_path: Path) -> None:
    """What the reference reads and writes is the same, to the byte, for the recorder and the operating system.

    The latter counts the whole process, so that a message to or from whoever runs the tests may come between.
    """
    calls = (ReadCounters(), Fill(1, 0, 3, 2), Flush(1), ReadCounters(), Stat(1, "s"), ReadCounters())
    several = [usages(jsonl, tmp_path / f"r{number}", *calls)[1:] for number in range(5)]
    moved = [[(each.recorded.moved, each.process and each.process.moved) for each in pair] for pair in several]
    assert any(ours == theirs and ours > 0 for ours, theirs in (pair[0] for pair in moved)), moved
    assert any(ours == theirs and ours > 0 for ours, theirs in (pair[1] for pair in moved)), moved
    write, look = several[0]
    assert write.recorded.bytes_written > 0
    assert (look.recorded.bytes_written, look.doubt) == (0, "")


@needs_process_counts
def test_c_extension_is_seen_by_the_operating_system_only(tmp_path: Path) -> None:
    """SQLite writes in C: the recorder sees none of it."""
    _, write = usages(load_backend(SQLITE, ROOT), tmp_path / "r", ReadCounters(), Fill(1, 0, 3), ReadCounters())
    assert write.process is not None
    assert write.recorded == InputOutput()
    assert write.process.bytes_written > 4096


def test_counters_go_on_from_nothing(tmp_path: Path) -> None:
    """A second reading right after a first one finds nothing."""
    *_, first, second = usages(jsonl, tmp_path / "r", Fill(1, 0, 2), ReadCounters(), ReadCounters())
    assert first.recorded.accesses > 0
    assert second.recorded == InputOutput()
    assert second.process in (InputOutput(), None)
    assert (second.peak, second.allocated) == (None, None)


@needs_process_counts
def test_what_is_done_between_calls_is_not_counted(tmp_path: Path) -> None:
    """A file that is read outside every call is in no count."""
    other = tmp_path / "other"
    other.write_bytes(b"x" * 100_000)
    driver = InProcessDriver(jsonl, tmp_path / "r")
    try:
        for operation in BEGIN:
            driver.perform(operation)
        driver.perform(ReadCounters())
        assert len(other.read_bytes()) == 100_000
        driver.perform(Stat(1, "s"))
        outcome = driver.perform(ReadCounters())
    finally:
        driver.finish()
    assert isinstance(outcome, Returned)
    assert isinstance(outcome.value, Usage)
    assert outcome.value.process is not None
    assert outcome.value.process.moved < 10_000


def test_memory_is_traced_in_reads(tmp_path: Path) -> None:
    """The peak of a read covers what it returns; other calls of a backend with files are not traced."""
    fill = Fill(1, 0, 1, 8, 50_000)
    _, write, read = usages(jsonl, tmp_path / "r", ReadCounters(), fill, ReadCounters(), Read(1, 2, 4), ReadCounters())
    assert write.peak is None
    assert read.peak is not None
    assert 200_000 < read.peak < 20_000_000
    assert read.allocated == read.peak
    assert not tracemalloc.is_tracing()


def test_every_call_of_a_backend_in_memory_is_traced(tmp_path: Path) -> None:
    """Of a backend in memory appends are traced too: the sum of the peaks is at least the largest of them."""
    _, write = usages(memory, tmp_path / "r", ReadCounters(), Fill(1, 0, 4, 1, 2_000), ReadCounters())
    assert write.peak is not None
    assert write.allocated is not None
    assert write.peak <= write.allocated
    assert write.allocated < 4 * 100_000


def test_tracing_that_was_on_stays_on(tmp_path: Path) -> None:
    """Somebody who traces memory already is not disturbed."""
    tracemalloc.start()
    try:
        usages(jsonl, tmp_path / "r", Fill(1, 0, 1), Read(1, 0, 1), ReadCounters())
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


class ImportingPersistence(MemoryPersistence):
    """Imports a module at its first ``stat``, as lazy code does."""

    __slots__ = ()

    async def stat(self, session_id: str) -> object:  # type: ignore[override]
        """Import by the way."""
        import this_is_imported_late  # type: ignore[import-not-found]

        return await super().stat(this_is_imported_late.same(session_id))


def test_imports_by_the_way_void_the_count_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call in which a module was imported says nothing about what the backend itself reads; the next one does."""
    (tmp_path / "this_is_imported_late.py").write_text("def same(value):\n    return value\n")
    monkeypatch.syspath_prepend(tmp_path)
    backend = Backend(
        name="importing",
        open=lambda root: ImportingPersistence(),
        capabilities=Capabilities(storage="memory", durability="none"),
    )
    twice = (ReadCounters(), Stat(1, "s"), ReadCounters(), Stat(1, "s"), ReadCounters())
    try:
        _, first, second = usages(backend, tmp_path / "r", *twice)
    finally:
        sys.modules.pop("this_is_imported_late", None)
    assert first.process is None
    assert (second.process is not None) == PROCESS_COUNTS.exists()


@needs_process_counts
def test_process_counter_leaves_itself_out() -> None:
    """Between two readings with nothing else there is nothing; one read of a file is that read."""
    counter = ProcessCounter()
    try:
        assert ProcessCounter.between(counter.read(), counter.read(last=True)) == InputOutput()
        with open(__file__, "rb", buffering=0) as file:
            before = counter.read()
            size = len(os.read(file.fileno(), 100))
            assert ProcessCounter.between(before, counter.read(last=True)) == InputOutput(size, 0, 1)
    finally:
        counter.close()


def test_without_process_counts_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the operating system tells nothing, the recorder's count stands alone."""
    monkeypatch.setattr(counting, "PROCESS_COUNTS", tmp_path / "nothing")
    *_, found = usages(jsonl, tmp_path / "r", Fill(1, 0, 1), ReadCounters())
    assert found.process is None
    assert found.recorded.bytes_written > 0


@needs_process_counts
def test_threads_from_before_are_left_out() -> None:
    """What a thread of whoever runs the kit reads meanwhile is not the backend's; a thread started since is."""

    def reads(go: threading.Barrier) -> None:
        go.wait()
        Path(__file__).read_bytes()
        go.wait()
        # The system forgets a thread that has ended; this one lives until it was counted.
        go.wait()

    for started_before in (True, False):
        go = threading.Barrier(2)
        thread = threading.Thread(target=reads, args=(go,))
        if started_before:
            thread.start()
        counter = ProcessCounter()
        before = counter.read()
        if not started_before:
            thread.start()
        go.wait()
        go.wait()
        used = ProcessCounter.between(before, counter.read(last=True))
        go.wait()
        thread.join()
        counter.close()
        assert used is not None
        assert (used.bytes_read == 0) is started_before


def test_a_count_that_leaves_a_thread_in_is_none(tmp_path: Path) -> None:
    """Where the operating system tells of the process and not of each thread, it has told nothing."""
    (tmp_path / "io").write_bytes(COUNTS)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        counter = ProcessCounter(tmp_path / "io")
        assert counter.read() is None
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("text", [None, (b"",), (b"rchar: x\n",), (COUNTS, b"")])
def test_unreadable_process_counts_are_none(text: tuple[bytes, ...] | None) -> None:
    """A count of another shape is no count."""
    assert ProcessCounter.between(text, (COUNTS,) * len(text or "x")) is None


def test_only_one_can_be_counted_at_a_time(tmp_path: Path) -> None:
    """A second driver that starts counting is refused; once the first has finished it is not."""
    first, second = InProcessDriver(jsonl, tmp_path / "a"), InProcessDriver(jsonl, tmp_path / "b")
    first.perform(StartCounting())
    with pytest.raises(RecorderError, match="one recorder at a time"):
        second.perform(StartCounting())
    first.finish()
    assert second.perform(StartCounting()) == Returned()
    second.finish()


def test_partner_is_not_counted(tmp_path: Path) -> None:
    """The reference beside the backend neither counts nor is counted."""
    execution = Execution(memory, tmp_path / "r", partner=jsonl)
    try:
        for operation in (*BEGIN, Fill(1, 0, 4), ReadCounters()):
            outcome = execution.do(operation)
    finally:
        execution.finish()
    assert isinstance(outcome, Returned)
    assert isinstance(outcome.value, Usage)
    assert outcome.value.recorded == InputOutput()
    assert outcome.value.process in (InputOutput(), None)


def test_counters_that_were_not_started_are_skipped(tmp_path: Path) -> None:
    """Reading counters that nobody started is no call."""
    driver = InProcessDriver(memory, tmp_path / "r")
    assert driver.perform(ReadCounters()) == Skipped()
    driver.finish()


def test_counters_see_a_root_that_is_made_later(tmp_path: Path) -> None:
    """Counting begins before the root is there."""
    counters = Counters(tmp_path / "later", in_memory=False)
    counters.start()
    try:
        with counters.call(Flush(1)):
            (tmp_path / "later").mkdir()
            (tmp_path / "later" / "file").write_bytes(b"12345")
        assert counters.take().recorded.bytes_written == 5
    finally:
        counters.close()


def test_macros_are_performed_as_what_they_stand_for(tmp_path: Path) -> None:
    """A fill is its appends, a population its sessions; in the history all under the call number of the macro."""
    program = Program((*BEGIN[1:], Fill(1, 0, 2, 3, 10), Populate(1, 2, 0, 2)))
    found = run_program(memory, program, tmp_path / "r")
    seen = [(event.call, event.operation) for event in found.history if isinstance(event, Invocation)]
    assert seen[2] == (2, Append(1, [filler(seq, 10) for seq in range(3)]))
    assert seen[3] == (2, Append(1, [filler(seq, 10) for seq in range(3, 6)]))
    assert [(call, each.kind) for call, each in seen[4:]] == [(3, each) for each in ("create", "append", "close") * 2]
    assert found.program == program


def test_told_history_leaves_out_what_macros_got_right(tmp_path: Path) -> None:
    """Reports need not repeat a thousand appends; the last one of a fill that was refused is told."""
    program = Program((*BEGIN[1:], Fill(1, 0, 3), Fill(1, 5, 2), Flush(1)))
    found = run_program(memory, program, tmp_path / "r")
    told = [(event.call, event.operation.kind) for event in found.told_history() if isinstance(event, Invocation)]
    assert told == [(0, "open_instance"), (1, "create"), (3, "append"), (4, "flush")]
    assert len(found.told_history()) == 8


@pytest.mark.parametrize("width", [0, 1, 7, 40, 4_096])
def test_filler_has_the_width_it_is_asked_for(width: int) -> None:
    """An event's text is as long as it is asked to be, and no two events share it."""
    assert len(filler(3, width)["data"]["text"]) == width
    assert width < 7 or filler(3, width)["data"] != filler(4, width)["data"]
