"""The kill matrix: every mutant dies by the clause it breaks, and its healthy twin lives.

A check that has never failed proves nothing. Here each one is seen to fail on a backend with one known defect, to blame
the right clause for it with a short program that fails again, and to pass on the same backend with the defect off.
"""

from __future__ import annotations

import ast
import json
import zlib
from pathlib import Path

import pytest

from conformance.clauses import BUILT, CLAUSES, Need
from conformance.contract import Backend
from tests.quality.matrix import (
    IS_SOAK,
    MUTANTS,
    ROOT,
    Kill,
    blamed_beyond,
    counts,
    findings,
    kill,
    mutants,
    part_of,
    perform,
    plan_for,
    sentinels,
    spec_of,
    told,
)

pytestmark = pytest.mark.usefixtures("patched")

LONGEST_PROGRAM = 12
"""Calls in the program that shows a mutant's defect, once made short."""

SHORTENED = 1 if IS_SOAK else 8
"""Of so many mutants one has its program made short."""

LONGEST_DEFECT = 16
"""Lines of a mutant that hold code, those of its signatures included."""

TWIN_EXAMPLES = 10

WITHOUT_MUTANT: frozenset[str] = frozenset()
"""Built must clauses that no mutant breaks, each with its reason beside it. It may only shrink."""

OPEN: dict[str, str] = {
    "svc.immediate_close_saves_the_empty_state": "of a log that was cut behind the backend, what an idle close takes is"
    " told by what damage allows (TORN-01), and not by the clause about closes",
}
"""Mutants for which the model still blames another clause somewhere, and why; an entry that no longer holds fails."""

WIDE: dict[str, tuple[str, ...]] = {
    # What is cached under an id is shown whatever became of the session.
    "fresh.logs_are_cached_by_path": ("MAT-06",),
    # Each barrier and each close has its own clause for what a batch that is stored takes along.
    "live.latecomers_are_dropped": ("CLOSE-04", "LIVE-13"),
}
"""Mutants whose one defect breaks more clauses than it may name."""

ALSO_WITHOUT: dict[str, str] = {}
"""Mutants whose shortest program breaks the clause with the defect off as well, and why; one that does not fails."""


def _part(name: str) -> int:
    """Of what is done in parts, the one that a mutant meets: told by its name, so that a new one moves nobody."""
    return zlib.crc32(name.encode())


NAMES = sorted(name for name, mutant in mutants().items() if mutant.crash is None)
"""What only a crash shows is held by ``test_crash_matrix``."""

SHOWN_BY = {
    **{mutants()[name].breaks: name for name in reversed(NAMES)},
    "FRESH-04": "fresh.logs_are_cached_by_path",
    "READ-01": "read.reading_at_the_end_is_an_error",
    "SEQ-09": "seq.refused_append_leaves_a_transaction_open",
}
"""Clause -> a mutant whose first failure is blamed on that very clause, not on a neighbour; the first one, mostly."""
TWINS: dict[str, Backend] = {mutants()[name].healthy.name: mutants()[name].healthy for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_mutant_dies_by_the_clause_it_breaks(name: str, tmp_path: Path) -> None:
    """The checks of its clause find the mutant, blame that clause, and show it by a program that fails again.

    Once made short, it has a dozen calls; ``make soak`` makes all of them short.

    On its twin, where the defect is off, the very same program breaks nothing.
    """
    found = kill(name, tmp_path, short=_part(name) % SHORTENED == 0)
    if not _fits_the_twin(found):
        # A scenario goes by what it is answered, so that its program as it stands may suit the mutant alone.
        found = kill(name, tmp_path)
        assert _fits_the_twin(found) == (name not in ALSO_WITHOUT)
    if name in SHOWN_BY.values():
        assert found.clause == mutants()[name].breaks
    assert found.length <= LONGEST_PROGRAM or not found.is_short, told(found.failure)
    again = perform(spec_of(name), found.program)
    assert again.violation is not None
    assert again.violation.clause == found.clause


def _fits_the_twin(found: Kill) -> bool:
    """Whether the program breaks nothing where the defect is off."""
    return perform(mutants()[found.name].healthy, found.program).violation is None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(reason=OPEN[name], strict=True)) if name in OPEN else name
        for name in NAMES
    ],
)
def test_mutant_has_one_defect(name: str, tmp_path: Path) -> None:
    """Scenarios of its clauses, of its area and of others blame the clause it breaks, or the two more that it names."""
    mutant = mutants()[name]
    broken = (mutant.breaks, *mutant.also, *WIDE.get(name, ()))
    own, near, parts = (1, 1, 1) if name in OPEN else (6, 24, 240)
    plan = plan_for(spec_of(name), tmp_path)
    plan = part_of(plan, _part(name), clauses=broken, own=own, near=near, parts=parts)
    beyond = list(blamed_beyond(mutant, plan, frozenset(broken)))
    assert beyond == [], "\n".join(beyond)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("cost.")])
