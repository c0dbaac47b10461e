"""STORE, KNIT and NS: the session store with its turns, the log of linked entries under it, and the names of both.

Each is asked only of a backend that gives the seam: ``store``, ``entries``, ``storage_key`` or ``session_id_for``.
"""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause

AREAS = {"STORE": "The session store", "KNIT": "Linked entries", "NS": "Namespaces"}

_DURABLE = "S0, How the durable session actually works"
_NAMES = 'S0, What "one conversation" means'
_OPENING = "S0, Session Persistence"
_STORE_NEEDS = frozenset({Need.STORE})

_STORE = (
    Clause(
        id="STORE-01",
        level="must",
        area="STORE",
        statement="The function given to `with_session` receives every message of the earlier turns, in order.",
        source=f"{_OPENING}; R195, R239",
        needs=_STORE_NEEDS,
    ),
    Clause(
        id="STORE-02",
        level="must",
        area="STORE",
        statement="The new messages that the function returns are appended in order, and are durable when"
        " `with_session` resolves.",
        source=f"{_OPENING}; R064, R232",
        needs=_STORE_NEEDS,
        narrower_than=("STORE-01",),
    ),
    Clause(
        id="STORE-03",
        level="must",
        area="STORE",
        statement="Two turns of one session never overlap: within one instance always, and with the claim"
        " `distributed` across instances and processes. No update is lost, and the history is loaded inside the"
        " exclusion.",
        source=f"{_OPENING}; R058, R062, R065, R061",
        needs=_STORE_NEEDS,
        narrower_than=("STORE-01",),
        reading="Several instances and processes are tried only where `distributed` is claimed.",
    ),
    Clause(
        id="STORE-04",
        level="must",
        area="STORE",
        statement="Turns of different sessions do not wait for each other.",
        source=f"{_OPENING}; R282",
        needs=_STORE_NEEDS,
    ),
    Clause(
        id="STORE-05",
        level="must",
        area="STORE",
        statement="If the function of a turn raises or is cancelled, nothing is appended and the lock is free.",
        source=f"{_OPENING}; R044, R045",
        needs=_STORE_NEEDS,
        reading="Cancellation is tried where the route can cancel.",
    ),
    Clause(
        id="STORE-06",
        level="must",
        area="STORE",
        statement="Where the last message is an assistant message with an unresolved `tool_use`, the next turn's"
        " function is shown one continuation message with the role user after it; a resolved one gets none. Reading"
        " stores no such message, and `get_history` shows none.",
        source=f"{_DURABLE}; R240, R243",
        needs=_STORE_NEEDS,
        narrower_than=("STORE-01",),
    ),
    Clause(
        id="STORE-07",
        level="must",
        area="STORE",
        statement="`get_history` answers while a turn of that session is running or paused, changes nothing, and is"
        " empty for an unknown session.",
        source=f"{_DURABLE}; R073, R074",
        needs=_STORE_NEEDS,
    ),
    Clause(
        id="STORE-08",
        level="claim",
        area="STORE",
        statement="A turn that takes longer than its lock lives keeps the lock by renewing it, and a lock that is"
        " found lost makes the turn fail loudly. Only the token of its owner unlocks it.",
        source=f"{_DURABLE}; R024, R025, R027",
        needs=_STORE_NEEDS | {Need.FRESH},
        narrower_than=("STORE-03",),
        claim="distributed",
    ),
    Clause(
        id="STORE-09",
        level="claim",
        area="STORE",
        statement="The lock of a holder that was killed frees itself within its lifetime, and waiting for a lock is"
        " bounded and ends in a clear error.",
        source=f"{_DURABLE}; R044, R034, R037",
        needs=_STORE_NEEDS | {Need.FRESH, Need.CRASH},
        claim="distributed",
    ),
    Clause(
        id="STORE-10",
        level="must",
        area="STORE",
        statement="Bookkeeping for idle sessions does not pile up: 2,000 idle sessions leave fewer than one object"
        " each that Python's garbage collector tracks.",
        source=f"{_DURABLE}; R272",
        needs=_STORE_NEEDS | {Need.IO_COUNT},
    ),
    Clause(
        id="STORE-11",
        level="must",
        area="STORE",
        statement="DUR-01, DUR-02, DUR-05 to DUR-08, DUR-11, TORN-01, TORN-02, TORN-04, FAULT-01 to FAULT-04,"
        " FAULT-08, JSON-01 to JSON-03, ID-01 and ID-02 hold for the store too, with the resolving of `with_session`"
        " as the barrier. A crash inside a turn leaves earlier turns whole, and a prefix of the new messages.",
        source=f"{_DURABLE}; R162, R194",
        needs=_STORE_NEEDS | {Need.FRESH, Need.CRASH},
        narrower_than=("STORE-02",),
        reading="Each named clause is asked where it would apply to the backend itself.",
    ),
    Clause(
        id="STORE-12",
        level="must",
        area="STORE",
        statement="A failure or a cancellation while messages are appended makes `with_session` raise and frees the"
        " lock. A prefix of them, linked in order, may remain, and none is stored twice.",
        source=f"{_DURABLE}; R084, R112",
        needs=_STORE_NEEDS | {Need.CANCEL},
        narrower_than=("STORE-02",),
        reading="A failure is tried too where the kit can make storage fail.",
    ),
    Clause(
        id="STORE-13",
        level="should",
        area="STORE",
        statement="A turn that lost its lock, or could not renew it for the lock's lifetime, appends nothing after"
        " that and never resolves.",
        source="field reports R022, R024, R037",
        needs=_STORE_NEEDS | {Need.FRESH},
        claim="distributed",
        reading="Where it resolves after a loss that it had noticed, STORE-08 is broken as well and counts.",
    ),
)

_KNIT = (
    Clause(
        id="KNIT-01",
        level="must",
        area="KNIT",
        statement="The chain from a leaf to the root is rebuilt in order. The other children of a node on it stand"
        " directly behind that node, ahead of its child on the path and in log order, and none is dropped.",
        source=f"{_OPENING}; R239",
        needs=frozenset({Need.ENTRIES}),
    ),
    Clause(
        id="KNIT-02",
        level="must",
        area="KNIT",
        statement="An unknown leaf, a missing parent and a cycle are errors, never an endless loop or a silent cut.",
        source=f"{_OPENING}; R118",
        needs=frozenset({Need.ENTRIES}),
        narrower_than=("KNIT-01",),
    ),
    Clause(
        id="KNIT-03",
        level="must",
        area="KNIT",
        statement="An entry id that is found twice is one entry where both are equal, and an error where they differ.",
        source="field reports R115, R117",
        needs=frozenset({Need.ENTRIES}),
        narrower_than=("KNIT-01",),
    ),
)

_NS = (
    Clause(
        id="NS-01",
        level="must",
        area="NS",
        statement="The storage key made of tenant, environment, agent and raw id is injective: two different"
        " quadruples never give the same key, whatever characters their parts hold.",
        source=f"{_NAMES}; R257, R249",
        needs=frozenset({Need.STORAGE_KEY}),
    ),
    Clause(
        id="NS-02",
        level="must",
        area="NS",
        statement="A resolver of session ids that returns `None` is a validation failure; only the default resolver"
        " may generate a fresh id.",
        source=_NAMES,
        needs=frozenset({Need.SESSION_ID}),
    ),
)

CLAUSES = _STORE + _KNIT + _NS
