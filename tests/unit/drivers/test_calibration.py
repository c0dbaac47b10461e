"""Whether what a backend uses can be counted is found out by trying, and told with its reason."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import pytest

from conformance import planning
from conformance.clauses import Need, Standing
from conformance.contract import Backend, Capabilities
from conformance.drivers import counting, leftovers
from conformance.drivers.calibration import counting_gap, gap_in, leftovers_gap, recording_gap, usage_of_a_store
from conformance.drivers.counting import PROCESS_COUNTS
from conformance.drivers.crashes import WAY_OUT
from conformance.drivers.execution import run_program
from conformance.drivers.registry import hold_backend, load_backend
from conformance.model.operations import CloseInstance, CountLeft, OpenInstance, Program
from conformance.model.usage import InputOutput, Usage
from conformance.planning import Settings, make_plan
from conformance.sim.disk import Patching
from reference_backend.memory import MemoryPersistence

ROOT = Path(__file__).resolve().parents[3]
SQLITE = "tests/variants/sqlite_rows.py:sqlite_rows"
COSTS = ("SEQ-10", "SVC-10", "READ-05")


@pytest.mark.parametrize("spec", ["jsonl", "jsonl-raw", "memory", "tests/variants/plain_files.py:plain_files"])
def test_ordinary_backends_can_be_counted(spec: str) -> None:
    """Plain Python input and output is seen, and a backend in memory needs none."""
    assert counting_gap(load_backend(spec, ROOT)) == ""


@pytest.mark.skipif(not PROCESS_COUNTS.exists(), reason=f"this system has no {PROCESS_COUNTS}")
def test_c_extension_is_counted_by_the_operating_system() -> None:
    """SQLite's input and output is not seen by the recorder, and is counted all the same."""
    backend = load_backend(SQLITE, ROOT)
    assert counting_gap(backend) == ""
    assert usage_of_a_store(backend).recorded.moved == 0


def test_c_extension_cannot_be_counted_without_the_operating_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody counts the process, a backend in C cannot be measured, and the reason names what is missing."""
    monkeypatch.setattr(counting, "PROCESS_COUNTS", tmp_path / "nothing")
    assert counting_gap(load_backend(SQLITE, ROOT)).endswith(f"and this system has no {PROCESS_COUNTS}")


def over_memory(service: type[MemoryPersistence]) -> Backend:
    """A backend that keeps its sessions in memory and claims files."""
    return Backend(name="over-memory", open=service, capabilities=Capabilities(durability="none"))


class Unseen(MemoryPersistence):
    """Does no input and output at all, as a backend does whose storage is behind a socket."""

    __slots__ = ()

    def __init__(self, root: Path) -> None:
        super().__init__()


class Mapping(MemoryPersistence):
    """Writes through a memory mapping."""

    __slots__ = ("_map",)

    def __init__(self, root: Path) -> None:
        super().__init__()
        root.mkdir()
        (root / "map").write_bytes(bytes(4096))
        with open(root / "map", "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 4096)


class Failing(MemoryPersistence):
    """Stores nothing."""

    __slots__ = ()

    def __init__(self, root: Path) -> None:
        super().__init__()

    async def create(self, *args: Any) -> Any:
        """Refuse."""
        raise OSError("no space")


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        (Unseen, "storing a session did none that the in-process recorder sees"),
        (Failing, "storing a session did none"),
        (Mapping, "was mapped into memory for writing: such writes are not seen"),
    ],
)
def test_what_cannot_be_counted_says_why(service: type[MemoryPersistence], reason: str) -> None:
    """Nothing seen by anybody, and writes past every counter, are reasons."""
    assert reason in counting_gap(over_memory(service))


def test_small_noise_of_the_process_is_no_count() -> None:
    """A little that the process did besides does not stand for the backend's own input and output."""
    assert gap_in(Usage(InputOutput(), InputOutput(100, 100, 4))) != ""
    assert gap_in(Usage(InputOutput(), InputOutput(100_000, 0, 4))) == ""
    assert gap_in(Usage(InputOutput(5_000, 0, 1), None)) == ""


