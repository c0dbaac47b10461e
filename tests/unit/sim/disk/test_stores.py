"""The known-good store and the crash mutants, held against the recorder and the states by a judge of its own.

If one of these fails, a store is wrong or the disk is: the kit's own verdicts play no part here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend
from conformance.drivers.loading import load_file
from conformance.drivers.registry import load_backend
from conformance.drivers.workspace import Workspace
from conformance.sim.disk import Patching
from tests.quality.crash_oracle import INHERITED, Oracle, event, header_of, program
from tests.quality.matrix import IS_SOAK, ROOT, VARIANTS, mutants, spec_of

pytestmark = pytest.mark.usefixtures("patching")

STORE: Any = load_file(VARIANTS / "good_store.py")
GOOD: Backend = STORE.good_store
PRESETS = ("kill", "ext4", "xfs", "posix")
CRASHING = {
    name: mutant
    for name, mutant in mutants().items()
    # What harms no data is not for this judge.
    if mutant.crash is not None and mutant.crash.cause != "none of these"
}

SHORT, LONG = 9, 90
"""Characters in the text of small events."""

EVERYWHERE = ("small", "two", "edge", "newline", "across", "empty")
"""Programs for every store; "pages" has too many states for most of them."""

SHOWN_BY = {
    "dur.catalogue_is_rewritten_in_place": "two",
    "dur.reading_repairs": "across",
    "dur.repair_moves_the_log_away": "across",
    "dur.repair_replaces_without_fsync": "edge",
    "dur.repair_rewrites_in_place": "across",
    "dur.service_flush_syncs_nothing": "two",
    "torn.syncs_before_it_repairs": "edge",
    "dur.torn_log_cannot_be_owned": "across",
    "dur.torn_record_counts_as_stored": "across",
    "torn.batch_behind_an_inherited_one": "edge",
    "torn.batches_are_not_synced_between": "edge",
    "torn.frame_is_decoded_over_nul": "pages",
    "torn.line_without_its_end_is_shown_and_cut": "newline",
    "torn.log_is_read_as_text": "across",
    "torn.no_tail_repair": "across",
    "torn.readers_see_less_during_the_repair": "across",
    "torn.repair_cuts_the_whole_batch": "across",
    "torn.skips_over_the_tail": "newline",
    "torn.torn_record_is_completed": "across",
    "torn.unterminated_line_is_corruption": "across",
}
"""The program that shows a mutant's defect, where it is not "small"."""

