"""The runner: one item at a time, told as events, the same for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.clauses import UnknownClauseError
from conformance.drivers.errors import SetupError, UsageError
from conformance.drivers.watchdog import Watchdog
from conformance.machines import MachineSpec
from conformance.model import phase_order
from conformance.report.events import FailureFound, ItemFinished, ReportEvent
from conformance.runner import Item, Plan, Settings, make_plan, run, run_item

pytestmark = pytest.mark.usefixtures("patched")

BROKEN_BACKEND = """
from pathlib import Path

from conformance import Backend, Capabilities
from reference_backend.memory import MemoryHandle, MemoryPersistence


class Handle(MemoryHandle):
    __slots__ = ()

    async def read(self, offset=0, length=None):
        found = await super().read(offset, length)
        return found[:-1] if len(found) > 2 else found


class Persistence(MemoryPersistence):
    async def create(self, header, inherited_event_count=None):
        handle = await super().create(header, inherited_event_count)
        handle.__class__ = Handle
        return handle


def open_it(root: Path) -> Persistence:
    return Persistence()


def fail(root: Path) -> Persistence:
    raise OSError("no such device")


short = Backend(name="short", open=open_it, capabilities=Capabilities(durability="none", storage="memory"))
failing = Backend(name="failing", open=fail)
"""


@pytest.fixture
def backend_file(tmp_path: Path) -> Path:
    """A file with a backend whose writers lose the last event of three or more, and one that cannot start."""
    path = tmp_path / "broken.py"
    path.write_text(BROKEN_BACKEND)
    return path


def machine_of(plan: Plan) -> Item:
    """The sequential machine's item."""
    return next(item for item in plan.items if item.id == "conformance::machine::sequential")


def failures(events: list[ReportEvent]) -> list[FailureFound]:
    """The failures among the events."""
    return [event for event in events if isinstance(event, FailureFound)]


@pytest.fixture(scope="module")
def hunted(patched: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, list[ReportEvent]]:
    """A plan whose machine found a planted bug, which is saved in its state, and what it told."""
    directory = tmp_path_factory.mktemp("hunted")
    (directory / "broken.py").write_text(BROKEN_BACKEND)
    spec = f"{directory / 'broken.py'}:short"
    plan = make_plan(Settings(backend=spec, state=directory / "state", max_examples=60, seed=3))
    return plan, run_item(plan, machine_of(plan), share=60)


def test_a_machine_finds_a_bug_shrinks_it_and_saves_a_case(hunted: tuple[Plan, list[ReportEvent]]) -> None:
    """A planted bug is found without any scenario, as a program of the few calls it needs."""
    _, events = hunted
    found = failures(events)
    assert [failure.clause for failure in found] == ["READ-04"]
    assert [operation["do"] for operation in found[0].program] == ["open_instance", "create", "append", "read"]
    assert len(found[0].program[2]["events"]) == 3
    assert json.loads(Path(found[0].case).read_text())["clause"] == "READ-04"
    finished = events[-1]
    assert isinstance(finished, ItemFinished)
    assert finished.outcome == "failed"


def test_an_earlier_failure_is_tried_first(hunted: tuple[Plan, list[ReportEvent]]) -> None:
    """A saved case that still fails is reported without a hunt."""
    plan, _ = hunted
    again = run_item(plan, machine_of(plan), share=60)
    assert [failure.clause for failure in failures(again)] == ["READ-04"]
    finished = again[-1]
    assert isinstance(finished, ItemFinished)
    assert finished.programs == 1


def test_a_budget_ends_the_hunt_and_is_no_failure(tmp_path: Path) -> None:
    """With no time left a machine performs nothing and finds nothing, and says so by its counts."""
    plan = make_plan(Settings(backend="memory", state=tmp_path, max_examples=10_000))
    events = run_item(plan, machine_of(plan), share=0)
    finished = events[-1]
    assert isinstance(finished, ItemFinished)
    assert finished.outcome == "passed"
    assert finished.operations == 0


