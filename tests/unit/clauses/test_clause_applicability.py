"""The table of applicability: each row seen to bite and to let pass, and one ruling for each clause in every case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.clauses import (
    APPLIES,
    BUILT,
    CLAUSES,
    DURABILITY_ORDER,
    TABLE,
    Claim,
    Condition,
    Need,
    Route,
    Ruling,
    Standing,
    Verdict,
    in_process_route,
    needs_standing,
    ruling,
    rulings,
    stdio_route,
)
from conformance.clauses.applicability import Row
from conformance.clauses.built import REACHED_BY
from conformance.contract import SEAMS, Backend, Capabilities, Durability

HERE = in_process_route()
ALL = frozenset(CLAUSES)


def seam(*_: Any) -> None:
    """Stands for any seam: the table asks only whether it is there."""


def backend(*seams: str, **claimed: Any) -> Backend:
    """A backend that gives these seams and claims these capabilities."""
    given_seams: dict[str, Any] = dict.fromkeys(seams, seam)
    return Backend(name="mine", open=seam, capabilities=Capabilities(**claimed), **given_seams)


JSONL_LIKE = backend("location", cross_process_ownership=True, checksums=True, append_durability="append")
MEMORY = backend(storage="memory", durability="none")
SERVICE = backend(storage="service", loop="real")


@dataclass(frozen=True)
class Example:
    """A clause that asks for a row's key, a backend that lacks it, and one that has it."""

    clause: str
    lacks: Backend
    has: Backend


FULL = ("location", "craft", "live", "resume", "store", "entries", "storage_key", "session_id_for")
MEMORY_FULL = backend(*FULL, storage="memory", cross_process_ownership=True, lease=1.0, checksums=True)
FILES_FULL = backend(*FULL, cross_process_ownership=True, lease=1.0, checksums=True)

EXAMPLES: dict[tuple[str, str], Example] = {
    ("store", "store"): Example("STORE-01", backend(), backend("store")),
    ("entries", "entries"): Example("KNIT-01", backend("store"), backend("entries")),
    ("storage-key", "storage_key"): Example("NS-01", backend("session_id_for"), backend("storage_key")),
    ("session-id", "session_id_for"): Example("NS-02", backend("storage_key"), backend("session_id_for")),
    ("live", "live"): Example("LIVE-07", backend("resume", live_window=0.1), backend("live")),
    ("resume", "resume"): Example("RES-01", backend("live"), backend("resume")),
    ("cross_process_ownership", "claimed"): Example("OWN-09", backend(), backend(cross_process_ownership=True)),
    ("lease", "declared"): Example("OWN-10", backend(), backend(lease=0.0)),
    ("append_durability", "claimed"): Example("DUR-09", backend(), backend(append_durability="append")),
    ("migrates", "names"): Example("FMT-07", backend("location"), backend("location", "craft", migrates=("v0",))),
    ("encodings", "names"): Example("FMT-08", backend("location"), backend("location", encodings=("zstd", "raw"))),
    ("checksums", "claimed"): Example("FMT-10", backend("location"), backend("location", checksums=True)),
    ("distributed", "claimed"): Example("STORE-08", backend("store"), backend("store", distributed=True)),
    ("fresh", "memory"): Example("FRESH-04", MEMORY_FULL, FILES_FULL),
    ("crash", "memory"): Example("DUR-01", MEMORY_FULL, FILES_FULL),
    ("faults", "memory"): Example("FAULT-01", MEMORY_FULL, FILES_FULL),
    ("damage", "memory"): Example("MAT-06", MEMORY_FULL, FILES_FULL),
    ("second-process", "memory"): Example("OWN-09", MEMORY_FULL, FILES_FULL),
    ("files", "files"): Example("ID-02", SERVICE, backend()),
    (Condition.SERVICE, "speaks of"): Example("DUR-12", backend(), backend(storage="service")),
    (Condition.NOT_SERVICE, "not asked"): Example("READ-06", backend(storage="service"), backend()),
    (Condition.LAZY, "eager"): Example("MAT-03", backend(materialization="eager"), backend()),
    (Condition.SHARED_PENDING, "pending id"): Example("SVC-12", backend(create_scope="storage"), backend()),
    (Condition.CLOSED_VOCABULARY, "open"): Example("FMT-03", backend(vocabulary="open"), backend()),
    (Condition.SHARED_WITHOUT_OWNERSHIP, "beside the owner"): Example("OWN-14", JSONL_LIKE, backend()),
    (Condition.FROM_PROCESS_KILL, "after a crash"): Example(
        "DUR-10", backend("location", durability="none"), backend("location", durability="process-kill")
    ),
    (Condition.FROM_POWER_LOSS, "up"): Example(
        "FAULT-03", backend(durability="process-kill"), backend(durability="power-loss")
    ),
    ("crash", "after a crash"): Example("OWN-08", backend(durability="none"), backend(durability="process-kill")),
    ("location", "location"): Example("TORN-01", backend(), backend("location")),
    ("crafted-format", "craft"): Example("FMT-01", backend("location"), backend("location", "craft")),
    ("clock", "real"): Example("LIVE-01", backend("live", loop="real"), backend("live")),
}
"""(key, a word of the reason) -> an example; the word tells apart rows that share a key."""