def test_plan_puts_the_reason_into_the_table(tmp_path: Path) -> None:
    """A backend that cannot be counted gets *not measured* with the reason, and its items are skipped for it."""
    spec = hold_backend(over_memory(Unseen))
    plan = make_plan(Settings(backend=spec, clauses=(*COSTS, "SEQ-01"), state=tmp_path))
    reason = plan.route.cannot[Need.IO_COUNT]
    for name in COSTS:
        assert (plan.rulings[name].standing, plan.rulings[name].reason) == (Standing.NOT_MEASURED, reason)
    assert plan.rulings["SEQ-01"].applies
    counted = [item for item in plan.items if Need.IO_COUNT in item.check.needs]
    assert counted
    assert {item.skip for item in counted} == {reason}


def test_what_is_left_open_is_not_measured_where_the_system_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULT-06 is *not measured*, with the reason, by the table; its items are skipped, and nothing else is."""
    settings = Settings(backend="jsonl", clauses=("FAULT-06", "FAULT-01"), state=tmp_path)
    assert leftovers_gap() == ""
    assert make_plan(settings).rulings["FAULT-06"].applies
    monkeypatch.setattr(leftovers, "DESCRIPTORS", str(tmp_path / "nowhere"))
    plan = make_plan(settings)
    found = plan.rulings["FAULT-06"]
    assert (found.standing, found.reason) == (Standing.NOT_MEASURED, leftovers_gap())
    assert "this system has none" in found.reason
    assert plan.rulings["FAULT-01"].applies
    alone = [item for item in plan.items if item.clauses == ("FAULT-06",)]
    assert len(alone) > 1
    assert {item.skip for item in alone} == {found.reason}


def test_nothing_is_witnessed_where_the_system_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that counts what is left, run for other clauses, is no pass of FAULT-06."""
    monkeypatch.setattr(leftovers, "DESCRIPTORS", str(tmp_path / "nowhere"))
    program = Program((OpenInstance(1), CloseInstance(1), CountLeft()))
    with Patching():
        found = run_program(load_backend("jsonl"), program, tmp_path / "root")
    assert found.violation is None
    assert found.witnesses["FAULT-06"] == 0


def test_plan_tries_only_where_costs_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a clause that counts nothing is tried."""
    asked: list[Backend] = []

    def gap(backend: Backend) -> str:
        asked.append(backend)
        return ""

    monkeypatch.setattr(planning, "counting_gap", gap)
    make_plan(Settings(backend="jsonl", clauses=("SEQ-01", "FRESH"), state=tmp_path))
    assert asked == []
    make_plan(Settings(backend="jsonl", clauses=("SEQ",), state=tmp_path))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "spec",
    [
        "jsonl",
        "jsonl-raw",
        "memory",
        "tests/variants/plain_files.py:plain_files",
        "tests/variants/buffered_files.py:buffered_files",
    ],
)
def test_crashes_of_ordinary_backends_can_be_made(spec: str) -> None:
    """Plain Python input and output is recorded whole; a backend in memory is left to the table."""
    with Patching():
        assert recording_gap(load_backend(spec, ROOT)) == ""


def test_crashes_of_a_c_extension_are_not_measured() -> None:
    """What SQLite writes is not recorded, and the reason names the files and the way out."""
    gap = recording_gap(load_backend(SQLITE, ROOT))
    assert "a file is on the disk and none recorded" in gap
    assert gap.endswith(WAY_OUT)


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        (Unseen, "storing a session did nothing that the in-process recorder sees"),
        (Failing, "storing a session did nothing"),
        (Mapping, "was mapped into memory for writing"),
    ],
)
def test_what_cannot_be_recorded_says_why(service: type[MemoryPersistence], reason: str) -> None:
    """Nothing recorded at all, and writes past the recorder, are reasons, each with the way out."""
    gap = recording_gap(over_memory(service))
    assert reason in gap
    assert gap.endswith(WAY_OUT)


def test_crashes_of_a_service_are_not_measured() -> None:
    """What lies behind a connection has no root to be recorded."""
    backend = Backend(name="far", open=Unseen, capabilities=Capabilities(storage="service"))
    assert recording_gap(backend).startswith("what a service stores")
