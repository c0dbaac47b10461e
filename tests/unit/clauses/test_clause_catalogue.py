"""The catalogue: complete, in step with the contract, ordered by narrowness, and easy to choose from."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.clauses import (
    AREAS,
    BUILT,
    CLAUSES,
    Clause,
    Condition,
    UnknownClauseError,
    broader_than,
    clause,
    narrowest,
    select,
)
from conformance.clauses.catalogue import index_clauses

SHARED = Path(__file__).parents[4] / "shared"
USED_IDS = Path(__file__).with_name("clause_ids.txt")

LENIENT_EXCEPTIONS = {
    ("SVC-07", "SVC-06"): "with damage around, only the should clause speaks about list",
    ("OWN-14", "SEQ-02"): "two writers whom nobody keeps apart are outside SEQ",
    ("OWN-14", "SEQ-04"): "two writers whom nobody keeps apart are outside SEQ",
    ("FMT-12", "FMT-04"): "an editor's marks are no damage to the records",
}
"""The only should clauses that may take the blame from a must clause; the contract means to be lenient there."""

NARROWER = """
    SEQ-06 SEQ-01, SEQ-07 SEQ-01, SEQ-02 SEQ-01, SEQ-03 SEQ-01, SEQ-08 SEQ-01, SEQ-09 SEQ-01, JSON-01 SEQ-01,
    JSON-02 SEQ-01, JSON-03 SEQ-01, READ-01 SEQ-01, READ-04 SEQ-01, FMT-03 SEQ-01, READ-04 FRESH-01, READ-03
    SEQ-04, FRESH-01 SEQ-04, SVC-02 SVC-11, SVC-05 SVC-11, SEQ-03 SVC-11, OWN-06 SVC-11, OWN-12 SVC-11, REV-02
    FRESH-02, MAT-01 SVC-01, MAT-01 SVC-06, MAT-03 SVC-13, MAT-04 FRESH-04, MAT-05 FRESH-04, CLOSE-07
    CLOSE-02, OWN-02 SEQ-01, SVC-09 SVC-01, SEQ-01 SEQ-11
"""
"""Pairs that blame must keep to: the first is blamed when one answer breaks both."""


def contract_rows() -> dict[str, tuple[str, str]]:
    """Id -> (level column, rule) of the contract's tables, in order; skips where the contract is not at hand."""
    path = SHARED / "contract.md"
    if not path.exists():
        pytest.skip(f"the contract's text is not at hand at {path}")
    found = re.findall(r"^\| ([A-Z]+-\d\d) \| (.*?) \| (.*) \|$", path.read_text("utf-8"), re.MULTILINE)
    return {clause_id: (level, rule) for clause_id, level, rule in found}


def words(text: str) -> list[str]:
    """The words of a sentence, without its marks."""
    return re.findall(r"[a-z0-9]+", text.lower())


def test_the_catalogue_has_exactly_the_contracts_ids_in_its_order() -> None:
    """Every rule of the contract is a clause, in the same order, and nothing else is."""
    assert list(CLAUSES) == list(contract_rows())
    assert len(CLAUSES) == 157


def test_levels_claims_and_conditions_are_the_contracts() -> None:
    """The level column of the contract gives each clause's level, its claim and the conditions it names."""
    wanted_conditions = {
        "must, not `service`": Condition.NOT_SERVICE,
        "must, `service`": Condition.SERVICE,
        'must, `vocabulary="closed"`': Condition.CLOSED_VOCABULARY,
        "should, shared storage without that claim": Condition.SHARED_WITHOUT_OWNERSHIP,
    }
    for clause_id, (column, _) in contract_rows().items():
        found = CLAUSES[clause_id]
        assert found.level == re.split(r"[ ,]", column)[0], clause_id
        named = re.search(r"(?:claim |should \()`([a-z_]+)", column)
        seam = {"LIVE": "live", "RES": "resume"}.get(found.area)
        assert found.claim == (named[1] if named else seam), clause_id
        if column in wanted_conditions:
            assert wanted_conditions[column] in found.requires, clause_id
        assert (Condition.LAZY in found.requires) == ("unless eager" in column), clause_id
        # Where no second instance can hold a pending id, SVC-12 speaks of nothing.
        assert (Condition.SHARED_PENDING in found.requires) == (clause_id == "SVC-12"), clause_id


