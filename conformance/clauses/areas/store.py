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
        statement="A turn sees the full history: `with_session` hands all messages of former turns to its function,"
        " oldest first.",
        source=f"{_OPENING}; R195, R239",
        needs=_STORE_NEEDS,
    ),
    Clause(
        id="STORE-02",
        level="must",
        area="STORE",
        statement="By the time `with_session` resolves, the messages its function produced are stored durably, in the"
        " order given.",
        source=f"{_OPENING}; R064, R232",
        needs=_STORE_NEEDS,
        narrower_than=("STORE-01",),
    ),
    Clause(
        id="STORE-03",
        level="must",
        area="STORE",
        statement="A session runs one turn at a time in each instance, and with the claim `distributed` in all"
        " instances and processes together. Loading the history is part of the turn, so no message that another turn"
        " added is lost.",
        source=f"{_OPENING}; R058, R062, R065, R061",
        needs=_STORE_NEEDS,
        narrower_than=("STORE-01",),
        reading="Several instances and processes are tried only where `distributed` is claimed.",
    ),
    Clause(
        id="STORE-04",
        level="must",
        area="STORE",
        statement="A slow turn of one session does not delay turns of another.",
        source=f"{_OPENING}; R282",
        needs=_STORE_NEEDS,
    ),
    Clause(
        id="STORE-05",
        level="must",
        area="STORE",
        statement="A turn whose function raises, or is cancelled, appends no message and gives its lock back.",
        source=f"{_OPENING}; R044, R045",
        needs=_STORE_NEEDS,
        reading="Cancellation is tried where the route can cancel.",
    ),
    Clause(
        id="STORE-06",
        level="must",
        area="STORE",
        statement="If a log ends in an assistant message with a `tool_use` that no result answers, the next turn's"
        " function receives exactly one extra message of role user behind it, telling it to continue. Once answered"
        " there is none; the extra message is not stored by reading, nor part of `get_history`.",
        source=f"{_DURABLE}; R240, R243",
        needs=_STORE_NEEDS,
        narrower_than=("STORE-01",),
    ),
    Clause(
        id="STORE-07",
        level="must",
        area="STORE",
        statement="The history of a session can be fetched with `get_history` at any time, even in the middle of a"
        " turn or while one is paused. This alters nothing, and for a session nobody knows the result is empty.",
        source=f"{_DURABLE}; R073, R074",
        needs=_STORE_NEEDS,
    ),
    Clause(
        id="STORE-08",
        level="claim",
        area="STORE",
        statement="A lock is renewed for as long as its turn runs, even past its lifetime; if it was lost all the"
        " same, the turn fails with an error. Nobody can release it without the token of the turn that holds it.",
        source=f"{_DURABLE}; R024, R025, R027",
        needs=_STORE_NEEDS | {Need.FRESH},
        narrower_than=("STORE-03",),
        claim="distributed",
    ),
    Clause(
        id="STORE-09",
        level="claim",
        area="STORE",
        statement="After a holder is killed, its lock expires within the lock's lifetime. Nobody waits for a lock for"
        " ever: the wait is limited, and its end is an error that says what happened.",
        source=f"{_DURABLE}; R044, R034, R037",
        needs=_STORE_NEEDS | {Need.FRESH, Need.CRASH},
        claim="distributed",
    ),
    Clause(
        id="STORE-10",
        level="must",
        area="STORE",
        statement="Idle sessions cost next to nothing: after 2,000 of them, the garbage collector tracks fewer than"
        " one additional object for each.",
        source=f"{_DURABLE}; R272",
        needs=_STORE_NEEDS | {Need.IO_COUNT},
    ),
    Clause(
        id="STORE-11",
        level="must",
        area="STORE",
        statement="The store keeps DUR-01, DUR-02, DUR-05 to DUR-08, DUR-11, TORN-01, TORN-02, TORN-04, FAULT-01 to"
        " FAULT-04, FAULT-08, JSON-01 to JSON-03, ID-01 and ID-02 as well; its barrier is that `with_session`"
        " resolves. If a crash strikes during a turn, all turns before it are complete and the new messages survive"
        " up to some point.",
        source=f"{_DURABLE}; R162, R194",
        needs=_STORE_NEEDS | {Need.FRESH, Need.CRASH},
        narrower_than=("STORE-02",),
        reading="Each named clause is asked where it would apply to the backend itself.",
    ),
    Clause(
        id="STORE-12",
        level="must",
        area="STORE",
        statement="If storing the new messages fails or is cancelled, `with_session` raises and its lock is released."
        " The first few of them may have been stored, correctly linked, but no message occurs twice.",
        source=f"{_DURABLE}; R084, R112",
        needs=_STORE_NEEDS | {Need.CANCEL},
        narrower_than=("STORE-02",),
        reading="A failure is tried too where the kit can make storage fail.",
    ),
    Clause(
        id="STORE-13",
        level="should",
        area="STORE",
        statement="Having lost its lock, or failed to renew it for a full lifetime, a turn writes no more messages"
        " and does not resolve.",
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
        statement="Walking from a leaf up to the root gives the path in order. Wherever a node of it has further"
        " children, these come right after the node and before the next node of the path, sorted as in the log, and"
        " all of them appear.",
        source=f"{_OPENING}; R239",
        needs=frozenset({Need.ENTRIES}),
    ),
    Clause(
        id="KNIT-02",
        level="must",
        area="KNIT",
        statement="Asking for a leaf that does not exist, or meeting a parent that does not, or a circle of parents,"
        " raises an error; the chain is neither cut short in silence nor followed for ever.",
        source=f"{_OPENING}; R118",
        needs=frozenset({Need.ENTRIES}),
        narrower_than=("KNIT-01",),
    ),
    Clause(
        id="KNIT-03",
        level="must",
        area="KNIT",
        statement="If the log holds an entry id more than once, equal entries count as one and different ones are an"
        " error.",
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
        statement="Different combinations of tenant, environment, agent and raw id always yield different storage"
        " keys, even where the parts contain the separator or any other character.",
        source=f"{_NAMES}; R257, R249",
        needs=frozenset({Need.STORAGE_KEY}),
    ),
    Clause(
        id="NS-02",
        level="must",
        area="NS",
        statement="`None` from a resolver of session ids rejects the request as invalid. Making up a new id is left"
        " to the default resolver.",
        source=_NAMES,
        needs=frozenset({Need.SESSION_ID}),
    ),
)

CLAUSES = _STORE + _KNIT + _NS
