"""Violations and verdicts: one class for each clause, printable, picklable; eight verdicts in their order."""

from __future__ import annotations

import copy
import pickle

import pytest

from conformance.clauses import CLAUSES, VIOLATIONS, Need, UnknownClauseError, Verdict, Violation, violation, violations


def test_every_clause_has_a_class_of_its_own() -> None:
    """No two clauses share an exception type, or Hypothesis would merge their failures."""
    assert list(VIOLATIONS) == list(CLAUSES)
    assert len(set(VIOLATIONS.values())) == len(CLAUSES)
    for clause_id, made in VIOLATIONS.items():
        assert made.clause == clause_id
        assert made.__name__ == "Violation_" + clause_id.replace("-", "_")
        assert getattr(violations, made.__name__) is made
        assert made.__bases__ == (Violation,)
        assert CLAUSES[clause_id].statement in (made.__doc__ or "")


@pytest.mark.parametrize("clause_id", list(CLAUSES))
def test_violations_survive_pickling_and_copying(clause_id: str) -> None:
    """A violation from another worker has the same class, fields and text."""
    raised = violation(clause_id)("an empty list", "one event", note="seen twice", call=7, client=2, step=1)
    for twin in (pickle.loads(pickle.dumps(raised)), copy.copy(raised), copy.deepcopy(raised)):
        assert type(twin) is type(raised)
        assert (twin.expected, twin.observed, twin.note, twin.call) == ("an empty list", "one event", "seen twice", 7)
        assert (twin.client, twin.step) == (2, 1)
        assert str(twin) == str(raised)
    assert pickle.loads(pickle.dumps(type(raised))) is type(raised)


def test_a_violation_says_the_clause_with_its_sentence_and_both_sides() -> None:
    """The text has the id, the sentence, what was expected and what was observed, and the note where there is one."""
    bare = violation("SEQ-02")("refused", "resolved")
    assert str(bare).splitlines() == [
        f"SEQ-02: {CLAUSES['SEQ-02'].statement}",
        "  expected: refused",
        "  observed: resolved",
    ]
    assert repr(bare) == "Violation_SEQ_02('refused', 'resolved')"
    full = violation("SEQ-02")("refused", "resolved", note="a gap", call=0)
    assert str(full).splitlines()[2:] == ["  observed: resolved (call 0)", "  note: a gap"]
    assert repr(full) == "Violation_SEQ_02('refused', 'resolved', note='a gap', call=0)"
    inside = violation("SEQ-02")("refused", "resolved", call=3, client=0, step=2)
    assert str(inside).splitlines()[2:] == ["  observed: resolved (call 3, client 0, step 2)"]
    assert repr(inside) == "Violation_SEQ_02('refused', 'resolved', call=3, client=0, step=2)"


def test_the_base_class_stands_for_no_clause() -> None:
    """A violation is always one of exactly one clause; an unknown clause has none."""
    with pytest.raises(TypeError, match="no clause"):
        Violation("a", "b")
    with pytest.raises(UnknownClauseError, match="SEQ-02"):
        violation("SEQ-2")


def test_the_verdicts_are_eight_in_their_order() -> None:
    """Reports list the verdicts in this order, under these names."""
    assert [str(each) for each in Verdict] == [
        "pass",
        "fail",
        "known",
        "not claimed",
        "not applicable",
        "not measured",
        "not built yet",
        "not exercised",
    ]


def test_the_needs_are_a_closed_list_and_each_is_explained() -> None:
    """Nineteen needs, found by their names, each with a sentence of its own, and each used by a clause."""
    names = (
        "fresh crash files location faults damage cancel caller-memory python-values io-count clock second-process"
        " crafted-format store entries storage-key session-id live resume"
    )
    assert [str(each) for each in Need] == names.split()
    for each in Need:
        assert Need(str(each)) is each
        assert pickle.loads(pickle.dumps(each)) is each
        assert each.meaning.endswith(".")
    assert len({each.meaning for each in Need}) == len(Need)
    assert {need for each in CLAUSES.values() for need in each.needs} == set(Need)