CAUSES = {
    "no fsync": "dur.flush_syncs_nothing",
    "no directory fsync": "dur.directory_is_not_synced",
    "rename before fsync": "dur.replaces_without_fsync",
    "in-place header": "torn.header_counts_the_lines",
    "index before data": "torn.index_is_written_first",
    "no tail repair": "torn.no_tail_repair",
    "repair by skipping without truncating": "torn.skips_over_the_tail",
    "stop at NUL": "torn.writes_behind_nul",
    "buffered close": "dur.close_leaves_the_buffer_to_the_loop",
    "flush after a kill syncs nothing": "dur.found_data_is_not_synced",
    "a batch written behind an inherited unsynced one": "torn.batch_behind_an_inherited_one",
    "fsync of the lock file taken for a directory sync": "dur.lock_file_is_synced_for_the_directory",
    "prefix-decoding a compressed frame over a NUL page": "torn.frame_is_decoded_over_nul",
}
"""Each known way to lose data at a crash, and the mutant that does it; a retry after a failed sync is tested below."""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory in memory, where there is one."""
    with Workspace() as workspace:
        yield workspace.directory


@cache
def size_of(spec: str, *widths: int) -> int:
    """Bytes of a log with one event of each width, each a batch of its own."""

    async def body(root: Path) -> int:
        backend = load_backend(spec, ROOT)
        service = backend.open(root)
        handle = await service.create(header_of("a"), INHERITED)
        for seq, width in enumerate(widths):
            await handle.append([event("a", seq, width)])
        await handle.close()
        assert backend.location is not None
        path = backend.location(root, "a")
        assert path is not None
        return path.stat().st_size

    with Workspace() as workspace:
        return asyncio.run(body(workspace.fresh_root()))


def program_for(spec: str, name: str) -> str:
    """The text of a program, with its sizes such that records of this backend end where it wants them to.

    The last batch of "edge" has a record that ends with a page, that of "newline" one whose newline begins the next
    page, and that of "across" one of whose characters a page edge cuts.
    """
    if name in ("edge", "newline"):
        first = 1000 + 4096 - size_of(spec, 1000, LONG) + (name == "newline")
        more = f" append:a:{SHORT}" if name == "edge" else ""
        return f"create:a append:a:{first} flush:a append:a:{LONG},{SHORT}{more}"
    if name == "across":
        first = 1000 + 4096 + 30 - size_of(spec, 1000, SHORT, SHORT)
        return f"create:a append:a:{first} flush:a append:a:{SHORT},{SHORT}"
    return {
        "small": "create:a append:a:9 append:a:9 flush:a append:a:9 close:a",
        "two": "create:a append:a:9 flush:a append:a:9 create:b append:b:9 flush close",
        "empty": "create:a flush:a close:a",
        "pages": "create:a append:a:9,9 flush:a append:a:26000,9",
        "failing": "create:a append:a:9 append:a:9 flush?:a flush?:a close?:a open?:a flush:a",
    }[name]


def alarm(
    oracle: Oracle, spec: str, name: str, preset: str, *, barrier: str = "", second_lives: bool = True
) -> str | None:
    """The first thing that is wrong, or None."""
    steps = program(program_for(spec, name))
    return next(oracle.alarms(steps, preset, second_lives=second_lives, barrier=barrier), None)


GOOD_SPEC = "tests/variants/good_store.py:good_store"
KNOWN: dict[Any, str] = {}
"""What looks at storage of the good store came to; which syncs led to the storage is nothing to them."""


def good_oracle(scratch: Path, skipped: Callable[[int, int, str], bool] = lambda life, place, what: False) -> Oracle:
    """An oracle of the good store."""
    return Oracle(GOOD, scratch, skipped, known=KNOWN)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_good_store_has_no_alarm(name: str, scratch: Path) -> None:
    """Nothing that a kill or the strictest power loss may leave of the known-good store is wrong, twice in a row."""
    with good_oracle(scratch) as oracle:
        for preset in PRESETS if IS_SOAK else ("kill", "posix"):
            second_lives = IS_SOAK or name in ("small", "edge")
            assert alarm(oracle, GOOD_SPEC, name, preset, second_lives=second_lives) is None


@pytest.mark.parametrize("name", sorted(CRASHING))
def test_mutant_is_caught_in_its_weakest_preset(name: str, scratch: Path) -> None:
    """The preset that a mutant names shows its defect, no weaker one does, and the barrier it names would help."""
    mutant, spec = CRASHING[name], spec_of(name)
    assert mutant.crash is not None
    shown_by = SHOWN_BY.get(name, "small")
    weaker = PRESETS[: PRESETS.index(mutant.crash.weakest)]
    with Oracle(load_backend(spec, ROOT), scratch) as oracle:
        for preset in weaker:
            for each in {shown_by, *EVERYWHERE} if IS_SOAK else (shown_by,):
                assert alarm(oracle, spec, each, preset) is None, each
        assert alarm(oracle, spec, shown_by, mutant.crash.weakest) is not None
        if mutant.crash.barrier:
            barrier = mutant.crash.barrier.removeprefix("fsync(").removesuffix(")")
            for preset in (mutant.crash.weakest, "posix") if IS_SOAK else (mutant.crash.weakest,):
                assert alarm(oracle, spec, shown_by, preset, barrier=barrier) is None


OTHER_ENDS = {
    "dur.flush_marks_clean_what_came_meanwhile",
    "dur.leaving_by_an_exception_syncs_nothing",
    "dur.teardown_syncs_nothing",
}
"""They show where calls overlap, a context is left or a service closed before the power fails; no program here does."""


def test_every_cause_has_a_mutant() -> None:
    """Every known way to lose data at a crash is planted, and every class of cause occurs."""
    assert set(CAUSES.values()) <= CRASHING.keys()
    assert len(CRASHING) >= 30
    assert len({mutant.crash.cause for mutant in CRASHING.values() if mutant.crash is not None}) == 8
    of_crashes = {name: mutant for name, mutant in mutants().items() if name.partition(".")[0] in ("dur", "torn")}
    silent = {name for name, mutant in of_crashes.items() if mutant.crash is None}
    # What shows by damage needs no crash.
    assert {of_crashes[name].breaks for name in silent - OTHER_ENDS} <= {"DUR-10"}
    assert silent >= OTHER_ENDS


NEEDED_IN = ("small", "edge")
"""The programs in which each sync of the good store is one that something depends on."""


def is_missed(scratch: Path, skipped: Callable[[int, int, str], bool], *names: str) -> bool:
    """Whether an alarm is raised where these syncs are left out."""
    with good_oracle(scratch, skipped) as oracle:
        return any(alarm(oracle, GOOD_SPEC, name, "posix") for name in names)


@pytest.fixture
def asked(scratch: Path) -> dict[int, list[list[str]]]:
    """The syncs that the good store asks for in first and in second lives."""
    with good_oracle(scratch) as oracle:
        for name in NEEDED_IN:
            assert alarm(oracle, GOOD_SPEC, name, "posix") is None
        return oracle.syncs


def test_good_store_needs_every_sync(asked: dict[int, list[list[str]]], scratch: Path) -> None:
    """Each single sync of a program, left out, is one too few."""
    every = [(name, at) for name, syncs in zip(NEEDED_IN, asked[1], strict=True) for at in range(len(syncs))]
    assert len(every) >= 11
    kept = [
        (name, at)
        for name, at in every
        if not is_missed(scratch, lambda life, place, what, at=at: (life, place) == (1, at), name)  # type: ignore[misc]
    ]
    assert kept == []


def test_good_store_needs_every_sync_after_a_crash(asked: dict[int, list[list[str]]], scratch: Path) -> None:
    """Each sync of the next life, told by the step and what it syncs, is one too few where it is left out."""
    syncs = {what for each in asked[2] for what in each}
    assert len(syncs) >= 12
    kept = [
        each
        for each in sorted(syncs)
        if not is_missed(scratch, lambda life, place, what, each=each: (life, what) == (2, each), *NEEDED_IN)  # type: ignore[misc]
    ]
    assert kept == []


class RetryingHandle(STORE.GoodHandle):  # type: ignore[misc]
    """After a failed sync it syncs again, though the system may have dropped what it could not write."""

    unsynced: bool

    def settle(self) -> None:
        """Sync until it is answered."""
        if self.unsynced:
            self.service.sync_batch(self.path)
            self.unsynced = False


class RetryingFiles(STORE.GoodFiles):  # type: ignore[misc]
    """The service of such handles."""

    handle_type = RetryingHandle


@pytest.mark.parametrize(("service", "is_right"), [(STORE.GoodFiles, True), (RetryingFiles, False)])
def test_a_failed_sync_is_not_retried(service: type[Any], is_right: bool, scratch: Path) -> None:
    """The sync of a batch fails and drops what it should have saved: to sync again and believe it is wrong."""
    backend = Backend(name="failing", open=service, capabilities=GOOD.capabilities, location=GOOD.location)
    with Oracle(backend, scratch) as oracle:
        assert alarm(oracle, GOOD_SPEC, "failing", "kill") is None
    batch = next(place for place, what in enumerate(oracle.syncs[1][0]) if "sync_batch" in what)
    with Oracle(backend, scratch, failing=batch) as oracle:
        found = alarm(oracle, GOOD_SPEC, "failing", "posix")
    assert (found is None) == is_right, found


def test_patching_sees_every_sync(patching: Patching) -> None:
    """Nothing holds a real function that the recorder could not replace: no barrier of a store goes unseen."""
    assert patching.unseen_holders == ()
