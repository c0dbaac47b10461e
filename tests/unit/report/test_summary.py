"""The fold: one verdict for each selected clause, classes that add up, and the exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.clauses import CLAUSES, Standing, Verdict
from conformance.report.events import (
    FailureFound,
    ItemFinished,
    ItemOutcome,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    RunStarted,
    WarningRaised,
)
from conformance.report.summary import JUDGED, Summary, summarise

Started = Callable[..., RunStarted]


def _failure(clause: str, item: str = "conformance::seq::one", **more: Any) -> FailureFound:
    return FailureFound(item=item, clause=clause, expected="this", observed="that", **more)


def _finished(outcome: ItemOutcome = "passed", item: str = "conformance::seq::one", **witnesses: int) -> ItemFinished:
    return ItemFinished(
        item=item, outcome=outcome, witnesses={key.replace("_", "-"): number for key, number in witnesses.items()}
    )


def _run(*events: ReportEvent, interrupted: bool = False, **more: Any) -> Summary:
    return summarise([*events, RunFinished(seconds=1.5, interrupted=interrupted)], **more)


@pytest.mark.parametrize("standing", [each for each in Standing if each is not Standing.APPLIES])
def test_a_ruling_is_the_verdict_with_its_reason(started: Started, standing: Standing) -> None:
    """What the table rules out has that verdict, with its reason, though a witness came."""
    summary = _run(started("SEQ-01", rulings={"SEQ-01": (standing.value, "so it is")}), _finished(SEQ_01=3))
    assert summary.verdicts["SEQ-01"].verdict.value == standing.value
    assert summary.verdicts["SEQ-01"].reason == "so it is"


def test_witnesses_of_all_items_add_up_and_make_a_pass(started: Started) -> None:
    """A clause passes by witnesses alone, counted over every item; one without any is not exercised."""
    summary = _run(started("SEQ-01", "SEQ-02"), _finished(SEQ_01=2), _finished(SEQ_01=3))
    assert summary.verdicts["SEQ-01"].witnesses == 5
    assert [each.verdict for each in summary.verdicts.values()] == [Verdict.PASS, Verdict.NOT_EXERCISED]


@pytest.mark.parametrize("standing", [each.value for each in Standing])
def test_a_violation_fails_its_clause_whatever_was_ruled(started: Started, standing: str) -> None:
    """No ruling swallows a violation."""
    events = started("SEQ-01", rulings={"SEQ-01": (standing, "why")}), _failure("SEQ-01"), _finished("failed", SEQ_01=1)
    assert _run(*events).verdicts["SEQ-01"].verdict is Verdict.FAIL


def test_a_doubt_is_no_pass(started: Started) -> None:
    """A clause of which an item says in mid-run that nobody can know is not measured, though others witnessed it."""
    doubtful = ItemFinished(item="b", outcome="not measured", reason="mapped", unmeasured=("DUR-01", "DUR-02"))
    events = started("SEQ-01", "DUR-01", "DUR-02"), _finished(SEQ_01=1, DUR_01=5), doubtful, _failure("DUR-02")
    verdicts = _run(*events).verdicts
    assert [each.verdict for each in verdicts.values()] == [Verdict.PASS, Verdict.NOT_MEASURED, Verdict.FAIL]
    assert verdicts["DUR-01"].reason == "mapped"


def test_a_violation_outside_the_selection_counts(started: Started) -> None:
    """A violated clause that was not selected is told in the headline and fails the run."""
    summary = _run(started("SEQ-01"), _failure("SEQ-02"), _finished("failed", SEQ_01=1))
    assert "SEQ-02" not in summary.verdicts
    assert summary.headline() == "1/1 must · 0 not exercised · 0 failed · 1 failed outside the selection"
    assert summary.exit_code() == 1


def test_the_headline_counts_every_class(started: Started) -> None:
    """The headline in full: levels, ruled-out classes, the reason of what was not measured, and what is missing."""
    rulings = {
        "LIVE-01": ("not claimed", "no live"),
        "DUR-01": ("not applicable", "memory"),
        "SEQ-08": ("not measured", "the driver cannot cancel"),
        "SEQ-05": ("not built yet", ""),
    }
    clauses = ("SEQ-01", "SEQ-02", "SEQ-03", "SVC-07", "SVC-10", "OWN-09", *rulings)
    events = _finished("failed", SEQ_01=1, SVC_07=1, OWN_09=1), _failure("SEQ-02"), _failure("SVC-10")
    assert _run(started(*clauses, rulings=rulings), *events).headline() == (
        "1/3 must · 1/2 should · 1/1 claimed · 1 not claimed · 1 not applicable · "
        "1 not measured (why: the driver cannot cancel) · 1 not built yet · "
        "1 not exercised · 2 failed (1 of them not gating)"
    )


def test_a_known_failure_is_known_and_does_not_gate(started: Started) -> None:
    """A baseline lists failures by fingerprint or by clause; any other failure of the clause still fails it."""
    events = started("SEQ-01", "SEQ-02"), _failure("SEQ-02", fingerprint="f1"), _finished("failed", SEQ_01=1, SEQ_02=1)
    for known in ({"f1": "issue 12"}, {"SEQ-02": "issue 12"}):
        summary = _run(*events, known=known)
        assert summary.verdicts["SEQ-02"].verdict is Verdict.KNOWN
        assert summary.verdicts["SEQ-02"].reason == "issue 12"
        assert summary.exit_code() == 0
    summary = _run(*events, _failure("SEQ-02", fingerprint="f2"), known={"f1": "issue 12"})
    assert summary.verdicts["SEQ-02"].verdict is Verdict.FAIL
    assert summary.exit_code() == 1


@pytest.mark.parametrize(("strict", "code"), [(False, 0), (True, 1)])
def test_a_violated_should_clause_gates_only_under_strict(started: Started, strict: bool, code: int) -> None:
    """SVC-07 is a should clause."""
    summary = _run(started("SVC-07", strict=strict), _failure("SVC-07"), _finished("failed"))
    assert summary.exit_code() == code
    assert summary.verdicts["SVC-07"].verdict is Verdict.FAIL


@pytest.mark.parametrize(("standing", "code"), [("applies", 1), ("not claimed", 0)])
def test_a_claim_gates_where_it_is_claimed(started: Started, standing: str, code: int) -> None:
    """OWN-09 is a claim."""
    summary = _run(started("OWN-09", rulings={"OWN-09": (standing, "")}), _failure("OWN-09"), _finished("failed"))
    assert summary.exit_code() == code


@pytest.mark.parametrize(
    ("clause", "settings", "code"),
    [("SEQ-01", {}, 3), ("OWN-09", {}, 3), ("SVC-07", {}, 0), ("SVC-07", {"strict": True}, 3)],
)
def test_a_gating_clause_not_exercised_gives_3(
    started: Started, clause: str, settings: dict[str, bool], code: int
) -> None:
    """Silence is no pass for what gates, in a run that came to its end."""
    assert _run(started(clause, **settings), _finished()).exit_code() == code


@pytest.mark.parametrize(("require_measured", "code"), [(False, 0), (True, 3)])
def test_not_measured_gives_3_only_where_required(started: Started, require_measured: bool, code: int) -> None:
    """--require-measured makes what could not be measured count like what was not exercised."""
    header = started("SEQ-08", rulings={"SEQ-08": ("not measured", "no")}, require_measured=require_measured)
    assert _run(header, _finished()).exit_code() == code


@given(
    interrupted=st.booleans(), kit_error=st.booleans(), violated=st.booleans(), exercised=st.booleans(), data=st.data()
)
def test_the_first_of_130_4_1_3_decides(
    started: Started, interrupted: bool, kit_error: bool, violated: bool, exercised: bool, data: st.DataObject
) -> None:
    """Whatever comes together, in whatever order the events came, the exit code is the first that applies."""
    header = started("SEQ-01", "SEQ-02", "SVC-07")
    events: list[ReportEvent] = [WarningRaised(text="careful"), _failure("SVC-07")]
    events += [KitErrorFound(item="conformance::seq::one", message="boom")] if kit_error else []
    events += [_failure("SEQ-01")] if violated else []
    events += [_finished(SEQ_01=1, SEQ_02=1 if exercised else 0, SVC_07=1)]
    summary = _run(header, *data.draw(st.permutations(events)), interrupted=interrupted)
    applying = [(interrupted, 130), (kit_error, 4), (violated, 1), (not exercised, 3), (True, 0)]
    assert summary.exit_code() == next(code for applies, code in applying if applies)


def test_a_stream_without_a_footer_is_interrupted(started: Started) -> None:
    """Where the end is missing nothing can be said of the whole run."""
    summary = summarise([started("SEQ-01"), _finished(SEQ_01=1)])
    assert summary.interrupted
    assert summary.exit_code() == 130
    assert summary.headline().endswith("interrupted")


@pytest.mark.parametrize("outcome", ["failed", "error"])
def test_an_item_that_ends_badly_without_a_word_is_an_error_of_the_kit(started: Started, outcome: ItemOutcome) -> None:
    """An item cannot fail silently."""
    summary = _run(started("SEQ-01"), _finished(outcome, SEQ_01=1))
    assert summary.exit_code() == 4
    assert summary.kit_errors[0].item == "conformance::seq::one"


@given(data=st.data())
def test_the_classes_add_up_to_the_clauses_selected(started: Started, data: st.DataObject) -> None:
    """For any selection, rulings, failures and witnesses: both ways of adding the headline up give the selection."""
    ids = data.draw(st.lists(st.sampled_from(sorted(CLAUSES)), unique=True, min_size=1))
    standings = data.draw(st.lists(st.sampled_from(list(Standing)), min_size=len(ids), max_size=len(ids)))
    rulings = {clause: (each.value, "because 7 of 9") for clause, each in zip(ids, standings, strict=True)}
    broken = data.draw(st.lists(st.sampled_from(ids), unique=True))
    witnessed = data.draw(st.dictionaries(st.sampled_from(ids), st.integers(0, 3)))
    known = dict.fromkeys(data.draw(st.lists(st.sampled_from(broken), unique=True)) if broken else [], "listed")
    item = ItemFinished(item="conformance::seq::one", outcome="failed" if broken else "passed", witnesses=witnessed)
    summary = _run(started(*ids, rulings=rulings), *map(_failure, broken), item, known=known)

    assert list(summary.verdicts) == ids
    assert sum(sum(row.counts.values()) for row in summary.areas()) == len(ids)
    bare = re.sub(r" \((why: .*?|\d+ of them not gating)\)", "", summary.headline())
    levels = [(int(n), int(m)) for n, m in re.findall(r"(\d+)/(\d+) (?:must|should|claimed)", bare)]
    counts = {word: int(number) for number, word in re.findall(r"(?:^|· )(\d+) ([a-z ]+?)(?= ·|$)", bare)}
    judged = {each.value for each in JUDGED} | {"failed"}
    ruled_out = sum(number for word, number in counts.items() if word not in judged)
    assert sum(m for _, m in levels) + ruled_out == len(ids)
    assert sum(n for n, _ in levels) + sum(counts.values()) == len(ids)
    assert counts["failed"] == len(set(broken) - known.keys())


def test_what_is_beyond_the_durability_is_told_and_counts_for_nothing(started: Started) -> None:
    """A violation that takes a crash beyond the level gates nothing and fails no clause; such a witness passes none."""
    aside = _failure("DUR-01", "conformance::sweep::crash[btrfs]", beyond="not asked of it")
    beside = ItemFinished(
        item="conformance::sweep::crash[btrfs]",
        outcome="failed",
        witnesses={"DUR-01": 2, "DUR-02": 2},
        coverage="btrfs",
        crash_states=50,
        beyond="not asked of it",
    )
    demanded = ItemFinished(
        item="conformance::sweep::crash[ext4]",
        outcome="passed",
        witnesses={"DUR-01": 1},
        coverage="ext4",
        crash_states=7,
        crash_bound=3,
    )
    summary = _run(started("DUR-01", "DUR-02", strict=True), aside, beside, demanded)
    assert [each.verdict for each in summary.verdicts.values()] == [Verdict.PASS, Verdict.NOT_EXERCISED]
    assert (summary.gating_failures, summary.other_failures) == ((), (aside,))
    told = "0 failed · 1 failed beyond the durability · crash states opened 7 (exhaustive N≤3)"
    assert summary.headline().endswith(told)
    assert summary.exit_code() == 3
    gating = _run(started("DUR-01"), aside, _failure("DUR-01"), demanded)
    assert gating.exit_code() == 1
    assert "beyond the durability" not in gating.headline()