def example_of(row: Row) -> Example:
    """The one example written down for a row."""
    found = [each for (key, word), each in EXAMPLES.items() if key == row.key and word in row.reason]
    assert len(found) == 1, (row.key, row.reason)
    return found[0]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.key}:{row.standing.value}")
def test_every_row_bites_on_one_backend_and_lets_another_pass(row: Row) -> None:
    """A clause that asks for the row's key is ruled out by it where it is missing, and applies where it is not."""
    example = example_of(row)
    clause = CLAUSES[example.clause]
    assert row.key in {*clause.needs, *clause.requires, clause.claim}
    assert ruling(clause, example.lacks, HERE, built=ALL) == Ruling(row.standing, row.reason)
    assert ruling(clause, example.has, HERE, built=ALL) == APPLIES


def test_every_example_belongs_to_a_row() -> None:
    """No example outlives the row it was written for."""
    assert len(EXAMPLES) == len(TABLE)


def test_every_claim_condition_and_need_can_be_decided() -> None:
    """Each claim and condition has a row; a need without one depends on the route alone."""
    keys = {str(row.key) for row in TABLE}
    assert keys >= set(get_args(Claim))
    assert keys >= {str(each) for each in Condition}
    by_route = {Need.CANCEL, Need.CALLER_MEMORY, Need.PYTHON_VALUES, Need.IO_COUNT}
    assert {need for need in Need if need not in keys} == by_route


CAPABILITIES = st.builds(
    Capabilities,
    durability=st.sampled_from(DURABILITY_ORDER),
    append_durability=st.sampled_from(["flush", "append"]),
    storage=st.sampled_from(["files", "service", "memory"]),
    loop=st.sampled_from(["simulated", "real"]),
    materialization=st.sampled_from(["lazy", "eager"]),
    create_scope=st.sampled_from(["instance", "storage"]),
    vocabulary=st.sampled_from(["closed", "open"]),
    unknown_types=st.sampled_from(["refuse", "store"]),
    numbers=st.sampled_from(["exact", "double"]),
    cross_process_ownership=st.booleans(),
    checksums=st.booleans(),
    distributed=st.booleans(),
    lease=st.none() | st.just(5.0),
    live_window=st.none() | st.just(0.05),
    migrates=st.sampled_from([(), ("v0",)]),
    encodings=st.sampled_from([(), ("zstd", "raw")]),
)
BACKENDS = st.builds(
    lambda capabilities, seams: replace(backend(*seams), capabilities=capabilities),
    CAPABILITIES,
    st.frozensets(st.sampled_from(SEAMS)),
)
ROUTES = st.builds(
    lambda make, cannot, knows_format: make(cannot=dict.fromkeys(cannot, "not here"), knows_format=knows_format),
    st.sampled_from([in_process_route, stdio_route]),
    st.frozensets(st.sampled_from(list(Need))),
    st.booleans(),
)