def test_statements_are_our_own_full_sentences() -> None:
    """Each statement begins with a capital or a name in code, ends with a full stop, and is no other's and no copy."""
    statements = {each.statement for each in CLAUSES.values()}
    assert len(statements) == len(CLAUSES)
    for each in CLAUSES.values():
        assert re.match(r"[A-Z`]", each.statement), each.id
        assert each.statement.endswith("."), each.id
        assert "  " not in each.statement + each.reading + each.source, each.id
        assert not each.reading or each.reading.endswith("."), each.id


def test_no_statement_repeats_the_contracts_sentence() -> None:
    """A statement is worded anew: it never holds a whole rule of the contract, word for word."""
    for clause_id, (_, rule) in contract_rows().items():
        assert " ".join(words(rule)) not in " ".join(words(CLAUSES[clause_id].statement)), clause_id


def test_every_statement_is_written_without_runs_of_spaces_between_its_parts() -> None:
    """The pieces of a text join with one space: no word is glued to the next."""
    for each in CLAUSES.values():
        assert not re.search(r"[a-z][.;,][A-Za-z]{2}", each.statement.replace("README.md", "")), each.id


def test_every_source_names_a_seed_or_reports_that_exist() -> None:
    """A source begins with a known document, and every field report it names is in the collection."""
    path = SHARED / "bug_reports.json"
    if not path.exists():
        pytest.skip(f"the field reports are not at hand at {path}")
    known = {report["id"] for report in json.loads(path.read_text("utf-8"))}
    for each in CLAUSES.values():
        assert re.match(r"S[03], \S|measured crash images|field reports R", each.source), each.id
        assert set(re.findall(r"R\d{3}", each.source)) <= known, each.id
        assert len(re.findall(r"R\d{3}", each.source)) <= 6, each.id


def test_sources_name_sections_of_the_seeds() -> None:
    """The section that a source names is a line of that seed."""
    seeds = {name: next(iter((SHARED / "seeds").glob(f"{name}_*")), None) for name in ("000", "003")}
    if None in seeds.values():
        pytest.skip(f"the seeds are not at hand at {SHARED / 'seeds'}")
    lines = {
        name: {words_of(line) for line in path.read_text("utf-8").splitlines()} for name, path in seeds.items() if path
    }
    for each in CLAUSES.values():
        for seed, section in re.findall(r"(S[03]), ([^;]+)", each.source):
            known = lines["000" if seed == "S0" else "003"]
            assert any(words_of(section) == line[: len(words_of(section))] for line in known), (each.id, section)


def words_of(line: str) -> tuple[str, ...]:
    """The words of a heading, to compare it however it is marked."""
    return tuple(words(line))