def test_healthy_twin_costs_no_more(name: str, tmp_path: Path) -> None:
    """The twin of a mutant of costs passes the very checks that its mutant dies by."""
    plan = plan_for(mutants()[name].healthy, tmp_path, clauses=(mutants()[name].breaks,))
    assert any(counts(item) and not item.skip for item in plan.items)
    alarms = [told(found) for found in findings(plan)]
    assert alarms == [], "\n".join(alarms)


@pytest.mark.parametrize("name", sorted(TWINS))
def test_healthy_twin_passes(name: str, tmp_path: Path) -> None:
    """With the defect off the same construction is silent, so that it was the defect that was found."""
    plan = part_of(plan_for(TWINS[name], tmp_path, examples=TWIN_EXAMPLES), sorted(TWINS).index(name), parts=40)
    # The sweeps of the very same backends are held silent by ``test_zero_alarms``.
    alarms = [
        told(found) for found in findings(plan, *(("scenario", "sweep", "machine") if IS_SOAK else ("scenario",)))
    ]
    assert alarms == [], "\n".join(alarms)


def test_every_area_has_one_sentinel() -> None:
    """Each area with built clauses has exactly one sentinel, without whose death a silent run means nothing."""
    marked = [mutant.breaks.rpartition("-")[0] for mutant in mutants().values() if mutant.sentinel]
    assert sorted(marked) == sorted({CLAUSES[each].area for each in BUILT})
    assert len(sentinels()) == len(marked)


def test_every_built_must_clause_has_a_mutant() -> None:
    """Each must clause that is checked was seen to fail; the exceptions are written down and still needed."""
    broken = {mutant.breaks for mutant in mutants().values()}
    must = {each for each in BUILT if CLAUSES[each].level == "must"}
    print("built must clauses without a mutant:", ", ".join(sorted(must - broken)) or "none")
    assert must - broken == WITHOUT_MUTANT


def test_mutants_break_clauses_that_are_built() -> None:
    """A mutant lies in the file of its area, and names clauses that the kit has checks for."""
    for name, mutant in mutants().items():
        assert {mutant.breaks, *mutant.also} <= BUILT, name
        area = name.partition(".")[0]
        # What calls cost is one subject, whatever the area of its clauses.
        is_cost = area == "cost" and Need.IO_COUNT in CLAUSES[mutant.breaks].needs
        assert is_cost or mutant.breaks.lower().startswith(f"{area}-"), name


def test_mutants_are_small() -> None:
    """A mutant is a few lines: one defect, not another backend."""
    long = {
        f"{path.stem}.{node.name}": length
        for path in sorted(MUTANTS.glob("*.py"))
        if path.stem != "planting"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and (length := code_lines(node)) > LONGEST_DEFECT
    }
    assert long == {}


def code_lines(node: ast.ClassDef) -> int:
    """The lines of a class that hold code: no docstrings, no blank lines."""
    lines: set[int] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.stmt) and not (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant)):
            last = inner.body[0].lineno - 1 if isinstance(inner, ast.ClassDef | ast.AsyncFunctionDef) else inner.lineno
            lines.update(range(inner.lineno, max(inner.lineno, last) + 1))
    return len(lines)


def test_reports_exist() -> None:
    """The public reports that mutants stand for are reports that there are, where the collection is at hand."""
    path = ROOT.parent / "shared" / "bug_reports.json"
    if not path.is_file():
        pytest.skip(f"the collection of reports is not at {path}")
    known = {report["id"] for report in json.loads(path.read_text("utf-8"))}
    assert {mutant.report for mutant in mutants().values()} - {""} <= known
