"""MAT, CLOSE and FLUSH: when a session begins to exist, and how handles and the service end."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"MAT": "Materialisation", "CLOSE": "Close", "FLUSH": "Service-level flush"}

_PROVIDES = "S3, What the service provides"
_OWNERSHIP = "S3, Ownership and visibility"
_LIVE = "S3, The live write path and shutdown drain"

_MAT = (
    Clause(
        id="MAT-01",
        level="must",
        area="MAT",
        statement="A session that was just created can be seen at once in its own instance: by `stat`, by `list`, and"
        " by opening it for reading, where its log is empty.",
        source=_OWNERSHIP,
        narrower_than=("SVC-01", "SVC-06", "SVC-13"),
    ),
    Clause(
        id="MAT-02",
        level="must",
        area="MAT",
        statement='Unless the backend declares `materialization="eager"`, a fresh instance (another service over the'
        " same storage) does not see a new session before its first append or flush.",
        source=_OWNERSHIP,
        needs=frozenset({Need.FRESH}),
        narrower_than=("SVC-04", "SVC-05", "SVC-06", "SVC-13"),
        requires=(Condition.LAZY,),
        reading="From the call of the first append or flush until it resolves, either answer is right. While another"
        " instance holds the id pending, `create` in the fresh one may resolve or be refused with"
        " SessionAlreadyExistsError or SessionAlreadyOwnedError, and a write open may answer"
        " SessionPersistenceNotFoundError or SessionAlreadyOwnedError.",
    ),
    Clause(
        id="MAT-03",
        level="must",
        area="MAT",
        statement="Creating a session and closing it before any append of at least one event or any flush has"
        " resolved leaves no trace: it cannot be seen anywhere and its id can be used again, also where writes were"
        ' tried and failed. Under `materialization="eager"` an empty session may stay behind, and then `stat`,'
        " `list`, `open` and `create` agree that it exists.",
        source=f"{_OWNERSHIP}; R036, R047",
        narrower_than=("SVC-04", "SVC-05", "SVC-06", "SVC-13"),
        requires=(Condition.LAZY,),
        reading='With materialization="eager" the clause does not apply; the agreement it still asks for is judged as'
        " SVC-13.",
    ),
    Clause(
        id="MAT-04",
        level="must",
        area="MAT",
        statement="`flush` on a session without events makes it visible to fresh instances (other services over the"
        " same storage), and durably so.",
        source=f"{_PROVIDES}; R098, R099",
        needs=frozenset({Need.FRESH}),
        narrower_than=("SVC-06", "FRESH-04", "DUR-02"),
    ),
    Clause(
        id="MAT-05",
        level="must",
        area="MAT",
        statement="After an append has resolved and its handle was closed, fresh instances (other services over the"
        " same storage) see the session with all its events.",
        source=f"{_OWNERSHIP}; R101, R095",
        needs=frozenset({Need.FRESH}),
        narrower_than=("SVC-06", "FRESH-04", "CLOSE-03"),
    ),
    Clause(
        id="MAT-06",
        level="must",
        area="MAT",
        statement="When storage erases a session under a read handle, that handle reports"
        " `SessionPersistenceNotFoundError` or stays empty; events of a new session with the same id never appear on"
        " it.",
        source="field reports R068, R071, R265",
        needs=frozenset({Need.LOCATION, Need.DAMAGE}),
        narrower_than=("READ-03",),
    ),
)

_CLOSE = (
    Clause(
        id="CLOSE-01",
        level="must",
        area="CLOSE",
        statement="`close` can be called any number of times, also at the same time: every later call does nothing of"
        " its own and ends as the first one ended, with its success or its error.",
        source=f"{_PROVIDES}; R092",
    ),
    Clause(
        id="CLOSE-02",
        level="must",
        area="CLOSE",
        statement="From the moment `close` is called, every other operation on that handle is refused with"
        " `SessionHandleClosedError`, before its arguments are looked at.",
        source=f"{_OWNERSHIP}; R097",
    ),
    Clause(
        id="CLOSE-03",
        level="must",
        area="CLOSE",
        statement="The first `close` of a write handle, once it resolves, is a barrier: what the handle appended"
        " before it, and what the log held when the handle was opened, is durable and visible to every instance.",
        source=f"{_PROVIDES}; R091, R092",
        narrower_than=("FRESH-04", "DUR-01"),
    ),
    Clause(
        id="CLOSE-04",
        level="must",
        area="CLOSE",
        statement="Cancelling `close` does not stop it: the session is neither stuck nor owned in the end, and"
        " calling `close` again waits for the one under way. As long as that lasts, opening for writing is refused as"
        " owned.",
        source=f"{_PROVIDES}; R046",
        needs=frozenset({Need.CANCEL}),
        narrower_than=("OWN-01", "OWN-02", "CLOSE-01"),
    ),
    Clause(
        id="CLOSE-05",
        level="must",
        area="CLOSE",
        statement="The end of an `async with` block closes its handle and lets an exception from the block through.",
        source=_PROVIDES,
        needs=frozenset({Need.PYTHON_VALUES}),
        narrower_than=("OWN-02", "CLOSE-02", "CLOSE-03"),
        reading="Where the close fails as well, its error may come along as context, as a note or in a group with the"
        " block's own.",
    ),
    Clause(
        id="CLOSE-06",
        level="must",
        area="CLOSE",
        statement="`close` never swallows an append made before it. That append resolves and is covered by the close,"
        " or it is rejected without a trace in storage.",
        source=f"{_LIVE}; R097",
        narrower_than=("SEQ-05", "CLOSE-03"),
    ),
    Clause(
        id="CLOSE-07",
        level="must",
        area="CLOSE",
        statement="Closing the service stores what each of its handles still holds and closes them all, even if some"
        " fail; those failures are reported the way FLUSH-02 describes. From then on the handles refuse operations as"
        " closed.",
        source=f"{_LIVE}; R091, R124",
        narrower_than=("OWN-02", "CLOSE-02", "CLOSE-03", "FLUSH-02"),
        reading="A failing handle is tried where the kit can make one fail; the rest is tried everywhere.",
    ),
    Clause(
        id="CLOSE-08",
        level="must",
        area="CLOSE",
        statement="A closed service rejects every operation promptly instead of hanging. Calls of `create` and `open`"
        " that were still running are rejected or have their handle closed like the others, and a second `close` has"
        " no effect.",
        source=_LIVE,
        reading="Any exception is a rejection.",
    ),
)

_FLUSH = (
    Clause(
        id="FLUSH-01",
        level="must",
        area="FLUSH",
        statement="The service's `flush` does what a flush of every write handle active at its call would do: it"
        " covers their appends and, with a live path, their published events, and materialises their sessions.",
        source=f"{_PROVIDES}; R076",
        # Blamed where only the service's flush covered what is missing.
        narrower_than=("MAT-04", "FRESH-04", "DUR-01"),
    ),
    Clause(
        id="FLUSH-02",
        level="must",
        area="FLUSH",
        statement="One failing handle does not keep the service's `flush` from flushing the rest. In the end a single"
        " `ExceptionGroup` reports all failures, and for every session concerned it holds a member that names it:"
        " through `session_id`, in its message, or in a note.",
        source=f"{_PROVIDES}; R121, R122, R124",
        needs=frozenset({Need.FRESH}),
        narrower_than=("FLUSH-01",),
        reading="A handle fails where another instance stores its pending id first, or where storage fails: a backend"
        " that has either way is asked.",
    ),
    Clause(
        id="FLUSH-03",
        level="must",
        area="FLUSH",
        statement="The service's `flush` neither stores nor complains about a handle that is being closed, whether"
        " that close came before it or while it ran. It waits for the close to end before it resolves, and reports"
        " the session if the close failed.",
        source=_PROVIDES,
        narrower_than=("MAT-03", "FLUSH-01", "FLUSH-02"),
    ),
    Clause(
        id="FLUSH-04",
        level="must",
        area="FLUSH",
        statement="The service's `flush` leaves handles that were opened for reading alone.",
        source=_PROVIDES,
        narrower_than=("SVC-11", "FLUSH-01", "FLUSH-02"),
    ),
)

CLAUSES = _MAT + _CLOSE + _FLUSH