def test_the_same_seed_gives_the_same_programs_in_every_process(tmp_path: Path) -> None:
    """Hash seeds and processes do not matter: a run is a function of its seed."""
    script = (
        "import sys, pathlib, hashlib\n"
        "from conformance.drivers.execution import Execution\n"
        "from conformance.runner import Settings, make_plan, run_item\n"
        "from conformance.model.history_forms import event_to_json\n"
        "digest = hashlib.sha256()\n"
        "finish = Execution.finish\n"
        "def spy(self):\n"
        "    digest.update(repr([event_to_json(event) for event in self.history]).encode())\n"
        "    finish(self)\n"
        "Execution.finish = spy\n"
        "plan = make_plan(Settings(backend='memory', state=pathlib.Path(sys.argv[1]), max_examples=8, seed=11))\n"
        "item = next(i for i in plan.items if i.id == 'conformance::machine::sequential')\n"
        "run_item(plan, item, share=600)\n"
        "print(digest.hexdigest())\n"
    )
    digests = set()
    for hash_seed in ("0", "271828"):
        found = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(found.stdout)
    assert len(digests) == 1


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """A finished run leaves no journal, no scratch root and no case."""
    state = tmp_path / "state"
    plan = make_plan(Settings(backend="memory", state=state, clauses=("SEQ-02",), max_examples=5))
    told: list[ReportEvent] = []
    assert run(plan, told.append) == 0
    assert list(state.iterdir()) == []


def test_a_backend_that_cannot_start_is_named_with_the_cause(backend_file: Path) -> None:
    """A factory that raises is a set-up error before anything is judged."""
    with pytest.raises(SetupError, match=r"failing.*no such device"):
        make_plan(Settings(backend=f"{backend_file}:failing"))


def test_unknown_profiles_and_clauses_are_usage_errors() -> None:
    """A misspelt profile lists the known ones; a pattern that matches no clause is an error."""
    with pytest.raises(UsageError, match="smoke"):
        make_plan(Settings(backend="memory", profile="smokey"))
    with pytest.raises(UnknownClauseError):
        make_plan(Settings(backend="memory", clauses=("SEQ-99",)))


def test_selecting_clauses_selects_items(tmp_path: Path) -> None:
    """Only items that can witness a selected clause are in the plan."""
    plan = make_plan(Settings(backend="memory", clauses=("SEQ-02",), state=tmp_path))
    assert plan.items
    assert all("SEQ-02" in item.clauses for item in plan.items)


def test_what_one_machine_leaves_the_next_may_use() -> None:
    """A share is the item's part of the budget and what earlier machines left; one that took more is paid back."""
    plan = make_plan(Settings(backend="memory", budget=10.0, workers=1))
    machines = [item.check for item in plan.items if isinstance(item.check, MachineSpec) and not item.skip]
    parts = [plan.part(machine) or 0.0 for machine in machines]
    assert sum(parts) == pytest.approx(10.0)
    assert parts[0] == pytest.approx(10.0 * machines[0].weight / sum(machine.weight for machine in machines))
    part = parts[0]
    assert plan.share(machines[0]) == pytest.approx(part)
    plan.ledger.due, plan.ledger.seconds = part, part / 2
    assert plan.share(machines[0]) == pytest.approx(part * 1.5)
    plan.ledger.seconds = part * 9
    assert plan.share(machines[0]) == pytest.approx(part / 4)


_CAPTURES = """
import os
import sys
from dataclasses import replace
from pathlib import Path

sys.path.append({variants!r})
from good_store import GoodFiles, good_store


def sync(path, opens=os.open, syncs=os.fsync, closes=os.close):
    number = opens(path, os.O_RDONLY)
    try:
        syncs(number)
    finally:
        closes(number)


class Mine(GoodFiles):
    def sync(self, path):
        sync(path)


mine = replace(good_store, name="mine", open=Mine)
"""