def test_ids_that_were_ever_used_stay_and_keep_the_level_they_came_with() -> None:
    """No id disappears, none is new without being written down, and each names the release that introduced it."""
    used = [line.split() for line in USED_IDS.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert len({clause_id for clause_id, _, _ in used}) == len(used)
    assert {clause_id for clause_id, _, _ in used} == set(CLAUSES)
    for clause_id, level, since in used:
        assert level in {"must", "should", "claim"}
        assert CLAUSES[clause_id].since == since, clause_id
        assert since == "0.1.0" or level != "must", f"{clause_id}: a new must clause enters as should for one release"


def test_built_clauses_exist() -> None:
    """Only clauses of the catalogue can have a check."""
    assert set(CLAUSES) >= BUILT


@pytest.mark.parametrize("pair", [pair.split() for pair in NARROWER.split(",")], ids="<".join)
def test_known_overlaps_blame_the_narrower_clause(pair: list[str]) -> None:
    """Of two clauses that one answer breaks, the narrower is blamed, in whichever order they are given."""
    narrower, broader = pair
    assert broader in broader_than(narrower)
    assert narrowest([broader, narrower]) == narrowest([narrower, broader]) == narrower


def test_a_should_clause_takes_no_blame_from_a_must_clause_but_where_the_contract_is_lenient() -> None:
    """A narrower clause that does not gate would mute one that does, except where exactly that is meant."""
    found = {
        (each.id, broader)
        for each in CLAUSES.values()
        for broader in each.narrower_than
        if each.level == "should" and CLAUSES[broader].level != "should"
    }
    assert found == LENIENT_EXCEPTIONS.keys()


@given(st.lists(st.sampled_from(sorted(CLAUSES)), min_size=1, max_size=8))
def test_the_narrowest_is_one_that_no_candidate_is_narrower_than(candidates: list[str]) -> None:
    """The clause blamed is a candidate, and the first with no narrower one beside it."""
    blamed = narrowest(candidates)
    free = [each for each in candidates if all(each not in broader_than(other) for other in candidates)]
    assert blamed == free[0]


def test_ties_go_to_the_first_candidate() -> None:
    """Between clauses of which neither is narrower, the order given decides."""
    assert narrowest(["KNIT-02", "SEQ-02"]) == "KNIT-02"
    assert narrowest(["SEQ-02", "KNIT-02"]) == "SEQ-02"
    with pytest.raises(ValueError, match="at least one"):
        narrowest([])
    with pytest.raises(UnknownClauseError):
        narrowest(["SEQ-02", "SEQ-99"])


def made(clause_id: str, *narrower_than: str, area: str = "SEQ") -> Clause:
    """A clause for building small catalogues."""
    return replace(CLAUSES["SEQ-02"], id=clause_id, area=area, narrower_than=narrower_than)


@pytest.mark.parametrize(
    ("clauses", "problem"),
    [
        ([made("SEQ-01"), made("SEQ-01")], "twice"),
        ([made("SEQ-01", area="READ")], "known area"),
        ([made("WAL-01", area="WAL")], "known area"),
        ([made("SEQ-01", "SEQ-09")], "do not exist"),
        ([made("SEQ-01", "SEQ-02"), made("SEQ-02", "SEQ-01")], "circle"),
        ([made("SEQ-01", "SEQ-01")], "circle"),
    ],
)
def test_a_broken_catalogue_is_refused_when_it_is_loaded(clauses: list[Clause], problem: str) -> None:
    """Ids used twice or outside their area, and narrowness that leads nowhere or in a circle, are errors."""
    with pytest.raises(ValueError, match=problem):
        index_clauses(clauses, ["SEQ"] if problem != "known area" else ["SEQ", "READ"])


@pytest.mark.parametrize(
    ("patterns", "ids"),
    [
        (["SEQ-02"], ["SEQ-02"]),
        (["seq-02, json-*"], ["SEQ-02", "JSON-01", "JSON-02", "JSON-03"]),
        (["json-*", "SEQ-02"], ["SEQ-02", "JSON-01", "JSON-02", "JSON-03"]),
        (["NS"], ["NS-01", "NS-02"]),
        (["REV-0[12]", "REV-01,"], ["REV-01", "REV-02"]),
        (["*-14"], ["SVC-14", "OWN-14", "LIVE-14"]),
        (["*"], list(CLAUSES)),
        ([], list(CLAUSES)),
    ],
)
def test_patterns_choose_clauses_in_document_order(patterns: list[str], ids: list[str]) -> None:
    """Ids, areas and shell patterns choose clauses once each, in document order, in any case."""
    assert [each.id for each in select(patterns)] == ids


@pytest.mark.parametrize(
    ("pattern", "near"), [("SEQ-2", "SEQ-02"), ("sec-02", "SEQ-02"), ("LIV", "LIVE"), ("FLUHS-*", "FLUSH")]
)
def test_a_pattern_that_matches_nothing_names_near_misses(pattern: str, near: str) -> None:
    """A misspelt pattern among right ones is an error that names what it looks like."""
    with pytest.raises(UnknownClauseError) as caught:
        select(["SEQ-01", f"SEQ-03,{pattern}"])
    assert caught.value.pattern == pattern
    assert near in caught.value.near
    assert near in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_pattern_like_nothing_lists_the_areas() -> None:
    """Where nothing looks like the pattern, the error lists the areas there are; an empty pattern is an error too."""
    for pattern in ("9999", "", " , "):
        with pytest.raises(UnknownClauseError, match=", ".join(AREAS)):
            select([pattern])
    with pytest.raises(TypeError, match="sequence of patterns"):
        select("SEQ-01")


def test_one_clause_is_found_by_its_exact_id() -> None:
    """``clause`` gives the record of an id, and names near misses where there is none."""
    assert clause("SEQ-02").area == "SEQ"
    with pytest.raises(UnknownClauseError, match="SEQ-02"):
        clause("SEQ-2")


def test_must_and_claim_gate_and_should_gates_only_when_strict() -> None:
    """A should clause is reported only, unless the run is strict."""
    assert CLAUSES["SEQ-02"].gates()
    assert CLAUSES["OWN-09"].gates()
    assert not CLAUSES["OWN-14"].gates()
    assert CLAUSES["OWN-14"].gates(strict=True)
