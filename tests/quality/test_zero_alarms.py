"""No false alarms: conforming backends of every kind stay silent, over seeds, in runs of a fixed and counted size.

Silence means something only where the same run would have cried out, so each of these is void unless the sentinel
mutants of all areas die first, by the same function. `make soak` runs them over more seeds and longer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.report.events import FailureFound
from tests.quality.matrix import IS_SOAK, findings, is_scenario, kill, plan_for, sentinels, told

EXAMPLES = 200 if IS_SOAK else 20
"""Programs of the machine in one run."""

SEEDS = range(1, 21 if IS_SOAK else 4)

CONFORMING = (
    "jsonl",
    "jsonl-raw",
    "memory",
    "tests/variants/plain_files.py:plain_files",
    "tests/variants/plain_files.py:eager_files",
    "tests/variants/buffered_files.py:buffered_files",
    "tests/variants/sqlite_rows.py:sqlite_rows",
    "tests/variants/newer_types.py:newer_types",
)
"""The reference, and backends that are right but different."""


DEAR = {
    "jsonl-raw": {"SVC-10"},
    "tests/variants/plain_files.py:plain_files": {"SVC-10", "READ-05"},
    "tests/variants/plain_files.py:eager_files": {"SVC-10", "READ-05"},
    "tests/variants/buffered_files.py:buffered_files": {"SVC-10", "READ-05"},
    "tests/variants/newer_types.py:newer_types": {"SVC-10", "READ-05"},
}
"""The should clauses about costs that a backend does not meet, because it keeps no index and reads its files whole.

To be told so is no false alarm; not to be told would be a failure of the checks.
"""


def short(spec: str) -> str:
    """What stands behind the colon."""
    return spec.rpartition(":")[2]


@pytest.fixture(scope="session")
def alert(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The areas whose sentinel was killed."""
    state = tmp_path_factory.mktemp("sentinels")
    return frozenset(area for area, name in sentinels().items() if kill(name, state).clause.startswith(area))


def test_sentinels_die(alert: frozenset[str]) -> None:
    """The checks of every area see the defect that is planted in it."""
    assert alert == sentinels().keys()


@pytest.mark.parametrize("spec", CONFORMING, ids=short)
def test_scenarios_are_silent(spec: str, alert: frozenset[str], tmp_path: Path) -> None:
    """No scenario finds anything in a conforming backend but what it costs, and there are scenarios to find it."""
    plan = plan_for(spec, tmp_path)
    assert sum(is_scenario(item) and not item.skip for item in plan.items) >= len(alert)
    assert [told(found) for found in findings(plan, machines=False, costs=False)] == []


@pytest.mark.parametrize("spec", CONFORMING, ids=short)
def test_costs_are_told_as_they_are(spec: str, tmp_path: Path) -> None:
    """Of a conforming backend those should clauses about costs are violated that it is known not to meet, no others."""
    plan = plan_for(spec, tmp_path, clauses=("SEQ-10", "SVC-10", "READ-05"))
    found = list(findings(plan))
    assert {each.clause if isinstance(each, FailureFound) else told(each) for each in found} == DEAR.get(spec, set())


@pytest.mark.usefixtures("alert")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("spec", CONFORMING, ids=short)
def test_machines_are_silent(spec: str, seed: int, tmp_path: Path) -> None:
    """No long random history of a conforming backend is called wrong."""
    plan = plan_for(spec, tmp_path, examples=EXAMPLES, seed=seed)
    assert [told(found) for found in findings(plan, scenarios=False)] == []