@given(BACKENDS, ROUTES, st.none() | st.sampled_from(DURABILITY_ORDER), st.frozensets(st.sampled_from(sorted(ALL))))
def test_every_clause_gets_exactly_one_ruling(
    mine: Backend, route: Route, durability: Durability | None, built: frozenset[str]
) -> None:
    """Whatever is declared, each clause has one standing, with a reason exactly where it is not asked."""
    ruled = rulings(mine, route, durability=durability, built=built)
    assert list(ruled) == list(CLAUSES)
    for clause_id, found in ruled.items():
        clause = CLAUSES[clause_id]
        assert bool(found.reason) == (not found.applies)
        assert found.verdict == (None if found.applies else Verdict(found.standing.value))
        if found.standing is Standing.NOT_CLAIMED:
            assert clause.claim is not None
        if found.standing in (Standing.APPLIES, Standing.NOT_MEASURED):
            assert clause_id in built
        if found.standing is Standing.NOT_BUILT:
            assert clause_id not in built or clause_id in REACHED_BY
        if found.applies:
            assert needs_standing(clause.needs, mine, route, durability=durability) == APPLIES


@given(BACKENDS, ROUTES, st.frozensets(st.sampled_from(sorted(ALL))))
def test_what_a_backend_declares_decides_before_the_kit_and_the_machine_do(
    mine: Backend, route: Route, built: frozenset[str]
) -> None:
    """A clause that is not claimed or not applicable is so over every route and whatever checks there are."""
    knows = in_process_route(knows_format=route.knows_format)
    declared = rulings(mine, knows, built=ALL)
    for clause_id, found in rulings(mine, route, built=built).items():
        if declared[clause_id].standing in (Standing.NOT_CLAIMED, Standing.NOT_APPLICABLE):
            assert found == declared[clause_id]
        else:
            assert found.standing not in (Standing.NOT_CLAIMED, Standing.NOT_APPLICABLE)


def asked(mine: Backend) -> set[str]:
    """The clauses that are asked of a backend once every clause has a check."""
    found = rulings(mine, HERE, built=ALL)
    assert Counter(each.standing for each in found.values()).total() == len(CLAUSES)
    return {clause_id for clause_id, each in found.items() if each.applies}


def ids(area: str, *numbers: int) -> set[str]:
    """The ids of these numbers in an area."""
    return {f"{area}-{number:02}" for number in numbers}


def test_a_backend_in_memory_is_asked_what_one_instance_without_faults_can_show() -> None:
    """storage="memory" leaves the clauses that need no second instance, crash, fault, damage, seam or claim."""
    expected = ids("SVC", 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13) | ids("OWN", 1, 2, 3, 4, 5, 6, 11, 12)
    expected |= ids("SEQ", *range(1, 12)) | ids("READ", *range(1, 6)) | ids("FRESH", 1, 2, 3)
    expected |= ids("REV", *range(1, 6)) | ids("MAT", 1, 3) | ids("CLOSE", *range(1, 9)) | ids("FLUSH", 1, 3, 4)
    expected |= {"FAULT-06"} | ids("FMT", 2, 3) | ids("JSON", 1, 2, 3) | {"ID-01"}
    assert asked(MEMORY) == expected


def test_a_file_backend_is_asked_about_its_artifacts_where_it_tells_their_place() -> None:
    """``location`` adds the clauses about stored artifacts; crafted formats and claims need more."""
    artifact = ids("TORN", 1, 2, 3, 4, 5) | ids("FMT", 4, 5, 6, 9, 11, 12) | ids("ID", 3, 4)
    artifact |= ids("SVC", 7, 14) | {"MAT-06", "DUR-10"}
    assert asked(backend("location")) - asked(backend()) == artifact
    claims = ids("OWN", 9, 13) | {"FMT-10", "DUR-09"}
    assert asked(JSONL_LIKE) == (asked(backend("location")) | claims) - {"OWN-14"}