def test_what_a_module_captures_while_it_is_imported_is_seen(tmp_path: Path) -> None:
    """A sync that a default argument holds since the import is recorded, so that crashes are measured."""
    path = tmp_path / "captures.py"
    path.write_text(_CAPTURES.format(variants=str(Path(__file__).parents[2] / "variants")), "utf-8")
    settings = Settings(backend=f"{path}:mine", clauses=("DUR-02",), profile="smoke", state=tmp_path / "state")
    plan = make_plan(settings)
    assert plan.rulings["DUR-02"].reason == ""
    item = next(item for item in plan.items if not item.skip)
    assert [event.outcome for event in run_item(plan, item) if isinstance(event, ItemFinished)] == ["passed"]


@pytest.mark.parametrize(("nodes", "outcome"), [(phase_order.MOST_NODES, "passed"), (0, "not measured")])
def test_orders_that_stay_undecided_are_told(
    nodes: int, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine says of how many overlaps the order was decided; where too few were, nothing of it is a pass."""
    monkeypatch.setattr(phase_order, "MOST_NODES", nodes)
    plan = make_plan(Settings(backend="memory", state=tmp_path, max_examples=300, seed=3))
    item = next(each for each in plan.items if each.id == "conformance::machine::overlap")
    ended = run_item(plan, item, share=600.0)[-1]
    assert isinstance(ended, ItemFinished)
    assert ended.outcome == outcome
    assert "the order of calls was decided in" in ended.coverage
    assert ended.unmeasured == (item.clauses if nodes == 0 else ())


def test_presets_that_are_asked_for_are_swept(tmp_path: Path) -> None:
    """Each known preset can be asked for; what the level does not have says so, and what it has is tried as its own."""
    settings = Settings(backend="jsonl", clauses=("DUR-02",), state=tmp_path, presets=("btrfs", "posix", "ext4"))
    plain = make_plan(replace(settings, presets=()))
    assert not any(each.beyond for each in plain.items if not each.skip)
    assert "conformance::sweep::crash[btrfs]" not in {each.id for each in plain.items}
    for level, aside in (("power-loss", {"btrfs", "posix"}), ("power-loss-strict", {"btrfs"})):
        plan = make_plan(replace(settings, durability=level))
        swept = {each.check.preset: each for each in plan.items if each.id.startswith("conformance::sweep::crash[")}
        assert list(swept) == ["kill", "ext4", "xfs", "posix", "btrfs"]
        assert {name for name, each in swept.items() if each.beyond} == aside
        assert not any(each.skip for each in swept.values())
        assert "btrfs" not in plan.presets()
        assert plan.told_presets(swept["btrfs"])[:4] == ("kill", "ext4", "xfs", "btrfs")
        assert plan.started().presets == settings.presets
    with pytest.raises(UsageError, match="expected one of kill, ordered, ext4, xfs, btrfs, posix, paranoid"):
        make_plan(replace(settings, presets=("btrfz",)))


BLOCKING = """
from pathlib import Path
from threading import Event

from conformance import Backend, Capabilities
from reference_backend.memory import MemoryHandle, MemoryPersistence


class Handle(MemoryHandle):
    __slots__ = ()

    async def append(self, events):
        Event().wait()


class Persistence(MemoryPersistence):
    async def create(self, header, inherited_event_count=None):
        handle = await super().create(header, inherited_event_count)
        handle.__class__ = Handle
        return handle


backend = Backend(
    name="blocking", open=lambda root: Persistence(), capabilities=Capabilities(durability="none", storage="memory")
)
"""


def test_a_backend_that_blocks_is_told_and_then_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first calls that block are told; each takes the watchdog's time, so that no run is made of them."""
    monkeypatch.setattr("conformance.runner.Watchdog", lambda: Watchdog(0.2))
    (tmp_path / "blocking.py").write_text(BLOCKING, "utf-8")
    spec = f"{tmp_path / 'blocking.py'}:backend"
    plan = make_plan(Settings(backend=spec, state=tmp_path / "state", profile="smoke", seed=3))
    told: list[ReportEvent] = []
    assert run(plan, told.append) == 1
    failed = [event for event in told if isinstance(event, FailureFound)]
    assert "held the thread" in failed[0].observed
    ends = [event for event in told if isinstance(event, ItemFinished)]
    late = [each for each in ends if "blocked" in (each.reason or "")]
    assert {each.outcome for each in late} == {"skipped"}
    assert len(late) > 100