def test_a_service_is_asked_what_files_are_not() -> None:
    """storage="service" swaps the clauses about paths and failing appends for those about a server's word."""
    service, files = asked(SERVICE), asked(backend())
    assert service - files == {"DUR-12", "FAULT-09"}
    assert files - service == {"ID-02", "ID-05", "READ-06"}


def test_every_clause_is_asked_of_some_backend() -> None:
    """No clause is ruled out for everybody: file backends and a service that claim all are asked everything."""
    everything: dict[str, Any] = {
        "append_durability": "append",
        "lease": 5.0,
        "checksums": True,
        "distributed": True,
        "migrates": ("v0",),
        "encodings": ("zstd", "raw"),
    }
    files = asked(backend(*FULL, **everything)) | asked(backend(*FULL, cross_process_ownership=True, **everything))
    service = asked(backend(*FULL, storage="service", **everything))
    assert files | service == ALL


def test_a_claim_that_is_not_made_is_not_claimed_rather_than_not_applicable() -> None:
    """What a backend does not promise is told as that, also where its storage would rule it out."""
    assert ruling(CLAUSES["OWN-09"], MEMORY, HERE).standing is Standing.NOT_CLAIMED
    claimed = backend(storage="memory", cross_process_ownership=True)
    assert ruling(CLAUSES["OWN-09"], claimed, HERE).standing is Standing.NOT_APPLICABLE
    assert ruling(CLAUSES["LIVE-04"], MEMORY, HERE).standing is Standing.NOT_CLAIMED


def test_without_a_session_store_its_claims_do_not_apply() -> None:
    """The seam comes before the claim: no store, nothing to claim about it; a store without the claim, not claimed."""
    for clause_id in ("STORE-08", "STORE-09", "STORE-13"):
        assert ruling(CLAUSES[clause_id], backend(distributed=True), HERE).standing is Standing.NOT_APPLICABLE
        assert ruling(CLAUSES[clause_id], backend("store"), HERE).standing is Standing.NOT_CLAIMED
        assert ruling(CLAUSES[clause_id], backend("store", distributed=True), HERE, built=ALL) == APPLIES


def test_not_built_comes_before_not_measured_and_after_the_rest() -> None:
    """Without a check no better route would help; a clause that can never apply says so even without a check."""
    cannot = in_process_route(cannot={Need.CANCEL: "no cancellation here"})
    clause = CLAUSES["SEQ-08"]
    assert ruling(clause, backend(), cannot, built=()).standing is Standing.NOT_BUILT
    assert ruling(clause, backend(), cannot, built=ALL) == Ruling(Standing.NOT_MEASURED, "no cancellation here")
    assert ruling(CLAUSES["DUR-12"], backend(), cannot, built=()).standing is Standing.NOT_APPLICABLE


def test_built_clauses_are_the_default() -> None:
    """By default the clauses that have a check apply, and the others are not built yet."""
    everything = rulings(FILES_FULL, HERE)
    for clause_id, found in everything.items():
        if found.applies:
            assert clause_id in BUILT
        elif clause_id not in BUILT:
            assert found.standing in (Standing.NOT_BUILT, Standing.NOT_CLAIMED, Standing.NOT_APPLICABLE)


def test_the_line_protocol_cannot_measure_what_needs_python() -> None:
    """Over stdio, clauses about shared objects, Python's own values and cancellation inside a call are not measured."""
    ruled = rulings(backend(), stdio_route(), built=ALL)
    found = {clause_id for clause_id, each in ruled.items() if each.standing is Standing.NOT_MEASURED}
    assert found == {"SEQ-06", "SEQ-07", "SEQ-08", "CLOSE-04", "CLOSE-05", "JSON-02"}
    assert all(ruled[clause_id].reason for clause_id in found)


def test_a_level_that_is_tried_replaces_the_one_that_is_claimed() -> None:
    """``durability`` rules as if that level were claimed, more or less than the backend's own."""
    assert ruling(CLAUSES["DUR-11"], backend(), HERE, durability="process-kill", built=ALL).standing is (
        Standing.NOT_APPLICABLE
    )
    weak = backend(durability="none")
    assert ruling(CLAUSES["DUR-01"], weak, HERE, built=ALL).standing is Standing.NOT_APPLICABLE
    assert ruling(CLAUSES["DUR-01"], weak, HERE, durability="power-loss", built=ALL) == APPLIES


def test_a_format_that_the_kit_knows_stands_in_for_location_and_craft() -> None:
    """Where the kit can find and read the artifacts itself, the backend need not help."""
    known = in_process_route(knows_format=True)
    for clause_id in ("TORN-01", "FMT-01", "FMT-04", "ID-03", "SVC-07"):
        assert ruling(CLAUSES[clause_id], backend(), HERE, built=ALL).standing is Standing.NOT_APPLICABLE
        assert ruling(CLAUSES[clause_id], backend(), known, built=ALL) == APPLIES


def test_artifact_clauses_are_those_of_the_contract() -> None:
    """Exactly the clauses the contract names need the artifact of a session."""
    named = {f"TORN-0{number}" for number in range(1, 6)} | {f"FMT-{number:02}" for number in range(4, 13)}
    named |= {"SVC-07", "SVC-14", "MAT-06", "FMT-01", "ID-03", "ID-04", "DUR-10"}
    assert {each.id for each in CLAUSES.values() if Need.LOCATION in each.needs} == named


def test_durability_levels_rule_out_the_areas_that_the_contract_names() -> None:
    """DUR and TORN start at process-kill, DUR-11 and FAULT-03 at power-loss."""
    for each in CLAUSES.values():
        levels = {Condition.FROM_PROCESS_KILL, Condition.FROM_POWER_LOSS} & set(each.requires)
        if each.id in ("DUR-11", "FAULT-03"):
            assert levels == {Condition.FROM_POWER_LOSS}
        else:
            assert levels == ({Condition.FROM_PROCESS_KILL} if each.area in ("DUR", "TORN") else set()), each.id


@pytest.mark.parametrize(
    ("needs", "mine", "route", "standing"),
    [
        (set(), MEMORY, HERE, Standing.APPLIES),
        ({Need.FRESH}, MEMORY, HERE, Standing.NOT_APPLICABLE),
        ({Need.FRESH}, backend(), HERE, Standing.APPLIES),
        ({Need.CRASH}, backend(durability="none"), HERE, Standing.NOT_APPLICABLE),
        ({Need.LIVE}, backend(), HERE, Standing.NOT_CLAIMED),
        ({Need.STORE}, backend(), HERE, Standing.NOT_APPLICABLE),
        ({Need.CALLER_MEMORY}, backend(), stdio_route(), Standing.NOT_MEASURED),
        ({Need.CLOCK}, SERVICE, HERE, Standing.NOT_MEASURED),
    ],
)
def test_a_scenarios_needs_are_ruled_by_the_same_table(
    needs: set[Need], mine: Backend, route: Route, standing: Standing
) -> None:
    """A scenario runs or not by the table that decides about clauses."""
    assert needs_standing(frozenset(needs), mine, route).standing is standing


def test_routes_add_what_the_machine_lacks() -> None:
    """What the caller adds joins what the kind of route cannot do, and replaces its reason."""
    assert not in_process_route().cannot
    assert in_process_route(cannot={Need.FAULTS: "no strace"}).cannot == {Need.FAULTS: "no strace"}
    line = stdio_route(cannot={Need.FAULTS: "no strace", Need.CANCEL: "not yet"})
    assert (line.kind, line.cannot[Need.FAULTS], line.cannot[Need.CANCEL]) == ("stdio", "no strace", "not yet")
    assert {Need.CALLER_MEMORY, Need.PYTHON_VALUES, Need.CANCEL} <= set(stdio_route().cannot)
    assert Route(kind="in-process").cannot == {}


def test_nothing_above_the_contract_is_imported() -> None:
    """The package's modules import the contract, themselves and the standard library, and nothing else."""
    folder = Path(__file__).parents[3] / "conformance" / "clauses"
    for path in folder.rglob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            if line.startswith(("from conformance", "import conformance")):
                assert line.startswith(("from conformance.clauses", "from conformance.contract")), (path.name, line)
